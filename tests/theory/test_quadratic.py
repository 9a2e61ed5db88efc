import math

import numpy as np
import pytest

from sgdrace import theory
from sgdrace.variants import VARIANTS

# E w_j² for sigma²/m = 1, c = 1, w_0 = 3 at j = 1, 2, 5, 10, 20, 60, and in the long run.
MOMENTS = {
    ("K-async", 8, 1, 0.2): ((5.8, 3.374, 0.284128, 2.04088, 1.28065, 0.303753), 0.276596),
    ("K-batch-async", 8, 1, 0.2): ((5.8, 3.374, 0.284128, 2.04088, 1.28065, 0.303753), 0.276596),
    ("K-async", 8, 4, 0.5): ((2.3125, 0.258929, 0.432039, 0.126355, 0.115907, 0.115854), 0.115854),
    ("K-async", 16, 4, 0.3): ((4.4325, 1.65112, 0.324711, 0.824132, 0.122872, 0.0793549), 0.0793515),
    ("K-batch-async", 8, 4, 0.5): ((2.3125, 0.171814, 1.63278, 0.247054, 0.159193, 0.15397), 0.15397),
    ("K-batch-async", 16, 4, 0.3): ((4.4325, 1.58173, 0.577927, 1.58598, 0.233821, 0.0938582), 0.093792),
}
LIMITS = {
    (8, 1): (0.566391, 0.566391),
    (8, 2): (1.1502, 0.995227),
    (8, 4): (2.22354, 1.57853),
    (8, 8): (2, 2.20936),
    (16, 1): (0.386182, 0.386182),
    (16, 4): (1.5638, 1.18884),
    (16, 8): (2.82328, 1.76017),
    (16, 16): (2, 2.28814),
    (40, 1): (0.236456, 0.236456),
    (40, 4): (0.955488, 0.800149),
    (64, 1): (0.184762, 0.184762),
}
SETTINGS = [(2, 1), (3, 2), (8, 1), (8, 3), (8, 8), (16, 4)]


@pytest.mark.parametrize("setting", MOMENTS, ids=str)
def test_second_moments_follow_the_listed_values(setting):
    variant, P, K, a = setting
    listed, floor = MOMENTS[setting]
    square = theory.second_moments(variant, P, K, a, noise=a**2 / K, w0=3.0, updates=60).square
    assert square[[1, 2, 5, 10, 20, 60]] == pytest.approx(listed, rel=1e-5)
    assert theory.stationary_square(variant, P, K, a, noise=a**2 / K) == pytest.approx(floor, rel=1e-5)


def test_floor_of_synchronous_sgd():
    assert theory.stationary_square("K-sync", 8, 8, 0.5, noise=0.25 / 8) == pytest.approx(0.0416667, rel=1e-6)
    assert theory.stationary_square("K-async", 8, 8, 0.5, noise=0.25 / 8) == pytest.approx(
        0.0416667, rel=1e-6
    )


@pytest.mark.parametrize(("P", "K"), LIMITS)
def test_mean_square_limits_are_the_listed_ones(P, K):
    limit, batch_limit = LIMITS[P, K]
    assert theory.mean_square_limit("K-async", P, K) == pytest.approx(limit, rel=5e-6)
    assert theory.mean_square_limit("K-batch-async", P, K) == pytest.approx(batch_limit, rel=5e-6)
    assert theory.mean_square_limit("K-batch-sync", P, K) == 2


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("P", "K"), SETTINGS)
def test_moments_die_out_below_the_limit_and_grow_above_it(variant, P, K):
    limit = theory.mean_square_limit(variant, P, K)
    below = theory.second_moments(variant, P, K, 0.9 * limit, noise=0.0, w0=1.0, updates=600).square
    above = theory.second_moments(variant, P, K, 1.1 * limit, noise=0.0, w0=1.0, updates=600).square
    assert below[-1] < 1e-3
    assert above[-1] > 1e3


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("P", "K"), [*SETTINGS, (1, 1)])
def test_closed_floors_are_the_fixed_points_of_the_recursions(variant, P, K):
    a = 0.4 * theory.mean_square_limit(variant, P, K)
    moments = theory.second_moments(variant, P, K, a, noise=0.3, w0=2.0, updates=3000)
    assert theory.stationary_square(variant, P, K, a, 0.3) == pytest.approx(moments.square[-1], rel=1e-9)
    assert theory.stationary_gamma(variant, P, K, a) == pytest.approx(moments.gamma[-1], abs=1e-9)


