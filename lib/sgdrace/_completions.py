"""Which mini-batches finish first: the kernels of the race, vectorized over rows.

Knows finish times and learners; nothing of updates or variants. A row is one replica, or one round of one.
Ties go to the smaller learner, as in the protocol. The order in which a partition leaves its entries differs
between processors, so whoever is given new times is sorted first: draws are handed out in order.
"""

import math

import numpy as np

from sgdrace._arguments import FloatArray
from sgdrace._sorting import Events, Learners, by_learner, first_columns, first_events, narrow
from sgdrace._times import Source


def everyone(rows: int, P: int) -> Learners:
    """The learners 0..P-1 in every row."""
    return np.broadcast_to(np.arange(P, dtype=np.int32), (rows, P))


def earliest(finish: FloatArray, n: int) -> Learners:
    """Columns of the n smallest entries of each row, the earliest first."""
    return first_columns(finish, n)[0]


def first_completions(
    finish: FloatArray, n: int, source: Source, resume: bool = False
) -> tuple[Events, FloatArray | None]:
    """The first n completions, in order, of learners that never idle, busy now until `finish` (rows, P).

    Everybody who might finish again before the n-th completion known so far gets more mini-batches. These
    can only bring the n-th completion forward, so a learner that is past it is out. With `resume` it also
    returns when each learner finishes the mini-batch it is busy with at the n-th completion.
    """
    P = finish.shape[1]
    if n <= P and not resume:  # of the first n to finish all but the last one may do so again
        who, time = first_columns(finish, n)
        found, ahead = _Completions(Events(time, who.astype(narrow(P))), n), 0
        latest = Events(*(part[:, :-1] for part in found.made[0]))
    else:
        found, ahead = _at_least(n, finish, source)
        latest = found.live(found.latest_of_all(P), resume)
    count = max(1, math.isqrt(n // P))
    while latest.time.shape[1]:
        if ahead > 10 * n + 1000:
            raise ValueError("nearly all mini-batch times are 0, so that no time passes; use positive times.")
        times = _later(latest.time, source.times(latest.learner, ahead, count))
        found.add(Events(times, latest.learner.repeat(count, axis=1)))
        ahead += count
        latest = found.live(Events(times[:, count - 1 :: count], latest.learner), resume)
    done = found.first()
    return done, _busy_until(found.made, done, P) if resume else None


class _Completions:
    """Completions that have been made so far, and when the n-th of them happens.

    Until no more are needed their times are enough; who it was is looked up once, at the end.
    """

    def __init__(self, made: Events, n: int) -> None:
        self.made, self.n = [made], n  # at least n; of equal times that of the smaller learner comes first
        self.smallest = np.partition(made.time, n - 1, axis=1)[:, :n]
        self.last = self.smallest[:, -1:].copy()  # (rows, 1) the n-th time

    def add(self, more: Events) -> None:
        """Take in other completions; where one comes before the n-th, another one is the n-th."""
        self.made.append(more)
        row = np.flatnonzero((more.time < self.last).any(axis=1))
        joint = np.concatenate([self.smallest[row], more.time[row]], axis=1)
        joint.partition(self.n - 1, axis=1)
        self.smallest[row] = joint[:, : self.n]
        self.last[row] = joint[:, self.n - 1 : self.n]

    def live(self, latest: Events, resume: bool) -> Events:
        """Of the latest completion of each learner those before the n-th, in order: they may go on.

        Another completion at the very time of the n-th one counts if its learner comes first. To resume,
        everybody needs a completion after it. Rows with fewer than others keep some that are later.
        """
        live = latest.time < self.last
        same = latest.time == self.last
        row = np.flatnonzero(same.any(axis=1))
        if row.size and not resume:
            same[row] &= latest.learner[row] < self._first_of_rows(row).learner[:, -1:]
        width = int(np.count_nonzero(live | same, axis=1).max())
        return first_events(latest, width) if width else Events(latest.time[:, :0], latest.learner[:, :0])

    def first(self) -> Events:
        """The first n of all, in order."""
        if len(self.made) > 1:
            return first_events(self._joint(), self.n)
        time, learner = self.made[0]
        column, found = first_columns(time, self.n)
        return Events(found, np.take_along_axis(learner, column, 1))

    def _first_of_rows(self, row: Learners) -> Events:
        return first_events(Events(*(part[row] for part in self._joint())), self.n)

    def _joint(self) -> Events:
        return Events(*(np.concatenate(parts, axis=1) for parts in zip(*self.made, strict=True)))

    def latest_of_all(self, P: int) -> Events:
        """The latest completion of each learner, where all have made as many."""
        time, learner = self.made[0]
        count = time.shape[1] // P
        return Events(time[:, count - 1 :: count], learner[:, count - 1 :: count])


def _at_least(n: int, finish: FloatArray, source: Source) -> tuple[_Completions, int]:
    """At least n completions, as many of each learner, and how many mini-batches of each that took.

    Long runs begin with what nearly all learners need, short ones with one mini-batch at a time.
    """
    rows, P = finish.shape
    each = n // P  # completions that a learner has among the first n, on average
    count = each + 2 * math.isqrt(each) if each >= 8 else -(-n // P) - 1
    time = np.empty((rows, P, count + 1))
    time[:, :, 0] = finish
    step = count if each >= 8 else 1
    for a in range(0, count, step):
        time[:, :, a + 1 : a + 1 + step] = source.times(everyone(rows, P), a, step)
    if count:
        # A running sum adds in the same order as a clock does, so that equal times stay equal.
        np.cumsum(time, axis=2, out=time)
    learner = np.repeat(np.arange(P, dtype=narrow(P)), count + 1)
    made = Events(time.reshape(rows, -1), np.broadcast_to(learner, (rows, learner.size)))
    return _Completions(made, n), count


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
        done.partition(n - 1, axis=1)
        done, last = done[:, :n], done[:, n - 1 : n]
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
    if times.shape[2] > 1:
        np.cumsum(times, axis=2, out=times)
    return times.reshape(len(times), -1)


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
