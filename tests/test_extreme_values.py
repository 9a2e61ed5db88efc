"""Numbers that no float can hold are refused in one sentence; none comes out as inf or NaN, or as a crash."""

from decimal import Decimal

import numpy as np
import pytest

from sgdrace import BoundRule, Exponential, runtime_table, simulate, theory
from sgdrace._arguments import one_of
from sgdrace.adasync import Progress

HUGE, TINY = 10**400, 5e-324
INTERVAL = {"time": 50, "F": 1.0, "eta": 0.05, "L": 1.0, "sigma2": 10.0}
BOUND = {"eta": 0.02, "L": 1.0, "c": 1.0, "sigma2": 100.0, "e_0": 100.0}

COUNTS = {
    "largest_eta": lambda: theory.largest_eta("K-sync", K=HUGE, L=1.0),
    "error_curve": lambda: theory.error_curve("K-sync", K=HUGE, **BOUND),
    "nonconvex_bound": lambda: theory.nonconvex_bound(
        "K-sync", updates=9, K=HUGE, eta=0.5, L=1.0, sigma2=1.0, e_0=5.0
    ),
    "best_K_batch": lambda: theory.best_K_batch(time=320, P=HUGE, mean_delay=1.0, **BOUND),
    "staleness_compensating_bound": lambda: theory.staleness_compensating_bound(
        updates=HUGE, C=1.0, eta_max=0.1, L=1.0, sigma2=1.0, e_0=1.0
    ),
    "adasync_K_batch": lambda: theory.adasync_K_batch(P=HUGE, mean_delay=1.0, **INTERVAL),
    "adasync_K_sync": lambda: theory.adasync_K_sync(P=HUGE, rate=1.0, **INTERVAL),
    "adasync_K_pareto": lambda: theory.adasync_K_pareto(P=HUGE, shape=2.5, **INTERVAL),
    "quadratic_rule": lambda: theory.quadratic_rule(2, 10.0, 1.0, HUGE),
    "pareto_rule": lambda: theory.pareto_rule(2, 10.0, 1.0, HUGE, 2.5),
    "constant_delay_limit": lambda: theory.constant_delay_limit(HUGE),
}


@pytest.mark.parametrize("call", COUNTS.values(), ids=COUNTS)
def test_a_count_that_floats_round_enters_no_formula(call):
    with pytest.raises(ValueError, match=r"^(K|P|tau|updates) must be at most 2\^53, .*; got int 1000.*\.$"):
        call()


BEYOND = {
    "largest_eta": lambda: theory.largest_eta("K-sync", K=1, L=TINY),
    "best_K_batch": lambda: theory.best_K_batch(time=1e308, P=16, mean_delay=1e-300, **BOUND),
    "adasync_K_batch": lambda: theory.adasync_K_batch(P=2, mean_delay=TINY, **INTERVAL),
    "adasync_K_pareto, scale": lambda: theory.adasync_K_pareto(P=4, shape=2.5, scale=TINY, **INTERVAL),
    "square_root_rule": lambda: theory.square_root_rule(2, 1e308, 1e-300),
    "quadratic_rule": lambda: theory.quadratic_rule(2, 1e308, 1e-300, 16),
    "pareto_rule": lambda: theory.pareto_rule(2, 1e308, 1e-300, 16, 2.5),
    "pareto_rule, shape": lambda: theory.pareto_rule(2, 10.0, 1.0, 16, TINY),
    "stationary_square": lambda: theory.stationary_square("K-sync", 8, 2, TINY, 1.0),
    "stationary_square without noise": lambda: theory.stationary_square("K-async", 8, 2, TINY, 0.0),
    "stationary_square of a batch": lambda: theory.stationary_square("K-batch-async", 8, 2, TINY, 1.0),
    "stationary_gamma of a batch": lambda: theory.stationary_gamma("K-batch-async", 8, 2, TINY),
    "error_curve": lambda: theory.error_curve("K-sync", K=2, **{**BOUND, "c": 1e-300, "sigma2": 1e300}),
    "error_bound_along": lambda: theory.error_bound_along([1e308] * 3, K=1, **BOUND),
    "staleness_compensating_bound": lambda: theory.staleness_compensating_bound(
        updates=3, C=1.0, eta_max=1e-300, L=1e200, sigma2=1.0, e_0=1.0
    ),
    "staleness_compensating_floor": lambda: theory.staleness_compensating_floor(
        C=1.0, eta_max=1e-300, eta_min=1e-301, L=1e200, c=1.0, sigma2=1.0
    ),
}


