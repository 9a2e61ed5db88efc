"""Facts about axes: that they stay where they are put, have ticks enough, and name the unit of time."""

import itertools
import re
from functools import cache

import numpy as np
import pytest

from sgdrace import Exponential, Lomax, Uniform
from sgdrace.figures import (
    Curve,
    Runner,
    curves,
    densities,
    histogram,
    law_card,
    means,
    own_pace,
    pulls,
    race,
    rounds,
    staircases,
    stalenesses,
    timeline,
    to_svg,
)
from sgdrace.figures.canvas import Scale, limits
from sgdrace.figures.colors import INK, law_stroke
from sgdrace.jobs import Jobs
from tests.figures.pictures import (
    drawn,
    fixed_axes,
    numbers_are_finite,
    race_of,
    words_of,
)

NUMBER = re.compile(r"−?[\d,]+(\.\d+)?|−?[\d,.]*·?10−?\d+")
JOBS = Jobs.of_rounds([[1.0, 2.0], [2.0, 2.0]])


def axes_of(words):
    """The ticks of each axis of one figure: numbers on one line, and numbers one below the other."""
    ticks = [(text, box) for text, _, box in words if NUMBER.fullmatch(text)]
    lines, columns = {}, {}
    for text, (x0, y0, x1, _) in ticks:
        lines.setdefault(round(y0, 1), []).append((text, round((x0 + x1) / 2)))
        columns.setdefault(round(x1), []).append((text, round(y0)))
    across = [ticks for ticks in lines.values() if len(ticks) > 1]
    up = [ticks for x, ticks in columns.items() if len(ticks) > 1 and x != 19]  # 19: learners are numbered
    return across, up


def axes(picture):
    return [axes_of(words) for words, _, _ in words_of(drawn(picture))]


@pytest.mark.parametrize("count", range(1, 7))
def test_a_scale_has_three_ticks_however_few_were_wanted(count):
    for low, span in itertools.product([0.0, -3.0, 7.3, 0.9], [1e-3, 0.7, 1.0, 3.9, 8.0, 12345.0]):
        assert 3 <= len(Scale(low, low + span, 0, 1).ticks(count)) <= count + 5


@pytest.mark.parametrize("ratio", [1.01, 1.5, 2.9, 6.0, 20.0, 49.0, 99.0, 700.0, 1e5, 1e30])
def test_a_log_scale_has_three_ticks_however_short(ratio):
    for low in (0.011, 0.05, 1.0, 1.2, 30.0):
        assert 3 <= len(Scale(low, low * ratio, 0, 1, log=True).ticks()) <= 9


def test_counts_have_no_ticks_between_whole_numbers():
    assert Scale(-0.5, 1.5, 0, 1, whole=True).ticks().tolist() == [0, 1]
    assert Scale(0, 4.2, 0, 1, whole=True).ticks().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("P", [8, 32])
