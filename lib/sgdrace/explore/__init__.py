"""Controls around a drawing, with or without a kernel.  Knows widgets and frames, not what is drawn.

`explore` puts sliders and buttons around a drawing function, `predict` asks the reader for an answer first,
`show` is a picture that does not move, and `glue` names a number for the prose.

A live kernel draws a frame when the reader asks for it.  When the book is built (the environment variable
`SGDRACE_PRERENDER` is set) there will be no kernel later, so every frame is drawn at once, and the browser
alone switches between them: the `index` of each control is linked to the `selected_index` of nested stacks.
"""

from sgdrace._extras import extra

with extra("explore", what="sgdrace.explore"):
    from sgdrace.explore.controls import Choice, Play
    from sgdrace.explore.explorers import explore
    from sgdrace.explore.predictions import predict
    from sgdrace.explore.shown import PRERENDER, glue, show

__all__ = ["PRERENDER", "Choice", "Play", "explore", "glue", "predict", "show"]
