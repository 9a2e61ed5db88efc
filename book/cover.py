"""Draws the picture on the cover: the error of four ways to wait, against wallclock time.

Run it with `make cover`; it writes book/_static/cover.svg.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sgdrace import Pareto, simulate, train
from sgdrace.figures import VARIANT
from sgdrace.problems import Quadratic

P, END, REPLICAS, ETA = 16, 300.0, 200, 0.1
RACES = [  # variant, K, updates enough to reach END, points to move the label by
    ("K-sync", 16, 130, -4),
    ("K-batch-sync", 16, 200, 0),
    ("K-async", 4, 800, 4),
    ("K-batch-async", 1, 3300, 0),
]
INK = "#808080"  # readable on white and on black


def errors(variant: str, K: int, updates: int, times: np.ndarray) -> np.ndarray:
    """Error of every replica at these times, (replicas, times)."""
    problem = Quadratic(np.geomspace(0.4, 1, 10), sigma2=4.0, start=np.full(10, 2.0))
    race = simulate(variant, P, K, Pareto(), updates, REPLICAS, seed=1)
    run = train(problem, race, learning_rate=ETA, seed=2, every=1)
    return run.at(times)


def main() -> None:
    """Simulate, train, draw."""
    plt.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "cover", "font.size": 11, "font.family": "sans-serif"}
    )
    figure, axes = plt.subplots(figsize=(7.2, 3.8))
    times = np.linspace(0, END, 161)
    for variant, K, updates, shift in RACES:
        color, line = VARIANT[variant].color, "-" if VARIANT[variant].dash is None else "--"
        error = errors(variant, K, updates, times)
        low, high = np.quantile(error, [0.1, 0.9], axis=0)
        axes.fill_between(times, low, high, color=color, alpha=0.18, linewidth=0)
        axes.plot(times, error.mean(axis=0), line, color=color, linewidth=2)
        end = (END, error[:, -1].mean())
        axes.annotate(
            f"{variant}, K = {K}", end, (6, shift), textcoords="offset points", va="center", color=INK
        )
    axes.set(
        yscale="log", xlim=(0, END), xlabel="wallclock time", title="error F(w) − F*, mean and 80 % band"
    )
    axes.title.set(fontsize=11, color=INK)
    axes.xaxis.label.set_color(INK)
    axes.tick_params(which="both", colors=INK)
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(INK)
    figure.tight_layout()
    folder = Path(__file__).parent / "_static"
    figure.savefig(folder / "cover.svg", transparent=True, metadata={"Date": None})


if __name__ == "__main__":
    main()
