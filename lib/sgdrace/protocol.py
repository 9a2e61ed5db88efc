"""The four variants as one event loop that anybody can read, and that any engine can run.

Knows who waits for whom. It is the lesson of the book and the truth that the fast simulators are tested
against. An engine has three verbs: `start` a mini-batch (which cancels whatever that learner
is doing), wait for the `next` push, and tell what time it is `now`. Whatever the engine, `run` writes down
who did what and when.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol

import numpy as np

from sgdrace._arguments import Seed, count, real, seed_sequence, shown
from sgdrace._memory import must_fit
from sgdrace._times import CHUNK, CommonTimes
from sgdrace.delays import Law, law_of_learners
from sgdrace.jobs import Jobs
from sgdrace.race import Race
from sgdrace.variants import staleness_limit, variant_P_K

NOTHING = (0, 0, None)  # what a learner runs that waits: number, version and model


class Push(NamedTuple):
    """A learner hands in a gradient; `gradient` is None if the learner died and was replaced."""

    learner: int
    version: int
    gradient: Any = 0.0


class Arrival(NamedTuple):
    """What is remembered of a push: its gradient is forgotten once it has been used."""

    learner: int
    version: int
    time: float


class Update(NamedTuple):
    """Update j, made at this time from these pushes, the first to arrive first."""

    time: float
    pushes: list[Arrival]


@dataclass(slots=True)
class _Job:
    """One mini-batch on one learner."""

    learner: int
    version: int
    start: float
    end: float = math.inf
    fate: str = "running"


class Engine(Protocol):
    """What the event loop asks of the machines, simulated or real."""

    def start(self, learner: int, version: int, w: Any) -> None:
        """Let the learner compute a gradient at w, which is this version of the model."""
        ...

    def next(self) -> Push:
        """Wait for the next push."""
        ...

    def now(self) -> float:
        """The time on the engine's clock."""
        ...


def run(
    variant: str,
    P: int,
    K: int,
    engine: Engine,
    updates: int,
    w: Any = None,
    step: Callable[[Any, list[Push]], Any] = lambda w, pushes: w,
    max_staleness: int | None = None,
) -> "History":
    """Run one variant of SGD: `step` turns w_j and K pushes into w_{j+1}.

    In the async variants a gradient older than `max_staleness` updates is ignored, if there is such a limit:
    its push arrives without it, so that its learner starts again with the current model.

    Four learners that always need one second, two mini-batches per update:

    >>> engine = VirtualClock(P=4, draw=lambda learner: 1.0)
    >>> history = run("K-async", P=4, K=2, engine=engine, updates=4)
    >>> [update.time for update in history.updates]
    [1.0, 1.0, 2.0, 2.0]
    >>> history.race()
    Race(K-async, P=4, K=2: 1 replicas of 4 updates)
    >>> history.jobs.shares()["used stale"]
    0.75
    """
    variant, P, K = variant_P_K(variant, P, K)
    limit = staleness_limit(variant, max_staleness)
    updates = count("updates", updates)
    jobs = K + P if variant.endswith("-sync") else K  # of an update, at most
    must_fit(f"{updates} updates of {K} pushes", 300 * updates * jobs)  # bytes, as Python keeps them
    for verb in ("start", "next", "now"):
        _callable(f"{verb} of engine", getattr(engine, verb, None))
    _callable("step", step)
    engine = books = _Books(engine, limit)
    sync = variant.endswith("-sync")
    batch = "batch" in variant
    for learner in range(P):
        engine.start(learner, 0, w)
    # Update j turns w_j into w_{j+1}.
    for j in range(updates):
        pushes: list[Push] = []
        waiting = []
        while len(pushes) < K:
            push = engine.next()
            # One died; another took its place.
            if push.gradient is None:
                engine.start(push.learner, j, w)
            # No echo of a cancelled mini-batch.
            elif not sync or push.version == j:
                pushes.append(push)
                if batch and len(pushes) < K:
                    engine.start(push.learner, j, w)
                else:
                    waiting.append(push.learner)
        w = step(w, pushes)
        books.update(pushes)
        again = range(P) if sync else waiting
        # A start cancels what still runs there.
        for learner in again:
            engine.start(learner, j + 1, w)
    return books.history(variant, P, K, w)


@dataclass(frozen=True, repr=False, eq=False)
class History:
    """What happened in a run: its updates, its mini-batches, and the model that came out of it."""

    variant: str
    P: int
    K: int
    updates: list[Update]
    w: Any  # after the last update
    log: list[_Job]  # in the order in which they were started
    max_staleness: int | None = None
    ignored: list[tuple[int, int, float]] = field(default_factory=list)  # update, learner and time of each

    def __repr__(self) -> str:
        last = self.updates[-1].time
        return f"History({self.variant}, P={self.P}, K={self.K}: {len(self.updates)} updates until {last:g})"

    def race(self, law: Any = None) -> Race:
        """The timing, as a race of one replica; `law` is that of the delays, if known."""
        time = np.array([[update.time for update in self.updates]])
        # (1, updates, K) learner, version and time of each push
        learner, version, pushed = np.array([[update.pushes for update in self.updates]]).transpose(
            3, 0, 1, 2
        )
        staleness = (np.arange(time.size)[:, None] - version).astype(np.int32)
        who = learner.astype(np.int32)
        ignored = None
        if self.max_staleness is not None:
            ignored = np.full((1, time.size, self.P), -1.0)
            for update, late, t in self.ignored:
                ignored[0, update, late] = t
        return Race(
            *(self.variant, self.P, self.K, time, who, staleness, pushed),
            law=law,
            max_staleness=self.max_staleness,
            ignored=ignored,
        )

    @cached_property
    def jobs(self) -> Jobs:
        """Every mini-batch until the last update; what starts with it is left out."""
        last = self.updates[-1].time
        seen = [job for job in self.log if job.fate != "running" or job.start < last]
        seen.sort(key=lambda job: job.learner)  # stable: those of a learner stay in their order
        return Jobs(
            self.variant,
            self.P,
            self.K,
            np.array([job.learner for job in seen]),
            np.array([job.start for job in seen]),
            np.minimum([job.end for job in seen], last),
            np.array([job.version for job in seen]),
            np.array([job.fate for job in seen]),
            np.array([update.time for update in self.updates]),
            self.max_staleness,
        )


