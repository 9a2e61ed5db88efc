"""Reruns the book's notebooks with other random numbers and lists the cells that fail.

    python book/seeds.py                      every notebook, with five other seeds
    python book/seeds.py --seeds 3 a.ipynb    only this one, with three

A check that holds for the seed it was written with, and for few others, shows luck. One in ten thousand may
fail by chance; whatever fails more often claims too much. Nothing is written.
"""

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from book.notebooks import CELL_TIMEOUT, ROOT, notebooks, read

# Every stream of the package and of a chapter begins with one of these two calls.
OTHER_LUCK = """\
def other_luck():
    import numpy as np

    class SeedSequence(np.random.SeedSequence):
        def __init__(self, entropy=None, **rest):
            super().__init__([entropy, {other}] if isinstance(entropy, int) else entropy, **rest)

    def default_rng(seed=None, usual=np.random.default_rng):
        return usual(SeedSequence(seed) if isinstance(seed, int) else seed)

    np.random.SeedSequence, np.random.default_rng = SeedSequence, default_rng

other_luck()
"""


def failures(notebook: Any, other: int, folder: Path) -> list[str]:
    """A line for each cell that fails when the notebook runs with other random numbers."""
    run = nbformat.from_dict(notebook)
    run.cells = [nbformat.v4.new_code_cell(OTHER_LUCK.format(other=other)), *run.cells]
    NotebookClient(
        run,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        allow_errors=True,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return [
        f"cell {number}: {output.ename}: {output.evalue.splitlines()[0] if output.evalue else _line(output)}"
        for number, cell in enumerate(run.cells[1:])
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    ]


def _line(error: Any) -> str:
    """The line of a bare assert, which has no message."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error.traceback))  # without its colors
    marked = re.findall(r"-+> \d+ (.*)", plain)
    return marked[-1] if marked else ""


def main(arguments: Iterable[str] | None = None) -> int:
    """What the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="notebook")
    parser.add_argument("--seeds", type=int, default=5, help="how many (default: 5)")
    options = parser.parse_args(None if arguments is None else list(arguments))
    failed = 0
    for path in [path.resolve() for path in options.paths] or notebooks():
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for other in range(1, options.seeds + 1):
            found = failures(read(path), other, path.parent)
            failed += len(found)
            print(f"{name}, seed {other}: {len(found) or 'nothing'} failed", *found, sep="\n  ", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
