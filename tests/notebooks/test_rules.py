"""The rules for notebooks find what they should, and the book's notebooks keep to them."""

import re

import nbformat.v4 as nb
import pytest
from book.notebooks import ROOT, is_normal, normalized, notebooks, read

from tests.notebooks import rules

EVERY = [pytest.param(path, id=str(path.relative_to(ROOT))) for path in notebooks()]


def is_chapter(path):
    """Every notebook beside the landing page, unless its metadata says {"book": {"kind": "page"}}."""
    return (
        path.parent == ROOT / "book"
        and path.stem != "index"
        and read(path).metadata.get("book", {}).get("kind") != "page"
    )


@pytest.mark.parametrize("path", EVERY)
def test_every_notebook_is_normal(path):
    assert is_normal(path), "Run `make notebooks`."


@pytest.mark.parametrize("path", EVERY)
@pytest.mark.parametrize(
    "rule",
    [
        rules.typed_numbers,
        rules.pictures_without_text,
        rules.cells_out_of_form,
        rules.measured_by_hand,
        rules.foreign_imports,
        rules.rebound_names,
        rules.solutions_out_of_form,
    ],
    ids=lambda rule: rule.__name__,
)
def test_every_notebook_keeps_to(rule, path):
    assert rule(read(path)) == []


@pytest.mark.parametrize("path", EVERY)
def test_every_chapter_has_the_anatomy_of_the_outline(path):
    assert not is_chapter(path) or rules.anatomy(read(path)) == []


@pytest.mark.parametrize("path", EVERY)
@pytest.mark.parametrize(
    "rule",
    [rules.lessons_out_of_form, rules.hand_made_checks, rules.answers_for_all, rules.claimed_minutes],
    ids=lambda rule: rule.__name__,
)
def test_every_page_of_the_second_edition_keeps_to(rule, path):
    notebook = read(path)
    assert notebook.metadata.get("book", {}).get("edition") != 2 or rule(notebook) == []


@pytest.mark.parametrize("path", EVERY)
def test_every_page_of_the_book_links_its_symbols(path):
    assert path.parent.name == "site" or rules.symbols_without_link(read(path)) == []


def a_notebook(*cells):
    return nb.new_notebook(cells=list(cells))


def output(text="", **data):
    return nb.new_output("execute_result", data={"text/plain": text, **data})


def a_cell(source="1", *outputs, tags=()):
    return nb.new_code_cell(source, outputs=list(outputs), metadata={"tags": list(tags)} if tags else {})


GLUED = nb.new_output("display_data", data={"application/papermill.record/text/plain": "2.71785714286"})


@pytest.mark.parametrize(
    "prose", ["It takes 2.718 s.", "It takes 2.72 s.", "About 2.7 s", "$H_8 = 2.718$", "- 2.718"]
)
def test_a_computed_number_must_not_be_typed(prose):
    assert rules.typed_numbers(a_notebook(a_cell("1", GLUED), nb.new_markdown_cell(prose)))


@pytest.mark.parametrize(
    "prose",
    [
        "{glue:text}`mean:.2f` s",
        "With 8 learners",
        "in 2018",
        "`2.718` in code",
        "[there](https://x.org/2.718)",
        "2.5",
    ],
)
def test_other_numbers_are_free(prose):
    notebook = a_notebook(a_cell("shape = 2.5", GLUED, output("8 2018 2.5")), nb.new_markdown_cell(prose))
    assert rules.typed_numbers(notebook) == []


def test_large_numbers_count_and_cited_ones_can_be_named():
    prose = nb.new_markdown_cell("It took 1,234 updates.")
    assert rules.typed_numbers(a_notebook(a_cell("1", output("1234 updates")), prose))
    prose.metadata["typed"] = {"1,234": "Table 2 of the paper"}
    assert rules.typed_numbers(a_notebook(a_cell("1", output("1234 updates")), prose)) == []


# Of the notation page, but also used for other things.
LETTERS = {"m", "s", "g", "q", "a", "c", "brake", "eps", "kappa", "stretch"}


