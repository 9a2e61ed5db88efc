"""Facts about laws fitted to measured times: nothing of the family is likelier, and the truth is near."""

import math

import numpy as np
import pytest
from scipy import stats

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
    ShiftedExponential,
    Uniform,
    Weibull,
    fit,
)
from sgdrace.delays import ks_distance

FALSE_ALARM = 1e-6  # of each statistical test in this file, two-sided: 4.9 standard errors
Z = float(stats.norm.isf(FALSE_ALARM / 2))
N = 4000


# Truth, and asymptotic standard error of each parameter times the square root of the number of times: the
# inverse of Fisher's information.
def weibull_errors(shape, scale):
    return math.sqrt(6) / math.pi * shape, 1.053 * scale / shape


def gamma_errors(shape, rate):
    from scipy.special import polygamma

    trigamma = float(polygamma(1, shape))
    determinant = shape * trigamma - 1
    return math.sqrt(shape / determinant), rate * math.sqrt(trigamma / determinant)


def lomax_errors(a, s):
    information = np.array([[1 / a**2, -1 / (s * (a + 1))], [-1 / (s * (a + 1)), a / (s**2 * (a + 2))]])
    return tuple(np.sqrt(np.diag(np.linalg.inv(information))))


REGULAR = [
    (Exponential(2.5), {"rate": 2.5}),
    (LogNormal(-0.5, 0.7), {"mu": 0.7, "sigma": 0.7 / math.sqrt(2)}),
    (Weibull(0.6, 3.0), dict(zip(("shape", "scale"), weibull_errors(0.6, 3.0), strict=True))),
    (Weibull(4.0, 0.02), dict(zip(("shape", "scale"), weibull_errors(4.0, 0.02), strict=True))),
    (Gamma(0.4, 2.0), dict(zip(("shape", "rate"), gamma_errors(0.4, 2.0), strict=True))),
    (Gamma(30.0, 0.1), dict(zip(("shape", "rate"), gamma_errors(30.0, 0.1), strict=True))),
    (Lomax(1.5, 4.0), dict(zip(("shape", "scale"), lomax_errors(1.5, 4.0), strict=True))),
    (ShiftedExponential(2.0, 4.0), {"rate": 4.0}),
    (Pareto(2.5, 0.3), {"shape": 2.5}),
]
TRUTHS = [law for law, _ in REGULAR] + [
    Erlang(4, 2.0),
    Uniform(1.0, 3.0),
    HyperExponential((0.9, 0.1), (2.0, 0.2)),
]


def measured(law, n=N, seed=3):
    return law.sample(np.random.default_rng(seed), n)


def log_likelihood(law, times):
    return float(np.log(law.pdf(times)).sum())


@pytest.mark.parametrize(("truth", "errors"), REGULAR, ids=repr)
def test_the_parameters_of_the_truth_come_back_within_their_standard_errors(truth, errors):
    found = fit(measured(truth), [type(truth)]).best
    for name, error in errors.items():
        assert abs(getattr(found, name) - getattr(truth, name)) < Z * error / math.sqrt(N), name


def test_the_ends_of_a_law_are_the_extreme_times():
    # The least of n times exceeds the least possible by more than 14/n units once in exp(14) > 1e6 samples.
    for truth, least, unit in (
        (ShiftedExponential(2.0, 4.0), "shift", 1 / 4),
        (Pareto(2.5, 0.3), "scale", 0.3 / 2.5),
        (Uniform(1.0, 3.0), "low", 2.0),
    ):
        times = measured(truth)
        found = getattr(fit(times, [type(truth)]).best, least)
        assert found == times.min() and 0 <= found - getattr(truth, least) < 14.1 * unit / N
    assert fit(measured(Uniform(1.0, 3.0)), [Uniform]).best.high == measured(Uniform(1.0, 3.0)).max()


def test_two_kinds_of_mini_batches_are_told_apart():
    truth = HyperExponential((0.9, 0.1), (2.0, 0.2))
    times = measured(truth, 20_000)
    (found,) = fit(times, [HyperExponential])
    # Wilks: twice the gain over the truth is a chi-square variable with three degrees of freedom.
    assert 2 * (found.log_likelihood - log_likelihood(truth, times)) < stats.chi2.isf(FALSE_ALARM, 3)
    assert sorted(found.law.rates) == pytest.approx([0.2, 2.0], rel=0.15)


@pytest.mark.parametrize("truth", TRUTHS, ids=repr)
def test_the_truth_is_never_likelier_than_the_fit(truth):
    for seed in range(5):
        times = measured(truth, 300, seed)
        (found,) = fit(times, [type(truth)])
        assert found.log_likelihood >= log_likelihood(truth, times) - 1e-7
        assert found.log_likelihood == pytest.approx(log_likelihood(found.law, times), abs=1e-6)


