"""Every wrong call is refused at the call, in one clear sentence."""

import math
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from sgdrace import (
    Constant,
    DelayAdaptive,
    DropOlderThan,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LeastSquares,
    LogNormal,
    Lomax,
    Pareto,
    PerLearner,
    Quadratic,
    QuadraticRule,
    ShiftedExponential,
    SideBySide,
    SqrtRule,
    StalenessCompensating,
    SteppedRace,
    Uniform,
    Weibull,
    estimates,
    order_statistics,
    simulate,
    theory,
    train,
    train_adaptively,
    train_each,
)
from sgdrace.delays import Scaled
from sgdrace.protocol import VirtualClock, run
from tests.examples import Own
from tests.sentences import refused


def race(variant="K-async", P=4, K=2, delay=None, updates=10, **options):
    return simulate(variant, P, K, Exponential() if delay is None else delay, updates, **options)


class Returns:
    """A law whose sample gives whatever it was told to."""

    def __init__(self, value):
        self.value = value

    def sample(self, rng, size):
        return np.full(size, self.value) if np.isscalar(self.value) else self.value


def draw_two(size, learner=None):
    return PerLearner([Exponential(), Constant()]).sample(np.random.default_rng(0), size, learner)


LAWS = [
    (lambda: Exponential(0), ValueError, "^rate must be a finite number above 0; got 0"),
    (lambda: Exponential(-1.0), ValueError, "rate must be a finite number above 0; got -1"),
    (lambda: Exponential(math.nan), ValueError, "^rate must be a finite number above 0; got nan"),
    (lambda: Exponential(math.inf), ValueError, "^rate must be a finite number above 0; got inf"),
    (lambda: Exponential(10**400), ValueError, "^rate must be a finite number above 0; got inf"),
    (lambda: LogNormal(mu=1000.0), ValueError, "mu must be between -700 and 700"),
    (lambda: Exponential("fast"), TypeError, "rate must be a number; got 'fast'"),
    (lambda: Exponential(None), TypeError, "rate must be a number; got None"),
    (lambda: Exponential(True), TypeError, "rate must be a number; got True"),
    (lambda: ShiftedExponential(shift=-0.1), ValueError, "shift must be a finite number of at least 0"),
    (lambda: Pareto(shape=0), ValueError, "shape must be a finite number above 0"),
    (lambda: Pareto(scale=math.nan), ValueError, "^scale must be a finite number above 0; got nan"),
    (lambda: Lomax(shape=-2), ValueError, "^shape must be a finite number above 0; got -2"),
    (lambda: Gamma(shape=0), ValueError, "^shape must be a finite number above 0; got 0"),
    (lambda: Erlang(stages=2.5), TypeError, "stages must be a whole number at least 1; got 2.5"),
    (lambda: Erlang(stages=0), ValueError, "stages must be at least 1; got 0"),
    (lambda: Weibull(shape=math.inf), ValueError, "^shape must be a finite number above 0; got inf"),
    (lambda: HyperExponential((0.5, 0.6), (1, 2)), ValueError, "add up to 1; they add up to 1.1"),
    (lambda: HyperExponential((0.5, 0.5), (1, 2, 3)), ValueError, "equally many; got 2 and 3"),
    (lambda: HyperExponential((1.5, -0.5), (1, 2)), ValueError, "entry 1 is -0.5"),
    (lambda: HyperExponential((), ()), ValueError, "probabilities must be a non-empty list"),
    (lambda: LogNormal(sigma=0), ValueError, "sigma must be a finite number above 0"),
    (lambda: Uniform(low=2.0, high=1.0), ValueError, "high must be a finite number above 2; got 1"),
    (lambda: Uniform(low=-1.0), ValueError, "low must be a finite number of at least 0"),
    (lambda: Constant(0), ValueError, "value must be a finite number above 0"),
    (lambda: Empirical([]), ValueError, "times must be a non-empty list"),
    (lambda: Empirical([1.0, -2.0]), ValueError, "entry 1 is -2"),
    (lambda: Empirical([1.0, math.nan]), ValueError, "entry 1 is nan"),
    (lambda: Empirical([0.0, 0.0]), ValueError, "at least one positive time"),
    (lambda: Empirical(["a", "b"]), TypeError, "times must be a list of numbers"),
    (lambda: Empirical([[1.0], [2.0]]), ValueError, r"non-empty list of numbers; got shape \(2, 1\)"),
    (lambda: Empirical([1.0]).pdf(1.0), ValueError, "discrete and has no density"),
    (lambda: Empirical([1.0]).ppf(1.5), ValueError, "share q must be between 0 and 1"),
    (lambda: HyperExponential().ppf(-0.1), ValueError, "share q must be between 0 and 1"),
    (lambda: PerLearner([]), ValueError, "at least one law"),
    (lambda: PerLearner(Exponential()), TypeError, "a list of laws, or one law with factors"),
    (lambda: PerLearner(Exponential(), factors=[1, 0]), ValueError, "every entry of factors .* entry 1 is 0"),
    (
        lambda: PerLearner([Exponential(), 3.0]),
        TypeError,
        r"^laws\[1\] must be a law of mini-batch times, such as Exponential\(\); got 3.0",
    ),
    (lambda: PerLearner(PerLearner([Constant()]), factors=[1]), TypeError, "a PerLearner law has its own"),
    (lambda: PerLearner([PerLearner([Constant()])]), TypeError, "cannot be the law of one learner"),
    (
        lambda: Empirical(np.array([1, 2], "m8[s]")),
        TypeError,
        "times .* divide durations by one second first",
    ),
    (lambda: Empirical([timedelta(seconds=1)]), TypeError, "times .* divide durations by one second first"),
    (lambda: Empirical([1.0, np.timedelta64(1)]), TypeError, "times must be a list of numbers"),
    (lambda: Empirical(np.array(["2020-01-01"], "M8[s]")), TypeError, "times must be a list of numbers"),
    (
        lambda: Empirical(np.ma.array([1.0, 2.0], mask=[0, 1])),
        TypeError,
        "^times must be .*; leave out what is masked with .compressed",
    ),
    (lambda: Empirical([1.0, np.ma.masked]), TypeError, "times must be a list of numbers"),
    (lambda: Empirical(np.array([1 + 2j])), TypeError, "times must be a list of numbers"),
    (lambda: Empirical(["1.5", "2"]), TypeError, "times must be a list of numbers; got .'1.5', '2'"),
    (lambda: Empirical(np.array(["1", 2], object)), TypeError, "times must be a list of numbers"),
    (lambda: Empirical([True, False]), TypeError, "times must be a list of numbers"),
    (lambda: Empirical([2, True]), TypeError, "times must be a list of numbers"),
    (lambda: Empirical(np.array([True])), TypeError, "times must be a list of numbers"),
    (lambda: Empirical([1.0, None]), TypeError, "times must be a list of numbers; got .1.0, None"),
    (lambda: Empirical([[1.0, 2.0], [3.0]]), TypeError, "times must be a list of numbers"),
    (lambda: Empirical(x for x in (1.0, 2.0)), TypeError, "times must be a list of numbers"),
    (lambda: Empirical([10**400]), ValueError, "entry 0 is inf"),
    (lambda: Empirical([-(10**400)]), ValueError, "entry 0 is -inf"),
    (lambda: Empirical([Decimal("sNaN")]), TypeError, "times must be a list of numbers"),
    (lambda: Exponential(np.timedelta64(5, "s")), TypeError, "rate must be a number; .* divide durations"),
    (
        lambda: Exponential(np.datetime64("2020")),
        TypeError,
        r"^rate must be a number; got np.datetime64\('2020'\)",
    ),
    (lambda: Exponential(1j), TypeError, "rate must be a number; got 1j"),
    (lambda: Exponential(np.complex128(1)), TypeError, r"^rate must be a number; got np.complex128\(1\+0j\)"),
    (
        lambda: Exponential(np.array("2.0")),
        TypeError,
        r"^rate must be a number; got array\('2.0', dtype='<U3'\)",
    ),
    (lambda: Exponential(np.array(True)), TypeError, r"^rate must be a number; got array\(True\)"),
    (lambda: Exponential(np.array([2.0])), TypeError, r"^rate must be a number; got array\(\[2.\]\)"),
    (lambda: Exponential(bytearray(b"2")), TypeError, r"^rate must be a number; got bytearray\(b'2'\)"),
    (
        lambda: Exponential(np.ma.masked),
        TypeError,
        "^rate must be a number; got masked; leave out what is masked",
    ),
    (lambda: Exponential(-(10**5000)), ValueError, "^rate must be a finite number above 0; got -inf"),
    (lambda: Erlang(-(10**5000)), ValueError, "stages must be at least 1"),
    (lambda: Erlang(np.timedelta64(3)), TypeError, "stages must be a whole number"),
    (
        lambda: Exponential().from_exponential([-1.0]),
        ValueError,
        "cumulative hazard e must be at least 0; got -1",
    ),
    (
        lambda: Exponential().from_exponential([math.nan]),
        ValueError,
        "cumulative hazard e must be at least 0; got nan",
    ),
    (lambda: Exponential().from_exponential("a"), TypeError, "e must be numbers; got 'a'"),
    (lambda: Scaled(3.0, 2.0), TypeError, "base must be a law of mini-batch times"),
    (
        lambda: Scaled(PerLearner([Constant()]), 2.0),
        TypeError,
        "base must be a law of mini-batch times that all learners share",
    ),
    (lambda: PerLearner([Exponential()], factors=[1.0]), TypeError, "factors scale one law; a list of laws"),
    (lambda: PerLearner(Exponential(), factors=2.0), ValueError, "factors must be a non-empty list"),
    (lambda: PerLearner(Exponential(), factors=[math.nan]), ValueError, "entry 0 is nan"),
    (lambda: PerLearner(3.0, factors=[1.0]), TypeError, "the law that factors scale must be a law"),
    (lambda: PerLearner(Exponential() for _ in range(2)), TypeError, "a list of laws, or one law with"),
    (lambda: PerLearner({0: Exponential()}), TypeError, "a list of laws, or one law with"),
    (lambda: PerLearner("ab"), TypeError, r"laws\[0\] must be a law"),
    (lambda: PerLearner([Exponential(), Exponential]), TypeError, r"laws\[1\] must be a law such as"),
    (lambda: draw_two(3), ValueError, r"learners must fill the shape \(3,\)"),
    (lambda: draw_two(2, [0, 1, 0]), ValueError, r"learners must fill the shape \(2,\)"),
    (lambda: draw_two(2, [[0], [0, 1]]), ValueError, r"learners must fill the shape \(2,\)"),
    (lambda: draw_two(2, 2), ValueError, "learner must be whole numbers between 0 and 1; got 2"),
    (lambda: draw_two(2, -1), ValueError, "learner must be whole numbers between 0 and 1; got -1"),
    (lambda: draw_two(2, 0.5), ValueError, "learner must be whole numbers between 0 and 1; got 0.5"),
    (lambda: draw_two(2, [True, False]), ValueError, "learner must be whole numbers"),
    (
        lambda: race(delay=stats.expon),
        TypeError,
        r"delay must be a law with its parameters, such as expon\(...\)",
    ),
    (lambda: race(delay=stats.poisson), TypeError, r"such as poisson\(...\); freeze it"),
    (
        lambda: race(delay=stats.expon(scale=-1)),
        ValueError,
        "expon was given parameters that it does not allow",
    ),
    (lambda: race(delay=np.array([1.0, 2.0])), TypeError, "make one of measured times with Empirical"),
    (lambda: race(delay=Returns(1 + 2j)), TypeError, "what Returns.sample gives must be numbers"),
    (lambda: race(delay=Returns("1")), TypeError, "what Returns.sample gives must be numbers"),
    (lambda: race(delay=Returns(True)), TypeError, "what Returns.sample gives must be numbers"),
    (
        lambda: race(delay=Returns(np.timedelta64(1, "s"))),
        TypeError,
        "what Returns.sample gives .* divide durations by one second",
    ),
    (
        lambda: race(delay=Returns(np.ma.masked_all(2))),
        TypeError,
        "what Returns.sample gives .* leave out what is masked",
    ),
    (lambda: race(delay=Returns(None)), TypeError, "what Returns.sample gives must be numbers; got None"),
]

