"""Who comes first in each row, and what each learner did before: sorts of values instead of arguments.

Knows times and learners, row by row; nothing of updates or of where times come from. NumPy sorts values
several times as fast as it sorts their positions. So the position is written into the lowest bits of the
value, where it also breaks ties the right way, and is read off again after the sort. Rows in which those bits
mattered are sorted once more, by position. Long rows are sorted in linear time, by narrow numbers that say
about when it was.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdrace._arguments import FloatArray, sealed

Learners = NDArray[np.integer]

TURNS = 8  # earliest ones at most, each of at least as many columns, that are taken one after the other
TINY = 1e-300  # a time so close to 0 that numbers need not tell it from 0
NARROW = 6  # columns up to which NumPy sorts positions as fast, by insertion
SHORT = 24  # the same where rows are few, so that the number of calls counts
MANY = 1000  # rows that are not few
WIDE = 512  # columns from which on a sort in linear time is faster
LATEST = 2**16 - 2  # the narrow number of the last time that is asked for
NEIGHBORS = np.array([-1, 1])
EXCHANGES = 32  # rounds in which neighbors change places before a row is sorted once more
PIECE = 1 << 15  # pushes at a time, so that what they need stays in the cache


class Events(NamedTuple):
    """Completed mini-batches and who completed them."""

    time: FloatArray  # (rows, n)
    learner: Learners  # (rows, n)

    def of(self, some: Any) -> "Events":
        """Those of some rows."""
        return Events(self.time[some], self.learner[some])

    def at(self, column: Learners) -> "Events":
        """Those in some columns of each row."""
        time = np.take_along_axis(self.time, column, 1)
        return Events(time, np.take_along_axis(self.learner, column, 1))

    def beside(self, other: "Events") -> "Events":
        """Row by row with others."""
        time = np.concatenate([self.time, other.time], axis=1)
        return Events(time, np.concatenate([self.learner, other.learner], axis=1))


def first_columns(time: FloatArray, n: int) -> tuple[Learners, FloatArray]:
    """Columns of the n earliest times of each row, the earliest first and ties by column, and these times."""
    place, found = first_places(np.ascontiguousarray(time), n)
    return place - begins(*time.shape), found


def first_places(time: FloatArray, n: int, last: FloatArray | None = None) -> tuple[Learners, FloatArray]:
    """The same with the places of these times in the flat table, whose rows must lie one after the other.

    Who knows the n-th time of each row, (rows, 1), may say it.
    """
    rows, width = time.shape
    if n == 1:
        place = time.argmin(axis=1, keepdims=True)
        place += begins(rows, width)
    elif n <= 2 or n <= TURNS <= width // n:
        return _first_in_turn(time, n)
    elif width <= (SHORT if rows < MANY else NARROW):
        order = time.argsort(axis=1, kind="stable")
        order += begins(rows, width)
        place = order[:, :n]
    elif width >= WIDE and last is not None:
        return _first_by_number(time, n, last)
    else:
        return _first_by_value(time, n)
    return place, time.reshape(-1).take(place)


def _first_in_turn(time: FloatArray, n: int) -> tuple[Learners, FloatArray]:
    """Sorts nothing: takes the earliest of each row n times, the first column of those that tie.

    What has been taken is infinite, and back in its place at the end. Rows in which only infinite times were
    left may have taken one twice; they are sorted.
    """
    rows, width = time.shape
    flat, begin = time.reshape(-1), begins(rows, width)[:, 0]
    place, found = np.empty((n, rows), np.intp), np.empty((n, rows))
    for at, earliest in zip(place, found, strict=True):
        time.argmin(axis=1, out=at)
        at += begin
        flat.take(at, out=earliest, mode="clip")  # without the copy that is made to be able to raise
        flat[at] = np.inf
    flat[place] = found
    if rows and earliest[earliest.argmax()] == np.inf:  # of the last turn; argmax begins faster than max
        for k in reversed(range(n)):  # of what was taken twice, the first time counts
            flat[place[k]] = found[k]
        ended = np.flatnonzero(found[-1] == np.inf)
        place[:, ended] = (time[ended].argsort(axis=1, kind="stable")[:, :n] + begin[ended, None]).T
    return place.T, found.T


def _first_by_value(time: FloatArray, n: int) -> tuple[Learners, FloatArray]:
    """Sorts the bits of the times, as whole numbers, with the column in the lowest ones.

    The bits of a number that is not negative grow with the number, and equal times go by column. Only two
    times that differ in the lowest bits alone may change places. That shows: as a time before an earlier
    one, or as an earlier one that is left out.
    """
    rows, width = time.shape
    bits = (width - 1).bit_length()
    key = time.view(np.int64) & (-1 << bits)
    key |= np.arange(width)
    if 3 * n <= 2 * width:
        key.partition(n, axis=1)
        key[:, :n].sort(axis=1)
    else:
        key.sort(axis=1)
    place = key[:, :n] & ((1 << bits) - 1)
    place += begins(rows, width)
    found = time.reshape(-1).take(place)
    before = found[:, 1:] < found[:, :-1]
    wrong = before.any(axis=1) if before.any() else np.zeros(rows, bool)
    if n < width:  # the next one may be as early as far as the other bits tell
        doubtful = np.flatnonzero((key[:, n - 1] ^ key[:, n]) >> bits == 0)
        if doubtful.size:
            earlier = time[doubtful] < found[doubtful, -1:]
            kept = found[doubtful] < found[doubtful, -1:]
            wrong[doubtful] |= np.count_nonzero(earlier, axis=1) > np.count_nonzero(kept, axis=1)
    if wrong.any():
        place[wrong] = time[wrong].argsort(axis=1, kind="stable")[:, :n] + begins(rows, width)[wrong]
        found[wrong] = time.reshape(-1).take(place[wrong])
    return place, found


def nth_time(time: FloatArray, n: int) -> FloatArray:
    """The n-th time of each row, (rows, 1): first its narrow number, then which of those that share it."""
    rows, width = time.shape
    latest = time.max(axis=1, keepdims=True)
    if width < WIDE or not np.isfinite(latest).all():
        return np.partition(time, n - 1, axis=1)[:, n - 1 : n].copy()
    number = _numbers(time, latest)
    wanted = np.sort(number, axis=1, kind="stable")[:, n - 1 : n]
    before = np.count_nonzero(number < wanted, axis=1)
    at = np.flatnonzero(number == wanted)
    row, some = at // width, time.reshape(-1).take(at)
    some = some[np.lexsort((some, row))]
    nth: FloatArray = some[np.searchsorted(row, np.arange(rows)) + n - 1 - before]
    return nth[:, None]


def earliest(time: FloatArray, n: int) -> FloatArray:
    """The n earliest times of each row in any order, but the n-th last. What is given may be reordered."""
    rows, width = time.shape
    if width >= WIDE:
        last = nth_time(time, n)
        kept = time[time <= last]
        if kept.size == rows * n:  # nothing ties with the n-th
            kept = kept.reshape(rows, n)
            row, at = np.arange(rows), (kept == last).argmax(axis=1)
            kept[row, at], kept[:, -1] = kept[:, -1], last[:, 0]
            return kept
    time.partition(n - 1, axis=1)
    return time[:, :n]


def _first_by_number(time: FloatArray, n: int, last: FloatArray) -> tuple[Learners, FloatArray]:
    """Sorts numbers of two bytes, which NumPy does in linear time, and then mends what they do not tell.

    They grow with the time, up to LATEST at the n-th one, `last` (rows, 1). Times that have the same number
    stand in the order of their columns, so that neighbors change places until all are in order.
    """
    rows, width = time.shape
    beyond = time > last
    if np.count_nonzero(beyond) < rows * (width - n):  # some tie with the n-th
        return _first_by_value(time, n)
    number = _numbers(time, last)
    np.putmask(number, beyond, LATEST + 1)
    place = number.argsort(axis=1, kind="stable")[:, :n] + begins(rows, width)
    found = time.reshape(-1).take(place)
    _exchange_neighbors(place, found)
    return place, found


def _numbers(time: FloatArray, latest: FloatArray) -> NDArray[np.uint16]:
    """Two-byte numbers that grow with the time, up to LATEST at `latest` (rows, 1); later times get any."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (time * (LATEST / np.maximum(latest, TINY))).astype(np.uint16)


