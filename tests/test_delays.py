"""Facts about the laws of mini-batch times."""

import copy
import dataclasses
import math
import pickle
from decimal import Decimal
from fractions import Fraction

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
    PerLearner,
    ShiftedExponential,
    Uniform,
    order_statistics,
    simulate,
)
from sgdrace.delays import Scaled, Shifted, as_law
from tests.examples import CONTINUOUS, DISCRETE, Own

FALSE_ALARM = 1e-6  # of each statistical test in this file


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
def test_samples_follow_the_cdf(law):
    sample = law.sample(np.random.default_rng(1), 20_000)
    assert stats.kstest(sample, law.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
def test_an_exponential_at_the_cumulative_hazard_is_the_law(law):
    exponential = np.random.default_rng(2).standard_exponential(20_000)
    assert stats.kstest(law.from_exponential(exponential), law.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
def test_quantiles_invert_the_cdf_on_both_sides(law):
    q = np.array([1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999])
    assert law.cdf(law.ppf(q)) == pytest.approx(q, rel=1e-9, abs=1e-13)
    tail = np.array([1e-120, 1e-30, 1e-9, 0.1, 0.7]) if law.sf(1e9) > 0 or law.sf(300.0) > 0 else q[1:4]
    assert law.sf(law.isf(tail)) == pytest.approx(tail, rel=1e-7)


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
def test_mean_and_variance_are_integrals_over_quantiles(law):
    # Gauss-Legendre in the cumulative hazard, where every law here is smooth on the panels.
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.concatenate([[0], 2.0 ** np.arange(-40, 7)])
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    e = (middle[:, None] + half[:, None] * nodes).ravel()
    density = (half[:, None] * weights).ravel() * np.exp(-e)
    x = law.from_exponential(e)
    mean = density @ x
    assert law.mean == pytest.approx(mean, rel=1e-6)
    assert law.var == pytest.approx(density @ (x - mean) ** 2, rel=1e-4)


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
def test_density_is_the_slope_of_the_cdf(law):
    x = law.ppf(np.array([0.2, 0.5, 0.8]))
    h = 1e-6 * x
    assert law.pdf(x) == pytest.approx((law.cdf(x + h) - law.cdf(x - h)) / (2 * h), rel=1e-6)
    assert law.hazard(x) == pytest.approx(law.pdf(x) / law.sf(x))


def _ages(law):
    """(some age makes the rest stochastically shorter, some age makes it longer), checked on a grid."""
    x = np.append(law.ppf(np.linspace(0, 0.999, 60)), np.linspace(0, law.ppf(0.999), 60))
    survival = np.multiply.outer(law.sf(x), law.sf(x))
    both = law.sf(np.add.outer(x, x))
    return bool((both < survival - 1e-9).any()), bool((both > survival + 1e-9).any())


@pytest.mark.parametrize("law", [*CONTINUOUS, *DISCRETE, Gamma(3.0, 1.0), Exponential()], ids=repr)
def test_ageing_is_what_the_survival_function_says(law):
    name = {(True, False): "NLTU", (False, True): "NSTU", (False, False): "both", (True, True): "neither"}
    assert law.ageing == name[_ages(law)]


def test_shapes_of_one_are_exponential():
    assert Gamma(1.0, 2.0).ageing == Erlang(1, 2.0).ageing == "both"
    assert HyperExponential((0.5, 0.5), (2.0, 2.0)).ageing == "both"


def test_long_traces_are_not_certified():
    assert Empirical(np.linspace(1, 1.001, 6000)).ageing == "neither"
    assert Empirical(np.linspace(1, 1.001, 100)).ageing == "NLTU"


def test_infinite_moments_are_infinite():
    from sgdrace import Lomax, Pareto

    assert Pareto(1.0).mean == Lomax(0.9).mean == math.inf
    assert Pareto(1.0).var == Pareto(2.0).var == Lomax(1.5).var == math.inf


def test_hyperexponential_quantiles_are_exact_far_in_the_tail():
    law = HyperExponential((0.5, 0.5), (100.0, 0.01))
    # At this age only the slow kind is left.
    assert law.isf(1e-250) == pytest.approx((math.log(0.5) - math.log(1e-250)) / 0.01, rel=1e-14)
    assert law.ppf(0.0) == 0 and law.isf(0.0) == math.inf


def test_hyperexponential_quantiles_keep_their_digits_near_zero():
    law = HyperExponential((0.99, 0.01), (5.0, 0.02))
    rate = 0.99 * 5 + 0.01 * 0.02  # of the density at 0
    assert law.from_exponential(np.array([1e-12]))[0] == pytest.approx(1e-12 / rate, rel=1e-10)


def test_a_trace_that_violates_new_longer_than_used_by_little_is_neither():
    # Pr(X > 1) = 0.31 exceeds Pr(X > 0.5)² = 0.3025 by 2 %.
    law = Empirical([0.4] * 45 + [0.9] * 24 + [1.05] * 31)
    assert law.sf(1.0) > law.sf(0.5) ** 2
    assert law.ageing == "neither"


def test_hazard_is_infinite_where_no_mini_batch_runs_so_long():
    assert Uniform(0.0, 2.0).hazard(3.0) == math.inf
    assert Exponential(2.0).hazard(1.0) == pytest.approx(2.0)


def test_a_law_computes_with_floats_whatever_it_was_given():
    for half in (Fraction(1, 2), Decimal("0.5"), np.array(0.5), np.float32(0.5), np.ma.array(0.5)):
        assert Exponential(half) == Exponential(0.5)
        assert Empirical([half, 2]).times.tolist() == [0.5, 2.0]
    assert (
        Empirical(range(1, 4)).times.tolist() == Empirical(np.ma.array([1, 2, 3])).times.tolist() == [1, 2, 3]
    )
    assert simulate("K-sync", 2, 1, Exponential(Fraction(1, 2)), 3, seed=0).time.dtype == np.float64


def test_a_discrete_scipy_law_can_race():
    race = simulate("K-batch-sync", 3, 5, stats.poisson(3), updates=10, seed=0)
    assert (race.time == np.round(race.time)).all()


def test_empirical_is_the_uniform_law_on_its_times():
    law = Empirical([3.0, 1.0, 2.0, 2.0])
    assert law.cdf([0.5, 1, 2, 3]).tolist() == [0, 0.25, 0.75, 1]
    assert law.ppf([0, 0.25, 0.26, 0.75, 0.76, 1]).tolist() == [1, 1, 2, 2, 3, 3]
    assert law.isf([0.25, 0.2]).tolist() == [2, 3]
    assert law.mean == 2 and law.var == 0.5
    counts = np.bincount(law.sample(np.random.default_rng(0), 4000).astype(int))[1:]
    assert stats.chisquare(counts, [1000, 2000, 1000]).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("text", "column", "times"),
    [
        ("1\n2\n\n3\n", None, [1, 2, 3]),
        ("1\n2\n\n3\n", 0, [1, 2, 3]),
        ("seconds\n0.5\n0.25\n", 0, [0.25, 0.5]),
        ("learner,seconds\n0,2\n1,4\n", "seconds", [2, 4]),
        ("learner, seconds\n0, 2\n1, 4\n", 1, [2, 4]),
        ("\ufeffseconds\r\n1e-3\r\n", "seconds", [1e-3]),
    ],
)
def test_a_csv_column_becomes_a_law(tmp_path, text, column, times):
    path = tmp_path / "steps.csv"
    path.write_text(text, encoding="utf-8")
    assert Empirical.from_csv(path, column).times.tolist() == times


def test_constant_never_varies():
    law = Constant(3.0)
    assert law.sample(np.random.default_rng(0), (2, 2)).tolist() == [[3, 3], [3, 3]]
    assert (law.mean, law.var, law.ageing) == (3, 0, "NLTU")


def test_per_learner_with_factors_equals_a_list_of_scaled_laws():
    scaled = PerLearner(Exponential(), factors=[1.0, 4.0])
    listed = PerLearner([Exponential(1.0), Exponential(0.25)])
    assert scaled.means.tolist() == listed.means.tolist() == [1, 4]
    assert scaled.ageing == listed.ageing == "both"
    x = np.array([0.5, 2.0])
    for i in range(2):
        assert scaled.laws[i].cdf(x) == pytest.approx(listed.laws[i].cdf(x))


def test_per_learner_draws_every_learner_from_its_own_law():
    law = PerLearner([Constant(1.0), Constant(2.0), Constant(1.0)])
    rng = np.random.default_rng(0)
    assert law.sample(rng, (2, 3)).tolist() == [[1, 2, 1]] * 2
    assert law.sample(rng, (2, 2), np.array([[1, 0], [2, 1]])).tolist() == [[2, 1], [1, 2]]


def test_per_learner_has_a_class_only_if_all_learners_share_it():
    from sgdrace import Lomax

    assert PerLearner([Exponential(), Erlang()]).ageing == "NLTU"
    assert PerLearner([Lomax(), Erlang()]).ageing == "neither"


def test_a_law_of_ones_own_needs_only_sample():
    race = simulate("K-async", P=4, K=2, delay=Own(Exponential()), updates=50, seed=0)
    assert race.time.shape == (1, 50)


def test_a_law_of_ones_own_says_what_it_lacks():
    law = as_law(Own(Exponential()))
    for use in (
        lambda: law.mean,
        lambda: law.var,
        lambda: law.cdf(1.0),
        lambda: law.ppf(0.5),
        lambda: law.pdf(1.0),
    ):
        with pytest.raises(TypeError, match="which Own does not have"):
            use()
    assert law.ageing == "neither"


def test_quantiles_are_found_from_a_cdf():
    q = np.array([1e-12, 0.3, 0.999])
    law = as_law(Own(Erlang(), offers=("cdf", "sf", "mean")))
    assert law.ppf(q) == pytest.approx(Erlang().ppf(q), rel=1e-12)
    assert law.isf(1e-100) == pytest.approx(Erlang().isf(1e-100), rel=1e-12)
    assert law.mean == 1.0


def test_a_method_or_a_number_may_give_the_mean():
    own = Own(Exponential())
    own.mean = lambda: 2.5
    assert as_law(own).mean == 2.5


def test_a_frozen_scipy_distribution_is_a_law():
    law = as_law(stats.invgauss(1.0))
    assert law.mean == pytest.approx(1.0)
    assert stats.kstest(law.sample(np.random.default_rng(0), 5000), law.cdf).pvalue > FALSE_ALARM
    assert law.ageing == "neither" and "invgauss" in repr(law)


@pytest.mark.parametrize("law", [*CONTINUOUS, *DISCRETE], ids=repr)
def test_every_law_has_a_short_repr(law):
    assert len(repr(law)) < 90


def test_learners_of_a_draw_are_looked_up_once_however_many_laws_there_are():
    class Counting(np.ndarray):
        lookups = 0

        def __getitem__(self, index):
            Counting.lookups += 1
            return super().__getitem__(index)

    law = PerLearner([Exponential(rate) for rate in np.linspace(1, 2, 100)])
    law.kind = law.kind.view(Counting)
    law.sample(np.random.default_rng(0), (3, 100))
    assert Counting.lookups == 1


EVERY_LAW = [
    *CONTINUOUS,
    *DISCRETE,
    as_law(stats.invgauss(1.0)),
    as_law(stats.poisson(3)),
    as_law(Own(Erlang(), offers=("cdf", "sf", "pdf", "ppf", "isf"))),
]
RNG = np.random.default_rng(0)
NO_DRAWS = [
    (0, 3, TypeError, "rng must be a NumPy Generator, .*; got 0"),
    (None, 3, TypeError, "rng must be a NumPy Generator, .*; got None"),
    (np.random.RandomState(0), 3, TypeError, "rng must be a NumPy Generator"),
    (RNG, -1, ValueError, "size must be at least 0; got -1"),
    (RNG, (2, -1), ValueError, "size must be at least 0; got -1"),
    (RNG, 2.5, TypeError, "size must be a whole number at least 0; got 2.5"),
    (RNG, "2", TypeError, "size must be a whole number at least 0; got '2'"),
    (RNG, (2, True), TypeError, "size must be a whole number at least 0; got True"),
    (RNG, None, TypeError, "size must be a whole number at least 0; got None"),
]


@pytest.mark.parametrize("law", [*EVERY_LAW, PerLearner([Exponential(), Constant()])], ids=repr)
@pytest.mark.parametrize(("rng", "size", "error", "sentence"), NO_DRAWS)
def test_no_law_draws_without_a_generator_and_a_size(law, rng, size, error, sentence):
    with pytest.raises(error, match=sentence):
        law.sample(rng, size)


@pytest.mark.parametrize("law", EVERY_LAW, ids=repr)
def test_sizes_are_shapes(law):
    for size, shape in (
        (3, (3,)),
        (np.int64(3), (3,)),
        ((2, 3), (2, 3)),
        ([2, 3], (2, 3)),
        ((), ()),
        (0, (0,)),
    ):
        assert np.shape(law.sample(RNG, size)) == shape


@pytest.mark.parametrize("law", EVERY_LAW, ids=repr)
@pytest.mark.parametrize("function", ["ppf", "isf", "cdf", "sf", "pdf", "hazard"])
def test_no_law_answers_where_nothing_can_be_asked(law, function):
    ask, name = getattr(law, function), "q" if function in ("ppf", "isf") else "x"
    for no_number in ("a", None, 1j, True, ["0.5"], [[1, 2], [3]], np.timedelta64(1), np.array([1 + 0j])):
        with pytest.raises(TypeError, match=f"{name} must be numbers; got "):
            ask(no_number)
    with pytest.raises(ValueError, match=r"must be between 0 and 1; got nan|x must not be nan"):
        ask([0.5, math.nan])
    if name == "q":
        with pytest.raises(ValueError, match=r"a share q must be between 0 and 1; got 1\.2\."):
            ask(1.2)
        with pytest.raises(ValueError, match=r"a share q must be between 0 and 1; got -0\.1\."):
            ask([0.5, -0.1])


@pytest.mark.parametrize("law", EVERY_LAW, ids=repr)
def test_before_time_nothing_is_done_and_at_infinity_everything(law):
    assert law.cdf([-math.inf, -1.0, math.inf]).tolist() == [0, 0, 1]
    assert law.sf([-math.inf, -1.0, math.inf]).tolist() == [1, 1, 0]
    assert law.cdf(Fraction(3, 2)) == law.cdf(1.5) == law.cdf(np.array([[1.5]]))[0, 0]


BUILT_IN = [*CONTINUOUS, Constant(2.0), Empirical([1.0, 2.0])]


@pytest.mark.parametrize("law", BUILT_IN, ids=repr)
def test_a_law_is_a_value(law):
    copies = [copy.copy(law), copy.deepcopy(law), pickle.loads(pickle.dumps(law)), dataclasses.replace(law)]
    for other in copies:
        assert type(other) is type(law) and repr(other) == repr(law)
        assert np.array_equal(
            other.sample(np.random.default_rng(0), 5), law.sample(np.random.default_rng(0), 5)
        )
        if type(law) is not Empirical:  # traces are compared by identity
            assert other == law and hash(other) == hash(law) and len({other, law}) == 1


def test_parameters_can_be_replaced():
    assert dataclasses.replace(Erlang(), rate=2.0) == Erlang(3, 2.0)
    assert dataclasses.replace(Erlang(), stages=5) == Erlang(5, 3.0) != Erlang(3, 3.0)
    assert dataclasses.replace(Erlang(), stages=5).mean == Erlang(5, 3.0).mean == pytest.approx(5 / 3)
    assert dataclasses.replace(Constant(1.0), value=3.0) == Constant(3.0) != Constant(1.0)
    assert dataclasses.replace(Constant(1.0), value=3.0).times.tolist() == [3.0]
    assert dataclasses.replace(Empirical([1.0]), times=[2.0, 1.0]).times.tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match="stages must be a whole number"):
        dataclasses.replace(Erlang(), stages=2.5)
    match Erlang(4, 2.0):
        case Erlang(stages, rate):
            assert (stages, rate) == (4, 2.0)


