"""The laws of X, the time one learner needs for one mini-batch.

Knows probability; nothing of races. SciPy's distributions do the mathematics, only fast sampling is ours.
A law is anything with `sample(rng, size)`: `as_law` gives a law of your own the methods of this module.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, Literal, Protocol, cast, get_args, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from sgdrace._arguments import (
    FloatArray,
    count,
    floats,
    one_of,
    points,
    real,
    reals,
    shape_of_draws,
    shares,
    shown,
    store,
)
from sgdrace.traces import read_times

Size = int | tuple[int, ...]
Ageing = Literal["NLTU", "NSTU", "both", "neither"]

LOG_2 = math.log(2)
ROUNDING = 1e-9  # what somebody's own law may be off by, relatively, before it counts as wrong
WITNESSES = 4000  # sampled times that the other methods of such a law are held against


@runtime_checkable
class Law(Protocol):
    """The least a law of delays must offer."""

    def sample(self, rng: np.random.Generator, size: Size, /) -> FloatArray:
        """Independent mini-batch times."""
        ...


class DelayLaw:
    """A law of mini-batch times X >= 0, by default that of the SciPy distribution `self.distribution`.

    `ageing` compares a running mini-batch with a fresh one: "NLTU" (new longer than used) if having run for
    a while never makes the remaining time stochastically longer, "NSTU" (new shorter than used) if never
    shorter, "both" for the exponential law alone, "neither" where it depends on the age.
    """

    has_quantiles: bool = True  # whether X_{K:P} can be drawn at a cost that does not grow with P
    deepest_hazard: float = 690.0  # exp(-690) is near the smallest share that float64 can tell from 0

    @property
    def distribution(self) -> Any:
        """The frozen SciPy distribution of X."""
        raise NotImplementedError

    @property
    def ageing(self) -> Ageing:
        """How a running mini-batch compares with a fresh one."""
        raise NotImplementedError

    @cached_property
    def mean(self) -> float:
        """E[X], infinite for very heavy tails."""
        return float(self.distribution.mean())

    @cached_property
    def var(self) -> float:
        """Var[X], infinite for heavy tails."""
        return float(self.distribution.var()) if math.isfinite(self.mean) else math.inf

    def cdf(self, x: ArrayLike) -> Any:
        """Pr(X <= x)."""
        return self._cdf(points("x", x))

    def sf(self, x: ArrayLike) -> Any:
        """Pr(X > x), accurate far in the tail."""
        return self._sf(points("x", x))

    def pdf(self, x: ArrayLike) -> Any:
        """Density at x."""
        return self._pdf(points("x", x))

    def hazard(self, x: ArrayLike) -> Any:
        """The rate at which a mini-batch that has run for x finishes now, infinite if none runs so long."""
        at = points("x", x)
        density, running = np.asarray(self._pdf(at)), np.asarray(self._sf(at))
        rate = np.full(density.shape, np.inf)
        return np.divide(density, running, out=rate, where=running > 0)[()]

    def ppf(self, q: ArrayLike) -> Any:
        """The time by which a share q of mini-batches is done."""
        return self._ppf(shares("q", q))

    def isf(self, q: ArrayLike) -> Any:
        """The time after which a share q of mini-batches is still running."""
        return self._isf(shares("q", q))

    def from_exponential(self, e: ArrayLike) -> FloatArray:
        """The time at which the cumulative hazard -log Pr(X > x) reaches e.

        An increasing map that turns a standard exponential variable into X, and so the k-th smallest of
        P exponentials into the k-th smallest of P mini-batch times.
        """
        depth = floats("e", e)
        if not depth.min(initial=0.0) >= 0:
            raise ValueError(f"a cumulative hazard e must be at least 0; got {depth.min():g}.")
        with np.errstate(over="ignore"):
            return self._at_hazard(depth)

    def sample(self, rng: np.random.Generator, size: Size) -> FloatArray:
        """Independent mini-batch times."""
        with np.errstate(over="ignore"):  # a tail may reach beyond what float64 can hold
            return self._sample(rng, shape_of_draws(rng, size))

    # What a law itself knows; the arguments have been checked above.

    def _cdf(self, x: FloatArray) -> Any:
        return self.distribution.cdf(x)

    def _sf(self, x: FloatArray) -> Any:
        return self.distribution.sf(x)

    def _pdf(self, x: FloatArray) -> Any:
        return self.distribution.pdf(x)

    def _ppf(self, q: FloatArray) -> Any:
        return self.distribution.ppf(q)

    def _isf(self, q: FloatArray) -> Any:
        return self.distribution.isf(q)

    def _at_hazard(self, e: FloatArray) -> FloatArray:
        early = e < LOG_2  # each half of the law from the side where no digits cancel
        time = np.empty(e.shape)
        time[early] = self._ppf(-np.expm1(-e[early]))
        time[~early] = self._isf(np.exp(-e[~early]))
        return time

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return self._at_hazard(np.asarray(rng.standard_exponential(shape)))


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
        return stats.expon(scale=1 / self.rate)

    @property
    def ageing(self) -> Ageing:
        return "both"

    def _at_hazard(self, e: FloatArray) -> FloatArray:
        return e / self.rate


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
        return stats.expon(loc=self.shift, scale=1 / self.rate)

    @property
    def ageing(self) -> Ageing:
        return "NLTU" if self.shift > 0 else "both"

    def _at_hazard(self, e: FloatArray) -> FloatArray:
        time = e / self.rate
        time += self.shift  # in place: a fresh array costs as much as the arithmetic
        return time


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
        return stats.pareto(self.shape, scale=self.scale)

    @property
    def ageing(self) -> Ageing:
        return "neither"

    def _at_hazard(self, e: FloatArray) -> FloatArray:
        time = np.asarray(e / self.shape)
        np.exp(time, out=time)
        time *= self.scale
        return time


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
        return stats.lomax(self.shape, scale=self.scale)

    @property
    def ageing(self) -> Ageing:
        return "NSTU"

    def _at_hazard(self, e: FloatArray) -> FloatArray:
        return self.scale * np.expm1(e / self.shape)


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

    @cached_property
    def distribution(self) -> Any:
        return stats.gamma(self.shape, scale=1 / self.rate)

    @property
    def ageing(self) -> Ageing:
        return _ageing_by_shape(self.shape)

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return rng.standard_gamma(self.shape, shape) / self.rate


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
        return stats.weibull_min(self.shape, scale=self.scale)

    @property
    def ageing(self) -> Ageing:
        return _ageing_by_shape(self.shape)

    def _at_hazard(self, e: FloatArray) -> FloatArray:
        return self.scale * e ** (1 / self.shape)


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
        return self._mix(x, stats.expon.cdf, 0)

    def _sf(self, x: FloatArray) -> Any:
        return self._mix(x, stats.expon.sf, 0)

    def _pdf(self, x: FloatArray) -> Any:
        return self._mix(x, stats.expon.pdf, 1)

    def _mix(self, x: FloatArray, component: Callable[[FloatArray], FloatArray], power: int) -> Any:
        p, rate = np.array(self.probabilities), np.array(self.rates)
        return (p * rate**power * component(np.multiply.outer(x, rate))).sum(axis=-1)

    def _ppf(self, q: FloatArray) -> Any:
        with np.errstate(divide="ignore"):  # the share 1 is reached at infinity
            return self._at_log_survival(np.log1p(-q))

    def _isf(self, q: FloatArray) -> Any:
        with np.errstate(divide="ignore"):
            return self._at_log_survival(np.log(q))

    def _at_hazard(self, e: FloatArray) -> FloatArray:
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
        return stats.lognorm(self.sigma, scale=math.exp(self.mu))

    @property
    def ageing(self) -> Ageing:
        return "neither"

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return np.exp(self.mu + self.sigma * rng.standard_normal(shape))


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
        return stats.uniform(loc=self.low, scale=self.high - self.low)

    @property
    def ageing(self) -> Ageing:
        return "NLTU"

    def _at_hazard(self, e: FloatArray) -> FloatArray:
        return self.low - (self.high - self.low) * np.expm1(-e)

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return rng.uniform(self.low, self.high, shape)


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


@dataclass(frozen=True)
class Scaled(DelayLaw):
    """The law of factor · X: the same work on a machine that is slower by a constant factor.

    >>> Scaled(Exponential(), 3.0).mean
    3.0
    """

    base: DelayLaw
    factor: float

    def __post_init__(self) -> None:
        store(self, base=as_single_law(self.base, "base"), factor=real("factor", self.factor, above=0))

    @cached_property
    def mean(self) -> float:
        return self.factor * self.base.mean

    @cached_property
    def var(self) -> float:
        return self.factor**2 * self.base.var

    @property
    def ageing(self) -> Ageing:
        return self.base.ageing

    def _cdf(self, x: FloatArray) -> Any:
        return self.base._cdf(x / self.factor)

    def _sf(self, x: FloatArray) -> Any:
        return self.base._sf(x / self.factor)

    def _pdf(self, x: FloatArray) -> Any:
        return self.base._pdf(x / self.factor) / self.factor

    def _ppf(self, q: FloatArray) -> Any:
        return self.factor * self.base._ppf(q)

    def _isf(self, q: FloatArray) -> Any:
        return self.factor * self.base._isf(q)

    def _at_hazard(self, e: FloatArray) -> FloatArray:
        return self.factor * self.base._at_hazard(e)

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return self.factor * self.base._sample(rng, shape)


class PerLearner:
    """Learners that differ persistently: each has a law of its own.

    Give a list of laws, or one law and a factor by which each learner is slower.

    >>> PerLearner(Exponential(), factors=[1, 1, 3]).means.tolist()
    [1.0, 1.0, 3.0]
    >>> len(PerLearner([Constant(1.0), Constant(2.0)]))
    2
    """

    has_quantiles = False  # the K-th of different learners is found by drawing them all

    def __init__(self, laws: Law | Sequence[Law], factors: ArrayLike | None = None) -> None:
        if factors is not None:
            if isinstance(laws, PerLearner | list | tuple):
                many = "PerLearner law" if isinstance(laws, PerLearner) else "list of laws"
                raise TypeError(f"factors scale one law; a {many} has its own.")
            base = as_single_law(laws, "the law that factors scale")
            self.laws: tuple[DelayLaw, ...] = tuple(
                Scaled(base, factor) for factor in reals("factors", factors, above=0).tolist()
            )
        elif isinstance(laws, Law) or not isinstance(laws, Sequence):
            raise TypeError("PerLearner takes a list of laws, or one law with factors=[...], one a learner.")
        elif not laws:
            raise ValueError("PerLearner needs at least one law.")
        else:
            self.laws = tuple(self._single(law, f"laws[{n}]") for n, law in enumerate(laws))
        # Learners that share a law are drawn together; with factors that is everybody: learner i needs
        # factor[i] times as long as kinds[kind[i]].
        bases = [law.base if isinstance(law, Scaled) else law for law in self.laws]
        self.factor = np.array([law.factor if isinstance(law, Scaled) else 1.0 for law in self.laws])
        self.kinds = list({id(base): base for base in bases}.values())
        index = {id(base): n for n, base in enumerate(self.kinds)}
        self.kind = np.array([index[id(base)] for base in bases])

    @staticmethod
    def _single(law: Any, name: str) -> DelayLaw:
        checked = as_law(law, name)
        if isinstance(checked, PerLearner):
            raise TypeError("a PerLearner law cannot be the law of one learner.")
        return checked

    def __len__(self) -> int:
        return len(self.laws)

    def __repr__(self) -> str:
        return f"PerLearner({len(self)} learners)"

    @property
    def means(self) -> FloatArray:
        """E[X] of every learner."""
        return np.array([law.mean for law in self.laws])

    @property
    def ageing(self) -> Ageing:
        """The class that all learners share, if they do."""
        classes = {law.ageing for law in self.laws} - {"both"}
        if not classes:
            return "both"
        return classes.pop() if len(classes) == 1 else "neither"

    def sample(self, rng: np.random.Generator, size: Size, learner: Any = None) -> FloatArray:
        """Times of the given learners, which broadcast to `size`, or of all along the last axis."""
        shape = shape_of_draws(rng, size)
        who = self._broadcast(np.arange(len(self)) if learner is None else learner, shape)
        if len(self.kinds) == 1:
            return np.asarray(self.kinds[0]._sample(rng, shape) * self.factor[who])
        kind = self.kind[who].ravel()
        order = kind.argsort(kind="stable")  # grouped once, or each law would look through all learners
        number = np.bincount(kind, minlength=len(self.kinds))
        asked = [law._sample(rng, (n,)) for law, n in zip(self.kinds, number.tolist(), strict=True) if n]
        time = np.empty(kind.size)
        if asked:
            time[order] = np.concatenate(asked)
        return np.asarray(time.reshape(shape) * self.factor[who])

    def _broadcast(self, learner: Any, shape: tuple[int, ...]) -> Any:
        try:
            who = np.asarray(learner)
            if who.dtype.kind in "iu" and 0 <= who.min(initial=0) <= who.max(initial=0) < len(self):
                return np.broadcast_to(who, shape)
        except ValueError:
            raise ValueError(
                f"the learners must fill the shape {shape} when they are repeated; got {shown(learner)}."
            ) from None
        raise ValueError(
            f"learner must be whole numbers between 0 and {len(self) - 1}; got {shown(learner)}."
        )


class OwnLaw(DelayLaw):
    """A law that somebody else wrote: what it offers is checked, what it lacks is named when it is needed.

    When its quantiles or probabilities are first used, they are held against 4000 times that its `sample`
    draws from a stream of their own. Of a billion laws that agree with themselves, one is refused.
    """

    def __init__(self, law: Any) -> None:
        self.law = law
        self._name = type(law).__name__
        self._agreed: set[str] = set()  # the methods that have been held against the sample

    def __repr__(self) -> str:
        return repr(self.law)

    @property
    def deepest_hazard(self) -> float:  # type: ignore[override]
        """Without a survival function of its own, shares below the rounding of 1 - q are out of reach."""
        return 690.0 if self._offers("sf") or self._offers("isf") else 36.0

    @property
    def has_quantiles(self) -> bool:  # type: ignore[override]
        """Whether the law itself has a ppf; one found from the cdf by bisection is too slow for sampling."""
        return self._offers("ppf")

    @cached_property
    def mean(self) -> float:
        return self._moment("mean")

    @cached_property
    def var(self) -> float:
        return self._moment("var")

    @cached_property
    def ageing(self) -> Ageing:
        if not self._offers("ageing"):
            return "neither"
        return cast(Ageing, one_of(f"{self._name}.ageing", self.law.ageing, get_args(Ageing)))

    def _cdf(self, x: FloatArray) -> Any:
        return self._agreeing("cdf", x)[()]

    def _sf(self, x: FloatArray) -> Any:
        return self._agreeing("sf", x)[()] if self._offers("sf") else 1 - self._cdf(x)

    def _pdf(self, x: FloatArray) -> Any:
        return self._asked("pdf", x)[()]

    def _ppf(self, q: FloatArray) -> Any:
        if self._offers("ppf") or not self._offers("cdf"):
            return self._agreeing("ppf", q)[()]
        return bisect(lambda x: self._cdf(x) >= q, q.shape)

    def _isf(self, q: FloatArray) -> Any:
        if self._offers("isf"):
            return self._agreeing("isf", q)[()]
        if self._offers("sf") and not self._offers("ppf"):
            return bisect(lambda x: self._sf(x) <= q, q.shape)
        return self._ppf(1 - q)

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        size = shape[0] if len(shape) == 1 else shape
        time = self._numbers("sample", self.law.sample(rng, size), shape)
        wrong = ~(np.isfinite(time) & (time >= 0))
        if wrong.any():
            raise ValueError(
                f"{self._name}.sample must give finite times of at least 0; got {time[wrong][0]:g}."
            )
        return time.copy()  # the race works in place

    def _offers(self, name: str) -> bool:
        return getattr(self.law, name, None) is not None

    def _need(self, name: str) -> Any:
        if not self._offers(name):
            raise TypeError(f"this needs the law's {name}, which {self._name} does not have.")
        return getattr(self.law, name)

    def _moment(self, name: str) -> float:
        value = self._need(name)
        number = self._numbers(name, value() if callable(value) else value, ())
        if not number >= 0:
            raise ValueError(f"{name} of {self._name} must be at least 0; got {number:g}.")
        return float(number)

    def _numbers(self, name: str, given: Any, shape: tuple[int, ...]) -> FloatArray:
        array = floats(f"what {self._name}.{name} gives", given)
        if array.shape != shape:
            raise ValueError(f"{self._name}.{name} was asked for shape {shape} and gave {array.shape}.")
        return array

    def _asked(self, name: str, at: FloatArray) -> FloatArray:
        """What a method of the law gives, in its range."""
        method = self._need(name)
        if not callable(method):
            raise TypeError(f"{self._name}.{name} must be a method; got {shown(method)}.")
        value = self._numbers(name, method(at[()]), at.shape)
        highest = 1 + ROUNDING if name in ("cdf", "sf") else math.inf
        wrong = ~((value >= -ROUNDING) & (value <= highest))
        if wrong.any():
            allowed = "between 0 and 1" if highest < math.inf else "of at least 0"
            raise ValueError(
                f"{self._name}.{name} must give numbers {allowed}; got {value[wrong].flat[0]:g}."
            )
        return np.clip(value, 0, 1 if highest < math.inf else None)

    def _agreeing(self, name: str, at: FloatArray) -> FloatArray:
        """The same, of a method that agrees with the sample."""
        if name not in self._agreed:
            self._hold_against_sample(name)
            self._agreed.add(name)
        return self._asked(name, at)

    def _hold_against_sample(self, name: str) -> None:
        sample = np.sort(self._sample(np.random.default_rng(0), (WITNESSES,)))
        if name in ("ppf", "isf"):
            share = np.arange(1, 200) / 200
            time = rising = self._asked(name, share if name == "ppf" else 1 - share)
        else:  # on both sides of every time, because the law may jump there
            time = np.sort(np.append(sample * (1 - 2 * ROUNDING), sample * (1 + 2 * ROUNDING)))
            share = rising = self._asked(name, time) if name == "cdf" else 1 - self._asked(name, time)
        if not np.isfinite(time).all():
            raise ValueError(f"{self._name}.{name} must give finite times for shares inside (0, 1); got inf.")
        if (np.diff(rising) < -ROUNDING * rising[1:]).any():
            direction = "fall" if name in ("ppf", "cdf") else "rise"
            raise ValueError(f"{self._name}.{name} must never {direction}; it does.")
        # Wherever the law jumps, Pr(X < time) <= share <= Pr(X <= time), and by the inequality of Dvoretzky,
        # Kiefer, Wolfowitz and Massart a sample misses none of these by more than this, save once in 1e9.
        error = math.sqrt(math.log(2e9) / (2 * WITNESSES))
        before = np.searchsorted(sample, time * (1 - ROUNDING), "left") / WITNESSES
        by = np.searchsorted(sample, time * (1 + ROUNDING), "right") / WITNESSES
        wrong = (share < before - error) | (share > by + error)
        if wrong.any():
            n = np.argmax(wrong)
            raise ValueError(
                f"{self._name}.{name} must describe the law that {self._name}.sample draws from; it says a "
                f"share {share[n]:.3g} is done by {time[n]:.4g}, but of a sample {by[n]:.3g} are."
            )


class _SciPyLaw(DelayLaw):
    """A distribution of scipy.stats, frozen or of the new kind, taken as the law of X."""

    def __init__(self, distribution: Any, name: str) -> None:
        self._distribution, self._name = distribution, name
        self._least = distribution.support()[0]
        if np.ndim(self._least) or np.ndim(distribution.mean()):
            raise ValueError(f"delay must be one law; {name} was given lists of parameters.")
        if math.isnan(self._least):
            raise ValueError(f"{name} was given parameters that it does not allow.")
        if self._least < 0:
            raise ValueError(f"a delay cannot be negative, but {name} reaches below 0.")

    def __repr__(self) -> str:
        return f"scipy.stats.{self._name}"

    @property
    def distribution(self) -> Any:
        return self._distribution

    @property
    def ageing(self) -> Ageing:
        return "neither"  # unknown: no inequality that depends on the class may be quoted

    def _pdf(self, x: FloatArray) -> Any:
        if not hasattr(self._distribution, "pdf"):
            raise ValueError(f"{self._name} is discrete and has no density; use its cdf.")
        return self._distribution.pdf(x)

    def _ppf(self, q: FloatArray) -> Any:
        return np.maximum(self._distribution.ppf(q), self._least)  # SciPy puts the share 0 of integers at -1

    def _isf(self, q: FloatArray) -> Any:
        return np.maximum(self._distribution.isf(q), self._least)

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return np.array(self._distribution.rvs(size=shape, random_state=rng), dtype=np.float64)


class _Renamed:
    """A distribution of SciPy's new kind under the names that frozen ones have."""

    def __init__(self, new: Any) -> None:
        self.new = new
        self.support, self.mean, self.var = new.support, new.mean, new.variance
        self.cdf, self.sf, self.pdf, self.ppf, self.isf = new.cdf, new.ccdf, new.pdf, new.icdf, new.iccdf

    def rvs(self, size: Size, random_state: np.random.Generator) -> Any:
        return self.new.sample(size, rng=random_state)


