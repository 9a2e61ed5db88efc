"""Measurements that come with the package, for chapters and for you. Knows where they are, not what they say.

`step-times.csv` holds the times of 2,000 training steps on one machine, in milliseconds; `benchmarks.json`
what `make bench` measured last.
"""

from importlib.resources import files
from pathlib import Path

from sgdrace._arguments import one_of

FILES = ("step-times.csv", "benchmarks.json")


def path(name: str) -> Path:
    """Where a file of measurements is, one of `FILES`.

    >>> from sgdrace import Empirical
    >>> Empirical.from_csv(path("step-times.csv"), column="ms")
    Empirical(2000 times, mean 0.4526)
    """
    return Path(str(files(__name__) / one_of("name", name, FILES)))
