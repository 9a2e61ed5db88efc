"""Counting pushes: a staircase for each learner or for all, and the line it follows in the long run."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, count, real, reals, shown
from sgdrace.delays import Law
from sgdrace.figures.canvas import (
    SMALL,
    End,
    Limits,
    Scale,
    limits,
    number,
    plot,
    plural,
    tick_margin,
    tick_words,
    unit_of,
)
from sgdrace.figures.colors import INK, INKS, MEAN, VARIANT, Stroke, law_stroke
from sgdrace.figures.labels import text_width
from sgdrace.figures.picture import Picture

MOST = 8  # staircases that an eye can still follow
STEP = 4.0  # units: finer steps no eye can see
LINE_NAME = "t/E[X]"
TOTAL_NAME = "P t/E[X]"


def staircases(
    pushes: Sequence[ArrayLike],
    mean: float,
    until: float,
    ylim: Limits | None = None,
    unit: str = "s",
    name: str = "",
    law: Law | None = None,
) -> Picture:
    """How many mini-batches each learner has finished by t, and the line t/E[X] that they follow.

    `pushes` holds, for each learner, the increasing times at which it finished one, up to `until` or beyond;
    `mean` is E[X]. The first staircase is drawn stronger, so that an eye can follow it. `ylim` fixes the ends
    of the axis of counts, which otherwise depend on the pushes. Where two pictures stand side by side, `name`
    says whose pushes these are, and `law` gives them its color.

    >>> staircases([[0.5, 2.0], [1.5, 2.0]], mean=1.0, until=2.0)
    Picture(1 figure: By time 2 s each of 2 learners has pushed 2 times; the line t/E[X] is at 2.)
    """
    rows, mean, end = _checked(pushes, mean, until)
    ends = [_count(row, end) for row in rows]
    heights = limits("ylim", ylim) or (0.0, 1.06 * max(*ends, end / mean, 2.0))
    ticks = Scale(*heights, 0, 1, whole=True).ticks(5).tolist()
    most, fewest = f"most, {max(ends):,}", f"fewest, {min(ends):,}"
    names = (LINE_NAME, fewest, most)
    room = 18.0 + max(text_width(f"{name} ↑" if ylim else name, SMALL) for name in names)
    left = tick_margin(tick_words(ticks))
    title = f"{name}: pushes of each learner" if name else "pushes of each learner by time t"
    area = plot(224, (0.0, end), heights, left, room, y_name=title)
    area.x_axis(f"time t, {unit_of(unit)}")
    area.y_axis(ticks)
    stroke = INKS[0] if law is None else Stroke(law_stroke(law).color)
    for row in reversed(rows):
        dark = row is rows[0]
        t, n = _steps(row, end, STEP * end / (area.x.stop - area.x.start))
        area.paper.line(
            np.rint(area.x(t)),
            np.rint(2 * area.y(n)) / 2,
            stroke,
            1.8 if dark else 1.0,
            alpha=1.0 if dark else 0.4,
            clip=area.box,
        )
    area.line([0.0, end], [0.0, end / mean], VARIANT["K-batch-async"], 2.6)
    marks = [End(end, end / mean, LINE_NAME, VARIANT["K-batch-async"].color, bold=True)]
    if len(rows) > 1 and max(ends) > min(ends):
        marks += [End(end, max(ends), most, INK), End(end, min(ends), fewest, INK)]
    area.end_labels(marks)
    words = _words(ends, end, end / mean, unit_of(unit))
    return Picture(area.paper.figure, f"{name[:1].upper()}{name[1:]}. {words}" if name else words)


def every_kth(
    pushes: Sequence[ArrayLike],
    K: int,
    mean: float,
    until: float,
    ylim: Limits | None = None,
    unit: str = "s",
) -> Picture:
    """The pushes of all learners as one staircase N(t), on which every K-th push makes an update.

    An update is a dot on the staircase; a line leads down from it to its time. The line P t/E[X] is what the
    staircase follows in the long run.

    >>> every_kth([[0.5, 2.0], [1.5, 2.0]], K=2, mean=1.0, until=2.0)
    Picture(1 figure: By time 2 s the 2 learners have pushed 4 times together; every push number 2, 4, 6
    and so on makes an update, at 1.5 s and 2 s; the line P t/E[X] is at 4.)
    """
    rows, mean, end = _checked(pushes, mean, until)
    every = count("K", K)
    merged = np.sort(np.concatenate(rows))
    N, line = _count(merged, end), len(rows) * end / mean
    heights = limits("ylim", ylim) or (0.0, 1.06 * max(N, line, 2.0 * every))
    step = every * max(1, round(heights[1] / (MOST * every)))  # an update is a dot on one of the faint lines
    ticks = np.arange(0, heights[1], step).tolist()
    total = f"N(t), {N:,}"
    room = 18.0 + max(text_width(f"{name} ↑", SMALL) for name in (total, TOTAL_NAME))
    left = tick_margin(tick_words(ticks))
    area = plot(224, (0.0, end), heights, left, room, y_name=f"pushes of all {len(rows)} learners by time t")
    area.x_axis(f"time t, {unit_of(unit)}")
    area.y_axis(ticks)
    numbers = np.arange(every, N + 1, every)
    times = merged[numbers - 1]
    area.paper.segments(
        area.x(times), area.x(times), area.y(numbers), area.y.start, Stroke(INK, MEAN), 1.0, 0.6
    )
    area.line([0.0, end], [0.0, line], VARIANT["K-batch-async"], 2.6)
    t, n = _steps(merged, end, STEP / 4 * end / (area.x.stop - area.x.start))
    area.paper.line(area.x(t), area.y(n), clip=area.box)
    area.paper.dots(area.x(times), area.y(numbers), VARIANT["K-batch-async"].color, 8.0)
    area.end_labels(
        [End(end, N, total), End(end, line, TOTAL_NAME, VARIANT["K-batch-async"].color, bold=True)]
    )
    return Picture(area.paper.figure, _words_of_updates(len(rows), N, every, times, end, line, unit_of(unit)))


def _words_of_updates(P: int, N: int, K: int, times: FloatArray, end: float, line: float, unit: str) -> str:
    made = "no update is made yet"
    if times.size:
        each = [f"{number(float(t))} {unit}" for t in times]
        at = each[0] if len(each) == 1 else f"{', '.join(each[:-1])} and {each[-1]}"
        made = f"every push number {K}, {2 * K}, {3 * K} and so on makes an update, at {at}"
    return (
        f"By time {number(end)} {unit} the {plural(P, 'learner')} have pushed {plural(N, 'time')} together; "
        f"{made}; the line {TOTAL_NAME} is at {number(line)}."
    )


def _words(ends: list[int], end: float, line: float, unit: str) -> str:
    each = plural(min(ends), "time")
    if max(ends) > min(ends):
        each = f"between {min(ends):,} and {max(ends):,} times, {number(float(np.mean(ends)))} on average"
    return (
        f"By time {number(end)} {unit} each of {len(ends)} learners has pushed {each}; "
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
