"""What is to be learned: a loss F with its exact gradient, honest mini-batch gradients and its constants.

Knows weights and data; nothing of learners, delays or time. Everything is batched over weights (..., d).
The problems of this module do their arithmetic in whatever arrays a workspace has: NumPy's, or a GPU's.
The mini-batch gradient g of m rows obeys E||g - ∇F||² <= sigma2/m + (M_G/m) ||∇F||², total over directions.
A problem keeps copies of what it is given and hands out arrays that cannot be written to: it never changes.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from sgdrace._arguments import (
    FloatArray,
    Seed,
    count,
    floats,
    one_of,
    real,
    reals,
    sealed,
    seed_sequence,
    shown,
)
from sgdrace._arrays import HOST, Arrays
from sgdrace._extras import extra
from sgdrace._memory import must_fit

# Intermediate arrays hold at most so many numbers (32 MB): large enough for fast matrix products.
PIECE = 2**22

# Element by element it is faster in pieces of so many (256 KB), which stay in the cache of a processor.
CACHED = 2**15

CONSTANTS = ("L", "c", "sigma2", "M_G", "minimum")
ASKED_BY_BOUNDS = ("L", "c", "sigma2", "M_G", "m", "e_0")


class Workspace:
    """Memory that the steps of a training use again: fresh pages would cost as much as the arithmetic.

    All of it are arrays of one kind, by default NumPy's in double precision.

    >>> work = Workspace()
    >>> work.array("z", (2, 3)).shape, work.array("z", (1, 3)).base is work.array("z", (2, 3)).base
    ((2, 3), True)
    """

    def __init__(self, on: Arrays = HOST) -> None:
        self.on, self.xp = on, on.xp
        self._memory: dict[str, Any] = {}
        self._kept: dict[int, tuple[Any, Any]] = {}

    def array(self, name: str, shape: tuple[int, ...]) -> Any:
        """An array with arbitrary content, valid until the next one of this name."""
        size = math.prod(shape)
        memory = self._memory.get(name)
        if memory is None or memory.size < size:
            memory = self._memory[name] = self.on.empty((size,))
        return self.xp.reshape(memory[:size], shape)

    def kept(self, owner: Any, make: Callable[[Arrays], Any]) -> Any:
        """What an owner has made for these arrays; it is made once."""
        if id(owner) not in self._kept:
            self._kept[id(owner)] = owner, make(self.on)  # with the owner, whose id would else be given away
        return self._kept[id(owner)][1]


class Problem(ABC):
    """What `train` needs of a problem; a problem of your own can inherit from this class.

    The least it must have: `dimension` d, the size `m` of mini-batches (for formulas only), the weights
    `start` (d,), and four methods. `loss` and `gradient` take weights of any shape (..., d). A mini-batch is
    drawn (`draw`, which may give anything with one entry for each along its first axis) before its gradient
    is taken (`mini_batch_gradients`), so that the same random choices can be replayed; N of them at once, the
    n-th at w[row[n]]. The workspace may be ignored, unless the problem says that it is `portable`: then all
    three take weights in the arrays of a workspace, and `loss` and `gradient` take that workspace as `work`.
    Constants that nobody knows are None; `known` asks for one and says so. `check_problem` looks for
    mistakes. If you would rather write two functions of one vector of weights, `OwnProblem` makes a problem
    of them.

    >>> class Bowl(Problem):
    ...     dimension, m, start = 2, 1, np.ones(2)
    ...     def loss(self, w): return np.vecdot(w, w) / 2
    ...     def gradient(self, w): return np.array(w)
    ...     def draw(self, rng, size): return rng.standard_normal((size, 2))
    ...     def mini_batch_gradients(self, w, choice, row=None, work=None):
    ...         return (w if row is None else w[row]) + choice
    >>> Bowl().loss(np.ones((3, 2)))
    array([1., 1., 1.])
    """

    dimension: int
    m: int
    start: FloatArray  # (d,)

    L: float | None = None
    c: float | None = None
    sigma2: float | None = None
    M_G: float | None = None
    minimum: float | None = None

    portable: ClassVar[bool] = False  # to arrays other than NumPy's in double precision

    @abstractmethod
    def loss(self, w: ArrayLike) -> FloatArray:
        """F(w), exactly: weights of shape (..., d) give losses of shape (...)."""

    @abstractmethod
    def gradient(self, w: ArrayLike) -> FloatArray:
        """The full gradient ∇F(w), of the shape of w."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: int) -> NDArray[Any]:
        """Independent random choices of `size` mini-batches, one along the first axis."""

    @abstractmethod
    def mini_batch_gradients(
        self,
        w: FloatArray,
        choice: NDArray[Any],
        row: NDArray[Any] | None = None,
        work: Workspace | None = None,
    ) -> FloatArray:
        """The gradients of N drawn mini-batches, (N, d): the n-th one at the weights w[row[n]], or w[n].

        With `work` the result is memory of that workspace.
        """

    def known(self, constant: str) -> float:
        """A constant that a formula needs.

        >>> Quadratic([1.0, 4.0]).known("L")
        4.0
        """
        value: float | None = getattr(self, one_of("constant", constant, CONSTANTS))
        if value is None:
            raise ValueError(f"this needs the constant {constant}, which is unknown for {self!r}.")
        return real(f"the constant {constant} of {self!r}", value)

    def constants(self, *names: str) -> dict[str, float]:
        """The constants of these names: by default all that a bound of `theory` asks of a problem.

        These are L, c, sigma2, M_G, m and e_0 = F(w_0) - F*, so that
        `theory.error_bound("K-sync", updates=100, K=4, eta=0.1, **problem.constants())` is a bound for this
        problem. A bound that takes fewer gets them by name. One that nobody knows is a ValueError.

        >>> Quadratic([0.5, 2.0], sigma2=3.0, m=4).constants()
        {'L': 2.0, 'c': 0.5, 'sigma2': 3.0, 'M_G': 0.0, 'm': 4, 'e_0': 1.25}
        >>> Quadratic([0.5, 2.0], sigma2=3.0, m=4).constants("L", "sigma2", "m")
        {'L': 2.0, 'sigma2': 3.0, 'm': 4}
        """
        return {name: self._constant(name) for name in names or ASKED_BY_BOUNDS}

    def _constant(self, name: str) -> float:
        if one_of("a constant", name, (*CONSTANTS, "m", "e_0")) == "m":
            return count(f"m of {self!r}", getattr(self, "m", None))
        if name == "e_0":
            return real(f"the loss of {self!r} at the start", self.loss(self.start)) - self.known("minimum")
        return self.known(name)

    def _weights(self, w: ArrayLike) -> FloatArray:
        weights = floats("w", w, f"an array of {self.dimension} weights")
        if weights.ndim == 0 or weights.shape[-1] != self.dimension:
            raise ValueError(
                f"w must hold {self.dimension} weights along its last axis; got shape {weights.shape}."
            )
        if not np.isfinite(weights).all():
            raise ValueError(f"w must hold finite weights only; got {shown(w)}.")
        return weights

    def _given(self, w: ArrayLike, work: Workspace | None) -> tuple[Any, Workspace]:
        """Weights and the workspace to use: weights that come without one are checked and NumPy's."""
        return (self._weights(w), Workspace()) if work is None else (w, work)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dimension {self.dimension}, m = {self.m})"


