"""How much faster async is than fully synchronous SGD, counted in three ways.  Knows parabolas and laws."""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sgdrace import order_statistics, theory
from sgdrace._arguments import FloatArray, count, real
from sgdrace.delays import DelayLaw, as_single_law
from sgdrace.race import simulate
from sgdrace.scorecard.measuring import PARABOLA
from sgdrace.training import train

LONGEST = 400  # updates: more than either needs, unless its floor is in the way


class SpeedUps(NamedTuple):
    """How many times as many updates and mini-batches async makes, and how many times sooner it is there."""

    updates: float
    mini_batches: float
    time: float  # 0 if async never gets there, infinite if only async does, NaN if neither does


def speed_ups(
    law: Any, P: int, target: float, eta: float = 0.02, sync_eta: float | None = None, runs: int = 60
) -> SpeedUps:
    """Async against fully synchronous SGD with P learners, on a parabola with noise, c = L = 1.

    The first two are exact: P E[X_{P:P}]/E[X] and its P-th part. The third is the time until the mean error
    is down to `target` times the first one: for synchronous SGD, which may take a step `sync_eta` of its own,
    by its exact moments, for async from the mean of so many runs. Who does not stay there never was there.

    >>> from sgdrace import Exponential
    >>> gain = speed_ups(Exponential(), P=4, target=0.1)
    >>> round(gain.updates, 2), round(gain.mini_batches, 2), 8 < gain.time < 10
    (8.33, 2.08, True)
    >>> speed_ups(Exponential(), P=4, target=0.001).time
    0.0
    """
    X, P = as_single_law(law, "law"), count("P", P)
    target = real("target", target, above=0, below=1)
    own = real("sync_eta", eta if sync_eta is None else sync_eta, above=0)
    slowest = order_statistics.mean(X, P, P)
    noise, start = own**2 * PARABOLA.sigma2 / P, float(PARABOLA.start[0])
    square = theory.second_moments("K-sync", P, P, own, noise, start, LONGEST).square
    waited = _first(square, target, slowest * np.arange(LONGEST + 1.0))
    error, clock = _async_curve(X, P, real("eta", eta, above=0), count("runs", runs, minimum=2))
    hurried = _first(error, target, clock)
    gain = P * slowest / X.mean
    return SpeedUps(gain, gain / P, math.nan if math.inf == waited == hurried else waited / hurried)


@lru_cache(maxsize=64)
def _async_curve(law: DelayLaw, P: int, eta: float, runs: int) -> tuple[FloatArray, FloatArray]:
    """Mean error and mean time after 0, 1, 2, ... updates."""
    race = simulate("K-async", P, 1, law, LONGEST, replicas=runs, seed=1)
    run = train(PARABOLA, race, eta, seed=1, every=1)
    return run.loss.mean(axis=0), run.time.mean(axis=0)


def _first(error: FloatArray, target: float, times: Any) -> float:
    """When the error is there first, if it stays there: the last quarter is, on average."""
    there = error <= target * error[0]
    stays = error[-LONGEST // 4 :].mean() <= target * error[0]
    return float(times[np.argmax(there)]) if stays else math.inf
