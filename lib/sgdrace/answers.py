"""What the notebook of an assignment asks about a student's answer: right, not yet, or a typical mistake.

Knows no answer: a notebook carries its answers sealed, as salted slow hashes of rounded numbers. Who tries
every number of three digits will open a seal; it only keeps the answer from being read.
"""

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from hashlib import pbkdf2_hmac
from typing import Any

import numpy as np

from sgdrace._arguments import count, one_of, real, shown

# A hundredth of a second: nothing for one answer, and long for all that there could be.
ITERATIONS = 20_000
MOST_DIGITS = 12


@dataclass(frozen=True)
class Answer:
    """The right number, how exactly it is wanted, and the numbers that typical mistakes give, by their hints.

    It is wanted to a number of significant `digits`, or `within` a distance. A mistake that would be taken
    for the answer is refused.

    >>> Answer(7.0, mistakes={"That counts the learner itself.": 8.0})
    Answer(value=7.0, digits=3, within=None, mistakes={'That counts the learner itself.': 8.0})
    """

    value: float
    digits: int = 3
    within: float | None = None
    mistakes: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        real("value", self.value)
        count("digits", self.digits, 1, MOST_DIGITS)
        if self.within is not None:
            real("within", self.within, above=0)
        elif self.value == 0:
            raise ValueError("an answer of 0 has no first digit; say within which distance it is right.")
        for hint, mistake in self.mistakes.items():
            if self.is_near(mistake):
                raise ValueError(
                    f"a mistake would be taken for the answer {self.value:g}; got {mistake:g} for {hint!r}."
                )

    def is_near(self, value: Any) -> bool:
        """Whether a number is the answer, up to one unit of its last digit or about the distance `within`."""
        try:
            number = real("value", value)
        except (TypeError, ValueError):
            return False
        return _rounded(self.value, self.digits, self.within) in _near(number, self.digits, self.within)


def close(value: Any, answer: Any, digits: int = 3, within: float | None = None) -> bool:
    """Whether a number is the answer: what `check_number` calls correct, and nothing else.

    Where the answer is a list, whether the value has as many entries, each close to its own.

    >>> close(2.667, 8 / 3), close(2.7, 8 / 3), close("many", 8 / 3), close(21.4, 21, within=0.5)
    (True, False, False, True)
    >>> close(np.array([1.0, 0.333]), [1, 1 / 3]), close([1.0], [1, 1 / 3])
    (True, False)
    """
    try:
        value = plain(value)
    except TypeError:
        return False
    if not isinstance(answer, list):
        return Answer(answer, digits, within).is_near(value)
    if not isinstance(value, list) or len(value) != len(answer):
        return False
    return all(close(one, own, digits, within) for one, own in zip(value, answer, strict=True))


def plain(value: Any) -> Any:
    """The numbers in a result, as Python's own: what a test compares, whatever classes a student has made.

    Lists, tuples and arrays become lists; int and float keep their kind; dictionaries keep their keys.

    >>> plain((np.int64(2), np.array([0.5, 1.0])))
    [2, [0.5, 1.0]]
    """
    # The methods of the built-in types themselves: those of a class made from them may say anything.
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray):
        return plain(np.ndarray.tolist(value))
    if isinstance(value, np.generic):
        return plain(np.generic.item(value))
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, list):
        return [plain(one) for one in list.__iter__(value)]
    if isinstance(value, tuple):
        return [plain(one) for one in tuple.__iter__(value)]
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in dict.items(value)}
    raise TypeError(f"a result must be made of numbers, lists and arrays; got {shown(value)}.")


def check_number(name: str, value: Any, sealed: str) -> None:
    """Say whether a number is right, in one line; `sealed` is the text that the notebook carries.

    >>> sealed = seal({"mean": Answer(7.0, mistakes={"That counts the learner itself.": 8.0})}, b"salt")
    >>> for value in (7.001, 8, 3.5, None):
    ...     check_number("mean", value, sealed)
    mean: 7.001 is correct to 3 digits.
    mean: not yet. That counts the learner itself.
    mean: 3.5 is not it yet.
    mean: not a number yet; it is None.
    """
    print(verdict(name, value, sealed))


def verdict(name: str, value: Any, sealed: str) -> str:
    """The line that `check_number` prints.

    >>> verdict("mean", 7, seal({"mean": Answer(7.0, within=0.1)}, b"salt"))
    'mean: 7 is correct within 0.1.'
    """
    seals = _opened(sealed)
    own = seals[one_of("name", name, list(seals))]
    try:
        number = real(name, value)
    except (TypeError, ValueError):
        return f"{name}: not a number yet; it is {'...' if value is ... else shown(value)}."
    digits, within = own["digits"], own["within"]
    marks = [_mark(name, text, own["salt"]) for text in _near(number, digits, within)]
    if own["answer"] in marks:
        exactly = f"to {digits} digits" if within is None else f"within {within:g}"
        return f"{name}: {number:g} is correct {exactly}."
    for mark in marks:
        if mark in own["hints"]:
            return f"{name}: not yet. {own['hints'][mark]}"
    return f"{name}: {number:g} is not it yet."


