"""What `train` needs of a problem: a loss with its gradient, honest mini-batch gradients, its constants.

Knows weights; nothing of data, learners, delays or time. Everything is batched over weights (..., d).
The problems of this package do their arithmetic in whatever arrays a workspace has: NumPy's, or a GPU's.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdrace._arguments import FloatArray, count, floats, one_of, real, sealed, shown
from sgdrace._arrays import HOST, Arrays

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

        >>> from sgdrace import Quadratic
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

        >>> from sgdrace import Quadratic
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


def as_problem(problem: Any) -> Problem:
    """A problem with what training relies on, which one's own may lack.

    >>> from sgdrace import Quadratic
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


def start_of(start: ArrayLike, dimension: int) -> FloatArray:
    """Initial weights (d,) from one number for all of them, or from d.

    >>> start_of(3.0, dimension=2)
    array([3., 3.])
    """
    weights = floats("start", start, f"a number or {dimension} numbers")
    if weights.shape not in ((), (dimension,)) or not np.isfinite(weights).all():
        raise ValueError(f"start must be a finite number or {dimension} finite numbers; got {shown(start)}.")
    return sealed(np.array(np.broadcast_to(weights, (dimension,))))


def as_array(work: Workspace, values: Any) -> FloatArray:
    """An array also where NumPy gives a plain number for no axis at all."""
    return np.asarray(values) if work.on.on_host else values
