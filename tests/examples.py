"""Laws that many tests share."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sgdrace import (
    Constant,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Lomax,
    Pareto,
    ShiftedExponential,
    Uniform,
    Weibull,
)
from sgdrace.delays import Scaled

CONTINUOUS = [
    Exponential(2.0),
    ShiftedExponential(1.0, 1.0),
    Pareto(2.5, 1.0),
    Lomax(2.5, 1.0),
    Erlang(3, 3.0),
    Gamma(0.5, 0.5),
    Weibull(0.5),
    HyperExponential(),
    LogNormal(0.0, 1.0),
    Uniform(0.0, 2.0),
    Scaled(Pareto(2.5, 1.0), 3.0),
]
DISCRETE = [Constant(1.0), Empirical([1.0, 2.0, 2.0, 5.0]), Empirical([0.0, 0.1, 0.2, 0.3])]


@dataclass
class Own:
    """A law as a user might write it, with as few of the optional methods as the test wants."""

    law: Any
    offers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.offers:
            setattr(self, name, getattr(self.law, name))

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        return self.law.sample(rng, size)
