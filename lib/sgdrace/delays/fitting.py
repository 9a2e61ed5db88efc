"""The textbook law nearest to measured times: maximum likelihood, family by family.

Knows the families of laws and what times were measured; nothing of why they took so long.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from sgdrace._arguments import FloatArray, reals, shown
from sgdrace.delays.families import (
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Lomax,
    Pareto,
    ShiftedExponential,
    Uniform,
    Weibull,
)
from sgdrace.delays.law import DelayLaw, Law
from sgdrace.delays.learners import as_single_law


@dataclass(frozen=True)
class Fit:
    """The most likely law of one family, and how well it does."""

    law: DelayLaw
    parameters: int  # that were chosen to suit the times
    log_likelihood: float
    distance: float  # of Kolmogorov and Smirnov

    @property
    def aic(self) -> float:
        """Akaike's criterion, smaller is better: a parameter must earn its keep."""
        return 2 * self.parameters - 2 * self.log_likelihood


@dataclass(frozen=True, repr=False)
class Fits(Sequence[Fit]):
    """Fits of several families to the same times, the best by Akaike's criterion first.

    `fits[0]` is the first of them, `fits[Pareto]` that of a family.
    """

    times: int  # how many were measured
    fits: tuple[Fit, ...]

    @property
    def best(self) -> DelayLaw:
        """The law of the first fit."""
        return self.fits[0].law

    def __len__(self) -> int:
        return len(self.fits)

    def __iter__(self) -> Iterator[Fit]:
        return iter(self.fits)

    def __getitem__(self, which: Any) -> Any:
        if not isinstance(which, type):
            return self.fits[which]
        for one in self.fits:
            if type(one.law) is which:
                return one
        raise KeyError(f"{which.__name__} was not fitted.")

    def __repr__(self) -> str:
        rows = [("log-likelihood", "AIC", "KS distance", f"law fitted to {self.times} times")]
        rows += [
            (f"{one.log_likelihood:.1f}", f"{one.aic:.1f}", f"{one.distance:.3f}", _short(one.law))
            for one in self.fits
        ]
        return "\n".join(f"{likely:>14}{aic:>10}{distance:>13}  {law}" for likely, aic, distance, law in rows)


def fit(times: ArrayLike, laws: Sequence[type[DelayLaw]] | None = None) -> Fits:
    """The most likely law of every family (by default of all but Erlang), and how far each is from the times.

    The same times give the same fits: nothing is drawn. The shift of a `ShiftedExponential`, the scale of a
    `Pareto` and the ends of a `Uniform` are the extreme times themselves, so a single odd time decides them.
    Where no tail is heavier than that of an exponential, a `Lomax` comes as near to one as it may. A
    `HyperExponential` gets two kinds of mini-batches.

    >>> fit([0.5, 0.7, 0.6, 1.9, 0.8, 0.6, 0.7, 3.1], [Exponential, LogNormal, Pareto])
    log-likelihood       AIC  KS distance  law fitted to 8 times
              -2.8       9.6        0.197  Pareto(shape=1.714, scale=0.5)
              -6.4      16.8        0.325  LogNormal(mu=-0.1098, sigma=0.6023)
              -8.9      19.7        0.362  Exponential(rate=0.8989)
    """
    data = reals("times", times, above=0, closed=True)
    return Fits(data.size, tuple(sorted((_fit(data, one) for one in _families(laws)), key=lambda f: f.aic)))


def ks_distance(times: ArrayLike, law: Law) -> float:
    """The distance of Kolmogorov and Smirnov: the widest gap, over all x, between shares that are done by x.

    One share is that of the measured times, the other is the law's, which may be discrete.

    >>> round(ks_distance([1.0, 3.0], Uniform(0.0, 4.0)), 4)
    0.25
    """
    data, repeats = np.unique(reals("times", times, above=0, closed=True), return_counts=True)
    X = as_single_law(law, "law")
    done = np.cumsum(repeats) / repeats.sum()
    before = np.append(0.0, done[:-1])
    # Between two measured times only the law moves, and never down, so the gap is widest at an end.
    at, just_before = X.cdf(data), X.cdf(np.nextafter(data, -np.inf))
    return float(max(np.abs(at - done).max(), np.abs(just_before - before).max()))


