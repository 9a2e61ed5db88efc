"""Facts about the mini-batches of a race, and what became of them."""

import numpy as np
import pytest

from sgdrace import VARIANTS, Constant, Empirical, Exponential, simulate
from sgdrace.jobs import FATES, Jobs
from sgdrace.protocol import VirtualClock, run


def race_of(variant, K=4, updates=30, law=None, **options):
    return simulate(variant, 8, K, law or Exponential(), updates, common=True, **options)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("K", [1, 3, 8])
def test_shares_of_time_add_up_to_one_at_any_time(variant, K):
    jobs = race_of(variant, K, 20).jobs()
    for until in (None, jobs.last, jobs.last / 3, 0.01):
        shares = jobs.shares(until)
        assert tuple(shares) == FATES
        assert sum(shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_shares_are_the_utilization_of_the_race(variant):
    race = race_of(variant, replicas=3)
    utilization = race.utilization()
    assert utilization.used.tolist() == (utilization.used_fresh + utilization.used_stale).tolist()
    for r in range(3):
        shares = race.jobs(r).shares()
        for fate in FATES:
            assert getattr(utilization, fate.replace(" ", "_"))[r] == pytest.approx(shares[fate], abs=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_where_no_time_passes_none_is_lost(variant):
    still = Empirical([0.0] * 10**6 + [1.0])
    race = simulate(variant, 4, 2, still, 3)
    assert race.time.max() == 0
    assert race.jobs().shares() == dict.fromkeys(FATES, 0.0) | {"used fresh": 1.0}
    assert race.utilization().used_fresh.tolist() == [1.0]
    assert race.utilization().used_stale.tolist() == [0.0]


def test_each_replica_has_its_own_jobs():
    race = race_of("K-async", replicas=2)
    assert race.jobs(0) == race.jobs() != race.jobs(1)
    with pytest.raises(ValueError, match=r"replica must be between 0 and 1; got 2\."):
        race.jobs(2)


def test_nobody_knows_yet_what_becomes_of_a_running_job():
    jobs = Jobs.of_rounds([[1.0, 4.0]])
    assert jobs.shares(2.0) == {
        "used fresh": 0.25, "used stale": 0, "cancelled": 0, "ignored": 0, "idle": 0.25, "running": 0.5,
    }  # fmt: skip


def test_jobs_know_what_was_ignored_and_above_which_staleness():
    jobs = race_of("K-batch-async", max_staleness=0).jobs()
    assert repr(jobs).startswith("Jobs(K-batch-async, P=8, K=4, max_staleness=0: ")
    shares = jobs.shares()
    assert shares["ignored"] > 0.2 and shares["used stale"] == shares["cancelled"] == shares["idle"] == 0
    assert race_of("K-batch-async").jobs().max_staleness is None


def test_learners_of_equal_speed_never_wait():
    assert Jobs.of_rounds([[1.0] * 4] * 3).shares()["idle"] == 0


def test_rounds_are_those_of_the_protocol():
    times = [[1.0, 3.0, 2.0], [2.0, 1.0, 1.5]]
    streams = [iter(column) for column in zip(*times, [9.0] * 3, strict=True)]
    engine = VirtualClock(3, lambda learner: next(streams[learner]))
    assert run("K-sync", 3, 3, engine, 2).jobs == Jobs.of_rounds(times)


def test_jobs_have_a_short_repr_and_cannot_be_changed():
    jobs = race_of("K-sync", law=Constant(1.0), updates=3).jobs()
    assert repr(jobs) == "Jobs(K-sync, P=8, K=4: 24 jobs, 3 updates until 3)"
    for name in ("learner", "start", "end", "version", "fate", "updates"):
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            getattr(jobs, name)[0] = 0


def test_jobs_do_not_reach_beyond_the_last_update():
    with pytest.raises(ValueError, match=r"until must be at most 4, where the race ends; got 5\."):
        Jobs.of_rounds([[4.0]]).until(5.0)


def made(
    learner=(0, 1), start=(0.0, 0.0), end=(1.0, 1.0), version=(0, 0), fate=("idle",) * 2, updates=(1.0,)
):
    return Jobs("K-sync", 2, 2, np.array(learner), start, end, np.array(version), np.array(fate), updates)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"learner": (0, 2)}, "learner must be between 0 and 1; got array"),
        ({"learner": (0.0, 1.0)}, "learner must be between 0 and 1; got array"),
        ({"fate": ("used", "idle")}, "fate must be one of used fresh, used stale, .*; got 'used'"),
        ({"start": (0.0,)}, "lists of one length, and at least one update"),
        ({"updates": ()}, "lists of one length, and at least one update"),
    ],
)
def test_jobs_that_cannot_be_are_refused(wrong, words):
    assert made().P == 2
    with pytest.raises(ValueError, match=words):
        made(**wrong)


@pytest.mark.parametrize("times", [[], [1.0], [[]], [[[1.0]]]])
def test_rounds_need_a_table_of_times(times):
    with pytest.raises(ValueError, match="one row per round and one column per learner"):
        Jobs.of_rounds(times)


@pytest.mark.parametrize("times", [[[-1.0]], [[float("nan")]], [[0.0, 0.0]]])
def test_rounds_need_times_that_can_be(times):
    with pytest.raises(ValueError, match="must be finite and at least 0"):
        Jobs.of_rounds(times)
