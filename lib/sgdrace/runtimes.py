"""How long an update takes on average, E[T], whatever the variant, the law and K.

Knows theory and simulated races: what theory cannot tell is measured on races, and each entry says so.
"""

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from tqdm.auto import tqdm

from sgdrace._arguments import Seed, count, flag, seed_sequence, shown
from sgdrace._quadrature import QuadratureError
from sgdrace.delays import DelayLaw, Empirical, Law, PerLearner, finite_mean, law_of_learners
from sgdrace.delays.adapters import OwnLaw
from sgdrace.race import simulate
from sgdrace.theory.renewals import LARGEST_K
from sgdrace.theory.runtime import QUADRATURE, NoClosedForm, batch_sync_runtimes, known_runtime
from sgdrace.theory.tables import RuntimeTable
from sgdrace.variants import variant_P_K

SIMULATION = "simulation"
MOST_K = 10_000  # rows of one table

_Entry = tuple[float, float, str]  # E[T], its standard error, how it was found


def runtime_table(
    variant: str,
    P: int,
    law: Law,
    K: ArrayLike | None = None,
    *,
    updates: int = 2000,
    replicas: int = 64,
    burn_in: int = 2000,
    seed: Seed = 0,
    progress: bool = False,
) -> RuntimeTable:
    """E[T_K] for K = 1, ..., P, or for the K that are asked for, by formula, by quadrature or by simulation.

    Simulated are K-async with 1 < K < P where the law is not memoryless, what `theory` cannot integrate, and
    a law of your own that has only a `sample`: so many `updates` in each of so many `replicas`, in the
    asynchronous variants after a `burn_in` of others that are left out, since learners start together and
    fall out of step only slowly if their times vary little. The standard error is that of the mean over
    replicas; trust it for laws with a finite variance. (If all delays are constants, every replica is the
    same race, and what is wrong is at most one period of it in all updates.) Simulations are kept for the
    next call, unless the law is an object that could change in between.

    >>> from sgdrace import ShiftedExponential
    >>> runtime_table("K-async", 4, ShiftedExponential())
    E[T] of K-async with P = 4, ShiftedExponential(shift=1.0, rate=1.0)
    K    E[T]  ± error  source
    1     0.5        0  closed form
    2  1.1406   0.0012  simulation
    3  1.9261   0.0018  simulation
    4  3.0833        0  closed form
    """
    variant, P, _ = variant_P_K(variant, P, 1)
    X = law_of_learners(law, P)
    counts = _counts(variant, P, K)
    length, repeated = count("updates", updates), count("replicas", replicas, minimum=2)
    left_out = (
        count("burn_in", burn_in, minimum=0) if variant.endswith("-async") else 0
    )  # rounds are all alike
    root, shows = seed_sequence(seed), flag("progress", progress)
    entries = _known(variant, P, counts, X)
    left = [k for k in counts if k not in entries]
    if left:
        _check_mean(X)
    for k in tqdm(left, unit=" K", disable=not shows):
        entries[k] = _measured(_Asked(variant, P, k, length, repeated, left_out, _key(X, root), X, root))
    mean, error, source = zip(*(entries[k] for k in counts), strict=True)
    return RuntimeTable(variant, P, law, np.array(counts), np.array(mean), np.array(error), source)


def _counts(variant: str, P: int, K: Any) -> list[int]:
    """The K that are wanted, rising."""
    if K is None and P > MOST_K:
        raise ValueError(f"K must say which are needed where there are more than {MOST_K}; P is {P}.")
    try:
        asked = list(range(1, P + 1) if K is None else K)
    except TypeError:  # one number
        asked = [K]
    if not asked:
        raise ValueError(f"K must be a whole number or a list of them; got {shown(K)}.")
    if len(asked) > MOST_K:
        raise ValueError(f"K must be at most {MOST_K} numbers; got {len(asked)}.")
    return sorted({variant_P_K(variant, P, k)[2] for k in asked})


def _known(variant: str, P: int, counts: list[int], X: DelayLaw | PerLearner) -> dict[int, _Entry]:
    """What theory tells."""
    entries = {}
    for k in counts:
        try:
            found = known_runtime(variant, P, k, X)
        except (QuadratureError, TypeError):  # all is checked, but a law of one's own may lack a method
            found = None
        if found is not None:
            entries[k] = (found[0], 0.0, found[1])
    together = [k for k in counts if k not in entries and k <= LARGEST_K]
    if variant == "K-batch-sync" and together:
        try:
            times = batch_sync_runtimes(P, together, X)
        except (NoClosedForm, TypeError):
            return entries
        entries |= {k: (time, 0.0, QUADRATURE) for k, time in zip(together, times.tolist(), strict=True)}
    return entries


def _check_mean(X: DelayLaw | PerLearner) -> None:
    """Refuse a law under which E[T] is infinite, if the law says so."""
    for own in X.laws if isinstance(X, PerLearner) else (X,):
        with suppress(TypeError):  # a law of somebody's own need not have a mean
            finite_mean(own)


@dataclass(frozen=True)
class _Asked:
    """A simulation; the same as another one if all but the objects themselves are equal."""

    variant: str
    P: int
    K: int
    updates: int
    replicas: int
    burn_in: int
    key: Hashable  # of law and seed; None if nothing tells them from others
    law: DelayLaw | PerLearner = field(compare=False)
    root: np.random.SeedSequence = field(compare=False)


def _measured(asked: _Asked) -> _Entry:
    return _simulate(asked) if asked.key is None else _simulate_once(asked)


def _simulate(asked: _Asked) -> _Entry:
    race = simulate(
        asked.variant,
        asked.P,
        asked.K,
        asked.law,
        updates=asked.burn_in + asked.updates,
        replicas=asked.replicas,
        seed=asked.root,
        detail=False,
    )
    return *race.time_per_update(asked.burn_in), SIMULATION


_simulate_once = lru_cache(maxsize=1 << 14)(_simulate)


def _key(X: DelayLaw | PerLearner, root: np.random.SeedSequence) -> Hashable:
    try:
        return _value(X), repr(root.entropy), root.spawn_key
    except TypeError:  # cannot be hashed
        return None


def _value(law: Any) -> Hashable:
    """What makes a law equal to another one, or TypeError if that could change behind our back."""
    if isinstance(law, PerLearner):
        return tuple(map(_value, law.laws))
    if isinstance(law, OwnLaw):
        return _value(law.law)
    if isinstance(law, Empirical):
        return type(law), law.times.tobytes()
    own: Any = type(law)
    if issubclass(own, DelayLaw) and is_dataclass(own):
        parts = (getattr(law, part.name) for part in fields(own))
        return own, *(_value(part) if isinstance(part, DelayLaw) else part for part in parts)
    if own.__hash__ is object.__hash__:  # equal to itself alone, whatever becomes of its parameters
        raise TypeError
    hash(law)
    return own, law
