"""Facts about contests: who has the smallest error when the time is up."""

import numpy as np
import pytest

from sgdrace import Constant, Exponential, PerLearner, Quadratic, contest, simulate, train, winner
from sgdrace.contests import CLOSE, Entry
from sgdrace.estimates import mean_of

BOWL = Quadratic([0.5, 1.0], sigma2=1.0, start=3.0)
TIMES = [0.5, 4.0]


def entry(variant, error, doubt=0.0):
    one = mean_of(np.array([[error - doubt], [error + doubt]]))
    return Entry(variant, 1, 0.1, one)


def test_an_error_is_the_mean_over_runs_of_the_loss_at_that_time():
    entries = contest(BOWL, Exponential(), 4, TIMES, [0.1, 0.3], K=[2], seed=3)
    race = simulate("K-async", 4, 2, Exponential(), 400, replicas=100, seed=3)
    for found in (one for one in entries if one.variant == "K-async"):
        loss = mean_of(train(BOWL, race, found.learning_rate, seed=4, every=1).at(TIMES))
        gap = np.hypot(loss.standard_error, found.error.standard_error)
        assert (abs(found.error.value - loss.value) < 5 * gap).all()  # one false alarm in 400,000


def test_protocols_that_coincide_are_raced_once():
    names = {(one.variant, one.K) for one in contest(BOWL, Constant(), 4, [1.0], [0.1], replicas=2)}
    assert names == {
        *((variant, 1) for variant in ("K-sync", "K-async")),
        *((variant, 2) for variant in ("K-sync", "K-batch-sync", "K-async", "K-batch-async")),
        *((variant, 4) for variant in ("K-sync", "K-batch-sync", "K-batch-async")),
    }


def test_only_batch_variants_take_more_gradients_than_there_are_learners():
    entries = contest(BOWL, Exponential(), 2, [1.0], [0.1], K=[3], replicas=2)
    assert [one.variant for one in entries] == ["K-batch-sync", "K-batch-async"]


def test_learners_may_differ():
    law = PerLearner(Exponential(), [1.0, 50.0])
    assert all(np.isfinite(one.error.value).all() for one in contest(BOWL, law, 2, [3.0], [0.1], replicas=3))


def test_a_step_that_diverges_has_an_infinite_error_and_does_not_win():
    entries = contest(BOWL, Exponential(), 4, [60.0], [0.1, 9.0], K=[4], replicas=4)
    assert {one.at(0).value for one in entries if one.learning_rate == 9.0} == {np.inf}
    assert winner(entries, 0)[0].learning_rate == 0.1


def test_the_winner_is_close_if_noise_could_explain_its_lead():
    sync, near, far = entry("K-sync", 1.0, 0.1), entry("K-async", 1.2, 0.1), entry("K-async", 2.0, 0.1)
    assert winner([near, sync], 0) == (sync, True) and winner([far, sync], 0) == (sync, False)
    edge = entry("K-async", 1.0 + CLOSE * 0.1)
    assert winner([edge, sync], 0)[1]
    assert not winner([sync, entry("K-sync", 1.1, 0.1)], 0)[1]  # no other variant


def test_bad_contests_are_refused():
    with pytest.raises(TypeError, match="entries must be those of a contest"):
        winner(3, 0)
    with pytest.raises(ValueError, match="a contest without entries has no winner"):
        winner([], 0)
    with pytest.raises(ValueError, match="every entry of times must be a finite number above 0"):
        contest(BOWL, Exponential(), 4, [0.0], [0.1])
    with pytest.raises(ValueError, match="every entry of learning_rates must be a finite number above 0"):
        contest(BOWL, Exponential(), 4, [1.0], [-0.1])