def _fit(times: FloatArray, family: type[DelayLaw]) -> Fit:
    recipe = RECIPES[family]
    different = np.unique(times).size
    if different <= recipe.parameters:
        raise ValueError(
            f"a fit of {family.__name__} needs at least {recipe.parameters + 1} different times; "
            f"got {different}."
        )
    if recipe.positive and times.min() == 0:
        raise ValueError(
            f"times must be above 0 to fit {family.__name__}; entry {int(np.argmin(times))} is 0: leave it "
            "out, or fit only laws=[Exponential, ShiftedExponential, Uniform]."
        )
    unit = float(times.mean())  # so that the searches below need not know seconds from milliseconds
    law = recipe.most_likely(times) if recipe.closed else recipe.most_likely(times / unit) * unit
    return Fit(law, recipe.parameters, _log_likelihood(law, times), ks_distance(times, law))


def _log_likelihood(law: DelayLaw, times: FloatArray) -> float:
    match law:
        case Uniform(low, high):  # the longest time may be rounded out of SciPy's support
            return -times.size * math.log(high - low)
        case HyperExponential(probabilities, rates):
            logs = np.log(probabilities) + np.log(rates) - np.multiply.outer(times, rates)
            return float(special.logsumexp(logs, axis=1).sum())
    return float(law.distribution.logpdf(times).sum())


# The most likely law of each family.


def _exponential(times: FloatArray) -> Exponential:
    return Exponential(1 / times.mean())


def _shifted_exponential(times: FloatArray) -> ShiftedExponential:
    low = times.min()
    return ShiftedExponential(low, 1 / (times.mean() - low))


def _pareto(times: FloatArray) -> Pareto:
    low = times.min()
    return Pareto(1 / np.log(times / low).mean(), low)


def _log_normal(times: FloatArray) -> LogNormal:
    logs = np.log(times)
    return LogNormal(logs.mean(), logs.std())


def _uniform(times: FloatArray) -> Uniform:
    return Uniform(times.min(), times.max())


def _gamma(times: FloatArray) -> Gamma:
    # With the mean matched, log(shape) - digamma(shape) must be this; it lies between 1/2 and 1 over shape.
    gap = float(np.log(times.mean()) - np.log(times).mean())
    shape = scipy.optimize.brentq(
        lambda shape: math.log(shape) - special.digamma(shape) - gap, 0.5 / gap, 1 / gap, xtol=1e-300
    )
    return Gamma(shape, shape / times.mean())


def _erlang(times: FloatArray) -> Erlang:
    # The likelihood of the shape has one hill, so the best whole number is next to the best of all.
    below = max(1, math.floor(_gamma(times).shape))
    near = [Erlang(stages, stages / times.mean()) for stages in (below, below + 1)]
    return max(near, key=lambda law: _log_likelihood(law, times))


def _weibull(times: FloatArray) -> Weibull:
    logs = np.log(times / times.max())

    def slope(shape: float) -> float:  # of the likelihood, downward; it rises with the shape
        return float(np.average(logs, weights=np.exp(shape * logs)) - logs.mean() - 1 / shape)

    high = 1.0
    while slope(high) < 0:
        high *= 2
    low = high
    while slope(low) > 0:
        low /= 2
    shape = scipy.optimize.brentq(slope, low, high, xtol=1e-300)
    return Weibull(shape, times.max() * np.exp(shape * logs).mean() ** (1 / shape))


