"""When each update of a race happens, who sent its gradients and how stale they are.

Knows the four variants and delays; nothing of weights. `simulate` is exact: the same events as
`sgdrace.protocol`, vectorized over replicas.
"""

import math
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from heapq import heapify, heappop, heappush
from threading import Event
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike
from tqdm.auto import tqdm

from sgdrace import order_statistics
from sgdrace._arguments import FloatArray, IntArray, Seed, count, real, seed_sequence
from sgdrace._completions import (
    Learners,
    by_learner,
    earliest,
    everyone,
    first_completion_times,
    first_completions,
    last_of_group,
)
from sgdrace._memory import must_fit
from sgdrace._times import CommonTimes, FreshTimes, Source
from sgdrace.delays import DelayLaw, Exponential, Law, PerLearner, law_of_learners
from sgdrace.variants import variant_P_K

BLOCK = 1 << 17  # numbers that a kernel holds at a time: 1 MB; larger arrays cost fresh pages each time
FEW = 100  # pushes at a time below which a heap is faster than NumPy
LONG = 1 << 21  # pushes of one replica that are sorted at a time


@dataclass(frozen=True)
class Utilization:
    """Shares of all learner time up to the last update, for each replica; they add up to 1."""

    used: FloatArray  # (replicas,) mini-batches that went into an update, stale ones included
    idle: FloatArray  # waiting for the update after a push
    cancelled: FloatArray  # thrown away
    unfinished: FloatArray  # still running at the end, fate unknown


@dataclass(frozen=True, repr=False)
class Race:
    """The timing of a run: update j of replica r happens at time[r, j].

    Along the last axis of `learner`, `staleness` and `pushed` are the K gradients of the update in the order
    in which they arrived; these three are None for a race simulated with detail=False.
    """

    variant: str
    P: int
    K: int | IntArray  # one number, or (replicas, updates) where it varies; then unused entries below are -1
    time: FloatArray  # (replicas, updates)
    learner: IntArray | None = None  # (replicas, updates, K) who sent each gradient
    staleness: IntArray | None = None  # (replicas, updates, K) updates between its pull and its use
    pushed: FloatArray | None = None  # (replicas, updates, K) when it arrived
    every: int = 1  # of so many updates one was kept, after `thin`

    def __repr__(self) -> str:
        replicas, updates = self.time.shape
        K = self.K if isinstance(self.K, int) else "varying"
        return f"Race({self.variant}, P={self.P}, K={K}: {replicas} replicas of {updates} updates)"

    def first(self, updates: int) -> "Race":
        """The race up to and without this update."""
        n = count("updates", updates, maximum=self.time.shape[1])
        return self._select(slice(n))

    def thin(self, every: int) -> "Race":
        """Every n-th update only, for drawing; the last one of each group of n is kept."""
        every = count("every", every, maximum=self.time.shape[1])
        return replace(self._select(slice(every - 1, None, every)), every=self.every * every)

    def until(self, t: float) -> "Race":
        """The updates that happen before t in at least one replica."""
        n = int(self.updates_before(real("t", t)).max())
        if n == 0:
            raise ValueError(f"no update happens before t = {t:g}; the first is at {self.time.min():g}.")
        return self.first(n)

    def updates_before(self, t: ArrayLike) -> Any:
        """N(t), how many updates each replica has made before t: (replicas,), or (replicas, times)."""
        times = np.asarray(t, dtype=np.float64)
        if times.ndim > 1 or np.isnan(times).any():
            raise ValueError("t must be a time or a list of times.")
        return np.array([np.searchsorted(row, times, side="left") for row in self.time])

    def _select(self, updates: slice) -> "Race":
        arrays = {name: getattr(self, name) for name in ("K", "time", "learner", "staleness", "pushed")}
        cut: dict[str, Any] = {name: a[:, updates] for name, a in arrays.items() if isinstance(a, np.ndarray)}
        return replace(self, **cut)

    def utilization(self) -> Utilization:
        """What became of the time of the learners.

        >>> race = simulate("K-async", P=4, K=4, delay=Exponential(), updates=2000, seed=0)
        >>> print(race.utilization().idle.round(2))
        [0.52]
        """
        if self.learner is None or self.pushed is None:
            raise ValueError("utilization needs to know who pushed when: simulate with detail=True.")
        if self.every > 1 or not isinstance(self.K, int):
            raise ValueError("utilization needs every update of a race with one K: ask before you thin it.")
        end = self.time[:, -1]
        begin = np.concatenate([np.zeros((len(end), 1)), self.time[:, :-1]], axis=1)
        idle = cancelled = unfinished = np.zeros(len(end))
        if "batch" not in self.variant:
            idle = (self.time[:, :, None] - self.pushed).sum(axis=(1, 2))
        if self.variant.endswith("-sync"):
            # A learner works from the begin of a round to its last push; what comes after is cancelled.
            worked = np.where(_last_of_learner(self.learner), self.pushed - begin[:, :, None], 0.0)
            cancelled = self.P * end - worked.sum(axis=(1, 2)) - idle
        else:
            busy_since = np.zeros((len(end), self.P))
            restart = self.pushed if "batch" in self.variant else self.time[:, :, None]
            row = np.arange(len(end))[:, None, None]
            np.maximum.at(busy_since, (row, self.learner), restart)
            unfinished = (end[:, None] - busy_since).sum(axis=1)
        total = np.where(end > 0, self.P * end, 1.0)  # if no time has passed, none was lost
        shares = [part / total for part in (idle, cancelled, unfinished)]
        return Utilization(1 - np.sum(shares, axis=0), *shares)


