"""Counting pushes: a staircase for each learner, and the line that all of them follow in the long run."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, real, reals, shown
from sgdrace.figures.canvas import SMALL, End, Scale, number, plot, plural, tick_margin, tick_words
from sgdrace.figures.colors import INK, INKS, VARIANT
from sgdrace.figures.labels import text_width
from sgdrace.figures.picture import Picture

MOST = 8  # staircases that an eye can still follow
STEP = 4.0  # units: finer steps no eye can see
LINE_NAME = "t/E[X]"


def staircases(pushes: Sequence[ArrayLike], mean: float, until: float) -> Picture:
    """How many mini-batches each learner has finished by t, and the line t/E[X] that they follow.

    `pushes` holds, for each learner, the increasing times at which it finished one, up to `until` or beyond;
    `mean` is E[X]. The first staircase is drawn stronger, so that an eye can follow it.

    >>> staircases([[0.5, 2.0], [1.5, 2.0]], mean=1.0, until=2.0)
    Picture(1 figure: By time 2 each of 2 learners has pushed 2 times; the line t/E[X] is at 2.)
    """
    rows, mean, end = _checked(pushes, mean, until)
    ends = [_count(row, end) for row in rows]
    top = 1.06 * max(*ends, end / mean, 1.0)
    ticks = Scale(0.0, top, 0, 1).ticks(5).tolist()
    most, fewest = f"most, {max(ends):,}", f"fewest, {min(ends):,}"
    names = (LINE_NAME, fewest, most)
    room = 18.0 + max(text_width(name, SMALL) for name in names)
    left = tick_margin(tick_words(ticks))
    area = plot(224, (0.0, end), (0.0, top), left, room, y_name="pushes of each learner by time t")
    area.x_axis("time t")
    area.y_axis(ticks)
    for row in reversed(rows):
        dark = row is rows[0]
        t, n = _steps(row, end, STEP * end / (area.x.stop - area.x.start))
        area.paper.line(
            np.rint(area.x(t)),
            np.rint(2 * area.y(n)) / 2,
            INKS[0],
            1.8 if dark else 1.0,
            alpha=1.0 if dark else 0.4,
        )
    area.line([0.0, end], [0.0, end / mean], VARIANT["K-batch-async"], 2.6)
    marks = [End(end, end / mean, LINE_NAME, VARIANT["K-batch-async"].color, bold=True)]
    if len(rows) > 1 and max(ends) > min(ends):
        marks += [End(end, max(ends), most, INK), End(end, min(ends), fewest, INK)]
    area.end_labels(marks)
    return Picture(area.paper.figure, _words(ends, end, end / mean))


def _words(ends: list[int], end: float, line: float) -> str:
    each = plural(min(ends), "time")
    if max(ends) > min(ends):
        each = f"between {min(ends):,} and {max(ends):,} times, {number(float(np.mean(ends)))} on average"
    return (
        f"By time {number(end)} each of {len(ends)} learners has pushed {each}; "
        f"the line t/E[X] is at {number(line)}."
    )


def _count(row: FloatArray, t: float) -> int:
    return int(np.searchsorted(row, t, side="right"))


def _steps(row: FloatArray, end: float, step: float) -> tuple[FloatArray, FloatArray]:
    """The staircase until `end`, with no step shorter than `step`."""
    grid = np.append(np.arange(0.0, end, step), end)
    seen = np.unique(np.searchsorted(row, grid, side="right"))  # counts that are ever seen
    times = np.append(0.0, row)[seen]
    return np.append(np.repeat(times, 2)[1:], end), np.repeat(seen.astype(np.float64), 2)


def _checked(pushes: Sequence[ArrayLike], mean: float, until: float) -> tuple[list[FloatArray], float, float]:
    if not isinstance(pushes, Sequence | np.ndarray) or len(pushes) == 0:
        raise TypeError(f"pushes must hold the times of each learner; got {shown(pushes)}.")
    if len(pushes) > MOST:
        raise ValueError(f"at most {MOST} staircases can be told apart; got {len(pushes)}.")
    rows = [reals("pushes", row, above=0, closed=True) for row in pushes]
    for row in rows:
        if (np.diff(row) < 0).any():
            raise ValueError("the pushes of a learner must come in the order of their times.")
    mean, until = real("mean", mean, above=0), real("until", until, above=0)
    if (known := min(float(row[-1]) for row in rows)) < until:
        raise ValueError(f"the pushes of one learner end at {known:g}, before until = {until:g}.")
    return rows, mean, until