class Quadratic(Problem):
    """F(w) = ½ Σ λ_i w_i² with Gaussian gradient noise: the one problem on which everything is exact.

    A mini-batch gradient is ∇F(w) + ε with ε of total variance exactly sigma2/m, alike in every direction.

    >>> problem = Quadratic(eigenvalues=[0.1, 1.0], sigma2=0.5, start=3.0)
    >>> problem.loss(problem.start)
    array(4.95)
    >>> problem.gradient([[1.0, 1.0], [2.0, 0.0]])
    array([[0.1, 1. ],
           [0.2, 0. ]])
    """

    portable = True

    def __init__(
        self, eigenvalues: ArrayLike = (1.0,), sigma2: float = 1.0, m: int = 1, start: ArrayLike = 1.0
    ) -> None:
        self.eigenvalues = sealed(reals("eigenvalues", eigenvalues, above=0).copy())
        self.dimension = self.eigenvalues.size
        self.m = count("m", m)
        self.start = _start(start, self.dimension)
        self.sigma2: float = real("sigma2", sigma2, above=0, closed=True)
        self.M_G: float = 0.0
        self.L: float = float(self.eigenvalues.max())
        self.c: float = float(self.eigenvalues.min())
        self.minimum: float = 0.0
        self._sd = (self.sigma2 / (real("m", self.m) * self.dimension)) ** 0.5

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parameters == other._parameters

    def __hash__(self) -> int:
        return hash(self._parameters)

    @property
    def _parameters(self) -> tuple[Any, ...]:
        return tuple(self.eigenvalues), self.sigma2, self.m, tuple(self.start)

    def loss(self, w: ArrayLike, work: Workspace | None = None) -> FloatArray:
        weights, work = self._given(w, work)
        return _array(work, work.xp.vecdot(weights * weights, self._curvatures(work)) / 2)

    def gradient(self, w: ArrayLike, work: Workspace | None = None) -> FloatArray:
        weights, work = self._given(w, work)
        return _array(work, weights * self._curvatures(work))

    def _curvatures(self, work: Workspace) -> Any:
        """The eigenvalues in the arrays of a workspace."""
        return self.eigenvalues if work.on.plain else work.kept(self, lambda on: on.floats(self.eigenvalues))

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[Any]:
        return rng.standard_normal((size, self.dimension))

    def mini_batch_gradients(
        self,
        w: FloatArray,
        choice: NDArray[Any],
        row: NDArray[Any] | None = None,
        work: Workspace | None = None,
    ) -> FloatArray:
        work = work or Workspace()
        on = work.on
        gradient: FloatArray = work.array("gradient", (len(choice), self.dimension))
        if row is None:
            gradient[...] = w
        else:
            on.take(w, on.whole(row), gradient)
        gradient *= self._curvatures(work)
        gradient += on.floats(self.noise(choice))
        return gradient

    def noise(self, choice: NDArray[Any]) -> FloatArray:
        """What the gradients of drawn mini-batches have besides ∇F."""
        noise: FloatArray = self._sd * choice
        return noise


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
        return _array(work, xp.reshape(losses, weights.shape[:-1]))

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
        return _array(work, xp.reshape(gradient, weights.shape))

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


