"""What a cell of the book shows, live and on the built page, and the numbers it hands to the prose."""

import os
from collections.abc import Mapping
from html import escape
from typing import Any

import ipywidgets as widgets
from IPython.display import display

from sgdrace.explore.frames import Drawing, close
from sgdrace.figures import STYLE, Picture, to_svg

PRERENDER = "SGDRACE_PRERENDER"  # set while the book is built, and then only


def prerendering() -> bool:
    """Whether the book is being built, so that there will be no kernel later."""
    return bool(os.environ.get(PRERENDER))


class Shown:
    """What a cell of the book shows: a widget, its stand-in on a page without scripts, and a line of text."""

    def __init__(
        self,
        text: str,
        html: str,
        widget: Any = None,
        facts: Mapping[str, Any] | None = None,
        drawing: Drawing | None = None,
    ):
        self.text = text
        self.html = html
        self.widget = widget
        self.facts = dict(facts or {})
        self.drawing = drawing  # what draws the frames of an explorer, also those that nobody asked for yet

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The line of text is what git stores and nbval compares; HTML is only for the built page."""
        data: dict[str, Any] = {} if self.widget is None else self.widget._repr_mimebundle_()
        data["text/plain"] = self.text
        if prerendering():
            data["text/html"] = self.html
        return data, {"explorer": self.facts} if self.facts else {}


def show(picture: Picture) -> Shown:
    """A picture that does not move.

    >>> from matplotlib.figure import Figure
    >>> show(Picture(Figure(figsize=(2, 1)), "An empty sheet."))
    Figure. An empty sheet.
    """
    html = to_svg(picture)
    return _still(f"Figure. {picture.text}", html, picture)


def panels(*steps: tuple[str, str, Picture]) -> Shown:
    """Small pictures that build up an idea, each with a title and a sentence: a row, or a strip to swipe.

    >>> from matplotlib.figure import Figure
    >>> panels(("A sheet.", "It is empty.", Picture(Figure(figsize=(2, 1)), "Nothing.")))
    Panel 1. A sheet. It is empty. Nothing.
    """
    said, drawn = [], []
    for n, (title, words, picture) in enumerate(steps, start=1):
        caption = f"<strong>{n}. {escape(title)}</strong> {escape(words)}"
        drawn.append(f"<figure>{to_svg(picture)}<figcaption>{caption}</figcaption></figure>")
        said.append(f"Panel {n}. {title} {words} {picture.text}")
    strip = f'<div role="group" aria-label="Step by step" tabindex="0">{"".join(drawn)}</div>'
    html = f'<div class="panels">{strip}</div>'
    return _still("\n".join(said), html, *(picture for _, _, picture in steps))


def _still(text: str, html: str, *pictures: Picture) -> Shown:
    """What does not move: its HTML and the pictures in it."""
    for picture in pictures:
        for figure in picture.figures:
            close(figure)  # or the notebook shows what pyplot made a second time
    widget = None if prerendering() else widgets.VBox([style_sheet(), widgets.HTML(html)])
    return Shown(text, on_paper(html), widget)


def glue(name: str, value: object) -> None:
    """Name a computed value for the prose, which writes it as {glue:text}`name` or {glue:text}`name:.2f`.

    The same record as `myst_nb.glue(..., display=False)`, without needing the book's tools in a live kernel.
    """
    prefix = "application/papermill.record/"
    plain = value.item() if hasattr(value, "item") else value  # 2.72, not np.float64(2.72)
    if isinstance(plain, float):
        plain = float(f"{plain:.12g}")  # the last digits differ between machines, and nbval would see them
    metadata = {"scrapbook": {"name": name, "mime_prefix": prefix}}
    record = {prefix + "text/plain": repr(plain)}
    display(record, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]


def style_sheet() -> Any:
    """The figures' style sheet, for a live notebook; the built site has it already."""
    return widgets.HTML(f"<style>{STYLE}</style>", layout=widgets.Layout(display="none"))


def on_paper(html: str, moves: bool = False) -> str:
    """A frame as a page without scripts has it; of one that `moves` elsewhere, print says so."""
    return f'<div class="explorer{" explorer-moves" * moves}">{html}</div>'
