"""A run whose K changes, at one moment: how many learners it waits for, its loss so far, its K so far."""

from collections.abc import Mapping

import numpy as np

from sgdrace._arguments import FloatArray, real, shown
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
    tick_margin,
    tick_words,
    unit_of,
)
from sgdrace.figures.colors import INK, INKS, VARIANT
from sgdrace.figures.labels import text_width
from sgdrace.figures.lines import value_range
from sgdrace.figures.picture import Picture
from sgdrace.training import Training

LOSS, STAIRS = (88.0, 216.0), (252.0, 322.0)  # top and bottom of the two plots
HEIGHT = 362.0
SEATS = (24.0, 46.0)  # top and bottom of the row of learners
POINTS = 110  # of a curve over all of its time: finer steps no eye can see
MOST_RIVALS = 3


def patience(
    run: Training,
    t: float,
    rivals: Mapping[str, Training] | None = None,
    until: float | None = None,
    ylim: Limits | None = None,
    unit: str = "s",
) -> Picture:
    """The first replica of a run at time t, beside those of rivals: a seat for each learner, K of them taken.

    Below the seats are the losses and the K of the run up to t. Axes end at `until`, by default where the
    first run ends; `ylim` are the ends of the axis of losses.

    >>> from sgdrace import Exponential, QuadraticRule, Quadratic, train_adaptively
    >>> rule, hill = QuadraticRule(1, 8), Quadratic(start=3.0)
    >>> run = train_adaptively(hill, "K-sync", 8, Exponential(), rule, 0.1, until=20.0, seed=1)
    >>> patience(run, 10.0).text
    'At time 10 s the server waits for K = 7 of 8 learners, and the loss is 0.0213.'
    """
    field, end = _checked(run, rivals or {}, until)
    if not 0 <= real("t", t, above=0, closed=True) <= end:
        raise ValueError(f"t must be at most {end:g}, where the axis of time ends; got {t:g}.")
    K = _K_at(run, np.array([t]))[0]
    paper, color = Paper(HEIGHT), VARIANT[run.variant].color
    paper.write(2, 13, f"the server waits for K = {K} of {run.P}", bold=True)
    _seats(paper, K, run.P, color)
    unit = unit_of(unit)
    _plots(paper, field, t, end, limits("ylim", ylim, log=True), unit)
    return Picture(paper.figure, _words(field, t, K, run.P, unit))


def _seats(paper: Paper, K: int, P: int, color: str) -> None:
    """A seat for each learner; those for whom the server waits are taken."""
    pitch = min(20.0, (WIDTH - 4) / P)
    left = 2 + pitch * np.arange(P)
    top, bottom = SEATS
    corners = np.column_stack(
        [left, np.full(P, top), left + 0.8 * pitch, np.full(P, min(bottom, top + pitch))]
    )
    paper.boxes(corners[: min(K, P)], color)
    paper.boxes(corners[min(K, P) :], INK, 0.16)


def _plots(
    paper: Paper, field: Mapping[str, Training], t: float, end: float, ylim: Limits | None, unit: str
) -> None:
    run = next(iter(field.values()))
    grid = np.unique(np.append(np.arange(0.0, t, end / POINTS), t))
    losses = [_loss_at(one, np.linspace(0, end, POINTS)) for one in field.values()]
    y_range = ylim or value_range(np.concatenate(losses), log=True)
    ticks = Scale(*y_range, 0, 1, log=True).ticks(4).tolist()
    top = max(run.P, int(np.max(run.K)))
    left = max(tick_margin(tick_words(ticks)), tick_margin(tick_words([float(top)])))
    room = 20.0 + max(text_width(f"{name} ↑", SMALL) for name in field)
    across = Scale(0.0, end, left, WIDTH - room)
    area = Plot(paper, across, Scale(*y_range, start=LOSS[1], stop=LOSS[0], log=True))
    paper.write(2, LOSS[0] - LINE + 4, "loss")
    area.y_axis(ticks)
    inks = iter(INKS[1:])
    strokes = {name: VARIANT[run.variant] if one is run else next(inks) for name, one in field.items()}
    ends = []
    for name, one in field.items():
        loss = _loss_at(one, grid)
        seen = np.isfinite(loss)  # what has diverged leaves at the top
        area.line(grid[seen], loss[seen], strokes[name])
        ends.append(End(t, loss[-1], name, strokes[name].color, bold=one is run))
    area.end_labels(ends)
    stairs = Plot(paper, across, Scale(0.0, top, start=STAIRS[1], stop=STAIRS[0]))
    paper.write(2, STAIRS[0] - LINE + 4, "K")
    stairs.y_axis([0.0, top / 2, float(top)])
    K = _K_at(run, grid)
    steps = np.repeat(across(grid), 2)[1:], np.repeat(stairs.y(K), 2)[:-1]
    paper.line(*steps, VARIANT[run.variant])
    paper.dots(steps[0][-1], steps[1][-1], VARIANT[run.variant].color)
    stairs.x_axis(f"time, {unit}")


def _loss_at(run: Training, times: FloatArray) -> FloatArray:
    """The loss of the first replica at given times."""
    return np.asarray(run.loss[0, np.searchsorted(run.time[0], times, side="right") - 1])


def _K_at(run: Training, times: FloatArray) -> FloatArray:
    """What the first replica waits for at given times: the K of the update that comes next."""
    K = np.broadcast_to(run.K, (len(run.time), run.updates[-1]))[0]
    made = run.updates[np.searchsorted(run.time[0], times, side="right") - 1]
    return np.asarray(K[np.minimum(made, K.size - 1)])


def _words(field: Mapping[str, Training], t: float, K: int, P: int, unit: str) -> str:
    (_, run), *others = field.items()
    now = np.array([t])
    text = f"At time {number(t)} {unit} the server waits for K = {K} of {P} learners, and the loss is "
    text += number(_loss_at(run, now)[0])
    for name, one in others:
        text += f"; that of {name} is {number(_loss_at(one, now)[0])}"
    return f"{text}."


def _checked(
    run: Training, rivals: Mapping[str, Training], until: float | None
) -> tuple[dict[str, Training], float]:
    if not isinstance(rivals, Mapping) or not all(
        isinstance(one, Training) for one in [run, *rivals.values()]
    ):
        raise TypeError(f"run and all rivals must be trainings; got {shown(run)} and {shown(rivals)}.")
    if len(rivals) > MOST_RIVALS:
        raise ValueError(f"at most {MOST_RIVALS} rivals can be told apart beside a run; got {len(rivals)}.")
    field = {"adaptive": run, **rivals}
    last = min(float(one.time[0, -1]) for one in field.values())
    end = last if until is None else real("until", until, above=0)
    if end > last:
        raise ValueError(f"until must be at most {last:g}, when the first of these runs ends; got {end:g}.")
    return field, end
