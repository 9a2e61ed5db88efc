"""The CUDA kernels of `kernels.cu`: how they are compiled, and with what threads and arguments they start.

Knows arrays, bytes and launches; nothing of problems, races or devices. A kernel converts nothing: a Python
float arrives as eight bytes where four are read, a strided array as if it had none. So what is passed on
is checked and typed here, for CuPy and for the tests, which launch the same source on the CPU.
"""

import math
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sgdrace._arguments import one_of, real, shown

# CUDA's name of the type of numbers. A kernel is compiled once for each.
REAL = {"float32": "float", "float64": "double"}
LINKS = {
    "least squares": "least_squares_gradients",
    "logistic": "logistic_gradients",
    "softmax": "softmax_gradients",
}

THREADS = 128  # four warps: enough for the rows of a mini-batch, few enough that many blocks run at once
BLOCKS = 4096  # several times what the largest GPUs run at once; each block takes more than one piece of work
SHARED = 48 * 1024  # bytes of shared memory that a block gets on every GPU without asking for more
LARGEST_INT = 2**31 - 1


class Launch(Protocol):
    """Starts a kernel: `grid` blocks of `block` threads, each block with `shared` bytes of shared memory."""

    def __call__(
        self, name: str, grid: tuple[int], block: tuple[int], args: tuple[Any, ...], shared: int
    ) -> None: ...


def source() -> str:
    """The CUDA source.

    >>> "softmax_gradients" in source()
    True
    """
    return Path(__file__).with_name("kernels.cu").read_text(encoding="utf-8")


def options(dtype: Any) -> tuple[str, ...]:
    """What NVRTC is told.

    Products and sums are not fused. The random numbers need this to have the same bits everywhere; to the
    gradients it matters little, because each product waits for a number from memory, which takes longer.

    >>> options("float32")
    ('-DREAL=float', '-std=c++17', '-fmad=false')
    """
    return (f"-DREAL={REAL[str(np.dtype(dtype))]}", "-std=c++17", "-fmad=false")


def must_fit(units: int, p: int, m: int, dtype: Any) -> None:
    """Refuse a mini-batch whose weights and residuals are more than the shared memory of a block holds.

    >>> must_fit(10, 65, 32, "float64")
    >>> must_fit(10, 785, 32, "float64")
    Traceback (most recent call last):
    ValueError: weights (10, 785) and mini-batches of 32 rows need 65360 bytes of shared memory in float64,
    16208 more than every GPU has; use float32 or device="cpu".
    """
    size = np.dtype(dtype).itemsize
    need = _shared(units, p, m, size)
    if need <= SHARED:
        return
    fits = {
        "float32": size > 4 and _shared(units, p, m, 4) <= SHARED,
        "smaller mini-batches": _shared(units, p, 1, size) <= SHARED,
        'device="cpu"': True,
    }
    raise ValueError(
        f"weights ({units}, {p}) and mini-batches of {m} rows need {need} bytes of shared memory in "
        f"{np.dtype(dtype)}, {need - SHARED} more than every GPU has; "
        f"use {' or '.join(way for way, helps in fits.items() if helps)}."
    )


def cupy_launch(name: str, grid: tuple[int], block: tuple[int], args: tuple[Any, ...], shared: int) -> None:
    """Start a kernel on the current GPU; the first time, compile it."""
    # The first argument of the gradients is X, an array of REAL; to the other kernels REAL is all the same.
    real_type = "float32" if args[0].dtype == np.float32 else "float64"
    _module(real_type).get_function(name)(grid, block, args, shared_mem=shared)


@cache
def _module(real_type: str) -> Any:
    import cupy

    return cupy.RawModule(code=source(), options=options(real_type))