ORDER_STATISTICS = [
    (lambda: order_statistics.mean(Exponential(), 0, 4), ValueError, "K must be between 1 and 4; got 0"),
    (lambda: order_statistics.mean(Exponential(), 5, 4), ValueError, "K must be between 1 and 4; got 5"),
    (
        lambda: order_statistics.mean(Exponential(), 1.5, 4),
        TypeError,
        "^K must be a whole number between 1 and 4; got 1.5",
    ),
    (lambda: order_statistics.var(Exponential(), 1, 0), ValueError, "P must be at least 1; got 0"),
    (lambda: order_statistics.ppf(Exponential(), 1, 4, 1.5), ValueError, "q must be between 0 and 1"),
    (lambda: order_statistics.ppf(Exponential(), 1, 4, math.nan), ValueError, "q must be between 0 and 1"),
    (
        lambda: order_statistics.mean(3.0, 1, 4),
        TypeError,
        r"^delay must be a law of mini-batch times, such as Exponential\(\); got 3.0",
    ),
    (lambda: order_statistics.mean(Own(Exponential()), 1, 4), TypeError, "needs the law's ppf, which Own"),
    (lambda: order_statistics.mean(PerLearner([Constant()] * 3), 1, 4), ValueError, "3 learners, but P is 4"),
    (
        lambda: order_statistics.pdf(PerLearner([Constant()]), 1, 1, 1),
        TypeError,
        "one law that all learners share",
    ),
    (lambda: order_statistics.cdf(Exponential(), 1, 4, "a"), TypeError, "x must be numbers; got 'a'"),
    (lambda: order_statistics.sf(Exponential(), 1, 4, None), TypeError, "x must be numbers; got None"),
    (lambda: order_statistics.pdf(Exponential(), 1, 4, 1j), TypeError, "x must be numbers; got 1j"),
    (lambda: order_statistics.cdf(Exponential(), 1, 4, math.nan), ValueError, "x must not be nan; got nan"),
    (lambda: order_statistics.ppf(Exponential(), 1, 4, "a"), TypeError, "q must be numbers; got 'a'"),
    (lambda: order_statistics.ppf(Exponential(), 1, 4, 1.2), ValueError, "between 0 and 1; got 1.2"),
    (lambda: order_statistics.ppf(Exponential(), 1, 4, True), TypeError, "q must be numbers; got True"),
]

