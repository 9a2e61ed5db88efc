"""Definitions where they are needed: a page carries those of the words and symbols that it links to.

cards.js shows one when its link is pointed at, focused or tapped. Until then they are in template elements,
which no browser draws, no search quotes and MathJax does not see. Words of the glossary that nobody linked
are linked where a page first uses them, if the glossary says that they have one sense (`forms` at its top).
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import Any, NamedTuple

from book_formulas import is_formula, keep_together
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

SYMBOL = "notation-"  # how the labels of symbols begin
PROSE = (nodes.document, nodes.section, nodes.bullet_list, nodes.enumerated_list, nodes.list_item)


class Place(NamedTuple):
    """Where something is defined."""

    page: str
    anchor: str


def places(env: BuildEnvironment) -> dict[Place, str]:
    """The place of every definition, and the name under which links find it."""
    found = {}
    for name, _, kind, page, anchor, _ in env.get_domain("std").get_objects():
        if kind == "term" or (kind == "label" and name.startswith(SYMBOL)):
            found[Place(page, anchor)] = name
    return found


def addresses(app: Sphinx, page: str) -> dict[str, Place]:
    """The address of every definition, as a link on this page has it."""
    return {f"{app.builder.get_relative_uri(page, at.page)}#{at.anchor}": at for at in places(app.env)}


def linked(app: Sphinx, page: str, doctree: nodes.document) -> dict[str, Place]:
    """The definitions that this page links to, by the address that it uses."""
    known = addresses(app, page)
    used = {
        link.get("refuri") or f"#{link.get('refid')}" for link in doctree.findall(nodes.reference)
    } & known.keys()
    return {address: known[address] for address in sorted(used)}


def definition(doctree: nodes.document, anchor: str) -> tuple[nodes.paragraph, list[nodes.Node]]:
    """What is defined at this place, and the paragraphs that define it, without links."""
    name = next(node for node in doctree.findall(nodes.Element) if anchor in node["ids"])
    if isinstance(name, nodes.term):
        meaning = next(iter(name.parent.findall(nodes.definition)))
    else:  # a symbol, in the first column of its row
        meaning = name.parent.parent[1]
    heading = nodes.paragraph("", "", *_plain(name).children, classes=["card-name"])
    return heading, _plain(meaning).children


def _plain(node: nodes.Element) -> nodes.Element:
    """A copy without links and marks of the index: a card has one link of its own."""
    copy = node.deepcopy()
    for mark in list(copy.findall(addnodes.index)):
        mark.parent.remove(mark)
    for link in list(copy.findall(lambda part: isinstance(part, addnodes.pending_xref | nodes.reference))):
        link.parent.replace(link, link.children)
    for formula in list(copy.findall(is_formula)):
        if not is_formula(formula.parent):
            keep_together(formula)
    return copy


def template(app: Sphinx, address: str, at: Place) -> str:
    """The card of one definition, for a page that links to it by this address."""
    home = app.env.titles[at.page].astext().lower()
    href = escape(address)
    more = f'<p class="card-more"><a href="{href}">In the {home}</a></p>'
    return f'<template data-card="{href}">{words(app, at)}{more}</template>\n'


@cache  # many pages link to one definition, and none of its words depends on them
def words(app: Sphinx, at: Place) -> str:
    """The words of one definition as HTML."""
    heading, meaning = definition(_tree(app, at.page), at.anchor)
    return "".join(app.builder.render_partial(part)["fragment"] for part in (heading, *meaning))


@cache  # to unpickle one takes longer than to write a card
def _tree(app: Sphinx, page: str) -> nodes.document:
    return app.env.get_doctree(page)


def embed(app: Sphinx, page: str, name: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Put the cards behind the text of the page."""
    if doctree is None or app.builder.name != "html":
        return
    cards = "".join(template(app, address, at) for address, at in linked(app, page, doctree).items())
    context["body"] += cards
    if 'class="math' in cards:  # so that MathJax is there for them
        app.env.get_domain("math").data["has_equations"][page] = True


