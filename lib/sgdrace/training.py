"""What the loss does: real SGD along the updates of a race.

Knows a problem and a race that has been run; nothing of how delays came about. The race says which past
version each gradient was computed with, so training replays it against a ring of past weights, all replicas
at once. Weights and gradients are arrays of a device, NumPy's or a GPU's; whatever else there is stays here.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm.auto import tqdm

from sgdrace import _memory, problems
from sgdrace._arguments import (
    FloatArray,
    Seed,
    count,
    described,
    flag,
    real,
    reals,
    sealed,
    seed_sequence,
    shown,
    store,
)
from sgdrace._arrays import HOST, Arrays
from sgdrace._prepared import PreparedUpdates, QuadraticUpdates
from sgdrace._records import Record, read_only
from sgdrace.gpu.devices import arrays_for
from sgdrace.learning_rates import (
    ConstantRate,
    LearningRate,
    SideBySide,
    Update,
    as_learning_rate,
    checked_steps,
)
from sgdrace.problems import Problem, Workspace, as_problem
from sgdrace.problems.blocks import PIECE
from sgdrace.race import Race
from sgdrace.variants import staleness_limit, variant_P_K

# A replica has diverged when ||w|| exceeds this many times max(1, ||w_0||), or its loss is not finite.
DIVERGED = 1e12

# Past weights may take at most so many bytes (2 GiB).
RING_LIMIT = 2**31

COLUMN = 112  # bytes of an array besides its numbers
GRADIENTS = 4  # arrays as large as all gradients of an update that are needed at a time

# What a training holds a row of for each replica.
BY_REPLICA = (
    "time",
    "loss",
    "weights",
    "diverged",
    "rate",
    "distance_square",
    "gradient_square",
    "gradient_gap_square",
)
Columns = dict[str, NDArray[Any] | None]

# Keeps the noise of training apart from the delays of a race that was given the same seed.
STREAM = 0xFFFFF5D6  # far above the number of any replica or block


@dataclass(frozen=True, eq=False)
class Band(Record):
    """The loss over replicas as time goes by: its mean, and between which two values most of them lie."""

    times: FloatArray  # (times,), as the others
    mean: FloatArray
    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        store(self, **{field.name: read_only(getattr(self, field.name)) for field in fields(self)})


@dataclass(frozen=True, repr=False, eq=False)
class Training(Record):
    """The losses of one run of SGD on every replica of a race, and what was trained how.

    A record is made of w_0 at time 0, then every few updates, and of the final weights. A replica that
    diverges is frozen: its later losses are +inf, and `diverged` tells after how many updates that was.
    Arrays cannot be written to. Two runs are equal if everything in them is. A problem with data of its own
    is not saved with a run: `dataclasses.replace(run, problem=problem)` puts it back.

    >>> import tempfile
    >>> from sgdrace import Exponential, Quadratic, simulate
    >>> run = train(Quadratic(), simulate("K-async", P=8, K=2, delay=Exponential(), updates=200))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/run.npz")
    ...     Training.load(f"{folder}/run.npz") == run
    True
    """

    problem: Problem | None  # None, as the next but K and P, where nobody knows any more
    variant: str
    P: int
    K: int | NDArray[Any]  # as in the race: one number, or (replicas, updates)
    law: Any | None  # of the times of mini-batches
    learning_rate: LearningRate | None
    updates: NDArray[np.int64]  # (records,) number of updates applied so far
    time: FloatArray  # (replicas, records)
    loss: FloatArray  # (replicas, records)
    weights: FloatArray  # (replicas, d) final; of a diverged replica the last ones before
    diverged: NDArray[np.int64]  # (replicas,) updates after which it had diverged, or -1
    rate: FloatArray | None = None  # (replicas, updates) mean step over the K gradients; None if constant
    distance_square: FloatArray | None = None  # (replicas, updates) mean over K, if the schedule needs it
    gradient_square: FloatArray | None = None  # (replicas, records - 1) ||∇F(w_j)||²
    gradient_gap_square: FloatArray | None = (
        None  # (replicas, records - 1) mean over K of ||∇F(w_j)-∇F(w_τ)||²
    )
    max_staleness: int | None = None  # above which the race ignored a gradient
    device: str = "cpu"  # where it was trained: "cpu", or the name of the GPU
    dtype: str = "float64"  # the precision of weights and gradients

    def __post_init__(self) -> None:
        if self.problem is not None:
            as_problem(self.problem)
        if self.learning_rate is not None:
            store(self, learning_rate=as_learning_rate(self.learning_rate))
        updates = _numbers("updates", self.updates, (None,), "iu")
        if updates[0] != 0 or (np.diff(updates) <= 0).any():
            raise ValueError(f"updates must grow from 0, one number for each record; got {shown(updates)}.")
        time = _numbers("time", self.time, (None, updates.size))
        if not (np.isfinite(time).all() and (time >= 0).all() and (np.diff(time, axis=1) >= 0).all()):
            raise ValueError(f"time must be finite, at least 0 and never fall; got {shown(time)}.")
        replicas, last = len(time), int(updates[-1])
        by_update, by_start = (replicas, last), (replicas, updates.size - 1)
        optional = {
            name: None if getattr(self, name) is None else _numbers(name, getattr(self, name), shape)
            for name, shape in {
                "rate": by_update,
                "distance_square": by_update,
                "gradient_square": by_start,
                "gradient_gap_square": by_start,
            }.items()
        }
        store(
            self,
            updates=updates,
            time=time,
            loss=_numbers("loss", self.loss, time.shape),
            weights=_numbers("weights", self.weights, (replicas, getattr(self.problem, "dimension", None))),
            diverged=_numbers("diverged", self.diverged, (replicas,), "iu"),
            **optional,
        )
        K = _numbers("K", self.K, by_update, "iu") if np.ndim(self.K) else self.K
        smallest, largest = (K.min(), K.max()) if isinstance(K, np.ndarray) else (K, K)
        variant, P, _ = variant_P_K(self.variant, self.P, smallest)
        _, _, largest = variant_P_K(variant, P, largest)
        store(self, variant=variant, P=P, K=K if isinstance(K, np.ndarray) else largest)
        store(self, max_staleness=staleness_limit(variant, self.max_staleness))

    def __repr__(self) -> str:
        lost = int((self.diverged >= 0).sum())
        final = self.loss[self.diverged < 0, -1]
        words = [f"{len(self.loss)} replicas", f"{self.updates[-1]} updates"]
        if final.size:
            words.append(f"mean final loss {final.mean():.3g}")
        if lost:
            words.append(f"{lost} diverged")
        K = self.K if isinstance(self.K, int) else "varying"
        limit = "" if self.max_staleness is None else f", max_staleness={self.max_staleness}"
        if (self.device, self.dtype) != ("cpu", "float64"):
            words.append(f"{self.dtype} on {self.device}")
        return f"Training({self.variant}, P={self.P}, K={K}{limit}: {', '.join(words)})"

    @property
    def end(self) -> float:
        """The time at which the first replica ends: up to here all of them can be compared."""
        return float(self.time[:, -1].min())

    def at(self, times: ArrayLike) -> FloatArray:
        """The loss that each replica had at given wallclock times, (replicas, times).

        It is the loss of the last record up to that time, so record often (`every=1` is exact). After its
        last update nothing is known of a replica: times must not exceed `end`.

        >>> from sgdrace.delays import Constant
        >>> from sgdrace.problems import Quadratic
        >>> from sgdrace.race import simulate
        >>> race = simulate("K-sync", P=2, K=2, delay=Constant(1.0), updates=3)
        >>> run = train(Quadratic(sigma2=0.0), race, learning_rate=0.5)
        >>> run.at([0.0, 1.5, 3.0])
        array([[0.5      , 0.125    , 0.0078125]])
        """
        asked = reals("times", times, above=0, closed=True)
        if asked.max() > self.end:
            raise ValueError(
                f"times must be between 0 and {self.end:g}, when the first replica ends; got {asked.max():g}."
            )
        losses = np.empty((len(self.loss), asked.size))
        for r, clock in enumerate(self.time):
            losses[r] = self.loss[r, np.searchsorted(clock, asked, side="right") - 1]
        return losses

    def band(self, times: ArrayLike | None = None, low: float = 0.1, high: float = 0.9) -> Band:
        """Mean and quantiles over replicas of the loss at given wallclock times, as `at` knows it.

        Without times it is the band of the records, which compares replicas after as many `updates`; its
        times are then the means of when that was. A replica that has diverged counts with its loss of +inf,
        for leaving it out would flatter the rest: the mean is +inf from then on, and a quantile once too few
        replicas are left below it.

        >>> from sgdrace import Exponential, Quadratic, simulate
        >>> race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=200, replicas=50, seed=0)
        >>> run = train(Quadratic(start=3.0), race, 0.1, every=1)
        >>> band = run.band([0.0, 2.0, 20.0])
        >>> band.mean.round(2), bool((band.low <= band.high).all())
        (array([4.5 , 0.78, 0.02]), True)
        >>> run.band().mean.shape == run.updates.shape
        True
        """
        low = real("low", low, above=0, below=1, closed=True)
        high = real("high", high, above=low, below=1, closed=True)
        if times is None:
            losses, clock = self.loss, self.time.mean(axis=0)
        else:
            losses, clock = self.at(times), reals("times", times).copy()
        edges = [_quantile(losses, share) for share in (low, high)]
        return Band(clock, losses.mean(axis=0), *edges)

    def time_to_reach(self, loss: float) -> FloatArray:
        """When each replica was first recorded with at most this loss, (replicas,); +inf if it never was.

        Only records count: if every n-th update was recorded the time is up to n - 1 updates late, and a
        dip between two records goes unseen. `every=1` is exact. Noise may lift the loss again later.

        >>> from sgdrace import Constant, Quadratic, simulate
        >>> race = simulate("K-sync", P=2, K=2, delay=Constant(1.0), updates=3)
        >>> run = train(Quadratic(sigma2=0.0), race, learning_rate=0.5)
        >>> run.loss
        array([[0.5      , 0.125    , 0.03125  , 0.0078125]])
        >>> run.time_to_reach(0.1), run.time_to_reach(0.001)
        (array([2.]), array([inf]))
        """
        reached = self.loss <= real("loss", loss)
        first = self.time[np.arange(len(reached)), reached.argmax(axis=1)]
        return np.where(reached.any(axis=1), first, np.inf)

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """All records as columns of a table, one row for each: for a data frame of pandas or polars.

        Gradients, where they were recorded, are missing (NaN) of the final weights.

        >>> from sgdrace import Constant, Quadratic, simulate
        >>> race = simulate("K-sync", P=2, K=2, delay=Constant(1.0), updates=2)
        >>> run = train(Quadratic(sigma2=0.0), race, learning_rate=0.5)
        >>> {name: column.tolist() for name, column in run.to_columns().items()}
        {'replica': [0, 0, 0], 'updates': [0, 1, 2], 'time': [0.0, 1.0, 2.0], 'loss': [0.5, 0.125, 0.03125]}
        """
        replicas, records = self.loss.shape
        columns: dict[str, NDArray[Any]] = {
            "replica": np.repeat(np.arange(replicas), records),
            "updates": np.tile(self.updates, replicas),
            "time": self.time.flatten(),
            "loss": self.loss.flatten(),
        }
        for name in ("gradient_square", "gradient_gap_square"):
            if (values := getattr(self, name)) is not None:
                columns[name] = np.pad(values, ((0, 0), (0, 1)), constant_values=np.nan).ravel()
        return columns


def train(
    problem: Problem,
    race: Race,
    learning_rate: float | LearningRate = 0.1,
    seed: Seed = 0,
    every: int | None = None,
    gradients: bool = False,
    progress: bool = False,
    device: str | Arrays = "cpu",
    dtype: str = "float64",
) -> Training:
    """Run SGD along a race: w_{j+1} = w_j - (1/K) Σ_l η_l g(w_τ(l,j)) for every update j and every replica.

    The loss is recorded `every` so many updates, by default about a hundred times. With `gradients` each
    record but the last, from which no update starts, also holds ||∇F(w_j)||² and how far from ∇F(w_j) the
    gradients of the K stale versions are. The same seed gives the same run.

    `device` is "cpu", "gpu" or "auto", which takes a GPU where there is one that can train this; the result
    says where it was. `dtype` is "float64" or "float32". Mini-batches are drawn here whatever the device, so
    runs on different devices agree replica by replica, up to rounding.

    >>> from sgdrace.delays import Exponential
    >>> from sgdrace.problems import Quadratic
    >>> from sgdrace.race import simulate
    >>> race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=200, replicas=10, seed=0)
    >>> run = train(Quadratic([0.1, 1.0], sigma2=0.01), race, learning_rate=0.2, every=50)
    >>> run.updates
    array([  0,  50, 100, 150, 200])
    >>> run.loss.shape, bool(run.loss[:, -1].mean() < 0.01)
    ((10, 5), True)
    >>> train(Quadratic(), race, dtype="float32")
    Training(K-async, P=8, K=2: 10 replicas, 200 updates, mean final loss 0.0153, float32 on cpu)
    """
    problem = as_problem(problem)
    _check(race)
    replicas, updates = race.time.shape
    every = -(-updates // 100) if every is None else count("every", every)
    schedule, root = as_learning_rate(learning_rate), seed_sequence(seed)
    gradients, progress = flag("gradients", gradients), flag("progress", progress)
    on = arrays_for(problem, device, dtype)
    depth = 1 if race.staleness is None else int(race.staleness.max()) + 1
    parts = _parts(problem, replicas, depth, int(np.max(race.K)), on)
    if len(parts) > 1 and isinstance(schedule, SideBySide):
        raise ValueError(
            f"schedules side by side need all {replicas} replicas at once, which the memory of {on.name} "
            f"does not hold; use fewer replicas, or train with one schedule at a time."
        )
    columns: list[Columns] = []
    with tqdm(total=updates * len(parts), unit=" updates", disable=not progress) as bar:
        for part in parts:
            replay = Replay(problem, part.stop - part.start, depth, schedule, root, on)
            records = Records(replay, gradients, every)
            records.must_hold(updates, int(np.max(race.K)))
            staleness_of, drawn_of = _staleness_of(race, part), _drawn_of(race, part)
            prepared = replay.prepared(race)
            while (j := replay.version) < updates:
                if prepared is not None and (made := prepared.stretch()):
                    records.add_past(race, range(-(-j // every) * every, j + made, every))
                    bar.update(made)
                    continue
                if j % every == 0:
                    begun = race.time[part, j - 1] if j else np.zeros(part.stop - part.start)
                    records.add(begun, staleness_of(j))  # (replicas of the part, K)
                if prepared is None or not prepared.update():
                    choice = None if prepared is None else prepared.choice
                    replay.update(staleness_of(j), drawn_of(j), choice)
                bar.update()
            records.add(race.time[part, -1])
            columns.append(records.columns())
    return records.training(race.variant, race.P, race.K, race.law, race.max_staleness, columns)


def train_each(
    problem: Problem,
    race: Race,
    learning_rates: Mapping[Any, Any],
    seed: Seed = 0,
    every: int | None = None,
    gradients: bool = False,
    progress: bool = False,
    device: str | Arrays = "cpu",
    dtype: str = "float64",
) -> dict[Any, Training]:
    """Train with several learning rates, each on an equal part of the replicas of one race.

    Many small trainings take longer than a large one. The parts have delays and noise of their own, so what
    differs by chance differs independently.

    >>> from sgdrace import Exponential, Quadratic, StalenessCompensating, simulate
    >>> race = simulate("K-async", P=8, K=1, delay=Exponential(), updates=200, replicas=40)
    >>> rates = {"fixed": 0.1, "braked": StalenessCompensating(0.01, 0.1)}
    >>> {name: run.loss.shape for name, run in train_each(Quadratic(), race, rates).items()}
    {'fixed': (20, 101), 'braked': (20, 101)}
    """
    if not isinstance(learning_rates, Mapping) or not learning_rates:
        raise TypeError(
            f"learning_rates must map names to one or more learning rates; got {shown(learning_rates)}."
        )
    schedules = SideBySide(tuple(learning_rates.values()))
    together = train(problem, race, schedules, seed, every, gradients, progress, device, dtype)
    size = len(together.loss) // len(learning_rates)
    return {
        name: _part(together, slice(number * size, (number + 1) * size), schedules.schedules[number])
        for number, name in enumerate(learning_rates)
    }


def _part(run: Training, part: slice, schedule: LearningRate) -> Training:
    """Some replicas of a training, with what a training of them alone would have recorded."""
    arrays = {name: getattr(run, name) for name in BY_REPLICA}
    found: dict[str, Any] = {name: None if one is None else one[part] for name, one in arrays.items()}
    if type(schedule) is ConstantRate:
        found["rate"] = None
    if not schedule.needs_distance:
        found["distance_square"] = None
    K = run.K[part] if isinstance(run.K, np.ndarray) else run.K
    return replace(run, K=K, learning_rate=schedule, **found)


class Replay:
    """The models of all replicas, with as many past versions as stale gradients need."""

    def __init__(
        self,
        problem: Problem,
        replicas: int,
        depth: int,
        learning_rate: LearningRate,
        seed: Seed,
        on: Arrays = HOST,
    ) -> None:
        self.problem: Any = problem
        self.learning_rate = learning_rate
        self.constant = type(learning_rate) is ConstantRate  # not one that somebody has made to vary
        root = seed_sequence(seed)
        self.rng = np.random.default_rng(
            np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, STREAM))
        )
        self.on, self.xp, self.work = on, on.xp, Workspace(on)
        # Somebody's own problem may not have heard of workspaces for losses, and gets NumPy's arrays only.
        known = type(problem).__module__.startswith(problems.__name__)
        self.with_work = {"work": self.work} if known or not on.plain else {}
        self.version = 0
        start = np.asarray(problem.start, dtype=np.float64)
        # (depth, replicas, d)
        self.ring = self.xp.broadcast_to(on.floats(start), (1, replicas, problem.dimension))
        self.reserve(depth)
        self.replica = np.arange(replicas)[:, None]  # (replicas, 1)
        self._diverged = on.whole(np.full(replicas, -1, np.int64))  # (replicas,)
        with np.errstate(over="ignore"):
            limit = np.square(DIVERGED * max(1.0, float(np.linalg.norm(start))))
            self.limit = float(limit.astype(on.precision))
        self.sound = True  # as far as losses have told
        self._equal: Any = None  # shares of gradients that all have the same step
        self.rates: list[FloatArray] = []  # (replicas,) each
        self.distances: list[FloatArray] = []  # (replicas,) each

    @property
    def diverged(self) -> NDArray[np.int64]:
        """After how many updates each replica had diverged, or -1, (replicas,)."""
        return self.on.host(self._diverged)

    @property
    def weights(self) -> Any:
        """The current version, (replicas, d)."""
        return self.at(self.version)

    def at(self, version: Any) -> Any:
        """A version that is still there, (replicas, d), or several of them, (versions, replicas, d)."""
        return self.seen[version % self.seen.shape[0], ...]

    @property
    def table(self) -> Any:
        """All versions that are still there, (depth·replicas, d)."""
        return self.xp.reshape(self.seen, (-1, self.problem.dimension))

    def reserve(self, depth: int) -> None:
        """Make more room, for staleness up to depth - 1; versions that are still there stay."""
        old = self.ring
        length, replicas, d = old.shape
        size = depth * replicas * d * 8
        if size > RING_LIMIT and self.on.room == math.inf:
            raise ValueError(
                f"staleness up to {depth - 1} of {replicas} replicas with {d} weights needs "
                f"{size / 2**30:.1f} GiB of past weights, over the limit of {RING_LIMIT / 2**30:.0f} GiB; "
                f"use fewer replicas or updates."
            )
        # NaN where no version has been yet: reading one by mistake must not go unnoticed.
        self.ring = self.on.full((depth, replicas, d), math.nan)
        for version in range(max(0, self.version - length + 1), self.version + 1):
            self.ring[version % depth, ...] = old[version % length, ...]
        # What problems see, which may be of somebody's own.
        self.seen = sealed(self.ring.view()) if self.on.on_host else self.ring

    def grow(self, depth: int) -> None:
        """Like `reserve` where the final depth is unknown: with room to spare, so that it is rarely done."""
        if depth > len(self.ring):
            self.reserve(depth + depth // 2)

    def rows(self, staleness: NDArray[Any], version: Any) -> NDArray[np.intp]:
        """Where the table holds what each gradient of an update was taken at, of the shape of staleness.

        The update starts from a version, or there are several (versions,), each with staleness (replicas, K).
        """
        depth, replicas, _ = self.ring.shape
        begun = np.asarray(version)[..., None, None]
        row: NDArray[np.intp] = (begun - np.maximum(staleness, 0).astype(np.intp)) % depth
        row *= replicas
        row += self.replica
        return row

    def prepared(self, race: Race) -> PreparedUpdates | None:
        """The updates of a race of all these replicas with less ado, where there is one K and one step."""
        if not (isinstance(race.K, int) and self.constant and self.on.plain):
            return None
        eta = cast(ConstantRate, self.learning_rate).eta
        many = 2 * self.ring.nbytes < RING_LIMIT and QuadraticUpdates.suits(self, race.K)
        kind = QuadraticUpdates if many else PreparedUpdates
        return kind(self, eta, race.staleness, race.K, race.time.shape[1])

    def update(
        self,
        staleness: NDArray[Any],
        drawn: tuple[int, int] | None = None,
        choice: NDArray[Any] | None = None,
    ) -> None:
        """Apply one update to every replica, with gradients of this staleness (replicas, K); -1 is none.

        Where these are only a part of the replicas, `drawn` tells how many mini-batches the update draws for
        those before them, and for all. If they have been drawn already, they are the `choice`.
        """
        used = staleness >= 0
        # Nobody is left to train, so spare the arithmetic; to ask a GPU takes longer than that.
        if self.on.on_host and self._diverged.min() >= 0:
            self._advance(self.weights, 0.0, np.zeros(used.shape), used)
            return
        everywhere = bool(used.all())
        row = self.rows(staleness, self.version)  # (replicas, K); the current version for no gradient
        if choice is None:
            choice = self.draw(row.size if everywhere else int(used.sum()), drawn)
        # Overflow on the way to infinity is no accident here: `_frozen` reports it.
        with np.errstate(over="ignore", invalid="ignore"):
            distance = self._distance_square(row) if self.learning_rate.needs_distance else None
            steps = self._steps(staleness, distance, used)
            gradient = self.gradients(choice, row.ravel() if everywhere else row[used])
            each = gradient if everywhere else _spread(gradient, used, self.on)
            each = self.xp.reshape(each, (*used.shape, -1))  # (replicas, K, d)
            # (1/K) Σ_l η_l g_l as a product: twice as fast as a sum along the middle axis.
            change = self.xp.matmul(self._shares(steps, used, everywhere), each)[:, 0, :]
            weights = self._frozen(self.weights - change)
        self._advance(weights, steps, distance, used)

    def _steps(
        self, staleness: NDArray[Any], distance: FloatArray | None, used: NDArray[np.bool_]
    ) -> FloatArray | float:
        steps = self.learning_rate.steps(Update(self.version, staleness, distance))
        return steps if self.constant else checked_steps(self.learning_rate, steps, used)

    def _shares(self, steps: FloatArray | float, used: NDArray[np.bool_], everywhere: bool) -> Any:
        """η_l/K of each gradient, (replicas or 1, 1, K)."""
        K = used.shape[1]
        if everywhere and np.ndim(steps) == 0:
            if not self.constant or self._equal is None or self._equal.shape[2] != K:
                self._equal = self.on.full((1, 1, K), float(steps) / K)
            return self._equal
        if everywhere:
            share = np.broadcast_to(np.asarray(steps) / K, used.shape)
        else:
            share = np.broadcast_to(steps, used.shape) / used.sum(axis=1, keepdims=True)
        return self.on.floats(share)[:, None, :]

    def loss(self, which: Any = slice(None)) -> FloatArray:
        """F of the current version of all or some replicas, +inf where it has diverged."""
        with np.errstate(over="ignore", invalid="ignore"):
            weights = self.weights[which, ...]
            given = self._given("loss", self.problem.loss(weights, **self.with_work), weights.shape[:1])
            # A copy, because somebody's own loss may be a part of the weights.
            loss = self.on.host(given).copy()
        replica, diverged = self.replica[which, 0], self.diverged
        lost = ~np.isfinite(loss)
        diverged[replica[lost & (diverged[replica] < 0)]] = self.version
        self._diverged, self.sound = self.on.whole(diverged), bool(diverged.max() < 0)
        loss[diverged[replica] >= 0] = np.inf
        return loss

    def past_losses(self, version: NDArray[Any]) -> FloatArray:
        """F of versions that are still there and in which nothing has diverged, (versions, replicas)."""
        return self.on.host(self.problem.loss(self.at(version), **self.with_work))

    def gradient_squares(self, staleness: NDArray[Any], version: Any) -> tuple[FloatArray, FloatArray]:
        """||∇F(w_j)||² and the mean over K of ||∇F(w_j) - ∇F(w_τ)||², both (replicas,), for a version j.

        For several versions (versions,), with staleness (versions, replicas, K), both have a row each.
        """
        xp, used = self.xp, staleness >= 0
        with np.errstate(over="ignore", invalid="ignore"):
            now, old = self.at(version), self._versions(self.rows(staleness, version))
            here = self._given("gradient", self.problem.gradient(now, **self.with_work), now.shape)
            there = self._given("gradient", self.problem.gradient(old, **self.with_work), old.shape)
            gap = xp.sum(xp.square(here[..., None, :] - there), axis=-1)  # (..., replicas, K)
            square = self.on.host(xp.vecdot(here, here))
            gap_square = self.on.host(xp.sum(gap, axis=-1)) / used.sum(axis=-1)
        diverged = self.diverged
        for values in (square, gap_square):
            values[(diverged >= 0) | ~np.isfinite(values)] = np.inf
        return square, gap_square

    def _versions(self, row: NDArray[np.intp]) -> Any:
        """The weights that gradients were taken at, (..., replicas, K, d), for the caller to overwrite."""
        flat = self.xp.take(self.table, self.on.whole(row.ravel()), axis=0)
        return self.xp.reshape(flat, (*row.shape, -1))

    def gradients(self, choice: NDArray[Any], row: NDArray[np.intp]) -> Any:
        """The gradients (N, d) of drawn mini-batches at these rows of the table."""
        given = self.problem.mini_batch_gradients(self.table, choice, row, self.work)
        return self._given("mini_batch_gradients", given, (len(choice), self.problem.dimension))

    def draw(self, size: int, drawn: tuple[int, int] | None = None) -> NDArray[Any]:
        """Random choices of mini-batches for the gradients of an update, of all that the update draws."""
        before, total = drawn or (0, size)
        choice = self.problem.draw(self.rng, total)
        if not isinstance(choice, np.ndarray) or choice.shape[:1] != (total,):
            raise ValueError(
                f"draw of {self.problem!r} must give an array of {total} mini-batches along its first axis; "
                f"it gave {described(choice)}."
            )
        return choice[before : before + size]

    def _given(self, method: str, values: Any, shape: tuple[int, ...]) -> Any:
        """What a method of the problem has given, if it is what was asked for."""
        if self.on.on_host and (
            type(values) is not np.ndarray or values.shape != shape or values.dtype.kind not in "fiu"
        ):
            raise ValueError(
                f"{method} of {self.problem!r} must give an array of numbers of shape {shape}; "
                f"it gave {described(values)}."
            )
        # Later on a NaN comes from overflow, and counts as divergence; at the start it is no number at all.
        if self.version == 0 and self.xp.any(self.xp.isnan(values)):
            raise ValueError(f"{method} of {self.problem!r} gives NaN at the start.")
        return np.asarray(values, dtype=self.on.dtype) if self.on.on_host else values

    def _distance_square(self, row: NDArray[np.intp]) -> FloatArray:
        """||w_j - w_τ||² of each gradient, (replicas, K), 0 where there is none."""
        gap = self._versions(row)
        gap -= self.weights[:, None, :]
        return self.on.host(self.xp.vecdot(gap, gap))

    def _frozen(self, weights: Any) -> Any:
        """New weights, but the last ones of replicas that have just diverged, or did before."""
        lost = ~(self.xp.vecdot(weights, weights) <= self.limit)  # true for NaN as well
        self._diverged[lost & (self._diverged < 0)] = self.version + 1
        frozen = self._diverged >= 0
        if self.on.on_host and not frozen.any():
            return weights
        return self.xp.where(frozen[:, None], self.weights, weights)

    def advance(self, weights: Any) -> None:
        """Make these weights the next version."""
        self.version += 1
        self.ring[self.version % self.ring.shape[0], ...] = weights

    def _advance(
        self,
        weights: Any,
        steps: FloatArray | float,
        distance: FloatArray | None,
        used: NDArray[np.bool_],
    ) -> None:
        """Make these weights the next version and note how they came about."""
        self.advance(weights)
        if self.constant:
            return
        number, moving = used.sum(axis=1), self.diverged < 0
        self.rates.append((steps / number[:, None] * used).sum(axis=1) * moving)
        if self.learning_rate.needs_distance and distance is not None:
            self.distances.append(np.where(moving, distance.sum(axis=1) / number, 0.0))


class Records:
    """What a run has shown so far; `training` puts it together."""

    def __init__(self, replay: Replay, gradients: bool, every: int, with_K: bool = False) -> None:
        self.replay, self.gradients, self.every, self.with_K = replay, gradients, every, with_K
        self.updates: list[int] = []
        self.time: list[FloatArray] = []  # (replicas,) each, as the others
        self.loss: list[FloatArray] = []
        self.square: list[FloatArray] = []
        self.gap: list[FloatArray] = []

    def add(self, time: FloatArray, staleness: NDArray[Any] | None = None) -> None:
        """Record the current version, and with staleness the gradients of the update that comes next."""
        self.updates.append(self.replay.version)
        self.time.append(time)
        self.loss.append(self.replay.loss())
        if self.gradients and staleness is not None:
            square, gap = self.replay.gradient_squares(staleness, self.replay.version)
            self.square.append(square)
            self.gap.append(gap)

    def add_past(self, race: Race, version: range) -> None:
        """Record versions of all replicas of a race that are still there, none of them diverged."""
        if not version:
            return
        past = np.array(version)
        self.updates += version
        self.time += list(np.where(past[:, None] > 0, race.time.T[past - 1], 0.0))
        self.loss += list(self.replay.past_losses(past))
        if self.gradients:
            staleness = _staleness_of(race, slice(0, len(race.time)))
            seen = np.stack([staleness(j) for j in version])  # (versions, replicas, K)
            square, gap = self.replay.gradient_squares(seen, past)
            self.square += list(square)
            self.gap += list(gap)

    def must_hold(self, updates: float, K: int) -> None:
        """Refuse a run of so many updates, of up to K gradients each, whose records no memory can hold."""
        if updates > (room := self.room(K)):
            replicas = len(self.replay.diverged)
            raise ValueError(
                f"{min(updates, 10**300):.3g} updates of {replicas} replicas would take more than "
                f"{_memory.LARGEST / 2**30:.0f} GiB, which hold about {room}; "
                f"use fewer replicas or updates, or a larger every."
            )

    def room(self, K: int) -> int:
        """How many updates, of up to K gradients each, memory can hold the records of."""
        replay = self.replay
        replicas, d = replay.weights.shape
        a_record = 2 + 2 * self.gradients
        an_update = self.with_K + (not replay.constant) + bool(replay.learning_rate.needs_distance)
        # Each is an array of its own until all of them are put together.
        bytes_each = (a_record / self.every + an_update) * (COLUMN + 2 * 8 * replicas)
        gradients = GRADIENTS * 8 * replicas * K * d
        return max(0, int((_memory.LARGEST - gradients) / max(1.0, bytes_each)))

    def columns(self) -> Columns:
        """What is known of each of these replicas, in arrays of NumPy's."""
        replay = self.replay
        lists = {
            "time": self.time,
            "loss": self.loss,
            "rate": replay.rates,
            "distance_square": replay.distances,
            "gradient_square": self.square,
            "gradient_gap_square": self.gap,
        }
        found: Columns = {name: _stacked(columns) if columns else None for name, columns in lists.items()}
        return found | {"weights": replay.on.host(replay.weights), "diverged": replay.diverged}

    def training(
        self,
        variant: str,
        P: int,
        K: int | NDArray[Any],
        law: Any,
        max_staleness: int | None = None,
        columns: list[Columns] | None = None,
    ) -> Training:
        """The finished run of a race with these facts, of these replicas or of several parts of them."""
        on = self.replay.on
        return Training(
            problem=self.replay.problem,
            variant=variant,
            P=P,
            K=K,
            law=law,
            learning_rate=self.replay.learning_rate,
            updates=np.array(self.updates),
            max_staleness=max_staleness,
            device=on.name,
            dtype=on.precision,
            **_joined(columns or [self.columns()]),
        )


