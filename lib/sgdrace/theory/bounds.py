"""What is proven about the error of SGD with a fixed step: after so many updates, or by a certain time.

Knows constants of the problem and of staleness, passed by name; nothing of laws or of simulated races.

The constants: step `eta`; `L`-smooth objective with strong convexity (or Polyak-Lojasiewicz constant) `c`;
gradients of mini-batches of size `m` with variance at most sigma2/m + (M_G/m) ‖∇F‖²; `e_0` = F(w_0) - F*;
`gamma` and `p0`, the staleness constants of the asynchronous variants. `theta` is the share of the limit
1/(L(1 + M_G/(Km))) that eta keeps to: 1 for the K-sync bound and 1/2 for the K-async bound, as they are
usually stated; a smaller theta gives a faster rate and a lower floor. All bounds have one form with
gamma' = 1 - gamma + (1 - theta) p0, in which synchronous variants have gamma = 0 and p0 = 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sgdrace._arguments import (
    FloatArray,
    computed,
    exact_count,
    floats,
    one_of,
    real,
    reals,
    shown,
    store,
)
from sgdrace.theory.tables import RuntimeTable, by_K, runtime_at
from sgdrace.variants import VARIANTS


@dataclass(frozen=True)
class ErrorCurve:
    """A bound on the error that falls geometrically from e_0 to a floor: by `factor` in every `runtime`.

    >>> curve = ErrorCurve(e_0=10.0, floor=2.0, factor=0.5, runtime=3.0)
    >>> curve.after(1), curve.at(6.0)
    (6.0, 4.0)
    """

    e_0: float
    floor: float
    factor: float
    runtime: float = 1.0

    def __post_init__(self) -> None:
        store(self, e_0=real("e_0", self.e_0, above=0))
        store(self, floor=real("floor", self.floor, above=0, closed=True))
        store(self, factor=real("factor", self.factor, above=0, below=1, closed=True))
        store(self, runtime=real("runtime", self.runtime, above=0))

    @property
    def rate(self) -> float:
        """The exponential rate in time, -log(factor)/runtime; infinite if one update reaches the floor."""
        return -math.log(self.factor) / self.runtime if self.factor > 0 else math.inf

    def after(self, updates: ArrayLike) -> Any:
        """The bound after so many updates."""
        power = np.power(self.factor, _not_negative("updates", updates))
        return _plain(self.floor + (self.e_0 - self.floor) * power)

    def at(self, time: ArrayLike) -> Any:
        """The bound at a time, for time/runtime updates.

        Their random number makes it slightly optimistic where the curve falls, that is for e_0 > floor.
        """
        return self.after(_not_negative("time", time) / self.runtime)

    def at_poisson(self, time: ArrayLike) -> Any:
        """The mean of the bound at a time if updates come as a Poisson process, one in `runtime` on average.

        So they do for exponential delays at K = 1. By Jensen's inequality it is never below `at` while the
        curve falls (e_0 >= floor), and never above it where the curve rises from below its floor.

        >>> round(ErrorCurve(e_0=10.0, floor=2.0, factor=0.5, runtime=3.0).at_poisson(6.0), 4)
        4.943
        """
        updates = _not_negative("time", time) / self.runtime
        return _plain(self.floor + (self.e_0 - self.floor) * np.exp(-updates * (1 - self.factor)))


def gamma_prime(gamma: float, p0: float, theta: float = 0.5) -> float:
    """Gamma' = 1 - gamma + (1 - theta) p0, by which staleness multiplies the rate of the K-async bound.

    With theta = 1/2, as usually stated, 1 - gamma + p0/2. The proof subtracts (1 - theta) E‖∇F(w_τ)‖², of
    which p0 E‖∇F(w_j)‖² is a lower bound: so theta may not exceed 1, unless p0 = 1, where both are equal.
    With fresh gradients alone (gamma = 0, p0 = 1) it is 2 - theta, for any theta below 2.

    >>> gamma_prime(gamma=0.25, p0=0.5)
    1.0
    """
    gamma = real("gamma", gamma, above=0, closed=True)
    p0 = real("p0", p0, above=0, below=1, closed=True)
    theta = real("theta", theta, above=0, below=2)
    if theta > 1 and p0 < 1:
        raise ValueError(f"theta must be at most 1 unless p0 is 1; got {theta:g} with p0 = {p0:g}.")
    return 1 - gamma + (1 - theta) * p0


def largest_eta(
    variant: str, *, K: int, L: float, m: float = 1, M_G: float = 0.0, theta: float | None = None
) -> float:
    """The step condition of the bounds: eta <= theta/(L(1 + M_G/(Km))).

    K-sync bound: theta = 1. K-async bound: theta = 1/2, and "1" in the bracket, not "1/K": with 1/K the
    condition would allow steps that diverge.

    >>> largest_eta("K-sync", K=4, L=2.0), largest_eta("K-async", K=4, L=2.0)
    (0.5, 0.25)
    """
    variant = one_of("variant", variant, VARIANTS)
    K, L, m, M_G = _K_L_m_M_G(K, L, m, M_G)
    share = _theta(variant, theta)
    return float(computed("the largest eta", lambda: share / (L * (1 + M_G / (K * m)))))


def error_curve(
    variant: str,
    *,
    K: int,
    eta: float,
    L: float,
    c: float,
    sigma2: float,
    e_0: float,
    m: float = 1,
    M_G: float = 0.0,
    gamma: float | None = None,
    p0: float | None = None,
    theta: float | None = None,
    runtime: float | RuntimeTable = 1.0,
) -> ErrorCurve:
    """The K-sync bound or the K-async bound as a curve, in updates and, given E[T] as `runtime`, in time.

    `runtime` may also be a RuntimeTable of the variant, which knows the E[T] of this K.
    Asynchronous variants need gamma; p0 may be left at 0. The theorem's conditions are checked.

    >>> curve = error_curve("K-async", K=1, eta=0.1, L=1.0, c=1.0, sigma2=1.0, e_0=5.0, gamma=0.5, p0=0.2)
    >>> round(curve.factor, 12), round(curve.floor, 6)
    (0.94, 0.083333)
    """
    gamma_1 = _checked_gamma_prime(variant, K, eta, L, m, M_G, gamma, p0, theta)
    eta, L, m, c = real("eta", eta), real("L", L), real("m", m), real("c", c, above=0)
    if c > L:
        raise ValueError(f"c must be between 0 and L = {L:g}; got {c:g}.")
    floor = eta * L * real("sigma2", sigma2, above=0, closed=True) / (2 * c * gamma_1 * K * m)
    # Rounding may put the factor of a step at the limit an epsilon below 0.
    return ErrorCurve(e_0, floor, max(1 - eta * c * gamma_1, 0.0), runtime_at(runtime, K, variant))


def error_floor(variant: str, **constants: Any) -> float:
    """The level eta L sigma2/(2 c gamma' K m) below which the K-sync or K-async bound does not fall.

    Takes the constants of `error_curve`; e_0 plays no part.

    >>> error_floor("K-sync", K=4, eta=0.1, L=1.0, c=1.0, sigma2=1.0)
    0.0125
    """
    return error_curve(variant, **{"e_0": 1.0, **constants}).floor


def error_bound(variant: str, *, updates: ArrayLike, **constants: Any) -> Any:
    """The K-sync bound or the K-async bound on E F(w_J) - F* after J = `updates` updates.

    Takes the constants of `error_curve`.

    >>> constants = dict(eta=0.1, L=1.0, c=1.0, sigma2=1.0, m=1, e_0=5.0)
    >>> error_bound("K-sync", updates=[0, 10], K=4, **constants).round(4).tolist()
    [5.0, 1.7515]
    >>> round(error_bound("K-async", updates=10, K=4, gamma=0.3, p0=0.5, **constants), 4)
    1.851
    """
    return error_curve(variant, **constants).after(updates)


def error_at_time(variant: str, *, time: ArrayLike, runtime: float | RuntimeTable, **constants: Any) -> Any:
    """The bound at a time, with time/E[T] updates done by then; `runtime` is E[T], or a table of it.

    An approximation, slightly optimistic: the number of updates by a given time is random.

    >>> constants = dict(K=4, eta=0.1, L=1.0, c=1.0, sigma2=1.0, e_0=5.0)
    >>> round(error_at_time("K-sync", time=5.0, runtime=0.5, **constants), 4)
    1.7515
    """
    return error_curve(variant, runtime=runtime, **constants).at(time)


def error_bound_along(
    gamma: ArrayLike,
    p0: ArrayLike = 0.0,
    *,
    K: int,
    eta: float,
    L: float,
    c: float,
    sigma2: float,
    e_0: float,
    m: float = 1,
    M_G: float = 0.0,
) -> FloatArray:
    """The K-async bound with a gamma (and p0) for every update: for e_0, e_1, ..., e_J, shape (J + 1,).

    Holds for any gamma_j: where gamma'_j is negative the error may grow, at a rate given by L in place of c.

    >>> error_bound_along([0.0, 2.0], K=1, eta=0.1, L=2.0, c=1.0, sigma2=0.0, e_0=1.0).tolist()
    [1.0, 0.9, 1.08]
    """
    K, L, m, M_G = _K_L_m_M_G(K, L, m, M_G)
    eta, c, sigma2, e_0 = real("eta", eta), real("c", c), real("sigma2", sigma2), real("e_0", e_0)
    # Only for its checks of the constants, which do not involve gamma.
    error_curve("K-async", K=K, eta=eta, L=L, c=c, sigma2=sigma2, e_0=e_0, m=m, M_G=M_G, gamma=0.0)
    gammas = reals("gamma", gamma, above=0, closed=True)
    fresh = reals("p0", np.atleast_1d(p0), above=0, closed=True)
    if fresh.max() > 1 or fresh.size not in (1, gammas.size):
        raise ValueError(
            f"p0 must be one probability or one for each of the {gammas.size} updates; got {shown(p0)}."
        )
    noise = computed("the noise of an update", lambda: L * eta * eta * sigma2 / (2 * K * m))
    bound = [e_0]
    for gamma_1 in (1 - gammas + fresh / 2).tolist():
        contraction = 1 - eta * gamma_1 * (c if gamma_1 >= 0 else L)
        bound.append(contraction * bound[-1] + noise)
    return np.asarray(computed("the bound", lambda: np.array(bound)))


def nonconvex_bound(
    variant: str,
    *,
    updates: ArrayLike,
    K: int,
    eta: float,
    L: float,
    sigma2: float,
    e_0: float,
    m: float = 1,
    M_G: float = 0.0,
    gamma: float | None = None,
    p0: float | None = None,
    theta: float | None = None,
) -> Any:
    """The non-convex bound on the mean of E‖∇F(w_j)‖² over the first J = `updates` updates.

    2 e_0/(J eta gamma') + L eta sigma2/(K m gamma'), with the conditions of the K-sync and K-async bounds.

    >>> nonconvex_bound("K-sync", updates=10, K=2, eta=0.5, L=1.0, sigma2=1.0, e_0=5.0)
    2.25
    """
    K, L, m, M_G = _K_L_m_M_G(K, L, m, M_G)
    gamma_1 = _checked_gamma_prime(variant, K, eta, L, m, M_G, gamma, p0, theta)
    J = _not_negative("updates", updates)
    if (J == 0).any():
        raise ValueError("updates must be at least 1: there is no mean over 0 updates.")
    eta, e_0, sigma2 = (
        real("eta", eta),
        real("e_0", e_0, above=0),
        real("sigma2", sigma2, above=0, closed=True),
    )
    return _plain(
        computed("the bound", lambda: 2 * e_0 / (eta * gamma_1) / J + L * eta * sigma2 / (K * m * gamma_1))
    )


def time_to_reach(curve: ErrorCurve, eps: float) -> float:
    """When the curve has come down to eps: 0 if it starts there, infinite if its floor is not below eps.

    >>> time_to_reach(ErrorCurve(e_0=10.0, floor=2.0, factor=0.5, runtime=3.0), 4.0)
    6.0
    """
    _check_curve("curve", curve)
    eps = real("eps", eps, above=0)
    if eps >= curve.e_0:
        return 0.0
    if eps <= curve.floor:
        return math.inf
    if curve.rate == 0:  # steps too small for the factor to differ from 1
        return math.inf
    return math.log((curve.e_0 - curve.floor) / (eps - curve.floor)) / curve.rate


def crossing_time(A: ErrorCurve, B: ErrorCurve) -> float:
    """The one time at which two curves cross: until then the faster one is better, then the patient one.

    They cross exactly once if the one that starts to fall faster has the higher floor; otherwise one of
    them is better all along, which is a ValueError.

    >>> fast = ErrorCurve(e_0=100.0, floor=1.0, factor=0.9)
    >>> patient = ErrorCurve(e_0=100.0, floor=0.1, factor=0.9, runtime=4.0)
    >>> round(crossing_time(fast, patient), 1)
    178.8
    """
    _check_curve("A", A)
    _check_curve("B", B)
    if A.e_0 != B.e_0:
        raise ValueError(f"the curves must start from the same e_0; got {A.e_0:g} and {B.e_0:g}.")
    if max(A.floor, B.floor) >= A.e_0:
        raise ValueError(f"both floors must be below e_0 = {A.e_0:g}; got {A.floor:g} and {B.floor:g}.")
    if min(A.rate, B.rate) == 0:
        raise ValueError("both curves must fall, but the factor of one is 1.")
    fast, patient = (A, B) if A.floor > B.floor else (B, A)
    fall, slow_fall = (curve.rate * (curve.e_0 - curve.floor) for curve in (fast, patient))
    if fast.floor == patient.floor or fall <= slow_fall:
        raise ValueError(
            "the curves do not cross: the one with the lower floor must start to fall more slowly, "
            f"but its slope is {slow_fall:g} and the other's {fall:g}."
        )

    def difference(t: float) -> float:
        far = (fast.e_0 - fast.floor) * math.exp(-fast.rate * t)
        near = (patient.e_0 - patient.floor) * math.exp(-patient.rate * t)
        return (fast.floor - patient.floor) + far - near

    # It starts at 0, is least at `deepest`, and positive once the patient curve has passed the other's floor.
    latest = 2 * time_to_reach(patient, fast.floor)
    deepest = math.log(fall / slow_fall) / (fast.rate - patient.rate) if fall < math.inf else 1e-12 * latest
    if difference(deepest) >= 0:
        return deepest  # all that rounding leaves of a crossing very close to 0
    return float(scipy.optimize.brentq(difference, deepest, latest, xtol=1e-12 * latest))


def best_K(
    variant: str,
    *,
    time: ArrayLike,
    runtimes: ArrayLike | RuntimeTable,
    gamma: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    **constants: Any,
) -> Any:
    """The K with the smallest bound at a time, from a RuntimeTable or a list E[T_1], E[T_2], ...

    Takes the constants of `error_curve`, K and runtime apart; gamma and p0 may be tables over K as well.
    The same eta for all K is a modelling choice, and so is the answer: use it for trends.

    >>> from sgdrace.theory import expected_runtimes
    >>> from sgdrace import Exponential
    >>> table = expected_runtimes("K-sync", 16, Exponential())
    >>> constants = dict(eta=0.02, L=1.0, c=1.0, sigma2=100.0, e_0=100.0)
    >>> best_K("K-sync", time=[20, 40, 80, 160, 320, 640], runtimes=table, **constants).tolist()
    [1, 2, 3, 5, 8, 12]
    """
    batches, table = by_K(runtimes, variant)
    gammas, fresh = (_over_K(name, value, table.size) for name, value in (("gamma", gamma), ("p0", p0)))
    bounds = [
        error_at_time(variant, time=time, runtime=runtime, K=K, gamma=g, p0=p, **constants)
        for K, runtime, g, p in zip(batches.tolist(), table.tolist(), gammas, fresh, strict=True)
    ]
    return _plain(batches[np.argmin(bounds, axis=0)])


def best_K_batch(
    *,
    time: float,
    P: int,
    mean_delay: float,
    eta: float,
    L: float,
    c: float,
    sigma2: float,
    e_0: float,
    m: float = 1,
) -> float:
    """An approximation of the best K where E[T] = K E[X]/P and gamma' = 1, as a real number of at least 1.

    K* ~ A/log(1 + A e_0/beta) with A = -log(1 - eta c) t P/E[X] and beta = eta L sigma2/(2cm): it grows
    a little slower than the time. For K-batch-async with any delays, K-batch-sync with exponential ones.

    >>> constants = dict(eta=0.02, L=1.0, c=1.0, sigma2=100.0, e_0=100.0)
    >>> round(best_K_batch(time=320, P=16, mean_delay=1.0, **constants), 1)
    11.2
    """
    curve = error_curve("K-sync", K=1, eta=eta, L=L, c=c, sigma2=sigma2, e_0=e_0, m=m)
    if curve.floor == 0 or curve.factor in (0, 1):
        raise ValueError(
            "this needs noise (sigma2 > 0) and 0 < eta c < 1; else K = 1 is best or one update is enough."
        )
    mini_batches = real("time", time, above=0) * exact_count("P", P) / real("mean_delay", mean_delay, above=0)
    A = -math.log(curve.factor) * mini_batches
    return max(1.0, float(computed("the best K", lambda: A / math.log1p(A * curve.e_0 / curve.floor))))


def staleness_compensating_bound(
    *,
    updates: int,
    C: float,
    eta_max: float,
    L: float,
    sigma2: float,
    e_0: float,
    K: int = 1,
    m: float = 1,
    M_G: float = 0.0,
    eta_square_sum: float | None = None,
) -> float:
    """Bound on Σ_j E[eta_j ‖∇F(w_j)‖²] for eta_j = min(C/mean ‖w_j - w_τ‖², eta_max); no gamma and no p0.

    2 e_0 + J L² C + (L sigma2/(Km)) Σ E[eta_j²], where the last sum is at most J eta_max² unless measured.

    >>> staleness_compensating_bound(updates=100, C=0.001, eta_max=0.1, L=1.0, sigma2=1.0, e_0=5.0)
    11.1
    """
    J = exact_count("updates", updates)
    K, L, m, M_G = _K_L_m_M_G(K, L, m, M_G)
    eta_max = _eta_within("eta_max", eta_max, largest_eta("K-sync", K=K, L=L, m=m, M_G=M_G))
    squares = J * eta_max**2
    if eta_square_sum is not None:
        squares = real("eta_square_sum", eta_square_sum, above=0, below=squares * (1 + 1e-9), closed=True)
    noise = real("sigma2", sigma2, above=0, closed=True) / (K * m)
    e_0, C = real("e_0", e_0, above=0), real("C", C, above=0)
    return float(computed("the bound", lambda: 2 * e_0 + J * L**2 * C + L * noise * squares))


def staleness_compensating_floor(
    *,
    C: float,
    eta_max: float,
    eta_min: float,
    L: float,
    c: float,
    sigma2: float,
    K: int = 1,
    m: float = 1,
    M_G: float = 0.0,
) -> float:
    """A floor of the error for the staleness-compensating step, if its steps happen to stay above eta_min.

    (L² C + L eta_max² sigma2/(Km))/(2 c eta_min). Nothing keeps them there, so it is often of no use, and
    clamping them from below would void it; the summed form always holds.

    >>> round(staleness_compensating_floor(C=1e-3, eta_max=0.1, eta_min=0.05, L=1, c=0.5, sigma2=1), 2)
    0.22
    """
    K, L, m, M_G = _K_L_m_M_G(K, L, m, M_G)
    c = real("c", c, above=0, below=L * (1 + 1e-12), closed=True)
    eta_max = _eta_within("eta_max", eta_max, largest_eta("K-sync", K=K, L=L, m=m, M_G=M_G))
    eta_min = real("eta_min", eta_min, above=0, below=eta_max * (1 + 1e-12))
    noise = real("sigma2", sigma2, above=0, closed=True) / (K * m)
    C = real("C", C, above=0)
    return float(computed("the floor", lambda: (L**2 * C + L * eta_max**2 * noise) / (2 * c * eta_min)))


def _checked_gamma_prime(
    variant: str,
    K: int,
    eta: float,
    L: float,
    m: float,
    M_G: float,
    gamma: float | None,
    p0: float | None,
    theta: float | None,
) -> float:
    """gamma', after checking the conditions of the K-sync or K-async bound."""
    limit = largest_eta(variant, K=K, L=L, m=m, M_G=M_G, theta=theta)
    _eta_within("eta", eta, limit)
    if variant.endswith("-sync"):
        if gamma not in (None, 0) or p0 not in (None, 1):
            raise ValueError(
                f"gradients of {variant} are never stale, so gamma is 0 and p0 is 1; got {gamma} and {p0}."
            )
        return gamma_prime(0.0, 1.0, _theta(variant, theta))
    if gamma is None:
        raise ValueError(f"gamma is needed for {variant}: how far stale gradients are from fresh ones.")
    result = gamma_prime(gamma, 0.0 if p0 is None else p0, _theta(variant, theta))
    if result <= 0:
        raise ValueError(f"gamma must be below {gamma + result:g} for gamma' to be positive; got {gamma:g}.")
    return result


def _check_curve(name: str, curve: Any) -> None:
    if not isinstance(curve, ErrorCurve):
        raise TypeError(f"{name} must be an ErrorCurve, such as error_curve gives; got {shown(curve)}.")


def _theta(variant: str, theta: float | None) -> float:
    synchronous = variant.endswith("-sync")
    if theta is None:
        return 1.0 if synchronous else 0.5
    theta = real("theta", theta, above=0, below=2)
    if theta > 1 and not synchronous:
        raise ValueError(f"theta must be at most 1 for {variant}; got {theta:g}.")
    return theta


def _eta_within(name: str, eta: float, limit: float) -> float:
    eta = real(name, eta, above=0)
    if eta > limit * (1 + 1e-12):  # a step written as 1/(2L) may be rounded up
        raise ValueError(f"{name} must be at most {limit:g} for the theorem to hold; got {eta:g}.")
    return eta


def _K_L_m_M_G(K: int, L: float, m: float, M_G: float) -> tuple[int, float, float, float]:
    return (
        exact_count("K", K),
        real("L", L, above=0),
        real("m", m, above=0),
        real("M_G", M_G, above=0, closed=True),
    )


def _plain(result: Any) -> Any:
    """A number for a number, an array for an array."""
    return result.item() if np.ndim(result) == 0 else result


def _not_negative(name: str, values: ArrayLike) -> FloatArray:
    array = floats(name, values)
    if not (np.isfinite(array) & (array >= 0)).all():
        raise ValueError(f"{name} must be finite and at least 0; got {shown(values)}.")
    return array


def _over_K(name: str, value: ArrayLike | None, K_max: int) -> Sequence[Any]:
    if value is None or np.ndim(value) == 0:
        return [value] * K_max
    table = reals(name, value, above=0, closed=True).tolist()
    if len(table) != K_max:
        raise ValueError(f"{name} must have one entry for each of the {K_max} runtimes; got {len(table)}.")
    return list(table)