def test_the_rule_for_symbols_knows_the_whole_notation_page():
    page = (ROOT / "book/appendix/notation.md").read_text()
    assert set(re.findall(r"\(notation-([\w-]+)\)=", page)) == LETTERS | set(rules.SYMBOLS)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("P", "$P = 8$"),
        ("XKP", r"$\mathbb{E}[X_{K:8}]$"),
        ("T", "$$ \\mathbb{E}[T] = 1\n$$"),
        ("mu", r"$1/\mu$"),
        ("gamma", r"$1 - \gamma + 0$"),
        ("gamma-prime", r"$\gamma' > 0$"),
        ("w", "$w_{j+1}$"),
        ("e", "$e_J$"),
        ("L", r"$\eta L$"),
    ],
)
def test_the_first_cell_with_a_symbol_must_link_it(name, formula):
    named = [f" first with {name} and" in complaint for complaint in complaints_about(formula)]
    assert sum(named) == 1
    assert len(complaints_about(f"[it](#notation-{name})\n\n{formula}")) == len(named) - 1


@pytest.mark.parametrize("prose", ["P without a formula", r"$\Pr(A)$", r"$\sum_k x_k$", "`$P`", r"$e^{-x}$"])
def test_what_is_no_symbol_needs_no_link(prose):
    assert complaints_about(prose) == []


def complaints_about(*cells):
    return rules.symbols_without_link(a_notebook(*map(nb.new_markdown_cell, cells)))


def test_later_cells_need_no_link():
    assert complaints_about("[$P$](#notation-P)", "$P = 8$") == []
    assert len(complaints_about("$P = 8$", "[$P$](#notation-P)")) == 1


@pytest.mark.parametrize(
    "cell",
    [
        a_cell("figure", output("<Figure size 640x480 with 1 Axes>")),
        a_cell("HTML(x)", output("<HTML>", **{"text/html": "<svg></svg>"})),
        nb.new_markdown_cell("![](cover.svg)"),
        nb.new_markdown_cell("```{figure} cover.svg\n:width: 100%\n\nA caption.\n```"),
    ],
)
def test_a_picture_needs_a_text_alternative(cell):
    assert rules.pictures_without_text(a_notebook(cell))


def test_a_picture_with_one_is_fine():
    good = "```{figure} cover.svg\n:alt: Four curves fall.\n```\n\n![Four curves](cover.svg)"
    assert (
        rules.pictures_without_text(a_notebook(nb.new_markdown_cell(good), a_cell("1", output("Figure. A."))))
        == []
    )


@pytest.mark.parametrize(
    "cell",
    [
        a_cell("\n".join(["x = 1"] * 26)),
        a_cell("explore(draw, K=[1, 2])"),
        a_cell("x = 1", tags=["hide-input"]),
        a_cell("time()", tags=["nbval-ignore-output"]),
    ],
)
def test_a_cell_out_of_form_is_named(cell):
    assert len(rules.cells_out_of_form(a_notebook(cell))) == 1


def test_cells_in_form_are_fine():
    cells = [
        a_cell("%matplotlib inline\nexplore(draw, K=[1, 2])", tags=["hide-input"]),
        a_cell("explore(draw, K=[1, 2])", tags=["lesson"]),
        a_cell("# the time of this machine\ntime()", tags=["nbval-ignore-output"]),
    ]
    assert rules.cells_out_of_form(a_notebook(*cells)) == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("low, high = np.quantile(run.loss, [0.1, 0.9], axis=0)", "computes quantiles"),
        ("from numpy import percentile\npercentile(times, 90)", "computes quantiles"),
        ("T = race.time[0, -1] / n", "stops the time"),
        ("T = (race.time[:, -1] - race.time[:, 399]).mean() / 600", "stops the time"),
        ("t = simulate('K-sync', 8, 8, law, 10).time[:, -1]", "stops the time"),
    ],
)
def test_what_the_package_measures_must_not_be_measured_by_hand(source, words):
    (complaint,) = rules.measured_by_hand(a_notebook(a_cell(source)))
    assert words in complaint


