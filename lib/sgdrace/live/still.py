"""The race of the page as a picture, for readers without scripts. Knows the luck of race.js."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sgdrace._arguments import FloatArray
from sgdrace.figures import Picture, Runner, race
from sgdrace.live.facts import LAWS, PROBLEM, of_mean_1
from sgdrace.protocol import Push, VirtualClock, run
from sgdrace.variants import VARIANTS

MOMENT = 5.0  # mini-batches after the start, when the first updates have come
GRID = np.linspace(0.0, MOMENT, 51)
WORD = 0xFFFFFFFF


def still(setting: Mapping[str, Any]) -> Picture:
    """What the page shows of this setting at time 5, drawn as the figures of the book are.

    >>> from sgdrace.live.facts import FIRST
    >>> still(FIRST).text.startswith("At time 5 s: K-")
    True
    """
    return race([_runner(variant, **setting) for variant in VARIANTS], MOMENT)


def hazard(seed: int, learner: int, n: int) -> float:
    """The standard exponential variable that decides how long mini-batch n of this learner takes.

    >>> round(hazard(1, 0, 0), 6)
    0.496532
    """
    return -math.log(_uniform(seed, learner, n))


@lru_cache(maxsize=1024)
def noise(seed: int, j: int) -> FloatArray:
    """Standard normal noise of update j in every direction, by Box and Muller."""
    draws = np.array([_uniform(seed, -1 - j, i) for i in range(PROBLEM.dimension + PROBLEM.dimension % 2)])
    radius, angle = np.sqrt(-2 * np.log(draws[::2])), 2 * math.pi * draws[1::2]
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]).ravel()[: PROBLEM.dimension]


def _runner(
    variant: str,
    P: int,
    K: int,
    law: str,
    parameter: float | None,
    eta: float,
    seed: int,
    times: Sequence[float] = (),
) -> Runner:
    """One variant from time 0 until a little after the moment of the picture."""
    delay = of_mean_1(times) if times else LAWS[law].law(parameter or 0.0)
    started = [0] * P
    losses = [float(PROBLEM.loss(PROBLEM.start))]

    def draw(learner: int) -> float:
        started[learner] += 1
        return float(delay.from_exponential(hazard(seed, learner, started[learner] - 1)))

    def step(w: FloatArray, pushes: list[Push]) -> FloatArray:
        sd = math.sqrt(PROBLEM.sigma2 / PROBLEM.dimension / K)
        w = w - eta * (np.mean([p.gradient for p in pushes], axis=0) + sd * noise(seed, len(losses) - 1))
        losses.append(float(PROBLEM.loss(w)))
        return w

    updates = 4
    while True:
        history = run(variant, P, K, VirtualClock(P, draw, PROBLEM.gradient), updates, PROBLEM.start, step)
        if history.updates[-1].time > MOMENT:
            break
        updates, started[:], losses[1:] = 2 * updates, [0] * P, []
    came = [0.0, *(update.time for update in history.updates)]
    return Runner(history.jobs, GRID, np.array(losses)[np.searchsorted(came, GRID, side="right") - 1])


def _uniform(seed: int, stream: int, n: int) -> float:
    return (_mixed(_mixed(_mixed(seed) ^ stream) ^ n) + 0.5) / 2**32


def _mixed(word: int) -> int:
    h = (word + 0x9E3779B9) & WORD
    h = (h ^ h >> 16) * 0x21F0AAAD & WORD
    h = (h ^ h >> 15) * 0x735A2D97 & WORD
    return h ^ h >> 15
