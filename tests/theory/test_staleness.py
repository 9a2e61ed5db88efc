import math
from fractions import Fraction

import numpy as np
import pytest

from sgdrace import (
    Constant,
    Empirical,
    Erlang,
    Exponential,
    HyperExponential,
    Lomax,
    Pareto,
    PerLearner,
    ShiftedExponential,
    Uniform,
    Weibull,
    simulate,
    theory,
)
from sgdrace.delays import Scaled
from sgdrace.variants import VARIANTS


@pytest.mark.parametrize("P", [1, 8, 40])
def test_mean_staleness_of_async_is_P_minus_1(P):
    assert theory.mean_staleness("K-async", P, 1) == P - 1
    assert theory.mean_staleness("K-batch-async", P, 1) == P - 1


@pytest.mark.parametrize(("P", "K"), [(8, 2), (8, 8), (16, 4)])
def test_mean_staleness_of_the_variants(P, K):
    assert theory.mean_staleness("K-async", P, K) == P / K - 1
    assert theory.mean_staleness("K-batch-async", P, K) == (P - 1) / K
    assert theory.mean_staleness("K-sync", P, K) == theory.mean_staleness("K-batch-sync", P, K) == 0


@pytest.mark.parametrize("variant", ["K-async", "K-batch-async"])
def test_mean_staleness_needs_a_finite_mean_delay(variant):
    for law in (Exponential(), Pareto(1.05), Constant(), PerLearner(Pareto(1.5), factors=[1, 2, 3, 4])):
        assert theory.mean_staleness(variant, 4, 2, law) == theory.mean_staleness(variant, 4, 2)
    for law in (Pareto(0.9), Lomax(1.0), PerLearner([Exponential()] * 3 + [Pareto(0.9)])):
        with pytest.raises(ValueError, match=r"needs a finite mean E\[X\]"):
            theory.mean_staleness(variant, 4, 2, law)
        assert theory.mean_staleness(variant.replace("async", "sync"), 4, 2, law) == 0
    with pytest.raises(ValueError, match="3 learners, but P is 4"):
        theory.mean_staleness(variant, 4, 2, PerLearner([Exponential()] * 3))


@pytest.mark.parametrize(("variant", "K"), [("K-async", 2), ("K-batch-async", 3)])
@pytest.mark.parametrize("law", [Exponential(), Pareto(0.5)], ids=repr)
def test_mean_staleness_of_any_race_lacks_the_age_of_the_copies_in_work(variant, K, law):
    P, J = 4, 500
    race = simulate(variant, P, K, law, updates=J, replicas=1, seed=5)
    pulled = np.zeros(P, int)  # the version each learner works on
    for j, learners in enumerate(race.learner[0]):
        for k, learner in enumerate(learners.tolist()):
            pulled[learner] = j + 1 if variant == "K-async" or k == K - 1 else j
    lacking = (J - pulled).sum() / (K * J)
    assert race.staleness.mean() == pytest.approx(theory.mean_staleness(variant, P, K) - lacking, rel=1e-12)


def test_mean_staleness_stays_below_its_limit_where_the_mean_delay_is_infinite():
    """100 races each; 5 standard errors on either side, one false alarm in a million seeds."""
    for law, gets_there in ((Pareto(0.5), False), (Pareto(2.5), True)):
        for updates in (1000, 10_000):
            staleness = simulate("K-async", 4, 1, law, updates=updates, replicas=100, seed=1).staleness
            means = staleness.mean(axis=(1, 2))
            error = 5 * means.std() / np.sqrt(100)
            assert (means.mean() + error < 2.5) != gets_there
            assert not gets_there or abs(means.mean() - 3) < error + 20 / updates


@pytest.mark.parametrize("P", [10**3, 10**9, 10**15])
def test_pmf_keeps_its_digits_for_very_many_learners(P):
    pmf = theory.staleness_pmf("K-async", P, 1, [0, 1, P])
    assert pmf == pytest.approx(
        [1 / P, (1 - 1 / P) / P, math.exp(P * math.log1p(-1 / P)) / P], rel=1e-13, abs=0
    )


@pytest.mark.parametrize(("P", "K"), [(8, 4), (1000, 3), (50, 700), (10**9, 1), (10**15, 5)])
def test_p0_of_batch_async_is_the_mean_over_the_pushes_of_a_batch(P, K):
    exact = sum(1 - (1 - Fraction(1, P)) ** k for k in range(1, K + 1)) / K
    assert theory.p0("K-batch-async", P, K) == pytest.approx(float(exact), rel=1e-14, abs=0)


def test_a_pmf_of_billions_of_stalenesses_is_refused_and_single_ones_are_not():
    with pytest.raises(ValueError, match=r"would be 2763102[0-9]+ numbers; r must say which are needed"):
        theory.staleness_pmf("K-async", 10**9, 1)
    assert theory.staleness_pmf("K-async", 10**9, 1, 0) == pytest.approx(1e-9)
    assert theory.staleness_pmf("K-batch-async", 10**9, 10**9).size < 50


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("P", "K"), [(1, 1), (8, 1), (8, 3), (8, 8), (100, 7)])
def test_staleness_pmf_has_mass_1_and_the_conserved_mean(variant, P, K):
    pmf = theory.staleness_pmf(variant, P, K)
    assert pmf.sum() == pytest.approx(1, abs=2e-12)
    assert pmf @ np.arange(pmf.size) == pytest.approx(theory.mean_staleness(variant, P, K), abs=1e-8)
    assert pmf[0] == pytest.approx(theory.p0(variant, P, K))
    assert (pmf >= 0).all()


