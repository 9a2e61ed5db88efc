"""The race that runs in the reader's browser: its script, and what the script must be told.

Knows the package and where the parts of the script are. `race.js` is `protocol`, once more and event for
event the same, so that a page needs no kernel; `LiveRace` shows it in a notebook and on a page. Laws, colors,
names and constants stay here, and are handed over as JSON:

>>> [law["label"] for law in facts()["laws"]][:3]
['constant', 'part fixed', 'memoryless']
"""

from sgdrace._extras import extra

with extra("explore", what="sgdrace.live"):
    from sgdrace.live.facts import LAWS, STORIES, LawOnPage, Parameter, Story, facts
    from sgdrace.live.script import module, part, script
    from sgdrace.live.still import still
    from sgdrace.live.widget import LiveRace

__all__ = [
    "LAWS",
    "STORIES",
    "LawOnPage",
    "LiveRace",
    "Parameter",
    "Story",
    "facts",
    "module",
    "part",
    "script",
    "still",
]
