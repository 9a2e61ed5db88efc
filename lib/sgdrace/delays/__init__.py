"""The laws of X, the time one learner needs for one mini-batch.

`law` says what a law is, `families` has the textbook laws, `traces` measured times, `fitting` finds the first
for the second, `adapters` takes in laws that others wrote, `learners` gives each learner its own, and
`checks` helps the author of a law. None knows anything of races.
"""

from sgdrace.delays.checks import check_law
from sgdrace.delays.families import (
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
from sgdrace.delays.fitting import Fit, Fits, fit, ks_distance
from sgdrace.delays.law import Ageing, DelayLaw, Law, Scaled, Shifted, Size, bisect, finite_mean
from sgdrace.delays.learners import PerLearner, as_law, as_single_law, law_of_learners
from sgdrace.delays.traces import Constant, Empirical

__all__ = [
    "Ageing",
    "Constant",
    "DelayLaw",
    "Empirical",
    "Erlang",
    "Exponential",
    "Fit",
    "Fits",
    "Gamma",
    "HyperExponential",
    "Law",
    "LogNormal",
    "Lomax",
    "Pareto",
    "PerLearner",
    "Scaled",
    "Shifted",
    "ShiftedExponential",
    "Size",
    "Uniform",
    "Weibull",
    "as_law",
    "as_single_law",
    "bisect",
    "check_law",
    "finite_mean",
    "fit",
    "ks_distance",
    "law_of_learners",
]
