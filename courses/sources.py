"""Reads the source of an assignment, book/exercises/NAME.md, and draws the numbers of a course.

A source is MyST Markdown, as jupytext reads it. Its front matter has `title` (of the assignment) and
`chapter` (the page of the book, such as `staleness`). It has four exercises, whose titles begin with Compute,
Code, Explore and Explain, of 10 points in all, each begun by a directive:

    ```{exercise} Compute: how stale?
    Text with $formulas$ and numbers of the course, such as {{P}} or {{share:.2f}}.
    ```

In the student's notebook its title becomes a heading with the exercise's points. ```` ```{dropdown} Hint ````
(inside it or after it) becomes a fold, ```` ```{math} ```` a formula between `$$`; other directives and roles
({doc}, {term}, {ref}, ...) are refused: JupyterLab would show them raw. An outer fence has four backticks.

A code cell says what it is by its metadata `exercise`, on one line below the opening fence,

    ```{code-cell} python
    :exercise: {role: answer, id: mean}
    ```

and a text cell by `+++ {"exercise": {"role": "written", "id": "why", "points": 2}}` before it; a bare `+++`
ends it. A cell without `exercise` is for everybody, as it stands. An `id` has small letters, digits and
hyphens; no other cell of the assignment has the same.

role: numbers
    Python that is run when the assignment is made, in order, all such cells in one namespace; nobody sees it.
    `draw` is a NumPy generator that the course seed and the name of the assignment determine. Every name
    that is bound can be used in double braces in any later cell, text or code: `{{name}}` or `{{name:.2f}}`
    (a name, no expression; arrays come as lists). Where LaTeX or an f-string wants double braces, put a space
    between them. Numbers for hidden tests are made here too, best by the simulator or by a formula, so that
    they do not come from the code under test.
    `answer(name, value, digits=3, within=None, mistakes={hint: number})` declares a number that a student is
    asked for: right to so many significant digits, or within a distance (for what is found by simulation:
    allow several standard errors). The name is that of the student's variable. A hint is a sentence such as
    "That is the time per mini-batch; the question is per update." and must not tell the answer. A mistake
    that rounds to the answer is refused: draw from ranges in which that cannot happen, whatever the seed.
role: setup
    Exactly one, before all answers: the imports. `CHECKS = "…"`, the sealed answers, is added to it.
role: answer, id
    The reference solution between the lines `### BEGIN SOLUTION` and `### END SOLUTION`, in place of which
    the student sees a stub that raises NotImplementedError. What is outside them stays: the line `mean = ...`
    above a solution that binds a number, so that its check can say "not a number yet"; `def` and docstring.
role: check, id
    Run by the student after the answer; no points, never an error. `check_number("mean", mean, CHECKS)` for a
    number that was declared; `check_cases(function, ((argument, ...), result), ...)` for a function, with the
    small cases that the text works out. Both are in `sgdrace.answers`: import them in the setup cell.
role: tests, id, points
    What nbgrader counts: all its points, or none if anything raises. Begin with the import of what it uses
    (`from sgdrace.answers import close, plain`), as a student may have bound the names anew. What is between
    `### BEGIN HIDDEN TESTS` and `### END HIDDEN TESTS` only the key has. `assert close(mean, {{mean}})` for a
    number, with the `digits` or `within` of its `answer`; `assert plain(function({{case}})) == {{result}}`
    for a function, on several drawn cases, or `close` again, which also compares lists of floats. Both see
    through classes with an `__eq__` of their own. Call nothing else that a student could have bound anew.
role: written, id, points      (a text cell)
    The model answer and what earns each point, for the key; the student finds a cell to fill.
role: mistake, id, of, caught_by, misconception
    A plausible wrong version of the answer `of`, complete, no markers: one that a student with this
    `misconception` (a sentence that names it) would hand in. Exactly the tests in the list `caught_by` must
    fail. At least two per assignment; nobody sees them.

Checks and tests see only what the answers bind; one test must not need the answer of another exercise.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jupytext
import numpy as np

from sgdrace.answers import Answer, plain, seal

FOLDER = Path(__file__).parents[1] / "book/exercises"
TOTAL = 10
KEYS = {
    "text": set(),
    "numbers": set(),
    "setup": set(),
    "answer": {"id"},
    "check": {"id"},
    "tests": {"id", "points"},
    "written": {"id", "points"},
    "mistake": {"id", "of", "caught_by", "misconception"},
}
MARKS = {"answer": "SOLUTION", "tests": "HIDDEN TESTS"}
BRACES = re.compile(r"\{\{(\w+)(?::([^{}]*))?\}\}")


class SourceError(ValueError):
    """A source that is not in the form, in one sentence that names it."""


@dataclass(frozen=True)
class Cell:
    """A cell and what it is for; the role of what is for everybody is "text"."""

    kind: str  # "code" or "markdown"
    source: str
    role: str = "text"
    id: str = ""
    points: int = 0
    of: str = ""
    caught_by: tuple[str, ...] = ()
    misconception: str = ""


@dataclass(frozen=True)
class Assignment:
    """An assignment with the numbers of one course, complete: the key, to be stripped for students."""

    name: str
    title: str
    chapter: str
    cells: list[Cell]
    mistakes: list[Cell]
    answers: dict[str, Answer]
    salt: bytes = field(repr=False)

    @property
    def sealed(self) -> str:
        """The answers as a student's notebook may carry them."""
        return seal(self.answers, self.salt)

    def cell(self, id: str) -> Cell:
        """The cell of this id."""
        return next(cell for cell in self.cells if cell.id == id)


