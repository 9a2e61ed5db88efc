"""A scorecard at a glance, and the evidence of one claim: what was found against what is claimed."""

import math
import re
from collections.abc import Iterable
from itertools import groupby

import numpy as np

from sgdrace._arguments import shown
from sgdrace._comparison import value_of
from sgdrace.figures.canvas import LINE, SMALL, WIDTH, Paper, Scale
from sgdrace.figures.colors import VERDICT, Stroke
from sgdrace.figures.labels import text_width, wrapped
from sgdrace.figures.picture import Picture
from sgdrace.scorecard import Evidence, Row, said

PITCH = 19.0
TRACK = Scale(0.5, 2.0, 212.0, WIDTH - 10, log=True)  # found as a share of claimed
ARROW = 14.0  # the room it takes on the track
TICKS = {0.5: "½", 0.7: "0.7", 1.0: "1", 1.4: "1.4", 2.0: "2"}
TITLES = {"question": "Questions: our answers", "correction": "Often said"}
HEADINGS = {"as stated": "For it", "contrary": "Against it, as stated", "instead": "True instead"}


def verdicts(rows: Iterable[Row]) -> Picture:
    """One line for each claim, by groups: its name and its verdict.

    >>> from sgdrace.scorecard import CLAIMS, score
    >>> verdicts(score(claim for claim in CLAIMS if claim.name == "CIFAR-10")).text
    'Verdicts. Journal version: CIFAR-10, not tested here.'
    """
    given = _checked(rows)
    groups = [(group, list(members)) for group, members in groupby(given, lambda row: row.claim.group)]
    paper, y, words = Paper(PITCH * (len(given) + 1.35 * len(groups)) + 2), 0.0, []
    for group, members in groups:
        y += 1.35 * PITCH
        paper.write(8, y - 6, _title(group, len(members)), bold=True)
        for row in members:
            y += PITCH
            paper.dots(14, y - 8, VERDICT[row.verdict], 9.0)
            paper.write(26, y - 8, _set(row.claim.name), SMALL, middle=True)
            paper.write(166, y - 8, row.verdict, SMALL, middle=True)
        names = "; ".join(f"{row.claim.name}, {row.verdict}" for row in members)
        words.append(f"{_title(group, len(members))}: {names}.")
    return Picture(paper.figure, f"Verdicts. {' '.join(words)}")


def evidence(row: Row) -> Picture:
    """What the test of one claim found, each number as a share of what it is held against.

    The bar reaches as far as chance can explain: an `=` stands if its bar covers the line at 1, a `<` or a
    `>` if all of it is on its side.

    >>> from sgdrace.scorecard import Claim, Evidence
    >>> claim = Claim("a round", "finding", "Eight learners need 2.72 times the mean.")
    >>> evidence(Row(claim, (Evidence("raced", 2.7, "<", 2.72),))).text
    'A round: holds. For it: raced, 2.700 < 2.720.'
    """
    (row,) = _checked([row])
    if not row.evidence:
        raise ValueError(f"the claim {row.claim.name!r} was not tested here, so there is nothing to draw.")
    parts = [(role, list(members)) for role, members in groupby(_ordered(row), lambda one: one.role)]
    heights = [_height(one) for one in row.evidence]
    paper = Paper(34 + 24 * len(parts) + sum(heights) + 22)
    paper.dots(14, 15, VERDICT[row.verdict], 10.0)
    paper.write(26, 15, _set(f"{row.claim.name}: {row.verdict}"), bold=True, middle=True)
    y, foot = 30.0, paper.height - 22
    for role, members in parts:
        y += 24
        paper.write(8, y - 6, HEADINGS[role], SMALL, bold=True)
        for one in members:
            _piece(paper, y, one, row.alarms)
            y += _height(one)
    paper.line([TRACK.start, TRACK.stop], [foot, foot], width=0.8)
    for tick, text in TICKS.items():
        paper.segments(TRACK([tick]), TRACK([tick]), foot, foot + 3)
        paper.write(float(TRACK(tick)), foot + 15, text, SMALL, "center")
    paper.write(TRACK.start - 12, foot + 15, "found ÷ claimed", SMALL, "right")
    return Picture(paper.figure, _words(row, parts))


def _piece(paper: Paper, y: float, one: Evidence, alarms: float) -> None:
    """Words, numbers and a dot with its bar; crossed out where it does not stand."""
    judged = one.judged(alarms)
    lines = _lines(one)
    for k, line in enumerate(lines):
        paper.write(14, y + 11 + k * LINE, _set(line), SMALL)
    middle = y + 7 + len(lines) * LINE
    mark = "" if judged.holds else "✗ "
    above = LINE if _wide(one) else 0.0
    paper.write(14, middle - above, f"{mark}{_numbers(one)}", SMALL, middle=True)
    found, other = value_of(one.found), value_of(one.other)
    if not (found > 0 and other > 0 and math.isfinite(found)):
        return
    paper.segments(TRACK([1.0]), TRACK([1.0]), middle - 8, middle + 8, width=1.0)
    color = VERDICT["holds"] if judged.holds else VERDICT["red: its test fails"]
    ends = np.array([found - judged.limit * judged.error, found + judged.limit * judged.error]) / other
    share = found / other
    low, high = share < TRACK.low, share > TRACK.high
    left, right = TRACK(np.clip(ends, TRACK.low, TRACK.high)) + np.array([ARROW * low, -ARROW * high])
    if right > left:
        paper.segments(left, right, middle, middle, Stroke(color), 3.0, 0.5)
    if low or high:  # far outside, where an arrow says so
        anchor, arrow = ("left", "←") if low else ("right", "→")
        paper.write(TRACK.start if low else TRACK.stop, middle, arrow, anchor=anchor, middle=True)
    else:
        paper.dots(float(TRACK(share)), middle, color, 7.0)


def _height(one: Evidence) -> float:
    return LINE * len(_lines(one)) + 20


def _lines(one: Evidence) -> list[str]:
    """Its words; then an empty line for its numbers, if there is no room for them beside the track."""
    return wrapped(one.words, WIDTH - 26, SMALL) + [""] * _wide(one)


def _wide(one: Evidence) -> bool:
    return text_width(f"✗ {_numbers(one)}", SMALL) > TRACK.start - 20


def _numbers(one: Evidence) -> str:
    return f"{said(one.found)} {one.relation} {said(one.other)}"


def _set(words: str) -> str:
    """H_P and X_K:K with their indices below.

    >>> _set("P·H_P and X_K:K")
    'P·$H_{P}$ and $X_{K:K}$'
    """
    return re.sub(r"([A-Z])_([A-Z](?::[A-Z])?)", r"$\1_{\2}$", words)


def _ordered(row: Row) -> list[Evidence]:
    return sorted(row.evidence, key=lambda one: list(HEADINGS).index(one.role))


def _words(row: Row, parts: list[tuple[str, list[Evidence]]]) -> str:
    said_of = [
        f"{HEADINGS[role]}: " + "; ".join(f"{one.words}, {_numbers(one)}" for one in members) + "."
        for role, members in parts
    ]
    name = row.claim.name
    return f"{name[:1].upper()}{name[1:]}: {row.verdict}. {' '.join(said_of)}"


def _title(group: str, number: int) -> str:
    plural = group if group == "journal version" or number == 1 else f"{group}s"
    return TITLES.get(group, plural[:1].upper() + plural[1:])


def _checked(rows: Iterable[Row]) -> list[Row]:
    given = list(rows)
    if not given or not all(isinstance(row, Row) for row in given):
        raise TypeError(f"rows must be the rows of a scorecard, one or more; got {shown(rows)}.")
    return given
