"""What a law of X, the time one learner needs for one mini-batch, can be asked, and what 2 * X and X + 1 are.

Knows probability; nothing of races, nor of any particular law.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, floats, points, real, shape_of_draws, shares, shown, store

Size = int | tuple[int, ...]
Ageing = Literal["NLTU", "NSTU", "both", "neither"]

LOG_2 = math.log(2)


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
    shorter, "both" for the exponential law alone, "neither" where it depends on the age or is not known.
    A number times a law is the law of longer times, a law plus a number that of times with a fixed part.
    """

    __array_ufunc__ = None  # NumPy's numbers shall leave 2 * law to the law

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
            return self._from_exponential(depth)

    def sample(self, rng: np.random.Generator, size: Size) -> FloatArray:
        """Independent mini-batch times."""
        with np.errstate(over="ignore"):  # a tail may reach beyond what float64 can hold
            return self._sample(rng, shape_of_draws(rng, size))

    def __mul__(self, factor: float) -> "DelayLaw":
        return self._scaled(real("factor", factor, above=0))

    def __add__(self, shift: float) -> "DelayLaw":
        fixed = real("shift", shift, above=0, closed=True)
        return self._shifted(fixed) if fixed else self

    __rmul__, __radd__ = __mul__, __add__

    # What a law itself knows; the arguments have been checked above.

    def _scaled(self, factor: float) -> "DelayLaw":
        return Scaled(self, factor)

    def _shifted(self, shift: float) -> "DelayLaw":
        return Shifted(self, shift)

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

    def _from_exponential(self, e: FloatArray) -> FloatArray:
        early = e < LOG_2  # each half of the law from the side where no digits cancel
        time = np.empty(e.shape)
        time[early] = self._ppf(-np.expm1(-e[early]))
        time[~early] = self._isf(np.exp(-e[~early]))
        return time

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return self._from_exponential(np.asarray(rng.standard_exponential(shape)))


@dataclass(frozen=True, repr=False)
class Scaled(DelayLaw):
    """The law of factor · X: the same work on a machine that is slower by a constant factor.

    It keeps the base, so that learners who differ by a factor alone can be drawn together. `factor * X` is
    simpler where the family of X holds it.

    >>> from sgdrace import Exponential
    >>> Scaled(Exponential(), 3.0).mean, 3.0 * Exponential()
    (3.0, Exponential(rate=0.3333333333333333))
    """

    base: DelayLaw
    factor: float

    def __post_init__(self) -> None:
        store(self, base=_base(self.base), factor=real("factor", self.factor, above=0))

    def __repr__(self) -> str:
        base = f"({self.base!r})" if isinstance(self.base, Shifted) else repr(self.base)
        return f"{self.factor!r} * {base}"

    @property
    def has_quantiles(self) -> bool:  # type: ignore[override]
        return self.base.has_quantiles

    @property
    def deepest_hazard(self) -> float:  # type: ignore[override]
        return self.base.deepest_hazard

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

    def _from_exponential(self, e: FloatArray) -> FloatArray:
        return self.factor * self.base._from_exponential(e)

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return self.factor * self.base._sample(rng, shape)

    def _scaled(self, factor: float) -> DelayLaw:
        return Scaled(self.base, factor * self.factor)

    def _shifted(self, shift: float) -> DelayLaw:
        plain = self.base * self.factor  # of a family that holds its multiples, perhaps its shifts, too
        return Shifted(self, shift) if isinstance(plain, Scaled) else plain + shift


@dataclass(frozen=True, repr=False)
class Shifted(DelayLaw):
    """The law of X + shift: a fixed amount of work before or after what varies.

    >>> from sgdrace import Gamma
    >>> 0.5 + 2 * Gamma(shape=2.0, rate=2.0)
    Gamma(shape=2.0, rate=1.0) + 0.5
    """

    base: DelayLaw
    shift: float

    def __post_init__(self) -> None:
        store(self, base=_base(self.base), shift=real("shift", self.shift, above=0, closed=True))

    def __repr__(self) -> str:
        return f"{self.base!r} + {self.shift!r}"

    @property
    def has_quantiles(self) -> bool:  # type: ignore[override]
        return self.base.has_quantiles

    @property
    def deepest_hazard(self) -> float:  # type: ignore[override]
        return self.base.deepest_hazard

    @cached_property
    def mean(self) -> float:
        return self.base.mean + self.shift

    @cached_property
    def var(self) -> float:
        return self.base.var

    @property
    def ageing(self) -> Ageing:
        # With S = Pr(X > .), S(a + b + shift) <= S(a + b) <= S(a) S(b) keeps NLTU. During the shift age
        # brings the end nearer, so nothing stays NSTU. Most such laws are then neither; a mixture of
        # exponentials may become NLTU by a long shift, which nothing here certifies.
        if self.shift == 0:
            return self.base.ageing
        return "NLTU" if self.base.ageing in ("NLTU", "both") else "neither"

    def _cdf(self, x: FloatArray) -> Any:
        return self.base._cdf(x - self.shift)

    def _sf(self, x: FloatArray) -> Any:
        return self.base._sf(x - self.shift)

    def _pdf(self, x: FloatArray) -> Any:
        return self.base._pdf(x - self.shift)

    def _ppf(self, q: FloatArray) -> Any:
        return self.base._ppf(q) + self.shift

    def _isf(self, q: FloatArray) -> Any:
        return self.base._isf(q) + self.shift

    def _from_exponential(self, e: FloatArray) -> FloatArray:
        return self.base._from_exponential(e) + self.shift

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return self.base._sample(rng, shape) + self.shift

    def _scaled(self, factor: float) -> DelayLaw:
        return Shifted(self.base * factor, self.shift * factor)

    def _shifted(self, shift: float) -> DelayLaw:
        return Shifted(self.base, self.shift + shift)


def _base(law: Any) -> DelayLaw:
    if not isinstance(law, DelayLaw):
        raise TypeError(
            "base must be a law of mini-batch times that all learners share, such as Exponential() or what "
            f"as_law makes of a law of others; got {shown(law)}."
        )
    return law


def finite_mean(law: DelayLaw) -> float:
    """E[X] where a formula needs it to exist."""
    if not math.isfinite(law.mean):
        raise ValueError(f"this needs a finite mean E[X], but that of {law!r} is infinite.")
    return law.mean


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
