import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sgdrace import Exponential, theory
from sgdrace.variants import VARIANTS

SYNC, ASYNC = ("K-sync", "K-batch-sync"), ("K-async", "K-batch-async")

# P = 16, Exp(1), so that beta = eta L sigma2/(2cm) = 1
RACE = {"eta": 0.02, "L": 1.0, "c": 1.0, "sigma2": 100.0, "m": 1, "e_0": 100.0}


def exact_run(variant, P, K, eta, eigenvalues, w0=3.0, updates=400):
    """Exact error and gamma of every update for a quadratic with unit noise in each eigen-direction."""
    moments = [theory.second_moments(variant, P, K, eta * c, eta**2 / K, w0, updates) for c in eigenvalues]
    error = sum(c / 2 * moment.square for c, moment in zip(eigenvalues, moments, strict=True))
    square = sum(c**2 * moment.square for c, moment in zip(eigenvalues, moments, strict=True))
    gap = sum(c**2 * moment.gap for c, moment in zip(eigenvalues, moments, strict=True))
    constants = {
        "K": K,
        "eta": eta,
        "L": max(eigenvalues),
        "c": min(eigenvalues),
        "sigma2": float(len(eigenvalues)),
        "e_0": error[0],
    }
    return error, gap / square, constants


ONE, FIVE = [1.0], [0.1, 0.2, 0.4, 0.7, 1.0]
# Exponential settings in which gamma stays at or below 1.
GAMMA_AT_MOST_1 = [
    ("K-async", 2, 1, 0.1, ONE),
    ("K-async", 2, 1, 0.2, FIVE),
    ("K-async", 4, 1, 0.02, ONE),
    ("K-async", 4, 1, 0.05, ONE),
    ("K-async", 4, 1, 0.05, FIVE),
    ("K-async", 8, 1, 0.01, ONE),
    ("K-async", 8, 1, 0.02, FIVE),
    ("K-async", 8, 1, 0.029, ONE),
    ("K-async", 8, 4, 0.05, ONE),
    ("K-async", 8, 4, 0.1, FIVE),
    ("K-async", 8, 6, 0.2, ONE),
    ("K-async", 8, 6, 0.3, FIVE),
    ("K-async", 8, 8, 0.5, ONE),
    ("K-async", 8, 8, 0.5, FIVE),
    ("K-async", 16, 1, 0.01, ONE),
    ("K-async", 16, 8, 0.1, FIVE),
    ("K-async", 40, 1, 0.005, ONE),
    ("K-async", 40, 20, 0.05, FIVE),
    ("K-batch-async", 2, 2, 0.2, ONE),
    ("K-batch-async", 2, 4, 0.3, FIVE),
    ("K-batch-async", 4, 4, 0.1, ONE),
    ("K-batch-async", 4, 4, 0.1, FIVE),
    ("K-batch-async", 8, 4, 0.05, ONE),
    ("K-batch-async", 8, 8, 0.1, FIVE),
    ("K-batch-async", 8, 16, 0.2, ONE),
    ("K-batch-async", 16, 4, 0.02, FIVE),
    ("K-batch-async", 16, 16, 0.05, ONE),
    ("K-batch-async", 40, 40, 0.05, FIVE),
]
STEPS_WITH_LARGE_GAMMA = [
    ("K-async", 8, 1, 0.1, ONE),
    ("K-async", 8, 1, 0.3, FIVE),
    ("K-async", 16, 4, 0.3, ONE),
    ("K-batch-async", 8, 4, 0.5, FIVE),
    ("K-batch-async", 16, 2, 0.2, ONE),
]


@pytest.mark.parametrize("setting", GAMMA_AT_MOST_1, ids=str)
def test_async_bound_is_never_below_the_exact_error(setting):
    variant, P, K, *_ = setting
    error, gamma, constants = exact_run(*setting)
    worst, fresh = gamma.max(), theory.p0(variant, P, K)
    assert worst <= 1
    updates = np.arange(error.size)
    bound = theory.error_bound(variant, updates=updates, gamma=worst, p0=fresh, **constants)
    assert (error <= bound * (1 + 1e-9)).all()
    varying = theory.error_bound_along(gamma[:-1], fresh, **constants)
    assert (error <= varying * (1 + 1e-9)).all()
    assert (varying <= bound * (1 + 1e-9)).all()