def test_a_distribution_of_scipy_can_be_scaled():
    assert (2.0 * as_law(stats.expon())).mean == 2.0


ADOPTED = [
    as_law(stats.invgauss(1.0)),
    as_law(Own(Erlang(), offers=("cdf", "sf", "pdf", "ppf", "isf", "mean", "var"))),
]
CHANGES = [(lambda X: 3 * X, 3.0, 0.0), (lambda X: X + 0.5, 1.0, 0.5), (lambda X: 0.5 + X * 3, 3.0, 0.5)]
CHANGES += [(lambda X: 3 * (0.5 + X) + 1 + 2, 3.0, 4.5), (lambda X: np.float64(2.0) * X * 1.5, 3.0, 0.0)]


@pytest.mark.parametrize("law", [*CONTINUOUS, *DISCRETE, *ADOPTED, as_law(stats.poisson(3))], ids=repr)
@pytest.mark.parametrize(("change", "factor", "shift"), CHANGES)
def test_a_number_times_a_law_plus_a_number_is_the_law_of_such_times(law, change, factor, shift):
    changed = change(law)
    q, x = np.array([1e-3, 0.3, 0.5, 0.999]), law.ppf(np.array([0.1, 0.3, 0.6, 0.99]))
    y = (factor * x + shift) * (1 + 1e-13)  # a discrete law jumps here, and rounding must not matter
    assert changed.ppf(q) == pytest.approx(factor * law.ppf(q) + shift, rel=1e-12)
    assert changed.isf(q) == pytest.approx(factor * law.isf(q) + shift, rel=1e-12)
    assert changed.cdf(y) == pytest.approx(law.cdf(x), rel=1e-9)
    assert changed.sf(y) == pytest.approx(law.sf(x), rel=1e-9)
    assert changed.mean == pytest.approx(factor * law.mean + shift, rel=1e-12)
    assert changed.var == pytest.approx(factor**2 * law.var, rel=1e-9)
    assert changed.from_exponential(q) == pytest.approx(factor * law.from_exponential(q) + shift, rel=1e-12)
    assert changed.cdf(0.99 * shift) == 0 or shift == 0
    if law in CONTINUOUS:
        assert changed.pdf(y) == pytest.approx(law.pdf(x) / factor, rel=1e-6)
        assert changed.hazard(y) == pytest.approx(law.hazard(x) / factor, rel=1e-6)
    drawn, plain = (X.sample(np.random.default_rng(5), (50, 4)) for X in (changed, law))
    assert drawn == pytest.approx(factor * plain + shift, rel=1e-12)
    assert len(repr(changed)) < 110


