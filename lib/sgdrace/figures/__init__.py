"""The look of the book: one function per kind of picture, and beside it `describe_...`, its text alternative.

Knows the small records that races and trainings return, and laws; nothing of simulators or widgets. A
drawing function returns a Matplotlib Figure or a list of them for one row; `to_svg` makes it part of a page.
Both of a pair take the same arguments:

>>> from sgdrace import Exponential
>>> picture = to_svg(densities(Exponential(), P=8, K=6), describe_densities(Exponential(), P=8, K=6))
>>> len(picture) < 8000
True
"""

from sgdrace._extras import extra

with extra("explore", what="sgdrace.figures"):
    from sgdrace.figures.canvas import VARIANT, WORK  # the first that imports Matplotlib

from sgdrace.figures.counting import describe_staircases, staircases
from sgdrace.figures.histograms import describe_histogram, histogram
from sgdrace.figures.laws import (
    densities,
    describe_densities,
    describe_law_card,
    law_card,
)
from sgdrace.figures.lines import Curve, curves, describe_curves
from sgdrace.figures.races import Runner, describe_race, race
from sgdrace.figures.svg import STYLE, to_svg
from sgdrace.figures.timelines import describe_rounds, describe_timeline, rounds, timeline
from sgdrace.figures.utilization import describe_shares, shares
from sgdrace.figures.versions import (
    describe_in_flight,
    describe_pulls,
    describe_stalenesses,
    describe_valley,
    in_flight,
    pulls,
    stalenesses,
    valley,
)
from sgdrace.figures.waits import describe_means, means
from sgdrace.figures.work import JobLog

__all__ = [
    "STYLE",
    "VARIANT",
    "WORK",
    "Curve",
    "JobLog",
    "Runner",
    "curves",
    "densities",
    "describe_curves",
    "describe_densities",
    "describe_histogram",
    "describe_in_flight",
    "describe_law_card",
    "describe_means",
    "describe_pulls",
    "describe_race",
    "describe_rounds",
    "describe_shares",
    "describe_staircases",
    "describe_stalenesses",
    "describe_timeline",
    "describe_valley",
    "histogram",
    "in_flight",
    "law_card",
    "means",
    "pulls",
    "race",
    "rounds",
    "shares",
    "staircases",
    "stalenesses",
    "timeline",
    "to_svg",
    "valley",
]
