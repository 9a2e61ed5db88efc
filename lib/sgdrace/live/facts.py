"""What the script of the race must be told: laws, problem, looks, limits and stories. Knows no script."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sgdrace import data
from sgdrace.delays import (
    Constant,
    DelayLaw,
    Empirical,
    Exponential,
    LogNormal,
    Lomax,
    Pareto,
    ShiftedExponential,
)
from sgdrace.delays.trace_files import read_times
from sgdrace.figures import colors
from sgdrace.problems import Quadratic
from sgdrace.variants import VARIANTS

# The problem of the landing page: 81 directions of different curvature, and noise that lasts.
PROBLEM = Quadratic(eigenvalues=[n / 100 for n in range(20, 101)], sigma2=4.0, start=0.5)
MOST_LEARNERS = 64
LEARNING_RATES = (0.01, 1.0)  # least and most
FIRST = {"P": 8, "K": 2, "law": "shifted", "parameter": 0.5, "eta": 0.25, "seed": 1}


@dataclass(frozen=True)
class Parameter:
    """The one number that a law of mean 1 has on the page, from `low` to `high`, `first` at first."""

    name: str
    low: float
    high: float
    step: float
    first: float
    percent: bool = False


@dataclass(frozen=True)
class LawOnPage:
    """A law of mini-batch times of mean 1, as the page names it; `law` makes it of its parameter."""

    label: str
    says: str
    law: Callable[[float], DelayLaw]
    parameter: Parameter | None = None


@dataclass(frozen=True)
class Story:
    """A setting worth a look, and where to look."""

    name: str
    says: str
    P: int
    K: int
    law: str
    eta: float
    parameter: float | None = None


TAIL = "tail index α"
LAWS = {
    "constant": LawOnPage("constant", "Nobody is ever late.", lambda _: Constant(1.0)),
    "shifted": LawOnPage(
        "part fixed",
        "A fixed part, then a memoryless delay.",
        lambda fixed: ShiftedExponential(fixed, 1 / (1 - fixed)),
        Parameter("fixed part", 0.05, 0.95, 0.05, 0.5, percent=True),
    ),
    "exponential": LawOnPage(
        "memoryless", "Exponential times: having waited tells nothing.", lambda _: Exponential()
    ),
    "lognormal": LawOnPage(
        "log-normal",
        "Many small causes that multiply.",
        lambda sigma: LogNormal(-(sigma**2) / 2, sigma),
        Parameter("spread σ", 0.1, 1.5, 0.05, 0.8),
    ),
    "pareto": LawOnPage(
        "Pareto",
        "A least time, then a heavy tail.",
        lambda shape: Pareto(shape, 1 - 1 / shape),
        Parameter(TAIL, 1.1, 5.0, 0.1, 1.6),
    ),
    "lomax": LawOnPage(
        "heavy tail",
        "Lomax times: who is late will probably be later still.",
        lambda shape: Lomax(shape, shape - 1),
        Parameter(TAIL, 1.5, 5.0, 0.1, 2.5),
    ),
    "pasted": LawOnPage("your own", "Your step times, scaled to mean 1.", lambda _: of_mean_1(sample())),
}

STORIES = (
    Story(
        "Hares and tortoises",
        "Half of each delay is fixed. The asynchronous pair updates twice as often and leads early. "
        "Look again at the end.",
        *(8, 2, "shifted", 0.25, 0.5),
    ),
    Story(
        "Cancelling is free",
        "Memoryless delays: on average, a dot that is cancelled was as far from the gate as the one that "
        "replaces it.",
        *(8, 2, "exponential", 0.25),
    ),
    Story(
        "Cancelling pays",
        "A heavy tail: the dots that are cancelled were far away. "
        "Now those who cancel also update more often.",
        *(8, 2, "lomax", 0.25, 2.5),
    ),
    Story(
        "All wait for one",
        "K = P: everybody waits at the gate until the slowest is there. Who takes any 16 gradients does not.",
        *(16, 16, "lognormal", 0.25, 0.8),
    ),
    Story(
        "Stale wins",
        "A crowd of 64 and short steps: gradients are 7 updates old, and it hardly matters. "
        "Four times as many updates win.",
        *(64, 8, "shifted", 0.1, 0.5),
    ),
    Story(
        "Stale and hot",
        "The same crowd with steps three times as long: old gradients overshoot, and the asynchronous pair "
        "swings.",
        *(64, 8, "shifted", 0.3, 0.5),
    ),
)


def facts() -> dict[str, Any]:
    """Everything, ready for JSON.

    >>> [variant["name"] for variant in facts()["variants"]]
    ['K-sync', 'K-batch-sync', 'K-async', 'K-batch-async']
    """
    return {
        "variants": [{"name": variant, **asdict(colors.VARIANT[variant])} for variant in VARIANTS],
        "work": {fate: asdict(shade) for fate, shade in colors.WORK.items()},
        "leader": {**asdict(colors.LEADER), "width": colors.LEADER_WIDTH, "alpha": colors.LEADER_ALPHA},
        "laws": [_law_facts(name, law) for name, law in LAWS.items()],
        "problem": {
            "eigenvalues": PROBLEM.eigenvalues.tolist(),
            "sigma2": PROBLEM.sigma2,
            "start": float(PROBLEM.start[0]),
        },
        "most_learners": MOST_LEARNERS,
        "learning_rates": LEARNING_RATES,
        "first": FIRST,
        "sample": sample(),
        "stories": [asdict(story) for story in STORIES],
    }


def sample() -> list[float]:
    """Step times to start from: every 50th of those that come with the package, in milliseconds.

    >>> len(sample())
    40
    """
    return [float(time) for time in read_times(data.path("step-times.csv"), "ms")[::50]]


def _law_facts(name: str, law: LawOnPage) -> dict[str, Any]:
    parameter = None if law.parameter is None else asdict(law.parameter)
    look = asdict(colors.law_stroke(law.law(law.parameter.first if law.parameter else 0.0)))
    return {"name": name, "label": law.label, "says": law.says, "parameter": parameter, **look}


def of_mean_1(times: Sequence[float]) -> Empirical:
    """Measured times, each equally likely, scaled to mean 1.

    >>> of_mean_1([1, 3]).mean
    1.0
    """
    return Empirical([time * len(times) / sum(times) for time in times])
