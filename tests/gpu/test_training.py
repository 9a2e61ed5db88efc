"""The same statements in every kind of arrays.

These are NumPy's in two precisions, those that allow the array API standard and no more, on a device of their
own, NumPy's with the CUDA kernels emulated, and CuPy's where there is a GPU.
"""

import ast
import inspect

import numpy as np
import pytest

from sgdrace import (
    MLP,
    Exponential,
    LeastSquares,
    LogisticRegression,
    OwnProblem,
    Pareto,
    Quadratic,
    Race,
    SideBySide,
    SoftmaxRegression,
    StalenessCompensating,
    Training,
    problems,
    simulate,
    train,
    train_each,
    training,
)
from sgdrace._arrays import HOST, Arrays
from sgdrace.problems import Workspace

RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((50, 3))
PROBLEMS = [
    Quadratic([0.1, 1.0, 0.5], sigma2=1.0, start=2.0),
    LeastSquares(POINTS, POINTS @ [1.0, -1.0, 0.5] + 0.1, m=8),  # 50 rows: some blocks are short
    LogisticRegression(POINTS, POINTS[:, 0] > 0.3, m=8, l2=0.01),
    SoftmaxRegression(POINTS, np.arange(50) % 3, m=16, l2=0.001),
    MLP(POINTS, np.arange(50) % 3, hidden=4, m=8),
]
RECORDS = ("loss", "weights", "rate", "distance_square", "gradient_square", "gradient_gap_square")
RACES = {
    variant: simulate(variant, P=6, K=2, delay=Pareto(2.5), updates=25, replicas=5, seed=1)
    for variant in ("K-sync", "K-async")
}
# Rounding, and how it grows in 25 updates: each bound is some ten times the largest difference that was seen.
ALLOWED = {"float64": 1e-12, "float32": 1e-4}


def far(one, other):
    """The largest difference, relative to the size of the numbers."""
    return np.max(np.abs(one - other) / (1e-2 + np.abs(other)), initial=0.0)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: type(p).__name__)
def test_losses_and_gradients_are_those_of_numpy(problem, on):
    w = 0.5 * RNG.standard_normal((7, 2, problem.dimension))
    there, work = on.floats(w), Workspace(on)
    assert far(on.host(problem.loss(there, work=work)), problem.loss(w)) < ALLOWED[on.precision]
    assert far(on.host(problem.gradient(there, work=work)), problem.gradient(w)) < ALLOWED[on.precision]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: type(p).__name__)
def test_mini_batch_gradients_are_those_of_numpy(problem, on):
    w, row = 0.5 * RNG.standard_normal((9, problem.dimension)), RNG.integers(9, size=40)
    choice = problem.draw(np.random.default_rng(3), 40)
    there = problem.mini_batch_gradients(on.floats(w), choice, row, Workspace(on))
    assert far(on.host(there), problem.mini_batch_gradients(w, choice, row)) < ALLOWED[on.precision]


@pytest.mark.parametrize(
    "rate",
    [0.1, StalenessCompensating(0.01, 0.3), SideBySide([0.1] * 5)],
    ids=lambda rate: type(rate).__name__,
)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: type(p).__name__)
def test_runs_agree_replica_by_replica_on_every_device(problem, rate, on):
    for race in RACES.values() if rate == 0.1 else [RACES["K-async"]]:
        here = train(problem, race, rate, every=4, gradients=True)
        there = train(problem, race, rate, every=4, gradients=True, device=on)
        assert (there.device, there.dtype) == (on.name, on.precision)
        assert np.array_equal(here.time, there.time) and np.array_equal(here.updates, there.updates)
        for name in RECORDS:
            one, other = getattr(there, name), getattr(here, name)
            assert (one is None) == (other is None)
            if one is not None:
                assert type(one) is np.ndarray and one.dtype == np.float64
                assert far(one, other) < ALLOWED[on.precision], name


def test_a_run_diverges_after_as_many_updates_on_every_device(on):
    race = RACES["K-async"]
    here, there = (train(PROBLEMS[0], race, 30.0, every=3, device=device) for device in (HOST, on))
    assert (here.diverged > 0).all() and np.array_equal(here.diverged, there.diverged)
    assert np.array_equal(np.isinf(here.loss), np.isinf(there.loss))
    assert (np.linalg.norm(there.weights, axis=1) <= 1e13).all()  # the last ones before


def test_updates_of_different_size_are_the_same_on_every_device(on):
    K = np.array([[1, 2, 3, 1], [3, 1, 2, 2], [2, 2, 1, 3]])
    race = Race("K-sync", 4, K, np.cumsum(np.ones((3, 4)), axis=1))
    here, there = (train(PROBLEMS[1], race, 0.2, every=1, device=device) for device in (HOST, on))
    assert far(there.loss, here.loss) < ALLOWED[on.precision]


