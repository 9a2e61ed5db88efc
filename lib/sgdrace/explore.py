"""Controls around a drawing, with or without a kernel.  Knows widgets and frames, not what is drawn.

`explore` puts sliders and buttons around a drawing function, `predict` asks the reader for an answer first,
`show` is a figure that does not move, and `glue` names a number for the prose.

A live kernel draws a frame when the reader asks for it.  When the book is built (the environment variable
`SGDRACE_PRERENDER` is set) there will be no kernel later, so every frame is drawn at once, and the browser
alone switches between them: the `index` of each control is linked to the `selected_index` of nested stacks.
"""

from __future__ import annotations

import itertools
import math
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from html import escape
from numbers import Integral, Real
from typing import Any

from sgdrace._extras import extra

with extra("explore", what="sgdrace.explore"):
    import ipywidgets as widgets
    from IPython.display import display
    from matplotlib.figure import Figure

from sgdrace.figures import STYLE, to_svg

MOST_FRAMES = 400
MOST_BYTES = 3_000_000
PRERENDER = "SGDRACE_PRERENDER"  # set while the book is built, and then only

Values = dict[str, Any]
State = tuple[int, ...]  # one position per control


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


class Shown:
    """What a cell of the book shows: a widget, its stand-in on a page without scripts, and a line of text."""

    def __init__(
        self,
        text: str,
        html: str,
        widget: Any = None,
        facts: Mapping[str, Any] | None = None,
        drawing: _Drawing | None = None,
    ):
        self.text = text
        self.html = html
        self.widget = widget
        self.facts = dict(facts or {})
        self.drawing = drawing  # what draws the frames of an explorer, also those that nobody asked for yet

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[Values, Values]:
        """The line of text is what git stores and nbval compares; HTML is only for the built page."""
        data: Values = {} if self.widget is None else self.widget._repr_mimebundle_()
        data["text/plain"] = self.text
        if _prerendering():
            data["text/html"] = self.html
        return data, {"explorer": self.facts} if self.facts else {}


def explore(draw: Callable[..., Any], describe: Callable[..., str] | None = None, **controls: Any) -> Shown:
    """Put controls around `draw`, which returns a Figure (or a list of them) for one value of each control.

    A control is a list of numbers (slider), a list of names or a mapping from names to values (buttons or a
    menu), a `Choice` or a `Play`.  `describe` takes the same arguments and returns the frame's text
    alternative; `draw` may instead return the pair (figure, text), or have a twin `describe_<its name>`
    beside it.  For a state that has no picture, `draw` returns a sentence that says why.

    >>> from matplotlib.figure import Figure
    >>> def parabola(a):
    ...     figure = Figure(figsize=(2, 1))
    ...     _ = figure.subplots().plot([-1, 0, 1], [a, 0, a])
    ...     return figure, f"A parabola that reaches {a}."
    >>> explore(parabola, a=[1, 2, 3])
    Explorer(a: 3 options). A parabola that reaches 1.
    """
    drawing = _Drawing(draw, describe or _twin(draw), [_choice(it) for it in controls.items()])
    if drawing.count > MOST_FRAMES:
        sizes = " × ".join(str(len(control.values)) for control in drawing.controls)
        raise ValueError(
            f"{drawing.name} has {sizes} = {drawing.count:,} frames; at most {MOST_FRAMES} fit on a page. "
            "Offer fewer options, or fewer controls."
        )
    return _prerendered(drawing) if _prerendering() else _live(drawing)


def predict(question: str, options: Sequence[str], answer: str, why: str | Mapping[str, str]) -> Shown:
    """Ask before showing: the reader picks one of the options, and the page says whether and why.

    `why` is one explanation for all options, or a mapping from each option to its own.

    >>> predict("How long is a round?", ["1 s", "2.7 s"], answer="2.7 s", why="The average learner waits.")
    Predict: How long is a round? (1 s / 2.7 s)
    """
    _check_prediction(question, options, answer, why)
    feedback = [_feedback(option, answer, why) for option in options]
    wide = widgets.Layout(width="100%")
    # Questions are long, and a widget's own description is one line: so the question is a paragraph.
    asked = widgets.HTML(f"<p>{escape(question)}</p>", layout=wide)
    picked = widgets.RadioButtons(options=list(options), index=None, layout=widgets.Layout(width="auto"))
    said = widgets.Stack([widgets.HTML(text, layout=wide) for text in feedback], selected_index=None)
    said.add_class("predict-answer")
    widgets.jslink((picked, "index"), (said, "selected_index"))
    box = widgets.VBox([asked, picked, said], layout=wide)
    box.add_class("predict")
    text = f"Predict: {question} ({' / '.join(options)})"
    return Shown(text, _prediction_on_paper(question, options, feedback[list(options).index(answer)]), box)


