"""What stands in for a GPU: NVIDIA's compiler, which needs none, and an emulator that g++ compiles.

What runs where, from the cheapest to what nobody but a GPU can say:

    test_compile    NVRTC compiles every kernel for five architectures; PTX is compared with what we pass
    test_gradients  the same source on the CPU, in several orders of its threads, against the problems' NumPy
    test_philox     and against the twin of the random delays, bit by bit
    test_mutants    and broken on purpose, barrier by barrier: a test must see it
    test_packing    what is refused before a launch, with real arrays of CuPy that have no memory
    test_device     on a real GPU; skipped where there is none
"""

import os

import pytest

from tests.gpu.emulator import Emulator, compiler

REQUIRED = "GPU_TESTS_REQUIRED"  # set where a missing compiler must not go unnoticed


def missing(what):
    """Skip what cannot be tested here, or fail where it must be."""
    (pytest.fail if REQUIRED in os.environ else pytest.skip)(f"There is no {what} on this machine.")


@pytest.fixture(scope="session")
def cupy():
    """CuPy, which can be imported without a GPU."""
    try:
        import cupy
    except ImportError:
        missing("CuPy")
    return cupy


@pytest.fixture(scope="session")
def nvrtc(cupy):
    """CuPy's door to NVIDIA's compiler, which needs neither a GPU nor a driver."""
    try:
        cupy.cuda.nvrtc.getVersion()
    except Exception:  # CuPy raises what it likes where the library is missing
        missing("NVRTC")
    return cupy.cuda.nvrtc


@pytest.fixture(scope="session")
def emulated(request, tmp_path_factory):
    """Makes an emulator of a source for a type of numbers; each is compiled once and found again later."""
    if compiler() is None:
        missing("g++")
    cache = getattr(request.config, "cache", None)
    folder = cache.mkdir("emulator") if cache else tmp_path_factory.getbasetemp() / "emulator"
    return lambda dtype="float64", source=None: Emulator(folder, dtype, source)
