"""Where the time went: one bar for each case, parted by fate."""

from collections.abc import Mapping

import numpy as np

from sgdrace._arguments import shown
from sgdrace.figures.canvas import LINE, SMALL, WIDTH, Paper, percent
from sgdrace.figures.colors import DARK, INK, WORK
from sgdrace.figures.labels import text_width
from sgdrace.figures.picture import Picture
from sgdrace.jobs import FATES, Jobs
from sgdrace.race import Race, Utilization

PITCH = 32.0
BAR = 22.0
WIDEST = 140.0  # a name may take this much of the width
LEAST = 0.005  # a smaller share is not seen, so it is not named either

Shares = Mapping[str, float] | Race | Jobs | Utilization


def shares(cases: Mapping[str, Shares]) -> Picture:
    """Shares of the learners' time, by fate, for each named case.

    A case is a `Race` or its `Utilization`, of which the mean over replicas is drawn, the `Jobs` of one
    replica, or a mapping from fates to shares that add up to 1, as `Jobs.shares` gives.

    >>> shares({"P = 2": {"used fresh": 0.75, "idle": 0.25}}).text
    "Shares of the learners' time: P = 2, 75 % used fresh, 25 % idle."
    """
    checked = _checked(cases)
    left = 12.0 + max(text_width(name) for name in checked)
    names = {fate: fate for fate in FATES if any(parts[fate] >= LEAST for parts in checked.values())}
    widths = [text_width(name, SMALL) + 34 for name in names.values()]
    wide = sum(widths) > WIDTH
    paper = Paper(len(checked) * PITCH + 24 + LINE * wide)
    for row, (name, parts) in enumerate(checked.items()):
        middle = (row + 0.5) * PITCH
        paper.write(left - 8, middle, name, anchor="right", middle=True)
        _bar(paper, parts, left, middle)
    if wide:  # then the key has two lines
        paper.key(paper.height - 9 - LINE, [*names.items()], (24, 144, 250), even=True)
    else:
        begin = max(2.0, min(left, WIDTH - sum(widths)))
        columns = begin + np.cumsum([0.0, *widths[:-1]])
        paper.key(paper.height - 9, [*names.items()], columns.tolist(), even=True)
    return Picture(paper.figure, _describe(checked))


def _describe(cases: Mapping[str, dict[str, float]]) -> str:
    words = (
        f"{name}, {', '.join(f'{percent(share)} {fate}' for fate, share in parts.items() if share >= LEAST)}"
        for name, parts in cases.items()
    )
    return f"Shares of the learners' time: {'; '.join(words)}."


def _bar(paper: Paper, parts: dict[str, float], left: float, middle: float) -> None:
    """One bar; a part says its share, without the percent sign where that has no room."""
    whole, x = WIDTH - 8 - left, left
    for fate, share in parts.items():
        width, shade = share * whole, WORK[fate]
        if width > 0:  # a thin bar would be taken for a small share, so here all are equally thick
            paper.bar([x], [x + width], [middle], fate, BAR / shade.share)
        digits = f"{100 * share:.0f}"
        words = next((word for word in (percent(share), digits) if width > text_width(word, SMALL) + 3), "")
        if words:
            color = INK if shade.color == INK else DARK
            paper.write(x + width / 2, middle, words, SMALL, "center", middle=True, color=color)
        x += width


def _checked(cases: Mapping[str, Shares]) -> dict[str, dict[str, float]]:
    if not isinstance(cases, Mapping) or not cases:
        raise TypeError(f"cases must be a mapping from names to shares, not empty; got {shown(cases)}.")
    longest = max(cases, key=text_width)
    if text_width(longest) > WIDEST:
        raise ValueError(f"the name {longest!r} is too long to stand beside its bar on a phone.")
    return {name: _parts(name, case) for name, case in cases.items()}


def _parts(name: str, case: Shares) -> dict[str, float]:
    if isinstance(case, Race):
        case = case.utilization()
    if isinstance(case, Utilization):
        case = {fate: float(np.mean(getattr(case, fate.replace(" ", "_")))) for fate in FATES}
    elif isinstance(case, Jobs):
        case = case.shares()
    if unknown := set(case) - set(FATES):
        raise ValueError(f"the fates of time are {', '.join(FATES)}; {name!r} has {min(unknown)!r}.")
    parts = {fate: float(case.get(fate, 0.0)) for fate in FATES}
    if not (min(parts.values()) >= -1e-9 and abs(sum(parts.values()) - 1) < 1e-6):
        raise ValueError(f"the shares of {name!r} must be at least 0 and add up to 1; got {shown(case)}.")
    return {fate: max(share, 0.0) for fate, share in parts.items()}