@pytest.mark.parametrize("P", [3, 8, 40])
def test_async_floor_and_gamma_in_closed_form(P):
    a = 0.5 / P
    assert theory.stationary_square("K-async", P, 1, a, 1.0) == pytest.approx(
        (P * a + 1) / (a * (2 + a - P * a**2)), rel=1e-12
    )
    assert theory.stationary_gamma("K-async", P, 1, a) == pytest.approx(
        2 * a * (P - 1) / (P * a + 1), rel=1e-12
    )


def test_async_gamma_at_the_floor_is_below_1_just_for_steps_below_1_over_P_minus_2():
    assert (
        theory.stationary_gamma("K-async", 8, 1, 0.999 / 6)
        < 1
        < theory.stationary_gamma("K-async", 8, 1, 1.001 / 6)
    )


@pytest.mark.parametrize(("P", "a"), [(8, 0.0300), (16, 0.0144), (40, 0.00564)])
def test_step_at_which_gamma_reaches_1_in_the_descent(P, a):
    def worst(step):
        return theory.second_moments("K-async", P, 1, step, noise=0.0, w0=1.0, updates=60 * P).gamma.max()

    assert worst(0.98 * a) < 1 < worst(1.02 * a)


@pytest.mark.parametrize("P", [1, 2, 8])
def test_all_learners_at_once_is_synchronous(P):
    waits = theory.second_moments("K-async", P, P, 0.3, noise=0.1, w0=2.0, updates=20)
    sync = theory.second_moments("K-sync", P, P, 0.3, noise=0.1, w0=2.0, updates=20)
    np.testing.assert_allclose(waits.square, sync.square, rtol=1e-12)
    np.testing.assert_allclose(waits.gap, 0, atol=1e-12)


@pytest.mark.parametrize(("variant", "P", "K", "a"), [("K-async", 4, 2, 0.4), ("K-batch-async", 4, 3, 0.4)])
def test_recursions_are_averages_over_all_races(variant, P, K, a):
    """A small race with exponential delays, played 20,000 times without any formula."""
    rng = np.random.default_rng(2)
    replicas, updates, noise = 20_000, 6, 0.05
    w = np.full(replicas, 2.0)
    u = np.full((replicas, P), 2.0)
    everyone = np.arange(replicas)
    moments = theory.second_moments(variant, P, K, a, noise, w0=2.0, updates=updates)
    for j in range(updates):
        gradient, gap = np.zeros(replicas), np.zeros(replicas)
        order = rng.permuted(np.tile(np.arange(P), (replicas, 1)), axis=1)
        for k in range(K):
            who = order[:, k] if variant == "K-async" else rng.integers(P, size=replicas)
            gradient += u[everyone, who] / K
            gap += (w - u[everyone, who]) ** 2 / K
            if variant == "K-batch-async":
                u[everyone, who] = w
        error = gap.std() / np.sqrt(replicas)
        # 5 standard errors: one false alarm in 70,000 seeds with the 24 comparisons made
        assert abs(gap.mean() - moments.gap[j]) <= 5 * error + 1e-12
        w = w - a * gradient + np.sqrt(noise) * rng.standard_normal(replicas)
        if variant == "K-async":
            np.put_along_axis(u, order[:, :K], w[:, None], axis=1)
        else:
            u[everyone, who] = w
        assert abs((w**2).mean() - moments.square[j + 1]) <= 5 * (w**2).std() / np.sqrt(replicas)


def test_mean_of_async_is_heavy_ball_and_its_limit_is_only_necessary():
    P, K, a = 8, 2, 1.3
    limit = theory.mean_limit(P, K)
    assert limit == 4 * P / K - 2
    assert abs(theory.mean_trajectory(P, K, 0.99 * limit, 1.0, 3000)[-1]) < 1e-3
    assert abs(theory.mean_trajectory(P, K, 1.01 * limit, 1.0, 3000)[-1]) > 1e3
    assert theory.mean_square_limit("K-async", P, K) < a < limit
    np.testing.assert_allclose(theory.mean_trajectory(4, 4, 0.5, 1.0, 3), [1, 0.5, 0.25, 0.125])
    assert theory.mean_trajectory(4, 4, 0.5, 1.0, 0).tolist() == [1.0]


