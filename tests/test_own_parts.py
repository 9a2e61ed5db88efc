"""Tasks as a newcomer would write them, each in at most 8 lines."""

import inspect

import numpy as np
import pytest

from sgdrace import (
    VARIANTS,
    Decaying,
    Exponential,
    OwnProblem,
    Pareto,
    Quadratic,
    check_problem,
    simulate,
    theory,
    train,
    train_adaptively,
)

DATA = np.random.default_rng(0).normal(loc=2.0, size=(100, 3))


def own_problem():
    def loss(w, rows):
        return np.abs(DATA[rows] - w).mean()

    def gradient(w, rows):
        return np.sign(w - DATA[rows]).mean(axis=0) / 3

    problem = OwnProblem(loss, gradient, rows=100, start=np.zeros(3), m=10)
    check_problem(problem)
    return train(problem, simulate("K-async", P=8, K=2, delay=Exponential(), updates=500, seed=0), 0.1)


def own_decaying_rate():
    race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=1000, replicas=20, seed=0)
    return train(Quadratic(), race, learning_rate=lambda j: 0.1 / (1 + j / 100))


def own_rule_for_K():
    def rule(progress):
        return 1 + progress.time // 10  # one more every 10 seconds

    return train_adaptively(Quadratic(), "K-sync", 8, Exponential(), rule, until=100.0)


def error_against_time_with_bands():
    problem, bands = Quadratic([0.1, 1.0], start=3.0), {}
    for variant in VARIANTS:
        race = simulate(variant, P=8, K=4, delay=Pareto(), updates=500, replicas=30, seed=0)
        run = train(problem, race, learning_rate=0.05, every=1)
        bands[variant] = run.band(np.linspace(0, 50, 101))
    return bands


def bound_beside_run():
    problem = Quadratic([0.5, 1.0], start=3.0)
    race = simulate("K-sync", P=8, K=4, delay=Exponential(), updates=100, replicas=200, seed=0)
    run = train(problem, race, learning_rate=0.1, every=1)
    bound = theory.error_bound("K-sync", updates=run.updates, K=run.K, eta=0.1, **problem.constants())
    return run, bound


TASKS = [own_problem, own_decaying_rate, own_rule_for_K, error_against_time_with_bands, bound_beside_run]


@pytest.mark.parametrize("task", TASKS)
def test_a_task_takes_at_most_8_lines(task):
    lines = [line for line in inspect.getsource(task).splitlines()[1:] if line.strip()]
    assert len(lines) <= 8


def test_an_own_problem_is_learned():
    run = own_problem()
    assert run.weights[0] == pytest.approx(np.median(DATA, axis=0), abs=0.3)
    assert run.loss[0, -1] < run.loss[0, 0] / 2


def test_an_own_decaying_rate_is_followed_and_gives_the_same_run_again():
    run = own_decaying_rate()
    assert run.rate == pytest.approx(np.tile(0.1 / (1 + np.arange(1000) / 100), (20, 1)))
    assert (own_decaying_rate().loss == run.loss).all()
    race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=1000, replicas=20, seed=0)
    assert train(Quadratic(), race, Decaying(0.1, after=100)).loss == pytest.approx(run.loss)


def test_an_own_rule_for_K_is_followed():
    run = own_rule_for_K()
    assert run.K[0, 0] == 1 and run.K[0, -1] == 8
    assert (np.diff(run.K[0]) >= 0).all()
    assert (own_rule_for_K().K == run.K).all()


def test_bands_show_the_race_of_four_variants():
    bands = error_against_time_with_bands()
    assert list(bands) == list(VARIANTS)
    for band in bands.values():
        assert band.times[-1] == 50 and band.mean.shape == (101,)
        assert band.mean[0] == pytest.approx(0.5 * 1.1 * 9)
        assert (band.low <= band.mean).all() and (band.low <= band.high).all()
        assert band.mean[-1] < band.mean[0] / 4
    # Who waits for the slowest of four is behind at first.
    assert bands["K-batch-async"].mean[20] < bands["K-sync"].mean[20]


def test_the_bound_lies_above_the_run():
    run, bound = bound_beside_run()
    assert bound.shape == run.updates.shape
    assert (run.loss.mean(axis=0) <= bound * (1 + 1e-12)).all()
    assert bound[0] == pytest.approx(run.loss[0, 0])
