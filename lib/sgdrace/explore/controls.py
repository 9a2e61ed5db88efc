"""Sliders, buttons and menus: what a reader can choose. Knows widgets; nothing of pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import ipywidgets as widgets

_GREEK = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η"},
    **{"theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "rho": "ρ", "sigma": "σ"},
    **{"tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "sigma2": "σ²"},
}
_FEW_BUTTONS, _SHORT_LABELS = 5, 48  # more options, or longer names in all, become a menu


@dataclass(frozen=True)
class Choice:
    """Options of a control where a plain list does not say enough.

    >>> Choice([1, 2, 4, 8], start=4, label="K, gradients per update").start
    4
    """

    options: Sequence[Any] | Mapping[Any, Any]
    start: Any = None  # the option shown first; the first one unless told
    label: str | None = None  # the argument's name unless told


@dataclass(frozen=True)
class Play(Choice):
    """Options that a Play button runs through, one every `interval` milliseconds.

    >>> Play(range(40), interval=100).interval
    100
    """

    interval: int = 200


@dataclass(frozen=True)
class Control:
    """A named list of values; widgets are made later, when everything is known to be drawable."""

    name: str
    label: str
    values: list[Any]
    labels: list[str]
    start: int
    slider: bool
    interval: int | None  # of its Play button

    def picker(self) -> Any:
        """The widget whose `index` is the position of the value."""
        common = {"description": self.label, "options": self.labels, "index": self.start}
        fit = {"description_width": "initial"}
        if self.slider:
            layout = widgets.Layout(width="100%", max_width="30rem")
            return widgets.SelectionSlider(**common, style=fit, layout=layout)
        layout = widgets.Layout(width="auto", max_width="100%")
        if len(self.labels) <= _FEW_BUTTONS and sum(map(len, self.labels)) <= _SHORT_LABELS:
            return widgets.ToggleButtons(**common, style=fit | {"button_width": "auto"}, layout=layout)
        return widgets.Dropdown(**common, style=fit, layout=layout)

    def row(self, picker: Any) -> Any:
        """What a reader sees of the control: its picker, with a Play button where it has one."""
        if self.interval is None:
            return picker
        last = len(self.labels) - 1
        play = widgets.Play(min=0, max=last, value=self.start, interval=self.interval, show_repeat=False)
        widgets.jslink((play, "value"), (picker, "index"))
        row = widgets.HBox([play, picker])
        row.add_class("explorer-play")
        return row


def control_of(name: str, given: Any) -> Control:
    """The control of an argument: what `explore` was given for it, checked."""
    choice = given if isinstance(given, Choice) else Choice(given)
    values, labels = _values_and_labels(name, choice.options)
    interval = choice.interval if isinstance(choice, Play) else None
    slider = interval is not None or _are_ordered(list(choice.options))
    start = _position(name, choice.start, values, labels)
    return Control(name, choice.label or _in_unicode(name), values, labels, start, slider, interval)


def _values_and_labels(name: str, options: Any) -> tuple[list[Any], list[str]]:
    if isinstance(options, str) or not isinstance(options, Sequence | Mapping):
        raise TypeError(
            f"The control {name} needs a list of options or a mapping from names to values; got {options!r}."
        )
    if len(options) < 2:
        raise ValueError(
            f"The control {name} has {'only one option' if options else 'no option'}; a reader needs two or "
            "more to choose from. Fix the value inside the drawing function instead."
        )
    labels = [_option_label(name, option) for option in options]
    if len(set(labels)) < len(labels):
        raise ValueError(f"The control {name} shows two options under the same label: {', '.join(labels)}.")
    return list(options.values()) if isinstance(options, Mapping) else list(options), labels


def _option_label(name: str, option: Any) -> str:
    if isinstance(option, str):
        return option
    if isinstance(option, bool):
        return "yes" if option else "no"
    if isinstance(option, Integral):
        return f"{int(option):,}"
    if isinstance(option, Real):
        return f"{option:g}"
    raise TypeError(
        f"The control {name} offers {option!r}, which has no label; use a mapping from names to values."
    )


def _are_ordered(options: list[Any]) -> bool:
    """Numbers that only go up, or only down, belong on a slider; anything else is a choice between names."""
    if not all(isinstance(option, Real) and not isinstance(option, bool) for option in options):
        return False
    return options in (sorted(options), sorted(options, reverse=True))


def _position(name: str, start: Any, values: list[Any], labels: list[str]) -> int:
    if start is None:
        return 0
    for options in (labels, values):
        if start in options:
            return options.index(start)
    raise ValueError(f"The control {name} cannot start at {start!r}; its options are {', '.join(labels)}.")


def _in_unicode(name: str) -> str:
    """The label of an argument, in Unicode because labels of widgets are not typeset.

    >>> [_in_unicode(name) for name in ("K", "eta", "eta_max", "sigma2", "time_budget")]
    ['K', 'η', 'η max', 'σ²', 'time budget']
    """
    return " ".join(_GREEK.get(word, word) for word in name.split("_"))
