"""What every learner did and when: the mini-batches of one race, and what became of each.

Knows jobs and their fates; nothing of delays, and draws nothing.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdrace._arguments import FloatArray, floats, real, shown, store
from sgdrace._records import Record, read_only
from sgdrace.variants import staleness_limit, variant_P_K

# What becomes of a learner's time. All but idle are fates of mini-batches.
FATES = ("used fresh", "used stale", "cancelled", "ignored", "idle", "running")


class Bars(NamedTuple):
    """Stretches of time that had the same fate."""

    learner: NDArray[np.int64]
    start: FloatArray
    end: FloatArray


@dataclass(frozen=True, repr=False, eq=False)
class Jobs(Record):
    """The mini-batches of one race, by learner and then in their order, and the times of its updates.

    What still runs at the last update ends there; nobody knows yet what becomes of it.

    >>> Jobs.of_rounds([[1.0, 2.0], [2.0, 1.0]])
    Jobs(K-sync, P=2, K=2: 4 jobs, 2 updates until 4)
    """

    variant: str
    P: int
    K: int
    learner: NDArray[np.int64]  # (jobs,)
    start: FloatArray  # (jobs,)
    end: FloatArray  # (jobs,)
    version: NDArray[np.int64]  # (jobs,) of the model that the gradient was computed with
    fate: NDArray[np.str_]  # (jobs,)
    updates: FloatArray  # (updates,)
    max_staleness: int | None = None  # above which a gradient was ignored

    def __post_init__(self) -> None:
        variant, P, K = variant_P_K(self.variant, self.P, self.K)
        start, end = floats("start", self.start), floats("end", self.end)
        updates = floats("updates", self.updates)
        lists: tuple[NDArray[Any], ...] = tuple(map(np.asarray, (self.learner, self.version, self.fate)))
        learner, version, fate = lists
        sizes = {part.shape for part in (learner, start, end, version, fate)}
        if len(sizes) > 1 or start.ndim != 1 or updates.ndim != 1 or updates.size == 0:
            raise ValueError("jobs need lists of one length, and at least one update.")
        if learner.dtype.kind not in "iu" or ((learner < 0) | (learner >= P)).any():
            raise ValueError(f"learner must be between 0 and {P - 1}; got {shown(learner)}.")
        if unknown := set(np.unique(fate).tolist()) - set(FATES):
            raise ValueError(f"fate must be one of {', '.join(FATES)}; got {min(unknown)!r}.")
        arrays = {"learner": learner, "start": start, "end": end, "version": version, "fate": fate}
        limit = staleness_limit(variant, self.max_staleness)
        store(self, variant=variant, P=P, K=K, updates=read_only(updates), max_staleness=limit)
        store(self, **{name: read_only(array) for name, array in arrays.items()})

    @classmethod
    def of_rounds(cls, times: ArrayLike) -> "Jobs":
        """Synchronous rounds in which everybody waits for the slowest: times (rounds, P) of mini-batches.

        >>> Jobs.of_rounds([[1.0, 2.0], [2.0, 1.0]]).shares()["idle"]
        0.25
        """
        taken = round_times(times)
        rounds, P = taken.shape
        ends = taken.max(axis=1).cumsum()
        begins = np.append(0.0, ends[:-1])
        start = np.tile(begins, P)  # (P * rounds,)
        learner, version = np.divmod(np.arange(start.size), rounds)
        fate = np.full(start.size, "used fresh")
        return cls("K-sync", P, P, learner, start, start + taken.T.ravel(), version, fate, ends)

    def __repr__(self) -> str:
        size = f"{self.start.size} jobs, {self.updates.size} updates until {self.last:g}"
        limit = "" if self.max_staleness is None else f", max_staleness={self.max_staleness}"
        return f"Jobs({self.variant}, P={self.P}, K={self.K}{limit}: {size})"

    @property
    def last(self) -> float:
        """The time of the last update: what is known ends here."""
        return float(self.updates[-1])

    def until(self, t: float | None) -> float:
        """A time that the race reaches; None is its end."""
        if t is None:
            return self.last
        t = real("until", t, above=0)
        # A round that ends at t may do so after rounding.
        if t > self.last * (1 + 1e-12):
            raise ValueError(f"until must be at most {self.last:g}, where the race ends; got {t:g}.")
        return t

    def bars(self, begin: float, now: float) -> dict[str, Bars]:
        """What happened from `begin` to `now`, by fate. Nobody knows yet what becomes of a running job."""
        known = (self.end <= now) & (self.fate != "running")
        last = np.append(self.learner[1:] != self.learner[:-1], True)
        next_start = np.where(last, math.inf, np.append(self.start[1:], math.inf))
        bars = {fate: (self.start, self.end, known & (self.fate == fate)) for fate in FATES}
        bars["idle"] = (self.end, next_start, known)
        bars["running"] = (self.start, np.full(self.end.shape, now), ~known & (self.start < now))
        return {fate: self._stretch(begin, now, *stretch) for fate, stretch in bars.items()}

    def _stretch(self, begin: float, now: float, start: FloatArray, end: FloatArray, which: Any) -> Bars:
        left, right = np.maximum(start, begin), np.minimum(end, now)
        seen = which & (right > left)
        return Bars(self.learner[seen], left[seen], right[seen])

    def shares(self, until: float | None = None) -> dict[str, float]:
        """What share of the learners' time had each fate; together they are 1.

        If no time has passed, none was lost: then all of it counts as used fresh.
        """
        t = self.until(until)
        if t == 0:
            return {fate: float(fate == "used fresh") for fate in FATES}
        bars = self.bars(0.0, t)
        return {fate: float((bar.end - bar.start).sum() / (self.P * t)) for fate, bar in bars.items()}


def round_times(times: ArrayLike) -> FloatArray:
    """Times of mini-batches, (rounds, P)."""
    taken = floats("times", times)
    if taken.ndim != 2 or taken.size == 0:
        raise ValueError(f"times must have one row per round and one column per learner; got {taken.shape}.")
    if not (np.isfinite(taken) & (taken >= 0)).all() or not (taken.max(axis=1) > 0).all():
        raise ValueError("times must be finite and at least 0, and no round may take no time at all.")
    return taken
