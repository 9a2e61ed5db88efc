"""Curves with bands, each named where it ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, one_of, shown
from sgdrace.delays import Law, as_law
from sgdrace.figures.canvas import (
    SMALL,
    End,
    Limits,
    Plot,
    Scale,
    beyond,
    limits,
    number,
    plot,
    tick_margin,
    tick_words,
)
from sgdrace.figures.colors import INKS, VARIANT, Stroke, law_stroke
from sgdrace.figures.labels import text_width
from sgdrace.figures.picture import Picture
from sgdrace.training import Training
from sgdrace.variants import VARIANTS

MOST = 10  # names that fit one below the other
WIDEST = 170.0  # a name may take this much of the width


@dataclass(frozen=True, repr=False, eq=False)
class Curve:
    """A line with a name: that of a variant or a law has its look, others are ink with their own dashes.

    `low` and `high` bound the band of the replicas. Where y is not finite the line has a gap.

    >>> from sgdrace import Exponential
    >>> Curve("fast", [1, 2, 4], [1.0, 1.5, 2.083], law=Exponential(rate=2.0))
    Curve(fast: 3 points)
    """

    name: str
    x: FloatArray  # (points,)
    y: FloatArray  # (points,)
    low: FloatArray | None  # (points,)
    high: FloatArray | None  # (points,)
    variant: str | None
    law: Law | None

    def __init__(
        self,
        name: str,
        x: ArrayLike,
        y: ArrayLike,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        variant: str | None = None,
        law: Law | None = None,
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
        if variant is not None and law is not None:
            raise ValueError(f"{name!r} can look like a variant or like a law, not like both.")
        if variant is None and law is None and name in VARIANTS:
            variant = name
        fields: dict[str, Any] = {"name": name, "low": None, "high": None} | given
        fields["law"] = None if law is None else as_law(law, "law")
        fields["variant"] = None if variant is None else one_of("variant", variant, VARIANTS)
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    @classmethod
    def of_run(cls, run: Training, times: ArrayLike | None = None, name: str | None = None) -> "Curve":
        """The mean loss of a training with the band of the middle 80 % of its replicas, named by its variant.

        Against wallclock times, or, without them, against the number of updates.

        >>> from sgdrace import Exponential, Quadratic, simulate, train
        >>> race = simulate("K-sync", P=8, K=4, delay=Exponential(), until=20, replicas=50)
        >>> run = train(Quadratic(), race, every=1)
        >>> Curve.of_run(run, times=range(21)), Curve.of_run(run, name="K = 4").variant
        (Curve(K-sync: 21 points), 'K-sync')
        """
        if not isinstance(run, Training):
            raise TypeError(f"run must be a Training, as train(...) returns it; got {shown(run)}.")
        band = run.band(times)
        x = run.updates if times is None else band.times
        return cls(name or run.variant, x, band.mean, band.low, band.high, run.variant)

    def __repr__(self) -> str:
        return f"Curve({self.name}: {self.x.size} points)"

    def within(self, x: Limits) -> "Curve":
        """The part of the line between two values of x."""
        seen = (self.x >= x[0]) & (self.x <= x[1])
        if not np.isfinite(self.y[seen]).any():
            raise ValueError(f"xlim must hold a point of each curve; {self.name!r} has none in {x}.")
        low, high = (None if edge is None else edge[seen] for edge in (self.low, self.high))
        return Curve(self.name, self.x[seen], self.y[seen], low, high, self.variant, self.law)

    def last(self) -> int:
        """The number of the last point that is finite."""
        return int(np.flatnonzero(np.isfinite(self.y))[-1])


def curves(
    many: Sequence[Curve],
    x_name: str,
    y_name: str,
    log_x: bool = False,
    log_y: bool = False,
    xlim: Limits | None = None,
    ylim: Limits | None = None,
) -> Picture:
    """Curves on common axes; use a log scale where the straight line is the message.

    Give `xlim` and `ylim`, the ends of the axes, where the frames of one explorer shall be compared. Points
    beyond `xlim` are left out; a line that leaves `ylim` is cut off there, and the words say so if it ends
    outside.

    >>> curves([Curve("K-sync", [0, 4], [1, 0.5], [1, 0.4], [1, 0.6])], "time", "loss")
    Picture(1 figure: Loss against time from 0 to 4: K-sync from 1 to 0.5 (band 0.4 to 0.6).)
    """
    lines = _checked(many, log_x, log_y)
    across, up = limits("xlim", xlim, log_x), limits("ylim", ylim, log_y)
    lines = lines if across is None else [line.within(across) for line in lines]
    ranges = across or _x_range(lines, log_x), up or _y_range(lines, log_y)
    arrow = " ↑" if up else ""  # room for it in every frame, or the axis across would not stay put
    room = 18.0 + max(text_width(line.name + arrow, SMALL) for line in lines)
    area = _axes(ranges, x_name, y_name, room, log_x, log_y)
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
    return Picture(area.paper.figure, _words(lines, x_name, y_name, area.y))


def _words(lines: Sequence[Curve], x_name: str, y_name: str, scale: Scale) -> str:
    low, high = min(line.x.min() for line in lines), max(line.x.max() for line in lines)
    words = "; ".join(_ends(line, scale) for line in lines)
    text = f"{_plain(y_name)} against {_plain(x_name)} from {number(low)} to {number(high)}: {words}."
    return text[:1].upper() + text[1:]


def strokes_of(lines: Sequence[Curve]) -> list[Stroke]:
    """A stroke for each curve: its variant's, its law's, or the next of the inks that no law has."""
    taken = apart_in_dashes([law_stroke(line.law) for line in lines if line.law is not None])
    laws, inks = iter(taken), iter([ink for ink in INKS if ink not in taken] * MOST)
    return [
        VARIANT[line.variant] if line.variant else next(inks if line.law is None else laws) for line in lines
    ]


def apart_in_dashes(strokes: Sequence[Stroke]) -> list[Stroke]:
    """The same strokes, but one that is there already gets other dashes: two laws may be of one family."""
    found: list[Stroke] = []
    for stroke in strokes:
        others = (Stroke(stroke.color, ink.dash) for ink in INKS)
        found.append(next((other for other in (stroke, *others) if other not in found), stroke))
    return found


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


def _x_range(lines: Sequence[Curve], log: bool) -> Limits:
    x = np.concatenate([line.x for line in lines])
    low, high = float(x.min()), float(x.max())
    if low == high:  # a single point: give it some room
        return (low / 2, high * 2) if log else (low - 1, high + 1)
    return low, high


def _y_range(lines: Sequence[Curve], log: bool) -> Limits:
    bands = [band for line in lines for band in (line.y, line.low, line.high) if band is not None]
    return value_range(np.concatenate(bands), log)


def _axes(
    ranges: tuple[Limits, Limits], x_name: str, y_name: str, room: float, log_x: bool, log_y: bool
) -> Plot:
    ticks = Scale(*ranges[1], 0, 1, log_y).ticks(5)
    left = tick_margin(tick_words(ticks.tolist()))
    area = plot(224, *ranges, left, room, y_name=y_name, log_x=log_x, log_y=log_y)
    area.x_axis(x_name)
    area.y_axis(ticks.tolist())
    return area


def _ends(line: Curve, scale: Scale) -> str:
    seen, last = np.flatnonzero(np.isfinite(line.y)), line.last()
    text = f"{line.name} from {number(line.y[seen[0]])} to {number(line.y[last])}"
    if away := beyond(line.y[last], scale):
        text += f", {'above' if '↑' in away else 'below'} the end of the axis"
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
