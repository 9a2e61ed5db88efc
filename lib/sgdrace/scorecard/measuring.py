"""What several tests of the scorecard measure.  Knows races and trainings; nothing of claims."""

from functools import lru_cache
from typing import Any

import numpy as np

from sgdrace._arguments import FloatArray
from sgdrace._estimate import Estimate, mean_of, ratio_of
from sgdrace.delays import DelayLaw, Exponential, Law
from sgdrace.learning_rates import LearningRate
from sgdrace.problems import Problem, Quadratic
from sgdrace.race import simulate
from sgdrace.training import Training, train

PARABOLA = Quadratic([1.0], sigma2=1.0, start=3.0)  # c = L = 1 and e_0 = 4.5
BOWL = Quadratic(np.geomspace(0.1, 1.0, 10), sigma2=0.9, start=3.0)  # L/c = 10


def streams(seed: int, number: int) -> list[np.random.SeedSequence]:
    """Seeds of independent random numbers."""
    return np.random.SeedSequence(seed).spawn(number)


def time_per_update(variant: str, P: int, K: int, law: Law, effort: int, seed: Any) -> Estimate:
    """The mean time per update over races of 1,500 updates."""
    return simulate(variant, P, K, law, 1500, replicas=40 * effort, seed=seed, detail=False).time_per_update()


def speed_up(P: int, law: Law, effort: int, seed: int) -> Estimate:
    """How many updates async makes while fully synchronous SGD makes one."""
    first, second = streams(seed, 2)
    waits = time_per_update("K-sync", P, P, law, effort, first)
    return ratio_of(waits, time_per_update("K-async", P, 1, law, effort, second))


def settled(
    problem: Problem,
    variant: str,
    P: int,
    K: int,
    rate: float | LearningRate,
    replicas: int,
    seed: Any,
    law: Law | None = None,
    updates: int = 1200,
) -> FloatArray:
    """The mean error of each run over the last half of its updates; infinite for one that diverges."""
    delay = Exponential() if law is None else law
    race = simulate(variant, P, K, delay, updates, replicas=replicas, seed=seed)
    run = train(problem, race, rate, seed=seed, every=5)
    return np.asarray(run.loss[:, run.updates > updates // 2].mean(axis=1))


@lru_cache(maxsize=16)
def on_the_clock(
    variant: str,
    P: int,
    K: int,
    law: DelayLaw,
    rate: float,
    until: float,
    effort: int,
    seed: int,
    runs: int = 100,
) -> Training:
    """SGD on the parabola up to a time."""
    stale = variant.endswith("-async")
    race = simulate(variant, P, K, law, until=until, replicas=runs * effort, seed=seed, detail=stale)
    return train(PARABOLA, race, rate, seed=seed, every=1)


def error_at(run: Training, *times: float) -> Estimate:
    """The mean error of all runs at a time, or on average at several."""
    return mean_of(run.at(times).mean(axis=1))
