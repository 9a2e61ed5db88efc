"""Histograms of measured times, with the laws that were fitted to them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, reals, shown
from sgdrace.delays import DelayLaw, Law, as_single_law, ks_distance
from sgdrace.figures.canvas import LINE, SMALL, Limits, limits, number, percent, plot
from sgdrace.figures.colors import BARS_ALPHA, INK, INKS, law_stroke
from sgdrace.figures.labels import text_width
from sgdrace.figures.lines import apart_in_dashes
from sgdrace.figures.picture import Picture

MOST = len(INKS)
BINS = 48


def histogram(
    times: ArrayLike,
    fits: Mapping[str, Law] | None = None,
    x_name: str = "step time, s",
    xlim: Limits | None = None,
    ylim: Limits | None = None,
) -> Picture:
    """How often each time was measured, and the densities of fitted laws over it.

    Where a few times are very long the axis ends at the 99 % quantile, unless `xlim` says where, and a line
    says what lies beyond. The words give quantiles of the times, and how far each law is from them at most.

    >>> from sgdrace import Exponential
    >>> histogram([1.0, 2.0, 3.0, 4.0], {"exponential": Exponential(rate=0.4)}).text
    "4 measured values of step time, s: mean 2.5, median 2.5; 1 % are above 3.97 and the longest is 4. The
     exponential law is off by at most 33 % (Kolmogorov's distance)."
    """
    data, laws = _checked(times, fits)
    low, high = limits("xlim", xlim) or _range(data)
    edges = np.linspace(low, high, _bins(data, low, high) + 1)
    heights = np.histogram(data, edges)[0] / (data.size * (edges[1] - edges[0]))
    x = np.linspace(low, high, 160)
    # A fit may be far steeper than the data at one point; it must not flatten them.
    curves = {name: np.nan_to_num(law.pdf(x), posinf=1e300) for name, law in laws.items()}
    top = max([heights.max(), *(min(curve.max(), 1.6 * heights.max()) for curve in curves.values())])
    up = limits("ylim", ylim) or (0.0, 1.04 * (top or 1.0))
    lines = _remarks(data, low, high)
    if heights.max() > up[1]:
        lines.append("the highest bars are cut off at the top")
    over = 22.0 + LINE * (len(laws) + len(lines) - 1)
    area = plot(170 + over, (low, high), up, top=over)
    for i, words in enumerate(lines):
        area.paper.write(area.x.start, 13 + LINE * i, words, SMALL if i else 13.0)
    area.x_axis(x_name)
    left, right = area.x(edges[:-1]), area.x(edges[1:])
    tops = np.clip(area.y(heights), area.y.stop, area.y.start)
    foot = np.full(left.shape, area.y.start)
    seen = heights > up[0]
    area.paper.boxes(np.column_stack([left + 0.3, tops, right - 0.3, foot])[seen], INK, BARS_ALPHA)
    strokes = apart_in_dashes([law_stroke(law) for law in laws.values()])
    for i, ((name, curve), stroke) in enumerate(zip(curves.items(), strokes, strict=True)):
        y = 13 + LINE * (len(lines) + i) - 4
        area.line(x, curve, stroke)
        area.paper.line([area.x.start, area.x.start + 26], [y, y], stroke)
        area.paper.write(area.x.start + 33, y + 4, name, SMALL)
    return Picture(area.paper.figure, _words(data, laws, x_name))


def _words(data: FloatArray, laws: Mapping[str, DelayLaw], x_name: str) -> str:
    median, late = np.quantile(data, [0.5, 0.99])
    text = (
        f"{data.size:,} measured values of {x_name}: mean {number(data.mean())}, median {number(median)}; "
        f"1 % are above {number(late)} and the longest is {number(data.max())}."
    )
    return text + "".join(
        f" The {name} law is off by at most {percent(ks_distance(data, law))} (Kolmogorov's distance)."
        for name, law in laws.items()
    )


def _range(data: FloatArray) -> tuple[float, float]:
    """From the shortest time to the longest or, if that is far out, to the 99 % quantile."""
    low, late, longest = float(data.min()), float(np.quantile(data, 0.99)), float(data.max())
    if longest == low:
        return 0.5 * low, 1.5 * low if low else 1.0
    return low, (longest if longest - low <= 1.6 * (late - low) else late)


def _bins(data: FloatArray, low: float, high: float) -> int:
    """Freedman and Diaconis's number of bins, within limits."""
    quarter, three = np.quantile(data, [0.25, 0.75])
    width = 2 * (three - quarter) / data.size ** (1 / 3)
    return int(np.clip((high - low) / width, 8, BINS)) if width > 0 else BINS


def _remarks(data: FloatArray, low: float, high: float) -> list[str]:
    """The heading, and what lies beyond the ends of the axis."""
    lines = [f"{data.size:,} measured, mean {number(data.mean())}"]
    if before := int((data < low).sum()):
        lines.append(f"{before:,} of them lie before the axis, down to {number(data.min())}")
    if beyond := int((data > high).sum()):
        lines.append(f"{beyond:,} of them lie beyond the axis, up to {number(data.max())}")
    return lines


def _checked(times: ArrayLike, fits: Mapping[str, Law] | None) -> tuple[FloatArray, dict[str, DelayLaw]]:
    data = reals("times", times, above=0, closed=True)
    if fits is not None and not isinstance(fits, Mapping):
        raise TypeError(f"fits must be a mapping from names to laws; got {shown(fits)}.")
    laws = {name: as_single_law(law, f"the law {name!r}") for name, law in (fits or {}).items()}
    if len(laws) > MOST:
        raise ValueError(f"at most {MOST} fitted laws can be told apart; got {len(laws)}.")
    too_long = [name for name in laws if text_width(name, SMALL) > 300]
    if too_long:
        raise ValueError(f"the name {shown(too_long[0])} is too long for a phone.")
    return data, laws
