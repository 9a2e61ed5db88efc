"""Curves with bands, each named where it ends."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, one_of, shown
from sgdrace.figures.canvas import SMALL, End, Plot, Scale, number, plot, tick_margin, tick_words
from sgdrace.figures.colors import INKS, VARIANT, Stroke
from sgdrace.figures.labels import text_width
from sgdrace.figures.picture import Picture
from sgdrace.variants import VARIANTS

MOST = 10  # names that fit one below the other
WIDEST = 170.0  # a name may take this much of the width


@dataclass(frozen=True, repr=False, eq=False)
class Curve:
    """A line with a name: that of a variant has its color, others are ink with dashes of their own.

    `low` and `high` bound the band of the replicas. Where y is not finite the line has a gap.

    >>> Curve("exponential", [1, 2, 4], [1.0, 1.5, 2.083])
    Curve(exponential: 3 points)
    """

    name: str
    x: FloatArray  # (points,)
    y: FloatArray  # (points,)
    low: FloatArray | None  # (points,)
    high: FloatArray | None  # (points,)
    variant: str | None

    def __init__(
        self,
        name: str,
        x: ArrayLike,
        y: ArrayLike,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        variant: str | None = None,
    ) -> None:
        if (low is None) != (high is None):
            raise ValueError(f"the band of {name!r} needs both low and high, or neither.")
        arrays = {"x": x, "y": y, "low": low, "high": high}
        given = {key: np.asarray(a, dtype=np.float64) for key, a in arrays.items() if a is not None}
        if any(array.shape != (given["x"].size,) for array in given.values()) or not given["x"].size:
            shapes = ", ".join(f"{key} {array.shape}" for key, array in given.items())
            raise ValueError(f"the arrays of {name!r} must be lists of one length; got {shapes}.")
        if not np.isfinite(given["x"]).all() or not np.isfinite(given["y"]).any():
            raise ValueError(f"{name!r} needs finite x and at least one finite y.")
        if variant is None and name in VARIANTS:
            variant = name
        fields = {"name": name, "low": None, "high": None} | given
        fields["variant"] = None if variant is None else one_of("variant", variant, VARIANTS)
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        return f"Curve({self.name}: {self.x.size} points)"

    def last(self) -> int:
        """The number of the last point that is finite."""
        return int(np.flatnonzero(np.isfinite(self.y))[-1])


def curves(
    many: Sequence[Curve], x_name: str, y_name: str, log_x: bool = False, log_y: bool = False
) -> Picture:
    """Curves on common axes; use a log scale where the straight line is the message.

    >>> curves([Curve("K-sync", [0, 4], [1, 0.5], [1, 0.4], [1, 0.6])], "time", "loss")
    Picture(1 figure: Loss against time from 0 to 4: K-sync from 1 to 0.5 (band 0.4 to 0.6).)
    """
    lines = _checked(many, log_x, log_y)
    room = 18.0 + max(text_width(line.name, SMALL) for line in lines)
    area = _axes(lines, x_name, y_name, room, log_x, log_y)
    strokes = strokes_of(lines)
    for line, stroke in zip(lines, strokes, strict=True):
        if line.low is not None and line.high is not None:
            seen = np.isfinite(line.low) & np.isfinite(line.high)
            area.area(line.x[seen], line.high[seen], line.low[seen], stroke.color, 0.18)
    for line, stroke in zip(lines, strokes, strict=True):
        area.line(line.x, line.y, stroke)
    ends = [
        End(line.x[line.last()], line.y[line.last()], line.name, stroke.color)
        for line, stroke in zip(lines, strokes, strict=True)
    ]
    area.end_labels(ends)
    return Picture(area.paper.figure, _words(lines, x_name, y_name))


def _words(lines: Sequence[Curve], x_name: str, y_name: str) -> str:
    low, high = min(line.x.min() for line in lines), max(line.x.max() for line in lines)
    words = "; ".join(map(_ends, lines))
    text = f"{_plain(y_name)} against {_plain(x_name)} from {number(low)} to {number(high)}: {words}."
    return text[:1].upper() + text[1:]


def strokes_of(lines: Sequence[Curve]) -> list[Stroke]:
    """A stroke for each curve: its variant's, or the next of the inks."""
    inks = iter(INKS * MOST)
    return [VARIANT[line.variant] if line.variant else next(inks) for line in lines]


def value_range(values: FloatArray, log: bool) -> tuple[float, float]:
    """The range of an axis on which all finite values are seen; a linear one begins at 0 if it can."""
    seen = values[np.isfinite(values) & ((values > 0) | (not log))]
    low, high = float(seen.min()), float(seen.max())
    if log:
        return low / 1.2, high * 1.2
    if low == high == 0:
        return 0.0, 1.0
    pad = 0.06 * (high - min(low, 0.0))
    return (0.0 if low >= 0 else low - pad), (max(high, 0.0) if high <= 0 else high + pad)


def _axes(lines: Sequence[Curve], x_name: str, y_name: str, room: float, log_x: bool, log_y: bool) -> Plot:
    x = np.concatenate([line.x for line in lines])
    bands = [band for line in lines for band in (line.y, line.low, line.high) if band is not None]
    y_range = value_range(np.concatenate(bands), log_y)
    x_range = float(x.min()), float(x.max())
    if x_range[0] == x_range[1]:  # a single point: give it some room
        x_range = (x_range[0] / 2, x_range[1] * 2) if log_x else (x_range[0] - 1, x_range[1] + 1)
    ticks = Scale(*y_range, 0, 1, log_y).ticks(5)
    left = tick_margin(tick_words(ticks.tolist()))
    area = plot(224, x_range, y_range, left, room, y_name=y_name, log_x=log_x, log_y=log_y)
    area.x_axis(x_name)
    area.y_axis(ticks.tolist())
    return area


def _ends(line: Curve) -> str:
    seen, last = np.flatnonzero(np.isfinite(line.y)), line.last()
    text = f"{line.name} from {number(line.y[seen[0]])} to {number(line.y[last])}"
    if line.low is not None and line.high is not None:
        text += f" (band {number(line.low[last])} to {number(line.high[last])})"
    if last < line.x.size - 1:
        text += f", not finite after {number(line.x[last])}"
    return text


def _plain(name: str) -> str:
    """A name of an axis without the marks of mathematics."""
    return name.replace("$", "").replace("_{", " ").replace("^{", " ").replace("}", "")


def _checked(many: Sequence[Curve], log_x: bool, log_y: bool) -> list[Curve]:
    lines = list(many) if isinstance(many, Sequence) else []
    if not lines or not all(isinstance(line, Curve) for line in lines):
        raise TypeError(f"many must be a non-empty list of Curve; got {shown(many)}.")
    if len(lines) > MOST:
        raise ValueError(f"at most {MOST} curves can be told apart in one figure; got {len(lines)}.")
    for line in lines:
        if text_width(line.name, SMALL) > WIDEST:
            raise ValueError(f"the name {shown(line.name)} is too long to stand beside its curve on a phone.")
        if log_x and not (line.x > 0).all():
            raise ValueError(f"a log scale needs x above 0, but {line.name!r} has {line.x.min():g}.")
        if log_y and not (line.y[np.isfinite(line.y)] > 0).all():
            raise ValueError(f"a log scale needs y above 0, but {line.name!r} has {np.nanmin(line.y):g}.")
    return lines
