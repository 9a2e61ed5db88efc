"""What every notebook of the book keeps to.  Each rule returns its complaints, one sentence each."""

import ast
import dis
import re
import sys
from statistics import median
from types import CodeType

from book.notebooks import GLUE

# For the reader to see; how it is made is folded.
DRAWS = {"explore", "predict", "show", "panels", "check", "LiveRace"}
MOST_LINES = 25
MOST_OPEN = 12  # cells of a chapter whose code is in view
MOST_COLUMNS = 46  # what a phone shows without scrolling
IDEAS = range(2, 5)  # predict and explore, once per idea


def markdown(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def python(cell):
    """The source of a cell without its magics."""
    return re.sub(r"^\s*[%!].*$", "", cell.source, flags=re.M)


def calls(cell):
    """Names of the functions that a cell calls."""
    return [_called(n) for n in ast.walk(ast.parse(python(cell))) if isinstance(n, ast.Call)]


def _called(call):
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def draws(cell):
    return bool(DRAWS & set(calls(cell)))


def tags(cell):
    return set(cell.metadata.get("tags", []))


# Numbers


NUMBER = re.compile(r"(?<![\w.,/^_-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|\.\d)")
NOT_PROSE = re.compile(
    r"^:\w[\w-]*:.*$"  # options of a directive
    r"|^`{3,}\{[^\n]*$|^:{3,}\{[^\n]*$"  # first lines of directives
    r"|\{[\w:-]+\}`[^`]*`"  # roles: glue, references, citations
    r"|`[^`\n]*`"  # code
    r"|\]\([^)]*\)|<?https?://\S+"  # links
    r"|<!--.*?-->",
    re.M | re.S,
)


def typed_numbers(notebook):
    """A number in prose that a cell computes is glued, never typed: typed, it stays when the result changes.

    Three digits or more count when they are a printed or glued number, rounded; two digits ("2.7") when they
    are a glued one rounded or a printed one as it stands.  Years, and numbers that a cell's source contains
    (parameters), are free; so are those that the cell itself lists: {"typed": {"26.9": "Table 2 of [1]"}}.
    """
    printed, glued = _computed(notebook)
    parameters = {token for cell in code(notebook) for token in NUMBER.findall(cell.source)}
    complaints = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for token in NUMBER.findall(NOT_PROSE.sub(" ", cell.source)):
                if token in parameters or token in cell.metadata.get("typed", {}) or _is_year(token):
                    continue
                if _is_computed(token, printed, glued):
                    complaints.append(f"The prose types {token}, which a cell computes; glue it.")
    return complaints


def _computed(notebook):
    printed, glued = set(), set()
    for cell in code(notebook):
        for output in cell.outputs:
            data = output.get("data", {"text/plain": output.get("text", "")})
            for kind, text in data.items():
                (glued if kind.startswith(GLUE) else printed).update(NUMBER.findall(text))
    return printed, glued


def _is_year(token):
    return re.fullmatch(r"(19|20)\d\d", token) is not None


def _is_computed(token, printed, glued):
    digits = token.replace(",", "").replace(".", "").lstrip("0")
    if "." not in token:
        digits = digits.rstrip("0")
    if len(digits) >= 3:
        return _is_one_of(token, printed | glued)
    return len(digits) == 2 and "." in token and (token in printed or _is_one_of(token, glued))


def _is_one_of(token, numbers):
    places = len(token.partition(".")[2])
    value = float(token.replace(",", ""))
    return any(f"{float(number.replace(',', '')):.{places}f}" == f"{value:.{places}f}" for number in numbers)


# Pictures


def pictures_without_text(notebook):
    """Figures go through show, explore or the figure directive, which demand a text alternative."""
    complaints = []
    for cell in code(notebook):
        for output in cell.outputs:
            data = output.get("data", {})
            plain = data.get("text/plain", "")
            if re.match(r"<?Figure(\(| size )|<matplotlib|\[<matplotlib", plain) or "<svg" in data.get(
                "text/html", ""
            ):
                complaints.append(
                    f"A cell shows a figure without a text alternative ({plain[:40]}); use show."
                )
    for source in markdown(notebook):
        complaints += [
            f"An image has no text alternative: {hit}" for hit in re.findall(r"!\[\s*\]\([^)]*\)", source)
        ]
        for block in re.findall(
            r"^(?:`{3,}|:{3,})\{(?:figure|image)\}[^`]*?^(?:`{3,}|:{3,})$", source, re.M | re.S
        ):
            if not re.search(r"^:alt: \S", block, re.M):
                complaints.append(f"A figure has no :alt:, {block.splitlines()[0]}")
    return complaints


# Cells


def cells_out_of_form(notebook):
    """Short cells; those that only draw are folded, those that are the lesson are open."""
    complaints = []
    for cell in code(notebook):
        first = cell.source.partition("\n")[0]
        if (lines := len(cell.source.splitlines())) > MOST_LINES:
            complaints.append(f"A cell has {lines} lines, more than {MOST_LINES}: {first}")
        if draws(cell) and not {"hide-input", "lesson"} & tags(cell):
            complaints.append(
                f"A cell draws and is not folded (tag hide-input, or lesson to keep it open): {first}"
            )
        if "hide-input" in tags(cell) and not draws(cell) and "table" not in calls(cell):
            complaints.append(f"A folded cell draws nothing: {first}")
        if "nbval-ignore-output" in tags(cell) and not first.startswith("#"):
            complaints.append(f"A cell that nbval ignores must begin with a comment that says why: {first}")
    return complaints


def solutions(notebook):
    """The code cells between the marks of a solution."""
    found, inside = [], False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            marks = re.findall(r"\{solution-(start|end)\}", cell.source)
            inside = marks[-1] == "start" if marks else inside
        elif inside:
            found.append(cell)
    return found


def lessons(notebook):
    """The cells whose code is in view: neither folded nor part of a solution."""
    solved = set(map(id, solutions(notebook)))
    return [cell for cell in code(notebook) if id(cell) not in solved and "hide-input" not in tags(cell)]


SOLVES, TRIES = "solution", "solution-check"


def solutions_out_of_form(notebook):
    """Every code cell of a solution says whether it solves or tries what was solved, and no other cell does.

    A handout leaves out the first kind and keeps the second (courses/practice.py), so that one cell must not
    define what the reader is to write and try it too.
    """
    solved, complaints = set(map(id, solutions(notebook))), []
    for cell in code(notebook):
        first, own = cell.source.partition("\n")[0], {SOLVES, TRIES} & tags(cell)
        if id(cell) not in solved and own:
            complaints.append(f"A cell outside of solutions has the tag {min(own)}: {first}")
        if id(cell) in solved and len(own) != 1:
            complaints.append(f"A cell of a solution needs one of the tags {SOLVES} and {TRIES}: {first}")
        if SOLVES in own and _defines(cell) and _tries(cell):
            complaints.append(f"A cell of a solution defines and checks; make it two: {first}")
    return complaints


def _defines(cell):
    defined = ast.FunctionDef | ast.ClassDef
    return any(isinstance(node, defined) for node in ast.walk(ast.parse(python(cell))))


def _tries(cell):
    asserts = any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(python(cell))))
    return asserts or "check" in calls(cell)


