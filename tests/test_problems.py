"""Losses, gradients, mini-batches and constants are what they claim to be."""

import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sgdrace import theory
from sgdrace._arrays import HOST
from sgdrace.problems import (
    MLP,
    LeastSquares,
    LogisticRegression,
    Problem,
    Quadratic,
    SoftmaxRegression,
    Workspace,
)


def three_classes(rows=70, features=3):
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.standard_normal((rows, features)), np.ones(rows)])
    return X, (X @ rng.standard_normal((features + 1, 3)) + rng.gumbel(size=(rows, 3))).argmax(axis=1)


def problems():
    """One of each kind; 70 rows in blocks of 8 leave some blocks with 7 rows."""
    X, y = three_classes()
    return {
        "quadratic": Quadratic([0.1, 0.5, 1.0], sigma2=2.0, m=4, start=3.0),
        "least squares": LeastSquares.synthetic(rows=70, dimension=4, m=8),
        "least squares, 2 rows of 3": LeastSquares([[1.0, 2, 3], [0, 1, 1]], [1.0, 2], m=1),
        "logistic": LogisticRegression.synthetic(rows=70, dimension=4, m=8),
        "logistic with l2": LogisticRegression.synthetic(rows=64, dimension=4, m=8, l2=0.1),
        "softmax": SoftmaxRegression(X, y, m=8, l2=0.05),
        "mlp": MLP(X, y, hidden=3, m=8),
    }


PROBLEMS = problems()
WITH_DATA = [name for name in PROBLEMS if name != "quadratic"]
CONVEX = [name for name in PROBLEMS if name != "mlp"]
every_problem = pytest.mark.parametrize("name", PROBLEMS)


def some_weights(problem, number=6, scale=1.0, seed=0):
    return scale * np.random.default_rng(seed).standard_normal((number, problem.dimension))


@every_problem
def test_gradient_is_the_slope_of_the_loss(name):
    problem = PROBLEMS[name]
    w, step = some_weights(problem), 1e-5
    for i in range(problem.dimension):
        e = step * (np.arange(problem.dimension) == i)
        slope = (problem.loss(w + e) - problem.loss(w - e)) / (2 * step)
        assert slope == pytest.approx(problem.gradient(w)[:, i], rel=1e-6, abs=1e-8)


@every_problem
def test_loss_and_gradient_treat_leading_axes_as_a_batch(name):
    problem = PROBLEMS[name]
    w = some_weights(problem).reshape(2, 3, -1)
    assert problem.loss(w).shape == (2, 3)
    assert problem.gradient(w).shape == w.shape
    assert problem.loss(w[1, 2]) == pytest.approx(problem.loss(w)[1, 2], rel=1e-13)
    assert problem.gradient(w[1, 2]) == pytest.approx(problem.gradient(w)[1, 2], rel=1e-12, abs=1e-14)


