"""A plugin for nbval: a notebook runs alone in an empty folder, and then its explorers are asked once more.

    pytest --nbval -p tests.notebooks.live book

With a live kernel an explorer draws what the built page shows, also after the last cell has run. nbval has
such a kernel, so no notebook need run a third time for it.
"""

import inspect
import json
import os
import re
from pathlib import Path

import pytest
from book.notebooks import CELL_TIMEOUT, ROOT

from sgdrace.explore import PRERENDER
from tests.site.conftest import SITES

REDRAWN = "application/vnd.sgdrace.redrawn+json"
CHILD = "IPY_MODEL_"


def begin():
    """Runs in the kernel before the first cell: go to an empty folder, and keep whatever cells show."""
    import os
    import tempfile

    os.chdir(tempfile.mkdtemp())
    shown = []
    get_ipython().events.register("post_run_cell", lambda done: shown.append(done.result))  # noqa: F821
    return shown


def redraw(shown, kind):
    """Runs in the kernel after the last cell: draw frames of every explorer and hand them out.

    Among the states are the first, the last, the one shown at the start and every value of every control.
    """
    from IPython.display import display

    explorers = []
    for drawing in (one.drawing for one in shown if getattr(one, "drawing", None)):
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """The kernel is there once the first cell is set up."""
    result = yield
    if getattr(item, "cell_num", None) == 0:
        _outputs(item.parent.kernel, f"{inspect.getsource(begin)}\n_shown_by_cells = begin()\ndel begin")
    return result


def pytest_collection_modifyitems(items):
    """One more item behind the last cell of each notebook."""
    last = {item.parent: place for place, item in enumerate(items) if hasattr(item, "cell_num")}
    for notebook, place in sorted(last.items(), key=lambda found: -found[1]):
        items.insert(place + 1, Explorers.from_parent(notebook, name="explorers"))


class Explorers(pytest.Item):
    """The explorers of a notebook, after its last cell."""

    def runtest(self):
        assert PRERENDER not in os.environ
        source = f"{inspect.getsource(redraw)}\nredraw(_shown_by_cells, {REDRAWN!r})"
        drawn = next(data[REDRAWN] for data in _outputs(self.parent.kernel, source) if REDRAWN in data)
        built = explorers_on(page_of(self.path).read_text(encoding="utf-8"))
        assert [explorer["count"] for explorer in drawn] == list(map(count, built))
        assert differences(drawn, built) == []

    def reportinfo(self):
        return self.path, None, f"{self.path.name}: explorers after the last cell"


def _outputs(kernel, source):
    """What a piece of source displays in the kernel."""
    sent, shown = kernel.execute_cell_input(source, allow_stdin=False), []
    kernel.await_reply(sent, timeout=CELL_TIMEOUT)
    while True:
        message = kernel.get_message("iopub", timeout=CELL_TIMEOUT)
        content = message["content"]
        if message["parent_header"].get("msg_id") != sent:
            continue
        assert message["msg_type"] != "error", content["evalue"]
        if content.get("execution_state") == "idle":
            return shown
        shown.append(content.get("data", {}))


def page_of(notebook):
    """The page that was built from a notebook."""
    name = Path(notebook).relative_to(ROOT).with_suffix("").as_posix()
    page = next(site.folder / f"{name}.html" for site in SITES.values() if name in site.pages)
    assert page.exists(), f"{page.relative_to(ROOT)} is not built; `make test` builds it first."
    return page


def differences(drawn, built):
    """Frames that a live kernel draws and the page does not have."""
    return [
        f"{explorer['name']} at {words}: {frame[:200]}"
        for explorer, frames in zip(drawn, built, strict=True)
        for state, words, frame in explorer["frames"]
        if frame != at(frames, state)
    ]


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
