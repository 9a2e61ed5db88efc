"""Draws the picture on the cover: the error of four ways to wait, against wallclock time.

Run it with `make cover`; it writes book/_static/cover.svg.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sgdrace import Pareto, Training, simulate, train
from sgdrace.figures import VARIANT
from sgdrace.problems import Quadratic

P, END, REPLICAS, ETA = 16, 300.0, 200, 0.1
RACES = [  # variant, K, points to move the label by
    ("K-sync", 16, -4),
    ("K-batch-sync", 16, 0),
    ("K-async", 4, 4),
    ("K-batch-async", 1, 0),
]
INK = "#808080"  # readable on white and on black


def trained(variant: str, K: int) -> Training:
    """What SGD does on a bowl whose minimum is 0, so that its loss is its error."""
    problem = Quadratic(np.geomspace(0.4, 1, 10), sigma2=4.0, start=np.full(10, 2.0))
    race = simulate(variant, P, K, Pareto(), until=END, replicas=REPLICAS, seed=1)
    return train(problem, race, learning_rate=ETA, seed=2, every=1)


def main() -> None:
    """Simulate, train, draw."""
    plt.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "cover", "font.size": 11, "font.family": "sans-serif"}
    )
    figure, axes = plt.subplots(figsize=(7.2, 3.8))
    times = np.linspace(0, END, 161)
    for variant, K, shift in RACES:
        band = trained(variant, K).band(times)
        color, line = VARIANT[variant].color, "-" if VARIANT[variant].dash is None else "--"
        axes.fill_between(times, band.low, band.high, color=color, alpha=0.18, linewidth=0)
        axes.plot(times, band.mean, line, color=color, linewidth=2)
        end = (END, band.mean[-1])
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
