"""The parts of the script. Knows where they are and in which order they need each other."""

from pathlib import Path

from sgdrace._arguments import one_of

PARTS = ("race.js",)


def part(name: str) -> str:
    """The source of one part.

    >>> "class VirtualClock" in part("race.js")
    True
    """
    return Path(__file__).with_name(one_of("name", name, PARTS)).read_text(encoding="utf-8")
