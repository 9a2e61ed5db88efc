"""The gradients' kernels on the CPU, thread by thread, against the NumPy of the problems themselves."""

import numpy as np
import pytest

from sgdrace.gpu.kernels import BLOCKS, LINKS, THREADS, Kernels
from tests.gpu.emulator import ORDERS
from tests.gpu.examples import EXAMPLES, example

DTYPES = ["float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: f"{case.link}-{case.problem}")
def test_the_kernel_gives_the_gradients_of_the_problem_in_every_order_of_its_threads(emulated, case, dtype):
    emulator = emulated(dtype)
    first = case.gradients(emulator, dtype)
    assert (np.abs(first - case.expected()) <= case.error(dtype)).all()
    for order in ORDERS[1:]:
        again = case.gradients(emulator.ordered(order), dtype)
        np.testing.assert_array_equal(again, first)  # the same bits: no sum depends on who is first


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("blocks", [1, 3, 4])
def test_a_block_of_threads_makes_one_gradient_after_the_other(emulated, link, blocks):
    case = example(link, rows=10, p=4, m=3, units=3, N=11, T=4)
    for order in ORDERS:
        assert case.agrees(emulated().ordered(order, blocks), "float64")


def test_the_examples_have_what_may_go_wrong():
    problems = [case.problem for case in EXAMPLES]
    assert any(problem._padded for problem in problems)
    assert any(problem.X.shape[1] > THREADS for problem in problems)
    assert any(problem.m > THREADS for problem in problems)
    assert {1, 12} <= {problem.units for problem in problems}
    assert any(len(case.row) > len(case.w) for case in EXAMPLES)


def test_no_gradients_are_no_launch(emulated):
    emulator = emulated().ordered(0)
    case = example("logistic", rows=4, p=2, m=2)
    case.row = case.choice = np.empty(0, np.int32)
    assert case.gradients(emulator, "float64").shape == (0, 2) and not emulator.launched


def test_what_is_launched_covers_the_work_and_asks_for_the_memory_that_it_uses():
    launched = []
    kernels = Kernels(lambda *launch: launched.append(launch))
    w, X = np.zeros((1, 6), np.float32), np.zeros((1, 4, 2), np.float32)
    for N in (5, 10**5):
        chosen, out = np.zeros(N, np.int32), np.empty((N, 6), np.float32)
        kernels.gradients("softmax", w, chosen, chosen, X, X[..., 0].copy(), 1.0, 0.0, out)
    (name, grid, block, _, shared), (_, full, *_) = launched
    assert (name, grid, block, full) == ("softmax_gradients", (5,), (THREADS,), (BLOCKS,))
    assert shared == (6 + 3 * 4) * 4
