"""A measured number with its standard error.  Knows arithmetic, nothing of what was measured."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, repr=False)
class Estimate:
    """Numbers measured over runs, with their standard errors (infinite for a single run).

    `runs` is how many independent values the standard error comes from; unless it is known, as many as one
    likes. An estimate can be moved and scaled by numbers, which count as exact.

    >>> mean, error = Estimate(2.0, 0.1)
    >>> 10 * Estimate(2.0, 0.1) - 1
    19 ± 1
    """

    value: Any  # a float, or an array of them
    standard_error: Any  # of the same shape
    runs: float = math.inf

    def __repr__(self) -> str:
        """The value and one standard error."""
        if np.ndim(self.value):
            return f"{np.size(self.value)} estimates from {self.runs} runs"
        return f"{self.value:.4g} ± {self.standard_error:.2g}"

    def __iter__(self) -> Iterator[Any]:
        """Value and standard error, to be unpacked."""
        return iter((self.value, self.standard_error))

    def __mul__(self, factor: float) -> "Estimate":
        """So many times as large, error and all."""
        return Estimate(self.value * factor, self.standard_error * abs(factor), self.runs)

    def __truediv__(self, divisor: float) -> "Estimate":
        """In other units."""
        return Estimate(self.value / divisor, self.standard_error / abs(divisor), self.runs)

    def __add__(self, other: float) -> "Estimate":
        """Moved by a number that is known exactly."""
        return Estimate(self.value + other, self.standard_error, self.runs)

    def __sub__(self, other: float) -> "Estimate":
        """Moved by a number that is known exactly."""
        return self + -other

    __rmul__ = __mul__
    __radd__ = __add__


def mean_of(runs: Any) -> Estimate:
    """The mean of independent values, one per run, with its standard error; of each column of a table.

    >>> mean_of([1.0, 2.0, 3.0])
    2 ± 0.58
    """
    values = _values(runs)
    error = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    return Estimate(_plain(values.mean(axis=0)), _plain(error), len(values))


def variance_of(runs: Any) -> Estimate:
    """The variance of independent values, with its standard error, for which they need a fourth moment.

    >>> variance_of([1.0, 2.0, 3.0]).value
    1.0
    """
    values = _values(runs)
    squares = (values - values.mean(axis=0)) ** 2
    n = len(values)
    error = squares.std(axis=0, ddof=1) / math.sqrt(n)
    return Estimate(_plain(squares.sum(axis=0) / (n - 1)), _plain(error), n)


def share_of(hits: Any) -> Estimate:
    """The share of hits among independent trials, with its standard error.

    The error is that of a share with two more hits and two more misses: none of a hundred hits does not mean
    that there is no doubt.

    >>> share_of([True, False, False, False])
    0.25 ± 0.24
    """
    trials = _values(hits)
    n = len(trials)
    guess = (trials.sum(axis=0) + 2) / (n + 4)
    return Estimate(_plain(trials.mean(axis=0)), _plain(np.sqrt(guess * (1 - guess) / n)), n)


def ratio_of(above: Estimate, below: Estimate) -> Estimate:
    """One estimate divided by another that is independent of it, if the doubt of both is small.

    >>> ratio_of(Estimate(6.0, 0.3), Estimate(2.0, 0.0))
    3 ± 0.15
    """
    value = above.value / below.value
    doubt = np.hypot(above.standard_error / above.value, below.standard_error / below.value)
    return Estimate(value, _plain(np.abs(value) * doubt), min(above.runs, below.runs))


def _values(runs: Any) -> Any:
    values = np.asarray(runs, dtype=float)
    if values.ndim == 0 or len(values) < 2:
        raise ValueError(f"a standard error needs at least two runs; got {runs!r}.")
    return values


def _plain(array: Any) -> Any:
    """A float where there is one number."""
    return float(array) if np.ndim(array) == 0 else array