@every_problem
def test_pieces_of_a_large_batch_change_nothing(name, monkeypatch):
    problem = PROBLEMS[name]
    w = some_weights(problem, number=20)
    choice = problem.draw(np.random.default_rng(1), 20)
    whole = problem.loss(w), problem.gradient(w), problem.mini_batch_gradients(w, choice)
    monkeypatch.setattr("sgdrace.problems.blocks.PIECE", 200)
    pieces = problem.loss(w), problem.gradient(w), problem.mini_batch_gradients(w, choice)
    for a, b in zip(whole, pieces, strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", WITH_DATA)
def test_mean_over_blocks_is_the_full_gradient_even_if_m_does_not_divide_n(name):
    problem = PROBLEMS[name]
    for w in some_weights(problem, scale=2.0):
        every = np.arange(problem.blocks)
        each = problem.mini_batch_gradients(w[None], every, np.zeros(problem.blocks, int))
        assert each.mean(axis=0) == pytest.approx(problem.gradient(w), rel=1e-12, abs=1e-14)


def test_blocks_are_a_partition_of_the_rows_into_nearly_equal_parts():
    problem = LeastSquares(np.arange(1.0, 71)[:, None], np.arange(70.0), m=8)
    assert problem.blocks == 9
    sizes = problem._live.sum(axis=1)
    assert set(sizes) == {7, 8}
    assert sorted(problem._block_X[problem._live][:, 0]) == list(range(1, 71))
    assert not problem._block_X[~problem._live].any()


@pytest.mark.parametrize("name", WITH_DATA)
def test_a_block_gradient_is_the_sum_over_its_rows_times_blocks_over_n(name):
    problem = PROBLEMS[name]
    b, w = problem.blocks - 1, some_weights(problem, number=1)
    live = problem._live[b]
    alone = type(problem).__new__(type(problem))
    alone.__dict__.update(problem.__dict__)
    alone.X, alone.y = problem._block_X[b][live], problem._block_y[b][live]
    alone._here = alone._data(HOST)
    penalty = getattr(problem, "l2", 0.0) * w
    expected = (alone.gradient(w) - penalty) * live.sum() * problem.blocks / len(problem.X) + penalty
    assert problem.mini_batch_gradients(w, np.array([b])) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@every_problem
def test_gradients_do_not_depend_on_their_order_or_on_the_workspace(name):
    problem = PROBLEMS[name]
    table = some_weights(problem, number=9)
    rng = np.random.default_rng(2)
    choice, row = problem.draw(rng, 50), rng.integers(9, size=50)
    straight = problem.mini_batch_gradients(table[row], choice)
    work, order = Workspace(), rng.permutation(50)
    problem.mini_batch_gradients(table, choice[:30], row[:30], work)
    again = problem.mini_batch_gradients(table, choice[order], row[order], work)
    assert again == pytest.approx(straight[order], rel=1e-12, abs=1e-14)


def test_blocks_are_drawn_uniformly():
    problem = PROBLEMS["logistic"]
    counts = np.bincount(problem.draw(np.random.default_rng(0), 90_000))
    assert counts.size == problem.blocks == 9
    # Standard deviation 94; 5 of them: one false alarm in 200,000 seeds.
    assert np.abs(counts - 10_000).max() < 5 * 94


def test_many_blocks_are_drawn_too():
    X = np.ones((2**16 + 1, 1))
    problem = LeastSquares(X, X[:, 0], m=1)
    assert problem.draw(np.random.default_rng(0), 5).dtype == np.int64


@pytest.mark.parametrize("name", CONVEX)
def test_L_bounds_the_change_of_the_gradient(name):
    problem = PROBLEMS[name]
    for scale in (0.01, 1.0, 10.0):
        u = some_weights(problem, 300, scale)
        v = u + some_weights(problem, 300, 0.1, seed=1)
        change = np.linalg.norm(problem.gradient(u) - problem.gradient(v), axis=1)
        assert (change <= problem.L * np.linalg.norm(u - v, axis=1) * (1 + 1e-9)).all()


def test_L_is_attained_by_least_squares_and_nearly_by_logistic_regression_at_0():
    for name, share in (("least squares", 1.0), ("logistic", 0.999)):
        problem = PROBLEMS[name]
        _, _, directions = np.linalg.svd(problem.X)
        v = 1e-4 * directions[0]
        change = np.linalg.norm(problem.gradient(v) - problem.gradient(0 * v)) / 1e-4
        assert share * problem.L * (1 - 1e-6) <= change <= problem.L * (1 + 1e-6)


@pytest.mark.parametrize("name", [name for name in CONVEX if PROBLEMS[name].c is not None])
def test_c_bounds_the_gradient_from_below(name):
    problem = PROBLEMS[name]
    for scale in (0.01, 1.0, 10.0):
        w = some_weights(problem, 300, scale)
        squares = np.square(problem.gradient(w)).sum(axis=1)
        assert (squares >= 2 * problem.c * (problem.loss(w) - problem.minimum) * (1 - 1e-9)).all()


@pytest.mark.parametrize("name", [name for name in CONVEX if name != "quadratic"])
def test_sigma2_and_M_G_bound_the_noise_everywhere(name):
    problem = PROBLEMS[name]
    for scale in (0.01, 0.3, 1.0, 3.0, 30.0):
        for w in some_weights(problem, 40, scale):
            bound = problem.sigma2 + problem.M_G * np.square(problem.gradient(w)).sum()
            assert problem.noise_at(w) <= bound * (1 + 1e-9)


def test_sigma2_of_least_squares_is_not_far_above_the_noise_at_the_optimum():
    problem = LeastSquares.synthetic(rows=1000, dimension=20, m=20)
    assert problem.noise_at(problem.optimum) <= problem.sigma2 <= 1.1 * problem.noise_at(problem.optimum)


def test_a_single_block_has_no_noise():
    problem = LeastSquares.synthetic(rows=30, dimension=3, m=30)
    assert (problem.sigma2, problem.M_G) == (0.0, 0.0)
    assert problem.noise_at(np.ones(3)) == pytest.approx(0, abs=1e-25)


def test_noise_of_the_quadratic_has_variance_sigma2_over_m():
    problem = PROBLEMS["quadratic"]
    w = np.ones((1, 3))
    choice = problem.draw(np.random.default_rng(0), 40_000)
    noise = problem.mini_batch_gradients(w, choice, np.zeros(40_000, int)) - problem.gradient(w)
    # Relative standard error of a variance from 40,000 numbers is 0.7 %; 5 of them: 2 false alarms in 10^6.
    assert noise.var(axis=0) == pytest.approx(problem.sigma2 / problem.m / 3, rel=0.035)


@pytest.mark.parametrize("name", CONVEX)
def test_no_weights_have_a_loss_below_the_minimum(name):
    problem = PROBLEMS[name]
    near = getattr(problem, "optimum", np.zeros(problem.dimension))
    for scale in (1e-6, 1e-2, 1.0):
        assert (problem.loss(near + some_weights(problem, 300, scale)) >= problem.minimum - 1e-13).all()


@pytest.mark.parametrize("name", ["logistic with l2", "softmax"])
def test_the_minimum_is_exact_to_ten_digits(name):
    problem = PROBLEMS[name]
    assert np.square(problem.gradient(problem.optimum)).sum() / (2 * problem.c) < 1e-10


def test_separable_data_without_l2_have_infimum_0():
    problem = LogisticRegression([[1.0], [-1.0]], [1, 0], m=1)
    assert problem.c is None
    assert 0 <= problem.minimum < 1e-7


def test_least_squares_on_too_few_rows_keeps_the_inequality_with_the_smallest_positive_eigenvalue():
    problem = PROBLEMS["least squares, 2 rows of 3"]
    assert problem.minimum == pytest.approx(0, abs=1e-25)
    assert problem.c > 0.01


def test_losses_stay_finite_for_huge_weights():
    for name in ("logistic", "softmax", "mlp"):
        w = some_weights(PROBLEMS[name], scale=1e8)
        assert np.isfinite(PROBLEMS[name].loss(w)).all()
        assert np.isfinite(PROBLEMS[name].gradient(w)).all()
        assert np.isfinite(PROBLEMS[name].mini_batch_gradients(w, np.arange(6))).all()


def test_unknown_constants_are_named():
    for constant in ("L", "c", "sigma2", "M_G", "minimum"):
        with pytest.raises(ValueError, match=f"needs the constant {constant}, which is unknown for MLP"):
            PROBLEMS["mlp"].known(constant)
    assert PROBLEMS["quadratic"].known("minimum") == 0


def test_constants_are_what_bounds_ask_for():
    problem = PROBLEMS["logistic with l2"]
    constants = problem.constants()
    assert list(constants) == ["L", "c", "sigma2", "M_G", "m", "e_0"]
    assert constants["e_0"] == problem.loss(problem.start) - problem.minimum
    assert all(constants[name] == getattr(problem, name) for name in ("L", "c", "sigma2", "M_G", "m"))
    by_hand = {
        "L": problem.L,
        "c": 0.1,
        "sigma2": problem.sigma2,
        "M_G": 0.0,
        "m": 8,
        "e_0": constants["e_0"],
    }
    setting = {"updates": [10, 100], "K": 4, "eta": 0.1}
    bounds = (theory.error_bound("K-sync", **setting, **each).tolist() for each in (constants, by_hand))
    assert next(bounds) == next(bounds)


def test_a_bound_that_takes_fewer_constants_gets_them_by_name():
    problem = PROBLEMS["logistic"]  # without l2 it has no c
    some = problem.constants("L", "sigma2", "m", "M_G", "e_0")
    assert theory.nonconvex_bound("K-sync", updates=10, K=2, eta=0.1, **some) > 0
    assert theory.largest_eta("K-sync", K=2, **problem.constants("L", "m", "M_G")) == 1 / problem.L
    assert problem.constants("minimum") == {"minimum": problem.minimum}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: PROBLEMS["mlp"].constants(), ValueError, "needs the constant L, which is unknown for MLP"),
        (lambda: PROBLEMS["logistic"].constants(), ValueError, "the constant c, which is unknown for Log"),
        (
            lambda: PROBLEMS["mlp"].constants("e_0"),
            ValueError,
            "the constant minimum, which is unknown for MLP",
        ),
        (lambda: Quadratic().constants("e0"), ValueError, "a constant 'e0' is unknown; did you mean e_0"),
        (lambda: Quadratic().constants(3), TypeError, "a constant must be one of L, c, .*; got 3"),
    ],
)
def test_a_constant_that_nobody_knows_is_named(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert str(caught.value)[-1] in ".?" and "\n" not in str(caught.value)


def test_quadratics_are_equal_if_their_parameters_are():
    same = Quadratic([0.5, 1.0], 2.0, m=3, start=[1.0, 1.0])
    assert Quadratic([0.5, 1.0], 2.0, m=3) == same and hash(same) == hash(Quadratic([0.5, 1.0], 2.0, m=3))
    others = [
        Quadratic([0.5, 1.0], 2.0),
        Quadratic([1.0, 0.5], 2.0, m=3),
        Quadratic([0.5, 1.0], m=3),
        "a bowl",
    ]
    assert same not in others and same != Quadratic([0.5, 1.0], 2.0, m=3, start=2.0)


def test_digits_are_1797_rows_of_64_pixels_and_10_classes():
    softmax, mlp = SoftmaxRegression.digits(m=100), MLP.digits(hidden=4)
    assert softmax.dimension == 65 * 10
    assert softmax.loss(softmax.start) == pytest.approx(np.log(10))
    assert mlp.dimension == 65 * 4 + 5 * 10
    assert 0.5 < np.abs(mlp.X @ mlp.start[: 65 * 4].reshape(4, 65).T).mean() < 1.5


def test_digits_without_scikit_learn_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match=r'digits needs scikit-learn.*pip install "sgdrace\[digits\]"'):
        MLP.digits()


