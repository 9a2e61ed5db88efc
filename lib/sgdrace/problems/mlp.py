"""A small neural network: real, not convex, and with no constants that anybody knows."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import Seed, count, sealed, seed_sequence
from sgdrace._memory import must_fit
from sgdrace.problems.blocks import DataProblem
from sgdrace.problems.classifiers import cross_entropy, softmax_derivatives
from sgdrace.problems.examples import classes_of, digits, features_of
from sgdrace.problems.problem import Workspace


class MLP(DataProblem):
    """One hidden layer of tanh units, then softmax and cross-entropy: small, real and not convex.

    A constant feature is added to X and to the hidden layer. The weights are V (hidden, p + 1) row by row,
    then U (classes, hidden + 1). L, c, sigma2, M_G and the minimum are unknown (None).

    >>> problem = MLP([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0], hidden=3, m=2)
    >>> problem.dimension
    17
    """

    def __init__(self, X: ArrayLike, y: ArrayLike, hidden: int = 16, m: int = 32, seed: Seed = 0) -> None:
        features, labels = features_of(X), classes_of(y)
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
        X, y = digits()
        return cls(X, y, hidden, m, seed)

    def _output_weights(self, w: Any, work: Workspace) -> tuple[Any, Any]:
        """Weights (q, classes, hidden) and constants (q, classes, 1) of the output layer."""
        outer = w[:, self.units * self.X.shape[1] :]
        U = work.xp.reshape(outer, (-1, self.classes, self.hidden + 1))
        return U[..., :-1], U[..., -1:]

    def _row_losses(self, w: Any, z: Any, y: Any, work: Workspace) -> Any:
        U, constant = self._output_weights(w, work)
        work.on.into(z, work.xp.tanh, z)
        return cross_entropy(work.xp.matmul(U, z) + constant, y, work)

    def _derivatives(self, w: Any, z: Any, y: Any, live: Any | None, rest: Any, work: Workspace) -> None:
        into, xp = work.on.into, work.xp
        U, constant = self._output_weights(w, work)
        into(z, xp.tanh, z)
        output = xp.matmul(U, z)
        output += constant
        softmax_derivatives(output, y, work)
        if live is not None:  # rows of zeros that fill a block reach the constant hidden unit
            output *= xp.astype(live[:, None, :], work.on.dtype)
        gradient = work.array("output", (*U.shape[:-1], self.hidden + 1))
        gradient[..., :-1] = xp.matmul(output, z.mT)
        gradient[..., -1] = xp.sum(output, axis=-1)
        rest[...] = xp.reshape(gradient, rest.shape)
        slope = 1 - z * z
        into(z, xp.matmul, U.mT, output)
        z *= slope
