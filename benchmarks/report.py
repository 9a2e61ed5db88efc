"""The measurements in words, and as a picture for the book: ratios, and which aims they meet."""

import math
from pathlib import Path
from typing import Any

from benchmarks.measure import LAWS, Row
from sgdrace import VARIANTS

INK = "#777777"  # legible on white and on black

HEAP, SIMPY, DETAIL = "heap/sgdrace", "simpy/sgdrace", "heap/detail"
COLUMNS = (HEAP, SIMPY, "sgdrace/draws", DETAIL, "simpy/detail", "detail/draws")
LEAST = {"K-sync": 20, "K-async": 20, "K-batch-sync": 10, "K-batch-async": 10}  # times the heap loop
LEAST_SIMPY = 100
LEAST_DETAIL, LEAST_DETAIL_FEW = 5, 3  # times the heap loop, of many learners and of 8
MOST = {"least squares": 2.5, "logistic regression": 4.0}  # times one matrix product
PANELS = {  # a title, and levels to mark
    HEAP: ("times as fast as the heap loop (aims: 20, batch 10)", (10, 20)),
    SIMPY: (f"times as fast as SimPy (aim: {LEAST_SIMPY})", (LEAST_SIMPY,)),
    DETAIL: (
        f"with detail, times as fast as the heap loop (aims: {LEAST_DETAIL}, P = 8: {LEAST_DETAIL_FEW})",
        (LEAST_DETAIL_FEW, LEAST_DETAIL),
    ),
}


def table_head() -> str:
    """Three lines above the rows of the table."""
    above = f"{'':46}{'without detail':^30}  {'with detail':^30}"
    over = f"{'':46}" + f"{'heap/':>10}{'SimPy/':>10}{'sgdrace/':>10}  " * 2
    under = (
        f"{'law':20} {'variant':14} {'P':>4} {'K':>5}" + f"{'sgdrace':>10}{'sgdrace':>10}{'draws':>10}  " * 2
    )
    return "\n".join(line.rstrip() for line in (above, over, under))


def table_row(row: Row) -> str:
    """One case: the baselines as multiples of sgdrace, and sgdrace as a multiple of the bare draws."""
    shown = [f"{number(row['ratios'][name]):>10}" for name in COLUMNS]
    case = f"{row['law']:20} {row['variant']:14} {row['P']:4} {row['K']:5}"
    return case + "".join(shown[:3]) + "  " + "".join(shown[3:])


def number(value: float) -> str:
    """Three digits at most matter in a ratio of times."""
    return f"{value:.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"


def aims(results: dict[str, Any]) -> list[Row]:
    """What was aimed at, whether it was met, and the worst case."""
    races = results["races"]
    few, many = ([row for row in races if (row["P"] >= 64) == large] for large in (False, True))
    found = []
    for variant, least in LEAST.items():
        own = [row for row in many if row["variant"] == variant]
        found.append(
            _at_least(
                own, HEAP, least, f"{variant}: at least {least} times the heap loop", "without detail, P ≥ 64"
            )
        )
    found.append(
        _at_least(
            many, SIMPY, LEAST_SIMPY, f"all: at least {LEAST_SIMPY} times SimPy", "without detail, P ≥ 64"
        )
    )
    for rows, least, size in ((few, LEAST_DETAIL_FEW, "P = 8"), (many, LEAST_DETAIL, "P ≥ 64")):
        if rows:
            words = f"all: at least {least} times the heap loop"
            found.append(_at_least(rows, DETAIL, least, words, f"with detail, {size}"))
    if results["scaling"]:
        worst = max(results["scaling"], key=lambda row: row["spread"])
        sizes = [int(P) for P in worst["seconds_per_round"]]
        words = f"K-sync: cost per round within a factor 2 from P = {min(sizes):,} to {max(sizes):,}"
        found.append(
            _verdict(words, worst["spread"], worst["spread"] <= 2, f"{worst['law']}, K = {worst['K']}")
        )
    if run := results["training"]:
        case = f"R·K = {run['replicas'] * run['K']}, d = {run['d']}, m = {run['m']}"
        for problem, most in MOST.items():
            words = f"training, {problem}: within {most:g} times the same operations in one matrix product"
            ratio = run["ratios"][problem]
            found.append(_verdict(words, ratio, ratio <= most, case))
    return found


def _at_least(counted: list[Row], ratio: str, least: float, aim: str, where: str) -> Row:
    worst = min(counted, key=lambda row: row["ratios"][ratio])
    case = f"{worst['law']}, {worst['variant']}, P = {worst['P']}, K = {worst['K']}"
    value = worst["ratios"][ratio]
    missed = sum(row["ratios"][ratio] < least for row in counted)
    verdict = _verdict(f"{aim}, {where}", value, missed == 0, case)
    return {**verdict, "cases": len(counted), "missed": missed}