RACES = [
    (lambda: race(K=0), ValueError, "K must be at least 1; got 0"),
    (lambda: race("K-sync", P=8, K=9), ValueError, "^K-sync waits for K different learners, so K must be between 1 and P = 8; got 9"),
    (lambda: race("K-async", P=8, K=9), ValueError, "^K-async waits for K different learners, so K must be between 1 and P = 8; got 9"),
    (lambda: race(P=0), ValueError, "P must be at least 1; got 0"),
    (lambda: race(P=-3), ValueError, "P must be at least 1; got -3"),
    (lambda: race(P=4.0), TypeError, "P must be a whole number at least 1; got 4.0"),
    (lambda: race(K=2.0), TypeError, "^K must be a whole number at least 1; got 2.0"),
    (lambda: race(K="2"), TypeError, "K must be a whole number at least 1; got '2'"),
    (lambda: race(K=None), TypeError, "^K must be a whole number at least 1; got None"),
    (lambda: race(P=True), TypeError, "P must be a whole number at least 1; got True"),
    (lambda: race(updates=0), ValueError, "updates must be at least 1; got 0"),
    (lambda: race(updates=1e3), TypeError, "updates must be a whole number"),
    (lambda: race(replicas=10**12), ValueError, "would take .* GiB, over the limit of 16 GiB; ask for fewer, or for detail=False"),
    (lambda: race(P=10**10, K=1), ValueError, "would take .* GiB, over the limit of 16 GiB; ask for fewer, or for detail=False"),
    (lambda: race("K-sync", P=10**5, updates=10**6, common=True), ValueError, "100000 learners would take .* GiB, over the limit"),
    (lambda: race(delay=Lomax(1e-3)), ValueError, "too large: their sum is no longer a finite number"),
    (lambda: race(delay=stats.expon(scale=[1.0, 2.0])), ValueError, "was given lists of parameters"),
    (lambda: race().thin(2).utilization(), ValueError, "^utilization needs every update of a race with one K: ask before you thin it"),
    (lambda: race("K-sync", max_staleness=0), ValueError, "^K-sync cancels late work, so max_staleness is for K-async and K-batch-async alone; got 0"),
    (lambda: race(max_staleness=-1), ValueError, "max_staleness must be at least 0; got -1"),
    (lambda: race(max_staleness=1.5), TypeError, "max_staleness must be a whole number at least 0; got 1.5"),
    (lambda: race(max_staleness=10**400), ValueError, "^max_staleness must be at most 2.53, up to which floats hold"),
    (lambda: replace(race(max_staleness=1), max_staleness=None), ValueError, "^ignored must be times of shape .*, of a race with max_staleness; got ndarray"),
    (lambda: replace(race(max_staleness=1), ignored=None), ValueError, "^ignored must be times of shape .*, of a race with max_staleness; got None"),
    (lambda: replace(race(max_staleness=3), max_staleness=0), ValueError, "^staleness must be between 0 and 0; got 0 to "),
    (lambda: race(replicas=0), ValueError, "replicas must be at least 1"),
    (lambda: race(replicas=2.5), TypeError, "replicas must be a whole number"),
    (lambda: race(threads=0), ValueError, "threads must be at least 1"),
    (lambda: race(seed=-1), ValueError, "seed must be at least 0"),
    (lambda: race(seed="today"), TypeError, "seed must be a whole number, a SeedSequence, a Generator or None"),
    (lambda: race(seed=1.5), TypeError, "^seed must be a whole number, a SeedSequence, a Generator or None; got 1.5"),
    (lambda: race("async"), ValueError, r"^variant 'async' is unknown; did you mean K-async\?"),
    (lambda: race("k-batch_sync"), ValueError, "did you mean K-batch-sync?"),
    (lambda: race("Kasync"), ValueError, r"^variant 'Kasync' is unknown; did you mean K-async\?"),
    (lambda: race("gossip"), ValueError, "variant must be one of K-sync, K-batch-sync"),
    (lambda: race(""), ValueError, "variant must be one of"),
    (lambda: race(3), TypeError, "variant must be one of .*; got 3"),
    (lambda: race(delay=1.0), TypeError, "delay must be a law of mini-batch times, .*; got 1.0"),
    (lambda: race(delay=Exponential), TypeError, r"^delay must be a law such as Exponential\(...\), not the class itself"),
    (lambda: race(delay=stats.norm()), ValueError, "norm reaches below 0"),
    (lambda: race(delay=PerLearner([Constant()] * 3)), ValueError, "describes 3 learners, but P is 4"),
    (lambda: race(delay=Returns(math.nan)), ValueError, "finite times of at least 0; got nan"),
    (lambda: race(delay=Returns(-1.0)), ValueError, "finite times of at least 0; got -1"),
    (lambda: SteppedRace("K-async", 4, Exponential(), 2).update([[1], [1, 2]]), TypeError, r"^K must be a whole number, or one for each of 2 replicas; got \[\[1\], \[1, 2\]\]"),
    (lambda: race(delay=Returns(math.inf)), ValueError, "finite times of at least 0; got inf"),
    (lambda: race(delay=Returns([1.0])), ValueError, r"asked for shape .* and gave \(1,\)"),
    (lambda: race(detail=False).utilization(), ValueError, "^utilization needs to know who pushed when: simulate with detail=True"),
    (lambda: race().first(0), ValueError, "updates must be between 1 and 10; got 0"),
    (lambda: race().first(11), ValueError, "updates must be between 1 and 10; got 11"),
    (lambda: race().thin(0), ValueError, "every must be between 1 and 10"),
    (lambda: race().until(0.0), ValueError, "no update happens before t = 0"),
    (lambda: race().until(math.nan), ValueError, "^t must be a finite number; got nan"),
    (lambda: race().updates_before(math.nan), ValueError, "t must be a time or a list of times"),
    (lambda: race().updates_before([[1.0]]), ValueError, "t must be a time or a list of times"),
    (lambda: run("K-sync", 2, 3, VirtualClock(2, lambda i: 1.0), 5), ValueError, "between 1 and P = 2; got 3"),
    (lambda: run("K-sync", 2, 2, VirtualClock(2, lambda i: 1.0), 0), ValueError, "updates must be at least 1"),
    (lambda: VirtualClock(0, lambda i: 1.0), ValueError, "P must be at least 1"),
    (lambda: SteppedRace("K-async", 4, Exponential()).update(5), ValueError, "between 1 and P = 4; got 5"),
    (lambda: SteppedRace("K-async", 4, Exponential()).update(1.5), TypeError, "^K must be a whole number, or one for each of 1 replicas; got 1.5"),
    (lambda: SteppedRace("K-async", 4, Exponential(), 3).update([1, 2]), TypeError, "one for each of 3 replicas"),
    (lambda: race(updates=None), ValueError, "^simulate needs either updates or until: how many updates, or until when.$"),
    (lambda: race(until=3.0), ValueError, "^simulate needs either updates or until"),
    (lambda: race(updates=None, until=0.0), ValueError, "until must be a finite number above 0; got 0"),
    (lambda: race(updates=None, until=math.inf), ValueError, "until must be a finite number above 0; got inf"),
    (lambda: race(updates=None, until="noon"), TypeError, "until must be a number; got 'noon'"),
    (lambda: race(updates=None, until=1e300), ValueError, "updates until 1e.300 would take .* GiB, over the limit of 16 GiB; ask for less time"),
    (lambda: race("K-sync", K=1, delay=Empirical([0.0] * 9999 + [1.0]), updates=None, until=1.0), ValueError, "^no time passes in .* updates, so that none reaches until = 1.$"),
    (lambda: race().jobs(1), ValueError, "replica must be between 0 and 0; got 1"),
    (lambda: race().jobs("first"), TypeError, "replica must be a whole number"),
    (lambda: race().thin(2).jobs(), ValueError, "^jobs need every update of a race with one K: ask before you thin it.$"),
    (lambda: race(detail=False).jobs(), ValueError, "^jobs need to know who pushed when: simulate with detail=True.$"),
]  # fmt: skip

