"""Timelines: what every learner did, row by row, and when the server updated."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    rows_of_time,
    unit_of,
)
from sgdrace.figures.colors import INK, VARIANT
from sgdrace.figures.labels import text_width
from sgdrace.figures.picture import Picture
from sgdrace.jobs import FATES, Jobs, round_times
from sgdrace.race import Race

HEAD = 21.0  # height of the line above a block of rows
FOOT = 40.0  # height of the axis of time
MARGIN = 8.0
WAIT = "Everybody waits for the slowest"
ALONE = "Nobody waits"
PACES = 4  # learners, of which each is said how many mini-batches it did
CROWD = 2.5  # units from one update to the next below which their marks would be a wall

_WORDS = {
    "used fresh": "was used fresh",
    "used stale": "was used stale",
    "cancelled": "was cancelled",
    "ignored": "was ignored",
    "idle": "was idle",
    "running": "is still running",
}


def timeline(
    races: Race | Jobs | Sequence[Race | Jobs], until: float | None = None, unit: str = "s"
) -> Picture:
    """What the learners of one race, or of several below each other, did until a time.

    The thicker a bar, the more its work helped; a thin upright line is an update. Several races share the
    axis of time, which ends where the shortest of them does. Of a `Race` the first replica is drawn.

    >>> timeline(Jobs.of_rounds([[1.0, 2.0], [2.0, 1.0]])).text
    "K-sync, P = 2, K = 2, until time 4 s: 2 updates; of the learners' time, 75 % was used fresh, 25 % was
     idle."
    """
    many = checked_races(races)
    end = common_end(many, until)
    pitch = _pitch(many[0].P, 150.0) if len(many) == 1 else _pitch(max(jobs.P for jobs in many), 64.0)
    rows = sum(pitch * jobs.P + HEAD + 5 for jobs in many) - 5
    paper = Paper(rows + FOOT + 2 * LINE + 6)
    numbered = len(many) == 1 and pitch >= 12
    time = Scale(0.0, end, 24.0 if numbered else MARGIN, WIDTH - MARGIN)
    tops = stacked(many, pitch, 5)
    for jobs, top in zip(many, tops, strict=True):
        heading(paper, jobs, time, top, plural(int((jobs.updates <= end).sum()), "update"))
    blocks(paper, many, tops, time, pitch, end)
    if numbered:
        number_rows(paper, many[0].P, HEAD, pitch)
    Plot(paper, time, Scale(0, 1, rows, 0)).x_axis(rows_of_time(unit_of(unit)))
    _key(paper, many, end)
    return Picture(paper.figure, " ".join(describe(jobs, end, unit_of(unit)) for jobs in many))


def describe(jobs: Jobs, end: float, unit: str) -> str:
    """What a timeline shows of a race, in words."""
    shares = jobs.shares(end)
    limit = "" if jobs.max_staleness is None else f", staleness at most {jobs.max_staleness}"
    parts = [f"{percent(shares[fate])} {words}" for fate, words in _WORDS.items() if shares[fate] >= 0.005]
    return (
        f"{jobs.variant}, P = {jobs.P}, K = {jobs.K}{limit}, until time {number(end)} {unit}: "
        f"{plural(int((jobs.updates <= end).sum()), 'update')}; of the learners' time, {', '.join(parts)}."
    )


def own_pace(times: ArrayLike, until: float | None = None, title: str = ALONE, unit: str = "s") -> Picture:
    """Learners that wait for nobody: each works on one mini-batch after another, and no server is there.

    `times` are those of the mini-batches, as for `rounds`: row r holds what each needs for its r-th.

    >>> own_pace([[1.0, 2.0], [2.0, 1.0]]).text
    'P = 2 learners, each at its own pace until time 3 s: 4 mini-batches are done, by each 2 and 2.'
    """
    taken = round_times(times)
    jobs = _unbound(taken)
    end, done = jobs.until(until), taken.cumsum(axis=0)
    each = (done <= end * (1 + 1e-12)).sum(axis=0)  # mini-batches that are done
    words = plural(int(each.sum()), "mini-batch")
    paper, time, pitch = _titled(jobs.P, end, title, words)
    draw_bars(paper, [jobs], [HEAD], time, pitch, end)
    Plot(paper, time, Scale(0, 1, HEAD + pitch * jobs.P, 0)).x_axis(rows_of_time(unit_of(unit)))
    paper.key(paper.height - 8, [("used fresh", "work"), ("running", "running")], (24, 118))
    return Picture(paper.figure, _describe_paces(each, words, end, unit_of(unit)))


def _unbound(taken: FloatArray) -> Jobs:
    """Jobs without a server, known until the first learner has none left; the one update marks that end."""
    n, P = taken.shape
    ends = taken.cumsum(axis=0)
    learner, turn = np.divmod(np.arange(n * P), n)
    fate = np.full(n * P, "used fresh")
    start = (ends - taken).T.ravel()
    return Jobs("K-async", P, 1, learner, start, ends.T.ravel(), turn, fate, ends[-1:].min(axis=1))


def _describe_paces(each: NDArray[np.int64], words: str, end: float, unit: str) -> str:
    begin = f"P = {plural(each.size, 'learner')}{', each' if each.size > 1 else ''} at its own pace"
    said = f"{begin} until time {number(end)} {unit}: {words} are done"
    if each.size == 1:
        return f"{said}."
    if each.size > PACES:
        return f"{said}, by each between {each.min()} and {each.max()}."
    return f"{said}, by each {', '.join(map(str, each[:-1]))} and {each[-1]}."


def rounds(times: ArrayLike, until: float | None = None, title: str = WAIT, unit: str = "s") -> Picture:
    """Synchronous rounds, with the time that learners wait for the slowest shaded and the slowest marked.

    `times` are those of the mini-batches, (rounds, P): row r holds what each learner needs in round r.

    >>> rounds([[1.0, 2.0], [2.0, 1.0]]).text
    "P = 2 learners, 2 rounds until time 4 s: a mini-batch takes 1.5 s and a round 2 s on average; 25 % of the
     learners' time is spent waiting for the slowest, and learner 1 is the slowest most often, in 1 of 2
     rounds."
    """
    taken = round_times(times)
    jobs = Jobs.of_rounds(taken)
    end = jobs.until(until)
    paper, time, pitch = _titled(jobs.P, end, title, f"{percent(jobs.shares(end)['idle'])} idle")
    blocks(paper, [jobs], [HEAD], time, pitch, end)
    n = int((jobs.updates <= end * (1 + 1e-12)).sum())  # rounds that are over
    apart = np.flatnonzero(np.ptp(taken[:n], axis=1) > 0)  # where all are equal, nobody is the slowest
    late = taken[apart].argmax(axis=1)  # a tie goes to the first, as everywhere
    size = float(np.clip(0.8 * pitch, 5.0, 7.0))  # seen among many rows, too
    paper.dots(time(jobs.updates[apart]) - 1, HEAD + pitch * (late + 0.5), INK, size)
    Plot(paper, time, Scale(0, 1, HEAD + pitch * jobs.P, 0)).x_axis(rows_of_time(unit_of(unit)))
    y = paper.height - 8
    entries = [(fate, fate) for fate in ("used fresh", "idle", "running")]
    paper.key(y, entries[: 3 if jobs.shares(end)["running"] else 2], (24, 118, 266))
    if apart.size or n == 0:
        paper.dots(179, y, INK, 7)
        paper.write(188, y, "the slowest", SMALL, middle=True)
    return Picture(paper.figure, _describe_rounds(jobs, taken[:n], late, end, unit_of(unit)))


def _titled(P: int, end: float, title: str, words: str) -> tuple[Paper, Scale, float]:
    """Paper for P rows below a title and words at its right, the axis of time, and the height of a row."""
    pitch = _pitch(P, 150.0)
    paper = Paper(HEAD + pitch * P + FOOT + LINE + 6)
    numbered = pitch >= 12
    time = Scale(0.0, end, 24.0 if numbered else MARGIN, WIDTH - MARGIN)
    if text_width(title) + text_width(words) > time.stop - time.start:
        raise ValueError(f"the title {shown(title)} is too long to stand above the rows on a phone.")
    paper.write(time.start, HEAD - 7, title, bold=True)
    paper.write(time.stop, HEAD - 7, words, anchor="right", bold=True)
    if numbered:
        number_rows(paper, P, HEAD, pitch)
    return paper, time, pitch


def _describe_rounds(jobs: Jobs, over: FloatArray, late: NDArray[np.int64], end: float, unit: str) -> str:
    """Given the times (rounds, P) of the rounds that are over, and the slowest of each that has one."""
    n = len(over)
    begin = f"P = {plural(jobs.P, 'learner')}, {plural(n, 'round')} until time {number(end)} {unit}: "
    waits = f"{percent(jobs.shares(end)['idle'])} of the learners' time is spent waiting for the slowest"
    if n == 0:
        return f"{begin}{waits}."
    often = np.bincount(late, minlength=jobs.P)
    means = number(float(over.mean())), number(float(over.max(axis=1).mean()))
    who = f"learner {often.argmax() + 1} is the slowest most often, in {often.max()} of {plural(n, 'round')}"
    return (
        f"{begin}a mini-batch takes {means[0]} {unit} and a round {means[1]} {unit} on average; {waits}, and "
        f"{who if late.size else 'all take equally long in every round'}."
    )


def blocks(
    paper: Paper, races: Sequence[Jobs], tops: Sequence[float], time: Scale, pitch: float, now: float
) -> None:
    """The updates and the rows of races between the ends of the scale, known until `now`."""
    marks = [_marks(jobs, top, time, pitch, now) for jobs, top in zip(races, tops, strict=True)]
    x, above, below = np.concatenate(marks, axis=1)
    paper.segments(x, x, above, below, alpha=0.8)
    draw_bars(paper, races, tops, time, pitch, now)


def draw_bars(
    paper: Paper, races: Sequence[Jobs], tops: Sequence[float], time: Scale, pitch: float, now: float
) -> None:
    """What the learners of races did, row by row; one path for each fate."""
    bars = [jobs.bars(time.low, now) for jobs in races]
    for fate in reversed(FATES):  # used work is drawn last and so lies above
        learner, start, end = (np.concatenate([bar[fate][i] for bar in bars]) for i in range(3))
        sizes = [bar[fate].start.size for bar in bars]
        left, right = _snap(time, start), _snap(time, end)
        y = np.repeat(np.asarray(tops, dtype=np.float64), sizes) + pitch * (learner + 0.5)
        if fate == "idle":
            seen = right > left
            left, right, y = left[seen], right[seen], y[seen]
        else:  # a gap parts it from the next, but the least of work is seen
            right = np.maximum(right - 1, left + 0.6)
        paper.bar(left, right, y, fate, pitch)


def _snap(time: Scale, t: FloatArray) -> FloatArray:
    return np.rint(time(t))  # edges on whole units are crisp on a phone, and shorter


def _marks(jobs: Jobs, top: float, time: Scale, pitch: float, now: float) -> FloatArray:
    """The upright lines of the updates, (3, updates): x, top, foot. A crowd of them stays above the rows."""
    x = np.unique(_snap(time, jobs.updates[(jobs.updates >= time.low) & (jobs.updates <= now)]))
    crowd = x.size * CROWD > time(now) - time.start
    foot = top - 1 if crowd else top + pitch * jobs.P
    return np.array([x, np.full(x.shape, top - 4), np.full(x.shape, foot)])


def stacked(races: Sequence[Jobs], pitch: float, gap: float) -> list[float]:
    """Where the rows of each race begin if the races lie below each other, each under its heading."""
    tops = [HEAD]
    for jobs in races[:-1]:
        tops.append(tops[-1] + pitch * jobs.P + HEAD + gap)
    return tops


def heading(paper: Paper, jobs: Jobs, time: Scale, top: float, words: str) -> None:
    """The variant's line and name above its rows, and words at the right."""
    y = top - 8
    paper.line([time.start, time.start + 20], [y - 4, y - 4], VARIANT[jobs.variant], 3.0)
    limit = "" if jobs.max_staleness is None else f", s ≤ {jobs.max_staleness}"
    paper.write(time.start + 26, y, f"{jobs.variant}, K = {jobs.K}{limit}", bold=True)
    paper.write(time.stop, y, words, SMALL, "right")


