"""How many gradients to wait for, changed during the run: AdaSync.

Knows rules that turn the progress of a run into K, and runs race and training in turns, because here the
race does look at the loss. Early, when the loss is large, a small K makes many quick updates; later a large K
averages noise.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm.auto import tqdm

from sgdrace._arguments import FloatArray, Seed, count, flag, real, reals, sealed, seed_sequence, shown, store
from sgdrace.delays import Law, PerLearner
from sgdrace.learning_rates import LearningRate, as_learning_rate, takes_one
from sgdrace.problems import Problem, as_problem
from sgdrace.stepped_race import SteppedRace
from sgdrace.theory.adasync import adasync_K, quadratic_rule, square_root_rule, whole_K
from sgdrace.theory.tables import RuntimeTable
from sgdrace.training import Records, Replay, Training
from sgdrace.variants import variant_P_K

# Updates during which no time passes, after which a run until some time is refused. A law that lets time pass
# in only one update of a thousand gets there once in 5·10^8 standstills.
STANDSTILL = 20_000


class Progress(NamedTuple):
    """How far some replicas have come when K is chosen for them."""

    excess: FloatArray  # (replicas,) F(w) - F* now, above 0
    first: float  # F(w_0) - F*
    time: FloatArray  # (replicas,) the wallclock
    updates: NDArray[np.int64]  # (replicas,) made so far
    K: NDArray[np.int64]  # (replicas,) up to now; 1 at the first choice


@runtime_checkable
class Rule(Protocol):
    """What `train_adaptively` asks of a rule: a function of the progress of a run.

    A rule keeps nothing from one choice to the next: what it needs to know, the progress tells. With
    `lambda progress: 1 + progress.time // 50` K grows by one every 50 units of time.
    """

    def __call__(self, progress: Progress, /) -> ArrayLike:
        """K as real numbers (replicas,)."""
        ...


@dataclass(frozen=True)
class SqrtRule:
    """K = K_0 sqrt(F_0/F): for variants whose time per update is proportional to K.

    These are K-batch-async under any law and K-batch-sync under the exponential law.

    >>> progress = Progress(np.array([100.0, 10.0]), first=100.0, time=[5.0, 5.1], updates=[9, 9], K=[2, 2])
    >>> SqrtRule(K_0=2)(progress).round(5)
    array([2.     , 6.32456])
    """

    K_0: int

    def __post_init__(self) -> None:
        store(self, K_0=count("K_0", self.K_0))
        real("K_0", self.K_0)  # not beyond the range of floats

    def __call__(self, progress: Progress) -> FloatArray:
        return np.asarray(square_root_rule(self.K_0, progress.first, progress.excess))


@dataclass(frozen=True)
class QuadraticRule:
    """K²/(P - K) = K_0²/(P - K_0) · F_0/F: for K-sync under the (shifted) exponential law; always below P.

    Also for K-async under the exponential law, if one ignores that γ' depends on K.

    >>> progress = Progress(np.array([100.0, 10.0]), first=100.0, time=[5.0, 5.1], updates=[9, 9], K=[2, 2])
    >>> QuadraticRule(K_0=2, P=16)(progress).round(5)
    array([2.     , 5.48194])
    """

    K_0: int
    P: int

    def __post_init__(self) -> None:
        store(self, P=count("P", self.P, minimum=2))
        store(self, K_0=count("K_0", self.K_0, maximum=self.P - 1))
        real("P", self.P)

    def __call__(self, progress: Progress) -> FloatArray:
        return np.asarray(quadratic_rule(self.K_0, progress.first, progress.excess, self.P))


@dataclass(frozen=True, eq=False)
class BoundRule:
    """The K that minimizes 2 F E[T_K]/(t η) + L η σ²/(K m), the bound for the next t units of time.

    `runtime` is a RuntimeTable of all K or a list E[T_1], E[T_2], ...; so this rule serves any variant and
    law. `interval` is t, the time between two choices of K.

    >>> rule = BoundRule([K / 16 for K in range(1, 17)], eta=0.05, L=1.0, sigma2=10.0, m=1, interval=50.0)
    >>> rule(Progress(excess=np.array([1.0, 0.1]), first=1.0, time=[5.0, 5.1], updates=[9, 9], K=[2, 2]))
    array([ 3., 10.])
    """

    runtime: ArrayLike | RuntimeTable
    eta: float
    L: float
    sigma2: float
    m: int
    interval: float

    def __post_init__(self) -> None:
        if isinstance(self.runtime, RuntimeTable):
            reals("runtime", self.runtime.all_K(), above=0)
        else:
            store(self, runtime=sealed(reals("runtime", self.runtime, above=0).copy()))
        for name in ("eta", "L", "interval"):
            store(self, **{name: real(name, getattr(self, name), above=0)})
        store(self, sigma2=real("sigma2", self.sigma2, above=0, closed=True), m=count("m", self.m))
        real("m", self.m)

    def __call__(self, progress: Progress) -> FloatArray:
        constants = {"time": self.interval, "eta": self.eta, "L": self.L, "sigma2": self.sigma2, "m": self.m}
        return np.array([float(adasync_K(self.runtime, F=F, **constants)) for F in progress.excess.tolist()])


def train_adaptively(
    problem: Problem,
    variant: str,
    P: int,
    delay: Law,
    rule: Rule,
    learning_rate: float | LearningRate = 0.1,
    interval: float = 1.0,
    updates: int | None = None,
    until: float | None = None,
    replicas: int = 1,
    seed: Seed = 0,
    every: int = 1,
    K_max: int | None = None,
    minimum: float | None = None,
    gradients: bool = False,
    progress: bool = False,
) -> Training:
    """Run SGD with a K that a rule chooses anew, for each replica, every `interval` of wallclock time.

    The rule sees the `Progress` of each replica: the time, the number of updates, and F(w) - F*, the full
    loss of the current weights above the problem's minimum, or above `minimum` if given. Its answer is
    rounded and clipped to 1..K_max, by default P; batch variants allow more. The run ends after so many
    `updates`, or when every replica has reached the time `until`.

    >>> from sgdrace.delays import Exponential
    >>> from sgdrace.problems import Quadratic
    >>> problem = Quadratic([0.1, 1.0], sigma2=1.0, start=3.0)
    >>> run = train_adaptively(problem, "K-sync", 8, Exponential(), QuadraticRule(1, 8), 0.1, until=50.0)
    >>> run.K[0, 0], bool(run.K[0, -1] > 1), run.end >= 50
    (np.int64(1), True, True)
    """
    problem = as_problem(problem)
    variant, P, _ = variant_P_K(variant, P, 1)
    choose = _Choice(problem, rule, variant, P, K_max, minimum)
    interval, every = real("interval", interval, above=0), count("every", every)
    last, end = _stop(updates, until)
    root = seed_sequence(seed)
    race = SteppedRace(variant, P, delay, replicas, root)
    replay = Replay(problem, race.replicas, 1, as_learning_rate(learning_rate), root)
    records = Records(replay, flag("gradients", gradients), every, with_K=True)
    records.must_hold(_fewest(end, race, choose.K_max) if last is None else last, choose.K_max)
    room = records.room(choose.K_max)

    time = np.zeros(race.replicas)
    next_choice = np.zeros(race.replicas)
    K = np.ones(race.replicas, np.int64)
    moved = 0  # the last update before which some time had passed
    history: list[NDArray[np.int64]] = []  # (replicas,) each
    for j in _counted(last, flag("progress", progress)):
        if time.min() >= end:
            break
        if j == room:
            records.must_hold(j + 1, choose.K_max)
        if last is None and j - moved > STANDSTILL:
            raise ValueError(
                f"nearly all mini-batch times are 0: no time passed during {STANDSTILL} updates; "
                f"use positive times, or give updates instead of until."
            )
        due = time >= next_choice
        if due.any():
            K[due] = choose(replay.loss(due), time[due], j, K[due])
            next_choice[due] = _after(time[due], interval)
        history.append(K.copy())
        step = race.update(K)
        # Every version that some learner still works from must stay, up to the one made now.
        replay.grow(race.updates - int(race.version.min()) + 1)
        if j % every == 0:
            records.add(time, step.staleness)
        replay.update(step.staleness)
        if last is None and (step.time > time).any():
            moved = j
        time = step.time
    records.add(time)
    return records.training(variant, P, np.stack(history, axis=1), race.law)


class _Choice:
    """A rule with its reference losses and its limits."""

    def __init__(
        self, problem: Problem, rule: Any, variant: str, P: int, K_max: int | None, minimum: float | None
    ) -> None:
        if isinstance(rule, type) or not isinstance(rule, Rule) or not takes_one(rule):
            raise TypeError(
                f"rule must be a rule for K such as SqrtRule(K_0=1), or a function of the progress of a run; "
                f"got {shown(rule)}."
            )
        self.rule = rule
        self.K_max = P if K_max is None else variant_P_K(variant, P, count("K_max", K_max))[2]
        self.minimum = problem.known("minimum") if minimum is None else real("minimum", minimum)
        with np.errstate(over="ignore", invalid="ignore"):
            start = problem.loss(problem.start)
        self.first = real(f"the loss of {problem!r} at the start", start) - self.minimum
        if not self.first > 0:
            raise ValueError(
                f"the loss at the start must be above the minimum {self.minimum:g} for a rule to go by; "
                f"it is {self.first + self.minimum:g}."
            )

    def __call__(
        self, loss: FloatArray, time: FloatArray, updates: int, K_before: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        K = np.ones(loss.shape)
        sound = np.isfinite(loss)  # a replica that has diverged goes on with K = 1
        if sound.any():
            # At the minimum, or below one that was given too high, the rule should say "as many as allowed".
            excess = np.maximum(loss[sound] - self.minimum, 1e-100 * self.first)
            K[sound] = self._asked(
                Progress(excess, self.first, time[sound], np.full(excess.shape, updates), K_before[sound])
            )
        return np.asarray(whole_K(np.clip(K, 1, self.K_max), self.K_max))

    def _asked(self, progress: Progress) -> FloatArray:
        asked = self.rule(progress)
        try:
            K = np.asarray(asked)
        except ValueError:  # lists of different lengths
            K = np.empty(0)
        if K.shape != progress.excess.shape or K.dtype.kind not in "fiu" or np.isnan(K).any():
            raise ValueError(
                f"rule must give a number for each of {progress.excess.size} replicas; got {shown(asked)}."
            )
        return K


def _stop(updates: int | None, until: float | None) -> tuple[int | None, float]:
    """The number of updates, None for any, and the time at which a run ends."""
    if (updates is None) == (until is None):
        raise TypeError("give either updates or until, the time at which to stop.")
    if until is None:
        return count("updates", updates), math.inf
    return None, real("until", until, above=0)


def _fewest(until: float, race: SteppedRace, K: int) -> float:
    """About how many updates a run makes until this time at the least; 0 if the law does not say.

    An update needs K mini-batches, or waits for some of P learners, and somebody is always at work. So on
    average it does not take longer than max(K, P) mini-batches one after the other.
    """
    try:
        mean = race.law.means.max() if isinstance(race.law, PerLearner) else race.law.mean
    except TypeError:  # a law of somebody's own need not have a mean
        return 0.0
    return until / (max(K, race.P) * mean)


def _after(time: FloatArray, interval: float) -> FloatArray:
    """The next multiples of the interval, or `time` itself where the interval is too small to count."""
    with np.errstate(over="ignore"):
        number = np.floor(time / interval) + 1
    return np.where(np.isfinite(number), number * interval, time)


def _counted(last: int | None, progress: bool) -> Iterator[int]:
    """Numbers of updates, without end if last is None, shown if asked for."""
    with tqdm(total=last, unit=" updates", disable=not progress) as bar:
        j = 0
        while last is None or j < last:
            yield j
            j += 1
            bar.update()