def check_cases(function: Callable[..., Any], *cases: tuple[tuple[Any, ...], Any]) -> None:
    """Call a student's function on cases worked out in the text, each (arguments, result), and say what came.

    Where the result is a float, four digits are enough: another order of adding up is no error.

    >>> check_cases(max, ((1, 2), 2), ((3, 4), 3))
    max(1, 2) gives 2, as it should.
    max(3, 4) gives 4; it should give 3.
    """
    for arguments, result in cases:
        call = f"{getattr(function, '__name__', 'function')}({', '.join(map(shown, arguments))})"
        try:
            given = plain(function(*arguments))
        except NotImplementedError:
            print(f"{call} is not written yet.")
        except Exception as error:  # whatever a student's code does, the check only tells
            print(f"{call} stops with {type(error).__name__}: {error}")
        else:
            end = ", as it should." if _alike(given, plain(result)) else f"; it should give {shown(result)}."
            print(f"{call} gives {shown(given)}{end}")


def _alike(given: Any, result: Any) -> bool:
    if isinstance(given, list) and isinstance(result, list):
        return len(given) == len(result) and all(map(_alike, given, result))
    if type(result) is float and type(given) in (int, float):
        return math.isclose(given, result, rel_tol=1e-4, abs_tol=1e-9)
    return bool(given == result)


def seal(answers: Mapping[str, Answer], salt: bytes) -> str:
    """All answers of a notebook as one text that tells none of them; the same salt gives the same text.

    >>> seal({"mean": Answer(7.0)}, b"salt")[:8]
    'eyJtZWFu'
    """
    seals = {name: _sealed(name, answer, salt.hex()) for name, answer in answers.items()}
    return b64encode(json.dumps(seals, sort_keys=True).encode()).decode()


def _sealed(name: str, answer: Answer, salt: str) -> dict[str, Any]:
    def mark(value: float) -> str:
        return _mark(name, _rounded(value, answer.digits, answer.within), salt)

    return {
        "digits": answer.digits,
        "within": answer.within,
        "salt": salt,
        "answer": mark(answer.value),
        # In the order of their marks, which says nothing about the numbers.
        "hints": dict(sorted((mark(value), hint) for hint, value in answer.mistakes.items())),
    }


def _opened(sealed: str) -> dict[str, Any]:
    try:
        seals: dict[str, Any] = json.loads(b64decode(sealed, validate=True))
    except (TypeError, ValueError):
        raise ValueError(
            f"sealed must be the text CHECKS of the notebook, unchanged; got {shown(sealed)}."
        ) from None
    return seals


def _mark(name: str, text: str, salt: str) -> str:
    # The name is part of it: two checks with the same answer do not look alike.
    return pbkdf2_hmac("sha256", f"{name} = {text}".encode(), bytes.fromhex(salt), ITERATIONS, 12).hex()


def _units(value: float, digits: int, within: float | None) -> tuple[Decimal, Callable[[Decimal], str]]:
    """A number in units of its last digit, or in halves of `within`, and how to write so many units."""
    number = Decimal(repr(float(value)))
    if within is not None:
        return 2 * number / Decimal(repr(float(within))), lambda units: str(int(units))
    last = number.adjusted() - digits + 1  # 0.0123 to 2 digits: 12 units of 10^-3
    return number.scaleb(-last), lambda units: str(units.scaleb(last).normalize())


def _rounded(value: float, digits: int, within: float | None) -> str:
    units, written = _units(value, digits, within)
    return written(units.to_integral_value(ROUND_HALF_EVEN))


def _near(value: float, digits: int, within: float | None) -> list[str]:
    """The rounded answers for which this number is right.

    To some digits: at most one unit away, so that who rounds and who cuts off are both right. Within a
    distance: at most 2.5 halves of it, since the answer itself was rounded by up to half of such a unit; so
    what is that close to the answer always passes, and what is 1.5 times as far never.
    """
    if value == 0 and within is None:
        return []
    units, written = _units(value, digits, within)
    reach = Decimal(1) if within is None else Decimal("2.5")
    first = (units - reach).to_integral_value(ROUND_CEILING)
    last = (units + reach).to_integral_value(ROUND_FLOOR)
    near = [written(first + k) for k in range(int(last - first) + 1)]
    # The units of 1.00 are ten times those of 0.996, which is right if the answer is 1.00.
    power = Decimal(10**digits).copy_sign(units)
    if within is None and abs(power - units) <= 10 and written(power) not in near:
        near.append(written(power))
    return near
