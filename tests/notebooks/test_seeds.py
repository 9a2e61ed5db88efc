"""Other random numbers reach every stream of a notebook, and what fails is named."""

import nbformat.v4 as nb
import numpy as np
from book.seeds import failures

from sgdrace import Exponential, simulate

DRAWN = np.random.default_rng(0).random()
LAST = simulate("K-async", 2, 1, Exponential(), updates=3).time[0, -1]


def test_a_check_that_was_luck_is_named(tmp_path):
    notebook = nb.new_notebook(
        cells=[
            nb.new_code_cell(f"import numpy as np\nassert np.random.default_rng(0).random() == {DRAWN}"),
            nb.new_markdown_cell("Words."),
            nb.new_code_cell(
                "from sgdrace import Exponential, simulate\n"
                "last = simulate('K-async', 2, 1, Exponential(), updates=3).time[0, -1]\n"
                f"assert last == {LAST}"
            ),
            nb.new_code_cell("assert last > 0"),
        ]
    )
    found = failures(notebook, 1, tmp_path)
    assert [line.partition(":")[0] for line in found] == ["cell 0", "cell 2"]
    assert "assert last ==" in found[1]
    assert len(notebook.cells) == 4  # the notebook itself stays as it is
