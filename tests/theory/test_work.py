import numpy as np
import pytest

from sgdrace import (
    Constant,
    Empirical,
    Exponential,
    LogNormal,
    Lomax,
    Pareto,
    PerLearner,
    ShiftedExponential,
    simulate,
    theory,
)
from sgdrace.variants import VARIANTS

LAWS = [
    Constant(2.0),
    Exponential(3.0),
    ShiftedExponential(),
    Lomax(2.5),
    Empirical([1.0, 3.0, 9.0]),
    LogNormal(),
]
RACES = 12


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("variant", VARIANTS)
def test_races_use_a_share_of_the_work_within_the_bounds(variant, law):
    """Fixed seeds; 6 standard errors of 12 races, which chance exceeds once in 10,000 times."""
    for P, K in ((8, 2), (8, 5), (5, 5), (6, 1)):
        low, high = theory.used_share_bounds(variant, P, K, law)
        used, running = np.transpose([_shares(variant, P, K, law, seed) for seed in range(RACES)])
        margin = 6 * used.std(ddof=1) / np.sqrt(RACES) + 1e-12
        assert low - margin <= (used + running).mean() and used.mean() <= high + margin, (P, K)


def _shares(variant, P, K, law, seed):
    """Of the work that was used, and of that which may be used when the race is over."""
    race = simulate(variant, P, K, law, updates=1500, seed=seed)
    shares = race.jobs().shares(race.time[0, -1])
    return shares["used fresh"] + shares["used stale"], shares["running"]


@pytest.mark.parametrize(("P", "K"), [(8, 2), (4, 9), (1, 3)])
def test_the_share_is_known_where_nothing_is_cancelled_and_for_memoryless_times(P, K):
    assert theory.used_share_bounds("K-batch-async", P, K, Pareto(1.6)) == pytest.approx((1, 1))
    low, high = theory.used_share_bounds("K-batch-sync", P, K, Exponential())
    assert low == high
    if K <= P:
        # Of P learners, the k-th fastest needs the k-th of P exponential times.
        waits = np.cumsum(1 / np.arange(P, P - K, -1))
        share = waits.sum() / (P * waits[-1])
        assert theory.used_share_bounds("K-sync", P, K, Exponential()) == pytest.approx((share, share))


def test_two_memoryless_learners_lose_three_eighths_of_their_time_in_rounds_of_two():
    """By hand: a push comes every 1/2. The second is of who pushed first, and the other has run for 1; or it
    is of the other, and who pushed first has run for 1/2. Of the 2 that a round takes, 3/4 is lost."""
    assert theory.used_share_bounds("K-batch-sync", 2, 2, Exponential()) == pytest.approx((5 / 8, 5 / 8))


@pytest.mark.parametrize(("P", "K", "share"), [(8, 2, 2 / 8), (8, 8, 1), (4, 9, 9 / 12)])
def test_of_constant_times_those_are_lost_that_come_too_late(P, K, share):
    assert theory.used_share_bounds("K-batch-sync", P, K, Constant(3.0)) == pytest.approx((share, share))
    assert theory.used_share_bounds("K-batch-sync", P, K, Empirical([3.0, 3.0])) == pytest.approx(
        (share, share)
    )


def test_the_share_needs_one_law_with_a_finite_mean():
    with pytest.raises(ValueError, match=r"this needs a finite mean E\[X\], but that of Pareto"):
        theory.used_share_bounds("K-sync", 8, 2, Pareto(0.9))
    with pytest.raises(
        TypeError, match="delay must be one law that all learners share here, not a PerLearner"
    ):
        theory.used_share_bounds("K-sync", 2, 2, PerLearner([Exponential(), Constant(1.0)]))
