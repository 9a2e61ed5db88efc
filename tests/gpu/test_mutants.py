"""Kernels that were broken on purpose, one place at a time: each must be seen, or the tests prove nothing."""

import numpy as np
import pytest

from sgdrace import Exponential, Lomax, Pareto, Weibull
from sgdrace.gpu import kernels, philox
from tests.gpu.emulator import ORDERS
from tests.gpu.examples import example

TITLE = "// ---- Random numbers"
GRADIENTS, _, RANDOM = kernels.source().partition(TITLE)  # each compiles alone, in half the time
RANDOM = TITLE + RANDOM
BARRIER = "__syncthreads();"
BARRIERS = range(GRADIENTS.count(BARRIER))

# Weights and residuals of several warps, more gradients than blocks, a short block, logits that overflow.
CASES = [
    example("least squares", rows=9, p=70, m=4, N=7, T=7),
    example("logistic", rows=11, p=3, m=6, N=7, T=7),
    example("softmax", rows=11, p=20, m=6, units=4, N=7, T=7),
    example("softmax", rows=8, p=3, m=4, units=3, N=7, T=7, size=400.0),
]

CHANGES = {
    "scale dropped": ("scale * sum + ", "sum + "),
    "penalty dropped": (" + l2 * weights[k]", ""),
    "weights of another row": ("row[n] * d", "row[0] * d"),
    "rows of another block": ("choice[n] * m * p", "choice[0] * m * p"),
    "targets of another block": ("choice[n] * m;", "choice[0] * m;"),
    "every second gradient left out": ("n += gridDim.x", "n += 2 * gridDim.x"),
    "half of a warp left out": ("distance = WARP / 2", "distance = WARP / 4"),
    "features beyond a warp left out": ("j < p; j += WARP", "j < p && j < WARP; j += WARP"),
    "units mixed up": ("residuals[u * m + i]", "residuals[i]"),
    "softmax that overflows": ("exp(z[u * stride] - largest)", "exp(z[u * stride])"),
    "class not subtracted": ("REAL(1) : REAL(0)", "REAL(0) : REAL(0)"),
    "sign of the logistic function": ("exp(-z[0])", "exp(z[0])"),
    "weights overwritten that others read": ("weights[k] = from[k]", "weights[d - 1 - k] = from[d - 1 - k]"),
    "barrier that only some reach": ("if (lane == 0)\n", "if (lane == 0) { __syncthreads(); }\n"),
    "residuals over the weights": ("REAL* z = shared + d;", "REAL* z = shared + d - 1;"),
    "residuals beyond the memory": ("REAL* z = shared + d;", "REAL* z = shared + d + 1;"),
}

RANDOM_CHANGES = {
    "rounds": ("round < 10", "round < 9"),
    "key": ("key1 += 0xBB67AE85u", "key1 += 0xBB67AE84u"),
    "bits": ("low >> 12", "low >> 13"),
    "learners still running": ("(P - done - i)", "(P - done)"),
    "one learner too few": ("done < K", "done < K - 1"),
    "stream": ("done / 2, ORDER_STATISTICS", "done / 2, DRAWS"),
    "place": ("(unsigned)(place >> 32), step", "step, 0u"),
    "logarithm": ("int n = 10; n > 0", "int n = 9; n > 0"),
    "exponential": ("int n = 13; n > 2", "int n = 12; n > 2"),
    "near 0": ("if (e.k > 60)\n        return exponential(x);", "return exponential(x) - 1.0;"),
}


def right(emulator):
    """Whether the gradients are those of the problems in every order of the threads."""
    try:
        return all(case.agrees(emulator.ordered(order, 3), "float64") for order in ORDERS for case in CASES)
    except RuntimeError:  # the emulator refuses to go on
        return False


def changed(source, change):
    """A source with one place changed."""
    old, new = change
    assert source.count(old) == 1, f"{old!r} is {source.count(old)} times in the source"
    return source.replace(old, new)


def test_the_kernels_as_they_are_pass(emulated):
    assert right(emulated(source=GRADIENTS)) and random_right(emulated(source=RANDOM))


def test_there_are_barriers_to_remove():
    assert len(BARRIERS) == kernels.source().count(BARRIER) == 3


@pytest.mark.parametrize("number", BARRIERS)
def test_every_barrier_is_needed(emulated, number):
    before, *after = GRADIENTS.split(BARRIER)
    without = before + "".join(("" if n == number else BARRIER) + part for n, part in enumerate(after))
    assert without.count(BARRIER) == len(BARRIERS) - 1
    assert not right(emulated(source=without))


@pytest.mark.parametrize("change", CHANGES)
def test_a_broken_gradient_is_seen(emulated, change):
    assert not right(emulated(source=changed(GRADIENTS, CHANGES[change])))


def random_right(emulator):
    """Whether the random numbers are those of NumPy, bit by bit."""
    launch = emulator.ordered(0, 2)
    own = kernels.Kernels(launch)
    same = [np.array_equal(philox.words(7, 1000, launch), philox.words(7, 1000))]
    same += [np.array_equal(philox.exponentials(7, 999, launch), philox.exponentials(7, 999))]
    for law in (Exponential(), Pareto(), Lomax(), Weibull()):
        out = np.empty(500)
        own.kth_fastest(2**33 + 7, *philox._law(law), 5, 9, out)
        same += [np.array_equal(out, philox.kth_fastest(law, 5, 9, size=500, seed=2**33 + 7))]
    return all(same)


@pytest.mark.parametrize("change", RANDOM_CHANGES)
def test_a_broken_random_number_is_seen(emulated, change):
    assert not random_right(emulated(source=changed(RANDOM, RANDOM_CHANGES[change])))
