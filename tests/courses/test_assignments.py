"""Handout and key of a course: every source, with the numbers of two courses.

That a command writes them, the same each time, and that nbgrader agrees is in test_whole_way.py.
"""

import ast
import builtins
import contextlib
import doctest
import io
import re
import shutil
import stat
import sys
from functools import cache
from pathlib import Path

import nbformat
import pytest
import yaml
from courses import assignments, directives, sources
from courses.assignments import key_notebook, released
from courses.directives import NoPlainFormError, exercise_titles, plain_markdown
from courses.sources import Source, SourceError, hidden_lines

ROOT = Path(__file__).resolve().parents[2]
SEEDS = (2026, 2027)
SOURCES = {source.name: source for source in sources.sources()}
CASES = [(name, seed) for name in SOURCES for seed in SEEDS]
MISTAKES = [
    pytest.param(name, seed, cell.id, id=f"{name}-{seed}-{cell.id}")
    for name, seed in CASES
    for cell in SOURCES[name].cells
    if cell.role == "mistake"
]
# What a student's notebook may import: the small environment (binder/requirements.txt) and Python's own.
SMALL = {"numpy", "scipy", "sgdrace", "matplotlib", "sklearn", "tqdm", "ipywidgets"}


@cache
def drawn(name, seed):
    return SOURCES[name].drawn(seed)


@cache
def key(name, seed):
    return key_notebook(drawn(name, seed))


@cache
def handout(name, seed):
    return released(key(name, seed))


def ids(name, seed, role):
    return [cell.id for cell in drawn(name, seed).cells if cell.role == role]


def cell_of(notebook, id):
    return next(cell for cell in notebook.cells if cell.id == id)


def run(cell, space):
    exec(compile(cell.source, cell.id, "exec"), space)


@cache
def bound(name, seed, solved=True):
    """The names that the answers bind, those of the reference or of the handout; some take seconds."""
    space, notebook = {"__name__": "__main__"}, (key if solved else handout)(name, seed)
    for cell in notebook.cells:
        if cell.id == "setup" or cell.id in ids(name, seed, "answer"):
            with contextlib.suppress(() if solved else Exception):
                run(cell, space)
    return space


def failed_tests(name, seed, space, anew=()):
    """Which tests fail where the answers have bound these names; `anew` are bound before each test."""
    failed = set()
    for id in ids(name, seed, "tests"):
        try:
            run(cell_of(key(name, seed), id), {**space, **dict(anew)})
        except Exception:
            failed.add(id)
    return failed


