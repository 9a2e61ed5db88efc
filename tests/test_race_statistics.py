"""Simulated races obey the mathematics: values of the specification, section 8, and exact identities.

Unless said otherwise a tolerance is that of the specification; the seeds are fixed, and with the replicas
used each comparison is at least 4.9 standard errors wide, a false-alarm rate of 1e-6.
"""

import math

import numpy as np
import pytest
from scipy import stats

from sgdrace import (
    VARIANTS,
    Constant,
    Erlang,
    Exponential,
    HyperExponential,
    LogNormal,
    Lomax,
    Pareto,
    PerLearner,
    ShiftedExponential,
    Uniform,
    Weibull,
    order_statistics,
    simulate,
)

pytestmark = pytest.mark.no_cover
BURN_IN = 2000
FALSE_ALARM = 1e-6


def time_per_update(variant, P, K, law, updates=4000, replicas=60, seed=1):
    """Mean and standard error over replicas of the long-run time per update."""
    begun = 500  # by then every learner is far from the common start: a hundred mini-batches and more
    race = simulate(variant, P, K, law, begun + updates, replicas, seed=seed, detail=False)
    return race.time_per_update(burn_in=begun)


K_ASYNC = [
    *[(ShiftedExponential(), P, K, T) for P, K, T in [
        (8, 2, 0.5332), (8, 4, 1.241), (8, 6, 2.052), (16, 4, 0.5516), (16, 8, 1.287), (16, 12, 2.129),
        (64, 16, 0.5668), (64, 32, 1.307), (64, 48, 2.192),
        (256, 64, 0.5696), (256, 128, 1.312), (256, 192, 2.209),
    ]],
    *[(Pareto(), P, K, T) for P, K, T in [
        (8, 2, 0.4445), (8, 4, 1.047), (8, 6, 1.657), (16, 4, 0.4599), (16, 8, 1.105), (16, 12, 1.699),
        (64, 16, 0.4743), (64, 32, 1.123), (64, 48, 1.734),
        (256, 64, 0.4814), (256, 128, 1.124), (256, 192, 1.743), (16, 15, 2.916),
    ]],
    (LogNormal(), 8, 4, 1.034), (LogNormal(), 16, 4, 0.4554),
]  # fmt: skip


@pytest.mark.parametrize(("law", "P", "K", "expected"), K_ASYNC)
def test_time_per_update_of_k_async(law, P, K, expected):
    # Many learners even out; heavy tails need more races.
    light = {8: (4000, 60), 16: (4000, 40), 64: (4000, 20), 256: (500, 20)}
    heavy = {8: (4000, 200), 16: (4000, 200), 64: (4000, 40), 256: (500, 40)}
    updates, replicas = (light if isinstance(law, ShiftedExponential) else heavy)[P]
    mean, error = time_per_update("K-async", P, K, law, updates, replicas)
    assert mean == pytest.approx(expected, rel=5e-3)
    assert 4.9 * error < 5e-3 * expected


OTHER_LAWS = [
    (Erlang(3, 3.0), 0.545, 0.276, 0.25),
    (Uniform(0, 2.0), 0.4345, 0.2763, 0.25),
    (HyperExponential(), 0.1396, 0.2797, 0.25),
    (Lomax(), 0.1062, 0.1858, 1 / 6),
    (Weibull(0.5), 0.0706, 0.572, 0.5),
    (LogNormal(), 0.4769, 0.4554, 0.4122),
]


@pytest.mark.parametrize(
    ("law", "batch_sync", "k_async", "batch_async"), OTHER_LAWS, ids=lambda x: repr(x)[:12]
)
def test_time_per_update_of_other_laws(law, batch_sync, k_async, batch_async):
    expected = {"K-batch-sync": batch_sync, "K-async": k_async, "K-batch-async": batch_async}
    for variant, value in expected.items():
        mean, error = time_per_update(variant, 16, 4, law)
        # The references are themselves simulated to about 0.3 %, and rounded to 3 or 4 digits.
        assert mean == pytest.approx(value, rel=5e-3, abs=4.9 * error)


