"""This package beside an older one: two processes, asked in turn for the process time of the same run.

Each process imports one `sgdrace` and says which. What one is asked the other is asked next, so that both
meet the same clock speed and the same neighbors on the machine; the best of several answers counts.
"""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sgdrace
from benchmarks.measure import LAWS, Case, Effort, Row, cases, once
from sgdrace import LeastSquares, LogisticRegression, Quadratic, simulate, train

ROOT = Path(__file__).parents[1]
REPLICAS = 100
PATIENCE = 5  # times as many runs of what is short: else a slow tenth of a second spoils all of them

PROBLEMS: dict[str, Callable[[], Any]] = {
    "quadratic, d = 2": lambda: Quadratic([0.1, 1.0], sigma2=0.5),
    "quadratic, d = 50": lambda: Quadratic(np.linspace(0.1, 1.0, 50)),
    "least squares": lambda: LeastSquares.synthetic(rows=1024, dimension=64),
    "logistic regression": lambda: LogisticRegression.synthetic(rows=1024, dimension=64),
}


class Package:
    """A process with the package of some folder."""

    def __init__(self, lib: Path) -> None:
        here = os.environ | {"PYTHONPATH": f"{lib}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
        here["OPENBLAS_NUM_THREADS"] = "1"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.against"],
            **{"env": here, "cwd": ROOT, "text": True, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE},
        )
        found = Path(self._answer()).parent
        if found.resolve() != (lib / "sgdrace").resolve():
            self.close()
            raise ValueError(f"{lib} must hold a folder sgdrace; its process has imported {found}.")

    def seconds(self, question: Row) -> float:
        """Process time of one run."""
        assert self.process.stdin is not None
        print(json.dumps(question), file=self.process.stdin, flush=True)
        return float(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        if not (line := self.process.stdout.readline()):
            raise ValueError("the process of an older package has ended; see above.")
        return line.strip()

    def close(self) -> None:
        self.process.communicate()  # nothing more: it ends


def questions(quick: bool) -> Iterator[Row]:
    """Races with detail, races on common streams, races until a time, and trainings."""
    for case in cases(quick):
        yield {"kind": "detail", **vars(case), "updates": case.updates}
    for case in cases(quick):
        if case.law == "Pareto" and case.P == 8:
            yield {"kind": "common", **vars(case), "updates": 40 if quick else 400}
    for name in PROBLEMS:
        for variant, K in (("K-sync", 4), ("K-async", 1), ("K-async", 4)):
            case = Case("exponential", variant, 16, K)
            yield {"kind": "training", **vars(case), "updates": 20 if quick else 200, "problem": name}


def compared(lib: Path, quick: bool, effort: Effort) -> Iterator[Row]:
    """Every question with the least time that each package took."""
    packages = {"old": Package(lib.resolve()), "new": Package(ROOT / "lib")}
    asked = list(questions(quick))
    try:
        for package in packages.values():  # what comes first meets cold memory and a slow clock
            for _ in range(effort.most):
                package.seconds(asked[0])
        for question in asked:
            least, spent = dict.fromkeys(packages, math.inf), 0.0
            for done in range(PATIENCE * effort.most):
                if done >= effort.least and spent > effort.seconds:
                    break
                for name, package in packages.items():
                    took = package.seconds(question)
                    least[name], spent = min(least[name], took), spent + took
            yield {**question, **least, "ratio": least["old"] / least["new"]}
    finally:
        for package in packages.values():
            package.close()


def in_words(row: Row) -> str:
    """A line of the table."""
    case = f"{row['kind']:9}{row.get('problem', ''):20}{row['law']:20} {row['variant']:14}"
    times = "".join(f"{1e3 * row[name]:10.2f}" for name in ("old", "new"))
    return f"{case}{row['P']:5}{row['K']:6}{times} ms{row['ratio']:8.2f}"


def summary(rows: list[Row]) -> str:
    """The geometric mean of each kind, and its worst case."""
    lines = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        ratios = [row["ratio"] for row in rows if row["kind"] == kind]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(f"{kind}: {mean:.2f} times as fast in the geometric mean, at least {min(ratios):.2f}")
    return "\n".join(lines)


def answer(question: Row) -> float:
    """Process time of the run that a question asks for."""
    law, P, K, J = LAWS[question["law"]], question["P"], question["K"], question["updates"]
    common = question["kind"] == "common"
    if question["kind"] != "training":
        return once(lambda: simulate(question["variant"], P, K, law, J, REPLICAS, seed=0, common=common))
    race, problem = simulate(question["variant"], P, K, law, J, REPLICAS), PROBLEMS[question["problem"]]()
    return once(lambda: train(problem, race, 0.01))


if __name__ == "__main__":
    print(sgdrace.__file__, flush=True)
    for line in sys.stdin:
        print(answer(json.loads(line)), flush=True)
