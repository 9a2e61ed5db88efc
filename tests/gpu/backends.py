"""Kinds of arrays that training must give the same results in, and a fixture that runs a test in each."""

import numpy as np
import pytest

from sgdrace._arrays import Arrays
from sgdrace.gpu import devices
from sgdrace.gpu.kernels import Kernels

KINDS = ("NumPy", "strict", "emulated", "CuPy")


def strict_arrays(dtype):
    """The array API standard and nothing beyond it, on a device that NumPy cannot read from."""
    xp = pytest.importorskip("array_api_strict")
    host = xp.Device("CPU_DEVICE")
    return Arrays(xp, dtype, xp.Device("device1"), "strict", lambda array: np.asarray(array.to_device(host)))


@pytest.fixture
def strict():
    return strict_arrays("float64")


# Strict arrays take NumPy's way through the package, and thousands of calls of their own to be traced.
MARKS = {"CuPy": pytest.mark.gpu, "strict": pytest.mark.no_cover}


@pytest.fixture(
    params=[
        pytest.param((kind, dtype), id=f"{kind}-{dtype}", marks=[MARKS[kind]] if kind in MARKS else [])
        for kind in KINDS
        for dtype in ("float64", "float32")
    ],
)
def on(request):
    kind, dtype = request.param
    if kind == "NumPy":
        return Arrays(np, dtype)
    if kind == "strict":
        return strict_arrays(dtype)
    if kind == "emulated":
        emulator = request.getfixturevalue("emulated")(dtype)
        return Arrays(np, dtype, name="emulated", kernels=Kernels(emulator))
    if (reason := devices.missing()) is not None:
        pytest.skip(reason)
    return devices.gpu(dtype)
