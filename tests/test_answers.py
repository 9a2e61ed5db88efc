"""What a student hears about an answer, and that a notebook tells no answer itself."""

import base64
import json
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdrace.answers import Answer, check_cases, check_number, close, plain, seal, verdict
from tests.sentences import refused

HINT = "That counts the learner itself."
SEALED = seal({"mean": Answer(7.0, mistakes={HINT: 8.0}), "time": Answer(21.3, within=0.5)}, b"some salt")


class Everything(float):
    """A number that says yes to whatever it is asked."""

    def __eq__(self, other):
        return True

    __hash__ = None
    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __sub__ = __rsub__ = __abs__ = __float__ = lambda self, *_: 7.0


class EveryList(list):
    def __eq__(self, other):
        return True

    __hash__ = None

    def __iter__(self):
        return iter([1, 2])

    def __len__(self):
        return 2


@pytest.mark.parametrize("value", [7, 7.0, 6.99, 7.01, 7.004, np.float32(7), np.int64(7), np.array(7.0)])
def test_the_right_number_is_correct_to_its_digits(value, capsys):
    check_number("mean", value, SEALED)
    assert re.fullmatch(r"mean: [\d.]+ is correct to 3 digits\.\n", capsys.readouterr().out)


@pytest.mark.parametrize("value", [6.98, 7.02, 70, -7, 0, 1e300, -1e-300, 5e-324])
def test_another_number_is_not_it_yet(value):
    assert verdict("mean", value, SEALED).endswith("is not it yet.")


@pytest.mark.parametrize("value", [8, 8.003, 7.99])
def test_a_typical_mistake_gets_its_hint(value):
    assert verdict("mean", value, SEALED) == f"mean: not yet. {HINT}"


@pytest.mark.parametrize("value", [None, ..., "7", True, [7.0], np.nan, np.inf, 7j, {}, object])
def test_what_is_no_number_is_not_one_yet(value):
    assert verdict("mean", value, SEALED).startswith("mean: not a number yet; it is ")


def test_within_a_distance_is_correct_and_half_as_far_again_is_not():
    for value in (20.8, 21.3, 21.8):
        assert verdict("time", value, SEALED).endswith("is correct within 0.5.")
    for value in (20.5, 22.1):
        assert verdict("time", value, SEALED).endswith("is not it yet.")


POSITIVE = st.floats(1e-6, 1e6)


@given(POSITIVE, st.floats(0, 0.5), st.sampled_from([-1, 1]), st.integers(1, 6))
@settings(deadline=None)
def test_whatever_rounds_like_the_answer_is_near_and_two_units_off_is_not(answer, share, sign, digits):
    unit = Fraction(10) ** (Decimal(repr(answer)).adjusted() - digits + 1)
    assert close(float(Fraction(answer) + sign * Fraction(share) * unit * Fraction(99, 100)), answer, digits)
    # One power of ten lower the units are a tenth, so it is enough to look upward.
    assert not close(float(Fraction(answer) + 16 * unit), answer, digits)


@given(st.floats(-1e6, 1e6), st.floats(-0.999, 0.999), st.floats(0.01, 10))
def test_within_means_within_for_every_answer(answer, share, within):
    assert close(answer + share * within, answer, within=within)
    assert not close(answer + 1.51 * within, answer, within=within)
    assert not close(answer - 1.51 * within, answer, within=within)


@pytest.mark.parametrize(
    ("value", "answer"), [(0.9996, 1.0), (1.0, 0.9996), (999.7, 1000), (1000, 999.7), (-0.992, -1.0)]
)
def test_rounding_up_to_the_next_power_of_ten_is_no_obstacle(value, answer):
    assert close(value, answer)


def test_0_is_near_no_answer_that_has_digits():
    assert not close(0, 1e-3) and not close(0.0, -1e-12) and close(0, 1e-3, within=0.01)


def test_close_and_the_check_agree():
    for value in np.linspace(6.95, 7.05, 41):
        assert close(value, 7.0) == ("correct" in verdict("mean", value, SEALED))


def test_lists_are_close_entry_by_entry():
    assert close((1, np.array([0.5, 2.0])), [1, [0.5, 2]])
    assert not close([1, 2, 3], [1, 2]) and not close(1, [1]) and not close([1, 2.2], [1, 2])
    assert not close(object(), 1) and not close([object()], [1]) and not close([1], 1)


