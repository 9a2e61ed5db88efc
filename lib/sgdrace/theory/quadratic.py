"""Exact moments of SGD on a one-dimensional quadratic with exponential delays.

Knows F(w) = (c/2) w² with additive noise, one eigen-direction at a time; nothing of simulation.
Only the product a = eta c matters. `noise` is the variance eta² sigma²/(Km) that one update adds, with
sigma² that of one direction.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

from sgdrace._arguments import FloatArray, computed, count, exact_count, real
from sgdrace.variants import variant_P_K

LARGEST_P = 10**8  # beyond, what one of P learners changes is lost in the rounding of a recursion
MOST_UPDATES = 10**6  # of one trajectory: seconds of work

# Second moments after an update: E w², E w u_i, E u_i², E u_i u_k, with u_i the version learner i works on.
ONES = np.ones(4)
# Where these four are among the seven moments of a K-batch-async race between two pushes; G is 0 then.
AFTER_UPDATE = [0, 3, 4, 5]


@dataclass(frozen=True)
class SecondMoments:
    """E w_j² and E (w_j - w_τ)², averaged over the K gradients of update j, for j = 0, 1, ..., updates."""

    square: FloatArray
    gap: FloatArray

    @property
    def gamma(self) -> FloatArray:
        """The staleness constant gamma_j = E (w_j - w_τ)²/E w_j² along the run."""
        ratio = np.zeros_like(self.gap)
        return np.divide(self.gap, self.square, out=ratio, where=self.square > 0)


def second_moments(
    variant: str, P: int, K: int, a: float, noise: float, w0: float, updates: int
) -> SecondMoments:
    """The exact recursion of second moments from w_0 = w0; E F(w_j) is c/2 times `square`.

    >>> second_moments("K-async", P=8, K=1, a=0.2, noise=0.04, w0=3.0, updates=2).square.round(6).tolist()
    [9.0, 5.8, 3.374]
    """
    variant, P, K = variant_P_K(variant, P, K)
    a, noise = real("a", a, above=0), real("noise", noise, above=0, closed=True)
    M, b = _recursion(variant, P, K, a)
    x = real("w0", w0, above=-1e125, below=1e125) ** 2 * ONES
    states = [x]
    for _ in range(count("updates", updates, minimum=0, maximum=MOST_UPDATES)):
        x = M @ x + noise * b
        if x[0] > 1e250:
            raise ValueError(
                f"a = {a:g} is beyond mean_square_limit: the moments overflow after {len(states)} updates."
            )
        states.append(x)
    table = np.array(states)  # (updates + 1, 4)
    return SecondMoments(table[:, 0].copy(), np.maximum(table @ _gap(variant, P, K), 0.0))


def stationary_square(variant: str, P: int, K: int, a: float, noise: float) -> float:
    """The floor: E w² in the long run, for a below `mean_square_limit`.

    Closed form for K-async and the synchronous variants, else the fixed point of the recursion.

    >>> round(stationary_square("K-async", P=8, K=1, a=0.2, noise=0.04), 6)
    0.276596
    """
    variant, P, K = variant_P_K(variant, P, K)
    a, noise = _stable(variant, P, K, a), real("noise", noise, above=0, closed=True)
    return float(computed("E w²", lambda: noise * _floor(variant, P, K, a)))


def stationary_gamma(variant: str, P: int, K: int, a: float) -> float:
    """Gamma at the noise floor: E (w_j - w_τ)²/E w_j² in the long run.

    K-async: 2a(P-K)(2P-K-1)/(2P²a + 2KP(1-a) - K² - K), which at K = 1 is 2a(P-1)/(Pa+1).

    >>> round(stationary_gamma("K-async", P=8, K=1, a=0.1), 6)
    0.777778
    """
    variant, P, K = variant_P_K(variant, P, K)
    a = _stable(variant, P, K, a)
    if variant.endswith("-sync") or P == 1:
        return 0.0
    if variant == "K-async":
        below = 2 * P**2 * a + 2 * K * P * (1 - a) - K**2 - K
        return 2 * a * (P - K) * (2 * P - K - 1) / below
    x = _fixed_point(variant, P, K, a)
    return float(computed("gamma", lambda: _gap(variant, P, K) @ x / x[0]))


def mean_square_limit(variant: str, P: int, K: int) -> float:
    """The step a = eta c from which on E w_j² no longer stays bounded.

    Synchronous: 2. Async: (1 + sqrt(1 + 8P))/(2P), about sqrt(2/P).

    >>> round(mean_square_limit("K-async", P=8, K=1), 6)
    0.566391
    >>> round(mean_square_limit("K-batch-async", P=8, K=4), 5)
    1.57853
    """
    variant, P, K = variant_P_K(variant, P, K)
    if variant.endswith("-sync") or P == 1 or (variant == "K-async" and K == P):
        return 2.0
    if variant == "K-async":
        return _async_limit(P, K)
    return _batch_async_limit(_within_rounding(P), K)


@cache  # a search, needed anew for every step
def _batch_async_limit(P: int, K: int) -> float:
    def excess(a: float) -> float:
        # The moment map preserves a cone, so that a real eigenvalue is the first to reach 1: the determinant
        # changes its sign there, and keeps more digits than the eigenvalues where P is large.
        return -float(np.linalg.det(np.eye(4) - _batch_async_update(P, K, a)[0]))

    # K = 1 has the smallest limit.
    low = _async_limit(P, 1) / 2
    while excess(1.05 * low) < 0:
        low *= 1.05
    return float(scipy.optimize.brentq(excess, low, 1.05 * low, xtol=1e-15 * low, rtol=1e-14))


def mean_trajectory(P: int, K: int, a: float, w0: float, updates: int) -> FloatArray:
    """E w_j of K-async for j = 0, ..., updates: heavy-ball momentum 1 - K/P with step eta K/P.

    >>> mean_trajectory(P=4, K=1, a=0.5, w0=8.0, updates=2).tolist()
    [8.0, 4.0, 0.5]
    """
    _, P, K = variant_P_K("K-async", P, K)
    a, q = real("a", a, above=0), K / P
    w0, updates = real("w0", w0), count("updates", updates, minimum=0, maximum=MOST_UPDATES)
    mean = [w0, (1 - a) * w0]
    for _ in range(updates - 1):
        mean.append(mean[-1] + (1 - q) * (mean[-1] - mean[-2]) - a * q * mean[-1])
        if abs(mean[-1]) > 1e250:
            raise ValueError(f"a = {a:g} is beyond mean_limit: the mean overflows after {len(mean)} updates.")
    return np.array(mean[: updates + 1])


def mean_limit(P: int, K: int) -> float:
    """The step a = eta c below which E w_j of K-async converges, 4P/K - 2: necessary, far from sufficient.

    >>> mean_limit(P=8, K=1), round(mean_square_limit("K-async", 8, 1), 2)
    (30.0, 0.57)
    """
    _, P, K = variant_P_K("K-async", P, K)
    return 4 * P / K - 2


def constant_delay_limit(tau: int) -> float:
    """The step a = eta c below which w_{j+1} = w_j - a w_{j-tau} converges: 2 sin(π/(2(2 tau + 1))).

    >>> round(constant_delay_limit(7), 6)
    0.209057
    """
    return 2 * math.sin(math.pi / (2 * (2 * exact_count("tau", tau, minimum=0) + 1)))


def _floor(variant: str, P: int, K: int, a: float) -> float:
    """E w² in the long run for noise 1."""
    if variant.endswith("-sync") or P == 1:
        return 1 / (a * (2 - a))
    if variant == "K-async":
        # The K-async floor: at K = 1, (Pa + 1)/(a (2 + a - Pa²)).
        above = 2 * P**2 * a + 2 * K * P * (1 - a) - K**2 - K
        return K * above / (a * -_async_excess(P, K, a))
    return float(_fixed_point(variant, P, K, a)[0])


def _stable(variant: str, P: int, K: int, a: float) -> float:
    a, limit = real("a", a, above=0), mean_square_limit(variant, P, K)
    if a >= limit:
        raise ValueError(f"a must be below {limit:g}, else E w² grows without limit; got {a:g}.")
    return a


def _within_rounding(P: int) -> int:
    return count("P", P, maximum=LARGEST_P)


def _async_coefficients(P: int, K: int) -> tuple[int, int, int]:
    """Of the quadratic in a that is negative below the mean-square limit of K-async: whole numbers."""
    return -2 * K**2 * (2 * P - K - 1), -K * (2 * P - K**2 - K), 2 * P * (P - K)


def _async_excess(P: int, K: int, a: float) -> float:
    constant, linear, square = _async_coefficients(P, K)
    return constant + a * (linear + a * square)


def _async_limit(P: int, K: int) -> float:
    """The positive root of that quadratic, for K < P."""
    constant, linear, square = _async_coefficients(P, K)
    root = math.sqrt(linear**2 - 4 * constant * square)
    # Of the two ways to write the root, the one that adds instead of canceling.
    return (root - linear) / (2 * square) if linear < 0 else -2 * constant / (root + linear)


def _fixed_point(variant: str, P: int, K: int, a: float) -> FloatArray:
    """Stationary second moments for noise 1."""
    M, b = _recursion(variant, P, K, a)
    return np.asarray(np.linalg.solve(np.eye(4) - M, b), dtype=np.float64)


def _recursion(variant: str, P: int, K: int, a: float) -> tuple[FloatArray, FloatArray]:
    """One update x -> M x + noise b."""
    if variant.endswith("-sync") or P == 1:
        return (1 - a) ** 2 * np.eye(4), ONES
    P = _within_rounding(P)
    if variant == "K-async":
        M = _matrix(lambda x: _async_update(P, K, a, x, 0.0))
        return M, _async_update(P, K, a, np.zeros(4), 1.0)
    return _batch_async_update(P, K, a)


def _gap(variant: str, P: int, K: int) -> FloatArray:
    """The weights with which the second moments give E (w_j - w_τ)², averaged over the update's gradients."""
    if variant.endswith("-sync") or P == 1:
        return np.zeros(4)
    if variant == "K-async":
        return np.array([1.0, -2.0, 1.0, 0.0])
    # Every push of the batch has a gap of its own, E (w - u)² just before it: a sum over powers of `push`.
    before = _sum_of_powers(_matrix(lambda x: _push(P, x), 7), K)[:, AFTER_UPDATE] / K
    return np.asarray(before[0] - 2 * before[3] + before[4])


