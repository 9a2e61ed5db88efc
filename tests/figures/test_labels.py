"""Facts about places for words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdrace.figures.labels import apart, beside, overlap, text_width


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8))
def test_places_are_apart_in_bounds_and_in_the_order_wanted(wanted):
    places = apart(wanted, gap=10, low=0, high=100)
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(places[order]) >= 10 - 1e-9).all()
    assert places.min() >= -1e-9 and places.max() <= 100 + 1e-9


def test_places_that_are_free_are_kept():
    assert apart([50, 10, 30], gap=5, low=0, high=60).tolist() == [50, 10, 30]


def test_more_places_than_there_is_room_for_begin_at_the_lower_bound():
    assert apart([1, 2, 3], gap=10, low=0, high=5).tolist() == [0, 10, 20]


def test_the_width_of_a_text_does_not_count_the_marks_of_mathematics():
    assert text_width("$X_{K:P}$") == text_width("XK:P")
    assert text_width("mm") > text_width("ii")


def curve(center, height):
    x = np.linspace(0, 360, 200)
    return np.column_stack([x, 120 - height * np.exp(-(((x - center) / 40) ** 2))])


@pytest.mark.parametrize("centers", [(60, 250), (180, 180), (340, 20), (0, 10), (350, 345)])
@pytest.mark.parametrize("heights", [(90, 90), (20, 90), (90, 5)])
def test_names_beside_two_curves_cross_neither_curve_nor_each_other(centers, heights):
    lines = [curve(*pair) for pair in zip(centers, heights, strict=True)]
    boxes = beside(lines, [90, 120], (0, 10, 360, 120))
    assert not overlap(boxes[0][None], boxes[1][None]).any()
    points = np.concatenate(lines)
    for x0, y0, x1, y1 in boxes:
        inside = (points[:, 0] > x0) & (points[:, 0] < x1) & (points[:, 1] < y1) & (points[:, 1] > y0)
        assert not inside.any()
        assert x0 >= 0 and x1 <= 360 and y0 >= 10


def test_a_name_stands_close_to_its_own_curve():
    one, other = beside([curve(60, 90), curve(280, 90)], [60, 60], (0, 10, 360, 120))
    assert abs(one[0] - 60) < 100 and abs(other[0] - 280) < 130


def test_names_without_any_room_share_the_top_line():
    full = np.column_stack([np.linspace(0, 360, 200), np.full(200, 30.0)])
    boxes = beside([full, full], [90, 90], (0, 10, 360, 120))
    assert not overlap(boxes[0][None], boxes[1][None]).any()
