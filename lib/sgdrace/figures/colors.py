"""What the colors, dashes and shades of the book mean: one look for each variant, law and kind of work.

Every color but ink has a contrast of at least 3:1 on white and on the theme's dark ground, except those of
the variants and of work, which are Okabe and Ito's.
"""

from dataclasses import dataclass
from typing import Any

INK = "black"  # follows the theme
DARK = "#111111"  # stays dark, for words on a color
LIGHT = "#FAFAFA"  # stays light, for words on the darkest of the colors

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
    "ignored": Shade("#B15928", 1.0, 0.26, (5, 1.5)),
    "idle": Shade(INK, 0.36, 0.86),  # seen in the dark, and words on it can still be read
    "running": Shade(INK, 0.55, 0.4, (2, 2)),
}

SOLID, DASHED, DOTTED, DASH_DOT = None, (4, 1.5), (1, 1), (6, 1.5, 1, 1.5)
VIOLET, OLIVE, BROWN, CRIMSON, TEAL = "#8B5CD6", "#808000", "#9A6240", "#C9184A", "#0F8B8D"
# Laws, by the name of their family. Two that share their dashes differ in a color that no kind of color
# vision confuses; two that share their color differ in their dashes.
LAW = {
    "Constant": Stroke(INK, DOTTED),
    "ShiftedExponential": Stroke(TEAL, DASHED),
    "Uniform": Stroke(OLIVE, DOTTED),
    "Gamma": Stroke(OLIVE, SOLID),  # and Erlang, which is one
    "Exponential": Stroke(INK, SOLID),
    "Weibull": Stroke(VIOLET, DOTTED),
    "HyperExponential": Stroke(CRIMSON, DASH_DOT),
    "LogNormal": Stroke(BROWN, DASHED),
    "Lomax": Stroke(VIOLET, DASHED),
    "Pareto": Stroke(CRIMSON, SOLID),
    "Empirical": Stroke(INK, DASH_DOT),
}
OTHER_LAW = Stroke(INK, (8, 3))  # of SciPy's, of somebody's own, of learners that differ

# What came out for a claim. The words stand beside it, so the color is never the only cue.
VERDICT = {
    "holds": TEAL,
    "holds with a condition": OLIVE,
    "does not hold as stated": VIOLET,
    "not tested here": "#8A8A8A",
    "red: its test fails": CRIMSON,
}

# What the threads of a GPU do, and what they must not leave behind. Words stand on the bars.
PHASE = {
    "load": Shade(INK, 0.2, 1.0),
    "multiply": Shade(TEAL, 1.0, 1.0),
    "residual": Shade(VIOLET, 1.0, 1.0),
    "add up": Shade("#8A8A8A", 1.0, 1.0),
    "wrong": Shade(CRIMSON, 1.0, 1.0),
}

# For curves that are of no variant and of no law.
INKS = tuple(Stroke(INK, dash) for dash in (SOLID, DASHED, DOTTED, DASH_DOT, (2, 2.5), (8, 3)))
FADED = Stroke("#8A8A8A")  # what stands behind: copies in flight
BARS_ALPHA = 0.42  # the bars of a histogram: seen in the dark, with curves above them
SHADE = (0.04, 0.36)  # least and most ink of a tile: words on it can be read in both themes
MEAN = (2.0, 2.0)  # the dashes of a line that marks a mean
# What ties a name to its curve is no data: faint ink, which is gray, dotted, thinner than any line of data.
LEADER, LEADER_WIDTH, LEADER_ALPHA = Stroke(INK, (1, 2.5)), 0.7, 0.55


def law_stroke(law: Any) -> Stroke:
    """The look of a law, which is that of its family: multiples and shifts of a law look like it.

    >>> from sgdrace import Erlang, Gamma, Pareto
    >>> law_stroke(Pareto(2.5)) == law_stroke(0.5 + 3 * Pareto(1.5)) == LAW["Pareto"]
    True
    >>> law_stroke(Erlang(3)) == law_stroke(Gamma(0.5)) == LAW["Gamma"]
    True
    """
    while type(law).__name__ in ("Scaled", "Shifted"):
        law = law.base
    families = (family.__name__ for family in type(law).__mro__)
    return next((LAW[family] for family in families if family in LAW), OTHER_LAW)
