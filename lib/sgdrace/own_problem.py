"""A problem of your own from two functions, and a check of any problem before it is trained.

Knows weights and rows as numbers only; nothing of what a loss means, nor of learners or time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from sgdrace._arguments import FloatArray, Seed, count, floats, one_of, real, reals, seed_sequence, shown
from sgdrace.problems import CONSTANTS, Problem, Workspace, as_problem

FALSE_ALARM = 1e-6  # how often `check_problem` may refuse mini-batches whose mean is right
DRAWS = 2000  # of mini-batches at each of two points; fewer where there are many weights
DIRECTIONS = 20  # along which slopes and means are compared


class OwnProblem(Problem):
    """F(w) as the mean over rows of data, from two functions that need to know one vector of weights only.

    `loss(w, rows)` gives the mean loss of the rows with these numbers and `gradient(w, rows)` its gradient,
    d numbers for the d weights w. F takes all `rows`; a mini-batch takes m of them, drawn with replacement.
    Constants that you know, such as L=2.0, can be given by name. The functions are called once for each
    gradient, so this is slower than a problem that works on whole batches of weights.

    >>> data = np.arange(10.0)
    >>> mean = OwnProblem(
    ...     loss=lambda w, rows: np.mean((w - data[rows]) ** 2) / 2,
    ...     gradient=lambda w, rows: w - np.mean(data[rows]),
    ...     rows=10, start=[0.0], m=5, L=1.0,
    ... )  # fmt: skip
    >>> float(mean.loss([4.5])), mean.gradient([0.0]), mean.known("L")
    (4.125, array([-4.5]), 1.0)
    """

    def __init__(
        self,
        loss: Callable[[FloatArray, NDArray[np.intp]], Any],
        gradient: Callable[[FloatArray, NDArray[np.intp]], ArrayLike],
        rows: int,
        start: ArrayLike,
        m: int = 32,
        **constants: float,
    ) -> None:
        for name, function in (("loss", loss), ("gradient", gradient)):
            if not callable(function):
                raise TypeError(f"{name} must be a function of weights and rows; got {shown(function)}.")
        self._loss, self._gradient = loss, gradient
        self.start = reals("start", start).copy()
        self.start.flags.writeable = False
        self.dimension, self.m = self.start.size, count("m", m)
        self._rows = np.arange(count("rows", rows))
        self._rows.flags.writeable = False
        for name, value in constants.items():
            setattr(self, one_of("a constant", name, CONSTANTS), real(name, value))

    def loss(self, w: ArrayLike) -> FloatArray:
        weights = self._weights(w)
        losses = [self._number(self._loss(each.copy(), self._rows)) for each in self._each(weights)]
        return np.array(losses).reshape(weights.shape[:-1])

    def gradient(self, w: ArrayLike) -> FloatArray:
        weights = self._weights(w)
        return np.array([self._slope(each, self._rows) for each in self._each(weights)]).reshape(
            weights.shape
        )

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[Any]:
        return rng.integers(self._rows.size, size=(size, self.m))

    def mini_batch_gradients(
        self,
        w: FloatArray,
        choice: NDArray[Any],
        row: NDArray[Any] | None = None,
        work: Workspace | None = None,
    ) -> FloatArray:
        at = range(len(choice)) if row is None else row
        return np.array([self._slope(w[i], rows) for i, rows in zip(at, choice, strict=True)])

    def _each(self, weights: FloatArray) -> FloatArray:
        return weights.reshape(-1, self.dimension)

    def _number(self, given: Any) -> float:
        value = floats("what loss gives", given, "a number")
        if value.size != 1:
            raise ValueError(f"what loss gives must be one number; got shape {value.shape}.")
        return float(value.ravel()[0])

    def _slope(self, w: FloatArray, rows: NDArray[Any]) -> FloatArray:
        slope = floats("what gradient gives", self._gradient(w.copy(), rows), f"{self.dimension} numbers")
        if slope.shape != (self.dimension,):
            raise ValueError(
                f"what gradient gives must be {self.dimension} numbers; got shape {slope.shape}."
            )
        return slope


def check_problem(problem: Problem, seed: Seed = 0) -> None:
    """Say in one sentence what is wrong with a problem; nothing if nothing was found.

    Near the start, `gradient` is held against slopes of `loss`, the mean of `mini_batch_gradients` against
    `gradient`, and the constants that are given against what they bound; shapes, NaN and batches of weights
    are looked at on the way. Means are compared along random directions, with a false alarm in one of a
    million seeds if the noise is near normal. Only problems whose weights are of the order of 1, or of their
    start, are looked at where it matters.

    >>> from sgdrace import LogisticRegression
    >>> check_problem(LogisticRegression.synthetic(l2=0.1))
    >>> wrong = OwnProblem(lambda w, rows: w @ w, lambda w, rows: w, rows=1, start=[1.0, 2.0])
    >>> check_problem(wrong)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: gradient of OwnProblem(...) must be the slope of loss; along weight 0 it is 1.06, not 2.12.
    """
    _Check(as_problem(problem), np.random.default_rng(seed_sequence(seed))).everything()


class _Check:
    """Two points near the start of a problem, and what its methods say of them."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        start, d = np.asarray(problem.start, dtype=np.float64), problem.dimension
        self.unit = max(1.0, float(np.sqrt(np.mean(start**2))))
        # Not at the start itself, where a loss may have a corner and where nothing may depend on anything.
        self.w = start + 0.3 * self.unit * rng.standard_normal((2, d))  # (2, d)
        self.w.flags.writeable = False
        self.loss = self.ask("loss", (2,), self.w)
        self.slope = self.ask("gradient", (2, d), self.w)
        # A loss computed in single precision, as PyTorch does, can only be asked for less.
        single = bool((self.loss == self.loss.astype(np.float32)).all() and self.loss.any())
        self.eps = float(np.finfo(np.float32 if single else np.float64).eps)
        self.slack = 100 * self.eps ** (2 / 3)

    def everything(self) -> None:
        self.batches()
        self.slopes()
        self.mini_batches()
        self.bounds()

    def ask(self, method: str, shape: tuple[int, ...], *given: Any) -> FloatArray:
        """What a method of the problem gives, if it is finite numbers of this shape."""
        try:
            values = getattr(self.problem, method)(*given)
        except Exception as error:
            raise ValueError(
                f"{method} of {self.problem!r} fails: {' '.join(str(error).split())}."
            ) from error
        if not isinstance(values, np.ndarray | np.generic) or values.shape != shape:
            got = f"shape {values.shape}" if isinstance(values, np.ndarray) else shown(values)
            raise ValueError(f"{method} of {self.problem!r} must give an array of shape {shape}; got {got}.")
        if values.dtype.kind not in "fiu" or not np.isfinite(values).all():
            raise ValueError(f"{method} of {self.problem!r} must give finite numbers; got {shown(values)}.")
        return np.array(values, dtype=np.float64)

    def batches(self) -> None:
        """One vector of weights, and any number of them, give what the same weights give in a row."""
        d = self.problem.dimension
        for method, known, end in (("loss", self.loss, ()), ("gradient", self.slope, (d,))):
            single = self.ask(method, end, self.w[0])
            block = self.ask(method, (2, 1, *end), self.w[:, None])
            for values, wanted in ((single, known[0]), (block[:, 0], known)):
                if np.abs(values - wanted).max() > self.slack * (1 + np.abs(known).max()):
                    raise ValueError(
                        f"{method} of {self.problem!r} must not depend on which other weights are asked for; "
                        f"got {shown(values)}, not {shown(wanted)}."
                    )

    def slopes(self) -> None:
        """The gradient against differences of the loss, along some weights and some random directions."""
        d = self.problem.dimension
        some = self.rng.permutation(d)[:DIRECTIONS]
        along = np.concatenate([np.eye(1, d, i) for i in some] + [self.directions()])  # (directions, d)
        step = self.unit * self.eps ** (1 / 3)
        for w, loss, slope in zip(self.w, self.loss, self.slope, strict=True):
            wide, narrow = (
                (
                    self.ask("loss", along.shape[:1], w + h * along)
                    - self.ask("loss", along.shape[:1], w - h * along)
                )
                / (2 * h)
                for h in (step, step / 2)
            )
            seen, said = (4 * narrow - wide) / 3, along @ slope
            allowed = self.slack * (abs(loss) / self.unit + np.linalg.norm(slope)) + 10 * np.abs(
                wide - narrow
            )
            for i in np.flatnonzero(np.abs(seen - said) > allowed)[:1]:
                where = f"weight {some[i]}" if i < len(some) else "a random direction"
                raise ValueError(
                    f"gradient of {self.problem!r} must be the slope of loss; along {where} it is "
                    f"{said[i]:.3g}, not {seen[i]:.3g}."
                )

    def mini_batches(self) -> None:
        """Mini-batch gradients at each point have the gradient as their mean, and the noise that is said."""
        problem, d = self.problem, self.problem.dimension
        n = int(np.clip(2**21 // d, 100, DRAWS))
        choice, row = problem.draw(self.rng, 2 * n), np.repeat([0, 1], n)
        if not isinstance(choice, np.ndarray) or choice.shape[:1] != (2 * n,):
            raise ValueError(
                f"draw of {problem!r} must give an array of {2 * n} mini-batches; got {shown(choice)}."
            )
        given = self.ask("mini_batch_gradients", (2 * n, d), self.w, choice, row, Workspace())
        few = np.array([0, 1, n, n + 1])
        one_by_one = self.ask("mini_batch_gradients", (4, d), self.w[row[few]], choice[few])
        if np.abs(one_by_one - given[few]).max() > self.slack * (1 + np.abs(given).max()):
            raise ValueError(
                f"mini_batch_gradients of {problem!r} must take its n-th gradient at w[row[n]], and at w[n] "
                f"without row."
            )
        for gradients, slope in zip(given.reshape(2, n, d), self.slope, strict=True):
            noise = gradients - slope  # (n, d)
            along = np.concatenate([self.directions(), slope[None] / (np.linalg.norm(slope) or 1.0)])
            mean, error = _mean_and_error(noise @ along.T)
            limit = scipy.stats.t.isf(FALSE_ALARM / (4 * len(along)), n - 1)
            if (np.abs(mean) > limit * error + self.slack * np.abs(gradients).max()).any():
                raise ValueError(
                    f"mini_batch_gradients of {problem!r} must have gradient as their mean; {n} of them have "
                    f"a mean of length {np.linalg.norm(gradients.mean(axis=0)):.3g}, which is "
                    f"{np.linalg.norm(noise.mean(axis=0)):.3g} away."
                )
            self.noise_bound(noise, slope)

    def noise_bound(self, noise: FloatArray, slope: FloatArray) -> None:
        problem = self.problem
        if problem.sigma2 is None or problem.M_G is None:
            return
        mean, error = _mean_and_error(np.square(noise).sum(axis=1))
        bound = (problem.known("sigma2") + problem.known("M_G") * slope @ slope) / problem.m
        limit = scipy.stats.t.isf(FALSE_ALARM / 2, len(noise) - 1)
        if mean > bound + limit * error + self.slack * (1 + bound):
            raise ValueError(
                f"sigma2 and M_G of {problem!r} must bound the noise of mini_batch_gradients; its mean "
                f"square is {mean:.3g}, above (sigma2 + M_G ‖∇F‖²)/m = {bound:.3g}."
            )

    def bounds(self) -> None:
        """L, c and the minimum against the two points; not below what they bound is all that can be seen."""
        problem, most = self.problem, 1 + self.slack
        change, distance = (float(np.linalg.norm(x[0] - x[1])) for x in (self.slope, self.w))
        if problem.L is not None and change > problem.known("L") * distance * most:
            raise ValueError(
                f"L of {problem!r} must be at least {change / distance:.3g}, as gradient changes that fast; "
                f"got {problem.L:g}."
            )
        if problem.minimum is None:
            return
        above = self.loss - problem.known("minimum")
        if above.min() < -self.slack * (1 + np.abs(self.loss).max()):
            raise ValueError(
                f"minimum of {problem!r} must be at most {self.loss.min():.3g}, which loss gives; "
                f"got {problem.minimum:g}."
            )
        square = np.square(self.slope).sum(axis=1)
        if problem.c is not None and (2 * problem.known("c") * above > square * most + self.slack).any():
            raise ValueError(
                f"c of {problem!r} must be at most {(square / (2 * above)).min():.3g}, so that "
                f"‖∇F‖² is at least 2c (F - F*); got {problem.c:g}."
            )

    def directions(self) -> FloatArray:
        """Random directions of length 1, (directions, d)."""
        v = self.rng.standard_normal((DIRECTIONS, self.problem.dimension))
        return np.asarray(v / np.linalg.norm(v, axis=1, keepdims=True))


def _mean_and_error(values: FloatArray) -> tuple[Any, Any]:
    """The mean over the first axis and its standard error."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / len(values) ** 0.5