def handed_out(problem):
    """Every array that a problem shows."""
    names = [name for name in ("eigenvalues", "start", "X", "y", "optimum") if hasattr(problem, name)]
    return {name: getattr(problem, name) for name in names}


@every_problem
def test_nobody_can_write_to_the_arrays_of_a_problem(name):
    for array in handed_out(PROBLEMS[name]).values():
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            array[...] = 7.0


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (lambda a: Quadratic(a[0], start=a[1]), np.ones((2, 3))),
        (lambda a: LeastSquares(a[:, :3], a[:, 3], m=2, start=a[0, :3]), np.ones((4, 4))),
        (lambda a: LeastSquares(a[:3], a[3], m=2, start=a[4]), np.ones((5, 3))),
        (lambda a: LogisticRegression(a, a[:, 0], m=2, start=a[0]), np.eye(4)),
        (lambda a: SoftmaxRegression(a, a[:, 0], m=2, start=a.ravel()[:8]), np.eye(4)),
        (lambda a: SoftmaxRegression(a, a[:, 0], m=2), np.eye(4, dtype=int)),
        (lambda a: MLP(a, a[:, 0], hidden=2, m=2), np.eye(4)),
    ],
)
def test_a_problem_keeps_copies_of_what_it_is_given(make, given):
    given = given.copy()
    problem = make(given)
    arrays = {name: array.copy() for name, array in handed_out(problem).items()}
    loss, w = problem.loss(problem.start), some_weights(problem)
    gradients = (
        problem.gradient(w),
        problem.mini_batch_gradients(w[:2], problem.draw(np.random.default_rng(0), 2)),
    )
    given[...] = 100
    assert given.flags.writeable
    assert all((array == arrays[name]).all() for name, array in handed_out(problem).items())
    assert problem.loss(problem.start) == loss
    assert (problem.gradient(w) == gradients[0]).all()
    again = problem.mini_batch_gradients(w[:2], problem.draw(np.random.default_rng(0), 2))
    assert (again == gradients[1]).all()


