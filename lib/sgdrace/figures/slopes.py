"""The slope of a parabola at the model and at an old version of it, and the gap between the two."""

import math

import numpy as np

from sgdrace._arguments import real
from sgdrace.figures.canvas import SMALL, WIDTH, Paper, Plot, Scale, number
from sgdrace.figures.colors import INK, INKS, WORK, Stroke
from sgdrace.figures.picture import Picture

FRESH, STALE = WORK["used fresh"].color, WORK["used stale"].color
TANGENT = 0.3  # half its width, as a share of what is drawn of the parabola on one side
ROW = 30.0  # from one slope to the next
TOP = 178.0  # of the first


def slopes(here: float, old: float, reach: float = 1.6) -> Picture:
    """Tangents of w²/2 at the model, `here`, and at an `old` version; below them both slopes and their gap.

    On this parabola the slope at w is w, so a slope ends below its place. `reach` is how far the parabola is
    drawn on each side. On top the gap is compared with the slope here, as gamma does: both squared.

    >>> slopes(here=0.5, old=1.0).text
    'Here, at w = 0.5, the slope is 0.5. The gradient in use is that of w = 1, where the slope is 1. Their gap
     is 0.5; squared and divided by the squared slope here it is 1.'
    """
    reach = real("reach", reach, above=0)
    here = real("here", here, above=-reach, below=reach, closed=True)
    old = real("old", old, above=-reach, below=reach, closed=True)
    paper = Paper(TOP + 3 * ROW + 34)
    hill = Plot(paper, Scale(-reach, reach, 12, WIDTH - 12), Scale(0, reach**2 / 2, 148, 34))
    paper.write(12, 13, f"gap² / (slope here)² = {_ratio(here, old)}", bold=True)
    x = np.linspace(-reach, reach, 41)
    hill.line(x, x**2 / 2, INKS[0], 1.0)
    for w, color, size in ((old, STALE, 9.0), (here, FRESH, 9.0)):
        ends = np.array([w - TANGENT * reach, w + TANGENT * reach])
        hill.line(ends, w**2 / 2 + w * (ends - w), Stroke(color), 2.6)
        paper.dots(hill.x(w), hill.y(w**2 / 2), color, size)
    rows = [
        ("slope here", 0.0, here, FRESH),
        ("slope at the old version", 0.0, old, STALE),
        ("their gap", here, old, INK),
    ]
    for n, (words, start, end, color) in enumerate(rows):
        y = TOP + ROW * n
        paper.write(12, y, words, SMALL)
        paper.write(WIDTH - 12, y, _short(end - start), SMALL, "right", bold=True)
        paper.segments(hill.x(start), hill.x(end), y + 9, y + 9, Stroke(color), 7.0)
    Plot(paper, hill.x, Scale(0, 1, TOP + 3 * ROW - 6, TOP)).x_axis("slope, which on this parabola is w")
    return Picture(paper.figure, _describe(here, old))


def _ratio(here: float, old: float) -> str:
    return number(((here - old) / here) ** 2 if here else math.inf if old else 0.0)


def _short(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def _describe(here: float, old: float) -> str:
    return (
        f"Here, at w = {number(here)}, the slope is {number(here)}. The gradient in use is that of "
        f"w = {number(old)}, where the slope is {number(old)}. Their gap is {number(abs(here - old))}; "
        f"squared and divided by the squared slope here it is {_ratio(here, old)}."
    )
