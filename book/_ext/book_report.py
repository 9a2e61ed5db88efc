"""What a build made: the weight of every page and of what they share, times, frames; and what must not be.

A page that is missing or too heavy is a warning, so `make book` fails and says which.  The report goes to
report.json beside the site, to the page that has the directive `{build-report}`, and, run as a script, to the
screen.
"""

import gzip
import json
import re
import sys
import time
from html import escape
from pathlib import Path
from typing import Any

from book_assets import MATHJAX_PARTS
from book_execution import outputs
from book_paths import READING
from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

MOST_PAGE_KB = 400
MOST_SHARED_KB = 1000
OPEN, CLOSE = "<!-- build report -->", "<!-- end of build report -->"

LOGGER = logging.getLogger(__name__)


class BuildReport(SphinxDirective):
    """The place on a page where the report goes once everything else is written."""

    def run(self) -> list[nodes.Node]:
        """An empty place with marks around it."""
        return [nodes.raw("", f"{OPEN}{CLOSE}", format="html")]


def start(app: Sphinx) -> None:
    """Start the clock."""
    app.book_began = time.time()  # type: ignore[attr-defined]


def finish(app: Sphinx, error: Exception | None) -> None:
    """Measure what was built, complain about what is missing or too heavy, write the report."""
    if error is not None or app.builder.name != "html":
        return
    site = Path(app.outdir)
    pages = [page for page in sorted(app.env.found_docs) if _exists(site, page)]
    report = {
        "seconds": round(time.time() - app.book_began, 1),  # type: ignore[attr-defined]
        "shared_kb": _shared_kb(site, pages),
        "pages": [_page(app, site, page) for page in pages],
    }
    for complaint in complaints(report):
        LOGGER.warning(complaint, type="book", subtype="report")
    (site.parent / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    for page in pages:
        _fill(site / f"{page}.html", as_html(report))


def _exists(site: Path, page: str) -> bool:
    if (site / f"{page}.html").exists():
        return True
    LOGGER.warning(
        "The page %s of the table of contents was not written.", page, type="book", subtype="report"
    )
    return False


def _page(app: Sphinx, site: Path, page: str) -> dict[str, Any]:
    run = NbMetadataCollector.get_doc_data(app.env)[page].get("exec_data") or {}
    return {
        "page": page,
        "kb": _gzip_kb(site / f"{page}.html"),
        "run_seconds": round(run["runtime"], 1) if run.get("runtime") else None,
        "reading": app.env.metadata[page].get(READING),
        "explorers": _explorers(outputs(app.config.nb_execution_cache_path, Path(app.env.doc2path(page)))),
    }


def _explorers(ran: list[Any]) -> list[dict[str, Any]]:
    """What sgdrace.explore noted about its frames when the notebook ran."""
    return [output["metadata"]["explorer"] for output in ran if "explorer" in output.get("metadata", {})]


def _gzip_kb(*files: Path) -> float:
    return round(sum(len(gzip.compress(file.read_bytes(), 6)) for file in files) / 1000, 1)


def _shared_kb(site: Path, pages: list[str]) -> float:
    """Scripts, style sheets and fonts that pages name: each is fetched once and then cached."""
    parts = [*MATHJAX_PARTS, "core", "output/chtml/fonts/tex"]  # the last two are fetched by the others
    files = {site / "_static/vendor/mathjax" / f"{part}.js" for part in parts}
    files |= set(
        site.glob("_static/vendor/fontawesome/*/webfonts/fa-solid-900.woff2")
    )  # named by a style sheet
    for page in pages:
        folder = (site / f"{page}.html").parent
        html = (site / f"{page}.html").read_text(encoding="utf-8")
        for name in re.findall(r'(?:src|href)="([^":?#]+\.(?:js|css|woff2))', html):
            if (folder / name).exists():
                files.add((folder / name).resolve())
    return _gzip_kb(*files)


def complaints(report: dict[str, Any]) -> list[str]:
    """One sentence for each limit that is broken.

    >>> complaints({"shared_kb": 900.0, "pages": [{"page": "book/race", "kb": 450.0, "explorers": []}]})
    ['The page book/race weighs 450 KB (gzip), 50 KB over its limit of 400 KB.']
    """
    found = []
    for page in report["pages"]:
        if page["kb"] > MOST_PAGE_KB:
            worst = max(page["explorers"], key=lambda explorer: explorer["bytes"], default=None)
            hint = (
                f" Its largest explorer is {worst['name']}, {worst['bytes'] / 1e6:.1f} MB raw."
                if worst
                else ""
            )
            over = page["kb"] - MOST_PAGE_KB
            found.append(
                f"The page {page['page']} weighs {page['kb']:.0f} KB (gzip), {over:.0f} KB over its limit "
                f"of {MOST_PAGE_KB} KB.{hint}"
            )
    if report["shared_kb"] > MOST_SHARED_KB:
        found.append(
            f"What all pages share weighs {report['shared_kb']:.0f} KB (gzip); "
            f"its limit is {MOST_SHARED_KB} KB."
        )
    return found


def as_text(report: dict[str, Any]) -> str:
    """The report for a terminal."""
    lines = [f"{'page':<40}{'KB gzip':>9}{'run, s':>9}{'frames':>9}   slowest frame"]
    for page in report["pages"]:
        frames = sum(explorer["frames"] for explorer in page["explorers"]) or ""
        run = "" if page["run_seconds"] is None else page["run_seconds"]
        lines.append(f"{page['page']:<40}{page['kb']:>9}{run:>9}{frames:>9}   {_slowest(page)}".rstrip())
    lines.append(f"Scripts, styles and fonts that all pages share: {report['shared_kb']:.0f} KB gzip.")
    lines.append(f"Built in {report['seconds']:.0f} s.")
    return "\n".join(lines)


def as_html(report: dict[str, Any]) -> str:
    """The report for the page on the environment."""
    rows = "".join(
        f"<tr><td>{escape(page['page'])}</td><td>{page['kb']}</td><td>{page['run_seconds'] or ''}</td>"
        f"<td>{sum(e['frames'] for e in page['explorers']) or ''}</td><td>{escape(_slowest(page))}</td></tr>"
        for page in report["pages"]
    )
    heads = "".join(f"<th>{head}</th>" for head in ("page", "KB gzip", "run, s", "frames", "slowest frame"))
    return (
        # On a phone it scrolls sideways, so the keyboard must be able to get there.
        '<div class="pst-scrollable-table-container" tabindex="0" role="region" aria-label="Pages">'
        '<table class="table report">'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        f"<p>Scripts, styles and fonts that all pages share: {report['shared_kb']:.0f} KB gzip. "
        f"Built in {report['seconds']:.0f} s.</p>"
    )


def _slowest(page: dict[str, Any]) -> str:
    if not page["explorers"]:
        return ""
    worst = max(page["explorers"], key=lambda explorer: explorer["slowest_seconds"])
    return f"{1000 * worst['slowest_seconds']:.0f} ms at {worst['slowest']}"


def _fill(file: Path, report: str) -> None:
    html = file.read_text(encoding="utf-8")
    if OPEN in html:
        before, rest = html.split(OPEN)
        file.write_text(before + OPEN + report + CLOSE + rest.split(CLOSE)[1], encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("builder-inited", start)
    app.connect("build-finished", finish, priority=900)
    app.add_directive("build-report", BuildReport)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    print(as_text(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
