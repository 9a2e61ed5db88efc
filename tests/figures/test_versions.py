"""Facts about pictures of versions: pulls, staleness, gradients in flight, a model on a parabola."""

import re

import numpy as np
import pytest
from matplotlib.lines import Line2D

from sgdrace import Constant, Exponential, PerLearner, simulate
from sgdrace.figures import (
    VARIANT,
    WORK,
    in_flight,
    pulls,
    stalenesses,
    valley,
)
from sgdrace.figures.colors import FADED
from tests.figures.pictures import drawn, words_of

STALE = WORK["used stale"].color


def async_race(law, P, updates):
    return simulate("K-async", P, 1, law, updates, common=True)


def race_of(law, P=8, updates=40):
    race = simulate("K-async", P, 1, law, updates, seed=0)
    return race.learner[0, :, 0], race.staleness[0, :, 0]


def all_words(figure):
    return [words for page, _, _ in words_of(drawn(figure)) for words, _, _ in page]


def test_the_staleness_of_a_push_is_that_of_the_simulator():
    text = pulls(async_race(Exponential(), 3, 30)).text
    race = simulate("K-async", 3, 1, Exponential(), 30, seed=0, common=True)
    told = [int(s) for s in re.findall(r"staleness (\d+)", text)]
    assert told == race.staleness[0, :, 0].tolist()


def test_a_wide_bar_says_its_version_and_its_staleness():
    words = all_words(pulls(async_race(PerLearner([Constant(1.0), Constant(3.0)]), 2, 5)))
    assert "from 0" in words and "s = 3" in words
    assert "version on the server:" in words


def test_a_narrow_bar_is_drawn_without_words():
    words = all_words(pulls(async_race(Exponential(), 2, 60)))
    assert sum(word.startswith("s = ") for word in words) < 60


def test_constant_times_give_one_bar_of_staleness():
    _, s = race_of(Constant(1.0), updates=400)
    svg = drawn(stalenesses(s[8:], until=32))
    assert re.search(r'fill-opacity=".42" stroke="none" d="([^"]*)"', svg)[1].lower().count("m") == 1
    assert stalenesses(s[8:], until=32).text.startswith("Staleness of 392 pushes: mean 7, standard dev")


def test_what_lies_beyond_the_axis_of_staleness_is_said():
    assert "10.0 % beyond the axis" in drawn(stalenesses([0] * 9 + [50], until=8))
    assert "beyond" not in drawn(stalenesses([0] * 9 + [8], until=8))


def test_a_tail_that_rounds_to_nothing_is_not_called_nothing():
    assert "under 0.1 % beyond the axis" in drawn(stalenesses([0] * 9_999 + [50], until=8))


def test_stalenesses_of_a_variant_are_named_beside_its_line():
    svg = drawn(stalenesses([0, 1], until=2, variant="K-async"))
    assert ">K-async<" in svg and VARIANT["K-async"].color.lower() in svg.lower()
    assert stalenesses([0, 1], until=2, variant="K-async").text.startswith("K-async: staleness of 2")
    with pytest.raises(ValueError, match="variant 'async' is unknown; did you mean"):
        stalenesses([0, 1], until=2, variant="async")


def test_many_stalenesses_share_bars():
    assert len(drawn(stalenesses(np.arange(1000), until=999))) < 6_000


def test_a_shared_bar_stands_on_both_sides_of_its_middle():
    svg = drawn(stalenesses([39] * 10, until=160))
    left, width = map(float, re.search(r'd="M([\d.]+) [\d.]+v[\d.]+h([\d.]+)', svg).groups())
    mean = float(re.search(r'stroke-dasharray="[^"]*" d="M([\d.]+)', svg)[1])
    assert width > 5 and left + width / 2 == pytest.approx(mean, abs=0.2)


def test_the_share_of_fresh_gradients_is_said():
    assert "fresh 40.0 %, stalest 1,234" in all_words(stalenesses([0, 0, 1, 2, 1_234], until=8))


def test_expected_shares_are_compared():
    text = stalenesses([0, 0, 1, 1], until=2, expected=[0.6, 0.4]).text
    assert text.endswith(
        "No share differs from that of the geometric law by more than 10.0 percentage points."
    )
    assert "geometric law, exact" in drawn(stalenesses([0, 0, 1, 1], until=2, expected=[0.6, 0.4]))


@pytest.mark.no_cover
def test_the_age_of_the_pusher_is_the_staleness_of_the_simulator():
    who, s = race_of(Exponential())
    for now in range(who.size):
        assert in_flight(who, 8, now).text.endswith(f"staleness {s[now]}.")
        assert f"learner {who[now] + 1} pushes, staleness {s[now]}" in all_words(in_flight(who, 8, now))


def place(w):
    """Where w lies across the parabola of a path that begins at 1."""
    return pytest.approx(24 + (352 - 24) * (w / 1.6 + 1) / 2)


def lines_in(color, picture):
    return [line for line in picture.figures[0].findobj(Line2D) if line.get_color() == color]


