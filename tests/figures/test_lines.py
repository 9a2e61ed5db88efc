"""Facts about curves."""

import re

import numpy as np
import pytest

from sgdrace import VARIANTS, Exponential, Quadratic, simulate, train
from sgdrace.figures import Curve, curves
from tests.figures.pictures import (
    band,
    colors_of,
    drawn,
    leaders_of,
    numbers_are_finite,
    without_leaders,
    words_of,
)


def test_a_curve_named_after_a_variant_has_its_color_and_dashes():
    svg = without_leaders(drawn(curves([Curve(v, [0, 1], [1, 2]) for v in VARIANTS], "time", "loss")))
    assert colors_of(svg) == {"#0072b2", "#56b4e9", "#d55e00", "#e69f00"}
    assert svg.count("stroke-dasharray") == 2


def test_a_curve_may_be_of_a_variant_and_have_another_name():
    svg = drawn(curves([Curve("K = 4", [0, 1], [1, 2], variant="K-async")], "time", "loss"))
    assert colors_of(svg) == {"#d55e00"} and ">K = 4<" in svg


def test_other_curves_are_ink_and_differ_in_their_dashes():
    six = [Curve(f"law {k}", [0, 1], [k, 2 * k]) for k in range(6)]
    svg = without_leaders(drawn(curves(six, "P", "mean")))
    assert colors_of(svg) == set()
    assert len(set(re.findall(r'stroke-dasharray="[^"]*"', svg))) == 5


def test_names_stand_beside_the_ends_in_the_order_of_the_ends():
    svg = drawn(curves([Curve("low", [0, 1], [1, 1.0]), Curve("high", [0, 1], [1, 1.01])], "time", "loss"))
    ((words, _, _),) = words_of(svg)
    y = {text: box[1] for text, _, box in words}
    assert y["high"] < y["low"] - 10


def test_bands_are_drawn_below_all_lines():
    svg = drawn(curves([band("K-sync", [1, 2, 3]), band("K-async", [3, 2, 1])], "time", "loss"))
    kinds = re.findall(r"<path (fill|stroke)=", svg)
    assert kinds.index("fill") < kinds.index("stroke")
    assert kinds[: kinds.index("stroke")].count("fill") == 2


def test_a_curve_ends_where_it_stops_being_finite():
    many = [Curve("lost", [0, 1, 2, 3], [1, 2, np.inf, np.inf]), Curve("well", [0, 3], [1, 0])]
    assert curves(many, "time", "loss").text == (
        "Loss against time from 0 to 3: lost from 1 to 2, not finite after 1; well from 1 to 0."
    )
    assert numbers_are_finite(drawn(curves(many, "time", "loss")))


def test_a_description_gives_the_band_at_the_end_and_no_marks_of_mathematics():
    text = curves([band("K-sync", [4.0, 2.0])], "learners P", "mean E[$X_{P:P}$]").text
    assert text == "Mean E[X P:P] against learners P from 0 to 1: K-sync from 4 to 2 (band 1.6 to 2.4)."


@pytest.mark.parametrize("y", [[0, 0], [-1, -2], [-1, 2], [1e-9, 1e-8], [1e7, 1e9]])
def test_any_range_of_values_is_drawn(y):
    assert numbers_are_finite(drawn(curves([Curve("a", [0, 1], y)], "time", "loss")))


@pytest.mark.parametrize("log_x", [False, True])
def test_a_single_point_is_drawn(log_x):
    assert "h0" in drawn(curves([Curve("a", [3], [1])], "time", "loss", log_x=log_x))


def test_bad_curves_are_refused():
    with pytest.raises(ValueError, match="needs both low and high"):
        Curve("a", [1], [1], low=[1])
    with pytest.raises(ValueError, match=r"must be lists of one length; got x \(2,\), y \(1,\)"):
        Curve("a", [1, 2], [1])
    with pytest.raises(ValueError, match="must be lists of one length"):
        Curve("a", [], [])
    with pytest.raises(ValueError, match="at least one finite y"):
        Curve("a", [1], [np.inf])
    with pytest.raises(ValueError, match="did you mean K-sync"):
        Curve("a", [1], [1], variant="ksync")


def test_bad_sets_of_curves_are_refused():
    for many in (None, [], [1]):
        with pytest.raises(TypeError, match="many must be a non-empty list of Curve"):
            curves(many, "x", "y")
    with pytest.raises(ValueError, match="at most 10 curves"):
        curves([Curve("a", [1], [1])] * 11, "x", "y")
    with pytest.raises(ValueError, match="too long to stand beside its curve"):
        curves([Curve("a name that goes on and on and on", [1], [1])], "x", "y")
    with pytest.raises(ValueError, match="needs x above 0, but 'a' has 0"):
        curves([Curve("a", [0], [1])], "x", "y", log_x=True)
    with pytest.raises(ValueError, match="needs y above 0, but 'a' has -1"):
        curves([Curve("a", [0], [-1])], "x", "y", log_y=True)


@pytest.mark.parametrize("times", [None, [0.0, 1.5, 6.0]])
def test_a_run_is_a_curve_with_its_own_variant_and_band(times):
    race = simulate("K-async", 4, 2, Exponential(), until=6, replicas=30, seed=3)
    run = train(Quadratic(start=3.0), race, every=2)
    line, expected = Curve.of_run(run, times), run.band(times)
    assert line.name == line.variant == "K-async"
    assert (line.x == (run.updates if times is None else times)).all()
    assert (line.y == expected.mean).all()
    assert (line.low == expected.low).all() and (line.high == expected.high).all()
    named = Curve.of_run(run, times, name="K = 2")
    assert (named.name, named.variant) == ("K = 2", "K-async")


def test_only_a_run_is_the_curve_of_a_run():
    with pytest.raises(
        TypeError, match=r"^run must be a Training, as train\(\.{3}\) returns it; got \[1\]\.$"
    ):
        Curve.of_run([1])


def test_only_a_dot_and_a_leader_lie_behind_the_end_of_a_curve():
    svg = drawn(curves([Curve("K-sync", [0, 1], [1, 2]), Curve("long", [0, 4], [0, 1])], "time, s", "loss"))
    (leader,) = leaders_of(svg)
    blue = re.findall(r'<path stroke="#0072b2"([^>]*)/>', svg)
    line, dot = (part.split(' d="M')[1] for part in blue)
    assert dot.count("h0") == 1 and len(blue) == 2
    end = float(re.match(r"[\d.]+", dot)[0])
    assert f"M{end:g} " in leader  # it begins where the curve ends
    start, across = (float(n) for n in re.match(r"([\d.]+) [\d.]+l([\d.]+)", line).groups())
    assert start + across == pytest.approx(end, abs=0.2)


def test_a_long_name_of_an_axis_takes_two_lines_and_one_that_needs_three_is_refused():
    name = "mean time until the last of all learners is done, and what it would be without waiting"
    svg = drawn(curves([Curve("a", [0, 1], [1, 2])], "x", name))
    ((words, _, height),) = words_of(svg)
    lines = [text for text, _, _ in words if len(text) > 10]
    assert " ".join(lines) == name and len(lines) == 2 and height == 224 + 16
    for names in (("x", 2 * name), (name, "y")):
        with pytest.raises(ValueError, match="of an axis is too long for a phone"):
            curves([Curve("a", [0, 1], [1, 2])], *names)
