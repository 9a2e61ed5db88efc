"""Measure, print ratios, say which aims are met; `make bench` runs this."""

import argparse
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import against, measure, report

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "lib/sgdrace/data/benchmarks.json"  # the page on performance reads them, wherever it is run
PICTURE = ROOT / "book/_static/performance.svg"

EXPLANATION = """\
Process time per update, the best of {effort.least} to {effort.most} runs in which all programs take turns.
sgdrace plays 100 to 1,600 replicas, of 16 to 1,024 updates in the sync variants and of at least 4,096 pushes
and 16 updates in the async ones. The heap loop and SimPy play one race of as many updates as take about
30,000 and 8,000 numbers, at least 8P pushes in the async variants; their times come from a list drawn in
bulk. Bare draws are the numbers that an update needs without a shortcut, in one call.
The ratio to the draws is below 1 where sgdrace without detail has a shortcut.
"""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few small cases, to see that everything runs")
    parser.add_argument("--json", type=Path, help="where to save the results")
    parser.add_argument("--against", type=Path, help="compare with the package of this folder, and no more")
    parser.add_argument("--picture", type=Path, help="where to save the picture")
    asked = parser.parse_args()
    if asked.against:
        save(beside(asked.against, asked.quick), asked.json)
        return
    # A quick run is no measurement: it replaces the results only where it is told to.
    results = run(asked.quick)
    save(results, asked.json or (None if asked.quick else RESULTS))
    if picture := asked.picture or (None if asked.quick else PICTURE):
        report.draw(results["races"], picture)


def beside(lib: Path, quick: bool) -> dict[str, Any]:
    """Races and trainings of this package and of an older one in turn, printed as they come."""
    rows = []
    for row in against.compared(lib, quick, measure.QUICK if quick else measure.FULL):
        rows.append(row)
        print(against.in_words(row), flush=True)
    print(f"\n{against.summary(rows)}")
    return {"machine": machine(), "quick": quick, "against": rows}


def run(quick: bool) -> dict[str, Any]:
    """All measurements, printed as they come."""
    effort = measure.QUICK if quick else measure.FULL
    results: dict[str, Any] = {"machine": machine(), "quick": quick}
    results["memory"] = measure.memory(quick)
    print_memory(results["memory"])
    print(EXPLANATION.format(effort=effort))
    print(report.table_head())
    results["races"] = []
    for case in measure.cases(quick):
        results["races"].append(measure.race(case, effort))
        print(report.table_row(results["races"][-1]), flush=True)
    results["scaling"] = measure.scaling([100, 10_000] if quick else [10**n for n in range(2, 7)], effort)
    results["training"] = measure.training(updates=40 if quick else 100, effort=effort)
    results["aims"] = report.aims(results)
    print(f"\n{report.aims_in_words(results['aims'])}")
    if quick:
        print("This was a quick run: its ratios are no measurements.")
    return results


def print_memory(rows: list[measure.Row]) -> None:
    first = rows[0]
    print(
        f"Peak memory without detail, {first['replicas']:,} replicas of {first['updates']:,} updates, "
        f"P = {first['P']:,}, K = P/4, shifted exponential:"
    )
    for row in rows:
        print(
            f"  {row['variant']:14} {row['megabytes_peak']} MB, of which {row['megabytes_before']} MB before"
        )
    print(flush=True)


def machine() -> dict[str, Any]:
    """What the times depend on."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "date": datetime.now(UTC).date().isoformat(),
    }


def processor() -> str:
    """The model, which Linux tells in a file and others in `platform`."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def save(results: dict[str, Any], path: Path | None) -> None:
    """The results as JSON, with as many digits as a measurement has."""
    if path is not None:
        path.write_text(json.dumps(rounded(results), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def rounded(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.4g}")
        case dict():
            return {name: rounded(part) for name, part in value.items()}
        case list():
            return [rounded(part) for part in value]
    return value


if __name__ == "__main__":
    main()