def test_the_copy_that_pushes_next_is_that_of_the_simulator_and_its_arrow_is_the_step():
    who, s = race_of(Exponential())
    path = np.linspace(1.0, 0.2, who.size + 1)  # all different, so that a place names a version
    for now in (0, 1, 17, 39):
        color = STALE if s[now] else WORK["used fresh"].color
        copy, arrow, *_ = lines_in(color, valley(path, who, 8, now))
        assert copy.get_xdata() == place(path[now - s[now]])
        assert arrow.get_xdata()[0] == place(path[now]) and arrow.get_xdata()[1] == place(path[now + 1])


def test_after_the_last_update_nobody_pushes():
    picture = valley([1.0, 0.5], [0], 1, 1)
    assert not lines_in(STALE, picture) and not lines_in(WORK["used fresh"].color, picture)
    assert "next" not in picture.text and not [words for words in all_words(picture) if "next" in words]


def test_copies_push_to_the_minimum_from_where_they_are():
    picture = valley([1.0, 0.4, -0.6, -0.6], [0, 1, 2], 3, 2)  # copies at 0.4, -0.6 and 1
    assert "2 copies push left, 1 right" in all_words(picture)
    arrows = [line for line in lines_in(FADED.color, picture) if line.get_linestyle() != "None"]
    shafts = arrows[::2]  # a shaft, then its head
    assert [np.sign(np.diff(line.get_xdata()))[0] for line in shafts] == [-1, -1, 1]
    assert [line.get_xdata()[0] for line in shafts] == [place(1.0), place(0.4), place(-0.6)]


def test_a_gradient_from_the_other_side_pushes_uphill():
    crossed = valley([1.0, 0.4, -0.2, -0.8, 0.0], [0, 0, 1, 0], 2, 2)  # next, from version 0
    assert "next: s = 2, uphill" in all_words(crossed) and crossed.text.endswith("and pushes uphill.")
    before = valley([1.0, 0.4, -0.2, -0.8, 0.0], [0, 0, 1, 0], 2, 1)
    assert "next: s = 0, downhill" in all_words(before) and before.text.endswith("and pushes downhill.")


def test_a_note_is_written_and_said_and_moves_nothing():
    plain, noted = (valley([1.0, 0.4, -0.2], [0, 0], 1, 1, note) for note in ("", "Look!"))
    assert "Look!" in all_words(noted) and noted.text == f"Look! {plain.text}"
    assert len(drawn(plain)) < len(drawn(noted)) and plain.figures[0].get_size_inches().tolist() == (
        noted.figures[0].get_size_inches().tolist()
    )


def test_what_has_left_the_parabola_is_said():
    assert "w = −3, off the picture" in all_words(valley([1.0, -3.0], [0], 1, 1))
    assert "w = −1e+09, off the picture" in all_words(valley([1.0, -1e9], [0], 1, 1))


def test_an_arrow_points_to_a_model_that_has_left_the_parabola():
    for w, tip in ((-3.0, 24.0), (3.0, 352.0)):
        lines = [
            line
            for line in valley([1.0, w], [0], 1, 1).figures[0].findobj(Line2D)
            if line.get_linewidth() == 2.4
        ]
        assert len(lines) == 4 and lines[0].get_xdata()[1] == tip
    assert not [
        line
        for line in valley([1.0, 0.5], [0], 1, 1).figures[0].findobj(Line2D)
        if line.get_linewidth() == 2.4
    ]


def test_a_fresh_gradient_is_not_called_stale():
    assert "next, used fresh" in all_words(valley([1.0, 0.5], [0], 1, 0))
    assert "next, used stale" in all_words(valley([1.0, 0.5, 0.0], [0, 1], 2, 1))
    assert "is that of w = 1, staleness 1, and" in valley([1.0, 0.5, 0.0], [0, 1], 2, 1).text
    assert "is that of w = 1, staleness 0, and" in valley([1.0, 0.5, 0.0], [0, 1], 2, 0).text


def test_the_way_is_told():
    text = valley([1.0, -0.5, 0.25, -0.1], [0, 0, 0], 1, 3).text
    assert "has changed sign 3 times" in text and "between -0.5 and 1" in text


def test_bad_arguments_are_refused():
    with pytest.raises(TypeError, match="race must be a Race or its Jobs; got"):
        pulls([1, 2])
    for variant, K in (("K-sync", 1), ("K-async", 2)):
        with pytest.raises(
            ValueError, match=rf"race must be of async SGD with K = 1, .*; got Race\({variant}"
        ):
            pulls(simulate(variant, 4, K, Exponential(), 3))
    with pytest.raises(ValueError, match="must hold whole numbers of at least 0"):
        stalenesses([0.5], until=4)
    with pytest.raises(ValueError, match="until must be at least 1"):
        stalenesses([1], until=0)
    with pytest.raises(ValueError, match="learners names learner 2"):
        in_flight([0, 2], P=2, now=0)
    with pytest.raises(ValueError, match="now must be between 0 and 1"):
        in_flight([0, 1], P=2, now=2)
    with pytest.raises(ValueError, match="path must begin at some w other than 0"):
        valley([1.0, 0.5], [0, 0], P=1, now=0)
    with pytest.raises(ValueError, match="path must begin at some w other than 0"):
        valley([0.0, 0.0], [0], P=1, now=0)
