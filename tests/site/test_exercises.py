"""Nothing that students must not see is anywhere in the built sites, in whatever kind of file."""

import html
import json
import os
import re

import pytest
from courses.sources import hidden_lines, sources
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tests.site.conftest import REQUIRED, SITES

ENOUGH = 30  # characters: a shorter piece says little, and somebody else may have written the same
BETWEEN = re.compile(r"\{\{.*?\}\}|\$[^$]*\$|\*")  # drawn numbers, and what a page shows in another way

IMPORT = re.compile(r"(from|import)\s")  # which everybody writes alike


def folded(text):
    """A text without spaces, quotes and backslashes: the same in a page, a notebook and a script."""
    return re.sub(r"[\s\"'\\]", "", html.unescape(text))


def hidden_pieces(source):
    """What is hidden in a source, long enough to be told from all else, and not also shown to students."""
    shown = folded("".join(cell.source for cell in source.cells if cell.role in ("text", "setup", "check")))
    lines = {line for line in hidden_lines(source.cells) if not IMPORT.match(line)}
    pieces = {folded(piece) for line in lines for piece in BETWEEN.split(line)}
    return {piece for piece in pieces if len(piece) >= ENOUGH and piece not in shown}


HIDDEN = {piece: source.name for source in sources() for piece in hidden_pieces(source)}


def leaks(text):
    """The sources of which something hidden is in a text, which may be colored by tags."""
    for form in (folded(text), folded(re.sub(r"<[^<>]*>", "", text))):
        if found := {name for piece, name in HIDDEN.items() if piece in form}:
            return found
    return set()


@pytest.mark.parametrize("site", SITES)
def test_nothing_hidden_is_in_any_file_of_the_site(site):
    folder = SITES[site].folder
    if not folder.exists() and REQUIRED not in os.environ:
        pytest.skip(f"The site {site} is not built.")
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {"index.html", "searchindex.js"} <= {path.name for path in files}
    found = {}
    for path in files:
        if "exercises" in path.relative_to(folder).parts:
            found[path] = "the folder of the sources"
        elif names := leaks(path.read_text(encoding="utf-8", errors="ignore")):
            found[path] = names
    assert found == {}


def test_no_source_is_in_the_index_of_the_search():
    index = SITES["book"].folder / "searchindex.js"
    if not index.exists() and REQUIRED not in os.environ:
        pytest.skip("The book is not built.")
    assert "book/exercises" not in index.read_text(encoding="utf-8")


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.name)
def test_a_source_would_be_found_in_whatever_form_it_got_there(source):
    for role in ("numbers", "answer", "tests", "mistake"):
        text = "\n".join(cell.source for cell in source.cells if cell.role == role)
        page = highlight(text, PythonLexer(), HtmlFormatter())
        for form in (text, json.dumps(text), page):
            assert source.name in leaks(form), role
    written = next(cell.source for cell in source.cells if cell.role == "written")
    assert leaks(f"<p>{written}</p>") == {source.name}
