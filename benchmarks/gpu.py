"""Mini-batch gradients on the GPU of this machine beside those of its CPU; `make bench-gpu` runs this.

Three programs take turns in one run: NumPy on the CPU, array expressions of CuPy's that form the rows of all
mini-batches, and the fused kernel. A machine without a GPU says what is missing, and that is all.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sgdrace import LogisticRegression, Problem, SoftmaxRegression
from sgdrace._arrays import Arrays
from sgdrace.gpu import devices, roofline
from sgdrace.problems import Workspace

ROUNDS = 5
FULL, QUICK = 10_000, 20  # gradients at a time
HEAD = f"{'problem':50} {'dtype':8} {'kernel':>9} {'CuPy/it':>8} {'CPU/it':>8} {'GB/s':>7} {'of roof':>8}"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few gradients, to see that everything runs")
    quick = parser.parse_args().quick
    if (reason := devices.missing()) is not None:
        print(f"No GPU was measured: {reason}")
        return
    card = card_here()
    print(f"{card.name}, {card.bandwidth / 1e9:,.0f} GB/s by its data sheet or its clock.\n{HEAD}")
    for dtype in ("float32", "float64"):
        for row in rows(devices.gpu(dtype), card, QUICK if quick else FULL, wait_for_gpu):
            print(row_in_words(row), flush=True)


def rows(
    on: Arrays, card: roofline.Card, gradients: int, finish: Callable[[], None]
) -> Iterator[dict[str, Any]]:
    """A measurement of each problem; `finish` waits until the device has done all that it was asked for."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 100))
    for problem in (
        LogisticRegression(X, X[:, 0] > 0, m=32, l2=0.01),
        SoftmaxRegression(X[:, :64], np.arange(10_000) % 10, m=32, l2=0.01),
    ):
        yield measured(problem, on, card, gradients, finish)


def measured(
    problem: Any, on: Arrays, card: roofline.Card, gradients: int, finish: Callable[[], None]
) -> dict[str, Any]:
    """Seconds of the three programs, the best of several rounds in which they take turns."""
    rng = np.random.default_rng(1)
    w = rng.standard_normal((gradients, problem.dimension))
    choice, row = problem.draw(rng, gradients), np.arange(gradients)
    host = Arrays(np, on.precision)
    here, there, work = host.floats(w), on.floats(w), Workspace(on)
    programs = {
        "cpu": step(problem, here, choice, row, Workspace(host)),
        "plain": lambda: plain(problem, on, there, choice),
        "fused": step(problem, there, choice, row, work),
    }
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(ROUNDS + 1):  # the first one compiles
        for name, program in programs.items():
            finish()
            begin = time.perf_counter()
            program()
            finish()
            best[name] = min(best[name], time.perf_counter() - begin)
    update = roofline.Update(gradients, *problem.X.shape, problem.m, on.precision)
    least = roofline.fused(update, card) if problem.units == 1 else None
    return {"problem": repr(problem), "dtype": on.precision, "seconds": best, "least": least}


def step(
    problem: Problem, w: Any, choice: np.ndarray, row: np.ndarray, work: Workspace
) -> Callable[[], object]:
    return lambda: problem.mini_batch_gradients(w, choice, row, work)


def plain(problem: Any, on: Arrays, w: Any, choice: np.ndarray) -> Any:
    """The gradients as one would write them with arrays alone: the rows of all mini-batches are formed."""
    xp, work = on.xp, Workspace(on)
    X, y = xp.take(on.floats(problem._block_X), on.whole(choice), axis=0), problem._block_y[choice]
    z = xp.matmul(xp.reshape(w, (len(choice), problem.units, -1)), X.mT)  # (N, units, m)
    targets = on.floats(y) if y.dtype.kind == "f" else on.whole(y)
    problem._derivatives(w, z, targets, None, None, work)
    sums = xp.reshape(xp.matmul(z, X), w.shape)
    return problem._scale * sums + problem.l2 * w


def row_in_words(row: dict[str, Any]) -> str:
    seconds, least = row["seconds"], row["least"]
    fused = seconds["fused"]
    roof = f"{'-':>7} {'-':>8}"
    if least:
        roof = f"{least.memory_bytes / fused / 1e9:7.0f} {least.seconds / fused:8.0%}"
    return (
        f"{row['problem']:50} {row['dtype']:8} {roofline.microseconds(fused):>9} "
        f"{seconds['plain'] / fused:8.2f} {seconds['cpu'] / fused:8.2f} {roof}"
    )


def card_here() -> roofline.Card:
    """The card of this machine by its data sheet, or else by what its driver says."""
    import cupy

    device = cupy.cuda.Device()
    name = cupy.cuda.runtime.getDeviceProperties(device.id)["name"].decode()
    known = [card for card in roofline.CARDS.values() if card.name.split()[0] in name.split("-")[0].split()]
    if known:
        return known[0]
    told = device.attributes
    bandwidth = 2e3 * told["MemoryClockRate"] * told["GlobalMemoryBusWidth"] / 8
    return roofline.Card(
        name, bandwidth, float("inf"), float("inf"), told["L2CacheSize"], device.mem_info[1],
        told["MultiProcessorCount"], told["MaxThreadsPerMultiProcessor"],
    )  # fmt: skip


def wait_for_gpu() -> None:
    import cupy

    cupy.cuda.Device().synchronize()


if __name__ == "__main__":
    main()
