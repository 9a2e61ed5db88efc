"""Facts about laws that somebody else wrote: SciPy's are laws, others are believed as far as they agree."""

import math
import pickle

import numpy as np
import pytest
from scipy import stats

from sgdrace import (
    Constant,
    Empirical,
    Erlang,
    Exponential,
    Lomax,
    Pareto,
    PerLearner,
    Uniform,
    as_law,
    check_law,
    order_statistics,
    simulate,
)
from tests.examples import CONTINUOUS, DISCRETE, Own
from tests.sentences import refused

FALSE_ALARM = 1e-6  # of each statistical test in this file
ALL = ("cdf", "sf", "pdf", "ppf", "isf", "mean", "var", "ageing")


class Adopted:
    """A law whose sample is exponential, whatever else it says."""

    def __init__(self, **says):
        vars(self).update(says)

    def sample(self, rng, size):
        return rng.standard_exponential(size)


def flat(value):
    return lambda q: np.full(np.shape(q), value)


WRONG = [
    (flat(-1.0), ValueError, "must give numbers (of at least 0|between 0 and 1); got -1"),
    (flat(math.nan), ValueError, "must give numbers .*; got nan"),
    (flat(1j), TypeError, "must be numbers; got"),
    (flat("a"), TypeError, "must be numbers; got"),
    (flat(np.timedelta64(1, "s")), TypeError, "divide durations by one second first"),
    (lambda q: 1.0, ValueError, r"was asked for shape \(\d+,\) and gave \(\)"),
    (lambda q: np.append(q, 0.5), ValueError, "was asked for shape"),
]


@pytest.mark.parametrize("function", ["ppf", "isf", "cdf", "sf", "pdf"])
@pytest.mark.parametrize(("wrong", "error", "sentence"), WRONG)
def test_what_a_law_of_ones_own_gives_is_checked(function, wrong, error, sentence):
    law = as_law(Adopted(**{"ppf": Exponential().ppf, "cdf": Exponential().cdf, function: wrong}))
    refused(lambda: getattr(law, function)([0.25, 0.5]), error, f"Adopted.{function} .*{sentence}")


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        ({"ppf": flat(math.inf)}, "Adopted.ppf must give finite times for shares inside"),
        ({"ppf": lambda q: -np.log(q)}, "Adopted.ppf must never fall"),
        ({"isf": lambda q: -np.log1p(-q)}, "Adopted.isf must never rise"),
        ({"cdf": lambda x: np.exp(-x)}, "Adopted.cdf must never fall"),
        ({"sf": lambda x: -np.expm1(-x)}, "Adopted.sf must never rise"),
        ({"ppf": Exponential(0.8).ppf}, "Adopted.ppf must describe the law that Adopted.sample draws from"),
        ({"isf": Exponential(1.25).isf}, "Adopted.isf must describe the law"),
        ({"cdf": Exponential(1.25).cdf}, "Adopted.cdf must describe the law"),
        ({"sf": Exponential(0.8).sf}, "Adopted.sf must describe the law"),
        ({"ppf": Uniform(5.0, 6.0).ppf}, "a share 0.005 is done by 5.005, but of a sample 0.99"),
        ({"cdf": lambda x: -0.9 * np.expm1(-x)}, "Adopted.cdf must describe the law"),  # a tenth never ends
        ({"cdf": Constant(1.0).cdf}, "Adopted.cdf must describe the law"),
    ],
)
def test_a_law_that_contradicts_its_sample_is_refused_at_first_use(says, sentence):
    (function,) = says
    law = as_law(Adopted(**says))
    refused(lambda: getattr(law, function)([0.25, 0.5]), ValueError, sentence)
    refused(lambda: getattr(law, function)(0.5), ValueError, sentence)  # and at every other


@pytest.mark.parametrize("jump", [0.5, 2.0])
@pytest.mark.parametrize("function", ["cdf", "sf", "ppf", "isf"])
def test_a_jump_at_the_wrong_time_is_refused(function, jump):
    law = Own(Constant(1.0))
    setattr(law, function, getattr(Constant(jump), function))
    refused(lambda: getattr(as_law(law), function)(0.5), ValueError, f"Own.{function} must describe the law")