@pytest.mark.parametrize("law", [Exponential(), Lomax(2.5, 1.5), Uniform(0, 2)], ids=repr)
def test_the_density_of_one_learner_does_not_move_with_k(law, P):
    """Its line is the same in all frames, so both axes are."""
    color = law_stroke(law).color.lower()
    own = "" if color == INK else f' stroke="{color}"'
    lines = set()
    for K in (1, P // 2, P):
        svg = drawn(densities(law, P, K))
        lines.add(re.search(rf'<path{own} stroke-width="1.8"[^>]* d="([^"]*)"', svg)[1])
    assert len(lines) == 1


@cache
def given(y):
    """Pictures of different data on the same axes; the larger y, the higher they reach."""
    law, loss = Exponential(rate=1 / y), [3.0 * y, 0.5 * y, 0.2 * y]
    line = [Curve("a", [0, 1, 2 * y], [1, y, 2 * y])]
    times = np.arange(1, 41) * y / 4
    return {
        "curves": curves(line, "x", "y", xlim=(0, 6), ylim=(0, 4)),
        "log curves": curves(line, "x", "y", log_y=True, ylim=(0.1, 40), xlim=(0, 6)),
        "densities": densities(law, 8, 4, xlim=(0, 5), ylim=(0, 1)),
        "means": means(law, 8, 4, ylim=(0, 3)),
        "card": law_card(law, xlim=(0, 5), ylim=(0, 1), hazard_ylim=(0, 2)),
        "histogram": histogram(times, xlim=(0, 6), ylim=(0, 0.5)),
        "staircases": staircases([times], y, 2.0, ylim=(0, 9)),
        "stalenesses": stalenesses([0, int(y), 2], until=6, ylim=(0, 1)),
        "race": race([Runner(JOBS, [0, 2, 4], loss)], 3.0, ylim=(0.1, 10)),
    }


@pytest.mark.parametrize("kind", given(1.0))
def test_axes_that_are_given_do_not_depend_on_the_data(kind):
    found = [axes(given(y)[kind]) for y in (1.0, 1.7, 3.0)]
    assert found[0] == found[1] == found[2]
    assert all(across for across, _ in found[0])


def test_what_leaves_given_axes_is_cut_off():
    svg = to_svg(fixed_axes())
    assert numbers_are_finite(svg)
    figures = re.findall(r'<svg[^>]*viewBox="0 0 (\S+) (\S+)"[^>]*>(.*?)</svg>', svg)
    assert len(figures) == 11
    for width, height, body in figures:
        for data in re.findall(r' d="M([^"]*)"', body):
            x, y = map(float, re.match(r"(-?[\d.]+)[ ]?(-?[\d.]+)", data.replace("-", " -").strip()).groups())
            assert 0 <= x <= float(width) and 0 <= y <= float(height)


def test_a_curve_that_leaves_the_axis_says_so_and_has_no_dot():
    many = [Curve("up", [0, 1], [1, 9]), Curve("down", [0, 1], [2, 0.5]), Curve("in", [0, 1], [2, 3])]
    picture = curves(many, "x", "y", ylim=(1, 4))
    assert picture.text == (
        "Y against x from 0 to 1: up from 1 to 9, above the end of the axis; "
        "down from 2 to 0.5, below the end of the axis; in from 2 to 3."
    )
    svg = drawn(picture)
    assert ">up ↑<" in svg and ">down ↓<" in svg and ">in<" in svg
    assert svg.count("h0") == 1


def test_points_beyond_the_axis_are_neither_drawn_nor_told():
    picture = curves([Curve("a", [0, 1, 2], [5, 6, 70])], "x", "y", xlim=(0, 1.5))
    assert picture.text == "Y against x from 0 to 1: a from 5 to 6."
    assert ">60<" not in drawn(picture)
    with pytest.raises(
        ValueError, match=r"xlim must hold a point of each curve; 'a' has none in \(3.0, 4.0\)\."
    ):
        curves([Curve("a", [0, 1, 2], [5, 6, 70])], "x", "y", xlim=(3, 4))


def test_times_on_both_sides_of_given_axes_are_counted():
    svg = drawn(histogram([1.0, 2.0, 2.0, 2.5, 9.0], xlim=(1.5, 3), ylim=(0, 0.1)))
    assert "1 of them lie before the axis, down to 1" in svg
    assert "1 of them lie beyond the axis, up to 9" in svg
    assert "the highest bars are cut off at the top" in svg


@pytest.mark.parametrize(
    ("value", "log", "error", "words"),
    [
        (3, False, TypeError, r"xlim must be two numbers, \(low, high\); got 3\."),
        ((1, 2, 3), False, TypeError, r"xlim must be two numbers, \(low, high\); got \(1, 2, 3\)\."),
        ((2, 1), False, ValueError, r"two finite numbers, the lower first; got \(2, 1\)\."),
        ((0, np.inf), False, ValueError, r"two finite numbers, the lower first; got \(0, inf\)\."),
        ((0, 1), True, ValueError, r"the lower first, above 0 on a log scale; got \(0, 1\)\."),
    ],
)
def test_ends_of_axes_are_two_numbers_in_order(value, log, error, words):
    with pytest.raises(error, match=words):
        limits("xlim", value, log)


def test_an_axis_of_times_does_not_begin_below_zero():
    with pytest.raises(
        ValueError, match=r"xlim must not begin below 0, since no time does; got \(-1.0, 2.0\)\."
    ):
        densities(Exponential(), 8, 4, xlim=(-1, 2))


@cache
def timed(unit):
    """Every picture that has an axis of time, and what the axis and the words say."""
    law, async_race = Exponential(), race_of("K-async", 3, 1, 8)
    rows = "time, {} (one row per learner)"
    return {
        "timeline": (timeline(async_race, 2.0, unit=unit), rows, "until time 2 {}: "),
        "own pace": (own_pace([[1.0, 3.0]], unit=unit), rows, "at its own pace until time 1 {}: "),
        "rounds": (rounds([[1.0, 3.0]], unit=unit), rows, "a mini-batch takes 2 {} and a round 3 {} on"),
        "race": (race([Runner(JOBS, [0, 2], [1.0, 0.5])], 2.0, unit=unit), rows, "At time 2 {}: "),
        "losses": (race([Runner(JOBS, [0, 2], [1.0, 0.5])], 2.0, unit=unit), "time, {}", "At time 2 {}: "),
        "pulls": (pulls(async_race, unit=unit), rows, " {}. Update 0"),
        "staircases": (staircases([[1.0, 2.0]], 1.0, 2.0, unit=unit), "time t, {}", "By time 2 {} each"),
        "densities": (
            densities(law, 8, 6, unit=unit),
            "time of a mini-batch, and of the K-th fastest, {}",
            "times as long. Half of the time it takes between 0.837 and 1.51 {}.",
        ),
        "means": (means(law, 8, 6, unit=unit), "mean time until the K-th, E[XK:P], {}", "takes 1 {}."),
        "card": (
            law_card(law, unit=unit),
            "time x of one mini-batch, {}",
            "than 4.61 {}. Hazard 1 per {} at",
        ),
        "hazard": (law_card(law, unit=unit), "hazard, 1/{}", "standard deviation 1 {};"),
        "age": (law_card(law, unit=unit), "age x of a running mini-batch, {}", "takes 1 {} on average"),
    }


@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("kind", timed("s"))
def test_axes_and_words_tell_the_unit_of_time(kind, unit):
    picture, axis, words = timed(unit)[kind]
    names = [text for words, _, _ in words_of(drawn(picture)) for text, _, _ in words]
    assert axis.format(unit) in names
    assert words.replace("{}", unit) in picture.text


@pytest.mark.parametrize("unit", ["", " ", None, 3])
def test_a_unit_is_a_word(unit):
    with pytest.raises(ValueError, match="unit must say in which unit times are, such as 's' or 'ms'; got"):
        timeline(race_of("K-async"), unit=unit)