def lessons_out_of_form(notebook):
    """What is in view could be typed by hand on a phone; tables, tolerances and plumbing are folded."""
    cells = lessons(notebook)
    sizes = [len(cell.source.splitlines()) for cell in cells]
    complaints = []
    if len(cells) > MOST_OPEN:
        complaints.append(f"{len(cells)} cells are open, more than {MOST_OPEN}.")
    if cells and median(sizes) > 4:
        complaints.append(f"The median open cell has {median(sizes)} lines, more than 4.")
    for cell in cells:
        first = cell.source.partition("\n")[0]
        if (widest := max(map(len, cell.source.splitlines()))) > MOST_COLUMNS:
            complaints.append(f"An open cell is {widest} columns wide, more than {MOST_COLUMNS}: {first}")
        if "glue" in calls(cell):
            complaints.append(f"An open cell glues a number; do it in a folded one: {first}")
    return complaints


def hand_made_checks(notebook):
    """Checks go through `check`, which knows its tolerance, and tables through `check` or `table`.

    Solutions may assert: there it is the reader's own code that is tried.
    """
    solved = solutions(notebook)
    complaints = []
    for cell in code(notebook):
        first = cell.source.partition("\n")[0]
        nodes = list(ast.walk(ast.parse(python(cell))))
        folded = "hide-input" in tags(cell)
        if any(isinstance(node, ast.Assert) for node in nodes) and (folded or cell not in solved):
            complaints.append(f"A cell asserts; use check: {first}")
        if any(map(_is_padded, nodes)):
            complaints.append(f"A cell lines up a table by hand; use check or table: {first}")
    return complaints


