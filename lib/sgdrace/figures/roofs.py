"""A roofline: how fast a card can be at most, given the operations per byte, and what ends up below it."""

from collections.abc import Sequence

import numpy as np

from sgdrace._arguments import shown
from sgdrace.figures.canvas import LINE, SMALL, WIDTH, Plot, number, plot, tick_margin, tick_words
from sgdrace.figures.colors import DASHED, INK, INKS, TEAL, VIOLET, Stroke
from sgdrace.figures.labels import apart, text_width
from sgdrace.figures.picture import Picture
from sgdrace.gpu.roofline import Card, LeastTime, microseconds

LOOKS = {"fused": TEAL, "plain": VIOLET}
# The same for every card, so that frames can be compared: operations per byte, and 10^12 of them per second.
ACROSS, UP = (0.1, 100.0), (0.01, 100.0)
TERA = 1e12


def roofline(ways: Sequence[LeastTime]) -> Picture:
    """The roofs of a card, and where ways to compute an update end up below them at best.

    The slope is the memory: twice the operations per byte, twice the speed. The level part is arithmetic, and
    the dashed one arithmetic without fused products and sums. All is computed from the data sheet.

    >>> from sgdrace.gpu.roofline import CARDS, Update, fused
    >>> roofline([fused(Update(gradients=10_000), CARDS["T4"])]).text
    'Computed from the data sheet of the T4 in float32, not measured. Its memory moves 0.32 TB/s and its peak
    is 8.1 TFLOP/s, 4.05 with products and sums apart. Fused: 10.9 operations per byte, at least 37.9 µs,
    bound by memory.'
    """
    ways = _checked(ways)
    card, dtype = ways[0].card, ways[0].update.dtype
    ticks = [0.1, 1.0, 10.0, 100.0]
    left = tick_margin(tick_words(ticks))
    name = f"operations per second, 10$^{{12}}$ ({card.name}, {dtype})"
    area = plot(256, ACROSS, UP, left, 12.0, y_name=name, log_x=True, log_y=True)
    area.x_axis("operations per byte of memory traffic")
    area.y_axis(ticks)
    _roofs(area, card, dtype)
    x, y = area.x([way.intensity for way in ways]), area.y([way.speed / TERA for way in ways])
    below = apart(y + LINE - 1, LINE, area.y.stop + LINE, area.y.start - 5)
    for way, across, up, line in zip(ways, x, y, below, strict=True):
        words = f"{way.way} ≥ {microseconds(way.seconds)}"
        place = min(across + 9, WIDTH - 4 - text_width(words, SMALL))
        area.paper.dots(across, up, LOOKS[way.way], 8.0)
        area.paper.write(place, line, words, SMALL)
    return Picture(area.paper.figure, _describe(ways))


def _roofs(area: Plot, card: Card, dtype: str) -> None:
    peak, slope = card.peak(dtype) / TERA, card.bandwidth / TERA
    x = np.array([ACROSS[0], peak / slope, ACROSS[1]])
    area.line(x, np.minimum(slope * x, peak), INKS[0])
    area.line([peak / 2 / slope, ACROSS[1]], [peak / 2, peak / 2], Stroke(INK, DASHED), 1.2)
    area.paper.write(area.x.stop, float(area.y(peak)) - 6, "arithmetic", SMALL, "right")
    words, per_unit = "memory", np.log(ACROSS[1] / ACROSS[0]) / (area.x.stop - area.x.start)
    end = ACROSS[0] * np.exp(per_unit * (8 + text_width(words, SMALL)))  # there the slope is still below
    area.paper.write(area.x.start + 4, float(area.y(slope * end)) - 4, words, SMALL)


def _describe(ways: Sequence[LeastTime]) -> str:
    card, dtype = ways[0].card, ways[0].update.dtype
    peak = card.peak(dtype) / TERA
    found = (
        f"{way.way.capitalize()}: {number(way.intensity)} operations per byte, at least "
        f"{microseconds(way.seconds)}, bound by {way.binds}"
        for way in ways
    )
    return (
        f"Computed from the data sheet of the {card.name} in {dtype}, not measured. Its memory moves "
        f"{number(card.bandwidth / TERA)} TB/s and its peak is {number(peak)} TFLOP/s, {number(peak / 2)} "
        f"with products and sums apart. {'. '.join(found)}."
    )


def _checked(ways: Sequence[LeastTime]) -> list[LeastTime]:
    if (
        not isinstance(ways, Sequence)
        or not ways
        or not all(isinstance(way, LeastTime) and way.way in LOOKS for way in ways)
    ):
        raise TypeError(f"ways must be a list of times as fused and plain tell them; got {shown(ways)}.")
    if len({(way.card, way.update.dtype) for way in ways}) > 1:
        raise ValueError("a roofline is that of one card in one precision; draw one picture for each.")
    return list(ways)