def simulate(
    variant: str,
    P: int,
    K: int,
    delay: Law,
    updates: int,
    replicas: int = 1,
    seed: Seed = None,
    detail: bool = True,
    common: bool = False,
    threads: int = 1,
    progress: bool = False,
) -> Race:
    """Simulate the timing of distributed SGD with P learners and K mini-batches per update.

    The same seed gives the same race on any machine and with any number of threads; only the last digit of
    a time may differ, where a processor has its own exp or log. With `common=True` it also gives common
    random numbers across variants, values of K and numbers of updates: the n-th mini-batch that learner i
    of replica r starts takes the same time in each, so that differences between races are not noise.
    (Slower, because the streams must be followed. Replica r is the same whatever `replicas` is.)

    With `detail=False` only the times are computed, often much faster, because fewer random numbers decide
    them: the K-th of P needs two draws instead of P. So the same seed then gives another race of the same
    law, unless `common=True`, which gives the same times with and without detail.

    >>> simulate("K-async", P=8, K=2, delay=Exponential(), updates=1000, replicas=100, seed=0)
    Race(K-async, P=8, K=2: 100 replicas of 1000 updates)
    """
    variant, P, K = variant_P_K(variant, P, K)
    law = law_of_learners(delay, P)
    J, R = count("updates", updates), count("replicas", replicas)
    plan = _Plan(P, K, J, law, bool(detail), bool(common))
    kernel, numbers = _kernel_of(variant, plan)
    rows = max(1, min(R, BLOCK // numbers))
    workers = count("threads", threads)
    _check_memory(variant, plan, R, rows * workers)
    root = seed_sequence(seed)

    def stream(number: int) -> np.random.SeedSequence:  # as root.spawn makes them, but not all at once
        return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, number))

    def block(number: int) -> _Block:
        begin, end = number * rows, min((number + 1) * rows, R)
        source: Source  # made here, so that its streams live no longer than the block
        if common:
            source = CommonTimes(law, P, [stream(r) for r in range(begin, end)])
        else:
            source = FreshTimes(law, np.random.default_rng(stream(number)))
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
            return kernel(plan, end - begin, source, tick)

    stopped = Event()

    def tick(updates: int) -> None:
        if stopped.is_set():
            raise _Stopped
        bar.update(updates)

    with tqdm(total=R * J, unit=" updates", disable=not progress) as bar:
        blocks = _in_threads(block, math.ceil(R / rows), workers, stopped)
    race = Race(variant, P, K, *_stacked(blocks, axis=0))
    if not np.isfinite(race.time[:, -1]).all():
        raise ValueError(f"the times of {delay!r} are too large: their sum is no longer a finite number.")
    return race