def _is_padded(node):
    """An f-string's {name:12} or {value:7.2f}, which leaves room for a column."""
    return isinstance(node, ast.FormattedValue) and bool(
        node.format_spec
        and any(
            re.match(r"[<>^]?[1-9]\d*(?![%a-z])|[<>^]?[1-9]\d*[.,]", part.value)
            for part in node.format_spec.values
            if isinstance(part, ast.Constant)
        )
    )


# Measuring


QUANTILES = {"quantile", "percentile", "nanquantile", "nanpercentile"}


def measured_by_hand(notebook):
    """What the package measures is not measured again by hand, nor is a race run twice.

    Bands over replicas are those of a training, quantiles of measured times those of Empirical; the stopwatch
    of a race is its time_per_update, which knows its burn-in and its error. And who has a race keeps it.
    """
    complaints, raced = [], {}
    for number, cell in enumerate(code(notebook)):
        for node in ast.walk(ast.parse(python(cell))):
            words = ast.unparse(node) if isinstance(node, ast.expr) else ""
            if isinstance(node, ast.Call) and _called(node) in QUANTILES:
                complaints.append(f"A cell computes quantiles, as band or Empirical do: {words}")
            if _reads_the_last_time(node):
                complaints.append(f"A cell stops the time by hand, as time_per_update does: {words}")
            race = isinstance(node, ast.Call) and _called(node) == "simulate"
            if race and raced.setdefault(words, number) != number:
                complaints.append(f"Two cells run the same race: {words}")
    return complaints


def _reads_the_last_time(node):
    """Whether this is `….time[…, -1]`, of which `/ updates` is the next that is written."""
    return (
        isinstance(node, ast.Subscript)
        and getattr(node.value, "attr", "") == "time"
        and isinstance(node.slice, ast.Tuple)
        and ast.unparse(node.slice.elts[-1]) == "-1"
    )


# Predictions


def answers_for_all(notebook):
    """A prediction answers every option in its own words, which say why that one tempts."""
    nodes = [node for cell in code(notebook) for node in ast.walk(ast.parse(python(cell)))]
    asked = [node for node in nodes if isinstance(node, ast.Call) and _called(node) == "predict"]
    return [
        f"A prediction has one answer for several options: {ast.unparse(call)[:60]}"
        for call in asked
        if not _answers_each(call)
    ]


def _answers_each(call):
    given = [keyword.value for keyword in call.keywords if keyword.arg == "why"] + call.args[3:4]
    if any(isinstance(why, ast.Dict) for why in given):
        answers = [ast.dump(value) for why in given for value in why.values]
        return len(set(answers)) == len(answers)
    return any(isinstance(why, ast.DictComp | ast.Name) for why in given)


# Minutes


def claimed_minutes(notebook):
    """How long a chapter takes is counted when the book is built; typed, it stays when the text changes."""
    found = [hit for source in markdown(notebook) for hit in re.findall(r"^\d+ minutes\b", source, re.M)]
    return [f"The chapter claims to take {hit}; the page says so by itself." for hit in found]


# Imports


# What somebody has who installed the package with the extras that the landing page names.
INSTALLED = {"sgdrace", "numpy", "scipy", "tqdm", "matplotlib", "ipywidgets", "IPython", "sklearn"}


def foreign_imports(notebook):
    """A chapter that was downloaded runs with the package and its extras alone."""
    nodes = [node for cell in code(notebook) for node in ast.walk(ast.parse(python(cell)))]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    return [
        f"A cell imports {name}, which the package and its extras do not install."
        for name in names
        if name.partition(".")[0] not in INSTALLED | sys.stdlib_module_names
    ]


