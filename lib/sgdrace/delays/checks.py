"""Whether a law keeps its word: what the author of a law can ask before anybody else uses it.

Knows what a law may offer, and what a sample can tell about it without knowing the law.
"""

import math
from typing import Any

import numpy as np

from sgdrace._arguments import FloatArray
from sgdrace.delays.adapters import ROUNDING, OwnLaw
from sgdrace.delays.law import DelayLaw, Scaled, Shifted
from sgdrace.delays.learners import PerLearner, as_law

SAMPLE = 100_000  # times that everything else is held against
FALSE_ALARM = 1e-9  # of each comparison with the sample, and there are at most seven


def check_law(law: Any) -> None:
    """Refuse, in one sentence, a law that gives wrong shapes, impossible numbers or contradicts itself.

    `sample` must give finite times of at least 0 in the shape it was asked for, the same ones for the same
    seed. Whatever else the law offers (`cdf`, `sf`, `ppf`, `isf`, `mean`, `var`, `pdf`, `ageing`) is held
    against a sample of 100,000, with a margin that a law that keeps its word exceeds once in a billion.
    A mean or variance that is too small is noticed, and so is too large a mean if the law tells its variance;
    any larger variance might come from a time so rare that no sample holds it.

    >>> import numpy as np
    >>> class Sometimes:  # a second, and now and then two
    ...     mean = 1.1
    ...     def sample(self, rng, size):
    ...         return 1.0 + (rng.random(size) < 0.1)
    ...     def cdf(self, x):
    ...         return 0.9 * (np.asarray(x) >= 1) + 0.1 * (np.asarray(x) >= 2)
    >>> check_law(Sometimes())
    >>> Sometimes.mean = 0.9
    >>> check_law(Sometimes())
    Traceback (most recent call last):
    ValueError: Sometimes.mean must be at least 1.08 to agree with Sometimes.sample; got 0.9.
    """
    adopted = as_law(law, "law")
    for one in adopted.laws if isinstance(adopted, PerLearner) else (adopted,):
        _check(one)


def _check(law: DelayLaw) -> None:
    while isinstance(law, Scaled | Shifted):  # right if its base is
        law = law.base
    theirs = law.law if isinstance(law, OwnLaw) else law
    own = OwnLaw(theirs, witnesses=SAMPLE)
    for size in ((3,), (2, 3), (4, 1, 2)):
        own.sample(np.random.default_rng(0), size)
    sample, again = (own.sample(np.random.default_rng(0), SAMPLE) for _ in range(2))
    if not np.array_equal(sample, again):
        name = type(theirs).__name__
        raise ValueError(f"{name}.sample must draw from rng alone; the same seed gave other times.")
    for function in ("ppf", "isf", "cdf", "sf"):
        if own.offers(function):
            own.hold_against_sample(function)
    if own.offers("pdf") and theirs is not law:  # discrete laws of this package have one that refuses
        own.pdf(sample)
    if own.offers("mean"):
        _check_moments(own, type(theirs).__name__, sample)
    _ = own.ageing  # refused if it is none of the classes


def _check_moments(own: OwnLaw, name: str, sample: FloatArray) -> None:
    mean = own.mean
    var = own.var if own.offers("var") else math.inf
    least = _least_moment(sample, 1)
    if mean < least * (1 - ROUNDING):
        raise ValueError(
            f"{name}.mean must be at least {least:.3g} to agree with {name}.sample; got {mean:.4g}."
        )
    # The median of the means of so many groups misses E[X] by two standard deviations of one of them once in
    # 1 / FALSE_ALARM samples at most: Chebyshev's inequality for a group, then Hoeffding's for their number.
    groups = math.ceil(8 * math.log(1 / FALSE_ALARM))
    size = sample.size // groups
    middle = float(np.median(sample[: groups * size].reshape(groups, size).mean(axis=1)))
    most = middle + 2 * math.sqrt(var / size)
    if mean > most * (1 + ROUNDING):
        raise ValueError(
            f"{name}.mean must be at most {most:.3g} to agree with {name}.sample and its var; got {mean:.4g}."
        )
    least = _least_moment(sample, 2) - mean**2
    if var < least * (1 - ROUNDING):
        raise ValueError(
            f"{name}.var must be at least {least:.3g} to agree with {name}.sample; got {var:.4g}."
        )


def _least_moment(sample: FloatArray, power: int) -> float:
    """What E[X^power] exceeds, save once in 1 / FALSE_ALARM samples: the longest times might be rarer.

    By the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart, Pr(X > x) is nowhere less than the share of
    the sample above x minus `error`.
    """
    error = math.sqrt(math.log(1 / FALSE_ALARM) / (2 * sample.size))
    running = 1 - np.arange(sample.size) / sample.size - error  # on the way to each time
    steps = np.diff(np.sort(sample) ** power, prepend=0.0)
    return float(steps @ np.maximum(running, 0.0))