@every_problem
def test_losses_and_gradients_leave_the_weights_alone_and_share_no_memory_with_them(name):
    problem = PROBLEMS[name]
    w, choice = some_weights(problem), problem.draw(np.random.default_rng(0), 6)
    before = w.copy()
    results = [problem.loss(w), problem.gradient(w), problem.mini_batch_gradients(w, choice)]
    results.append(problem.mini_batch_gradients(w, choice, np.arange(6), Workspace()))
    assert (w == before).all()
    assert not any(np.shares_memory(w, result) for result in results)


@pytest.mark.parametrize("number", [Decimal("0.5"), Fraction(1, 2), np.array(0.5), np.float32(0.5)])
def test_any_real_number_will_do_for_a_parameter(number):
    quadratic = Quadratic([number, 1], sigma2=number, start=number)
    assert (quadratic.sigma2, quadratic.c, quadratic.start.tolist()) == (0.5, 0.5, [0.5, 0.5])
    assert quadratic.loss([number, 2]) == 2.0625
    logistic = LogisticRegression([[number], [-1]], [1, 0], m=1, l2=number, start=[number])
    assert (logistic.l2, logistic.X.tolist(), logistic.start.tolist()) == (0.5, [[0.5], [-1.0]], [0.5])
    assert all(isinstance(value, float) for value in (quadratic.sigma2, quadratic.c, logistic.l2))