def test_staleness_of_async_is_geometric():
    r = np.arange(50)
    np.testing.assert_allclose(theory.staleness_pmf("K-async", 8, 1, r), (1 / 8) * (7 / 8) ** r, rtol=1e-12)
    np.testing.assert_allclose(
        theory.staleness_pmf("K-batch-async", 8, 1, r), (1 / 8) * (7 / 8) ** r, rtol=1e-12
    )


def test_staleness_of_batch_async_averages_over_the_pushes_of_a_batch():
    P, K, r = 8, 4, np.arange(1, 30)
    stays = 1 - 1 / P
    survival = np.mean([stays ** (k + (r - 1) * K) for k in range(1, K + 1)], axis=0)
    expected = survival[:-1] - survival[1:]
    np.testing.assert_allclose(theory.staleness_pmf("K-batch-async", P, K, r[:-1]), expected, rtol=1e-10)


def test_one_staleness_gives_one_probability():
    assert theory.staleness_pmf("K-async", 8, 4, 1) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("P", "K", "batch_average"),
    [(8, 4, 0.275818), (8, 8, 0.425658), (16, 4, 0.146786), (16, 16, 0.396319), (256, 256, 0.369632)],
)
def test_p0_of_exponential_delays(P, K, batch_average):
    assert theory.p0("K-async", P, K) == K / P
    assert theory.p0("K-batch-async", P, K) == pytest.approx(batch_average, abs=6e-7)
    assert theory.p0("K-sync", P, K) == theory.p0("K-batch-async", 1, K) == 1


@pytest.mark.parametrize(
    ("law", "share"),
    [
        (ShiftedExponential(1.0, 1.0), 0.000977),
        (Erlang(3, 3.0), 0.018957),
        (Uniform(0.0, 2.0), 1 / 15),
        (Exponential(), 0.125),
        (Lomax(2.5, 1.0), 0.19231),
        (HyperExponential((0.9, 0.1), (2.0, 1 / 5.5)), 0.22042),
        (Weibull(0.5), 0.40563),
    ],
    ids=repr,
)
def test_frequency_of_fresh_gradients_with_8_learners(law, share):
    assert theory.p0_frequency(law, 8) == pytest.approx(share, abs=5.1e-6 if share > 0.1 else 5.1e-7)
    assert theory.p0_frequency(Scaled(law, 7.0), 8) == pytest.approx(theory.p0_frequency(law, 8), rel=1e-9)


@pytest.mark.parametrize("P", [2, 16, 1000])
def test_frequency_of_fresh_gradients_in_closed_form(P):
    assert theory.p0_frequency(Exponential(3.0), P) == pytest.approx(1 / P, rel=1e-9)
    assert theory.p0_frequency(Uniform(0.0, 5.0), P) == pytest.approx(1 / (2 * P - 1), rel=1e-9)
    # Lomax: S_e(X) is (1 + X)^(1 - α), a power of a uniform variable.
    assert theory.p0_frequency(Lomax(1.05, 1.0), P) == pytest.approx(1.05 / (1.05 + 0.05 * (P - 1)), rel=1e-9)


def test_constant_delays_leave_no_gradient_fresh_and_one_learner_all():
    assert theory.p0_frequency(Constant(2.0), 4) == 0
    assert theory.p0_frequency(Pareto(), 1) == 1


def test_frequency_of_fresh_gradients_for_measured_times():
    # E[X] = 2: the other learner's remaining time outlasts 1, 2, 3 with probability 1/2, 1/6, 0.
    assert theory.p0_frequency(Empirical([1.0, 2.0, 3.0]), 2) == pytest.approx((1 / 2 + 1 / 6) / 3)


def test_bad_arguments_are_named():
    with pytest.raises(TypeError, match="r must hold whole numbers"):
        theory.staleness_pmf("K-async", 8, 1, [0.5])
    with pytest.raises(ValueError, match="r must hold whole numbers of at least 0; got -1"):
        theory.staleness_pmf("K-async", 8, 1, [0, -1])
    with pytest.raises(ValueError, match="between 1 and P = 4; got 5"):
        theory.mean_staleness("K-async", 4, 5)
    with pytest.raises(ValueError, match="this needs a finite mean"):
        theory.p0_frequency(Pareto(1.0), 4)
    with pytest.raises(TypeError, match="must be one law that all learners share here, not a PerLearner"):
        theory.p0_frequency(PerLearner([Exponential()] * 2), 2)


def test_frequency_of_fresh_gradients_of_nearly_constant_times():
    # The narrower the law, the rarer it is that the others all need longer than a fresh mini-batch.
    assert theory.p0_frequency(Weibull(1e8), 8) == pytest.approx(0, abs=1e-12)
