"""Laws that somebody else wrote, as laws of X: anything with `sample(rng, size)`, and SciPy's distributions.

Knows what a law is; believes a law of others as far as it agrees with itself.
"""

import math
from functools import cached_property
from typing import Any, cast, get_args

import numpy as np
import scipy

from sgdrace._arguments import FloatArray, floats, one_of, shown
from sgdrace.delays.law import Ageing, DelayLaw, Size, bisect

ROUNDING = 1e-9  # what somebody's own law may be off by, relatively, before it counts as wrong
WITNESSES = 4000  # sampled times that the other methods of such a law are held against


class OwnLaw(DelayLaw):
    """A law that somebody else wrote: what it offers is checked, what it lacks is named when it is needed.

    When its quantiles or probabilities are first used, they are held against 4000 times that its `sample`
    draws from a stream of their own. Of a billion laws that agree with themselves, one is refused.
    """

    def __init__(self, law: Any, witnesses: int = WITNESSES) -> None:
        self.law, self._witnesses = law, witnesses
        self._name = type(law).__name__
        self._agreed: set[str] = set()  # the methods that have been held against the sample

    def __repr__(self) -> str:
        return repr(self.law)

    @property
    def deepest_hazard(self) -> float:  # type: ignore[override]
        """Without a survival function of its own, shares below the rounding of 1 - q are out of reach."""
        return 690.0 if self.offers("sf") or self.offers("isf") else 36.0

    @property
    def has_quantiles(self) -> bool:  # type: ignore[override]
        """Whether the law itself has a ppf; one found from the cdf by bisection is too slow for sampling."""
        return self.offers("ppf")

    @cached_property
    def mean(self) -> float:
        return self._moment("mean")

    @cached_property
    def var(self) -> float:
        return self._moment("var")

    @cached_property
    def ageing(self) -> Ageing:
        if not self.offers("ageing"):
            return "neither"
        return cast(Ageing, one_of(f"{self._name}.ageing", self.law.ageing, get_args(Ageing)))

    def _cdf(self, x: FloatArray) -> Any:
        return self._agreeing("cdf", x)[()]

    def _sf(self, x: FloatArray) -> Any:
        return self._agreeing("sf", x)[()] if self.offers("sf") else 1 - self._cdf(x)

    def _pdf(self, x: FloatArray) -> Any:
        return self._asked("pdf", x)[()]

    def _ppf(self, q: FloatArray) -> Any:
        if self.offers("ppf") or not self.offers("cdf"):
            return self._agreeing("ppf", q)[()]
        return bisect(lambda x: self._cdf(x) >= q, q.shape)

    def _isf(self, q: FloatArray) -> Any:
        if self.offers("isf"):
            return self._agreeing("isf", q)[()]
        if self.offers("sf") and not self.offers("ppf"):
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

    def offers(self, name: str) -> bool:
        """Whether the law has a method or property of this name."""
        return getattr(self.law, name, None) is not None

    def _need(self, name: str) -> Any:
        if not self.offers(name):
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
            self.hold_against_sample(name)
            self._agreed.add(name)
        return self._asked(name, at)

    def hold_against_sample(self, name: str) -> None:
        """Refuse a method, one of cdf, sf, ppf and isf, that contradicts what `sample` draws."""
        sample = np.sort(self._sample(np.random.default_rng(0), (self._witnesses,)))
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
        error = math.sqrt(math.log(2e9) / (2 * sample.size))
        before = np.searchsorted(sample, time * (1 - ROUNDING), "left") / sample.size
        by = np.searchsorted(sample, time * (1 + ROUNDING), "right") / sample.size
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


def adopt(law: Any, name: str) -> DelayLaw:
    """A law with all that can be asked of one: ours as it is, one of SciPy's, or one with `sample`."""
    if isinstance(law, DelayLaw):
        return law
    if isinstance(law, type):
        raise TypeError(f"{name} must be a law such as {law.__name__}(...), not the class itself.")
    if isinstance(law, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
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
