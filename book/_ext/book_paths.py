"""No spoilers, and two paths through a page: what veils, what folds, and how long each path takes.

What follows a prediction is veiled until the reader has answered. What is deeper (proofs beyond their idea,
and whatever stands below the directive `{deeper}`) is folded. Both are marked here; without scripts a veil is
nothing and a fold unfolds, paths.js adds the rest. Minutes are counted from the page, not claimed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from statistics import median
from typing import Any

from docutils import nodes
from myst_nb.ext.glue.utils import PendingGlueReference
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import solution_node
from sphinx_proof.nodes import proof_node

# How long a reader takes. Hidden code, hints, solutions and the exercises come on top.
WORDS_PER_MINUTE = 200
SECONDS_PER_FORMULA = 15
SECONDS_PER_LISTING = 20
SECONDS_PER_CONTROL = 60  # an explorer, a prediction or a live race
SECONDS_PER_FIGURE = 15
RECKONING = (
    f"Counted from the page: {WORDS_PER_MINUTE} words a minute, {SECONDS_PER_FORMULA} seconds for a formula "
    f"on a line of its own, {SECONDS_PER_LISTING} for a piece of code, {SECONDS_PER_CONTROL} for an "
    f"explorer, a prediction or a live race, {SECONDS_PER_FIGURE} for any other figure."
)
EXERCISES = "Exercises"
WIDGET = "application/vnd.jupyter.widget-view+json"
READING = "reading"  # what is counted, in the metadata of a page

LOGGER = logging.getLogger(__name__)


# What is on a page


class Deeper(nodes.TextElement):
    """Where a fold begins; its text says what is inside."""


class DeeperEnd(nodes.Element):
    """Where a fold ends before its section does."""


class Fold(nodes.Element):
    """A summary, and what it folds."""


class Summary(nodes.TextElement):
    """What a fold says of itself."""


class Veil(nodes.Element):
    """What a prediction would give away."""


class DeeperDirective(SphinxDirective):
    """Folds the rest of its section, subsections included, or what comes before `{deeper-end}`."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """The place, with the sentence that says what is inside."""
        words, messages = self.state.inline_text(self.arguments[0], self.lineno)
        mark = Deeper("", "", *words)
        self.set_source_info(mark)
        return [mark, *messages]


class DeeperEndDirective(SphinxDirective):
    """Ends what `{deeper}` folds."""

    def run(self) -> list[nodes.Node]:
        """The place."""
        mark = DeeperEnd()
        self.set_source_info(mark)
        return [mark]


def is_cell(node: nodes.Node) -> bool:
    """Whether this is a cell with code."""
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def asks(node: nodes.Node) -> bool:
    """Whether this is a cell that shows a prediction."""
    return is_cell(node) and any('<div class="predict"' in raw.astext() for raw in node.findall(nodes.raw))


def has_heading(node: nodes.Node) -> bool:
    """Whether this is a section, or folds one. Theorems and exercises have sections too, without a title."""
    sections = node.findall(nodes.section)
    return any(isinstance(section.next_node(descend=True), nodes.title) for section in sections)


# Folds and veils


def fold(document: nodes.document, proofs: bool = True) -> list[tuple[str, nodes.Node]]:
    """Fold what is deeper; complaints, each with the node that it is about."""
    complaints = []
    for mark in list(document.findall(Deeper)):
        if complaint := _misplaced(mark):
            complaints.append((complaint, mark))
            mark.parent.remove(mark)
        else:
            _fold_what_follows(mark)
    for end in list(document.findall(DeeperEnd)):
        complaints.append(("Nothing is folded that this deeper-end could end.", end))
        end.parent.remove(end)
    for proof in list(document.findall(proof_node)) if proofs else []:
        _fold_proof(proof)
    return complaints


def _misplaced(mark: Deeper) -> str | None:
    section, body = mark.parent, list(_body(mark))
    if not isinstance(section, nodes.section) or not has_heading(section):
        return "What is deeper must stand in a section, not inside something else."
    if not body:
        return "There is nothing to fold below this deeper."
    ends = isinstance(body[-1].next_node(descend=False, siblings=True), Deeper | DeeperEnd)
    if isinstance(section.parent, nodes.document) and not ends:
        return "This deeper would fold the whole page; put it below another heading, or end it."
    return None


def _body(mark: Deeper) -> Iterator[nodes.Node]:
    """What a mark folds: everything up to the next mark or the end of the section."""
    following = mark.parent.children[mark.parent.index(mark) + 1 :]
    return takewhile(lambda node: not isinstance(node, Deeper | DeeperEnd), following)


def _fold_what_follows(mark: Deeper) -> None:
    section, body = mark.parent, list(_body(mark))
    end = body[-1].next_node(descend=False, siblings=True)
    if isinstance(end, DeeperEnd):
        section.remove(end)
    time = nodes.inline("", f"{minutes(tally(body).seconds)} min", classes=["minutes"])
    summary = Summary("", "", nodes.Text("Deeper: "), *mark.children, nodes.Text(" "), time)
    _wrap(Fold(), body).insert(0, summary)
    section.remove(mark)


def _fold_proof(proof: nodes.Element) -> None:
    """A proof shows its first paragraph, the idea."""
    idea, *rest = proof[0].children
    if rest and isinstance(idea, nodes.paragraph):
        _wrap(Fold(), rest).insert(0, Summary("", "The proof"))


def veil(document: nodes.document) -> None:
    """Veil what follows each prediction, up to a heading or another prediction."""
    for cell in list(document.findall(asks)):
        following = cell.parent.children[cell.parent.index(cell) + 1 :]
        hidden = list(takewhile(lambda node: not asks(node) and not has_heading(node), following))
        if any(node.astext() for node in hidden):
            _wrap(Veil(), hidden)


def _wrap(wrapper: nodes.Element, inside: list[nodes.Node]) -> nodes.Element:
    """Put neighbors into a wrapper, in their place."""
    parent = inside[0].parent
    place = parent.index(inside[0])
    parent.insert(place, wrapper)
    for node in inside:
        parent.remove(node)
        wrapper += node
    return wrapper


# Minutes


@dataclass
class Tally:
    """What there is to read."""

    words: int = 0
    formulas: int = 0
    listings: int = 0
    controls: int = 0
    figures: int = 0

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return (
            60 * self.words / WORDS_PER_MINUTE
            + SECONDS_PER_FORMULA * self.formulas
            + SECONDS_PER_LISTING * self.listings
            + SECONDS_PER_CONTROL * self.controls
            + SECONDS_PER_FIGURE * self.figures
        )


def minutes(seconds: float) -> int:
    """Whole minutes, at least one.

    >>> minutes(10), minutes(89), minutes(91)
    (1, 1, 2)
    """
    return max(1, round(seconds / 60))


def tally(inside: Iterable[nodes.Node], folds: bool = True) -> Tally:
    """Count what there is to read, with or without what is folded."""
    count = Tally()
    for node in inside:
        _count(node, count, folds)
    return count


def _count(node: nodes.Node, count: Tally, folds: bool) -> None:
    if isinstance(node, nodes.Text):
        count.words += sum(any(letter.isalnum() for letter in word) for word in node.split())
    elif isinstance(node, nodes.math | PendingGlueReference):
        count.words += 1
    elif isinstance(node, nodes.math_block):
        count.formulas += 1
    elif isinstance(node, nodes.literal_block):
        count.listings += 1
    elif isinstance(node, nodes.image):
        count.figures += 1
    elif is_cell(node):
        _count_cell(node, count)
    elif not _is_extra(node):
        shown = node.children if folds or not isinstance(node, Fold) else node.children[:1]
        for child in shown:
            _count(child, count, folds)


def _count_cell(cell: nodes.Element, count: Tally) -> None:
    count.listings += is_open(cell)
    raw = [node.astext() for node in cell.findall(nodes.raw)]
    controls = sum(child.get("mime_type") == WIDGET for child in cell.findall(nodes.container))
    controls += sum(text.count("data-race=") for text in raw)
    pictures = sum(text.count('role="img"') for text in raw) + len(list(cell.findall(nodes.image)))
    count.controls += controls
    count.figures += 0 if controls else pictures  # they have a picture for readers without scripts


def is_open(cell: nodes.Element) -> bool:
    """Whether a cell's code is in view."""
    return not cell.get("hide_mode") and any(
        child.get("nb_element") == "cell_code_source" for child in cell.children
    )


