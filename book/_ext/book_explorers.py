"""Explorers on a page without a kernel: all frames drawn while building, the first shown without scripts."""

import hashlib
import os
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform

from sgdrace.explore import PRERENDER

WIDGET = "application/vnd.jupyter.widget-view+json"
CODE = ("lib/**/*.py", "requirements.txt")  # what a cell's output depends on, besides the cell


class WithoutScripts(SphinxPostTransform):
    """Where a cell shows a widget and its HTML stand-in, keep both: some read without scripts."""

    default_priority = 3  # just before myst-nb keeps one of the two

    def run(self, **kwargs: object) -> None:
        """Move the stand-in into a noscript element behind the widget."""
        for bundle in list(self.document.findall(_is_bundle)):
            kinds = {child["mime_type"]: child for child in bundle.children}
            if {WIDGET, "text/html"} <= kinds.keys():
                html = kinds["text/html"].astext()
                kinds[WIDGET].append(nodes.raw("", f"<noscript>{html}</noscript>", format="html"))


def _is_bundle(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == "mime_bundle"


def key_the_cache(app: Sphinx, config: Config) -> None:
    """A cached output is only good for the code that made it, so the cache's name has the code's digest.

    The path is part of the environment's settings: another digest makes Sphinx read every page again.
    """
    cache = Path(app.outdir).parent / ".jupyter_cache"
    current = cache / code_digest(Path(app.srcdir))
    for old in cache.glob("*") if cache.exists() else ():
        if old != current:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    config.nb_execution_cache_path = str(current)


def code_digest(root: Path) -> str:
    """A short digest of all files that CODE names."""
    digest = hashlib.sha256()
    for file in sorted(file for pattern in CODE for file in root.glob(pattern)):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    os.environ[PRERENDER] = "1"  # inherited by the kernels that run the notebooks
    app.connect("config-inited", key_the_cache, priority=900)
    app.add_post_transform(WithoutScripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
