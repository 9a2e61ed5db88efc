"""Which mini-batches finish first: the kernels of the race, vectorized over rows.

Knows finish times and learners; nothing of updates or variants. A row is one replica, or one round of one.
Ties go to the smaller learner, as in the protocol. The order in which a partition leaves its entries differs
between processors, so whoever is given new times is sorted first: draws are handed out in order.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdrace._arguments import FloatArray
from sgdrace._times import Source

Learners = NDArray[np.integer]


class Events(NamedTuple):
    """Completed mini-batches and who completed them."""

    time: FloatArray  # (rows, n)
    learner: Learners  # (rows, n)


def everyone(rows: int, P: int) -> Learners:
    """The learners 0..P-1 in every row."""
    return np.broadcast_to(np.arange(P, dtype=np.int32), (rows, P))


def earliest(finish: FloatArray, n: int) -> Learners:
    """Columns of the n smallest entries of each row, the earliest first."""
    if n == 1:
        return np.asarray(finish.argmin(axis=1, keepdims=True))
    if 2 * n > finish.shape[1]:
        return finish.argsort(axis=1, kind="stable")[:, :n]
    column = np.argpartition(finish, n - 1, axis=1)[:, :n]
    column.sort(axis=1)  # by column first, so that the stable sort by time breaks ties the right way
    time = np.take_along_axis(finish, column, 1)
    order = time.argsort(axis=1, kind="stable")
    last = np.take_along_axis(time, order[:, -1:], 1)
    column = np.take_along_axis(column, order, 1)
    tied = np.count_nonzero(finish <= last, axis=1) > n  # who of the last ones got in was left to chance
    if tied.any():
        column[tied] = finish[tied].argsort(axis=1, kind="stable")[:, :n]
    return column


def first_completions(
    finish: FloatArray, n: int, source: Source, resume: bool = False
) -> tuple[Events, FloatArray | None]:
    """The first n completions, in order, of learners that never idle, busy now until `finish` (rows, P).

    Everybody who might finish again before the n-th completion known so far gets more mini-batches. These
    can only bring the n-th completion forward, so a learner that is past it is out. With `resume` it also
    returns when each learner finishes the mini-batch it is busy with at the n-th completion.
    """
    rows, P = finish.shape
    done = latest = Events(finish, everyone(rows, P))
    generated = [done]
    ahead = 0
    each = n // P  # completions that a learner has among the first n, on average
    # Long runs begin with what nearly all learners need, short ones with one mini-batch at a time.
    count = each + 2 * math.isqrt(each) if each >= 8 else 1
    while True:
        if ahead > 10 * n + 1000:
            raise ValueError("nearly all mini-batch times are 0, so that no time passes; use positive times.")
        if done.time.shape[1] >= n:
            done = _smallest(done, n)
            last = done.time.max(axis=1, keepdims=True)
            # Another completion at the very time of the n-th one counts if its learner comes first. To
            # resume, everybody needs a completion after it.
            tied = np.where(done.time == last, done.learner, -1).max(axis=1, keepdims=True)
            first = latest.learner < (P if resume else tied)
            live = (latest.time < last) | ((latest.time == last) & first)
            width = int(np.count_nonzero(live, axis=1).max())
            if width == 0:
                break
            latest = _ordered(_smallest(latest, width))
            count = max(1, math.isqrt(each))
        times = _later(latest.time, source.times(latest.learner, ahead, count))
        more = Events(times, latest.learner.repeat(count, axis=1))
        ahead += count
        latest = Events(times[:, count - 1 :: count], latest.learner)
        done = Events(*(np.concatenate(pair, axis=1) for pair in zip(done, more, strict=True)))
        if resume:
            generated.append(more)
    return _ordered(done), _busy_until(generated, done, P) if resume else None


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
        # A running sum adds in the same order as a clock does, so that equal times stay equal.
        np.cumsum(times, axis=2, out=times)
    return times.reshape(len(times), -1)


def _ordered(events: Events) -> Events:
    """The events of each row in the order in which they happen."""
    time, learner = events
    order = np.argsort(time, axis=1)
    sorted_time = np.take_along_axis(time, order, 1)
    tied = (sorted_time[:, 1:] == sorted_time[:, :-1]).any(axis=1)
    if tied.any():
        order[tied] = np.lexsort((learner[tied], time[tied]), axis=1)
    return Events(sorted_time, np.take_along_axis(learner, order, 1))


def _smallest(events: Events, n: int) -> Events:
    """The n earliest events of each row, in no order."""
    time, learner = events
    if time.shape[1] == n:
        return events
    index = np.argpartition(time, n - 1, axis=1)[:, :n]
    last = np.take_along_axis(time, index[:, -1:], 1)
    tied = np.count_nonzero(time <= last, axis=1) > n
    if tied.any():
        index[tied] = np.lexsort((learner[tied], time[tied]), axis=1)[:, :n]
    return Events(np.take_along_axis(time, index, 1), np.take_along_axis(learner, index, 1))


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


def by_learner(learner: Learners) -> tuple[Learners, Learners, NDArray[np.bool_]]:
    """Pushes along the last axis grouped by learner, in order within a group.

    Where each grouped push stood, who made it, and whether it is the first of its group.
    """
    order = np.argsort(learner, axis=-1, kind="stable")
    grouped = np.take_along_axis(learner, order, -1)
    first = np.ones(learner.shape, bool)
    first[..., 1:] = grouped[..., 1:] != grouped[..., :-1]
    return order, grouped, first


def last_of_group(first: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which grouped pushes are the last of their group, given which are the first."""
    last = np.ones(first.shape, bool)
    last[..., :-1] = first[..., 1:]
    return last
