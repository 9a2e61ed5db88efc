"""Notebooks run side by side, as many as there are cores, before Sphinx reads the first page.

Sphinx reads pages one by one, and myst-nb runs a notebook when its page is read; so one core would work while
the others wait. What ran goes to the cache in which myst-nb looks first. A notebook that fails here is not in
it: it runs again when its page is read, and fails there, with its traceback, as if nothing had run ahead.
"""

import asyncio
import os
import re
import time
from pathlib import Path
from typing import Any

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn, JupyterCacheAbstract
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

STATE = "application/vnd.jupyter.widget-state+json"
LOGGER = logging.getLogger(__name__)


def run_ahead(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Run the notebooks of these pages that the cache does not know."""
    cache = get_cache(app.config.nb_execution_cache_path)
    paths = [path for path in (Path(env.doc2path(page)) for page in pages) if path.suffix == ".ipynb"]
    notebooks = {path: nbformat.read(path, as_version=4) for path in paths}
    unknown = {path: notebook for path, notebook in notebooks.items() if not _knows(cache, notebook)}
    if unknown:
        asyncio.run(_run_all(unknown, app.config.nb_execution_timeout, cache))


def _knows(cache: JupyterCacheAbstract, notebook: Any) -> bool:
    try:
        cache.match_cache_notebook(notebook)
    except KeyError:
        return False
    return True


async def _run_all(notebooks: dict[Path, Any], timeout: int, cache: JupyterCacheAbstract) -> None:
    cores = asyncio.Semaphore(os.cpu_count() or 1)
    await asyncio.gather(*(_run(path, book, timeout, cache, cores) for path, book in notebooks.items()))


async def _run(
    path: Path, notebook: Any, timeout: int, cache: JupyterCacheAbstract, cores: asyncio.Semaphore
) -> None:
    """Run a notebook in its folder, as myst-nb would, and keep what ran to its end."""
    where = {"metadata": {"path": str(path.parent)}}
    # Times in the metadata of its cells would make it another notebook to the cache.
    client = NotebookClient(notebook, timeout=timeout, record_timing=False, resources=where)
    async with cores:
        began = time.perf_counter()
        try:
            await client.async_execute()
        except (CellExecutionError, CellTimeoutError):
            return
    seconds = time.perf_counter() - began
    LOGGER.info("%s: Executed notebook in %.2f seconds", path, seconds)
    bundle = CacheBundleIn(_with_numbered_widgets(notebook), str(path), data={"execution_seconds": seconds})
    cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def _with_numbered_widgets(notebook: Any) -> Any:
    """The notebook with numbers for the random names of its widgets, in the order in which they were made.

    The cache sorts by name: so frames that look alike stay neighbors, which makes a compressed page smaller.
    """
    state = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    number = {name: f"{n:06d}" for n, name in enumerate(state)}
    text = re.sub(r"[0-9a-f]{32}", lambda name: number.get(name[0], name[0]), nbformat.writes(notebook))
    return nbformat.reads(text, as_version=4)


def outputs(cache_path: str, path: Path) -> list[Any]:
    """What the cells of a notebook put out when it last ran; nothing if the cache does not know it."""
    if path.suffix != ".ipynb":
        return []
    try:
        _, ran = get_cache(cache_path).merge_match_into_notebook(nbformat.read(path, as_version=4))
    except KeyError:
        return []
    return [output for cell in ran.cells for output in cell.get("outputs", [])]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("env-before-read-docs", run_ahead)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
