"""Problems with data: mini-batches are blocks of rows, and gradients that share a block share a product.

Knows rows of data and the linear functions of them; what is done with these, each problem says.
"""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdrace._arguments import FloatArray, Seed, count, sealed, seed_sequence
from sgdrace._arrays import HOST, Arrays
from sgdrace.problems.problem import Problem, Workspace, as_array

# Intermediate arrays hold at most so many numbers (32 MB): large enough for fast matrix products.
PIECE = 2**22

# Element by element it is faster in pieces of so many (256 KB), which stay in the cache of a processor.
CACHED = 2**15


class _Data(NamedTuple):
    """The data of a problem in arrays of one kind."""

    X: Any  # (n, p)
    y: Any  # (n,)
    rows: list[Any]  # (m, p) each, a block
    columns: list[Any]  # (p, m) each, its transpose
    blocks: Any  # (blocks, m, p)
    targets: Any  # (blocks, m)
    live: Any  # (blocks, m) where a block is no filling


class DataProblem(Problem):
    """F is the mean of a loss over rows of data; a mini-batch is a block of a fixed random partition of them.

    The n rows are shuffled once and cut into ceil(n/m) blocks, whose sizes differ by at most one and are m
    where m divides n. A draw picks a block uniformly, with replacement and independently of everything. Its
    gradient is the *sum* over the rows of the block times (blocks/n), so that the mean over blocks is ∇F
    exactly, also when m does not divide n. Because there are few different blocks, gradients at many
    different weights share one matrix product.
    """

    portable = True
    units: int  # linear functions of the features that the first layer computes for each row
    link: ClassVar[str | None] = None  # by which kernels written for a device know the problem
    l2: float = 0.0

    def __init__(
        self, X: FloatArray, y: NDArray[Any], m: int, units: int, dimension: int, seed: Seed
    ) -> None:
        self.X = sealed(X)  # (n, p)
        self.y = sealed(y)  # (n,)
        n, p = self.X.shape
        if len(y) != n:
            raise ValueError(f"y must hold one target for each of the {n} rows of X; got {len(y)}.")
        self.m = count("m", m, maximum=n)
        self.units, self.dimension = units, dimension
        self.blocks = -(-n // self.m)
        self._scale = self.blocks / n
        rng = np.random.default_rng(seed_sequence(seed))
        parts = np.array_split(rng.permutation(n), self.blocks)
        # Shorter blocks end in a row of zeros, so that all have the same shape.
        self._block_X = np.zeros((self.blocks, self.m, p))  # (blocks, m, p)
        self._block_y = np.zeros((self.blocks, self.m), y.dtype)  # (blocks, m)
        self._live = np.zeros((self.blocks, self.m), bool)  # (blocks, m)
        for b, part in enumerate(parts):
            self._block_X[b, : part.size] = self.X[part]
            self._block_y[b, : part.size] = y[part]
            self._live[b, : part.size] = True
        self._padded = not self._live.all()
        self._here = self._data(HOST)

    def __repr__(self) -> str:
        n, _ = self.X.shape
        return f"{type(self).__name__}({n} rows, dimension {self.dimension}, m = {self.m})"

    @abstractmethod
    def _row_losses(self, w: Any, z: Any, y: Any, work: Workspace) -> Any:
        """Losses (q, n) of every row, from its linear functions z (q, units, n); may overwrite z."""

    @abstractmethod
    def _derivatives(self, w: Any, z: Any, y: Any, live: Any | None, rest: Any, work: Workspace) -> None:
        """Overwrite z (q, units, rows) by the derivatives of the row losses; w is (q, d), y (q or 1, rows).

        `rest` (q, d - units·p) receives the summed gradient of the weights behind the first layer, if any.
        """

    def _penalty(self, w: Any, work: Workspace) -> Any:
        """What the loss adds to the mean over rows."""
        return 0.0

    def _add_penalty_gradient(self, w: Any, gradient: Any) -> None:
        """Add the gradient of the penalty in place."""

    def _data(self, on: Arrays) -> _Data:
        """The data in arrays of one kind."""

        def moved(values: NDArray[Any]) -> Any:
            return on.floats(values) if values.dtype.kind == "f" else on.whole(values)

        X = on.floats(self._block_X)
        rows = [X[b, ...] for b in range(self.blocks)]
        return _Data(
            on.floats(self.X),
            moved(self.y),
            rows,
            [block.T for block in rows],
            X,
            moved(self._block_y),
            on.whole(self._live),
        )

    def _data_in(self, work: Workspace) -> _Data:
        data: _Data = self._here if work.on.plain else work.kept(self, self._data)
        return data

    def loss(self, w: ArrayLike, work: Workspace | None = None) -> FloatArray:
        weights, work = self._given(w, work)
        xp, X, y = work.xp, *self._data_in(work)[:2]
        flat = xp.reshape(weights, (-1, self.dimension))
        n, p = self.X.shape
        losses = work.on.empty((flat.shape[0],))
        for part in _pieces(flat.shape[0], self.units * n):
            some = flat[part, :]
            z = work.array("losses", (some.shape[0] * self.units, n))
            work.on.into(z, xp.matmul, xp.reshape(self._first(some), (-1, p)), X.T)
            z = xp.reshape(z, (-1, self.units, n))
            # One product, because its rounding depends on its shape; then what stays in the cache.
            for few in _pieces(some.shape[0], self.units * n, CACHED):
                row = xp.mean(self._row_losses(some[few, :], z[few, ...], y, work), axis=1)
                losses[part.start + few.start : part.start + few.stop] = row
        losses += self._penalty(flat, work)
        return as_array(work, xp.reshape(losses, weights.shape[:-1]))

    def gradient(self, w: ArrayLike, work: Workspace | None = None) -> FloatArray:
        weights, work = self._given(w, work)
        xp, X, y = work.xp, *self._data_in(work)[:2]
        flat = xp.reshape(weights, (-1, self.dimension))
        n, p = self.X.shape
        inner = self.units * p
        gradient = work.on.empty(flat.shape)
        for part in _pieces(flat.shape[0], self.units * n):
            some = flat[part, :]
            z = xp.reshape(xp.matmul(xp.reshape(self._first(some), (-1, p)), X.T), (-1, self.units, n))
            self._derivatives(some, z, y[None, :], None, gradient[part, inner:], work)
            gradient[part, :inner] = xp.reshape(xp.matmul(xp.reshape(z, (-1, n)), X), (-1, inner))
        gradient /= n
        self._add_penalty_gradient(flat, gradient)
        return as_array(work, xp.reshape(gradient, weights.shape))

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[Any]:
        # Two bytes where they suffice: NumPy sorts them by radix, in linear time.
        return rng.integers(self.blocks, size=size, dtype=np.uint16 if self.blocks <= 2**16 else np.int64)

    def mini_batch_gradients(
        self,
        w: FloatArray,
        choice: NDArray[Any],
        row: NDArray[Any] | None = None,
        work: Workspace | None = None,
    ) -> FloatArray:
        work, size = work or Workspace(), len(choice)
        gradient: FloatArray = work.array("gradient", (size, self.dimension))
        rows = np.arange(size) if row is None else row
        if work.on.kernels is not None and self.link is not None:
            self._fused(w, choice, rows, gradient, work)
            return gradient
        for part in _pieces(size, self.units * self.m + self.dimension):
            self._piece(w, choice[part], rows[part], gradient[part, :], work)
        return gradient

    def _fused(self, w: Any, choice: NDArray[Any], row: NDArray[Any], gradient: Any, work: Workspace) -> None:
        """Leave everything to the code that was written for this device."""
        on, data = work.on, self._data_in(work)
        targets = work.kept(
            data.targets, lambda on: on.floats(self._block_y)
        )  # classes, too, are floats there
        on.kernels.gradients(  # type: ignore[union-attr]
            self.link,  # type: ignore[arg-type]
            w,
            on.whole(row, np.int32),
            on.whole(choice, np.int32),
            data.blocks,
            targets,
            self._scale,
            self.l2,
            gradient,
        )

    def _piece(self, w: Any, choice: NDArray[Any], row: NDArray[Any], gradient: Any, work: Workspace) -> None:
        """Sort by block, so that all gradients of a block are two matrix products, and sort back."""
        on, xp, data = work.on, work.xp, self._data_in(work)
        size, units, (_, p) = len(choice), self.units, self.X.shape
        order = np.argsort(choice, kind="stable")
        block = on.whole(choice[order])
        ends = np.bincount(choice, minlength=self.blocks).cumsum() * units
        at = work.array("at", (size, self.dimension))
        on.take(w, on.whole(row[order]), at)
        z = work.array("z", (size * units, self.m))
        _products(xp.reshape(self._first(at), (-1, p)), data.columns, ends, z, on)
        sums = work.array("sums", (size, self.dimension))  # over the rows of each block
        rest = sums[:, units * p :]
        live = xp.take(data.live, block, axis=0) if self._padded else None
        y = xp.take(data.targets, block, axis=0)
        self._derivatives(at, xp.reshape(z, (size, units, self.m)), y, live, rest, work)
        z *= self._scale
        if units * p < self.dimension:
            rest *= self._scale
            first = work.array("first", (size * units, p))
            _products(z, data.rows, ends, first, on)
            sums[:, : units * p] = xp.reshape(first, (size, -1))
        else:
            _products(z, data.rows, ends, xp.reshape(sums, (-1, p)), on)
        self._add_penalty_gradient(at, sums)
        back = np.empty_like(order)
        back[order] = np.arange(size)
        on.take(sums, on.whole(back), gradient)

    def _first(self, w: Any) -> Any:
        """The weights of the first layer, (..., units·p)."""
        return w[..., : self.units * self.X.shape[1]]

    def noise_at(self, w: ArrayLike) -> float:
        """The exact m E||g - ∇F||² at these weights (d,): what sigma2 + M_G ||∇F||² bounds.

        >>> from sgdrace import LeastSquares
        >>> problem = LeastSquares.synthetic(rows=64, dimension=2, m=64)
        >>> problem.noise_at(problem.start) < 1e-20  # one block of all rows: no noise
        True
        """
        weights = self._weights(w)
        if weights.ndim > 1:
            raise ValueError(f"w must hold {self.dimension} weights; got shape {weights.shape}.")
        weights = weights.reshape(1, -1)
        every = np.arange(self.blocks)
        each = self.mini_batch_gradients(weights, every, np.zeros_like(every))  # (blocks, d)
        return float(self.m * np.square(each - self.gradient(weights)).sum(axis=1).mean())


def _products(left: Any, right: list[Any], ends: NDArray[Any], out: Any, on: Arrays) -> None:
    """Multiply each group of rows by the matrix of its block: group b ends before row ends[b]."""
    begin = 0
    for matrix, end in zip(right, ends.tolist(), strict=True):
        if end > begin and on.on_host:
            # np.dot starts faster than np.matmul, which matters for matrices this small.
            np.dot(left[begin:end], matrix, out=out[begin:end])
        elif end > begin:
            out[begin:end, :] = on.xp.matmul(left[begin:end, :], matrix)
        begin = end


def _pieces(size: int, width: int, most: int = 0) -> list[slice]:
    """Slices of range(size), so that slices of arrays `width` numbers wide stay within PIECE, or `most`."""
    step = max(1, (most or PIECE) // width)
    return [slice(begin, min(begin + step, size)) for begin in range(0, size, step)]
