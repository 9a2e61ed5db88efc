"""Every kind of picture, with ordinary and extreme inputs, and what can be read off an SVG."""

import re
from functools import cache, partial
from xml.etree import ElementTree

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from sgdrace import VARIANTS, Constant, Exponential, Pareto, QuadraticRule, simulate, train, train_adaptively
from sgdrace.estimates import Estimate
from sgdrace.figures import (
    Curve,
    Picture,
    Runner,
    Tile,
    curves,
    densities,
    every_kth,
    evidence,
    glimpse,
    heat_map,
    histogram,
    in_flight,
    law_card,
    means,
    own_pace,
    patience,
    pulls,
    race,
    roofline,
    rounds,
    shares,
    slopes,
    staircases,
    stalenesses,
    tiles,
    timeline,
    to_svg,
    valley,
    verdicts,
    warps,
    winner_map,
)
from sgdrace.gpu import block
from sgdrace.gpu.roofline import CARDS, Update, fused, plain
from sgdrace.problems import Quadratic
from sgdrace.scorecard import CLAIMS, Evidence, Row, score
from tests.examples import CONTINUOUS, DISCRETE

LAWS = [*CONTINUOUS, *DISCRETE]
TWELVE = FontProperties(size=12)


@cache
def race_of(variant, P=8, K=4, updates=12, law=None):
    return simulate(variant, P, K, law or Exponential(), updates, common=True)


@cache
def runner_of(variant, K, updates):
    trace = race_of(variant, 8, K, updates)
    training = train(Quadratic([1.0] * 10, sigma2=0.5), trace, 0.1, seed=1, every=1)
    return Runner(trace, training.time[0], training.loss[0])


def field():
    sizes = dict(zip(VARIANTS, ((8, 6), (8, 15), (2, 60), (2, 60)), strict=True))
    return [runner_of(variant, *size) for variant, size in sizes.items()]


def band(name, y):
    y = np.asarray(y)
    return Curve(name, np.arange(y.size), y, 0.8 * y, 1.2 * y)


def glimpse_of(variants, P, **names):
    return glimpse([race_of(v, P, 2) for v in variants], until=0.3, now=0.2, **names)


def timeline_of(variants, P=8, K=4, updates=12, until=None):
    return timeline([race_of(v, P, K, updates) for v in variants], until)


def limited(P=8, K=4, max_staleness=0):
    return simulate("K-batch-async", P, K, Exponential(), 12, common=True, max_staleness=max_staleness)


def random_paces(P):
    return own_pace(np.random.default_rng(P).exponential(size=(9, P)))


def random_rounds(P):
    return rounds(np.random.default_rng(P).exponential(size=(5, P)))


def race_at(t=None, share=None):
    """The race at a time, or at a share of it."""
    runners = field()
    last = min(runner.jobs.last for runner in runners)
    return race(runners, share * last if share else t)


def decays(log):
    ys = {variant: 10.0 ** -np.linspace(k, k + 1, 40) for k, variant in enumerate(VARIANTS)}
    many = [Curve(v, np.arange(1, 41), y, 0.8 * y, 1.2 * y) for v, y in ys.items()]
    return curves(many, "time", "error F(w)", log, log)


def close_curves():
    return curves([Curve(f"law {k}", [1, 2, 3], [1, 1, 1 + k / 1000]) for k in range(10)], "P", "mean")


def long_names():
    """As long as they may be, of the widest letters, above and beside curves that leave the axes."""
    many = [Curve("WWWWWWWW MMMMMM", [1, 2], [1, 9]), Curve("K-batch-async", [1, 2], [3, 4])]
    axes = (
        "mean time of the update that comes after this one",
        "a name that says so much of what is seen " * 2,
    )
    return curves(many, axes[0], axes[1].strip(), ylim=(2, 5))


def fixed_axes():
    """Every picture whose axes can be given, on axes that its data leave."""
    law, lose = Exponential(), [Curve("a", [0, 1, 9], [1, 8, 2]), Curve("b", [0, 2, 3], [0.1, 9, 0.2])]
    times = np.random.default_rng(0).exponential(size=(4, 800))
    return (
        densities(law, 8, 1, xlim=(0.5, 3), ylim=(0, 0.5))
        + means(law, 8, 8, ylim=(0, 2))
        + law_card(law, xlim=(0, 2), ylim=(0, 0.5), hazard_ylim=(0, 0.5))
        + curves(lose, "time, s", "loss", xlim=(0, 4), ylim=(1, 5))
        + curves(lose, "time, s", "loss", log_y=True, ylim=(1, 5))
        + histogram(times[0], {"exponential": law}, xlim=(0.1, 2), ylim=(0, 0.5))
        + staircases(times.cumsum(axis=1), 1.0, 20.0, ylim=(0, 10))
        + stalenesses([0, 0, 0, 1, 5], until=4, expected=[0.5, 0.3, 0.2], ylim=(0, 0.4))
        + race(field(), 4.0, ylim=(0.1, 1.0))
    )


