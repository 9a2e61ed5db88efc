"""Laws of mini-batch times: the densities of X and of X_{K:P}, and the hazard. Knows laws; no races."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from sgdrace import order_statistics
from sgdrace._arguments import FloatArray, count
from sgdrace.delays import DelayLaw, Law, as_single_law
from sgdrace.figures.canvas import LINE, SMALL, Scale, number, plot, tick_margin, tick_words
from sgdrace.figures.colors import INKS, VARIANT, Stroke
from sgdrace.figures.labels import DESCENT, beside, text_width
from sgdrace.figures.picture import Picture

HEIGHT = 200.0
MARGINS = 66.0  # above and below the plot
POINTS = 160  # of a curve, before simplification
BINS = 60  # of a law that has no density
STEEP = 12.0  # a density alone is shown up to so many times that of a uniform law on the axis

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


def densities(law: Law, P: int, K: int) -> Picture:
    """The law of one mini-batch time X and of X_{K:P}, the time of the K-th fastest of P learners.

    The axis of time depends on the law and on P but not on K, so that K can be varied. A law without a
    density is drawn as a histogram.

    >>> from sgdrace import Exponential
    >>> densities(Exponential(), P=8, K=6).text
    'One mini-batch takes 1 on average; the 6th fastest of 8 learners takes 1.22, which is 1.22 times as
     long. Half of the time it takes between 0.837 and 1.51.'
    """
    X, P, K = checked(law, P, K)
    # Most of the slowest are seen, unless X would shrink to a corner.
    late = min(float(order_statistics.ppf(X, P, P, 0.9)), 4 * float(X.ppf(0.9)))
    x = _points(X, 1.2 * late)
    m, m_K = X.mean, order_statistics.mean(X, K, P)
    some = _heights(
        X, x, lambda t: order_statistics.pdf(X, K, P, t), lambda t: order_statistics.cdf(X, K, P, t)
    )
    figure = _draw(
        [
            Density(x, _heights(X, x, X.pdf, X.cdf), m, f"X, mean {number(m)}", INKS[0]),
            Density(x, some, m_K, f"$X_{{{K}:{P}}}$, mean {number(m_K)}", VARIANT["K-sync"]),
        ],
        "time of one mini-batch, and of the K-th fastest",
        BINS,
    )
    quarter, three = order_statistics.ppf(X, K, P, np.array([0.25, 0.75]))
    return Picture(
        figure,
        f"One mini-batch takes {long(m)} on average; the {_ordinal(K)} fastest of {P} learners takes "
        f"{long(m_K)}{_compared(m_K, m)}. Half of the time it takes between {number(quarter)} and "
        f"{number(three)}.",
    )


def law_card(law: Law) -> Picture:
    """A law at a glance: its density with the mean, and its hazard with what age tells. Two figures.

    >>> from sgdrace import Exponential
    >>> law_card(Exponential()).text
    'A mini-batch takes 1 on average, with standard deviation 1; half of them take more than 0.693 and one
     in a hundred more than 4.61. Hazard 1 at the median and 1 when one in twenty is left; at any age as good
     as new.'
    """
    X = as_single_law(law, "law")
    x = _points(X, 1.2 * min(float(X.ppf(0.97)), 4 * float(X.ppf(0.9))))
    one = Density(x, _heights(X, x, X.pdf, X.cdf), X.mean, f"mean {number(X.mean)}", INKS[0])
    steepest = STEEP if has_density(X) else BINS
    return Picture([_draw([one], "time x of one mini-batch", steepest), _hazard(X, x)], _card_words(X))


def _card_words(X: DelayLaw) -> str:
    median, late, last = (float(X.ppf(q)) for q in (0.5, 0.95, 0.99))
    text = (
        f"A mini-batch takes {long(X.mean)} on average, with standard deviation "
        f"{number(math.sqrt(X.var))}; half of them take more than {number(median)} and one in a hundred more "
        f"than {number(last)}."
    )
    ageing = AGEING[X.ageing]
    if not has_density(X):
        return f"{text} {ageing[0].upper()}{ageing[1:]}."
    rates = number(X.hazard(median)), number(X.hazard(late))
    return f"{text} Hazard {rates[0]} at the median and {rates[1]} when one in twenty is left; {ageing}."


def checked(law: Law, P: int, K: int) -> tuple[DelayLaw, int, int]:
    """A law that all P learners share, and K of them."""
    P = count("P", P)
    return as_single_law(law, "law"), P, count("K", K, maximum=P)


def long(time: float) -> str:
    """How long something takes, in words."""
    return "infinitely long" if math.isinf(time) else number(time)


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


def _draw(curves: Sequence[Density], x_name: str, steepest: float) -> Figure:
    """Densities with their means, each named; one that is too steep leaves the plot at the top."""
    end = float(curves[0].x[-1])
    top = max(float(curve.y.max()) for curve in curves)
    peak = min(top, 1.001 * steepest / end)
    free = (HEIGHT - MARGINS) / (HEIGHT - MARGINS - LINE)  # a line for names that fit nowhere else
    area = plot(HEIGHT, (0.0, end), (0.0, free * peak), y_name="density")
    area.x_axis(x_name)
    for curve in curves:
        seen = np.minimum(curve.y, peak)
        area.area(curve.x, seen, 0.0, curve.stroke.color)
        area.line(curve.x, np.minimum(curve.y, 2 * peak), curve.stroke, top=peak if top > peak else None)
        area.mean_line(curve.mean, float(np.interp(curve.mean, curve.x, seen)), curve.stroke.color)
    lines = [np.column_stack([area.x(c.x), area.y(np.minimum(c.y, peak))]) for c in curves]
    frame = (area.x.start + 2, area.y.stop - 1, area.x.stop + 6, area.y.start)
    boxes = beside(lines, [text_width(curve.words) for curve in curves], frame)
    for curve, box in zip(curves, boxes, strict=True):
        area.paper.write(box[0], box[3] - DESCENT, curve.words)
    return area.paper.figure


def _hazard(X: DelayLaw, x: FloatArray) -> Figure:
    y = _rates(X, x)
    usual = y[(x >= X.ppf(0.15)) & (x <= X.ppf(0.95)) & np.isfinite(y)]  # a hazard may begin or end infinite
    top = 1.2 * float(usual.max(initial=0.0)) or 1.0
    ticks = Scale(0.0, top, 0, 1).ticks(4).tolist()
    left = tick_margin(tick_words(ticks))
    area = plot(HEIGHT, (0.0, float(x[-1])), (0.0, top), left, top=42.0, y_name="hazard")
    area.paper.write(2, 30, AGEING[X.ageing], SMALL)
    area.x_axis("age x of a running mini-batch")
    area.y_axis(ticks)
    area.line(x, np.minimum(y, 10 * top), INKS[0])
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