def test_a_race_that_an_earlier_cell_has_run_must_not_be_run_again():
    race = a_cell("race = simulate('K-async', P, 1, law, 61, seed=3)")
    again = a_cell("s = simulate('K-async', P, 1, law, 61,\n             seed=3).staleness")
    (complaint,) = rules.measured_by_hand(a_notebook(race, again))
    assert complaint == "Two cells run the same race: simulate('K-async', P, 1, law, 61, seed=3)"


def test_what_the_package_measured_and_other_races_are_fine():
    cells = [
        a_cell("race = simulate('K-sync', 8, 8, law, until=9)\ngaps = np.diff(race.time[0, :-1])"),
        a_cell("race = simulate('K-sync', 8, 8, law, until=9, seed=1)\nT, error = race.time_per_update()"),
        a_cell("low = law.ppf(0.1), Empirical(times).isf(0.1), run.band(times).low, run.loss[:, -1]"),
    ]
    assert rules.measured_by_hand(a_notebook(*cells)) == []


@pytest.mark.parametrize(
    ("why", "complaints"),
    [
        ("why='The slowest.'", 1),
        ("why=f'The slowest: {x}.'", 1),
        ("'The slowest.'", 1),
        ("why={'1 s': 'No.', '2 s': 'No.'}", 1),
        ("why={'1 s': 'One learner.', '2 s': 'The slowest.'}", 0),
        ("{'1 s': f'One of {P}.', '2 s': f'All {P}.'}", 0),
        ("why={option: reason(option) for option in options}", 0),
        ("why=reasons", 0),
    ],
)
def test_each_option_of_a_prediction_has_its_own_answer(why, complaints):
    answer = "'2 s', " if why[0] in "'{" else "answer='2 s', "
    cell = a_cell(f"predict('How long?', ['1 s', '2 s'], {answer}{why})")
    assert len(rules.answers_for_all(a_notebook(cell))) == complaints


def test_minutes_are_counted_and_not_claimed():
    box = nb.new_markdown_cell("```{admonition} You will be able to\n- choose\n\n30 minutes. Builds on\n```")
    assert len(rules.claimed_minutes(a_notebook(box))) == 1
    assert rules.claimed_minutes(a_notebook(nb.new_markdown_cell("It ran for 30 minutes."))) == []


@pytest.mark.parametrize(
    "source", ["import pandas", "from nbclient.client import NotebookClient", "import os, yaml"]
)
def test_what_the_extras_do_not_install_must_not_be_imported(source):
    assert len(rules.foreign_imports(a_notebook(a_cell(source)))) == 1


def test_what_the_extras_install_may_be_imported():
    source = "%matplotlib inline\nimport os.path, numpy as np\nfrom sgdrace.explore import show"
    assert rules.foreign_imports(a_notebook(a_cell(source))) == []


DRAWN = "def draw(K):\n    return picture(law, K)\n\nexplore(draw, K=[1, 2])"


@pytest.mark.parametrize(
    ("before", "later", "name"),
    [
        ("from figures import picture", "picture = 3", "picture"),
        ("law = 1", "for law in laws: pass", "law"),
        ("law = 1", "law |= {}", "law"),
        ("law = 1", "del law", "law"),
        ("law = 1", "from laws import uniform as law", "law"),
        ("law = 1", "[law := x for x in range(3)]", "law"),
        ("law = 1", "def change():\n    global law\n    law = 2", "law"),
        ("def picture(law, K):\n    return [line(K, x) for x in grid]", "grid = None", "grid"),
        ("def line():\n    return ink\ndef picture():\n    return line()", "ink = 'red'", "ink"),
        ("class picture:\n    def __init__(self):\n        self.ink = ink", "class ink: pass", "ink"),
    ],
)
def test_what_an_explorer_reads_must_not_be_bound_again(before, later, name):
    (complaint,) = rules.rebound_names(a_notebook(a_cell(before), a_cell(DRAWN), a_cell(later)))
    assert f"reads {name}, which a later cell binds again: {later.splitlines()[0]}" in complaint