class LeastSquares(DataProblem):
    """F(w) = 1/(2n) Σ (x_i·w - y_i)².

    `c` is the smallest eigenvalue above 0 of the Hessian X'X/n: where rows do not span all directions F is
    not strongly convex, but ||∇F||² >= 2c (F - F*) holds all the same.

    >>> problem = LeastSquares([[1.0, 0.0], [0.0, 2.0]], [1.0, 2.0], m=1)
    >>> problem.L, problem.c, problem.minimum
    (2.0, 0.5, 0.0)
    >>> problem.gradient([0.0, 0.0])
    array([-0.5, -2. ])
    """

    link = "least squares"

    def __init__(
        self, X: ArrayLike, y: ArrayLike, m: int = 32, start: ArrayLike = 0.0, seed: Seed = 0
    ) -> None:
        features = _features(X)
        super().__init__(features, _targets(y), m, 1, features.shape[1], seed)
        self.start = _start(start, self.dimension)

    @classmethod
    def synthetic(
        cls, rows: int = 1000, dimension: int = 20, m: int = 32, noise: float = 1.0, seed: int = 0
    ) -> Self:
        """Gaussian features, targets of a random linear function plus Gaussian noise.

        >>> LeastSquares.synthetic(rows=256, dimension=8)
        LeastSquares(256 rows, dimension 8, m = 32)
        """
        X, z, rng = _synthetic(rows, dimension, seed)
        return cls(
            X, z + real("noise", noise, above=0, closed=True) * rng.standard_normal(len(z)), m, seed=seed
        )

    def _row_losses(self, w: Any, z: Any, y: Any, work: Workspace) -> Any:
        residual = z[:, 0, :]
        residual -= y
        work.on.into(residual, work.xp.square, residual)
        return residual / 2

    def _derivatives(self, w: Any, z: Any, y: Any, live: Any | None, rest: Any, work: Workspace) -> None:
        z[:, 0, :] -= y

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues of the Hessian above 0, ascending, and their vectors (p, rank)."""
        values, vectors = np.linalg.eigh(self.X.T @ self.X / len(self.X))
        some = values > values[-1] * len(values) * np.finfo(float).eps
        return values[some], vectors[:, some]

    @cached_property
    def L(self) -> float:  # type: ignore[override]
        """The largest eigenvalue of the Hessian, exactly."""
        return float(self._spectrum[0][-1])

    @cached_property
    def c(self) -> float:  # type: ignore[override]
        """The smallest eigenvalue above 0 of the Hessian."""
        return float(self._spectrum[0][0])

    @cached_property
    def optimum(self) -> FloatArray:
        """The least minimizer of F, (d,)."""
        return sealed(np.asarray(np.linalg.lstsq(self.X, self.y)[0]))

    @cached_property
    def minimum(self) -> float:  # type: ignore[override]
        """F* = F(optimum)."""
        return float(self.loss(self.optimum))

    @cached_property
    def _noise_pair(self) -> tuple[float, float]:
        """A valid pair (sigma2, M_G) for the blocks that are drawn.

        The noise of block b is D_b z + h_b with z = ∇F(w), D_b = (A_b - A)A⁺ for the Hessians A_b and A, and
        h_b the block's gradient at the optimum. Its mean square z'Mz + 2v'z + s is at most σ² + M_G z'z for
        every z once M_G exceeds the largest eigenvalue λ of M = E D'D; the least σ² is then
        s + v'(M_G - M)⁻¹v with v = E D'h and s = E h'h. M_G = 2λ is our choice.
        """
        values, vectors = self._spectrum
        inverse = (vectors / values) @ vectors.T
        hessian = self.X.T @ self.X / len(self.X)
        M, v, s = np.zeros_like(hessian), np.zeros(self.dimension), 0.0
        for x, y in zip(self._block_X, self._block_y, strict=True):
            D = (self._scale * x.T @ x - hessian) @ inverse
            h = self._scale * x.T @ (x @ self.optimum - y)
            M, v, s = M + D.T @ D, v + D.T @ h, s + h @ h
        M, v, s = M / self.blocks, v / self.blocks, s / self.blocks
        largest = float(np.linalg.eigvalsh(M)[-1])
        if largest <= np.finfo(float).eps:  # one block: no noise
            return 0.0, 0.0
        least = s + v @ np.linalg.solve(2 * largest * np.eye(self.dimension) - M, v)
        return float(self.m * least), 2 * self.m * largest

    @property
    def sigma2(self) -> float:  # type: ignore[override]
        """σ² of a valid pair (σ², M_G) for the mini-batches that are drawn; computed once."""
        return self._noise_pair[0]

    @property
    def M_G(self) -> float:  # type: ignore[override]
        """M_G of the same pair: twice the least value with which any σ² is valid."""
        return self._noise_pair[1]


class _Classifier(DataProblem):
    """A linear model of classes with a penalty (l2/2)||w||²; its row gradients are bounded, so M_G = 0."""

    _curvature: ClassVar[float]  # the largest second derivative of the row loss
    _slope2: ClassVar[float]  # the largest squared norm of its first derivative

    def __init__(
        self, X: ArrayLike, y: NDArray[Any], m: int, units: int, l2: float, start: ArrayLike, seed: Seed
    ) -> None:
        features = _features(X)
        super().__init__(features, y, m, units, units * features.shape[1], seed)
        self.start = _start(start, self.dimension)
        self.l2 = real("l2", l2, above=0, closed=True)
        self.M_G: float = 0.0
        self.c = self.l2 if self.l2 > 0 else None

    def _penalty(self, w: Any, work: Workspace) -> Any:
        return self.l2 / 2 * work.xp.vecdot(w, w)

    def _add_penalty_gradient(self, w: Any, gradient: Any) -> None:
        if self.l2:
            gradient += self.l2 * w

    @cached_property
    def L(self) -> float:  # type: ignore[override]
        """A proven bound: the largest eigenvalue of X'X/n times the largest curvature of a row, plus l2."""
        largest = np.linalg.norm(self.X, 2) ** 2 / len(self.X)
        return float(self._curvature * largest + self.l2)

    @cached_property
    def sigma2(self) -> float:  # type: ignore[override]
        """A proven, generous bound: ||Σ x_i r_i|| <= ||X_b||·||r||, and the norm of each r_i is bounded.

        What the noise really is at given weights, `noise_at` says; it may be many times smaller.
        """
        norms = np.linalg.norm(self._block_X, 2, axis=(1, 2))
        squares = self._scale**2 * norms**2 * self._slope2 * self._live.sum(axis=1)
        return float(self.m * squares.mean())

    @cached_property
    def optimum(self) -> FloatArray:
        """Minimizing weights (d,), by L-BFGS; without l2 on separable data the last ones reached."""
        exact: Any = {"maxiter": 20_000, "maxfun": 40_000, "maxcor": 30, "ftol": 0.0, "gtol": 1e-9}
        found = scipy.optimize.minimize(self._value, self.start, jac=True, method="L-BFGS-B", options=exact)
        return sealed(np.asarray(found.x))

    def _value(self, w: FloatArray) -> tuple[float, FloatArray]:
        return float(self.loss(w)), self.gradient(w)

    @cached_property
    def minimum(self) -> float:  # type: ignore[override]
        """F*, at most ||∇F||²/(2c) below the loss at `optimum`; about 1e-10 with l2 of 1e-4 and more."""
        return float(self.loss(self.optimum))


