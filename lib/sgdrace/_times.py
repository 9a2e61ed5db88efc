"""Where the times of mini-batches come from: fresh draws, or fixed streams that several races share.

Knows laws and random generators; nothing of updates. Both sources answer the same calls, so the code that
runs a race need not know which one it has.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from sgdrace._arguments import FloatArray
from sgdrace.delays import DelayLaw, PerLearner

CHUNK = 32  # mini-batches of every learner that a stream draws at a time
BULK = 1024  # times that are drawn ahead where they are needed singly


class Source(Protocol):
    """The times that learners need for the mini-batches they are about to start."""

    tells_learners_apart: bool

    def times(self, learner: Any, ahead: int = 0, count: int = 1) -> FloatArray:
        """Times (rows, n, count) of the next mini-batches of these learners (rows, n), `ahead` skipped."""
        ...

    def start(self, learner: Any) -> None:
        """Note that these learners (rows, n) have each started a mini-batch."""
        ...

    def begin(self, row: Any, learner: Any) -> FloatArray:
        """Times (n,) of the mini-batches that single learners start now, no learner of a row twice."""
        ...

    def reader(self, row: int) -> Callable[[int], float]:
        """A function that gives the time of the next mini-batch of a learner in this row, one at a time."""
        ...


class FreshTimes:
    """A new draw every time: the fastest source, and enough whenever only the law matters."""

    def __init__(self, law: DelayLaw | PerLearner, rng: np.random.Generator) -> None:
        self.law, self.rng = law, rng
        self.tells_learners_apart = isinstance(law, PerLearner)

    def times(self, learner: Any, ahead: int = 0, count: int = 1) -> FloatArray:
        """Fresh times for each learner; with one law for all, only the shape of `learner` matters."""
        if isinstance(self.law, PerLearner):
            return self.law.sample(self.rng, (*learner.shape, count), learner[..., None])
        return self.law.sample(self.rng, (*learner.shape, count))

    def start(self, learner: Any) -> None:
        """Nothing to note: the next draw is fresh anyway."""

    def begin(self, row: Any, learner: Any) -> FloatArray:
        """Fresh times."""
        return self.times(learner)[..., 0]

    def reader(self, row: int) -> Callable[[int], float]:
        """Fresh times, drawn in bulk and handed out singly."""
        if not isinstance(self.law, PerLearner):
            alike = self._one_by_one(self.law, BULK)
            return lambda learner: next(alike)
        # Thousands of learners, each with a law of its own, must not each draw a thousand times ahead.
        ahead = max(8, BULK // len(self.law.kinds))
        kinds = [self._one_by_one(law, ahead) for law in self.law.kinds]
        kind, factor = self.law.kind.tolist(), self.law.factor.tolist()
        return lambda learner: factor[learner] * next(kinds[kind[learner]])

    def _one_by_one(self, law: DelayLaw, ahead: int) -> Iterator[float]:
        while True:
            yield from law.sample(self.rng, ahead).tolist()


class CommonTimes:
    """Common random numbers: the n-th mini-batch that learner i starts takes the same time in every race.

    Row r depends on its own seed alone, not on how many rows there are or who asks in which order.
    """

    tells_learners_apart = True

    def __init__(self, law: DelayLaw | PerLearner, P: int, seeds: list[np.random.SeedSequence]) -> None:
        self.law, self.P = law, P
        self.rngs = [np.random.default_rng(seed) for seed in seeds]
        self.drawn = np.empty((len(seeds), CHUNK, P))  # (rows, mini-batches, learners), with room to spare
        self.length = 0  # mini-batches that have been drawn
        self.started = np.zeros((len(seeds), P), np.intp)
        self.rows = np.arange(len(seeds))[:, None]

    def times(self, learner: Any, ahead: int = 0, count: int = 1) -> FloatArray:
        """The times that the stream of each learner holds for these mini-batches."""
        number = (self.started[self.rows, learner] + ahead)[..., None] + np.arange(count)
        self._draw_up_to(number.max())
        return np.asarray(self.drawn[self.rows[..., None], number, learner[..., None]])

    def start(self, learner: Any) -> None:
        """Move these learners on by one mini-batch each time they are named."""
        np.add.at(self.started, (self.rows, learner), 1)

    def begin(self, row: Any, learner: Any) -> FloatArray:
        """The next time in each stream, which then moves on."""
        number = self.started[row, learner]
        self._draw_up_to(number.max(initial=-1))
        self.started[row, learner] += 1
        return np.asarray(self.drawn[row, number, learner])

    def reader(self, row: int) -> Callable[[int], float]:
        """The streams of this row from their beginning, each learner at its own pace."""
        number = [0] * self.P

        def read(learner: int) -> float:
            self._draw_up_to(number[learner])
            number[learner] += 1
            return float(self.drawn[row, number[learner] - 1, learner])

        return read

    def _draw_up_to(self, number: int) -> None:
        while number >= self.length:
            if self.length == self.drawn.shape[1]:  # twice the room each time, so that copying stays cheap
                room = np.empty((len(self.rngs), 2 * self.length, self.P))
                room[:, : self.length] = self.drawn
                self.drawn = room
            for row, rng in zip(self.drawn, self.rngs, strict=True):
                row[self.length : self.length + CHUNK] = self.law.sample(rng, (CHUNK, self.P))
            self.length += CHUNK
