"""A course of two tiny assignments, and submissions to it, good and bad."""

import copy
import json
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

SEED = "7"
METADATA = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "course": SEED,
}

SOLUTION = {
    "mean": "def mean(xs):\n    subtotal = 0\n    for each_value in xs:\n        subtotal += each_value\n"
    "    return subtotal / len(xs)",
    "stale": "staleness = 8 - 1",
    "why": "The others push in the meantime, each once on average.",
}


def _cell(new, source, name, points=None, solution=False):
    mark = {
        "schema_version": 3,
        "grade_id": name,
        "grade": points is not None,
        "solution": solution,
        "task": False,
    }
    mark["locked"] = not solution
    if points is not None:
        mark["points"] = points
    return new(source, metadata={"nbgrader": mark})


def _answer(name):
    body = "\n".join(f"### BEGIN SOLUTION\n{SOLUTION[name]}\n### END SOLUTION".splitlines())
    return _cell(new_code_cell, body, name, solution=True)


def tiny():
    """Three exercises: code (4 points), a number (3), words (3)."""
    return new_notebook(
        metadata=METADATA,
        cells=[
            new_markdown_cell("# Tiny\nCompute a mean, a staleness, and say why."),
            new_code_cell("import numpy as np"),
            _answer("mean"),
            _cell(
                new_code_cell,
                "import builtins\n"
                "assert builtins.abs(builtins.float(mean([1, 2, 3])) - 2.0) < 1e-9, 'The mean is 2.'\n"
                "### BEGIN HIDDEN TESTS\n"
                "for secret_case, secret_mean in (([2.0, 8.0], 5.0), ([7.0], 7.0), ([1.5, 2.5, 8.0], 4.0)):\n"
                "    assert builtins.type(mean(secret_case)) in (builtins.int, builtins.float), 'secret'\n"
                "    assert builtins.abs(mean(secret_case) - secret_mean) < 1e-9, f'secret {secret_mean}'\n"
                "### END HIDDEN TESTS",
                "mean-tests",
                points=4,
            ),
            _answer("stale"),
            _cell(
                new_code_cell,
                "### BEGIN HIDDEN TESTS\n"
                "secret_staleness = 7\n"
                "assert builtins.type(staleness) is builtins.int, 'secret kind'\n"
                "assert staleness == secret_staleness, 'secret staleness'\n"
                "### END HIDDEN TESTS",
                "stale-tests",
                points=3,
            ),
            _cell(
                new_markdown_cell,
                f"### BEGIN SOLUTION\n{SOLUTION['why']}\n### END SOLUTION",
                "why",
                3,
                solution=True,
            ),
        ],
    )


def other():
    """One exercise of one point."""
    return new_notebook(
        metadata=METADATA,
        cells=[
            _cell(
                new_code_cell,
                "### BEGIN SOLUTION\nother_number = 12\n### END SOLUTION",
                "other",
                solution=True,
            ),
            _cell(new_code_cell, "assert other_number == 12\n", "other-tests", points=1),
        ],
    )


def make_course(courses):
    """Write the key of a course, and let nbgrader make what students get."""
    from courses.grading import Course

    for name, notebook in (("tiny", tiny()), ("other", other())):
        place = Path(courses) / SEED / "key" / "source" / name
        place.mkdir(parents=True)
        nbformat.write(notebook, place / f"{name}.ipynb")
    course = Course(SEED, courses)
    course.prepare()
    return course


def release(course, name="tiny"):
    return course.releases()[name]


def filled(blank, **answers):
    """A copy of a blank notebook with answers; names of cells are spelled with underscores."""
    notebook = copy.deepcopy(blank)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "").replace("-", "_")
        if name in answers:
            cell.source = answers[name]
    return notebook


def good(blank, **answers):
    return filled(blank, **(SOLUTION | answers))


def hand_in(folder, who, notebook, name="tiny.ipynb"):
    place = Path(folder) / who
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_text(notebook if isinstance(notebook, str) else json.dumps(notebook))