class _Plan(NamedTuple):
    """What every kernel needs to know."""

    P: int
    K: int
    J: int
    law: DelayLaw | PerLearner
    detail: bool
    common: bool


# time (rows, J); learner, staleness, pushed (rows, J, K) or None
_Block = tuple[FloatArray, IntArray | None, IntArray | None, FloatArray | None]
_Tick = Callable[[int], object]  # called with the number of updates just simulated
_Kernel = Callable[[_Plan, int, Source, _Tick], _Block]


class _Stopped(Exception):  # noqa: N818 - no error, but the way out of a thread
    """Nobody wants this block any more."""


def _in_threads(block: Callable[[int], _Block], number: int, threads: int, stopped: Event) -> list[_Block]:
    """All blocks, in order. An interrupt, or a block that fails, stops those that run and drops the rest."""
    if threads == 1:  # at home, where an interrupt arrives at once
        return [block(n) for n in range(number)]
    pool = ThreadPoolExecutor(threads)
    try:
        return list(pool.map(block, range(number)))
    except BaseException:
        stopped.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _check_memory(variant: str, plan: _Plan, replicas: int, rows: int) -> None:
    """Refuse a race that no machine could hold: its record, and what its learners need on the way."""
    P, K, J = plan.P, plan.K, plan.J
    record = replicas * J * (1 + 2 * K * plan.detail)
    on_the_way = 4 * P + 2 * K  # finish times, who comes first, fresh draws
    if plan.common:  # streams are kept to the end
        on_the_way += P * J if variant.endswith("-sync") else K * J
    must_fit(
        f"{replicas} replicas of {J} updates by {P} learners",
        8 * (record + rows * on_the_way),
        "ask for fewer" + (", or for detail=False" if plan.detail else ""),
    )


def _stacked(blocks: list[_Block], axis: int) -> _Block:
    """Blocks of replicas (axis 0) or of updates (axis 1) as one."""
    if len(blocks) == 1:
        return blocks[0]
    columns = zip(*blocks, strict=True)
    return cast(_Block, tuple(None if c[0] is None else np.concatenate(c, axis) for c in columns))


def _kernel_of(variant: str, plan: _Plan) -> tuple[_Kernel, int]:
    """The kernel for this race, and how many numbers it holds at a time for each replica.

    The block size follows from these numbers alone, so the random streams do not depend on the machine.
    """
    P, K, J = plan.P, plan.K, plan.J
    gaps = None if plan.detail or plan.common else _gaps_of(variant, plan)
    if gaps is not None:
        return partial(_independent_gaps, gaps), J
    if variant == "K-sync" or (variant == "K-batch-sync" and K == 1):
        return partial(_sync_rounds, _round), P * J
    if variant == "K-batch-sync":
        return partial(_sync_rounds, _batch_round), (P + K) * J
    if variant == "K-batch-async" or K == 1:  # alone in its batch, a push completes it: nobody ever waits
        return _batch_async, P + K * J
    return _async, P + K * J if plan.common else P  # streams are kept, fresh draws are not


_Gaps = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]


def _gaps_of(variant: str, plan: _Plan) -> _Gaps | None:
    """A sampler of the times between updates where they are independent draws of one known law."""
    P, K, law = plan.P, plan.K, plan.law
    if isinstance(law, Exponential) and "batch" in variant:  # the next of P memoryless learners, K times
        return lambda rng, size: rng.standard_gamma(K, size) / (P * law.rate)
    waits_for_K_fresh = variant == "K-sync" or (variant == "K-batch-sync" and K == 1)
    all_as_good_as_fresh = variant == "K-async" and (isinstance(law, Exponential) or K == P)
    if (waits_for_K_fresh or all_as_good_as_fresh) and law.has_quantiles:
        return lambda rng, size: order_statistics.sample(law, K, P, rng, size)
    return None


