"""How long one update takes on average, E[T], for the four variants.

Knows laws of delays and nothing of gradients. What has no closed form is said so, and bounded.
"""

import math
from typing import Any

import numpy as np

from sgdrace import order_statistics
from sgdrace._arguments import FloatArray, count, real
from sgdrace._quadrature import QuadratureError
from sgdrace.delays import DelayLaw, Empirical, Law, PerLearner, Scaled, finite_mean, law_of_learners
from sgdrace.theory.renewals import event_times
from sgdrace.variants import variant_P_K

CLOSED_FORM, QUADRATURE = "closed form", "quadrature"
OUTSIDE = 1e-5  # relative, by which quadrature and bounds may differ


class NoClosedForm(ValueError):  # noqa: N818 - the contract's name
    """There is no formula for this; the message names what to use instead."""


def expected_runtime(variant: str, P: int, K: int, law: Law) -> float:
    """E[T], the long-run mean time between two updates.

    K-sync: the order statistic E[X_{K:P}]. K-batch-async: K E[X]/P by the renewal theorem. K-batch-sync:
    ∫ Pr(fewer than K mini-batches by t) dt, to about 1e-6. K-async: exact for exponential times, K = 1,
    K = P and constant times; otherwise NoClosedForm.

    Constant times depend on the start, which here is a common one, as in `simulate`: K-async then makes
    ⌊P/K⌋ updates at once, whenever E[X] has passed, and those left over wait for the next time.

    >>> from sgdrace import Exponential, ShiftedExponential
    >>> round(expected_runtime("K-sync", 8, 8, Exponential()), 4)
    2.7179
    >>> round(expected_runtime("K-batch-sync", 8, 4, ShiftedExponential()), 6)
    1.631235
    """
    variant, P, K = variant_P_K(variant, P, K)
    X = law_of_learners(law, P)
    known = known_runtime(variant, P, K, X)
    if known is not None:
        return known[0]
    if variant == "K-async":
        raise NoClosedForm(
            f"K-async with 1 < K < P has no closed form for {X!r}; simulate it or use theory.runtime_bounds."
        )
    return float(batch_sync_runtimes(P, [K], X)[0])


def expected_runtimes(variant: str, P: int, law: Law, K_max: int | None = None) -> FloatArray:
    """E[T] for K = 1, 2, ..., K_max (by default P), the table that choices of K are made from.

    >>> from sgdrace import Exponential
    >>> expected_runtimes("K-batch-async", 4, Exponential()).tolist()
    [0.25, 0.5, 0.75, 1.0]
    """
    P = count("P", P)
    variant, P, K_max = variant_P_K(variant, P, P if K_max is None else K_max)
    X = law_of_learners(law, P)
    if variant == "K-batch-sync" and known_runtime(variant, P, 2, X) is None:
        # All K at once: the same convolutions serve them. K = 1 is an order statistic.
        later = batch_sync_runtimes(P, list(range(2, K_max + 1)), X) if K_max > 1 else np.empty(0)
        return np.append(expected_runtime(variant, P, 1, law), later)
    return np.array([expected_runtime(variant, P, K, law) for K in range(1, K_max + 1)])


def runtime_bounds(variant: str, P: int, K: int, law: Law) -> tuple[float, float]:
    """A lower and an upper bound of E[T], proven for the law's ageing class; equal where E[T] is known.

    For any law K-async takes at least K E[X]/P and at most E[X_{K:K}], the slowest of the K learners that
    have just pulled; NLTU lowers the upper bound to E[X_{K:P}], NSTU raises the lower bound to it.
    K-batch-sync takes at least E[X_{1:P}] and at most (K+P-1) E[X]/P and, for K <= P, E[X_{K:P}];
    K E[X]/P is a lower bound for NLTU and an upper bound for NSTU.

    >>> from sgdrace import Exponential, ShiftedExponential
    >>> runtime_bounds("K-async", 8, 4, Exponential())[0] == expected_runtime("K-sync", 8, 4, Exponential())
    True
    >>> [round(bound, 3) for bound in runtime_bounds("K-async", 8, 4, ShiftedExponential())]
    [1.0, 1.635]
    """
    variant, P, K = variant_P_K(variant, P, K)
    X = law_of_learners(law, P)
    known = known_runtime(variant, P, K, X)
    if known is not None:
        return known[0], known[0]
    throughput = _throughput(P, X)
    if variant == "K-async":
        waited = order_statistics.mean(X, K, P)
        if X.ageing == "NLTU":
            return K / throughput, waited
        lower = max(K / throughput, waited) if X.ageing == "NSTU" else K / throughput
        return lower, order_statistics.mean(X, P, P) if isinstance(X, PerLearner) else order_statistics.mean(
            X, K, K
        )
    lower = order_statistics.mean(X, 1, P)
    upper = (K + P - 1) / throughput
    if K <= P:
        upper = min(upper, order_statistics.mean(X, K, P))
    if X.ageing == "NLTU":
        lower = max(lower, K / throughput)
    if X.ageing == "NSTU":
        upper = min(upper, K / throughput)
    return lower, upper