@pytest.mark.parametrize(
    "law", [*CONTINUOUS, *DISCRETE, Empirical([0.1 + 0.2, 0.3, 0.7]), Lomax(0.3), Constant(1e-30)], ids=repr
)
def test_a_law_that_agrees_with_itself_keeps_its_answers(law):
    # One refusal in 1e9 laws that keep their word; here the stream is fixed, so none ever.
    offers = tuple(name for name in ALL if name != "pdf" or law not in DISCRETE)
    own = as_law(Own(law, offers=offers))
    q = np.array([0.0, 1e-3, 0.5, 0.999])
    x = law.ppf(q)
    for function, at in (("ppf", q), ("isf", q[1:]), ("cdf", x), ("sf", x)):
        assert getattr(own, function)(at) == pytest.approx(getattr(law, function)(at), rel=1e-15)
    assert (own.mean, own.var, own.ageing) == (law.mean, law.var, law.ageing)


def test_a_jump_that_is_rounded_otherwise_is_no_contradiction():
    law = Own(Empirical([0.1 * 3, 1.0]))
    law.cdf, law.ppf = Empirical([0.3, 1.0]).cdf, Empirical([0.3, 1.0]).ppf
    assert as_law(law).cdf(0.5) == 0.5 and as_law(law).ppf(0.5) == 0.3


def test_the_sample_of_a_law_is_not_drawn_before_its_quantiles_are_wanted():
    drawn = []
    law = Adopted(ppf=Exponential().ppf, mean=1.0)
    law.sample = lambda rng, size: drawn.append(size) or rng.standard_exponential(size)
    adopted = as_law(law)
    assert adopted.mean == 1.0 and repr(adopted) and adopted.has_quantiles and not drawn
    for _ in range(3):
        adopted.ppf(0.5)
    assert len(drawn) == 1


@pytest.mark.parametrize("ppf", [flat(math.nan), flat(math.inf), lambda q: -np.log1p(-q) - 1])
def test_quantiles_that_are_no_times_end_in_a_sentence_wherever_they_are_used(ppf):
    law = Adopted(ppf=ppf)
    refused(lambda: order_statistics.mean(law, 2, 4), ValueError, "Adopted.ppf must give")
    refused(lambda: order_statistics.sample(law, 2, 4, 0, 3), ValueError, "Adopted.ppf must give")
    refused(
        lambda: simulate("K-sync", 4, 2, law, 5, seed=0, detail=False), ValueError, "Adopted.ppf must give"
    )


def test_a_share_that_no_float_reaches_is_reached_at_infinity():
    law = as_law(Own(Lomax(0.05), offers=("cdf", "sf")))
    assert law.sf(1e300) > 1e-16
    assert law.isf([1e-16, 0.0]).tolist() == [math.inf, math.inf]
    assert law.ppf(0.5) == pytest.approx(Lomax(0.05).ppf(0.5))


@pytest.mark.parametrize(
    ("says", "error", "sentence"),
    [
        ({"ageing": "old"}, ValueError, "Adopted.ageing must be one of NLTU, NSTU, both, neither; got 'old'"),
        ({"mean": "long"}, TypeError, "what Adopted.mean gives must be numbers; got 'long'"),
        ({"mean": lambda: [1.0]}, ValueError, r"Adopted.mean was asked for shape \(\) and gave \(1,\)"),
        ({"mean": np.timedelta64(1, "s")}, TypeError, "Adopted.mean .* divide durations"),
        ({"var": math.nan}, ValueError, "var of Adopted must be at least 0; got nan"),
    ],
)
def test_a_wrong_property_of_a_law_of_ones_own_is_refused(says, error, sentence):
    (name,) = says
    refused(lambda: getattr(as_law(Adopted(**says)), name), error, sentence)


