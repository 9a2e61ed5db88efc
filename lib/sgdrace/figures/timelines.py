"""Timelines: what every learner did, row by row, and when the server updated."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, shown
from sgdrace.figures.canvas import (
    LINE,
    SMALL,
    WIDTH,
    Paper,
    Plot,
    Scale,
    number,
    percent,
    plural,
)
from sgdrace.figures.colors import INK, VARIANT
from sgdrace.figures.work import KINDS, JobLog, round_times

HEAD = 21.0  # height of the line above a block of rows
FOOT = 40.0  # height of the axis of time
MARGIN = 8.0
WAIT = "Everybody waits for the slowest"
CROWD = 2.5  # units from one update to the next below which their marks would be a wall

_FATES = {
    "used": "was used fresh",
    "stale": "was used stale",
    "cancelled": "was cancelled",
    "running": "is still running",
    "idle": "was spent waiting",
}


def timeline(logs: JobLog | Sequence[JobLog], until: float | None = None) -> Figure:
    """What the learners of one race, or of several below each other, did until a time.

    The thicker a bar, the more its work helped; a thin upright line is an update. Several races share the
    axis of time, which ends where the shortest of them does.

    >>> log = JobLog.of_rounds([[1.0, 2.0], [2.0, 1.0]])
    >>> timeline(log)
    <Figure size 360x127 with 0 Axes>
    """
    many = _checked(logs)
    end = _common_end(many, until)
    pitch = _pitch(many[0].P, 150.0) if len(many) == 1 else _pitch(max(log.P for log in many), 64.0)
    rows = sum(pitch * log.P + HEAD + 5 for log in many) - 5
    paper = Paper(rows + FOOT + 2 * LINE + 6)
    numbered = len(many) == 1 and pitch >= 12
    time = Scale(0.0, end, 24.0 if numbered else MARGIN, WIDTH - MARGIN)
    tops = stacked(many, pitch, 5)
    for log, top in zip(many, tops, strict=True):
        heading(paper, log, time, top, plural(int((log.updates <= end).sum()), "update"))
    blocks(paper, many, tops, time, pitch, end)
    if numbered:
        number_rows(paper, many[0].P, HEAD, pitch)
    Plot(paper, time, Scale(0, 1, rows, 0)).x_axis("time, one row per learner")
    _key(paper, many, end)
    return paper.figure


def describe_timeline(logs: JobLog | Sequence[JobLog], until: float | None = None) -> str:
    """What `timeline` shows.

    >>> describe_timeline(JobLog.of_rounds([[1.0, 2.0], [2.0, 1.0]]))
    "K-sync, P = 2, K = 2, until time 4: 2 updates; of the learners' time, 75 % was used fresh, 25 % was spent
     waiting."
    """
    many = _checked(logs)
    end = _common_end(many, until)
    return " ".join(_describe(log, end) for log in many)


def _describe(log: JobLog, end: float) -> str:
    shares = log.shares(end)
    parts = [f"{percent(shares[kind])} {words}" for kind, words in _FATES.items() if shares[kind] >= 0.005]
    return (
        f"{log.variant}, P = {log.P}, K = {log.K}, until time {number(end)}: "
        f"{plural(int((log.updates <= end).sum()), 'update')}; of the learners' time, {', '.join(parts)}."
    )


def rounds(times: ArrayLike, until: float | None = None, title: str = WAIT) -> Figure:
    """Synchronous rounds, with the time that learners wait for the slowest shaded and the slowest marked.

    `times` are those of the mini-batches, (rounds, P): row r holds what each learner needs in round r.

    >>> rounds([[1.0, 2.0], [2.0, 1.0]])
    <Figure size 360x111 with 0 Axes>
    """
    taken = round_times(times)
    log = JobLog.of_rounds(taken)
    end, pitch = log.until(until), _pitch(log.P, 150.0)
    bottom = HEAD + pitch * log.P
    paper = Paper(bottom + FOOT + LINE + 6)
    numbered = pitch >= 12
    time = Scale(0.0, end, 24.0 if numbered else MARGIN, WIDTH - MARGIN)
    paper.write(time.start, HEAD - 7, title, bold=True)
    paper.write(time.stop, HEAD - 7, f"{percent(log.shares(end)['idle'])} idle", anchor="right", bold=True)
    blocks(paper, [log], [HEAD], time, pitch, end)
    if numbered:
        number_rows(paper, log.P, HEAD, pitch)
    over = log.updates <= end * (1 + 1e-12)
    late = taken.argmax(axis=1)[over]  # (rounds over,) a tie goes to the first, as everywhere
    size = min(7.0, 0.8 * pitch)
    paper.dots(time(log.updates[over]) - 1, HEAD + pitch * (late + 0.5), INK, size)
    Plot(paper, time, Scale(0, 1, bottom, 0)).x_axis("time, one row per learner")
    y = paper.height - 8
    entries = [("used", "working"), ("idle", "idle"), ("running", "running")]
    paper.key(y, entries[: 3 if log.shares(end)["running"] else 2], (24, 102, 250))
    paper.dots(163, y, INK, 7)
    paper.write(172, y, "the slowest", SMALL, middle=True)
    return paper.figure


def describe_rounds(times: ArrayLike, until: float | None = None, title: str = WAIT) -> str:
    """What `rounds` shows.

    >>> describe_rounds([[1.0, 2.0], [2.0, 1.0]])
    "P = 2 learners, 2 rounds until time 4: a mini-batch takes 1.5 and a round 2 on average; 25 % of the
     learners' time is spent waiting for the slowest, and learner 1 is the slowest most often, in 1 of 2
     rounds."
    """
    taken = round_times(times)
    log = JobLog.of_rounds(taken)
    end = log.until(until)
    n, idle = int((log.updates <= end * (1 + 1e-12)).sum()), log.shares(end)["idle"]
    begin = f"P = {plural(log.P, 'learner')}, {plural(n, 'round')} until time {number(end)}: "
    waits = f"{percent(idle)} of the learners' time is spent waiting for the slowest"
    if n == 0:
        return f"{begin}{waits}."
    late = np.bincount(taken.argmax(axis=1)[:n], minlength=log.P)
    means = number(float(taken[:n].mean())), number(float(taken[:n].max(axis=1).mean()))
    return (
        f"{begin}a mini-batch takes {means[0]} and a round {means[1]} on average; {waits}, and learner "
        f"{late.argmax() + 1} is the slowest most often, in {late.max()} of {plural(n, 'round')}."
    )


def blocks(
    paper: Paper, logs: Sequence[JobLog], tops: Sequence[float], time: Scale, pitch: float, now: float
) -> None:
    """The rows of races between the ends of the scale, known until `now`; one path for each kind of work."""

    def snap(t: FloatArray) -> FloatArray:
        return np.rint(time(t))  # edges on whole units are crisp on a phone, and shorter

    marks = [_marks(snap, log, top, time, pitch, now) for log, top in zip(logs, tops, strict=True)]
    x, above, below = np.concatenate(marks, axis=1)
    paper.segments(x, x, above, below, alpha=0.8)
    bars = [log.bars(time.low, now) for log in logs]
    for kind in reversed(KINDS):  # used work is drawn last and so lies above
        learner, start, end = (np.concatenate([bar[kind][i] for bar in bars]) for i in range(3))
        sizes = [bar[kind].start.size for bar in bars]
        left, right = snap(start), snap(end)
        y = np.repeat(np.asarray(tops, dtype=np.float64), sizes) + pitch * (learner + 0.5)
        if kind == "idle":
            seen = right > left
            left, right, y = left[seen], right[seen], y[seen]
        else:  # a gap parts it from the next, but the least of work is seen
            right = np.maximum(right - 1, left + 0.6)
        paper.bar(left, right, y, kind, pitch)


def _marks(
    snap: Callable[[FloatArray], FloatArray], log: JobLog, top: float, time: Scale, pitch: float, now: float
) -> FloatArray:
    """The upright lines of the updates, (3, updates): x, top, foot. A crowd of them stays above the rows."""
    x = np.unique(snap(log.updates[(log.updates >= time.low) & (log.updates <= now)]))
    crowd = x.size * CROWD > time(now) - time.start
    foot = top - 1 if crowd else top + pitch * log.P
    return np.array([x, np.full(x.shape, top - 4), np.full(x.shape, foot)])


def stacked(logs: Sequence[JobLog], pitch: float, gap: float) -> list[float]:
    """Where the rows of each race begin if the races lie below each other, each under its heading."""
    tops = [HEAD]
    for log in logs[:-1]:
        tops.append(tops[-1] + pitch * log.P + HEAD + gap)
    return tops


def heading(paper: Paper, log: JobLog, time: Scale, top: float, words: str) -> None:
    """The variant's line and name above its rows, and words at the right."""
    y = top - 8
    paper.line([time.start, time.start + 20], [y - 4, y - 4], VARIANT[log.variant], 3.0)
    paper.write(time.start + 26, y, f"{log.variant}, K = {log.K}", bold=True)
    paper.write(time.stop, y, words, SMALL, "right")


