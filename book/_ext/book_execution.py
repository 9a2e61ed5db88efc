"""Notebooks run side by side, as many as there are cores, before Sphinx reads the first page.

Sphinx reads pages one by one, and myst-nb runs a notebook when its page is read; so one core would work while
the others wait. Here they run ahead, and when myst-nb is about to run one, it is handed what came of it, an
error too. Whatever follows is myst-nb's: the cache, the traceback, the end of the build.
"""

import asyncio
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import JupyterCacheAbstract
from jupyter_cache.executors.utils import ExecutionResult
from myst_nb.core.execute import cache as myst_execution
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def run_ahead(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Run the notebooks of these pages that the cache does not know."""
    cache = get_cache(app.config.nb_execution_cache_path)
    paths = [path for path in (Path(env.doc2path(page)) for page in pages) if path.suffix == ".ipynb"]
    notebooks = {path: nbformat.read(path, as_version=4) for path in paths}
    unknown = {path: notebook for path, notebook in notebooks.items() if not _knows(cache, notebook)}
    if len(unknown) < 2:
        return
    keys = [_key(cache, notebook) for notebook in unknown.values()]  # before they run
    ran = dict(zip(keys, asyncio.run(_run_all(unknown, app.config.nb_execution_timeout)), strict=True))
    usual: Callable[..., ExecutionResult] = myst_execution.single_nb_execution

    def handed_over(nb: Any, **how: Any) -> ExecutionResult:
        result = ran.pop(_key(cache, nb), None)
        if result is None:
            return usual(nb, **how)
        nb.cells, nb.metadata = result.nb.cells, result.nb.metadata  # as if it had run in place
        return result

    myst_execution.single_nb_execution = handed_over


def _key(cache: JupyterCacheAbstract, notebook: Any) -> str:
    """What the cache takes for the same notebook."""
    key: str = cache.create_hashed_notebook(notebook)[1]  # type: ignore[attr-defined]
    return key


def _knows(cache: JupyterCacheAbstract, notebook: Any) -> bool:
    try:
        cache.match_cache_notebook(notebook)
    except KeyError:
        return False
    return True


async def _run_all(notebooks: dict[Path, Any], timeout: int) -> list[ExecutionResult]:
    cores = asyncio.Semaphore(os.cpu_count() or 1)
    return await asyncio.gather(*(_run(path, book, timeout, cores) for path, book in notebooks.items()))


async def _run(path: Path, notebook: Any, timeout: int, cores: asyncio.Semaphore) -> ExecutionResult:
    """Run a notebook in its folder, as myst-nb would."""
    folder, error, words = str(path.parent), None, None
    # Times in the metadata of its cells would make it another notebook to the cache.
    client = NotebookClient(
        notebook, timeout=timeout, record_timing=False, resources={"metadata": {"path": folder}}
    )
    async with cores:
        began = time.perf_counter()
        try:
            await client.async_execute()
        except (CellExecutionError, CellTimeoutError) as failure:
            error, words = failure, traceback.format_exc()
        seconds = time.perf_counter() - began
    LOGGER.info("%s: ran ahead in %.2f seconds", path, seconds)
    return ExecutionResult(notebook, folder, seconds, error, words)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("env-before-read-docs", run_ahead)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
