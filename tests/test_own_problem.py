"""A problem made of two functions is a problem like any other, and mistakes of a problem are found."""

import numpy as np
import pytest

from sgdrace import Exponential, LeastSquares, OwnProblem, Quadratic, check_problem, simulate, theory, train
from sgdrace.problems import Problem
from tests.test_problems import PROBLEMS

X = np.random.default_rng(3).standard_normal((40, 3))
Y = X @ [1.0, -2.0, 0.5] + np.random.default_rng(4).standard_normal(40)


def squares(m=4, gradient=None, **constants):
    """Least squares from two functions."""

    def loss(w, rows):
        return np.mean((X[rows] @ w - Y[rows]) ** 2) / 2

    def slope(w, rows):
        return X[rows].T @ (X[rows] @ w - Y[rows]) / len(rows)

    return OwnProblem(loss, gradient or slope, rows=40, start=np.zeros(3), m=m, **constants)


OURS = LeastSquares(X, Y, m=4)


def test_two_functions_make_the_same_problem_as_a_class():
    own, w = squares(), np.random.default_rng(0).standard_normal((2, 5, 3))
    assert own.loss(w) == pytest.approx(OURS.loss(w))
    assert own.gradient(w) == pytest.approx(OURS.gradient(w))
    assert own.loss(w[0, 0]).shape == () and own.gradient(w[0, 0]).shape == (3,)
    choice = own.draw(np.random.default_rng(0), 6)
    assert choice.shape == (6, 4)
    at = own.mini_batch_gradients(w[0], choice, np.array([0, 1, 2, 3, 4, 4]))
    assert at[5] == pytest.approx(X[choice[5]].T @ (X[choice[5]] @ w[0, 4] - Y[choice[5]]) / 4)
    assert own.mini_batch_gradients(w[0], choice[:5]) == pytest.approx(at[:5])


def test_rows_of_a_mini_batch_are_drawn_uniformly():
    drawn = np.bincount(squares().draw(np.random.default_rng(0), 10_000).ravel(), minlength=40)
    # 39 degrees of freedom: above 84 in one of 40,000 seeds.
    assert ((drawn - 1000) ** 2 / 1000).sum() < 84


def test_an_own_problem_trains_to_the_same_floor():
    race = simulate("K-async", 4, 2, Exponential(), updates=400, replicas=30, seed=0)
    own, ours = (train(problem, race, 0.1).loss[:, -30:].mean() for problem in (squares(), OURS))
    assert own - OURS.minimum == pytest.approx(ours - OURS.minimum, rel=0.5)


def test_functions_may_write_to_the_weights_they_get():
    def gradient(w, rows):
        w -= 1.0
        return w

    problem = OwnProblem(lambda w, rows: (w - 1.0) @ (w - 1.0) / 2, gradient, rows=1, start=[3.0, 1.0])
    check_problem(problem)
    race = simulate("K-sync", 2, 2, Exponential(), updates=1, seed=0)
    assert train(problem, race, 1.0).weights.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", [0, 1])
def test_our_own_problems_pass(name, seed):
    check_problem(PROBLEMS[name], seed)


def test_no_seed_of_a_hundred_finds_fault_with_a_good_problem():
    for seed in range(100):  # at one false alarm in a million, this fails in one of 10,000 versions
        check_problem(Quadratic([0.5, 2.0]), seed)


def test_known_constants_may_be_given():
    constants = {name: OURS.known(name) for name in ("L", "c", "sigma2", "M_G", "minimum")}
    problem = squares(**constants)
    check_problem(problem)
    assert problem.known("c") == OURS.c
    bound = theory.error_bound("K-sync", updates=10, K=2, eta=0.01, **problem.constants())
    assert bound == theory.error_bound("K-sync", updates=10, K=2, eta=0.01, **OURS.constants())


def test_losses_in_single_precision_pass_and_wrong_ones_do_not():
    def single(factor):
        return OwnProblem(
            lambda w, rows: np.float32(np.sum(w.astype("f4") ** 2) / 2 + np.float32(0.1)),
            lambda w, rows: factor * w.astype("f4"),
            rows=1,
            start=np.ones(4),
        )

    check_problem(single(np.float32(1)))
    with pytest.raises(ValueError, match="must be the slope of loss"):
        check_problem(single(np.float32(1.1)))


def test_a_steep_loss_is_no_mistake():
    steep = OwnProblem(
        lambda w, rows: np.logaddexp(0, 100 * w).sum(),
        lambda w, rows: 100 / (1 + np.exp(-100 * w)),
        1,
        [0.0, 0.0],
    )
    check_problem(steep)


class Bowl(Problem):
    """F(w) = ½||w||² with normal noise; any part can be replaced by another one."""

    dimension, m, start = 3, 1, np.ones(3)

    def __init__(self, **parts):
        vars(self).update(parts)

    def loss(self, w):
        return np.vecdot(w, w) / 2

    def gradient(self, w):
        return np.array(w)

    def draw(self, rng, size):
        return rng.standard_normal((size, 3))

    def mini_batch_gradients(self, w, choice, row=None, work=None):
        return (w if row is None else w[row]) + choice


def test_a_problem_without_mistakes_passes():
    check_problem(Bowl())
    check_problem(Bowl(L=1.0, c=1.0, sigma2=3.0, M_G=0.0, minimum=0.0))