class LogisticRegression(_Classifier):
    """F(w) = mean of log(1 + exp(x_i·w)) - y_i x_i·w with labels y_i of 0 and 1, plus (l2/2)||w||².

    c = l2 (None without it); L, sigma2 and M_G = 0 are proven bounds.

    >>> problem = LogisticRegression([[1.0], [-1.0]], [1, 0], m=1, l2=0.1)
    >>> round(float(problem.loss([0.0])), 4), problem.gradient([0.0])
    (0.6931, array([-0.5]))
    """

    link = "logistic"
    _curvature = 0.25
    _slope2 = 1.0

    def __init__(
        self, X: ArrayLike, y: ArrayLike, m: int = 32, l2: float = 0.0, start: ArrayLike = 0.0, seed: Seed = 0
    ) -> None:
        labels = _targets(y)
        if not np.isin(labels, (0, 1)).all():
            raise ValueError(f"y must hold the labels 0 and 1; got {shown(np.setdiff1d(labels, (0, 1))[0])}.")
        super().__init__(X, labels, m, 1, l2, start, seed)

    @classmethod
    def synthetic(
        cls, rows: int = 1000, dimension: int = 20, m: int = 32, l2: float = 0.0, seed: int = 0
    ) -> Self:
        """Gaussian features, labels drawn from a logistic model with random weights.

        >>> LogisticRegression.synthetic(rows=256, dimension=8)
        LogisticRegression(256 rows, dimension 8, m = 32)
        """
        X, z, rng = _synthetic(rows, dimension, seed)
        return cls(X, rng.logistic(size=len(z)) < z, m, l2, seed=seed)

    def _row_losses(self, w: Any, z: Any, y: Any, work: Workspace) -> Any:
        # log(1 + exp(z)) = max(z, 0) + log(1 + exp(-|z|)); NumPy's logaddexp takes twice the time.
        into, xp, margin = work.on.into, work.xp, z[:, 0, :]
        losses = xp.abs(margin)
        into(losses, xp.negative, losses)
        into(losses, xp.exp, losses)
        losses += 1
        into(losses, xp.log, losses)
        losses -= y * margin
        into(margin, xp.maximum, margin, 0.0)
        losses += margin
        return losses

    def _derivatives(self, w: Any, z: Any, y: Any, live: Any | None, rest: Any, work: Workspace) -> None:
        # 1/(1 + exp(-z)); where exp overflows, 1/inf = 0 is right.
        into, xp = work.on.into, work.xp
        into(z, xp.negative, z)
        with np.errstate(over="ignore"):
            into(z, xp.exp, z)
        z += 1
        into(z, xp.reciprocal, z)
        z[:, 0, :] -= y


