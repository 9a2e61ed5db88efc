"""Laws of mini-batch times: the densities of X and of X_{K:P}, and the hazard. Knows laws; no races."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from sgdrace import order_statistics
from sgdrace._arguments import FloatArray, count
from sgdrace.delays import DelayLaw, Law, as_single_law
from sgdrace.figures.canvas import (
    LINE,
    SMALL,
    Limits,
    Scale,
    limits,
    number,
    plot,
    tick_margin,
    tick_words,
    unit_of,
)
from sgdrace.figures.colors import VARIANT, Stroke, law_stroke
from sgdrace.figures.labels import DESCENT, beside, text_width
from sgdrace.figures.picture import Picture

HEIGHT = 200.0
MARGINS = 66.0  # above and below the plot
POINTS = 160  # of a curve, before simplification
BINS = 60  # of a law that has no density
STEEP = 12.0  # a density alone is shown up to so many times that of a uniform law on the axis
HIGHER = 2.0  # that of X_{K:P} is shown up to so many times the height of that of X

AGEING = {
    "NLTU": "new longer than used: age brings the end nearer",
    "NSTU": "new shorter than used: age is a bad sign",
    "both": "at any age as good as new",
    "neither": "neither of the two: it depends on the age",
}


class Density(NamedTuple):
    """A density as points of a line, and how it is drawn."""

    x: FloatArray
    y: FloatArray
    mean: float
    words: str
    stroke: Stroke

    def within(self, x: Limits) -> "Density":
        """The part between two times."""
        seen = (self.x >= x[0]) & (self.x <= x[1])
        return self._replace(x=self.x[seen], y=self.y[seen])


def densities(
    law: Law,
    P: int,
    K: int,
    xlim: Limits | None = None,
    ylim: Limits | None = None,
    unit: str = "s",
) -> Picture:
    """The law of one mini-batch time X and of X_{K:P}, the time of the K-th fastest of P learners.

    The axes depend on the law and on P but not on K, so that K can be varied; `xlim` and `ylim` give others.
    A density that is too steep leaves the picture at the top. A law without a density is drawn as a
    histogram.

    >>> from sgdrace import Exponential
    >>> densities(Exponential(), P=8, K=6).text
    'One mini-batch takes 1 s on average; the 6th fastest of 8 learners takes 1.22 s, which is 1.22 times as
     long. Half of the time it takes between 0.837 and 1.51 s.'
    """
    X, P, K = checked(law, P, K)
    unit = unit_of(unit)
    # Most of the slowest are seen, unless X would shrink to a corner.
    late = min(float(order_statistics.ppf(X, P, P, 0.9)), 4 * float(X.ppf(0.9)))
    across = _times(xlim) or (0.0, 1.2 * late)
    x = _points(X, across[1])
    m, m_K = X.mean, order_statistics.mean(X, K, P)

    def kth(k: int) -> FloatArray:
        return _heights(
            X, x, lambda t: order_statistics.pdf(X, k, P, t), lambda t: order_statistics.cdf(X, k, P, t)
        )

    one = _heights(X, x, X.pdf, X.cdf)
    few = (1, (P + 1) // 2, P)  # among these is the steepest, or one that is nearly as steep
    steepest = min(max(float(kth(k).max()) for k in few), HIGHER * float(one.max()))
    peak = min(max(float(one.max()), steepest), BINS / across[1])
    figure = _draw(
        [
            Density(x, one, m, f"X, mean {number(m)}", law_stroke(X)),
            Density(x, kth(K), m_K, f"$X_{{{K}:{P}}}$, mean {number(m_K)}", VARIANT["K-sync"]),
        ],
        f"time of a mini-batch, and of the K-th fastest, {unit}",
        across,
        limits("ylim", ylim) or (0.0, peak),
    )
    quarter, three = order_statistics.ppf(X, K, P, np.array([0.25, 0.75]))
    return Picture(
        figure,
        f"One mini-batch takes {long(m, unit)} on average; the {_ordinal(K)} fastest of {P} learners takes "
        f"{long(m_K, unit)}{_compared(m_K, m)}. Half of the time it takes between {number(quarter)} and "
        f"{number(three)} {unit}.",
    )


def law_card(
    law: Law,
    xlim: Limits | None = None,
    ylim: Limits | None = None,
    hazard_ylim: Limits | None = None,
    unit: str = "s",
) -> Picture:
    """A law at a glance: its density with the mean, and its hazard with what age tells. Two figures.

    `xlim`, `ylim` and `hazard_ylim` fix the axes of time, of the density and of the hazard.

    >>> from sgdrace import Exponential
    >>> law_card(Exponential()).text
    'A mini-batch takes 1 s on average, with standard deviation 1 s; half of them take more than 0.693 s and
     one in a hundred more than 4.61 s. Hazard 1 per s at the median and 1 per s when one in twenty is left;
     at any age as good as new.'
    """
    X, unit = as_single_law(law, "law"), unit_of(unit)
    across = _times(xlim) or (0.0, 1.2 * min(float(X.ppf(0.97)), 4 * float(X.ppf(0.9))))
    x = _points(X, across[1])
    one = Density(x, _heights(X, x, X.pdf, X.cdf), X.mean, f"mean {number(X.mean)}", law_stroke(X))
    peak = min(float(one.y.max()), (STEEP if has_density(X) else BINS) / across[1])
    left = _draw([one], f"time x of one mini-batch, {unit}", across, limits("ylim", ylim) or (0.0, peak))
    right = _hazard(X, x, across, limits("hazard_ylim", hazard_ylim), unit)
    return Picture([left, right], _card_words(X, unit))


def _times(xlim: Limits | None) -> Limits | None:
    """The ends of an axis of times, which are never negative."""
    given = limits("xlim", xlim)
    if given is not None and given[0] < 0:
        raise ValueError(f"xlim must not begin below 0, since no time does; got {given}.")
    return given


def _card_words(X: DelayLaw, unit: str) -> str:
    median, late, last = (float(X.ppf(q)) for q in (0.5, 0.95, 0.99))
    text = (
        f"A mini-batch takes {long(X.mean, unit)} on average, with standard deviation "
        f"{_said(math.sqrt(X.var), unit)}; half of them take more than {number(median)} {unit} and one in a "
        f"hundred more than {number(last)} {unit}."
    )
    ageing = AGEING[X.ageing]
    if not has_density(X):
        return f"{text} {ageing[0].upper()}{ageing[1:]}."
    rates = [f"{number(X.hazard(age))} per {unit}" for age in (median, late)]
    return f"{text} Hazard {rates[0]} at the median and {rates[1]} when one in twenty is left; {ageing}."


def checked(law: Law, P: int, K: int) -> tuple[DelayLaw, int, int]:
    """A law that all P learners share, and K of them."""
    P = count("P", P)
    return as_single_law(law, "law"), P, count("K", K, maximum=P)


def long(time: float, unit: str) -> str:
    """How long something takes, in words."""
    return "infinitely long" if math.isinf(time) else _said(time, unit)


def _said(time: float, unit: str) -> str:
    return f"{number(time)} {unit}" if math.isfinite(time) else number(time)


def has_density(X: DelayLaw) -> bool:
    """Whether a law can tell its density: a discrete one has none, and somebody's own may lack it."""
    try:
        X.pdf(X.ppf(0.5))
    except (ValueError, TypeError):
        return False
    return True


