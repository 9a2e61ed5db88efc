"""What callers may pass: each check returns the clean value or raises one clear sentence.

Knows the shapes of numbers, counts and names; nothing of races or learning.
"""

import math
import operator
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
Array = TypeVar("Array", bound=NDArray[Any] | None)
Seed = int | np.random.SeedSequence | np.random.Generator | None

LARGEST_COUNT = 2**53
SHORT = 3  # letters: what has no more resembles too much


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
        raise ValueError(f"{name} must be {allowed}; got {shown(number)}.")
    return number


def exact_count(name: str, value: Any, minimum: int = 1) -> int:
    """A count that enters formulas, where a larger one would be rounded or overflow.

    >>> exact_count("P", 8)
    8
    """
    number = count(name, value, minimum)
    if number > LARGEST_COUNT:
        raise ValueError(
            f"{name} must be at most 2^53, up to which floats hold every whole number; got {shown(number)}."
        )
    return number


def flag(name: str, value: Any) -> bool:
    """Whether something is wanted.

    >>> flag("gradients", True)
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {shown(value)}.")
    return bool(value)


def computed(name: str, formula: Callable[[], Any]) -> Any:
    """What a formula gives, a number or an array, unless it leaves the range of floats on the way.

    >>> computed("a product", lambda: 2.0 * 3.0)
    6.0
    >>> computed("a square", lambda: 1e200**2)
    Traceback (most recent call last):
    ValueError: a square is no finite number: some argument is too large or too small for floats.
    """
    try:
        with np.errstate(all="ignore"):
            value = formula()
    except (OverflowError, ZeroDivisionError):
        value = math.nan
    if not np.isfinite(value).all():
        raise ValueError(f"{name} is no finite number: some argument is too large or too small for floats.")
    return value


def real(
    name: str, value: Any, above: float = -math.inf, below: float = math.inf, closed: bool = False
) -> float:
    """A finite number in the open interval (above, below), or with `closed` in [above, below].

    >>> real("eta", 0.1, above=0)
    0.1
    """
    number: float = value
    if type(value) is not float:  # the usual case needs no array
        array = floats(name, value, "a number")
        if array.ndim:
            raise TypeError(f"{name} must be a number; got {shown(value)}.")
        number = float(array)
    inside = above <= number <= below if closed else above < number < below
    if not (math.isfinite(number) and inside):
        raise ValueError(f"{name} must be {_interval(above, below, closed)}; got {number:g}.")
    return number


def reals(
    name: str, values: ArrayLike, above: float = -math.inf, closed: bool = False, truth: bool = False
) -> FloatArray:
    """A non-empty list of finite numbers, all above a limit (or, with `closed`, at least that limit).

    With `truth`, an array of truth values passes as 0 and 1: labels of two classes come so.
    """
    array = floats(name, values, "a list of numbers", truth)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a non-empty list of numbers; got shape {array.shape}.")
    inside = array >= above if closed else array > above
    wrong = ~(np.isfinite(array) & inside)
    if wrong.any():
        first = int(np.argmax(wrong))
        wanted = _interval(above, math.inf, closed)
        raise ValueError(f"every entry of {name} must be {wanted}; entry {first} is {array[first]:g}.")
    return array


def floats(name: str, values: Any, wanted: str = "numbers", truth: bool = False) -> FloatArray:
    """Real numbers of any shape, NaN and infinities too; refuses what NumPy would read as something else.

    With `truth`, an array of truth values passes as 0 and 1. What is an array of floats is not copied.

    >>> floats("x", [[1, 2.5]])
    array([[1. , 2.5]])
    """
    if truth and isinstance(values, np.ndarray) and values.dtype.kind == "b":
        return values.astype(np.float64)
    try:
        return _float_array(values)
    except (TypeError, ValueError):
        text = shown(values)
        hint = "; leave out what is masked with .compressed()" if np.ma.is_masked(values) else ""
        if "timedelta" in str(getattr(values, "dtype", text)):
            hint = "; divide durations by one second first"
        raise TypeError(f"{name} must be {wanted}; got {text}{hint}.") from None


def points(name: str, values: Any) -> FloatArray:
    """Numbers of any shape, infinities too, at which a function is wanted.

    >>> points("x", [0.5, math.inf])
    array([0.5, inf])
    """
    array = floats(name, values)
    if np.isnan(array).any():
        raise ValueError(f"{name} must not be nan; got {shown(values)}.")
    return array


def shares(name: str, values: Any) -> FloatArray:
    """Shares or probabilities of any shape.

    >>> shares("q", 0.5)
    array(0.5)
    """
    array = floats(name, values)
    inside = (array >= 0) & (array <= 1)
    if not inside.all():
        raise ValueError(f"a share {name} must be between 0 and 1; got {array[~inside].flat[0]:g}.")
    return array


def one_of(name: str, value: Any, options: Sequence[str]) -> str:
    """One of a few names; a near miss gets a suggestion.

    >>> one_of("law", "Pareto", ["Exponential", "Pareto"])
    'Pareto'
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {', '.join(options)}; got {shown(value)}.")
    if value in options:
        return value
    plain, given = {_letters(option): option for option in options}, _letters(value)
    long = [option for option in plain if min(len(option), len(given)) > SHORT]
    near = [given] if given in plain else get_close_matches(given, long, n=1, cutoff=0.5)
    if near:
        raise ValueError(f"{name} {value!r} is unknown; did you mean {plain[near[0]]}?")
    raise ValueError(f"{name} must be one of {', '.join(options)}; got {value!r}.")


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


