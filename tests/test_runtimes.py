import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import stats

from sgdrace import (
    BoundRule,
    Constant,
    Empirical,
    Exponential,
    LogNormal,
    Pareto,
    PerLearner,
    ShiftedExponential,
    Uniform,
    order_statistics,
    runtime_table,
    runtimes,
    theory,
)
from sgdrace.adasync import Progress
from sgdrace.delays import Scaled
from sgdrace.race import Race
from sgdrace.theory import RuntimeTable
from sgdrace.variants import VARIANTS

CONSTANTS = {"eta": 0.02, "L": 1.0, "c": 1.0, "sigma2": 100.0, "e_0": 100.0}


class OnlySamples:
    """A law of somebody's own, an exponential that offers nothing but its times, and counts how often."""

    def __init__(self, scale=1.0):
        self.scale, self.asked = scale, 0

    def sample(self, rng, size):
        self.asked += 1
        return rng.exponential(self.scale, size)


@dataclass(frozen=True)
class Frozen:
    """The same, as a value."""

    scale: float = 1.0
    asked: list = field(default_factory=list, compare=False)

    def sample(self, rng, size):
        self.asked.append(size)
        return rng.exponential(self.scale, size)


@pytest.fixture
def quick(monkeypatch):
    """Without the long burn-in, where numbers do not matter."""
    monkeypatch.setitem(runtime_table.__kwdefaults__, "burn_in", 10)
    runtimes._simulate_once.cache_clear()
    yield
    runtimes._simulate_once.cache_clear()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("law", [Exponential(2.0), ShiftedExponential(), Uniform(), LogNormal(), Pareto()])
def test_entries_are_what_theory_says_where_it_says_something(variant, law, quick):
    table = runtime_table(variant, 4, law, updates=50, replicas=4)
    assert table.K.tolist() == [1, 2, 3, 4]
    for K, mean, error, source in zip(table.K, table.mean, table.standard_error, table.source, strict=True):
        try:
            known = theory.expected_runtime(variant, 4, int(K), law)
        except theory.NoClosedForm:
            assert variant == "K-async" and source == "simulation" and error > 0
        else:
            assert mean == pytest.approx(known, rel=1e-9) and error == 0
            assert source in ("closed form", "quadrature")


def test_sources_are_told_apart(quick):
    def sources(variant, law, **options):
        return set(runtime_table(variant, 4, law, **options).source)

    assert sources("K-sync", Exponential()) == {"closed form"}
    assert sources("K-sync", LogNormal()) == {"quadrature"}
    assert sources("K-sync", PerLearner(Exponential(), [1, 1, 1, 3])) == {"quadrature"}
    assert sources("K-sync", PerLearner([Pareto()] * 4)) == {"closed form"}
    assert sources("K-sync", Scaled(Uniform(), 3.0)) == {"closed form"}
    assert sources("K-batch-sync", ShiftedExponential(), K=[2, 6]) == {"quadrature"}
    assert sources("K-batch-sync", Exponential(), K=[1, 2, 6]) == {"closed form"}
    assert sources("K-batch-async", LogNormal()) == {"closed form"}
    assert sources("K-async", Constant(2.0)) == {"closed form"}
    assert sources("K-async", Pareto(), K=[2, 3]) == {"simulation"}


# The values of long simulations elsewhere, known to the last digit given or so.
@pytest.mark.parametrize(
    ("law", "P", "K", "expected", "known_to"),
    [
        (ShiftedExponential(), 8, 4, 1.241, 4e-4),
        (ShiftedExponential(), 16, 12, 2.129, 6e-4),
        (ShiftedExponential(), 64, 16, 0.5668, 1e-4),
        (Pareto(), 8, 6, 1.657, 1e-3),
        (Pareto(), 64, 48, 1.734, 6e-4),
    ],
)
def test_simulated_runtimes_are_those_of_the_tables(law, P, K, expected, known_to):
    table = runtime_table("K-async", P, law, K=K)
    # Five standard errors, and the 95 % of the reference doubled: less than one false alarm in 10^5.
    assert table.mean[0] == pytest.approx(expected, abs=5 * table.standard_error[0] + 2.5 * known_to)
    assert 0 < table.standard_error[0] < 0.005 * expected


