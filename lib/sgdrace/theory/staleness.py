"""How many updates old a gradient is when it is used.

Knows counting arguments and, for distributions, exponential delays; nothing of the loss.
The convention throughout: the learner whose push completes a batch pulls the new version.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, count, shown
from sgdrace._quadrature import integrals_up_to, panel_integrals, points
from sgdrace.delays import (
    DelayLaw,
    Empirical,
    Law,
    PerLearner,
    Scaled,
    as_single_law,
    finite_mean,
    law_of_learners,
)
from sgdrace.variants import variant_P_K

MASS_LEFT_OUT = 1e-12
ROUNDING = 1e-14  # of an integral that is 1
LONGEST_PMF = 10**7  # entries: 80 MB


def mean_staleness(variant: str, P: int, K: int, law: Law | None = None) -> float:
    """The mean staleness in the long run, for all laws of delays whose mean E[X] is finite.

    K-async: P/K - 1. K-batch-async: (P - 1)/K. The synchronous variants use fresh gradients only.
    The mean over the first J updates is smaller, for every law, by the mean age of the copies that are
    still being worked on, in updates, times P/(KJ). With a finite mean E[X] no mini-batch lasts for a share
    of the whole race, and this vanishes; with a tail such as that of Pareto(0.9) it does not, and the mean
    stays below, by an amount that differs from race to race. Give the `law` to have its mean checked.

    >>> mean_staleness("K-async", 8, 1), mean_staleness("K-batch-async", 8, 2)
    (7.0, 3.5)
    """
    variant, P, K = variant_P_K(variant, P, K)
    if law is not None:
        X = law_of_learners(law, P)
        for own in X.laws if isinstance(X, PerLearner) else (X,):
            if variant.endswith("async"):
                finite_mean(own)
    return {"K-async": (P - K) / K, "K-batch-async": (P - 1) / K}.get(variant, 0.0)


def staleness_pmf(variant: str, P: int, K: int, r: ArrayLike | None = None) -> Any:
    """Pr(staleness = r) for exponential delays, in the long run, averaged over the K gradients of an update.

    Without `r`: for r = 0, 1, 2, ... as far as all but 1e-12 of the probability, which takes about 28 P/K
    entries; beyond ten million say which r you need. K-async: geometric with K/P.

    >>> staleness_pmf("K-async", 4, 2, [0, 1, 2]).tolist()
    [0.5, 0.25, 0.125]
    >>> round(float(staleness_pmf("K-batch-async", 8, 4)[0]), 6)
    0.275818
    """
    variant, P, K = variant_P_K(variant, P, K)
    # Pr(s >= r) = later * stay^(r-1) for r >= 1, in all four variants.
    fresh, log_stay = p0(variant, P, K), -math.inf
    if variant == "K-async" and K < P:
        log_stay = math.log1p(-K / P)
    if variant == "K-batch-async" and P > 1:
        log_stay = K * math.log1p(-1 / P)
    if r is None:
        longest = math.ceil(math.log(MASS_LEFT_OUT) / log_stay) + 1
        if longest > LONGEST_PMF:
            raise ValueError(
                f"all stalenesses of {variant} with P = {P} and K = {K} would be {longest} numbers; r must "
                f"say which are needed where they are more than {LONGEST_PMF}."
            )
        r = np.arange(longest)
    s = _stalenesses(r)
    # Since -inf * 0 is no number, the powers of a `stay` of 0 are written out.
    after = np.exp(log_stay * np.maximum(s - 1, 0)) if log_stay > -math.inf else np.where(s <= 1, 1.0, 0.0)
    return np.where(s == 0, fresh, (1 - fresh) * after * -math.expm1(log_stay))[()]


def p0(variant: str, P: int, K: int) -> float:
    """Pr(a gradient is fresh given the past), exponential delays, averaged over the K gradients of an update.

    This is the p0 of the K-async bound: 1/P for async, K/P for K-async, 1 - (P-1)(1-(1-1/P)^K)/K for
    K-batch-async. Other laws have no such constant; see `p0_frequency`.

    >>> p0("K-async", 8, 4), round(p0("K-batch-async", 8, 4), 6)
    (0.5, 0.275818)
    """
    variant, P, K = variant_P_K(variant, P, K)
    if variant == "K-async":
        return K / P
    if variant == "K-batch-async" and P > 1:
        # The formula is 1 - A (1 - exp(-z))/z with z = -K log(1 - x) and A = -(1 - x) log(1 - x)/x, x = 1/P;
        # both factors are near 1 for large P, so what they lack to 1 is added up instead.
        x, z = 1 / P, -K * math.log1p(-1 / P)
        lacks = _less_than_1(x)
        return lacks + (1 - lacks) * _mean_decay_lacks(z)
    return 1.0


def p0_frequency(law: Law, P: int) -> float:
    """The long-run share of fresh gradients in async SGD (K = 1): E[S_e(X)^(P-1)].

    S_e is the survival function of the remaining time of the other learners. It is a frequency, not the p0
    of the bound, which must hold after every past and is often close to 0 for NLTU laws.

    >>> from sgdrace import Exponential
    >>> round(p0_frequency(Exponential(), 8), 6)
    0.125
    """
    X, P = as_single_law(law, "law"), count("P", P)
    mean = finite_mean(X)
    if P == 1:
        return 1.0
    a, b = _panels(X, mean)
    x = points(a, b)
    with np.errstate(over="ignore"):  # of a steep law, far beyond its last time, on the way to 0 and 1
        running, done = np.asarray(X.sf(x)) / mean, np.asarray(X.cdf(x))
    residual = np.maximum(1 - integrals_up_to(running, a, b), 0.0)  # S_e at the points
    # E[S_e(X)^(P-1)] by parts, which needs no density: (P-1)/E[X] ∫ F S S_e^(P-2) dx
    inner = (P - 1) * done * running * residual ** (P - 2)
    left = 1 - float(panel_integrals(running, a, b).sum())  # S_e beyond the panels, where F is 1
    beyond = left ** (P - 1) if left > ROUNDING else 0.0
    return float(panel_integrals(inner, a, b).sum()) + beyond


def _less_than_1(x: float) -> float:
    """1 + (1 - x) log(1 - x)/x = Σ x^j/(j(j + 1)), for 0 < x <= 1/2."""
    return sum(x**j / (j * (j + 1)) for j in range(60, 0, -1))


def _mean_decay_lacks(z: float) -> float:
    """1 - (1 - exp(-z))/z, the mean of 1 - exp(-y) over 0 < y < z."""
    if z > 1:
        return 1 + math.expm1(-z) / z
    return sum(-((-z) ** j) / math.factorial(j + 1) for j in range(20, 0, -1))


def _stalenesses(r: ArrayLike) -> Any:
    s = np.asarray(r)
    if not np.issubdtype(s.dtype, np.integer):
        raise TypeError(f"r must hold whole numbers of at least 0; got {shown(r)}.")
    if (s < 0).any():
        raise ValueError(f"r must hold whole numbers of at least 0; got {s.min()}.")
    return s


def _panels(law: DelayLaw, mean: float) -> tuple[FloatArray, FloatArray]:
    """Left and right ends of panels inside which the law is smooth, from far below its mean to far above."""
    fine = mean * 2.0 ** np.arange(-60, 60, 0.125)
    # A law may be so narrow that it falls between two panels: its own quantiles are edges too.
    shares = np.append(np.geomspace(1e-12, 0.5, 60), 1 - np.geomspace(0.5, 1e-12, 60))
    edges = np.unique(np.concatenate([[0.0], fine, _kinks(law), np.asarray(law.ppf(shares))]))
    edges = edges[np.isfinite(edges)]
    return edges[:-1], edges[1:]


def _kinks(law: DelayLaw) -> FloatArray:
    if isinstance(law, Empirical):
        return np.unique(law.times)
    if isinstance(law, Scaled):
        return law.factor * _kinks(law.base)
    with np.errstate(divide="ignore"):  # where the support has no end
        return np.array([float(law.ppf(0.0)), float(law.ppf(1.0))])
