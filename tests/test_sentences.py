"""Every test of a refusal would notice the wrong sentence: no pattern is so short that it matches others."""

import ast
import importlib
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.sentences import ENOUGH, kind, message_of, words
from tests.test_bad_input import CALLS

ROOT = Path(__file__).resolve().parent
# Tests of courses are about other sentences than the package's, and nbgrader takes seconds to load.
FILES = sorted(
    path.relative_to(ROOT.parent)
    for path in ROOT.rglob("test_*.py")
    if "match=" in path.read_text(encoding="utf-8") and path.parent.name != "courses"
)


def cases(function):
    """The arguments with which a test is run, mark by mark."""
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            names, rows = mark.args
            names = re.findall(r"\w+", names) if isinstance(names, str) else names
            for values in rows:
                values = values.values if isinstance(values, type(pytest.param())) else values
                yield dict(zip(names, [values] if len(names) == 1 else values, strict=True))


def spelled(expression, names):
    """The strings of an expression, and those of the names in it that are known before a test runs."""
    nodes = list(ast.walk(expression))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
    texts += [names.get(node.id) for node in nodes if isinstance(node, ast.Name)]
    return " ".join(text for text in texts if isinstance(text, str))


def patterns(source, module):
    """Every pattern that a file hands to `pytest.raises` or the like, with its line."""
    for statement in ast.parse(source).body:
        nodes = list(ast.walk(statement))
        local = {
            target.id: spelled(node.value, {})
            for node in nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        runs = list(cases(vars(module).get(getattr(statement, "name", None))))
        for node in nodes:
            for keyword in getattr(node, "keywords", []):
                if keyword.arg == "match":
                    named = {name.id for name in ast.walk(keyword.value) if isinstance(name, ast.Name)}
                    for run in [run for run in runs if named & set(run)] or [{}]:
                        yield node.lineno, spelled(keyword.value, local | run)


def vague(source, module):
    return {(line, pattern) for line, pattern in patterns(source, module) if len(words(pattern)) < ENOUGH}


@pytest.mark.parametrize("path", FILES, ids=str)
def test_every_pattern_spells_out_enough_words(path):
    module = importlib.import_module(".".join(path.with_suffix("").parts))
    assert not vague((ROOT.parent / path).read_text(encoding="utf-8"), module)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("raises(E, match='eta')", {(1, "eta")}),
        ("raises(E, match='K must be .*')", {(1, "K must be .*")}),
        ("raises(E, match='K must be at least 1')", set()),
        ("def test(other):\n    raises(E, match=f'^{other} must be')", {(2, "^  must be")}),
        ("def given(sentence):\n    raises(E, match=sentence)", {(2, "r ")}),
        ("def given(sentence):\n    raises(E, match=f'^r: {sentence}')", {(2, "^r:  r ")}),
        ("def test():\n    text = 'a '\n    raises(E, match=text)", {(3, "a ")}),
        ("def test():\n    text = 'a must be a number'\n    raises(E, match=text)", set()),
    ],
)
def test_a_planted_pattern_is_found(source, found):
    @pytest.mark.parametrize(("error", "sentence"), [(TypeError, "r "), (TypeError, "r must be a number")])
    def given(error, sentence):
        """A test as it might be written."""

    assert vague(source, SimpleNamespace(given=given)) == found


@pytest.fixture(scope="module")
def messages():
    return [message_of(call, error) for call, error, _ in CALLS]


def test_no_pattern_matches_what_another_wrong_call_is_told(messages):
    loose = {
        sentence: others
        for (_, _, sentence), message in zip(CALLS, messages, strict=True)
        if (others := {kind(m) for m in messages if re.search(sentence, m)} - {kind(message)})
    }
    assert not loose
