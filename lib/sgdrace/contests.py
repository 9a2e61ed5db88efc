"""Who has the smallest error when the time is up: every variant with every K and step, raced and trained.

Knows races and trainings; nothing of theory. Differences that noise could explain are not decided.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, Seed, count, reals, shown
from sgdrace._estimate import Estimate, mean_of
from sgdrace.delays import Law
from sgdrace.problems import Problem
from sgdrace.race import Race, simulate
from sgdrace.training import train
from sgdrace.variants import VARIANTS

CLOSE = 3.0  # standard errors: what is not further apart is too close to call
FIRST = 30  # updates of a race whose pace is not known yet
ROOM = 1.1  # so many times the updates that it seems to need, judged by its fastest run


@dataclass(frozen=True)
class Entry:
    """One variant with its K and its step, and the mean errors that it had at the times of the contest."""

    variant: str
    K: int
    learning_rate: float
    error: Estimate  # (times,), over runs

    def at(self, n: int) -> Estimate:
        """The error at the n-th time."""
        return Estimate(float(self.error.value[n]), float(self.error.standard_error[n]), self.error.runs)


def contest(
    problem: Problem,
    law: Law,
    P: int,
    times: ArrayLike,
    learning_rates: ArrayLike,
    K: Sequence[int] | None = None,
    replicas: int = 100,
    seed: Seed = 0,
) -> list[Entry]:
    """Mean errors at given times for every variant, every K (1, 2, 4, ... up to P) and every learning rate.

    Of entries that are the same protocol only the first is raced: with K = 1 no *batch*, with K = P no
    K-async. A run that diverges has an infinite error. Errors are losses above the problem's minimum.

    >>> from sgdrace import Exponential, Quadratic
    >>> entries = contest(Quadratic(), Exponential(), P=4, times=[1, 4], learning_rates=[0.1], K=[1, 4])
    >>> [(entry.variant, entry.K) for entry in entries]
    [('K-sync', 1), ('K-async', 1), ('K-sync', 4), ('K-batch-sync', 4), ('K-batch-async', 4)]
    >>> best, close = winner(entries, 1)
    >>> best.K, best.at(1).value < 0.1
    (1, True)
    """
    P, asked = count("P", P), reals("times", times, above=0)
    rates = reals("learning_rates", learning_rates, above=0)
    counts = [2**n for n in range(int(math.log2(P)) + 1)] if K is None else [count("K", k) for k in K]
    lowest = float(getattr(problem, "minimum", None) or 0.0)
    entries = []
    for variant, k in _different(P, counts):
        race = _long_enough(variant, P, k, law, float(asked.max()), replicas, seed)
        for rate in rates.tolist():
            losses = train(problem, race, rate, seed=seed, every=1).at(asked)
            entries.append(Entry(variant, k, rate, _mean(losses - lowest)))
    return entries


def winner(entries: Sequence[Entry], n: int) -> tuple[Entry, bool]:
    """The entry with the smallest error at the n-th time, and whether another variant is too close."""
    if not isinstance(entries, Sequence) or not all(isinstance(entry, Entry) for entry in entries):
        raise TypeError(f"entries must be those of a contest; got {shown(entries)}.")
    ranked = sorted(entries, key=lambda entry: entry.at(n).value)
    if not ranked:
        raise ValueError("a contest without entries has no winner; got an empty list.")
    best, error = ranked[0], ranked[0].at(n)
    rivals = [entry.at(n) for entry in ranked if entry.variant != best.variant]
    doubt = [CLOSE * math.hypot(error.standard_error, rival.standard_error) for rival in rivals]
    close = any(rival.value - error.value <= gap for rival, gap in zip(rivals, doubt, strict=True))
    return best, close


def _different(P: int, counts: Sequence[int]) -> Iterator[tuple[str, int]]:
    for k in counts:
        for variant in VARIANTS:
            batch = "batch" in variant
            same = (k == 1 and batch) or (k == P > 1 and variant == "K-async")
            if not same and (batch or k <= P):
                yield variant, k


def _long_enough(variant: str, P: int, K: int, law: Law, until: float, replicas: int, seed: Seed) -> Race:
    """A race in which all replicas pass a time: without common random numbers, so it is fast.

    Gradients of a sync race are never stale, so nobody asks who pushed them.
    """
    detail = variant.endswith("-async")
    race = simulate(variant, P, K, law, FIRST, replicas, seed, detail)
    while (end := float(race.time[:, -1].min())) < until:
        longer = race.time.shape[1] * max(ROOM * until / end, 1.5) if end else 2 * race.time.shape[1]
        race = simulate(variant, P, K, law, math.ceil(longer), replicas, seed, detail)
    return race.first(int((race.time < until).sum(axis=1).max()) + 1)


def _mean(losses: FloatArray) -> Estimate:
    with np.errstate(invalid="ignore"):  # of runs that diverged
        mean = mean_of(losses)
    lost = ~np.isfinite(losses).all(axis=0)
    return Estimate(np.where(lost, np.inf, mean.value), np.where(lost, 0.0, mean.standard_error), mean.runs)
