"""Claims of a chapter, held against what was computed.  Knows comparisons and their doubt, not the subject.

A check says in one line what was compared and what came out, keeps the numbers in a table below it, and
raises when a claim does not hold. Nobody chooses a tolerance: it follows from the standard errors and from
how often chance may mislead.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from sgdrace._arguments import real
from sgdrace._comparison import compare, value_of
from sgdrace._estimate import Estimate
from sgdrace.explore.shown import Shown
from sgdrace.explore.tables import Columns, as_html, as_text, heading, in_columns, written

FALSE_ALARMS = 1e-4  # of a check in which everything is true, whatever the number of its rows


def check(
    what: str,
    *claims: str,
    rows: Iterable[Mapping[str, Any]] | None = None,
    digits: int = 4,
    false_alarms: float = FALSE_ALARMS,
    **columns: Any,
) -> Shown:
    """Hold claims such as "raced = formula" against the rows of a table, and show what came out.

    A claim compares two columns, or a column and a number, in every row. Between exact numbers `=` means
    equal to rounding. Where one side is an estimate, its standard error decides: `=`, `<=` and `>=` stand as
    long as chance can explain what is seen, `<` and `>` only when it cannot. Chance misleads a check with
    probability `false_alarms` at most, however many rows and claims it has.

    >>> from sgdrace import Exponential, order_statistics, simulate
    >>> raced = [simulate("K-sync", 8, K, Exponential(), 4000).time_per_update() for K in (4, 8)]
    >>> formula = [order_statistics.mean(Exponential(), K, 8) for K in (4, 8)]
    >>> check("formula against 4,000 rounds", "raced = formula", K=[4, 8], formula=formula, raced=raced)
    Checked: formula against 4,000 rounds. Raced = formula: at most 1.1 standard errors apart.
    K  formula          raced
    4    0.635  0.640 ± 0.005
    8    2.718  2.711 ± 0.021
    """
    if not claims:
        raise ValueError(
            f"check({what!r}) needs a claim such as 'raced = formula'; for a table alone use table."
        )
    alarms = real("false_alarms", false_alarms, above=0, below=1)
    found = in_columns(rows, columns)
    parsed = [_parsed(claim, found) for claim in claims]
    comparisons = len(parsed) * len(next(iter(found.values())))
    results = [_result(claim, found, alarms / comparisons) for claim in parsed]
    broken = [sentence for result in results for sentence in result.broken]
    if broken:
        raise AssertionError(f"{what}: {' '.join(broken)}\n{as_text(found, digits)}")
    said = f"{what}. {' '.join(result.verdict for result in results)}"
    caption = _caption(results, alarms)
    html = (
        f'<details class="check"><summary><strong>Checked:</strong> {escape(said)}</summary>'
        f"{as_html(found, digits)}{f'<p>{escape(caption)}</p>' if caption else ''}</details>"
    )
    return Shown(f"Checked: {said}\n{as_text(found, digits)}", html)


@dataclass(frozen=True)
class _Claim:
    left: str
    relation: str
    right: str
    others: list[Any]  # the right-hand side, row by row

    def __str__(self) -> str:
        words = f"{heading(self.left)} {self.relation} {heading(self.right)}"
        return words[0].upper() + words[1:]


@dataclass(frozen=True)
class _Result:
    verdict: str
    broken: list[str]
    allowed: float = 0.0  # standard errors
    doubt: float = 0.0  # the largest standard error, as a share of its value


def _parsed(claim: str, columns: Columns) -> _Claim:
    parts = re.split(r"\s*(<=|>=|=|<|>)\s*", claim.strip())
    if len(parts) != 3 or parts[0] not in columns:
        raise ValueError(f"a claim must read like 'raced = formula', beginning with a column; got {claim!r}.")
    left, relation, right = parts
    if right in columns:
        return _Claim(left, relation, right, columns[right])
    try:
        number = float(right.replace(",", ""))
    except ValueError:
        raise ValueError(
            f"the claim {claim!r} must end in a number or one of the columns {list(columns)}."
        ) from None
    return _Claim(left, relation, right, [number] * len(columns[left]))


def _result(claim: _Claim, columns: Columns, alarms: float) -> _Result:
    pairs = list(zip(columns[claim.left], claim.others, strict=True))
    if any(isinstance(side, Estimate) for pair in pairs for side in pair):
        return _estimated(claim, columns, pairs, alarms)
    broken = [
        f"{claim} fails at {_where(columns, row)}: {_shown(left)} against {_shown(right)}."
        for row, (left, right) in enumerate(pairs)
        if not compare(left, claim.relation, right, alarms).holds
    ]
    holds = f"{claim}{_everywhere(len(pairs))}."
    rounded = claim.relation == "=" and any(isinstance(side, float) for pair in pairs for side in pair)
    return _Result(f"{claim}, to rounding." if rounded else holds, broken)


def _estimated(claim: _Claim, columns: Columns, pairs: list[tuple[Any, Any]], alarms: float) -> _Result:
    """Differences in units of their standard errors, against Student's t with the runs that there were."""
    broken, doubts = [], []
    seen = [compare(left, claim.relation, right, alarms) for left, right in pairs]
    for row, ((left, right), one) in enumerate(zip(pairs, seen, strict=True)):
        if value_of(left) and (value_of(right) or claim.relation != "="):  # of 0 no error is a share
            doubts.append(one.error / abs(value_of(left)))
        if not one.holds:
            broken.append(
                f"{claim} fails at {_where(columns, row)}: {_shown(left)} against {_shown(right)}, "
                f"{abs(one.apart):.1f} standard errors where {one.limit:.1f} decide."
            )
    apart, allowed = [one.apart for one in seen], max(one.limit for one in seen)
    return _Result(_verdict(claim, apart, len(pairs)), broken, allowed, max(doubts, default=0.0))


def _verdict(claim: _Claim, apart: list[float], number: int) -> str:
    everywhere = _everywhere(number)
    if claim.relation == "=":
        largest = max(map(abs, apart))
        return f"{claim}: at most {largest:.1f} standard errors apart."
    if claim.relation in "<>":
        nearest = min(map(abs, apart))
        by = f"{nearest:.0f}" if math.isfinite(nearest) else "infinitely many"
        return f"{claim}{everywhere}, by {by} standard errors or more."
    return f"{claim}{everywhere}, as far as noise allows to say."


def _everywhere(rows: int) -> str:
    return {1: "", 2: " in both rows"}.get(rows, f" in all {rows} rows")


def _shown(side: Any) -> str:
    return " ".join(written([side], digits=6)[0].split())


def _where(columns: Columns, row: int) -> str:
    name, entries = next(iter(columns.items()))
    return f"{heading(name)} = {_shown(entries[row])}"


def _caption(results: list[_Result], alarms: float) -> str:
    allowed = max(result.allowed for result in results)
    if not allowed:
        return ""
    doubt = max(result.doubt for result in results)
    return (
        f"± is one standard error. Up to {allowed:.1f} of them are put down to chance: one check in "
        f"{1 / alarms:,.0f} would exceed that by luck alone. The largest error here is {100 * doubt:.2g} % "
        "of its value."
    )
