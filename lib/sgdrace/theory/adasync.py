"""Which K is best for the next interval of a run, and how K should follow the loss (AdaSync).

Knows the non-convex bound per interval; nothing of simulation. The rules are used by `sgdrace.adasync`.
All of them treat gamma' as independent of K, and F is the loss above its infimum.
"""

import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sgdrace._arguments import LARGEST_COUNT, FloatArray, computed, count, exact_count, floats, real, shown
from sgdrace.theory.tables import RuntimeTable, by_K


def interval_bound(
    K: ArrayLike,
    runtime: ArrayLike,
    *,
    time: float,
    F: float,
    eta: float,
    L: float,
    sigma2: float,
    m: float = 1,
    gamma_prime: float = 1.0,
) -> Any:
    """u(K) = 2 F E[T_K]/(t eta gamma') + L eta sigma2/(K m gamma'): the bound for an interval of length t.

    F is the loss at its start, `runtime` E[T_K].

    >>> interval_bound(2, 0.5, time=10.0, F=1.0, eta=0.1, L=1.0, sigma2=4.0)
    1.2
    """
    batches, runtimes = _positive("K", K), _positive("runtime", runtime)
    try:
        np.broadcast_shapes(batches.shape, runtimes.shape)
    except ValueError:
        raise ValueError(
            f"K and runtime must match in shape; got {batches.shape} and {runtimes.shape}."
        ) from None
    weight = _noise_over_progress(time, F, eta, L, sigma2, m)
    time, F, eta = real("time", time), real("F", F), real("eta", eta)
    progress = _quotient("2F/(t eta gamma')", 2 * F, time * eta * real("gamma_prime", gamma_prime, above=0))
    return _plain(progress * (runtimes + weight / batches))


def adasync_K(
    runtimes: ArrayLike | RuntimeTable,
    *,
    time: float,
    F: float,
    eta: float,
    L: float,
    sigma2: float,
    m: float = 1,
) -> int:
    """The K with the smallest `interval_bound`, for any variant and law.

    `runtimes` is a RuntimeTable or a list E[T_1], E[T_2], ...

    >>> adasync_K([0.0625 * K for K in range(1, 17)], time=50, F=1.0, eta=0.05, L=1.0, sigma2=10.0)
    3
    """
    K, table = by_K(runtimes)
    return int(K[np.argmin(interval_bound(K, table, time=time, F=F, eta=eta, L=L, sigma2=sigma2, m=m))])


def adasync_K_batch(
    *, P: int, mean_delay: float, time: float, F: float, eta: float, L: float, sigma2: float, m: float = 1
) -> float:
    """The best K, a real number, where E[T] = K E[X]/P: K-batch-async; exponential K-batch-sync.

    >>> round(adasync_K_batch(P=16, mean_delay=1.0, time=50, F=1.0, eta=0.05, L=1.0, sigma2=10.0), 5)
    3.16228
    """
    P, mean_delay = exact_count("P", P), real("mean_delay", mean_delay, above=0)
    weight = _noise_over_progress(time, F, eta, L, sigma2, m)
    return float(computed("the best K", lambda: math.sqrt(P / mean_delay * weight)))


def adasync_K_sync(
    *, P: int, rate: float, time: float, F: float, eta: float, L: float, sigma2: float, m: float = 1
) -> float:
    """The best K, a real number, for K-sync with (shifted) exponential delays and E[T] ~ log(P/(P-K))/rate.

    It solves K²/(P-K) = B with B = L eta² sigma2 rate t/(2mF); a shift of the delays drops out.

    >>> round(adasync_K_sync(P=16, rate=1.0, time=50, F=1.0, eta=0.05, L=1.0, sigma2=10.0), 5)
    2.86518
    """
    P, B = exact_count("P", P), real("rate", rate, above=0) * _noise_over_progress(time, F, eta, L, sigma2, m)
    return float(computed("the best K", lambda: _quadratic_root(B, P)))


def adasync_K_pareto(
    *,
    P: int,
    shape: float,
    scale: float = 1.0,
    time: float,
    F: float,
    eta: float,
    L: float,
    sigma2: float,
    m: float = 1,
) -> float:
    """The best K, a real number, for K-sync with Pareto I delays and E[T] ~ scale (P/(P-K))^(1/shape).

    >>> round(adasync_K_pareto(P=16, shape=2.5, time=50, F=1.0, eta=0.05, L=1.0, sigma2=10.0), 4)
    4.0711
    """
    P, shape = exact_count("P", P), real("shape", shape, above=0)
    target = shape * _noise_over_progress(time, F, eta, L, sigma2, m) / real("scale", scale, above=0)
    # As a share k = K/P of the learners: P k²/(1-k)^(1+1/shape) = target.
    return P * _pareto_share(target / P, shape)


