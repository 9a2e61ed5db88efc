"""Learning rates that look at the number of an update and at how stale its gradients are.

Knows updates, staleness and distances; nothing of losses or time. A schedule gives the step size of every
gradient of an update; `train` applies w ← w - (1/K) Σ_l η_l g_l. A plain number is a constant learning rate,
and a plain function of the number of an update a rate that changes from one to the next.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgdrace._arguments import FloatArray, count, described, real, shown, store

TINY = math.ulp(0.0)  # the smallest number above 0


class Update(NamedTuple):
    """What a schedule sees of update j, which makes w_{j+1} of w_j in every replica.

    Where K differs between replicas, entries of gradients that do not exist hold staleness -1 and distance 0.

    >>> Update(0, np.array([[3, -1]])).used
    array([[ True, False]])
    """

    number: int  # j, from 0: the same at the same place of every run, whatever was trained before
    staleness: NDArray[Any]  # (replicas, K)
    distance_square: FloatArray | None = None  # (replicas, K) ||w_j - w_τ||², for schedules that need it

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which gradients exist, (replicas, K)."""
        return np.asarray(self.staleness >= 0)


@runtime_checkable
class LearningRate(Protocol):
    """What `train` asks of a schedule; write your own with these two names.

    A schedule keeps nothing from one update to the next: what it needs to know, the update tells. So the
    same seed gives the same run again, however often the schedule was used before.
    """

    @property
    def needs_distance(self) -> bool:
        """Whether `steps` reads the distance of the model from the ones the gradients were taken at."""
        ...

    def steps(self, update: Update) -> FloatArray | float:
        """Step sizes of at least 0 for the gradients of one update of each replica.

        One number for all of them, or an array (replicas, K), (replicas, 1) or (1, K). A plain list is
        refused: with as many replicas as gradients nobody could tell which of them it goes along.
        """
        ...


@dataclass(frozen=True)
class ConstantRate:
    """The same step whatever the staleness; a plain number means this.

    >>> ConstantRate(0.1).steps(Update(0, np.array([[3, 0]])))
    0.1
    """

    eta: float
    needs_distance: ClassVar[bool] = False

    def __post_init__(self) -> None:
        store(self, eta=real("eta", self.eta, above=0))

    def steps(self, update: Update) -> FloatArray | float:
        """The same number for all."""
        return self.eta


@dataclass(frozen=True)
class Decaying:
    """η/(1 + j/after) at update j: the full step first, half of it after `after` updates, then ∝ 1/j.

    Steps whose sum diverges while the sum of their squares does not: they wear the noise down without
    stopping short, where a constant step stays on its floor.

    >>> [Decaying(0.1, after=50).steps(Update(j, np.array([[0]]))) for j in (0, 50, 450)]
    [0.1, 0.05, 0.01]
    """

    eta: float
    after: float
    needs_distance: ClassVar[bool] = False

    def __post_init__(self) -> None:
        store(self, eta=real("eta", self.eta, above=0), after=real("after", self.after, above=0))

    def steps(self, update: Update) -> FloatArray | float:
        """The same number for all gradients of the update."""
        return self.eta / (1 + update.number / self.after)


@dataclass(frozen=True)
class PerUpdate:
    """The step that a function of the number of the update gives; a plain function means this.

    >>> PerUpdate(lambda j: 0.1 if j < 100 else 0.01).steps(Update(100, np.array([[0]])))
    0.01
    """

    step: Callable[[int], Any]
    needs_distance: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (callable(self.step) and takes_one(self.step)):
            raise TypeError(
                f"step must be a function of the number of an update alone, such as lambda j: 0.1 / (1 + j); "
                f"got {shown(self.step)}."
            )

    def steps(self, update: Update) -> FloatArray | float:
        """Whatever the function gives, in any shape that a schedule may give."""
        given: FloatArray | float = self.step(update.number)
        return given


