"""How fast a GPU could be at most: cards by their data sheets, and the work of one update, counted on paper.

Knows cards and counts; computes, and measures nothing. No operation is faster than arithmetic at its peak,
and no byte faster than the memory it comes from, so what takes longer of the two is the least time that an
update needs (Williams, Waterman and Patterson 2009). A real card takes longer.
"""

from dataclasses import dataclass

import numpy as np

from sgdrace._arguments import count, one_of, shown
from sgdrace._arrays import DTYPES

GB, MB = 10**9, 2**20  # memory and traffic are sold in powers of ten, caches in powers of two
TERA = 1e12
ROOFS = ("arithmetic", "memory", "L2 cache")


@dataclass(frozen=True)
class Card:
    """A GPU by its data sheet; peaks count a fused multiply-add as two operations.

    How fast the L2 cache is, NVIDIA says of two cards only: 2,048 and 5,120 bytes a clock.

    >>> CARDS["A100 40 GB"].threads  # that it can hold at once
    221184
    """

    name: str
    bandwidth: float  # of the memory, bytes per second
    float32: float  # peak, operations per second, as the next
    float64: float
    l2: int  # bytes
    memory: float  # bytes
    multiprocessors: int
    threads_each: int  # that a multiprocessor holds at once
    l2_bandwidth: float | None = None  # bytes per second

    @property
    def threads(self) -> int:
        """How many threads the card holds at once."""
        return self.multiprocessors * self.threads_each

    def peak(self, dtype: str) -> float:
        """Operations per second of the peak in a precision."""
        return self.float32 if one_of("dtype", dtype, DTYPES) == "float32" else self.float64


_ALL = (
    # Turing and Ada: 1/32 and 1/64 of the peak in double precision, as their white papers say.
    Card("T4", 320 * GB, 8.1 * TERA, 8.1 * TERA / 32, 4 * MB, 16 * GB, 40, 1024),
    Card("L4", 300 * GB, 30.3 * TERA, 30.3 * TERA / 64, 48 * MB, 24 * GB, 58, 1536),
    Card("V100", 900 * GB, 15.7 * TERA, 7.8 * TERA, 6 * MB, 16 * GB, 80, 2048, 2048 * 1.53e9),
    Card("A100 40 GB", 1555 * GB, 19.5 * TERA, 9.7 * TERA, 40 * MB, 40 * GB, 108, 2048, 5120 * 1.41e9),
    Card("H100 SXM", 3350 * GB, 67 * TERA, 34 * TERA, 50 * MB, 80 * GB, 132, 2048),
    Card("RTX 4090", 1008 * GB, 82.6 * TERA, 82.6 * TERA / 64, 72 * MB, 24 * GB, 128, 1536),
)
CARDS = {card.name: card for card in _ALL}


@dataclass(frozen=True)
class Update:
    """The gradients of one update of logistic regression: their number, and the size of everything.

    There are `replicas · K` gradients, each on m of the `rows` of data with p features.

    >>> Update(gradients=10_000, rows=10_000, p=100).temporary_bytes / 1e6
    128.0
    """

    gradients: int
    rows: int = 10_000
    p: int = 100
    m: int = 32
    dtype: str = "float32"

    def __post_init__(self) -> None:
        for name in ("gradients", "rows", "p", "m"):
            count(name, getattr(self, name))
        one_of("dtype", self.dtype, DTYPES)

    @property
    def number_bytes(self) -> int:
        """Bytes of one number."""
        return np.dtype(self.dtype).itemsize

    @property
    def data_bytes(self) -> int:
        """All rows with their targets."""
        return self.number_bytes * self.rows * (self.p + 1)

    @property
    def temporary_bytes(self) -> int:
        """The array of all rows of all mini-batches, (gradients, m, p), which only `plain` forms."""
        return self.number_bytes * self.gradients * self.m * self.p

    @property
    def operations(self) -> int:
        """Of every mini-batch: 2mp for x_i·w, 5m for the residuals, 2mp for their sum, 3p for scale and l2.

        An exponential or a division counts as one, which flatters the card.
        """
        return self.gradients * (4 * self.m * self.p + 5 * self.m + 3 * self.p)


