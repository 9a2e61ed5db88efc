"""Which share of the learners' time goes into gradients that are used.

Knows laws of delays and runtimes; nothing of gradients. The rest is cancelled or spent waiting.
"""

from sgdrace import order_statistics
from sgdrace.delays import DelayLaw, as_single_law, finite_mean
from sgdrace.theory.runtime import runtime_bounds
from sgdrace.variants import variant_P_K


def used_share_bounds(variant: str, P: int, K: int, law: DelayLaw) -> tuple[float, float]:
    """A lower and an upper bound of the share in the long run; equal where it is known.

    Nobody is cancelled in K-async, so that an update uses K mini-batches of mean E[X] out of the time P E[T];
    nor waits in K-batch-async. K-sync uses the K shortest of P mini-batches. K-batch-sync uses all that the
    learner did who completes a round, and nothing of those who completed no mini-batch; with exponential
    times the share is 1 - (P - 1)/K (1 - (1 - 1/P)^K).

    >>> from sgdrace import Exponential, ShiftedExponential
    >>> used_share_bounds("K-batch-async", 8, 2, Exponential())
    (1.0, 1.0)
    >>> used_share_bounds("K-batch-sync", 8, 2, ShiftedExponential())
    (0.125, 0.25)
    """
    variant, P, K = variant_P_K(variant, P, K)
    X = as_single_law(law)
    mean = finite_mean(X)
    if variant == "K-sync":
        shortest = [order_statistics.mean(X, k, P) for k in range(1, K + 1)]
        share = sum(shortest) / (P * shortest[-1])
        return share, share
    if variant == "K-batch-sync" and X.ageing == "both":
        # What is cancelled has run for longer than a share u of the round if none of the K - 1 pushes before
        # the last, each at any time and anybody's, was its learner's in there: (1 - u/P)^(K-1).
        share = 1 - (P - 1) / K * (1 - (1 - 1 / P) ** K)
        return share, share
    if variant == "K-batch-sync" and X.ppf(0) < X.ppf(1):
        return 1 / P, min(1.0, K / P)
    fast, slow = runtime_bounds(variant, P, K, X)
    return K * mean / (P * slow), K * mean / (P * fast)
