"""The look of the book: one function per kind of picture, which comes with the words that say what it shows.

Knows the small records that races and trainings return, and laws; nothing of simulators or widgets. A
drawing function returns a `Picture`: one or more Matplotlib figures and their text alternative. Pictures add
up to a row, and `to_svg` makes one part of a page:

>>> from sgdrace import Exponential
>>> law = Exponential()
>>> picture = densities(law, P=8, K=6) + means(law, P=8, K=6)
>>> len(picture.figures), len(to_svg(picture)) < 16_000
(2, True)
"""

from sgdrace._extras import extra

with extra("explore", what="sgdrace.figures"):
    from sgdrace.figures.picture import Picture  # the first that imports Matplotlib

from sgdrace.figures.blocks import warps
from sgdrace.figures.colors import (
    VARIANT,
    WORK,
)
from sgdrace.figures.counting import every_kth, staircases
from sgdrace.figures.glimpses import glimpse
from sgdrace.figures.histograms import histogram
from sgdrace.figures.laws import (
    densities,
    law_card,
)
from sgdrace.figures.lines import (
    Curve,
    curves,
)
from sgdrace.figures.maps import Tile, heat_map, tiles, winner_map
from sgdrace.figures.patience import patience
from sgdrace.figures.races import Runner, race
from sgdrace.figures.roofs import roofline
from sgdrace.figures.scores import evidence, verdicts
from sgdrace.figures.slopes import slopes
from sgdrace.figures.svg import (
    STYLE,
    to_svg,
)
from sgdrace.figures.timelines import own_pace, rounds, timeline
from sgdrace.figures.utilization import shares
from sgdrace.figures.versions import (
    in_flight,
    pulls,
    stalenesses,
    valley,
)
from sgdrace.figures.waits import means

__all__ = [
    "STYLE",
    "VARIANT",
    "WORK",
    "Curve",
    "Picture",
    "Runner",
    "Tile",
    "curves",
    "densities",
    "every_kth",
    "evidence",
    "glimpse",
    "heat_map",
    "histogram",
    "in_flight",
    "law_card",
    "means",
    "own_pace",
    "patience",
    "pulls",
    "race",
    "roofline",
    "rounds",
    "shares",
    "slopes",
    "staircases",
    "stalenesses",
    "tiles",
    "timeline",
    "to_svg",
    "valley",
    "verdicts",
    "warps",
    "winner_map",
]
