"""What a student gets to see: nbgrader's feedback page, without hidden tests and without anything that acts.

This module knows which part of a graded notebook is safe to show. The source of hidden tests goes. So does
whatever a kernel put out from the first hidden test on: from then on a submission can have read the tests and
could say them in any disguise. What came before it cannot contain them, and stays, as text and pictures. HTML
and scripts of a submission are shown as text or dropped, and the page forbids the browser to run any.
"""

import base64
import binascii
import builtins
import html
import re
import shutil
from pathlib import Path

import bleach
import jinja2
import nbformat
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown import markdown2html
from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.converters import GenerateFeedback
from nbgrader.preprocessors import GetGrades, NbGraderPreprocessor

HIDDEN = re.compile(r"^[ \t]*### BEGIN HIDDEN TESTS.*?(^[ \t]*### END HIDDEN TESTS[ \t]*\n?|\Z)", re.M | re.S)
SOLUTION = re.compile(r"^[ \t]*### BEGIN SOLUTION.*?(^[ \t]*### END SOLUTION[ \t]*\n?|\Z)", re.M | re.S)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
TAGS = frozenset(
    [
        "a",
        "abbr",
        "b",
        "blockquote",
        "br",
        "code",
        "dd",
        "del",
        "div",
        "dl",
        "dt",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "i",
        "li",
        "ol",
        "p",
        "pre",
        "span",
        "strong",
        "sub",
        "sup",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
        "details",
        "summary",
    ]
)


def hidden_lines(source):
    """Lines of hidden tests and solutions, where long enough to tell, which no student may get to see."""
    lines = set()
    for cell in nbformat.read(source, as_version=4).cells:
        for region in (*HIDDEN.finditer(cell.source), *SOLUTION.finditer(cell.source)):
            lines |= {line.strip() for line in region[0].splitlines()}
    return frozenset(line for line in lines if len(line) >= 12 and not line.startswith("### "))


def write(course, student, assignment):
    """Make the page of one graded notebook with nbgrader, and put it where feedback is handed out from."""
    SafeFeedback(coursedir=course.nbgrader(assignment, student), force=True).start()
    made = course.work / "feedback" / student / assignment / f"{assignment}.html"
    shutil.copyfile(made, _place(course, student, assignment))


def load(course):
    """Load what makes pages, once for all graders: each begins as a copy of the process that calls this."""
    SafeFeedback(coursedir=course.nbgrader("none")).blank()


def without_grade(course, student, assignment, notes):
    """Say on a page why there is no grade."""
    said = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    _place(course, student, assignment).write_text(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(assignment)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"></head>'
        f"<body><h1>{html.escape(assignment)}</h1><p>This notebook could not be graded by tests:</p>"
        f"<ul>{said}</ul></body></html>\n"
    )


def _place(course, student, assignment):
    place = course.folder / "feedback" / student / f"{assignment}.html"
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


class Page(HTMLExporter):
    """nbconvert's page, whose templates are compiled once for a course and not for each submission."""

    def _create_environment(self):
        environment = super()._create_environment()
        compiled = Path(self.parent.coursedir.root) / "templates"
        compiled.mkdir(exist_ok=True)
        environment.bytecode_cache = jinja2.FileSystemBytecodeCache(str(compiled))
        environment.filters["markdown2html"] = lambda source: _inert(markdown2html(source))
        return environment


class SafeFeedback(GenerateFeedback):
    """nbgrader's feedback, of a notebook made safe, on a page that runs nothing."""

    def __init__(self, **traits):
        super().__init__(**traits)
        self.exporter_class = Page
        self.preprocessors = [GetGrades, MakeSafe, CSSHTMLHeaderPreprocessor]
        self.config.HTMLExporter.mathjax_url = ""

    def blank(self):
        """The page of an empty notebook, of no student."""
        exporter = self.exporter_class(parent=self, config=self.config)
        exporter.register_preprocessor(CSSHTMLHeaderPreprocessor, enabled=True)
        cells = [nbformat.v4.new_code_cell("1"), nbformat.v4.new_markdown_cell("*one*")]
        grades = {"notebook": "", "score": 0, "max_score": 0, "late_penalty": 0}
        return exporter.from_notebook_node(nbformat.v4.new_notebook(cells=cells), {"nbgrader": grades})

    def write_single_notebook(self, output, resources):
        output = re.sub(r"<script\b.*?</script\s*>", "", output, flags=re.S | re.I)  # the template's own
        policy = f'<head>\n<meta http-equiv="Content-Security-Policy" content="{POLICY}" />'
        super().write_single_notebook(output.replace("<head>", policy, 1), resources)


class MakeSafe(NbGraderPreprocessor):
    """Takes out of a graded notebook what a student should not see and what could act in a browser."""

    def preprocess(self, nb, resources):
        tested = False
        for cell in nb.cells:
            mark = cell.metadata.get("nbgrader")
            cell.metadata = nbformat.from_dict({"nbgrader": mark} if mark else {})
            cell.pop("attachments", None)
            if cell.cell_type == "code":
                tested = tested or HIDDEN.search(cell.source) is not None
                cell.outputs = (
                    [_in_our_words(cell)] if tested else list(filter(None, map(_safe, cell.outputs)))
                )
                cell.source = HIDDEN.sub("# Tests that are not shown\n", cell.source)
                cell.outputs = [each for each in cell.outputs if each]
        nb.cells = [cell for cell in nb.cells if cell.cell_type in ("code", "markdown")]
        nb.metadata = nbformat.from_dict({"language_info": {"name": "python", "pygments_lexer": "ipython3"}})
        return nb, resources


def _in_our_words(cell):
    """What became of a cell whose output may not be shown."""
    error = next((each for each in cell.outputs if each.output_type == "error"), None)
    if error is None:
        return None
    kind = getattr(builtins, error.ename, None)
    known = error.ename if isinstance(kind, type) and issubclass(kind, BaseException) else "an error"
    said = (
        "Stopped: this took too long." if error.ename == "CellTimeoutError" else f"This ended with {known}."
    )
    return nbformat.v4.new_output("stream", name="stdout", text=f"{said}\n")


def _safe(output):
    """An output as text, or as a picture that is one."""
    if output.output_type == "stream":
        return nbformat.v4.new_output("stream", name="stdout", text=_text(output.text))
    if output.output_type == "error":
        return nbformat.v4.new_output("stream", name="stdout", text=_text("\n".join(output.traceback)))
    data = output.get("data", {})
    for kind, start in (("image/png", b"\x89PNG\r\n\x1a\n"), ("image/jpeg", b"\xff\xd8\xff")):
        try:
            picture = base64.b64decode("".join(str(data.get(kind, "")).split()), validate=True)
        except (binascii.Error, ValueError):
            continue
        if picture.startswith(start):
            return nbformat.v4.new_output("display_data", {kind: base64.b64encode(picture).decode()})
    return nbformat.v4.new_output("stream", name="stdout", text=_text(data.get("text/plain", "")) + "\n")


def _text(text):
    """Text without the codes that color a terminal."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", str(text))


def _inert(page):
    """HTML with only what formats text; everything else is shown as it was written."""
    return bleach.clean(page, tags=TAGS, attributes={"a": ["href", "title"]}, protocols={"http", "https"})
