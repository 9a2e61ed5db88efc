"""Whether there is a GPU that can train, what is missing if not, and the arrays on it.

Knows CuPy, the driver of NVIDIA and what a problem asks for; nothing of what is trained. CuPy is imported
only where a driver is found, so whoever has no GPU does not wait for it.
"""

import ctypes
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np

from sgdrace._arguments import one_of
from sgdrace._arrays import DTYPES, HOST, Arrays
from sgdrace.gpu.kernels import Kernels, must_fit

DEVICES = ("cpu", "gpu", "auto")
SHARE = 0.8  # of the free memory that a training may take: the rest is for what CuPy makes on the way
INSTALL = 'pip install "sgdrace[gpu-cuda12]" or "sgdrace[gpu-cuda13]", whichever CUDA the driver knows,'
DRIVERS = {"linux": "libcuda.so.1", "win32": "nvcuda.dll"}


class NoGPUError(RuntimeError):
    """There is no GPU that can be used; the sentence says what is missing and what to do."""


def missing() -> str | None:
    """What keeps this machine from training on a GPU, in one sentence; None if nothing does.

    >>> missing() is None or missing().endswith(".")
    True
    """
    try:
        _cupy()
    except NoGPUError as reason:
        return str(reason)
    return None


def gpu(dtype: str = "float64") -> Arrays:
    """Arrays on the current GPU, with the kernels written for it; NoGPUError where there is none."""
    cupy = _cupy()
    import array_api_compat.cupy as xp

    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    free, _ = cupy.cuda.runtime.memGetInfo()
    free += cupy.get_default_memory_pool().free_bytes()  # what CuPy holds for the next who asks
    return Arrays(xp, dtype, None, device["name"].decode(), cupy.asnumpy, Kernels(), SHARE * free)


def arrays_for(problem: Any, device: str | Arrays, dtype: str) -> Arrays:
    """The arrays that a problem is trained in, on a device of this name.

    >>> from sgdrace import Quadratic
    >>> arrays_for(Quadratic(), "cpu", "float32")
    Arrays(cpu, float32)
    """
    if isinstance(device, Arrays):
        return _suited(problem, device)
    device, dtype = one_of("device", device, DEVICES), one_of("dtype", dtype, DTYPES)
    if device != "cpu":
        try:
            return _suited(problem, gpu(dtype))
        except (NoGPUError, TypeError, ValueError):
            if device == "gpu":
                raise
    return HOST if dtype == HOST.precision else _suited(problem, Arrays(np, dtype))


def _suited(problem: Any, on: Arrays) -> Arrays:
    """The same arrays, if the problem can do its arithmetic in them."""
    if not on.plain and not problem.portable:
        raise TypeError(
            f"{problem!r} computes with NumPy in double precision only; "
            f'train it with device="cpu" and dtype="float64".'
        )
    if on.kernels is not None and getattr(problem, "link", None) is not None:
        must_fit(problem.units, problem.X.shape[1], problem.m, on.precision)
    return on


def _cupy() -> Any:
    """CuPy with a GPU to use, or what is missing."""
    if find_spec("cupy") is None or find_spec("array_api_compat") is None:
        raise NoGPUError(f"training on a GPU needs CuPy, which is not installed; {INSTALL} adds it.")
    library = DRIVERS.get(sys.platform)
    if library is None or not _loads(library):
        raise NoGPUError(
            "training on a GPU needs one of NVIDIA's with its driver, which is not found here; "
            'use device="cpu", or a machine that has one.'
        )
    import cupy

    try:
        number = cupy.cuda.runtime.getDeviceCount()
        cupy.cuda.nvrtc.getVersion()
    except Exception as error:
        raise NoGPUError(_told(cupy, error)) from None
    if number == 0:
        raise NoGPUError(
            "the driver shows no GPU to this program; look what nvidia-smi lists and what the variable "
            "CUDA_VISIBLE_DEVICES hides."
        )
    return cupy


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _told(cupy: Any, error: Exception) -> str:
    """One sentence about what CuPy said when it was first asked to do something."""
    words = " ".join(str(error).split()).rstrip(".")
    if "InsufficientDriver" in words:
        built = cupy.cuda.runtime.runtimeGetVersion() // 1000
        return (
            f"the driver of this machine is too old for CuPy {cupy.__version__}, which was built for CUDA "
            f"{built}; {INSTALL} after uninstalling this one, or a newer driver, mends it."
        )
    if "nvrtc" in words.lower():
        return (
            f"CuPy {cupy.__version__} finds no CUDA compiler to make kernels with ({words}); "
            f'pip install "cupy-cuda12x[ctk]" or "cupy-cuda13x[ctk]", whichever is installed, adds one.'
        )
    return f"CuPy {cupy.__version__} cannot use the GPU of this machine: {words}; look what nvidia-smi says."
