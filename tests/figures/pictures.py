"""Every kind of picture, with ordinary and extreme inputs, and what can be read off an SVG."""

import re
from functools import cache
from xml.etree import ElementTree

import numpy as np
from matplotlib.textpath import TextPath

from sgdrace import VARIANTS, Constant, Exponential, Pareto, simulate, train
from sgdrace.figures import (
    Curve,
    JobLog,
    Runner,
    curves,
    densities,
    describe_curves,
    describe_densities,
    describe_histogram,
    describe_in_flight,
    describe_law_card,
    describe_means,
    describe_pulls,
    describe_race,
    describe_rounds,
    describe_shares,
    describe_staircases,
    describe_stalenesses,
    describe_timeline,
    describe_valley,
    histogram,
    in_flight,
    law_card,
    means,
    pulls,
    race,
    rounds,
    shares,
    staircases,
    stalenesses,
    timeline,
    to_svg,
    valley,
)
from sgdrace.problems import Quadratic
from sgdrace.protocol import VirtualClock, run
from tests.examples import CONTINUOUS, DISCRETE

LAWS = [*CONTINUOUS, *DISCRETE]


@cache
def log_of(variant, P=8, K=4, updates=12, law=None):
    engine = VirtualClock.of_law(law or Exponential(), P, seed=0)
    history = run(variant, P, K, engine, updates)
    return JobLog.of(variant, P, K, engine.jobs, history)


@cache
def runner_of(variant, K, updates):
    trace = simulate(variant, 8, K, Exponential(), updates, seed=0, common=True)
    training = train(Quadratic([1.0] * 10, sigma2=0.5), trace, 0.1, seed=1, every=1)
    return Runner(log_of(variant, 8, K, updates), training.time[0], training.loss[0])


def field():
    sizes = dict(zip(VARIANTS, ((8, 6), (8, 15), (2, 60), (2, 60)), strict=True))
    return [runner_of(variant, *size) for variant, size in sizes.items()]


def band(name, y):
    y = np.asarray(y)
    return Curve(name, np.arange(y.size), y, 0.8 * y, 1.2 * y)


def cases():
    """(what draws it, what describes it, their arguments) of every kind of picture."""
    rng = np.random.default_rng(0)
    for P in (1, 8, 64):
        for K in sorted({1, (P + 1) // 2, P}):
            for variant in VARIANTS:
                yield timeline, describe_timeline, (log_of(variant, P, K, 10),)
            for law in LAWS if P == 8 else (Exponential(), Pareto(0.9, 1.0), Constant(1.0)):
                yield densities, describe_densities, (law, P, K)
                yield means, describe_means, (law, P, K)
        yield rounds, describe_rounds, (rng.exponential(size=(5, P)),)
    yield rounds, describe_rounds, (np.ones((4, 8)), 2.5)
    yield timeline, describe_timeline, ([log_of(variant) for variant in VARIANTS], 3.0)
    for law in LAWS:
        yield law_card, describe_law_card, (law,)
    runners = field()
    last = min(runner.log.last for runner in runners)
    for t in (0.01, 1.0, last / 2, last):
        yield race, describe_race, (runners, t)
    decays = {variant: 10.0 ** -np.linspace(k, k + 1, 40) for k, variant in enumerate(VARIANTS)}
    many = [Curve(v, np.arange(1, 41), y, 0.8 * y, 1.2 * y) for v, y in decays.items()]
    for log in (False, True):
        yield curves, describe_curves, (many, "time", "error F(w)", log, log)
    close = [Curve(f"law {k}", [1, 2, 3], [1, 1, 1 + k / 1000]) for k in range(10)]
    yield curves, describe_curves, (close, "P", "mean")
    fits = {"exponential": Exponential(), "Pareto": Pareto(2.5, 1.0)}
    for data in (rng.exponential(size=2000), rng.pareto(1.1, 500), np.ones(10), np.array([2.0])):
        yield histogram, describe_histogram, (data, fits)
    for P, end in ((1, 3.0), (4, 20.0), (8, 400.0)):
        yield staircases, describe_staircases, (rng.exponential(size=(P, 800)).cumsum(axis=1), 1.0, end)
    yield staircases, describe_staircases, (np.ones((4, 9)).cumsum(axis=1), 1.0, 8.5)
    yield shares, describe_shares, ({variant: log_of(variant).shares() for variant in VARIANTS},)
    for P, updates in ((1, 4), (3, 8), (8, 30)):
        engine = VirtualClock.of_law(Exponential(), P, seed=1)
        run("K-async", P, 1, engine, updates)
        yield pulls, describe_pulls, (engine.jobs,)
        trace = simulate("K-async", P, 1, Exponential(), 80, seed=1)
        who, s = trace.learner[0, :, 0], trace.staleness[0, :, 0]
        yield stalenesses, describe_stalenesses, (s, 4 * P, (1 - 1 / P) ** np.arange(400) / P)
        yield stalenesses, describe_stalenesses, (s, 4 * P, None, "K-batch-async")
        for now in (0, 40, 79):
            yield in_flight, describe_in_flight, (who, P, now)
            yield valley, describe_valley, ((-1.1) ** np.arange(81), who, P, now)


def drawn(figures, alt="What it shows."):
    return to_svg(figures, alt)


def words_of(svg):
    """The words of each figure with their boxes, (words, x0, y0, x1, y1), and the size of the figure."""
    root = ElementTree.fromstring(svg)
    return [(_words(figure), *map(float, figure.get("viewBox").split()[2:])) for figure in root]


def _words(figure):
    base, found = float(figure.get("font-size")), []
    for group in figure.find("g"):
        size = base * float(group.get("font-size", "1em").removesuffix("em"))
        for text in group:
            words = "".join(text.itertext()).replace("​", "")
            x, y, width = float(text.get("x")), float(text.get("y")), width_of(words, size)
            x -= {None: 0.0, "middle": 0.5, "end": 1.0}[group.get("text-anchor")] * width
            y += 0.36 * size if group.get("dominant-baseline") else 0.0
            found.append((words, size, (x, y - 0.74 * size, x + width, y + 0.2 * size)))
    return found


@cache
def width_of(words, size):
    # DejaVu Sans is a tenth wider than the fonts of pages: Arial, Helvetica, Segoe UI, Roboto.
    return 0.9 * TextPath((0, 0), words, size=size).get_extents().width if words.strip() else 0.0


def colors_of(svg):
    return set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]+)"', svg))


def numbers_are_finite(svg):
    return not re.search(r"\b(nan|inf)\b", re.sub(r'aria-label="[^"]*"', "", svg))
