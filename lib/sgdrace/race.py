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
from numpy.typing import ArrayLike, NDArray
from tqdm.auto import tqdm

from sgdrace import order_statistics
from sgdrace._arguments import (
    FloatArray,
    IntArray,
    Seed,
    count,
    flag,
    floats,
    real,
    sealed,
    seed_sequence,
    shown,
    store,
)
from sgdrace._completions import everyone, first_completion_times, first_completions, next_completions
from sgdrace._estimate import Estimate, mean_of
from sgdrace._memory import keep_for_reuse, must_fit
from sgdrace._records import Record, read_only
from sgdrace._sorting import (
    PIECE,
    Learners,
    begins,
    by_learner,
    first_columns,
    first_places,
    in_order,
    staleness_of,
)
from sgdrace._times import AHEAD, CommonTimes, FreshTimes, Source
from sgdrace.delays import DelayLaw, Exponential, Law, PerLearner, law_of_learners
from sgdrace.jobs import Jobs
from sgdrace.variants import staleness_limit, variant_P_K

BLOCK = 1 << 17  # numbers that a kernel holds at a time: 1 MB; larger arrays cost fresh pages each time
STREAMS = 64  # times as many where they are streams, which are drawn once and read update by update
FEW = 24  # pushes at a time below which a heap is faster than NumPy
LONG = 1 << 21  # pushes of one replica that are sorted at a time
STILL = 1000  # updates without any time after which nobody waits for more
BATCHES = 30  # stretches of a single replica whose means are compared

keep_for_reuse()  # from here on: fresh pages would cost up to a third of the time of a race


@dataclass(frozen=True, eq=False)
class Utilization(Record):
    """Shares of all learner time up to the last update, for each replica; they add up to 1."""

    used_fresh: FloatArray  # (replicas,) mini-batches of the version that their update changed
    used_stale: FloatArray  # of an older one
    cancelled: FloatArray  # thrown away
    idle: FloatArray  # waiting for the update after a push
    running: FloatArray  # still at work at the end, nobody knows yet for what
    ignored: FloatArray  # done, but too stale to be used

    @property
    def used(self) -> FloatArray:
        """What went into an update, fresh or stale."""
        return self.used_fresh + self.used_stale