@dataclass(frozen=True)
class StalenessCompensating:
    """η_j = min(C/||w_j - w_τ||², eta_max): small steps where the model has moved far since the pull.

    With K > 1 the distance is the mean of the K square distances, and all K gradients get the same step. At
    distance 0 the step is eta_max. C has the unit of η||w||² and must fit the scale of the weights.

    >>> schedule = StalenessCompensating(C=0.001, eta_max=0.1)
    >>> schedule.steps(Update(9, np.array([[4], [0]]), np.array([[0.05], [0.0]])))
    array([[0.02],
           [0.1 ]])
    """

    C: float
    eta_max: float
    needs_distance: ClassVar[bool] = True

    def __post_init__(self) -> None:
        store(self, C=real("C", self.C, above=0), eta_max=real("eta_max", self.eta_max, above=0))

    def steps(self, update: Update) -> FloatArray | float:
        """One step for the K gradients of an update, (replicas, 1)."""
        if update.distance_square is None:
            raise ValueError("StalenessCompensating needs the distances ||w_j - w_τ||²; got None.")
        mean = update.distance_square.sum(axis=1, keepdims=True) / update.used.sum(axis=1, keepdims=True)
        # Written without C/0: below the distance C/eta_max, here never 0 itself, the step is eta_max.
        return np.asarray(self.eta_max / np.maximum(mean / max(self.C / self.eta_max, TINY), 1.0))


@dataclass(frozen=True)
class InverseStaleness:
    """η/(s + 1) for a gradient of staleness s, each gradient of an update by its own.

    >>> InverseStaleness(0.6).steps(Update(5, np.array([[0, 2]])))
    array([[0.6, 0.2]])
    """

    eta: float
    needs_distance: ClassVar[bool] = False

    def __post_init__(self) -> None:
        store(self, eta=real("eta", self.eta, above=0))

    def steps(self, update: Update) -> FloatArray | float:
        """A step for each gradient, (replicas, K)."""
        return np.asarray(self.eta / (np.maximum(update.staleness, 0) + 1.0))


@dataclass(frozen=True)
class DelayAdaptive:
    """η·min(1, threshold/s): the full step up to a staleness of `threshold`, and ∝ 1/s above it.

    In the manner of the delay-adaptive steps of Koloskova, Stich and Jaggi (2022) and of Mishchenko, Bach,
    Even and Woodworth (2022), who study K = 1. The natural threshold is the number of learners P: the mean
    staleness of async SGD is P - 1, so the usual gradient keeps its full step and only stragglers are damped.
    With K > 1 each gradient is damped by its own staleness, and the threshold that matches is about P/K.

    >>> DelayAdaptive(eta=0.1, threshold=8).steps(Update(20, np.array([[7], [16]])))
    array([[0.1 ],
           [0.05]])
    """

    eta: float
    threshold: float
    needs_distance: ClassVar[bool] = False

    def __post_init__(self) -> None:
        store(self, eta=real("eta", self.eta, above=0))
        store(self, threshold=real("threshold", self.threshold, above=0))

    def steps(self, update: Update) -> FloatArray | float:
        """A step for each gradient, (replicas, K)."""
        return np.asarray(self.eta * (self.threshold / np.maximum(update.staleness, self.threshold)))


@dataclass(frozen=True)
class DropOlderThan:
    """η for a gradient of staleness at most `limit`, and 0 for an older one: it is ignored.

    A dropped gradient counts as zero in the mean over K: an update that drops half of them moves about half
    as far, and with K = 1 it leaves the model as it is. Ringmaster ASGD ignores gradients too, but there an
    ignored one makes no new version: that is `simulate(..., max_staleness=limit)`, where the race ignores it.

    >>> DropOlderThan(eta=0.1, limit=4).steps(Update(9, np.array([[4, 5]])))
    array([[0.1, 0. ]])
    """

    eta: float
    limit: int
    needs_distance: ClassVar[bool] = False

    def __post_init__(self) -> None:
        store(self, eta=real("eta", self.eta, above=0), limit=count("limit", self.limit, minimum=0))

    def steps(self, update: Update) -> FloatArray | float:
        """A step for each gradient, (replicas, K)."""
        return np.where(update.staleness <= self.limit, self.eta, 0.0)


