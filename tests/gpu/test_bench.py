"""What `make bench-gpu` measures, with the kernels emulated."""

import subprocess
import sys

import numpy as np
import pytest
from benchmarks import gpu as bench

from sgdrace import LogisticRegression, SoftmaxRegression
from sgdrace.gpu import devices, roofline
from sgdrace.problems import Workspace

POINTS = np.random.default_rng(0).standard_normal((40, 5))
PROBLEMS = [
    LogisticRegression(POINTS, POINTS[:, 0] > 0, m=8, l2=0.1),
    SoftmaxRegression(POINTS, np.arange(40) % 4, m=8, l2=0.1),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: type(p).__name__)
def test_the_plain_expression_has_the_gradients_of_the_kernel(problem, on):
    w = np.random.default_rng(1).standard_normal((12, problem.dimension))
    choice = problem.draw(np.random.default_rng(2), 12)
    fused = problem.mini_batch_gradients(on.floats(w), choice, np.arange(12), Workspace(on))
    plain = bench.plain(problem, on, on.floats(w), choice)
    assert on.host(plain) == pytest.approx(on.host(fused), rel=1e-4, abs=1e-5)


def test_a_row_has_three_times_and_a_share_of_the_roof(on):
    card = roofline.CARDS["T4"]
    logistic, softmax = (bench.measured(problem, on, card, 6, lambda: None) for problem in PROBLEMS)
    assert all(0 < seconds < float("inf") for seconds in logistic["seconds"].values())
    assert logistic["least"].update == roofline.Update(6, 40, 5, 8, on.precision)
    assert bench.row_in_words(logistic).endswith("%") and bench.row_in_words(softmax).endswith(" -")


@pytest.mark.skipif(devices.missing() is None, reason="This machine has a GPU.")
def test_a_machine_without_a_gpu_says_so_and_ends_well():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"No GPU was measured: {devices.missing()}\n" and done.stderr == ""
