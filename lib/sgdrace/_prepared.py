"""Updates of many replicas with little ado: what they need is made for many of them at a time.

Knows versions of weights and where gradients take them from; nothing of time. Plain arrays of NumPy's only.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdrace.problems import Quadratic

# Normal numbers, or places of a table, that are made ahead: so many stay in the cache.
AHEAD = 2**15

# Problems whose mini-batches may be drawn in one call or in several: they are the same.
DRAWN_IN_ORDER = (Quadratic,)


class PreparedUpdates:
    """Updates of a race with one K and one step, as `Replay.update` makes them, with less ado.

    Rows of the table, and mini-batches where it does not matter in how many calls they are drawn, are made
    for many updates at a time. An update that would let a replica diverge is left to others, and so are all
    after it.
    """

    def __init__(self, replay: Any, eta: float, staleness: NDArray[Any] | None, K: int, updates: int) -> None:
        self.replay, self.staleness, self.updates = replay, staleness, updates
        _, replicas, d = replay.ring.shape
        self.shape = replicas, K, d
        self.share = replay.on.full((1, 1, K), eta / K)
        self.change, self.weights = np.empty((replicas, 1, d)), np.empty((replicas, d))
        self.size = replicas * K
        # A kind of problem that is made of this one may draw otherwise.
        self.in_order = type(replay.problem) in DRAWN_IN_ORDER
        self.step = max(1, AHEAD // (self.size * (d if self.in_order else 1)))
        self.begin = self.end = 0  # of the updates that have been prepared
        self.rows = np.broadcast_to(np.repeat(np.arange(replicas), K), (self.step, self.size))
        self.choices: NDArray[Any] | None = None
        self.choice: NDArray[Any] | None = None  # of an update that is left to others
        self.over = False

    def update(self) -> bool:
        """Make the next update, unless a replica would diverge: then nothing has happened."""
        replay = self.replay
        self.over |= not replay.sound
        if (j := replay.version) == self.end and not self.over:
            self._prepare()
        i = j - self.begin
        if self.over:  # what has been drawn ahead must still be used
            self.choice = self.choices[i] if self.choices is not None and j < self.end else None
            return False
        choice = replay.draw(self.size) if self.choices is None else self.choices[i]
        with np.errstate(over="ignore", invalid="ignore"):
            gradient = replay.gradients(choice, self.rows[i])
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
        n = self.end - self.begin
        depth, replicas, _ = self.replay.ring.shape
        if self.staleness is not None and depth > 1:
            version = np.arange(self.begin, self.end)[:, None, None]
            rows = (version - self.staleness[:, self.begin : self.end].transpose(1, 0, 2)) % depth
            rows *= replicas
            rows += self.replay.replica
            self.rows = rows.reshape(n, -1)
        if self.in_order:
            drawn = self.replay.draw(n * self.size)
            self.choices = drawn.reshape(n, self.size, *drawn.shape[1:])
