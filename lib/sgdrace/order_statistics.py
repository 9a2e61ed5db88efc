"""X_{K:P}, the K-th smallest of P mini-batch times: how long the server waits for K of P learners.

Knows one law of X, or one per learner, and nothing of SGD. Closed forms where they exist, else quadrature.
"""

import math
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from sgdrace._arguments import (
    LARGEST_COUNT,
    FloatArray,
    Seed,
    count,
    generator,
    points,
    shape_of_draws,
    shares,
)
from sgdrace._quadrature import QuadratureError, integrate
from sgdrace.delays import (
    DelayLaw,
    Empirical,
    Exponential,
    Law,
    Lomax,
    Pareto,
    PerLearner,
    Scaled,
    ShiftedExponential,
    Size,
    Uniform,
    as_law,
    bisect,
    law_of_learners,
)

# Of Pr(X > x), falling: close together where most of the time is spent, and far into the tail.
LEVELS = np.concatenate(
    [
        1 - np.geomspace(1e-15, 0.05, 8),
        np.linspace(0.9, 0.1, 9),
        np.geomspace(0.05, 1e-15, 8),
        10.0 ** -np.array([20, 30, 40, 60, 80, 120, 160, 200, 300]),
    ]
)
DIRECT = 1 << 20  # terms of a sum over learners that are added one by one
CHUNK = 1 << 19  # numbers in one array, so that many learners stay within memory
PANEL_TOLERANCE = 1e-13  # of one panel, relative to the integral: there may be many
TOLERANCE = 1e-9  # relative, between two refinements: the finer one is then far better than 1e-8


def mean(law: Law, K: int, P: int) -> float:
    """E[X_{K:P}], infinite where the tail is too heavy for the mean to exist.

    Eight learners with exponential times of mean 1: the server waits 2.7 for all of them.

    >>> round(mean(Exponential(), K=8, P=8), 4)
    2.7179
    """
    X, K, P = _checked(law, K, P)
    match X:
        case PerLearner():
            return mean(X.laws[0], K, P) if _alike(X) else _per_learner_moments(X, K, P)[0]
        case Scaled():
            return X.factor * mean(X.base, K, P)
        case Empirical():
            return float(X.times @ _empirical_weights(X, K, P))
        case Exponential(rate):
            return _sum_over_ranks(lambda r: 1 / r, K, P) / rate
        case ShiftedExponential(shift, rate):
            return shift + _sum_over_ranks(lambda r: 1 / r, K, P) / rate
        case Uniform(low, high):
            return low + (high - low) * K / (P + 1)
        case Pareto(shape, scale):
            return scale * _exp(_log_pareto_mean(shape, K, P))
        case Lomax(shape, scale):
            log_mean = _log_pareto_mean(shape, K, P)
            return scale * (math.expm1(log_mean) if log_mean < 700 else math.inf)
    return _quadrature(X, K, P)[0]


def var(law: Law, K: int, P: int) -> float:
    """Var[X_{K:P}], infinite where it does not exist.

    >>> round(var(Uniform(0.0, 1.0), K=1, P=1), 4)
    0.0833
    """
    X, K, P = _checked(law, K, P)
    match X:
        case PerLearner():
            return var(X.laws[0], K, P) if _alike(X) else _per_learner_moments(X, K, P, want_var=True)[1]
        case Scaled():
            return X.factor**2 * var(X.base, K, P)
        case Empirical():
            return float((X.times - mean(X, K, P)) ** 2 @ _empirical_weights(X, K, P))
        case Exponential(rate) | ShiftedExponential(_, rate):
            return _sum_over_ranks(lambda r: 1 / r**2, K, P) / rate**2
        case Uniform(low, high):
            return (high - low) ** 2 * K * (P - K + 1) / ((P + 1) ** 2 * (P + 2))
        case Pareto(shape, scale) | Lomax(shape, scale):
            return _pareto_var(shape, scale, K, P)
    return _quadrature(X, K, P, want_var=True)[1]