def test_classes_that_say_yes_to_everything_are_seen_through():
    assert plain(Everything(0.5)) == 0.5 and type(plain(Everything(0.5))) is float
    assert not close(Everything(0.5), 7.0)
    assert plain(EveryList([5])) == [5] and plain((EveryList(), True)) == [[], True]
    assert not close(EveryList(), [1, 2])


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (np.arange(3), [0, 1, 2]),
        ({np.int64(1): np.float64(0.5)}, {1: 0.5}),
        (np.array([[True]]), [[True]]),
        ("word", "word"),
        (None, None),
        (type("Small", (int,), {"__int__": lambda self: 9})(3), 3),
    ],
)
def test_plain_values_are_pythons_own(value, result):
    assert repr(plain(value)) == repr(result)


def test_cases_say_what_came_and_raise_nothing(capsys):
    def unwritten(x):
        raise NotImplementedError

    def broken(x):
        return 1 / x

    check_cases(unwritten, ((1,), 1))
    check_cases(broken, ((0,), 1), ((2,), 0.5), ((4,), 1))
    check_cases(lambda x: {x}, ((1,), 1))
    assert capsys.readouterr().out.splitlines() == [
        "unwritten(1) is not written yet.",
        "broken(0) stops with ZeroDivisionError: division by zero",
        "broken(2) gives 0.5, as it should.",
        "broken(4) gives 0.25; it should give 1.",
        "<lambda>(1) stops with TypeError: a result must be made of numbers, lists and arrays; got {1}.",
    ]


@pytest.mark.parametrize(
    ("given", "result", "alike"),
    [
        (0.1 + 0.2, 0.3, True),
        (0.3001, 0.3, False),
        (2, 2.0, True),
        ([[0.1 + 0.2], None], [[0.3], None], True),
        ([0.3], [0.3, 0.3], False),
        (None, 0.3, False),
        ("0.3", 0.3, False),
        (10**6 + 1, 10**6, False),
        (3.0001, 3, False),
        (3.0, 3, True),
        ([0.3], 0.3, False),
        (1e-12, 0.0, True),
    ],
)
def test_cases_take_rounded_decimals_but_no_other_result(capsys, given, result, alike):
    check_cases(lambda: given, ((), result))
    assert capsys.readouterr().out.endswith(", as it should.\n") is alike


def test_a_seal_depends_on_salt_name_and_answer_and_tells_no_number():
    def mark(name, value, salt):
        return json.loads(base64.b64decode(seal({name: Answer(value)}, salt)))[name]["answer"]

    marks = [mark("a", 7.0, b"1"), mark("a", 7.0, b"2"), mark("b", 7.0, b"1"), mark("a", 8.0, b"1")]
    assert len(set(marks)) == 4 and mark("a", 7.0, b"1") == marks[0]
    inside = json.loads(base64.b64decode(SEALED))
    assert inside["mean"].keys() == {"answer", "digits", "hints", "salt", "within"}
    assert all(
        re.fullmatch("[0-9a-f]{24}", text) for text in [inside["mean"]["answer"], *inside["mean"]["hints"]]
    )


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: verdict("meen", 7, SEALED), ValueError, "name 'meen' is unknown; did you mean"),
        (lambda: verdict("mean", 7, "CHECKS"), ValueError, "sealed must be the text CHECKS"),
        (lambda: verdict("mean", 7, None), ValueError, "sealed must be the text CHECKS"),
        (lambda: Answer(0.0), ValueError, "an answer of 0 has no first digit"),
        (lambda: Answer(7.0, digits=0), ValueError, "digits must be between 1 and 12"),
        (lambda: Answer(7.0, within=0.0), ValueError, "within must be a finite number above 0"),
        (lambda: Answer(np.nan), ValueError, "value must be a finite number"),
        (lambda: Answer(7.0, mistakes={HINT: 7.01}), ValueError, "a mistake would be taken for the answer 7"),
        (lambda: plain({1, 2}), TypeError, "a result must be made of numbers"),
    ],
)
def test_wrong_calls_are_refused_in_a_sentence(call, error, sentence):
    refused(call, error, sentence)
