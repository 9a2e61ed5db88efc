"""E[T], the mean time per update, for several K: what choices of K are made from.

Knows the shape of such a table; nothing of how its entries were found. `runtimes` fills it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdrace._arguments import FloatArray, count, floats, reals, shown, store
from sgdrace.variants import variant_P_K

ROWS_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class RuntimeTable:
    """E[T_K] for some K of one variant, number of learners and law, with standard errors and sources.

    >>> RuntimeTable("K-async", 4, "measured", [1, 2], [0.5, 1.0625], [0, 0.0012], ["theory", "a run"])
    E[T] of K-async with P = 4, measured
    K    E[T]  ± error  source
    1     0.5        0  theory
    2  1.0625   0.0012  a run
    """

    variant: str
    P: int
    law: Any
    K: NDArray[np.int64]  # rising
    mean: FloatArray  # E[T_K], infinite where it does not exist
    standard_error: FloatArray  # 0 where E[T_K] was computed
    source: tuple[str, ...]  # how each was found: "closed form", "quadrature" or "simulation"

    def __post_init__(self) -> None:
        for name in ("K", "source"):
            if isinstance(getattr(self, name), str) or not np.iterable(getattr(self, name)):
                raise TypeError(
                    f"{name} must be a list with one entry for each K; got {shown(getattr(self, name))}."
                )
        checked = [variant_P_K(self.variant, self.P, K)[2] for K in self.K]
        if not checked or checked != sorted(set(checked)):
            raise ValueError(
                f"K must be at least one number and rise from entry to entry; got {shown(checked)}."
            )
        source = tuple(map(str, self.source))
        mean, error = (floats(name, getattr(self, name)).copy() for name in ("mean", "standard_error"))
        if not mean.shape == error.shape == (len(checked),) == (len(source),):
            raise ValueError(
                f"mean, standard_error and source must have one entry for each of {len(checked)} K; got "
                f"{mean.shape}, {error.shape} and {len(source)}."
            )
        if not ((mean > 0).all() and (error >= 0).all()):
            raise ValueError(f"mean must be above 0 and standard_error at least 0; got {mean} and {error}.")
        arrays = {"K": np.array(checked), "mean": mean, "standard_error": error}
        for array in arrays.values():
            array.flags.writeable = False
        store(self, P=count("P", self.P), source=source, **arrays)

    def at(self, K: int) -> float:
        """E[T_K].

        >>> RuntimeTable("K-sync", 4, "measured", [1, 4], [1.0, 2.5], [0, 0], ["theory"] * 2).at(4)
        2.5
        """
        place = np.flatnonzero(count("K", K) == self.K)
        if place.size == 0:
            raise ValueError(f"K must be in the table, which has {_listed(self.K)}; got {K}.")
        return float(self.mean[place[0]])

    def __len__(self) -> int:
        return len(self.K)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.all_K(), dtype=dtype)

    def all_K(self) -> FloatArray:
        """The list E[T_1], E[T_2], ..., as rules of AdaSync take it; no K may be missing.

        >>> RuntimeTable("K-sync", 4, "measured", [1, 2], [1.0, 1.5], [0, 0], ["theory"] * 2).all_K()
        array([1. , 1.5])
        """
        if self.K[-1] != len(self):
            raise ValueError(
                f"only a table of all K = 1, 2, ... is a list of runtimes; got K = {_listed(self.K)}."
            )
        return self.mean

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RuntimeTable):
            return NotImplemented
        same = (self.variant, self.P, self.source) == (other.variant, other.P, other.source)
        arrays = ("K", "mean", "standard_error")
        return (
            same
            and self.law == other.law
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)
        )

    def __repr__(self) -> str:
        rows = [
            (f"{K}", f"{mean:.5g}", f"{error:.2g}", source)
            for K, mean, error, source in zip(
                self.K, self.mean, self.standard_error, self.source, strict=True
            )
        ]
        if len(rows) > ROWS_SHOWN:
            half = ROWS_SHOWN // 2
            rows = [*rows[:half], ("…",) * 4, *rows[-half:]]
        rows = [("K", "E[T]", "± error", "source"), *rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([*(cell.rjust(width) for cell, width in zip(row[:3], widths, strict=False)), row[3]])
            for row in rows
        ]
        return "\n".join([f"E[T] of {self.variant} with P = {self.P}, {self.law}", *lines])


def by_K(
    runtimes: ArrayLike | RuntimeTable, variant: str | None = None
) -> tuple[NDArray[np.int64], FloatArray]:
    """K and finite E[T_K], from a record or from a list E[T_1], E[T_2], ...

    >>> by_K([0.5, 1.0])[0].tolist()
    [1, 2]
    """
    if not isinstance(runtimes, RuntimeTable):
        table = reals("runtimes", runtimes, above=0)
        return np.arange(1, table.size + 1), table
    _of_variant(runtimes, variant)
    return runtimes.K, reals("runtimes", runtimes.mean, above=0)


def runtime_at(runtime: float | RuntimeTable, K: int, variant: str) -> float:
    """E[T_K], from a record or as it is."""
    if not isinstance(runtime, RuntimeTable):
        return runtime
    _of_variant(runtime, variant)
    return runtime.at(K)


def _of_variant(table: RuntimeTable, variant: str | None) -> None:
    if variant not in (None, table.variant):
        raise ValueError(f"the runtimes must be those of {variant}; got a table of {table.variant}.")


def _listed(K: NDArray[np.int64]) -> str:
    return ", ".join(map(str, K)) if len(K) <= 5 else f"{K[0]}, {K[1]}, …, {K[-1]}"
