"""MyST as the sources have it, turned into the Markdown that JupyterLab shows.

A directive is a fence to a Markdown parser; `{exercise}`, `{dropdown}` and `{math}` have a plain form.
"""

import re

from markdown_it import MarkdownIt

PARSER = MarkdownIt("commonmark")
ROLE = re.compile(r"\{[a-z][\w:-]*\}`")


class NoPlainFormError(ValueError):
    """Something of MyST that JupyterLab would show raw."""


def plain_markdown(text: str, heading: str = "## {title}") -> str:
    """The text with its directives in plain form; an exercise begins with this heading.

    >>> print(plain_markdown("```{dropdown} Hint" + chr(10) + "Count." + chr(10) + "```"))
    <details><summary>Hint</summary>
    <BLANKLINE>
    Count.
    <BLANKLINE>
    </details>
    """
    lines, done = text.splitlines(), 0
    out: list[str] = []
    for token in PARSER.parse(text):
        if token.type == "fence" and token.info.startswith("{"):
            if token.level or token.map is None:
                raise NoPlainFormError(f"a directive must not be inside a list or a quotation: {token.info}.")
            first, last = token.map
            out += [*lines[done:first], _directive(token.info, token.content, heading)]
            done = last
    plain = "\n".join([*out, *lines[done:]])
    if found := ROLE.search(plain):
        raise NoPlainFormError(f"the role {found[0][:-1]} has no plain form; write words or a link.")
    return plain


def exercise_titles(text: str) -> list[str]:
    """The titles of the exercises that begin in a text."""
    fences = (token.info for token in PARSER.parse(text) if token.type == "fence")
    return [info.removeprefix("{exercise}").strip() for info in fences if info.startswith("{exercise}")]


def _directive(info: str, content: str, heading: str) -> str:
    name, _, title = info.partition("}")
    title = title.strip()
    body = re.sub(r"\A(:[\w-]+:.*\n)+", "", content).strip()  # options: labels and classes mean nothing here
    if name == "{exercise":
        return f"{heading.format(title=title)}\n\n{plain_markdown(body)}"
    if name == "{dropdown":
        return f"<details><summary>{title}</summary>\n\n{plain_markdown(body)}\n\n</details>"
    if name == "{math":
        return f"$$\n{body}\n$$"
    raise NoPlainFormError(f"the directive {name}}} has no plain form; use exercise, dropdown or math.")