def _lomax(times: FloatArray) -> Lomax:
    def shape(scale: float) -> float:
        return float(1 / np.log1p(times / scale).mean())

    def loss(log_scale: float) -> float:
        scale = math.exp(log_scale)
        return math.log(scale) - math.log(shape(scale)) + (1 + 1 / shape(scale))

    # From far below the shortest time to where nobody can tell the law from an exponential one.
    grid = np.linspace(math.log(times.min()) - 7, math.log(1e6), 400)
    n = int(np.argmin([loss(s) for s in grid]))
    around = grid[max(n - 1, 0)], grid[min(n + 1, grid.size - 1)]
    scale = math.exp(
        scipy.optimize.minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-10}).x
    )
    return Lomax(shape(scale), scale)


def _hyperexponential(times: FloatArray) -> HyperExponential:
    def loss(at: FloatArray) -> tuple[float, FloatArray]:
        (odds, *_), log_rates, rates = at, at[1:], np.exp(at[1:])
        log_shares = special.log_expit(np.array([odds, -odds]))
        logs = log_shares + log_rates - np.multiply.outer(times, rates)
        total = np.logaddexp(*logs.T)
        kind = np.exp(logs - total[:, None])  # how likely each time is of each kind
        by_odds = kind[:, 0].mean() - special.expit(odds)
        by_log_rates = (kind * (1 - np.multiply.outer(times, rates))).mean(axis=0)
        return -float(total.mean()), -np.append(by_odds, by_log_rates)

    # The likelihood may have several hills: start from each of three shares of slow mini-batches.
    ordered, ends = np.sort(times), []
    for share in (0.5, 0.1, 0.01):
        fast, slow = np.split(ordered, [min(math.ceil((1 - share) * times.size), times.size - 1)])
        start = np.log([(1 - share) / share, 1 / fast.mean(), 1 / slow.mean()])
        ends.append(
            scipy.optimize.minimize(loss, start, jac=True, bounds=[(-30, 30)] * 3, options={"gtol": 1e-7})
        )
    odds, *log_rates = min(ends, key=lambda end: end.fun).x
    shares = special.expit([odds, -odds])
    return HyperExponential(tuple(shares), tuple(np.exp(log_rates)))


class _Recipe(NamedTuple):
    """How to fit one family."""

    most_likely: Callable[[FloatArray], DelayLaw]
    parameters: int
    positive: bool = True  # whether a time of 0 has no density, or an infinite one
    closed: bool = False  # whether there is a formula


RECIPES: dict[type[DelayLaw], _Recipe] = {
    Exponential: _Recipe(_exponential, 1, positive=False, closed=True),
    ShiftedExponential: _Recipe(_shifted_exponential, 2, positive=False, closed=True),
    Pareto: _Recipe(_pareto, 2, closed=True),
    Lomax: _Recipe(_lomax, 2),
    Gamma: _Recipe(_gamma, 2),
    Weibull: _Recipe(_weibull, 2),
    HyperExponential: _Recipe(_hyperexponential, 3),
    LogNormal: _Recipe(_log_normal, 2, closed=True),
    Uniform: _Recipe(_uniform, 2, positive=False, closed=True),
    Erlang: _Recipe(_erlang, 2),
}


def _families(laws: Any) -> list[type[DelayLaw]]:
    if laws is None:
        return [family for family in RECIPES if family is not Erlang]  # Gamma holds all of them
    given = list(laws) if isinstance(laws, Sequence) and not isinstance(laws, str) else []
    if not given:
        raise TypeError(f"laws must be a list of families such as [Exponential, Pareto]; got {shown(laws)}.")
    for family in given:
        if not isinstance(family, type) or family not in RECIPES:
            known = ", ".join(one.__name__ for one in RECIPES)
            raise TypeError(f"every entry of laws must be one of {known}; got {shown(family)}.")
    return list(dict.fromkeys(given))


def _short(law: DelayLaw) -> str:
    """The law with four digits of each parameter."""

    def digits(value: Any) -> str:
        return f"({', '.join(map(digits, value))})" if isinstance(value, tuple) else f"{value:.4g}"

    shown_fields = [one for one in fields(law) if one.repr and one.init]  # type: ignore[arg-type]
    return (
        f"{type(law).__name__}({', '.join(f'{f.name}={digits(getattr(law, f.name))}' for f in shown_fields)})"
    )
