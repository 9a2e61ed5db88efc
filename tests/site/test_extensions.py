"""The local Sphinx extensions: what they decide without building a book."""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from book.notebooks import KERNEL
from docutils import nodes
from jupyter_cache import get_cache

from tests.site.conftest import DEMO, ROOT, SITES, html

sys.path.insert(0, str(ROOT / "book/_ext"))
import book_execution
import book_explorers
import book_formulas
import book_report
import book_repository


@pytest.mark.parametrize(
    ("remote", "page"),
    [
        ("https://github.com/someone/race", "https://github.com/someone/race"),
        ("https://token@github.com/someone/race.git", "https://github.com/someone/race"),
        ("ssh://git@github.com/someone/race.git", "https://github.com/someone/race"),
        ("git@gitlab.com:group/sub/race.git", "https://gitlab.com/group/sub/race"),
        ("https://git.example.internal/someone/race.git", None),
        ("../race.git", None),
        ("", None),
    ],
)
def test_a_remote_has_a_page_only_on_a_public_host(remote, page):
    assert book_repository.web_address(remote) == page


def test_the_address_comes_from_the_environment_or_from_git(tmp_path, monkeypatch):
    monkeypatch.delenv(book_repository.VARIABLE, raising=False)
    assert book_repository.address(tmp_path) is None and book_repository.branch(tmp_path) == "main"
    subprocess.run(["git", "init", "-q", "-b", "trunk", tmp_path], check=True)
    assert book_repository.address(tmp_path) is None
    remote = ["git", "-C", tmp_path, "remote", "add", "origin", "git@github.com:someone/race.git"]
    subprocess.run(remote, check=True)
    assert book_repository.address(tmp_path) == "https://github.com/someone/race"
    monkeypatch.setenv(book_repository.VARIABLE, "https://github.com/other/race")
    assert book_repository.address(tmp_path) == "https://github.com/other/race"


class App:
    def __init__(self, root):
        self.srcdir, self.outdir = root, root / "_build/html"


class Config:
    def __init__(self):
        self.html_theme_options = {}


@pytest.mark.parametrize(
    ("url", "hosts"), [("https://github.com/a/b", 2), ("https://gitlab.com/a/b", 1), ("/srv/b.git", 0)]
)
def test_buttons_appear_when_they_lead_somewhere(url, hosts, tmp_path, monkeypatch):
    monkeypatch.setenv(book_repository.VARIABLE, url)
    config = Config()
    book_repository.configure(App(tmp_path), config)
    buttons = config.html_theme_options.get("launch_buttons", {})
    assert sum(name.endswith("_url") for name in buttons) == hosts
    assert config.html_theme_options.get("use_repository_button", False) == (hosts > 0)


def keyed(root):
    """The settings that decide what is run again and what is read again."""
    config = Config()
    book_explorers.key_the_cache(App(root), config)
    return config.nb_execution_cache_path, config.book_extensions


@pytest.fixture
def project(tmp_path):
    for name in ("lib/sgdrace/race.py", "lib/sgdrace/data/times.csv", "requirements.txt", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    (tmp_path / "book/_ext").mkdir(parents=True)
    (tmp_path / "book/_ext/words.py").write_text("1")
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "lib/sgdrace/race.py",
        "lib/sgdrace/data/times.csv",
        "lib/sgdrace/data/more.json",
        "requirements.txt",
        "pyproject.toml",
    ],
)
def test_the_cache_follows_whatever_a_notebook_reads(name, project):
    cache, extensions = keyed(project)
    (project / "_build/.jupyter_cache" / "old").mkdir(parents=True)
    (project / name).write_text("2")
    assert keyed(project)[0] != cache and keyed(project)[1] == extensions
    assert not (project / "_build/.jupyter_cache/old").exists()


def test_the_cache_follows_the_python_that_runs_the_notebooks(project, monkeypatch):
    cache, _ = keyed(project)
    monkeypatch.setattr(book_explorers.platform, "python_version", lambda: "3.99.0")
    assert keyed(project)[0] != cache


def test_files_that_are_made_from_others_leave_the_cache_alone(project):
    before = keyed(project)
    for name in ("lib/sgdrace/__pycache__/race.pyc", "lib/sgdrace.egg-info/PKG-INFO", "lib/notes/"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).mkdir() if name.endswith("/") else (project / name).write_text("1")
    assert keyed(project) == before


def test_pages_are_read_again_when_an_extension_changes_but_not_run_again(project):
    cache, extensions = keyed(project)
    (project / "book/_ext/words.py").write_text("2")
    assert keyed(project)[0] == cache and keyed(project)[1] != extensions


WAITS_FOR = """\
import time
from pathlib import Path

Path("{own}").touch()
while not Path("{other}").exists():
    time.sleep(0.01)
"""