def as_law(law: Any, name: str = "delay") -> DelayLaw | PerLearner:
    """Any law with the methods of this module: ours, one of SciPy's, or one with `sample`."""
    if isinstance(law, DelayLaw | PerLearner):
        return law
    if isinstance(law, type):
        raise TypeError(f"{name} must be a law such as {law.__name__}(...), not the class itself.")
    if isinstance(law, stats.rv_continuous | stats.rv_discrete):
        raise TypeError(f"{name} must be a law with its parameters, such as {law.name}(...); freeze it so.")
    if hasattr(law, "rvs") and hasattr(law, "support"):
        return _SciPyLaw(law, law.dist.name)
    if hasattr(law, "icdf") and hasattr(law, "iccdf"):
        return _SciPyLaw(_Renamed(law), type(law).__name__)
    if hasattr(law, "__array__"):  # before `sample`, which tables of pandas have, too
        raise TypeError(f"{name} must be a law; make one of measured times with Empirical; got {shown(law)}.")
    if callable(getattr(law, "sample", None)):
        return OwnLaw(law)
    raise TypeError(f"{name} must be a law of mini-batch times, such as Exponential(); got {shown(law)}.")


def law_of_learners(law: Any, P: int) -> DelayLaw | PerLearner:
    """A law for P learners: one that they share, or a PerLearner with exactly P."""
    checked = as_law(law)
    if isinstance(checked, PerLearner) and len(checked) != P:
        raise ValueError(f"the PerLearner law describes {len(checked)} learners, but P is {P}.")
    return checked