class SoftmaxRegression(_Classifier):
    """Mean cross-entropy of softmax(W x_i) against classes y_i of 0..C-1, plus (l2/2)||w||².

    The weights w are W (classes, p) row by row. c = l2 (None without it); L (with Böhning's bound 1/2 for the
    Hessian of softmax), sigma2 and M_G = 0 are proven bounds.

    >>> problem = SoftmaxRegression([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 1, 2], m=3)
    >>> problem.dimension, round(float(problem.loss(problem.start)), 4)
    (6, 1.0986)
    """

    link = "softmax"
    _curvature = 0.5
    _slope2 = 2.0

    def __init__(
        self, X: ArrayLike, y: ArrayLike, m: int = 32, l2: float = 0.0, start: ArrayLike = 0.0, seed: Seed = 0
    ) -> None:
        labels = _classes(y)
        super().__init__(X, labels, m, int(labels.max()) + 1, l2, start, seed)

    @classmethod
    def digits(cls, m: int = 32, l2: float = 1e-3, seed: Seed = 0) -> Self:
        """Scikit-learn's 1797 handwritten digits of 8×8 pixels, scaled to 0..1, with a constant feature.

        >>> SoftmaxRegression.digits()
        SoftmaxRegression(1797 rows, dimension 650, m = 32)
        """
        X, y = _digits()
        return cls(np.column_stack([X, np.ones(len(X))]), y, m, l2, seed=seed)

    def _row_losses(self, w: Any, z: Any, y: Any, work: Workspace) -> Any:
        return _cross_entropy(z, y, work)

    def _derivatives(self, w: Any, z: Any, y: Any, live: Any | None, rest: Any, work: Workspace) -> None:
        _softmax_derivatives(z, y, work)


