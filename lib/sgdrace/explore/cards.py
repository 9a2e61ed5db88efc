"""Claims as cards: what is said, what came out, how sure, and where to read on.  Knows rows and HTML."""

import re
from collections.abc import Iterable
from html import escape

from sgdrace._arguments import shown
from sgdrace.explore.shown import Shown
from sgdrace.scorecard import VERDICTS, Evidence, Row, said

KINDS = dict(zip(VERDICTS, ("holds", "condition", "not-as-stated", "not-tested", "red"), strict=True))
BUT = {"holds with a condition": "Condition", "does not hold as stated": "True is"}
TITLES = {
    "stragglers": "Why somebody is always late",
    "staleness": "Gradients from the past",
    "k-variants": "Four ways to wait",
    "convergence-bounds": "What staleness costs",
    "error-runtime": "The trade-off",
    "adaptive-learning-rate": "Brakes for stale gradients",
    "adaptive-k": "Start hasty, end patient",
}
ROLES = {"as stated": "", "contrary": "against it: ", "instead": "true instead: "}


def cards(rows: Iterable[Row]) -> Shown:
    """A card for each row of a scorecard; its evidence unfolds.

    >>> from sgdrace.scorecard import CLAIMS, score
    >>> cards(score(claim for claim in CLAIMS if claim.name == "CIFAR-10"))
    CIFAR-10: not tested here.
      The trade-off shows in the training of a neural network on CIFAR-10 with 8 workers.
      Not repeated: this book trains no network of that size, so it has nothing to say about it.
      See “Start hasty, end patient”.
    """
    given = list(rows)
    if not given or not all(isinstance(row, Row) for row in given):
        raise TypeError(f"rows must be the rows of a scorecard, at least one of them; got {shown(rows)}.")
    html = "".join(map(_as_html, given))
    return Shown("\n".join(map(_as_text, given)), f'<div class="claims">{html}</div>')


def _as_text(row: Row) -> str:
    claim = row.claim
    lines = [f"{claim.name}: {row.verdict}.", claim.says, *([_but(row)] if claim.but else [])]
    lines += [f"- {ROLES[one.role]}{_found(one)}" for one in row.evidence]
    return "\n  ".join([*lines, f"See “{_title(claim.link)}”."])


def _set(words: str) -> str:
    """HTML in which H_P and X_K:P have their indices below."""
    return re.sub(r"([A-Z])_([A-Z](?::[A-Z])?)", r"\1<sub>\2</sub>", escape(words))


def _but(row: Row) -> str:
    heading = BUT.get(row.verdict)
    return f"{heading}: {row.claim.but}" if heading else row.claim.but


def _found(one: Evidence) -> str:
    return f"{one.words}: {said(one.found)} {one.relation} {said(one.other)}"


def _as_html(row: Row) -> str:
    claim, kind = row.claim, KINDS[row.verdict]
    but = f'<p class="claim-but">{_set(_but(row))}</p>' if claim.but else ""
    return (
        f'<div class="claim claim-{kind}"><p class="claim-head"><strong>{_set(claim.name)}</strong> '
        f'<span class="claim-verdict">{escape(row.verdict)}</span></p>'
        f"<p>{_set(claim.says)}</p>{but}{_evidence(row)}"
        f'<p class="claim-link"><a href="{escape(_address(claim.link))}">{escape(_title(claim.link))}</a></p>'
        "</div>"
    )


def _evidence(row: Row) -> str:
    if not row.evidence:
        return ""
    first, *rest = row.evidence
    failing = row.failing
    items = "".join(
        f"<li{' class=claim-fails' if one in failing else ''}>{escape(ROLES[one.role])}{_item(one)}"
        f"{_sight(one, row.alarms)}</li>"
        for one in rest
    )
    headline = f"<p>{escape(ROLES[first.role].capitalize())}{_item(first)}{_sight(first, row.alarms)}</p>"
    test = getattr(row.claim.test, "__name__", "")
    more = f"{len(rest)} more, and its test" if rest else "Its test"
    return (
        f"{headline}<details><summary>{more}</summary><ul>{items}</ul>"
        f"<p>Found by <code>{escape(test)}</code>.</p></details>"
    )


def _item(one: Evidence) -> str:
    numbers = f"{said(one.found)} {one.relation} {said(one.other)}"
    return f'{_set(one.words)}: <span class="claim-numbers">{escape(numbers)}</span>'


def _sight(one: Evidence, alarms: float) -> str:
    """How small a difference would have been noticed, where equality is claimed and there is noise."""
    if one.relation != "=" or not one.other or not one.judged(alarms).error:
        return ""
    return f" <small>({100 * one.sees(alarms):.2g} % off would be seen)</small>"


def _address(link: str) -> str:
    page, _, target = link.partition("#")
    return f"{page}.html#{target}" if target else f"{page}.html"


def _title(link: str) -> str:
    return TITLES[link.partition("#")[0]]