class _Books:
    """An engine that does what another one does, ignores what is too stale, and writes it all down."""

    def __init__(self, engine: Engine, max_staleness: int | None) -> None:
        self.engine, self.max_staleness = engine, max_staleness
        self.log: list[_Job] = []
        self.running: dict[int, _Job] = {}  # by learner
        self.arrivals: list[tuple[Push, float]] = []  # since the last update
        self.updates: list[Update] = []
        self.ignored: list[tuple[int, int, float]] = []

    def now(self) -> float:
        return real("now of engine", self.engine.now())

    def start(self, learner: int, version: int, w: Any) -> None:
        self.engine.start(learner, version, w)
        now = self.now()
        if (old := self.running.get(learner)) is not None:
            old.end, old.fate = now, "cancelled"
        self.running[learner] = _Job(learner, version, now)
        self.log.append(self.running[learner])

    def next(self) -> Push:
        push, now = self.engine.next(), self.now()
        self.arrivals.append((push, now))
        job = self.running.get(push.learner)
        # Who died leaves a job that the next start cancels, and so does the echo of a cancelled mini-batch.
        if job is not None and push.gradient is not None and job.version == push.version:
            job.end, job.fate = now, "used fresh" if job.version == len(self.updates) else "used stale"
            del self.running[push.learner]
            if self.max_staleness is not None and len(self.updates) - job.version > self.max_staleness:
                job.fate = "ignored"
                self.ignored.append((len(self.updates), push.learner, now))
                return push._replace(gradient=None)  # as of one that died: its learner starts again
        return push

    def update(self, pushes: list[Push]) -> None:
        """Note an update from these pushes, and forget their gradients."""
        taken = set(map(id, pushes))
        used = [Arrival(push.learner, push.version, t) for push, t in self.arrivals if id(push) in taken]
        self.updates.append(Update(self.now(), used))
        self.arrivals.clear()

    def history(self, variant: str, P: int, K: int, w: Any) -> History:
        return History(variant, P, K, self.updates, w, self.log, self.max_staleness, self.ignored)


class VirtualClock:
    """An engine whose machines are simulated: `draw(learner)` says how long its next mini-batch takes.

    Ties go to the smaller learner.
    """

    def __init__(
        self, P: int, draw: Callable[[int], float], gradient: Callable[[Any], Any] = lambda w: 0.0
    ) -> None:
        self.P = count("P", P)
        must_fit(f"a clock of {self.P} learners", 8 * self.P)
        self.draw, self.gradient = _callable("draw", draw), _callable("gradient", gradient)
        self.clock = 0.0
        self.started = 0  # mini-batches so far
        self.running: list[tuple[int, int, Any]] = [NOTHING] * self.P  # (number, version, w)
        self.queue: list[tuple[float, int, int]] = []  # (end, learner, number)

    @classmethod
    def of_law(cls, delay: Law, P: int, seed: Seed = 0) -> "VirtualClock":
        """A clock on the streams that `simulate(..., replicas=1, common=True)` uses with this seed.

        >>> from sgdrace import Exponential
        >>> VirtualClock.of_law(Exponential(), P=2, seed=0).now()
        0.0
        """
        law = law_of_learners(delay, count("P", P))
        must_fit(f"{P} streams of times", 8 * CHUNK * P)
        return cls(P, CommonTimes(law, P, seed_sequence(seed).spawn(1)).reader(0))

    def start(self, learner: int, version: int, w: Any) -> None:
        """Start a mini-batch; one that the learner is still working on is cancelled."""
        if not 0 <= learner < self.P:
            raise ValueError(f"this clock has learners 0 to {self.P - 1}; it was asked to start {learner}.")
        time = real(f"draw({learner}), a mini-batch time,", self.draw(learner), above=0, closed=True)
        end = self.clock + time
        if not math.isfinite(end):
            raise ValueError(f"the times drawn are too large: {self.clock:g} + {time:g} is no finite number.")
        self.started += 1
        self.running[learner] = self.started, version, w
        heappush(self.queue, (end, learner, self.started))

    def next(self) -> Push:
        """Move the clock to the next mini-batch that ends and was not cancelled."""
        while self.queue:
            end, learner, number = heappop(self.queue)
            started, version, w = self.running[learner]
            if started == number:
                self.clock, self.running[learner] = end, NOTHING
                return Push(learner, version, self.gradient(w))
        raise ValueError("nobody is at work, so that there is no next push; start a learner first.")

    def now(self) -> float:
        """Seconds since the start of the race."""
        return self.clock


def _callable(name: str, value: Any) -> Any:
    if not callable(value):
        raise TypeError(f"{name} must be a function; got {shown(value)}.")
    return value
