import math

import numpy as np
import pytest
from scipy import optimize

from sgdrace import Exponential, theory

INTERVAL = {"time": 50, "F": 1.0, "eta": 0.05, "L": 1.0, "sigma2": 10.0}


def test_best_K_of_an_interval_is_the_listed_one():
    assert theory.adasync_K_batch(P=16, mean_delay=1.0, **INTERVAL) == pytest.approx(3.16228, rel=1e-5)
    assert theory.adasync_K_sync(P=16, rate=1.0, **INTERVAL) == pytest.approx(2.86518, rel=1e-5)


def test_rules_give_the_listed_values():
    assert theory.square_root_rule(2, 10.0, 1.0) == pytest.approx(6.32456, rel=1e-5)
    assert theory.quadratic_rule(2, 10.0, 1.0, P=16) == pytest.approx(5.48194, rel=1e-5)


@pytest.mark.parametrize("time", [50, 500, 5000])
@pytest.mark.parametrize(
    ("best", "runtime"),
    [
        (lambda **i: theory.adasync_K_batch(P=16, mean_delay=2.0, **i), lambda K: K * 2 / 16),
        (lambda **i: theory.adasync_K_sync(P=16, rate=0.5, **i), lambda K: 3 + 2 * math.log(16 / (16 - K))),
        (
            lambda **i: theory.adasync_K_pareto(P=16, shape=2.5, scale=3.0, **i),
            lambda K: 3 * (16 / (16 - K)) ** (1 / 2.5),
        ),
    ],
    ids=["batch", "sync", "pareto"],
)
def test_closed_rules_minimize_the_bound_of_the_interval(best, runtime, time):
    interval = INTERVAL | {"time": time}
    K = best(**interval)

    def bound(k):
        return theory.interval_bound(k, runtime(k), **interval)

    least = optimize.minimize_scalar(
        bound, bounds=(0.01, 2 * K if K > 16 else min(2 * K, 15.999999)), method="bounded"
    ).fun
    assert bound(K) == pytest.approx(least, rel=1e-6)
    assert bound(K) <= min(bound(0.98 * K), bound(min(1.02 * K, (K + 16) / 2) if K < 16 else 1.02 * K))


def test_interval_bound_is_the_nonconvex_bound_with_time_over_runtime_updates():
    u = theory.interval_bound(4, 0.5, **INTERVAL)
    assert u == pytest.approx(
        theory.nonconvex_bound("K-sync", updates=100, K=4, eta=0.05, L=1.0, sigma2=10.0, e_0=1.0), rel=1e-12
    )
    assert theory.interval_bound(4, 0.5, gamma_prime=0.5, **INTERVAL) == pytest.approx(2 * u)


def test_best_K_from_a_table_is_next_to_the_closed_rule():
    runtimes = theory.expected_runtimes("K-batch-async", 16, Exponential(), K_max=40)
    for time in (5, 50, 500, 5000):
        interval = INTERVAL | {"time": time}
        closed = theory.adasync_K_batch(P=16, mean_delay=1.0, **interval)
        assert abs(theory.adasync_K(runtimes, **interval) - max(closed, 1)) < 1


@pytest.mark.parametrize("F", [10.0, 1.0, 1e-3])
def test_rules_keep_the_optimum_of_every_interval(F):
    """A rule that starts from the best K for F_0 gives the best K for F."""
    at_start, later = INTERVAL | {"F": 10.0}, INTERVAL | {"F": F}
    K_0 = theory.adasync_K_batch(P=16, mean_delay=1.0, **at_start)
    assert theory.square_root_rule(K_0, 10.0, F) == pytest.approx(
        theory.adasync_K_batch(P=16, mean_delay=1.0, **later)
    )
    K_0 = theory.adasync_K_sync(P=16, rate=1.0, **at_start)
    assert theory.quadratic_rule(K_0, 10.0, F, P=16) == pytest.approx(
        theory.adasync_K_sync(P=16, rate=1.0, **later)
    )
    K_0 = theory.adasync_K_pareto(P=16, shape=2.5, **at_start)
    assert theory.pareto_rule(K_0, 10.0, F, P=16, shape=2.5) == pytest.approx(
        theory.adasync_K_pareto(P=16, shape=2.5, **later)
    )


