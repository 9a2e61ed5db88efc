"""Facts about scales, ticks and how numbers are written."""

import math

import numpy as np
import pytest

from sgdrace import VARIANTS
from sgdrace.figures import VARIANT, WORK
from sgdrace.figures.canvas import WIDTH, Paper, Plot, Scale, number, tick_words
from sgdrace.jobs import FATES
from tests.figures.pictures import drawn, words_of


def test_every_variant_has_a_color_and_only_the_asynchronous_ones_are_dashed():
    assert tuple(VARIANT) == VARIANTS
    assert len({stroke.color for stroke in VARIANT.values()}) == 4
    assert [stroke.dash is None for stroke in VARIANT.values()] == [True, True, False, False]


def test_every_kind_of_work_has_its_look_and_what_helped_more_is_thicker():
    assert tuple(WORK) == FATES
    used, stale, cancelled, ignored = (WORK[kind].share for kind in FATES[:4])
    assert used > stale > cancelled == ignored
    assert WORK["cancelled"].dash is None and WORK["ignored"].dash, "told apart without colors too"


@pytest.mark.parametrize("low", [0.0, -3.0, 7.3])
@pytest.mark.parametrize("span", [1e-3, 0.7, 1.0, 8.0, 12345.0])
def test_ticks_are_few_round_and_within_the_scale(low, span):
    ticks = Scale(low, low + span, 0, 1).ticks()
    assert 2 <= len(ticks) <= 7
    assert ticks[0] >= low - 1e-9 * span and ticks[-1] <= low + span * (1 + 1e-9)
    steps = np.diff(ticks)
    assert np.allclose(steps, steps[0])
    assert float(f"{steps[0]:.1g}") == pytest.approx(steps[0])


def test_no_tick_is_off_a_log_scale_however_long():
    assert Scale(8.0, 1e15, 0, 1, log=True).ticks()[0] == 1000


@pytest.mark.parametrize("span", [1.2, 3.0, 30.0, 1e3, 1e9, 1e30])
def test_a_log_scale_has_at_least_two_ticks_and_not_too_many(span):
    ticks = Scale(0.05, 0.05 * span, 0, 1, log=True).ticks()
    assert 2 <= len(ticks) <= 8


def test_values_of_a_log_scale_are_placed_by_their_logarithm():
    scale = Scale(0.01, 100.0, 0.0, 4.0, log=True)
    assert scale([0.01, 1.0, 10.0]) == pytest.approx([0.0, 2.0, 3.0])
    assert scale([0.0])[0] == -math.inf


@pytest.mark.parametrize(
    ("ticks", "words"),
    [
        ([0.0, 0.5, 1.0], ["0", "0.5", "1"]),
        ([0.0, 2000.0], ["0", "2,000"]),
        ([1e-4, 1.0, 10.0], ["$10^{-4}$", "1", "10"]),
        ([0.0, 2e5], ["0", "2·$10^{5}$"]),
    ],
)
def test_ticks_are_written_as_decimals_or_if_too_long_as_powers(ticks, words):
    assert tick_words(ticks) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0"), (999.6, "1,000"), (0.00999, "0.00999"), (-1.5, "-1.5"), (math.nan, "unknown"), (40.0, "40")],
)
def test_numbers_are_said_in_three_digits(value, words):
    assert number(value) == words


def test_ticks_that_would_touch_are_left_out():
    plot = Plot(Paper(80), Scale(0.5, 40.5, 8, WIDTH - 8), Scale(0, 1, 40, 10))
    plot.x_axis("K", list(range(1, 41)), [f"K = {k}" for k in range(1, 41)])
    ((words, _, _),) = words_of(drawn(plot.paper.figure))
    assert 3 <= len(words) < 12


def test_an_empty_set_of_boxes_or_segments_draws_nothing():
    paper = Paper(10)
    paper.boxes([])
    paper.segments([], [], [], [])
    assert "<path" not in drawn(paper.figure)


def test_a_mean_off_the_scale_is_not_marked():
    plot = Plot(Paper(80), Scale(0, 1, 8, WIDTH - 8), Scale(0, 1, 40, 10))
    plot.mean_line(2.0, 1.0)
    plot.mean_line(math.inf, 1.0)
    assert "<path" not in drawn(plot.paper.figure)