AFTER_A_SHIFT = {"NLTU": "NLTU", "both": "NLTU", "NSTU": "neither", "neither": "neither"}


@pytest.mark.parametrize("law", [*CONTINUOUS, *DISCRETE, Gamma(3.0, 1.0), Exponential()], ids=repr)
def test_a_multiple_keeps_its_class_and_a_shift_makes_a_new_mini_batch_longer(law):
    name = {(True, False): "NLTU", (False, True): "NSTU", (False, False): "both", (True, True): "neither"}
    assert (3 * law).ageing == law.ageing == name[_ages(3 * law)]
    shifted = law + 0.1 * law.mean
    assert shifted.ageing == AFTER_A_SHIFT[law.ageing] == name[_ages(shifted)]


def test_a_long_shift_of_a_mixture_is_not_called_what_it_may_be():
    # exp(-1) < 1/2, so this one is NLTU; uncertified, it is called "neither", which promises nothing.
    law = HyperExponential((0.5, 0.5), (2.0, 1.0)) + 1.0
    assert _ages(law) == (True, False) and law.ageing == "neither"


def test_a_family_that_holds_its_multiples_and_shifts_keeps_them():
    assert 2 * Exponential(3.0) == Exponential(1.5) and Exponential(3.0) + 1 == ShiftedExponential(1.0, 3.0)
    assert 2 * (Exponential(4.0) + 1) + 1 == ShiftedExponential(3.0, 2.0)
    assert 2 * Erlang(3, 3.0) == Erlang(3, 1.5) and 2 * Uniform(0.0, 2.0) + 1 == Uniform(1.0, 5.0)
    assert 2 * Constant(3.0) + 1 == Constant(7.0)
    trace = 2 * Empirical([1.0, 2.0]) + 1
    assert type(trace) is Empirical and trace.times.tolist() == [3.0, 5.0]
    assert (Scaled(Empirical([1.0, 2.0]), 2.0) + 1).times.tolist() == [3.0, 5.0]
    assert 2 * Scaled(Erlang(), 3.0) == Scaled(Erlang(), 6.0)
    assert (law := Gamma()) + 0 is law
    assert repr(2 * (Gamma(2.0, 2.0) + 0.5)) == "Gamma(shape=2.0, rate=1.0) + 1.0"
    assert repr(2 * as_law(stats.expon()) + 1) == "2.0 * scipy.stats.expon + 1.0"
    assert repr(Scaled(Gamma(2.0, 2.0) + 1, 3.0)) == "3.0 * (Gamma(shape=2.0, rate=2.0) + 1.0)"
    assert Shifted(Gamma(), 0.0).ageing == Gamma().ageing
    for changed in (Gamma() + 0.5, 2 * Gamma() + 1):
        assert pickle.loads(pickle.dumps(changed)) == changed == copy.deepcopy(changed)


