"""Facts about the picture of two slopes: here, and at an old version."""

import pytest
from matplotlib.lines import Line2D

from sgdrace.figures import WORK, slopes
from tests.figures.pictures import drawn

FRESH, STALE = WORK["used fresh"].color, WORK["used stale"].color


def lines_of(picture, color):
    return [line for line in picture.figures[0].findobj(Line2D) if line.get_color() == color]


def rise(line):
    """Up per right, on the paper, where y points down."""
    (x0, x1), (y0, y1) = line.get_xdata(), line.get_ydata()
    return -(y1 - y0) / (x1 - x0)


@pytest.mark.parametrize(("here", "old"), [(0.5, 1.2), (-0.4, 0.9), (1.0, 1.0)])
def test_tangents_touch_the_parabola_with_its_slope(here, old):
    picture = slopes(here, old, reach=1.6)
    scale = (148 - 34) / (1.6**2 / 2) / ((360 - 24) / 3.2)  # of up to across
    for color, w in ((FRESH, here), (STALE, old)):
        tangent, dot, *_ = lines_of(picture, color)
        assert rise(tangent) == pytest.approx(w * scale)
        x0, x1 = tangent.get_xdata()
        assert dot.get_xdata()[0] == pytest.approx((x0 + x1) / 2)


def test_a_slope_ends_below_its_place_and_the_gap_lies_between_the_two():
    picture = slopes(here=-0.4, old=0.8)
    ends = {}
    for color, w in ((FRESH, -0.4), (STALE, 0.8)):
        _, dot, bar = lines_of(picture, color)
        ends[w] = dot.get_xdata()[0]
        assert bar.get_xdata()[:2] == pytest.approx([180, ends[w]])
    gap = [line for line in lines_of(picture, "black") if line.get_linewidth() == 7.0]
    assert gap[0].get_xdata()[:2] == pytest.approx([ends[-0.4], ends[0.8]])


@pytest.mark.parametrize(
    ("here", "old", "ratio"), [(0.5, 1.0, "1"), (0.5, 1.5, "4"), (1.0, 1.0, "0"), (0.0, 1.0, "infinite")]
)
def test_the_ratio_is_that_of_the_squares(here, old, ratio):
    assert f"(slope here)² = {ratio}<" in drawn(slopes(here, old))
    assert slopes(here, old).text.endswith(f"slope here it is {ratio}.")


def test_places_beyond_the_picture_are_refused():
    for here, old, name in ((2.0, 0.5, "here"), (0.5, -2.0, "old")):
        with pytest.raises(ValueError, match=f"{name} must be between -1.6 and 1.6"):
            slopes(here, old)
    with pytest.raises(ValueError, match="reach must be a finite number above 0"):
        slopes(0.0, 0.0, reach=0)
