"""The measured times in a comma-separated file.

Knows how people write such files; nothing of laws. What could be read in two ways is refused, never guessed.
"""

import csv
import math
import os
import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from sgdrace._arguments import FloatArray, count, shown

Path = str | os.PathLike[str]
Rows = Iterator[tuple[int, list[str]]]  # the number of each line, and its cells

MISSING = re.compile(r"[-+]?(nan|inf|infinity|na|n/a|null|none)", re.IGNORECASE)


def read_times(path: Path, column: str | int | None = None) -> FloatArray:
    """The times in one column, line by line: a long trace takes little more memory than its times.

    `Empirical.from_csv` says what such a file may look like.
    """
    if not isinstance(path, str | os.PathLike):  # given a 0, open() would wait for the keyboard
        raise TypeError(f"path must be the name of a file; got {shown(path)}.")
    if not isinstance(column, str | None):
        column = count("column", column, minimum=0)
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = _rows(path, file)
        line, first = next((row for row in rows if not _is_blank(row[1])), (0, []))
        if not first:
            raise ValueError(f"{path} holds no times.")
        names = [cell.strip() for cell in first]
        header = isinstance(column, str) or all(map(_is_name, names))
        index = _index(path, line, names, header, column)
        if not header:
            rows = _no_name_among(path, chain([(line, first)], rows))
        times = array("d", _times(path, rows, len(names), index))
    if not times:
        raise ValueError(f"{path} holds no times below its header.")
    return np.array(times)


def _rows(path: Path, file: Iterable[str]) -> Rows:
    """The cells of every line; a quote that stays open would swallow the lines below."""
    reader, line = csv.reader(file, skipinitialspace=True, strict=True), 0
    try:
        for cells in reader:
            if reader.line_num > line + 1:
                raise csv.Error
            line += 1
            yield line, cells
    except csv.Error:
        raise ValueError(
            f"line {line + 1} of {path} must be cells with commas between them; "
            "a quote is not closed at the end of its cell, or a cell is too long."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} must be a text file in UTF-8.") from None


def _index(path: Path, line: int, names: list[str], header: bool, column: str | int | None) -> int:
    """Which cell of every line holds the time."""
    width, other = len(names), re.search(r"[;|\t]", names[0])
    if isinstance(column, str) and names.count(column.strip()) == 1:
        return names.index(column.strip())
    if width == 1 and other:
        raise ValueError(f"line {line} of {path} must have commas between its cells; it has {other[0]!r}.")
    if isinstance(column, str):
        if column.strip() in names:
            raise ValueError(f"{path} has several columns {column!r}; give the number of one of them.")
        raise ValueError(f"{path} has no column {column!r}; its first line has {', '.join(names)}.")
    if width > 1 and not header:  # also where somebody writes decimals with a comma
        raise ValueError(
            f"line {line} of {path} must name its {width} columns; it holds {shown(','.join(names))}: "
            "add a line of names, or give as column the cell above the times, or write decimals with a point."
        )
    if width > 1 and column is None:
        raise ValueError(f"{path} has {width} columns; say which one holds the times.")
    if column is not None and column >= width:
        raise ValueError(f"{path} has {width} columns; column {column} was asked for, counted from 0.")
    return column or 0


def _no_name_among(path: Path, rows: Rows) -> Rows:
    """The same rows, unless the first number may be a name: pandas writes 0 above a column without one."""
    line, cells = next(rows)
    first = cells[0].strip()
    yield line, cells
    others = whole = 0  # lines below, and those of them that are written as a whole number, too
    for row in rows:
        yield row
        if first.isdigit() and not _is_blank(row[1]):
            others += 1
            whole += row[1][0].strip().isdigit()
    if first == "0" or (others and not whole):
        raise ValueError(
            f"line {line} of {path} holds {first}, a time or the name of the column: "
            f"write {first}.0 if it is a time, or give column={first!r}."
        )


def _times(path: Path, rows: Rows, width: int, index: int) -> Iterator[float]:
    for line, cells in rows:
        time = _plain_number(cells[index]) if len(cells) == width else math.nan
        if 0 <= time < math.inf:
            yield time
        elif not _is_blank(cells):
            raise ValueError(f"line {line} of {path} {_complaint(cells, width, index)}.")


def _complaint(cells: list[str], width: int, index: int) -> str:
    if len(cells) != width:
        return f"must have as many cells as the first line, {width}; it has {len(cells)}"
    cell = cells[index].strip()
    if MISSING.fullmatch(cell) or not math.isnan(_plain_number(cell)):
        return f"must hold a time of at least 0; it holds {cell}"
    return f"must hold a time; it holds {shown(cell)}, which is not written like 1.5"


def _plain_number(cell: str) -> float:
    try:  # float() reads 1_000 and the digits of every script, too
        return float(cell) if cell.isascii() and "_" not in cell else math.nan
    except ValueError:
        return math.nan


def _is_name(cell: str) -> bool:
    """Whether a cell of the first line can only be the name of its column, or is empty."""
    return not (re.match(r"\W*\d", cell) or MISSING.fullmatch(cell))


def _is_blank(cells: list[str]) -> bool:
    return not any(map(str.strip, cells))
