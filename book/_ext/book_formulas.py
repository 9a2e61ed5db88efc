"""Formulas within a line: what touches a formula stays on its line, as the letters of a word do."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

BEFORE = re.compile(r"[(\[“‘]+$")
AFTER = re.compile(r"^[-\w.,;:!?)\]”’]+")


class Unbroken(SphinxPostTransform):
    """Without it a browser may break the line between a formula and the period behind it."""

    default_priority = 900  # when all links are made
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Put each formula, and what touches it, into a span that does not break."""
        for node in list(self.document.findall(is_formula)):
            if not is_formula(node.parent):
                keep_together(node)


def is_formula(node: nodes.Node) -> bool:
    """Whether this is a formula, or a link that is nothing but one."""
    link = isinstance(node, nodes.reference | nodes.inline) and len(node.children) == 1
    return isinstance(node, nodes.math) or (link and is_formula(node.children[0]))


def keep_together(formula: nodes.Element) -> None:
    """Wrap the formula with the marks before it and the letters and marks after it, if there are any."""
    parent, place = formula.parent, formula.parent.index(formula)
    whole = nodes.inline(classes=["unbroken"])
    before = parent[place - 1] if place else None
    if isinstance(before, nodes.Text) and (marks := BEFORE.search(before)):
        parent.replace(before, nodes.Text(before[: marks.start()]))
        whole += nodes.Text(marks.group())
    elif isinstance(before, nodes.inline) and "unbroken" in before["classes"] and is_formula(before[-1]):
        parent.remove(before)  # two formulas side by side
        whole += before.children
        place -= 1
    parent.remove(formula)
    whole += formula
    after = parent[place] if place < len(parent) else None
    if isinstance(after, nodes.Text) and (marks := AFTER.search(after)):
        parent.replace(after, nodes.Text(after[marks.end() :]))
        whole += nodes.Text(marks.group())
    parent.insert(place, whole)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_post_transform(Unbroken)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
