"""Notebooks run side by side, one for each core, before Sphinx reads the first page.

Sphinx reads pages one by one, and myst-nb runs a notebook when its page is read; so one core would work while
the others wait. What ran goes to the cache in which myst-nb looks first. A notebook that fails here is not in
it: it runs again when its page is read, and fails there, with its traceback, as if nothing had run ahead.
"""

import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn, JupyterCacheAbstract
from jupyter_cache.executors.utils import ExecutionResult, single_nb_execution
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def run_ahead(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Run the notebooks of these pages that the cache does not know."""
    cache = get_cache(app.config.nb_execution_cache_path)
    paths = [Path(env.doc2path(page)) for page in pages]
    unknown = {path: book for path, book in _notebooks(paths).items() if not _knows(cache, book)}
    if len(unknown) < 2:
        return
    pool = ThreadPoolExecutor(os.cpu_count())  # each waits for a kernel, which is a process
    try:
        runs = {pool.submit(run, book, path.parent, app.config): path for path, book in unknown.items()}
        for done in as_completed(runs):
            keep(cache, runs[done], done.result())
    finally:
        pool.shutdown(cancel_futures=True)


def _notebooks(paths: list[Path]) -> dict[Path, Any]:
    return {path: nbformat.read(path, as_version=4) for path in paths if path.suffix == ".ipynb"}


def _knows(cache: JupyterCacheAbstract, notebook: Any) -> bool:
    try:
        cache.match_cache_notebook(notebook)
    except KeyError:
        return False
    return True


def run(notebook: Any, folder: Path, config: Any) -> ExecutionResult:
    """Run a notebook in its folder, as myst-nb would."""
    return single_nb_execution(
        notebook, cwd=str(folder), timeout=config.nb_execution_timeout, allow_errors=False
    )


def keep(cache: JupyterCacheAbstract, path: Path, result: ExecutionResult) -> None:
    """Cache what ran to its end."""
    if result.err is None:
        LOGGER.info("%s: Executed notebook in %.2f seconds", path, result.time)
        bundle = CacheBundleIn(result.nb, str(path), data={"execution_seconds": result.time})
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("env-before-read-docs", run_ahead)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
