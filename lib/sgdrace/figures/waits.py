"""How long the server waits for K of P learners on average, against K."""

import math

import numpy as np

from sgdrace import order_statistics
from sgdrace._arguments import FloatArray
from sgdrace.delays import DelayLaw, Law
from sgdrace.figures.canvas import (
    SMALL,
    WIDTH,
    Limits,
    Plot,
    Scale,
    limits,
    number,
    plot,
    tick_margin,
    tick_words,
    unit_of,
)
from sgdrace.figures.colors import INK, MEAN, VARIANT, Stroke
from sgdrace.figures.labels import ASCENT, DESCENT, overlap, text_width
from sgdrace.figures.laws import HEIGHT, checked, long
from sgdrace.figures.picture import Picture

# Where the value of a dot may stand, the best first: across and down from the dot, and which part of the
# words lies left of there.
PLACES = (
    (-4, -8, 1.0),
    (0, -12, 0.5),
    (9, 17, 0.0),
    (9, -8, 0.0),
    (0, -26, 0.5),
    (-9, 17, 1.0),
    (0, 28, 0.5),
    (0, -40, 0.5),
)


def means(law: Law, P: int, K: int, ylim: Limits | None = None, unit: str = "s") -> Picture:
    """E[X_{K:P}], the mean time until the K-th of P learners is done, against K; the chosen K stands out.

    The axes do not depend on K; `ylim`, the ends of the axis of time, makes them equal for several laws or P.

    >>> from sgdrace import Exponential
    >>> means(Exponential(), P=8, K=6).text
    'The mean time until the K-th of 8 learners is done rises from 0.125 s at K = 1 to 1.22 s at K = 6 and
     2.72 s at K = 8; one learner alone takes 1 s.'
    """
    X, P, K = checked(law, P, K)
    unit, up = unit_of(unit), limits("ylim", ylim)
    waits = _waits(X, P)
    finite = np.isfinite(waits)
    known = [*waits[finite], X.mean] if math.isfinite(X.mean) else waits[finite]
    area = _axes(P, up or (0.0, 1.2 * float(max(known, default=1.0))), unit)
    _one_learner(area, X.mean)
    ks, stroke = np.arange(1, P + 1), VARIANT["K-sync"]
    seen = (waits >= area.y.low) & (waits <= area.y.high)
    area.line(ks[finite], waits[finite], stroke, 1.2)
    if seen.any():
        area.paper.dots(area.x(ks[seen]), area.y(waits[seen]), stroke.color, 5.0 if P <= 20 else 3.0)
    if not finite.all():
        words = f"infinite from K = {ks[~finite][0]}"
        area.paper.write(area.x.stop, area.y.stop + 8, words, SMALL, "right")
    if seen[K - 1]:
        _mark(area, X.mean, waits, K)
    return Picture(area.paper.figure, _words(X.mean, waits, K, unit))


def _words(mean: float, waits: FloatArray, K: int, unit: str) -> str:
    P, alone = waits.size, f"one learner alone takes {long(mean, unit)}"
    first, chosen, last = (long(waits[k - 1], unit) for k in (1, K, P))
    if first == last:
        return f"The mean time until the K-th is done is {first} for every K up to {P}; {alone}."
    between = f"{chosen} at K = {K} and " if 1 < K < P else ""
    return (
        f"The mean time until the K-th of {P} learners is done rises from {first} at K = 1 to "
        f"{between}{last} at K = {P}; {alone}."
    )


def _waits(X: DelayLaw, P: int) -> FloatArray:
    return np.array([order_statistics.mean(X, k, P) for k in range(1, P + 1)])


def _axes(P: int, up: Limits, unit: str) -> Plot:
    levels = Scale(*up, 0, 1).ticks(4).tolist()
    name = f"mean time until the K-th, E[$X_{{K:P}}$], {unit}"
    area = plot(HEIGHT, (0.5, P + 0.5), up, tick_margin(tick_words(levels)), y_name=name)
    ks = range(1, P + 1) if P <= 12 else [1, *(int(k) for k in area.x.ticks(6) if k > 1)]
    area.x_axis(f"K, of P = {P} learners", [*ks])
    area.y_axis(levels)
    return area


def _one_learner(area: Plot, mean: float) -> None:
    if not area.y.low <= mean <= area.y.high:
        return
    level = area.y([mean, mean])
    area.paper.line([area.x.start, area.x.stop], level, Stroke(INK, MEAN), 1.2)
    area.paper.write(area.x.start + 3, level[0] - 6, _alone(mean), SMALL)


def _alone(mean: float) -> str:
    return f"E[X] = {number(mean)}"


def _mark(area: Plot, mean: float, waits: FloatArray, K: int) -> None:
    """The chosen K, and its value where it crosses neither the curve nor the line of E[X]."""
    x, y = float(area.x(K)), float(area.y(waits[K - 1]))
    area.paper.dots(x, y, VARIANT["K-sync"].color, 11)
    words = number(waits[K - 1])
    width = text_width(words)
    higher = (9, float(area.y(mean)) - 22 - y, 0.0) if math.isfinite(mean) else PLACES[0]
    across, down, part = np.array([*PLACES, higher]).T  # the last is above the words of E[X]
    x0 = x + across - part * width
    spots = np.column_stack([x0, y + down - ASCENT, x0 + width, y + down + DESCENT])
    out = (x0 < area.x.start) | (spots[:, 2] > WIDTH) | (spots[:, 1] < 18) | (spots[:, 3] > area.y.start)
    crossed = overlap(spots, _obstacles(area, mean, waits)).any(axis=1)
    best = int(np.argmin(2 * out + crossed))
    area.paper.write(x0[best], y + down[best], words, bold=True)


def _obstacles(area: Plot, mean: float, waits: FloatArray) -> FloatArray:
    """The curve as small boxes, and the line of E[X] with its words."""
    finite = np.isfinite(waits)
    ks = np.flatnonzero(finite) + 1
    fine = np.linspace(1, ks[-1], 400)
    x, y = area.x(fine), area.y(np.interp(fine, ks, waits[finite]))
    boxes = np.column_stack([x - 1, y - 1, x + 1, y + 1])
    if not math.isfinite(mean):
        return boxes
    level, left = float(area.y(mean)), area.x.start
    words = (left, level - 18, left + 5 + text_width(_alone(mean), SMALL), level)
    return np.vstack([boxes, (left, level - 1, area.x.stop, level + 1), words])