CURVE = theory.ErrorCurve(e_0=10.0, floor=2.0, factor=0.5)
BOUND = {"K": 4, "eta": 0.1, "L": 1.0, "c": 0.1, "sigma2": 1.0, "e_0": 1.0}


def training(problem=None, learning_rate=0.1, **options):
    return train(Quadratic() if problem is None else problem, race(), learning_rate, **options)


def adaptive(rule=None, **options):
    setting = {"variant": "K-sync", "P": 4, "delay": Exponential(), "updates": 5} | options
    return train_adaptively(Quadratic(), rule=SqrtRule(1) if rule is None else rule, **setting)


TRAINING = [
    (lambda: training(learning_rate=0), ValueError, "learning_rate .* above 0; got 0"),
    (lambda: training(learning_rate=-0.1), ValueError, "learning_rate .* above 0; got -0.1"),
    (
        lambda: training(learning_rate=math.nan),
        ValueError,
        "^learning_rate must be a finite number above 0; got nan",
    ),
    (
        lambda: training(learning_rate="fast"),
        TypeError,
        "^learning_rate must be a number above 0, a function .*; got 'fast'",
    ),
    (lambda: training(every=0), ValueError, "every must be at least 1"),
    (lambda: training(problem=3), TypeError, r"^problem must be a Problem such as Quadratic\(\); got 3"),
    (
        lambda: train(Quadratic(), "race"),
        TypeError,
        r"^race must be a Race, as simulate\(...\) returns it; got 'race'",
    ),
    (lambda: train(Quadratic(), race("K-sync").thin(2)), ValueError, "this one was thinned"),
    (
        lambda: train(Quadratic(), race(detail=False)),
        ValueError,
        "^training a K-async race needs its staleness; simulate it with detail=True",
    ),
    (lambda: training(seed=-1), ValueError, "seed must be at least 0"),
    (
        lambda: training().at([-1.0]),
        ValueError,
        "^every entry of times must be a finite number of at least 0; entry 0 is -1",
    ),
    (lambda: training().at([1e9]), ValueError, "when the first replica ends"),
    (lambda: Quadratic([]), ValueError, "eigenvalues must be a non-empty list"),
    (lambda: Quadratic([1.0, -1.0]), ValueError, "entry 1 is -1"),
    (lambda: Quadratic(sigma2=-1), ValueError, "sigma2 .* at least 0"),
    (lambda: Quadratic(m=0), ValueError, "m must be at least 1"),
    (
        lambda: Quadratic([1.0, 2.0], start=[1.0, 2.0, 3.0]),
        ValueError,
        r"^start must be a finite number or 2 finite numbers; got \[1.0, 2.0, 3.0\]",
    ),
    (
        lambda: LeastSquares([[1.0], [2.0]], [1.0]),
        ValueError,
        "y must hold one target for each of the 2 rows",
    ),
    (
        lambda: LeastSquares([[1.0], [math.nan]], [1.0, 2.0], m=1),
        ValueError,
        "^X must hold finite numbers only",
    ),
    (lambda: LeastSquares([[1.0], [2.0]], [1.0, 2.0], m=3), ValueError, "m must be between 1 and 2; got 3"),
    (
        lambda: Quadratic().loss([1.0, 2.0]),
        ValueError,
        r"^w must hold 1 weights along its last axis; got shape \(2,\)",
    ),
    (
        lambda: StalenessCompensating(C=0, eta_max=0.1),
        ValueError,
        "^C must be a finite number above 0; got 0",
    ),
    (lambda: DropOlderThan(eta=0.1, limit=-1), ValueError, "limit must be at least 0"),
    (
        lambda: DelayAdaptive(eta=0.1, threshold=0),
        ValueError,
        "^threshold must be a finite number above 0; got 0",
    ),
    (
        lambda: SideBySide(0.1),
        TypeError,
        "^schedules must be a list of one or more learning rates; got 0.1",
    ),
    (
        lambda: train(
            Quadratic(),
            simulate("K-async", 4, 1, Exponential(), updates=3, replicas=3),
            SideBySide([0.1, 0.2]),
        ),
        ValueError,
        "^replicas must be a multiple of 2, the number of schedules side by side; got 3",
    ),
    (
        lambda: train_each(Quadratic(), simulate("K-async", 4, 1, Exponential(), updates=3), [0.1, 0.2]),
        TypeError,
        r"^learning_rates must map names to one or more learning rates; got \[0.1, 0.2\]",
    ),
    (lambda: SqrtRule(0), ValueError, "^K_0 must be at least 1; got 0"),
    (lambda: QuadraticRule(4, 4), ValueError, "^K_0 must be between 1 and 3; got 4"),
    (lambda: adaptive(updates=None), TypeError, "^give either updates or until, the time at which to stop"),
    (lambda: adaptive(interval=0), ValueError, "^interval must be a finite number above 0; got 0"),
    (lambda: adaptive(rule=3), TypeError, r"^rule must be a rule for K such as SqrtRule\(K_0=1\), .*; got 3"),
    (
        lambda: adaptive(rule=lambda progress: None),
        ValueError,
        "number for each of 1 replicas; got None",
    ),
    (lambda: adaptive(updates=10**12), ValueError, "would take more than 16 GiB"),
    (lambda: adaptive(updates=None, until=1e12), ValueError, "would take more than 16 GiB"),
    (lambda: adaptive(replicas=10**12), ValueError, "1000000000000 replicas of 4 learners would take"),
    (lambda: adaptive(gradients="yes"), TypeError, "gradients must be True or False; got 'yes'"),
    (lambda: training(gradients=1), TypeError, "gradients must be True or False; got 1"),
    (lambda: training(every="often"), TypeError, "every must be a whole number at least 1; got 'often'"),
    (lambda: training(seed="today"), TypeError, "seed must be a whole number"),
    (lambda: training(Quadratic), TypeError, "problem must be a Problem"),
    (lambda: training(learning_rate=[0.1]), TypeError, "learning_rate must be a number"),
    (lambda: training().at("noon"), TypeError, "times must be a list of numbers; got 'noon'"),
    (lambda: training().at([]), ValueError, "times must be a non-empty list"),
    (lambda: Quadratic(start=1j), TypeError, "start must be a number or 1 numbers; got 1j"),
    (lambda: Quadratic().gradient([math.nan]), ValueError, "w must hold finite weights only"),
    (
        lambda: LeastSquares.synthetic(rows=10**12),
        ValueError,
        "^1000000000000 rows of 20 features would take .* GiB, over the limit",
    ),
    (
        lambda: SteppedRace("K-sync", 4, Exponential(), source=3),
        TypeError,
        "source must be a source of times",
    ),
    (
        lambda: SteppedRace("K-sync", 4, Exponential(), source=0),
        TypeError,
        "source must be a source of times",
    ),
    (
        lambda: SteppedRace("K-sync", 4, PerLearner([Constant()])),
        ValueError,
        "describes 1 learners, but P is 4",
    ),
    (
        lambda: SteppedRace("K-sync", 10**12, Exponential()),
        ValueError,
        "1 replicas of 1000000000000 learners",
    ),
    (
        lambda: SteppedRace("K-batch-sync", 4, Exponential()).update(10**12),
        ValueError,
        "1000000000000 pushes of 1 replicas",
    ),
    (
        lambda: SteppedRace("K-batch-sync", 4, Exponential()).update(10**19),
        ValueError,
        r"^K must be at most 2\^53, up to which floats hold every whole number",
    ),
    (
        lambda: SteppedRace("K-sync", 4, Exponential()).update(True),
        TypeError,
        "^K must be a whole number, or one for each of 1 replicas; got True",
    ),
    (
        lambda: SteppedRace("K-sync", 4, Exponential()).update([]),
        TypeError,
        r"^K must be a whole number, or one for each of 1 replicas; got \[\]",
    ),
    (lambda: SteppedRace("K-sync", 4, Exponential()).update([1, 1]), TypeError, "one for each of 1 replicas"),
    (lambda: training().band([1e9]), ValueError, "times must be .* when the first replica ends"),
    (lambda: training().band([0.0], low=-0.1), ValueError, "low must be between 0 and 1; got -0.1"),
    (lambda: training().band([0.0], high=2), ValueError, "high must be between 0.1 and 1; got 2"),
    (
        lambda: training().band([0.0], low=0.6, high=0.5),
        ValueError,
        "high must be between 0.6 and 1; got 0.5",
    ),
    (lambda: training().time_to_reach("low"), TypeError, "loss must be a number; got 'low'"),
    (lambda: training().time_to_reach(math.nan), ValueError, "loss must be a finite number; got nan"),
    (lambda: training(learning_rate=lambda j: -0.1), ValueError, "steps must be .* PerUpdate gave -0.1"),
    (
        lambda: training(learning_rate=lambda: 0.1),
        TypeError,
        "learning_rate must be .* a function of the number",
    ),
]

