"""Claims, what speaks for and against them, and the verdict.  Knows comparisons, nothing of the subject.

A test of a claim returns pieces of evidence, each a number against another. Nobody types a verdict: it
follows from which pieces there are and from whether every one of them stands.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from sgdrace._arguments import count, one_of, real, shown
from sgdrace._comparison import RELATIONS, Compared, compare, value_of
from sgdrace._estimate import Estimate

GROUPS = ("finding", "question", "correction", "journal version")
HOLDS, CONDITION, NOT_AS_STATED = "holds", "holds with a condition", "does not hold as stated"
NOT_TESTED, RED = "not tested here", "red: its test fails"
VERDICTS = (HOLDS, CONDITION, NOT_AS_STATED, NOT_TESTED, RED)
FALSE_ALARMS = 1e-5  # of a claim whose evidence is all true, whatever the number of its pieces

# What a piece of evidence does for its claim: it bears the claim out, as far as its condition reaches; it
# shows a case in which the claim is false; or it bears out what is true in its place.
STATED, CONTRARY, INSTEAD = ROLES = ("as stated", "contrary", "instead")

Number = float | Estimate


@dataclass(frozen=True)
class Evidence:
    """A number that a test found, and how it must compare with another one.

    >>> Evidence("a round of 8 learners", Estimate(2.71, 0.02), "=", 2.718)
    a round of 8 learners: 2.710 ± 0.020 = 2.718
    """

    words: str  # what was measured, and where
    found: Number
    relation: str
    other: Number  # what is claimed of it, or what it is held against
    role: str = STATED

    def __post_init__(self) -> None:
        one_of("relation", self.relation, tuple(RELATIONS))
        one_of("role", self.role, ROLES)

    def __repr__(self) -> str:
        return f"{self.words}: {said(self.found)} {self.relation} {said(self.other)}"

    def judged(self, alarms: float) -> Compared:
        """Whether it stands, if chance may mislead with this probability."""
        return compare(self.found, self.relation, self.other, alarms)

    def sees(self, alarms: float) -> float:
        """The difference, as a share of the number claimed, that would surely have been noticed."""
        judged = self.judged(alarms)
        return 2 * judged.limit * judged.error / abs(value_of(self.other))

    def changed(self, factor: float) -> "Evidence":
        """The same with another number claimed: so many times as large."""
        return replace(self, other=self.other * factor)


@dataclass(frozen=True)
class Claim:
    """What is said, in our words, under which condition it is true, where the book treats it, and its test.

    The test gets an effort, by which it multiplies its runs, and a seed, and returns evidence. A claim
    without a test is not tested here, and `but` says why.
    """

    name: str
    group: str
    says: str
    but: str = ""  # the condition, or what is true instead
    link: str = ""  # the page and its target, as in "k-variants#kv-headline"
    test: Callable[[int, int], list[Evidence]] | None = None

    def __post_init__(self) -> None:
        one_of("group", self.group, GROUPS)

    def __repr__(self) -> str:
        return f"Claim({self.name}: {self.says})"


@dataclass(frozen=True)
class Row:
    """A claim with the evidence that its test found, and so with its verdict.

    >>> stands, fails = Evidence("a", 1.0, "=", 1.0), Evidence("b", 2.0, ">", 3.0)
    >>> claim = Claim("one", "finding", "One is one.")
    >>> Row(claim, (stands,)).verdict, Row(claim, (stands, fails)).verdict, Row(claim, ()).verdict
    ('holds', 'red: its test fails', 'not tested here')
    """

    claim: Claim
    evidence: tuple[Evidence, ...]

    def __repr__(self) -> str:
        return f"{self.claim.name}: {self.verdict}"

    @property
    def alarms(self) -> float:
        """How often chance may misjudge one piece, so that the claim is misjudged once in 100,000 times."""
        return FALSE_ALARMS / max(len(self.evidence), 1)

    @property
    def failing(self) -> tuple[Evidence, ...]:
        """The pieces that do not stand."""
        return tuple(one for one in self.evidence if not one.judged(self.alarms).holds)

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        if not self.evidence:
            return NOT_TESTED
        if self.failing:
            return RED
        roles = {one.role for one in self.evidence}
        if CONTRARY not in roles:
            return HOLDS
        return CONDITION if STATED in roles else NOT_AS_STATED

    def changed(self, factor: float) -> "Row":
        """The row as it would be if every number that is claimed were so many times as large."""
        factor = real("factor", factor, above=0)
        return replace(self, evidence=tuple(one.changed(factor) for one in self.evidence))


@dataclass(frozen=True, repr=False)
class Card:
    """All rows: a list, and a row for each name."""

    rows: tuple[Row, ...]

    def __repr__(self) -> str:
        counts = {verdict: sum(row.verdict == verdict for row in self.rows) for verdict in VERDICTS}
        words = ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number)
        return f"Card({len(self.rows)} claims: {words})"

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Row:
        names = tuple(row.claim.name for row in self.rows)
        return self.rows[names.index(one_of("name", name, names))]

    def of(self, group: str) -> "Card":
        """The rows of one group."""
        return Card(tuple(row for row in self.rows if row.claim.group == one_of("group", group, GROUPS)))

    @property
    def red(self) -> tuple[Row, ...]:
        """The rows whose test fails; there should be none."""
        return tuple(row for row in self.rows if row.verdict == RED)


def scored(claims: Iterable[Claim], effort: int = 1, seed: int = 0) -> Card:
    """The card of these claims: every test is run, with `effort` times the usual number of runs.

    >>> scored([Claim("one", "finding", "One is one.", test=lambda effort, seed: [Evidence("a", 1, "=", 1)])])
    Card(1 claims: 1 holds)
    """
    given = tuple(claims)
    if not all(isinstance(claim, Claim) for claim in given):
        raise TypeError(f"claims must be a list of Claim; got {shown(claims)}.")
    effort, seed = count("effort", effort), count("seed", seed, minimum=0)
    return Card(tuple(Row(claim, tuple(claim.test(effort, seed) if claim.test else ())) for claim in given))


def said(number: Number) -> str:
    """A number as a line of evidence shows it.

    >>> said(2.7179), said(1234567.0), said(3), said(Estimate(21.743, 0.0912))
    ('2.718', '1,234,567', '3', '21.74 ± 0.09')
    """
    value = value_of(number)
    if not math.isfinite(value):
        return "infinite" if value > 0 else "unknown"
    if isinstance(number, Estimate) and number.standard_error > 0:
        digits = max(0, -_power(float(number.standard_error)) + (1 if _leading(number) < 3 else 0))
        return f"{value:,.{digits}f} ± {float(number.standard_error):,.{digits}f}"
    if value == int(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.{max(0, 3 - _power(abs(value)))}f}" if abs(value) >= 1e-3 else f"{value:.3g}"


def _power(size: float) -> int:
    """The power of ten of the leading digit."""
    return int(f"{size:e}".partition("e")[2])


def _leading(estimate: Estimate) -> float:
    return float(f"{float(estimate.standard_error):e}".partition("e")[0])
