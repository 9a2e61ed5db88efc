"""Facts about the renderer, on Matplotlib figures small enough to check by eye."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from sgdrace.figures import Picture, to_svg


def figure_with(*artists):
    figure = Figure(figsize=(1, 1), dpi=72, facecolor="none")  # 72 units square
    for artist in artists:
        figure.add_artist(artist)
    return figure


def paths(figure):
    return re.findall(r"<path(.*?)/>", to_svg(Picture(figure, "A path.")))


def line(x, y, **style):
    return Line2D(np.array(x) / 72, np.array(y) / 72, **({"color": "black", "linewidth": 1} | style))


def test_a_line_is_relative_in_tenths_with_y_from_the_top():
    (path,) = paths(figure_with(line([10, 20, 20, 30.04], [62, 62, 52, 42])))
    assert path.endswith('d="M10 10h10v10l10 10"')


def test_a_gap_parts_a_line():
    (path,) = paths(figure_with(line([0, 10, np.nan, 20, 30], [72, 72, np.nan, 72, 72])))
    assert path.endswith('d="M0 0h10m10 0h10"')


def test_points_on_a_straight_line_are_dropped():
    x = np.linspace(0, 72, 500)
    (path,) = paths(figure_with(line(x, x)))
    assert len(path) < 70


def test_lines_of_one_style_share_a_path_and_others_do_not():
    same = figure_with(line([0, 9], [0, 0]), line([0, 9], [9, 9]))
    assert len(paths(same)) == 1
    other = figure_with(line([0, 9], [0, 0]), line([0, 9], [9, 9], color="red"))
    assert len(paths(other)) == 2


def test_black_is_inherited_and_other_colors_are_named():
    (ink,) = paths(figure_with(line([0, 9], [0, 0])))
    assert "stroke=" not in ink
    (red,) = paths(figure_with(line([0, 9], [0, 0], color="#ff0000", alpha=0.5)))
    assert 'stroke="#f00" stroke-opacity=".5"' in red


def test_a_filled_box_in_ink_names_current_color():
    (box,) = paths(figure_with(Rectangle((0, 0), 0.5, 0.5, facecolor="black", linewidth=0)))
    assert box == ' fill="currentColor" stroke="none" d="M0 72h36v-36h-36v36"'


def test_a_box_may_have_an_outline():
    (box,) = paths(figure_with(Rectangle((0, 0), 0.5, 0.5, facecolor="red", edgecolor="black", linewidth=2)))
    assert ' fill="#f00" stroke-width="2"' in box


def test_dashes_and_round_ends_are_kept():
    (path,) = paths(
        figure_with(line([0, 9], [0, 0], linestyle=(0, (3, 1)), linewidth=2, dash_capstyle="round"))
    )
    assert 'stroke-dasharray="6 2" stroke-linecap="round"' in path


def test_what_cannot_be_seen_is_not_written():
    assert (
        paths(figure_with(line([0, 9], [0, 0], alpha=0.0), Rectangle((0, 0), 1, 1, fill=False, lw=0))) == []
    )


def test_a_disc_is_a_line_of_no_length():
    (path,) = paths(figure_with(line([36], [36], linestyle="", marker="o", markersize=6, markeredgewidth=0)))
    assert path == ' stroke-width="6" stroke-linecap="round" d="M36 36h0"'


def test_other_markers_are_paths():
    (path,) = paths(figure_with(line([36], [36], linestyle="", marker="s", markersize=6, markeredgewidth=0)))
    assert path.endswith('d="M33 39h6v-6h-6v6"')


def test_lines_and_areas_are_cut_at_the_edges_of_axes():
    figure = Figure(figsize=(1, 1), dpi=72, facecolor="none")
    axes = figure.add_axes((0.25, 0.25, 0.5, 0.5), xlim=(0, 1), ylim=(0, 1))
    axes.set_axis_off()
    axes.plot([0.5, 0.5], [-9, 9], color="black")
    axes.fill_between([-9, 9], [9, 9], color="red", linewidth=0)
    axes.fill_between([0.2, 0.4], [0.5, 0.5], color="blue", linewidth=0)
    numbers = [float(n) for path in paths(figure) for n in re.findall(r"[-.\d]+", path.split(' d="')[1])]
    assert max(map(abs, numbers)) <= 72


def test_text_stays_text_and_is_aligned_by_the_browser():
    figure = figure_with()
    figure.text(0.5, 0.5, "a < b", ha="right", va="center_baseline", fontsize=26, weight="bold", color="red")
    svg = to_svg(Picture(figure, "Words."))
    assert (
        'text-anchor="end" dominant-baseline="central" fill="#f00" font-size="2em" font-weight="600"' in svg
    )
    assert '<text x="36" y="36">a &lt; b</text>' in svg


def test_lines_of_a_text_stand_below_each_other():
    figure = figure_with()
    figure.text(0.5, 0.5, "one\ntwo")
    heights = re.findall(r'y="([\d.]+)">(\w+)', to_svg(Picture(figure, "Words.")))
    assert [word for _, word in heights] == ["one", "two"]
    assert float(heights[0][0]) < float(heights[1][0])


def test_sub_and_superscripts_are_set_and_the_line_returns_to_its_height():
    figure = figure_with()
    figure.text(0, 0, "E[$X_{K:P}$] and $10^{-4}$")
    svg = to_svg(Picture(figure, "Words."))
    shifts = [float(dy) for dy in re.findall(r'dy="([-.\d]+)em"', svg)]
    down, back, up, return_ = shifts
    assert abs(0.85 * down + back) < 0.01 and abs(0.85 * up + return_) < 0.01 and up < 0 < down
    assert "".join(ElementTree.fromstring(svg).itertext()).replace("​", "") == "E[XK:P] and 10−4"


@pytest.mark.parametrize("words", [r"$\frac{1}{2}$", "$x_1$"])
def test_other_mathematics_becomes_outlines(words):
    figure = figure_with()
    figure.text(0.1, 0.5, words)
    svg = to_svg(Picture(figure, "A formula."))
    assert "<text" not in svg and "<path" in svg


def test_rotated_text_becomes_outlines():
    figure = figure_with()
    figure.text(0.5, 0.1, "loss", rotation=90)
    assert "<path" in to_svg(Picture(figure, "Words."))


def test_an_ordinary_figure_with_axes_is_drawn_too():
    figure = Figure(figsize=(4, 3))
    figure.subplots().plot([1, 2], [3, 4], label="a curve")
    figure.axes[0].set(xlabel="time", ylabel="loss")
    figure.axes[0].legend()
    assert "a curve" in to_svg(Picture(figure, "A curve."))


def test_an_image_is_refused():
    figure = Figure()
    figure.subplots().imshow([[1, 2]])
    with pytest.raises(ValueError, match="rectangles instead of an image"):
        to_svg(Picture(figure, "An image."))


def test_several_figures_stand_in_one_row_with_one_text_alternative():
    svg = to_svg(Picture([figure_with(), figure_with()], 'Two "figures" & more.'))
    assert svg.count("<svg") == 2
    assert ElementTree.fromstring(svg).get("aria-label") == 'Two "figures" & more.'


@pytest.mark.parametrize("given", [None, [], "figure", figure_with(), (figure_with(), "A pair.")])
def test_what_is_no_picture_is_refused(given):
    with pytest.raises(TypeError, match="picture must be a Picture, which is figures with their words; got "):
        to_svg(given)