THEORY = [
    (
        lambda: theory.expected_runtime("K-async", 8, 4, Pareto()),
        theory.NoClosedForm,
        "has no closed form for Pareto.*; simulate it or use theory.runtime_bounds",
    ),
    (
        lambda: theory.expected_runtime("K-sync", 8, 9, Pareto()),
        ValueError,
        "^K-sync waits for K different learners, so K must be between 1 and P = 8; got 9",
    ),
    (
        lambda: theory.expected_runtime("K-batch-async", 8, 4, Pareto(1.0)),
        ValueError,
        r"^this needs a finite mean E\[X\], but that of Pareto\(shape=1.0, scale=1.0\) is infinite",
    ),
    (
        lambda: theory.sync_over_async_per_update(8, Pareto(0.9)),
        ValueError,
        r"^this needs a finite mean E\[X\], but that of Pareto\(shape=0.9, scale=1.0\) is infinite",
    ),
    (lambda: theory.runtime_bounds("sync", 8, 4, Pareto()), ValueError, "did you mean K-sync"),
    (
        lambda: theory.crossing_time(CURVE, theory.ErrorCurve(10.0, 1.0, 1.0)),
        ValueError,
        "both curves must fall",
    ),
    (
        lambda: theory.second_moments("K-async", 8, 1, 5.0, 0.1, 1.0, 2000),
        ValueError,
        "^a = 5 is beyond mean_square_limit: the moments overflow after .* updates",
    ),
    (
        lambda: theory.mean_trajectory(8, 1, 500.0, 1.0, 2000),
        ValueError,
        "^a = 500 is beyond mean_limit: the mean overflows after .* updates",
    ),
    (lambda: theory.mean_staleness("K-async", 0, 1), ValueError, "P must be at least 1"),
    (
        lambda: theory.staleness_pmf("K-async", 4, 2, -1),
        ValueError,
        "^r must hold whole numbers of at least 0; got -1",
    ),
    (
        lambda: theory.error_bound("K-sync", updates=10, **BOUND | {"eta": 1.5}),
        ValueError,
        "^eta must be at most 1 for the theorem to hold; got 1.5",
    ),
    (
        lambda: theory.error_bound("K-sync", updates=10, **BOUND | {"eta": 0.0}),
        ValueError,
        "^eta must be a finite number above 0; got 0",
    ),
    (
        lambda: theory.error_bound("K-sync", updates=-1, **BOUND),
        ValueError,
        "^updates must be finite and at least 0; got -1",
    ),
    (
        lambda: theory.error_bound("K-sync", updates=10, **BOUND | {"c": 2.0}),
        ValueError,
        "^c must be between 0 and L = 1; got 2",
    ),
    (
        lambda: theory.error_bound("K-async", updates=10, **BOUND, gamma=1.2, p0=0.1),
        ValueError,
        "^gamma must be below 1.05 for gamma' to be positive; got 1.2",
    ),
    (
        lambda: theory.error_bound("K-async", updates=10, **BOUND | {"eta": 0.6}, gamma=0, p0=0),
        ValueError,
        "^eta must be at most 0.5 for the theorem to hold; got 0.6",
    ),
    (
        lambda: theory.gamma_prime(math.nan, 0.1),
        ValueError,
        "^gamma must be a finite number of at least 0; got nan",
    ),
    (lambda: theory.constant_delay_limit(-1), ValueError, "^tau must be at least 0; got -1"),
    (lambda: theory.constant_delay_limit(1.5), TypeError, "^tau must be a whole number at least 0; got 1.5"),
    (lambda: theory.mean_square_limit("K-async", 4, 5), ValueError, "between 1 and P = 4; got 5"),
    (
        lambda: theory.stationary_square("K-async", 8, 1, 0.9, 1.0),
        ValueError,
        "^a must be below 0.566391, else E w² grows without limit; got 0.9",
    ),
    (
        lambda: estimates.gamma(training()),
        ValueError,
        "^this needs a run that recorded gradient_square; train with gradients=True",
    ),
    (
        lambda: estimates.fresh_share(race(detail=False)),
        ValueError,
        "^this needs a race that recorded its staleness; simulate it with detail=True",
    ),
    (
        lambda: theory.p0_frequency(Own(Exponential()), 4),
        TypeError,
        "^this needs the law's mean, which Own does not have",
    ),
    (
        lambda: theory.square_root_rule(2, 1.0, 0.0),
        ValueError,
        "^F, the loss above its infimum, must be finite and above 0; got 0.0",
    ),
    (lambda: theory.square_root_rule(2, 1.0, "a"), TypeError, "F, the loss .* must be numbers; got"),
    (lambda: theory.whole_K(1e30), ValueError, r"^K must be at most 2\^53 unless K_max clips it; got 1e\+30"),
    (lambda: theory.whole_K("a"), TypeError, "K must be numbers; got 'a'"),
    (
        lambda: theory.interval_bound([1, 2], [1.0] * 3, time=1, F=1, eta=1, L=1, sigma2=1),
        ValueError,
        r"^K and runtime must match in shape; got \(2,\) and \(3,\)",
    ),
    (lambda: theory.gamma_prime(0.2, 0.1, 1.5), ValueError, "theta must be at most 1 unless p0 is 1"),
    (
        lambda: theory.mean_staleness("K-async", 8, 1, Pareto(0.9)),
        ValueError,
        r"^this needs a finite mean E\[X\], but that of Pareto\(shape=0.9, scale=1.0\) is infinite",
    ),
    (lambda: theory.mean_staleness("K-async", 10**400, 1), ValueError, r"P must be at most 2\^53"),
    (lambda: theory.staleness_pmf("K-async", 10**9, 1), ValueError, "r must say which are needed"),
    (lambda: theory.error_bound("K-sync", updates="a", **BOUND), TypeError, "updates must be numbers; got"),
    (lambda: theory.second_moments("K-async", 8, 1, 0.1, 0.0, 1e200, 5), ValueError, "w0 must be between"),
]

