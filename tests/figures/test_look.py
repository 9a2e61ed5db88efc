"""What every picture of the book has in common."""

import inspect
import itertools
import re

import matplotlib as mpl
import matplotlib.style
import pytest

from sgdrace import Exponential
from sgdrace.figures import STYLE, densities, means, to_svg
from sgdrace.figures.glimpses import HEIGHT
from tests.figures import pictures
from tests.figures.pictures import cases, leaders_of, numbers_are_finite, without_leaders, words_of


def kinds():
    """What draws pictures, by the name of the function."""
    return itertools.groupby(sorted(cases(), key=name_of), name_of)


def name_of(case):
    return getattr(case, "func", case).__name__


# A test for each kind and not for each picture: pytest would take longer than the tests.
@pytest.fixture(scope="module", params=[pytest.param([*many], id=name) for name, many in kinds()])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def drawings(kind):
    return [to_svg(case()) for case in kind]


def test_no_picture_is_simulated_before_its_test_runs(monkeypatch):
    def refused(*arguments, **options):
        raise AssertionError("something was simulated or drawn while tests were collected")

    # Every function that the list of cases could call, also those that remember what they simulated.
    functions = [name for name, it in vars(pictures).items() if inspect.isfunction(inspect.unwrap(it))]
    for name in {*functions} - {"cases"}:
        monkeypatch.setattr(pictures, name, refused)
    assert {"simulate", "train", "race_of", "field", "histogram"} <= {*functions}
    makers = list(cases())
    assert len(makers) > 150 and all(callable(make) for make in makers)


def test_words_do_not_overlap_and_stay_on_the_paper(drawings):
    for picture in drawings:
        for words, width, height in words_of(picture):
            for text, _, (x0, y0, x1, y1) in words:
                assert x0 >= -1 and x1 <= width + 1 and y0 >= -1 and y1 <= height + 1, text
            for (one, _, a), (other, _, b) in itertools.combinations(words, 2):
                apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
                assert apart, f"{one} overlaps {other}"


def axes_of(svg):
    """How many ticks each axis has, (across, up): marks below a figure, and faint lines across it."""
    for figure in re.findall(r"<svg.*?</svg>", svg):
        across = "".join(re.findall(r'<path stroke-width=".8" d="([^"]*)"', figure))
        up = re.findall(r'<path stroke-opacity=".15" stroke-width=".8" d="([^"]*)"', figure)
        rows = "age in updates" in figure  # where such lines are the rows of learners
        yield len(re.findall(r"v3(?![\d.])", across)), 0 if rows else sum(path.count("h") for path in up)


def test_an_axis_has_at_least_three_ticks_or_all_the_values_there_are(drawings):
    for picture in drawings:
        values = re.search(r">K, of P = (\d+) learners<", picture)
        is_map = re.search(" down, .* across. ", picture)  # where every row and column has its name
        is_glimpse = f'viewBox="0 0 360 {HEIGHT:g}"' in picture  # which has no axis
        for across, up in axes_of(picture):
            few = is_map or is_glimpse or re.search("Shares|Verdicts", picture)
            assert across >= min(3, int(values[1]) if values else 3) or few
            assert up == 0 or up >= 3


def test_a_leader_can_not_be_taken_for_data(drawings):
    """Of all lines it is the thinnest and the only one that is both dotted and faint."""
    for picture in drawings:
        leaders = leaders_of(picture)
        marks = (" against ", "t/E[X]", "has loss", "the server waits")
        named_at_the_end = any(words in picture for words in marks)
        assert bool(leaders) == named_at_the_end
        for leader in leaders:
            ink, gap = map(float, re.search(r'dasharray="(\S+) (\S+)"', leader).groups())
            assert gap >= 2 * ink and ink < 1 and "stroke=" not in leader  # faint ink is gray
        for look in re.findall(r'<path ([^>]*) d="', without_leaders(picture)):
            if width := re.search(r'stroke-width="([\d.]+)"', look):
                assert float(width[1]) > 0.75


def test_words_are_at_least_eleven_pixels_high_on_a_phone(drawings):
    on_a_phone = (390 - 2 * 16) / 360  # pixels per unit
    for picture in drawings:
        sizes = [size for words, _, _ in words_of(picture) for _, size, _ in words]
        assert all(size * on_a_phone >= 11 for size in sizes)


def test_a_figure_has_a_text_alternative_and_nothing_that_could_clash_on_a_page(drawings):
    for picture in drawings:
        assert re.match(r'<div class="sgdrace" role="img" aria-label="[A-Z0-9][^"]+\.">', picture)
        for unwanted in (" id=", "clip-path", "font-family", "<defs", "style="):
            assert unwanted not in picture
        assert numbers_are_finite(picture)


def test_ink_follows_the_theme(drawings):
    for picture in drawings:
        assert 'stroke="currentColor"' in picture
        assert "#000" not in picture
        assert "#fff" not in picture


def test_a_frame_is_small(drawings):
    for picture in drawings:
        assert 300 < len(picture.encode()) < (16_000 if "P = 64" in picture else 8_000)


def test_the_same_input_gives_the_same_bytes(kind, drawings):
    for one in (0, len(kind) // 2, -1):
        assert to_svg(kind[one]()) == drawings[one]


def test_a_figure_does_not_depend_on_settings_of_matplotlib():
    def both():
        return to_svg(densities(Exponential(), 8, 2) + means(Exponential(), 8, 2))

    plain = both()
    with matplotlib.style.context(
        ["dark_background", {"font.size": 30, "lines.linewidth": 9, "lines.marker": "x"}]
    ):
        assert both() == plain
    with mpl.rc_context({"figure.constrained_layout.use": True, "figure.dpi": 200, "path.simplify": False}):
        assert both() == plain


def test_the_style_sheet_asks_for_the_width_of_the_container_and_not_of_the_window():
    assert "container-type: inline-size" in STYLE
    assert "@media" not in STYLE
    assert STYLE.count("{") == STYLE.count("}")