def test_standard_error_is_the_spread_over_tables_of_other_seeds(quick):
    tables = [
        runtime_table("K-async", 4, Uniform(), K=2, updates=100, replicas=16, seed=s) for s in range(100)
    ]
    means = np.array([table.mean[0] for table in tables])
    errors = np.array([table.standard_error[0] for table in tables])
    # The spread of 100 means is known to 7 %: 5 times that is a false alarm in a million.
    assert np.sqrt((errors**2).mean()) == pytest.approx(means.std(ddof=1), rel=0.35)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_law_that_has_only_a_sample_is_simulated(variant):
    table = runtime_table(variant, 4, OnlySamples(), K=[1, 3])
    assert table.source == ("simulation",) * 2
    exact = np.array([theory.expected_runtime(variant, 4, K, Exponential()) for K in (1, 3)])
    assert (np.abs(table.mean - exact) < 5 * table.standard_error).all()  # false alarm once in 10^6


def test_learners_that_differ_and_distributions_of_SciPy_have_runtimes_too():
    slow = PerLearner(Uniform(), factors=[1, 1, 1, 3])
    table = runtime_table("K-async", 4, slow)
    assert table.source == ("closed form", "simulation", "simulation", "quadrature")
    lower, upper = zip(*(theory.runtime_bounds("K-async", 4, K, slow) for K in range(1, 5)), strict=True)
    assert (np.array(lower) * 0.99 < table.mean).all() and (table.mean < np.array(upper) * 1.01).all()
    assert runtime_table("K-async", 3, stats.gamma(2.0)).source[1] == "simulation"


def test_what_cannot_be_integrated_is_simulated():
    table = runtime_table("K-batch-sync", 8, Pareto(), K=[2, 600], updates=200)
    assert table.source == ("quadrature", "simulation")
    lower, upper = theory.runtime_bounds("K-batch-sync", 8, 600, Pareto())
    assert lower - 5 * table.standard_error[1] < table.mean[1] < upper + 5 * table.standard_error[1]


def test_a_quadrature_that_fails_gives_way_to_simulation(monkeypatch):
    monkeypatch.setattr("sgdrace.theory.renewals.TOLERANCE", 0.0)
    table = runtime_table("K-batch-sync", 3, Pareto(), K=2)
    assert table.source == ("simulation",)
    assert table.mean[0] == pytest.approx(order_statistics.mean(Pareto(), 2, 3), rel=0.05)


def test_the_same_simulation_is_not_run_twice(quick):
    law = Frozen(1.7)
    first = runtime_table("K-async", 4, law, K=2, updates=50)
    asked = len(law.asked)
    assert asked > 0
    again = Frozen(1.7, law.asked)  # another object of the same value
    assert runtime_table("K-async", 4, again, K=[2], updates=50) == first
    assert len(law.asked) == asked
    for other in ({"K": 3}, {"K": 2, "seed": 1}, {"K": 2, "updates": 10}, {"K": 2, "replicas": 5}):
        before = len(law.asked)
        runtime_table("K-async", 4, law, **other)
        assert len(law.asked) > before, other


def test_the_first_2000_updates_of_asynchronous_variants_are_not_measured(monkeypatch):
    asked = []

    def slow_at_first(variant, P, K, law, updates, replicas, **options):
        asked.append(updates)
        gaps = np.where(np.arange(updates) < 2000, 5.0, 1.0)
        return Race(variant, P, K, np.tile(np.cumsum(gaps), (replicas, 1)))

    monkeypatch.setattr(runtimes, "simulate", slow_at_first)
    assert runtime_table("K-async", 4, OnlySamples(), K=2, updates=300).mean.tolist() == [1.0]
    assert runtime_table("K-sync", 4, OnlySamples(), K=2, updates=300).mean.tolist() == [5.0]
    assert asked == [2300, 300]


def test_a_law_that_may_have_changed_is_simulated_again(quick):
    law = OnlySamples(1.0)
    first = runtime_table("K-async", 4, law, K=2, updates=50)
    law.scale = 10.0
    assert runtime_table("K-async", 4, law, K=2, updates=50).mean[0] == pytest.approx(
        10 * first.mean[0], rel=1e-9
    )
    inside = PerLearner(law, factors=[1.0] * 4)
    slow = runtime_table("K-async", 4, inside, K=2, updates=50).mean[0]
    law.scale = 1.0
    assert runtime_table("K-async", 4, inside, K=2, updates=50).mean[0] == pytest.approx(slow / 10, rel=1e-9)