def test_notebooks_run_side_by_side_and_what_fails_is_left_to_the_page(tmp_path, monkeypatch):
    cells = {
        "one": WAITS_FOR.format(own="one", other="two"),
        "two": WAITS_FOR.format(own="two", other="one"),
        "fails": "1 / 0",
    }
    for name, source in cells.items():
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
        book.metadata.kernelspec = KERNEL  # as every notebook in normal form has it
        nbformat.write(book, tmp_path / f"{name}.ipynb")
    (tmp_path / "words.md").write_text("No notebook.")
    monkeypatch.setattr(book_execution.os, "cpu_count", lambda: 2)
    config = SimpleNamespace(nb_execution_cache_path=str(tmp_path / "cache"), nb_execution_timeout=60)
    pages = {name: tmp_path / f"{name}.ipynb" for name in cells} | {"words": tmp_path / "words.md"}
    app, env = SimpleNamespace(config=config), SimpleNamespace(doc2path=pages.__getitem__)
    with ThreadPoolExecutor(1) as other:  # in this one the browser of other tests has a loop of events
        other.submit(book_execution.run_ahead, app, env, list(pages)).result()
    cache = get_cache(config.nb_execution_cache_path)
    known = {Path(record.uri).stem: record.data for record in cache.list_cache_records()}
    assert known.keys() == {"one", "two"} and known["one"]["execution_seconds"] > 0
    assert cache.match_cache_notebook(nbformat.read(pages["one"], as_version=4)).uri == str(pages["one"])


def _words(*children):
    """A paragraph; a name in dollars is a formula, one in brackets a link that is a formula."""
    paragraph = nodes.paragraph()
    for child in children:
        formula = nodes.math("", child.strip("$[]"))
        link = nodes.reference("", "", formula)
        paragraph += formula if child[0] == "$" else link if child[0] == "[" else nodes.Text(child)
    return paragraph


@pytest.mark.parametrize(
    ("children", "whole"),
    [
        (["for ", "$K$", " of ", "$P$", "."], ["K", "P."]),
        (["the ", "$K$", "-th (", "[P]", ", or all)"], ["K-th", "(P,"]),
        (["[F]", "$(w)$", ": a loss"], ["F(w):"]),
        (["$K$", ", ", "$P$"], ["K,", "P"]),
    ],
)
def test_what_touches_a_formula_stays_with_it(children, whole):
    paragraph = _words(*children)
    text = paragraph.astext()
    for formula in filter(book_formulas.is_formula, list(paragraph.children)):
        book_formulas.keep_together(formula)
    spans = [
        child
        for child in paragraph.children
        if "unbroken" in getattr(child, "attributes", {}).get("classes", ())
    ]
    assert [span.astext() for span in spans] == whole
    assert paragraph.astext() == text


def test_a_page_that_is_too_heavy_names_its_largest_explorer():
    explorer = {
        "name": "explore(wave, t)",
        "bytes": 2_500_000,
        "frames": 300,
        "slowest_seconds": 0.1,
        "slowest": "t = 1",
    }
    report = {
        "seconds": 3,
        "shared_kb": 1200.0,
        "pages": [{"page": "book/race", "kb": 512.0, "run_seconds": 2.0, "explorers": [explorer]}],
    }
    page, shared = book_report.complaints(report)
    assert "book/race weighs 512 KB (gzip), 112 KB over its limit of 400 KB" in page
    assert "explore(wave, t), 2.5 MB raw" in page and "1200 KB" in shared
    for text in (book_report.as_text(report), book_report.as_html(report)):
        assert "book/race" in text and "300" in text and "100 ms at t = 1" in text


def test_widgets_of_a_page_are_numbered():
    script = r'<script type="application/vnd.jupyter.widget-state\+json">(.*?)</script>'
    state = re.search(script, html(*DEMO), re.S)
    models = json.loads(state[1])["state"]
    assert list(models) == [f"{n:06d}" for n in range(len(models))]
    assert set(re.findall(r"IPY_MODEL_(\w+)", state[1])) <= models.keys()


def test_the_report_of_the_demonstration_page_knows_its_explorers():
    report = json.loads((SITES["demo"].folder.parent / "report.json").read_text())
    explorers = report["pages"][0]["explorers"]
    assert [explorer["frames"] for explorer in explorers] == [36, 156, 3]
    assert "Built in" in (SITES["demo"].folder / "tests/site/demo.html").read_text()


def test_no_file_of_others_is_committed_and_the_lock_file_has_no_addresses():
    lock = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert all("resolved" not in package for package in lock.values())
    assert all("integrity" in package for name, package in lock.items() if name)
    wanted = json.loads((ROOT / "package.json").read_text())
    exact = [*wanted["dependencies"].values(), *wanted["devDependencies"].values()]
    assert all(version.replace(".", "").isdigit() for version in exact)