def in_order(time: FloatArray) -> FloatArray:
    """The times of each row, the earliest first. What is given may be reordered."""
    width = time.shape[1]
    if width >= WIDE:
        return _first_by_number(np.ascontiguousarray(time), width, time.max(axis=1, keepdims=True))[1]
    time.sort(axis=1)
    return time


def _exchange_neighbors(place: Learners, found: FloatArray) -> None:
    """Put in order times (rows, n) that nearly are, each with its place; those that tie stay as they stand.

    Neighbors of which the second is earlier change places until there are none. A row with too many of them
    is sorted.
    """
    n, where, time = found.shape[1], place.reshape(-1), found.reshape(-1)
    early = np.zeros(found.shape, bool)  # earlier than the one before
    np.less(found[:, 1:], found[:, :-1], out=early[:, 1:])
    at = np.flatnonzero(early)
    for _ in range(EXCHANGES):
        if at.size == 0 or 8 * at.size > time.size:
            break
        # Of a run only the first: its exchange leaves the next one early.
        now = at[np.diff(at, prepend=-1) > 1]
        for values in (where, time):
            values[now - 1], values[now] = values[now], values[now - 1]
        at = (now[:, None] + NEIGHBORS).ravel()  # in order, and some twice
        at = at[at % n > 0]  # pairs of one row; before the first row and behind the last one there is none
        at = at[time[at] < time[at - 1]]
    if at.size:
        row = np.unique(at // n)
        order = found[row].argsort(axis=1, kind="stable")
        place[row], found[row] = (np.take_along_axis(values[row], order, 1) for values in (place, found))


def first_events(events: Events, n: int, last: FloatArray | None = None) -> Events:
    """The n first events of each row in the order in which they happen, ties by learner.

    Who knows the n-th time of each row, (rows, 1), may say it.
    """
    time, learner = events
    place, found = first_places(np.ascontiguousarray(time), n, last)
    who = np.ascontiguousarray(learner).reshape(-1).take(place)
    # Columns need not be in the order of learners, so where times tie the sort by column tells nothing.
    same, early = found[:, 1:] == found[:, :-1], time <= found[:, -1:]
    if same.any() or np.count_nonzero(early) > found.size:
        tied = same.any(axis=1) | (np.count_nonzero(early, axis=1) > n)
        order = np.lexsort((learner[tied], time[tied]), axis=1)[:, :n]
        found[tied] = np.take_along_axis(time[tied], order, 1)
        who[tied] = np.take_along_axis(learner[tied], order, 1)
    return Events(found, who)


def narrow(P: int) -> type[np.unsignedinteger]:
    """The smallest numbers that name P learners: those of one or two bytes NumPy sorts in linear time."""
    return np.uint8 if P <= 2**8 else np.uint16 if P <= 2**16 else np.uint32


def by_learner(learner: Learners) -> tuple[Learners, Learners, NDArray[np.bool_]]:
    """Pushes along the last axis grouped by learner, in order within a group.

    Where each grouped push stood, who made it, and whether it is the first of its group.
    """
    order = np.argsort(learner, axis=-1, kind="stable")
    grouped = np.take_along_axis(learner, order, -1)
    first = np.ones(learner.shape, bool)
    first[..., 1:] = grouped[..., 1:] != grouped[..., :-1]
    return order, grouped, first


def staleness_of(
    learner: Learners,
    used: NDArray[np.int32],
    pulled: NDArray[np.int32],
    version: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Staleness (rows, n) of pushes in order: updates between a learner's pull and the use of its push.

    Push c goes into update used[c], and its learner then pulls the version pulled[c]. Before its first push
    here it had pulled version[row, learner], which is moved on.
    """
    rows, n = learner.shape
    staleness = np.empty((rows, n), np.int32)
    step = max(1, PIECE // n)
    for a in range(0, rows, step):
        some = slice(a, a + step)
        _write_staleness(learner[some], used, pulled, version[some], staleness[some])
    return staleness


def _write_staleness(
    learner: Learners,
    used: NDArray[np.int32],
    pulled: NDArray[np.int32],
    version: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Sorts pushes by learner, in their order: the pull that a push answers is that of the push before it."""
    (rows, n), P = learner.shape, version.shape[1]
    narrowed = np.ascontiguousarray(learner, narrow(P))
    order = narrowed.argsort(axis=1, kind="stable")
    place = order + begins(rows, n)
    owner = narrowed.reshape(-1).take(place)
    first = np.ones((rows, n), bool)
    np.not_equal(owner[:, 1:], owner[:, :-1], out=first[:, 1:])
    at = np.flatnonzero(first)  # where the pushes of each learner begin in the flat table, and so others end
    who = owner.reshape(-1)[at] + at // n * P  # counted through all rows
    stale, pull = used.take(order).reshape(-1), pulled.take(order).reshape(-1)
    begun = stale[at] - version.reshape(-1)[who]
    stale[1:] -= pull[:-1]
    stale[at] = begun
    version.reshape(-1)[who] = pull[np.append(at[1:], rows * n) - 1]
    out.reshape(-1)[place.reshape(-1)] = stale


@lru_cache(maxsize=16)
def begins(rows: int, width: int) -> NDArray[np.intp]:
    """Where each row begins in a flat table, (rows, 1)."""
    return sealed((np.arange(rows) * width)[:, None])
