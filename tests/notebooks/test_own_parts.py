"""The how-to page on parts of one's own: as short as it says, and its PyTorch text calls what there is."""

import ast
import inspect
import re

import pytest
from book.notebooks import ROOT, read

import sgdrace
from sgdrace import OwnProblem
from tests.notebooks import rules

PAGE = read(ROOT / "book/appendix/own-parts.ipynb")
(TORCH,) = re.findall(r"^```python\n(.*?)^```", "\n".join(rules.markdown(PAGE)), re.M | re.S)


@pytest.mark.parametrize("cell", rules.code(PAGE), ids=lambda cell: cell.id)
def test_every_cell_has_at_most_ten_lines_and_fits_a_phone(cell):
    lines = [line for line in cell.source.splitlines() if line.strip()]
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 46


def test_the_text_in_pytorch_fits_a_phone_and_asks_for_what_the_package_has():
    assert max(map(len, TORCH.splitlines())) <= 46
    nodes = list(ast.walk(ast.parse(TORCH)))
    ours = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "sgdrace"]
    assert [alias.name for node in ours for alias in node.names] == ["OwnProblem", "check_problem"]
    assert all(hasattr(sgdrace, alias.name) for node in ours for alias in node.names)
    (call,) = [
        node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "OwnProblem"
    ]
    given = inspect.signature(OwnProblem).bind(*call.args, **{k.arg: k.value for k in call.keywords})
    assert list(given.arguments) == ["loss", "gradient", "rows", "start", "m"]  # and no constants
