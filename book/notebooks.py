"""Runs the book's notebooks and brings them into the form that git keeps.

    python book/notebooks.py              run every notebook, write it in normal form
    python book/notebooks.py a.ipynb ...  only these
    python book/notebooks.py --check      run nothing; say which are not in normal form
    python book/notebooks.py --tidy       run nothing; write the outputs that are there in normal form

Normal form: outputs as text, which nbval compares, so that they are the book's regression test; no pictures,
no widget state, no true execution counts, no metadata that changes from machine to machine.
"""

import argparse
import hashlib
import sys
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("book", "tests/site")
TEXT = ("text/plain", "text/html", "text/latex", "text/markdown")
GLUE = "application/papermill.record/"
WIDGET = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
KEPT_METADATA = ("book", "mystnb")  # what an author says about a notebook; everything else is the tool's
# Tags, settings of the page, exercises, numbers from elsewhere; not what an editor folds or times.
KEPT_CELL_METADATA = ("ex", "mystnb", "nbgrader", "tags", "typed")
CELL_TIMEOUT = 300  # seconds


def notebooks(root: Path = ROOT) -> list[Path]:
    """Every notebook of the book, and the one that the tests of the site build."""
    found = (path for folder in FOLDERS for path in (root / folder).rglob("*.ipynb"))
    return sorted(path for path in found if not {".ipynb_checkpoints", "_build"} & set(path.parts))


def normalized(notebook: Any) -> Any:
    """A copy of the notebook in normal form."""
    normal = deepcopy(notebook)
    kept = {name: value for name, value in normal.metadata.items() if name in KEPT_METADATA}
    normal.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}, **kept})
    normal.nbformat, normal.nbformat_minor = 4, 5
    ids = _stable_ids([cell.source.rstrip() for cell in normal.cells])
    for cell, cell.id in zip(normal.cells, ids, strict=True):
        cell.source = cell.source.rstrip()
        cell.metadata = nbformat.from_dict(
            {k: v for k, v in cell.metadata.items() if k in KEPT_CELL_METADATA}
        )
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(_normal_output, cell.outputs) if output is not None]
            # The same for all: the true counts change with every cell that is inserted, and nbval takes none
            # to mean that the cell never ran.
            cell.execution_count = 1 if cell.outputs else None
    return normal


def _stable_ids(sources: list[str]) -> list[str]:
    """Ids that follow from the text: a random one would make every rewrite a difference."""
    ids = []
    for number, source in enumerate(sources):
        repeats = sources[:number].count(source)
        ids.append(hashlib.sha256(f"{repeats} {source}".encode()).hexdigest()[:8])
    return ids


def _normal_output(output: Any) -> Any:
    if output.output_type in ("stream", "error"):
        return output
    if output.output_type == "execute_result":
        output.execution_count = None
    output.data = {
        kind: value for kind, value in output.data.items() if kind in TEXT or kind.startswith(GLUE)
    }
    output.metadata = {name: value for name, value in output.metadata.items() if name == "scrapbook"}
    return nbformat.from_dict(output) if output.data else None


def is_normal(path: Path) -> bool:
    """Whether the file is byte for byte what `run` would have written, apart from running it."""
    return path.read_text(encoding="utf-8") == as_text(normalized(read(path)))


def read(path: Path) -> Any:
    """The notebook of a file."""
    return nbformat.read(path, as_version=4)


def as_text(notebook: Any) -> str:
    """The notebook as its file contains it."""
    return nbformat.writes(notebook, indent=1, ensure_ascii=False) + "\n"


def run(path: Path) -> None:
    """Run a notebook from a fresh kernel, in its own folder, and write it back in normal form."""
    notebook = read(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        store_widget_state=False,
        coalesce_streams=True,  # one print, one output, however the kernel happened to send it
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    path.write_text(as_text(normalized(notebook)), encoding="utf-8")


def tidy(path: Path) -> None:
    """Write a notebook back in normal form without running it."""
    path.write_text(as_text(normalized(read(path))), encoding="utf-8")


def _named(paths: Iterable[Path]) -> list[Path]:
    return [path.resolve() for path in paths] or notebooks()


def main(arguments: list[str] | None = None) -> int:
    """What the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="notebook")
    parser.add_argument("--check", action="store_true", help="run nothing; say which are not in normal form")
    parser.add_argument("--tidy", action="store_true", help="run nothing; write what is there in normal form")
    options = parser.parse_args(arguments)
    failed = 0
    for path in _named(options.paths):
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        if options.check:
            normal = is_normal(path)
            print(f"{'normal    ' if normal else 'not normal'}  {name}")
            failed += not normal
            continue
        try:
            tidy(path) if options.tidy else run(path)
            print(f"{'tidied' if options.tidy else 'ran'}  {name}")
        except CellExecutionError as error:
            failed += 1
            print(f"FAILED  {name}\n{error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
