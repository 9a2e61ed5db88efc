"""Facts about glimpses: small timelines that build up a story."""

import re

import pytest

from sgdrace.figures import glimpse
from sgdrace.jobs import Jobs
from tests.figures.pictures import drawn, race_of, words_of

ROUNDS = Jobs.of_rounds([[1.0, 2.0], [2.0, 1.0]])
UPDATES = r'stroke-width="2" d="([^"]*)"'


def test_a_glimpse_has_no_words_but_its_names():
    two = [race_of("K-sync", 3, 2), race_of("K-async", 3, 2)]
    assert words_of(drawn(glimpse(two, 1.0)))[0][0] == []
    ((words, _, _),) = words_of(drawn(glimpse(two, 1.0, names=["sync", "async"])))
    assert [text for text, _, _ in words] == ["sync", "async"]


def test_frames_of_a_story_share_their_scale():
    """An update stays where it was when more of the race is shown."""
    early, late = (re.search(UPDATES, drawn(glimpse(ROUNDS, until=4, now=now)))[1] for now in (2, 4))
    assert early and late.startswith(early)
    assert late.count("v") == 2


def test_before_the_first_update_there_is_no_upright_line():
    assert not re.search(UPDATES, drawn(glimpse(ROUNDS, until=4, now=1.5)))
    assert "0 updates" in glimpse(ROUNDS, until=4, now=1.5).text


def test_two_races_lie_below_each_other():
    tops = [float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)", drawn(glimpse([ROUNDS, ROUNDS], until=4)))]
    assert min(tops) < 46 < max(tops) < 92


def test_names_and_the_moment_must_fit_the_race():
    with pytest.raises(ValueError, match="names must be one for each of 2 races; got"):
        glimpse([ROUNDS, ROUNDS], until=4, names=["one"])
    with pytest.raises(ValueError, match="now must be a finite number above 0; got 0"):
        glimpse(ROUNDS, until=4, now=0)
    with pytest.raises(ValueError, match="until must be at most 4, where the race ends; got 5"):
        glimpse(ROUNDS, until=5)