def show(figures: Figure | Sequence[Figure], text: str) -> Shown:
    """A figure, or several side by side, with the text alternative that says what it shows.

    >>> from matplotlib.figure import Figure
    >>> show(Figure(figsize=(2, 1)), "An empty sheet.")
    Figure. An empty sheet.
    """
    html = to_svg(figures, text)
    for figure in [figures] if isinstance(figures, Figure) else figures:
        _close(figure)  # or the notebook shows what pyplot made a second time
    widget = None if _prerendering() else widgets.VBox([_style_sheet(), widgets.HTML(html)])
    return Shown(f"Figure. {text}", _on_paper(html), widget)


def glue(name: str, value: object) -> None:
    """Name a computed value for the prose, which writes it as {glue:text}`name` or {glue:text}`name:.2f`.

    The same record as `myst_nb.glue(..., display=False)`, without needing the book's tools in a live kernel.
    """
    prefix = "application/papermill.record/"
    plain = value.item() if hasattr(value, "item") else value  # 2.72, not np.float64(2.72)
    if isinstance(plain, float):
        plain = float(f"{plain:.12g}")  # the last digits differ between machines, and nbval would see them
    metadata = {"scrapbook": {"name": name, "mime_prefix": prefix}}
    record = {prefix + "text/plain": repr(plain)}
    display(record, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]


# Controls

_GREEK = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η"},
    **{"theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "rho": "ρ", "sigma": "σ"},
    **{"tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "sigma2": "σ²"},
}
_FEW_BUTTONS, _SHORT_LABELS = 5, 48  # more options, or longer names in all, become a menu


@dataclass(frozen=True)
class _Control:
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


def _choice(item: tuple[str, Any]) -> _Control:
    name, given = item
    choice = given if isinstance(given, Choice) else Choice(given)
    values, labels = _values_and_labels(name, choice.options)
    interval = choice.interval if isinstance(choice, Play) else None
    slider = interval is not None or _are_ordered(list(choice.options))
    start = _position(name, choice.start, values, labels)
    return _Control(name, choice.label or _in_unicode(name), values, labels, start, slider, interval)


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


# Frames


@dataclass(frozen=True)
class _Drawing:
    """A drawing function with its controls: what to draw for which state."""

    draw: Callable[..., Any]
    describe: Callable[..., str] | None
    controls: list[_Control]

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

    def frame(self, state: State) -> tuple[str, str]:
        """The HTML of one frame, and its text alternative."""
        values = {control.name: control.values[i] for control, i in zip(self.controls, state, strict=True)}
        before = _open_figures()
        try:
            made = self.draw(**values)
            if isinstance(made, str):
                return f'<p class="explorer-note">{escape(made)}</p>', made
            figures, text = self._with_text(made, values)
            _refuse_forgotten(_open_figures() - before, figures)
            return to_svg(figures, text), text
        except Exception as error:
            # One string, so that the message survives the way from a worker process.
            message = f"{self.name} fails at {self.words(state)}: {type(error).__name__}: {error}"
            raise RuntimeError(message) from error
        finally:
            for number in _open_figures() - before:  # or the notebook shows them a second time
                _close(number)

    def _with_text(self, made: Any, values: Values) -> tuple[Any, str]:
        if isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], str):
            return made
        if self.describe is None:
            raise TypeError("the frame has no text alternative; pass describe, or return (figure, text).")
        return made, self.describe(**values)


