"""Facts about bars of shares."""

import re

import pytest

from sgdrace import VARIANTS, Exponential, simulate
from sgdrace.figures import describe_shares, shares
from tests.figures.pictures import drawn, log_of


def test_bars_are_parted_by_the_shares():
    svg = drawn(shares({"P = 2": {"used": 0.75, "idle": 0.25}}))
    lengths = [float(n) for n in re.findall(r'stroke-width="22" d="M[\d.]+ [\d.]+h([\d.]+)"', svg)]
    assert lengths[0] / sum(lengths) == pytest.approx(0.75, abs=0.01)
    assert ">75 %<" in svg and ">25 %<" in svg


def test_only_kinds_that_occur_are_in_the_key():
    svg = drawn(shares({"P = 2": {"used": 0.75, "idle": 0.25}}))
    assert ">used<" in svg and ">idle<" in svg and ">stale<" not in svg


def test_a_share_that_cannot_be_seen_is_not_in_the_key():
    svg = drawn(shares({"x": {"used": 0.9, "running": 0.0003, "idle": 0.0997}}))
    assert ">running<" not in svg


def test_where_work_is_stale_the_key_says_that_both_kinds_were_used():
    svg = drawn(shares({"x": {"used": 0.6, "stale": 0.4}}))
    assert ">used fresh<" in svg and ">used stale<" in svg


def test_a_part_too_narrow_for_words_has_none():
    svg = drawn(shares({"P = 2": {"used": 0.98, "idle": 0.02}}))
    assert ">98 %<" in svg and ">2 %<" not in svg
    assert describe_shares({"P = 2": {"used": 0.98, "idle": 0.02}}).endswith("P = 2, 98 % used, 2 % idle.")


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_utilization_of_a_race_is_that_of_its_log(variant):
    race = simulate(variant, 8, 4, Exponential(), 12, seed=0, common=True)
    log = dict(log_of(variant).shares())
    log["used"] += log.pop("stale")
    assert describe_shares({"x": race.utilization()}) == describe_shares({"x": log})


def test_bad_shares_are_refused():
    with pytest.raises(TypeError, match="cases must be a mapping from names to shares"):
        shares([])
    with pytest.raises(ValueError, match="'x' has 'wasted'"):
        shares({"x": {"wasted": 1.0}})
    with pytest.raises(ValueError, match="must be at least 0 and add up to 1"):
        shares({"x": {"used": 0.4}})
    with pytest.raises(ValueError, match="must be at least 0 and add up to 1"):
        shares({"x": {"used": 1.4, "idle": -0.4}})
    with pytest.raises(ValueError, match="too long to stand beside its bar"):
        shares({"a name that goes on and on": {"used": 1.0}})


def test_a_small_part_says_its_share_without_the_sign():
    svg = drawn(shares({"K-async": {"used": 0.07, "stale": 0.93}}))
    assert ">7<" in svg and ">93 %<" in svg
