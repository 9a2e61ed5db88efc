"""Versions in async SGD: which one a learner works with, how old it gets, where it lies on a parabola."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdrace._arguments import FloatArray, count, one_of, reals, shown
from sgdrace.figures.canvas import (
    LINE,
    SMALL,
    WIDTH,
    Limits,
    Paper,
    Plot,
    Scale,
    limits,
    number,
    percent,
    plot,
    plural,
    rows_of_time,
    unit_of,
)
from sgdrace.figures.colors import BARS_ALPHA, DARK, FADED, INK, INKS, VARIANT, WORK, Stroke
from sgdrace.figures.labels import text_width
from sgdrace.figures.picture import Picture
from sgdrace.figures.timelines import jobs_of, number_rows
from sgdrace.jobs import Jobs
from sgdrace.race import Race
from sgdrace.variants import VARIANTS

Ints = NDArray[np.int64]

BARS = 64  # of a staleness plot, at most
ROW = 26.0  # height of a learner's row in `pulls`
LIFT = 12.0  # of the copy that pushes next, above its place on the parabola
MODEL = Stroke(VARIANT["K-async"].color)  # solid, where nothing else is a line
EDGE = 1.6  # the parabola is drawn up to this many times the start


def pulls(race: Race | Jobs, unit: str = "s") -> Picture:
    """The mini-batches of async SGD: in each bar the version pulled and, at its end, the staleness.

    A thin upright line is an update; above, the version that the server holds between two of them.

    >>> from sgdrace import simulate, PerLearner, Constant
    >>> pulls(simulate("K-async", P=2, K=1, delay=PerLearner([Constant(1.0), Constant(3.0)]), updates=5)).text
    'P = 2 learners, 5 updates until time 4 s. Update 0: learner 1 pushes a gradient from version 0, staleness
     0. Update 1: learner 1, from 1, staleness 0. Update 2: learner 1, from 2, staleness 0. Update 3: learner
     2, from 0, staleness 3. Update 4: learner 1, from 3, staleness 1.'
    """
    jobs = _of_async(race)
    done = np.flatnonzero(np.char.startswith(jobs.fate, "used"))
    done = done[np.lexsort((jobs.learner[done], jobs.end[done]))]
    top = 40.0
    foot = top + ROW * jobs.P
    paper = Paper(foot + 40 + LINE + 6)
    time = Scale(0.0, jobs.last, 24.0, WIDTH - 8)
    _server(paper, time, jobs.updates.tolist(), top, foot)
    seen = [fate for fate in ("used fresh", "used stale", "running") if fate in jobs.fate]
    for fate in seen:
        _bars(paper, time, jobs, fate, top)
    for j, n in enumerate(done.tolist()):
        left, right = (float(x) for x in time([jobs.start[n], jobs.end[n]]))
        version = int(jobs.version[n])
        y, words, age = top + ROW * (jobs.learner[n] + 0.5), f"from {version}", f"s = {j - version}"
        room = right - left - 8
        if room >= text_width(words, SMALL) + text_width(age, SMALL) + 12:
            paper.write(left + 4, y, words, SMALL, middle=True, color=DARK)
            paper.write(right - 4, y, age, SMALL, "right", middle=True, bold=True, color=DARK)
        elif room >= text_width(age, SMALL):
            paper.write(right - 4, y, age, SMALL, "right", middle=True, bold=True, color=DARK)
    number_rows(paper, jobs.P, top, ROW)
    Plot(paper, time, Scale(0, 1, foot, top)).x_axis(rows_of_time(unit_of(unit)))
    entries = [("used fresh", "used fresh"), ("used stale", "used stale"), ("running", "running")]
    paper.key(paper.height - 8, entries[: 3 if "running" in seen else 2], (24, 134, 244))
    text = _describe_pulls(jobs, jobs.learner[done], jobs.version[done], unit_of(unit))
    return Picture(paper.figure, text)


def _describe_pulls(jobs: Jobs, learners: Ints, versions: Ints, unit: str) -> str:
    """Given who made each push and from which version."""
    words = [
        f"Update {j}: learner {learner + 1}"
        f"{', from' if j else ' pushes a gradient from version'} {version}, staleness {j - version}."
        for j, (learner, version) in enumerate(zip(learners.tolist(), versions.tolist(), strict=True))
    ]
    made = f"{plural(len(words), 'update')} until time {number(jobs.last)} {unit}."
    head = f"P = {plural(jobs.P, 'learner')}, {made}"
    return " ".join([head, *words])


def stalenesses(
    values: ArrayLike,
    until: int,
    expected: ArrayLike | None = None,
    variant: str | None = None,
    ylim: Limits | None = None,
) -> Picture:
    """How often each staleness occurred, up to `until`, with the mean marked.

    Where there are many, neighbors share a bar, which then shows the mean of their shares. Dots are the
    shares `expected` of staleness 0, 1, 2 and so on. A `variant` is named on top, by its line. `ylim`, the
    ends of the axis of shares, makes the bars of several pictures comparable; higher ones are cut off there.

    >>> stalenesses([0, 3, 1, 0, 2, 1], until=8).text
    'Staleness of 6 pushes: mean 1.17, standard deviation 1.07; 33 % are fresh, half are at most 1, and the
     stalest is 3.'
    """
    s, until = _whole("values", values), count("until", until)
    half = -(-(until + 1 - BARS) // (2 * BARS))  # a bar stands for its middle and so many on either side
    middles = np.arange(0, until + 1 + half, 2 * half + 1)
    low, high = np.maximum(middles - half, 0), middles + half
    share = np.histogram(s, [*low, high[-1] + 1, np.inf])[0][:-1] / (s.size * (high - low + 1))
    dots = np.empty(0) if expected is None else reals("expected", expected)[: until + 1]
    heights = limits("ylim", ylim) or (0.0, 1.12 * max(share.max(), dots.max(initial=0.0), 1e-9))
    beyond = float(np.mean(s > high[-1]))
    lines = 2 + bool(dots.size) + (variant is not None)
    across = (-0.5, high[-1] + 0.5)
    area = plot(176 + LINE * lines, across, heights, top=22 + LINE * lines, whole_x=True)
    y = 13.0
    if variant is not None:
        area.paper.line([8, 28], [y - 4, y - 4], VARIANT[one_of("variant", variant, VARIANTS)], 3.0)
        area.paper.write(34, y, variant, bold=True)
        y += LINE
    area.paper.write(8, y, f"mean {s.mean():.2f}, standard deviation {s.std():.2f}", bold=True)
    area.paper.write(8, y + 16, f"fresh {100 * np.mean(s == 0):.1f} %, stalest {s.max():,}", SMALL)
    if beyond > 0:
        few = "under 0.1" if beyond < 0.0005 else f"{100 * beyond:.1f}"
        area.paper.write(WIDTH - 8, y + 16, f"{few} % beyond the axis", SMALL, "right")
    if dots.size:
        area.paper.dots(12, y + 28, VARIANT["K-async"].color, 5)
        area.paper.write(20, y + 32, "geometric law, exact", SMALL)
    area.x_axis("staleness s" if not half else f"staleness s, {2 * half + 1} values to a bar")
    left, right = area.x(low - 0.5), area.x(high + 0.5)
    tops = np.clip(area.y(share), area.y.stop, area.y.start)
    boxes = np.column_stack([left + 0.3, tops, right - 0.3, np.full(left.shape, area.y.start)])
    area.paper.boxes(boxes[share > heights[0]].round(1), INK, BARS_ALPHA)
    if dots.size:
        r = np.arange(dots.size)[:: max(1, dots.size // 40)]
        r = r[(dots[r] >= heights[0]) & (dots[r] <= heights[1])]
        area.paper.dots(area.x(r), area.y(dots[r]), VARIANT["K-async"].color, 4)
    area.mean_line(float(s.mean()), heights[1])
    return Picture(area.paper.figure, _describe_stalenesses(s, dots, variant))


def _describe_stalenesses(s: Ints, expected: FloatArray, variant: str | None) -> str:
    text = "Staleness" if variant is None else f"{variant}: staleness"
    text += (
        f" of {plural(s.size, 'push')}: mean {number(s.mean())}, "
        f"standard deviation {number(s.std())}; {percent(float(np.mean(s == 0)))} are fresh, half are at "
        f"most {number(float(np.median(s)))}, and the stalest is {s.max():,}."
    )
    if expected.size:
        seen = np.bincount(s, minlength=expected.size)[: expected.size] / s.size
        most = 100 * np.abs(seen - expected).max()
        text += f" No share differs from that of the geometric law by more than {most:.1f} percentage points."
    return text


def in_flight(learners: ArrayLike, P: int, now: int) -> Picture:
    """The age of the gradient that each learner is working on before update `now`, and who pushes next.

    `learners` says who pushes in update 0, 1, 2 and so on. The axis is as long as this list.

    >>> in_flight([0, 1, 0, 1, 1], P=2, now=3).text
    'Version 3. Ages of the gradients in flight, learner by learner: 0, 1. Learner 2 pushes next, staleness
     1.'
    """
    who, now = _pushers(learners, P, now)
    ages, foot = now - _held(who, P, now), 22.0 + 14 * P
    paper = Paper(foot + 41 + LINE + 4)
    paper.write(24, 13, f"version {now}", bold=True)
    words = f"learner {who[now] + 1} pushes, staleness {ages[who[now]]}"
    paper.write(WIDTH - 8, 13, words, SMALL, "right", bold=True)
    area = Plot(paper, Scale(0, who.size, 34, WIDTH - 12, whole=True), Scale(0, 1, foot, 22))
    y = 22 + 14 * (np.arange(P) + 0.5)
    paper.segments(area.x(0), area.x(who.size), y, y, alpha=0.15)
    others = np.arange(P) != who[now]
    paper.dots(area.x(ages[others]), y[others], INK, 7)
    paper.dots(
        area.x(ages[~others]), y[~others], WORK["used stale" if ages[who[now]] else "used fresh"].color, 11
    )
    number_rows(paper, P, 22, 14)
    area.x_axis("age in updates, one row per learner")
    entries = [
        (34.0, WORK["used fresh"].color, "next push, fresh"),
        (184.0, WORK["used stale"].color, "next push, stale"),
    ]
    _key(paper, paper.height - 8, entries, 11)
    text = (
        f"Version {now}. Ages of the gradients in flight, learner by learner: {', '.join(map(str, ages))}. "
        f"Learner {who[now] + 1} pushes next, staleness {ages[who[now]]}."
    )
    return Picture(paper.figure, text)


def valley(path: ArrayLike, learners: ArrayLike, P: int, now: int, note: str = "") -> Picture:
    """A model on a parabola after `now` updates, the copies in flight and where each pushes, the way so far.

    `path` holds w_0, w_1 and so on, `learners` who pushes in update 0, 1, and so on. Green or pink, above the
    parabola, are the copy that pushes next and, as an arrow from the model, the step that its gradient makes.
    A `note` is written on top. An arrow at the edge shows where a model has left the picture.

    >>> valley([1.0, 0.5, -0.1, -0.6], [0, 1, 0], P=2, now=2).text
    'After 2 updates w = -0.1, on the way from 1; it has been between -0.1 and 1 and has changed sign 1 time.
     Of 2 copies in flight 1 pushes left and 1 right. The next gradient is that of w = 0.5, staleness 1,
     and pushes uphill.'
    """
    w, who, now = _track(path, learners, P, now)
    reach, side = EDGE * abs(w[0]), np.sign(w[now])
    held = _held(who, P, now)
    coming = _Push(now - int(held[who[now]]), float(w[held[who[now]]])) if now < who.size else None
    paper = Paper(336)
    paper.write(24, 13, f"after {plural(now, 'update')}", bold=True)
    paper.write(WIDTH - 8, 13, _place(w[now], reach), SMALL, "right", bold=True)
    left, right = _sides(w[held])
    paper.write(24, 30, f"{left} {'copy pushes' if left == 1 else 'copies push'} left, {right} right", SMALL)
    if coming is not None:
        paper.write(WIDTH - 8, 30, f"next: s = {coming.staleness}, {coming.slope(w[now])}", SMALL, "right")
    paper.write(24, 48, note, SMALL, bold=True)
    hill = Plot(paper, Scale(-reach, reach, 24, WIDTH - 8), Scale(0, reach**2, 152, 64))
    x = np.linspace(-reach, reach, 41)
    hill.line(x, x**2, INKS[0], 1.0)
    copies = w[np.unique(held)]
    for u in copies[(np.abs(copies) <= reach) & (copies != 0)].tolist():
        tip, y = float(hill.x(u)) - 16 * np.sign(u), float(hill.y(u**2))
        _arrow(paper, tip, y, (-float(np.sign(u)), 0.0), Stroke(FADED.color), 1.4, head=3.5)
    seen = copies[np.abs(copies) <= reach]
    paper.dots(hill.x(seen), hill.y(seen**2), FADED.color, 7)
    if abs(w[now]) <= reach:
        paper.dots(hill.x(w[now]), hill.y(w[now] ** 2), MODEL.color, 12)
    else:
        _arrow(paper, float(hill.x(side * reach)), 120.0, (side, 0.0))  # clear of the parabola
    if coming is not None:
        _push(hill, coming, w[now], w[now + 1], reach)
    entries = [(24.0, MODEL.color, "the model"), (108.0, FADED.color, "copies in flight")]
    if coming is not None:
        entries.append((222.0, WORK[coming.kind].color, f"next, {coming.kind}"))
    _key(paper, 170.0, entries, 8)
    _way(paper, w, now, reach)
    text = _describe_valley(w[: now + 1], held.size, (left, right), coming)
    return Picture(paper.figure, f"{note} {text}" if note else text)


@dataclass(frozen=True)
class _Push:
    """The gradient that is used next: how old it is, and the model that it was computed with."""

    staleness: int
    model: float

    @property
    def kind(self) -> str:
        return "used stale" if self.staleness else "used fresh"

    def slope(self, w: float) -> str:
        """Where it pushes a model that is at w by now: a gradient from the other side pushes it uphill."""
        return "uphill" if self.model * w < 0 else "downhill"


def _sides(copies: FloatArray) -> tuple[int, int]:
    """How many copies push left, and how many right."""
    return int((copies > 0).sum()), int((copies < 0).sum())


def _push(hill: Plot, coming: _Push, w: float, then: float, reach: float) -> None:
    """The copy that pushes next and, from the model, its step. Both hover: they may be at one place."""
    paper, stroke = hill.paper, Stroke(WORK[coming.kind].color)
    if abs(coming.model) <= reach:
        paper.dots(hill.x(coming.model), hill.y(coming.model**2) - LIFT, stroke.color, 8)
    end = float(np.clip(then, -reach, reach))
    if abs(w) <= reach and end != w:
        start, tip = float(hill.x(w)), float(hill.x(end))
        way = (float(np.sign(tip - start)), 0.0)
        _arrow(paper, tip, float(hill.y(w**2)) - LIFT, way, stroke, 2.0, abs(tip - start), head=4.5)


def _way(paper: Paper, w: FloatArray, now: int, reach: float) -> None:
    """The model from update to update, as far as it has come."""
    side = np.sign(w[now])
    trace = Plot(paper, Scale(0, w.size - 1, 24, WIDTH - 8, whole=True), Scale(-reach, reach, 296, 202))
    paper.write(2, 193, "w", middle=True)
    trace.y_axis([-float(w[0]), 0.0, float(w[0])])
    trace.line([0, w.size - 1], [0, 0], INKS[0], 0.8)
    trace.x_axis("updates")
    trace.line(np.arange(now + 1), np.clip(w[: now + 1], -4 * reach, 4 * reach), MODEL, 1.8)
    if abs(w[now]) <= reach:
        paper.dots(trace.x(now), trace.y(w[now]), MODEL.color, 7)
    else:
        _arrow(paper, float(trace.x(now)), float(trace.y(side * reach)), (0.0, -side))


def _describe_valley(path: FloatArray, P: int, sides: tuple[int, int], coming: _Push | None) -> str:
    """Given the way so far, how many copies push left and right, and the gradient that is used next."""
    signs, made = np.sign(path)[path != 0], path.size - 1
    text = (
        f"After {plural(made, 'update')} w = {_short(path[-1])}, on the way from {_short(path[0])}; it has "
        f"been between {_short(path.min())} and {_short(path.max())} and has changed sign "
        f"{plural(int((signs[1:] != signs[:-1]).sum()), 'time')}. Of {P} "
        f"{'copy' if P == 1 else 'copies'} in flight "
        f"{sides[0]} {'pushes' if sides[0] == 1 else 'push'} left and {sides[1]} right."
    )
    if coming is None:
        return text
    return (
        f"{text} The next gradient is that of w = {_short(coming.model)}, staleness {coming.staleness}, and "
        f"pushes {coming.slope(path[-1])}."
    )


def _server(paper: Paper, time: Scale, updates: list[float], top: float, foot: float) -> None:
    """Above the rows the versions of the server, as far as there is room, and the updates between them."""
    paper.write(time.start, 13, "version on the server:")
    x = time([0.0, *updates])
    paper.segments(x[1:], x[1:], top - 16, foot, alpha=0.8)
    for version, (left, right) in enumerate(pairwise(x)):
        if right - left >= text_width(str(version), SMALL) + 1:
            paper.write((left + right) / 2, top - 6, str(version), SMALL, "center")


def _bars(paper: Paper, time: Scale, jobs: Jobs, fate: str, top: float) -> None:
    some = jobs.fate == fate
    left, right = np.rint(time(jobs.start[some])), np.rint(time(jobs.end[some]))
    y = top + ROW * (jobs.learner[some] + 0.5)
    # One thickness for all that is used, because words stand in it.
    thick = 8.0 if fate == "running" else 18.0
    paper.bar(left, np.maximum(right - 1, left + 0.6), y, fate, thick / WORK[fate].share)


def _of_async(race: Race | Jobs) -> Jobs:
    """The mini-batches of a race in which every push is an update."""
    if not isinstance(race, Race | Jobs):
        raise TypeError(f"race must be a Race or its Jobs; got {shown(race)}.")
    if not race.variant.endswith("-async") or not isinstance(race.K, int) or race.K > 1:
        raise ValueError(
            f"race must be of async SGD with K = 1, where every push is an update; got {race!r}."
        )
    return jobs_of(race)


def _whole(name: str, values: ArrayLike) -> Ints:
    numbers = reals(name, values, above=0, closed=True)
    if (numbers != np.floor(numbers)).any():
        raise ValueError(f"{name} must hold whole numbers of at least 0.")
    return numbers.astype(np.int64)


def _pushers(learners: ArrayLike, P: int, now: int) -> tuple[Ints, int]:
    who, P = _whole("learners", learners), count("P", P)
    if who.max() >= P:
        raise ValueError(f"P is {P}, but learners names learner {who.max()}, counted from 0.")
    return who, count("now", now, minimum=0, maximum=who.size - 1)


def _track(path: ArrayLike, learners: ArrayLike, P: int, now: int) -> tuple[FloatArray, Ints, int]:
    w = reals("path", path)
    who = _pushers(learners, P, 0)[0]
    if w.size != who.size + 1 or w[0] == 0:
        raise ValueError(
            f"path must begin at some w other than 0 and have one entry more than learners; got {w.size} "
            f"entries for {who.size}, from {w[0]:g}."
        )
    return w, who, count("now", now, minimum=0, maximum=who.size)


def _held(who: Ints, P: int, now: int) -> Ints:
    """The version that each learner works with before update `now`, (P,): that of its last pull."""
    held = np.zeros(P, np.int64)
    held[who[:now]] = np.arange(1, now + 1)  # of equal indices the last one counts
    return held


def _key(paper: Paper, y: float, entries: Sequence[tuple[float, str, str]], size: float) -> None:
    """What the colors of dots mean: (left, color, words)."""
    for left, color, words in entries:
        paper.dots(left, y, color, size)
        paper.write(left + 9, y, words, SMALL, middle=True)


def _arrow(
    paper: Paper,
    x: float,
    y: float,
    way: tuple[float, float],
    stroke: Stroke = MODEL,
    width: float = 2.4,
    length: float = 16.0,
    head: float = 6.0,
) -> None:
    """An arrow whose tip is at x and y."""
    right, down = way
    paper.line([x - length * right, x], [y - length * down, y], stroke, width)
    head, spread = min(head, length), min(head, length) * 5 / 6
    barbs = [(x - head * right + turn * down, y - head * down + turn * right) for turn in (spread, -spread)]
    paper.line([barbs[0][0], x, barbs[1][0]], [barbs[0][1], y, barbs[1][1]], stroke, width)


def _place(w: float, reach: float) -> str:
    words = f"w = {round(w, 3) + 0.0:.3f}" if abs(w) <= reach else f"w = {_short(w)}, off the picture"
    return words.replace("-", "−")


def _short(value: float) -> str:
    return number(float(value)) if abs(value) < 1e6 else f"{value:.0e}"