# Names


COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}  # they run with their cell


def rebound_names(notebook):
    """What an explorer draws stays: no later cell binds a name again that its drawing functions read.

    A page holds frames that were drawn when their cell ran. A live kernel draws one when the reader asks, and
    then a function finds under a name of the notebook whatever the last cell left there. Which names these
    are, the compiler knows. Drawing functions are those that a cell with `explore` names, lambdas, and
    whatever functions and classes of the notebook these read in turn.
    """
    compiled = [compile(python(cell), "a cell", "exec") for cell in code(notebook)]
    functions, lambdas, complaints = {}, set(), []
    for number, cell in enumerate(code(notebook)):
        inner = _inner(compiled[number])
        functions |= {one.co_name: _loads(one) for one in inner}
        lambdas |= {name for one in inner if one.co_name == "<lambda>" for name in _loads(one)}
        if "explore" not in calls(cell):
            continue
        named = _names(compiled[number], "LOAD_NAME").union(
            *(_loads(one) for one in inner if one.co_name in COMPREHENSIONS)
        )
        read = _read_by(named, functions | {"<lambda>": lambdas})
        for later, binding in zip(code(notebook)[number + 1 :], compiled[number + 1 :], strict=True):
            complaints += [
                f"An explorer reads {name}, which a later cell binds again: {later.source.splitlines()[0]}"
                for name in sorted(read & _stores(binding))
            ]
    return complaints


def _read_by(roots, functions):
    """What the functions of these names read, and the functions that they read, and so on."""
    read, todo = set(), [*(roots & functions.keys()), "<lambda>"]
    while todo:
        found = functions[todo.pop()] - read
        read |= found
        todo += found & functions.keys()
    return read


def _inner(compiled):
    """The functions, lambdas, classes and comprehensions directly inside."""
    return [constant for constant in compiled.co_consts if isinstance(constant, CodeType)]


def _names(compiled, *operations):
    return {step.argval for step in dis.get_instructions(compiled) if step.opname in operations}