@pytest.mark.parametrize("setting", STEPS_WITH_LARGE_GAMMA, ids=str)
def test_time_varying_bound_holds_where_gamma_is_above_1(setting):
    variant, P, K, *_ = setting
    error, gamma, constants = exact_run(*setting)
    assert gamma.max() > 1.5
    varying = theory.error_bound_along(gamma[:-1], theory.p0(variant, P, K), **constants)
    assert (error <= varying * (1 + 1e-9)).all()


def test_where_gamma_prime_is_negative_the_error_may_grow_at_a_rate_given_by_L():
    constants = {"K": 2, "eta": 0.1, "L": 2.0, "c": 0.5, "sigma2": 3.0, "e_0": 1.0, "m": 4}
    noise = 2 * 0.1**2 * 3 / (2 * 2 * 4)
    bound = theory.error_bound_along([0.4, 2.0], [0.2, 0.6], **constants)
    first = (1 - 0.1 * 0.5 * (1 - 0.4 + 0.1)) + noise
    second = (1 - 0.1 * 2.0 * (1 - 2.0 + 0.3)) * first + noise
    assert bound == pytest.approx([1, first, second], rel=1e-12)
    for p0 in ([0.1, 0.1, 0.1], 1.5):
        with pytest.raises(ValueError, match="p0 must be one probability or one for each of the 2 updates"):
            theory.error_bound_along([0.4, 2.0], p0, **constants)


@pytest.mark.parametrize("variant", SYNC)
@pytest.mark.parametrize("theta", [0.3, 0.5, 1.0, 1.5])
def test_sync_bound_is_exact_for_a_round_quadratic_at_the_limiting_step(variant, theta):
    error, _, constants = exact_run(variant, 8, 4, theta, ONE, updates=30)
    bound = theory.error_bound(variant, updates=np.arange(31), theta=theta, **constants)
    np.testing.assert_allclose(bound, error, rtol=1e-12)