def _is_extra(node: nodes.Node) -> bool:
    """Hints, solutions and exercises come on top; comments and raw HTML are not read."""
    if isinstance(node, solution_node | nodes.raw | nodes.Invisible):
        return True
    if isinstance(node, nodes.section) and isinstance(node.next_node(), nodes.title):
        return node.next_node().astext() == EXERCISES
    return _is_hint(node)


def _is_hint(node: nodes.Node) -> bool:
    return node.get("design_component") == "dropdown" or "dropdown" in node.get("classes", ())


def measured(document: nodes.document) -> dict[str, Any]:
    """The words and minutes of both paths, and the code in view, of a page that is folded."""
    sources = {False: [], True: []}  # whether in a fold
    for cell in document.findall(is_cell):
        around = list(_ancestors(cell))
        if is_open(cell) and not any(isinstance(node, solution_node) or _is_hint(node) for node in around):
            sources[any(isinstance(node, Fold) for node in around)].append(cell[0].astext())
    every = sources[False] + sources[True]
    paths = {"short": tally([document], folds=False), "everything": tally([document])}
    return {
        **{name: {"words": count.words, "minutes": minutes(count.seconds)} for name, count in paths.items()},
        "open_cells": len(sources[False]),
        "deeper_cells": len(sources[True]),
        "median_lines": median([len(source.splitlines()) for source in every] or [0]),
        "open_asserts": sum(bool(re.search(r"^\s*assert\b", source, re.M)) for source in every),
    }