def test_laws_are_told_apart_by_their_values():
    root = np.random.SeedSequence(0)

    def key(law):
        return runtimes._key(law, root)

    assert key(Pareto(2.5)) == key(Pareto(2.5)) != key(Pareto(3.0))
    assert key(Empirical([1.0, 2.0])) == key(Empirical([2.0, 1.0])) != key(Empirical([1.0, 3.0]))
    assert key(Scaled(Pareto(), 2.0)) == key(Scaled(Pareto(), 2.0)) != key(Scaled(Pareto(), 3.0))
    assert key(PerLearner([Pareto(), Uniform()])) != key(PerLearner([Uniform(), Pareto()]))
    assert runtimes._key(Pareto(), np.random.SeedSequence(1)) != key(Pareto())


def test_the_same_seed_gives_the_same_table_and_another_seed_another(quick):
    law = OnlySamples()  # not kept
    first = runtime_table("K-async", 4, law, K=2, updates=100)
    assert first == runtime_table("K-async", 4, law, K=2, updates=100)
    assert first != runtime_table("K-async", 4, law, K=2, updates=100, seed=1)
    assert first != "a table"


def test_rules_of_AdaSync_take_the_table():
    table = runtime_table("K-async", 16, Exponential())
    constants = {"eta": 0.05, "L": 1.0, "sigma2": 10.0, "m": 1}
    K = theory.adasync_K(table, time=50, F=1.0, **constants)
    assert K == theory.adasync_K(table.mean, time=50, F=1.0, **constants) == 3
    rule = BoundRule(table, interval=50.0, **constants)
    later = theory.adasync_K(table.mean.tolist(), time=50, F=0.01, **constants)
    now = Progress(np.array([1.0, 0.01]), 1.0, np.zeros(2), np.zeros(2, int), np.ones(2, int))
    assert rule(now).tolist() == [K, later] and later > K


def test_choices_are_among_the_K_of_the_table():
    few = runtime_table("K-sync", 16, Exponential(), K=[2, 5, 12])
    best = theory.best_K("K-sync", time=[20, 160, 640], runtimes=few, **CONSTANTS)
    assert best.tolist() == [2, 5, 12]
    assert theory.adasync_K(few, time=50, F=1.0, eta=0.05, L=1.0, sigma2=10.0) == 2
    only_all = r"only a table of all K = 1, 2, ... is a list of runtimes; got K = 2, 5, 12\."
    with pytest.raises(ValueError, match=only_all):
        BoundRule(few, interval=50.0, eta=0.05, L=1.0, sigma2=10.0, m=1)
    with pytest.raises(ValueError, match=only_all):
        np.asarray(few)


def test_time_to_reach_an_error_follows_from_the_table():
    table = runtime_table("K-sync", 16, Exponential())
    curve = theory.error_curve("K-sync", K=4, runtime=table, **CONSTANTS)
    by_hand = theory.error_curve(
        "K-sync", K=4, runtime=theory.expected_runtime("K-sync", 16, 4, Exponential()), **CONSTANTS
    )
    assert curve == by_hand
    assert theory.time_to_reach(curve, 1.0) == theory.time_to_reach(by_hand, 1.0) < math.inf


def test_a_table_belongs_to_its_variant():
    table = runtime_table("K-sync", 4, Exponential())
    with pytest.raises(ValueError, match="must be those of K-async; got a table of K-sync"):
        theory.best_K("K-async", time=1.0, runtimes=table, gamma=0.1, **CONSTANTS)
    with pytest.raises(ValueError, match="must be those of K-batch-sync; got a table of K-sync"):
        theory.error_at_time("K-batch-sync", K=2, time=1.0, runtime=table, **CONSTANTS)
    with pytest.raises(ValueError, match=r"K must be in the table, which has 1, 2, 3, 4; got 5\."):
        table.at(5)


def test_a_table_is_read_only_and_keeps_its_story():
    table = runtime_table("K-sync", 4, Pareto(2.5))
    assert (table.variant, table.P, table.law, len(table)) == ("K-sync", 4, Pareto(2.5), 4)
    for array in (table.K, table.mean, table.standard_error):
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            array[0] = 1
    np.asarray(table)[0] = 7.0  # a copy
    assert table.mean[0] != 7.0


