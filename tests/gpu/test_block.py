"""Facts about a block of threads on paper, and that it is the block of the kernel."""

import itertools
import re

import pytest

from sgdrace.gpu import block, kernels
from tests.sentences import refused

PACES = list(itertools.product((1, 2, 3), repeat=4))


def test_with_all_barriers_the_gradient_is_right_whoever_is_fast():
    assert all(all(block.run(paces).right) for paces in PACES)


@pytest.mark.parametrize("without", [1, 2, 3])
def test_every_barrier_is_needed_by_somebody(without):
    assert any(not all(block.run(paces, without=without).right) for paces in PACES)


def test_without_the_second_barrier_it_is_right_exactly_if_the_first_warp_comes_last():
    for paces in PACES:
        assert all(block.run(paces, without=2).right) == (paces[0] >= max(paces))


def test_without_the_third_only_the_first_warp_is_always_right():
    for paces in PACES:
        assert block.run(paces, without=3).right[0]
        assert not any(block.run(paces, without=3).right[1:])


def test_a_barrier_is_passed_when_the_last_warp_is_there():
    found = block.run((1, 2, 2, 2))
    assert found.barriers == (2, 6, 7) and found.end == 9
    for number, time in enumerate(found.barriers):
        before, after = block.PHASES[: number + 1], block.PHASES[number + 1 :]
        assert all(task.end <= time for task in found.tasks if task.phase in before)
        assert all(task.start >= time for task in found.tasks if task.phase in after)


def test_every_row_is_multiplied_once_by_the_warp_whose_turn_it_is():
    for warps, rows in ((4, 8), (4, 32), (3, 7), (1, 5)):
        found = block.run((1,) * warps, rows)
        turns = {task.row: task.warp for task in found.tasks if task.phase == "multiply"}
        assert turns == {row: row % warps for row in range(rows)}


def test_memory_is_told_from_the_last_time_that_it_changed():
    found = block.run((1, 2, 2, 2), without=2)
    assert found.held(0) == (block.EMPTY,) * 8
    assert found.held(5) == (block.RESIDUAL,) * 5 + (block.WRONG,) * 3
    assert found.held(99) == (block.RESIDUAL,) * 5 + (block.PRODUCT,) * 3  # raw products, taken for residuals


def test_the_kernel_has_these_phases_with_a_barrier_between_each():
    body = kernels.source().partition("load(weights, w +")[2].partition("No barrier here")[0]
    calls = re.findall(r"(multiply|residual|add_up|__syncthreads)\(", body)
    barrier = "__syncthreads"
    assert calls == [barrier, "multiply", barrier, "residual", barrier, "add_up"]


def test_wrong_calls_are_refused():
    refused(lambda: block.run(3), TypeError, "paces must be a list of times, one for each warp")
    refused(lambda: block.run((0, 1)), ValueError, "a pace must be at least 1; got 0")
    refused(lambda: block.run(rows=33), ValueError, "rows must be between 1 and 32; got 33")
    refused(lambda: block.run(without=4), ValueError, "without must be between 1 and 3; got 4")
