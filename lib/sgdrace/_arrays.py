"""Where numbers live: a namespace of arrays, a precision, a device.

Knows how numbers go to a device and back; nothing of what they mean. What is as large as the weights of all
replicas lives on the device. What is as small as one number for each gradient stays with NumPy: staleness,
steps, and which mini-batch was drawn, which therefore is the same on every device.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sgdrace._arguments import one_of

DTYPES = ("float64", "float32")


class Kernels(Protocol):
    """Code written for one kind of device, which a problem prefers to its own arithmetic."""

    def gradients(
        self, link: str, w: Any, row: Any, choice: Any, X: Any, y: Any, scale: float, l2: float, out: Any
    ) -> None:
        """The gradients of drawn blocks, each at a row of w, into `out`."""


class Arrays:
    """Arrays of one namespace, in one precision, on one device.

    The namespace is that of NumPy, CuPy or any other library that keeps to the array API standard; `fetch`
    makes an array of NumPy's of one of its own. `room` is how many bytes a training may take there.

    >>> here = Arrays(np, "float32")
    >>> here.full((2,), 0.5), here.on_host
    (array([0.5, 0.5], dtype=float32), True)
    """

    def __init__(
        self,
        xp: Any,
        dtype: str = "float64",
        device: Any = None,
        name: str = "cpu",
        fetch: Callable[[Any], NDArray[Any]] = np.asarray,
        kernels: Kernels | None = None,
        room: float = math.inf,
    ) -> None:
        self.precision = one_of("dtype", dtype, DTYPES)
        self.xp, self.name, self.kernels, self.room = xp, name, kernels, room
        self.dtype: Any = getattr(xp, dtype)
        self.on_host = xp is np
        self.plain = self.on_host and dtype == "float64" and kernels is None  # what anybody's problem expects
        self._where: dict[str, Any] = {} if device is None else {"device": device}
        self._fetch = fetch
        self._writes = hasattr(xp, "ufunc")  # functions take `out`, which the standard does not ask for

    def __repr__(self) -> str:
        return f"Arrays({self.name}, {self.precision})"

    def empty(self, shape: tuple[int, ...]) -> Any:
        """An array with arbitrary content."""
        return self.xp.empty(shape, dtype=self.dtype, **self._where)

    def full(self, shape: tuple[int, ...], value: float) -> Any:
        """An array of one number."""
        return self.xp.full(shape, value, dtype=self.dtype, **self._where)

    def floats(self, values: NDArray[Any]) -> Any:
        """Numbers of NumPy's on the device; those of the host's own precision stay what they are."""
        return self.xp.asarray(np.asarray(values, self.precision), **self._where)

    def whole(self, values: NDArray[Any], width: type[np.integer[Any]] | None = None) -> Any:
        """Whole numbers or truth values of NumPy's on the device; on the host they stay what they are."""
        if values.dtype.kind != "b" and (width or not self.on_host):
            values = np.asarray(values, width or np.int64)
        return values if self.on_host else self.xp.asarray(values, **self._where)

    def host(self, array: Any) -> NDArray[Any]:
        """An array of the device as one of NumPy's, floats in double precision; waits for the device."""
        fetched = self._fetch(array)
        return np.asarray(fetched, np.float64) if fetched.dtype.kind == "f" else fetched

    def into(self, out: Any, function: Callable[..., Any], *given: Any) -> None:
        """Write what a function of the namespace gives over an array that is there already."""
        if self._writes:
            function(*given, out=out)
        else:
            out[...] = function(*given)

    def take(self, source: Any, index: Any, out: Any) -> None:
        """Write rows of an array into another; they must be in range."""
        if self.on_host:
            # "clip" only spares NumPy the copy that it makes to be able to raise.
            source.take(index, axis=0, out=out, mode="clip")
        else:
            out[...] = self.xp.take(source, index, axis=0)


HOST = Arrays(np)