def lines_of_checks(name, seed, space):
    """What the checks print. They raise nothing, whatever the answers do."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for id in ids(name, seed, "check"):
            run(cell_of(key(name, seed), id), {**space})
    return printed.getvalue().splitlines()


def mistaken(name, seed, id):
    """A mistake, and the names that the answers bind where it stands for one of them."""
    mistake = next(cell for cell in drawn(name, seed).mistakes if cell.id == id)
    space = {**bound(name, seed)}
    run(mistake, space)
    return mistake, space


# Own numbers


def test_there_are_sources():
    assert "staleness" in SOURCES


@pytest.mark.parametrize("name", SOURCES)
def test_two_seeds_give_different_numbers_and_different_answers(name):
    one, other = (drawn(name, seed) for seed in SEEDS)
    assert one.answers and one.answers.keys() == other.answers.keys()
    assert one.sealed != other.sealed
    for a, b in zip(exercises(one), exercises(other), strict=True):
        assert a != b or a[0].startswith("Explain")
        asked = re.findall(r'check_number\("(\w+)"', "".join(a))
        assert not asked or any(one.answers[n].value != other.answers[n].value for n in asked), a[0]


def exercises(assignment):
    """The cells of each exercise, after its title."""
    found = []
    for cell in assignment.cells:
        if cell.kind == "markdown" and (titles := exercise_titles(cell.source)):
            found.append([titles[0]])
        if found:
            found[-1].append(cell.source)
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_numbers_can_be_drawn_for_any_course(name):
    for seed in [*range(6), 2**64 + 1]:
        SOURCES[name].drawn(seed)


@pytest.mark.parametrize("name", SOURCES)
def test_an_assignment_has_the_four_kinds_of_exercises_and_ten_points(name):
    points = assignments._points_of_exercises(drawn(name, 2026).cells)
    assert [title.partition(":")[0] for title in points] == ["Compute", "Code", "Explore", "Explain"]
    assert sum(points.values()) == 10 and min(points.values()) > 0


@pytest.mark.parametrize("name", SOURCES)
def test_every_number_that_is_asked_for_has_a_check(name):
    checked = []
    for cell in drawn(name, 2026).cells:
        if cell.role == "check":
            calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
            checked += [call.args[0].value for call in calls if ast.unparse(call.func) == "check_number"]
    assert sorted(checked) == sorted(drawn(name, 2026).answers)


# What is graded


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_the_reference_passes_all_tests_and_every_check_says_so(name, seed):
    assert failed_tests(name, seed, bound(name, seed)) == set()
    lines = lines_of_checks(name, seed, bound(name, seed))
    assert len(lines) >= len(drawn(name, seed).answers)
    assert [line for line in lines if "correct" not in line and "as it should" not in line] == []


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_blank_notebook_fails_all_tests_and_every_check_says_not_yet(name, seed):
    for id in ids(name, seed, "answer"):
        assert "raise NotImplementedError()" in cell_of(handout(name, seed), id).source
    blank = bound(name, seed, solved=False)
    assert failed_tests(name, seed, blank) == set(ids(name, seed, "tests"))
    lines = lines_of_checks(name, seed, blank)
    assert lines and all("not a number yet" in line or "not written yet" in line for line in lines)


@pytest.mark.parametrize(("name", "seed", "id"), MISTAKES)
def test_a_mistake_fails_exactly_the_tests_that_it_names(name, seed, id):
    mistake, wrong = mistaken(name, seed, id)
    assert failed_tests(name, seed, wrong) == set(mistake.caught_by)
    assert mistake.misconception.endswith(".")


class Yes:
    """Whatever it is asked, called with or compared to, it says yes."""

    def __call__(self, *_, **__):
        return self

    def __eq__(self, other):
        return True

    __hash__ = None
    __lt__ = __le__ = __gt__ = __ge__ = __ne__ = __contains__ = __eq__


@pytest.mark.parametrize(("name", "seed", "id"), [case for case in MISTAKES if SEEDS[0] in case.values])
def test_a_mistake_does_not_pass_by_binding_what_tests_could_use_anew(name, seed, id):
    mistake, wrong = mistaken(name, seed, id)
    anew = {builtin for builtin in vars(builtins) if builtin.islower() and not builtin.startswith("_")}
    failed = failed_tests(name, seed, wrong, dict.fromkeys(anew | {"close", "plain", "np"}, Yes()))
    assert set(mistake.caught_by) <= failed


@pytest.mark.parametrize("name", SOURCES)
def test_numbers_and_lists_that_equal_everything_do_not_pass(name):
    equal = "class Equal({0}):\n    def __eq__(self, other):\n        return True\n    __hash__ = None\n"
    equal += "    __sub__ = __rsub__ = __add__ = __radd__ = lambda self, other: 0\n"
    trees = [ast.parse(cell_of(key(name, 2026), id).source) for id in ids(name, 2026, "answer")]
    nodes = [node for tree in trees for node in tree.body]
    functions = [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
    targets = [target for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    variables = [target.id for target in targets if isinstance(target, ast.Name)]
    for base, value in [("float", "Equal(123.4e7)"), ("list", "Equal([123.4e7])"), ("object", "Equal()")]:
        answers = equal.format(base) + "".join(f"{variable} = {value}\n" for variable in variables)
        answers += "".join(f"def {one}(*_, **__):\n    return {value}\n" for one in functions)
        space = {**bound(name, 2026)}
        exec(answers, space)
        assert failed_tests(name, 2026, space) == set(ids(name, 2026, "tests"))


# What students get


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_nothing_hidden_is_in_the_handout(name, seed):
    cells = [*SOURCES[name].cells, *drawn(name, seed).cells, *drawn(name, seed).mistakes]
    hidden = hidden_lines(cells)
    text = nbformat.writes(handout(name, seed))
    lines = {line.strip() for cell in handout(name, seed).cells for line in cell.source.splitlines()}
    assert hidden and not hidden & lines
    assert [line for line in hidden if len(line) >= 20 and line in text] == []
    assert not re.search("HIDDEN|SOLUTION|mistake|misconception|caught_by", text)
    # Who has the seed can make the key.
    assert str(seed) not in "\n".join(lines)
    # The search finds what it looks for: all of it but numbers and mistakes is in the key.
    inside = {line.strip() for cell in key(name, seed).cells for line in cell.source.splitlines()}
    assert "### BEGIN HIDDEN TESTS" in hidden & inside and len(hidden & inside) > 10


@pytest.mark.parametrize("name", SOURCES)
def test_a_handout_opens_with_what_to_do_and_one_cell_of_setup(name):
    notebook = handout(name, 2026)
    assert notebook.metadata.kernelspec.name == "python3"
    opening = notebook.cells[0].source
    for said in ("# ", "10 points", "What to do", "How to check", "How to hand in", f"`{name}.ipynb`"):
        assert said in opening
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code[0].id == "setup" and "CHECKS = " in code[0].source
    assert sum("CHECKS = " in cell.source for cell in code) == 1
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


@pytest.mark.parametrize("name", SOURCES)
def test_a_handout_needs_the_small_environment_only(name):
    for cell in key(name, 2026).cells:
        if cell.cell_type == "code":
            for node in ast.walk(ast.parse(cell.source)):
                modules = []
                if isinstance(node, ast.Import):
                    modules = [one.name for one in node.names]
                elif isinstance(node, ast.ImportFrom):
                    modules = [node.module]
                for module in modules:
                    assert module.split(".")[0] in SMALL | sys.stdlib_module_names


@pytest.mark.parametrize("name", SOURCES)
def test_a_handout_has_no_directive_and_no_role_of_myst(name):
    for cell in handout(name, 2026).cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"^\s*(`{3,}|:{3,})\{|\{[a-z:]+\}`|\{\{", cell.source, re.M)


def test_only_the_owner_opens_the_key_and_an_old_notebook_does_not_stay(tmp_path):
    stale = tmp_path / "5/handout/staleness/old.ipynb"
    stale.parent.mkdir(parents=True)
    stale.touch()
    (tmp_path / "sources").mkdir()
    shutil.copy(sources.FOLDER / "staleness.md", tmp_path / "sources")
    assignments.write(5, tmp_path, tmp_path / "sources")
    assert stat.S_IMODE((tmp_path / "5/key").stat().st_mode) == 0o700
    assert not stale.exists()


@pytest.mark.parametrize("seed", ["-1", "2.5", "autumn", ""])
def test_a_seed_that_is_no_number_is_refused_in_a_sentence(seed, capsys, monkeypatch):
    from courses.__main__ import main

    monkeypatch.setattr(sys, "argv", ["courses", "assignments", f"--seed={seed}"])
    with pytest.raises(SystemExit):
        main()
    assert "must be a whole number of at least 0" in capsys.readouterr().err


# What visitors of the site get: tests/site/test_exercises.py searches the built one


def test_sources_are_no_pages():
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    assert config["only_build_toc_files"] is True
    assert "book/exercises" not in (ROOT / "_toc.yml").read_text()


# The form of a source

TINY = """\
---
jupytext: {text_representation: {extension: .md, format_name: myst}}
title: T
chapter: staleness
---

