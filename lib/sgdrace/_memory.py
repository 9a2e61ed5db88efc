"""How much memory one call may take, and what is kept of it for the next one.

Knows bytes; nothing of what they hold. Something far too large is refused before it starts, in one sentence,
and not by the operating system in the middle of it.
"""

import numpy as np

LARGEST = 2**34  # bytes: 16 GiB
REUSED = 2**24  # bytes: 16 MiB, and twice as much in all


def must_fit(what: str, size: int, advice: str = "ask for less") -> None:
    """Refuse what would take more than LARGEST bytes.

    >>> must_fit("10 rows of 2 features", 160)
    """
    if size > LARGEST:
        gigabytes = f"{size // 2**30}" if size < 2**60 else "more than a billion"
        raise ValueError(
            f"{what} would take {gigabytes} GiB, over the limit of {LARGEST // 2**30} GiB; {advice}."
        )


def keep_for_reuse() -> None:
    """Have what is freed serve the next array, and not go back to the operating system.

    An array of fresh pages costs more than the arithmetic on it. The C library of Linux gives pages back as
    soon as more are free than twice the largest array that was freed before; so one is, which nobody ever
    wrote to and which therefore cost nothing. Other C libraries take no notice.
    """
    np.empty(REUSED, np.uint8)
