"""Links to Binder, Colab and the source: present when the repository's address is known, absent otherwise.

The address is the environment variable BOOK_REPOSITORY, or that of the git remote called origin.
"""

import os
import re
import subprocess
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

VARIABLE = "BOOK_REPOSITORY"


def address(root: Path) -> str | None:
    """The repository's public address, or None."""
    return web_address(os.environ.get(VARIABLE) or _git(root, "remote", "get-url", "origin"))


def web_address(remote: str) -> str | None:
    """The page of a remote that has one; never with the credentials that a remote may contain.

    >>> web_address("git@github.com:someone/sgdrace.git")
    'https://github.com/someone/sgdrace'
    >>> web_address("https://user:secret@gitlab.com/group/sgdrace.git")
    'https://gitlab.com/group/sgdrace'
    >>> web_address("/srv/git/sgdrace.git"), web_address("")
    (None, None)
    """
    found = re.fullmatch(
        r"(?:https://|ssh://|)(?:[^@/]*@)?((?:github|gitlab)\.com)[:/]([\w.-]+/[\w./-]+?)(?:\.git)?/?",
        remote.strip(),
    )
    return f"https://{found[1]}/{found[2]}" if found else None


def branch(root: Path) -> str:
    """The branch that the links open: the one checked out, or main."""
    name = _git(root, "rev-parse", "--abbrev-ref", "HEAD")
    return name if name and name != "HEAD" else "main"


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def configure(app: Sphinx, config: Config) -> None:
    """Turn the theme's buttons on, if there is an address for them to lead to."""
    root = Path(app.srcdir)
    url = address(root)
    if url is None:
        return
    buttons = {"notebook_interface": "jupyterlab", "binderhub_url": "https://mybinder.org"}
    if "github.com" in url:
        buttons["colab_url"] = "https://colab.research.google.com"
    config.html_theme_options |= {
        "repository_url": url,
        "repository_branch": branch(root),
        "use_repository_button": True,
        "use_issues_button": True,
        "use_source_button": True,
        "launch_buttons": buttons,
    }


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("config-inited", configure, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