```{code-cell} python
:exercise: {role: numbers}

x = int(draw.integers(2, 10**6))
y = [draw.random(), draw.random()]
answer("x", x)
```

```{exercise} Compute: x
It is {{x}}, or {{x:,}}, and {{y}}.
```

```{code-cell} python
:exercise: {role: setup}

import math
```

```{code-cell} python
:exercise: {role: answer, id: x}

### BEGIN SOLUTION
x = {{x}}
### END SOLUTION
```

```{code-cell} python
:exercise: {role: tests, id: x-tests, points: 8}

### BEGIN HIDDEN TESTS
assert x == {{x}}
### END HIDDEN TESTS
```

```{code-cell} python
:exercise: {role: mistake, id: one-less, of: x, caught_by: [x-tests], misconception: It is one less.}

x = {{x}} - 1
```

```{code-cell} python
:exercise: {role: mistake, id: one-more, of: x, caught_by: [x-tests], misconception: It is one more.}

x = {{x}} + 1
```

+++ {"exercise": {"role": "written", "id": "why", "points": 2}}

Because.
"""


def tiny(folder, *changes):
    text = TINY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "tiny.md"
    path.write_text(text)
    return sources.read(path)


def test_numbers_are_filled_in_as_they_are_or_in_a_form(tmp_path):
    source = tiny(tmp_path)
    assignment = source.drawn(1)
    x = int(assignment.answers["x"].value)
    assert f"It is {x}, or {x:,}, and [0." in assignment.cells[0].source
    assert assignment.cell("x").source == f"### BEGIN SOLUTION\nx = {x}\n### END SOLUTION"
    assert [mistake.source for mistake in assignment.mistakes] == [f"x = {x} - 1", f"x = {x} + 1"]
    assert source.drawn(2).answers != assignment.answers == source.drawn(1).answers


def test_the_name_of_an_assignment_changes_its_numbers(tmp_path):
    source = tiny(tmp_path)
    other = Source("other", source.title, source.chapter, source.cells)
    assert source.drawn(1).answers != other.drawn(1).answers


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ([("title: T\n", "")], "the front matter has no title"),
        ([("chapter: staleness\n", "")], "the front matter has no chapter"),
        ([("points: 8", "points: 9")], "its points add up to 11, not to 10"),
        ([("role: setup", "role: stage")], "a cell says .*the roles are"),
        ([("id: x-tests, points: 8", "points: 8")], "tests has .'id', 'points'"),
        ([("id: one-less", "id: one-more")], "the id 'one-more' must be the only one"),
        ([("id: one-less", "id: One_less")], "the id 'One_less' must be the only one"),
        ([(":exercise: {role: setup}\n", "")], "it has 0 cells of setup, not one"),
        ([("### END SOLUTION\n", "")], r"the cell 'x' has the marks \['BEGIN'\] of SOLUTION"),
        ([("### BEGIN HIDDEN TESTS\n", "")], r"the cell 'x-tests' has the marks \['END'\] of HIDDEN TESTS"),
        ([("import math", "### BEGIN SOLUTION\n### END SOLUTION")], "the cell 'setup' has the marks"),
        ([("of: x, caught_by: [x-tests], misconception: It is one l", "of: z, caught_by: [x-tests], misconception: It is one l")], "is of 'z', which is no answer"),  # noqa: E501
        ([("caught_by: [x-tests], misconception: It is one l", "caught_by: [], misconception: It is one l")], "not some of the tests"),  # noqa: E501
        ([("caught_by: [x-tests], misconception: It is one l", "caught_by: [why], misconception: It is one l")], "not some of the tests"),  # noqa: E501
        ([(":exercise: {role: mistake, id: one-less, of: x, caught_by: [x-tests], misconception: It is one less.}\n", "")], "it has fewer than two mistakes"),  # noqa: E501
        ([('"role": "written"', '"role": "tests"')], "the cell 'why' is markdown"),
    ],
)  # fmt: skip
def test_a_source_out_of_form_is_refused_in_a_sentence_that_names_it(tmp_path, changes, sentence):
    with pytest.raises(SourceError, match=f"^tiny: .*{sentence}"):
        tiny(tmp_path, *changes)


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ([("It is {{x}}", "It is {{z}}")], SourceError, "no cell of numbers above binds 'z'"),
        (
            [('answer("x", x)', 'answer("x", x)\nanswer("x", 2)')],
            SourceError,
            "the answer 'x' is declared twice",
        ),
        (
            [('answer("x", x)', 'answer("x", x, mistakes={"No.": x})')],
            ValueError,
            "would be taken for the answer",
        ),
    ],
)
def test_numbers_that_do_not_fit_are_refused_when_they_are_drawn(tmp_path, changes, error, sentence):
    source = tiny(tmp_path, *changes)
    with pytest.raises(error, match=sentence):
        source.drawn(1)


# Directives


def test_the_example_of_a_fold_runs():
    assert doctest.testmod(directives) == (0, 1)


def test_directives_have_a_plain_form():
    text = "Before.\n\n````{exercise} Code: a loop\n:label: x\n\nDo it.\n\n```{math}\n:label: y\nx^2\n```\n\n"
    text += "```{dropdown} Hint\nThink.\n```\n````\n\n```python\nx = 1\n```\n\nAfter."
    assert plain_markdown(text, "## {title} (2 points)") == (
        "Before.\n\n## Code: a loop (2 points)\n\nDo it.\n\n$$\nx^2\n$$\n\n"
        "<details><summary>Hint</summary>\n\nThink.\n\n</details>\n\n```python\nx = 1\n```\n\nAfter."
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("```{note}\nHello.\n```", "the directive {note} has no plain form"),
        ("See {doc}`staleness`.", "the role {doc} has no plain form"),
        ("- one\n\n  ```{dropdown} Hint\n  Two.\n  ```", "must not be inside a list or a quotation"),
    ],
)
def test_what_has_no_plain_form_is_refused(text, sentence):
    with pytest.raises(NoPlainFormError, match=sentence):
        plain_markdown(text)
