"""The race that runs in the reader's browser: its script, and what the script must be told.

Knows the package and where the parts of the script are; nothing of pages. `race.js` is `protocol`, once more
and event for event the same, so that a page needs no kernel. Laws, colors, names and constants stay here, and
are handed over as JSON:

>>> [law["label"] for law in facts()["laws"]][:3]
['constant', 'part fixed', 'memoryless']
"""

from sgdrace.live.facts import LAWS, STORIES, LawOnPage, Parameter, Story, facts
from sgdrace.live.script import part, script

__all__ = ["LAWS", "STORIES", "LawOnPage", "Parameter", "Story", "facts", "part", "script"]
