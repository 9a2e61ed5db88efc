"""Controls around a drawing: live, where a kernel draws, and on a page that has every frame already."""

import time
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import ipywidgets as widgets

from sgdrace._arguments import shown
from sgdrace.explore.controls import control_of
from sgdrace.explore.frames import Drawing, State, draw_all
from sgdrace.explore.shown import Shown, on_paper, prerendering, style_sheet
from sgdrace.figures import Picture

MOST_FRAMES = 400
MOST_BYTES = 3_000_000


def explore(draw: Callable[..., Picture | str], **controls: Any) -> Shown:
    """Put controls around `draw`, which returns a Picture for one value of each control.

    A control is a list of numbers (slider), a list of names or a mapping from names to values (buttons or a
    menu), a `Choice` or a `Play`.  For a state that has no picture, `draw` returns a sentence that says why.

    >>> from sgdrace import Exponential
    >>> from sgdrace.figures import means
    >>> explore(lambda K: means(Exponential(), P=2, K=K), K=[1, 2])
    Explorer(K: 2 options). The mean time until the K-th of 2 learners is done rises from 0.5 s at K = 1 to
    1.5 s at K = 2; one learner alone takes 1 s.
    """
    if not callable(draw):
        raise TypeError(f"draw must be a function that returns a Picture; got {shown(draw)}.")
    drawing = Drawing(draw, [control_of(*item) for item in controls.items()])
    if drawing.count > MOST_FRAMES:
        sizes = " × ".join(str(len(control.values)) for control in drawing.controls)
        raise ValueError(
            f"{drawing.name} has {sizes} = {drawing.count:,} frames; at most {MOST_FRAMES} fit on a page. "
            "Offer fewer options, or fewer controls."
        )
    return _prerendered(drawing) if prerendering() else _live(drawing)


def _live(drawing: Drawing) -> Shown:
    """One leaf that the kernel fills: lighter for a notebook than a widget per frame, and no flicker."""
    frames = {drawing.start: drawing.frame(drawing.start)}  # before any widget: an error leaves none behind
    html, text = frames[drawing.start]
    leaf = widgets.HTML(html, layout=widgets.Layout(width="100%"))
    pickers = [control.picker() for control in drawing.controls]

    def update(_change: object) -> None:
        state = tuple(picker.index for picker in pickers)
        try:
            frames[state] = frames.get(state) or drawing.frame(state)
            leaf.value = frames[state][0]
        except RuntimeError as error:  # raised here, it would only reach a log that no reader opens
            leaf.value = f'<p class="explorer-note">{escape(str(error))}</p>'

    for picker in pickers:
        picker.observe(update, "index")
    box = _box(drawing, pickers, style_sheet(), leaf)
    return Shown(_text(drawing, text), on_paper(html, moves=True), box, drawing=drawing)


def _prerendered(drawing: Drawing) -> Shown:
    began = time.perf_counter()
    frames, seconds = draw_all(drawing)
    sizes = {state: len(html.encode()) for state, (html, _) in frames.items()}
    _check_size(drawing, sizes)
    slowest = max(seconds, key=seconds.__getitem__)
    facts = {
        "name": drawing.name,
        "frames": len(frames),
        "bytes": sum(sizes.values()),
        "seconds": round(time.perf_counter() - began, 3),
        "slowest": drawing.words(slowest),
        "slowest_seconds": round(seconds[slowest], 3),
    }
    html, text = frames[drawing.start]
    pickers = [control.picker() for control in drawing.controls]
    wide, style = widgets.Layout(width="100%"), widgets.HTML().style  # shared: two models, not two per frame
    leaves = {state: widgets.HTML(frame, layout=wide, style=style) for state, (frame, _) in frames.items()}
    stack = _stacked(pickers, leaves, (), wide)
    return Shown(
        _text(drawing, text), on_paper(html, moves=True), _box(drawing, pickers, stack), facts, drawing
    )


def _check_size(drawing: Drawing, sizes: Mapping[State, int]) -> None:
    total = sum(sizes.values())
    if total > MOST_BYTES:
        largest = drawing.words(max(sizes, key=sizes.__getitem__))
        raise ValueError(
            f"{drawing.name} needs {total / 1e6:.2f} MB for its {len(sizes)} frames, "
            f"{(total - MOST_BYTES) / 1e6:.2f} MB over the limit of {MOST_BYTES / 1e6:g} MB. "
            f"Draw with fewer points, or offer fewer options; the largest frame is {largest}."
        )


def _stacked(pickers: list[Any], leaves: Mapping[State, Any], prefix: State, wide: Any) -> Any:
    """A stack for each control that is still open after this beginning of a state, or the leaf at its end."""
    if len(prefix) == len(pickers):
        return leaves[prefix]
    picker = pickers[len(prefix)]
    children = [_stacked(pickers, leaves, (*prefix, i), wide) for i in range(len(picker.options))]
    stack = widgets.Stack(children, selected_index=picker.index, layout=wide)
    widgets.jslink((picker, "index"), (stack, "selected_index"))
    return stack


def _text(drawing: Drawing, text: str) -> str:
    sizes = ", ".join(f"{control.name}: {len(control.values)} options" for control in drawing.controls)
    return f"Explorer({sizes}). {text}"


def _box(drawing: Drawing, pickers: list[Any], *frames: Any) -> Any:
    rows = [control.row(picker) for control, picker in zip(drawing.controls, pickers, strict=True)]
    parts = {"explorer-controls": widgets.VBox(rows), "explorer-frames": widgets.VBox(list(frames))}
    for name, part in parts.items():
        part.add_class(name)
    box = widgets.VBox(list(parts.values()), layout=widgets.Layout(width="100%"))
    box.add_class("explorer")
    box.add_class("explorer-moves")
    return box