def as_single_law(law: Any, name: str = "delay") -> DelayLaw:
    """A law that all learners share."""
    checked = as_law(law, name)
    if isinstance(checked, PerLearner):
        raise TypeError(f"{name} must be one law that all learners share here, not a PerLearner.")
    return checked


def finite_mean(law: DelayLaw) -> float:
    """E[X] where a formula needs it to exist."""
    if not math.isfinite(law.mean):
        raise ValueError(f"this needs a finite mean E[X], but that of {law!r} is infinite.")
    return law.mean


def _ageing_by_shape(shape: float) -> Ageing:
    return "both" if shape == 1 else "NLTU" if shape > 1 else "NSTU"


def bisect(reached: Callable[[FloatArray], Any], shape: tuple[int, ...]) -> Any:
    """The smallest x at which `reached` turns true, to the last digits of float64, or infinity."""
    high = np.ones(shape)
    while not (done := reached(high) | (high > 1e300)).all():
        high = np.where(done, high, 4 * high)
    never = ~np.asarray(reached(high))
    low = np.where(high > 1, high / 4, 0.0)
    for _ in range(1100):  # enough to walk down to the smallest float
        middle = low + (high - low) / 2
        if ((middle == low) | (middle == high)).all():
            break
        here = reached(middle)
        low, high = np.where(here, low, middle), np.where(here, middle, high)
    return np.where(never, np.inf, high)[()]
