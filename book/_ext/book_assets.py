"""Browser assets from node_modules, so that the built site asks no other host for anything.

`npm ci` fetched them at the exact versions of package-lock.json; nothing third-party is committed.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

from sgdrace.figures import STYLE

ASSETS = {  # npm package: the files to take, by their name below _static/vendor/<last part of the package>
    "@jupyter-widgets/html-manager": r"dist/(embed\.js|[0-9a-f]{20}\.woff2)",
    "mathjax": r"es5/((?:startup|core|(?:input|output|a11y)/.*)\.js|output/chtml/fonts/woff-v2/.*\.woff)",
}
WIDGETS = "vendor/html-manager/embed.js"
MATHJAX = "vendor/mathjax/startup.js"
# The parts by name: MathJax's ready-made combinations are 100 KB (gzip) heavier, for a menu that nobody opens
# and that makes each equation a stop for the Tab key.
MATHJAX_PARTS = ["input/tex", "output/chtml", "a11y/assistive-mml"]


def configure(app: Sphinx, config: Config) -> None:
    """Point every extension that would load a script from elsewhere to the copy on this site."""
    config.nb_ipywidgets_js = {WIDGETS: {}}
    config.mathjax_path = MATHJAX
    config.mathjax3_config = {**(config.mathjax3_config or {}), "loader": {"load": MATHJAX_PARTS}}


def copy(app: Sphinx) -> None:
    """Copy the assets and the figures' style sheet into the site, before its pages are written."""
    static = Path(app.outdir) / "_static"
    for package, pattern in ASSETS.items():
        source = Path(app.srcdir) / "node_modules" / package
        files = {
            file: re.fullmatch(pattern, file.relative_to(source).as_posix()) for file in source.rglob("*.*")
        }
        wanted = {file: match[1] for file, match in files.items() if match}
        if not wanted:
            raise ExtensionError(
                f"The npm package {package} is not installed. Run `make book`, or `npm ci` first."
            )
        for file, name in wanted.items():
            target = static / "vendor" / Path(package).name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    (static / "figures.css").write_text(STYLE, encoding="utf-8")


def hush(app: Sphinx, error: Exception | None) -> None:
    """The theme tells the console on every page that it follows the system; nobody asked."""
    script = Path(app.outdir) / "_static/scripts/pydata-sphinx-theme.js"
    if error is None and script.exists():
        loud = script.read_text(encoding="utf-8")
        script.write_text(
            re.sub(r"console\.log\(`\[PST\]: Changed[^`]*`\)", "void 0", loud), encoding="utf-8"
        )


def drop_thebe(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Jupyter Book always loads sphinx-thebe, twice (an error in the console), from another host."""
    scripts = context.get("script_files", [])
    scripts[:] = [script for script in scripts if not _is_thebe(script)]


def _is_thebe(script: Any) -> bool:
    name = str(getattr(script, "filename", None) or script)
    body = getattr(script, "attributes", {}).get("body") or ""
    return "thebe" in name.lower() or "THEBE" in body


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("config-inited", configure, priority=100)
    app.connect("builder-inited", copy)
    app.connect("build-finished", hush)
    app.connect("html-page-context", drop_thebe, priority=999)
    app.add_css_file("figures.css")
    app.add_css_file("book.css", priority=900)
    app.add_js_file("book.js", priority=900, defer="defer")  # after MathJax, before the widgets are drawn
    return {"parallel_read_safe": True, "parallel_write_safe": True}