@dataclass(frozen=True, repr=False)
class LeastTime:
    """What one way of computing an update asks of a card, and the time that it takes at least."""

    way: str
    card: Card
    update: Update
    streamed: bool  # the data come from memory, because the L2 cache does not hold them
    memory_bytes: int  # between memory and L2 cache
    cache_bytes: int  # between L2 cache and multiprocessors
    peak: float  # operations per second that this way can reach

    def __repr__(self) -> str:
        where = "data from memory" if self.streamed else "data in L2"
        return (
            f"LeastTime({self.way} on {self.card.name}, {self.update.dtype}, {where}: "
            f"at least {microseconds(self.seconds)}, bound by {self.binds})"
        )

    @property
    def times(self) -> dict[str, float]:
        """Seconds under each roof; that of the L2 cache is left out where nobody says how fast it is."""
        speeds = {
            "arithmetic": (self.update.operations, self.peak),
            "memory": (self.memory_bytes, self.card.bandwidth),
            "L2 cache": (self.cache_bytes, self.card.l2_bandwidth),
        }
        return {roof: work / speed for roof, (work, speed) in speeds.items() if speed is not None}

    @property
    def seconds(self) -> float:
        """The least time that the update takes."""
        return max(self.times.values())

    @property
    def binds(self) -> str:
        """The roof that is reached first."""
        times = self.times
        return max(times, key=times.__getitem__)

    @property
    def intensity(self) -> float:
        """Operations for each byte from or to memory."""
        return self.update.operations / self.memory_bytes

    @property
    def speed(self) -> float:
        """Operations per second in the least time."""
        return self.update.operations / self.seconds


def microseconds(seconds: float) -> str:
    """A time to three digits.

    >>> microseconds(8.83e-5), microseconds(1.0477e-3)
    ('88.3 µs', '1,050 µs')
    """
    return f"{float(f'{1e6 * seconds:.3g}'):,g} µs"


def fused(update: Update, card: Card, streamed: bool | None = None, reads: int = 1) -> LeastTime:
    """One update by the kernel, which reads rows where they are and forms no array of them.

    Of every mini-batch it reads p weights, mp features, m targets and two whole numbers of four bytes, and
    writes p numbers. What does not come from the L2 cache comes from memory: weights and gradients always,
    because the replicas have many of them; the data once if the cache holds them, else mini-batch by
    mini-batch. From the L2 cache all of it comes; the features twice (`reads=2`) if a multiprocessor has
    lost them before it adds up. Products and sums are not fused (`kernels.options`): half of the peak.

    >>> fused(Update(gradients=10_000), CARDS["A100 40 GB"], streamed=True)
    LeastTime(fused on A100 40 GB, float32, data from memory: at least 88.3 µs, bound by memory)
    """
    streamed, data = _from_memory(update, card, streamed)
    N, m, p = update.gradients, update.m, update.p
    own = N * (2 * p * update.number_bytes + 8)
    rows = N * (count("reads", reads, maximum=2) * m * p + m) * update.number_bytes
    return LeastTime("fused", card, update, streamed, own + data, own + rows, card.peak(update.dtype) / 2)


def plain(update: Update, card: Card, streamed: bool | None = None) -> LeastTime:
    """One update by array expressions, which form the array of all rows, (gradients, m, p).

        x, at, t = X[choice], w[row], y[choice]          reads and writes mp + p + m each
        z = vecdot(x, at)                                reads mp + p, writes m
        r = 1 / (1 + exp(-z)) - t                        reads 2m, writes m, if it is done in one go
        G = scale * matmul(r, x) + l2 * at               reads m + mp, writes p; reads 2p, writes p

    An array that fits the L2 cache never goes to memory; of the others, and of weights and gradients, every
    read and write counts. Matrix products reach the whole peak.

    >>> plain(Update(gradients=10_000), CARDS["A100 40 GB"])
    LeastTime(plain on A100 40 GB, float32, data in L2: at least 273 µs, bound by memory)
    """
    streamed, data = _from_memory(update, card, streamed)
    N, m, p, size = update.gradients, update.m, update.p, update.number_bytes
    small = N * (7 * p + 6 * m) * size + 8 * N
    gathered = 3 * update.temporary_bytes
    kept = update.temporary_bytes <= card.l2
    memory = small + data + (0 if kept else gathered)
    cache = small + gathered + update.temporary_bytes + N * m * size
    return LeastTime("plain", card, update, streamed, memory, cache, card.peak(update.dtype))


def _from_memory(update: Update, card: Card, streamed: bool | None) -> tuple[bool, int]:
    """Whether the data come from memory, and the bytes of them that do."""
    if not isinstance(update, Update) or not isinstance(card, Card):
        raise TypeError(f"a least time needs an Update and a Card; got {shown(update)} and {shown(card)}.")
    if streamed is None:
        streamed = update.data_bytes > card.l2
    drawn = update.number_bytes * update.gradients * update.m * (update.p + 1)
    return streamed, drawn if streamed else min(drawn, update.data_bytes)