def _open_figures() -> set[int]:
    """The numbers of pyplot's figures; a drawing that never imports pyplot cannot leave anything open."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set(pyplot.get_fignums()) if pyplot else set()


def _close(figure: Figure | int) -> None:
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close(figure)


def _refuse_forgotten(numbers: set[int], figures: Any) -> None:
    row = figures if isinstance(figures, list | tuple) else [figures]
    if forgotten := numbers - {getattr(figure, "number", None) for figure in row}:
        raise ValueError(f"{len(forgotten)} figure(s) left open in pyplot; return the figure, or close it.")


def _twin(draw: Callable[..., Any]) -> Callable[..., str] | None:
    """The function describe_<name> that stands beside draw, if there is one."""
    twin: Callable[..., str] | None = getattr(draw, "__globals__", {}).get(f"describe_{_name(draw)}")
    return twin


def _name(draw: Callable[..., Any]) -> str:
    name: str = getattr(draw, "__name__", type(draw).__name__)
    return name


# With a live kernel


def _live(drawing: _Drawing) -> Shown:
    """One leaf that the kernel fills: lighter for a notebook than a widget per frame, and no flicker."""
    frames = {drawing.start: drawing.frame(drawing.start)}  # before any widget: an error leaves none behind
    html, text = frames[drawing.start]
    leaf = widgets.HTML(html, layout=widgets.Layout(width="100%"))
    pickers = [control.picker() for control in drawing.controls]

    def update(_change: object) -> None:
        state = tuple(picker.index for picker in pickers)
        try:
            frames[state] = frames.get(state) or drawing.frame(state)
            leaf.value = frames[state][0]
        except RuntimeError as error:  # raised here, it would only reach a log that no reader opens
            leaf.value = f'<p class="explorer-note">{escape(str(error))}</p>'

    for picker in pickers:
        picker.observe(update, "index")
    box = _box(drawing, pickers, _style_sheet(), leaf)
    return Shown(_text(drawing, text), _on_paper(html), box, drawing=drawing)


# For a page without a kernel

_WORTH_A_POOL = 8  # frames below which starting processes costs more than it saves


def _prerendered(drawing: _Drawing) -> Shown:
    began = time.perf_counter()
    frames, seconds = _draw_all(drawing)
    sizes = {state: len(html.encode()) for state, (html, _) in frames.items()}
    _check_size(drawing, sizes)
    slowest = max(seconds, key=seconds.__getitem__)
    facts = {
        "name": drawing.name,
        "frames": len(frames),
        "bytes": sum(sizes.values()),
        "seconds": round(time.perf_counter() - began, 3),
        "slowest": drawing.words(slowest),
        "slowest_seconds": round(seconds[slowest], 3),
    }
    html, text = frames[drawing.start]
    pickers = [control.picker() for control in drawing.controls]
    wide, style = widgets.Layout(width="100%"), widgets.HTML().style  # shared: two models, not two per frame
    leaves = {state: widgets.HTML(frame, layout=wide, style=style) for state, (frame, _) in frames.items()}
    stack = _stacked(pickers, leaves, (), wide)
    return Shown(_text(drawing, text), _on_paper(html), _box(drawing, pickers, stack), facts, drawing)


def _check_size(drawing: _Drawing, sizes: Mapping[State, int]) -> None:
    total = sum(sizes.values())
    if total > MOST_BYTES:
        largest = drawing.words(max(sizes, key=sizes.__getitem__))
        raise ValueError(
            f"{drawing.name} needs {total / 1e6:.2f} MB for its {len(sizes)} frames, "
            f"{(total - MOST_BYTES) / 1e6:.2f} MB over the limit of {MOST_BYTES / 1e6:g} MB. "
            f"Draw with fewer points, or offer fewer options; the largest frame is {largest}."
        )


def _stacked(pickers: list[Any], leaves: Mapping[State, Any], prefix: State, wide: Any) -> Any:
    """A stack for each control that is still open after this beginning of a state, or the leaf at its end."""
    if len(prefix) == len(pickers):
        return leaves[prefix]
    picker = pickers[len(prefix)]
    children = [_stacked(pickers, leaves, (*prefix, i), wide) for i in range(len(picker.options))]
    stack = widgets.Stack(children, selected_index=picker.index, layout=wide)
    widgets.jslink((picker, "index"), (stack, "selected_index"))
    return stack


_Timed = tuple[tuple[str, str], float]  # a frame with its text, and the seconds it took


def _draw_all(drawing: _Drawing) -> tuple[dict[State, tuple[str, str]], dict[State, float]]:
    """Every frame and the seconds it took, on all cores where processes can be forked."""
    states = list(drawing.states())
    first = _timed(drawing, states[0])  # alone, so that imports and caches are warm in every worker
    drawn = _in_processes(drawing, states[1:]) if len(states) >= _WORTH_A_POOL else None
    if drawn is None:
        drawn = [_timed(drawing, state) for state in states[1:]]
    results = dict(zip(states, [first, *drawn], strict=True))
    return {s: frame for s, (frame, _) in results.items()}, {s: spent for s, (_, spent) in results.items()}


def _timed(drawing: _Drawing, state: State) -> _Timed:
    began = time.perf_counter()
    return drawing.frame(state), time.perf_counter() - began


_inherited: list[_Drawing] = []  # how workers get a drawing: a notebook's functions can't be pickled


def _timed_in_worker(state: State) -> _Timed:
    return _timed(_inherited[-1], state)


def _in_processes(drawing: _Drawing, states: list[State]) -> list[_Timed] | None:
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


# What both share


def _prerendering() -> bool:
    return bool(os.environ.get(PRERENDER))


def _text(drawing: _Drawing, text: str) -> str:
    sizes = ", ".join(f"{control.name}: {len(control.values)} options" for control in drawing.controls)
    return f"Explorer({sizes}). {text}"


def _box(drawing: _Drawing, pickers: list[Any], *frames: Any) -> Any:
    rows = [
        picker if control.interval is None else _with_play(picker, control.interval)
        for control, picker in zip(drawing.controls, pickers, strict=True)
    ]
    parts = {"explorer-controls": widgets.VBox(rows), "explorer-frames": widgets.VBox(list(frames))}
    for name, part in parts.items():
        part.add_class(name)
    box = widgets.VBox(list(parts.values()), layout=widgets.Layout(width="100%"))
    box.add_class("explorer")
    return box


def _with_play(picker: Any, interval: int) -> Any:
    last = len(picker.options) - 1
    play = widgets.Play(min=0, max=last, value=picker.index, interval=interval, show_repeat=False)
    widgets.jslink((play, "value"), (picker, "index"))
    row = widgets.HBox([play, picker])
    row.add_class("explorer-play")
    return row


def _style_sheet() -> Any:
    """The figures' style sheet, for a live notebook; the built site has it already."""
    return widgets.HTML(f"<style>{STYLE}</style>", layout=widgets.Layout(display="none"))


