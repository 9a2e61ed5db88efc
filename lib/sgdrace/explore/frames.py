"""The frames of an explorer: a drawing function with its controls, drawn state by state. Knows no widgets."""

import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from matplotlib.figure import Figure

from sgdrace._arguments import shown
from sgdrace.explore.controls import Control
from sgdrace.figures import Picture, to_svg

State = tuple[int, ...]  # one position per control
Frame = tuple[str, str]  # its HTML, and its text alternative


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
            where = f"{self.name} fails at {self.words(state)}"
            raise RuntimeError(f"{where}: {type(error).__name__}: {error}") from error
        finally:
            for number in _open_figures() - before:  # or the notebook shows them a second time
                close(number)


def draw_all(drawing: Drawing) -> tuple[dict[State, Frame], dict[State, float]]:
    """Every frame, and the seconds of processor time that it took.

    One after another, so that whatever a frame computes and keeps is there for the next and for later cells.
    The other cores have other notebooks to run.
    """
    frames, seconds = {}, {}
    for state in drawing.states():
        began = time.thread_time()
        frames[state] = drawing.frame(state)
        seconds[state] = time.thread_time() - began
    return frames, seconds


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
