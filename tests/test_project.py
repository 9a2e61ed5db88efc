"""Facts about the project's own files."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _pins(name):
    return {
        line for line in (ROOT / name).read_text().splitlines() if "==" in line and not line.startswith("#")
    }


def test_binder_runs_the_versions_that_the_tests_run():
    assert _pins("binder/requirements.txt") and _pins("binder/requirements.txt") <= _pins("requirements.txt")


def test_every_requirement_is_an_exact_version():
    for name in ("requirements.txt", "requirements-test.txt", "binder/requirements.txt"):
        lines = (ROOT / name).read_text().splitlines()
        loose = [line for line in lines if line and not line.startswith("#") and "==" not in line]
        assert loose in ([], ["-e ."], ["."])