def square_root_rule(K_0: float, F_0: float, F: ArrayLike) -> Any:
    """K = K_0 sqrt(F_0/F): batch variants with E[T] proportional to K. Round and clip with `whole_K`.

    >>> round(square_root_rule(K_0=2, F_0=10.0, F=1.0), 5)
    6.32456
    """
    K_0, ratio = real("K_0", K_0, above=0), _loss_ratio(F_0, F)
    return _plain(computed("K", lambda: K_0 * np.sqrt(ratio)))


def quadratic_rule(K_0: float, F_0: float, F: ArrayLike, P: int) -> Any:
    """K with K²/(P-K) proportional to 1/F: K-sync (and K-async) with exponential delays. Always below P.

    >>> round(quadratic_rule(K_0=2, F_0=10.0, F=1.0, P=16), 5)
    5.48194
    """
    P = exact_count("P", P, minimum=2)
    K_0, ratio = real("K_0", K_0, above=0, below=P), _loss_ratio(F_0, F)
    return _plain(computed("K", lambda: _quadratic_root(K_0**2 / (P - K_0) * ratio, P)))


def pareto_rule(K_0: float, F_0: float, F: float, P: int, shape: float) -> float:
    """K with K²/(P-K)^(1+1/shape) proportional to 1/F: K-sync with Pareto I delays. Always below P.

    >>> round(pareto_rule(K_0=2, F_0=10.0, F=1.0, P=16, shape=2.5), 4)
    5.2551
    """
    P, shape = exact_count("P", P, minimum=2), real("shape", shape, above=0)
    share = real("K_0", K_0, above=0, below=P) / P
    ratio = _loss_ratio(F_0, real("F", F, above=0))
    target = computed("K_0²/(P - K_0)^(1 + 1/shape)", lambda: share**2 / (1 - share) ** (1 + 1 / shape))
    return P * _pareto_share(float(ratio * target), shape)


def whole_K(K: ArrayLike, K_max: int | None = None) -> Any:
    """K rounded to a whole number and clipped to between 1 and K_max (P unless a batch variant exceeds it).

    >>> whole_K([0.2, 5.5, 40.0], K_max=16).tolist()
    [1, 6, 16]
    """
    rule = floats("K", K)
    if not np.isfinite(rule).all():
        raise ValueError(f"K must be finite; got {shown(K)}.")
    if K_max is None and (rule > LARGEST_COUNT).any():
        raise ValueError(f"K must be at most 2^53 unless K_max clips it; got {rule.max():g}.")
    most = LARGEST_COUNT if K_max is None else count("K_max", K_max, maximum=LARGEST_COUNT)
    return np.clip(np.floor(rule + 0.5), 1, most).astype(int)[()]


def _noise_over_progress(time: float, F: float, eta: float, L: float, sigma2: float, m: float) -> float:
    """The condition for the best K: K² dE[T_K]/dK = L eta² sigma2 t/(2mF)."""
    eta = real("eta", eta, above=0)
    noise = real("L", L, above=0) * eta * eta * real("sigma2", sigma2, above=0, closed=True)
    above = noise * real("time", time, above=0)
    return _quotient("L eta² sigma2 t/(2mF)", above, 2 * real("m", m, above=0) * real("F", F, above=0))


def _quotient(name: str, above: float, below: float) -> float:
    """above/below, unless the constants are so large or small that it is no number."""
    value = above / below if below > 0 else math.inf
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number; it is {above:g}/{below:g}, too large for a float.")
    return value


def _plain(result: Any) -> Any:
    """A number for a number, an array for an array."""
    return result.item() if np.ndim(result) == 0 else result


def _loss_ratio(F_0: float, F: ArrayLike) -> Any:
    first, now = real("F_0", F_0, above=0), _positive("F, the loss above its infimum,", F)
    return computed("F_0/F", lambda: first / now)


def _positive(name: str, values: ArrayLike) -> FloatArray:
    array = floats(name, values)
    if not (np.isfinite(array) & (array > 0)).all():
        raise ValueError(f"{name} must be finite and above 0; got {shown(values)}.")
    return array


def _quadratic_root(B: Any, P: int) -> Any:
    # The positive root of K² + BK - BP without cancellation: the textbook form loses all digits for large B.
    return 2 * P / (1 + np.sqrt(1 + 4 * P / B)) if np.all(B > 0) else 0.0 * B


def _pareto_share(target: float, shape: float) -> float:
    """The k in (0, 1) with k²/(1-k)^(1+1/shape) = target, found as a logit, where both ends are far away."""
    if real("K²/(P - K)^(1 + 1/shape)", target) == 0:
        return 0.0
    power = computed("1 + 1/shape", lambda: 1 + 1 / shape)

    def excess(z: float) -> float:
        log_k, log_rest = -np.logaddexp(0, -z), -np.logaddexp(0, z)
        return float(2 * log_k - power * log_rest - math.log(target))

    z = scipy.optimize.brentq(excess, -800, 800)  # the logarithm of a float is between -745 and 710
    return float(1 / (1 + math.exp(-z)))
