"""The four variants of distributed SGD, by name, and the P and K that each of them allows.

Knows who waits for whom in words only; `protocol` runs them.
"""

from typing import Any

from sgdrace._arguments import exact_count, one_of

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