def cdf(law: Law, K: int, P: int, x: ArrayLike) -> Any:
    """Pr(X_{K:P} <= x): at least K of P learners are done by x, a binomial tail.

    >>> float(cdf(Uniform(0.0, 1.0), K=1, P=2, x=0.5))
    0.75
    """
    X, K, P = _checked(law, K, P)
    times = points("x", x)
    if isinstance(X, PerLearner):
        return 1 - _fewer_than(X, K, times)
    return special.betainc(K, P - K + 1, X.cdf(times))


def sf(law: Law, K: int, P: int, x: ArrayLike) -> Any:
    """Pr(X_{K:P} > x), accurate far in the tail.

    >>> float(sf(Uniform(0.0, 1.0), K=1, P=2, x=0.5))
    0.25
    """
    X, K, P = _checked(law, K, P)
    times = points("x", x)
    if isinstance(X, PerLearner):
        return _fewer_than(X, K, times)
    return special.betainc(P - K + 1, K, X.sf(times))


def pdf(law: Law, K: int, P: int, x: ArrayLike) -> Any:
    """Density of X_{K:P} at x.

    >>> round(float(pdf(Uniform(0.0, 1.0), K=1, P=2, x=0.25)), 4)
    1.5
    """
    X, K, P = _checked(law, K, P)
    if isinstance(X, PerLearner):
        raise TypeError(
            "the density of X_{K:P} needs one law that all learners share; use cdf for PerLearner."
        )
    times = points("x", x)
    done, running = X.cdf(times), X.sf(times)
    # Whichever of the two is small has kept its digits.
    early = done < 0.5
    density = scipy.stats.beta.pdf
    beta = np.where(early, density(done, K, P - K + 1), density(running, P - K + 1, K))
    return X.pdf(times) * beta[()]


def ppf(law: Law, K: int, P: int, q: ArrayLike) -> Any:
    """The time by which K of P learners are done with probability q.

    >>> float(ppf(Uniform(0.0, 1.0), K=1, P=1, q=0.25))
    0.25
    """
    X, K, P = _checked(law, K, P)
    share = shares("q", q)
    if isinstance(X, PerLearner):
        return bisect(lambda x: cdf(X, K, P, x) >= share, share.shape)
    done = special.betaincinv(K, P - K + 1, share)
    running = special.betaincinv(P - K + 1, K, 1 - share)
    return np.asarray(np.where(done < 0.5, X.ppf(done), X.isf(running)))[()]


def sample(law: Law, K: int, P: int, seed: Seed, size: Size) -> FloatArray:
    """Independent draws of X_{K:P}; for laws with quantiles the cost does not depend on P.

    Renyi: the K-th smallest of P standard exponentials is log(1 + G_K / G_{P-K+1}) with independent gamma
    variables of these shapes, and every X is an increasing function of an exponential.

    >>> sample(Uniform(2.0, 2.001), K=3, P=4, seed=0, size=2).round(2).tolist()
    [2.0, 2.0]
    """
    X, K, P = _checked(law, K, P)
    rng = generator(seed)
    shape = shape_of_draws(rng, size)
    if not X.has_quantiles:
        return np.asarray(np.partition(X.sample(rng, (*shape, P)), K - 1, axis=-1)[..., K - 1])
    exponential = np.log1p(rng.standard_gamma(K, shape) / rng.standard_gamma(P - K + 1, shape))
    return np.asarray(X.from_exponential(exponential))


def has_closed_form(law: Law) -> bool:
    """Whether mean and variance of X_{K:P} are formulas; for other laws they are integrated.

    >>> has_closed_form(Exponential()), has_closed_form(scipy.stats.gamma(2.0))
    (True, False)
    """
    match as_law(law, "law"):
        case PerLearner() as X:
            return _alike(X) and has_closed_form(X.laws[0])
        case Scaled(base, _):
            return has_closed_form(base)
        case X:
            return isinstance(X, Empirical | Exponential | ShiftedExponential | Uniform | Pareto | Lomax)


