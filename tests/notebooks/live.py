"""Explorers in a live kernel after the last cell has run, and the frames that the built page has for them."""

import inspect
import json
import re

from book.notebooks import CELL_TIMEOUT
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

REDRAWN = "application/vnd.sgdrace.redrawn+json"
CHILD = "IPY_MODEL_"


def redraw(shown, kind):
    """Runs in the kernel, so it imports what it needs: draw frames of every explorer and hand them out.

    Among the states are the first, the last, the one shown at the start and every value of every control.
    """
    from IPython.display import display

    explorers = []
    for drawing in (one.drawing for one in shown.values() if getattr(one, "drawing", None)):
        sizes = [len(control.values) for control in drawing.controls]
        states = {tuple(n % size for size in sizes) for n in range(max(sizes, default=1))}
        frames = []
        for state in sorted({*states, drawing.start, tuple(size - 1 for size in sizes)}):
            try:
                frame = drawing.frame(state)[0]
            except RuntimeError as error:
                frame = str(error)
            frames.append((state, drawing.words(state), frame))
        explorers.append({"name": drawing.name, "count": drawing.count, "frames": frames})
    display({kind: explorers}, raw=True)


def explorers_after_all(notebook, folder):
    """What `redraw` finds when every cell of a notebook has run in a fresh kernel in this folder."""
    source = f"{inspect.getsource(redraw)}\nredraw(Out, {REDRAWN!r})"
    notebook.cells.append(new_code_cell(source))
    NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return next(out.data[REDRAWN] for out in notebook.cells[-1].outputs if REDRAWN in out.get("data", {}))


def explorers_on(page):
    """The frames of each explorer of a built page, as nested lists: one level for each control."""
    states = (script["state"] for script in _scripts(page, "state"))  # none, or one for all widgets
    models = {CHILD + name: model["state"] for state in states for name, model in state.items()}
    boxes = [models[CHILD + view["model_id"]] for view in _scripts(page, "view")]
    return [
        _frames(models, models[box["children"][1]]["children"][0])
        for box in boxes
        if "explorer" in box["_dom_classes"]
    ]


def _scripts(page, kind):
    found = re.findall(
        rf'<script type="application/vnd.jupyter.widget-{kind}\+json">(.*?)</script>', page, re.S
    )
    return [json.loads(script) for script in found]


def _frames(models, name):
    model = models[name]
    if model["_model_name"] == "StackModel":
        return [_frames(models, child) for child in model["children"]]
    return model["value"]


def count(frames):
    """How many frames there are.

    >>> count([["a", "b"], ["c", "d"]])
    4
    """
    return 1 if isinstance(frames, str) else sum(map(count, frames))


def at(frames, state):
    """The frame of a state.

    >>> at([["a", "b"], ["c", "d"]], (1, 0))
    'c'
    """
    for index in state:
        frames = frames[index]
    return frames
