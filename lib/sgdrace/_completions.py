"""Which mini-batches finish first: the kernels of the race, vectorized over rows.

Knows finish times and learners; nothing of updates or variants. A row is one replica, or one round of one.
Ties go to the smaller learner, as in the protocol. The order in which a partition leaves its entries differs
between processors, so whoever is given new times is sorted first: draws are handed out in order.
"""

import math
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdrace._arguments import FloatArray
from sgdrace._sorting import (
    WIDE,
    Events,
    Learners,
    by_learner,
    earliest,
    first_columns,
    first_events,
    narrow,
    nth_time,
)
from sgdrace._times import Source

NARROW = 256  # learners among whom the next to complete is found faster than all are sorted,
STEPS = 32  # in so few steps
MANY = 256  # or in so many rows at once
SHORT = 8  # mini-batches of a learner that are added up one after the other


def everyone(rows: int, P: int) -> Learners:
    """The learners 0..P-1 in every row."""
    return np.broadcast_to(np.arange(P, dtype=np.int32), (rows, P))


def first_completions(
    finish: FloatArray, n: int, source: Source, resume: bool = False
) -> tuple[Events, FloatArray | None]:
    """The first n completions, in order, of learners that never idle, busy now until `finish` (rows, P).

    Everybody who might finish again before the n-th completion known so far gets more mini-batches. These
    can only bring the n-th completion forward, so a learner that is past it is out. With `resume` it also
    returns when each learner finishes the mini-batch it is busy with at the n-th completion.
    """
    rows, P = finish.shape
    known, made, latest, ahead = _begun(finish, n, source, resume)
    generated, count = [made], max(1, math.isqrt(n // P))
    done = Events(np.empty((rows, n)), np.empty((rows, n), narrow(P)))
    # Streams are those of all rows; where learners are alike, rows that are done need no more times.
    leaves = not (resume or source.tells_learners_apart)
    while True:
        live = known.live(latest, P if resume else None)
        going = live.any(axis=1)
        if leaves and 4 * np.count_nonzero(going) < 3 * going.size:
            done.time[known.row[~going]], done.learner[known.row[~going]] = known.of(~going).first()
            known, latest, live = known.of(going), latest.of(going), live[going]
        width = int(np.count_nonzero(live, axis=1).max(initial=0))
        if width == 0:
            break
        if ahead > 10 * n + 1000:
            raise ValueError("nearly all mini-batch times are 0, so that no time passes; use positive times.")
        latest = latest.at(np.argsort(~live, axis=1, kind="stable")[:, :width])  # the live, and who fills up
        more = _later(latest.time, source.times(latest.learner, ahead, count))
        ahead += count
        generated.append(Events(more, latest.learner.repeat(count, axis=1)))
        known.add(generated[-1])
        latest = Events(more[:, count - 1 :: count], latest.learner)
    done.time[known.row], done.learner[known.row] = known.first()
    return done, _busy_until(generated, done, P) if resume else None


def next_completions(finish: FloatArray, n: int, source: Source) -> Events:
    """The first n completions of learners that start again at once, but for the last one, and start them.

    In few rows, or among few learners, it sorts nothing: it takes the next completion of every row n times,
    the smaller learner first where two tie.
    """
    rows, P = finish.shape
    if P > NARROW or (n > STEPS and rows < MANY):
        done, _ = first_completions(finish, n, source)
        source.start(done.learner[:, :-1])
        return done
    row, running = np.arange(rows), finish.reshape(-1)
    time, learner = np.empty((n, rows)), np.empty((n, rows), np.intp)
    for k in range(n):
        who = finish.argmin(axis=1, out=learner[k])
        place = row * P + who
        now = running.take(place, out=time[k], mode="clip")
        if k < n - 1:
            running[place] = now + source.begin(row, who)
    return Events(time.T, learner.T)


class _Completions:
    """Completions that have been made so far in some rows, and when the n-th of them happens.

    Of a short run the first n are kept in order, and others are merged into them. Of a long one times alone
    are enough until no more are needed; who it was is looked up once, at the end.
    """

    def __init__(self, made: Events, n: int, merges: bool) -> None:
        self.made, self.n, self.merges = made, n, merges  # at least n, or if it merges, the first n in order
        self.row = np.arange(len(made.time))
        self.last = made.time[:, -1:].copy() if merges else nth_time(made.time, n)  # (rows, 1)
        self._forget()

    def of(self, some: Any) -> "_Completions":
        """Those of some of the rows."""
        part = copy(self)
        part.made, part.row, part.last = self.made.of(some), self.row[some], self.last[some]
        return part

    def add(self, more: Events) -> None:
        """Take in other completions; where one comes before the n-th, another one is the n-th."""
        if self.merges:
            row = np.flatnonzero((more.time <= self.last).any(axis=1))
            merged = first_events(self.made.of(row).beside(more.of(row)), self.n)
            self.made.time[row], self.made.learner[row] = merged
            self.last[row] = merged.time[:, -1:]
            return
        self.made = self.made.beside(more)
        row = np.flatnonzero((more.time < self.last).any(axis=1))
        self.last[row] = nth_time(self.made.time[row], self.n)
        self._forget()

    def _forget(self) -> None:
        """Drop those after the n-th if they are many: none of them can be among the first any more."""
        time, learner = self.made
        if 2 * time.shape[1] > 3 * self.n:
            kept = time <= self.last
            if np.count_nonzero(kept) == len(time) * self.n:  # nothing ties with the n-th
                self.made = Events(time[kept].reshape(-1, self.n), learner[kept].reshape(-1, self.n))

    def live(self, latest: Events, below: int | None = None) -> NDArray[np.bool_]:
        """Which of the latest completions come before the n-th one: their learners may complete another.

        One at the very time of the n-th counts if its learner comes first, or is `below` a given one.
        """
        live = latest.time < self.last
        same = latest.time == self.last
        row = np.flatnonzero(same.any(axis=1))
        if below is None:  # one alone at that time is the n-th itself
            row = row[np.count_nonzero(self.made.time[row] == self.last[row], axis=1) > 1]
        if row.size:
            bound = self.of(row).first().learner[:, -1:] if below is None else below
            live[row] |= same[row] & (latest.learner[row] < bound)
        return live

    def first(self) -> Events:
        """The first n of all, in order."""
        return self.made if self.merges else first_events(self.made, self.n, self.last)


def _begun(
    finish: FloatArray, n: int, source: Source, resume: bool
) -> tuple[_Completions, Events, Events, int]:
    """What is known of at least n completions, they, the latest of each learner, and how many more each made.

    Long runs begin with what nearly all learners need.
    """
    rows, P = finish.shape
    if n <= min(P, WIDE) and not resume:  # nobody else is among the first n; all but the last can go on
        who, time = first_columns(finish, n)
        made = Events(time, who.astype(narrow(P)))
        return _Completions(made, n, merges=True), made, Events(time[:, :-1], made.learner[:, :-1]), 0
    each = n // P  # completions that a learner has among the first n, on average
    count = each + 2 * math.isqrt(each) if each >= 8 else each + math.isqrt(each) + 1
    time = np.empty((rows, P, count + 1))
    time[:, :, 0] = finish
    time[:, :, 1:] = source.times(everyone(rows, P), 0, count)
    _run(time)
    learner = np.repeat(np.arange(P, dtype=narrow(P)), count + 1)
    made = Events(time.reshape(rows, -1), np.broadcast_to(learner, (rows, learner.size)))
    latest = Events(time[:, :, -1], everyone(rows, P))
    return _Completions(made, n, merges=False), made, latest, count


def first_completion_times(finish: FloatArray, n: int, source: Source) -> FloatArray:
    """When the first n completions happen, (rows, n) with the n-th last, of learners that are all alike.

    The same idea, but nobody asks who it was: only the set of times matters, and everything, `finish`
    included, is reordered in place.
    """
    each = n // finish.shape[1]
    done = latest = finish
    if done.shape[1] < n:
        count = each + math.isqrt(each) - 1
        more = _later(latest, source.times(latest, 0, count))
        done, latest = np.concatenate([done, more], axis=1), more[:, count - 1 :: count]
    count = max(1, math.isqrt(each))
    while True:
        done = earliest(done, n)
        last = done[:, -1:]
        if latest is finish:  # one mini-batch each so far: whoever is before the n-th one is live
            latest = done[:, :-1]
        else:
            width = int(np.count_nonzero(latest < last, axis=1).max())
            latest.partition(max(0, width - 1), axis=1)
            latest = latest[:, :width]
        if latest.shape[1] == 0:
            return done
        latest.sort(axis=1)
        more = _later(latest, source.times(latest, 0, count))
        done, latest = np.concatenate([done, more], axis=1), more[:, count - 1 :: count]


def _later(latest: FloatArray, times: FloatArray) -> FloatArray:
    """Completions after the latest ones (rows, n), learner by learner, given their times (rows, n, count)."""
    times[..., 0] += latest
    _run(times)
    return times.reshape(len(times), -1)


def _run(times: FloatArray) -> None:
    """Add up times (rows, n, count) in place, in the order of a clock: equal ones stay equal."""
    if times.shape[2] > SHORT:
        np.cumsum(times, axis=2, out=times)
        return
    for k in range(1, times.shape[2]):  # along a short axis a running sum takes long to begin
        times[..., k] += times[..., k - 1]


def _busy_until(generated: list[Events], done: Events, P: int) -> FloatArray:
    """The first completion of each learner that is not among those done."""
    rows = len(done.time)
    row = np.arange(rows)[:, None]
    made = np.zeros((rows, P), np.intp)
    np.add.at(made, (row, done.learner), 1)
    seen = np.zeros((rows, P), np.intp)
    busy = np.full((rows, P), np.inf)
    for time, learner in generated:
        # Completions of one learner stand in order, so the one after those it has made is the one wanted.
        number = seen[row, learner] + _rank_within_learner(learner)
        wanted = number == made[row, learner]
        busy[np.nonzero(wanted)[0], learner[wanted]] = time[wanted]
        np.add.at(seen, (row, learner), 1)
    return busy


def _rank_within_learner(learner: Learners) -> Learners:
    """How many earlier columns of the row name the same learner."""
    order, _, first = by_learner(learner)
    column = np.arange(learner.shape[1])
    rank = np.empty(learner.shape, np.intp)
    np.put_along_axis(rank, order, column - np.maximum.accumulate(np.where(first, column, 0), axis=1), 1)
    return rank
