"""Tables: HTML for readers, aligned text for the record.  Knows numbers, nothing of what they mean."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from sgdrace._estimate import Estimate
from sgdrace.explore.shown import Shown

Columns = dict[str, list[Any]]  # all of one length
WIDEST = 1e4  # between the largest and the smallest number of a column before each is written by itself
MOST_DECIMALS = 8


def table(rows: Iterable[Mapping[str, Any]] | None = None, *, digits: int = 4, **columns: Any) -> Shown:
    """A table, given by its columns or by its rows.

    A value that all rows share is given once, and a mapping stands for its keys. An underscore in a name is a
    space. Estimates come with their standard errors.

    >>> table(law=["exponential", "uniform"], mean=[1.0, 0.5])
    law           mean
    exponential  1.000
    uniform      0.500
    """
    found = in_columns(rows, columns)
    return Shown(as_text(found, digits), as_html(found, digits))


def in_columns(rows: Iterable[Mapping[str, Any]] | None, columns: Mapping[str, Any]) -> Columns:
    """Columns of one length, from rows or from columns."""
    if (rows is None) == (not columns):
        raise ValueError("a table is given by its rows or by its columns; give one of the two.")
    if rows is not None:
        return _turned([dict(row) for row in rows])
    lists = {name: _as_list(column) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in lists.items() if column is not None}
    if not lengths or min(lengths.values()) == 0 or len(set(lengths.values())) > 1:
        raise ValueError(f"the columns of a table must be lists of one length; got {lengths or columns!r}.")
    length = next(iter(lengths.values()))
    return {name: [columns[name]] * length if column is None else column for name, column in lists.items()}


def _turned(rows: list[dict[str, Any]]) -> Columns:
    if not rows or any(row.keys() != rows[0].keys() for row in rows):
        raise ValueError(
            f"rows must be one or more, all with the same names; got {[list(row) for row in rows]}."
        )
    return {name: [row[name] for row in rows] for name in rows[0]}


def _as_list(column: Any) -> list[Any] | None:
    """The entries of a column; None for one value that all rows share."""
    if isinstance(column, Estimate):
        if np.ndim(column.value) == 0:
            return None
        pairs = zip(column.value, np.broadcast_to(column.standard_error, np.shape(column.value)), strict=True)
        return [Estimate(float(value), float(error), column.runs) for value, error in pairs]
    if isinstance(column, str) or (np.ndim(column) == 0 and not isinstance(column, Iterable)):
        return None
    return list(column)


def as_text(columns: Columns, digits: int = 4) -> str:
    """Aligned text: words to the left, numbers to the right.

    >>> print(as_text({"K": [1, 16], "raced": [Estimate(1.234, 0.012), Estimate(20.0, 0.1)]}))
     K         raced
     1   1.23 ± 0.01
    16  20.00 ± 0.10
    """
    parts = [_column(name, entries, digits) for name, entries in columns.items()]
    return "\n".join("  ".join(line).rstrip() for line in zip(*parts, strict=True))


def _column(name: str, entries: Sequence[Any], digits: int) -> list[str]:
    lines = [heading(name), *written(entries, digits)]
    width = max(map(len, lines))
    return [line.rjust(width) if _is_numbers(entries) else line.ljust(width) for line in lines]


def as_html(columns: Columns, digits: int = 4) -> str:
    """A table of the page, with the first column as the rows' headings."""
    cells = [written(entries, digits) for entries in columns.values()]
    kinds = ["number" if _is_numbers(entries) else "words" for entries in columns.values()]
    head = "".join(
        f'<th scope="col" class="{kind}">{escape(heading(name))}</th>'
        for name, kind in zip(columns, kinds, strict=True)
    )
    body = "".join(f"<tr>{_row(row, kinds)}</tr>" for row in zip(*cells, strict=True))
    return (
        f'<div class="table-box" tabindex="0"><table class="table numbers"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _row(row: Sequence[str], kinds: Sequence[str]) -> str:
    first, *rest = (
        f'class="{kind}">{escape(" ".join(cell.split()))}' for cell, kind in zip(row, kinds, strict=True)
    )
    return f'<th scope="row" {first}</th>' + "".join(f"<td {cell}</td>" for cell in rest)


def heading(name: str) -> str:
    """The name of a column in words.

    >>> heading("two_gammas")
    'two gammas'
    """
    return name.replace("_", " ")


def _is_numbers(entries: Sequence[Any]) -> bool:
    return all(
        isinstance(entry, Estimate | int | float | np.number) and not isinstance(entry, bool)
        for entry in entries
    )


def written(entries: Sequence[Any], digits: int = 4) -> list[str]:
    """The entries of one column, numbers with the same decimals unless they are of very different sizes."""
    if not _is_numbers(entries):
        return [_in_words(entry) for entry in entries]
    if all(isinstance(entry, int | np.integer) for entry in entries):
        return [f"{entry:,}" for entry in entries]
    if any(isinstance(entry, Estimate) for entry in entries):
        return _with_errors(
            [entry if isinstance(entry, Estimate) else Estimate(entry, 0.0) for entry in entries]
        )
    return _aligned([float(entry) for entry in entries], digits)


def _in_words(entry: Any) -> str:
    if isinstance(entry, bool | np.bool_):
        return "yes" if entry else "no"
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)


def _aligned(numbers: Sequence[float], digits: int) -> list[str]:
    sizes = [abs(number) for number in numbers if number and math.isfinite(number)]
    if not sizes:
        return [f"{number:g}" for number in numbers]
    if max(sizes) > WIDEST * min(sizes):
        return [f"{number:.{digits}g}" for number in numbers]
    decimals = _decimals(max(sizes), digits)
    return [_fixed(number, decimals) for number in numbers]


def _with_errors(estimates: Sequence[Estimate]) -> list[str]:
    """As many decimals as the largest error has two digits of."""
    errors = [float(one.standard_error) for one in estimates if 0 < one.standard_error < math.inf]
    values = [abs(float(one.value)) for one in estimates if one.value]
    decimals = _decimals(max(errors), 2) if errors else _decimals(max(values, default=1.0), 4)
    pairs = [(_fixed(one.value, decimals), _fixed(one.standard_error, decimals)) for one in estimates]
    widths = [max(map(len, part)) for part in zip(*pairs, strict=True)]
    return [f"{value:>{widths[0]}} ± {error:>{widths[1]}}" for value, error in pairs]


def _decimals(size: float, digits: int) -> int:
    """How many decimals show a number of this size with so many digits."""
    return min(max(digits - 1 - math.floor(math.log10(size)), 0), MOST_DECIMALS)


def _fixed(number: float, decimals: int) -> str:
    return f"{round(float(number), decimals) + 0.0:,.{decimals}f}"  # no minus before a zero
