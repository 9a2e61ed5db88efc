"""Least squares, with constants that are exact."""

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, Seed, real, sealed
from sgdrace.problems.blocks import DataProblem
from sgdrace.problems.examples import features_of, synthetic, targets_of
from sgdrace.problems.problem import Workspace, start_of


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
        features = features_of(X)
        super().__init__(features, targets_of(y), m, 1, features.shape[1], seed)
        self.start = start_of(start, self.dimension)

    @classmethod
    def synthetic(
        cls, rows: int = 1000, dimension: int = 20, m: int = 32, noise: float = 1.0, seed: int = 0
    ) -> Self:
        """Gaussian features, targets of a random linear function plus Gaussian noise.

        >>> LeastSquares.synthetic(rows=256, dimension=8)
        LeastSquares(256 rows, dimension 8, m = 32)
        """
        X, z, rng = synthetic(rows, dimension, seed)
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
