"""A glimpse of a race: rows of bars without axis and key, so small that three stand side by side.

Knows jobs; what the bars mean is said by a caption (`sgdrace.explore.panels`).
"""

from collections.abc import Sequence

import numpy as np

from sgdrace._arguments import real, shown
from sgdrace.figures.canvas import WIDTH, Paper, Scale
from sgdrace.figures.labels import text_width
from sgdrace.figures.picture import Picture
from sgdrace.figures.timelines import checked_races, common_end, describe, draw_bars
from sgdrace.jobs import Jobs
from sgdrace.race import Race

HEIGHT = 92.0
GAP = 12.0  # between two races
NAME = 17.0  # size of a name: the picture is shown at two thirds of its width
TICK = 3.0  # by which the line of an update stands out of the rows


def glimpse(
    races: Race | Jobs | Sequence[Race | Jobs],
    until: float,
    now: float | None = None,
    names: Sequence[str] = (),
) -> Picture:
    """What the learners of one race, or of two with their names, did until `now`, on paper until `until`.

    Frames of a story that share `until` have one scale of time. An upright line is an update.

    >>> glimpse(Jobs.of_rounds([[1.0, 2.0], [2.0, 1.0]]), until=4, now=3).text
    "K-sync, P = 2, K = 2, until time 3 s: 1 update; of the learners' time, 67 % was used fresh, 17 % was
     idle, 17 % is still running."
    """
    many = checked_races(races)
    end = common_end(many, until)
    moment = end if now is None else min(real("now", now, above=0), end)
    if names and len(names) != len(many):
        raise ValueError(f"names must be one for each of {len(many)} races; got {shown(names)}.")
    room = max((text_width(name, NAME) + 10 for name in names), default=0.0)
    height = (HEIGHT - GAP * (len(many) - 1)) / len(many)
    paper, time = Paper(HEIGHT), Scale(0.0, end, round(room) + 2, WIDTH - 2)
    for number, jobs in enumerate(many):
        top = number * (height + GAP)
        if names:
            paper.write(0, top + height / 2, names[number], NAME, middle=True, bold=True)
        draw_bars(paper, [jobs], [top + TICK], time, (height - 2 * TICK) / jobs.P, moment)
        x = np.rint(time(jobs.updates[jobs.updates <= moment]))
        paper.segments(x, x, top, top + height, width=2.0)
    return Picture(paper.figure, " ".join(describe(jobs, moment, "s") for jobs in many))
