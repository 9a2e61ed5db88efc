"""Controls around a drawing, with or without a kernel.  Knows widgets and frames, not what is drawn.

`explore` puts sliders and buttons around a drawing function, `predict` asks the reader for an answer first,
`show` is a picture that does not move, `panels` are small ones with captions, and `glue` names a number for
the prose. `check` holds claims against numbers and says in one line what came out; `table` shows numbers
alone, `listing` code of the package, and `cards` the rows of a scorecard.

A live kernel draws a frame when the reader asks for it.  When the book is built (the environment variable
`SGDRACE_PRERENDER` is set) there will be no kernel later, so every frame is drawn at once, and the browser
alone switches between them: the `index` of each control is linked to the `selected_index` of nested stacks.
"""

from sgdrace._extras import extra

with extra("explore", what="sgdrace.explore"):
    from sgdrace.explore.cards import cards
    from sgdrace.explore.checks import check
    from sgdrace.explore.controls import Choice, Play
    from sgdrace.explore.explorers import explore
    from sgdrace.explore.listings import listing
    from sgdrace.explore.predictions import predict
    from sgdrace.explore.shown import PRERENDER, glue, panels, show
    from sgdrace.explore.tables import table

__all__ = [
    "PRERENDER",
    "Choice",
    "Play",
    "cards",
    "check",
    "explore",
    "glue",
    "listing",
    "panels",
    "predict",
    "show",
    "table",
]