def _independent_gaps(gaps: _Gaps, plan: _Plan, rows: int, source: Source, tick: _Tick) -> _Block:
    """Races without detail whose updates are a renewal process."""
    assert isinstance(source, FreshTimes)
    time = np.empty((rows, plan.J))
    step = max(1, BLOCK // rows)
    for a in range(0, plan.J, step):
        piece = time[:, a : a + step]
        piece[:] = gaps(source.rng, piece.shape)
        tick(piece.size)
    return np.cumsum(time, axis=1, out=time), None, None, None


# When the K pushes of a round happen, the last one in the last column, and who pushed, if asked.
_Round = Callable[[_Plan, FloatArray, Source], tuple[FloatArray, Learners | None]]


def _sync_rounds(round_: _Round, plan: _Plan, rows: int, source: Source, tick: _Tick) -> _Block:
    """The sync variants: after every update all learners begin again together."""
    P, K, J = plan.P, plan.K, plan.J
    width = K if plan.detail else 1  # without detail only the last push of a round is kept
    pushed = np.empty((rows, J, width))
    learner = np.empty((rows, J, K), np.int32) if plan.detail else None
    if plan.common:  # the streams tie a round to the one before
        now = np.zeros((rows, 1))
        for j in range(J):
            times, who = round_(plan, now + np.zeros((1, P)), source)
            pushed[:, j], now = times[:, -width:], times[:, -1:]
            if learner is not None and who is not None:
                learner[:, j] = who
            tick(rows)
        time = pushed[:, :, -1]
    else:  # rounds are independent: as many at once as the block holds, each on a clock of its own
        flat = pushed.reshape(rows * J, width)
        step = max(1, BLOCK // max(P, 2 * K))
        for a in range(0, rows * J, step):
            n = min(step, rows * J - a)
            times, who = round_(plan, np.zeros((n, P)), source)
            flat[a : a + n] = times[:, -width:]
            if learner is not None and who is not None:
                learner.reshape(rows * J, K)[a : a + n] = who
            tick(n)
        time = pushed[:, :, -1].cumsum(axis=1)
        pushed[:, 1:] += time[:, :-1, None]
    if learner is None:
        return time, None, None, None
    return time, learner, np.zeros(learner.shape, np.int32), pushed


def _round(plan: _Plan, begin: FloatArray, source: Source) -> tuple[FloatArray, Learners | None]:
    """K-sync: the first K of P learners that all begin at the same time."""
    finish = _finish(begin, source)
    if not plan.detail:
        finish.partition(plan.K - 1, axis=1)
        return finish[:, : plan.K], None
    who = earliest(finish, plan.K)
    return np.take_along_axis(finish, who, 1), who


def _batch_round(plan: _Plan, begin: FloatArray, source: Source) -> tuple[FloatArray, Learners | None]:
    """K-batch-sync: the first K mini-batches of P learners that go on at once after a push."""
    finish = _finish(begin, source)
    if not (plan.detail or source.tells_learners_apart):
        return first_completion_times(finish, plan.K, source), None
    (pushed, who), _ = first_completions(finish, plan.K, source)
    source.start(who[:, :-1])  # the push that completes the batch starts no other
    return pushed, who


def _finish(begin: FloatArray, source: Source) -> FloatArray:
    """When everybody finishes who begins a mini-batch now, (rows, P)."""
    all_learners = everyone(*begin.shape)
    finish = source.times(all_learners)[..., 0]
    finish += begin
    source.start(all_learners)
    return finish


def _async(plan: _Plan, rows: int, source: Source, tick: _Tick) -> _Block:
    """K-async: the K first learners wait for the update and pull it; the others go on with what they have."""
    P, K, J = plan.P, plan.K, plan.J
    if rows * K <= (FEW if plan.detail or source.tells_learners_apart else FEW // 6):
        return _stacked([_async_by_heap(plan, row, source, tick) for row in range(rows)], axis=0)
    finish = _finish(np.zeros((rows, P)), source)
    time = np.empty((rows, J))
    if not (plan.detail or source.tells_learners_apart):  # learners are alike: no need to know who is who
        for j in range(J):
            finish.partition(K - 1, axis=1)
            time[:, j] = finish[:, K - 1]
            finish[:, :K] = source.times(finish[:, :K])[..., 0] + time[:, j, None]
            tick(rows)
        return time, None, None, None
    row = np.arange(rows)[:, None]
    version = np.zeros((rows, P), np.int32)  # of the model that each learner works from
    learner = np.empty((rows, J, K if plan.detail else 0), np.int32)  # without detail nothing is kept
    staleness, pushed = np.empty_like(learner), np.empty(learner.shape)
    for j in range(J):
        who = earliest(finish, K)
        pushes = finish[row, who]
        time[:, j] = pushes[:, -1]
        if plan.detail:
            learner[:, j], pushed[:, j], staleness[:, j] = who, pushes, j - version[row, who]
            version[row, who] = j + 1
        finish[row, who] = time[:, j, None] + source.times(who)[..., 0]
        source.start(who)
        tick(rows)
    return (time, learner, staleness, pushed) if plan.detail else (time, None, None, None)


def _async_by_heap(plan: _Plan, row: int, source: Source, tick: _Tick) -> _Block:
    """The same for one replica, push by push: faster where there is too little to vectorize."""
    K, J = plan.K, plan.J
    draw = source.reader(row)
    queue = [(draw(learner), learner) for learner in range(plan.P)]
    heapify(queue)
    version = [0] * plan.P
    who, staleness, pushed = array("i"), array("i"), array("d")
    for j in range(J):
        batch = [heappop(queue) for _ in range(K)]
        now = batch[-1][0]
        for push, learner in batch:
            pushed.append(push)
            who.append(learner)
            staleness.append(j - version[learner])
            version[learner] = j + 1
            heappush(queue, (now + draw(learner), learner))
        tick(1)
    shape = (1, J, K)
    times = np.array(pushed).reshape(shape)
    time = times[:, :, -1].copy()
    if not plan.detail:
        return time, None, None, None
    return time, np.array(who).reshape(shape), np.array(staleness).reshape(shape), times


def _batch_async(plan: _Plan, rows: int, source: Source, tick: _Tick) -> _Block:
    """K-batch-async: nobody ever waits, so the pushes are P renewal processes and every K-th is an update."""
    P, K, J = plan.P, plan.K, plan.J
    finish = _finish(np.zeros((rows, P)), source)
    if not (plan.detail or source.tells_learners_apart) and J * K <= LONG:
        pushed = first_completion_times(finish, J * K, source)
        pushed.sort(axis=1)
        tick(rows * J)
        return pushed[:, K - 1 :: K].copy(), None, None, None
    version = np.zeros((rows, P), np.int32)
    blocks: list[_Block] = []
    step = max(1, LONG // K)
    for j in range(0, J, step):
        n = min(step, J - j)
        (pushed, learner), busy = first_completions(finish, n * K, source, resume=j + n < J)
        if busy is not None:
            finish = busy
        source.start(learner)
        shape = (rows, n, K)
        time = pushed[:, K - 1 :: K].copy()
        if plan.detail:
            staleness = _batch_staleness(learner, K, j, version).reshape(shape)
            blocks.append((time, learner.reshape(shape).astype(np.int32), staleness, pushed.reshape(shape)))
        else:
            blocks.append((time, None, None, None))
        tick(time.size)
    return _stacked(blocks, axis=1)


def _batch_staleness(learner: Learners, K: int, first: int, version: IntArray) -> IntArray:
    """Staleness of pushes (rows, n) in order, from update `first` on; moves `version` (rows, P) forward.

    A push is as stale as the number of updates since the learner's push before it, at which it pulled. The
    learner that completes a batch pulls the new version.
    """
    rows, n = learner.shape
    number = np.arange(n)
    after = (first + (number + 1) // K).astype(np.int32)  # version that the learner of each push pulls
    order, grouped, new = by_learner(learner)
    pulled = np.empty((rows, n), np.int32)
    pulled[:, 1:] = after[order[:, :-1]]
    row = np.nonzero(new)[0]
    pulled[new] = version[row, grouped[new]]
    last = last_of_group(new)
    version[np.nonzero(last)[0], grouped[last]] = after[order[last]]
    staleness = np.empty((rows, n), np.int32)
    np.put_along_axis(staleness, order, (first + order // K - pulled).astype(np.int32), 1)
    return staleness


def _last_of_learner(learner: IntArray) -> Any:
    """Which pushes (replicas, updates, K) are the last of their learner in the update."""
    order, _, first = by_learner(learner)
    found = np.empty(learner.shape, bool)
    np.put_along_axis(found, order, last_of_group(first), -1)
    return found
