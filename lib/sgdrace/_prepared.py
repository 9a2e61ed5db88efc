"""Updates of many replicas with little ado: what they need is made for many of them at a time.

Knows versions of weights and where gradients take them from; nothing of time. Plain arrays of NumPy's only.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdrace.problems import Quadratic

# Normal numbers, or places of a table, that are made ahead: so many stay in the cache.
AHEAD = 2**15


class PreparedUpdates:
    """Updates of a race with one K and one step, as `Replay.update` makes them, with less ado.

    Rows of the table are made for many updates at a time. An update that would let a replica diverge is left
    to others, and so are all after it; if its mini-batches have been drawn, they are the `choice`.
    """

    numbers = 1  # that are made ahead for each gradient

    def __init__(self, replay: Any, eta: float, staleness: NDArray[Any] | None, K: int, updates: int) -> None:
        self.replay, self.updates = replay, updates
        _, replicas, d = replay.ring.shape
        fresh = np.broadcast_to(np.int32(0), (replicas, updates, K))
        self.staleness = fresh if staleness is None else staleness
        self.shape, self.size = (replicas, K, d), replicas * K
        self.share = replay.on.full((1, 1, K), eta / K)
        self.change, self.weights = np.empty((replicas, 1, d)), np.empty((replicas, d))
        self.step = max(1, AHEAD // (self.size * self.numbers))
        self.begin = self.end = 0  # of the updates that have been prepared
        self.rows: NDArray[np.intp] = np.empty((0, self.size), np.intp)  # (updates prepared, size)
        self.choice: NDArray[Any] | None = None
        self.over = False

    def stretch(self) -> int:
        """Make as many updates as go together, and tell how many; their versions are still there."""
        return 0

    def update(self) -> bool:
        """Make the next update, unless a replica would diverge: then nothing has happened."""
        replay, self.choice = self.replay, None
        self.over |= not replay.sound
        if self.over:
            return False
        if (j := replay.version) == self.end:
            self._prepare()
        choice = replay.draw(self.size)
        with np.errstate(over="ignore", invalid="ignore"):
            gradient = replay.gradients(choice, self.rows[j - self.begin])
            np.matmul(self.share, gradient.reshape(self.shape), out=self.change)
            np.subtract(replay.weights, self.change[:, 0, :], out=self.weights)
            sound = bool(np.vecdot(self.weights, self.weights).max() <= replay.limit)  # false for NaN
        if sound:
            replay.advance(self.weights)
            return True
        self.choice, self.over = choice, True
        return False

    def _prepare(self) -> None:
        self.begin, self.end = self.end, min(self.end + self.step, self.updates)
        staleness = self.staleness[:, self.begin : self.end].transpose(1, 0, 2)
        rows = self.replay.rows(staleness, np.arange(self.begin, self.end))
        self.rows = rows.reshape(len(rows), -1)


class QuadraticUpdates(PreparedUpdates):
    """Updates of a quadratic, whose mini-batches may be drawn in one call or in several: they are the same.

    The ring holds a whole stretch besides what gradients need, so that whether replicas have diverged is
    asked once for all of it. If one has, the versions before are as good as if nothing had been made.
    """

    def __init__(self, replay: Any, eta: float, staleness: NDArray[Any] | None, K: int, updates: int) -> None:
        self.numbers = replay.problem.dimension
        super().__init__(replay, eta, staleness, K, updates)
        replay.reserve(len(replay.ring) + self.step)
        # In full, because along an axis of few weights NumPy is slow to repeat them.
        self.curvatures = np.tile(replay.problem.eigenvalues, (self.size, 1))
        self.gradient = np.empty_like(self.curvatures)
        self.choices: NDArray[Any] = np.empty(0)  # (updates of the stretch, size, d)

    @staticmethod
    def suits(replay: Any, K: int) -> bool:
        """Whether this is a quadratic, so small that a stretch is worth it, with finite losses.

        They are finite wherever the weights have not diverged, unless its curvature is extreme.
        """
        problem, (_, replicas, d) = replay.problem, replay.ring.shape
        # A kind of problem that is made of this one may draw otherwise.
        return (
            type(problem) is Quadratic
            and 2 * replicas * K * d <= AHEAD
            and math.isfinite(4 * replay.limit * problem.L)
        )

    def stretch(self) -> int:
        if self.over:
            return 0
        self._prepare()
        replay, n, first = self.replay, self.end - self.begin, self.begin + 1
        self.choices = replay.draw(n * self.size).reshape(n, self.size, -1)
        with np.errstate(over="ignore", invalid="ignore"):
            self._make(first, replay.problem.noise(self.choices))
            weights = replay.at(np.arange(first, first + n))
            sound = (np.vecdot(weights, weights) <= replay.limit).all(axis=1)  # false for NaN
        self.over = not sound.all()
        made = int(sound.argmin()) if self.over else n
        replay.version += made
        return made

    def _make(self, version: int, noise: NDArray[Any]) -> None:
        """Versions from this one on, an update for each row of noise."""
        ring, table, gradient = self.replay.ring, self.replay.table, self.gradient
        each, change = gradient.reshape(self.shape), self.change[:, 0, :]
        now = self.replay.weights
        for row, noises in zip(self.rows, noise, strict=True):
            table.take(row, axis=0, out=gradient, mode="clip")
            np.multiply(gradient, self.curvatures, out=gradient)
            np.add(gradient, noises, out=gradient)
            np.matmul(self.share, each, out=self.change)
            new = ring[version % len(ring)]
            np.subtract(now, change, out=new)
            now, version = new, version + 1

    def update(self) -> bool:
        """Never: what has been drawn ahead must still be used."""
        j = self.replay.version
        self.choice = self.choices[j - self.begin] if j < self.end else None
        return False