class Kernels:
    """Every kernel as a method. `launch` starts them: on a GPU, or wherever else.

    The arrays are of one library, NumPy or CuPy, and where `launch` reads them. What is inside is not looked
    at, which would mean to wait for the GPU: `row` and `choice` must be in range.
    """

    def __init__(self, launch: Launch = cupy_launch) -> None:
        self._launch = launch

    def gradients(
        self,
        link: str,
        w: Any,
        row: Any,
        choice: Any,
        X: Any,
        y: Any,
        scale: float,
        l2: float,
        out: Any,
    ) -> None:
        """Write scale · Σ r_i x_i + l2·w[row[n]], with the m rows x_i of block choice[n], to out[n].

        X is (blocks, m, p), y (blocks, m) of the type of X, for "softmax" the numbers of the classes. w is
        (T, units·p), row and choice (N,) are int32, out is (N, units·p). Residuals r_i are x_i·w - y_i for
        "least squares", 1/(1 + exp(-x_i·w)) - y_i for "logistic", and for "softmax" those of all units.
        """
        name = LINKS[one_of("link", link, list(LINKS))]
        number, whole = np.dtype(getattr(X, "dtype", object)), np.dtype(np.int32)
        if str(number) not in REAL:
            raise TypeError(f"X must be an array of float32 or float64 for a kernel; got {_kind(X)}.")
        _check("X", X, X, number, (None, None, None))
        blocks, m, p = X.shape
        _check("y", y, X, number, (blocks, m))
        _check("w", w, X, number, (None, None))
        d = w.shape[1]
        units = d // p if p else 0
        if units == 0 or units * p != d or (units > 1 and link != "softmax"):
            wanted = f"a multiple of {p}" if link == "softmax" else f"{p}"
            raise ValueError(f'each row of w must hold {wanted} weights for the link "{link}"; got {d}.')
        _check("choice", choice, X, whole, (None,))
        N = len(choice)
        _check("row", row, X, whole, (N,))
        _check("out", out, X, number, (N, d))
        must_fit(units, p, m, number)
        scalars = (
            *map(_int32, (N, m, p, units)),
            number.type(real("scale", scale)),
            number.type(real("l2", l2)),
        )
        self._start(name, (X, y, w, row, choice, out, *scalars), N, _shared(units, p, m, number.itemsize))

    def words(self, seed: int, out: Any) -> None:
        """Write the first words of the stream of this seed to out (size,), of uint32."""
        _check("out", out, out, np.dtype(np.uint32), (None,))
        self._start("philox_words", (out, np.int64(out.size), *_key(seed)), _blocks_for(out.size, 4))

    def delays(self, seed: int, law: int, a: float, b: float, out: Any) -> None:
        """Write independent delays of a law, by its number in `kernels.cu`, to out (size,), of float64."""
        _check("out", out, out, np.dtype(np.float64), (None,))
        args = (out, np.int64(out.size), *_key(seed), *_law(law, a, b))
        self._start("philox_delays", args, _blocks_for(out.size, 2))

    def kth_fastest(self, seed: int, law: int, a: float, b: float, K: int, P: int, out: Any) -> None:
        """Write independent K-th smallest ones of P delays of a law to out (size,), of float64."""
        _check("out", out, out, np.dtype(np.float64), (None,))
        args = (out, np.int64(out.size), *_key(seed), *_law(law, a, b), _int32(K), _int32(P))
        self._start("philox_kth_fastest", args, _blocks_for(out.size, 1))

    def _start(self, name: str, args: tuple[Any, ...], blocks: int, shared: int = 0) -> None:
        if blocks:  # CUDA refuses an empty grid
            self._launch(name, (min(blocks, BLOCKS),), (THREADS,), args, shared)


def _shared(units: int, p: int, m: int, size: int) -> int:
    """Bytes of shared memory: weights (units, p) and residuals (units, m)."""
    return units * (p + m) * size


def _blocks_for(size: int, each: int) -> int:
    """How many blocks it takes if every thread makes `each` numbers."""
    return math.ceil(size / (each * THREADS))


def _int32(number: int) -> np.int32:
    if number > LARGEST_INT:
        raise ValueError(f"a kernel counts up to 2^31 - 1; got {number}.")
    return np.int32(number)


def _key(seed: int) -> tuple[np.uint32, np.uint32]:
    """The two words of the key: the lower half of the seed first."""
    return np.uint32(seed % 2**32), np.uint32(seed // 2**32)


def _law(law: int, a: float, b: float) -> tuple[np.int32, np.float64, np.float64]:
    return np.int32(law), np.float64(a), np.float64(b)


def _check(name: str, array: Any, like: Any, dtype: np.dtype[Any], shape: tuple[int | None, ...]) -> None:
    """Refuse an array that a kernel would read as something else; None in a shape is any length."""
    if type(array) is not type(like) or array.dtype != dtype:
        wanted = f"{_library(like)} array of {dtype}"
        raise TypeError(
            f"{name} must be a {wanted} for a kernel, which converts nothing; got {_kind(array)}."
        )
    if len(array.shape) != len(shape) or any(
        n not in (None, m) for n, m in zip(shape, array.shape, strict=True)
    ):
        wanted = ", ".join("any" if n is None else f"{n}" for n in shape)
        raise ValueError(f"{name} must have the shape ({wanted}) for a kernel; got {array.shape}.")
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} must be contiguous for a kernel, which knows no strides; copy it first.")


def _kind(array: Any) -> str:
    """What was given, as an error message says it."""
    return f"a {_library(array)} array of {array.dtype}" if hasattr(array, "dtype") else shown(array)


def _library(array: Any) -> str:
    return type(array).__module__.partition(".")[0]