@pytest.mark.parametrize(
    "exploring",
    [
        "explore(lambda K: show(law), K=[1, 2])",
        "explore(f, shape=dict(a=lambda: law))",
        "shapes = {n: shape for n in 'ab'}\nexplore(f, shape=shapes)",
    ],
)
def test_functions_without_a_name_or_behind_a_control_count(exploring):
    cells = [a_cell("def shape():\n    return law"), a_cell(exploring), a_cell("law = 2")]
    assert len(rules.rebound_names(a_notebook(*cells))) == 1


@pytest.mark.parametrize(
    "later",
    [
        "print(law, picture)",
        "K = 3",
        "def other(law):\n    picture = 1\n    return [law for law in picture]",
        "table = [law for law in laws]",
        "class Other:\n    law = 1",
        "laws = {}",
    ],
)
def test_what_no_explorer_reads_is_free(later):
    cells = [a_cell("laws = law = picture = 1"), a_cell(DRAWN), a_cell(later)]
    assert rules.rebound_names(a_notebook(*cells)) == []
    assert rules.rebound_names(a_notebook(a_cell("def f():\n    return x"), a_cell("x = 1"))) == []


CHAPTER = (
    """# Why somebody is always late

**What does waiting cost?**

```{admonition} You will be able to
- compute
- prove
- choose
```
===
predict()
===
explore()
===
predict(); explore()
===
assert True
===
```{prf:theorem} T
```
```{prf:proof}
```

## In practice
See {cite:t}`dutta2018`.

## What you learned
A lot.

## Exercises
"""
    + "".join(
        f"```{{exercise}}\n:label: e{i}\n```\n```{{solution}} e{i}\n:class: dropdown\n```\n" for i in range(4)
    )
    + "```{dropdown} Hint\n```\n\n## Further reading\n{cite:t}`x2020`\n"
)


def chapter(text):
    parts = text.split("\n===\n")
    return a_notebook(
        *(nb.new_markdown_cell(part) if "#" in part or "`" in part else a_cell(part) for part in parts)
    )


def test_a_chapter_with_everything_passes():
    assert rules.anatomy(chapter(CHAPTER)) == []


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("**What does waiting cost?**", "Waiting.", "question"),
        ("- choose\n", "", "three outcomes"),
        ("\n===\npredict()", "", "two to four predictions"),
        ("\n===\nexplore()", "", "two to four explorers"),
        ("{prf:theorem}", "", "a theorem"),
        ("{prf:proof}", "", "a proof"),
        ("assert True", "True", "lacks a check"),
        ("See {cite:t}`dutta2018`.", "", "In practice"),
        ("A lot.", "", "What you learned"),
        ("{exercise}\n:label: e3", "", "four exercises"),
        ("{solution} e2", "", "a folded solution"),
        ("{dropdown} Hint", "", "a hint"),
        ("{cite:t}`x2020`", "", "Further reading"),
        ("## Further reading", "## More", "order"),
    ],
)
def test_a_chapter_that_lacks_a_part_hears_which(old, new, part):
    assert old in CHAPTER
    assert any(part in complaint for complaint in rules.anatomy(chapter(CHAPTER.replace(old, new))))


def test_normal_form_keeps_text_and_drops_what_changes():
    picture = output(
        "Explorer(K: 2 options).", **{"image/png": "…", "application/vnd.jupyter.widget-view+json": {}}
    )
    cell = a_cell("x", picture, GLUED, tags=["hide-input"])
    cell.metadata["execution"], cell.execution_count = {"iopub.status.busy": "2026"}, 7
    notebook = a_notebook(cell, a_cell("x"), nb.new_markdown_cell("prose  \n"))
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}
    notebook.metadata["book"] = {"kind": "page"}
    normal = normalized(notebook)
    first = normal.cells[0]
    assert [list(o.data) for o in first.outputs] == [
        ["text/plain"],
        ["application/papermill.record/text/plain"],
    ]
    assert first.metadata == {"tags": ["hide-input"]} and (
        first.execution_count,
        normal.cells[1].execution_count,
    ) == (1, None)
    assert normal.metadata.keys() == {"kernelspec", "language_info", "book"}
    assert normal.cells[0].id != normal.cells[1].id and normal.cells[2].source == "prose"
    assert normalized(normal) == normal
    assert "widgets" in notebook.metadata, "the notebook itself stays as it is"


