"""Facts about the event loop, on timelines small enough to check by hand."""

import itertools
import math
import tracemalloc
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sgdrace import VARIANTS, Exponential, Lomax, PerLearner, simulate
from sgdrace.protocol import Push, VirtualClock, run


def clock(*streams):
    """A clock on which learner i takes the times of its own list, one after the other."""
    queues = [iter(stream) for stream in streams]
    return VirtualClock(len(streams), lambda learner: next(queues[learner]))


def story(history):
    """(time, learners, staleness) of every update."""
    return [
        (update.time, [push.learner for push in update.pushes], [j - push.version for push in update.pushes])
        for j, update in enumerate(history.updates)
    ]


def fates(history):
    jobs = history.jobs
    parts = (jobs.learner, jobs.start, jobs.end, jobs.version, jobs.fate)
    return list(zip(*(part.tolist() for part in parts), strict=True))


def test_k_sync_cancels_whoever_is_late():
    engine = clock([1.0, 1.0, 9.0], [3.0, 2.0, 9.0])
    history = run("K-sync", 2, 1, engine, 2)
    assert story(history) == [(1, [0], [0]), (2, [0], [0])]
    assert fates(history) == [
        (0, 0, 1, 0, "used fresh"),
        (0, 1, 2, 1, "used fresh"),
        (1, 0, 1, 0, "cancelled"),
        (1, 1, 2, 1, "cancelled"),
    ]


def test_k_batch_sync_lets_a_fast_learner_push_twice():
    engine = clock([1.0, 1.0, 9.0, 9.0], [5.0, 9.0])
    history = run("K-batch-sync", 2, 2, engine, 1)
    assert story(history) == [(2, [0, 0], [0, 0])]
    assert fates(history) == [
        (0, 0, 1, 0, "used fresh"),
        (0, 1, 2, 0, "used fresh"),
        (1, 0, 2, 0, "cancelled"),
    ]


def test_k_async_waits_for_different_learners_and_keeps_the_slow_one():
    engine = clock([1.0, 1.0, 9.0], [2.0, 1.0, 9.0], [2.5, 9.0])
    history = run("K-async", 3, 2, engine, 2)
    assert story(history) == [(2, [0, 1], [0, 0]), (3, [2, 0], [1, 0])]
    assert fates(history) == [
        (0, 0, 1, 0, "used fresh"),
        (0, 2, 3, 1, "used fresh"),
        (1, 0, 2, 0, "used fresh"),
        (1, 2, 3, 1, "running"),
        (2, 0, 2.5, 0, "used stale"),
    ]


def test_in_k_batch_async_the_learner_that_completes_the_batch_pulls_the_new_version():
    engine = clock([1.0, 0.5, 1.0, 9.0], [2.0, 9.0])
    # pushes: 0 at 1 (from version 0, pulls 0), 0 at 1.5 (completes, pulls 1), 1 at 2 (stale), 0 at 2.5
    assert story(run("K-batch-async", 2, 2, engine, 2)) == [(1.5, [0, 0], [0, 0]), (2.5, [1, 0], [1, 0])]


def test_a_gradient_that_is_too_stale_is_ignored_and_its_learner_pulls_the_current_version():
    engine = clock([1.0, 1.0, 1.0, 9.0], [2.5, 0.25, 9.0])
    # learner 0 makes updates 0 and 1; at 2.5 learner 1 brings version 0, two updates old, and begins again
    history = run("K-batch-async", 2, 1, engine, 3, max_staleness=1)
    assert story(history) == [(1, [0], [0]), (2, [0], [0]), (2.75, [1], [0])]
    assert fates(history) == [
        (0, 0, 1, 0, "used fresh"),
        (0, 1, 2, 1, "used fresh"),
        (0, 2, 2.75, 2, "running"),
        (1, 0, 2.5, 0, "ignored"),
        (1, 2.5, 2.75, 2, "used fresh"),
    ]
    race = history.race()
    assert race.max_staleness == 1
    assert race.ignored.tolist() == [[[-1, -1], [-1, -1], [-1, 2.5]]]


def test_a_limit_of_0_ignores_what_k_batch_sync_cancels():
    streams = [2.0, 1.0, 1.0, 9.0], [1.0, 2.0, 9.0]
    cancelled = run("K-batch-sync", 2, 2, clock(*streams), 1)
    ignored = run("K-batch-async", 2, 2, clock(*streams), 2, max_staleness=0)
    assert story(cancelled) == story(ignored)[:1] == [(2, [1, 0], [0, 0])]
    # the second mini-batch of learner 1 runs on until 3 and counts for nothing; then learner 0 pushes twice
    assert story(ignored)[1] == (4, [0, 0], [0, 0])
    assert fates(ignored)[-2:] == [(1, 1, 3, 0, "ignored"), (1, 3, 4, 1, "running")]


