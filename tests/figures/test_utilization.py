"""Facts about bars of shares."""

import re

import pytest

from sgdrace import VARIANTS
from sgdrace.figures import shares
from tests.figures.pictures import drawn, race_of


def test_bars_are_parted_by_the_shares():
    svg = drawn(shares({"P = 2": {"used fresh": 0.75, "idle": 0.25}}))
    lengths = [float(n) for n in re.findall(r'stroke-width="22" d="M[\d.]+ [\d.]+h([\d.]+)"', svg)]
    assert lengths[0] / sum(lengths) == pytest.approx(0.75, abs=0.01)
    assert ">75 %<" in svg and ">25 %<" in svg


def test_only_kinds_that_occur_are_in_the_key():
    svg = drawn(shares({"P = 2": {"used fresh": 0.75, "idle": 0.25}}))
    assert ">used fresh<" in svg and ">idle<" in svg and ">used stale<" not in svg


def test_a_share_that_cannot_be_seen_is_not_in_the_key():
    svg = drawn(shares({"x": {"used fresh": 0.9, "running": 0.0003, "idle": 0.0997}}))
    assert ">running<" not in svg


def test_a_part_too_narrow_for_words_has_none():
    svg = drawn(shares({"P = 2": {"used fresh": 0.98, "idle": 0.02}}))
    assert ">98 %<" in svg and ">2 %<" not in svg
    text = shares({"P = 2": {"used fresh": 0.98, "idle": 0.02}}).text
    assert text.endswith("P = 2, 98 % used fresh, 2 % idle.")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_race_its_utilization_and_its_jobs_have_the_same_shares(variant):
    race = race_of(variant)
    made = [shares({"x": it}) for it in (race, race.utilization(), race.jobs(), race.jobs().shares())]
    assert len({picture.text for picture in made}) == len({drawn(picture) for picture in made}) == 1


def test_bad_shares_are_refused():
    with pytest.raises(TypeError, match="cases must be a mapping from names to shares"):
        shares([])
    with pytest.raises(ValueError, match=r"the fates of time are .*; 'x' has 'wasted'"):
        shares({"x": {"wasted": 1.0}})
    with pytest.raises(ValueError, match="must be at least 0 and add up to 1"):
        shares({"x": {"used fresh": 0.4}})
    with pytest.raises(ValueError, match="must be at least 0 and add up to 1"):
        shares({"x": {"used fresh": 1.4, "idle": -0.4}})
    with pytest.raises(ValueError, match="too long to stand beside its bar"):
        shares({"a name that goes on and on": {"used fresh": 1.0}})


def test_a_small_part_says_its_share_without_the_sign():
    svg = drawn(shares({"K-async": {"used fresh": 0.07, "used stale": 0.93}}))
    assert ">7<" in svg and ">93 %<" in svg