def _pitch(P: int, room: float) -> float:
    """Height of a row: 14 units, or less if there are many."""
    return float(np.clip(np.floor(room / P), 3.0, 14.0))


def number_rows(paper: Paper, P: int, top: float, pitch: float) -> None:
    """The number of each learner, left of its row."""
    for learner in range(P):
        paper.write(19, top + pitch * (learner + 0.5), f"{learner + 1}", SMALL, "right", middle=True)


def _key(paper: Paper, logs: Sequence[JobLog], end: float) -> None:
    """What the bars mean, and for one race what share of the time each took."""
    names = {kind: kind for kind in KINDS}
    if all(log.variant.endswith("-sync") for log in logs):
        del names["stale"]  # nothing ever is
    else:
        names |= {"used": "used fresh", "stale": "used stale"}
    if len(logs) == 1:
        shares = logs[0].shares(end)
        names = {kind: f"{name} {percent(shares[kind])}" for kind, name in names.items()}
    paper.key(paper.height - 8 - LINE, [*names.items()], (8, 132, 256))


def _checked(logs: JobLog | Sequence[JobLog]) -> list[JobLog]:
    many = [logs] if isinstance(logs, JobLog) else logs
    if not isinstance(many, Sequence) or not many or not all(isinstance(log, JobLog) for log in many):
        raise TypeError(f"logs must be a JobLog or a non-empty list of them; got {shown(logs)}.")
    return list(many)


def _common_end(logs: Sequence[JobLog], until: float | None) -> float:
    shortest = min(logs, key=lambda log: log.last)
    return shortest.until(until)