def _joined(parts: list[Columns]) -> dict[str, Any]:
    """The columns of all replicas, from those of parts of them."""
    if len(parts) == 1:
        return dict(parts[0])
    return {
        name: None if some is None else np.concatenate([part[name] for part in parts])
        for name, some in parts[0].items()
    }


def _parts(problem: Problem, replicas: int, depth: int, K: int, on: Arrays) -> list[slice]:
    """Replicas in runs that fit into the memory of a device, as equal as can be."""
    if on.room == math.inf:
        return [slice(0, replicas)]
    width = np.dtype(on.precision).itemsize
    each = width * problem.dimension * (depth + GRADIENTS * K)
    data = getattr(problem, "X", np.empty(0)).size
    room = on.room - width * (2 * data + 3 * PIECE)  # the data twice, rows and blocks, and pieces of losses
    if room < each:
        raise ValueError(
            f"one replica of {problem!r} with staleness up to {depth - 1} and K = {K} needs "
            f"{(each + on.room - room) / 2**30:.3g} GiB, more than the {on.room / 2**30:.3g} GiB that "
            f'{on.name} can spare; use device="cpu", or fewer past versions by a larger K.'
        )
    number = -(-replicas // int(room // each))
    ends = [replicas * n // number for n in range(number + 1)]
    return [slice(begin, end) for begin, end in itertools.pairwise(ends)]


def _spread(gradient: Any, used: NDArray[np.bool_], on: Arrays) -> Any:
    """Gradients (N, d) of those that are used, for all of (replicas·K, d): 0 for the others."""
    place = np.maximum(used.ravel().cumsum() - 1, 0)
    each = on.xp.take(gradient, on.whole(place), axis=0)
    return on.xp.where(on.whole(used.ravel())[:, None], each, on.xp.zeros_like(each))


def _check(race: Any) -> None:
    if not isinstance(race, Race):
        raise TypeError(f"race must be a Race, as simulate(...) returns it; got {shown(race)}.")
    if race.every > 1:
        raise ValueError("race must hold every update to be trained on; this one was thinned.")
    if race.staleness is None:
        if "async" in race.variant:
            raise ValueError(
                f"training a {race.variant} race needs its staleness; simulate it with detail=True."
            )
    elif (race.staleness.max(axis=(0, 2)) > np.arange(race.time.shape[1])).any():
        raise ValueError("staleness of update j must be at most j, the number of versions before it.")


def _staleness_of(race: Race, part: slice) -> Callable[[int], NDArray[Any]]:
    """The staleness (replicas, K) of update j, -1 where the update has fewer gradients."""
    staleness, K = race.staleness, np.asarray(race.K)
    if staleness is not None:
        seen = sealed(staleness[part])  # by schedules, and the race is the caller's
        return lambda j: seen[:, j]
    if K.ndim:
        place = np.arange(K.max())
        return lambda j: np.where(place < K[part, j, None], 0, -1)
    fresh = np.zeros((part.stop - part.start, race.K), np.int32)
    return lambda j: fresh


def _drawn_of(race: Race, part: slice) -> Callable[[int], tuple[int, int]]:
    """How many mini-batches update j draws for the replicas before this part, and for all replicas."""
    K, (replicas, _) = np.asarray(race.K), race.time.shape
    if K.ndim:
        return lambda j: (int(K[: part.start, j].sum()), int(K[:, j].sum()))
    drawn = part.start * int(K), replicas * int(K)
    return lambda j: drawn


def _stacked(columns: list[FloatArray]) -> FloatArray:
    """Columns (replicas,) side by side; already read-only, so that a record need not copy them."""
    return np.asarray(sealed(np.stack(columns, axis=1)))


def _quantile(losses: FloatArray, share: float) -> FloatArray:
    """A quantile over replicas, between two losses by interpolation; +inf if the upper one is."""
    with np.errstate(invalid="ignore"):  # no number lies between a loss and infinity
        between = np.quantile(losses, share, axis=0)
    return np.where(np.isfinite(between), between, np.quantile(losses, share, axis=0, method="higher"))


def _numbers(name: str, values: Any, shape: tuple[int | None, ...], kinds: str = "fiu") -> NDArray[Any]:
    """A read-only array of numbers without NaN; None in the shape is any length above 0."""
    array = np.asarray(values)
    fits = len(shape) == array.ndim and all(
        n > 0 if wanted is None else n == wanted for n, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits or array.dtype.kind not in kinds or (array != array).any():
        lengths = " x ".join("any number" if n is None else str(n) for n in shape)
        what = "whole numbers" if kinds == "iu" else "numbers, none of them NaN"
        raise ValueError(f"{name} must be an array of {lengths} {what}; got {described(values)}.")
    return np.asarray(read_only(array))