def sync_over_async_per_update(P: int, law: Law) -> float:
    """How many updates async makes while fully synchronous SGD makes one: P E[X_{P:P}]/E[X].

    Exponential times: P H_P, which grows like P log P. An async update holds one mini-batch, a synchronous
    one holds P: see `sync_over_async_per_mini_batch`.

    >>> from sgdrace import Exponential
    >>> round(sync_over_async_per_update(8, Exponential()), 2)
    21.74
    """
    P = count("P", P)
    return expected_runtime("K-sync", P, P, law) / expected_runtime("K-async", P, 1, law)


def sync_over_async_per_mini_batch(P: int, law: Law) -> float:
    """How many mini-batches async processes while fully synchronous SGD processes one: E[X_{P:P}]/E[X].

    >>> from sgdrace import Exponential
    >>> round(sync_over_async_per_mini_batch(8, Exponential()), 4)
    2.7179
    """
    return sync_over_async_per_update(P, law) / P


def approximate_exponential_runtime(P: int, K: int, rate: float = 1.0) -> float:
    """The approximation log((P + 1/2)/(P - K + 1/2))/rate of the K-sync runtime (H_P - H_{P-K})/rate.

    The halves make it 0.2 % off at P = 8, K = 4; without them log(P/(P-K)) is always too large and
    infinite at K = P.

    >>> round(approximate_exponential_runtime(8, 4), 4)
    0.636
    """
    P = count("P", P)
    K = count("K", K, maximum=P)
    return math.log((P + 0.5) / (P - K + 0.5)) / real("rate", rate, above=0)


def known_runtime(variant: str, P: int, K: int, X: Any) -> tuple[float, str] | None:
    """E[T] and where it comes from, "closed form" or "quadrature"; None if neither an order statistic nor
    a rate of mini-batches gives it.
    """
    constant = _constant(X)
    if constant is not None and variant == "K-async":
        return constant / (P // K), CLOSED_FORM
    if constant is not None and variant == "K-batch-sync":
        return constant * -(-K // P), CLOSED_FORM
    all_fresh = (
        variant == "K-sync" or (variant == "K-batch-sync" and K == 1) or (variant == "K-async" and K == P)
    )
    # Memoryless: after each update all P learners are as good as fresh.
    if all_fresh or (variant == "K-async" and K > 1 and X.ageing == "both"):
        source = CLOSED_FORM if order_statistics.has_closed_form(X) else QUADRATURE
        return order_statistics.mean(X, K, P), source
    if (variant == "K-async" and K > 1) or (variant == "K-batch-sync" and P > 1 and X.ageing != "both"):
        return None
    return K / _throughput(P, X), CLOSED_FORM


def _constant(X: DelayLaw | PerLearner) -> float | None:
    """The one time that every mini-batch of every learner takes, if there is one."""
    values = {_only_time(law) for law in (X.laws if isinstance(X, PerLearner) else (X,))}
    return values.pop() if len(values) == 1 else None


def _only_time(law: DelayLaw) -> float | None:
    match law:
        case Empirical():
            return float(law.times[0]) if law.times[0] == law.times[-1] else None
        case Scaled(base, factor):
            value = _only_time(base)
            return None if value is None else factor * value
    return None


def _throughput(P: int, X: DelayLaw | PerLearner) -> float:
    """Mini-batches per unit of time of P learners that never wait: ΣE[X_i]^-1."""
    if isinstance(X, PerLearner):
        return sum(1 / finite_mean(law) for law in X.laws)
    return P / finite_mean(X)


def batch_sync_runtimes(P: int, counts: list[int], X: DelayLaw | PerLearner) -> FloatArray:
    """E[T] of K-batch-sync for each K in the increasing list `counts`, by quadrature, or NoClosedForm."""
    _throughput(P, X)  # the mean must exist
    laws = X.laws if isinstance(X, PerLearner) else (X,) * P
    try:
        times = event_times(laws, counts)
        # The safety net under all quadrature; the times between the first and the last K must rise.
        for at in {0, len(counts) - 1}:
            lower, upper = runtime_bounds("K-batch-sync", P, counts[at], X)
            if not lower * (1 - OUTSIDE) <= times[at] <= upper * (1 + OUTSIDE):
                raise QuadratureError(f"{times[at]:g} would be outside the bounds")
        if (np.diff(times) < -OUTSIDE * times[1:]).any():
            raise QuadratureError("more mini-batches would take less time")
        return times
    except QuadratureError as reason:
        raise NoClosedForm(
            f"K-batch-sync with K = {counts[-1]} cannot be integrated for {X!r} ({reason}); "
            "simulate it or use theory.runtime_bounds."
        ) from None