@pytest.mark.parametrize("law", [Exponential(), ShiftedExponential(), Pareto(), HyperExponential()], ids=repr)
@pytest.mark.parametrize("detail", [False, True])
def test_gaps_of_k_sync_are_order_statistics(law, detail):
    time = simulate("K-sync", 6, 4, law, updates=4000, seed=2, detail=detail).time[0]
    gaps = np.diff(time, prepend=0.0)
    assert stats.kstest(gaps, lambda x: order_statistics.cdf(law, 4, 6, x)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("variant", ["K-batch-sync", "K-batch-async"])
@pytest.mark.parametrize("detail", [False, True])
@pytest.mark.parametrize("K", [1, 3, 10])
def test_exponential_batches_are_erlang(variant, detail, K):
    time = simulate(variant, 4, K, Exponential(2.0), updates=3000, seed=3, detail=detail).time[0]
    gaps = np.diff(time, prepend=0.0)
    assert stats.kstest(gaps, stats.gamma(K, scale=1 / 8).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("detail", [False, True])
@pytest.mark.parametrize("K", [1, 3, 5])
def test_exponential_k_async_waits_as_long_as_k_sync(detail, K):
    time = simulate("K-async", 5, K, Exponential(), updates=3000, seed=4, detail=detail).time[0]
    gaps = np.diff(time, prepend=0.0)
    assert stats.kstest(gaps, lambda x: order_statistics.cdf(Exponential(), K, 5, x)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "law", [ShiftedExponential(), Pareto(), PerLearner(Erlang(), [1, 1, 2, 3])], ids=repr
)
@pytest.mark.parametrize("K", [1, 3, 4])
def test_detail_does_not_change_the_law_of_the_times(variant, law, K):
    setting = {"P": 4, "K": K, "delay": law, "updates": 12, "replicas": 4000}
    with_detail = simulate(variant, seed=5, **setting).time[:, -1]
    without = simulate(variant, seed=6, detail=False, **setting).time[:, -1]
    assert stats.ks_2samp(with_detail, without).pvalue > FALSE_ALARM


@pytest.mark.parametrize("law", [Erlang(), PerLearner(Exponential(), [1, 2, 2, 4])], ids=repr)
def test_long_run_rate_of_k_batch_async_is_the_sum_of_the_rates(law):
    rates = 1 / law.means if isinstance(law, PerLearner) else np.full(4, 1 / law.mean)
    mean, error = time_per_update("K-batch-async", 4, 6, law, replicas=20)
    assert mean == pytest.approx(6 / rates.sum(), abs=4.9 * error)
    assert 4.9 * error < 0.01 * mean


def test_constant_times_with_a_common_start_come_in_bursts():
    race = simulate("K-batch-async", 4, 1, Constant(1.0), updates=8)
    assert np.diff(race.time[0], prepend=0.0).tolist() == [1, 0, 0, 0, 1, 0, 0, 0]
    assert race.staleness[0, :, 0].tolist() == [0, 1, 2, 3, 3, 3, 3, 3]


class TestStaleness:
    @pytest.mark.parametrize("law", [Exponential(), Pareto(), Lomax(), Constant(1.0), Weibull(0.5)], ids=repr)
    @pytest.mark.parametrize(("P", "K"), [(5, 1), (8, 3), (4, 4)])
    def test_of_k_async_telescopes(self, law, P, K):
        # Between two pulls of a learner the versions advance by staleness + 1, up to its last push.
        race = simulate("K-async", P, K, law, updates=300, replicas=3, seed=0)
        total = (race.staleness + 1).sum(axis=(1, 2))
        last = np.stack(
            [
                [(race.learner[r] == i).any(axis=1).nonzero()[0].max(initial=-1) for i in range(P)]
                for r in range(3)
            ]
        )
        assert total.tolist() == (last + 1).sum(axis=1).tolist()

    @pytest.mark.parametrize("law", [Exponential(), Pareto(), Lomax(), Constant(1.0), Weibull(0.5)], ids=repr)
    @pytest.mark.parametrize(("P", "K"), [(5, 1), (8, 3), (4, 9)])
    def test_of_k_batch_async_telescopes(self, law, P, K):
        race = simulate("K-batch-async", P, K, law, updates=300, seed=0)
        learner, staleness = race.learner[0].ravel(), race.staleness[0].ravel()
        for i in range(P):
            mine = np.flatnonzero(learner == i)
            completing = (mine[:-1] % K == K - 1).sum()  # these pulled the version they had just made
            assert staleness[mine].sum() + completing == mine[-1] // K

    @pytest.mark.parametrize("law", [Exponential(), ShiftedExponential(), Pareto(), Erlang()], ids=repr)
    @pytest.mark.parametrize(("variant", "P", "K", "mean"), [
        ("K-async", 8, 1, 7.0), ("K-async", 16, 4, 3.0), ("K-batch-async", 16, 4, 15 / 4),
        ("K-batch-async", 8, 16, 7 / 16),
    ])  # fmt: skip
    def test_mean_does_not_depend_on_the_law(self, law, variant, P, K, mean):
        race = simulate(variant, P, K, law, BURN_IN + 100_000 // K, seed=1)
        assert race.staleness[:, BURN_IN:].mean() == pytest.approx(mean, abs=0.01)

    @pytest.mark.parametrize(("P", "K"), [(4, 1), (8, 2), (6, 6)])
    def test_of_exponential_k_async_is_geometric(self, P, K):
        race = simulate("K-async", P, K, Exponential(), updates=600, replicas=400, seed=7)
        staleness = race.staleness[:, -1, 0]  # one per replica: independent
        q = K / P
        assert _matches(staleness, lambda r: q * (1 - q) ** r)

    @pytest.mark.parametrize(("P", "K"), [(4, 2), (8, 5), (3, 7)])
    def test_of_exponential_k_batch_async_depends_on_the_place_in_the_batch(self, P, K):
        race = simulate("K-batch-async", P, K, Exponential(), updates=200, replicas=2000, seed=7)
        for k in (1, K):

            def at_least(r, k=k):
                return np.where(r == 0, 1.0, (1 - 1 / P) ** (k + (r - 1) * K))

            assert _matches(race.staleness[:, -1, k - 1], lambda r, f=at_least: f(r) - f(r + 1))

    def test_never_grows_by_one_once_every_learner_has_pushed(self):
        race = simulate("K-async", 8, 1, Exponential(), updates=20_000, seed=0)
        staleness = race.staleness[0, 1000:, 0]
        assert not (staleness[1:] == staleness[:-1] + 1).any()

    @pytest.mark.parametrize(("variant", "P", "K", "p0"), [
        ("K-async", 8, 4, 0.5), ("K-batch-async", 8, 4, 0.275818), ("K-batch-async", 8, 8, 0.425658),
        ("K-batch-async", 16, 4, 0.146786), ("K-batch-async", 16, 16, 0.396319),
        ("K-batch-async", 256, 256, 0.369632),
    ])  # fmt: skip
    def test_fresh_share_of_exponential_races(self, variant, P, K, p0):
        race = simulate(variant, P, K, Exponential(), BURN_IN // K + 1_000_000 // K, seed=3)
        assert (race.staleness[:, BURN_IN // K :] == 0).mean() == pytest.approx(p0, abs=0.003)

    @pytest.mark.parametrize(("law", "sd"), [
        (Exponential(), 39.5), (ShiftedExponential(), 19.8), (Erlang(), 23), (Uniform(), 23), (Lomax(), 88),
        (Weibull(0.5), 88),
    ], ids=repr)  # fmt: skip
    def test_spread_depends_on_the_law(self, law, sd):
        race = simulate("K-async", 40, 1, law, updates=60_000, replicas=4, seed=1)
        # The fourth moment of Lomax staleness is infinite, so its spread converges slowly.
        tolerance = 0.15 if isinstance(law, Lomax) else 0.05
        assert race.staleness[:, 10_000:].std() == pytest.approx(sd, rel=tolerance)


def _matches(staleness, pmf):
    """Chi-square test of a sample of staleness, the tail in one cell."""
    cells = np.arange(staleness.max() + 1)
    expected = len(staleness) * pmf(cells)
    enough = max(1, int((expected >= 8).sum()))
    observed = np.bincount(np.minimum(staleness, enough), minlength=enough + 1)
    expected = np.append(expected[:enough], len(staleness) - expected[:enough].sum())
    keep = expected > 1e-9
    if keep.sum() == 1:
        return observed[~keep].sum() == 0
    return stats.chisquare(observed[keep], expected[keep]).pvalue > FALSE_ALARM


class TestUtilization:
    def test_of_k_sync_is_known(self):
        # Of P learners K are used; X_{k:P} of them each, and P-K run in vain until X_{K:P}.
        P, K = 5, 3
        shares = simulate("K-sync", P, K, Exponential(), updates=4000, replicas=20, seed=0).utilization()
        means = [order_statistics.mean(Exponential(), k, P) for k in range(1, P + 1)]
        total = P * means[K - 1]
        for share, exact in [
            (shares.used, sum(means[:K]) / total),
            (shares.cancelled, (P - K) / P),
            (shares.idle, (K * means[K - 1] - sum(means[:K])) / total),
        ]:
            assert share.mean() == pytest.approx(exact, abs=4.9 * share.std() / math.sqrt(20) + 1e-12)

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_adds_up(self, variant):
        shares = simulate(variant, 6, 4, Pareto(), updates=100, replicas=5, seed=0).utilization()
        parts = [shares.used_fresh, shares.used_stale, shares.idle, shares.cancelled, shares.running]
        assert sum(parts) == pytest.approx(np.ones(5))
        assert all((part > -1e-12).all() for part in parts)
        assert ("batch" in variant) == (shares.idle == 0).all()
        assert variant.endswith("-sync") == (shares.running == 0).all()
        assert variant.endswith("-sync") == (shares.used_stale == 0).all()