def _verdict(aim: str, value: float, met: bool, worst: str) -> Row:
    return {"aim": aim, "met": met, "value": value, "worst": worst}


def aims_in_words(found: list[Row]) -> str:
    """One line for each aim."""
    lines = []
    for aim in found:
        share = f" ({aim['missed']} of {aim['cases']} cases miss it)" if aim.get("missed") else ""
        verdict = "met    " if aim["met"] else "NOT met"
        lines.append(f"{verdict} {aim['aim']}: worst {number(aim['value'])} ({aim['worst']}){share}")
    return "\n".join(lines)


def draw(races: list[Row], path: Path) -> None:
    """The speed-up against P, a column for each law: at each P that of the K with the least."""
    import matplotlib
    from matplotlib.figure import Figure

    laws = [law for law in LAWS if any(row["law"] == law for row in races)]
    with matplotlib.rc_context(_style()):
        figure = Figure(figsize=(4.06, 5.4))  # 390 CSS pixels wide
        axes = figure.subplots(len(PANELS), len(laws), sharex=True, sharey="row", squeeze=False)
        for (ratio, (title, levels)), line in zip(PANELS.items(), axes, strict=True):
            for law, ax in zip(laws, line, strict=True):
                _panel(ax, [row for row in races if row["law"] == law], ratio, levels)
            line[0].annotate(title, (0, 1.05), xycoords="axes fraction", weight="bold")
            _name_lines(line[-1])
        for law, ax in zip(laws, axes[0], strict=True):
            ax.annotate(law.replace(" ", "\n"), (0.5, 1.22), xycoords="axes fraction", ha="center")
        axes[-1][len(laws) // 2].set_xlabel("learners P")
        figure.subplots_adjust(left=0.1, right=0.79, top=0.89, bottom=0.08, hspace=0.24, wspace=0.12)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Without a date, the same numbers give the same file.
        figure.savefig(path, transparent=True, metadata={"Date": None} if path.suffix == ".svg" else None)


def _style() -> Any:
    inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    return {
        "svg.fonttype": "none",  # text stays text: it can be searched, selected and read aloud
        "svg.hashsalt": "performance",
        "font.family": "sans-serif",
        "font.size": 7.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
    } | dict.fromkeys(inked, INK)


def _panel(ax: Any, races: list[Row], ratio: str, levels: tuple[int, ...]) -> None:
    """One law: a line for each variant, and thin ones at the aims."""
    from sgdrace.figures import VARIANT

    for level in levels:
        ax.axhline(level, color=INK, linewidth=0.6)
    sizes = sorted({row["P"] for row in races})
    for variant in VARIANTS:
        mine = [row for row in races if row["variant"] == variant]
        least = [min(row["ratios"][ratio] for row in mine if row["P"] == P) for P in sizes]
        stroke = VARIANT[variant]
        style = "o-" if stroke.dash is None else "o--"
        ax.plot(sizes, least, style, color=stroke.color, label=variant, linewidth=1.3, markersize=2.5)
    ax.set(xscale="log", yscale="log", xticks=sizes, xticklabels=[str(P) for P in sizes])
    ax.set_xlim(sizes[0] / 1.6, sizes[-1] * 1.6)
    ax.yaxis.set_major_formatter(lambda y, _: f"{y:.0f}" if y < 1e4 else "10⁴" if y < 1e5 else "10⁵")
    ax.minorticks_off()


def _name_lines(ax: Any) -> None:
    """The variants at the right ends of their lines, moved apart where they would overlap."""
    lines = sorted((line for line in ax.get_lines() if line.get_label() in VARIANTS), key=_end)
    low, high = (math.log(y) for y in ax.get_ylim())
    heights = [(math.log(_end(line)) - low) / (high - low) for line in lines]
    for line, height in zip(lines, _apart(heights, gap=0.1), strict=True):
        place = {"xycoords": "axes fraction", "va": "center", "annotation_clip": False}
        ax.annotate(line.get_label(), (1.05, height), color=line.get_color(), **place)


def _end(line: Any) -> float:
    return float(line.get_ydata()[-1])


def _apart(heights: list[float], gap: float) -> list[float]:
    """Rising heights moved by as little as possible so that neighbors are at least a gap apart.

    Halfway between pushing up from the lowest and pushing down from the highest, both of which keep the gap.
    """
    up, down = heights[:], heights[:]
    for n in range(1, len(heights)):
        up[n] = max(up[n], up[n - 1] + gap)
        down[-1 - n] = min(down[-1 - n], down[-n] - gap)
    return [(a + b) / 2 for a, b in zip(up, down, strict=True)]
