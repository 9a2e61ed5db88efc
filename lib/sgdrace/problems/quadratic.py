"""The quadratic: the one problem on which everything is exact."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdrace._arguments import FloatArray, count, real, reals, sealed
from sgdrace.problems.problem import Problem, Workspace, as_array, start_of


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
        self.start = start_of(start, self.dimension)
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
        return as_array(work, work.xp.vecdot(weights * weights, self._curvatures(work)) / 2)

    def gradient(self, w: ArrayLike, work: Workspace | None = None) -> FloatArray:
        weights, work = self._given(w, work)
        return as_array(work, weights * self._curvatures(work))

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