def test_in_k_async_with_a_limit_whoever_was_ignored_does_not_wait():
    engine = clock([1.0, 1.0, 9.0], [1.5, 2.0, 9.0], [2.0, 0.25, 9.0])
    # update 0 at 1.5 from learners 0 and 1; learner 2 is ignored at 2 and counts at 2.25, learner 0 at 2.5
    history = run("K-async", 3, 2, engine, 2, max_staleness=0)
    assert story(history) == [(1.5, [0, 1], [0, 0]), (2.5, [2, 0], [0, 0])]
    assert fates(history)[-2:] == [(2, 0, 2, 0, "ignored"), (2, 2, 2.25, 1, "used fresh")]


def test_who_died_is_not_ignored():
    class Mortal(VirtualClock):
        def next(self):
            push = super().next()
            return push._replace(gradient=None) if push.learner == 1 else push

    times = [iter([1.0] * 9), iter([2.5, 9.0])]
    history = run("K-batch-async", 2, 1, Mortal(2, lambda i: next(times[i])), 4, max_staleness=0)
    assert (history.race().ignored == -1).all()
    assert [fate for *_, fate in fates(history)][-2:] == ["cancelled", "running"]


def test_ties_go_to_the_smaller_learner():
    engine = VirtualClock(4, lambda learner: 1.0)
    assert story(run("K-async", 4, 2, engine, 4)) == [
        (1, [0, 1], [0, 0]),
        (1, [2, 3], [1, 1]),
        (2, [0, 1], [1, 1]),
        (2, [2, 3], [1, 1]),
    ]


@pytest.mark.parametrize("variant", VARIANTS)
def test_jobs_of_a_learner_never_overlap_and_cover_all_but_idle_time(variant):
    engine = VirtualClock.of_law(Exponential(), P=5, seed=3)
    jobs = run(variant, 5, 3, engine, 40).jobs
    for learner in range(5):
        who = jobs.learner == learner
        mine = sorted(zip(jobs.start[who].tolist(), jobs.end[who].tolist(), strict=True))
        gaps = [b[0] - a[1] for a, b in itertools.pairwise(mine)]
        assert min(gaps) >= 0
        assert "batch" not in variant or max(gaps) == 0


def test_a_replaced_learner_starts_again_from_the_current_model():
    class Mortal(VirtualClock):
        """Learner 1 dies in its first mini-batch."""

        deaths = 0

        def next(self):
            push = super().next()
            if push.learner == 1 and not self.deaths:
                self.deaths = 1
                return Push(1, push.version, None)
            return push

    times = [iter([1.0, 1.0, 5.0, 5.0]), iter([2.5, 0.25, 5.0])]
    engine = Mortal(2, lambda learner: next(times[learner]))
    history = run("K-async", 2, 1, engine, 3)
    assert story(history) == [(1, [0], [0]), (2, [0], [0]), (2.75, [1], [0])]
    assert fates(history)[-2:] == [(1, 0, 2.5, 0, "cancelled"), (1, 2.5, 2.75, 2, "used fresh")]


def test_an_echo_of_a_cancelled_mini_batch_is_ignored():
    class Echo:
        """Hands in a gradient of version 0 after version 1 was started."""

        def __init__(self):
            self.pushes = iter([Push(0, 0), Push(1, 0), Push(0, 1)])

        def start(self, learner, version, w): ...

        def next(self):
            return next(self.pushes)

        def now(self):
            return 0.0

    history = run("K-sync", 2, 1, Echo(), 2)
    assert [update.pushes for update in history.updates] == [[(0, 0, 0.0)], [(0, 1, 0.0)]]


def test_the_loop_trains_a_real_model():
    def step(w, pushes):
        return w - 0.5 * np.mean([push.gradient for push in pushes], axis=0)

    seen = []
    engine = VirtualClock(2, lambda learner: 1.0 + learner, gradient=lambda w: 2 * w)
    run("K-sync", 2, 2, engine, 3, w=8.0, step=lambda w, pushes: seen.append(w) or step(w, pushes) / 2)
    assert seen == [8.0, 0.0, 0.0]


def test_a_gradient_is_computed_from_the_model_that_was_pulled():
    trail = []
    engine = clock([1.0, 1.0, 1.0, 9.0], [2.5, 9.0])
    engine.gradient = lambda w: w
    run("K-async", 2, 1, engine, 3, w=0, step=lambda w, pushes: trail.append(pushes[0].gradient) or w + 1)
    assert trail == [0, 1, 0]  # the third update comes from learner 1, which still holds w_0


def test_the_same_seed_gives_the_race_of_simulate():
    law = PerLearner(Exponential(), factors=[1, 2, 4])
    race = simulate("K-batch-async", 3, 2, law, updates=20, seed=11, common=True)
    history = run("K-batch-async", 3, 2, VirtualClock.of_law(law, P=3, seed=11), 20)
    assert [update.time for update in history.updates] == race.time[0].tolist()


@pytest.mark.parametrize("time", [Decimal("0.5"), Fraction(1, 2), np.array(0.5), np.float32(0.5)])
def test_a_mini_batch_time_may_be_any_real_number(time):
    history = run("K-sync", 2, 2, VirtualClock(2, lambda learner: time), 2)
    assert [update.time for update in history.updates] == [0.5, 1.0]
    assert all(type(update.time) is float for update in history.updates)


