"""What a refusal must be: one clear sentence, told from all others by the pattern that expects it."""

import re
import warnings

import pytest

ENOUGH = 4  # words: "eta" is in "theta", and "K must be" in twenty sentences


def words(pattern):
    """The words that a pattern spells out."""
    return re.findall(r"[\w'-]+", re.sub(r"\\[AbBdDsSwWZ]|\.[*+]", " ", pattern))


def kind(message):
    """A sentence without its numbers and without what was given: what two refusals for one reason share."""
    return re.sub(r"-?\d[\d.e+]*|\b(inf|nan)\b", "#", re.split(r"; (got|entry) ", message)[0])


def message_of(call, error):
    """The one sentence in which a call is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error) as refusal:
            call()
    message = str(refusal.value)
    assert message.endswith((".", "?")) and "\n" not in message, message
    return message


def refused(call, error, sentence):
    """A call is refused in one sentence, and in the one that is meant."""
    assert len(words(sentence)) >= ENOUGH, f"{sentence!r} would match other sentences too"
    message = message_of(call, error)
    assert re.search(sentence, message), message
