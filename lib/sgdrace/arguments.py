"""What callers may pass: each check returns the clean value or raises one clear sentence.

Knows the shapes of numbers, counts and names; nothing of races or learning.
"""

import math
import operator
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
Seed = int | np.random.SeedSequence | np.random.Generator | None

VARIANTS = ("K-sync", "K-batch-sync", "K-async", "K-batch-async")


def count(name: str, value: Any, minimum: int = 1, maximum: int | None = None) -> int:
    """A whole number of things, such as learners or updates.

    >>> count("P", 8)
    8
    """
    allowed = f"at least {minimum}" if maximum is None else f"between {minimum} and {maximum}"
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a whole number {allowed}; got {value!r}.")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number {allowed}; got {shown(value)}.") from None
    if number < minimum or (maximum is not None and number > maximum):
        raise ValueError(f"{name} must be {allowed}; got {number}.")
    return number


def real(
    name: str, value: Any, above: float = -math.inf, below: float = math.inf, closed: bool = False
) -> float:
    """A finite number in the open interval (above, below), or with `closed` in [above, below].

    >>> real("eta", 0.1, above=0)
    0.1
    """
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise TypeError(f"{name} must be a number; got {shown(value)}.")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number; got {shown(value)}.") from None
    except OverflowError:
        number = math.inf
    inside = above <= number <= below if closed else above < number < below
    if not (math.isfinite(number) and inside):
        raise ValueError(f"{name} must be {_interval(above, below, closed)}; got {number:g}.")
    return number


def reals(name: str, values: ArrayLike, above: float = -math.inf, closed: bool = False) -> FloatArray:
    """A non-empty list of finite numbers, all above a limit (or, with `closed`, at least that limit)."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a list of numbers; got {shown(values)}.") from None
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a non-empty list of numbers; got shape {array.shape}.")
    inside = array >= above if closed else array > above
    wrong = ~(np.isfinite(array) & inside)
    if wrong.any():
        first = int(np.argmax(wrong))
        wanted = _interval(above, math.inf, closed)
        raise ValueError(f"every entry of {name} must be {wanted}; entry {first} is {array[first]:g}.")
    return array


def one_of(name: str, value: Any, options: Sequence[str]) -> str:
    """One of a few names; a near miss gets a suggestion.

    >>> one_of("variant", "K-async", VARIANTS)
    'K-async'
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {', '.join(options)}; got {shown(value)}.")
    if value in options:
        return value
    plain = {option.lower().replace("-", ""): option for option in options}
    near = get_close_matches(
        value.lower().replace("-", "").replace("_", "").replace(" ", ""), plain, n=1, cutoff=0.5
    )
    if near:
        raise ValueError(f"{name} {value!r} is unknown; did you mean {plain[near[0]]}?")
    raise ValueError(f"{name} must be one of {', '.join(options)}; got {value!r}.")


def variant_P_K(variant: Any, P: Any, K: Any) -> tuple[str, int, int]:
    """A variant with the number of learners P and of mini-batches per update K that it allows.

    >>> variant_P_K("K-batch-sync", 8, 20)
    ('K-batch-sync', 8, 20)
    """
    variant, P, K = one_of("variant", variant, VARIANTS), count("P", P), count("K", K)
    if K > P and "batch" not in variant:
        raise ValueError(
            f"{variant} waits for K different learners, so K must be between 1 and P = {P}; got {K}."
        )
    return variant, P, K


def seed_sequence(seed: Seed) -> np.random.SeedSequence:
    """The root of all random streams of one call."""
    if isinstance(seed, np.random.SeedSequence):
        # A fresh copy: spawning children from the caller's object would change what the same seed gives next.
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(seed.integers(0, 2**63, size=4).tolist())
    if seed is None:
        return np.random.SeedSequence()
    try:
        return np.random.SeedSequence(count("seed", seed, minimum=0))
    except TypeError:
        raise TypeError(
            f"seed must be a whole number, a SeedSequence, a Generator or None; got {shown(seed)}."
        ) from None


def generator(seed: Seed) -> np.random.Generator:
    """A generator for one stream; a Generator is used, and advanced, as it is."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed_sequence(seed))


def shown(value: Any) -> str:
    """A value as an error message quotes it: short, whatever it is."""
    text = repr(value)
    return text if len(text) <= 60 else f"{type(value).__name__} {text[:50]}…"


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _interval(above: float, below: float, closed: bool) -> str:
    if above == -math.inf and below == math.inf:
        return "a finite number"
    if below == math.inf:
        return f"a finite number {'of at least' if closed else 'above'} {above:g}"
    return f"between {above:g} and {below:g}" + ("" if closed else ", both excluded")