def _ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    while node.parent is not None:
        node = node.parent
        yield node


# In Sphinx


def read(app: Sphinx, document: nodes.document) -> None:
    """Count what a page has to read, and complain about folds that cannot be."""
    metadata = app.env.metadata[app.env.docname]
    copy = document.deepcopy()
    for complaint, node in fold(copy, folds_proofs(metadata)):
        LOGGER.warning(complaint, location=node, type="book", subtype="paths")
    metadata[READING] = measured(copy)


def folds_proofs(metadata: dict[str, Any]) -> bool:
    """A page whose front matter says `proofs: open` is there for its proofs."""
    return metadata.get("proofs") != "open"


class Paths(SphinxPostTransform):
    """Folds, veils and the switch: late, as Sphinx makes the contents of a page from its plain sections."""

    default_priority = 2  # while a cell still has the output by which a prediction is known
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Fold, veil, and say how long it takes."""
        metadata = self.env.metadata[self.env.docname]
        fold(self.document, folds_proofs(metadata))
        veil(self.document)
        times = [metadata[READING][name]["minutes"] for name in ("short", "everything")]
        if times[0] < times[1]:
            title = next(self.document.findall(nodes.title))
            title.parent.insert(title.parent.index(title) + 1, nodes.raw("", switch(*times), format="html"))


def switch(short: int, everything: int) -> str:
    """The place of the switch, and what stands there without scripts."""
    return (
        f'<div class="paths" data-short="{short}" data-everything="{everything}" title="{RECKONING}">'
        f"<noscript><p>The short path takes about {short} minutes, everything {everything}. "
        "Exercises come on top.</p></noscript></div>"
    )


def _tags(opening: str, closing: str) -> tuple[Any, Any]:
    """What the HTML writer does when it comes to a node and when it leaves it."""
    return (
        lambda writer, node: writer.body.append(opening),
        lambda writer, node: writer.body.append(closing),
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_directive("deeper", DeeperDirective)
    app.add_directive("deeper-end", DeeperEndDirective)
    app.add_node(Deeper)
    app.add_node(DeeperEnd)
    app.add_node(Fold, html=_tags('<details class="deeper">\n', "</details>\n"))
    app.add_node(Summary, html=_tags("<summary>", "</summary>\n"))
    app.add_node(Veil, html=_tags('<div class="veil">\n', "</div>\n"))
    app.connect("doctree-read", read, priority=900)  # after the page's own metadata
    app.add_post_transform(Paths)
    app.add_js_file("paths.js", priority=100)  # at once, so that nobody sees what is veiled
    return {"parallel_read_safe": True, "parallel_write_safe": True}