def test_an_attribute_is_no_method():
    refused(lambda: as_law(Adopted(ppf=3)).ppf(0.5), TypeError, "Adopted.ppf must be a method; got 3")


def test_a_table_of_times_is_no_law_although_it_has_a_sample():
    class Series:
        """As in pandas."""

        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0], dtype)

        def sample(self, n=None):
            raise NotImplementedError

        def __repr__(self):
            return "0    1.0\n1    2.0\ndtype: float64"

    refused(lambda: as_law(Series()), TypeError, "must be a law; make one of measured times with Empirical")
    refused(
        lambda: simulate("K-sync", 2, 1, Series(), 3), TypeError, "make one of measured times with Empirical"
    )
    assert Empirical(Series()).mean == 1.5


def test_a_discrete_distribution_of_scipy_has_no_density_and_never_a_negative_time():
    law = as_law(stats.poisson(3))
    refused(lambda: law.pdf(1.0), ValueError, "poisson is discrete and has no density; use its cdf")
    assert law.ppf(0.0) == law.isf(1.0) == law.from_exponential(0.0) == 0


@pytest.mark.skipif(not hasattr(stats, "make_distribution"), reason="SciPy 1.15 brought new distributions")
def test_a_distribution_of_scipys_new_kind_is_a_law():
    new, frozen = as_law(stats.make_distribution(stats.gamma)(a=3.0)), as_law(stats.gamma(3.0))
    q = np.array([0.01, 0.5, 0.99])
    for function, at in (("ppf", q), ("isf", q), ("cdf", 4 * q), ("sf", 4 * q), ("pdf", 4 * q)):
        assert getattr(new, function)(at) == pytest.approx(getattr(frozen, function)(at), rel=1e-9)
    assert (new.mean, new.var) == pytest.approx((3.0, 3.0))
    assert (
        stats.kstest(new.sample(np.random.default_rng(0), (50, 100)).ravel(), frozen.cdf).pvalue > FALSE_ALARM
    )
    assert order_statistics.mean(new, 2, 4) == pytest.approx(order_statistics.mean(frozen, 2, 4))
    race = simulate("K-async", 4, 2, stats.Uniform(a=1.0, b=2.0), 5, seed=0)
    assert race.time[0, 0] >= 1 and np.array_equal(
        race.time, simulate("K-async", 4, 2, stats.Uniform(a=1.0, b=2.0), 5, seed=0).time
    )
    refused(lambda: as_law(stats.Normal()), ValueError, "Normal reaches below 0")
    refused(
        lambda: as_law(stats.Uniform(a=2.0, b=1.0)),
        ValueError,
        "Uniform was given parameters that it does not",
    )
    refused(
        lambda: as_law(stats.Uniform(a=1.0, b=[2.0, 3.0])),
        ValueError,
        "Uniform was given lists of parameters",
    )
    refused(lambda: as_law(stats.Normal), TypeError, r"a law such as Normal\(...\), not the class itself")


@pytest.mark.parametrize(
    "law", [as_law(stats.invgauss(1.0)), as_law(Own(Erlang(), ALL)), PerLearner([Erlang()])]
)
def test_a_law_that_was_adopted_can_be_pickled(law):
    again = pickle.loads(pickle.dumps(law))
    rng, other = np.random.default_rng(0), np.random.default_rng(0)
    assert np.array_equal(again.sample(rng, (3, 1)), law.sample(other, (3, 1)))


def test_task_own_law_with_quantiles():
    class Triangle:
        def sample(self, rng, size):
            return self.ppf(rng.random(size))

        def ppf(self, q):
            return np.sqrt(q)

    check_law(Triangle())
    race = simulate("K-sync", P=10**6, K=10**6, delay=2 * as_law(Triangle()), updates=3, seed=0, detail=False)
    assert np.allclose(np.diff(race.time), 2, atol=1e-4)


