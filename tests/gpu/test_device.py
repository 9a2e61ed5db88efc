"""The kernels on a real GPU: what the emulator promised."""

import numpy as np
import pytest

from sgdrace.gpu import philox
from sgdrace.gpu.kernels import Kernels, cupy_launch
from tests.gpu.examples import EXAMPLES
from tests.gpu.test_philox import LAWS

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def launch(cupy):
    """Launch with copies of NumPy's arrays on the GPU, and copy what was written back."""
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:  # no driver, an old one, no device
        pytest.skip(f"There is no GPU on this machine: {error}")

    def launch(name, grid, block, args, shared):
        there = [cupy.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        cupy_launch(name, grid, block, tuple(there), shared)
        out = 5 if name.endswith("gradients") else 0
        args[out][...] = cupy.asnumpy(there[out])

    return launch


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: f"{case.link}-{case.problem}")
def test_the_gpu_gives_the_gradients_of_the_problem_and_always_the_same(launch, case, dtype):
    first = case.gradients(launch, dtype)
    assert (np.abs(first - case.expected()) <= case.error(dtype)).all()
    np.testing.assert_array_equal(case.gradients(launch, dtype), first)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_without_exp_have_the_bits_of_the_emulation(launch, emulated, dtype):
    for case in EXAMPLES:
        if case.link == "least squares":
            np.testing.assert_array_equal(
                case.gradients(launch, dtype), case.gradients(emulated(dtype), dtype)
            )


def test_random_numbers_have_the_bits_of_numpy(launch):
    size, seed = 100_003, 2**40 + 1
    np.testing.assert_array_equal(philox.words(seed, size, launch), philox.words(seed, size))
    np.testing.assert_array_equal(philox.exponentials(seed, size, launch), philox.exponentials(seed, size))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_order_statistics_have_the_bits_of_numpy(launch, law):
    out = np.empty(20_001)
    Kernels(launch).kth_fastest(5, *philox._law(law), 7, 16, out)
    np.testing.assert_array_equal(out, philox.kth_fastest(law, 7, 16, size=20_001, seed=5))
