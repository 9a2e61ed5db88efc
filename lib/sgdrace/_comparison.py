"""Whether a relation between two numbers stands, one of them perhaps measured.  Knows doubt, not the subject.

Nobody chooses a tolerance: it follows from the standard errors and from how often chance may mislead.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import scipy

from sgdrace._estimate import Estimate

ROUNDING = 1e-9  # what two exact numbers may differ by, relative to the larger
NOTHING = 1e-12  # what counts as zero where a number must be zero

RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Compared:
    """What came out: whether the relation stands and, where there is noise, by how much."""

    holds: bool
    apart: float = 0.0  # left minus right, in standard errors
    limit: float = 0.0  # how many of them are put down to chance
    error: float = 0.0  # the standard error of the difference


def compare(left: Any, relation: str, right: Any, alarms: float) -> Compared:
    """Hold one relation against two numbers, of which chance may misjudge a share `alarms`.

    Between exact numbers `=` means equal to rounding. Where one is an estimate, `=`, `<=` and `>=` stand as
    long as chance can explain what is seen, `<` and `>` only when it cannot: against Student's t with the
    runs that there were.

    >>> raced = Estimate(1.02, 0.01)
    >>> compare(raced, "=", 1.0, 1e-4).holds, compare(raced, ">", 1.0, 1e-4).holds
    (True, False)
    """
    if not isinstance(left, Estimate) and not isinstance(right, Estimate):
        return Compared(_same(left, right) if relation == "=" else bool(RELATIONS[relation](left, right)))
    # What is one-sided has all of its alarms on that side.
    difference, error, limit = _difference(left, right, alarms * (1 if relation == "=" else 2))
    apart = _in_errors(difference, error, max(abs(value_of(left)), abs(value_of(right))))
    holds = {
        "=": abs(apart) <= limit,
        "<=": apart <= limit,
        ">=": apart >= -limit,
        "<": apart < -limit,
        ">": apart > limit,
    }[relation]
    return Compared(holds and math.isfinite(difference) and math.isfinite(error), apart, limit, error)


def value_of(side: Any) -> float:
    """A number, without its doubt."""
    return float(side.value if isinstance(side, Estimate) else side)


def _same(left: Any, right: Any) -> bool:
    """Equal, numbers to rounding."""
    if isinstance(left, str) or isinstance(right, str):
        return bool(left == right)
    return math.isclose(left, right, rel_tol=ROUNDING, abs_tol=NOTHING)


def _difference(left: Any, right: Any, alarms: float) -> tuple[float, float, float]:
    """Left minus right, its standard error, and how many of these chance may bring (two-sided)."""
    sides = [side for side in (left, right) if isinstance(side, Estimate)]
    error = math.hypot(*(float(side.standard_error) for side in sides))
    runs = min(side.runs for side in sides)
    return value_of(left) - value_of(right), error, _limit(alarms, runs)


@cache  # all rows of a table ask for the same, and SciPy takes longer to answer than the rest of a check
def _limit(alarms: float, runs: float) -> float:
    """How many standard errors chance brings once in so many times, two-sided."""
    if math.isinf(runs):
        return float(scipy.stats.norm.isf(alarms / 2))
    return float(scipy.stats.t.isf(alarms / 2, max(runs - 1, 1)))


def _in_errors(difference: float, error: float, size: float) -> float:
    """The difference in standard errors; none where it is rounding, as between runs that are all alike."""
    if abs(difference) <= ROUNDING * size + NOTHING:
        return 0.0
    return difference / error if error > 0 else math.copysign(math.inf, difference)
