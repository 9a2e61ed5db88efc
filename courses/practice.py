"""The chapters' own exercises as notebooks to practice in: with places to fill in, and with the solutions.

A code cell of a solution has the tag `solution` or `solution-check` (tests/notebooks/rules.py). The handout
leaves room for the reader's code instead of the first kind and keeps the second, which tries what was written
there. The key keeps both. Before the exercises stands what they need of their chapter, no statement more.
Nothing here is secret: the book's pages show the same solutions.
"""

import ast
import dis
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from book.notebooks import GLUE, ROOT, as_text, normalized, read
from nbformat import v4 as nb

TRIES = "solution-check"  # the tag of a cell that tries what one with the tag `solution` solved
FOLDER = "practice"


def write(handout: Path, key: Path) -> list[Path]:
    """Write the practice notebooks of all chapters into `practice` of both folders; the files, in order."""
    written = []
    for path in chapters():
        chapter = read(path)
        for folder, solved in ((handout, False), (key, True)):
            made = folder / FOLDER / path.name
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text(as_text(practice(chapter, solved)), encoding="utf-8")
            written.append(made)
    return written


def chapters() -> list[Path]:
    """The notebooks of the book that have exercises."""
    return [path for path in sorted((ROOT / "book").glob("*.ipynb")) if exercises(read(path))]


def practice(chapter: Any, solved: bool) -> Any:
    """The notebook of a chapter's exercises, with their solutions or with places for them."""
    asked = exercises(chapter)
    cells = [nb.new_markdown_cell(_opening(chapter, solved))]
    cells += [nb.new_code_cell(source) for source in setup(chapter)]
    for number, exercise in enumerate(asked, start=1):
        cells.append(nb.new_markdown_cell(_question(exercise, number, chapter)))
        cells += _solved(exercise, chapter) if solved else _to_fill_in(exercise, asked)
    return normalized(nb.new_notebook(cells=cells))


# What a chapter asks


@dataclass
class Exercise:
    """A title, a text in MyST, a hint, and the cells of its solution."""

    title: str
    text: str
    hint: str
    solution: list[Any] = field(default_factory=list)

    @property
    def code(self) -> list[Any]:
        """The code cells of its solution."""
        return [cell for cell in self.solution if cell.cell_type == "code"]


FENCE = re.compile(
    r"^(?P<ticks>`{3,})\{(?P<kind>[\w:-]+)\} *(?P<title>.*)\n(?P<body>(?:.*\n)*?)(?P=ticks)$", re.M
)
OPTION = re.compile(r"\A(?::\w+:.*\n)*\s*")


def exercises(chapter: Any) -> list[Exercise]:
    """The exercises of a chapter, each with its solution."""
    found: dict[str, Exercise] = {}
    inside = None  # the exercise whose solution we are in
    for cell in chapter.cells:
        if cell.cell_type == "code":
            if inside:
                inside.solution.append(cell)
            continue
        begin = 0
        for block in FENCE.finditer(cell.source):
            kind, title, body = block["kind"], block["title"].strip(), block["body"]
            if inside:
                inside.solution += _written(cell.source[begin : block.start()])
            if kind == "exercise":
                found[re.search(r"^:label: (\S+)", body, re.M)[1]] = _exercise(title, body)
            elif kind == "solution":
                found[title].solution += _written(OPTION.sub("", body))
            elif kind in ("solution-start", "solution-end"):
                inside = found[title] if kind == "solution-start" else None
            begin = block.end()
        if inside:
            inside.solution += _written(cell.source[begin:])
    return list(found.values())


def _exercise(title: str, body: str) -> Exercise:
    hints = [block["body"].strip() for block in FENCE.finditer(body) if block["title"].startswith("Hint")]
    return Exercise(title, FENCE.sub("", OPTION.sub("", body)).strip(), "\n\n".join(hints))


def _written(text: str) -> list[Any]:
    return [nb.new_markdown_cell(text.strip())] if text.strip() else []


# What stands in the notebooks


def _opening(chapter: Any, solved: bool) -> str:
    opening = f"# Practice: {title_of(chapter)}\n\n"
    if solved:
        return opening + "The exercises of the chapter with their solutions."
    return opening + (
        "The exercises of the chapter, to be worked here. First run the cells below: they hold what the "
        "exercises need of the chapter. Where there is code to write, a cell has room for it. The cell after "
        "it, if there is one, tries what you wrote, and fails until it is right."
    )


def _question(exercise: Exercise, number: int, chapter: Any) -> str:
    hint = f"\n\n<details><summary>Hint</summary>\n\n{exercise.hint}\n\n</details>" if exercise.hint else ""
    return plain(f"## {number}. {exercise.title}\n\n{exercise.text}{hint}", chapter)


def _solved(exercise: Exercise, chapter: Any) -> Iterator[Any]:
    yield nb.new_markdown_cell("### Solution")
    for cell in exercise.solution:
        if cell.cell_type == "code":
            yield nb.new_code_cell(_without_glue(cell.source))
        else:
            yield nb.new_markdown_cell(plain(cell.source, chapter))


