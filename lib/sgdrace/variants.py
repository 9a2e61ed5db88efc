"""The four variants of distributed SGD, by name, and the P and K that each of them allows.

Knows who waits for whom in words only; `protocol` runs them.
"""

from typing import Any

from sgdrace._arguments import exact_count, one_of, shown

VARIANTS = ("K-sync", "K-batch-sync", "K-async", "K-batch-async")


def variant_P_K(variant: Any, P: Any, K: Any) -> tuple[str, int, int]:
    """A variant with the number of learners P and of mini-batches per update K that it allows.

    >>> variant_P_K("K-batch-sync", 8, 20)
    ('K-batch-sync', 8, 20)
    """
    variant, P, K = one_of("variant", variant, VARIANTS), exact_count("P", P), exact_count("K", K)
    if K > P and "batch" not in variant:
        raise ValueError(
            f"{variant} waits for K different learners, so K must be between 1 and P = {P}; got {K}."
        )
    return variant, P, K


def staleness_limit(variant: str, max_staleness: Any) -> int | None:
    """The largest staleness that a variant uses, if it has such a limit; older gradients are ignored.

    >>> staleness_limit("K-batch-async", 3)
    3
    """
    if max_staleness is None:
        return None
    if variant.endswith("-sync"):
        raise ValueError(
            f"{variant} cancels late work, so max_staleness is for K-async and K-batch-async alone; got "
            f"{shown(max_staleness)}."
        )
    return exact_count("max_staleness", max_staleness, minimum=0)
