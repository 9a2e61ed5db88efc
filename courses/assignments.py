"""Write the assignments of a course: notebooks for students in handout/, nbgrader's sources in key/.

The same seed gives the same files, byte for byte. Who has the seed and this repository can make the key: keep
the seed as secret as the key.
"""

import copy
import shutil
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from courses import practice, sources
from courses.directives import exercise_titles, plain_markdown
from courses.sources import Assignment, Cell

ROOT = Path(__file__).parents[1]

OPENING = """\
# {title}

An assignment of {total} points on the chapter *{chapter}* of *Slow and stale gradients can win the race*.

| exercise | points |
|---|---|
{exercises}

- **What to do.** Run the first cell of code. Then replace each `# YOUR CODE HERE` and the line after it by
  your code, and each *YOUR ANSWER HERE* by your words. Leave the names of variables and functions alone.
- **How to check.** Below each answer a cell tells at once whether it is right, or what may be wrong. Run it
  as often as you like: it carries no points. The cells that do test more than you can see.
- **How to hand in.** Restart the kernel, run all cells, save, and hand in this file under its own name,
  `{name}.ipynb`."""

SEALED = "# The answers, sealed: a check can tell whether yours is one of them, and nothing else."

# What nbgrader calls each role: (grade, solution, locked).
NBGRADER = {
    "setup": (False, False, True),
    "check": (False, False, True),
    "answer": (False, True, False),
    "tests": (True, False, True),
    "written": (True, True, False),
}


def key_notebook(assignment: Assignment) -> Any:
    """The notebook from which nbgrader makes the release: solutions, hidden tests, model answers."""
    cells = [new_markdown_cell(_opening(assignment), id="opening")]
    points = _points_of_exercises(assignment.cells)
    for number, cell in enumerate(assignment.cells):
        cells.append(_notebook_cell(cell, number, points, assignment))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def released(notebook: Any) -> Any:
    """The student's notebook, as `nbgrader generate_assignment` would make it from that of the key."""
    # Here, because nbgrader takes seconds to load.
    from nbgrader.converters import GenerateAssignment
    from nbgrader.preprocessors import IncludeHeaderFooter, InstantiateTests, SaveCells

    # No header of a course, no tests that nbgrader would write itself, no gradebook.
    needless = (IncludeHeaderFooter, InstantiateTests, SaveCells)
    notebook, resources = copy.deepcopy(notebook), {}
    for preprocessor in GenerateAssignment.preprocessors.default():
        if preprocessor not in needless:
            notebook, resources = preprocessor().preprocess(notebook, resources)
    return notebook


def with_answers(notebook: Any, answers: dict[str, str]) -> Any:
    """A student's notebook with answers filled in, by the id of their cells."""
    filled = copy.deepcopy(notebook)
    for cell in filled.cells:
        cell.source = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    return filled


def write(seed: int, build: Path, folder: Path = sources.FOLDER) -> list[Path]:
    """Write all notebooks of a course below `build`, replacing older ones; the handouts are returned."""
    course = build / str(seed)
    (course / "key").mkdir(parents=True, exist_ok=True)
    (course / "key").chmod(0o700)
    handouts = []
    for source in sources.sources(folder):
        key = key_notebook(source.drawn(seed))
        _save(key, course / "key/source" / source.name)
        handouts.append(_save(released(key), course / "handout" / source.name))
    practice.write(course / "handout", course / "key")
    return handouts


def _save(notebook: Any, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / f"{folder.name}.ipynb"
    nbformat.validate(notebook)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    return path


def _opening(assignment: Assignment) -> str:
    points = _points_of_exercises(assignment.cells)
    return OPENING.format(
        title=assignment.title,
        total=sum(points.values()),
        chapter=_heading(assignment.chapter),
        exercises="\n".join(f"| {title} | {n} |" for title, n in points.items()),
        name=assignment.name,
    )


def _heading(chapter: str) -> str:
    """The title of a chapter, as its page has it."""
    first = nbformat.read(ROOT / f"book/{chapter}.ipynb", as_version=4).cells[0].source
    return first.partition("\n")[0].removeprefix("# ")


def _points_of_exercises(cells: list[Cell]) -> dict[str, int]:
    """The points of each exercise, by its title: those of its cells up to the next one."""
    points: dict[str, int] = {}
    title = ""
    for cell in cells:
        for title in exercise_titles(cell.source) if cell.kind == "markdown" else ():
            points[title] = 0
        if cell.points:
            points[title] += cell.points
    return points


def _notebook_cell(cell: Cell, number: int, points: dict[str, int], assignment: Assignment) -> Any:
    text, id = cell.source, cell.id or (cell.role if cell.role == "setup" else f"cell-{number}")
    if cell.kind == "markdown":
        title = next(iter(exercise_titles(text)), "")
        text = plain_markdown(text, f"## {{title}} ({_in_words(points.get(title, 0))})")
    if cell.role == "setup":
        text += f'\n\n{SEALED}\nCHECKS = "{assignment.sealed}"'
    made = (new_code_cell if cell.kind == "code" else new_markdown_cell)(text, id=id)
    if cell.role in NBGRADER:
        grade, solution, locked = NBGRADER[cell.role]
        made.metadata["nbgrader"] = {
            "schema_version": 3,
            "grade_id": id,
            "grade": grade,
            "solution": solution,
            "locked": locked,
            "task": False,
        }
        if grade:
            made.metadata["nbgrader"]["points"] = cell.points
    return made


def _in_words(points: int) -> str:
    return "1 point" if points == 1 else f"{points} points"