def shape_of_draws(rng: Any, size: Any) -> tuple[int, ...]:
    """The shape of what somebody wants to draw from a generator, both checked.

    >>> shape_of_draws(np.random.default_rng(0), 3)
    (3,)
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a NumPy Generator, such as np.random.default_rng(0); got {shown(rng)}.")
    axes = tuple(size) if isinstance(size, tuple | list) else (size,)
    for n in axes:
        if type(n) is not int or n < 0:  # a race asks for few times, often: the usual case must be quick
            return tuple(count("size", n, minimum=0) for n in axes)
    return axes


def store(frozen: Any, **checked: Any) -> None:
    """Keep checked values in a frozen dataclass, which may have been given a Decimal or a NumPy integer."""
    for name, value in checked.items():
        object.__setattr__(frozen, name, value)


def sealed(array: Array) -> Array:
    """An array that nobody else holds, closed for writing where it is: no copy."""
    if array is not None:
        array.flags.writeable = False
    return array


def shown(value: Any) -> str:
    """A value as an error message quotes it: short, whatever it is."""
    try:
        text = " ".join(repr(value).split())  # on one line, also if it is a table
    except Exception:  # of somebody's own class, or of an integer with thousands of digits
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{type(value).__name__} {text[:50]}…"


def described(value: Any) -> str:
    """The same, with the shape of an array.

    >>> described(np.ones(2))
    'an array of shape (2,), array([1., 1.])'
    """
    return (f"an array of shape {value.shape}, " if isinstance(value, np.ndarray) else "") + shown(value)


def _float_array(values: Any) -> FloatArray:
    if np.ma.is_masked(values):
        raise TypeError
    # What is no array yet is looked at value by value: NumPy would turn a True among numbers into 1.
    array = np.asarray(values, None if hasattr(values, "__array__") else object)
    if array.dtype.kind == "O":
        kinds = {type(value[()] if isinstance(value, np.ndarray) else value) for value in array.flat}
        if not all(map(_is_real, kinds)):
            raise TypeError
    elif array.dtype.kind not in "fiu":
        raise TypeError
    try:
        with np.errstate(over="ignore"):
            return array.astype(np.float64, copy=False)
    except OverflowError:  # some integer is beyond the range of floats
        return np.asarray(np.vectorize(_nearest_float, otypes=[np.float64])(array))


def _is_real(kind: type) -> bool:
    """Whether values of this type are real numbers; float() also reads truth values and NumPy's durations."""
    if issubclass(kind, np.generic):
        return issubclass(kind, np.integer | np.floating) and not issubclass(kind, np.timedelta64)
    return hasattr(kind, "__float__") and not issubclass(kind, bool | np.ndarray)


def _nearest_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _interval(above: float, below: float, closed: bool) -> str:
    if above == -math.inf and below == math.inf:
        return "a finite number"
    if below == math.inf:
        return f"a finite number {'of at least' if closed else 'above'} {above:g}"
    return f"between {above:g} and {below:g}" + ("" if closed else ", both excluded")
