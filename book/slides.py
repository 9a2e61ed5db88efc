"""Slides from the built chapters: the question, what is to be learned, figures, theorems, exercises.

    python book/slides.py                  from _build/html to _build/slides, a file for each chapter
    python book/slides.py site slides      from another folder to another

A slide holds what its page holds, cut out and not copied by hand: explorers and predictions work on it as
they do there, without a kernel and without a network. The files need the built site beside them: its style
sheets, fonts and scripts are theirs.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup, Tag

BUILD = Path(__file__).resolve().parent.parent / "_build"
WIDGET = "application/vnd.jupyter.widget-view+json"
STATED = "theorem", "lemma", "proposition", "corollary"
# Of the page's scripts, what draws formulas and widgets; not what searches, folds, veils or switches themes.
SCRIPTS = re.compile(r"vendor/mathjax|vendor/html-manager|/book\.js")
STATE = "application/vnd.jupyter.widget-state+json"
LEFT_OUT = {"further-reading", "how-to-read-this-book", "how-to-cite", "a-map-of-the-book"}
MOST_LETTERS = 420  # of a paragraph beside a figure; a longer one is for reading


def write(site: Path, folder: Path, pages: list[Path] | None = None) -> list[Path]:
    """Write the slides of these pages, or of all that have exercises, and a list of them; the files."""
    titles = {}
    folder.mkdir(parents=True, exist_ok=True)
    static = f"{Path(os.path.relpath(site, folder)).as_posix()}/_static"
    for page in pages or sorted((site / "book").glob("*.html")):
        soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        if soup.find("section", id="exercises"):
            relocate(soup, page, folder)
            (folder / page.name).write_text(deck(soup, static), encoding="utf-8")
            titles[page.name] = _text(heading(soup))
    if titles:
        (folder / "list.html").write_text(contents(titles, static), encoding="utf-8")
    return [folder / name for name in titles]


def relocate(soup: BeautifulSoup, page: Path, folder: Path) -> None:
    """Let the links of a page lead from another folder to where they led."""
    here = Path(os.path.relpath(page.parent, folder)).as_posix()
    for name in ("src", "href"):
        for tag in soup.find_all(attrs={name: True}):
            target = tag[name]
            if target.startswith("#"):
                tag[name] = f"{here}/{page.name}{target}"
            elif not re.match(r"[a-z]+:|/", target):
                tag[name] = os.path.normpath(f"{here}/{target}")


def deck(soup: BeautifulSoup, static: str) -> str:
    """The slides of a page as a page of its own."""
    title = _text(heading(soup))
    sheets = [str(link) for link in soup.head.find_all("link", rel="stylesheet")]
    scripts = [str(tag) for tag in soup.head.find_all("script") if _is_kept(tag)]
    parts = [f'<section class="slide {kind}">{inside}</section>' for kind, inside in slides(soup)]
    return _page(title, static, "\n".join([*sheets, *scripts]), "\n".join(parts))


def contents(names: dict[str, str], static: str) -> str:
    """The list of all slides."""
    items = "".join(f'<li><a href="{name}">{escape(title)}</a></li>' for name, title in names.items())
    inside = f'<section class="slide"><h1>Slides</h1><ul>{items}</ul></section>'
    return _page("Slides", static, "", inside)


def _page(title: str, static: str, head: str, body: str) -> str:
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light" data-mode="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
{head}
<link rel="stylesheet" href="{static}/slides.css">
<script defer src="{static}/slides.js"></script>
</head>
<body class="tex2jax_ignore mathjax_ignore">
<main class="bd-content"><article class="bd-article">
{body}
</article></main>
</body>
</html>
"""


def _is_kept(tag: Tag) -> bool:
    text = tag.string or ""
    return (
        tag.get("type") == STATE
        or SCRIPTS.search(tag.get("src", "")) is not None
        or text.startswith("window.MathJax")
    )


# What becomes a slide


def heading(soup: BeautifulSoup) -> Tag:
    """The title of a page; the theme has it a second time, for paper."""
    return soup.find("article").find("h1")


def slides(soup: BeautifulSoup) -> Iterator[tuple[str, str]]:
    """The slides of a page in its order, each with its kind."""
    page = heading(soup).parent
    question = page.find("p", recursive=False)
    yield "title", f"<h1>{escape(_text(heading(soup)))}</h1>{question}"
    if box := page.find(class_="admonition-you-will-be-able-to"):
        yield "outcomes", f"<h2>You will be able to</h2>{box.find('ul')}"
    yield from _inside(page, "", question)


def _inside(part: Tag, heading: str, before: Tag | None) -> Iterator[tuple[str, str]]:
    """The slides of a section; `before` is the paragraph that stands before what comes next."""
    for child in part.find_all(True, recursive=False):
        classes = child.get("class", [])
        if child.name == "section":
            yield from _section(child)
        elif child.name in ("h1", "h2", "h3", "h4"):
            heading, before = _text(child), None
        elif child.name == "p":
            before = child
        elif "veil" in classes:
            yield from _inside(child, heading, before)
        elif "cell" in classes and (drawn := _drawn(child)):
            yield "figure", f"<h2>{escape(heading)}</h2>{_beside(before)}{drawn}"
            before = None
        elif "proof" in classes and set(STATED) & set(classes):
            yield "statement", f"<h2>{escape(heading)}</h2>{child}"


def _section(section: Tag) -> Iterator[tuple[str, str]]:
    name = section.get("id")
    if name in LEFT_OUT:
        return
    heading = f"<h2>{escape(_text(section.find(re.compile('h[1-6]'))))}</h2>"
    if name == "what-you-learned":
        yield "summary", heading + "".join(map(str, section.find_all("p", recursive=False)))
    elif name == "exercises":
        titles = [_title(one) for one in section.find_all(class_="exercise")]
        yield "exercises", f"{heading}<ol>{''.join(f'<li>{title}</li>' for title in titles)}</ol>"
    else:
        yield from _inside(section, "", None)


def _drawn(cell: Tag) -> str:
    """What a cell draws: an explorer, a prediction or a picture; not its tables and checks."""
    output = cell.find(class_="cell_output")
    if output and (output.find("script", type=WIDGET) or output.find(class_="explorer")):
        return str(output)
    return ""


def _beside(before: Tag | None) -> str:
    return str(before) if before and len(_text(before)) <= MOST_LETTERS else ""


def _title(exercise: Tag) -> str:
    """The words in parentheses after the number of an exercise."""
    said = exercise.find(class_="admonition-title")
    return re.sub(r"^Exercise \d+ \((.*)\)$", r"\1", escape(_text(said)))


def _text(tag: Tag) -> str:
    """The words of a tag, without the sign that links to a heading."""
    return " ".join(tag.get_text(" ").replace("#", "").split())


def main(arguments: list[str] | None = None) -> int:
    """What the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", nargs="?", type=Path, default=BUILD / "html")
    parser.add_argument("slides", nargs="?", type=Path, default=BUILD / "slides")
    options = parser.parse_args(arguments)
    written = write(options.site, options.slides)
    if not written:
        print(f"{options.site} holds no built chapters; run `make book` first.", file=sys.stderr)
        return 1
    print(f"The slides are in {options.slides / 'list.html'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
