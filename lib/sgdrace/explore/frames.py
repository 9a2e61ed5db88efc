"""The frames of an explorer: a drawing function with its controls, drawn state by state. Knows no widgets."""

import itertools
import math
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from html import escape
from typing import Any

from matplotlib.figure import Figure

from sgdrace._arguments import shown
from sgdrace.explore.controls import Control
from sgdrace.figures import Picture, to_svg

State = tuple[int, ...]  # one position per control
Frame = tuple[str, str]  # its HTML, and its text alternative

_WORTH_A_POOL = 8  # frames below which starting processes costs more than it saves


@dataclass(frozen=True)
class Drawing:
    """A drawing function with its controls: what to draw for which state."""

    draw: Callable[..., Any]
    controls: list[Control]

    @property
    def name(self) -> str:
        return f"explore({', '.join([_name(self.draw), *(control.name for control in self.controls)])})"

    @property
    def count(self) -> int:
        return math.prod(len(control.values) for control in self.controls)

    @property
    def start(self) -> State:
        return tuple(control.start for control in self.controls)

    def states(self) -> Iterator[State]:
        return itertools.product(*(range(len(control.values)) for control in self.controls))

    def words(self, state: State) -> str:
        """The state as a reader sees it: K = 2, law = Pareto."""
        pairs = zip(self.controls, state, strict=True)
        return ", ".join(f"{control.name} = {control.labels[i]}" for control, i in pairs) or "its only state"

    def frame(self, state: State) -> Frame:
        """The HTML of one frame, and its text alternative."""
        values = {control.name: control.values[i] for control, i in zip(self.controls, state, strict=True)}
        before = _open_figures()
        try:
            made = self.draw(**values)
            if isinstance(made, str) and made.strip():
                return f'<p class="explorer-note">{escape(made)}</p>', made
            if not isinstance(made, Picture):
                raise TypeError(
                    f"draw must return a Picture, or a sentence for a state that has none; got {shown(made)}."
                )
            _refuse_forgotten(_open_figures() - before, made)
            return to_svg(made), made.text
        except Exception as error:
            # One string, so that the message survives the way from a worker process.
            message = f"{self.name} fails at {self.words(state)}: {type(error).__name__}: {error}"
            raise RuntimeError(message) from error
        finally:
            for number in _open_figures() - before:  # or the notebook shows them a second time
                close(number)


def draw_all(drawing: Drawing) -> tuple[dict[State, Frame], dict[State, float]]:
    """Every frame and the seconds it took, on all cores where processes can be forked."""
    states = list(drawing.states())
    first = _timed(drawing, states[0])  # alone, so that imports and caches are warm in every worker
    drawn = _in_processes(drawing, states[1:]) if len(states) >= _WORTH_A_POOL else None
    if drawn is None:
        drawn = [_timed(drawing, state) for state in states[1:]]
    results = dict(zip(states, [first, *drawn], strict=True))
    return {s: frame for s, (frame, _) in results.items()}, {s: spent for s, (_, spent) in results.items()}


_Timed = tuple[Frame, float]  # a frame with its text, and the seconds it took


def _timed(drawing: Drawing, state: State) -> _Timed:
    began = time.perf_counter()
    return drawing.frame(state), time.perf_counter() - began


_inherited: list[Drawing] = []  # how workers get a drawing: a notebook's functions can't be pickled


def _timed_in_worker(state: State) -> _Timed:
    return _timed(_inherited[-1], state)


def _in_processes(drawing: Drawing, states: list[State]) -> list[_Timed] | None:
    """None where processes cannot be forked, there is one core, or a worker was killed."""
    workers = os.cpu_count() or 1
    if workers < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return None
    _inherited.append(drawing)
    try:
        with warnings.catch_warnings():
            # Newer Pythons warn that a kernel has threads. Workers only draw, and leave its sockets alone.
            warnings.simplefilter("ignore", DeprecationWarning)
            with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
                chunk = max(1, len(states) // (8 * workers))
                return list(pool.map(_timed_in_worker, states, chunksize=chunk))
    except BrokenProcessPool:
        return None
    finally:
        _inherited.pop()


def _open_figures() -> set[int]:
    """The numbers of pyplot's figures; a drawing that never imports pyplot cannot leave anything open."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set(pyplot.get_fignums()) if pyplot else set()


def close(figure: Figure | int) -> None:
    """Close a figure, or the one of this number, if pyplot knows it."""
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close(figure)


def _refuse_forgotten(numbers: set[int], picture: Picture) -> None:
    if forgotten := numbers - {getattr(figure, "number", None) for figure in picture.figures}:
        raise ValueError(f"{len(forgotten)} figure(s) left open in pyplot; return the figure, or close it.")


def _name(draw: Callable[..., Any]) -> str:
    name: str = getattr(draw, "__name__", type(draw).__name__)
    return name
