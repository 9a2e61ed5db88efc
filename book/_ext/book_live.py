"""The race that runs in the page: its script beside the pages, loaded by those that have a race."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from sgdrace.live import script

NAME = "race.js"


def write(app: Sphinx) -> None:
    """Put the script together from its parts, before the pages are written."""
    static = Path(app.outdir) / "_static"
    static.mkdir(parents=True, exist_ok=True)
    (static / NAME).write_text(script(), encoding="utf-8")


def load(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """A page without a race need not wait for the script."""
    if "data-race=" in context.get("body", ""):
        app.add_js_file(NAME, loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("builder-inited", write)
    app.connect("html-page-context", load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
