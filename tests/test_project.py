"""Facts about the project's own files."""

import os
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = (
    "requirements.txt",
    "requirements-test.txt",
    "requirements-courses.txt",
    "binder/requirements.txt",
)
# Every release of the Pythons that we support, and some that are to come.
PYTHONS = [f"3.{minor}.{patch}" for minor in (11, 12, 13) for patch in range(20)]


def _lines(name):
    lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return [line for line in lines if line]


def _pins(*names):
    """The pinned versions by canonical name."""
    pins = [Requirement(line) for name in names for line in _lines(name) if line not in ("-e .", ".")]
    return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins}


@cache
def _holds(marker, extra):
    """Whether an environment marker holds on one of the Pythons."""
    return any(
        marker.evaluate({"python_full_version": python, "python_version": python[:4], "extra": extra})
        for python in PYTHONS
    )


def _needed(names):
    """Pairs of a distribution and a requirement that it has on one of the Pythons, in turn."""
    todo, seen = [(name, "") for name in names], set()
    while todo:
        name, extra = todo.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for need in map(Requirement, metadata.requires(name) or []):
            if need.marker is None or _holds(need.marker, extra):
                yield name, need
                todo += [(canonicalize_name(need.name), wanted) for wanted in need.extras]


def test_binder_runs_the_versions_that_the_tests_run():
    assert _pins("binder/requirements.txt")
    assert _pins("binder/requirements.txt").items() <= _pins("requirements.txt").items()


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_requirement_is_an_exact_version(name):
    assert [line for line in _lines(name) if "==" not in line] in ([], ["-e ."], ["."])


def test_the_installed_versions_are_the_pinned_ones():
    pins = _pins(*REQUIREMENTS)
    assert {name: metadata.version(name) for name in pins} == pins


def _refused(requires_python):
    return [python for python in PYTHONS if python not in SpecifierSet(requires_python)]


def test_every_pin_admits_every_supported_python():
    refused = {
        name: _refused(metadata.metadata(name).get("Requires-Python", "")) for name in _pins(*REQUIREMENTS)
    }
    assert {name: pythons for name, pythons in refused.items() if pythons} == {}


def test_the_package_admits_every_supported_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert _refused(project["requires-python"]) == []


def test_whatever_a_pin_needs_on_a_supported_python_is_pinned():
    pins = _pins(*REQUIREMENTS)
    needs = list(_needed([*pins, "sgdrace"]))
    assert any(need.name == "ipython" for _, need in needs)  # the walk does find things
    loose = [f"{name} needs {need}" for name, need in needs if canonicalize_name(need.name) not in pins]
    assert loose == []
    wrong = [
        f"{name} needs {need}"
        for name, need in needs
        if pins[canonicalize_name(need.name)] not in need.specifier
    ]
    assert wrong == []


def _make(folder, *words, **environment):
    """Run the project's Makefile in a folder of its own, with nothing from a make that runs these tests."""
    shutil.copy(ROOT / "Makefile", folder)
    inherited = {key: value for key, value in os.environ.items() if key == "PATH"}
    return subprocess.run(
        ["make", *words], cwd=folder, env=inherited | environment, capture_output=True, text=True, timeout=60
    )


SAY_HOME = ["--eval", 'say-home: ; @echo "$$HOME"', "say-home"]


@pytest.mark.parametrize("home", [None, "", "missing", "locked"])
def test_make_gives_its_tools_a_home_where_there_is_none_to_write_to(tmp_path, home):
    (tmp_path / "locked").mkdir(mode=0o500)
    if home == "locked" and os.access(tmp_path / "locked", os.W_OK):
        pytest.skip("nothing is locked for this user")
    environment = {} if home is None else {"HOME": str(tmp_path / home) if home else ""}
    assert _make(tmp_path, *SAY_HOME, **environment).stdout == f"{tmp_path / '_build' / 'home'}\n"
    assert (tmp_path / "_build" / "home").is_dir()


def test_make_leaves_a_home_alone_that_can_be_written(tmp_path):
    assert _make(tmp_path, *SAY_HOME, HOME=str(tmp_path)).stdout == f"{tmp_path}\n"
    assert not (tmp_path / "_build").exists()


def test_make_says_in_one_sentence_that_python_cannot_make_an_environment(tmp_path):
    (tmp_path / "ensurepip.py").write_text("raise ImportError\n")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "requirements.txt").touch()
    done = _make(tmp_path, "install", f"PYTHON={sys.executable}", PYTHONPATH=str(tmp_path))
    sentence, make_stops = done.stderr.splitlines()
    assert sentence.startswith(f"{sys.executable} makes no environments") and sentence.endswith("-venv.")
    assert make_stops.startswith("make: ***") and not (tmp_path / ".venv").exists()


def test_git_and_ruff_leave_out_what_building_the_package_makes(tmp_path):
    for name in (".gitignore", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for made in ("build/lib/sgdrace/race.py", "dist/sgdrace.py", "lib/sgdrace.egg-info/SOURCES.py"):
        (tmp_path / made).parent.mkdir(parents=True)
        (tmp_path / made).touch()
    (tmp_path / "race.py").touch()
    ruff = [sys.executable, "-m", "ruff", "check", "--show-files"]
    seen = subprocess.run(ruff, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "/race.py" in seen and "/build/" not in seen and "/dist/" not in seen
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    status = ["git", "status", "--porcelain", "--untracked-files=all"]
    seen = subprocess.run(status, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert sorted(seen.split("\n")) == ["", "?? .gitignore", "?? pyproject.toml", "?? race.py"]
