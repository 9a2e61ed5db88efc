"""Facts about frames of the race."""

import re

import numpy as np
import pytest

from sgdrace.figures import Runner, race
from sgdrace.jobs import Jobs
from tests.figures.pictures import drawn, field, numbers_are_finite, words_of

JOBS = Jobs.of_rounds([[1.0, 2.0], [2.0, 2.0]])


def runner(loss, jobs=JOBS):
    return Runner(jobs, [0, 2, 4], loss)


def bold(svg):
    return re.findall(r'<g dominant-baseline="central"[^>]* font-weight="600">(.*?)</g>', svg)


def test_the_leader_is_bold_and_named_first():
    runners = field()
    t = min(one.jobs.last for one in runners)
    best = min(runners, key=lambda one: one.at(t)).jobs.variant
    (names,) = bold(drawn(race(runners, t)))
    assert re.findall(r">([^<]+)</text>", names) == [best]
    assert race(runners, t).text.startswith(f"At time {t:.3g} s: {best} has loss")


def test_before_anybody_has_updated_nobody_leads():
    assert bold(drawn(race(field(), 0.001))) == []


def test_the_loss_holds_until_the_next_update():
    one = runner([1.0, 0.5, 0.2])
    assert [one.at(t) for t in (0, 1.9, 2, 3.9, 4)] == [1.0, 1.0, 0.5, 0.5, 0.2]


def test_the_scale_of_the_losses_does_not_move():
    runners, found = field(), []
    for t in (1.0, 4.0):
        _, (words, _, _) = words_of(drawn(race(runners, t)))
        found.append([word for word in words if re.fullmatch(r"[\d.]+", word[0])])
    assert found[0] == found[1]


def test_the_window_moves_with_time():
    runners = field()
    last = min(one.jobs.last for one in runners)
    (words, _, _), _ = words_of(drawn(race(runners, last, window=2.0)))
    ticks = [float(text) for text, _, _ in words if re.fullmatch(r"[\d.]+", text)]
    assert min(ticks) >= last - 2


def test_a_runner_that_diverged_stays_at_the_top_and_comes_last():
    lost = runner([1.0, np.inf, np.inf])
    assert numbers_are_finite(drawn(race([lost, runner([1.0, 0.5, 0.2])], 4.0)))
    text = race([lost, runner([1.0, 0.5, 0.2])], 4.0).text
    assert text == (
        "At time 4 s: K-sync has loss 0.2 after 2 updates; K-sync has loss infinite after 2 updates."
    )


@pytest.mark.parametrize("t", [0.0, -1.0, 4.1])
def test_a_frame_needs_a_time_in_the_race(t):
    with pytest.raises(
        ValueError, match=r"^t must be (a finite number above 0|at most 4, where the first .*); got"
    ):
        race([runner([1.0, 0.5, 0.2])], t)


@pytest.mark.parametrize("runners", [None, [], [JOBS]])
def test_a_race_needs_runners(runners):
    with pytest.raises(TypeError, match="runners must be a non-empty list of Runner"):
        race(runners, 1.0)


@pytest.mark.parametrize(
    ("time", "loss", "words"),
    [
        ([0, 1], [1], "time and loss must be lists of one length"),
        ([], [], "time and loss must be lists of one length"),
        ([1, 2], [1, 1], "time must begin at 0 and not go back"),
        ([0, 2, 1], [1, 1, 1], "time must begin at 0 and not go back"),
        ([0, 1], [np.nan, 1], "loss at the start must be finite"),
    ],
)
def test_bad_runners_are_refused(time, loss, words):
    with pytest.raises(ValueError, match=words):
        Runner(JOBS, time, loss)


def test_a_runner_needs_a_race():
    with pytest.raises(TypeError, match=r"race must be a Race or its Jobs; got 'K-sync'\."):
        Runner("K-sync", [0], [1.0])