def _pitch(P: int, room: float) -> float:
    """Height of a row: 14 units, or less if there are many, but enough to tell them apart."""
    return float(np.clip(np.floor(room / P), 4.0, 14.0))


def number_rows(paper: Paper, P: int, top: float, pitch: float) -> None:
    """The number of each learner, left of its row."""
    for learner in range(P):
        paper.write(19, top + pitch * (learner + 0.5), f"{learner + 1}", SMALL, "right", middle=True)


def _key(paper: Paper, races: Sequence[Jobs], end: float) -> None:
    """What the bars mean, and for one race what share of the time each took."""
    names = {fate: fate for fate in fates_of(races)}
    if all(jobs.variant.endswith("-sync") for jobs in races):
        del names["used stale"]  # nothing ever is
    if len(races) == 1:
        shares = races[0].shares(end)
        names = {fate: f"{name} {percent(shares[fate])}" for fate, name in names.items()}
    paper.key(paper.height - 8 - LINE, [*names.items()], (8, 132, 256))


def fates_of(races: Sequence[Jobs]) -> list[str]:
    """What can become of work in these races: it is ignored only where there is a limit of staleness."""
    limited = any(jobs.max_staleness is not None for jobs in races)
    return [fate for fate in FATES if limited or fate != "ignored"]


def jobs_of(race: Race | Jobs) -> Jobs:
    """What is drawn of a race: its first replica."""
    return race.jobs() if isinstance(race, Race) else race


def checked_races(races: Race | Jobs | Sequence[Race | Jobs]) -> list[Jobs]:
    """What is drawn of one race or of several."""
    many = [races] if isinstance(races, Race | Jobs) else races
    if not isinstance(many, Sequence) or not many or not all(isinstance(one, Race | Jobs) for one in many):
        raise TypeError(f"races must be a Race, its Jobs or a non-empty list of them; got {shown(races)}.")
    return [jobs_of(one) for one in many]


def common_end(races: Sequence[Jobs], until: float | None) -> float:
    """A time that all of these races reach."""
    shortest = min(races, key=lambda jobs: jobs.last)
    return shortest.until(until)
