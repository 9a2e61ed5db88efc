"""Paper is white: whatever theme the screen shows, a page prints in the light one.

The style sheets of the theme, of Pygments and of the book say `[data-theme=dark]` where they mean a dark
screen. In their copies on the site those rules are kept to screens, and on paper those of the light theme
hold whatever the theme. So they do without scripts, when nothing chooses a theme.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

THEME = re.compile(r'\[data-theme="?(dark|light)"?\]')
RULE = re.compile(rf"[^{{}};/]*{THEME.pattern}[^{{}}]*{{[^{{}}]*}}")
DONE = "/* The dark theme is for screens. */"


def print_light(css: str) -> str:
    r"""The same style sheet on a screen; on paper, the light theme alone.

    >>> print(print_light("[data-theme=light] p {color: #222}\n[data-theme=dark] p {color: #eee}"))
    [data-theme=light] p {color: #222}
    @media print, (scripting: none) {[data-theme] p {color: #222}}
    @media screen {
    [data-theme=dark] p {color: #eee}}
    """
    return RULE.sub(_where_it_holds, css)


def _where_it_holds(match: re.Match[str]) -> str:
    rule = match.group()
    themes = set(THEME.findall(rule))
    if themes == {"dark"}:
        return f"\n@media screen {{{rule}}}"
    if themes == {"light"}:
        return f"{rule}\n@media print, (scripting: none) {{{THEME.sub('[data-theme]', rule)}}}"
    return rule


def finish(app: Sphinx, error: Exception | None) -> None:
    """Rewrite the copies, once each: a build that finds nothing new leaves those of the last one."""
    if error is not None or app.builder.name != "html":
        return
    for sheet in (Path(app.outdir) / "_static").rglob("*.css"):
        css = sheet.read_text(encoding="utf-8")
        if THEME.search(css) and not css.endswith(DONE):
            sheet.write_text(print_light(css) + DONE, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("build-finished", finish, priority=900)  # after the theme, which writes pygments.css then
    return {"parallel_read_safe": True, "parallel_write_safe": True}
