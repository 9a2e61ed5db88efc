"""What the colors, dashes and shades of the book mean: one look for each variant and each kind of work."""

from dataclasses import dataclass

INK = "black"  # follows the theme
DARK = "#111111"  # stays dark, for words on a color

Dash = tuple[float, ...]  # lengths of ink and gap, in widths of the line


@dataclass(frozen=True)
class Stroke:
    """The line of a curve. Color is never the only cue: the dashes differ too."""

    color: str
    dash: Dash | None = None


@dataclass(frozen=True)
class Shade:
    """The bar of a kind of work. The more of its row a bar fills, the more its work helped.

    Dashes are in units here, since bars differ in thickness.
    """

    color: str
    alpha: float
    share: float
    dash: Dash | None = None


# Okabe-Ito colors. Synchronous variants are solid, asynchronous ones dashed.
VARIANT = {
    "K-sync": Stroke("#0072B2"),
    "K-batch-sync": Stroke("#56B4E9"),
    "K-async": Stroke("#D55E00", (3, 1)),
    "K-batch-async": Stroke("#E69F00", (3, 1)),
}
WORK = {
    "used fresh": Shade("#009E73", 1.0, 0.86),
    "used stale": Shade("#CC79A7", 1.0, 0.58),
    "cancelled": Shade("#8A8A8A", 1.0, 0.26),
    "idle": Shade(INK, 0.22, 0.86),
    "running": Shade(INK, 0.55, 0.4, (2, 2)),
}
# For curves that are no variant's.
INKS = tuple(Stroke(INK, dash) for dash in (None, (4, 1.5), (1, 1), (6, 1.5, 1, 1.5), (2, 2.5), (8, 3)))
FADED = Stroke("#8A8A8A")  # what stands behind: copies in flight
BARS_ALPHA = 0.42  # the bars of a histogram: seen in the dark, with curves above them
MEAN = (2.0, 2.0)  # the dashes of a line that marks a mean