def _on_paper(html: str) -> str:
    return f'<div class="explorer">{html}</div>'


# Predictions


def _check_prediction(
    question: str, options: Sequence[str], answer: str, why: str | Mapping[str, str]
) -> None:
    if isinstance(options, str) or len(options) < 2 or len(set(options)) < len(options):
        raise ValueError(f"predict({question!r}) needs two or more different options; got {options!r}.")
    if answer not in options:
        raise ValueError(f"predict({question!r}) has the answer {answer!r}, which is none of {options!r}.")
    if not isinstance(why, str) and set(why) != set(options):
        raise ValueError(f"predict({question!r}) needs a reason for each of {options!r}; got {list(why)}.")


def _feedback(option: str, answer: str, why: str | Mapping[str, str]) -> str:
    right = option == answer
    verdict = f"Yes: {answer}." if right else f"No: {answer}."
    reason = why if isinstance(why, str) else why[option]
    kind = "right" if right else "wrong"
    return f'<p class="predict-{kind}"><strong>{escape(verdict)}</strong> {escape(reason)}</p>'


def _prediction_on_paper(question: str, options: Sequence[str], right: str) -> str:
    """Without scripts the reader unfolds the answer."""
    items = "".join(f"<li>{escape(option)}</li>" for option in options)
    return (
        f'<div class="predict"><p>{escape(question)}</p><ul>{items}</ul>'
        f"<details><summary>Answer</summary>{right}</details></div>"
    )