def _checked(law: Any, K: Any, P: Any) -> tuple[Any, int, int]:
    P = count("P", P)
    if P > LARGEST_COUNT:
        raise ValueError("P must be at most 2^53, up to which floats hold every whole number.")
    return law_of_learners(law, P), count("K", K, maximum=P), P


def _alike(laws: PerLearner) -> bool:
    return len(set(laws.laws)) == 1


def _sum_over_ranks(f: Callable[[FloatArray], FloatArray], K: int, P: int) -> float:
    """Σ f(r) over r = P-K+1, ..., P, how many learners are still running before each of the K completions.

    Only the first terms are added up one by one. For the others ∫ f(r) dr, over half a step more at both
    ends, is the same to 13 digits: f changes little from one rank to the next.
    """
    first, direct = P - K + 1, min(K, DIRECT)
    total = float(f(np.arange(first, first + direct, dtype=np.float64)).sum())
    if direct < K:
        start = first + direct
        octaves = start * (2.0 ** np.arange(math.log2(P / start) + 1) - 1)
        edges = np.append(octaves[octaves < K - direct], K - direct)  # counted from `start`: exact
        total += float(integrate(lambda r: f(start - 0.5 + r)[None], edges, PANEL_TOLERANCE)[0])
    return total


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf


def _log_pareto_mean(shape: float, K: int, P: int) -> float:
    # P!/(P-K)! Γ(P-K+1-1/α)/Γ(P+1-1/α) as a product, which keeps its digits for P = 1e6.
    if (P - K + 1) * shape <= 1:
        return math.inf
    return -_sum_over_ranks(lambda r: np.log1p(-1 / (shape * r)), K, P)


def _pareto_var(shape: float, scale: float, K: int, P: int) -> float:
    # E[X²]/E[X]² - 1 = exp(Σ log(1 + d²/(1-2d))) - 1 with d = 1/(α rank): only positive terms.
    if (P - K + 1) * shape <= 2:
        return math.inf

    def log_factor(r: FloatArray) -> FloatArray:
        d = 1 / (shape * r)
        return np.asarray(np.log1p(d**2 / (1 - 2 * d)))

    log_ratio = _sum_over_ranks(log_factor, K, P)
    log_square = 2 * (math.log(scale) + _log_pareto_mean(shape, K, P))
    if log_ratio < 700 and log_square < 700:
        return math.exp(log_square) * math.expm1(log_ratio)
    return _exp(log_square + log_ratio)


def _empirical_weights(law: Empirical, K: int, P: int) -> FloatArray:
    """Probability that X_{K:P} is each of the sorted observed times."""
    steps = np.arange(law.times.size + 1) / law.times.size
    return np.diff(special.betainc(K, P - K + 1, steps))


@lru_cache(maxsize=4096)  # a chapter asks for the same means again and again
def _quadrature(law: DelayLaw, K: int, P: int, want_var: bool = False) -> tuple[float, float]:
    """Mean and variance of X_{K:P} by the trapezoidal rule in z = logit of the share of learners done.

    There the density of the K-th smallest is smooth and falls exponentially on both sides, so the rule
    converges faster than any power of the step, and a kink of the law at its smallest value does no harm.
    Gauss-Legendre on panels would need edges where X_{K:P} is narrow, a peak that P and K move about.
    """
    slope, running = _tail_slope(law), P - K + 1
    if slope >= running:
        return math.inf, math.inf
    if want_var and 2 * slope >= running:
        return _quadrature(law, K, P)[0], math.inf
    low, high = _logit_range(law, K, P, power=1 + want_var)
    previous = math.nan
    for panels in 2 ** np.arange(8, 18):
        z = np.linspace(low, high, int(panels) + 1)
        weight = np.exp(_log_logit_density(z, K, P))
        weight /= weight.sum()
        x = law.from_exponential(np.logaddexp(0, z))
        center = float(weight @ x)
        # The square root first: a tiny weight times a huge square would overflow.
        spread = float(((np.sqrt(weight) * (x - center)) ** 2).sum()) if want_var else math.nan
        latest = spread if want_var else center
        if abs(latest - previous) <= TOLERANCE * latest:
            return center, spread
        previous = latest
    raise QuadratureError(
        f"X_{{{K}:{P}}} could not be integrated for {law!r}: its ppf must be smooth and, for a heavy tail, "
        "come with an isf."
    )


