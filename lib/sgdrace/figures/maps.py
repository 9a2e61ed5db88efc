"""Maps: tiles on a grid, each with a color or a shade and a word, so that color is never alone.

`tiles` is the general picture; `winner_map` says who wins where, `heat_map` how large a number is where.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdrace._arguments import count, floats, one_of, shown
from sgdrace.figures.canvas import LINE, ROOM, SMALL, WIDTH, Limits, Paper, limits, number
from sgdrace.figures.colors import DARK, INK, LIGHT, SHADE, VARIANT
from sgdrace.figures.labels import text_width, wrapped
from sgdrace.figures.picture import Picture
from sgdrace.variants import VARIANTS

LETTERS = {"K-sync": "S", "K-batch-sync": "BS", "K-async": "A", "K-batch-async": "BA"}
NOBODY = "–"
DIVERGED = "div"
GAP = 2.0  # between tiles
LOWEST = 26.0  # of a tile, in height
WIDEST = 110.0  # the names of rows may take this much of the width
KEY = 118.0  # from one entry of the key to the next
EDGE = 0.8  # the width of the line around a tile that has no color

Name = str | float
Winner = str | tuple[str, int] | None


@dataclass(frozen=True)
class Tile:
    """A tile: its short text, its color with the opacity of it, and how the text alternative calls it.

    With no opacity it is an outline. Without `words` it is called what it says.

    >>> Tile("div", words="diverged")
    Tile(text='div', color='black', alpha=0.0, words='diverged')
    """

    text: str
    color: str = INK
    alpha: float = 0.0
    words: str = ""

    @property
    def called(self) -> str:
        """What the text alternative calls it."""
        return self.words or self.text

    @property
    def ink(self) -> str:
        """The color of its text: that of the page, or on a color the lighter or darker that can be read."""
        if self.color == INK or not self.alpha:
            return INK
        return LIGHT if self.color == VARIANT["K-sync"].color else DARK


def tiles(
    grid: Sequence[Sequence[Tile]],
    rows: Sequence[Name],
    columns: Sequence[Name],
    y_name: str,
    x_name: str,
    key: Sequence[tuple[Tile, str]] = (),
) -> Picture:
    """Tiles in rows, the first on top, with the names of rows and columns and a key of tiles below.

    `y_name` says what differs from row to row, `x_name` what differs from column to column. A text that is
    too wide for its tile is parted at a space; one that has no room even so is refused.

    >>> tiles([[Tile("a"), Tile("b"), Tile("b")]], ["low"], [1, 2, 4], "noise", "P")
    Picture(1 figure: Noise down, P across. low: a at 1; b from 2 to 4.)
    """
    down, across = _names("rows", rows), _names("columns", columns)
    cells = _checked(grid, down, across)
    left = 8.0 + max(text_width(name, SMALL) for name in down)
    wide = (WIDTH - left) / len(across)
    texts = [[_fitting(tile.text, wide - GAP - 2) for tile in row] for row in cells]
    high = LOWEST + (LINE - 2) * (max(len(lines) for row in texts for lines in row) - 1)
    names = wrapped(y_name, ROOM)
    top = 6.0 + LINE * len(names)
    foot = top + high * len(down)
    paper = Paper(foot + 38 + LINE * 1.25 * math.ceil(len(key) / 3))
    for n, words in enumerate(names):
        paper.write(2, 13 + n * LINE, words)
    placed = [
        (tile, (left + wide * j, top + high * i, left + wide * (j + 1) - GAP, top + high * (i + 1) - GAP))
        for i, row in enumerate(cells)
        for j, tile in enumerate(row)
    ]
    _fill(paper, placed)
    for (tile, (x0, y0, x1, y1)), lines in zip(placed, (t for row in texts for t in row), strict=True):
        for n, words in enumerate(lines):
            middle = (y0 + y1) / 2 + (LINE - 2) * (n - (len(lines) - 1) / 2)
            paper.write((x0 + x1) / 2, middle, words, SMALL, "center", middle=True, color=tile.ink)
    for i, name in enumerate(down):
        paper.write(left - 5, top + high * (i + 0.5) - 1, name, SMALL, "right", middle=True)
    for j, name in enumerate(_thinned(across, wide)):
        paper.write(left + wide * (j + 0.5) - 1, foot + 13, name, SMALL, "center")
    half = text_width(x_name) / 2
    paper.write(min(max((left + WIDTH) / 2, half), WIDTH - half), foot + 30, x_name, anchor="center")
    _key(paper, foot + 48, key)
    return Picture(paper.figure, _describe(cells, down, across, y_name, x_name))


def winner_map(
    winners: Sequence[Sequence[Winner]],
    rows: Sequence[Name],
    columns: Sequence[Name],
    y_name: str,
    x_name: str,
) -> Picture:
    """Who wins where: tiles in the color of a variant, with its letters and, where it is given, its K.

    A winner is a variant, a pair (variant, K), or None where nobody arrives. Letters: S for K-sync, BS for
    K-batch-sync, A for K-async, BA for K-batch-async; the key says so, with all four in every frame.

    >>> winners = [["K-sync", ("K-async", 1)], [None, ("K-async", 1)]]
    >>> winner_map(winners, [0.1, 0.01], [8, 16], "target error", "P").text[:60]
    'Who wins. Target error down, P across. 0.1: K-sync at 8; K-a'
    """
    if not isinstance(winners, Sequence) or isinstance(winners, str):
        raise TypeError(f"winners must be a list of rows of variants; got {shown(winners)}.")
    grid = [[_winner(one) for one in row] for row in winners]
    key = [(_winner(variant), variant) for variant in VARIANTS] + [(_winner(None), "nobody arrives")]
    picture = tiles(grid, rows, columns, y_name, x_name, key)
    return picture.saying(f"Who wins. {picture.text}")


def heat_map(
    values: ArrayLike,
    rows: Sequence[Name],
    columns: Sequence[Name],
    y_name: str,
    x_name: str,
    shades: Limits | None = None,
) -> Picture:
    """Positive numbers, each written in its tile: the larger, the more ink, on a log scale.

    What is not finite is a run that diverged: its tile is an outline and says "div". `shades` are the
    values of no ink and of most ink; give them where the frames of one explorer shall be compared. Without
    them they are the least and the largest value.

    >>> heat_map([[0.002, 0.03], [0.05, float("inf")]], [0.01, 0.1], [8, 40], "rate", "P").text
    'Rate down, P across. 0.01: 0.002 at 8; 0.03 at 40. 0.1: 0.05 at 8; diverged at 40.'
    """
    array = floats("values", values)
    finite = array[np.isfinite(array)]
    if array.ndim != 2 or not array.size or (finite <= 0).any():
        raise ValueError(f"values must be rows of numbers above 0, or not finite; got {shown(values)}.")
    ends = limits("shades", shades, log=True)
    if ends is None:
        ends = (float(finite.min()), float(finite.max())) if finite.size else (1.0, 1.0)
    grid = [[_shaded(value, ends) for value in row] for row in array.tolist()]
    # The key is in every frame, or the page would jump when the first run diverges.
    return tiles(grid, rows, columns, y_name, x_name, [(Tile(DIVERGED), "diverged")])


def _winner(winner: Winner) -> Tile:
    if winner is None:
        return Tile(NOBODY, words="nobody")
    variant, K = (winner, None) if isinstance(winner, str) else _pair(winner)
    color = VARIANT[one_of("a winner", variant, VARIANTS)].color
    if K is None:
        return Tile(LETTERS[variant], color, 1.0, variant)
    size = count("K of a winner", K)
    return Tile(f"{LETTERS[variant]} {size}", color, 1.0, f"{variant} with K = {size}")


def _pair(winner: Any) -> tuple[Any, Any]:
    try:
        variant, K = winner
    except (TypeError, ValueError):
        raise TypeError(f"a winner must be a variant, (variant, K) or None; got {shown(winner)}.") from None
    return variant, K


def _shaded(value: float, ends: Limits) -> Tile:
    if not math.isfinite(value):
        return Tile(DIVERGED, words="diverged")
    span = math.log(ends[1] / ends[0])
    share = math.log(value / ends[0]) / span if span else 0.5
    return Tile(_short(value), INK, SHADE[0] + (SHADE[1] - SHADE[0]) * min(max(share, 0.0), 1.0))


def _short(value: float) -> str:
    """Two digits that count; no exponent unless there is no room without.

    >>> _short(0.01234), _short(123.0), _short(1.96), _short(4e-7), _short(2.6e6)
    ('0.012', '120', '2', '4e-7', '3e6')
    """
    rounded = float(f"{value:.2g}")
    if not 1e-4 <= rounded < 1e5:
        digits, exponent = f"{value:.0e}".split("e")
        return f"{digits}e{int(exponent)}"
    return number(rounded)


def _fill(paper: Paper, placed: Sequence[tuple[Tile, tuple[float, float, float, float]]]) -> None:
    """All tiles of one look are one path."""
    looks: dict[tuple[str, float], list[tuple[float, float, float, float]]] = {}
    for tile, box in placed:
        looks.setdefault((tile.color, round(tile.alpha, 3)), []).append(box)
    for (color, alpha), boxes in looks.items():
        if alpha:
            paper.boxes(boxes, color, alpha)
            continue
        x0, y0, x1, y1 = np.array(boxes).T + np.array([[EDGE], [EDGE], [-EDGE], [-EDGE]]) / 2
        gap = np.full(x0.shape, np.nan)
        x = np.column_stack([x0, x1, x1, x0, x0, gap]).ravel()
        y = np.column_stack([y0, y0, y1, y1, y0, gap]).ravel()
        paper.line(x, y, width=EDGE, alpha=0.4)


def _key(paper: Paper, y: float, key: Sequence[tuple[Tile, str]]) -> None:
    for n, (tile, words) in enumerate(key):
        row, column = divmod(n, 3)
        x, middle = 2 + KEY * column, y + row * LINE * 1.25
        wide = max(22.0, text_width(tile.text, SMALL) + 4)
        _fill(paper, [(tile, (x, middle - 8, x + wide, middle + 8))])
        paper.write(x + wide / 2, middle, tile.text, SMALL, "center", middle=True, color=tile.ink)
        paper.write(x + wide + 4, middle, words, SMALL, middle=True)


def _describe(cells: list[list[Tile]], down: list[str], across: list[str], y_name: str, x_name: str) -> str:
    """Row by row; neighbors that are called the same are said once."""
    sentences = []
    for name, row in zip(down, cells, strict=True):
        pairs = zip(across, (tile.called for tile in row), strict=True)
        runs = [(called, [place for place, _ in run]) for called, run in groupby(pairs, lambda pair: pair[1])]
        sentences.append(f"{name}: {'; '.join(f'{called} {_where(places)}' for called, places in runs)}.")
    return f"{y_name[:1].upper()}{y_name[1:]} down, {x_name} across. {' '.join(sentences)}"


def _where(places: list[str]) -> str:
    return f"at {places[0]}" if len(places) == 1 else f"from {places[0]} to {places[-1]}"


def _fitting(text: str, width: float) -> list[str]:
    lines = wrapped(text, width, SMALL)
    if max(text_width(line, SMALL) for line in lines) > width + 2:
        raise ValueError(f"the text {shown(text)} has no room in its tile on a phone.")
    return lines


def _thinned(names: list[str], wide: float) -> list[str]:
    """The names of columns; where they would touch, only every second, third and so on."""
    for every in range(1, len(names) + 1):
        kept = [name if n % every == 0 else "" for n, name in enumerate(names)]
        if max(text_width(name, SMALL) for name in kept) + 3 <= every * wide:
            break
    return kept


def _names(what: str, names: Sequence[Name]) -> list[str]:
    words = [name if isinstance(name, str) else f"{name:,.12g}" for name in names]
    if not words or max(text_width(word, SMALL) for word in words) > WIDEST:
        raise ValueError(f"{what} must have names that are short enough for a phone; got {shown(names)}.")
    return words


def _checked(grid: Sequence[Sequence[Tile]], down: list[str], across: list[str]) -> list[list[Tile]]:
    cells = [list(row) for row in grid]
    if len(cells) != len(down) or any(len(row) != len(across) for row in cells):
        got = ", ".join(str(len(row)) for row in cells)
        raise ValueError(
            f"a map needs a tile for each of {len(down)} rows and {len(across)} columns; got rows of {got}."
        )
    if not all(isinstance(tile, Tile) for row in cells for tile in row):
        raise TypeError(
            f"every entry of grid must be a Tile, which is a text with its look; got {shown(grid)}."
        )
    return cells
