"""Facts about the log of a race."""

import pytest

from sgdrace import VARIANTS, simulate
from sgdrace.delays import Exponential
from sgdrace.figures import JobLog
from sgdrace.protocol import Job, Update, VirtualClock, run
from tests.figures.pictures import log_of


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("K", [1, 3, 8])
def test_shares_of_time_add_up_to_one_at_any_time(variant, K):
    log = log_of(variant, 8, K, 20)
    for until in (None, log.last, log.last / 3, 0.01):
        assert sum(log.shares(until).values()) == pytest.approx(1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_shares_are_those_of_the_race(variant):
    race = simulate(variant, 8, 4, Exponential(), 30, seed=0, common=True).utilization()
    shares = log_of(variant, 8, 4, 30).shares()
    assert shares["used"] + shares["stale"] == pytest.approx(race.used[0])
    assert shares["idle"] == pytest.approx(race.idle[0])
    assert shares["cancelled"] == pytest.approx(race.cancelled[0])
    assert shares["running"] == pytest.approx(race.unfinished[0])


def test_nobody_knows_yet_what_becomes_of_a_running_job():
    log = JobLog.of_rounds([[1.0, 4.0]])
    assert log.shares(2.0) == {"used": 0.25, "stale": 0, "cancelled": 0, "running": 0.5, "idle": 0.25}


def test_learners_of_equal_speed_never_wait():
    assert JobLog.of_rounds([[1.0] * 4] * 3).shares()["idle"] == 0


def test_rounds_are_those_of_the_protocol():
    times = [[1.0, 3.0, 2.0], [2.0, 1.0, 1.5]]
    streams = [iter(column) for column in zip(*times, [9.0] * 3, strict=True)]
    engine = VirtualClock(3, lambda learner: next(streams[learner]))
    history = run("K-sync", 3, 3, engine, 2)
    one, other = JobLog.of("K-sync", 3, 3, engine.jobs, history), JobLog.of_rounds(times)
    for name in ("learner", "start", "end", "fate", "updates"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


def test_a_log_does_not_reach_beyond_its_last_update():
    with pytest.raises(ValueError, match=r"until must be at most 4, where the log ends; got 5\."):
        JobLog.of_rounds([[4.0]]).until(5.0)


def test_bad_logs_are_refused():
    with pytest.raises(ValueError, match="at least one job and one update"):
        JobLog.of("K-sync", 1, 1, [], [])
    with pytest.raises(ValueError, match=r"P is 1, but the jobs name learner 1, counted from 0\."):
        JobLog.of("K-sync", 1, 1, [Job(1, 0, 0.0, 1.0, "used")], [Update(1.0, [])])


@pytest.mark.parametrize("times", [[], [1.0], [[]], [[[1.0]]]])
def test_rounds_need_a_table_of_times(times):
    with pytest.raises(ValueError, match="one row per round and one column per learner"):
        JobLog.of_rounds(times)


@pytest.mark.parametrize("times", [[[-1.0]], [[float("nan")]], [[0.0, 0.0]]])
def test_rounds_need_times_that_can_be(times):
    with pytest.raises(ValueError, match="must be finite and at least 0"):
        JobLog.of_rounds(times)
