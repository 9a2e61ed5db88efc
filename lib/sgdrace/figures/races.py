"""The race at one moment: what the learners of every variant do, and what its loss has come to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, real, shown, store
from sgdrace.figures.canvas import (
    LINE,
    SMALL,
    WIDTH,
    End,
    Limits,
    Paper,
    Plot,
    Scale,
    limits,
    number,
    plot,
    plural,
    rows_of_time,
    tick_margin,
    tick_words,
    unit_of,
)
from sgdrace.figures.colors import VARIANT
from sgdrace.figures.labels import text_width
from sgdrace.figures.lines import value_range
from sgdrace.figures.picture import Picture
from sgdrace.figures.timelines import FOOT, HEAD, MARGIN, blocks, fates_of, heading, jobs_of, stacked
from sgdrace.jobs import Jobs
from sgdrace.race import Race

STEP = 4.0  # units: finer steps of a loss no eye can see


@dataclass(frozen=True, repr=False, eq=False)
class Runner:
    """One variant in the race: what its learners do, and its loss after each update.

    `loss[0]` is the loss of the first model at `time[0] = 0`; that of a training that recorded every update
    has one entry more than there are updates.

    >>> Runner(Jobs.of_rounds([[1.0, 2.0]]), time=[0.0, 2.0], loss=[1.0, 0.5])
    Runner(K-sync: loss 1 to 0.5 until 2)
    """

    jobs: Jobs
    time: FloatArray  # (records,)
    loss: FloatArray  # (records,)

    def __init__(self, race: Race | Jobs, time: ArrayLike, loss: ArrayLike) -> None:
        times, losses = np.asarray(time, dtype=np.float64), np.asarray(loss, dtype=np.float64)
        if times.ndim != 1 or times.shape != losses.shape or times.size == 0:
            raise ValueError(f"time and loss must be lists of one length; got {times.shape}, {losses.shape}.")
        if times[0] != 0 or (np.diff(times) < 0).any():
            raise ValueError("time must begin at 0 and not go back.")
        if not np.isfinite(losses[0]):
            raise ValueError(f"the loss at the start must be finite; got {losses[0]:g}.")
        if not isinstance(race, Race | Jobs):
            raise TypeError(f"race must be a Race or its Jobs; got {shown(race)}.")
        store(self, jobs=jobs_of(race), time=times, loss=losses)

    def __repr__(self) -> str:
        first, last = number(self.loss[0]), number(self.loss[-1])
        return f"Runner({self.jobs.variant}: loss {first} to {last} until {number(self.time[-1])})"

    def at(self, t: float) -> float:
        """The loss at time t."""
        return float(self.loss[np.searchsorted(self.time, t, side="right") - 1])


def race(
    runners: Sequence[Runner],
    t: float,
    window: float = 5.0,
    ylim: Limits | None = None,
    unit: str = "s",
) -> Picture:
    """Timelines of the last moments before t, and the losses until t: two figures for one row.

    The scales of the losses do not depend on t, so that the frames of an animation fit together; `ylim`, the
    ends of the axis of losses, makes those of several races equal.

    >>> jobs = Jobs.of_rounds([[1.0, 2.0], [2.0, 2.0]])
    >>> race([Runner(jobs, [0, 2, 4], [1.0, 0.5, 0.2])], t=3.0)
    Picture(2 figures: At time 3 s: K-sync has loss 0.5 after 1 update.)
    """
    field, end = _checked(runners, t)
    window = min(real("window", window, above=0), end)
    begin = max(0.0, t - window)
    pitch = float(np.clip(40 // max(runner.jobs.P for runner in field), 2, 10))
    left = _timelines([runner.jobs for runner in field], begin, t, window, pitch, unit_of(unit))
    right = _losses(field, t, end, left.height, limits("ylim", ylim, log=True), unit_of(unit))
    return Picture([left.figure, right], _describe(field, t, unit_of(unit)))


def _describe(field: Sequence[Runner], t: float, unit: str) -> str:
    """The leader first."""
    places = sorted(field, key=lambda runner: (not np.isfinite(runner.at(t)), runner.at(t)))
    words = "; ".join(
        f"{runner.jobs.variant} has loss {number(runner.at(t))} after {plural(_updates(runner, t), 'update')}"
        for runner in places
    )
    return f"At time {number(t)} {unit}: {words}."


def _timelines(
    races: Sequence[Jobs], begin: float, t: float, window: float, pitch: float, unit: str
) -> Paper:
    rows = sum(pitch * jobs.P + HEAD + 2 for jobs in races) - 2
    paper = Paper(max(rows + FOOT + 2 * LINE + 4, 190.0))
    time = Scale(begin, begin + window, MARGIN, WIDTH - MARGIN)
    tops = stacked(races, pitch, 2)
    for jobs, top in zip(races, tops, strict=True):
        heading(paper, jobs, time, top, plural(int((jobs.updates <= t).sum()), "update"))
    blocks(paper, races, tops, time, pitch, t)
    Plot(paper, time, Scale(0, 1, rows, 0)).x_axis(rows_of_time(unit))
    paper.key(paper.height - 8 - LINE, [(fate, fate) for fate in fates_of(races)], (8, 132, 256))
    return paper


def _losses(
    field: Sequence[Runner], t: float, end: float, height: float, ylim: Limits | None, unit: str
) -> Figure:
    losses = np.concatenate([runner.loss[runner.time <= end] for runner in field])
    y_range = ylim or value_range(losses, log=True)
    ticks = Scale(*y_range, 0, 1, log=True).ticks(5).tolist()
    names = [runner.jobs.variant for runner in field]
    room = 20.0 + max(text_width(f"{name} ↓" if ylim else name, SMALL) for name in names)
    left = tick_margin(tick_words(ticks))
    area = plot(height, (0.0, end), y_range, left, room, y_name="loss", log_y=True)
    area.x_axis(f"time, {unit}")
    area.y_axis(ticks)
    values = [min(runner.at(t), y_range[1]) for runner in field]
    for runner in field:
        x, y = _steps(runner, t, STEP * end / (area.x.stop - area.x.start))
        across, down = np.rint(area.x(x)), np.rint(2 * area.y(np.minimum(y, y_range[1]))) / 2
        area.paper.line(across, down, VARIANT[runner.jobs.variant], clip=area.box)
    best = min(values)
    leads = [value == best and values.count(best) == 1 and len(values) > 1 for value in values]
    area.end_labels(
        [
            End(t, value, name, VARIANT[name].color, bold)
            for value, name, bold in zip(values, names, leads, strict=True)
        ]
    )
    return area.paper.figure


def _steps(runner: Runner, t: float, step: float) -> tuple[FloatArray, FloatArray]:
    """The loss as a line of steps until t, without what happens within one `step` of time."""
    grid = np.append(np.arange(0.0, t, step), t)
    seen = np.unique(np.searchsorted(runner.time, grid, side="right") - 1)
    x, y = np.append(runner.time[seen], t), runner.loss[seen]
    return np.repeat(x, 2)[1:-1], np.repeat(y, 2)


def _updates(runner: Runner, t: float) -> int:
    return int((runner.jobs.updates <= t).sum())


def _checked(runners: Sequence[Runner], t: float) -> tuple[list[Runner], float]:
    field = list(runners) if isinstance(runners, Sequence) else []
    if not field or not all(isinstance(runner, Runner) for runner in field):
        raise TypeError(f"runners must be a non-empty list of Runner; got {shown(runners)}.")
    end = min(min(runner.jobs.last, float(runner.time[-1])) for runner in field)
    if not 0 < real("t", t, above=0) <= end:
        raise ValueError(f"t must be at most {end:g}, where the first runner stops; got {t:g}.")
    return field, end
