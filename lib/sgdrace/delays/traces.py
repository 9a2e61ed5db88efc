"""Measured times as a law of X: every time was measured once and is drawn again.

Knows what a law is and where measured times are kept; nothing of the textbook laws.
"""

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, real, reals, store
from sgdrace.delays.law import Ageing, DelayLaw
from sgdrace.delays.trace_files import read_times


@dataclass(frozen=True, eq=False, repr=False)
class Empirical(DelayLaw):
    """The law that draws measured times again, each equally likely.

    >>> Empirical([1.0, 1.0, 2.0, 4.0])
    Empirical(4 times, mean 2)
    """

    times: FloatArray

    def __init__(self, times: ArrayLike) -> None:
        checked = np.sort(reals("times", times, above=0, closed=True))
        if checked[-1] == 0:
            raise ValueError("times must hold at least one positive time; all are 0.")
        checked.setflags(write=False)
        store(self, times=checked)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.times.size} times, mean {self.mean:.4g})"

    @classmethod
    def from_csv(cls, path: str | PathLike[str], column: str | int | None = None) -> "Empirical":
        """Times from one column of a comma-separated file, given by its name in the first line or its number.

        A file of one column needs neither a header nor `column`; with more, the first line must name them.
        The first line is the header if no cell of it begins like a number, or if `column` is one of them:
        `column="0"` reads what pandas writes for a column without a name. A first line `0`, or a whole
        number above nothing but decimals, may be such a name or a time and is refused. So is everything that
        is not written like 1.5 or 2e-3 (decimal commas, separators of thousands, units), and a line with
        more or fewer cells than the first. Empty lines are skipped.
        """
        return cls(read_times(path, column))

    @cached_property
    def mean(self) -> float:
        return float(self.times.mean())

    @cached_property
    def var(self) -> float:
        return float(self.times.var())

    @cached_property
    def ageing(self) -> Ageing:
        # A bounded law cannot be NSTU. It is NLTU if Pr(X > u + t) <= Pr(X > u) Pr(X > t) for all u, t; both
        # sides are steps, so sums of two observed times (or 0) decide. Quadratic, so not for long traces.
        knots = np.unique(np.append(0.0, self.times))
        if knots.size > 5000:
            return "neither"
        survival = self._sf(knots)
        for t, alive in zip(knots[::-1], survival[::-1], strict=True):  # violations hide in the tail
            if (self._sf(knots + t) > survival * alive * (1 + 1e-12)).any():
                return "neither"
        return "NLTU"

    def _cdf(self, x: FloatArray) -> Any:
        return np.searchsorted(self.times, x, side="right") / self.times.size

    def _sf(self, x: FloatArray) -> Any:
        return 1 - self._cdf(x)

    def _pdf(self, x: FloatArray) -> Any:
        raise ValueError("an Empirical law is discrete and has no density; use its cdf.")

    def _ppf(self, q: FloatArray) -> Any:
        # The guard against rounding keeps ppf(cdf(x)) = x at every observed time.
        index = np.ceil(q * self.times.size * (1 - 1e-15)).astype(int) - 1
        return self.times[np.clip(index, 0, self.times.size - 1)]

    def _isf(self, q: FloatArray) -> Any:
        return self._ppf(1 - q)

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return self.times[rng.integers(self.times.size, size=shape)]

    def _scaled(self, factor: float) -> "Empirical":
        return Empirical(self.times * factor)

    def _shifted(self, shift: float) -> "Empirical":
        return Empirical(self.times + shift)


@dataclass(frozen=True, init=False, repr=False)
class Constant(Empirical):
    """Every mini-batch takes the same time: nobody is ever late.

    >>> Constant(2.0)
    Constant(2)
    """

    times: FloatArray = field(init=False, compare=False)
    value: float = 1.0

    def __init__(self, value: float = 1.0) -> None:
        store(self, value=real("value", value, above=0))
        super().__init__([self.value])

    def __repr__(self) -> str:
        return f"Constant({self.value:g})"

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return np.full(shape, self.value)

    def _scaled(self, factor: float) -> "Constant":
        return Constant(self.value * factor)

    def _shifted(self, shift: float) -> "Constant":
        return Constant(self.value + shift)
