"""A block of threads at work: one row per warp, and below what shared memory holds for each row of data."""

from sgdrace._arguments import count, shown
from sgdrace.figures.canvas import LINE, SMALL, WIDTH, Paper, Plot, Scale, plural
from sgdrace.figures.colors import DARK, INK, INKS, LIGHT, PHASE, WORK
from sgdrace.figures.labels import text_width
from sgdrace.figures.picture import Picture
from sgdrace.gpu.block import EMPTY, PHASES, PRODUCT, RESIDUAL, WRONG, Block

LEFT, RIGHT = 56.0, WIDTH - 12.0
HEAD, PITCH, BAR = 26.0, 25.0, 18.0
SHORT = {"load": "load", "multiply": "x·w", "residual": "r", "add up": "add"}
CELL = {EMPTY: None, PRODUCT: PHASE["multiply"], RESIDUAL: PHASE["residual"], WRONG: PHASE["wrong"]}
MARK = {EMPTY: "", PRODUCT: "x·w", RESIDUAL: "r", WRONG: "✗"}


def warps(block: Block, time: int, until: int | None = None) -> Picture:
    """What the warps of a block have done up to a time, and what shared memory then holds for each row.

    Upright lines are barriers that let everybody through. `until` is where the axis ends.

    >>> from sgdrace.gpu.block import run
    >>> warps(run(without=2), time=5).text
    'After 5 of 8 steps, 4 warps: load done by 4, multiply by 1, residual by 1, add up by 0. Of 8 rows shared
    memory holds 5 residuals and 3 wrong numbers.'
    """
    if not isinstance(block, Block):
        raise TypeError(f"block must be a Block, as sgdrace.gpu.block.run makes it; got {shown(block)}.")
    time = count("time", time, minimum=0)
    end = count("until", block.end if until is None else until, minimum=block.end)
    foot = HEAD + PITCH * block.warps
    paper = Paper(foot + 124)
    area = Plot(paper, Scale(0, end, LEFT, RIGHT, whole=True), Scale(0, 1, foot, HEAD))
    paper.write(2, 13, _title(block, time), bold=True)
    _work(paper, area, block, time)
    area.x_axis("steps (one row per warp)")
    _memory(paper, block.held(time), foot + 64)
    return Picture(paper.figure, _describe(block, time))


def _work(paper: Paper, area: Plot, block: Block, time: int) -> None:
    for warp in range(block.warps):
        y = HEAD + PITCH * (warp + 0.5)
        paper.write(LEFT - 8, y, f"warp {warp}", SMALL, "right", middle=True)
        ends = [task.end for task in block.tasks if task.warp == warp]
        starts = [task.start for task in block.tasks if task.warp == warp]
        waits = [(a, min(b, time)) for a, b in zip(ends, starts[1:], strict=False) if a < min(b, time)]
        for begin, until in waits:
            paper.bar([area.x(begin)], [area.x(until)], [y], "idle", BAR / WORK["idle"].share / 3)
    for task in block.tasks:
        if task.start >= time:
            continue
        y, a, b = (
            HEAD + PITCH * (task.warp + 0.5),
            float(area.x(task.start)),
            float(area.x(min(task.end, time))),
        )
        look = PHASE[task.phase]
        paper.boxes([a + 0.7, y - BAR / 2, b - 0.7, y + BAR / 2], look.color, look.alpha)
        words = SHORT[task.phase]
        if b - a > text_width(words, SMALL) + 2:
            paper.write((a + b) / 2, y, words, SMALL, "center", middle=True, color=_ink(task.phase))
    for barrier in block.barriers:
        if barrier <= time:
            x = float(area.x(barrier))
            paper.line([x, x], [HEAD - 3, HEAD + PITCH * block.warps], INKS[0], 1.6)


def _memory(paper: Paper, held: tuple[str, ...], top: float) -> None:
    paper.write(2, top, "shared memory, one cell per row of data", SMALL)
    width = (RIGHT - LEFT) / len(held)
    for i, what in enumerate(held):
        a, b = LEFT + i * width, LEFT + (i + 1) * width
        look = CELL[what]
        if look is not None:
            paper.boxes([a + 1, top + 9, b - 1, top + 33], look.color, look.alpha)
        corners = [a + 1, a + 1, b - 1, b - 1, a + 1], [top + 9, top + 33, top + 33, top + 9, top + 9]
        paper.line(*corners, INKS[0], 0.8)
        if width > text_width(MARK[PRODUCT], SMALL) + 3 and MARK[what]:
            phase = {PRODUCT: "multiply", RESIDUAL: "residual"}.get(what, "wrong")
            paper.write((a + b) / 2, top + 21, MARK[what], SMALL, "center", middle=True, color=_ink(phase))
        if len(held) <= 16:
            paper.write((a + b) / 2, top + 33 + LINE - 2, f"{i}", SMALL, "center")


def _ink(phase: str) -> str:
    """The color of words on a phase's bar."""
    return {"load": INK, "add up": DARK}.get(phase, LIGHT)


def _title(block: Block, time: int) -> str:
    if time < block.end:
        return f"after {plural(time, 'step')}"
    wrong = block.right.count(False)
    return "the gradient is right" if not wrong else f"wrong: what {plural(wrong, 'warp')} added up"


def _describe(block: Block, time: int) -> str:
    done = []
    for phase in PHASES:
        left = {task.warp for task in block.tasks if task.phase == phase and task.end > time}
        some = {task.warp for task in block.tasks if task.phase == phase}
        done.append(f"{phase} {'done ' * (phase == 'load')}by {len(some - left)}")
    held = block.held(time)
    counts = [
        (held.count(EMPTY), "empty cell"),
        (held.count(PRODUCT), "product"),
        (held.count(RESIDUAL), "residual"),
        (held.count(WRONG), "wrong number"),
    ]
    words = " and ".join(plural(n, word) for n, word in counts if n)
    text = (
        f"After {min(time, block.end)} of {block.end} steps, {plural(block.warps, 'warp')}: "
        f"{', '.join(done)}. Of {len(held)} rows shared memory holds {words}."
    )
    if time >= block.end:
        text += f" In the end {_title(block, time)}."
    return text
