"""How much memory one call may take.

Knows bytes; nothing of what they hold. Something far too large is refused before it starts, in one sentence,
and not by the operating system in the middle of it.
"""

LARGEST = 2**34  # bytes: 16 GiB


def must_fit(what: str, size: int, advice: str = "ask for less") -> None:
    """Refuse what would take more than LARGEST bytes.

    >>> must_fit("10 rows of 2 features", 160)
    """
    if size > LARGEST:
        gigabytes = f"{size // 2**30}" if size < 2**60 else "more than a billion"
        raise ValueError(
            f"{what} would take {gigabytes} GiB, over the limit of {LARGEST // 2**30} GiB; {advice}."
        )