def _points(X: DelayLaw, end: float) -> FloatArray:
    """Times at which a law is drawn.

    They are even, denser after the shortest time, where the fastest of many are, and on both sides of the
    ends of the support, where a density may jump. A law without density has bins, each end of which is
    there twice, except the first and the last.
    """
    if not has_density(X):
        return np.repeat(np.linspace(0.0, end, BINS + 1), 2)[1:-1]
    support = np.asarray(X.ppf(np.array([0.0, 1.0])), dtype=np.float64)
    support = support[np.isfinite(support)]
    jumps = np.concatenate([support, np.nextafter(support, -math.inf), np.nextafter(support, math.inf)])
    early = support[0] + (end - support[0]) * np.geomspace(1e-4, 1.0, POINTS // 2)
    x = np.concatenate([np.linspace(0.0, end, POINTS), early, jumps])
    return np.unique(x[(x >= 0) & (x <= end)])


def _heights(
    X: DelayLaw, x: FloatArray, pdf: Callable[[FloatArray], Any], cdf: Callable[[FloatArray], Any]
) -> FloatArray:
    """A density at these points, or what lies in each bin by its width; nowhere infinite."""
    if has_density(X):
        with np.errstate(all="ignore"):  # at the very ends a density may be 0 · inf
            return np.asarray(np.nan_to_num(pdf(x), nan=0.0, posinf=1e300))
    return np.repeat(np.diff(cdf(_bins(x))) * BINS / x[-1], 2)


def _bins(x: FloatArray) -> FloatArray:
    return np.append(x[::2], x[-1])


def _draw(curves: Sequence[Density], x_name: str, across: Limits, up: Limits) -> Figure:
    """Densities with their means, each named; one that is too steep leaves the plot at the top."""
    low, peak = up[0], up[1] * (1 + 1e-6)
    free = (HEIGHT - MARGINS) / (HEIGHT - MARGINS - LINE)  # a line for names that fit nowhere else
    area = plot(HEIGHT, across, (low, low + free * (peak - low)), y_name="density")
    area.x_axis(x_name)
    curves = [curve.within(across) for curve in curves]
    top = max(float(curve.y.max()) for curve in curves)
    for curve in curves:
        seen = np.minimum(curve.y, peak)
        area.area(curve.x, seen, low, curve.stroke.color)
        area.line(curve.x, np.minimum(curve.y, 2 * peak), curve.stroke, top=peak if top > peak else None)
        area.mean_line(curve.mean, float(np.interp(curve.mean, curve.x, seen)), curve.stroke.color)
    lines = [np.column_stack([area.x(c.x), area.y(np.minimum(c.y, peak))]) for c in curves]
    frame = (area.x.start + 2, area.y.stop - 1, area.x.stop + 6, area.y.start)
    boxes = beside(lines, [text_width(curve.words) for curve in curves], frame)
    for curve, box in zip(curves, boxes, strict=True):
        area.paper.write(box[0], box[3] - DESCENT, curve.words)
    return area.paper.figure


def _hazard(X: DelayLaw, x: FloatArray, across: Limits, up: Limits | None, unit: str) -> Figure:
    y = _rates(X, x)
    usual = y[(x >= X.ppf(0.15)) & (x <= X.ppf(0.95)) & np.isfinite(y)]  # a hazard may begin or end infinite
    up = up or (0.0, 1.2 * float(usual.max(initial=0.0)) or 1.0)
    ticks = Scale(*up, 0, 1).ticks(4).tolist()
    left = tick_margin(tick_words(ticks))
    area = plot(HEIGHT, across, up, left, top=42.0, y_name=f"hazard, 1/{unit}")
    area.paper.write(2, 30, AGEING[X.ageing], SMALL)
    area.x_axis(f"age x of a running mini-batch, {unit}")
    area.y_axis(ticks)
    area.line(x, np.minimum(y, 10 * up[1]), law_stroke(X))
    return area.paper.figure


def _rates(X: DelayLaw, x: FloatArray) -> FloatArray:
    """The hazard at these points: of those still running, the share that finishes per unit of time."""
    with np.errstate(all="ignore"):
        if has_density(X):
            return np.where(X.sf(x) > 0, X.hazard(x), np.nan)
        edges = _bins(x)
        alive = np.append(1.0, X.sf(edges[1:-1]))
        return np.repeat(np.where(alive > 0, np.diff(X.cdf(edges)) / alive, np.nan) * BINS / x[-1], 2)


def _compared(mean: float, one: float) -> str:
    """How the mean time of the K-th compares with that of one."""
    if not math.isfinite(mean) or not math.isfinite(one):
        return ""
    factor = number(mean / one)
    return ", just as long" if factor == "1" else f", which is {factor} times as long"


def _ordinal(n: int) -> str:
    """A place in a row: 1st, 2nd, 3rd, 4th, 11th."""
    last = {1: "st", 2: "nd", 3: "rd"}
    return f"{n}{'th' if n % 100 in (11, 12, 13) else last.get(n % 10, 'th')}"
