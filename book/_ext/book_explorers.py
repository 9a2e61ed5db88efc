"""Explorers on a page without a kernel: all frames drawn while building, the first shown without scripts."""

import hashlib
import os
import platform
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform

from sgdrace.explore import PRERENDER

WIDGET = "application/vnd.jupyter.widget-view+json"
# What a cell's output depends on, besides the cell: the whole package with its data, and the environment.
# A notebook reads no other file: the tests run each alone in an empty folder.
INPUTS = ("lib/**/*", "requirements.txt", "pyproject.toml")
NO_INPUT = ("__pycache__", ".egg-info", ".ipynb_checkpoints")  # made from the others
EXTENSIONS = "book/_ext/*.py"  # what a page depends on, besides its notebook


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
    """A cached output is only good for the inputs that made it, so the cache's name has their digest.

    The path is part of the environment's settings: another digest makes Sphinx read every page again. So does
    another digest of the extensions, whose code Sphinx does not look at; the outputs stay good.
    """
    root, cache = Path(app.srcdir), Path(app.outdir).parent / ".jupyter_cache"
    config.book_extensions = digest(root, EXTENSIONS)
    current = cache / digest(root, *INPUTS)
    for old in cache.glob("*") if cache.exists() else ():
        if old != current:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    config.nb_execution_cache_path = str(current)


def digest(root: Path, *patterns: str) -> str:
    """A short digest of this Python and of all files that the patterns name."""
    found = hashlib.sha256(platform.python_version().encode())
    for file in sorted(file for pattern in patterns for file in root.glob(pattern) if _is_input(file)):
        found.update(f"\0{file.relative_to(root).as_posix()}\0{file.stat().st_size}\0".encode())
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def _is_input(file: Path) -> bool:
    return file.is_file() and not any(part.endswith(NO_INPUT) for part in file.parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    os.environ[PRERENDER] = "1"  # inherited by the kernels that run the notebooks
    app.add_config_value("book_extensions", "", "env")
    app.connect("config-inited", key_the_cache, priority=900)
    app.add_post_transform(WithoutScripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