SOLUTION = nb.new_markdown_cell("```{solution-start} x\n:class: dropdown\n```")
END = nb.new_markdown_cell("```{solution-end}\n```\n\n````{exercise} Next\n````")


def test_what_is_in_view_fits_a_phone_and_has_no_plumbing():
    short = [a_cell(f"race = simulate({number})") for number in range(13)]
    assert rules.lessons_out_of_form(a_notebook(*short[:12])) == []
    assert rules.lessons_out_of_form(a_notebook(*short)) == ["13 cells are open, more than 12."]
    assert len(rules.lessons_out_of_form(a_notebook(a_cell("x = 1\n" * 5)))) == 1
    assert len(rules.lessons_out_of_form(a_notebook(a_cell("x = " + "1" * 43)))) == 1
    assert rules.lessons_out_of_form(a_notebook(a_cell("x = " + "1" * 42))) == []
    assert len(rules.lessons_out_of_form(a_notebook(a_cell("glue('x', 1)")))) == 1


def test_folded_cells_and_solutions_are_not_in_view():
    long = "x = " + "1" * 80 + "\n" * 9 + "x"
    folded = a_cell(long, tags=["hide-input"])
    assert rules.lessons(a_notebook(folded, SOLUTION, a_cell(long), END)) == []
    open_again = a_cell("y")
    assert rules.lessons(a_notebook(SOLUTION, a_cell(long), END, open_again)) == [open_again]


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("assert abs(a - b) < 0.1", True),
        ("check('x', 'a = b', a=[1], b=[1])", False),
        ("t += f'{name:12}'", True),
        ("t += f'{x:7.2f}'", True),
        ("t += f'{x:7,.0f}'", True),
        ("t += f'{x:>9}'", True),
        ("t = f'{x:.2f}'", False),
        ("t = f'{x:,}'", False),
        ("t = f'{x:+.3f}'", False),
    ],
)
def test_tables_and_tolerances_are_not_made_by_hand(source, wrong):
    assert bool(rules.hand_made_checks(a_notebook(a_cell(source)))) == wrong


def test_only_a_solution_may_assert():
    assert rules.hand_made_checks(a_notebook(SOLUTION, a_cell("assert x"), END)) == []
    assert rules.hand_made_checks(a_notebook(a_cell("assert x", tags=["hide-input"])))


def test_a_check_is_folded():
    assert rules.cells_out_of_form(a_notebook(a_cell("check('x', 'a = 1', a=[1])")))
    assert rules.cells_out_of_form(a_notebook(a_cell("table(a=[1])", tags=["hide-input"]))) == []


DEFINES, ASSERTS = "def f():\n    return 1", "assert f() == 1"


def test_a_solution_says_which_cells_solve_and_which_try():
    solves, tries = a_cell(DEFINES, tags=["solution"]), a_cell(ASSERTS, tags=["solution-check", "lesson"])
    assert rules.solutions_out_of_form(a_notebook(a_cell("x"), SOLUTION, solves, tries, END)) == []


@pytest.mark.parametrize(
    ("cells", "complaint"),
    [
        ([SOLUTION, a_cell("x"), END], "needs one of the tags"),
        ([SOLUTION, a_cell("x", tags=["solution", "solution-check"]), END], "needs one of the tags"),
        ([a_cell("x", tags=["solution"])], "outside of solutions"),
        ([SOLUTION, END, a_cell("x", tags=["solution-check"])], "outside of solutions"),
        ([SOLUTION, a_cell(f"{DEFINES}\n{ASSERTS}", tags=["solution"]), END], "defines and checks"),
        ([SOLUTION, a_cell("class A: pass\ncheck('x')", tags=["solution"]), END], "defines and checks"),
    ],
)
def test_a_solution_out_of_form_is_found(cells, complaint):
    (found,) = rules.solutions_out_of_form(a_notebook(*cells))
    assert complaint in found
