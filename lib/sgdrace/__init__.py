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
from sgdrace.lockstep import Lockstep
from sgdrace.race import Race, simulate

__all__ = [
    "VARIANTS",
    "Constant",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "HyperExponential",
    "Lockstep",
    "LogNormal",
    "Lomax",
    "Pareto",
    "PerLearner",
    "Race",
    "ShiftedExponential",
    "Uniform",
    "Weibull",
    "order_statistics",
    "simulate",
]