def _matrix(linear: Callable[[FloatArray], FloatArray], size: int = 4) -> FloatArray:
    return np.array([linear(unit) for unit in np.eye(size)]).T


def _async_update(P: int, K: int, a: float, x: FloatArray, noise: float) -> FloatArray:
    """K-async: K different learners, all equally likely, push and pull together."""
    A, B, C, D = x
    q = K / P
    new = A - 2 * a * B + a**2 * (C / K + (1 - 1 / K) * D) + noise
    stale = B - a * D  # new version times a version that is still being worked on
    both = (
        K * (K - 1) * new + 2 * K * (P - K) * stale + (P - K) * (P - K - 1) * D
    ) / (P * (P - 1))  # fmt: skip
    return np.array([new, q * new + (1 - q) * stale, q * new + (1 - q) * C, both])


def _batch_async_update(P: int, K: int, a: float) -> tuple[FloatArray, FloatArray]:
    """K-batch-async: K - 1 pushes that add to the running sum G, then one that applies it."""
    push = _matrix(lambda x: _push(P, x), 7)
    last = _matrix(lambda x: _last_push(P, K, a, x, 0.0), 7)
    M = (last @ np.linalg.matrix_power(push, K - 1))[np.ix_(AFTER_UPDATE, AFTER_UPDATE)]
    return M, _last_push(P, K, a, np.zeros(7), 1.0)[AFTER_UPDATE]


