"""Facts about the picture of a run whose K changes."""

import numpy as np
import pytest
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch

from sgdrace import Constant, Exponential, Quadratic, QuadraticRule, simulate, train, train_adaptively
from sgdrace.figures import VARIANT, patience
from tests.figures.pictures import drawn, numbers_are_finite

COLOR = VARIANT["K-sync"].color
HILL = Quadratic(sigma2=1.0, start=3.0)


def run_of(rule=None, **settings):
    settings = {"learning_rate": 0.1, "until": 20.0, "seed": 1} | settings
    return train_adaptively(HILL, "K-sync", 8, Exponential(), rule or QuadraticRule(1, 8), **settings)


def kept(K, updates):
    race = simulate("K-sync", 8, K, Exponential(), updates, seed=2)
    return train(HILL, race, 0.1, seed=2, every=1)


def taken(picture):
    """How many seats are taken: boxes in the color of the variant, of five points each."""
    boxes = [one for one in picture.figures[0].findobj(PathPatch) if one.get_facecolor()[3] == 1]
    return sum(len(box.get_path().vertices) // 5 for box in boxes)


@pytest.mark.parametrize("t", [0.0, 3.0, 20.0])
def test_as_many_seats_are_taken_as_the_next_update_waits_for(t):
    run = run_of()
    made = np.searchsorted(run.time[0], t, side="right") - 1
    K = run.K[0, min(made, run.K.shape[1] - 1)]
    picture = patience(run, t)
    assert taken(picture) == K
    assert f"K = {K} of 8" in picture.text


def test_a_run_with_a_fixed_K_never_changes_its_seats():
    run = kept(3, 60)
    assert {taken(patience(run, t)) for t in (0.0, 2.0, 5.0)} == {3}


def test_a_K_above_P_takes_all_seats_and_stretches_the_axis():
    run = train_adaptively(HILL, "K-batch-sync", 4, Constant(), lambda now: 6 + 0 * now.time, 0.1, updates=9)
    assert taken(patience(run, 1.0)) == 4
    assert ">6</text>" in drawn(patience(run, 1.0))


def test_axes_stay_while_time_goes_by():
    run, rivals = run_of(), {"K = 8": kept(8, 30)}
    frames = [drawn(patience(run, t, rivals, until=15.0)) for t in (1.0, 15.0)]
    ticks = [[line for line in frame.split("<") if 'stroke-opacity=".15"' in line] for frame in frames]
    assert ticks[0] == ticks[1] != []


def test_the_curve_ends_at_the_loss_of_the_moment_and_words_tell_it():
    run, rival = run_of(), kept(8, 30)
    picture = patience(run, 10.0, {"K = 8": rival})
    assert f"the loss is {run.at([10.0])[0, 0]:.3g}" in picture.text
    assert f"that of K = 8 is {rival.at([10.0])[0, 0]:.3g}" in picture.text
    assert [line for line in picture.figures[0].findobj(Line2D) if line.get_color() == COLOR]


def test_what_has_diverged_leaves_at_the_top():
    race = simulate("K-sync", 8, 8, Exponential(), 400, seed=2)
    lost = train(HILL, race, 9.0, every=1)
    assert (lost.diverged >= 0).all()
    svg = drawn(patience(run_of(), 20.0, {"lost": lost}, ylim=(0.01, 10)))
    assert "lost ↑" in svg
    assert numbers_are_finite(svg)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"t": 99.0}, ValueError, "t must be at most .*, where the axis of time ends; got 99"),
        ({"t": -1.0}, ValueError, "t must be a finite number of at least 0; got -1"),
        (
            {"t": 1.0, "until": 99.0},
            ValueError,
            "until must be at most .*, when the first of these runs ends",
        ),
        ({"t": 1.0, "rivals": {"K = 1": 3}}, TypeError, "run and all rivals must be trainings"),
        ({"t": 1.0, "rivals": dict.fromkeys("abcd", 0)}, TypeError, "run and all rivals must be trainings"),
    ],
)
def test_wrong_calls_are_refused_in_one_sentence(arguments, error, message):
    with pytest.raises(error, match=message):
        patience(run_of(), **arguments)


def test_too_many_rivals_are_refused():
    run = run_of()
    with pytest.raises(ValueError, match="at most 3 rivals can be told apart beside a run; got 4"):
        patience(run, 1.0, dict.fromkeys("abcd", run))
