"""Races of distributed SGD: who updates the model when, how stale, and what that does to the error."""

from sgdrace import order_statistics
from sgdrace.arguments import VARIANTS
from sgdrace.delays import (
    Constant,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Lomax,
    Pareto,
    PerLearner,
    ShiftedExponential,
    Uniform,
    Weibull,
)

__all__ = [
    "VARIANTS",
    "Constant",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "HyperExponential",
    "LogNormal",
    "Lomax",
    "Pareto",
    "PerLearner",
    "ShiftedExponential",
    "Uniform",
    "Weibull",
    "order_statistics",
]
