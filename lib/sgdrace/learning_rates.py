"""Learning rates that look at how stale a gradient is.

Knows staleness and distances; nothing of losses or time. A schedule gives the step size of every gradient
of an update; `train` applies w ← w - (1/K) Σ_l η_l g_l. A plain number is a constant learning rate.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sgdrace._arguments import FloatArray, count, real, shown, store

TINY = math.ulp(0.0)  # the smallest number above 0


@runtime_checkable
class LearningRate(Protocol):
    """What `train` asks of a schedule; write your own with these two names."""

    @property
    def needs_distance(self) -> bool:
        """Whether `steps` reads the distance of the model from the ones the gradients were taken at."""
        ...

    def steps(
        self, staleness: NDArray[Any], distance_square: FloatArray | None, used: NDArray[np.bool_]
    ) -> FloatArray | float:
        """Step sizes of at least 0 for the gradients of one update of each replica.

        One number for all of them, or an array (replicas, K), (replicas, 1) or (1, K). A plain list is
        refused: with as many replicas as gradients nobody could tell which of them it goes along.
        `staleness` and `distance_square` are (replicas, K), the latter ||w_j - w_τ||² or None. Entries that
        are not `used`, because K differs between replicas, hold staleness -1 and distance 0.
        """
        ...


@dataclass(frozen=True)
class ConstantRate:
    """The same step whatever the staleness; a plain number means this.

    >>> ConstantRate(0.1).steps(np.array([[3, 0]]), None, np.array([[True, True]]))
    0.1
    """

    eta: float
    needs_distance: ClassVar[bool] = False

    def __post_init__(self) -> None:
        store(self, eta=real("eta", self.eta, above=0))

    def steps(
        self, staleness: NDArray[Any], distance_square: FloatArray | None, used: NDArray[np.bool_]
    ) -> FloatArray | float:
        """The same number for all."""
        return self.eta


@dataclass(frozen=True)
class StalenessCompensating:
    """η_j = min(C/||w_j - w_τ||², eta_max): small steps where the model has moved far since the pull.

    With K > 1 the distance is the mean of the K square distances, and all K gradients get the same step. At
    distance 0 the step is eta_max. C has the unit of η||w||² and must fit the scale of the weights.

    >>> schedule = StalenessCompensating(C=0.001, eta_max=0.1)
    >>> schedule.steps(np.array([[4], [0]]), np.array([[0.05], [0.0]]), np.array([[True], [True]]))
    array([[0.02],
           [0.1 ]])
    """

    C: float
    eta_max: float
    needs_distance: ClassVar[bool] = True

    def __post_init__(self) -> None:
        store(self, C=real("C", self.C, above=0), eta_max=real("eta_max", self.eta_max, above=0))

    def steps(
        self, staleness: NDArray[Any], distance_square: FloatArray | None, used: NDArray[np.bool_]
    ) -> FloatArray | float:
        """One step for the K gradients of an update, (replicas, 1)."""
        if distance_square is None:
            raise ValueError("StalenessCompensating needs the distances ||w_j - w_τ||²; got None.")
        mean = distance_square.sum(axis=1, keepdims=True) / used.sum(axis=1, keepdims=True)
        # Written without C/0: below the distance C/eta_max, here never 0 itself, the step is eta_max.
        return np.asarray(self.eta_max / np.maximum(mean / max(self.C / self.eta_max, TINY), 1.0))


@dataclass(frozen=True)
class InverseStaleness:
    """η/(s + 1) for a gradient of staleness s, each gradient of an update by its own.

    >>> InverseStaleness(0.6).steps(np.array([[0, 2]]), None, np.array([[True, True]]))
    array([[0.6, 0.2]])
    """

    eta: float
    needs_distance: ClassVar[bool] = False

    def __post_init__(self) -> None:
        store(self, eta=real("eta", self.eta, above=0))

    def steps(
        self, staleness: NDArray[Any], distance_square: FloatArray | None, used: NDArray[np.bool_]
    ) -> FloatArray | float:
        """A step for each gradient, (replicas, K)."""
        return np.asarray(self.eta / (np.maximum(staleness, 0) + 1.0))


@dataclass(frozen=True)
class DelayAdaptive:
    """η·min(1, threshold/s): the full step up to a staleness of `threshold`, and ∝ 1/s above it.

    In the manner of the delay-adaptive steps of Koloskova, Stich and Jaggi (2022) and of Mishchenko, Bach,
    Even and Woodworth (2022), who study K = 1. The natural threshold is the number of learners P: the mean
    staleness of async SGD is P - 1, so the usual gradient keeps its full step and only stragglers are damped.
    With K > 1 each gradient is damped by its own staleness, and the threshold that matches is about P/K.

    >>> DelayAdaptive(eta=0.1, threshold=8).steps(np.array([[7], [16]]), None, np.array([[True], [True]]))
    array([[0.1 ],
           [0.05]])
    """

    eta: float
    threshold: float
    needs_distance: ClassVar[bool] = False

    def __post_init__(self) -> None:
        store(self, eta=real("eta", self.eta, above=0))
        store(self, threshold=real("threshold", self.threshold, above=0))

    def steps(
        self, staleness: NDArray[Any], distance_square: FloatArray | None, used: NDArray[np.bool_]
    ) -> FloatArray | float:
        """A step for each gradient, (replicas, K)."""
        return np.asarray(self.eta * (self.threshold / np.maximum(staleness, self.threshold)))


@dataclass(frozen=True)
class DropOlderThan:
    """η for a gradient of staleness at most `limit`, and 0 for an older one: it is ignored.

    A dropped gradient counts as zero in the mean over K: an update that drops half of them moves about half
    as far, and with K = 1 it leaves the model as it is. Ringmaster ASGD ignores gradients in this way too;
    there an ignored one makes no new version, but here the race, which never looks at weights, has counted
    it as an update.

    >>> DropOlderThan(eta=0.1, limit=4).steps(np.array([[4, 5]]), None, np.array([[True, True]]))
    array([[0.1, 0. ]])
    """

    eta: float
    limit: int
    needs_distance: ClassVar[bool] = False

    def __post_init__(self) -> None:
        store(self, eta=real("eta", self.eta, above=0), limit=count("limit", self.limit, minimum=0))

    def steps(
        self, staleness: NDArray[Any], distance_square: FloatArray | None, used: NDArray[np.bool_]
    ) -> FloatArray | float:
        """A step for each gradient, (replicas, K)."""
        return np.where(staleness <= self.limit, self.eta, 0.0)


def as_learning_rate(learning_rate: Any) -> LearningRate:
    """A schedule, or a number taken as a constant one.

    >>> as_learning_rate(0.1)
    ConstantRate(eta=0.1)
    """
    if isinstance(learning_rate, type):
        name = learning_rate.__name__
        raise TypeError(f"learning_rate must be a schedule such as {name}(...), not the class {name} itself.")
    if isinstance(learning_rate, LearningRate) and callable(learning_rate.steps):
        return learning_rate
    try:
        return ConstantRate(real("learning_rate", learning_rate, above=0))
    except TypeError:
        raise TypeError(
            f"learning_rate must be a number above 0 or a schedule such as StalenessCompensating; "
            f"got {shown(learning_rate)}."
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
        f"({replicas}, 1) or (1, {K}); {type(schedule).__name__} gave {_described(steps)}."
    )


def _fits(shape: tuple[int, ...], replicas: int, K: int) -> bool:
    return shape == () or (len(shape) == 2 and shape[0] in (1, replicas) and shape[1] in (1, K))


def _usable(steps: FloatArray) -> bool:
    # A comparison with NaN is false. The methods min and max take twice the time.
    return bool(np.minimum.reduce(steps, axis=None) >= 0 and np.maximum.reduce(steps, axis=None) < np.inf)


def _described(steps: Any) -> str:
    shape = f" of shape {steps.shape}" if isinstance(steps, np.ndarray) else ""
    return " ".join(shown(steps).split()) + shape