def _log_logit_density(z: FloatArray, K: int, P: int) -> FloatArray:
    """Log density of the logit of the K-th smallest of P uniforms, relative to its peak."""
    peak = math.log(K / (P - K + 1))

    def unnormalized(at: Any) -> Any:
        return -K * np.logaddexp(0, -at) - (P - K + 1) * np.logaddexp(0, at)

    return np.asarray(unnormalized(z) - unnormalized(peak))


def _logit_range(law: DelayLaw, K: int, P: int, power: int) -> tuple[float, float]:
    """Outside this range of z, X to this power times the logit density is below exp(-60) of its peak."""
    peak, width = math.log(K / (P - K + 1)), math.sqrt(1 / K + 1 / (P - K + 1))

    def edge(direction: int) -> float:
        step = width
        while _log_logit_density(np.array(peak + direction * step), K, P) > -60:
            step *= 1.5
        return peak + direction * step

    # To the right, X itself grows and moves the edge out.
    depth = _depth(law)
    z = np.linspace(peak, depth, 1000)
    with np.errstate(divide="ignore"):  # times may underflow to 0 at the near end
        log_integrand = _log_logit_density(z, K, P) + power * np.log(law.from_exponential(np.logaddexp(0, z)))
    matters = z[log_integrand > log_integrand.max() - 60]
    return edge(-1), min(max(edge(+1), matters[-1]), depth)


def _depth(law: DelayLaw) -> float:
    """How far into the tail, in cumulative hazard, the times of the law can be computed."""
    depth = law.deepest_hazard
    with np.errstate(over="ignore"):
        while not np.isfinite(law.from_exponential(np.array([depth]))).all():
            depth /= 2
    return depth


def _tail_slope(law: DelayLaw) -> float:
    """How fast log X grows with the cumulative hazard far out: 1/α for a power tail, 0 for lighter ones."""
    at = _depth(law) * np.array([0.6, 0.8, 1.0])
    first, second = np.diff(np.log(law.from_exponential(at))) / np.diff(at)
    # Tails lighter than any power (log-normal, Weibull) still grow a little at any finite depth, ever slower.
    return float(second) if math.isclose(first, second, rel_tol=0.05) else 0.0


def _fewer_than(laws: PerLearner, K: int, x: FloatArray) -> Any:
    """Probability that fewer than K learners are done by x, when each has its own law.

    Counted are those that are done or, if this takes less work, those that run, P - K + 1 of them at least:
    a sum of positive terms either way, so that a small probability keeps its digits.
    """
    running_needed = len(laws) - K + 1
    if running_needed >= K:
        return _counted(laws, K, x, running=False)[:-1].sum(axis=0)[()]
    return _counted(laws, running_needed, x, running=True)[-1][()]


def _counted(laws: PerLearner, most: int, x: FloatArray, running: bool) -> FloatArray:
    """Row n: probability that n learners are done by x, or are running; in the last row, `most` or more."""
    share = np.zeros((most + 1, *x.shape))
    share[0] = 1
    for law, learners in Counter(laws.laws).items():
        yes, no = (law.sf(x), law.cdf(x)) if running else (law.cdf(x), law.sf(x))
        for _ in range(learners):
            share[-1] += share[-2] * yes
            share[1:-1] = share[1:-1] * no + share[:-2] * yes
            share[0] *= no
    return share


