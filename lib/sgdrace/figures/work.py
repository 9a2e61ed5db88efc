"""What every learner did and when, as arrays that timelines are drawn from. Knows jobs; draws nothing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdrace._arguments import FloatArray, real
from sgdrace.protocol import Job, Update
from sgdrace.variants import variant_P_K

KINDS = ("used", "stale", "cancelled", "running", "idle")


class Bars(NamedTuple):
    """Stretches of time of one kind of work."""

    learner: NDArray[np.int64]
    start: FloatArray
    end: FloatArray


@dataclass(frozen=True, repr=False, eq=False)
class JobLog:
    """The jobs of one race, by learner and then by start, and the times of its updates.

    >>> from sgdrace.protocol import VirtualClock, run
    >>> engine = VirtualClock(P=2, draw=lambda learner: 1.0 + learner)
    >>> history = run("K-sync", P=2, K=2, engine=engine, updates=3)
    >>> log = JobLog.of("K-sync", 2, 2, engine.jobs, history)
    >>> log
    JobLog(K-sync, P=2, K=2: 6 jobs, 3 updates until 6)
    >>> log.shares()["idle"]
    0.25
    """

    variant: str
    P: int
    K: int
    learner: NDArray[np.int64]  # (jobs,)
    start: FloatArray  # (jobs,)
    end: FloatArray  # (jobs,)
    fate: NDArray[Any]  # (jobs,) used, stale, cancelled or unfinished
    updates: FloatArray  # (updates,)

    @classmethod
    def of(cls, variant: str, P: int, K: int, jobs: Sequence[Job], history: Sequence[Update]) -> "JobLog":
        """The log of an engine after `run` has returned this history."""
        variant, P, K = variant_P_K(variant, P, K)
        if not jobs or not history:
            raise ValueError("a log needs at least one job and one update: run the engine first.")
        jobs = sorted(jobs, key=lambda job: (job.learner, job.start))
        if jobs[-1].learner >= P:
            raise ValueError(f"P is {P}, but the jobs name learner {jobs[-1].learner}, counted from 0.")
        return cls(
            variant,
            P,
            K,
            np.array([job.learner for job in jobs]),
            np.array([job.start for job in jobs], dtype=np.float64),
            np.array([job.end for job in jobs], dtype=np.float64),
            np.array([job.fate for job in jobs]),
            np.array([update.time for update in history], dtype=np.float64),
        )

    @classmethod
    def of_rounds(cls, times: ArrayLike) -> "JobLog":
        """Synchronous rounds in which everybody waits for the slowest: times (rounds, P) of mini-batches.

        >>> JobLog.of_rounds([[1.0, 2.0], [2.0, 1.0]]).shares()["idle"]
        0.25
        """
        taken = round_times(times)
        rounds, P = taken.shape
        ends = taken.max(axis=1).cumsum()
        begins = np.append(0.0, ends[:-1])
        start = np.repeat(begins[None], P, axis=0).ravel()  # (P * rounds,)
        learner = np.repeat(np.arange(P), rounds)
        return cls("K-sync", P, P, learner, start, start + taken.T.ravel(), np.full(start.size, "used"), ends)

    def __repr__(self) -> str:
        size = f"{self.start.size} jobs, {self.updates.size} updates until {self.last:g}"
        return f"JobLog({self.variant}, P={self.P}, K={self.K}: {size})"

    @property
    def last(self) -> float:
        """The time of the last update: what is logged ends here."""
        return float(self.updates[-1])

    def until(self, t: float | None) -> float:
        """A time that the log reaches; None is its end."""
        if t is None:
            return self.last
        t = real("until", t, above=0)
        # A round that ends at t may do so after rounding.
        if t > self.last * (1 + 1e-12):
            raise ValueError(f"until must be at most {self.last:g}, where the log ends; got {t:g}.")
        return t

    def bars(self, begin: float, now: float) -> dict[str, Bars]:
        """What happened from `begin` to `now`, by kind. Nobody knows yet what becomes of a running job."""
        known = (self.end <= now) & (self.fate != "unfinished")
        last = np.append(self.learner[1:] != self.learner[:-1], True)
        next_start = np.where(last, math.inf, np.append(self.start[1:], math.inf))
        bars = {kind: (self.start, self.end, known & (self.fate == kind)) for kind in KINDS[:3]}
        bars["running"] = (self.start, np.full(self.end.shape, now), ~known & (self.start < now))
        bars["idle"] = (self.end, next_start, known)
        return {kind: self._stretch(begin, now, *stretch) for kind, stretch in bars.items()}

    def _stretch(self, begin: float, now: float, start: FloatArray, end: FloatArray, which: Any) -> Bars:
        left, right = np.maximum(start, begin), np.minimum(end, now)
        seen = which & (right > left)
        return Bars(self.learner[seen], left[seen], right[seen])

    def shares(self, until: float | None = None) -> dict[str, float]:
        """What share of the learners' time each kind of work took; together they are 1."""
        t = self.until(until)
        bars = self.bars(0.0, t)
        return {kind: float((bar.end - bar.start).sum() / (self.P * t)) for kind, bar in bars.items()}


def round_times(times: ArrayLike) -> FloatArray:
    """Times of mini-batches, (rounds, P)."""
    taken = np.asarray(times, dtype=np.float64)
    if taken.ndim != 2 or taken.size == 0:
        raise ValueError(f"times must have one row per round and one column per learner; got {taken.shape}.")
    if not (np.isfinite(taken) & (taken >= 0)).all() or not (taken.max(axis=1) > 0).all():
        raise ValueError("times must be finite and at least 0, and no round may take no time at all.")
    return taken
