"""Paper, scales, axes and labels for the figures. Knows the look; knows nothing of learners or laws.

Lengths are units: 360 to the width of a figure, one pixel each on a phone, y from the top. Matplotlib's Axes
is not used: building one costs more than the whole drawing, and its ticks and rotated names are not ours.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, TransformedBbox
from matplotlib.transforms import Bbox as Box
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, shown
from sgdrace.figures.colors import INK, INKS, LEADER, LEADER_ALPHA, LEADER_WIDTH, MEAN, WORK, Stroke
from sgdrace.figures.labels import apart, text_width, wrapped
from sgdrace.figures.svg import FONT

WIDTH = 360.0
SMALL = 12.0
LINE = 16.0  # from one line of text to the next
THINNEST = 1.0  # of a bar: less is no more than a shadow on a phone
FEWEST = 3  # ticks of an axis, unless there are fewer values than that
ROOM = WIDTH - 4  # for the name of an axis

Limits = tuple[float, float]  # where an axis begins and ends


@dataclass(frozen=True)
class Scale:
    """Where values lie on the paper: low at `start`, high at `stop`. Of counts only whole ones are ticks.

    >>> Scale(0.0, 10.0, start=20.0, stop=120.0)([0.0, 5.0, 10.0]).tolist()
    [20.0, 70.0, 120.0]
    """

    low: float
    high: float
    start: float
    stop: float
    log: bool = False
    whole: bool = False

    def __call__(self, values: ArrayLike) -> FloatArray:
        v, low, high = np.asarray(values, dtype=np.float64), self.low, self.high
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                v, low, high = np.log(v), math.log(low), math.log(high)
        return self.start + (v - low) * ((self.stop - self.start) / (high - low))

    def ticks(self, count: int = 5) -> FloatArray:
        """Round values within the scale, about `count` and at least three, where there are so many.

        On a log scale they are powers of ten or, where these are few, others between them.

        >>> Scale(0.0, 8.2, 0.0, 1.0).ticks().tolist()
        [0.0, 2.0, 4.0, 6.0, 8.0]
        >>> Scale(0.08, 1.2, 0.0, 1.0, log=True).ticks().tolist()
        [0.1, 0.2, 0.5, 1.0]
        """
        for ticks in _choices(self, count):
            share = (self(ticks) - self.start) / (self.stop - self.start)
            inside = ticks[(share >= -1e-9) & (share <= 1 + 1e-9)]
            if inside.size >= FEWEST:
                break
        return inside


def _choices(scale: Scale, count: int) -> Iterator[FloatArray]:
    """Sets of ticks, each denser than the one before; some lie outside the scale."""
    if scale.log:
        yield from _log_choices(scale.low, scale.high, count)
    rough = (scale.high - scale.low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    steps = [size * power for size in (10, 5, 2, 1, 0.5, 0.2)]
    first = max(n for n, step in enumerate(steps) if step >= rough * (1 - 1e-9))
    if scale.whole:
        steps = [max(1.0, step) for step in steps]
    for step in steps[first:]:
        numbers = np.arange(math.floor(scale.low / step), math.ceil(scale.high / step) + 1)
        yield np.array([float(f"{number * step:.12g}") for number in numbers])


def _log_choices(low: float, high: float, count: int) -> Iterator[FloatArray]:
    span = math.log10(high / low)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    if span >= 1.7:
        every = math.ceil(span / (count + 1))
        yield np.array([float(f"1e{n}") for n in decades if n % every == 0])
    steps = (1, 3) if span >= 1.7 else (1, 2, 5)
    yield np.array([float(f"{step}e{n}") for n in decades for step in steps])


def limits(name: str, given: Limits | None, log: bool = False) -> Limits | None:
    """The beginning and the end of an axis as somebody gave them, or None.

    >>> limits("xlim", (0, 5)), limits("xlim", None)
    ((0.0, 5.0), None)
    """
    if given is None:
        return None
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be two numbers, (low, high); got {shown(given)}.") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high) or (log and low <= 0):
        least = ", above 0 on a log scale" if log else ""
        raise ValueError(f"{name} must be two finite numbers, the lower first{least}; got {shown(given)}.")
    return low, high


def unit_of(unit: str) -> str:
    """The unit of time, as the axes and the words have it."""
    if not isinstance(unit, str) or not unit.strip():
        raise ValueError(f"unit must say in which unit times are, such as 's' or 'ms'; got {shown(unit)}.")
    return unit.strip()


def rows_of_time(unit: str) -> str:
    """The name of the axis of a timeline."""
    return f"time, {unit} (one row per learner)"


def tick_words(ticks: Sequence[float]) -> list[str]:
    """How ticks are written; if one of them is too long as a decimal, powers of ten are.

    >>> tick_words([0.0, 0.5, 1.0]), tick_words([0.0001, 1.0])
    (['0', '0.5', '1'], ['$10^{-4}$', '1'])
    """
    if all(tick == 0 or 1e-3 <= abs(tick) < 1e5 for tick in ticks):
        return [f"{tick:,.12g}".replace("-", "−") for tick in ticks]
    return [_power(tick) for tick in ticks]


def _power(value: float) -> str:
    if value == 0:
        return "0"
    digits, exponent = f"{value:.3e}".split("e")
    if int(exponent) in (0, 1):
        return f"{value:g}"
    factor = f"{float(digits):g}"
    return f"{'' if factor == '1' else factor + '·'}$10^{{{int(exponent)}}}$"


def number(value: float) -> str:
    """A value as words say it: three digits that count, no exponent.

    >>> number(2.7179), number(0.000123), number(1234.5), number(float("inf"))
    ('2.72', '0.000123', '1,230', 'infinite')
    """
    if not math.isfinite(value):
        return "infinite" if value > 0 else "unknown"
    rounded = float(f"{value:.3g}")
    digits = max(0, 2 - math.floor(math.log10(abs(rounded)))) if rounded else 0
    text = f"{rounded:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float) -> str:
    """A share as words say it.

    >>> percent(0.2), percent(0.0004)
    ('20 %', '0 %')
    """
    return f"{100 * share:.0f} %"


def plural(count: int, word: str) -> str:
    """A number of things.

    >>> plural(1, "update"), plural(2, "update"), plural(2, "batch")
    ('1 update', '2 updates', '2 batches')
    """
    ending = "es" if word.endswith(("sh", "ch")) else "s"
    return f"{count:,} {word}{'' if count == 1 else ending}"


class Paper:
    """A Figure drawn upon in units from its top left corner. What is drawn later lies above."""

    def __init__(self, height: float) -> None:
        self.height = float(round(height))
        # Each setting is given, so that nobody's rcParams can change a figure of the book.
        self.figure = Figure(figsize=(WIDTH / 72, self.height / 72), dpi=72, facecolor="none", linewidth=0.0)
        self.figure.set_layout_engine("none")
        units = Affine2D().scale(1 / 72, -1 / 72).translate(0, self.height / 72)
        self.units = units + self.figure.dpi_scale_trans

    def line(
        self,
        x: ArrayLike,
        y: ArrayLike,
        stroke: Stroke = INKS[0],
        width: float = 1.8,
        alpha: float | None = None,
        clip: Box | None = None,
    ) -> None:
        """A line through points; NaN parts it."""
        line = Line2D(
            np.asarray(x),
            np.asarray(y),
            color=stroke.color,
            linewidth=width,
            linestyle="-" if stroke.dash is None else (0, stroke.dash),
            alpha=alpha,
            marker="",
            solid_capstyle="butt",
            dash_capstyle="butt",
            transform=self.units,
        )
        if clip is not None:
            line.set_clip_box(TransformedBbox(clip, self.units))
        self.figure.add_artist(line)

    def segments(
        self,
        x0: ArrayLike,
        x1: ArrayLike,
        y0: ArrayLike,
        y1: ArrayLike,
        stroke: Stroke = INKS[0],
        width: float = 0.8,
        alpha: float | None = None,
    ) -> None:
        """Separate straight lines, as one path."""
        a, b, c, d = np.broadcast_arrays(np.atleast_1d(x0), x1, y0, y1)
        gap = np.full(a.shape, np.nan)
        x, y = (np.column_stack([first, last, gap]).ravel() for first, last in ((a, b), (c, d)))
        if x.size:
            self.line(x, y, stroke, width, alpha)

    def dots(self, x: ArrayLike, y: ArrayLike, color: str = INK, size: float = 6.0) -> None:
        """Discs of this diameter."""
        line = Line2D(
            np.atleast_1d(x),
            np.atleast_1d(y),
            color=color,
            linestyle="",
            marker="o",
            markersize=size,
            markeredgewidth=0.0,
            transform=self.units,
        )
        self.figure.add_artist(line)

    def area(
        self,
        x: FloatArray,
        upper: FloatArray,
        lower: ArrayLike,
        color: str = INK,
        alpha: float = 0.13,
        clip: Box | None = None,
    ) -> None:
        """What lies between two lines."""
        below = np.broadcast_to(np.asarray(lower, dtype=np.float64), x.shape)
        outline = np.column_stack([np.append(x, x[::-1]), np.append(upper, below[::-1])])
        self._fill(Path(outline, closed=False), color, alpha, clip)

    def boxes(self, corners: ArrayLike, color: str = INK, alpha: float = 1.0) -> None:
        """Any number of rectangles (x0, y0, x1, y1), as one path."""
        x0, y0, x1, y1 = np.asarray(corners, dtype=np.float64).reshape(-1, 4).T
        points = np.array([(x0, y0), (x0, y1), (x1, y1), (x1, y0), (x0, y0)])  # (5, 2, boxes)
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(x0)
        if codes:
            self._fill(Path(points.transpose(2, 0, 1).reshape(-1, 2), codes), color, alpha)

    def _fill(self, path: Path, color: str, alpha: float, clip: Box | None = None) -> None:
        patch = PathPatch(
            path, facecolor=color, edgecolor="none", alpha=alpha, linewidth=0.0, transform=self.units
        )
        if clip is not None:
            patch.set_clip_box(TransformedBbox(clip, self.units))
        self.figure.add_artist(patch)

    def write(
        self,
        x: float,
        y: float,
        words: str,
        size: float = FONT,
        anchor: str = "left",
        middle: bool = False,
        bold: bool = False,
        color: str = INK,
    ) -> None:
        """Words whose baseline, or with `middle` whose middle, is at y."""
        self.figure.text(
            float(x),
            float(y),
            words,
            fontsize=size,
            horizontalalignment=anchor,
            verticalalignment="center_baseline" if middle else "baseline",
            fontweight="bold" if bold else "normal",
            color=color,
            usetex=False,
            transform=self.units,
        )

    def key(
        self, y: float, entries: Sequence[tuple[str, str]], columns: Sequence[float], even: bool = False
    ) -> None:
        """What the colors of work mean: (kind, words) in these columns, line by line.

        With `even` all bars are equally thick.
        """
        for i, (kind, words) in enumerate(entries):
            row, column = divmod(i, len(columns))
            x, middle = columns[column], y + row * LINE
            self.bar([x], [x + 14], [middle], kind, 10.0 / WORK[kind].share if even else 12.0)
            self.write(x + 18, middle, words, SMALL, middle=True)

    def bar(self, left: ArrayLike, right: ArrayLike, y: ArrayLike, kind: str, pitch: float) -> None:
        """Bars of a kind of work, in rows that are `pitch` apart. They are thick lines: one path for all."""
        shade = WORK[kind]
        width = max(shade.share * pitch, THINNEST)
        dash = shade.dash and tuple(length / width for length in shade.dash)
        self.segments(left, right, y, y, Stroke(shade.color, dash), width, shade.alpha)


@dataclass(frozen=True)
class Plot:
    """A part of the paper with a scale across and a scale up."""

    paper: Paper
    x: Scale
    y: Scale

    @property
    def box(self) -> Box:
        """The part of the paper, with room for the thickness of a line."""
        return Box.from_extents(self.x.start - 1, self.y.stop - 1, self.x.stop + 1, self.y.start + 1)

    def line(
        self, x: ArrayLike, y: ArrayLike, stroke: Stroke, width: float = 1.8, top: float | None = None
    ) -> None:
        """A curve; what of it is off the scale, or above `top`, is not drawn."""
        box = self.box
        if top is not None:
            box = Box.from_extents(box.x0, float(self.y(top)), box.x1, box.y1)
        self.paper.line(self.x(x), self.y(y), stroke, width, clip=box)

    def area(self, x: ArrayLike, upper: ArrayLike, lower: ArrayLike, color: str, alpha: float = 0.13) -> None:
        """A band or, down to 0, the area under a curve."""
        top, bottom = (np.clip(self.y(values), self.y.stop, self.y.start) for values in (upper, lower))
        self.paper.area(self.x(x), top, bottom, color, alpha, self.box)

    def mean_line(self, x: float, top: float, color: str = INK) -> None:
        """Marks a mean, up to the height `top`."""
        if self.x.low <= x <= self.x.high:
            ends = self.y([self.y.low, min(top, self.y.high)])
            self.paper.line(self.x([x, x]), ends, Stroke(color, MEAN), 1.2)

    def x_axis(
        self, name: str, ticks: Sequence[float] | None = None, words: Sequence[str] | None = None
    ) -> None:
        """Name, rule, ticks and their words below the plot; as many as stand clear of each other."""
        scale, foot = self.x, self.y.start
        places, centers, texts = self._clear_ticks(ticks, words)
        self.paper.line([scale.start, scale.stop], [foot, foot], width=0.8)
        self.paper.segments(places, places, foot, foot + 3)
        for center, text in zip(centers, texts, strict=True):
            self.paper.write(center, foot + 15, text, SMALL, "center")
        size = FONT if text_width(name) <= ROOM else SMALL
        half = text_width(_fitting(name, size, lines=1)[0], size) / 2
        center = np.clip((scale.start + scale.stop) / 2, half, WIDTH - half)
        self.paper.write(float(center), foot + 32, name, size, anchor="center")

    def _clear_ticks(
        self, ticks: Sequence[float] | None, words: Sequence[str] | None
    ) -> tuple[FloatArray, FloatArray, list[str]]:
        """Places of ticks, centers of their words, and the words: fewer and fewer until none touch."""
        for attempt in range(6):
            fewer = [*self.x.ticks(6 - attempt)] if ticks is None else [*ticks][:: 2**attempt]
            if attempt and len(fewer) < FEWEST:
                break
            chosen = fewer
            texts = [*(tick_words(chosen) if words is None else words)][:: 2**attempt if words else 1]
            places, half = self.x(chosen), np.array([text_width(text, SMALL) / 2 for text in texts])
            centers = np.clip(places, half, WIDTH - half)
            if (np.diff(centers) >= half[1:] + half[:-1] + 4).all():
                break
        return places, centers, texts

    def y_axis(self, ticks: Sequence[float], words: Sequence[str] | None = None) -> None:
        """Words left of the plot, and faint lines across it."""
        places = self.y(ticks)
        self.paper.segments(self.x.start, self.x.stop, places, places, alpha=0.15)
        for place, text in zip(places, words or tick_words(ticks), strict=True):
            self.paper.write(self.x.start - 5, place, text, SMALL, "right", middle=True)

    def end_labels(self, ends: Sequence["End"]) -> None:
        """Names right of the plot, tied to the ends of their curves and kept apart.

        A curve that left the scale has no dot, and an arrow behind its name says where it went.
        """
        edge = self.x.stop
        x, wanted = self.x([end.x for end in ends]), self.y([end.y for end in ends])
        wanted = np.clip(wanted, self.y.stop, self.y.start)
        places = apart(wanted, LINE - 1, self.y.stop + 4, self.y.start - 4)
        for left, dot, place in zip(x, wanted, places, strict=True):
            route = [left, edge + 3, edge + 11], [dot, dot, place]
            self.paper.line(*route, LEADER, LEADER_WIDTH, LEADER_ALPHA)
        for end, left, dot, place in zip(ends, x, wanted, places, strict=True):
            away = beyond(end.y, self.y)
            if not away:
                self.paper.dots(left, dot, end.color)
            self.paper.write(edge + 14, place, f"{end.name}{away}", SMALL, middle=True, bold=end.bold)


def beyond(value: float, scale: Scale) -> str:
    """An arrow to a value that is off the scale."""
    slack = 1e-9 * (scale.high - scale.low)
    return " ↑" if value > scale.high + slack else " ↓" if value < scale.low - slack else ""


@dataclass(frozen=True)
class End:
    """The last point of a curve, in values, and the name that stands beside it."""

    x: float
    y: float
    name: str
    color: str = INK
    bold: bool = False


def plot(
    height: float,
    x: tuple[float, float],
    y: tuple[float, float],
    left: float = 8.0,
    right: float = 8.0,
    top: float = 26.0,
    bottom: float = 40.0,
    y_name: str = "",
    log_x: bool = False,
    log_y: bool = False,
    whole_x: bool = False,
) -> Plot:
    """A paper with one plot on it, given its margins and the ranges of its scales; y's name lies above.

    A name that is too long for one line makes the paper higher.
    """
    lines = _fitting(y_name, FONT, lines=2)
    more = LINE * (len(lines) - 1)
    paper = Paper(height + more)
    for n, words in enumerate(lines if y_name else []):
        paper.write(2, 13 + n * LINE, words)
    across = Scale(*x, start=left, stop=WIDTH - right, log=log_x, whole=whole_x)
    return Plot(paper, across, Scale(*y, start=paper.height - bottom, stop=top + more, log=log_y))


def _fitting(name: str, size: float, lines: int) -> list[str]:
    """The lines in which the name of an axis stands on a phone."""
    found = wrapped(name, ROOM, size)
    if len(found) > lines or max(text_width(line, size) for line in found) > ROOM:
        raise ValueError(f"the name {shown(name)} of an axis is too long for a phone.")
    return found


def tick_margin(words: Sequence[str]) -> float:
    """Room that the words of a y axis need on its left."""
    return 8.0 + max(text_width(text, SMALL) for text in words)