def limited(on, room):
    """The same arrays with less room."""
    parts = Arrays(on.xp, on.precision, on._where.get("device"), on.name, on._fetch, on.kernels, room)
    assert parts.dtype == on.dtype
    return parts


@pytest.mark.parametrize("problem", PROBLEMS[1:3], ids=lambda p: type(p).__name__)
def test_replicas_in_parts_that_fit_are_the_same_replicas(problem, on, monkeypatch):
    monkeypatch.setattr(training, "PIECE", 0)
    race = simulate("K-async", P=4, K=1, delay=Exponential(), updates=20, replicas=7, seed=2)
    width, depth = np.dtype(on.precision).itemsize, int(race.staleness.max()) + 1
    two = width * (2 * problem.X.size + 2 * problem.dimension * (depth + training.GRADIENTS))
    assert len(training._parts(problem, 7, depth, 1, limited(on, two))) == 4
    schedule = StalenessCompensating(0.01, 0.3)
    whole = train(problem, race, schedule, gradients=True, device=on)
    parts = train(problem, race, schedule, gradients=True, device=limited(on, two))
    # Matrix products of other sizes may round otherwise; nothing else may differ.
    for name in RECORDS:
        assert far(getattr(parts, name), getattr(whole, name)) < ALLOWED[on.precision], name
    assert np.array_equal(parts.time, whole.time) and np.array_equal(parts.diverged, whole.diverged)


def test_what_does_not_fit_is_refused_in_a_sentence(on):
    race = RACES["K-async"]
    with pytest.raises(ValueError, match=r"one replica of LeastSquares.* GiB that .* can spare; use device="):
        train(PROBLEMS[1], race, device=limited(on, 1000))


def test_schedules_side_by_side_are_not_torn_apart(monkeypatch):
    monkeypatch.setattr(training, "PIECE", 0)
    race = RACES["K-async"]
    few = limited(HOST, 8 * (2 * 150 + 3 * (int(race.staleness.max()) + 1 + 4 * 2)) + 1)
    with pytest.raises(ValueError, match="schedules side by side need all 5 replicas at once"):
        train_each(PROBLEMS[1], race, dict.fromkeys(range(5), 0.1), device=few)


def test_a_problem_of_ones_own_stays_with_numpy(on):
    own = OwnProblem(lambda w, rows: w @ w / 2, lambda w, rows: w, rows=3, start=[1.0, 2.0])
    race = RACES["K-sync"]
    if on.plain:
        assert train(own, race, device=on) == train(own, race)
    else:
        with pytest.raises(TypeError, match="computes with NumPy in double precision only; train it with"):
            train(own, race, device=on)


def test_a_run_in_single_precision_goes_to_a_file_and_back(tmp_path):
    run = train(PROBLEMS[0], RACES["K-sync"], dtype="float32")
    run.save(tmp_path / "run.npz")
    assert Training.load(tmp_path / "run.npz") == run != train(PROBLEMS[0], RACES["K-sync"])


def names_asked_of(namespace, *modules):
    """Every attribute that the modules take from a variable of this name."""
    return {
        node.attr
        for module in modules
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Attribute)
        and (
            (isinstance(node.value, ast.Name) and node.value.id == namespace)
            or (isinstance(node.value, ast.Attribute) and node.value.attr == namespace)
        )
    }


def test_cupy_and_the_standard_have_every_function_that_training_uses():
    cupy, strict = (pytest.importorskip(name) for name in ("array_api_compat.cupy", "array_api_strict"))
    asked = names_asked_of("xp", problems, training)
    assert {"matmul", "take", "vecdot"} <= asked
    assert [name for name in sorted(asked) if not (hasattr(cupy, name) and hasattr(strict, name))] == []


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda on, x: np.exp(x), id="a function of NumPy"),
        pytest.param(lambda on, x: x + np.ones(3), id="an array of the host"),
        pytest.param(lambda on, x: np.asarray(x), id="a copy to the host that nobody asked for"),
        pytest.param(lambda on, x: x + on.xp.ones(3), id="an array of another device"),
        pytest.param(lambda on, x: on.xp.exp(x, out=x), id="out, which the standard does not have"),
    ],
)
def test_the_strict_device_sees_what_a_gpu_would_refuse(wrong, strict):
    x = strict.floats(np.ones(3))
    with np.errstate(all="raise"), pytest.raises((TypeError, ValueError, RuntimeError)):
        wrong(strict, x)