@pytest.mark.parametrize(
    "law",
    [
        *CONTINUOUS,
        *DISCRETE,
        Lomax(0.3),
        Pareto(1.01),
        stats.gamma(3.0),
        stats.poisson(3),
        PerLearner([Own(Erlang(), ALL), Erlang()]),
        Own(Exponential()),
        Own(Pareto(2.01), ALL),
        Own(Constant(2.0), ("mean", "var", "cdf")),
        2 * as_law(Own(Erlang(), ("ppf",))) + 1,
    ],
    ids=lambda law: type(law).__name__,
)
def test_a_law_that_keeps_its_word_passes_the_check(law):
    # A fixed stream, so never or always; of a billion streams at most seven would refuse one of these.
    assert check_law(law) is None


class Counting:
    """A law with a hidden state."""

    n = 0

    def sample(self, rng, size):
        self.n += 1
        return rng.standard_exponential(size) + self.n


def draws(give):
    law = Adopted()
    law.sample = give
    return law


@pytest.mark.parametrize(
    ("law", "error", "sentence"),
    [
        (Counting(), ValueError, "Counting.sample must draw from rng alone; the same seed gave other times"),
        (draws(lambda rng, size: -rng.random(size)), ValueError, "sample must give finite times of at least"),
        (draws(lambda rng, size: rng.random(size) * math.nan), ValueError, "finite times .*; got nan"),
        (draws(lambda rng, size: rng.random(7)), ValueError, r"was asked for shape \(3,\) and gave \(7,\)"),
        (draws(lambda rng, size: rng.random(int(np.prod(size)))), ValueError, "sample was asked for shape"),
        (Adopted(ppf=Exponential(0.98).ppf), ValueError, "Adopted.ppf must describe the law"),
        (Adopted(cdf=lambda x: np.exp(-x)), ValueError, "Adopted.cdf must never fall"),
        (Adopted(sf=lambda x: 1 - x), ValueError, "Adopted.sf must give numbers between 0 and 1"),
        (Adopted(isf=flat(math.inf)), ValueError, "Adopted.isf must give finite times"),
        (Adopted(pdf=lambda x: -np.exp(-x)), ValueError, "Adopted.pdf must give numbers of at least 0"),
        (Adopted(mean=0.9), ValueError, "Adopted.mean must be at least 0.94 to agree .*; got 0.9"),
        (Adopted(mean=1.2, var=1.0), ValueError, "Adopted.mean must be at most 1.0.* and its var; got 1.2"),
        (Adopted(mean=1.0, var=0.5), ValueError, "Adopted.var must be at least 0.6.* to agree .*; got 0.5"),
        (Adopted(mean=math.nan), ValueError, "mean of Adopted must be at least 0; got nan"),
        (Adopted(ageing="old"), ValueError, "Adopted.ageing must be one of NLTU"),
        (PerLearner([Exponential(), Adopted(mean=0.5)]), ValueError, "Adopted.mean must be at least"),
        (Exponential, TypeError, r"law must be a law such as Exponential\(...\), not the class itself"),
        ([1.0, 2.0], TypeError, "law must be a law of mini-batch times"),
    ],
)
def test_a_law_that_does_not_is_refused_in_one_sentence(law, error, sentence):
    refused(lambda: check_law(law), error, sentence)


def test_what_no_sample_can_tell_is_believed():
    # Once in a billion times a mini-batch might take a billion: the mean would be 2, the variance immense.
    assert check_law(Adopted(mean=2.0)) is None
    assert check_law(Adopted(mean=1.0, var=1e9)) is None


@pytest.mark.skipif(not hasattr(stats, "make_distribution"), reason="SciPy 1.15 brought new distributions")
def test_scipys_own_arithmetic_makes_laws_too():
    law = 2 * stats.Uniform(a=1.0, b=2.0) + 1
    check_law(law)
    assert as_law(law).mean == pytest.approx(4.0)
    assert (2 * as_law(law) + 1).ppf(0.5) == pytest.approx(9.0)
    race = simulate("K-sync", 4, 4, law, 20, seed=0)
    assert np.diff(race.time).min() >= 3 and np.diff(race.time).max() <= 5