def _loads(compiled):
    """Names that a function, or one inside it, looks up in the notebook."""
    own = _names(compiled, "LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
    return own.union(*map(_loads, _inner(compiled)))


def _stores(compiled):
    """Names that a cell binds, or deletes, in the notebook."""
    return _names(compiled, "STORE_NAME", "DELETE_NAME", "STORE_GLOBAL", "DELETE_GLOBAL").union(
        *map(_stores_globally, _inner(compiled))
    )


def _stores_globally(compiled):
    own = _names(compiled, "STORE_GLOBAL", "DELETE_GLOBAL")
    return own.union(*map(_stores_globally, _inner(compiled)))


# Symbols


# How each symbol of the notation page looks in formulas, by the name of its target. Letters that chapters
# also use for other things have no pattern; there the reader must watch.
SYMBOLS = {
    "P": r"(?<![A-Za-z:{\\])P(?![A-Za-z'])",
    "K": r"(?<![A-Za-z\\])K(?![A-Za-z:'])",
    "X": r"(?<![A-Za-z_\\])X(?![A-Za-z_'])",
    "XKP": r"(?<![A-Za-z\\])X_\{[^}]*:",
    "T": r"\\mathbb\{E\}\[T",
    "tJ": r"(?<![A-Za-z\\])t_J",
    "R": r"(?<![A-Za-z\\])R_i",
    "st": r"\\[lg]e_\{\\mathrm\{st\}\}",
    "H": r"(?<![A-Za-z\\])H_",
    "N": r"(?<![A-Za-z\\])N\(t\)",
    "FX": r"F_X",
    "mu": r"\\mu\b",
    "Delta": r"\\Delta\b",
    "alpha": r"\\alpha\b",
    "xm": r"x_m\b",
    "w": r"(?<![A-Za-z\\])w_",
    "J": r"(?<![A-Za-z_\\])J(?![A-Za-z'])",
    "tau": r"\\tau\b",
    "smax": r"s_\{\\max\}",
    "I": r"(?<![A-Za-z\\])I_J",
    "held": r"(?<![A-Za-z\\])V_i",
    "u": r"(?<![A-Za-z\\])u_[i1]",
    "v": r"(?<![A-Za-z\\])v_j",
    "eta": r"\\eta\b",
    "eta-max": r"\\eta_\{\\max\}",
    "theta": r"\\theta\b",
    "F": r"(?<![A-Za-z\\])F(?:\^\*|\(w)",
    "e": r"(?<![A-Za-z\\])e_[j0J]",
    "L": r"(?<![A-Za-z\\])L(?![A-Za-z_'])",
    "sigma2": r"\\sigma\^2",
    "MG": r"M_G",
    "gamma": r"\\gamma\b(?!'|_)",
    "p0": r"p_0",
    "gamma-prime": r"\\gamma'",
    "beta": r"\\beta\b",
    "et": r"(?<![A-Za-z\\])e\(t\)",
    "crossing": r"t_\\times",
    "uK": r"(?<![A-Za-z\\])u\(K\)",
    "K0": r"(?<![A-Za-z\\])K_0",
}
MATH = re.compile(r"\$\$.+?\$\$|\$[^$\n]+?\$", re.S)


def symbols_without_link(notebook):
    """A symbol is linked to the notation page in the first cell that uses it, or before."""
    complaints = []
    for name, look in SYMBOLS.items():
        for source in markdown(notebook):
            if re.search(rf"\]\(#?notation-{name}\)", source):
                break
            if any(re.search(look, formula) for formula in MATH.findall(source)):
                where = source.strip().partition("\n")[0]
                complaints.append(f"The cell “{where}” is the first with {name} and does not link it.")
                break
    return complaints


# Chapters


def anatomy(notebook):
    """A chapter has the parts that the outline gives it, in their order."""
    text = "\n\n".join(markdown(notebook))
    used = [name for cell in code(notebook) for name in calls(cell)]
    sizes = [len(cell.source.splitlines()) for cell in code(notebook) if not draws(cell)]
    opening = (markdown(notebook) or [""])[0]
    checks = {
        "a title and then its question, in bold": re.match(r"# .+\n+\*\*[^*]+\?\*\*", opening),
        "a box “You will be able to” with three outcomes": _outcomes(text) == 3,
        "the first picture on the first screen": any(
            cell.cell_type == "code" and draws(cell) for cell in notebook.cells[:4]
        ),
        "two to four predictions": used.count("predict") in IDEAS,
        "two to four explorers": used.count("explore") in IDEAS,
        "a theorem": re.search(r"\{prf:(theorem|lemma|proposition|corollary)\}", text),
        "a proof": "{prf:proof}" in text,
        "a check": any("check" in calls(cell) or "assert " in cell.source for cell in code(notebook)),
        "a section “In practice” with a citation": "{cite" in _section(text, "In practice"),
        "a section “What you learned”": _section(text, "What you learned").strip(),
        "at least four exercises": len(re.findall(r"\{exercise(?:-start)?\}", text)) >= 4,
        "a folded solution for each exercise": _solutions(text),
        "a hint in a dropdown": re.search(r"\{(?:dropdown|admonition)\} *Hint", text),
        "a section “Further reading” with a citation": "{cite" in _section(text, "Further reading"),
        "lesson cells of about four lines (median at most eight)": not sizes or median(sizes) <= 8,
    }
    order = [
        text.find(f"\n## {name}")
        for name in ("In practice", "What you learned", "Exercises", "Further reading")
    ]
    checks["its last sections in the outline's order"] = -1 not in order and order == sorted(order)
    return [f"The chapter lacks {part}." for part, there in checks.items() if not there]


def _outcomes(text):
    box = re.search(r"You will be able to.*?\n(?:`{3,}|:{3,})", text, re.S)
    return len(re.findall(r"^[-*] ", box[0], re.M)) if box else 0


def _section(text, name):
    found = re.search(rf"^## {name}\s*$(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found[1] if found else ""


def _solutions(text):
    exercises = set(re.findall(r"\{exercise(?:-start)?\}[^\n]*\n:label: (\S+)", text))
    solved = set(re.findall(r"\{solution(?:-start)?\} (\S+)\n:class: dropdown", text))
    return exercises and exercises <= solved
