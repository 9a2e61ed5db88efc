"""The four variants as one event loop that anybody can read, and that any engine can run.

Knows who waits for whom. It is the lesson of the book and the truth that the fast simulators are tested
against. An engine has three verbs: `start` a mini-batch (which cancels whatever that learner
is doing), wait for the `next` push, and tell what time it is `now`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Literal, NamedTuple, Protocol

from sgdrace._arguments import Seed, count, real, seed_sequence, shown
from sgdrace._memory import must_fit
from sgdrace._times import CHUNK, CommonTimes
from sgdrace.delays import Law, law_of_learners
from sgdrace.variants import variant_P_K

Fate = Literal["used", "stale", "cancelled", "unfinished"]


class Push(NamedTuple):
    """A learner hands in a gradient; `gradient` is None if the learner died and was replaced."""

    learner: int
    version: int
    gradient: Any = 0.0


class Update(NamedTuple):
    """Update j, made at this time from these pushes, the first to arrive first."""

    time: float
    pushes: list[Push]


@dataclass
class Job:
    """One mini-batch on one learner. `stale` work is used too, but was computed from an old version."""

    learner: int
    version: int
    start: float
    end: float
    fate: Fate = "unfinished"


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
) -> list[Update]:
    """Run one variant of SGD: `step` turns w_j and K pushes into w_{j+1}.

    Four learners that always need one second, two mini-batches per update:

    >>> engine = VirtualClock(P=4, draw=lambda learner: 1.0)
    >>> [update.time for update in run("K-async", P=4, K=2, engine=engine, updates=4)]
    [1.0, 1.0, 2.0, 2.0]
    """
    variant, P, K = variant_P_K(variant, P, K)
    updates = count("updates", updates)
    must_fit(f"{updates} updates of {K} pushes", 200 * updates * K)  # bytes, as Python keeps them
    for verb in ("start", "next", "now"):
        _callable(f"{verb} of engine", getattr(engine, verb, None))
    _callable("step", step)
    sync = variant.endswith("-sync")
    batch = "batch" in variant
    history: list[Update] = []
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
        now = engine.now()
        history.append(Update(now, pushes))
        again = range(P) if sync else waiting
        # A start cancels what that learner still runs.
        for learner in again:
            engine.start(learner, j + 1, w)
    return history


class VirtualClock:
    """An engine whose machines are simulated: `draw(learner)` says how long its next mini-batch takes.

    `jobs` logs every mini-batch with its fate. Ties go to the smaller learner.
    """

    def __init__(
        self, P: int, draw: Callable[[int], float], gradient: Callable[[Any], Any] = lambda w: 0.0
    ) -> None:
        self.P = count("P", P)
        must_fit(f"a clock of {self.P} learners", 8 * self.P)
        self.draw, self.gradient = _callable("draw", draw), _callable("gradient", gradient)
        self.clock = 0.0
        self.version = 0  # of the newest model that anybody has been given
        self.log: list[Job] = []
        self.running: list[Job | None] = [None] * self.P
        self.queue: list[tuple[float, int, int, Any]] = []  # (end, learner, number in the log, w)

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
        if (old := self.running[learner]) is not None:
            old.end, old.fate = self.clock, "cancelled"
        self.version = max(self.version, version)
        time = real(f"draw({learner}), a mini-batch time,", self.draw(learner), above=0, closed=True)
        job = Job(learner, version, self.clock, self.clock + time)
        if not math.isfinite(job.end):
            raise ValueError(f"the times drawn are too large: {self.clock:g} + {time:g} is no finite number.")
        self.running[learner] = job
        heappush(self.queue, (job.end, learner, len(self.log), w))
        self.log.append(job)

    def next(self) -> Push:
        """Move the clock to the next mini-batch that ends and was not cancelled."""
        while self.queue:
            end, learner, number, w = heappop(self.queue)
            job = self.log[number]
            if self.running[learner] is job:
                self.clock, self.running[learner] = end, None
                job.fate = "used" if job.version == self.version else "stale"
                return Push(learner, job.version, self.gradient(w))
        raise ValueError("nobody is at work, so that there is no next push; start a learner first.")

    def now(self) -> float:
        """Seconds since the start of the race."""
        return self.clock

    @property
    def jobs(self) -> list[Job]:
        """Every mini-batch so far; those that still run end now, and those that start now are left out."""
        cut = [Job(j.learner, j.version, j.start, min(j.end, self.clock), j.fate) for j in self.log]
        return [job for job in cut if job.fate != "unfinished" or job.start < self.clock]


def _callable(name: str, value: Any) -> Any:
    if not callable(value):
        raise TypeError(f"{name} must be a function; got {shown(value)}.")
    return value
