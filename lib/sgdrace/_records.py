"""What the records of races and trainings have in common: read-only arrays, equality, and a file.

Knows dataclasses, arrays and files, and how to make a part of this package again from its parameters; nothing
of what a record means.
"""

import importlib
import inspect
import json
import zipfile
from collections.abc import Iterator
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sgdrace.delays import PerLearner, Scaled

HEADER = "record"  # the entry of a file that says what the others are
PACKAGE = "sgdrace."
_SHARED = ("kinds", "kind", "factor")  # what a PerLearner law is made of


class Record:
    """A frozen dataclass that compares by content, holds read-only arrays and can be kept in a file.

    A subclass is decorated with `@dataclass(frozen=True, eq=False)`. What is neither a number, a text, an
    array nor a law, learning rate or problem of the package that is made of these is not kept in a file: it
    is None after loading, and `dataclasses.replace` puts it back.
    """

    format_version: ClassVar[int] = 1  # of the file; one more whenever older code could misread it

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal, arrays entry by entry."""
        if type(self) is not type(other):
            return NotImplemented
        return all(_same(one, getattr(other, name)) for name, one in _items(self))

    __hash__ = None  # type: ignore[assignment]  # equal contents would need equal hashes: long sums over arrays

    def save(self, path: str | PathLike[str]) -> None:
        """Write this record to one file, an .npz that says what it holds and in which version."""
        header: dict[str, Any] = {"format": _format(type(self)), "version": self.format_version}
        arrays = {name: value for name, value in _items(self) if isinstance(value, np.ndarray)}
        header["values"] = {name: _plain(value) for name, value in _items(self) if name not in arrays}
        with open(path, "wb") as file:  # NumPy would add an ending to a path
            np.savez(file, allow_pickle=False, **{HEADER: np.array(json.dumps(header))}, **arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a record that `save` has written."""
        header, arrays = _contents(path)
        if header.get("format") != _format(cls):
            raise ValueError(f"{Path(path).name} holds {header.get('format')}, no {_format(cls)}.")
        if header.get("version") != cls.format_version:
            versions = f"version {header.get('version')} of {_format(cls)}, not {cls.format_version}"
            raise ValueError(f"{Path(path).name} holds {versions}, which is all that this package reads.")
        values = {name: _restored(value) for name, value in header["values"].items()}
        return cls(**values, **{name: read_only(array) for name, array in arrays.items()})


def read_only(array: NDArray[Any]) -> Any:
    """The same array if nobody can write to it, and otherwise a copy that nobody can write to.

    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def _format(cls: type) -> str:
    return f"sgdrace.{cls.__name__}"


def _items(record: Any) -> Iterator[tuple[str, Any]]:
    return ((field.name, getattr(record, field.name)) for field in fields(record))


def _contents(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return json.loads(str(arrays.pop(HEADER))), arrays
    except (AttributeError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile):
        raise ValueError(f"{Path(path).name} is no file that `save` has written.") from None


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
            return False
        return np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f")
    plain = _plain(one)  # laws of measured times do not compare themselves
    return plain == _plain(other) if plain is not None else one is other or bool(one == other)


def _plain(value: Any) -> Any:
    """A value as JSON can hold it; None if it cannot."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return _described(value)


def _described(part: Any) -> dict[str, Any] | None:
    """How a law, a learning rate or a problem of this package is made; None if its parameters do not tell."""
    kind = type(part)
    if not kind.__module__.startswith(PACKAGE):
        return None  # what somebody else wrote cannot be made again from its name
    names = _SHARED if isinstance(part, PerLearner) else tuple(inspect.signature(kind).parameters)
    parameters = {name: _plain(getattr(part, name, None)) for name in names}
    if any(value is None or (isinstance(value, list) and None in value) for value in parameters.values()):
        return None
    return {"kind": f"{kind.__module__}.{kind.__qualname__}", "parameters": parameters}


def _restored(value: Any) -> Any:
    """What `_plain` made plain; None for a part that the package no longer has."""
    if isinstance(value, list):
        return [_restored(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    module, _, name = value["kind"].rpartition(".")
    given = {name: _restored(entry) for name, entry in value["parameters"].items()}
    if name == "PerLearner":  # learners that shared a law draw from it together, so they must share it again
        kinds, kind, factor = (given[part] for part in _SHARED)
        return PerLearner([Scaled(kinds[n], slower) for n, slower in zip(kind, factor, strict=True)])
    try:
        made = getattr(importlib.import_module(module if module.startswith(PACKAGE) else ""), name)
    except (AttributeError, ImportError, ValueError):
        return None
    return made(**given)
