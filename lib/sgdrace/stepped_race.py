"""Races whose K changes on the way: all replicas advance together, one update at a time.

Knows the four variants and delays, as `race` does, but lets somebody else choose K before every update, for
each replica on its own. `race.simulate` is much faster where K is fixed.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdrace._arguments import FloatArray, IntArray, Seed, count, generator, shown
from sgdrace._memory import must_fit
from sgdrace._sorting import Learners, first_columns
from sgdrace._times import FreshTimes, Source
from sgdrace.delays import Law, law_of_learners
from sgdrace.variants import variant_P_K

BoolArray = NDArray[np.bool_]

BYTES = 40  # that a learner takes, and a push, in one replica, with what is needed on the way


class RaceStep(NamedTuple):
    """One update of every replica; where a replica has a smaller K than others, its columns end in -1."""

    time: FloatArray  # (replicas,)
    learner: IntArray  # (replicas, largest K)
    staleness: IntArray  # (replicas, largest K)
    pushed: FloatArray  # (replicas, largest K)


class SteppedRace:
    """Replicas of a race that wait for the caller to choose K before every update.

    >>> from sgdrace import Constant
    >>> race = SteppedRace("K-batch-async", P=2, delay=Constant(1.0), replicas=1)
    >>> [race.update(K).time.tolist() for K in (2, 4, 1)]
    [[1.0], [3.0], [4.0]]
    """

    def __init__(
        self,
        variant: str,
        P: int,
        delay: Law,
        replicas: int = 1,
        seed: Seed = 0,
        source: Source | None = None,
    ) -> None:
        self.variant, self.P, _ = variant_P_K(variant, P, 1)
        self.replicas = count("replicas", replicas)
        self.law = law_of_learners(delay, self.P)
        must_fit(f"{self.replicas} replicas of {self.P} learners", BYTES * self.replicas * self.P)
        if source is not None and not callable(getattr(source, "begin", None)):
            raise TypeError(f"source must be a source of times such as CommonTimes; got {shown(source)}.")
        self.source = FreshTimes(self.law, generator(seed)) if source is None else source
        self.updates = 0
        self.row = np.arange(self.replicas)
        self.version = np.zeros((self.replicas, self.P), np.int32)  # of the model each learner works from
        self.finish = np.zeros((self.replicas, self.P))
        row, learner = np.indices(self.finish.shape).reshape(2, -1)
        self._restart(row, learner, np.zeros(row.size), version=0)

    @np.errstate(over="ignore")  # what overflows is refused below
    def update(self, K: ArrayLike) -> RaceStep:
        """Make the next update of every replica, from K pushes, or from K[r] pushes in replica r."""
        counts = self._checked(K)
        largest = int(counts.max())
        pushes = RaceStep(
            np.empty(self.replicas),
            np.full((self.replicas, largest), -1, np.int32),
            np.full((self.replicas, largest), -1, np.int32),
            np.full((self.replicas, largest), -1.0),
        )
        waiting = (
            self._pushes_in_batch(counts, pushes) if "batch" in self.variant else self._pushes(counts, pushes)
        )
        if self.variant.endswith("-sync"):
            waiting[:] = True
        if pushes.time.max() == np.inf:
            raise ValueError(
                f"the times of {self.law!r} are too large: their sum is no longer a finite number."
            )
        self.updates += 1
        row, learner = np.nonzero(waiting)
        self._restart(row, learner, pushes.time[row], self.updates)
        return pushes

    def _pushes(self, counts: IntArray, pushes: RaceStep) -> BoolArray:
        """The first K learners push and wait."""
        who, when = first_columns(self.finish, pushes.learner.shape[1])
        row, k = np.nonzero(np.arange(who.shape[1]) < counts[:, None])
        self._record(pushes, row, k, who[row, k])
        pushes.time[:] = when[self.row, counts - 1]
        waiting = np.zeros(self.finish.shape, bool)
        waiting[row, who[row, k]] = True
        return waiting

    def _pushes_in_batch(self, counts: IntArray, pushes: RaceStep) -> BoolArray:
        """K pushes, each but the last followed at once by another mini-batch with the current model."""
        waiting = np.zeros(self.finish.shape, bool)
        row = self.row
        for k in range(pushes.learner.shape[1]):
            row = row[k < counts[row]]
            who = self.finish[row].argmin(axis=1)
            now = self._record(pushes, row, k, who)
            last = k == counts[row] - 1
            pushes.time[row[last]], waiting[row[last], who[last]] = now[last], True
            self._restart(row[~last], who[~last], now[~last], self.updates)
        return waiting

    def _record(self, pushes: RaceStep, row: Learners, k: Any, who: Learners) -> FloatArray:
        """Note the k-th pushes of some replicas, and tell when they come."""
        now = self.finish[row, who]
        pushes.learner[row, k], pushes.pushed[row, k] = who, now
        pushes.staleness[row, k] = self.updates - self.version[row, who]
        return now

    def _restart(self, row: Learners, learner: Learners, now: FloatArray, version: int) -> None:
        """These learners of these replicas start a mini-batch now, from this version of the model."""
        self.finish[row, learner] = now + self.source.begin(row, learner)
        self.version[row, learner] = version

    def _checked(self, K: ArrayLike) -> IntArray:
        try:
            counts = np.asarray(K)
        except ValueError:  # lists of different lengths
            counts = np.empty(0)
        if counts.dtype.kind not in "iu" or counts.shape not in ((), (self.replicas,)):
            raise TypeError(
                f"K must be a whole number, or one for each of {self.replicas} replicas; got {shown(K)}."
            )
        for extreme in (counts.min(), counts.max()):
            variant_P_K(self.variant, self.P, int(extreme))
        must_fit(f"{extreme} pushes of {self.replicas} replicas", BYTES * self.replicas * int(extreme))
        return np.broadcast_to(counts, self.replicas).astype(np.intp)