def test_a_hidden_layer_counts_in_python_integers():
    assert MLP([[1.0], [2.0]], [0, 1], hidden=np.array(3), m=1).dimension == 3 * 2 + 2 * 4


def test_a_seed_fixes_partition_and_start():
    X, y = three_classes()
    one, same, other = (MLP(X, y, hidden=2, m=8, seed=seed) for seed in (1, 1, 2))
    assert (one.start == same.start).all()
    assert (one._block_X == same._block_X).all()
    assert (one.start != other.start).any()
    assert (one._block_X != other._block_X).any()


def test_own_problems_need_only_the_four_methods():
    class Tilt(Problem):
        dimension, m, start = 1, 1, np.zeros(1)

        def loss(self, w):
            return np.asarray(w)[..., 0]

        def gradient(self, w):
            return np.ones_like(w)

        def draw(self, rng, size):
            return np.zeros(size)

        def mini_batch_gradients(self, w, choice, row=None, work=None):
            return np.ones((len(choice), 1))

    assert Tilt().L is None
    assert repr(Tilt()) == "Tilt(dimension 1, m = 1)"


X, Y = np.ones((4, 2)), [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Quadratic([1.0, 0.0]), ValueError, "every entry of eigenvalues must be .* above 0"),
        (lambda: Quadratic(sigma2=-1), ValueError, "sigma2 must be .* at least 0; got -1"),
        (lambda: Quadratic(m=0), ValueError, "m must be at least 1; got 0"),
        (lambda: Quadratic([1, 2], start=[1, 2, 3]), ValueError, "start must be a finite number or 2"),
        (lambda: Quadratic(start=np.nan), ValueError, "start must be a finite number"),
        (lambda: Quadratic(start="far"), TypeError, "start must be a number or 1 numbers; got 'far'"),
        (lambda: Quadratic([1, 2]).loss([1.0]), ValueError, r"w must hold 2 weights .* shape \(1,\)"),
        (lambda: Quadratic().gradient(1.0), ValueError, "w must hold 1 weights"),
        (lambda: LeastSquares([1.0, 2.0], [1, 2]), ValueError, r"X must have a row .* got shape \(2,\)"),
        (lambda: LeastSquares("table", [1]), TypeError, "X must be a table of numbers"),
        (lambda: LeastSquares([[np.nan]], [1]), ValueError, "X must hold finite numbers"),
        (lambda: LeastSquares([[0.0]], [1]), ValueError, "at least one number other than 0"),
        (lambda: LeastSquares(X, [1, 2]), ValueError, "one target for each of the 4 rows of X; got 2"),
        (lambda: LeastSquares(X, Y, m=5), ValueError, "m must be between 1 and 4; got 5"),
        (
            lambda: LeastSquares.synthetic(noise=-1),
            ValueError,
            "^noise must be a finite number of at least 0; got -1",
        ),
        (lambda: LogisticRegression(X, [0, 1, 2, 1], m=2), ValueError, "labels 0 and 1; got .*2"),
        (
            lambda: LogisticRegression(X, Y, m=2, l2=-1),
            ValueError,
            "^l2 must be a finite number of at least 0; got -1",
        ),
        (lambda: SoftmaxRegression(X, [0, 1, 0.5, 1], m=2), ValueError, "classes numbered 0, 1, 2"),
        (lambda: SoftmaxRegression(X, [0, 2, 0, 2], m=2), ValueError, "no row of class 1"),
        (lambda: SoftmaxRegression(X, [0, 0, 0, 0], m=2), ValueError, "no row of class 1"),
        (lambda: MLP(X, Y, hidden=0, m=2), ValueError, "hidden must be at least 1; got 0"),
        (lambda: MLP(X, Y, hidden=10**12, m=2), ValueError, "hidden layer .* GiB, over the limit of 16 GiB"),
        (lambda: LeastSquares.synthetic(rows=10**12), ValueError, "1000000000000 rows of 20 .* 149011 GiB"),
        (lambda: LogisticRegression.synthetic(dimension=10**400), ValueError, "more than a billion GiB"),
        (lambda: Quadratic(m=10**400), ValueError, "m must be a finite number; got inf"),
        (lambda: Quadratic(start="1"), TypeError, "start must be a number .* got '1'"),
        (lambda: Quadratic(start=True), TypeError, "start must be a number .* got True"),
        (lambda: Quadratic(start=np.timedelta64(1)), TypeError, "start must be a number"),
        (lambda: Quadratic(start=np.ma.masked), TypeError, "start must be a number"),
        (lambda: Quadratic(start=10**400), ValueError, "start must be a finite number"),
        (lambda: Quadratic(start=1j), TypeError, "start must be a number"),
        (lambda: LeastSquares([["1"], ["2"]], [1, 2], m=1), TypeError, "X must be a table of numbers"),
        (lambda: LeastSquares([[None], [2]], [1, 2], m=1), TypeError, "X must be a table of numbers"),
        (lambda: LeastSquares([[1j], [2]], [1, 2], m=1), TypeError, "X must be a table of numbers"),
        (lambda: LeastSquares([[1], [2, 3]], [1, 2], m=1), TypeError, "X must be a table of numbers"),
        (lambda: LeastSquares(X, ["1", "2", "3", "4"], m=2), TypeError, "y must be a list of numbers; got"),
        (lambda: LogisticRegression(X, [0, 1, None, 1], m=2), TypeError, "y must be a list of numbers; got"),
        (lambda: MLP(X, [[0], [1, 0]], m=2), TypeError, "y must be a list of numbers; got"),
        (lambda: Quadratic().loss(None), TypeError, "w must be an array of 1 weights; got None"),
        (lambda: Quadratic().loss([None]), TypeError, "w must be an array of 1 weights"),
        (lambda: Quadratic().gradient(["1"]), TypeError, r"w must be an array of 1 weights; got \['1'\]"),
        (lambda: Quadratic().gradient([1j]), TypeError, "w must be an array of 1 weights"),
        (lambda: Quadratic().gradient([np.nan]), ValueError, r"w must hold finite weights only; got \[nan\]"),
        (
            lambda: LeastSquares(X, Y, m=2).noise_at(np.ones((2, 2))),
            ValueError,
            r"w must hold 2 weights; got",
        ),
        (
            lambda: Quadratic().known("curvature"),
            ValueError,
            "constant must be one of L, c, sigma2, M_G, minimum",
        ),
        (lambda: Quadratic().known(None), TypeError, "constant must be one of L, c"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(make, error, message):
    with pytest.raises(error, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
