"""Linear models of classes: logistic and softmax regression, with constants that are proven bounds."""

from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from sgdrace._arguments import FloatArray, Seed, real, sealed, shown
from sgdrace.problems.blocks import DataProblem
from sgdrace.problems.examples import classes_of, digits, features_of, synthetic, targets_of
from sgdrace.problems.problem import Workspace, start_of


class _Classifier(DataProblem):
    """A linear model of classes with a penalty (l2/2)||w||²; its row gradients are bounded, so M_G = 0."""

    _curvature: ClassVar[float]  # the largest second derivative of the row loss
    _slope2: ClassVar[float]  # the largest squared norm of its first derivative

    def __init__(
        self, X: ArrayLike, y: NDArray[Any], m: int, units: int, l2: float, start: ArrayLike, seed: Seed
    ) -> None:
        features = features_of(X)
        super().__init__(features, y, m, units, units * features.shape[1], seed)
        self.start = start_of(start, self.dimension)
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
        labels = targets_of(y)
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
        X, z, rng = synthetic(rows, dimension, seed)
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
        labels = classes_of(y)
        super().__init__(X, labels, m, int(labels.max()) + 1, l2, start, seed)

    @classmethod
    def digits(cls, m: int = 32, l2: float = 1e-3, seed: Seed = 0) -> Self:
        """Scikit-learn's 1797 handwritten digits of 8×8 pixels, scaled to 0..1, with a constant feature.

        >>> SoftmaxRegression.digits()
        SoftmaxRegression(1797 rows, dimension 650, m = 32)
        """
        X, y = digits()
        return cls(np.column_stack([X, np.ones(len(X))]), y, m, l2, seed=seed)

    def _row_losses(self, w: Any, z: Any, y: Any, work: Workspace) -> Any:
        return cross_entropy(z, y, work)

    def _derivatives(self, w: Any, z: Any, y: Any, live: Any | None, rest: Any, work: Workspace) -> None:
        softmax_derivatives(z, y, work)


def cross_entropy(z: Any, y: Any, work: Workspace) -> Any:
    """Row losses (q, n) of logits z (q, classes, n), overwritten."""
    xp, (q, classes, n) = work.xp, z.shape
    z -= xp.max(z, axis=1, keepdims=True)
    at_class = y * n + work.on.whole(np.arange(n))
    chosen = xp.take(xp.reshape(z, (q, classes * n)), at_class, axis=1)
    work.on.into(z, xp.exp, z)
    return xp.log(xp.sum(z, axis=1)) - chosen


def softmax_derivatives(z: Any, y: Any, work: Workspace) -> None:
    """Overwrite logits z (q, classes, rows) by softmax(z) - 1 at the true classes y (q or 1, rows)."""
    xp, (_, classes, _) = work.xp, z.shape
    z -= xp.max(z, axis=1, keepdims=True)
    work.on.into(z, xp.exp, z)
    z /= xp.sum(z, axis=1, keepdims=True)
    z -= xp.astype(y[:, None, :] == work.on.whole(np.arange(classes))[:, None], work.on.dtype)