def _to_fill_in(exercise: Exercise, asked: list[Exercise]) -> Iterator[Any]:
    if any(cell.cell_type == "markdown" for cell in exercise.solution):
        yield nb.new_markdown_cell("*Your answer in words.*")
    solving = False
    for number, cell in enumerate(exercise.code):
        if _tries(cell):
            yield nb.new_code_cell(_imports_for(cell, asked) + _without_glue(cell.source))
            solving = False
        elif not solving:
            yield nb.new_code_cell(_place(exercise.code[number:]))
            solving = True


def _place(cells: list[Any]) -> str:
    """Where the reader writes: it names what the cells that follow want to find."""
    wanted = dict.fromkeys(name for cell in cells if _tries(cell) for name in sorted(_reads_of(cell)))
    answered = set().union(*(_binds_of(cell) for cell in cells if not _tries(cell)))
    imported = set().union(*(one.binds for cell in cells for one in statements(cell.source) if one.imports))
    names = [name for name in wanted if name in answered - imported]
    return "# your code" + (f"; the cell below tries {', '.join(names)}" if names else "")


def _tries(cell: Any) -> bool:
    return TRIES in cell.metadata.get("tags", [])


def _imports_for(cell: Any, asked: list[Exercise]) -> str:
    """The imports that a solution made and the cell that tries it needs, too."""
    solving = [other for exercise in asked for other in exercise.code if not _tries(other)]
    imports = [one for other in solving for one in statements(other.source) if one.imports]
    needed = [one.source for one in imports if one.binds & _reads_of(cell)]
    return "".join(f"{line}\n" for line in dict.fromkeys(needed)) + ("\n" if needed else "")


def _without_glue(source: str) -> str:
    """Without the statements that only pass a number on to the page."""
    nodes = [node for node in ast.parse(source).body if isinstance(node, ast.Expr | ast.For)]
    gluing = [node for node in nodes if _calls_glue(node)]
    dropped = {line for node in gluing for line in range(node.lineno, node.end_lineno + 1)}
    return "\n".join(line for number, line in enumerate(source.splitlines(), 1) if number not in dropped)


def _calls_glue(node: ast.stmt) -> bool:
    calls = [inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    return any(getattr(called, "id", "") == "glue" for called in calls)


# Text as any notebook shows it


def plain(text: str, chapter: Any) -> str:
    """MyST as ordinary Markdown: a reference becomes what it refers to, a number that was glued its value.

    >>> plain("See {term}`hazard`, {ref}`there <x>`, [$K$](#notation-K), [it](a.md).", nb.new_notebook())
    'See hazard, there, $K$, it.'
    """
    text = re.sub(r"\[([^\]\n]*)\]\((?!\w+:)[^)\s]*\)", r"\1", text)
    return re.sub(r"\{([\w:-]+)\}`([^`]*)`", lambda role: _words(role[1], role[2], chapter), text)


def _words(role: str, inside: str, chapter: Any) -> str:
    if role == "glue:text":
        name, _, form = inside.partition(":")
        return format(glued(chapter)[name], form)
    if role == "prf:ref":
        return f"“{titles()[inside]}”"
    if role == "doc":
        return f"the chapter “{title_of(read(ROOT / 'book' / f'{inside}.ipynb'))}”"
    if role.startswith("cite"):
        return f"({inside})"
    return re.sub(r"\s*<[^>]*>$", "", inside)


def title_of(chapter: Any) -> str:
    """The first heading of a notebook."""
    return next(re.match(r"# (.+)", cell.source)[1] for cell in chapter.cells if cell.source.startswith("# "))


@cache
def titles() -> dict[str, str]:
    """The theorems of the book by their labels."""
    found = {}
    for path in sorted((ROOT / "book").rglob("*.ipynb")):
        for cell in read(path).cells:
            for block in FENCE.finditer(cell.source if cell.cell_type == "markdown" else ""):
                if block["kind"].startswith("prf:") and (label := re.match(r":label: (\S+)", block["body"])):
                    found[label[1]] = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", block["title"])
    return found


def glued(chapter: Any) -> dict[str, Any]:
    """What a chapter's cells glue: numbers, and a few words."""
    found = {}
    for cell in chapter.cells:
        for output in cell.get("outputs", []):
            for kind, text in output.get("data", {}).items():
                if kind.startswith(GLUE):
                    found[output.metadata["scrapbook"]["name"]] = ast.literal_eval(text)
    return found


# What exercises need of their chapter


@dataclass(frozen=True)
class Statement:
    """A statement of a cell, and the names that it looks up, at once or later, that it binds, or changes."""

    source: str
    imports: bool
    reads: frozenset[str]
    later: frozenset[str]  # looked up by the functions inside, when they are called
    binds: frozenset[str]
    surely: frozenset[str]  # bound whichever way the statement goes
    changes: frozenset[str]  # of objects that get a new item, or have a method called that changes them


def setup(chapter: Any) -> list[str]:
    """The statements of the chapter on which its solutions depend, cell by cell."""
    solving = {id(cell) for exercise in exercises(chapter) for cell in exercise.code}
    codes = [cell for cell in chapter.cells if cell.cell_type == "code"]
    lines = [(cell, one) for cell in codes for one in statements(_python(cell.source))]
    later: frozenset[str] = frozenset()
    while True:
        kept, needed = [], later | _mentioned(chapter, lines)
        for cell, one in reversed(lines):
            if id(cell) in solving or needed & (one.binds | one.changes):
                kept.append((cell, one))
                needed = needed - one.surely | one.reads | one.later
        called = later.union(*(one.later for _, one in kept))
        if called == later:
            return list(_by_cell([(cell, one) for cell, one in reversed(kept) if id(cell) not in solving]))
        later = called


def _mentioned(chapter: Any, lines: list[tuple[Any, Statement]]) -> set[str]:
    """Functions and classes that the texts of exercises and their hints name."""
    texts = [text for exercise in exercises(chapter) for text in (exercise.text, exercise.hint)]
    named = {name for text in texts for name in re.findall(r"(?<!\})`(\w+)[^`]*`", text)}
    usable = [one.binds for _, one in lines if one.imports or one.source.startswith(("def ", "class "))]
    return named & set().union(*usable)


def _by_cell(lines: list[tuple[Any, Statement]]) -> Iterator[str]:
    for cell in {id(cell): cell for cell, _ in lines}.values():
        own = [one for other, one in lines if other is cell]
        yield "".join(_gap(before, one) + one.source for before, one in zip([None, *own], own, strict=False))


def _gap(before: Statement | None, one: Statement) -> str:
    """Empty lines as the style wants them: two around definitions, one after imports."""
    if before is None:
        return ""
    if any(re.match(r"(def|class|@)", each.source) for each in (before, one)):
        return "\n\n\n"
    return "\n\n" if before.imports and not one.imports else "\n"


def _python(source: str) -> str:
    """The source of a cell without its magics."""
    return re.sub(r"^\s*[%!].*$", "", source, flags=re.M)


@cache
def statements(source: str) -> tuple[Statement, ...]:
    r"""The statements of a cell.

    >>> one, two = statements("def f(x):\n    return x + y\n\nz[f] = [a for a in b]")
    >>> sorted(one.binds), sorted(one.later), sorted(two.changes), sorted(two.reads)
    (['f'], ['y'], ['z'], ['b', 'f', 'z'])
    """
    lines = source.splitlines()
    found = []
    for node in ast.parse(source).body:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        found.append(_statement(node, "\n".join(lines[first - 1 : node.end_lineno])))
    return tuple(found)


def _statement(node: ast.stmt, source: str) -> Statement:
    names = _Names(compile(source, "a cell", "exec"))
    return Statement(
        source,
        imports=isinstance(node, ast.Import | ast.ImportFrom),
        reads=frozenset(names.read),
        later=frozenset(names.later),
        binds=frozenset(names.bound),
        surely=frozenset() if isinstance(node, ast.If | ast.While | ast.Try) else frozenset(names.bound),
        changes=frozenset(_changed(node)),
    )


COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}  # they run with their statement
LOADS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}