@pytest.mark.parametrize(
    ("tau", "limit"),
    [
        (0, 2),
        (1, 1),
        (2, 0.618034),
        (3, 0.445042),
        (7, 0.209057),
        (15, 0.101298),
        (39, 0.0397644),
        (63, 0.0247363),
    ],
)
def test_constant_delay_limits_are_the_listed_ones(tau, limit):
    assert theory.constant_delay_limit(tau) == pytest.approx(limit, rel=5e-6)
    roots = np.roots([1, -1, *[0] * (tau - 1), limit]) if tau else np.array([1 - limit])
    assert np.abs(roots).max() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("P", [2, 10**3, 10**6, 10**8])
def test_search_for_the_limit_finds_the_closed_form_at_K_1(P):
    closed = (1 + math.sqrt(1 + 8 * P)) / (2 * P)
    assert theory.mean_square_limit("K-batch-async", P, 1) == pytest.approx(closed, rel=1e-8)
    assert theory.mean_square_limit("K-async", P, 1) == pytest.approx(closed, rel=1e-14)
    a = closed / 2
    floor = (P * a + 1) / (a * (2 + a - P * a**2))
    assert theory.stationary_square("K-batch-async", P, 1, a, 1.0) == pytest.approx(floor, rel=1e-7)


@pytest.mark.parametrize(("P", "K"), [(10**6, 50_000), (8, 10**9), (3, 10**15), (10**8, 10**10)])
def test_batches_of_very_many_pushes_take_no_time(P, K):
    """A batch much longer than P is made of fresh gradients, and a batch is never worse than one push."""
    limit = theory.mean_square_limit("K-batch-async", P, K)
    assert theory.mean_square_limit("K-async", P, 1) < limit < 2 + 10 * P / K + 1e-9
    moments = theory.second_moments("K-batch-async", P, K, a=0.5, noise=0.0, w0=2.0, updates=1)
    # After one update, copies are fresh or those of the start.
    stale = 1 - theory.p0("K-batch-async", P, K)
    assert moments.gap[1] == pytest.approx(0.5**2 * 2.0**2 * stale, rel=1e-6)


@pytest.mark.parametrize("P", [10**10, 10**13, 2**53])
def test_closed_limits_hold_for_any_P(P):
    assert theory.mean_square_limit("K-async", P, 1) == pytest.approx(math.sqrt(2 / P), rel=1e-4)
    # At K = P/2 and for large P, the terms P³a/8 and -3P³/4 of the quadratic leave the root 6.
    assert theory.mean_square_limit("K-async", P, P // 2) == pytest.approx(6, rel=1e-8)


def test_gamma_of_a_model_at_rest_is_0():
    rest = theory.second_moments("K-async", 4, 1, 0.1, noise=0.0, w0=0.0, updates=2)
    assert rest.gamma.tolist() == [0, 0, 0]


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"a must be below 0.566391, else"):
        theory.stationary_square("K-async", 8, 1, 0.6, 0.1)
    with pytest.raises(ValueError, match="a must be below 2, else"):
        theory.stationary_gamma("K-sync", 8, 1, 2.0)
    with pytest.raises(ValueError, match="noise must be a finite number of at least 0"):
        theory.second_moments("K-async", 8, 1, 0.1, -1.0, 1.0, 5)
    with pytest.raises(ValueError, match="P must be between 1 and 100000000; got 1000000000"):
        theory.mean_square_limit("K-batch-async", 10**9, 2)
    for trajectory in (
        lambda: theory.second_moments("K-async", 8, 1, 0.1, 0.0, 1.0, 10**12),
        lambda: theory.mean_trajectory(8, 1, 0.1, 1.0, 10**12),
    ):
        with pytest.raises(ValueError, match="updates must be between 0 and 1000000; got 1000000000000"):
            trajectory()
    with pytest.raises(ValueError, match="tau must be at least 0; got -1"):
        theory.constant_delay_limit(-1)
    with pytest.raises(ValueError, match="between 1 and P = 4; got 5"):
        theory.mean_limit(4, 5)
