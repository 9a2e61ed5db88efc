"""Facts about colors, dashes and shades."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from sgdrace import Empirical, Erlang, Exponential, Gamma, PerLearner, ShiftedExponential, delays
from sgdrace.delays import Scaled, Shifted
from sgdrace.figures import Curve, colors, curves, densities, histogram, law_card
from tests.examples import CONTINUOUS, DISCRETE, Own
from tests.figures.pictures import drawn, without_leaders

ROOT = Path(__file__).parents[2]
OURS = {look.color for look in (*colors.VARIANT.values(), *colors.WORK.values(), colors.FADED)} - {colors.INK}
THEMES = {
    "light": ("#ffffff", "#222832"),
    "dark": ("#14181e", "#ced6dd"),
    "JupyterLab": ("#111111", "#ffffff"),
}


def test_colors_are_written_in_one_place():
    sources = [path for folder in ("lib", "book", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    assert len(sources) > 40 and len(OURS) == 8
    pattern = re.compile("|".join(OURS), re.IGNORECASE)
    written = {path.name for path in sources if pattern.search(path.read_text(encoding="utf-8"))}
    assert written == {"colors.py"}


def test_curves_that_are_no_variants_differ_in_their_dashes_alone():
    assert {stroke.color for stroke in colors.INKS} == {colors.INK}
    assert len({stroke.dash for stroke in colors.INKS}) == len(colors.INKS)


def linear(color):
    """The red, green and blue light of a color."""
    shares = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """As the Web Content Accessibility Guidelines define it."""
    dark, light = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)


def veiled(color, ground, alpha):
    pairs = [(int(color[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(alpha * ink + (1 - alpha) * paper):02x}" for ink, paper in pairs)


# How light reaches those who lack a kind of cone (Machado, Oliveira and Fernandes, 2009).
SIGHTS = {
    "all cones": np.eye(3),
    "no long": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no middle": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no short": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def lab(light):
    """The CIE's L*, a* and b* of light."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(light, 0, 1) / [0.9505, 1.0, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one, other, sight="all cones"):
    """Euclid's distance in L*a*b*: 2 can just be told apart, side by side."""
    return float(np.linalg.norm(np.subtract(*(lab(SIGHTS[sight] @ linear(c)) for c in (one, other)))))


def as_seen(color, theme):
    return THEMES[theme][1] if color == colors.INK else color


@pytest.mark.parametrize("theme", THEMES)
def test_lines_of_laws_stand_out_from_the_ground(theme):
    ground, _ = THEMES[theme]
    for family, stroke in colors.LAW.items():
        assert contrast(as_seen(stroke.color, theme), ground) >= 3, family


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("sight", SIGHTS)
def test_no_two_laws_look_alike_to_anybody(theme, sight):
    for (one, a), (other, b) in itertools.combinations(colors.LAW.items(), 2):
        if a.dash == b.dash:
            apart = difference(as_seen(a.color, theme), as_seen(b.color, theme), sight)
            assert apart >= 20, f"{one} and {other}"


def test_laws_do_not_have_the_colors_of_variants():
    laws = {stroke.color for stroke in colors.LAW.values()} - {colors.INK}
    for law, variant in itertools.product(laws, colors.VARIANT.values()):
        assert difference(law, variant.color) >= 30


def test_every_family_of_laws_has_a_look_of_its_own():
    families = {type(law) for law in (*CONTINUOUS, *DISCRETE)} - {Scaled}
    assert {family.__name__ for family in families} == {*colors.LAW, "Erlang"}
    named = {name for name in delays.__all__ if name[0].isupper() and isinstance(getattr(delays, name), type)}
    laws = {name for name in named if issubclass(getattr(delays, name), delays.DelayLaw)}
    assert laws - {"DelayLaw", "Scaled", "Shifted"} == {family.__name__ for family in families}
    assert len({*colors.LAW.values(), colors.OTHER_LAW}) == len(colors.LAW) + 1


def test_a_law_looks_like_its_family():
    for law, family in (
        (Erlang(3), "Gamma"),
        (Exponential() + 0.5, "ShiftedExponential"),
        (Scaled(Exponential(), 3.0), "Exponential"),
        (Shifted(Scaled(Gamma(2.0), 2.0), 1.0), "Gamma"),
        (3 * Empirical([1.0, 2.0]), "Empirical"),
    ):
        assert colors.law_stroke(law) == colors.LAW[family]
    for law in (stats.expon(), Own(Exponential()), PerLearner(Exponential(), [1.0, 2.0])):
        assert colors.law_stroke(law) == colors.OTHER_LAW


def test_a_law_has_one_look_in_every_picture():
    law, look = (
        ShiftedExponential(0.5, 2.0),
        f'stroke="{colors.TEAL.lower()}" stroke-width="1.8" stroke-dasharray',
    )
    for picture in (
        densities(law, 8, 4),
        law_card(law),
        histogram([1.0, 2.0, 3.0], {"a fit": law}),
        curves([Curve("half fixed", [1, 2], [1, 2], law=law)], "P", "mean"),
    ):
        assert look in drawn(picture)


def test_two_laws_of_a_family_share_their_color_and_differ_in_their_dashes():
    two = [Curve(f"rate {rate}", [1, 2], [1, rate], law=Gamma(2.0, rate)) for rate in (1, 2)]
    rest = [Curve("a law", [1, 2], [3, 3], law=Exponential()), Curve("no law", [1, 2], [4, 4])]
    svg = without_leaders(drawn(curves(two + rest, "P", "mean")))
    looks = re.findall(r'<path([^>]*) stroke-width="1.8"([^>]*) d="', svg)
    assert [color for color, _ in looks] == [' stroke="#808000"'] * 2 + [""] * 2
    assert len({*looks}) == 4


def test_a_curve_looks_like_a_variant_or_like_a_law():
    with pytest.raises(ValueError, match="'a' can look like a variant or like a law, not like both"):
        Curve("a", [1], [1], variant="K-sync", law=Exponential())
    with pytest.raises(TypeError, match="law must be a law of mini-batch times"):
        Curve("a", [1], [1], law="exponential")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("sight", SIGHTS)
def test_ignored_work_looks_like_no_other(theme, sight):
    ignored = colors.WORK["ignored"].color
    assert contrast(ignored, THEMES[theme][0]) >= 3
    for fate, shade in colors.WORK.items():
        if fate != "ignored":
            assert difference(ignored, as_seen(shade.color, theme), sight) >= 20, fate


@pytest.mark.parametrize(("theme", "least"), [("light", 2.0), ("dark", 2.5), ("JupyterLab", 2.5)])
def test_idle_work_is_seen_and_words_on_it_can_be_read(theme, least):
    (ground, ink), shade = THEMES[theme], colors.WORK["idle"]
    fill = veiled(ink, ground, shade.alpha)
    assert shade.color == colors.INK and shade.dash is None
    assert contrast(fill, ground) >= least
    assert contrast(fill, ink) >= 4.5
