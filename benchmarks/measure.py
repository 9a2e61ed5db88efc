"""What is measured, and how: process time, the best of several runs, all programs in turn.

Everything is per update. A program that takes turns with the others meets the same clock speed and the same
neighbors on the machine, and its best run is the one that was disturbed least.
"""

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.baselines import Draw, Timeline, bulk_draw, heap_loop, simpy_race
from sgdrace import VARIANTS, Exponential, Pareto, ShiftedExponential, simulate
from sgdrace.delays import DelayLaw
from sgdrace.problems import LeastSquares, LogisticRegression, Problem
from sgdrace.training import train

LAWS: dict[str, DelayLaw] = {
    "exponential": Exponential(rate=1.0),
    "shifted exponential": ShiftedExponential(shift=1.0, rate=1.0),
    "Pareto": Pareto(shape=2.5, scale=1.0),
}

Row = dict[str, Any]
Program = Callable[[], object]


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    least: int  # runs of every program
    most: int
    seconds: float  # after which a case has no more than the least number of runs
    long_enough: float  # seconds of one run of sgdrace; until then it gets more replicas


FULL = Effort(least=3, most=7, seconds=1.0, long_enough=0.02)
QUICK = Effort(least=2, most=2, seconds=0.0, long_enough=0.0)


@dataclass(frozen=True)
class Case:
    """One race, and how many updates of it each program plays."""

    law: str
    variant: str
    P: int
    K: int

    @property
    def sync(self) -> bool:
        return self.variant.endswith("-sync")

    @property
    def numbers(self) -> int:
        """Random numbers that an update needs if every mini-batch that starts is drawn."""
        if not self.sync:
            return self.K
        return self.P + (self.K - 1 if "batch" in self.variant else 0)

    @property
    def updates(self) -> int:
        """Updates of a replica of sgdrace: the async variants must leave the start far behind."""
        return max(16, 8192 // self.P if self.sync else 4096 // self.K)

    def baseline_updates(self, numbers: int) -> int:
        """Updates of a baseline, whose cost per update hardly depends on how many there are."""
        return max(4, (numbers if self.sync else max(numbers, 8 * self.P)) // self.numbers)


def cases(quick: bool) -> Iterator[Case]:
    """Every law and variant, P = 8, 64 and 1,024, and K = 1, P/4 and P; or a few of these."""
    for law in ["Pareto"] if quick else LAWS:
        for variant in VARIANTS:
            for P in [8, 64] if quick else [8, 64, 1024]:
                for K in [P // 4] if quick else [1, P // 4, P]:
                    yield Case(law, variant, P, K)


def race(case: Case, effort: Effort) -> Row:
    """Seconds per update of all programs in one case."""
    law, rng = LAWS[case.law], np.random.default_rng(0)
    heap_updates, simpy_updates = case.baseline_updates(30_000), case.baseline_updates(8_000)
    draws = max(1, (1 << 17) // case.numbers)  # updates; 1 MB at least, and a small part of the cache

    def baseline(play: Callable[[str, int, int, Draw, int], Timeline], updates: int) -> Program:
        return lambda: play(case.variant, case.P, case.K, bulk_draw(law, rng), updates)

    plain, detailed = replicas(case, False, effort), replicas(case, True, effort)
    best = best_of(
        {
            "heap": baseline(heap_loop, heap_updates),
            "simpy": baseline(simpy_race, simpy_updates),
            "sgdrace": sgdrace(case, plain, detail=False),
            "detail": sgdrace(case, detailed, detail=True),
            "draws": lambda: law.sample(rng, (draws, case.numbers)),
        },
        effort,
    )
    played = {
        "heap": heap_updates,
        "simpy": simpy_updates,
        "sgdrace": plain * case.updates,
        "detail": detailed * case.updates,
        "draws": draws,
    }
    seconds = {name: best[name] / played[name] for name in best}
    sizes = {"updates": case.updates, "replicas": plain, "replicas_detail": detailed}
    sizes |= {"heap_updates": heap_updates, "simpy_updates": simpy_updates}
    return {**asdict(case), **sizes, "seconds_per_update": seconds, "ratios": ratios(seconds)}


def ratios(seconds: dict[str, float]) -> dict[str, float]:
    """How many times as long as sgdrace the others take, and sgdrace as long as the bare draws."""
    return {
        "heap/sgdrace": seconds["heap"] / seconds["sgdrace"],
        "heap/detail": seconds["heap"] / seconds["detail"],
        "simpy/sgdrace": seconds["simpy"] / seconds["sgdrace"],
        "simpy/detail": seconds["simpy"] / seconds["detail"],
        "sgdrace/draws": seconds["sgdrace"] / seconds["draws"],
        "detail/draws": seconds["detail"] / seconds["draws"],
    }


def sgdrace(case: Case, replicas: int, detail: bool) -> Program:
    """A run of the package."""
    law = LAWS[case.law]
    return lambda: simulate(case.variant, case.P, case.K, law, case.updates, replicas, seed=0, detail=detail)


def replicas(case: Case, detail: bool, effort: Effort) -> int:
    """100 replicas, or so many more (up to 1600) that a run is long enough to be timed."""
    number = 100
    while number < 1600 and once(sgdrace(case, number, detail)) < effort.long_enough:
        number *= 2
    return number


def once(program: Program) -> float:
    """Process time of one run, in seconds."""
    begin = time.process_time()
    program()
    return time.process_time() - begin


def best_of(programs: dict[str, Program], effort: Effort) -> dict[str, float]:
    """The least process time of each program over several rounds in which all take turns."""
    best = dict.fromkeys(programs, np.inf)
    spent = 0.0
    for done in range(effort.most):
        if done >= effort.least and spent > effort.seconds:
            break
        for name, program in programs.items():
            took = once(program)
            best[name] = min(best[name], took)
            spent += took
    return best


def scaling(sizes: list[int], effort: Effort) -> list[Row]:
    """K-sync without detail: seconds per round of many more learners."""
    rounds, replicas = 100, 1000
    found = []
    for name, law in LAWS.items():
        for share in (2, 1):  # K = P/2 and K = P

            def rounds_of(P: int, law: DelayLaw = law, share: int = share) -> Program:
                return lambda: simulate("K-sync", P, P // share, law, rounds, replicas, seed=0, detail=False)

            best = best_of({str(P): rounds_of(P) for P in sizes}, effort)
            per_round = {P: best[P] / (rounds * replicas) for P in best}
            spread = max(best.values()) / min(best.values())
            K = "P" if share == 1 else "P/2"
            found.append({"law": name, "K": K, "seconds_per_round": per_round, "spread": spread})
    return found


def memory(quick: bool) -> list[Row]:
    """Peak memory of a large race of every variant without detail, each in a fresh process.

    To be called early: a process starts with the peak of the one that started it.
    """
    P, updates, replicas = (64, 10, 10) if quick else (1024, 1000, 1000)
    size = {"P": P, "K": P // 4, "updates": updates, "replicas": replicas}
    variants = VARIANTS[:1] if quick else VARIANTS
    # Two at a time, since memory does not depend on what else the machine does.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn, max_tasks_per_child=1) as pool:
        peaks = pool.map(peak_memory, variants, [size] * len(variants))
        return [{"variant": v, **size, **peak} for v, peak in zip(variants, peaks, strict=True)]


def peak_memory(variant: str, size: dict[str, Any]) -> Row:
    """Megabytes of this process before the race and at most; no shortcut exists for this law."""
    before = megabytes()
    simulate(variant, delay=LAWS["shifted exponential"], **size, seed=0, detail=False)
    return {"megabytes_before": round(before), "megabytes_peak": round(megabytes())}


def megabytes() -> float:
    """The most memory that this process has held so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def training(updates: int, effort: Effort) -> Row:
    """SGD along a race, on two problems, against one matrix product of as many floating-point operations.

    A gradient of m rows with d weights is X'(X w - y): twice m·d multiplications and as many additions, so
    4·m·d operations. An update of R replicas has R·K of them. A product (n, d) @ (d, 8·m) takes 16·n·d·m,
    so n = R·K/4 rows are as much arithmetic as one update, in one call and in a shape that suits the
    processor better than (d, m) would. Losses are recorded at the start and the end only; they are part of
    the time of training, not of the count, and so are the m sigmoids of a gradient of logistic regression.
    """
    R, K, P, d, m = 1000, 4, 16, 64, 32
    problems = {
        "least squares": LeastSquares.synthetic(rows=1024, dimension=d, m=m, seed=0),
        "logistic regression": LogisticRegression.synthetic(rows=1024, dimension=d, m=m, seed=0),
    }
    lap = simulate("K-async", P, K, Exponential(), updates, R, seed=0)
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((R * K // 4, d)), rng.standard_normal((d, 8 * m))
    product = np.empty((R * K // 4, 8 * m))

    def trained(problem: Problem) -> Program:
        return lambda: train(problem, lap, learning_rate=0.01, every=updates)

    def products() -> None:
        for _ in range(updates):
            np.matmul(left, right, out=product)

    # One thread, so that process time means the same for both.
    with threadpool_limits(1):
        programs = {name: trained(problem) for name, problem in problems.items()}
        best = best_of({**programs, "product": products}, effort)
    per_update = {name: best[name] / updates for name in best}
    return {
        **{"replicas": R, "K": K, "P": P, "d": d, "m": m, "updates": updates},
        "seconds_per_update": per_update,
        "gigaflops": {name: 4 * m * d * R * K / per_update[name] / 1e9 for name in per_update},
        "ratios": {name: best[name] / best["product"] for name in problems},
    }