@pytest.mark.parametrize("change", [lambda X: 2 * X, lambda X: X + 1.0, lambda X: 2 * X + 1])
def test_a_changed_law_without_quantiles_still_has_none(change):
    X = as_law(Own(Exponential()))
    changed = change(X)
    assert not changed.has_quantiles and changed.deepest_hazard == X.deepest_hazard == 36.0
    race = simulate("K-sync", 4, 2, changed, 5, seed=0, detail=False)  # which would draw by quantiles
    assert (race.time[:, 0] > 0).all()


def test_the_wait_for_a_changed_law_is_changed_alike():
    X = Gamma(2.0, 2.0)
    wait, spread = order_statistics.mean(X, 6, 8), order_statistics.var(X, 6, 8)
    assert order_statistics.mean(2 * X + 1, 6, 8) == pytest.approx(2 * wait + 1, rel=1e-8)
    assert order_statistics.var(2 * X + 1, 6, 8) == pytest.approx(4 * spread, rel=1e-7)


def test_learners_are_slowed_down_together():
    one = PerLearner(Exponential(), factors=[1.0, 3.0])
    both = 2 * one + 1
    assert both.means.tolist() == [3.0, 7.0] and (1 + one * 2).means.tolist() == [3.0, 7.0]
    assert len((2 * one).kinds) == 1  # still drawn together
    X = Erlang()
    assert len((PerLearner([X, X]) + 1).kinds) == 1


@pytest.mark.parametrize("law", [Exponential(), Gamma(), PerLearner([Gamma()])], ids=repr)
@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (lambda X: 0 * X, ValueError, r"factor must be a finite number above 0; got 0\."),
        (lambda X: X * -1.0, ValueError, r"factor must be a finite number above 0; got -1\."),
        (lambda X: math.inf * X, ValueError, r"factor must be a finite number above 0; got inf\."),
        (lambda X: X + math.nan, ValueError, r"shift must be a finite number of at least 0; got nan\."),
        (lambda X: -0.1 + X, ValueError, r"shift must be a finite number of at least 0; got -0\.1\."),
        (lambda X: "2" * X, TypeError, r"factor must be a number; got '2'\."),
        (lambda X: X + Exponential(), TypeError, r"shift must be a number; got Exponential\(rate=1\.0\)\."),
        (lambda X: np.array([1.0, 2.0]) * X, TypeError, r"factor must be a number; got array\(.*\)\."),
    ],
)
def test_only_a_positive_number_scales_a_law_and_only_a_time_shifts_it(law, change, error, sentence):
    with pytest.raises(error, match=sentence):
        change(law)
