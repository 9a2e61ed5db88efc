"""What can be measured on races and training runs, to be held against theory.

Knows the arrays that a record carries; nothing of how it was made, nor of the formulas.
"""

import math
from typing import Any

import numpy as np

from sgdrace._arguments import FloatArray, count, floats
from sgdrace._estimate import Estimate, mean_of, ratio_of, share_of, variance_of

__all__ = ["Estimate", "fresh_share", "gamma", "mean_of", "ratio_of", "share_of", "variance_of"]


def gamma(run: Any) -> Estimate:
    """gamma_j along a training run: E‖∇F(w_j) - ∇F(w_τ)‖²/E‖∇F(w_j)‖² at each recorded update.

    A ratio of expectations: replicas are averaged before dividing. Standard errors by the delta method.
    `run` holds gradient_square and gradient_gap_square, both (replicas, records). A run with a replica that
    diverged is refused: its expectation does not exist, and the replicas that are left are no fair sample.

    >>> from types import SimpleNamespace
    >>> run = SimpleNamespace(gradient_square=[[4.0], [2.0]], gradient_gap_square=[[1.0], [2.0]])
    >>> gamma(run).value.tolist()
    [0.5]
    """
    square, gap = (_recorded(run, name) for name in ("gradient_square", "gradient_gap_square"))
    if square.shape != gap.shape:
        raise ValueError(
            f"gradient_square and gradient_gap_square must match in shape; got {square.shape}, {gap.shape}."
        )
    # In units of the largest value of each record, so that neither a sum nor a square can overflow.
    unit = np.maximum(square, gap).max(axis=0)
    square, gap = (np.divide(x, unit, out=np.zeros(x.shape), where=unit > 0) for x in (square, gap))
    value = _ratio(gap.mean(axis=0), square.mean(axis=0))
    if len(square) == 1:
        return Estimate(value, np.full(value.shape, math.inf), runs=1)
    known = np.isfinite(value)  # a gradient of exactly 0 leaves gamma infinite
    spread = np.std(gap - np.where(known, value, 0.0) * square, axis=0, ddof=1) / math.sqrt(len(square))
    return Estimate(value, _ratio(spread, square.mean(axis=0)), len(square))


def fresh_share(race: Any, burn_in: int = 0) -> float:
    """The share of fresh gradients in a simulated race, its first `burn_in` updates left out.

    A caution: this is no estimate of the p0 of a bound, which is a probability given any past and of which
    a frequency is only the average. For exponential delays the two agree; for shifted ones the true p0 can
    be nearly 0. Do not plug a frequency into a bound and call the result proven.

    >>> from types import SimpleNamespace
    >>> fresh_share(SimpleNamespace(staleness=np.array([[[0], [1], [0], [2]]])))
    0.5
    """
    staleness = getattr(race, "staleness", None)
    if staleness is None:
        raise ValueError("this needs a race that recorded its staleness; simulate it with detail=True.")
    staleness = np.asarray(staleness)
    burn_in = count("burn_in", burn_in, minimum=0, maximum=staleness.shape[1] - 1)
    late = staleness[:, burn_in:]
    return float(np.mean(late[late >= 0] == 0))  # where K varies, unused entries are -1


def _recorded(run: Any, name: str) -> FloatArray:
    values = getattr(run, name, None)
    if values is None:
        raise ValueError(f"this needs a run that recorded {name}; train with gradients=True.")
    array = floats(name, values)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name} must have shape (replicas, records); got {array.shape}.")
    lost = ~np.isfinite(array)
    if lost.any():
        replicas, first = int(lost.any(axis=1).sum()), int(np.argmax(lost.any(axis=0)))
        raise ValueError(
            f"{name} must be finite, but {replicas} of {len(array)} replicas diverged, the first by record "
            f"{first}; take a smaller step or the records before."
        )
    if (array < 0).any():
        raise ValueError(f"{name} holds squares, which are at least 0; got {array.min():g}.")
    return array


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """above/below, with 0/0 = 0 and x/0 infinite."""
    ratio = np.where(above > 0, math.inf, 0.0)
    with np.errstate(over="ignore"):  # a gradient that is all but 0 is no better than one of 0
        return np.divide(above, below, out=ratio, where=below > 0)
