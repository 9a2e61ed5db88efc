"""What the instructor's guide takes from the chapters when the book is built, so that it cannot drift.

{chapters}                           the chapters in their order: question, minutes, outcomes, exercises
{section}`staleness: A die, and …`   a link to a section of a page by its heading, which must be there
"""

from collections.abc import Iterator
from typing import Any

from book_paths import READING
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node

OUTCOMES = "You will be able to"

LOGGER = logging.getLogger(__name__)


class Chapters(nodes.General, nodes.Element):
    """Where the chapters are listed."""


class Section(nodes.Inline, nodes.TextElement):
    """A link to a section, by its page and its heading."""


class ChaptersDirective(SphinxDirective):
    """The place of the list, which is made when every page has been read."""

    def run(self) -> list[nodes.Node]:
        """The place."""
        self.env.note_reread()  # it changes when a chapter does
        return [Chapters()]


class SectionRole(SphinxRole):
    """A page below book/, a colon, and a heading of that page."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The place of the link."""
        self.env.note_reread()
        page, _, heading = self.text.partition(": ")
        node = Section("", page=f"book/{page}", heading=heading)
        self.set_source_info(node)
        return [node], []


class Teach(SphinxPostTransform):
    """Fills both in, before references are resolved."""

    default_priority = 3

    def run(self, **kwargs: Any) -> None:
        """Link the sections and list the chapters."""
        for node in list(self.document.findall(Section)):
            node.replace_self(self._link(node))
        for node in list(self.document.findall(Chapters)):
            node.replace_self([part for page in chapters(self.env) for part in self._chapter(page)])

    def _link(self, node: Section) -> nodes.Node:
        page, heading = node["page"], node["heading"]
        if page in self.env.all_docs:
            for section in self.env.get_doctree(page).findall(nodes.section):
                title = section.next_node(nodes.title)
                if title is not None and title.parent is section and title.astext() == heading:
                    return self._to(page, section["ids"][0], f"{self.env.titles[page].astext()}: {heading}")
        LOGGER.warning("The page %s has no section “%s”.", page, heading, location=node)
        return nodes.Text(heading)

    def _to(self, page: str, anchor: str, words: str) -> nodes.reference:
        here, builder = self.env.docname, self.app.builder
        return make_refnode(builder, here, page, anchor, nodes.Text(words))

    def _chapter(self, page: str) -> Iterator[nodes.Node]:
        tree = self.env.get_doctree(page)
        title = self._to(page, "", self.env.titles[page].astext())
        reading = self.env.metadata[page][READING]
        short, everything = (reading[path]["minutes"] for path in ("short", "everything"))
        asked = sum(1 for _ in exercises(tree))
        said = (
            f" The short path takes {short} minutes, everything {everything}; {asked} exercises come on top."
        )
        yield nodes.paragraph("", "", nodes.strong("", "", title), nodes.Text("."), nodes.Text(said))
        yield outcomes(tree)


def chapters(env: BuildEnvironment) -> list[str]:
    """The pages that say what one will be able to do, in the order of the table of contents."""
    pages = env.toctree_includes.get(env.config.root_doc, [])
    return [page for page in pages if outcomes(env.get_doctree(page)) is not None]


def outcomes(tree: nodes.document) -> nodes.bullet_list | None:
    """The outcomes of a chapter as plain words: without links, whose cards belong to its own page."""
    for box in tree.findall(nodes.admonition):
        if box.next_node(nodes.title).astext() == OUTCOMES:
            copy = box.next_node(nodes.bullet_list).deepcopy()
            for link in [node for node in copy.findall() if node.tagname in ("pending_xref", "reference")]:
                link.replace_self([part for word in link.children for part in _bare(word)])
            return copy
    return None


def _bare(node: nodes.Node) -> list[nodes.Node]:
    """What is inside the wrapping of a link's words."""
    return list(node.children) if isinstance(node, nodes.inline) and node.children else [node]


def exercises(tree: nodes.document) -> Iterator[nodes.Element]:
    """The exercises of a page."""
    return (node for node in tree.findall() if isinstance(node, exercise_node | exercise_enumerable_node))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_node(Chapters)
    app.add_node(Section)
    app.add_directive("chapters", ChaptersDirective)
    app.add_role("section", SectionRole())
    app.add_post_transform(Teach)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