def test_a_long_table_is_shown_in_part():
    text = repr(runtime_table("K-batch-async", 1000, Exponential())).splitlines()
    assert len(text) == 2 + 21
    assert text[1].split() == ["K", "E[T]", "±", "error", "source"]
    assert text[-1].split() == ["1000", "1", "0", "closed", "form"]
    assert len({line.index(line.split()[3]) for line in text[2:] if "…" not in line}) == 1


def test_infinite_runtimes_are_told():
    assert runtime_table("K-sync", 4, Pareto(0.9), K=4).mean[0] == math.inf
    for variant, K in (("K-async", 1), ("K-async", 2), ("K-batch-async", 2), ("K-batch-sync", 2)):
        with pytest.raises(ValueError, match="this needs a finite mean"):
            runtime_table(variant, 4, Pareto(0.9), K=K)


GOOD = {
    "variant": "K-async",
    "P": 4,
    "law": Pareto(),
    "K": [1, 2],
    "mean": [1.0, 2.0],
    "standard_error": [0, 0],
    "source": ["a", "b"],
}


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"variant": "K-zync"}, ValueError, "variant 'K-zync' is unknown; did you mean K-sync"),
        ({"P": 0}, ValueError, "P must be at least 1; got 0"),
        ({"K": [1, 5]}, ValueError, "K must be between 1 and P = 4; got 5"),
        ({"K": [2, 1]}, ValueError, "K must be at least one number and rise"),
        ({"K": []}, ValueError, "K must be at least one number"),
        ({"K": 2}, TypeError, "K must be a list with one entry for each K; got 2"),
        ({"K": [1, 2.5]}, TypeError, "K must be a whole number at least 1; got 2.5"),
        ({"mean": [1.0]}, ValueError, r"one entry for each of 2 K; got \(1,\), \(2,\) and 2"),
        ({"mean": [1.0, 0.0]}, ValueError, "mean must be above 0"),
        ({"mean": [1.0, math.nan]}, ValueError, "mean must be above 0"),
        ({"mean": "a"}, TypeError, "mean must be numbers; got 'a'"),
        ({"standard_error": [0, -1]}, ValueError, "standard_error at least 0"),
        ({"source": "closed form"}, TypeError, "source must be a list with one entry for each K"),
        ({"source": None}, TypeError, "source must be a list with one entry for each K; got None"),
    ],
)
def test_a_wrong_record_is_refused(wrong, error, message):
    RuntimeTable(**GOOD)
    with pytest.raises(error, match=message):
        RuntimeTable(**GOOD | wrong)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"variant": "K-zync"}, ValueError, "did you mean K-sync"),
        ({"P": 2.5}, TypeError, "P must be a whole number"),
        ({"P": 10**6, "K": None}, ValueError, r"K must say which are needed .* P is 1000000\."),
        ({"law": "Pareto"}, TypeError, "delay must be a law of mini-batch times"),
        ({"law": PerLearner([Pareto()] * 3)}, ValueError, "describes 3 learners, but P is 4"),
        ({"K": 5}, ValueError, "K must be between 1 and P = 4; got 5"),
        ({"K": []}, ValueError, "K must be a whole number or a list of them"),
        ({"K": [[1], [1, 2]]}, TypeError, r"K must be a whole number at least 1; got \[1\]"),
        ({"K": "two"}, TypeError, "K must be a whole number at least 1; got 't'"),
        ({"K": True}, TypeError, "K must be a whole number at least 1; got True"),
        ({"K": range(1, 10**5)}, ValueError, "K must be at most 10000 numbers; got 99999"),
        ({"updates": 0}, ValueError, "updates must be at least 1; got 0"),
        ({"replicas": 1}, ValueError, "replicas must be at least 2; got 1"),
        ({"seed": "a"}, TypeError, "seed must be a whole number"),
    ],
)
def test_wrong_calls_are_refused_in_one_sentence(wrong, error, message):
    with pytest.raises(error, match=message):
        runtime_table(**{"variant": "K-async", "P": 4, "law": Pareto(), "K": 2} | wrong)


def test_the_burn_in_is_left_out():
    """Learners start together: the first four push after 1 s, and later on four do every half a second."""
    law = Uniform(0.9, 1.1)
    first, later = (runtime_table("K-async", 8, law, 4, updates=1, burn_in=n).mean[0] for n in (0, 2000))
    assert first > 0.95 and later < 0.7
    with pytest.raises(ValueError, match=r"burn_in must be at least 0; got -1\."):
        runtime_table("K-async", 8, Uniform(), 4, burn_in=-1)
