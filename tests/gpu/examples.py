"""Mini-batches of every problem with kernels: what a kernel is given, what must come out, and how near."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sgdrace import LeastSquares, LogisticRegression, SoftmaxRegression
from sgdrace.gpu.kernels import LINKS, Kernels


@dataclass
class Example:
    """N mini-batch gradients of a problem, at rows of a table of weights."""

    link: str
    problem: Any
    w: Any
    row: Any
    choice: Any

    def gradients(self, launch, dtype):
        """What the kernel makes, with a row of NaN before and after that it must leave alone."""
        problem, l2 = self.problem, getattr(self.problem, "l2", 0.0)
        guarded = np.full((len(self.row) + 2, problem.dimension), np.nan, dtype)
        X, y, w = (np.asarray(array, dtype) for array in (problem._block_X, problem._block_y, self.w))
        Kernels(launch).gradients(
            self.link, w, self.row, self.choice, X, y, problem._scale, l2, guarded[1:-1]
        )
        assert np.isnan(guarded[[0, -1]]).all(), "written outside of the array"
        return guarded[1:-1]

    def expected(self):
        """What NumPy makes in double precision."""
        return self.problem.mini_batch_gradients(self.w, self.choice, self.row)

    def error(self, dtype):
        """How far rounding may lead: a sum of n products is off by at most n·eps of their absolute sum."""
        problem, n = self.problem, len(self.row)
        X, y = problem._block_X[self.choice], np.abs(problem._block_y[self.choice])  # (N, m, p), (N, m)
        (_, m, p), w = X.shape, self.w[self.row].reshape(n, problem.units, -1)  # (N, units, p)
        z = np.einsum("nip,nup->niu", np.abs(X), np.abs(w)).max(axis=-1)  # (N, m)
        sums = problem._scale * np.einsum("nip,ni->np", np.abs(X), 1 + y + z)
        penalty = getattr(problem, "l2", 0.0) * np.abs(w)
        return np.finfo(dtype).eps * (p + m + 20) * (sums[:, None] + penalty).reshape(n, -1)

    def agrees(self, launch, dtype):
        """Whether the kernel is right."""
        with np.errstate(invalid="ignore"):
            off = np.abs(self.gradients(launch, dtype) - self.expected())
        return bool((off <= self.error(dtype)).all())


def example(link, rows, p, m, units=1, N=5, T=5, seed=0, size=1.0):
    """Random data, rounded to float32 so that both types see the same; `size` is that of the weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, p)).astype(np.float32)
    if link == "least squares":
        problem = LeastSquares(X, rng.standard_normal(rows).astype(np.float32), m, seed=seed)
    elif link == "logistic":
        problem = LogisticRegression(X, rng.integers(2, size=rows), m, l2=0.25, seed=seed)
    else:
        problem = SoftmaxRegression(X, rng.permutation(np.arange(rows) % units), m, l2=0.25, seed=seed)
    w = (size * rng.standard_normal((T, problem.dimension))).astype(np.float32).astype(float)
    row, choice = rng.integers(T, size=N), problem.draw(rng, N).astype(np.int64)
    choice[0] = problem.blocks - 1  # a short one, if there is one
    return Example(link, problem, w, row.astype(np.int32), choice.astype(np.int32))


def examples():
    """Corners, then shapes at random: one feature, one row, more features or rows than threads."""
    for link in LINKS:
        units = 3 if link == "softmax" else 1
        yield example(link, rows=7, p=1, m=1, units=units, N=1, T=1)
        yield example(link, rows=10, p=33, m=4, units=units, N=9, T=3)
        yield example(link, rows=5, p=300, m=5, units=units, N=2)
        yield example(link, rows=150, p=2, m=140, units=units, N=2)
        yield example(link, rows=12, p=5, m=5, units=units, N=4, size=300.0)  # exp overflows in float32
    yield example("softmax", rows=23, p=6, m=5, units=12, N=6)
    rng = np.random.default_rng(13)
    for seed in range(6):
        link = list(LINKS)[seed % 3]
        units = int(rng.integers(2, 9)) if link == "softmax" else 1
        rows, p, N, T = rng.integers([9, 1, 1, 1], [40, 70, 12, 8]).tolist()
        yield example(link, rows, p, int(rng.integers(1, 10)), units, N, T, seed)


EXAMPLES = list(examples())
