"""Facts about X_{K:P}."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from sgdrace import (
    Constant,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Lomax,
    Pareto,
    PerLearner,
    ShiftedExponential,
    Uniform,
    Weibull,
    order_statistics,
)
from sgdrace.delays import Scaled
from tests.examples import CONTINUOUS, DISCRETE, Own

FALSE_ALARM = 1e-6
MILLION = 10**6
CLOSED = [Exponential(), ShiftedExponential(), Pareto(), Pareto(1.2), Lomax(), Uniform(1.0, 3.0)]


def test_exponential_mean_is_a_difference_of_harmonic_numbers():
    for P, K in [(8, 1), (8, 4), (8, 8), (256, 192)]:
        exact = sum(1 / i for i in range(P - K + 1, P + 1))
        assert order_statistics.mean(Exponential(2.0), K, P) == pytest.approx(exact / 2, rel=1e-12)


def test_pareto_mean_is_a_ratio_of_gamma_functions():
    for P, K, alpha in [(8, 4, 2.5), (16, 16, 2.5), (64, 60, 1.5)]:
        log_mean = (
            special.gammaln(P + 1)
            - special.gammaln(P - K + 1)
            + special.gammaln(P - K + 1 - 1 / alpha)
            - special.gammaln(P + 1 - 1 / alpha)
        )
        assert order_statistics.mean(Pareto(alpha, 2.0), K, P) == pytest.approx(
            2 * math.exp(log_mean), rel=1e-10
        )


def test_lomax_is_pareto_moved_to_zero():
    for P, K in [(8, 1), (8, 8), (MILLION, 1)]:
        pareto, lomax = order_statistics.mean(Pareto(), K, P), order_statistics.mean(Lomax(), K, P)
        assert lomax == pytest.approx(pareto - 1, rel=1e-9)
        assert order_statistics.var(Lomax(), K, P) == order_statistics.var(Pareto(), K, P)


@pytest.mark.parametrize("law", CLOSED, ids=repr)
@pytest.mark.parametrize(
    ("K", "P"), [(1, 1), (1, 8), (4, 8), (8, 8), (1, MILLION), (MILLION // 2, MILLION), (MILLION, MILLION)]
)
def test_quadrature_agrees_with_closed_forms(law, K, P):
    own = Own(law, ("ppf", "isf"))
    assert order_statistics.mean(own, K, P) == pytest.approx(order_statistics.mean(law, K, P), rel=1e-8)
    assert order_statistics.var(own, K, P) == pytest.approx(order_statistics.var(law, K, P), rel=1e-7)


# Quantiles that are searched for take long. They differ from given ones in where they are asked for: near the
# smallest time, or deep in the tail, the heavier the deeper.
@pytest.mark.parametrize("law", [Uniform(1.0, 3.0), Exponential(), Pareto(1.2)], ids=repr)
@pytest.mark.parametrize(("K", "P"), [(1, MILLION), (MILLION, MILLION)])
def test_quadrature_agrees_with_closed_forms_where_only_probabilities_are_known(law, K, P):
    own = Own(law, ("cdf", "sf"))
    assert order_statistics.mean(own, K, P) == pytest.approx(order_statistics.mean(law, K, P), rel=1e-8)
    assert order_statistics.var(own, K, P) == pytest.approx(order_statistics.var(law, K, P), rel=1e-7)


def test_quadrature_of_a_law_without_a_survival_function():
    assert order_statistics.mean(Own(Pareto(), ("ppf",)), 8, 8) == pytest.approx(
        order_statistics.mean(Pareto(), 8, 8), rel=1e-8
    )


@pytest.mark.parametrize("shape", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("P", [1, 8, MILLION])
def test_minimum_of_weibulls_is_weibull(shape, P):
    law, minimum = Weibull(shape), Weibull(shape, P ** (-1 / shape))
    assert order_statistics.mean(law, 1, P) == pytest.approx(minimum.mean, rel=1e-8)
    assert order_statistics.var(law, 1, P) == pytest.approx(minimum.var, rel=1e-8)


@pytest.mark.parametrize("law", [Erlang(), HyperExponential(), LogNormal(0, 2.0), Weibull(0.3)], ids=repr)
def test_means_over_k_add_up_to_P_times_the_mean(law):
    for P in (3, 20):
        total = sum(order_statistics.mean(law, K, P) for K in range(1, P + 1))
        assert total == pytest.approx(P * law.mean, rel=1e-8)


def test_moments_are_infinite_where_the_tail_is_too_heavy():
    assert order_statistics.mean(Pareto(0.9), 8, 8) == order_statistics.mean(Lomax(0.5), 7, 8) == math.inf
    assert math.isfinite(order_statistics.mean(Pareto(0.9), 7, 8))
    assert order_statistics.var(Pareto(1.5), 8, 8) == math.inf
    assert order_statistics.mean(Own(Pareto(0.9), ("ppf", "isf")), 8, 8) == math.inf
    assert order_statistics.var(Own(Pareto(1.5), ("ppf", "isf")), 8, 8) == math.inf
    heavy = PerLearner([Pareto(0.4), Pareto(0.7), Exponential()])
    assert order_statistics.mean(heavy, 2, 3) < order_statistics.mean(heavy, 3, 3) == math.inf
    assert order_statistics.var(PerLearner([Pareto(1.5)] * 2), 2, 2) == math.inf


def test_empirical_moments_are_exact():
    law, K, P = Empirical([1.0, 2.0, 7.0]), 2, 3
    kth = [sorted(times)[K - 1] for times in itertools.product(law.times, repeat=P)]
    assert order_statistics.mean(law, K, P) == pytest.approx(np.mean(kth), rel=1e-12)
    assert order_statistics.var(law, K, P) == pytest.approx(np.var(kth), rel=1e-12)
    assert order_statistics.mean(Constant(3.0), 5, 9) == 3 and order_statistics.var(Constant(3.0), 5, 9) == 0


def test_cdf_is_a_binomial_tail():
    x = np.array([0.3, 1.0, 2.0])
    for K in (1, 3, 5):
        binomial = stats.binom.sf(K - 1, 5, Erlang().cdf(x))
        assert order_statistics.cdf(Erlang(), K, 5, x) == pytest.approx(binomial, rel=1e-12)
        assert order_statistics.sf(Erlang(), K, 5, x) == pytest.approx(1 - binomial, rel=1e-10)


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
@pytest.mark.parametrize(("K", "P"), [(1, 8), (7, 8), (500, 1000)])
def test_pdf_cdf_and_ppf_belong_together(law, K, P):
    q = np.array([0.01, 0.3, 0.7, 0.99])
    x = order_statistics.ppf(law, K, P, q)
    assert order_statistics.cdf(law, K, P, x) == pytest.approx(q, rel=1e-9)
    h = 1e-5 * x
    slope = (order_statistics.cdf(law, K, P, x + h) - order_statistics.cdf(law, K, P, x - h)) / (2 * h)
    assert order_statistics.pdf(law, K, P, x) == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize(
    "law", [*CONTINUOUS, Own(Erlang(), ("cdf",)), Own(Pareto(), ("cdf", "ppf"))], ids=repr
)
def test_samples_follow_the_cdf(law):
    for K, P in [(1, 6), (5, 6)]:
        sample = order_statistics.sample(law, K, P, seed=3, size=5000)
        assert stats.kstest(sample, lambda x: order_statistics.cdf(law, K, P, x)).pvalue > FALSE_ALARM  # noqa: B023


def test_samples_of_discrete_laws_are_their_atoms():
    for law in DISCRETE:
        sample = order_statistics.sample(law, 2, 4, seed=0, size=4000)
        assert set(sample) <= set(law.times)
        error = math.sqrt(order_statistics.var(law, 2, 4) / 4000)
        assert abs(sample.mean() - order_statistics.mean(law, 2, 4)) <= 5 * error  # false alarm 6e-7


class TestPerLearner:
    def test_two_exponentials(self):
        law = PerLearner(Exponential(), factors=[1.0, 3.0])
        first = 1 / (1 + 1 / 3)
        assert order_statistics.mean(law, 1, 2) == pytest.approx(first, rel=1e-12)
        assert order_statistics.mean(law, 2, 2) == pytest.approx(4 - first, rel=1e-12)
        assert order_statistics.ppf(law, 1, 2, 0.5) == pytest.approx(first * math.log(2), rel=1e-12)

    @pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
    @pytest.mark.parametrize("K", [1, 3, 4])
    def test_equal_learners_are_independent_copies_of_one_law(self, law, K):
        equal = PerLearner([law] * 4)
        assert order_statistics.mean(equal, K, 4) == pytest.approx(order_statistics.mean(law, K, 4), rel=1e-8)
        assert order_statistics.var(equal, K, 4) == pytest.approx(order_statistics.var(law, K, 4), rel=1e-7)
        x = law.ppf([0.2, 0.8])
        assert order_statistics.sf(equal, K, 4, x) == pytest.approx(
            order_statistics.sf(law, K, 4, x), rel=1e-10
        )

    @pytest.mark.parametrize(("K", "P"), [(1, 20), (10, 20), (20, 20), (3, 40)])
    def test_many_learners_of_two_kinds_equal_a_sum_over_binomials(self, K, P):
        law = PerLearner([Uniform(0.0, 2.0)] * (P // 2) + [Exponential()] * (P // 2))

        def running(x):
            done = np.arange(P // 2 + 1)[:, None]
            fast, slow = (stats.binom.pmf(done, P // 2, p) for p in (min(x / 2, 1), -math.expm1(-x)))
            return np.convolve(fast.ravel(), slow.ravel())[:K].sum()

        ends = [0.0, *order_statistics.ppf(law, K, P, [0.01, 0.5, 0.99]), 2.0, 40.0]
        exact = sum(
            integrate.quad(running, a, b, epsabs=1e-13, limit=200)[0]
            for a, b in itertools.pairwise(sorted(ends))
        )
        assert order_statistics.mean(law, K, P) == pytest.approx(exact, rel=1e-9)

    def test_different_learners_add_up_to_their_means_and_take_turns(self):
        law = PerLearner(Erlang(), factors=np.linspace(1.0, 3.0, 6))
        total = sum(order_statistics.mean(law, K, 6) for K in range(1, 7))
        assert total == pytest.approx(law.means.sum(), rel=1e-10)
        many = PerLearner(Exponential(), factors=np.linspace(1.0, 2.0, 40))
        assert order_statistics.mean(many, 1, 40) == pytest.approx(1 / (1 / many.means).sum(), rel=1e-10)
        # Of different exponentials the second smallest: the first, and then the least of the others.
        rates = 1 / many.means
        second = 1 / rates.sum() + (rates / rates.sum() / (rates.sum() - rates)).sum()
        assert order_statistics.mean(many, 2, 40) == pytest.approx(second, rel=1e-10)

    def test_jumps_are_no_obstacle(self):
        law = PerLearner([Constant(1.0), Constant(3.0), Uniform(0.0, 4.0)])
        # U is below 1, between 1 and 3, or above 3
        assert order_statistics.mean(law, 2, 3) == pytest.approx(0.25 * 1 + 0.5 * 2 + 0.25 * 3, rel=1e-10)

    def test_constants_take_turns(self):
        law = PerLearner(Constant(1.0), factors=[3.0, 1.0, 2.0])
        assert [order_statistics.mean(law, K, 3) for K in (1, 2, 3)] == pytest.approx([1, 2, 3], rel=1e-12)
        assert order_statistics.var(law, 2, 3) == pytest.approx(0, abs=1e-12)

    def test_samples_follow_the_cdf(self):
        law = PerLearner(Erlang(), factors=[1.0, 2.0, 5.0])
        sample = order_statistics.sample(law, 2, 3, seed=0, size=(50, 100)).ravel()
        assert stats.kstest(sample, lambda x: order_statistics.cdf(law, 2, 3, x)).pvalue > FALSE_ALARM


def test_scaling_time_scales_moments():
    assert order_statistics.mean(Scaled(Erlang(), 3.0), 2, 4) == pytest.approx(
        3 * order_statistics.mean(Erlang(), 2, 4)
    )
    assert order_statistics.var(Scaled(Erlang(), 3.0), 2, 4) == pytest.approx(
        9 * order_statistics.var(Erlang(), 2, 4)
    )


def test_a_law_with_jumps_in_its_ppf_is_refused_rather_than_wrong():
    with pytest.raises(ValueError, match=r"could not be integrated for .* its ppf must be smooth"):
        order_statistics.mean(Own(Empirical([1.0, 2.0, 7.0]), ("ppf", "isf")), 2, 3)


# SciPy's own order statistics, for the laws that its new kind of distributions can represent.
NEW_KIND = {
    Exponential(2.0): lambda: stats.make_distribution(stats.expon)() / 2.0,
    ShiftedExponential(1.0, 1.0): lambda: stats.make_distribution(stats.expon)() + 1.0,
    Uniform(1.0, 3.0): lambda: stats.Uniform(a=1.0, b=3.0),
    Gamma(2.0, 2.0): lambda: stats.make_distribution(stats.gamma)(a=2.0) / 2.0,
    Weibull(0.5): lambda: stats.make_distribution(stats.weibull_min)(c=0.5),
    LogNormal(0.0, 1.0): lambda: stats.make_distribution(stats.lognorm)(s=1.0),
    Pareto(2.5): lambda: stats.make_distribution(stats.pareto)(b=2.5),
    Lomax(2.5): lambda: stats.make_distribution(stats.lomax)(c=2.5),
}


@pytest.mark.skipif(not hasattr(stats, "order_statistic"), reason="order_statistic is new in SciPy 1.15")
@pytest.mark.parametrize("law", NEW_KIND, ids=repr)
def test_order_statistics_are_those_of_SciPy(law):
    distribution = NEW_KIND[law]()
    for K, P in [(4, 8), (500, 1000), (1000, 1000)]:
        theirs = stats.order_statistic(distribution, r=K, n=P)
        x = order_statistics.ppf(law, K, P, np.array([0.001, 0.1, 0.5, 0.9, 0.999]))
        assert order_statistics.cdf(law, K, P, x) == pytest.approx(theirs.cdf(x), rel=1e-10)
        assert order_statistics.sf(law, K, P, x) == pytest.approx(theirs.ccdf(x), rel=1e-10)
        assert order_statistics.pdf(law, K, P, x) == pytest.approx(theirs.pdf(x), rel=1e-10)
        assert order_statistics.mean(law, K, P) == pytest.approx(theirs.mean(), rel=1e-9)


@pytest.mark.parametrize("law", [Exponential(), Pareto(2.5)], ids=repr)
def test_a_sum_over_very_many_learners_is_an_integral(law, monkeypatch):
    K = 2 * order_statistics.DIRECT
    for P in (K, 10**8):
        long = order_statistics.mean(law, K, P), order_statistics.var(law, K, P)
        with monkeypatch.context() as patch:
            patch.setattr(order_statistics, "DIRECT", 10**8)
            direct = order_statistics.mean(law, K, P), order_statistics.var(law, K, P)
        assert long == pytest.approx(direct, rel=1e-12)


def test_waiting_for_a_billion_learners_needs_no_memory():
    harmonic = math.log(10**9) + np.euler_gamma + 0.5e-9
    assert order_statistics.mean(Exponential(), 10**9, 10**9) == pytest.approx(harmonic, rel=1e-13)
    assert order_statistics.var(Exponential(), 2**53, 2**53) == pytest.approx(math.pi**2 / 6, rel=1e-13)
    # The first of two million among 2^53 memoryless learners come one after the other, each at a rate of P.
    few = 2 * 10**6
    assert order_statistics.mean(Exponential(), few, 2**53) == pytest.approx(few / 2**53, rel=1e-9)
    with pytest.raises(ValueError, match=r"P must be at most 2\^53"):
        order_statistics.mean(Exponential(), 1, 2**53 + 1)