def _sum_of_powers(matrix: FloatArray, terms: int) -> FloatArray:
    """I + matrix + ... + matrix^(terms - 1), in about log2(terms) products."""
    one = np.eye(len(matrix))
    stacked = np.block([[matrix, one], [np.zeros_like(matrix), one]])
    return np.asarray(np.linalg.matrix_power(stacked, terms)[: len(matrix), len(matrix) :])


def _push(P: int, x: FloatArray) -> FloatArray:
    """A push that does not complete the batch; its learner, any of P, pulls the version it started from."""
    ww, wG, GG, wu, uu, uv, Gu = x
    stay = 1 - 1 / P
    new_wG, new_GG, other_Gu = wG + wu, GG + 2 * Gu + uu, Gu + uv
    return np.array(
        [
            ww,
            new_wG,
            new_GG,
            ww / P + stay * wu,
            ww / P + stay * uu,
            2 / P * wu + (1 - 2 / P) * uv,
            new_wG / P + stay * other_Gu,
        ]
    )


def _last_push(P: int, K: int, a: float, x: FloatArray, noise: float) -> FloatArray:
    """The push that completes the batch; its learner pulls the new version."""
    ww, wG, GG, wu, uu, uv, Gu = x
    stay = 1 - 1 / P
    new = ww - 2 * a / K * (wG + wu) + (a / K) ** 2 * (GG + 2 * Gu + uu) + noise
    other = wu - a / K * (Gu + uv)
    return np.array(
        [
            new,
            0.0,
            0.0,
            new / P + stay * other,
            new / P + stay * uu,
            2 / P * other + (1 - 2 / P) * uv,
            0.0,
        ]
    )