def of(value):
    return lambda *arguments: value


def writes(w):
    w -= 1.0
    return w


MISTAKES = {
    "a gradient without one weight": (
        {"gradient": lambda w: w * [1, 1, 0]},
        "gradient of Bowl.* must be the slope of loss; along weight 2 it is 0, not",
    ),
    "a gradient of another loss": (
        {"gradient": lambda w: w + 1e-3},
        "gradient of Bowl.* along weight . it is",
    ),
    "a gradient of another shape": (
        {"gradient": lambda w: w[..., :2]},
        r"gradient of Bowl.* must give an array of shape \(2, 3\); got shape \(2, 2\)",
    ),
    "a loss of all weights": (
        {"loss": lambda w: np.sum(w**2)},
        r"loss of Bowl.* must give an array of shape \(2,\); got np.float64",
    ),
    "a loss that is no number": ({"loss": lambda w: w[..., 0] * np.nan}, "loss of Bowl.* must give finite"),
    "a loss of the batch": (
        {"loss": lambda w: np.vecdot(w, w) / 2 + w.sum()},
        "loss of Bowl.* must not depend on which other weights are asked for",
    ),
    "no loss": ({"loss": of(None)}, "loss of Bowl.* got None"),
    "a loss that fails": ({"loss": lambda w: w.median()}, "loss of Bowl.* fails: .* no attribute 'median'"),
    "weights written to": ({"gradient": writes}, "gradient of Bowl.* fails: .* read-only"),
    "mini-batches twice as steep": (
        {"mini_batch_gradients": lambda w, c, row=None, work=None: 2 * (w if row is None else w[row]) + c},
        "mini_batch_gradients of Bowl.* must have gradient as their mean; 2000 of them have a mean of length",
    ),
    "mini-batches with a bias": (
        {"mini_batch_gradients": lambda w, c, row=None, work=None: (w if row is None else w[row]) + c + 0.3},
        "mini_batch_gradients of Bowl.* must have gradient as their mean",
    ),
    "the first weights for all": (
        {"mini_batch_gradients": lambda w, c, row=None, work=None: w[0] + c},
        "mini_batch_gradients of Bowl.* must have gradient as their mean",
    ),
    "rows that are ignored": (
        {"mini_batch_gradients": lambda w, c, row=None, work=None: (w if row is None else w[0]) + c},
        r"mini_batch_gradients of Bowl.* must take its n-th gradient at w\[row\[n\]\]",
    ),
    "mini-batches of another shape": (
        {"mini_batch_gradients": lambda w, c, row=None, work=None: c[:, :2]},
        r"mini_batch_gradients of Bowl.* of shape \(4000, 3\); got shape \(4000, 2\)",
    ),
    "a single mini-batch": ({"draw": of(np.zeros((1, 3)))}, "draw of Bowl.* an array of 4000 mini-batches"),
    "too small an L": ({"L": 0.5}, "L of Bowl.* must be at least 1, .*; got 0.5"),
    "too large a c": ({"c": 2.0, "minimum": 0.0}, "c of Bowl.* must be at most 1, .*; got 2"),
    "too high a minimum": ({"minimum": 9.0}, "minimum of Bowl.* must be at most .*, which loss gives; got 9"),
    "too little noise": (
        {"sigma2": 2.0, "M_G": 0.0},
        "sigma2 and M_G of Bowl.* must bound the noise of mini_batch_gradients; its mean square is .* = 2",
    ),
}


@pytest.mark.parametrize(("parts", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_found_and_named_in_one_sentence(parts, message):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        check_problem(Bowl(**parts))
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: check_problem(3), TypeError, "problem must be a Problem"),
        (lambda: check_problem(Quadratic(), seed=-1), ValueError, "seed must be at least 0; got -1"),
        (lambda: OwnProblem(3, lambda w, rows: w, 1, [0.0]), TypeError, "loss must be a function of weights"),
        (lambda: OwnProblem(lambda w, rows: 0, None, 1, [0.0]), TypeError, "gradient must be a function"),
        (lambda: squares(m=0), ValueError, "m must be at least 1; got 0"),
        (lambda: squares(l=0.1), ValueError, "a constant 'l' is unknown; did you mean L"),
        (lambda: squares(L="steep"), TypeError, "L must be a number; got 'steep'"),
        (lambda: OwnProblem(min, max, 0, [0.0]), ValueError, "rows must be at least 1; got 0"),
        (lambda: OwnProblem(min, max, 1, []), ValueError, "start must be a non-empty list"),
        (
            lambda: OwnProblem(of("low"), max, 1, [0.0]).loss([0.0]),
            TypeError,
            "what loss gives must be a number",
        ),
        (
            lambda: OwnProblem(of([1, 2]), max, 1, [0.0]).loss([0.0]),
            ValueError,
            "what loss gives must be one",
        ),
        (
            lambda: squares(gradient=of(None)).gradient(np.zeros(3)),
            TypeError,
            "what gradient gives must be 3",
        ),
        (
            lambda: squares(gradient=of([1.0])).gradient(np.zeros(3)),
            ValueError,
            r"what gradient gives must be 3 numbers; got shape \(1,\)",
        ),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert str(caught.value)[-1] in ".?" and "\n" not in str(caught.value)
