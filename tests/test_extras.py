"""The package alone runs without its extras, and says in a sentence which one is missing."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from book.notebooks import read

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
OPTIONAL = ["IPython", "ipywidgets", "matplotlib", "sklearn"]  # how Python knows what the extras bring


def without(packages, program):
    """How a fresh Python ends that runs a program and finds none of these packages."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({packages!r}))"
    command = [sys.executable, "-c", f"{blocked}; {program}"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_simulating_training_and_theory_need_no_extra():
    race = "simulate('K-sync', P=2, K=1, delay=Pareto(), updates=3)"
    program = f"from sgdrace import *; from sgdrace import data, protocol; train(Quadratic(), {race}, 0.1)"
    done = without(OPTIONAL, program)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("program", "missing", "sentence"),
    [
        ("import sgdrace.explore", OPTIONAL, "sgdrace.explore needs ipywidgets|explore"),
        ("from sgdrace.explore import show", ["IPython"], "sgdrace.explore needs IPython|explore"),
        ("import sgdrace.explore", ["matplotlib"], "sgdrace.explore needs matplotlib|explore"),
        ("from sgdrace import figures", OPTIONAL, "sgdrace.figures needs matplotlib|explore"),
        ("import sgdrace.figures.svg", OPTIONAL, "sgdrace.figures needs matplotlib|explore"),
        (
            "from sgdrace import MLP; MLP.digits()",
            OPTIONAL,
            "the problem of the digits needs scikit-learn|digits",
        ),
    ],
)
def test_a_missing_extra_is_named_in_one_sentence(program, missing, sentence):
    needs, _, extra = sentence.partition("|")
    assert extra in EXTRAS
    done = without(missing, program)
    last = done.stderr.splitlines()[-1]
    assert (
        last
        == f'ModuleNotFoundError: {needs}, which is not installed; pip install "sgdrace[{extra}]" adds it.'
    )
    assert "During handling" not in done.stderr


def test_readers_are_told_which_extras_the_chapters_need():
    landing = "\n".join(cell.source for cell in read(ROOT / "book/index.ipynb").cells)
    for text in (landing, (ROOT / "README.md").read_text()):
        assert 'pip install ".[explore,digits]" jupyterlab' in text
    assert {"explore", "digits"} <= EXTRAS.keys()
