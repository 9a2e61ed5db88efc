"""Races of distributed SGD: who updates the model when, how stale, and what that does to the error."""

from sgdrace import estimates, order_statistics, theory
from sgdrace.adasync import BoundRule, QuadraticRule, SqrtRule, train_adaptively
from sgdrace.contests import contest, winner
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
    as_law,
    check_law,
    fit,
)
from sgdrace.learning_rates import (
    ConstantRate,
    Decaying,
    DelayAdaptive,
    DropOlderThan,
    InverseStaleness,
    PerUpdate,
    SideBySide,
    StalenessCompensating,
)
from sgdrace.own_problem import OwnProblem, check_problem
from sgdrace.problems import MLP, LeastSquares, LogisticRegression, Problem, Quadratic, SoftmaxRegression
from sgdrace.race import Race, simulate
from sgdrace.runtimes import runtime_table
from sgdrace.stepped_race import SteppedRace
from sgdrace.training import Training, train, train_each
from sgdrace.variants import VARIANTS

__all__ = [
    "MLP",
    "VARIANTS",
    "BoundRule",
    "Constant",
    "ConstantRate",
    "Decaying",
    "DelayAdaptive",
    "DropOlderThan",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "HyperExponential",
    "InverseStaleness",
    "LeastSquares",
    "LogNormal",
    "LogisticRegression",
    "Lomax",
    "OwnProblem",
    "Pareto",
    "PerLearner",
    "PerUpdate",
    "Problem",
    "Quadratic",
    "QuadraticRule",
    "Race",
    "ShiftedExponential",
    "SideBySide",
    "SoftmaxRegression",
    "SqrtRule",
    "StalenessCompensating",
    "SteppedRace",
    "Training",
    "Uniform",
    "Weibull",
    "as_law",
    "check_law",
    "check_problem",
    "contest",
    "estimates",
    "fit",
    "order_statistics",
    "runtime_table",
    "simulate",
    "theory",
    "train",
    "train_adaptively",
    "train_each",
    "winner",
]