class FirstUses(SphinxPostTransform):
    """Link the first use of each word of the glossary, unless the author linked the word elsewhere."""

    default_priority = 20  # when the author's links are resolved
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Look through the running text of one page."""
        page = self.env.docname
        entries = entries_with_forms(self.env)
        if page in {at.page for defined, _ in entries for at in defined}:
            return
        by_hand = set(linked(self.app, page, self.document).values())
        left = [(defined[0], forms) for defined, forms in entries if by_hand.isdisjoint(defined)]
        wanted = {form: at for at, forms in left for form in forms}
        for text in list(prose(self.document)):
            link_first(text, wanted, lambda at, words: _link(self.app, page, at, words))


def entries_with_forms(env: BuildEnvironment) -> list[tuple[list[Place], list[str]]]:
    """Each word that links itself: the places of it and of its synonyms, its own first, and all its forms."""
    names = {name.lower(): at for at, name in places(env).items()}
    found = []
    for page in sorted({at.page for at in names.values()}):
        listed = json.loads(env.metadata[page].get("forms", "{}"))
        for word, others in listed.items():
            if word.lower() not in names:
                raise ExtensionError(f"The page {page} lists forms of {word!r}, which it does not define.")
            forms = [form.lower() for form in (word, *others)]
            found.append(([names[form] for form in forms if form in names], forms))
    return found


def prose(document: nodes.document) -> Iterator[nodes.Text]:
    """The words of running text: no headings, links, code, formulas, captions, tables or boxes."""
    for paragraph in document.findall(nodes.paragraph):
        around, inside = paragraph.parent, True
        while around is not None and inside:
            around, inside = around.parent, isinstance(around, PROSE)
        if inside:
            yield from (child for child in paragraph.children if isinstance(child, nodes.Text))


def link_first(text: nodes.Text, wanted: dict[str, Place], link: Any) -> None:
    """Link what is wanted and found in this text; what is linked is no longer wanted.

    >>> words = nodes.paragraph("", "Two learners, one Learner, relearners.")
    >>> wanted = {"learner": Place("glossary", "l"), "learners": Place("glossary", "l")}
    >>> link_first(words[0], wanted, lambda at, found: nodes.reference("", found, refid=at.anchor))
    >>> print(words)
    <paragraph>Two <reference refid="l">learners</reference>, one Learner, relearners.</paragraph>
    >>> wanted
    {}
    """
    pieces: list[nodes.Node] = []
    rest = str(text)
    while wanted and (match := _any(wanted).search(rest)):
        at = wanted[" ".join(match.group().lower().split())]
        pieces += [nodes.Text(rest[: match.start()]), link(at, match.group())]
        rest = rest[match.end() :]
        for form in [form for form, place in wanted.items() if place == at]:
            del wanted[form]
    if pieces:
        text.parent.replace(text, [*pieces, nodes.Text(rest)])


def _any(forms: dict[str, Place]) -> re.Pattern[str]:
    """Any of the forms as whole words, the longest first; a line may end between two words of one."""
    longest = sorted(forms, key=len, reverse=True)
    words = "|".join(r"\s+".join(map(re.escape, form.split())) for form in longest)
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)


def _link(app: Sphinx, page: str, at: Place, words: str) -> nodes.reference:
    return make_refnode(
        app.builder, page, at.page, at.anchor, nodes.inline(words, words, classes=["xref", "std", "std-term"])
    )


def notice(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Remember whether a page with definitions has changed."""
    homes = {at.page for at in places(env)}
    app.book_redefined = not homes.isdisjoint(added | changed | removed)  # type: ignore[attr-defined]
    return []


def rewrite(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """If so, write every page again: it may carry what has changed."""
    return sorted(env.found_docs) if app.book_redefined else []  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_post_transform(FirstUses)
    app.connect("env-get-outdated", notice)
    app.connect("env-updated", rewrite)
    app.connect("html-page-context", embed, priority=400)  # before Sphinx asks who needs MathJax
    app.add_css_file("cards.css", priority=901)
    app.add_js_file("cards.js", priority=901, defer="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