class MLP(DataProblem):
    """One hidden layer of tanh units, then softmax and cross-entropy: small, real and not convex.

    A constant feature is added to X and to the hidden layer. The weights are V (hidden, p + 1) row by row,
    then U (classes, hidden + 1). L, c, sigma2, M_G and the minimum are unknown (None).

    >>> problem = MLP([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0], hidden=3, m=2)
    >>> problem.dimension
    17
    """

    def __init__(self, X: ArrayLike, y: ArrayLike, hidden: int = 16, m: int = 32, seed: Seed = 0) -> None:
        features, labels = _features(X), _classes(y)
        features = np.column_stack([features, np.ones(len(features))])
        self.hidden = hidden = count("hidden", hidden)
        self.classes = int(labels.max()) + 1
        p = features.shape[1]
        must_fit(f"a hidden layer of {hidden} units on {p} features", 8 * hidden * (p + self.classes))
        root = seed_sequence(seed)
        super().__init__(features, labels, m, hidden, hidden * p + self.classes * (hidden + 1), root)
        # Different initial units, with preactivations of about 1.
        rng = np.random.default_rng(root.spawn(1)[0])
        V = rng.standard_normal((hidden, p)) / np.sqrt(np.square(features).sum(axis=1).mean())
        U = rng.standard_normal((self.classes, hidden + 1)) / np.sqrt(hidden + 1)
        self.start = sealed(np.concatenate([V.ravel(), U.ravel()]))  # (d,)

    @classmethod
    def digits(cls, hidden: int = 16, m: int = 32, seed: Seed = 0) -> Self:
        """The digits of `SoftmaxRegression.digits` with a hidden layer.

        >>> MLP.digits()
        MLP(1797 rows, dimension 1210, m = 32)
        """
        X, y = _digits()
        return cls(X, y, hidden, m, seed)

    def _output_weights(self, w: Any, work: Workspace) -> tuple[Any, Any]:
        """Weights (q, classes, hidden) and constants (q, classes, 1) of the output layer."""
        outer = w[:, self.units * self.X.shape[1] :]
        U = work.xp.reshape(outer, (-1, self.classes, self.hidden + 1))
        return U[..., :-1], U[..., -1:]

    def _row_losses(self, w: Any, z: Any, y: Any, work: Workspace) -> Any:
        U, constant = self._output_weights(w, work)
        work.on.into(z, work.xp.tanh, z)
        return _cross_entropy(work.xp.matmul(U, z) + constant, y, work)

    def _derivatives(self, w: Any, z: Any, y: Any, live: Any | None, rest: Any, work: Workspace) -> None:
        into, xp = work.on.into, work.xp
        U, constant = self._output_weights(w, work)
        into(z, xp.tanh, z)
        output = xp.matmul(U, z)
        output += constant
        _softmax_derivatives(output, y, work)
        if live is not None:  # rows of zeros that fill a block reach the constant hidden unit
            output *= xp.astype(live[:, None, :], work.on.dtype)
        gradient = work.array("output", (*U.shape[:-1], self.hidden + 1))
        gradient[..., :-1] = xp.matmul(output, z.mT)
        gradient[..., -1] = xp.sum(output, axis=-1)
        rest[...] = xp.reshape(gradient, rest.shape)
        slope = 1 - z * z
        into(z, xp.matmul, U.mT, output)
        z *= slope