def test_quadratic_rule_stays_below_P_and_starts_at_K_0():
    F = np.array([10.0, 1.0, 1e-6, 1e-12])
    K = theory.quadratic_rule(2, 10.0, F, P=16)
    assert K[0] == pytest.approx(2)
    assert (np.diff(K) > 0).all()
    assert (K < 16).all()
    assert theory.pareto_rule(2, 10.0, 10.0, P=16, shape=2.5) == pytest.approx(2)


def test_without_noise_one_mini_batch_is_too_many():
    quiet = INTERVAL | {"sigma2": 0.0}
    assert theory.adasync_K_sync(P=16, rate=1.0, **quiet) == 0
    assert theory.adasync_K_pareto(P=16, shape=2.5, **quiet) == 0
    assert theory.whole_K(0.0) == 1


def test_whole_K_rounds_and_clips():
    assert theory.whole_K([0.1, 2.4, 2.5, 99.0], K_max=16).tolist() == [1, 2, 3, 16]
    assert theory.whole_K(99.2) == 99
    with pytest.raises(ValueError, match="K must be finite"):
        theory.whole_K(math.inf)


@pytest.mark.parametrize("K", [1e19, 1e30, 1e300])
def test_a_rule_beyond_every_whole_number_is_clipped_to_K_max_and_refused_without(K):
    assert theory.whole_K(K, K_max=16) == 16
    assert theory.whole_K([K, 3.0], K_max=16).tolist() == [16, 3]
    assert theory.whole_K(2.0**53) == 2**53
    with pytest.raises(ValueError, match=r"K must be at most 2\^53 unless K_max clips it; got 1e\+"):
        theory.whole_K(K)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="F, the loss above its infimum, must be finite and above 0; got 0"):
        theory.square_root_rule(2, 1.0, 0.0)
    with pytest.raises(ValueError, match="K_0 must be between 0 and 16, both excluded; got 16"):
        theory.quadratic_rule(16, 1.0, 1.0, P=16)
    with pytest.raises(ValueError, match="K must be finite and above 0; got 0"):
        theory.interval_bound(0, 1.0, **INTERVAL)
    with pytest.raises(ValueError, match="runtime must be finite and above 0; got inf"):
        theory.interval_bound(1, math.inf, **INTERVAL)
    with pytest.raises(ValueError, match="P must be at least 2; got 1"):
        theory.pareto_rule(0.5, 1.0, 1.0, P=1, shape=2.5)


@pytest.mark.parametrize(
    "constants", [{"eta": 1e308}, {"L": 1e300, "eta": 1e10}, {"F": 5e-324}, {"m": 1e-200, "F": 1e-200}]
)
def test_constants_beyond_the_range_of_floats_are_named(constants):
    usual = {"time": 1.0, "F": 1.0, "eta": 1.0, "L": 1.0, "sigma2": 1.0, "m": 1} | constants
    with pytest.raises(ValueError, match=r"L eta² sigma2 t/\(2mF\) must be a finite number; it is .*\.$"):
        theory.adasync_K([1.0, 2.0], **usual)
    with pytest.raises(ValueError, match=r"L eta² sigma2 t/\(2mF\) must be a finite number"):
        theory.adasync_K_batch(P=2, mean_delay=1.0, **usual)


def test_a_step_too_small_for_the_bound_is_named():
    with pytest.raises(ValueError, match=r"2F/\(t eta gamma'\) must be a finite number"):
        theory.interval_bound(1, 1.0, time=1e-300, F=1.0, eta=1e-300, L=1.0, sigma2=1.0)
