"""Where the times of mini-batches come from: fresh draws, or fixed streams that several races share.

Knows laws and random generators; nothing of updates. Both sources answer the same calls, so the code that
runs a race need not know which one it has.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from sgdrace._arguments import FloatArray
from sgdrace._sorting import begins
from sgdrace.delays import (
    Constant,
    DelayLaw,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    LogNormal,
    Lomax,
    Pareto,
    PerLearner,
    ShiftedExponential,
    Uniform,
    Weibull,
)

CHUNK = 32  # mini-batches of every learner that a stream draws at a time
BULK = 1024  # times that are drawn ahead where they are needed singly
AHEAD = 1 << 13  # and where few are needed at a time

# Each time comes from the next draws of the generator alone, so that two calls give what one call gives.
IN_ORDER = {Constant, Empirical, Erlang, Exponential, Gamma, LogNormal, Lomax, Pareto, ShiftedExponential}
IN_ORDER |= {Uniform, Weibull}


def draws_in_order(law: DelayLaw | PerLearner) -> bool:
    """Whether it does not matter in how many calls a law is asked for its times."""
    if isinstance(law, PerLearner):
        return len(law.kinds) == 1 and draws_in_order(law.kinds[0])
    return type(law) in IN_ORDER


class Source(Protocol):
    """The times that learners need for the mini-batches they are about to start."""

    tells_learners_apart: bool
    in_one_call: bool  # whether times of many updates may be asked for at once: they are the same

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
    """A new draw every time: the fastest source, and enough whenever only the law matters.

    With a generator of its own it may draw `ahead`, which is faster where few times are needed at a time.
    """

    def __init__(self, law: DelayLaw | PerLearner, rng: np.random.Generator, ahead: int = 0) -> None:
        self.law, self.rng = law, rng
        self.tells_learners_apart = isinstance(law, PerLearner)
        self.ahead = ahead if draws_in_order(law) else 0
        self.in_one_call = bool(self.ahead) and not self.tells_learners_apart
        self.drawn = np.empty(0)  # and not yet handed out

    def times(self, learner: Any, ahead: int = 0, count: int = 1) -> FloatArray:
        """Fresh times for each learner; with one law for all, only the shape of `learner` matters."""
        if isinstance(self.law, PerLearner):
            return self.law.sample(self.rng, (*learner.shape, count), learner[..., None])
        shape = (*learner.shape, count)
        return self._next(math.prod(shape)).reshape(shape) if self.ahead else self.law.sample(self.rng, shape)

    def _next(self, size: int) -> FloatArray:
        """So many times, for the caller to overwrite."""
        if size > (rest := self.drawn.size):
            more = self.law.sample(self.rng, max(size - rest, self.ahead))
            self.drawn = np.concatenate([self.drawn, more]) if rest else more
        given, self.drawn = self.drawn[:size], self.drawn[size:]
        return given

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

    tells_learners_apart, in_one_call = True, False

    def __init__(self, law: DelayLaw | PerLearner, P: int, seeds: list[np.random.SeedSequence]) -> None:
        self.law, self.P = law, P
        self.in_order = draws_in_order(law)
        self.rngs = [np.random.default_rng(seed) for seed in seeds]
        # (mini-batches, rows, learners), with room to spare: more can be added without moving those there.
        self.drawn = np.empty((CHUNK, len(seeds), P))
        self.length = 0  # mini-batches that have been drawn
        self.size = len(seeds) * P
        self.next = np.arange(
            self.size
        )  # where each learner of each row finds its next time, in the flat table
        self.most = 0  # mini-batches that nobody has started more of

    def times(self, learner: Any, ahead: int = 0, count: int = 1) -> FloatArray:
        """The times that the stream of each learner holds for these mini-batches."""
        place = self.next.take(learner + begins(len(self.rngs), self.P))
        self._draw_up_to(place.max() // self.size + ahead + count - 1)
        more = np.arange(ahead, ahead + count) * self.size
        return np.asarray(self.drawn.reshape(-1).take(place[..., None] + more))

    def rounds(self, first: int, n: int) -> FloatArray:
        """The first-th mini-batch of every learner and the n - 1 after it, (rows, n, P), to be read only."""
        self._draw_up_to(first + n - 1)
        return self.drawn[first : first + n].swapaxes(0, 1)

    def start(self, learner: Any) -> None:
        """Move these learners on by one mini-batch each time they are named."""
        place = learner + begins(len(self.rngs), self.P)
        self.next += np.bincount(place.ravel(), minlength=self.size) * self.size
        self.most += learner.shape[1]

    def begin(self, row: Any, learner: Any) -> FloatArray:
        """The next time in each stream, which then moves on."""
        if self.most >= self.length:  # somebody may have come to the end
            self.most = int(self.next.max()) // self.size
            self._draw_up_to(self.most)
        self.most += 1
        stream = row * self.P + learner
        place = self.next.take(stream)
        self.next[stream] = place + self.size
        return np.asarray(self.drawn.reshape(-1).take(place))

    def reader(self, row: int) -> Callable[[int], float]:
        """The streams of this row from their beginning, each learner at its own pace."""
        number = [0] * self.P

        def read(learner: int) -> float:
            self._draw_up_to(number[learner])
            number[learner] += 1
            return float(self.drawn[number[learner] - 1, row, learner])

        return read

    def _draw_up_to(self, number: int) -> None:
        while number >= self.length:
            # Somewhat more than asked for, in few calls, where the numbers do not depend on the calls.
            n = max(CHUNK, number + 1 - self.length, self.length // 4) if self.in_order else CHUNK
            if self.length + n > len(self.drawn):  # room to spare, so that copying stays cheap
                room = np.empty((max(2 * len(self.drawn), self.length + n), *self.drawn.shape[1:]))
                room[: self.length] = self.drawn[: self.length]
                self.drawn = room
            for row, rng in enumerate(self.rngs):
                self.drawn[self.length : self.length + n, row] = self.law.sample(rng, (n, self.P))
            self.length += n