def _per_learner_moments(laws: PerLearner, K: int, P: int, want_var: bool = False) -> tuple[float, float]:
    """Mean and variance of X_{K:P} from E[X] = ∫ Pr(X > x) dx and E[X²] = ∫ 2x Pr(X > x) dx."""
    if _per_learner_tail_is_too_heavy(laws, K, 1):
        return math.inf, math.inf
    chunk = max(1, CHUNK // min(K, P - K + 1))

    def running(x: FloatArray) -> FloatArray:
        parts = [x[start : start + chunk] for start in range(0, max(x.size, 1), chunk)]
        return np.concatenate([_fewer_than(laws, K, part) for part in parts])

    edges = _where_it_falls(running, _knots(laws))
    first = _integral(running, edges)
    if not want_var:
        return first, math.nan
    second = _integral(lambda x: 2 * (x - first) * running(x), edges)
    too_heavy = _per_learner_tail_is_too_heavy(laws, K, 2)
    # E[(X - m)²] = m² + ∫ 2(x - m) Pr(X > x) dx
    return first, math.inf if too_heavy else first**2 + second


def _knots(laws: PerLearner) -> FloatArray:
    """0 and quantiles of all laws, between which each is smooth."""
    shares = np.array([0, 1e-9, 1e-4, 0.05, 0.3, 0.5, 0.7, 0.95, 1 - 1e-4])
    tails = np.array([1e-6, 1e-9, 1e-13, 1e-20, 1e-40, 1e-80, 1e-160, 1e-300])
    knots = [np.zeros(1)]
    for law in set(laws.laws):
        knots += [law.ppf(shares), law.isf(tails[tails >= math.exp(-_depth(law))])]
    edges = np.unique(np.concatenate(knots))
    return np.asarray(edges[np.append(True, np.diff(edges) > 1e-13 * edges[1:])])


def _where_it_falls(running: Callable[[FloatArray], FloatArray], knots: FloatArray) -> FloatArray:
    """The knots beside which Pr(X > x) passes one of some levels, up to where nothing is left to integrate.

    All knots together are as many as the learners, and to look at each would take P times the work of one.
    """
    ranks = np.zeros(LEVELS.size, dtype=np.int64)  # how many knots are at or above each level
    for bit in 2 ** np.arange(int(knots.size).bit_length() - 1, -1, -1):
        ahead = ranks + bit
        inside = ahead <= knots.size
        asked, place = np.unique(ahead[inside], return_inverse=True)
        reached = running(knots[asked - 1])[place] >= LEVELS[inside]
        ranks[inside] = np.where(reached, ahead[inside], ranks[inside])
    beside = np.unique(np.clip(np.concatenate([[0, 1], ranks - 1, ranks]), 0, knots.size - 1))
    edges = knots[beside]
    # Far beyond the last completion nothing is left to integrate; the root keeps huge squares finite.
    left = running(edges)
    matters = np.sqrt(left) * edges
    jumps = left[1:] == 0  # a law that ends in a jump is 0 at the edge itself, but not before
    matters[:-1] = np.maximum(matters[:-1], np.where(jumps, np.sqrt(left[:-1]) * edges[1:], 0.0))
    return np.asarray(edges[: np.flatnonzero(matters > 1e-15 * matters.max())[-1] + 2])


def _per_learner_tail_is_too_heavy(laws: PerLearner, K: int, power: int) -> bool:
    # X_{K:P} is late when P-K+1 learners are, most likely the heaviest-tailed: their tail indices add up.
    own = {law: _tail_slope(law) for law in set(laws.laws)}
    slopes = sorted((own[law] for law in laws.laws), reverse=True)[: len(laws) - K + 1]
    return 0.0 not in slopes and sum(1 / slope for slope in slopes) <= power


def _integral(f: Callable[[FloatArray], FloatArray], edges: FloatArray) -> float:
    """∫ f from 0 over panels that may span many decades: all but the first in log x."""

    def linear(x: FloatArray) -> FloatArray:
        return f(x)[None]

    def in_log(y: FloatArray) -> FloatArray:
        return (f(np.exp(y)) * np.exp(y))[None]

    first = integrate(linear, edges[:2], PANEL_TOLERANCE)
    return float((first + integrate(in_log, np.log(edges[1:]), PANEL_TOLERANCE))[0])