CSV = [
    ("", "steps.csv holds no times"),
    ("\n\n", "steps.csv holds no times"),
    ("seconds\n", "holds no times below its header"),
    ("seconds\nfast\n", "line 2 of .* must hold a time; it holds 'fast'"),
    ("1.0\n-2.0\n", "line 2 of .* time of at least 0; it holds -2.0"),
    ("1.0\nnan\n", "line 2 of .* it holds nan"),
    ("1.0\ninf\n", "line 2 of .* it holds inf"),
    ("nan\n1.0\n", "line 1 of .* it holds nan"),
    ("ms\n1,5\n", "line 2 of .* as many cells as the first line, 1; it has 2"),
    ("1,5\n2,5\n", "line 1 of .* must name its 2 columns; it holds '1,5'"),
    ("0\n1.5\n", "line 1 of .* holds 0, a time or the name of the column"),
    ('ms\n"1.5\n2.5\n', "line 2 of .* a quote is not closed"),
    ("ms\n" + "1" * 200_000 + "\n", "line 2 of .* a cell is too long"),
    ("1;5\n", "must have commas between its cells; it has ';'"),
]


CALLS = [*LAWS, *ORDER_STATISTICS, *RACES, *TRAINING, *THEORY]


@pytest.mark.parametrize(("call", "error", "sentence"), CALLS)
def test_a_wrong_call_gets_one_clear_sentence(call, error, sentence):
    refused(call, error, sentence)


@pytest.mark.parametrize(("text", "sentence"), CSV)
def test_a_wrong_file_is_refused_with_its_line(tmp_path, text, sentence):
    path = tmp_path / "steps.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        Empirical.from_csv(path)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "steps.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="must be a text file in UTF-8"):
        Empirical.from_csv(path)


@pytest.mark.parametrize(("column", "error", "sentence"), [
    (None, ValueError, "has 2 columns; say which one holds the times"),
    ("minutes", ValueError, "no column 'minutes'; its first line has learner, seconds"),
    (5, ValueError, "has 2 columns; column 5 was asked for"),
    (1.0, TypeError, "column must be a whole number"),
    (-1, ValueError, "column must be at least 0"),
])  # fmt: skip
def test_a_wrong_column_is_refused(tmp_path, column, error, sentence):
    path = tmp_path / "steps.csv"
    path.write_text("learner,seconds\n0,1.5\n")
    with pytest.raises(error, match=sentence):
        Empirical.from_csv(path, column)