@pytest.mark.parametrize("eta", [0.01, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("eigenvalues", [ONE, FIVE], ids=["round", "long"])
def test_sync_bound_is_never_below_the_exact_error(eta, eigenvalues):
    error, _, constants = exact_run("K-sync", 8, 4, eta, eigenvalues)
    updates = np.arange(error.size)
    usual = theory.error_bound("K-sync", updates=updates, **constants)
    sharp = theory.error_bound("K-sync", updates=updates, theta=eta, **constants)
    assert (error <= sharp * (1 + 1e-9)).all()
    assert (sharp <= usual * (1 + 1e-9)).all()


def test_sync_bound_in_its_usual_form():
    J, beta = 7, 0.1 * 2 * 3 / (2 * 0.5 * 4)
    bound = theory.error_bound("K-sync", updates=J, K=5, eta=0.1, L=2.0, c=0.5, sigma2=3.0, m=4, e_0=6.0)
    assert bound == pytest.approx(beta / 5 + (1 - 0.1 * 0.5) ** J * (6 - beta / 5), rel=1e-12)


def test_async_bound_in_its_usual_form():
    J, beta, gamma_1 = 7, 0.1 * 2 * 3 / (2 * 0.5 * 4), 1 - 0.3 + 0.4 / 2
    bound = theory.error_bound(
        "K-async", updates=J, K=5, eta=0.1, L=2.0, c=0.5, sigma2=3.0, m=4, e_0=6.0, gamma=0.3, p0=0.4
    )
    floor = beta / (5 * gamma_1)
    assert bound == pytest.approx(floor + (1 - 0.1 * 0.5 * gamma_1) ** J * (6 - floor), rel=1e-12)
    assert theory.gamma_prime(0.3, 0.4) == pytest.approx(gamma_1)


def test_async_bound_with_all_learners_is_the_sync_bound_for_half_the_limit():
    constants = RACE | {"K": 16}
    waits = theory.error_curve("K-async", gamma=0.0, p0=1.0, **constants)
    assert waits == theory.error_curve("K-sync", theta=0.5, **constants)
    assert theory.gamma_prime(0.0, 1.0) == 1.5


def test_floor_of_sync_under_half_the_limit_is_two_thirds():
    constants = {"K": 3, "eta": 0.2, "L": 2.0, "c": 0.5, "sigma2": 3.0}
    usual = theory.error_floor("K-sync", **constants)
    assert theory.error_floor("K-sync", theta=0.5, **constants) == pytest.approx(2 / 3 * usual)


@pytest.mark.parametrize("theta", [1.01, 1.5, 1.99])
def test_steps_beyond_the_limit_are_covered_for_fresh_gradients_only(theta):
    assert theory.gamma_prime(0.0, 1.0, theta) == pytest.approx(2 - theta)
    with pytest.raises(ValueError, match=f"theta must be at most 1 unless p0 is 1; got {theta}"):
        theory.gamma_prime(0.2, 0.9, theta)


@pytest.mark.parametrize(("theta", "holds"), [(0.5, True), (1.0, True), (1.2, False), (1.5, False)])
def test_one_update_from_rest_shows_why_theta_stops_at_1(theta, holds):
    """F = w²/2 with L = 1 and eta = theta: one update multiplies the error by 1 - eta gamma' at most."""
    moments = theory.second_moments("K-async", 8, 1, theta, noise=1.0, w0=0.0, updates=3)
    formula = 1 - moments.gamma + (1 - theta) / 8  # gamma' with p0 = 1/8
    claimed = (1 - theta * formula[2]) * moments.square[2] / 2 + 1 / 2
    assert (moments.square[3] / 2 <= claimed * (1 + 1e-12)) == holds


@pytest.mark.parametrize("K", [1, 4, 16])
def test_step_condition_has_1_and_not_1_over_K(K):
    assert theory.largest_eta("K-async", K=K, L=2.0) == 1 / (2 * 2.0)
    assert theory.largest_eta("K-sync", K=K, L=2.0) == 1 / 2.0
    assert theory.largest_eta("K-batch-async", K=K, L=2.0, m=5, M_G=3.0) == pytest.approx(
        1 / (2 * 2.0 * (1 + 3 / (5 * K)))
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_step_beyond_the_condition_is_refused(variant):
    limit = theory.largest_eta(variant, K=2, L=4.0, M_G=1.0)
    constants = {"K": 2, "L": 4.0, "c": 1.0, "sigma2": 1.0, "M_G": 1.0}
    constants |= {} if variant in SYNC else {"gamma": 0.1}
    assert theory.error_floor(variant, eta=limit, **constants) > 0
    with pytest.raises(ValueError, match=rf"eta must be at most {limit:g} for the theorem to hold"):
        theory.error_floor(variant, eta=1.01 * limit, **constants)


def test_a_gamma_for_which_the_theorem_is_silent_is_refused():
    with pytest.raises(ValueError, match=r"gamma must be below 1.1 for gamma' to be positive; got 1.1"):
        theory.error_floor("K-async", K=1, eta=0.1, L=1.0, c=1.0, sigma2=1.0, gamma=1.1, p0=0.2)


def test_nonconvex_bound_holds_on_a_quadratic():
    setting = ("K-async", 8, 4, 0.1, FIVE)
    _, gamma, constants = exact_run(*setting)
    moments = [theory.second_moments("K-async", 8, 4, 0.1 * c, 0.01 / 4, 3.0, 399).square for c in FIVE]
    gradient_square = sum(c**2 * square for c, square in zip(FIVE, moments, strict=True))
    J = np.arange(1, 401)
    del constants["c"]
    bound = theory.nonconvex_bound("K-async", updates=J, gamma=gamma.max(), p0=0.5, **constants)
    assert (np.cumsum(gradient_square) / J <= bound).all()


def test_nonconvex_bound_of_sync_gains_a_third_under_half_the_limit():
    constants = {"updates": 10, "K": 2, "eta": 0.4, "L": 1.0, "sigma2": 1.0, "e_0": 5.0}
    usual = theory.nonconvex_bound("K-sync", **constants)
    assert usual == pytest.approx(2 * 5 / (10 * 0.4) + 0.4 / 2)
    assert theory.nonconvex_bound("K-sync", theta=0.5, **constants) == pytest.approx(usual / 1.5)
    with pytest.raises(ValueError, match="updates must be at least 1"):
        theory.nonconvex_bound("K-sync", **constants | {"updates": [0, 1]})


def example_curve(variant, K, **staleness):
    """The example with P = 16 learners and exponential delays of mean 1."""
    return theory.error_curve(
        variant, K=K, runtime=theory.expected_runtime(variant, 16, K, Exponential()), **RACE, **staleness
    )


@pytest.mark.parametrize(
    ("gamma", "time", "time_for_theta_1"), [(0.0, 515.8, 781.3), (0.2, 490.1, 741.8), (0.5, 436.5, 659.8)]
)
def test_async_and_sync_cross_at_the_listed_times(gamma, time, time_for_theta_1):
    fast = example_curve("K-async", 1, gamma=gamma)
    patient = example_curve("K-sync", 16, theta=0.5)
    crossing = theory.crossing_time(fast, patient)
    assert crossing == pytest.approx(time, abs=0.1)
    assert crossing == theory.crossing_time(patient, fast)
    assert fast.at(crossing) == pytest.approx(patient.at(crossing), rel=1e-9)
    assert fast.at(0.5 * crossing) < patient.at(0.5 * crossing)
    assert fast.at(2 * crossing) > patient.at(2 * crossing)
    assert theory.crossing_time(fast, example_curve("K-sync", 16)) == pytest.approx(time_for_theta_1, abs=0.1)


def test_curves_that_do_not_cross_say_so():
    better = theory.ErrorCurve(e_0=10.0, floor=1.0, factor=0.5)
    worse = theory.ErrorCurve(e_0=10.0, floor=2.0, factor=0.9)
    for A, B in ((better, worse), (worse, better), (better, better)):
        with pytest.raises(ValueError, match="the curves do not cross"):
            theory.crossing_time(A, B)
    with pytest.raises(ValueError, match="same e_0; got 10 and 11"):
        theory.crossing_time(better, theory.ErrorCurve(e_0=11.0, floor=2.0, factor=0.9))
    with pytest.raises(ValueError, match="both floors must be below e_0 = 10; got 1 and 12"):
        theory.crossing_time(better, theory.ErrorCurve(e_0=10.0, floor=12.0, factor=0.9))


def test_a_curve_that_reaches_its_floor_at_once_is_crossed_when_the_other_gets_there():
    at_once = theory.ErrorCurve(e_0=10.0, floor=2.0, factor=0.0)
    other = theory.ErrorCurve(e_0=10.0, floor=1.0, factor=0.9)
    assert at_once.rate == math.inf
    assert at_once.after([0, 1]).tolist() == [10.0, 2.0]
    assert theory.crossing_time(at_once, other) == pytest.approx(math.log(9) / other.rate)
    assert theory.time_to_reach(at_once, 3.0) == 0


def test_curves_that_cross_at_once_and_curves_with_nearly_one_floor_are_handled():
    fast = theory.ErrorCurve(e_0=1.0, floor=0.5, factor=0.5)
    slope = 0.5 * fast.rate
    hardly = theory.ErrorCurve(e_0=1.0, floor=0.25, factor=math.exp(-slope / 0.75 * (1 - 1e-15)))
    assert 0 <= theory.crossing_time(fast, hardly) < 1e-6
    late = theory.ErrorCurve(e_0=1.0, floor=0.5 - 1e-15, factor=0.9)
    assert late.at(theory.crossing_time(fast, late)) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("eps", [50.0, 5.0, 1.2])
def test_time_to_reach_an_error_is_when_the_curve_is_there(eps):
    curve = example_curve("K-async", 1, gamma=0.0)
    assert curve.at(theory.time_to_reach(curve, eps)) == pytest.approx(eps)


def test_time_to_reach_what_is_out_of_reach_is_infinite():
    curve = example_curve("K-async", 1, gamma=0.0)
    assert theory.time_to_reach(curve, curve.floor) == math.inf
    assert theory.time_to_reach(curve, 0.5) == math.inf
    assert theory.time_to_reach(curve, 100.0) == 0


def test_error_at_a_time_counts_updates_by_their_mean_runtime():
    constants = RACE | {"K": 4}
    at_time = theory.error_at_time("K-batch-sync", time=[5.0, 10.0], runtime=0.25, **constants)
    np.testing.assert_allclose(at_time, theory.error_bound("K-batch-sync", updates=[20, 40], **constants))


TIMES = [20, 40, 80, 160, 320, 640]


def test_best_K_of_sync_grows_with_the_time():
    runtimes = theory.expected_runtimes("K-sync", 16, Exponential())
    assert theory.best_K("K-sync", time=TIMES, runtimes=runtimes, **RACE).tolist() == [1, 2, 3, 5, 8, 12]


@pytest.mark.parametrize(("variant", "staleness"), [("K-batch-sync", {}), ("K-batch-async", {"gamma": 0.0})])
def test_best_K_of_batch_variants_may_exceed_P(variant, staleness):
    runtimes = theory.expected_runtimes(variant, 16, Exponential(), K_max=40)
    best = theory.best_K(variant, time=TIMES, runtimes=runtimes, **staleness, **RACE)
    assert best.tolist() == [1, 2, 3, 6, 11, 21]
    assert theory.best_K(variant, time=640, runtimes=runtimes[:16], **staleness, **RACE) == 16
    for time, K in zip(TIMES, best, strict=True):
        approximate = theory.best_K_batch(time=time, P=16, mean_delay=1.0, **RACE)
        assert abs(approximate - K) <= 0.1 * K + 1


def test_best_K_takes_tables_of_gamma_and_p0():
    runtimes = theory.expected_runtimes("K-async", 16, Exponential())
    fresh = [theory.p0("K-async", 16, K) for K in range(1, 17)]
    stale = theory.best_K(
        "K-async", time=80, runtimes=runtimes, gamma=np.linspace(0.9, 0, 16), p0=fresh, **RACE
    )
    bounds = [
        theory.error_at_time(
            "K-async", time=80, runtime=runtime, K=K, gamma=0.9 * (16 - K) / 15, p0=K / 16, **RACE
        )
        for K, runtime in enumerate(runtimes, start=1)
    ]
    assert stale == 1 + np.argmin(bounds)
    with pytest.raises(ValueError, match="gamma must have one entry for each of the 16 runtimes; got 3"):
        theory.best_K("K-async", time=80, runtimes=runtimes, gamma=[0.1, 0.1, 0.1], **RACE)


def test_approximate_best_K_is_at_least_1_and_needs_noise():
    assert theory.best_K_batch(time=0.01, P=16, mean_delay=1.0, **RACE) == 1
    with pytest.raises(ValueError, match=r"this needs noise \(sigma2 > 0\)"):
        theory.best_K_batch(time=1.0, P=16, mean_delay=1.0, **RACE | {"sigma2": 0.0})


def test_a_random_number_of_updates_makes_the_error_larger():
    # Section 5.1 at K = 1: P = 16 exponential learners, r = 0.9, after 40 updates on average.
    curve = theory.ErrorCurve(e_0=1.0, floor=0.0, factor=0.9, runtime=1 / 16)
    assert curve.at_poisson(40 / 16) == pytest.approx(0.0183, abs=5e-5)
    assert curve.at(40 / 16) == pytest.approx(0.0148, abs=5e-5)
    assert curve.at_poisson(0.0) == 1.0


@pytest.mark.parametrize("time", [0.5, 6.0, 40.0])
def test_the_mean_over_a_random_number_of_updates_is_on_the_side_that_jensen_says(time):
    falling = theory.ErrorCurve(e_0=10.0, floor=2.0, factor=0.5, runtime=3.0)
    rising = theory.ErrorCurve(e_0=1.0, floor=2.0, factor=0.5, runtime=3.0)
    level = theory.ErrorCurve(e_0=2.0, floor=2.0, factor=0.5, runtime=3.0)
    assert falling.at_poisson(time) > falling.at(time)
    assert rising.at_poisson(time) < rising.at(time)
    assert level.at_poisson(time) == level.at(time) == 2
    n = np.arange(200)
    poisson = stats.poisson.pmf(n, time / 3)
    for curve in (falling, rising):
        assert curve.at_poisson(time) == pytest.approx(poisson @ curve.after(n), rel=1e-12)


def test_staleness_compensating_floor_is_the_fixed_point_of_its_recursion():
    constants = {"C": 0.002, "L": 2.0, "c": 0.5, "sigma2": 3.0, "m": 4}
    floor = theory.staleness_compensating_floor(eta_max=0.2, eta_min=0.2, **constants)
    # With every step at 0.2: e -> (1 - c eta) e + L² C/2 + L eta² sigma2/(2m).
    after = (1 - 0.5 * 0.2) * floor + 2.0**2 * 0.002 / 2 + 2.0 * 0.2**2 * 3.0 / (2 * 4)
    assert after == pytest.approx(floor)
    smaller = theory.staleness_compensating_floor(eta_max=0.2, eta_min=0.1, **constants)
    assert smaller == pytest.approx(2 * floor)
    with pytest.raises(ValueError, match="eta_min must be between"):
        theory.staleness_compensating_floor(eta_max=0.2, eta_min=0.3, **constants)


def test_staleness_compensating_bound_in_its_summed_form():
    constants = {
        "updates": 50,
        "C": 0.01,
        "eta_max": 0.2,
        "L": 2.0,
        "sigma2": 3.0,
        "e_0": 4.0,
        "K": 2,
        "m": 5,
    }
    worst = theory.staleness_compensating_bound(**constants)
    assert worst == pytest.approx(2 * 4 + 50 * 4 * 0.01 + 2 * 3 / 10 * 50 * 0.04)
    measured = theory.staleness_compensating_bound(eta_square_sum=1.0, **constants)
    assert measured == pytest.approx(2 * 4 + 50 * 4 * 0.01 + 2 * 3 / 10)
    with pytest.raises(ValueError, match=r"eta_max must be at most 0.5"):
        theory.staleness_compensating_bound(**constants | {"eta_max": 0.6})
    with pytest.raises(ValueError, match="eta_square_sum must be between 0 and 2"):
        theory.staleness_compensating_bound(eta_square_sum=5.0, **constants)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"eta": 0.0}, "eta must be a finite number above 0; got 0"),
        ({"K": 0}, "K must be at least 1; got 0"),
        ({"c": 2.0}, "c must be between 0 and L = 1; got 2"),
        ({"L": math.nan}, "L must be a finite number above 0; got nan"),
        ({"sigma2": -1.0}, "sigma2 must be a finite number of at least 0; got -1"),
        ({"m": 0}, "m must be a finite number above 0; got 0"),
        ({"e_0": 0.0}, "e_0 must be a finite number above 0; got 0"),
        ({"gamma": None}, "gamma is needed for K-async"),
        ({"gamma": -0.1}, "gamma must be a finite number of at least 0"),
        ({"p0": 1.5}, "p0 must be between 0 and 1; got 1.5"),
        ({"theta": 1.5}, "theta must be at most 1 for K-async; got 1.5"),
        ({"updates": -1}, "updates must be finite and at least 0; got -1"),
    ],
    ids=str,
)
def test_bad_constants_are_named(wrong, message):
    constants = RACE | {"K": 2, "gamma": 0.1, "updates": 3} | wrong
    with pytest.raises(ValueError, match=message):
        theory.error_bound("K-async", **constants)


