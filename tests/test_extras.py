"""The package alone runs without its extras, and says in a sentence which one is missing."""

import functools
import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
OPTIONAL = ["IPython", "ipywidgets", "matplotlib", "sklearn"]  # how Python knows what the extras bring


# What a Python says that runs each program as if it were its first, without some packages: it forgets all
# modules but those that the package needs in any case, which take long to import.
ASK = """
import json, sys, traceback
import numpy, scipy.optimize, scipy.special, scipy.stats, tqdm

needed = set(sys.modules)
assert not needed & {*sys.argv[2:]}
for packages, program in json.loads(sys.argv[1]):
    for name in set(sys.modules) - needed:
        del sys.modules[name]
    sys.modules.update(dict.fromkeys(packages))
    try:
        exec(program, {})
        print(json.dumps(""))
    except BaseException:
        print(json.dumps(traceback.format_exc()))
"""
ALONE = """
from sgdrace import *; from sgdrace import data, protocol
train(Quadratic(), simulate('K-sync', P=2, K=1, delay=Pareto(), updates=3), 0.1)
"""
FIGURE = """
from sgdrace import Exponential, figures
figures.to_svg(figures.means(Exponential(), 8, 2))
"""
MISSING = [
    ("import sgdrace.explore", OPTIONAL, "sgdrace.explore needs ipywidgets|explore"),
    ("from sgdrace.explore import show", ["IPython"], "sgdrace.explore needs IPython|explore"),
    ("import sgdrace.explore", ["matplotlib"], "sgdrace.explore needs matplotlib|explore"),
    ("from sgdrace import figures", OPTIONAL, "sgdrace.figures needs matplotlib|explore"),
    ("import sgdrace.figures.svg", OPTIONAL, "sgdrace.figures needs matplotlib|explore"),
    (
        "import sgdrace; sgdrace.MLP.digits()",
        OPTIONAL,
        "the problem of the digits needs scikit-learn|digits",
    ),
]


@functools.cache
def errors():
    """How every program ends that does not find the packages it is to miss: in a traceback, or in ""."""
    asked = [(OPTIONAL, ALONE), (["matplotlib.pyplot"], FIGURE)]
    asked += [(missing, program) for program, missing, _ in MISSING]
    done = subprocess.run(
        [sys.executable, "-c", ASK, json.dumps(asked), *OPTIONAL], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_simulating_training_and_theory_need_no_extra():
    assert errors()[0] == ""


def test_no_figure_is_left_open_in_pyplot():
    assert errors()[1] == ""  # which no figure needs


def test_a_missing_extra_is_named_in_one_sentence():
    assert len(errors()) == 2 + len(MISSING)
    for error, (_, _, sentence) in zip(errors()[2:], MISSING, strict=True):
        needs, _, extra = sentence.partition("|")
        assert extra in EXTRAS
        assert error.splitlines()[-1] == (
            f'ModuleNotFoundError: {needs}, which is not installed; pip install "sgdrace[{extra}]" adds it.'
        )
        assert "During handling" not in error


def test_readers_are_told_which_extras_the_chapters_need():
    cells = json.loads((ROOT / "book/index.ipynb").read_text(encoding="utf-8"))["cells"]
    landing = "\n".join("".join(cell["source"]) for cell in cells)
    for text in (landing, (ROOT / "README.md").read_text()):
        assert 'pip install ".[explore,digits]" jupyterlab' in text
    assert {"explore", "digits"} <= EXTRAS.keys()