def looks_of_laws():
    return curves([Curve(type(X).__name__, [1, 2], [n, n], law=X) for n, X in enumerate(LAWS[:10])], "x", "y")


def fitted(sample, *arguments):
    data = getattr(np.random.default_rng(0), sample)(*arguments)
    return histogram(data, {"exponential": Exponential(), "Pareto": Pareto(2.5, 1.0)})


def random_staircases(P, until):
    return staircases(np.random.default_rng(P).exponential(size=(P, 800)).cumsum(axis=1), 1.0, until)


def random_counts(P, K, until):
    return every_kth(np.random.default_rng(P).exponential(size=(P, 800)).cumsum(axis=1), K, 1.0, until)


def shares_of_all():
    return shares({variant: race_of(variant) for variant in VARIANTS})


def pulls_of(P, updates):
    return pulls(simulate("K-async", P, 1, Exponential(), updates, seed=1, common=True))


@cache
def pushes_of(P):
    """Who pushed, and how stale it was."""
    trace = simulate("K-async", P, 1, Exponential(), 80, seed=1)
    return trace.learner[0, :, 0], trace.staleness[0, :, 0]


def stalenesses_of(P, geometric):
    rest = ((1 - 1 / P) ** np.arange(400) / P,) if geometric else (None, "K-batch-async")
    return stalenesses(pushes_of(P)[1], 4 * P, *rest)


def in_flight_at(P, now):
    return in_flight(pushes_of(P)[0], P, now)


def valley_at(P, now):
    return valley((-1.1) ** np.arange(81), pushes_of(P)[0], P, now)


def map_of_winners(K, rows, columns):
    field = [*((variant, K) if K else variant for variant in VARIANTS), None]
    grid = [[field[(i + j) % 5] for j in range(columns)] for i in range(rows)]
    close = [[j % 2 == 0 for j in range(columns)]] * rows if K == 4 else None
    names = [10.0**-i for i in range(rows)], [2**j for j in range(columns)]
    return winner_map(grid, *names, "target ε", "P", close)


def map_of_heat(rows, columns, diverged=True):
    values = 10.0 ** np.linspace(-3, 2, rows * columns).reshape(rows, columns)
    values[-1, -1:] = np.inf if diverged else 1e-6
    names = [f"rate {i}" for i in range(rows)], [1000 * 2**j for j in range(columns)]
    return heat_map(values, *names, "final loss, by largest rate", "number of learners P")


def verdicts_of_all():
    """Verdicts of all kinds, without running the long tests."""
    stands, fails = Evidence("a", 1.0, "=", 1.0), Evidence("b", 1.0, ">", 2.0, "contrary")
    contrary = Evidence("c", 1.0, "<", 2.0, "contrary")
    found = [(stands,), (stands, contrary), (contrary,), (), (stands, fails)] * 4
    return verdicts(Row(claim, pieces) for claim, pieces in zip(CLAIMS, found, strict=False))


def evidence_of(name, factor):
    (row,) = score(claim for claim in CLAIMS if claim.name == name)
    return evidence(row.changed(factor))


def extreme_evidence():
    """Numbers of all sizes, far apart, zero, infinite, and words that need two lines."""
    one = Estimate(1.0, 0.4, 20)
    pairs = [
        (one, 1.2),
        (1e-9, 1e9),
        (one, 1e-12),
        (0.0, 0.0),
        (-1.0, one),
        (np.inf, 1.0),
        (1e12, 1e12),
    ]
    many = [Evidence("WMW " * 12 + str(k), *(a, "=", b)) for k, (a, b) in enumerate(pairs)]
    return evidence(Row(CLAIMS[0], tuple(many)))


@cache
def patient_run(P):
    rule = QuadraticRule(1, P)
    hill = Quadratic([1.0] * 3, sigma2=0.5, start=3.0)
    return train_adaptively(hill, "K-sync", P, Exponential(), rule, 0.1, until=30.0, seed=1)


def patience_at(P, t):
    hill = Quadratic([1.0] * 3, sigma2=0.5, start=3.0)
    fixed = train(hill, race_of("K-sync", 8, 8, 12), 0.1, seed=1, every=1)
    return patience(patient_run(P), t, {"K = 8": fixed} if P == 8 else None, until=20.0)


def roofline_of(card, dtype, rows, gradients=10_000):
    update = Update(gradients, rows, dtype=dtype)
    return roofline([fused(update, CARDS[card]), plain(update, CARDS[card])])


def warps_at(time, without=None, paces=(1, 2, 2, 2), rows=8):
    return warps(block.run(paces, rows, without), time, until=10 if rows == 8 else None)


