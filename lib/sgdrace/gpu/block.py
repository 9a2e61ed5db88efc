"""One block of threads on paper: what its warps do to shared memory, and when, with barriers or without one.

Knows the phases of the gradients' kernel in `kernels.cu` and the order that its barriers keep; computes no
gradient. A warp reads when it begins a task and writes when it ends it, at a pace of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sgdrace._arguments import count, shown

PHASES = ("load", "multiply", "residual", "add up")
# What shared memory holds for a row: nothing yet, x·w, its residual, or what was made of something unfit.
EMPTY, PRODUCT, RESIDUAL, WRONG = "empty", "x·w", "residual", "wrong"


@dataclass(frozen=True)
class Task:
    """What a warp does from one time to another; `row` is the row of a product."""

    warp: int
    phase: str
    start: int
    end: int
    row: int | None = None


@dataclass(frozen=True)
class Block:
    """What became of a block of threads that made one gradient."""

    warps: int
    rows: int
    tasks: tuple[Task, ...]
    barriers: tuple[int, ...]  # when all were let through, one for each barrier that is there
    history: tuple[tuple[int, tuple[str, ...]], ...]  # what shared memory held for each row, since when
    right: tuple[bool, ...]  # of each warp, whether its part of the gradient came out right

    @property
    def end(self) -> int:
        """When the last warp is done."""
        return max(task.end for task in self.tasks)

    def held(self, time: int) -> tuple[str, ...]:
        """What shared memory holds for each row at a time."""
        return [rows for since, rows in self.history if since <= time][-1]


def run(paces: Sequence[int] = (1, 2, 2, 2), rows: int = 8, without: int | None = None) -> Block:
    """Let warps of these paces make one gradient on so many rows, `without` barrier 1, 2 or 3 or with all.

    All warps load weights and multiply rows, warp after warp. The residuals of up to 32 rows are the work of
    the first warp, whose threads have the first numbers. Then every warp adds up its part of the gradient.

    >>> run().right, run(without=2).right, run(paces=(2, 1, 1, 1), without=2).right
    ((True, True, True, True), (False, False, False, False), (True, True, True, True))
    """
    if not isinstance(paces, Sequence) or not paces:
        raise TypeError(f"paces must be a list of times, one for each warp; got {shown(paces)}.")
    paces = [count("a pace", pace) for pace in paces]
    rows = count("rows", rows, maximum=32)
    if without is not None:
        count("without", without, maximum=3)
    tasks, barriers, clocks = [], [], [0] * len(paces)
    for number, phase in enumerate(PHASES):
        if number and number != without:
            barriers.append(max(clocks))
            clocks = [max(clocks)] * len(paces)
        for warp, pace in enumerate(paces):
            for row in _rows(phase, warp, len(paces), rows):
                tasks.append(Task(warp, phase, clocks[warp], clocks[warp] + pace, row))
                clocks[warp] += pace
    history, right = _memory(tasks, len(paces), rows)
    return Block(len(paces), rows, tuple(tasks), tuple(barriers), history, right)


def _rows(phase: str, warp: int, warps: int, rows: int) -> Sequence[int | None]:
    """The rows of a warp's tasks in a phase, None for a task that is about no single row."""
    if phase == "multiply":
        return range(warp, rows, warps)
    return [None] if phase != "residual" or warp == 0 else []


def _memory(
    tasks: Sequence[Task], warps: int, rows: int
) -> tuple[tuple[tuple[int, tuple[str, ...]], ...], tuple[bool, ...]]:
    """What shared memory holds over time, and which parts of the gradient are right."""
    loaded, held = 0, [EMPTY] * rows
    history, read, right = [(0, tuple(held))], dict[Task, list[str]](), [False] * warps
    # At the same time, who writes comes before who reads: then a barrier is all that is needed.
    for time in sorted({time for task in tasks for time in (task.start, task.end)}):
        for task in (task for task in tasks if task.end == time):
            if task.phase == "load":
                loaded += 1
            elif task.phase == "multiply":
                held[task.row or 0] = read[task][0]
            elif task.phase == "residual":
                held = [RESIDUAL if row == PRODUCT else WRONG for row in read[task]]
        for task in (task for task in tasks if task.start == time):
            read[task] = [PRODUCT if loaded == warps else WRONG] if task.phase == "multiply" else [*held]
            if task.phase == "add up":
                right[task.warp] = all(row == RESIDUAL for row in held)
        history.append((time, tuple(held)))
    changed = [after for before, after in pairwise(history) if before[1] != after[1]]
    return (history[0], *changed), tuple(right)
