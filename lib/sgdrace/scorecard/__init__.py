"""The paper, checked: claims in our words, each with a test that runs, a number, and a verdict that follows.

Knows everything below figures. `CLAIMS` is the list; `score` runs the tests and returns a `Card` of rows:

>>> from sgdrace.scorecard import CLAIMS, score
>>> card = score([claim for claim in CLAIMS if claim.name == "P log P"])
>>> card["P log P"].verdict
'holds with a condition'
"""

from collections.abc import Iterable

from sgdrace.scorecard.corrections import CORRECTIONS
from sgdrace.scorecard.findings import FINDINGS
from sgdrace.scorecard.gains import SpeedUps, speed_ups
from sgdrace.scorecard.journal import JOURNAL
from sgdrace.scorecard.questions import QUESTIONS
from sgdrace.scorecard.records import (
    FALSE_ALARMS,
    GROUPS,
    VERDICTS,
    Card,
    Claim,
    Evidence,
    Row,
    said,
    scored,
)

__all__ = [
    "CLAIMS",
    "FALSE_ALARMS",
    "GROUPS",
    "VERDICTS",
    "Card",
    "Claim",
    "Evidence",
    "Row",
    "SpeedUps",
    "said",
    "score",
    "speed_ups",
]

CLAIMS = (*FINDINGS, *QUESTIONS, *CORRECTIONS, *JOURNAL)


def score(claims: Iterable[Claim] = CLAIMS, *, effort: int = 1, seed: int = 0) -> Card:
    """Run the test of every claim: about ten seconds, or `effort` times as long for more runs.

    Standard errors fall with the square root of the effort. Another seed brings other random numbers.

    >>> score([claim for claim in CLAIMS if claim.group == "journal version"][1:])
    Card(1 claims: 1 not tested here)
    """
    return scored(claims, effort, seed)
