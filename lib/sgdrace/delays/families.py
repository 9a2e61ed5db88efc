"""The textbook laws of X.

SciPy's distributions do the mathematics, only fast sampling is ours.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from sgdrace._arguments import FloatArray, count, real, reals, store
from sgdrace.delays.law import Ageing, DelayLaw


@dataclass(frozen=True)
class Exponential(DelayLaw):
    """Memoryless times: a running mini-batch is as good as a fresh one.

    >>> Exponential(rate=2.0).mean
    0.5
    """

    rate: float = 1.0

    def __post_init__(self) -> None:
        store(self, rate=real("rate", self.rate, above=0))

    @cached_property
    def distribution(self) -> Any:
        return scipy.stats.expon(scale=1 / self.rate)

    @property
    def ageing(self) -> Ageing:
        return "both"

    def _from_exponential(self, e: FloatArray) -> FloatArray:
        return e / self.rate

    def _scaled(self, factor: float) -> "Exponential":
        return Exponential(self.rate / factor)

    def _shifted(self, shift: float) -> "ShiftedExponential":
        return ShiftedExponential(shift, self.rate)


@dataclass(frozen=True)
class ShiftedExponential(DelayLaw):
    """A fixed amount of work, then a memoryless delay: X = shift + Exp(rate).

    >>> ShiftedExponential(shift=1.0, rate=1.0).mean
    2.0
    """

    shift: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        store(self, shift=real("shift", self.shift, above=0, closed=True))
        store(self, rate=real("rate", self.rate, above=0))

    @cached_property
    def distribution(self) -> Any:
        return scipy.stats.expon(loc=self.shift, scale=1 / self.rate)

    @property
    def ageing(self) -> Ageing:
        return "NLTU" if self.shift > 0 else "both"

    def _from_exponential(self, e: FloatArray) -> FloatArray:
        time = e / self.rate
        time += self.shift  # in place: a fresh array costs as much as the arithmetic
        return time

    def _scaled(self, factor: float) -> "ShiftedExponential":
        return ShiftedExponential(self.shift * factor, self.rate / factor)

    def _shifted(self, shift: float) -> "ShiftedExponential":
        return ShiftedExponential(self.shift + shift, self.rate)


@dataclass(frozen=True)
class Pareto(DelayLaw):
    """Pareto of type I: Pr(X > x) = (scale/x)^shape for x >= scale, the least possible time.

    The minimum makes young mini-batches look NLTU and the heavy tail makes old ones look NSTU: neither.

    >>> round(Pareto(shape=2.5, scale=1.0).mean, 4)
    1.6667
    """

    shape: float = 2.5
    scale: float = 1.0

    def __post_init__(self) -> None:
        store(self, shape=real("shape", self.shape, above=0))
        store(self, scale=real("scale", self.scale, above=0))

    @cached_property
    def distribution(self) -> Any:
        return scipy.stats.pareto(self.shape, scale=self.scale)

    @property
    def ageing(self) -> Ageing:
        return "neither"

    def _from_exponential(self, e: FloatArray) -> FloatArray:
        time = np.asarray(e / self.shape)
        np.exp(time, out=time)
        time *= self.scale
        return time

    def _scaled(self, factor: float) -> "Pareto":
        return Pareto(self.shape, self.scale * factor)


@dataclass(frozen=True)
class Lomax(DelayLaw):
    """Pareto of type II, which starts at 0: Pr(X > x) = (1 + x/scale)^-shape.

    >>> round(Lomax(shape=2.5, scale=1.0).mean, 4)
    0.6667
    """

    shape: float = 2.5
    scale: float = 1.0

    def __post_init__(self) -> None:
        store(self, shape=real("shape", self.shape, above=0))
        store(self, scale=real("scale", self.scale, above=0))

    @cached_property
    def distribution(self) -> Any:
        return scipy.stats.lomax(self.shape, scale=self.scale)

    @property
    def ageing(self) -> Ageing:
        return "NSTU"

    def _from_exponential(self, e: FloatArray) -> FloatArray:
        return self.scale * np.expm1(e / self.shape)

    def _scaled(self, factor: float) -> "Lomax":
        return Lomax(self.shape, self.scale * factor)


@dataclass(frozen=True)
class Gamma(DelayLaw):
    """Gamma with mean shape/rate; NLTU from shape 1 upward, NSTU from 1 downward.

    >>> Gamma(shape=0.5, rate=0.5).ageing
    'NSTU'
    """

    shape: float = 2.0
    rate: float = 2.0

    def __post_init__(self) -> None:
        store(self, shape=real("shape", self.shape, above=0))
        store(self, rate=real("rate", self.rate, above=0))

    @classmethod
    def from_moments(cls, mean: float, var: float) -> "Gamma":
        """The gamma law with this mean and variance: right about long times where a fit looks at most times.

        >>> Gamma.from_moments(mean=1.0, var=0.5)
        Gamma(shape=2.0, rate=2.0)
        """
        m, v = real("mean", mean, above=0), real("var", var, above=0)
        return Gamma(shape=m**2 / v, rate=m / v)

    @cached_property
    def distribution(self) -> Any:
        return scipy.stats.gamma(self.shape, scale=1 / self.rate)

    @property
    def ageing(self) -> Ageing:
        return _ageing_by_shape(self.shape)

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return rng.standard_gamma(self.shape, shape) / self.rate

    def _scaled(self, factor: float) -> "Gamma":
        return replace(self, rate=self.rate / factor)  # an Erlang remains one


@dataclass(frozen=True, init=False, repr=False)
class Erlang(Gamma):
    """A pipeline of exponential stages, each with the same rate; the mean is stages/rate.

    >>> Erlang(stages=3, rate=3.0).mean
    1.0
    """

    shape: float = field(init=False, compare=False)
    stages: int = 3
    __match_args__ = ("stages", "rate")

    def __init__(self, stages: int = 3, rate: float = 3.0) -> None:
        store(self, stages=count("stages", stages))
        super().__init__(shape=self.stages, rate=rate)

    def __repr__(self) -> str:
        return f"Erlang(stages={self.stages}, rate={self.rate})"


@dataclass(frozen=True)
class Weibull(DelayLaw):
    """Pr(X > x) = exp(-(x/scale)^shape); NLTU from shape 1 upward, NSTU from 1 downward.

    >>> Weibull(shape=0.5).mean
    2.0
    """

    shape: float = 0.5
    scale: float = 1.0

    def __post_init__(self) -> None:
        store(self, shape=real("shape", self.shape, above=0))
        store(self, scale=real("scale", self.scale, above=0))

    @cached_property
    def distribution(self) -> Any:
        return scipy.stats.weibull_min(self.shape, scale=self.scale)

    @property
    def ageing(self) -> Ageing:
        return _ageing_by_shape(self.shape)

    def _from_exponential(self, e: FloatArray) -> FloatArray:
        return self.scale * e ** (1 / self.shape)

    def _scaled(self, factor: float) -> "Weibull":
        return Weibull(self.shape, self.scale * factor)


@dataclass(frozen=True)
class HyperExponential(DelayLaw):
    """A mixture of exponentials: mini-batches of several kinds, usually many fast and a few slow.

    >>> HyperExponential(probabilities=(0.9, 0.1), rates=(2.0, 0.2)).mean
    0.95
    """

    probabilities: tuple[float, ...] = (0.9, 0.1)
    rates: tuple[float, ...] = (2.0, 1 / 5.5)

    def __post_init__(self) -> None:
        probabilities = reals("probabilities", self.probabilities, above=0)
        rates = reals("rates", self.rates, above=0)
        if probabilities.size != rates.size:
            raise ValueError(
                f"probabilities and rates must be equally many; got {probabilities.size} and {rates.size}."
            )
        if not math.isclose(probabilities.sum(), 1):
            raise ValueError(f"probabilities must add up to 1; they add up to {probabilities.sum():g}.")
        store(self, probabilities=tuple(probabilities.tolist()), rates=tuple(rates.tolist()))

    @cached_property
    def mean(self) -> float:
        # Not a dot product, whose last digit depends on the machine.
        return math.fsum(p / rate for p, rate in zip(self.probabilities, self.rates, strict=True))

    @cached_property
    def var(self) -> float:
        square = math.fsum(2 * p / rate**2 for p, rate in zip(self.probabilities, self.rates, strict=True))
        return square - self.mean**2

    @property
    def ageing(self) -> Ageing:
        return "both" if len(set(self.rates)) == 1 else "NSTU"

    def _cdf(self, x: FloatArray) -> Any:
        return self._mix(x, scipy.stats.expon.cdf, 0)

    def _sf(self, x: FloatArray) -> Any:
        return self._mix(x, scipy.stats.expon.sf, 0)

    def _pdf(self, x: FloatArray) -> Any:
        return self._mix(x, scipy.stats.expon.pdf, 1)

    def _mix(self, x: FloatArray, component: Callable[[FloatArray], FloatArray], power: int) -> Any:
        p, rate = np.array(self.probabilities), np.array(self.rates)
        return (p * rate**power * component(np.multiply.outer(x, rate))).sum(axis=-1)

    def _ppf(self, q: FloatArray) -> Any:
        with np.errstate(divide="ignore"):  # the share 1 is reached at infinity
            return self._at_log_survival(np.log1p(-q))

    def _isf(self, q: FloatArray) -> Any:
        with np.errstate(divide="ignore"):
            return self._at_log_survival(np.log(q))

    def _from_exponential(self, e: FloatArray) -> FloatArray:
        return np.asarray(self._at_log_survival(-e))

    def _at_log_survival(self, target: Any) -> Any:
        # log Pr(X > x) is convex and decreasing, so Newton's iterates rise to the root from any point left
        # of it; the slowest component alone gives such a point.
        p, rate = np.array(self.probabilities), np.array(self.rates)
        x = np.maximum(0.0, ((np.log(p) - np.expand_dims(target, -1)) / rate).max(axis=-1))
        finite = np.isfinite(x)
        for _ in range(200):  # a handful of steps suffice
            start = np.where(finite, x, 0.0)
            # Relative to the slowest component, so that nothing underflows far in the tail, and from the
            # share that is done while it is small, so that no digits are lost near 0.
            weight = p * np.exp(-np.multiply.outer(start, rate - rate.min()))
            late = np.log(weight.sum(axis=-1)) - rate.min() * start
            done = -(p * np.expm1(-np.multiply.outer(start, rate))).sum(axis=-1)
            log_survival = np.where(done < 0.5, np.log1p(-np.minimum(done, 0.5)), late)
            step = (log_survival - target) * weight.sum(axis=-1) / (weight * rate).sum(axis=-1)
            better = finite & (step > 4e-16 * start) & (start + step > start)
            if not better.any():
                break
            x = np.where(better, start + step, x)
        return x[()]

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        kind = np.searchsorted(np.cumsum(self.probabilities)[:-1], rng.random(shape), side="right")
        return np.asarray(rng.standard_exponential(shape) / np.array(self.rates)[kind])

    def _scaled(self, factor: float) -> "HyperExponential":
        return HyperExponential(self.probabilities, tuple(rate / factor for rate in self.rates))


@dataclass(frozen=True)
class LogNormal(DelayLaw):
    """X = exp(N(mu, sigma²)). Its hazard rises and then falls, so it is neither NLTU nor NSTU.

    >>> round(LogNormal(mu=0.0, sigma=1.0).mean, 4)
    1.6487
    """

    mu: float = 0.0
    sigma: float = 1.0

    def __post_init__(self) -> None:
        store(self, mu=real("mu", self.mu, above=-700, below=700))  # beyond, exp(mu) is no float
        store(self, sigma=real("sigma", self.sigma, above=0))

    @cached_property
    def distribution(self) -> Any:
        return scipy.stats.lognorm(self.sigma, scale=math.exp(self.mu))

    @property
    def ageing(self) -> Ageing:
        return "neither"

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return np.exp(self.mu + self.sigma * rng.standard_normal(shape))

    def _scaled(self, factor: float) -> "LogNormal":
        return LogNormal(self.mu + math.log(factor), self.sigma)


@dataclass(frozen=True)
class Uniform(DelayLaw):
    """Any time between low and high is equally likely.

    >>> Uniform(low=0.0, high=2.0).mean
    1.0
    """

    low: float = 0.0
    high: float = 2.0

    def __post_init__(self) -> None:
        store(self, low=real("low", self.low, above=0, closed=True))
        store(self, high=real("high", self.high, above=self.low))

    @cached_property
    def distribution(self) -> Any:
        return scipy.stats.uniform(loc=self.low, scale=self.high - self.low)

    @property
    def ageing(self) -> Ageing:
        return "NLTU"

    def _from_exponential(self, e: FloatArray) -> FloatArray:
        return self.low - (self.high - self.low) * np.expm1(-e)

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return rng.uniform(self.low, self.high, shape)

    def _scaled(self, factor: float) -> "Uniform":
        return Uniform(self.low * factor, self.high * factor)

    def _shifted(self, shift: float) -> "Uniform":
        return Uniform(self.low + shift, self.high + shift)


def _ageing_by_shape(shape: float) -> Ageing:
    return "both" if shape == 1 else "NLTU" if shape > 1 else "NSTU"
