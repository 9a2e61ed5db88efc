"""One law for all learners, or one for each.

Knows what a law is and how to adopt that of others; what callers pass as a delay becomes a law here.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray, reals, shape_of_draws, shown
from sgdrace.delays.adapters import adopt
from sgdrace.delays.law import Ageing, DelayLaw, Law, Scaled, Size


class PerLearner:
    """Learners that differ persistently: each has a law of its own.

    Give a list of laws, or one law and a factor by which each learner is slower.

    >>> from sgdrace import Constant, Exponential
    >>> PerLearner(Exponential(), factors=[1, 1, 3]).means.tolist()
    [1.0, 1.0, 3.0]
    >>> len(PerLearner([Constant(1.0), Constant(2.0)]))
    2
    """

    has_quantiles = False  # the K-th of different learners is found by drawing them all

    def __init__(self, laws: Law | Sequence[Law], factors: ArrayLike | None = None) -> None:
        if factors is not None:
            if isinstance(laws, PerLearner | list | tuple):
                many = "PerLearner law" if isinstance(laws, PerLearner) else "list of laws"
                raise TypeError(f"factors scale one law; a {many} has its own.")
            base = as_single_law(laws, "the law that factors scale")
            self.laws: tuple[DelayLaw, ...] = tuple(
                Scaled(base, factor) for factor in reals("factors", factors, above=0).tolist()
            )
        elif isinstance(laws, Law) or not isinstance(laws, Sequence):
            raise TypeError("PerLearner takes a list of laws, or one law with factors=[...], one a learner.")
        elif not laws:
            raise ValueError("PerLearner needs at least one law.")
        else:
            self.laws = tuple(self._single(law, f"laws[{n}]") for n, law in enumerate(laws))
        # Learners that share a law are drawn together; with factors that is everybody: learner i needs
        # factor[i] times as long as kinds[kind[i]].
        bases = [law.base if isinstance(law, Scaled) else law for law in self.laws]
        self.factor = np.array([law.factor if isinstance(law, Scaled) else 1.0 for law in self.laws])
        self.kinds = list({id(base): base for base in bases}.values())
        index = {id(base): n for n, base in enumerate(self.kinds)}
        self.kind = np.array([index[id(base)] for base in bases])

    @staticmethod
    def _single(law: Any, name: str) -> DelayLaw:
        checked = as_law(law, name)
        if isinstance(checked, PerLearner):
            raise TypeError("a PerLearner law cannot be the law of one learner.")
        return checked

    def __len__(self) -> int:
        return len(self.laws)

    def __repr__(self) -> str:
        return f"PerLearner({len(self)} learners)"

    __array_ufunc__ = None  # as for one law

    def __mul__(self, factor: float) -> "PerLearner":
        return self._changed(lambda law: law * factor)

    def __add__(self, shift: float) -> "PerLearner":
        return self._changed(lambda law: law + shift)

    __rmul__, __radd__ = __mul__, __add__

    def _changed(self, change: Callable[[DelayLaw], DelayLaw]) -> "PerLearner":
        """Every law changed in the same way; learners that share one still do."""
        changed = {id(law): change(law) for law in self.laws}
        return PerLearner([changed[id(law)] for law in self.laws])

    @property
    def means(self) -> FloatArray:
        """E[X] of every learner."""
        return np.array([law.mean for law in self.laws])

    @property
    def ageing(self) -> Ageing:
        """The class that all learners share, if they do."""
        classes = {law.ageing for law in self.laws} - {"both"}
        if not classes:
            return "both"
        return classes.pop() if len(classes) == 1 else "neither"

    def sample(self, rng: np.random.Generator, size: Size, learner: Any = None) -> FloatArray:
        """Times of the given learners, which broadcast to `size`, or of all along the last axis."""
        shape = shape_of_draws(rng, size)
        who = self._broadcast(np.arange(len(self)) if learner is None else learner, shape)
        if len(self.kinds) == 1:
            return np.asarray(self.kinds[0]._sample(rng, shape) * self.factor[who])
        kind = self.kind[who].ravel()
        order = kind.argsort(kind="stable")  # grouped once, or each law would look through all learners
        number = np.bincount(kind, minlength=len(self.kinds))
        asked = [law._sample(rng, (n,)) for law, n in zip(self.kinds, number.tolist(), strict=True) if n]
        time = np.empty(kind.size)
        if asked:
            time[order] = np.concatenate(asked)
        return np.asarray(time.reshape(shape) * self.factor[who])

    def _broadcast(self, learner: Any, shape: tuple[int, ...]) -> Any:
        try:
            who = np.asarray(learner)
            if who.dtype.kind in "iu" and 0 <= who.min(initial=0) <= who.max(initial=0) < len(self):
                return np.broadcast_to(who, shape)
        except ValueError:
            raise ValueError(
                f"the learners must fill the shape {shape} when they are repeated; got {shown(learner)}."
            ) from None
        raise ValueError(
            f"learner must be whole numbers between 0 and {len(self) - 1}; got {shown(learner)}."
        )


def as_law(law: Any, name: str = "delay") -> DelayLaw | PerLearner:
    """Any law with all that can be asked of one: ours, one of SciPy's, or one with `sample(rng, size)`.

    >>> from scipy import stats
    >>> (2 * as_law(stats.expon()) + 1).mean
    3.0
    """
    return law if isinstance(law, PerLearner) else adopt(law, name)


def law_of_learners(law: Any, P: int) -> DelayLaw | PerLearner:
    """A law for P learners: one that they share, or a PerLearner with exactly P."""
    checked = as_law(law)
    if isinstance(checked, PerLearner) and len(checked) != P:
        raise ValueError(f"the PerLearner law describes {len(checked)} learners, but P is {P}.")
    return checked


def as_single_law(law: Any, name: str = "delay") -> DelayLaw:
    """A law that all learners share."""
    checked = as_law(law, name)
    if isinstance(checked, PerLearner):
        raise TypeError(f"{name} must be one law that all learners share here, not a PerLearner.")
    return checked
