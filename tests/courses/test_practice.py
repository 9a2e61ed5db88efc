"""Practice notebooks ask what their chapter asks, hold what that needs of it, and give nothing away."""

import re

import pytest
from book.notebooks import read
from courses import practice
from nbformat import v4 as nb

CHAPTERS = [pytest.param(path, id=path.stem) for path in practice.chapters()]


def sources(notebook, kind):
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


def run(cells):
    """Run the code in one namespace, as a kernel would."""
    names = {"__name__": "practice"}
    for source in cells:
        exec(compile(source, source.partition("\n")[0], "exec"), names)
    return names


def lines(texts):
    return {line.strip() for text in texts for line in text.splitlines() if line.strip()}


def solving(chapter):
    return [c for e in practice.exercises(chapter) for c in e.code if "solution" in c.metadata["tags"]]


@pytest.mark.parametrize("path", CHAPTERS)
def test_no_line_of_a_solution_is_handed_out(path):
    chapter = read(path)
    answers = solving(chapter)
    others = [cell.source for cell in chapter.cells if cell.cell_type == "code" and cell not in answers]
    secret = lines(cell.source for cell in answers) - lines(others)
    secret = {line for line in secret if not re.match(r"(from|import) |[)\]}]+$", line)}
    written = [c.source for e in practice.exercises(chapter) for c in e.solution if c.cell_type == "markdown"]
    handout = practice.practice(chapter, solved=False)
    assert secret or not answers
    assert not secret & lines(sources(handout, "code"))
    assert written and not lines(written) & lines(sources(handout, "markdown"))


@pytest.mark.parametrize("path", CHAPTERS)
def test_every_exercise_is_asked_and_the_key_solves_it(path):
    chapter = read(path)
    asked = practice.exercises(chapter)
    assert len(asked) == sum(cell.source.count("{exercise}") for cell in chapter.cells)
    assert all(exercise.text and exercise.hint and exercise.solution for exercise in asked)
    handout, key = (practice.practice(chapter, solved) for solved in (False, True))
    for notebook in (handout, key):
        headings = re.findall(r"^## \d+\. (.+)$", "\n".join(sources(notebook, "markdown")), re.M)
        assert headings == [exercise.title for exercise in asked]
    assert {practice._without_glue(cell.source) for cell in solving(chapter)} <= set(sources(key, "code"))
    assert sum(source.startswith("# your code") for source in sources(handout, "code")) >= 1


@pytest.mark.parametrize("path", CHAPTERS)
@pytest.mark.parametrize("solved", [False, True], ids=["handout", "key"])
def test_a_practice_notebook_is_plain_and_has_no_explorers(path, solved):
    notebook = practice.practice(read(path), solved)
    text, code = ("\n".join(sources(notebook, kind)) for kind in ("markdown", "code"))
    assert not re.search(r"\{[\w:-]+\}`|```\{|\]\(#|\]\(\S+\.(ipynb|md)|:label:|:class:", text)
    assert not re.search(r"^(explore|predict|glue)\(", code, re.M)


@pytest.mark.parametrize("name", ["order-statistics", "stragglers"])
def test_the_key_runs_to_its_end(name):
    chapter = read(practice.ROOT / "book" / f"{name}.ipynb")
    run(sources(practice.practice(chapter, solved=True), "code"))


SOLVED = """def walk(law, K, P, rng, size):
    running = np.arange(P, P - K, -1)
    return (rng.standard_exponential((size, K)) / running / law.rate).sum(1)"""


def walking(answer):
    """What a student runs who works the third exercise of order statistics, and no other."""
    handout = practice.practice(read(practice.ROOT / "book/order-statistics.ipynb"), solved=False)
    cells = [cell.source for cell in handout.cells]
    place = cells.index("# your code; the cell below tries walk")
    setup = cells[: next(n for n, source in enumerate(cells) if source.startswith("## 1."))]
    return [*setup[1:], answer, *cells[place + 1 : place + 3]]


def test_the_handout_tries_what_the_student_wrote_with_nothing_else_solved():
    run(walking(SOLVED))
    with pytest.raises(NameError, match="name 'walk' is not defined"):
        run(walking("# your code"))
    with pytest.raises(AssertionError, match="walked"):
        run(walking(SOLVED.replace("/ running", "/ P")))


def test_the_same_files_come_out_again(tmp_path):
    first = practice.write(tmp_path / "handout", tmp_path / "key")
    again = practice.write(tmp_path / "other", tmp_path / "key")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert (tmp_path / "handout/practice/staleness.ipynb").exists()
    assert {path.name for path in first} == {path.name for path in practice.chapters()}


CHAPTER = """# A chapter
---
import numpy as np
from laws import law
---
rows = []
for P in (1, 2):
    wait = law(P)
    rows.append(wait)
---
@np.vectorize
def slow(x):
    return x + shift
---
shift = 1; shown = rows
show(shown)
---
shift = np.sqrt(4)
---
shift += 1
wait = 7
---
```{solution-start} x
```
---
for wait in rows:
    print(slow(wait))
---
```{solution-end}
```"""


def a_chapter(text):
    question = nb.new_markdown_cell("````{exercise} One\n:label: x\nAsk.\n````")
    parts = [
        nb.new_markdown_cell(p) if re.match("[#`]", p) else nb.new_code_cell(p) for p in text.split("\n---\n")
    ]
    return nb.new_notebook(cells=[question, *parts])


def test_the_setup_has_what_the_solutions_need_and_no_more():
    assert practice.setup(a_chapter(CHAPTER)) == [
        "import numpy as np\nfrom laws import law",
        "rows = []\nfor P in (1, 2):\n    wait = law(P)\n    rows.append(wait)",
        "@np.vectorize\ndef slow(x):\n    return x + shift",
        "shift = np.sqrt(4)",
        "shift += 1",
    ]
