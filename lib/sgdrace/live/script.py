"""The script of the race, put together from its parts. Knows where they are and which comes first.

The parts share one scope, so that a page from the file system, which may import no modules, can run them.
"""

import json
from pathlib import Path

from sgdrace._arguments import one_of
from sgdrace.live.facts import facts

PARTS = ("race.js", "setting.js", "drawing.js", "flagship.js", "style.css")


def part(name: str) -> str:
    """The source of one part.

    >>> "class VirtualClock" in part("race.js")
    True
    """
    return Path(__file__).with_name(one_of("name", name, PARTS)).read_text(encoding="utf-8")


def script() -> str:
    r"""A classic script that mounts a race in every element of the page with the attribute data-race.

    >>> script().endswith("mountAll();\n})();\n")
    True
    """
    return f'(() => {{\n"use strict";\n{_joined()}\nmountAll();\n}})();\n'


def module() -> str:
    r"""The same as a module that a notebook's widget renders.

    >>> module().endswith("export default { render };\n")
    True
    """
    return f"{_joined()}\nexport default {{ render }};\n"


def _joined() -> str:
    """All parts in one scope, after what they must know; two of them with one name would not run."""
    told = json.dumps(facts(), ensure_ascii=False, allow_nan=False)
    parts = [part(name) for name in PARTS if name.endswith(".js")]
    return "\n".join([f"const FACTS = {told};", f"const CSS = {json.dumps(_style())};", *parts])


def _style() -> str:
    """The style, with the colors of work that the figures of the book have."""
    work = facts()["work"]
    fates = [
        f'i[data-fate="{fate}"] {{ background: {work[fate]["color"]}; }}'
        for fate in ("used fresh", "used stale", "cancelled")
    ]
    return part("style.css") + "\n".join(fates)
