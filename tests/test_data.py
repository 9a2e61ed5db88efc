"""Measurements are part of the package, so that whatever reads them runs anywhere."""

import json
import tomllib
from pathlib import Path

import pytest
from benchmarks.__main__ import RESULTS

import sgdrace
from sgdrace import Empirical, data

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(sgdrace.__file__).parent


def test_the_recording_has_2000_steps():
    recorded = Empirical.from_csv(data.path("step-times.csv"), column="ms")
    assert recorded.times.size == 2000 and 0.05 < recorded.times.min() < recorded.times.max() < 1000


def test_benchmarks_are_written_where_they_are_read():
    assert data.path("benchmarks.json").samefile(RESULTS)
    assert json.loads(RESULTS.read_text(encoding="utf-8"))["quick"] is False


@pytest.mark.parametrize("name", ["step times", "../race.py", "__init__.py", "", None])
def test_another_name_is_answered_with_those_that_there_are(name):
    with pytest.raises(
        (TypeError, ValueError), match=r"^name (must be one of|.* is unknown;) .*step-times\.csv.*[.?]$"
    ):
        data.path(name)


def test_every_file_of_the_package_is_installed_with_it():
    """Modules come by themselves, other files where pyproject.toml names them, both in packages only."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for file in (file for file in PACKAGE.rglob("*") if file.is_file() and "__pycache__" not in file.parts):
        assert (file.parent / "__init__.py").exists(), f"{file.parent.name} is not a package"
        package = ".".join(file.parent.relative_to(PACKAGE.parent).parts)
        patterns = ["*.py", *setuptools["package-data"].get(package, [])]
        assert any(map(file.match, patterns)), f"{file.name} would be left out of the wheel"
    assert {data.path(name).name for name in data.FILES} == {
        file.name for file in (PACKAGE / "data").iterdir() if file.suffix in {".csv", ".json"}
    }
