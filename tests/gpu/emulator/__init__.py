"""CUDA kernels on the CPU: g++ compiles their source behind the header `cuda.h`, `Emulator` launches them.

Knows compilers and addresses; nothing of what a kernel computes. An emulator is a `launch` for `Kernels`.
"""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from itertools import takewhile
from pathlib import Path

import numpy as np

from sgdrace.gpu import kernels

HEADER = Path(__file__).with_name("cuda.h")
# -O1: a third of the time of -O2 to compile. Fused products would round otherwise than NumPy.
FLAGS = ["-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
OUTCOMES = {
    1: "its threads wait at different barriers, or some never come",
    2: "it writes beyond the shared memory that it asked for",
    3: "no GPU could launch it so",
}
ORDERS = (0, 1, 2, 3, 4)  # forward, backward, shuffled


def compiler():
    """The path of g++, or None."""
    return shutil.which("g++")


class Emulator:
    """Launches kernels of a CUDA source for one type of numbers.

    `order` says in which order the threads of a block run, `blocks` how many blocks there are at most.
    """

    def __init__(self, folder, dtype, source=None, order=0, blocks=None):
        self.order, self.blocks = order, blocks
        self.launched = []
        source = kernels.source() if source is None else source
        self._library = ctypes.CDLL(str(_built(Path(folder), str(np.dtype(dtype)), source)))

    def ordered(self, order, blocks=None):
        """The same kernels in another order."""
        other = object.__new__(Emulator)
        other._library, other.order, other.blocks, other.launched = self._library, order, blocks, []
        return other

    def __call__(self, name, grid, block, args, shared):
        self.launched.append((name, grid, block, args, shared))
        held = [as_passed(arg) for arg in args]
        sizes = getattr(self._library, f"sizes_{name}")
        sizes.restype = ctypes.POINTER(ctypes.c_int)
        wanted = list(takewhile(bool, sizes()))
        given = [value.nbytes for value in held]
        if given != wanted:
            raise TypeError(f"{name} reads arguments of {wanted} bytes; got {given}.")
        addresses = (ctypes.c_void_p * len(held))(*(value.ctypes.data for value in held))
        blocks = min(grid[0], self.blocks or grid[0])
        outcome = getattr(self._library, f"launch_{name}")(
            addresses,
            ctypes.c_uint(blocks),
            ctypes.c_uint(block[0]),
            ctypes.c_size_t(shared),
            ctypes.c_uint(self.order),
        )
        if outcome:
            raise RuntimeError(f"{name} does not run: {OUTCOMES[outcome]}.")


def as_passed(arg):
    """What CuPy hands to a kernel: an address, a typed number, or eight bytes of a Python number."""
    if isinstance(arg, np.ndarray) and arg.ndim:
        return np.array([arg.ctypes.data], np.uint64)
    return np.array([arg])


def _built(folder, dtype, source):
    """The shared library, compiled once for each content, also if several processes want it at once."""
    names = re.findall(r'extern "C" __global__ void (\w+)', source)
    text = "\n".join(
        ['#include "cuda.h"', '#line 1 "kernels.cu"', source, *(f"EMULATED({n})" for n in names)]
    )
    flags = [*FLAGS, f"-DREAL={kernels.REAL[dtype]}", f"-I{HEADER.parent}"]
    key = hashlib.sha256("\n".join([text, HEADER.read_text(), *flags]).encode()).hexdigest()[:20]
    library = folder / f"{key}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as own:
            made = Path(own) / library.name
            command = [compiler(), *flags, "-x", "c++", "-", "-o", str(made)]
            done = subprocess.run(command, input=text, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"g++ refuses the kernels:\n{done.stderr}")
            os.replace(made, library)
    return library