@dataclass(frozen=True, repr=False, eq=False)
class Race(Record):
    """The timing of a run: update j of replica r happens at time[r, j].

    Along the last axis of `learner`, `staleness` and `pushed` are the K gradients of the update in the order
    in which they arrived; these three are None for a race simulated with detail=False.

    >>> race = simulate("K-sync", P=4, K=2, delay=Exponential(), updates=3)
    >>> race == simulate("K-sync", P=4, K=2, delay=Exponential(), updates=3)
    True
    >>> race.law
    Exponential(rate=1.0)
    """

    variant: str
    P: int
    K: int | IntArray  # one number, or (replicas, updates) where it varies; then unused entries below are -1
    time: FloatArray  # (replicas, updates)
    learner: IntArray | None = None  # (replicas, updates, K) who sent each gradient
    staleness: IntArray | None = None  # (replicas, updates, K) updates between its pull and its use
    pushed: FloatArray | None = None  # (replicas, updates, K) when it arrived
    every: int = 1  # of so many updates one was kept, after `thin`
    law: Any = None  # of the delays that made it, if known
    max_staleness: int | None = None  # above which a gradient was ignored
    ignored: FloatArray | None = None  # (replicas, updates, P) when; -1 where none was

    def __post_init__(self) -> None:
        time = floats("time", self.time)
        if time.ndim != 2 or time.size == 0:
            raise ValueError(
                f"time must have one row per replica and one column per update; got {time.shape}."
            )
        in_order = (time[:, 1:] >= time[:, :-1]).all() and (time[:, 0] >= 0).all()
        if not (in_order and np.isfinite(time[:, -1]).all()):
            raise ValueError("time must be finite, at least 0 and never go back from one update to the next.")
        K, most = _checked_K(self.variant, self.P, self.K, time.shape)
        variant, P, _ = variant_P_K(self.variant, self.P, most)
        store(self, variant=variant, P=P, K=K, time=read_only(time), every=count("every", self.every))
        limit = staleness_limit(variant, self.max_staleness)
        parts = {"learner": P - 1, "staleness": math.inf if limit is None else limit, "pushed": math.inf}
        shape = (*time.shape, most)
        store(self, **{name: _checked_part(self, name, shape, top) for name, top in parts.items()})
        store(self, max_staleness=limit, ignored=_checked_ignored(self, (*time.shape, P)))

    def __repr__(self) -> str:
        replicas, updates = self.time.shape
        K = self.K if isinstance(self.K, int) else "varying"
        limit = "" if self.max_staleness is None else f", max_staleness={self.max_staleness}"
        return f"Race({self.variant}, P={self.P}, K={K}{limit}: {replicas} replicas of {updates} updates)"

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
        names = ("K", "time", "learner", "staleness", "pushed", "ignored")
        arrays = {name: getattr(self, name) for name in names}
        cut: dict[str, Any] = {name: a[:, updates] for name, a in arrays.items() if isinstance(a, np.ndarray)}
        return replace(self, **cut)

    def jobs(self, replica: int = 0) -> Jobs:
        """Every mini-batch of one replica: who worked on it, from when to when, and what became of it.

        >>> race = simulate("K-sync", P=4, K=2, delay=Exponential(), updates=3)
        >>> race.jobs()
        Jobs(K-sync, P=4, K=2: 12 jobs, 3 updates until 1.27934)
        """
        K, learner, staleness, pushed = self._every_push("jobs need")
        r = count("replica", replica, minimum=0, maximum=len(self.time) - 1)
        time, who, ends = self.time[r], learner[r], pushed[r]
        J = len(time)
        update = np.arange(J)[:, None]
        begun = None if self.ignored is None else _begun(self, slice(r, r + 1))
        used = _Pieces(
            who,
            (_starts(self, replica=r) if begun is None else begun.start)[0],
            ends,
            update - staleness[r],
            np.where(staleness[r] == 0, "used fresh", "used stale"),
            update * (K + 1) + np.arange(K),
        )
        if begun is not None:
            rest = _ignored_and_running(self, r, begun)
        else:
            rest = (_cancelled if self.variant.endswith("-sync") else _running)(self, r)
        parts = [np.concatenate([np.ravel(one), other]) for one, other in zip(used, rest, strict=True)]
        order = np.lexsort((parts[-1], parts[0]))
        who, start, end, version, fate = (sealed(part[order]) for part in parts[:-1])
        return Jobs(self.variant, self.P, K, who, start, end, version, fate, time, self.max_staleness)

    def utilization(self) -> Utilization:
        """What became of the time of the learners.

        >>> race = simulate("K-async", P=4, K=4, delay=Exponential(), updates=2000, seed=0)
        >>> print(race.utilization().idle.round(2))
        [0.52]
        """
        _, _, staleness, pushed = self._every_push("utilization needs")
        end = self.time[:, -1]
        begun = None if self.ignored is None else _begun(self)
        worked = pushed - (_starts(self) if begun is None else begun.start)
        fresh = np.where(staleness == 0, worked, 0.0).sum(axis=(1, 2))
        stale = np.where(staleness == 0, 0.0, worked).sum(axis=(1, 2))
        # Whoever pushes waits for the update, except in a batch, where all but the last one go on.
        waits = slice(-1, None) if "batch" in self.variant else slice(None)
        idle = (self.time[:, :, None] - pushed[:, :, waits]).sum(axis=(1, 2))
        total = np.where(end > 0, self.P * end, 1.0)
        fresh = np.where(end > 0, fresh / total, 1.0)  # if no time has passed, none was lost
        stale, idle, nothing = stale / total, idle / total, np.zeros(len(end))
        ignored = nothing
        if begun is not None and self.ignored is not None:
            ignored = np.where(self.ignored < 0, 0.0, self.ignored - begun.late).sum(axis=(1, 2)) / total
        rest = np.maximum(1 - fresh - stale - idle - ignored, 0.0)
        cancelled, running = (rest, nothing) if self.variant.endswith("-sync") else (nothing, rest)
        return Utilization(fresh, stale, cancelled, idle, running, ignored)

    def time_per_update(self, burn_in: int | None = None) -> Estimate:
        """The mean time from one update to the next in the long run, with its standard error.

        The first updates do not count: `burn_in` of them, or unless told a third in the async variants,
        where learners begin together, and none in the sync ones, where every round begins so. The standard
        error is that of the replicas, or, where there is one, of BATCHES stretches of it.

        >>> race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=3000, replicas=40)
        >>> mean, error = race.time_per_update()
        >>> abs(mean - (1 / 8 + 1 / 7)) < 4 * error
        True
        """
        J = self.time.shape[1]
        if burn_in is None:
            burn_in = 0 if self.variant.endswith("-sync") else J // 3
        b = count("burn_in", burn_in, minimum=0, maximum=J - 1)
        begin = self.time[:, b - 1] if b else np.zeros(len(self.time))
        means = (self.time[:, -1] - begin) / ((J - b) * self.every)
        spread = means
        if len(means) == 1:
            if J - b < BATCHES:
                raise ValueError(
                    f"one replica needs at least {BATCHES} updates after the burn-in to tell how far off its "
                    f"mean may be; it has {J - b}."
                )
            ends = b + np.arange(1, BATCHES + 1) * ((J - b) // BATCHES) - 1
            spread = np.diff(self.time[0, ends], prepend=begin) / ((J - b) // BATCHES * self.every)
        return Estimate(float(means.mean()), mean_of(spread).standard_error, spread.size)

    def to_columns(self) -> dict[str, Any]:
        """Equally long columns, as pandas and polars take them: `DataFrame(race.to_columns())`.

        One row for each gradient, or, without detail, for each update. Replicas, updates and learners count
        from 0.

        >>> race = simulate("K-sync", P=4, K=2, delay=Exponential(), updates=3, replicas=5)
        >>> {name: column.size for name, column in race.to_columns().items()}
        {'replica': 30, 'update': 30, 'time': 30, 'learner': 30, 'staleness': 30, 'pushed': 30}
        """
        replica, update = np.indices(self.time.shape)
        columns: dict[str, Any] = {
            "replica": replica,
            "update": (update + 1) * self.every - 1,
            "time": self.time,
        }
        parts = {name: getattr(self, name) for name in ("learner", "staleness", "pushed")}
        parts = {name: part for name, part in parts.items() if part is not None}
        if not parts:
            return {name: column.ravel() for name, column in columns.items()}
        shape = next(iter(parts.values())).shape
        columns = {name: np.broadcast_to(column[:, :, None], shape) for name, column in columns.items()}
        there = np.arange(shape[2]) < np.broadcast_to(self.K, self.time.shape)[:, :, None]
        return {name: column[there] for name, column in (columns | parts).items()}

    def _every_push(self, who: str) -> tuple[int, IntArray, IntArray, FloatArray]:
        """K and all that is known of each push, for those who cannot do without."""
        if self.learner is None or self.staleness is None or self.pushed is None:
            raise ValueError(f"{who} to know who pushed when: simulate with detail=True.")
        if self.every > 1 or not isinstance(self.K, int):
            raise ValueError(f"{who} every update of a race with one K: ask before you thin it.")
        return self.K, self.learner, self.staleness, self.pushed


def simulate(
    variant: str,
    P: int,
    K: int,
    delay: Law,
    updates: int | None = None,
    replicas: int = 1,
    seed: Seed = 0,
    detail: bool = True,
    common: bool = False,
    threads: int = 1,
    progress: bool = False,
    *,
    until: float | None = None,
    max_staleness: int | None = None,
) -> Race:
    """Simulate the timing of distributed SGD with P learners and K mini-batches per update.

    Ask for a number of `updates`, or for all that happen `until` a time: then every replica goes on to its
    first update at or after that time, and all have as many updates as the one that needs most.

    The same seed gives the same race on any machine and with any number of threads; only the last digit of
    a time may differ, where a processor has its own exp or log. `seed=None` is another race every time. With
    `common=True` it also gives common random numbers across variants, values of K and numbers of updates:
    the n-th mini-batch that learner i of replica r starts takes the same time in each, so that differences
    between races are not noise. (Slower, because the streams must be followed. Replica r is the same
    whatever `replicas` is.) A race `until` a time always has them, since it must be able to go on: it is the
    beginning of every longer one.

    With `max_staleness` the async variants ignore older gradients, as Ringmaster ASGD and Rennala SGD do:
    these count for no update, and their learners begin again with the current model. `ignored` tells when.

    With `detail=False` only the times are computed, often much faster, because fewer random numbers decide
    them: the K-th of P needs two draws instead of P. So the same seed then gives another race of the same
    law, unless `common=True`, which gives the same times with and without detail.

    >>> simulate("K-async", P=8, K=2, delay=Exponential(), updates=1000, replicas=100, seed=0)
    Race(K-async, P=8, K=2: 100 replicas of 1000 updates)
    >>> simulate("K-async", P=8, K=2, delay=Exponential(), until=60)
    Race(K-async, P=8, K=2: 1 replicas of 234 updates)
    """
    variant, P, K = variant_P_K(variant, P, K)
    limit = staleness_limit(variant, max_staleness)
    law = law_of_learners(delay, P)
    if (updates is None) == (until is None):
        raise ValueError("simulate needs either updates or until: how many updates, or until when.")
    R, workers, root = count("replicas", replicas), count("threads", threads), seed_sequence(seed)
    shows = flag("progress", progress)

    def race_of(J: int, common: bool) -> Race:
        plan = _Plan(P, K, J, law, bool(detail), common, limit, "batch" in variant)
        time, learner, staleness, pushed, ignored = _simulated(variant, plan, R, root, workers, shows)
        for part in (time, learner, staleness, pushed, ignored):
            sealed(part)
        if not np.isfinite(time[:, -1]).all():
            raise ValueError(f"the times of {delay!r} are too large: their sum is no longer a finite number.")
        return Race(variant, P, K, time, learner, staleness, pushed, 1, delay, limit, ignored)

    if until is None:
        return race_of(count("updates", updates), bool(common))
    return _until(real("until", until, above=0), lambda J: race_of(J, common=True))


def _until(t: float, race_of: Callable[[int], Race]) -> Race:
    """The race up to the first update at or after t in all replicas, given the races of any length."""
    J = 16
    while (reached := float((race := race_of(J)).time[:, -1].min())) < t:
        if reached == 0 and J >= STILL:
            raise ValueError(f"no time passes in {J} updates, so that none reaches until = {t:g}.")
        need = math.ceil(min(1.2 * J * t / reached, 1e18)) + 4 if reached > 0 else STILL
        if J >= STILL:  # by now the pace is known well enough to say what cannot be
            must_fit(f"about {need} updates until {t:g}", 8 * len(race.time) * need, "ask for less time")
        J = min(need, 64 * J)  # before that it is a guess
    return race.first(int(race.updates_before(t).max()) + 1)


def _simulated(
    variant: str, plan: "_Plan", R: int, root: np.random.SeedSequence, workers: int, progress: bool
) -> "_Block":
    """R replicas, in blocks that do not depend on the number of workers."""
    kernel, numbers = _kernel_of(variant, plan)
    rows = max(1, min(R, (STREAMS if plan.common else 1) * BLOCK // numbers))
    gaps_alone = isinstance(kernel, partial)  # no learner is followed, however many there are
    _check_memory(variant, plan, R, 0 if gaps_alone else rows * workers)
    record = _empty_record(plan, R)

    def stream(number: int) -> np.random.SeedSequence:  # as root.spawn makes them, but not all at once
        return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, number))

    def play(number: int) -> None:
        begin, end = number * rows, min((number + 1) * rows, R)
        source: Source  # made here, so that its streams live no longer than the block
        if plan.common:
            source = CommonTimes(plan.law, plan.P, [stream(r) for r in range(begin, end)])
        else:
            source = FreshTimes(plan.law, np.random.default_rng(stream(number)), AHEAD)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by whoever asked
            kernel(plan, source, tick, record.of(slice(begin, end)))

    stopped = Event()

    def tick(updates: int) -> None:
        if stopped.is_set():
            raise _Stopped
        bar.update(updates)

    with tqdm(total=R * plan.J, unit=" updates", disable=not progress) as bar:
        _in_threads(play, math.ceil(R / rows), workers, stopped)
    return record


class _Plan(NamedTuple):
    """What every kernel needs to know."""

    P: int
    K: int
    J: int
    law: DelayLaw | PerLearner
    detail: bool
    common: bool
    limit: int | None  # of staleness
    batch: bool  # whether a learner goes on at once after a push


class _Block(NamedTuple):
    """Where a kernel writes what happens: all replicas of a race, or a block of them."""

    time: FloatArray  # (rows, J)
    learner: IntArray | None = None  # (rows, J, K), None without detail as the next ones
    staleness: IntArray | None = None  # (rows, J, K), 0 to begin with
    pushed: FloatArray | None = None  # (rows, J, K)
    ignored: FloatArray | None = None  # (rows, J, P), -1 to begin with; None without a limit

    def of(self, rows: slice) -> "_Block":
        """Some replicas."""
        parts: Any = (None if part is None else part[rows] for part in self)
        return _Block(*parts)


def _empty_record(plan: _Plan, R: int) -> _Block:
    time, shape = np.empty((R, plan.J)), (R, plan.J, plan.K)
    if not plan.detail:
        return _Block(time)
    ignored = None if plan.limit is None else np.full((R, plan.J, plan.P), -1.0)
    return _Block(time, np.empty(shape, np.int32), np.zeros(shape, np.int32), np.empty(shape), ignored)


_Tick = Callable[[int], object]  # called with the number of updates just simulated
_Kernel = Callable[[_Plan, Source, _Tick, _Block], None]


class _Stopped(Exception):  # noqa: N818 - no error, but the way out of a thread
    """Nobody wants this block any more."""


def _in_threads(play: Callable[[int], None], number: int, threads: int, stopped: Event) -> None:
    """All blocks. An interrupt, or a block that fails, stops those that run and drops the rest."""
    if threads == 1:  # at home, where an interrupt arrives at once
        for n in range(number):
            play(n)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        list(pool.map(play, range(number)))
    except BaseException:
        stopped.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _check_memory(variant: str, plan: _Plan, replicas: int, rows: int) -> None:
    """Refuse a race that no machine could hold: its record, and what its learners need on the way."""
    P, K, J = plan.P, plan.K, plan.J
    limited = plan.limit is not None
    record = replicas * J * (1 + (2 * K + P * limited) * plan.detail)
    on_the_way = 4 * P + 2 * K  # finish times, who comes first, fresh draws
    if plan.common:  # streams are kept to the end
        on_the_way += P * J if variant.endswith("-sync") else (K + P * limited) * J
    must_fit(
        f"{replicas} replicas of {J} updates by {P} learners",
        8 * (record + rows * on_the_way),
        "ask for fewer" + (", or for detail=False" if plan.detail else ""),
    )


def _kernel_of(variant: str, plan: _Plan) -> tuple[_Kernel, int]:
    """The kernel for this race, and how many numbers it holds at a time for each replica.

    The block size follows from these numbers alone, so the random streams do not depend on the machine.
    """
    P, K, J = plan.P, plan.K, plan.J
    if plan.limit is not None:
        return _async_with_limit, P + K * J
    gaps = None if plan.detail or plan.common else _gaps_of(variant, plan)
    if gaps is not None:
        return partial(_independent_gaps, gaps), J
    if variant == "K-sync" or (variant == "K-batch-sync" and K == 1):
        return _rounds_in_step if plan.common else _rounds_apart, P * J
    if variant == "K-batch-sync":
        return _batch_rounds_in_turn if plan.common else _rounds_apart, (P + K) * J
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


def _independent_gaps(gaps: _Gaps, plan: _Plan, source: Source, tick: _Tick, out: _Block) -> None:
    """Races without detail whose updates are a renewal process."""
    assert isinstance(source, FreshTimes)
    step = max(1, BLOCK // len(out.time))
    for a in range(0, plan.J, step):
        piece = out.time[:, a : a + step]
        piece[:] = gaps(source.rng, piece.shape)
        tick(piece.size)
    np.cumsum(out.time, axis=1, out=out.time)


def _rounds_in_step(plan: _Plan, source: Source, tick: _Tick, out: _Block) -> None:
    """K-sync on common streams: in round j everybody starts the j-th mini-batch, so times are known at once.

    A round begins when the one before has ended. The end needs no order among those before it: adding the
    begin rounds all times of a round alike, so that the K-th remains the K-th.
    """
    assert isinstance(source, CommonTimes)
    (rows, J), P, K = out.time.shape, plan.P, plan.K
    step = max(1, BLOCK // (rows * P))
    begin = np.zeros((rows, 1))
    for a in range(0, J, step):
        some = slice(a, min(a + step, J))
        taken = source.rounds(a, some.stop - a)  # (rows, rounds, P)
        clock = np.concatenate([begin, np.partition(taken, K - 1, axis=2)[:, :, K - 1]], axis=1)
        np.cumsum(clock, axis=1, out=clock)
        out.time[:, some], begin = clock[:, 1:], clock[:, -1:]
        if out.learner is not None and out.pushed is not None:
            who, times = first_columns((taken + clock[:, :-1, None]).reshape(-1, P), K)
            out.learner[:, some], out.pushed[:, some] = who.reshape(rows, -1, K), times.reshape(rows, -1, K)
        tick(rows * (some.stop - a))


def _rounds_apart(plan: _Plan, source: Source, tick: _Tick, out: _Block) -> None:
    """Sync variants on fresh times: rounds are independent, so many at once, each on a clock of its own."""
    (rows, J), P, K = out.time.shape, plan.P, plan.K
    round_ = _batch_round if plan.batch and K > 1 else _round
    width = 1 if out.pushed is None else K  # without detail only the last push of a round is kept
    pushed = np.empty((rows, J, 1)) if out.pushed is None else out.pushed
    flat = pushed.reshape(rows * J, width)
    step = max(1, BLOCK // max(P, 2 * K))
    for a in range(0, rows * J, step):
        some = slice(a, min(a + step, rows * J))
        times, who = round_(plan, _finish(some.stop - a, P, source), source)
        flat[some] = times[:, -width:]
        if out.learner is not None and who is not None:
            out.learner.reshape(rows * J, K)[some] = who
        tick(some.stop - a)
    np.cumsum(pushed[:, :, -1], axis=1, out=out.time)
    pushed[:, 1:] += out.time[:, :-1, None]


def _batch_rounds_in_turn(plan: _Plan, source: Source, tick: _Tick, out: _Block) -> None:
    """K-batch-sync on common streams, which tie a round to the one before."""
    rows, J = out.time.shape
    now = np.zeros((rows, 1))
    for j in range(J):
        times, who = _batch_round(plan, _finish(rows, plan.P, source) + now, source)
        now = times[:, -1:]
        out.time[:, j] = now[:, 0]
        if out.learner is not None and out.pushed is not None and who is not None:
            out.learner[:, j], out.pushed[:, j] = who, times
        tick(rows)


def _round(plan: _Plan, finish: FloatArray, source: Source) -> tuple[FloatArray, Learners | None]:
    """K-sync: when the first K of P learners push, the last in the last column, and who, if asked."""
    if not plan.detail:
        finish.partition(plan.K - 1, axis=1)
        return finish[:, : plan.K], None
    who, pushed = first_columns(finish, plan.K)
    return pushed, who


def _batch_round(plan: _Plan, finish: FloatArray, source: Source) -> tuple[FloatArray, Learners | None]:
    """K-batch-sync: the first K mini-batches of P learners that go on at once after a push."""
    if not (plan.detail or source.tells_learners_apart):
        return first_completion_times(finish, plan.K, source), None
    return next_completions(finish, plan.K, source)


def _finish(rows: int, P: int, source: Source) -> FloatArray:
    """When everybody finishes who begins a mini-batch at time 0, (rows, P)."""
    return np.ascontiguousarray(source.begin(begins(rows, 1), everyone(rows, P)))


def _async(plan: _Plan, source: Source, tick: _Tick, out: _Block) -> None:
    """K-async: the K first learners wait for the update and pull it; the others go on with what they have."""
    (rows, J), P, K = out.time.shape, plan.P, plan.K
    if rows * K <= (FEW if plan.detail or source.tells_learners_apart else FEW // 3):
        for row in range(rows):
            _async_by_heap(plan, row, source, tick, out.of(slice(row, row + 1)))
        return
    finish = _finish(rows, P, source)
    if not (plan.detail or source.tells_learners_apart):  # learners are alike: no need to know who is who
        for j in range(J):
            finish.partition(K - 1, axis=1)
            out.time[:, j] = finish[:, K - 1]
            finish[:, :K] = source.times(finish[:, :K])[..., 0] + out.time[:, j, None]
            tick(rows)
        return
    step = max(1, PIECE // (rows * K))  # updates that are written down at a time, while still in the cache
    places, pushes = np.empty((step, rows, K), np.intp), np.empty((step, rows, K))
    for a in range(0, J, step):
        n = min(step, J - a)
        times = source.times(everyone(n * rows, K)).reshape(n, rows, K) if source.in_one_call else None
        for j in range(n):
            places[j], pushes[j] = first_places(finish, K)
            who = places[j] - begins(rows, P) if times is None else None
            taken = source.begin(begins(rows, 1), who) if times is None else times[j]
            finish.reshape(-1)[places[j]] = taken + pushes[j, :, -1:]
        tick(rows * n)
        out.time[:, a : a + n] = pushes[:n, :, -1].T
        if out.learner is not None and out.pushed is not None:
            out.learner[:, a : a + n] = (places[:n] - begins(rows, P)).transpose(1, 0, 2)
            out.pushed[:, a : a + n] = pushes[:n].transpose(1, 0, 2)
    if out.learner is not None and out.staleness is not None and K < P:  # else nobody is ever stale
        update = np.repeat(np.arange(J, dtype=np.int32), K)
        version = np.zeros((rows, P), np.int32)
        staleness = staleness_of(out.learner.reshape(rows, -1), update, update + 1, version)
        out.staleness[:] = staleness.reshape(rows, J, K)


def _async_by_heap(plan: _Plan, row: int, source: Source, tick: _Tick, out: _Block) -> None:
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
    out.time[:] = pushed[K - 1 :: K]
    if out.learner is not None and out.staleness is not None and out.pushed is not None:
        out.learner.reshape(-1)[:], out.staleness.reshape(-1)[:] = who, staleness
        out.pushed.reshape(-1)[:] = pushed


def _async_with_limit(plan: _Plan, source: Source, tick: _Tick, out: _Block) -> None:
    """Async variants that ignore gradients of a larger staleness: the next push of every replica, in turns.

    Replicas ignore different pushes, so each is at its own update; all go on until the last one is done.
    """
    (rows, J), P, K = out.time.shape, plan.P, plan.K
    finish, limit = _finish(rows, P, source), cast(int, plan.limit)
    version, idle = np.zeros((rows, P), np.intp), np.zeros((rows, P), bool)
    row, used, updates = np.arange(rows), np.zeros(rows, np.intp), 0  # pushes of each, updates of all
    log = []
    while updates < J:
        who = finish.argmin(axis=1)
        place = row * P + who
        now, stale = finish.reshape(-1).take(place), used // K - version.reshape(-1).take(place)
        counts = stale <= limit
        log.append((used, who, now, stale, counts))
        used = used + counts
        if plan.batch:  # whoever pushes goes on at once
            finish.reshape(-1)[place] = now + source.begin(row, who)
            version.reshape(-1)[place] = used // K
        else:
            finish[row, who], idle[row, who] = np.inf, counts
            starts = idle & (counts & (used % K == 0))[:, None]
            starts[row, who] |= ~counts
            n, again = np.nonzero(starts)
            finish[starts], version[starts] = now[n] + source.begin(n, again), (used // K)[n]
            idle &= ~starts
        before, updates = updates, min(int(used.min()) // K, J)
        tick(rows * (updates - before))
    number, who, now, stale, counts = (np.array(part) for part in zip(*log, strict=True))  # (pushes, rows)
    n, r = np.nonzero(counts & (number < J * K))
    j, k = np.divmod(number[n, r], K)
    out.time[r, j] = now[n, r]  # of the pushes of an update the last one stays
    _, learner, staleness, pushed, ignored = out
    if learner is not None and staleness is not None and pushed is not None and ignored is not None:
        learner[r, j, k], staleness[r, j, k], pushed[r, j, k] = who[n, r], stale[n, r], now[n, r]
        n, r = np.nonzero(~counts & (number < J * K))
        ignored[r, number[n, r] // K, who[n, r]] = now[n, r]


def _batch_async(plan: _Plan, source: Source, tick: _Tick, out: _Block) -> None:
    """K-batch-async: nobody ever waits, so the pushes are P renewal processes and every K-th is an update."""
    (rows, J), P, K = out.time.shape, plan.P, plan.K
    finish = _finish(rows, P, source)
    if not (plan.detail or source.tells_learners_apart) and J * K <= LONG:
        out.time[:] = in_order(first_completion_times(finish, J * K, source))[:, K - 1 :: K]
        tick(rows * J)
        return
    version = np.zeros((rows, P), np.int32)
    step = max(1, LONG // K)
    for a in range(0, J, step):
        some = slice(a, min(a + step, J))
        n = some.stop - a
        (pushed, learner), busy = first_completions(finish, n * K, source, resume=some.stop < J)
        if busy is not None:
            finish = busy
        source.start(learner)
        out.time[:, some] = pushed[:, K - 1 :: K]
        if out.learner is not None and out.staleness is not None and out.pushed is not None:
            push = np.arange(a * K, some.stop * K)
            used, pulled = (push // K).astype(np.int32), ((push + 1) // K).astype(np.int32)
            staleness = staleness_of(learner, used, pulled, version)
            out.learner[:, some], out.staleness[:, some], out.pushed[:, some] = (
                part.reshape(rows, n, K) for part in (learner, staleness, pushed)
            )
        tick(rows * n)


def _checked_K(variant: str, P: int, K: Any, shape: tuple[int, ...]) -> tuple[Any, int]:
    """K as a race keeps it, and the largest of them."""
    if not isinstance(K, np.ndarray) or K.ndim == 0:
        K = variant_P_K(variant, P, K)[2]
        return K, K
    if K.dtype.kind not in "iu" or K.shape != shape:
        raise ValueError(f"K must be one whole number, or one for each of {shape} updates; got {shown(K)}.")
    variant_P_K(variant, P, int(K.min()))
    return read_only(K), int(K.max())


def _checked_part(race: Race, name: str, shape: tuple[int, ...], top: float) -> Any:
    """What a race tells of its pushes, if it does; a K that varies leaves entries of -1."""
    part = getattr(race, name)
    if part is None:
        return None
    array, bottom = np.asarray(part), 0 if isinstance(race.K, int) else -1
    if array.dtype.kind not in ("f" if name == "pushed" else "iu") or array.shape != shape:
        kind = "times" if name == "pushed" else "whole numbers"
        raise ValueError(f"{name} must be {kind} of shape {shape}, one for each gradient; got {shown(part)}.")
    low, high = array.min(), array.max()
    if not bottom <= low <= high <= top or high == math.inf:
        raise ValueError(f"{name} must be between {bottom} and {top:g}; got {low:g} to {high:g}.")
    return read_only(array)


def _checked_ignored(race: Race, shape: tuple[int, ...]) -> Any:
    """When gradients were ignored, which a race with a limit of staleness tells if it tells of pushes."""
    if race.ignored is None and (race.max_staleness is None or race.pushed is None):
        return None
    given = np.asarray(race.ignored)
    fits = given.dtype.kind == "f" and given.shape == shape and bool((given < math.inf).all())
    if race.max_staleness is None or not fits:
        raise ValueError(
            f"ignored must be times of shape {shape}, one for each learner, of a race with max_staleness; "
            f"got {shown(race.ignored)}."
        )
    return read_only(given)


class _Begun(NamedTuple):
    """When mini-batches were started in a race that ignores some of them."""

    start: FloatArray  # (rows, J, K) those that were used
    late: FloatArray  # (rows, J, P) those that were ignored, where there are such
    late_version: NDArray[np.int64]  # (rows, J, P)
    last: FloatArray  # (rows, P) the last of every learner
    version: NDArray[np.int64]  # (rows, P)


def _begun(race: Race, some: slice = slice(None)) -> _Begun:
    """Follow every learner from push to push.

    In one update it is ignored at most once, and before it is used: then it has pulled the current version,
    and what it pushes next is fresh or belongs to a later update.
    """
    time, ignored = race.time[some], cast(FloatArray, race.ignored)[some]
    learner, pushed = cast(IntArray, race.learner)[some], cast(FloatArray, race.pushed)[some]
    R, J, K = learner.shape
    row, waits = np.arange(R), "batch" not in race.variant
    last, version = np.zeros((R, race.P)), np.zeros((R, race.P), np.int64)
    start, late = np.empty((R, J, K)), np.empty(ignored.shape)
    late_version = np.empty(ignored.shape, np.int64)
    for j in range(J):
        late[:, j], late_version[:, j] = last, version
        dropped = ignored[:, j] >= 0
        last, version = np.where(dropped, ignored[:, j], last), np.where(dropped, j, version)
        for k in range(K):
            who, completes = learner[:, j, k], waits or k == K - 1
            start[:, j, k] = last[row, who]
            last[row, who] = time[:, j] if completes else pushed[:, j, k]
            version[row, who] = j + completes
    return _Begun(start, late, late_version, last, version)


def _starts(race: Race, replica: int | None = None) -> FloatArray:
    """When the mini-batch of each gradient was started, (replicas, updates, K), or of one replica alone."""
    some = slice(None) if replica is None else slice(replica, replica + 1)
    time, pushed = race.time[some], cast(FloatArray, race.pushed)[some]
    R, J, K = pushed.shape
    begin = np.concatenate([np.zeros((R, 1)), time], axis=1)  # (R, J + 1) when each version came
    if "batch" not in race.variant:  # every learner starts when its version comes
        version = np.arange(J)[:, None] - cast(IntArray, race.staleness)[some]
        if version.min() < 0:
            raise ValueError("staleness must be at most j in update j: no gradient is older than the race.")
        return np.take_along_axis(begin, version.reshape(R, J * K), 1).reshape(R, J, K)
    # In a batch a learner goes on after its last push; the one that completes the batch, after the update.
    again = pushed.copy()
    again[:, :, -1] = time
    rounds = (R, J, K) if race.variant.endswith("-sync") else (R, 1, J * K)
    order, _, first = by_learner(cast(IntArray, race.learner)[some].reshape(rounds))
    grouped = np.take_along_axis(again.reshape(rounds), order, -1)
    grouped[..., 1:] = grouped[..., :-1].copy()
    np.copyto(grouped, begin[:, : rounds[1], None], where=first)
    start = np.empty(rounds)
    np.put_along_axis(start, order, grouped, -1)
    return start.reshape(R, J, K)


class _Pieces(NamedTuple):
    """Mini-batches, each with its place among those of its learner."""

    learner: Any
    start: Any
    end: Any
    version: Any
    fate: Any
    place: Any


def _cancelled(race: Race, r: int) -> _Pieces:
    """Sync: whoever has not pushed, or goes on after a push, is cancelled by the update."""
    time, learner, pushed = race.time[r], cast(IntArray, race.learner)[r], cast(FloatArray, race.pushed)[r]
    J, K = learner.shape
    update = np.arange(J)[:, None]
    since = np.repeat(np.append(0.0, time[:-1])[:, None], race.P, axis=1)  # (updates, P)
    waits = learner
    if "batch" in race.variant:
        since[update, learner] = pushed  # of several pushes of a learner the last one counts
        waits = learner[:, -1:]
    at_work = np.ones(since.shape, bool)
    at_work[update, waits] = False
    j, who = np.nonzero(at_work)
    fate = np.full(j.size, "cancelled")
    return _Pieces(who, since[at_work], time[j], j, fate, j * (K + 1) + K)


def _running(race: Race, r: int) -> _Pieces:
    """Async: whoever started before the last update, and has not pushed since, is still at work."""
    time, learner, pushed = race.time[r], cast(IntArray, race.learner)[r], cast(FloatArray, race.pushed)[r]
    J, K = learner.shape
    completes = np.ones((J, K), bool)
    if "batch" in race.variant:
        completes[:, :-1] = False
    since, version = np.zeros(race.P), np.zeros(race.P, np.int64)
    # Of several pushes of a learner the last one counts.
    since[learner.ravel()] = np.where(completes, time[:, None], pushed).ravel()
    version[learner.ravel()] = (np.arange(J)[:, None] + completes).ravel()
    who = np.flatnonzero(since < time[-1])
    end, fate = np.full(who.size, time[-1]), np.full(who.size, "running")
    return _Pieces(who, since[who], end, version[who], fate, np.full(who.size, J * (K + 1)))


def _ignored_and_running(race: Race, r: int, begun: _Begun) -> _Pieces:
    """Async with a limit: what was too stale, and what is still at work."""
    end, ignored = race.time[r, -1], cast(FloatArray, race.ignored)[r]
    J, K = ignored.shape[0], cast(int, race.K)
    j, late = np.nonzero(ignored >= 0)
    still = np.flatnonzero(begun.last[0] < end)
    return _Pieces(
        np.append(late, still),
        np.append(begun.late[0, j, late], begun.last[0, still]),
        np.append(ignored[j, late], np.full(still.size, end)),
        np.append(begun.late_version[0, j, late], begun.version[0, still]),
        np.repeat(["ignored", "running"], [j.size, still.size]),
        np.append(j * (K + 1) - 0.5, np.full(still.size, J * (K + 1.0))),  # before what is used in update j
    )
