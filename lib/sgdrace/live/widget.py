"""The race in a notebook: a widget beside a kernel, and what the built page mounts without one."""

import json
from html import escape
from typing import Any

import anywidget
import traitlets

from sgdrace._arguments import count, one_of, real, reals
from sgdrace.explore.shown import on_paper, prerendering
from sgdrace.figures import to_svg
from sgdrace.live.facts import FIRST, LAWS, LEARNING_RATES, MOST_LEARNERS
from sgdrace.live.script import module
from sgdrace.live.still import still

MOST_SEED = 2**31


class LiveRace(anywidget.AnyWidget):
    """Four protocols race in the browser of whoever looks at it; the traits follow the reader's controls.

    `law` is one of `sgdrace.live.LAWS`, and `parameter` its one number, if it has one. `times` are step times
    for the law "pasted". Learners beyond P are not waited for: if P falls below K, K falls too.

    >>> LiveRace(P=16, K=4, law="lomax")
    LiveRace(P=16, K=4, law='lomax', parameter=2.5, learning_rate=0.25, seed=1)
    >>> LiveRace(P=4, K=9)
    Traceback (most recent call last):
    ValueError: K must be between 1 and 4; got 9.
    """

    _esm = module()
    P = traitlets.Any(FIRST["P"]).tag(sync=True)
    K = traitlets.Any(FIRST["K"]).tag(sync=True)
    law = traitlets.Any(FIRST["law"]).tag(sync=True)
    parameter = traitlets.Any(None, allow_none=True).tag(sync=True)
    learning_rate = traitlets.Any(FIRST["eta"]).tag(sync=True)
    seed = traitlets.Any(FIRST["seed"]).tag(sync=True)
    times = traitlets.Any(()).tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        unknown = set(traits) - {"P", "K", "law", "parameter", "learning_rate", "seed", "times"}
        if unknown:
            raise TypeError(f"LiveRace has no setting {min(unknown)}.")
        super().__init__(**traits)
        if self.parameter is None:
            self.parameter = _first(self.law)

    def __repr__(self) -> str:
        words = ("P", "K", "law", "parameter", "learning_rate", "seed")
        return f"LiveRace({', '.join(f'{name}={getattr(self, name)!r}' for name in words)})"

    def open(self) -> None:
        """Speak to the browser, unless the book is built: the page then has the script without a kernel."""
        if not prerendering():
            super().open()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data: dict[str, Any] = {"text/plain": repr(self)}
        if prerendering():
            data["text/html"] = self.html()
        else:
            shown = super()._repr_mimebundle_(**kwargs)
            data = (shown[0] if isinstance(shown, tuple) else shown or {}) | data
        return data, {}

    def html(self) -> str:
        """What a page mounts a race in, with a picture for readers without scripts."""
        setting = {name: getattr(self, name) for name in ("P", "K", "law", "parameter", "seed")}
        setting["eta"] = self.learning_rate
        if self.times:
            setting["times"] = self.times
        picture = on_paper(to_svg(still(setting)), moves=True)
        return f'<div data-race="{escape(json.dumps(setting))}"></div><noscript>{picture}</noscript>'

    @traitlets.validate("P")
    def _learners(self, proposal: Any) -> int:
        return count("P", proposal.value, 2, MOST_LEARNERS)

    @traitlets.validate("K")
    def _per_update(self, proposal: Any) -> int:
        return count("K", proposal.value, 1, self.P)

    @traitlets.validate("law")
    def _known(self, proposal: Any) -> str:
        return one_of("law", proposal.value, tuple(LAWS))

    @traitlets.validate("parameter")
    def _in_range(self, proposal: Any) -> float | None:
        slider = LAWS[self.law].parameter
        if slider is None or proposal.value is None:
            return _first(self.law)
        return real("parameter", proposal.value, slider.low, slider.high, closed=True)

    @traitlets.validate("learning_rate")
    def _step(self, proposal: Any) -> float:
        return real("learning_rate", proposal.value, *LEARNING_RATES, closed=True)

    @traitlets.validate("seed")
    def _luck(self, proposal: Any) -> int:
        return count("seed", proposal.value, 0, MOST_SEED)

    @traitlets.validate("times")
    def _positive(self, proposal: Any) -> list[float]:
        return reals("times", proposal.value, above=0).tolist() if len(proposal.value) else []

    @traitlets.observe("P")
    def _fewer(self, change: Any) -> None:
        self.K = min(self.K, change.new)

    @traitlets.observe("law")
    def _another(self, change: Any) -> None:
        slider = LAWS[change.new].parameter
        if slider is None or self.parameter is None or not slider.low <= self.parameter <= slider.high:
            self.parameter = _first(change.new)


def _first(law: str) -> float | None:
    slider = LAWS[law].parameter
    return slider.first if slider else None
