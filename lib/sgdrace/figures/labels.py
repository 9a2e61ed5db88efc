"""Where words stand so that they cross nothing. Knows the geometry of boxes and lines; draws nothing.

A box is x0, y0, x1, y1 in units, y from the top.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import FloatArray
from sgdrace.figures.svg import FONT

ASCENT, DESCENT = 11.0, 4.0  # of a line of text, from its baseline
NARROW, WIDE = frozenset("iljtfr.,:;|!'()[] "), frozenset("mwMW%")
NO = 1e6  # the cost of a place where words would cross something


def text_width(words: str, size: float = FONT) -> float:
    """About how wide a text is; the page chooses the font, so on the safe side of the common ones."""
    plain = words
    for mark in ("$", "_{", "^{", "}"):
        plain = plain.replace(mark, "")
    return size * sum(0.36 if c in NARROW else 0.88 if c in WIDE else 0.6 for c in plain)


def wrapped(words: str, width: float, size: float = FONT) -> list[str]:
    """The words in lines that are at most so wide, unless a single word is wider.

    >>> wrapped("who waits for whom", 70.0)
    ['who waits', 'for whom']
    """
    first, *rest = words.split(" ")
    lines = [first]
    for word in rest:
        longer = f"{lines[-1]} {word}"
        if text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def overlap(boxes: FloatArray, others: FloatArray) -> Any:
    """Which of the boxes (n, 4) overlap which of the others (m, 4): (n, m).

    >>> overlap(np.array([[0, 0, 2, 2]]), np.array([[1, 1, 3, 3], [2, 0, 3, 3]])).tolist()
    [[True, False]]
    """
    a, b = boxes[:, None, :], others[None, :, :]
    return (a[..., :2] < b[..., 2:]).all(axis=2) & (b[..., :2] < a[..., 2:]).all(axis=2)


def apart(wanted: ArrayLike, gap: float, low: float, high: float) -> FloatArray:
    """The places nearest to those wanted that are `gap` apart and in bounds.

    Isotonic regression of wanted - gap * rank: neighbors that would collide are pooled around their mean.

    >>> apart([10, 11, 40], gap=4, low=0, high=50).tolist()
    [8.5, 12.5, 40.0]
    """
    places = np.asarray(wanted, dtype=np.float64)
    order = np.argsort(places, kind="stable")
    ranks = gap * np.arange(places.size)
    pools: list[list[float]] = []
    for value in (places[order] - ranks).tolist():
        pools.append([value])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    level = np.array([float(np.mean(pool)) for pool in pools for _ in pool])
    result = np.empty_like(places)
    result[order] = np.clip(level, low, max(low, high - gap * (places.size - 1))) + ranks
    return result


def beside(lines: Sequence[FloatArray], widths: Sequence[float], area: Sequence[float]) -> list[FloatArray]:
    """Boxes for the names of one or two curves: above both, close to its own and not to the other's.

    A line is its points (n, 2). The top line of the area must be free of curves: names that fit nowhere else
    stand there, one at the left and one at the right.
    """
    spots = [_spots(lines, own, width, area) for own, width in enumerate(widths)]
    if len(spots) == 1:
        return [spots[0][np.argmin(spots[0][:, 4]), :4]]
    first, second = spots
    cost = first[:, None, 4] + second[None, :, 4] + NO * overlap(first[:, :4], second[:, :4])
    i, j = np.unravel_index(np.argmin(cost), cost.shape)
    return [first[i, :4], second[j, :4]]


def _spots(lines: Sequence[FloatArray], own: int, width: float, area: Sequence[float]) -> FloatArray:
    """Boxes for the name of a curve, each with how bad it is there: (boxes, 5)."""
    left, top, right, bottom = area
    x, y = lines[own].T
    feet = np.arange(top + ASCENT, bottom - 6, 3.0)  # baselines
    high = y[None, :] <= feet[:, None] + DESCENT  # (feet, points) where the curve is as high as the letters
    feet, high = feet[high.any(axis=1)], high[high.any(axis=1)]
    after = np.where(high, x, -math.inf).max(axis=1) + 7
    before = np.where(high, x, math.inf).min(axis=1) - 7 - width
    across = np.linspace(left, right - width, 30)
    under = (x >= across[:, None] - 2) & (x <= across[:, None] + width + 2)
    above = np.where(under, y, math.inf).min(axis=1) - DESCENT - 4
    x0 = np.concatenate([after, before, across, [left, right - width]])
    foot = np.concatenate([feet, feet, above, [top + ASCENT, top + ASCENT]])
    boxes = np.column_stack([x0, foot - ASCENT, x0 + width, foot + DESCENT])
    aside = 0.1 * np.abs(across + width / 2 - x[np.argmin(y)])  # of the places above, near the summit
    cost = np.concatenate([np.zeros(feet.size), np.full(feet.size, 15.0), 10 + aside, [0, 0]])
    cost += 0.02 * np.abs(foot - (top + bottom) / 2)
    blocked = (x0 < left) | (boxes[:, 2] > right) | (boxes[:, 1] < top)
    for i, line in enumerate(lines):
        gap = _clearance(boxes, line)
        blocked |= gap < 1
        cost += np.maximum(0.0, 30 - gap) if i != own else 0.0
    cost += NO * blocked
    cost[-2:] = 1000  # the last resort
    return np.column_stack([boxes, cost])


def _clearance(boxes: FloatArray, line: FloatArray) -> Any:
    """How far each box is above a line, or beside all of it that is as high: (boxes,)."""
    x, y = line.T
    aside = np.maximum(boxes[:, :1] - x, x - boxes[:, 2:3])  # (boxes, points)
    return np.maximum(aside, y - boxes[:, 3:4]).min(axis=1)