@pytest.mark.parametrize("call", BEYOND.values(), ids=BEYOND)
def test_a_result_beyond_floats_is_refused_in_one_sentence(call):
    sentence = r"^.*(is no finite number: some argument is too large|must be a finite number.*; got inf).*\.$"
    with pytest.raises(ValueError, match=sentence) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_K_stays_below_P_where_the_tail_is_as_light_as_floats_allow():
    K = theory.adasync_K_pareto(P=4, shape=1e300, scale=1e300, **INTERVAL)
    B = 0.625  # K²/(P - K) in the limit
    assert pytest.approx(-B / 2 + (B**2 / 4 + 4 * B) ** 0.5) == K


def test_decimals_are_numbers_in_every_bound():
    exact = {name: Decimal(str(value)) for name, value in BOUND.items()}
    along = theory.error_bound_along([0.0, 2.0], K=1, **BOUND)
    assert (theory.error_bound_along([0.0, 2.0], K=1, **exact) == along).all()
    del exact["c"]
    plain = {name: float(value) for name, value in exact.items()}
    bound = theory.nonconvex_bound("K-sync", updates=9, K=2, **exact)
    assert bound == theory.nonconvex_bound("K-sync", updates=9, K=2, **plain)


@pytest.mark.parametrize("progress", [np.ones(2), "yes", None])
def test_progress_is_shown_or_not(progress):
    for call in (
        lambda: runtime_table("K-sync", 4, Exponential(), progress=progress),
        lambda: simulate("K-sync", 4, 2, Exponential(), updates=2, progress=progress),
    ):
        with pytest.raises(TypeError, match=r"^progress must be True or False; got .*\.$"):
            call()


def test_a_rule_takes_a_table_of_all_K_and_refuses_one_with_gaps():
    constants = {"eta": 0.05, "L": 1.0, "sigma2": 10.0, "m": 1, "interval": 50.0}
    table = runtime_table("K-sync", 8, Exponential())
    rule, listed = BoundRule(table, **constants), BoundRule(table.mean, **constants)
    progress = Progress(np.array([1.0, 0.1]), 1.0, np.zeros(2), np.zeros(2, int), np.ones(2, int))
    assert rule.runtime is table
    assert rule(progress).tolist() == listed(progress).tolist()
    with pytest.raises(ValueError, match=r"^only a table of all K = 1, 2, \.\.\. .*; got K = 1, 4\.$"):
        BoundRule(runtime_table("K-sync", 8, Exponential(), K=[1, 4]), **constants)


@pytest.mark.parametrize("name", ["mu", "G", "Mo", "x"])
def test_a_short_name_that_is_unknown_hears_all_that_there_are(name):
    with pytest.raises(ValueError, match=rf"^a constant must be one of L, m, sigma2, M_G; got '{name}'\.$"):
        one_of("a constant", name, ("L", "m", "sigma2", "M_G"))


@pytest.mark.parametrize(("name", "meant"), [("l", "L"), ("MG", "M_G"), ("sigma", "sigma2")])
def test_a_name_spelled_otherwise_hears_how(name, meant):
    with pytest.raises(ValueError, match=f"did you mean {meant}"):
        one_of("a constant", name, ("L", "m", "sigma2", "M_G"))