def cases():
    """What draws a picture of every kind. Nothing is simulated, drawn or random before it is called."""
    for P in (1, 8, 64):
        for K in sorted({1, (P + 1) // 2, P}):
            for variant in VARIANTS:
                yield partial(timeline_of, [variant], P, K, 10)
            for law in LAWS if P == 8 else (Exponential(), Pareto(0.9, 1.0), Constant(1.0)):
                yield partial(densities, law, P, K)
                yield partial(means, law, P, K)
        yield partial(random_rounds, P)
        yield partial(random_paces, P)
    yield partial(rounds, np.ones((4, 8)), 2.5)
    yield partial(timeline_of, VARIANTS, until=3.0)
    yield lambda: timeline(limited())
    for P in (2, 8, 64):
        yield partial(glimpse_of, VARIANTS[:1], P)
        yield partial(glimpse_of, VARIANTS[1:3], P, names=["cancel", "go on"])
    yield lambda: timeline([race_of("K-batch-sync"), limited(), limited(64, 64, 1000)], until=1.0)
    for law in LAWS:
        yield partial(law_card, law)
    for moment in ({"t": 0.01}, {"t": 1.0}, {"share": 0.5}, {"share": 1.0}):
        yield partial(race_at, **moment)
    yield partial(decays, log=False)
    yield partial(decays, log=True)
    yield close_curves
    yield long_names
    yield looks_of_laws
    yield partial(fitted, "exponential", 1.0, 2000)
    yield partial(fitted, "pareto", 1.1, 500)
    yield partial(fitted, "uniform", 1.0, 1.0, 10)
    yield partial(fitted, "uniform", 2.0, 2.0, 1)
    for P, end in ((1, 3.0), (4, 20.0), (8, 400.0)):
        yield partial(random_staircases, P, end)
    yield partial(staircases, np.ones((4, 9)).cumsum(axis=1), 1.0, 8.5)
    yield partial(staircases, np.ones((4, 9)).cumsum(axis=1), 1.0, 8.5, name="constant", law=Constant())
    for P, K, end in ((1, 1, 3.0), (1, 9, 0.01), (8, 4, 3.0), (8, 3, 40.0)):
        yield partial(random_counts, P, K, end)
    for P in (2, 8, 64):
        for t in (0.0, 5.0, 20.0):
            yield partial(patience_at, P, t)
    yield shares_of_all
    for P, updates in ((1, 4), (3, 8), (8, 30)):
        yield partial(pulls_of, P, updates)
        yield partial(stalenesses_of, P, geometric=True)
        yield partial(stalenesses_of, P, geometric=False)
        for now in (0, 40, 79):
            yield partial(in_flight_at, P, now)
            yield partial(valley_at, P, now)
    yield partial(tiles, [[Tile("one and two")]], [""], ["only"], "a name of rows " * 4, "columns")
    for shape in ((1, 1), (3, 7), (6, 8)):
        yield partial(map_of_winners, None, *shape)
        yield partial(map_of_winners, 4, *shape)
        yield partial(map_of_winners, 128, *shape)
    for shape in ((1, 1), (3, 4), (6, 6)):
        yield partial(map_of_heat, *shape)
    yield partial(map_of_heat, 3, 4, diverged=False)
    for here, old in ((0.5, 1.0), (-1.6, 1.6), (0.0, 0.0), (0.0, -1.0), (1e-9, 1.0)):
        yield partial(slopes, here, old)
    yield verdicts_of_all
    for name in ("P log P", "step condition", "guarantees"):
        for factor in (0.5, 1.0, 1.1):
            yield partial(evidence_of, name, factor)
    yield extreme_evidence
    for card in CARDS:
        for dtype in ("float32", "float64"):
            for rows in (10_000, 1_000_000):
                yield partial(roofline_of, card, dtype, rows)
    yield partial(roofline_of, "RTX 4090", "float32", 100, gradients=10)  # everything is in the cache
    for time in (0, 1, 5, 10):
        for without in (None, 2):
            yield partial(warps_at, time, without)
    yield partial(warps_at, 70, None, (1,), 32)
    yield partial(warps_at, 40, 3, (3, 1, 1, 2, 1, 1, 1, 1), 20)


def drawn(picture):
    """As SVG; a bare figure gets words, so that it can be looked at as well."""
    return to_svg(picture if isinstance(picture, Picture) else Picture(picture, "What it shows."))


@cache
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


def width_of(words, size):
    # DejaVu Sans is a tenth wider than the fonts of pages: Arial, Helvetica, Segoe UI, Roboto.
    return (
        0.9 * size / 12 * text_to_path.get_text_width_height_descent(words.strip(), TWELVE, ismath=False)[0]
    )


def leaders_of(svg):
    """What ties names to the ends of curves, as SVG."""
    return re.findall(
        r'<path stroke-opacity=".55" stroke-width=".7" stroke-dasharray="[^"]*" d="[^"]*"/>', svg
    )


def without_leaders(svg):
    for leader in leaders_of(svg):
        svg = svg.replace(leader, "")
    return svg


def colors_of(svg):
    return set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]+)"', svg))


def numbers_are_finite(svg):
    return not re.search(r"\b(nan|inf)\b", re.sub(r'aria-label="[^"]*"', "", svg))