class _Names:
    """The names of the notebook in a compiled statement, in the order in which it comes to them."""

    def __init__(self, compiled: CodeType):
        self.read: set[str] = set()
        self.later: set[str] = set()
        self.bound: set[str] = set()
        for step in dis.get_instructions(compiled):
            if step.opname in LOADS:
                self.read |= {step.argval} - self.bound
            elif step.opname == "STORE_NAME":
                self.bound.add(step.argval)
            elif isinstance(step.argval, CodeType):
                inside = _looked_up(step.argval)
                runs_now = step.argval.co_name in COMPREHENSIONS
                (self.read if runs_now else self.later).update(inside - self.bound)


def _looked_up(compiled: CodeType) -> set[str]:
    """Names that a function, or one inside it, looks up in the notebook."""
    inner = [constant for constant in compiled.co_consts if isinstance(constant, CodeType)]
    own = {step.argval for step in dis.get_instructions(compiled) if step.opname in LOADS}
    return own.union(*map(_looked_up, inner))


CHANGING = {"append", "extend", "insert", "add", "update", "pop", "remove", "clear", "sort"}


def _changed(node: ast.stmt) -> Iterator[str]:
    """Names whose objects get a new item or attribute, or have a method called that changes them."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Subscript | ast.Attribute) and isinstance(inner.ctx, ast.Store):
            yield from _base(inner)
        elif isinstance(inner, ast.Call) and getattr(inner.func, "attr", "") in CHANGING:
            yield from _base(inner.func)


def _base(node: ast.expr) -> Iterable[str]:
    inside = isinstance(node, ast.Subscript | ast.Attribute)
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return [node.id] if inside and isinstance(node, ast.Name) else []


def _reads_of(cell: Any) -> set[str]:
    """Names that a cell wants from before."""
    bound: set[str] = set()
    wanted: set[str] = set()
    for one in statements(_without_glue(cell.source)):
        wanted |= (one.reads | one.later) - bound
        bound |= one.surely
    return wanted


def _binds_of(cell: Any) -> set[str]:
    return set().union(*(one.binds for one in statements(cell.source)))