@pytest.mark.parametrize("family", [Gamma, Weibull, Lomax, HyperExponential, LogNormal, Exponential])
@pytest.mark.parametrize("truth", [LogNormal(1.0, 1.3), Lomax(2.0, 1.0)], ids=repr)
def test_no_other_parameters_are_likelier(family, truth):
    times = measured(truth, 500)
    (found,) = fit(times, [family])
    if family is HyperExponential:
        p, rates = found.law.probabilities[0], np.array(found.law.rates)
        near = [
            HyperExponential((p * f, 1 - p * f), tuple(rates * (g, h)))
            for f in (0.99, 1, 1.01)
            for g in (0.99, 1, 1.01)
            for h in (0.99, 1, 1.01)
        ]
    else:
        values = [getattr(found.law, name) for name in family.__match_args__]
        steps = np.stack(np.meshgrid(*[(0.99, 1, 1.01)] * len(values)), -1).reshape(-1, len(values))
        near = [family(*(values * step)) for step in steps]
    assert max(log_likelihood(law, times) for law in near) <= found.log_likelihood + 1e-6


@pytest.mark.parametrize(
    ("family", "scipys"),
    [
        (Exponential, lambda t: stats.expon(*stats.expon.fit(t, floc=0))),
        (ShiftedExponential, lambda t: stats.expon(*stats.expon.fit(t))),
        (Pareto, lambda t: stats.pareto(*stats.pareto.fit(t, floc=0))),
        (LogNormal, lambda t: stats.lognorm(*stats.lognorm.fit(t, floc=0))),
        (Uniform, lambda t: stats.uniform(*stats.uniform.fit(t))),
        (Gamma, lambda t: stats.gamma(*stats.gamma.fit(t, floc=0))),
        (Weibull, lambda t: stats.weibull_min(*stats.weibull_min.fit(t, floc=0))),
        (Lomax, lambda t: stats.lomax(*stats.lomax.fit(t, floc=0))),
    ],
)
def test_scipy_fits_the_same_law(family, scipys):
    times = measured(Lomax(3.0, 2.0), 1000)
    (found,) = fit(times, [family])
    q = np.array([0.01, 0.5, 0.99])
    assert found.law.ppf(q) == pytest.approx(scipys(times).ppf(q), rel=1e-3)


def test_the_stages_of_an_erlang_law_are_the_likeliest_whole_number():
    for stages in (1, 2, 7):
        times = measured(Erlang(stages, 3.0), 200)
        (found,) = fit(times, [Erlang])
        others = [log_likelihood(Erlang(n, n / times.mean()), times) for n in range(1, 30)]
        assert (
            found.log_likelihood == pytest.approx(max(others)) and found.law.stages == np.argmax(others) + 1
        )


def test_where_no_tail_is_heavy_a_lomax_law_comes_near_the_exponential():
    times = measured(Uniform(1.0, 2.0), 200)
    lomax, exponential = (fit(times, [family])[0] for family in (Lomax, Exponential))
    assert lomax.log_likelihood == pytest.approx(exponential.log_likelihood, abs=1e-3)
    assert lomax.aic > exponential.aic and math.isfinite(lomax.law.mean)


@pytest.mark.parametrize("truth", TRUTHS, ids=repr)
def test_a_fit_does_not_know_seconds_from_milliseconds(truth):
    times = measured(truth, 300)
    for unit in (1e-9, 1e6):
        one, other = fit(times, [type(truth)])[0], fit(unit * times, [type(truth)])[0]
        assert other.law.ppf([0.1, 0.9]) == pytest.approx(unit * one.law.ppf([0.1, 0.9]), rel=1e-5)
        assert other.log_likelihood == pytest.approx(one.log_likelihood - 300 * math.log(unit), abs=1e-4)
        assert other.distance == pytest.approx(one.distance, abs=1e-5)


@pytest.mark.parametrize("truth", [law for law in TRUTHS if not isinstance(law, Erlang)], ids=repr)
def test_the_true_family_is_found_among_all(truth):
    # A family that holds the true one may gain a little, and Wilks bounds by how much; others lose a lot.
    fits = fit(measured(truth))
    assert len(fits) == 9 and [one.aic for one in fits] == sorted(one.aic for one in fits)
    assert fits[type(truth)].log_likelihood > fits[0].log_likelihood - stats.chi2.isf(FALSE_ALARM, 2) / 2
    assert fits.best is fits[0].law


def test_the_same_times_give_the_same_fits():
    times = measured(HyperExponential(), 300)
    assert repr(fit(times)) == repr(fit(times.copy()))