def test_bad_types_are_named():
    with pytest.raises(TypeError, match="updates must be numbers; got 'ten'"):
        theory.error_bound("K-sync", updates="ten", K=1, **RACE)
    with pytest.raises(ValueError, match=r"unknown; did you mean K-async\?"):
        theory.largest_eta("k async", K=1, L=1.0)


@pytest.mark.parametrize("variant", SYNC)
def test_sync_variants_accept_no_staleness(variant):
    assert theory.error_floor(variant, K=1, gamma=0.0, p0=1.0, **RACE) == theory.error_floor(
        variant, K=1, **RACE
    )
    with pytest.raises(ValueError, match=f"gradients of {variant} are never stale"):
        theory.error_floor(variant, K=1, gamma=0.1, **RACE)


def test_constants_may_be_decimals_and_fractions():
    usual = {"K": 2, "eta": 0.25, "L": 1.0, "c": 0.5, "sigma2": 2.0, "e_0": 4.0, "m": 2.0}
    curve = theory.error_curve("K-sync", **usual)
    for kind in (Decimal, Fraction):
        same = {name: value if name == "K" else kind(value) for name, value in usual.items()}
        assert theory.error_curve("K-sync", runtime=kind(1), **same) == curve


@pytest.mark.parametrize("wrong", [None, "a", 0.5, [1.0]])
def test_a_curve_is_needed_where_curves_are_compared(wrong):
    curve = theory.ErrorCurve(e_0=10.0, floor=2.0, factor=0.5)
    with pytest.raises(TypeError, match="curve must be an ErrorCurve, such as error_curve gives; got"):
        theory.time_to_reach(wrong, 1.0)
    with pytest.raises(TypeError, match="B must be an ErrorCurve"):
        theory.crossing_time(curve, wrong)