def as_problem(problem: Any) -> Problem:
    """A problem with what training relies on, which one's own may lack.

    >>> as_problem(Quadratic())
    Quadratic(dimension 1, m = 1)
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem such as Quadratic(); got {shown(problem)}.")
    name = type(problem).__name__
    d = count(f"dimension of {name}", getattr(problem, "dimension", None))
    start = getattr(problem, "start", None)
    weights = floats(f"start of {name}", start, f"{d} weights")
    if weights.shape != (d,) or not np.isfinite(weights).all():
        raise ValueError(f"start of {name} must hold {d} finite weights; got {shown(start)}.")
    return problem


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


def _cross_entropy(z: Any, y: Any, work: Workspace) -> Any:
    """Row losses (q, n) of logits z (q, classes, n), overwritten."""
    xp, (q, classes, n) = work.xp, z.shape
    z -= xp.max(z, axis=1, keepdims=True)
    at_class = y * n + work.on.whole(np.arange(n))
    chosen = xp.take(xp.reshape(z, (q, classes * n)), at_class, axis=1)
    work.on.into(z, xp.exp, z)
    return xp.log(xp.sum(z, axis=1)) - chosen


def _softmax_derivatives(z: Any, y: Any, work: Workspace) -> None:
    """Overwrite logits z (q, classes, rows) by softmax(z) - 1 at the true classes y (q or 1, rows)."""
    xp, (_, classes, _) = work.xp, z.shape
    z -= xp.max(z, axis=1, keepdims=True)
    work.on.into(z, xp.exp, z)
    z /= xp.sum(z, axis=1, keepdims=True)
    z -= xp.astype(y[:, None, :] == work.on.whole(np.arange(classes))[:, None], work.on.dtype)


def _array(work: Workspace, values: Any) -> FloatArray:
    """An array also where NumPy gives a plain number for no axis at all."""
    return np.asarray(values) if work.on.on_host else values


def _features(X: ArrayLike) -> FloatArray:
    """A copy of the data, (n, p)."""
    features = np.array(floats("X", X, "a table of numbers, one row for each example", truth=True), order="C")
    if features.ndim != 2 or features.size == 0:
        raise ValueError(
            f"X must have a row for each example and a column for each feature; got shape {features.shape}."
        )
    if not np.isfinite(features).all():
        raise ValueError("X must hold finite numbers only.")
    if not features.any():
        raise ValueError("X must hold at least one number other than 0.")
    return features


def _targets(y: ArrayLike) -> FloatArray:
    """A copy of the targets, (n,); True and False are 1 and 0."""
    return reals("y", y, truth=True).copy()


def _classes(y: ArrayLike) -> NDArray[np.intp]:
    labels = _targets(y)
    if not ((labels >= 0) & (labels == np.floor(labels))).all():
        raise ValueError("y must hold classes numbered 0, 1, 2 and so on.")
    classes = labels.astype(np.intp)
    missing = np.flatnonzero(np.bincount(classes, minlength=2) == 0)
    if missing.size:
        raise ValueError(f"y must hold classes 0, 1, ... without gaps; got no row of class {missing[0]}.")
    return classes


def _start(start: ArrayLike, dimension: int) -> FloatArray:
    """Initial weights (d,) from one number for all of them, or from d."""
    weights = floats("start", start, f"a number or {dimension} numbers")
    if weights.shape not in ((), (dimension,)) or not np.isfinite(weights).all():
        raise ValueError(f"start must be a finite number or {dimension} finite numbers; got {shown(start)}.")
    return sealed(np.array(np.broadcast_to(weights, (dimension,))))


def _synthetic(rows: int, dimension: int, seed: int) -> tuple[FloatArray, FloatArray, np.random.Generator]:
    """Features (rows, d), their product with random weights of norm about 1, the generator to go on with."""
    rows, dimension = count("rows", rows, minimum=2), count("dimension", dimension)
    must_fit(f"{rows} rows of {dimension} features", 8 * rows * dimension)
    # The partition into blocks is drawn from the seed itself.
    rng = np.random.default_rng(seed_sequence(seed).spawn(1)[0])
    X = rng.standard_normal((rows, dimension))
    return X, X @ rng.standard_normal(dimension) / np.sqrt(dimension), rng


def _digits() -> tuple[FloatArray, NDArray[np.intp]]:
    with extra("digits", what="the problem of the digits"):
        from sklearn.datasets import load_digits
    X, y = load_digits(return_X_y=True)
    return X / 16, y
