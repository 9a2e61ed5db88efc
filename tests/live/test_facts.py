"""What the page is told is what the package says."""

import json
import math

import pytest

from sgdrace import VARIANTS
from sgdrace.figures import colors
from sgdrace.live import LAWS, STORIES, facts
from sgdrace.live.facts import FIRST, LEARNING_RATES, MOST_LEARNERS


def values(slider):
    """Every place of a slider."""
    steps = round((slider.high - slider.low) / slider.step)
    assert math.isclose(slider.low + steps * slider.step, slider.high)
    return [slider.low + step * slider.step for step in range(steps + 1)]


@pytest.mark.parametrize("name", LAWS)
def test_a_mini_batch_takes_one_on_average_wherever_the_slider_is(name):
    law = LAWS[name]
    for value in values(law.parameter) if law.parameter else [0.0]:
        assert law.law(value).mean == pytest.approx(1, rel=1e-12)


def test_every_slider_begins_at_one_of_its_places():
    for law in LAWS.values():
        if law.parameter:
            assert any(math.isclose(law.parameter.first, value) for value in values(law.parameter))


@pytest.mark.parametrize("setting", [*map(vars, STORIES), FIRST], ids=lambda one: one.get("name", "first"))
def test_a_setting_can_be_reached_by_hand(setting):
    slider = LAWS[setting["law"]].parameter
    assert 2 <= setting["P"] <= MOST_LEARNERS and 1 <= setting["K"] <= setting["P"]
    assert LEARNING_RATES[0] <= setting["eta"] <= LEARNING_RATES[1]
    if slider is None:
        assert setting["parameter"] is None
    else:
        assert any(math.isclose(setting["parameter"], value) for value in values(slider))


def test_the_first_setting_is_the_first_story():
    assert all(getattr(STORIES[0], name) == FIRST[name] for name in ("P", "K", "law", "parameter", "eta"))


def test_looks_are_those_of_the_book():
    told = json.loads(json.dumps(facts(), allow_nan=False))
    assert [variant["name"] for variant in told["variants"]] == list(VARIANTS)
    for variant in told["variants"]:
        assert variant["color"] == colors.VARIANT[variant["name"]].color
    assert {fate: shade["color"] for fate, shade in told["work"].items()} == {
        fate: shade.color for fate, shade in colors.WORK.items()
    }
    looks = {law["name"]: law["color"] for law in told["laws"]}
    assert looks["lomax"] == colors.LAW["Lomax"].color != looks["pareto"] == colors.LAW["Pareto"].color