@pytest.mark.parametrize("truth", [Exponential(), Pareto(), LogNormal()], ids=repr)
def test_the_distance_is_that_of_kolmogorov_and_smirnov(truth):
    times = measured(truth, 100)
    assert ks_distance(times, truth) == pytest.approx(stats.kstest(times, truth.cdf).statistic, rel=1e-12)
    (found,) = fit(times, [type(truth)])
    assert found.distance == ks_distance(times, found.law)


def test_the_distance_of_times_from_themselves_is_nothing():
    times = [1.0, 1.0, 2.0, 5.0]
    assert ks_distance(times, Empirical(times)) == 0
    assert ks_distance(times, Constant(1.0)) == 0.5
    assert ks_distance(times, Constant(3.0)) == 0.75
    assert ks_distance([1.0], stats.uniform(0, 4)) == 0.75


def test_ties_count_as_often_as_they_were_measured():
    once, twice = fit([1.0, 2.0, 4.0, 5.0]), fit([1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 5.0, 5.0])
    for one in once:
        two = twice[type(one.law)]
        assert two.log_likelihood == pytest.approx(2 * one.log_likelihood, abs=1e-6)
        assert two.distance == pytest.approx(one.distance, abs=1e-4)


def test_each_parameter_costs_two_of_akaikes_points():
    parameters = {Exponential: 1, HyperExponential: 3}  # the share of one kind, and a rate for each
    for one in fit(measured(LogNormal(), 100)):
        chosen = parameters.get(type(one.law), 2)
        assert one.parameters == chosen and one.aic + 2 * one.log_likelihood == pytest.approx(2 * chosen)


def test_a_very_long_time_does_not_break_a_likelihood():
    times = np.append(measured(Exponential(), 2000), 1e7)
    assert all(math.isfinite(one.log_likelihood) and 0 < one.distance < 1 for one in fit(times))


def test_times_of_zero_are_fitted_by_laws_that_allow_them():
    fits = fit([0.0, 1.0, 2.0], [Exponential, ShiftedExponential, Uniform])
    assert fits[ShiftedExponential].law.shift == fits[Uniform].law.low == 0
    assert fits[Exponential].law.rate == 1


@pytest.mark.parametrize("family", [Pareto, LogNormal, Gamma, Weibull, Lomax, HyperExponential, Erlang])
def test_times_of_zero_are_refused_where_they_would_decide_everything(family):
    with pytest.raises(ValueError, match=rf"above 0 to fit {family.__name__}; entry 1 is 0: leave it out"):
        fit([2.0, 0.0, 1.0, 3.0, 4.0], [family])


@pytest.mark.parametrize(
    ("times", "laws", "error", "sentence"),
    [
        ([], None, ValueError, r"times must be a non-empty list of numbers; got shape \(0,\)\."),
        ([1.0, -1.0], None, ValueError, r"every entry of times must be .*; entry 1 is -1\."),
        ([1.0, math.nan], None, ValueError, r"every entry of times must be .*; entry 1 is nan\."),
        ([2.0] * 9, [Exponential], ValueError, r"Exponential needs at least 2 different times; got 1\."),
        ([1.0, 2.0], [Gamma], ValueError, r"a fit of Gamma needs at least 3 different times; got 2\."),
        ([1.0, 2.0, 3.0], None, ValueError, r"HyperExponential needs at least 4 different times; got 3\."),
        ([1.0, 2.0], [], TypeError, r"laws must be a list of families .*; got \[\]\."),
        ([1.0, 2.0], "Pareto", TypeError, r"laws must be a list of families .*; got 'Pareto'\."),
        ([1.0, 2.0], Pareto, TypeError, r"laws must be a list of families .*; got .*Pareto.*\."),
        ([1.0, 2.0], [Pareto()], TypeError, r"every entry of laws must be one of .*; got Pareto\(.*\)\."),
        ([1.0, 2.0], [Empirical], TypeError, r"every entry of laws must be one of Exponential, .*Empirical"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_one_sentence(times, laws, error, sentence):
    with pytest.raises(error, match=sentence) as refusal:
        fit(times, laws)
    assert str(refusal.value).endswith(".") and "\n" not in str(refusal.value)


def test_a_family_that_was_not_fitted_is_named():
    fits = fit([1.0, 2.0, 4.0], [Exponential, Exponential])
    assert len(fits) == 1
    with pytest.raises(KeyError, match="Pareto was not fitted"):
        fits[Pareto]


def test_the_gamma_law_of_a_mean_and_a_variance_has_them():
    law = Gamma.from_moments(mean=0.45, var=1.7)
    assert (law.mean, law.var) == pytest.approx((0.45, 1.7))