@dataclass(frozen=True)
class SideBySide:
    """Several schedules in one training: the replicas in equal parts, one part for each schedule.

    Many small trainings take longer than a large one. Part i of the replicas learns as schedule i says, so
    `run.loss.reshape(len(schedules), -1, records)` has a row for each schedule. Numbers and functions of the
    number of an update stand for schedules, as everywhere.

    >>> both = SideBySide([0.1, InverseStaleness(0.6)])
    >>> both.steps(Update(0, np.array([[0], [3], [0], [3]]))).tolist()
    [[0.1], [0.1], [0.6], [0.15]]
    """

    schedules: tuple[LearningRate, ...]

    def __post_init__(self) -> None:
        given: Any = self.schedules
        if isinstance(given, str) or not isinstance(given, Sequence) or not given:
            raise TypeError(f"schedules must be a list of one or more learning rates; got {shown(given)}.")
        store(self, schedules=tuple(as_learning_rate(one) for one in given))

    @property
    def needs_distance(self) -> bool:
        """Whether one of the schedules does."""
        return any(one.needs_distance for one in self.schedules)

    def steps(self, update: Update) -> FloatArray | float:
        """A step for each gradient, (replicas, K)."""
        (replicas, K), parts = update.staleness.shape, len(self.schedules)
        if replicas % parts:
            raise ValueError(
                f"replicas must be a multiple of {parts}, the number of schedules side by side; "
                f"got {replicas}."
            )
        size, number, staleness, distance = replicas // parts, *update
        given, seen = np.empty((replicas, K)), None
        for begin, schedule in zip(range(0, replicas, size), self.schedules, strict=True):
            part = slice(begin, begin + size)
            if distance is not None:
                seen = distance[part]
            steps = schedule.steps(Update(number, staleness[part], seen))
            if np.ndim(steps) and not _fits(np.shape(steps), size, K):
                checked_steps(schedule, steps, np.ones((size, K), bool))  # says what is wrong
            given[part] = (
                steps  # whether these are numbers of at least 0, `train` checks for all parts at once
            )
        return given


def as_learning_rate(learning_rate: Any) -> LearningRate:
    """A schedule, a number taken as a constant one, or a function of the number of the update.

    >>> as_learning_rate(0.1)
    ConstantRate(eta=0.1)
    """
    if isinstance(learning_rate, type):
        name = learning_rate.__name__
        raise TypeError(f"learning_rate must be a schedule such as {name}(...), not the class {name} itself.")
    if isinstance(learning_rate, LearningRate) and callable(learning_rate.steps):
        return learning_rate
    try:
        if callable(learning_rate):
            return PerUpdate(learning_rate)
        return ConstantRate(real("learning_rate", learning_rate, above=0))
    except TypeError:
        raise TypeError(
            f"learning_rate must be a number above 0, a function of the number of an update or a schedule "
            f"such as StalenessCompensating; got {shown(learning_rate)}."
        ) from None


def checked_steps(schedule: LearningRate, steps: Any, used: NDArray[np.bool_]) -> FloatArray:
    """What a schedule has given for the gradients (replicas, K) of an update, 0 for those that are not used.

    >>> checked_steps(InverseStaleness(0.6), np.array([[0.6, 0.2]]), used=np.array([[True, True]]))
    array([[0.6, 0.2]])
    """
    try:
        given = np.asarray(steps)
    except ValueError:  # lists of different lengths
        given = np.empty(0)
    replicas, K = used.shape
    numbers = given.dtype.kind in "fiu"
    if numbers and _fits(given.shape, replicas, K):
        if _usable(given):
            return given
        given = np.where(used, given, 0.0)
        if _usable(given):
            return given
    raise (ValueError if numbers else TypeError)(
        f"steps must be finite numbers of at least 0, one or an array of shape ({replicas}, {K}), "
        f"({replicas}, 1) or (1, {K}); {type(schedule).__name__} gave {described(steps)}."
    )


def takes_one(function: Any) -> bool:
    """Whether a function can be called with one argument, as far as it tells.

    >>> takes_one(lambda j: 0.1), takes_one(lambda: 0.1)
    (True, False)
    """
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # some functions written in C do not tell
        return True
    return True


def _fits(shape: tuple[int, ...], replicas: int, K: int) -> bool:
    return shape == () or (len(shape) == 2 and shape[0] in (1, replicas) and shape[1] in (1, K))


def _usable(steps: FloatArray) -> bool:
    # A comparison with NaN is false. The methods min and max take twice the time.
    return bool(np.minimum.reduce(steps, axis=None) >= 0 and np.maximum.reduce(steps, axis=None) < np.inf)