@dataclass(frozen=True)
class Source:
    """A source as it is written, for all courses."""

    name: str
    title: str
    chapter: str
    cells: list[Cell]

    def drawn(self, seed: int) -> Assignment:
        """The assignment for the course with this seed."""
        course = np.random.SeedSequence([seed, *self.name.encode()])
        numbers, salt = course.spawn(2)
        answers: dict[str, Answer] = {}

        def answer(name: str, value: float, **how: Any) -> None:
            if name in answers:
                raise SourceError(f"{self.name}: the answer {name!r} is declared twice.")
            hints = {hint: float(number) for hint, number in how.pop("mistakes", {}).items()}
            answers[name] = Answer(float(value), mistakes=hints, **how)

        names: dict[str, Any] = {"draw": np.random.default_rng(numbers), "answer": answer}
        cells = []
        for cell in self.cells:
            if cell.role == "numbers":
                exec(compile(cell.source, f"<numbers of {self.name}>", "exec"), names)
            else:
                cells.append(replace(cell, source=self._filled(cell.source, names)))
        return Assignment(
            self.name,
            self.title,
            self.chapter,
            cells=[cell for cell in cells if cell.role != "mistake"],
            mistakes=[cell for cell in cells if cell.role == "mistake"],
            answers=answers,
            salt=np.random.default_rng(salt).bytes(16),
        )

    def _filled(self, text: str, names: dict[str, Any]) -> str:
        def value(found: re.Match[str]) -> str:
            name, form = found[1], found[2] or ""
            if name not in names:
                raise SourceError(
                    f"{self.name}: no cell of numbers above binds {name!r}, used as {found[0]}."
                )
            return format(plain(names[name]), form) if form else str(plain(names[name]))

        return BRACES.sub(value, text)


def sources(folder: Path = FOLDER) -> list[Source]:
    """All sources, by name."""
    return [read(path) for path in sorted(folder.glob("*.md"))]


def read(path: Path) -> Source:
    """The source in a file, if it is in the form."""
    notebook = jupytext.read(path, fmt="md:myst")
    front = notebook.metadata
    for key in ("title", "chapter"):
        if not isinstance(front.get(key), str):
            raise SourceError(f"{path.stem}: the front matter has no {key}.")
    cells = [_cell(path.stem, cell) for cell in notebook.cells]
    source = Source(path.stem, front["title"], front["chapter"], cells)
    for complaint in _complaints(source):
        raise SourceError(f"{source.name}: {complaint}")
    return source


def _cell(name: str, cell: Any) -> Cell:
    said = dict(cell.metadata.get("exercise", {}))
    role = said.pop("role", "text")
    if role not in KEYS or set(said) != KEYS[role]:
        wanted = f"{role} has {sorted(KEYS[role])}" if role in KEYS else f"the roles are {sorted(KEYS)}"
        raise SourceError(f"{name}: a cell says {dict(cell.metadata.exercise)}; {wanted}.")
    if "caught_by" in said:
        said["caught_by"] = tuple(said["caught_by"])
    return Cell(cell.cell_type, cell.source, role, **said)


def _complaints(source: Source) -> Iterator[str]:
    ids = [cell.id for cell in source.cells if cell.id]
    by_role = {role: [cell for cell in source.cells if cell.role == role] for role in KEYS}
    tests = {cell.id for cell in by_role["tests"]}
    for id in ids:
        if ids.count(id) > 1 or not re.fullmatch(r"[a-z0-9-]{1,60}", id):
            yield f"the id {id!r} must be the only one, of small letters, digits and hyphens."
    points = sum(cell.points for cell in source.cells)
    if points != TOTAL:
        yield f"its points add up to {points}, not to {TOTAL}."
    if len(by_role["setup"]) != 1:
        yield f"it has {len(by_role['setup'])} cells of setup, not one."
    for cell in source.cells:
        if cell.role != "text" and (cell.kind == "markdown") != (cell.role == "written"):
            yield f"the cell {cell.id or cell.role!r} is {cell.kind}."
        mark = MARKS.get(cell.role, "")
        for known in MARKS.values():
            marks = re.findall(rf"^\s*### (BEGIN|END) {known}$", cell.source, re.M)
            wanted = ["BEGIN", "END"] if known == mark else []
            if marks != wanted:
                yield f"the cell {cell.id or cell.role!r} has the marks {marks} of {known}, not {wanted}."
    for cell in by_role["mistake"]:
        if cell.of not in {answer.id for answer in by_role["answer"]}:
            yield f"the mistake {cell.id!r} is of {cell.of!r}, which is no answer."
        if not cell.caught_by or not set(cell.caught_by) <= tests:
            yield f"the mistake {cell.id!r} names {cell.caught_by}, not some of the tests {sorted(tests)}."
    if len(by_role["mistake"]) < 2:
        yield "it has fewer than two mistakes."


def hidden_lines(cells: list[Cell]) -> set[str]:
    """Every line that no student and no visitor may see, as it stands, but for those that are also shown."""
    hidden, shown = set(), set()
    for cell in cells:
        secret = cell.role in ("numbers", "mistake", "written")
        inside = False
        for line in map(str.strip, cell.source.splitlines()):
            inside = inside or line.startswith("### BEGIN")
            (hidden if secret or inside else shown).add(line)
            inside = inside and not line.startswith("### END")
    return hidden - shown
