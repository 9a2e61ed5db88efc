"""Facts about tiles on a grid, maps of winners and maps of numbers."""

import re

import numpy as np
import pytest

from sgdrace import VARIANTS
from sgdrace.figures import VARIANT, Tile, colors, heat_map, tiles, winner_map
from sgdrace.figures.maps import LETTERS
from tests.figures.pictures import drawn
from tests.figures.test_colors import THEMES, contrast, veiled

FIELD = [["K-sync", "K-batch-sync", "K-async", "K-batch-async", None]]


def opacities(svg):
    return sorted({float(share) for share in re.findall(r'fill="currentColor" fill-opacity="([.\d]+)"', svg)})


def test_a_tile_has_the_color_of_its_variant_and_its_letters():
    for variant in VARIANTS:
        svg = drawn(winner_map([[variant]], ["a"], ["b"], "x", "y"))
        fills = re.findall(f'fill="{VARIANT[variant].color.lower()}" stroke="none" d="([^"]*)"', svg)
        boxes = "".join(fills).lower().count("m")
        assert boxes == svg.count(f">{LETTERS[variant]}<") == 2  # one of them is in the key


def test_no_two_variants_have_the_same_letters_and_the_key_names_all():
    assert len({*LETTERS.values()}) == len(VARIANTS) == 4
    svg = drawn(winner_map([[None]], ["a"], ["b"], "x", "y"))
    assert all(f">{name}<" in svg for name in (*VARIANTS, "nobody arrives", *LETTERS.values()))


def test_where_nobody_arrives_is_an_outline_with_a_dash():
    svg = drawn(winner_map([[None, None]], ["a"], [1, 2], "x", "y"))
    assert svg.count(">–<") == 3  # with the one of the key
    assert "nobody from 1 to 2." in svg


def test_a_winner_may_come_with_its_K():
    picture = winner_map([[("K-batch-async", 16), ("K-batch-async", 16)]], ["a"], [8, 9], "x", "y")
    assert ">BA 16<" in drawn(picture)
    assert picture.text == "Who wins. X down, y across. a: K-batch-async with K = 16 from 8 to 9."


def test_a_text_that_is_too_wide_for_its_tile_is_parted():
    svg = drawn(winner_map([[("K-batch-async", 128)] * 9], ["a"], range(9), "x", "y"))
    assert svg.count(">128<") == 9


def test_the_paper_has_one_size_whoever_wins():
    frames = [drawn(winner_map([[who] * 3], ["a"], [1, 2, 3], "x", "y")) for who in FIELD[0]]
    assert len({re.search('viewBox="[^"]*"', frame)[0] for frame in frames}) == 1


@pytest.mark.parametrize("variant", VARIANTS)
def test_letters_on_a_color_can_be_read(variant):
    color = VARIANT[variant].color
    assert contrast(Tile("x", color, 1.0).ink, color) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_numbers_on_the_most_ink_can_be_read(theme):
    ground, ink = THEMES[theme]
    assert contrast(veiled(ink, ground, colors.SHADE[1]), ink) >= 4.5


def test_shades_are_even_on_a_log_scale():
    svg = drawn(heat_map([[0.01, 0.1, 1.0]], ["a"], [1, 2, 3], "x", "y"))
    low, middle, high = opacities(svg)
    assert (low, high) == colors.SHADE and middle == pytest.approx((low + high) / 2)


def test_given_shades_hold_for_every_frame_and_what_is_beyond_has_the_last():
    one, two = (
        opacities(drawn(heat_map([row], ["a"], [1, 2], "x", "y", shades=(0.1, 10.0))))
        for row in ([1.0, 100.0], [1.0, 0.001])
    )
    assert one[0] == two[1] == pytest.approx(np.mean(colors.SHADE))
    assert (two[0], one[1]) == colors.SHADE


def test_numbers_are_written_with_two_digits():
    svg = drawn(heat_map([[0.00246, 123.0, 4e-7]], ["a"], [1, 2, 3], "x", "y"))
    assert all(f">{word}<" in svg for word in ("0.0025", "120", "4e-7"))


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_diverged_says_so_and_has_no_shade(value):
    picture = heat_map([[value, value]], ["a"], [1, 2], "x", "y")
    svg = drawn(picture)
    assert svg.count(">div<") == 3 and not opacities(svg)
    assert picture.text == "X down, y across. a: diverged from 1 to 2."


def test_one_value_has_a_shade_in_the_middle():
    assert opacities(drawn(heat_map([[3.0]], ["a"], [1], "x", "y"))) == [pytest.approx(np.mean(colors.SHADE))]


def test_names_of_columns_that_would_touch_are_thinned():
    svg = drawn(tiles([[Tile("1")] * 12], [""], [10_000 + n for n in range(12)], "x", "y"))
    assert ">10,000<" in svg and ">10,001<" not in svg


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: winner_map("x", [1], [1], "x", "y"), TypeError, "winners must be a list of rows"),
        (lambda: winner_map([["K-sink"]], [1], [1], "x", "y"), ValueError, "a winner 'K-sink' is unknown"),
        (lambda: winner_map([[3]], [1], [1], "x", "y"), TypeError, "a winner must be a variant, "),
        (lambda: winner_map([[("K-sync", 0)]], [1], [1], "x", "y"), ValueError, "K of a winner must be"),
        (lambda: heat_map([1.0], [1], [1], "x", "y"), ValueError, "values must be rows of numbers above 0"),
        (lambda: heat_map([[0.0]], [1], [1], "x", "y"), ValueError, "values must be rows of numbers above 0"),
        (
            lambda: heat_map([[1.0]], [1], [1], "x", "y", (0, 1)),
            ValueError,
            "shades must be two finite numbers, the lower first, above 0",
        ),
        (lambda: tiles([[Tile("a")]], [1, 2], [1], "x", "y"), ValueError, "a map needs a tile for each of 2"),
        (lambda: tiles([["a"]], [1], [1], "x", "y"), TypeError, "every entry of grid must be a Tile"),
        (lambda: tiles([[Tile("a")]], [], [1], "x", "y"), ValueError, "rows must have names that are short"),
        (
            lambda: tiles([[Tile("a")]], [1], ["far too long " * 3], "x", "y"),
            ValueError,
            "columns must have names that are short",
        ),
        (
            lambda: tiles([[Tile("unbreakable")] * 8], [1], range(8), "x", "y"),
            ValueError,
            "'unbreakable' has no room in its tile",
        ),
    ],
)
def test_bad_maps_are_refused(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()
