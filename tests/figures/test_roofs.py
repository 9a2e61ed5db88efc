"""Facts about the picture of a roofline."""

import numpy as np
import pytest
from matplotlib.lines import Line2D

from sgdrace.figures import roofline
from sgdrace.figures.roofs import LOOKS
from sgdrace.gpu.roofline import CARDS, Update, fused, plain
from tests.figures.pictures import drawn, roofline_of
from tests.sentences import refused

A100, USUAL = CARDS["A100 40 GB"], Update(gradients=10_000)


def points(picture):
    """Where the dots lie, by their way, and the corners of the roof."""
    lines = picture.figures[0].findobj(Line2D)
    dots = {
        name: line.get_xydata()[0]
        for name, color in LOOKS.items()
        for line in lines
        if line.get_color() == color
    }
    (roof,) = (line.get_xydata() for line in lines if line.get_linewidth() == 1.8)
    return dots, roof


def height(roof, x):
    return np.interp(x, roof[:, 0], roof[:, 1])


def test_what_memory_binds_lies_on_the_slope_and_the_rest_below_the_roof():
    for card in CARDS:
        for dtype in ("float32", "float64"):
            for rows in (10_000, 1_000_000):
                ways = [way(Update(10_000, rows, dtype=dtype), CARDS[card]) for way in (fused, plain)]
                dots, roof = points(roofline(ways))
                for way in ways:
                    x, y = dots[way.way]
                    gap = y - height(roof, x)  # y points down
                    assert gap > -0.05
                    assert (abs(gap) < 0.05) == (way.binds == "memory"), (card, dtype, rows, way)


def test_the_words_are_those_of_the_times_and_say_that_nothing_was_measured():
    picture = roofline_of("A100 40 GB", "float32", 10_000)
    assert "fused ≥ 19 µs" in drawn(picture) and "plain ≥ 273 µs" in drawn(picture)
    assert picture.text.startswith("Computed from the data sheet of the A100 40 GB in float32, not measured.")
    assert picture.text.endswith("Plain: 0.313 operations per byte, at least 273 µs, bound by memory.")


def test_the_axes_stay_where_they_are_from_card_to_card():
    ends = {tuple(points(roofline_of(card, "float32", 10_000))[1][[0, -1], 0]) for card in CARDS}
    assert len(ends) == 1


@pytest.mark.parametrize(
    ("ways", "error", "sentence"),
    [
        ([], TypeError, "ways must be a list of times as fused and plain tell them"),
        ([3], TypeError, "ways must be a list of times as fused and plain tell them"),
        (
            [fused(USUAL, A100), plain(USUAL, CARDS["T4"])],
            ValueError,
            "a roofline is that of one card in one precision",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(ways, error, sentence):
    refused(lambda: roofline(ways), error, sentence)
