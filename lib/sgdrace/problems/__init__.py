"""What is to be learned: a loss F with its exact gradient, honest mini-batch gradients and its constants.

Knows weights and data; nothing of learners, delays or time. `problem` says what a problem is, `quadratic` has
the one on which everything is exact, and `blocks` what all have in common that learn from `examples`:
`least_squares`, `classifiers` and `mlp`.
The mini-batch gradient g of m rows obeys E||g - ∇F||² <= sigma2/m + (M_G/m) ||∇F||², total over directions.
A problem keeps copies of what it is given and hands out arrays that cannot be written to: it never changes.
"""

from sgdrace.problems.blocks import DataProblem
from sgdrace.problems.classifiers import LogisticRegression, SoftmaxRegression
from sgdrace.problems.least_squares import LeastSquares
from sgdrace.problems.mlp import MLP
from sgdrace.problems.problem import CONSTANTS, Problem, Workspace, as_problem
from sgdrace.problems.quadratic import Quadratic

__all__ = [
    "CONSTANTS",
    "MLP",
    "DataProblem",
    "LeastSquares",
    "LogisticRegression",
    "Problem",
    "Quadratic",
    "SoftmaxRegression",
    "Workspace",
    "as_problem",
]