def test_a_clock_may_have_more_learners_than_a_run_starts():
    history = run("K-sync", 2, 2, VirtualClock(5, lambda learner: 1.0 + learner), 2)
    assert [update.time for update in history.updates] == [2, 4]


class Office:
    """An engine as somebody might write it for real machines: no log, a clock of its own that begins at 7."""

    def __init__(self, P):
        self.clock, self.at_work = 7.0, {}

    def start(self, learner, version, w):
        self.at_work.pop(learner, None)
        self.at_work[learner] = version

    def next(self):
        self.clock += 0.25
        learner = next(iter(self.at_work))
        return Push(learner, self.at_work.pop(learner), 1.0)

    def now(self):
        return self.clock


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_books_are_kept_whatever_the_engine(variant):
    history = run(variant, 3, 2, Office(3), 6)
    race, jobs = history.race(law=Exponential()), history.jobs
    assert race.law == Exponential() and race.time.tolist() == [[7.5, 8, 8.5, 9, 9.5, 10]]
    assert race.pushed[0, :, 0].tolist() == [7.25, 7.75, 8.25, 8.75, 9.25, 9.75]
    used = np.char.startswith(jobs.fate, "used")
    assert used.sum() == 12 and (jobs.fate == "cancelled").any() == variant.endswith("-sync")
    assert sorted(jobs.end[used].tolist()) == race.pushed.ravel().tolist()
    fresh = jobs.fate[used] == "used fresh"
    assert fresh.sum() == (race.staleness == 0).sum()


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_race_of_the_protocol_is_that_of_simulate(variant):
    race = simulate(variant, 4, 3, Exponential(), updates=20, seed=2, common=True)
    history = run(variant, 4, 3, VirtualClock.of_law(Exponential(), P=4, seed=2), 20)
    assert history.race(law=Exponential()) == race
    assert repr(history) == f"History({variant}, P=4, K=3: 20 updates until {race.time[0, -1]:g})"


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_run_forgets_gradients_and_models_once_they_have_been_used(variant):
    engine = VirtualClock.of_law(Lomax(1.5), P=8, seed=0)
    engine.gradient = lambda w: 2 * w
    tracemalloc.start()
    history = run(
        variant, 8, 4, engine, 100, np.ones(10_000), lambda w, pushes: w - 1e-3 * pushes[0].gradient
    )
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert history.w.shape == (10_000,)
    assert now < 3e6 and peak < 4e6  # 100 updates of 4 gradients would be 32e6


def test_a_clock_must_tell_the_time():
    engine = Office(2)
    engine.now = lambda: None
    with pytest.raises(TypeError, match="now of engine must be a number; got None"):
        run("K-sync", 2, 1, engine, 1)


def drawn(value):
    return lambda: run("K-async", 2, 1, VirtualClock(2, lambda learner: value), 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (drawn(math.nan), ValueError, r"draw\(0\), a mini-batch time, must be a .* at least 0; got nan"),
        (drawn(-1.0), ValueError, "at least 0; got -1"),
        (drawn(math.inf), ValueError, "at least 0; got inf"),
        (drawn(None), TypeError, "must be a number; got None"),
        (drawn("1"), TypeError, "must be a number; got '1'"),
        (drawn(1j), TypeError, "must be a number; got 1j"),
        (drawn(True), TypeError, "must be a number; got True"),
        (drawn(np.timedelta64(1, "s")), TypeError, "must be a number; got np.timedelta64"),
        (drawn(np.ones(2)), TypeError, "must be a number; got array"),
        (drawn(1e308), ValueError, r"times drawn are too large: 1e\+308 \+ 1e\+308 is no finite number"),
        (lambda: VirtualClock(2, 1.0), TypeError, "draw must be a function; got 1.0"),
        (lambda: VirtualClock(2, abs, gradient=0.0), TypeError, "gradient must be a function; got 0.0"),
        (lambda: VirtualClock(10**12, abs), ValueError, "a clock of 1000000000000 learners would take"),
        (lambda: VirtualClock.of_law(Exponential(), 10**12), ValueError, "1000000000000 streams of times"),
        (lambda: VirtualClock(2, abs).next(), ValueError, "nobody is at work"),
        (lambda: VirtualClock(2, abs).start(-1, 0, None), ValueError, "learners 0 to 1; .* start -1"),
        (lambda: run("K-sync", 3, 1, VirtualClock(2, abs), 3), ValueError, "learners 0 to 1; .* start 2"),
        (
            lambda: run("K-sync", 2, 1, VirtualClock(2, abs), 10**12),
            ValueError,
            "updates of 1 pushes would take",
        ),
        (lambda: run("K-sync", 2, 1, None, 3), TypeError, "start of engine must be a function; got None"),
        (
            lambda: run("K-sync", 2, 1, VirtualClock(2, abs), 3, step=1),
            TypeError,
            "step must be a function; got 1",
        ),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
