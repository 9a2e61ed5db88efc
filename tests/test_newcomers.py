"""Tasks as a newcomer would write them: each in at most 8 lines, the import from sgdrace among them."""

import ast
import inspect
import textwrap

import numpy as np
import pytest

from sgdrace import VARIANTS, Decaying, Exponential, Pareto, Quadratic, data, simulate, theory, train

ROWS = np.random.default_rng(0).normal(loc=2.0, size=(100, 3))


def fit_a_law_to_step_times(csv):
    from sgdrace import Empirical, fit, order_statistics

    trace = Empirical.from_csv(csv, column="ms")
    fits = fit(trace.times)
    wait = order_statistics.mean(fits.best, K=8, P=8)
    return trace, fits, wait


def choose_K_for_a_time_budget(budget):
    from sgdrace import Pareto, runtime_table, theory

    table = runtime_table("K-async", P=8, law=Pareto(shape=2.5))
    constants = {"eta": 0.02, "L": 1.0, "c": 1.0, "sigma2": 100.0, "e_0": 100.0, "gamma": 0.5}
    return theory.best_K("K-async", time=budget, runtimes=table, **constants), table, constants


def error_against_time_with_bands():
    from sgdrace import VARIANTS, Pareto, Quadratic, simulate, train

    problem, bands = Quadratic([0.1, 1.0], start=3.0), {}
    for variant in VARIANTS:
        race = simulate(variant, P=8, K=4, delay=Pareto(), updates=500, replicas=30)
        run = train(problem, race, learning_rate=0.05, every=1)
        bands[variant] = run.band(np.linspace(0, 50, 101))
    return bands


def own_law():
    from sgdrace import check_law, simulate

    class Sometimes:
        def sample(self, rng, size):
            return 1.0 + 9.0 * (rng.random(size) < 0.1)

    check_law(Sometimes())
    return simulate("K-sync", P=8, K=8, delay=Sometimes(), updates=500)


def own_problem():
    from sgdrace import Exponential, OwnProblem, check_problem, simulate, train

    def loss(w, rows):
        return np.abs(ROWS[rows] - w).mean()

    def gradient(w, rows):
        return np.sign(w - ROWS[rows]).mean(axis=0) / 3

    problem = OwnProblem(loss, gradient, rows=100, start=np.zeros(3), m=10)
    check_problem(problem)
    return train(problem, simulate("K-async", P=8, K=2, delay=Exponential(), updates=500), 0.1)


def own_decaying_rate():
    from sgdrace import Exponential, Quadratic, simulate, train

    race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=1000, replicas=20)
    return train(Quadratic(), race, learning_rate=lambda j: 0.1 / (1 + j / 100))


def save_load_and_compare(path):
    from sgdrace import Pareto, Race, simulate

    simulate("K-async", P=8, K=2, delay=Pareto(), until=60).save(path)
    loaded = Race.load(path)
    again = simulate(loaded.variant, loaded.P, loaded.K, loaded.law, until=60)
    return loaded, again, loaded == again


def race_as_a_data_frame(DataFrame):
    from sgdrace import Exponential, simulate

    race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=100, replicas=3)
    return race, DataFrame(race.to_columns())


def own_rule_for_K():
    from sgdrace import Exponential, Quadratic, train_adaptively

    def rule(progress):
        return 1 + progress.time // 10  # one more every 10 seconds

    return train_adaptively(Quadratic(), "K-sync", 8, Exponential(), rule, until=100.0)


def bound_beside_run():
    from sgdrace import Exponential, Quadratic, simulate, theory, train

    problem = Quadratic([0.5, 1.0], start=3.0)
    race = simulate("K-sync", P=8, K=4, delay=Exponential(), updates=100, replicas=200)
    run = train(problem, race, learning_rate=0.1, every=1)
    bound = theory.error_bound("K-sync", updates=run.updates, K=run.K, eta=0.1, **problem.constants())
    return run, bound


TASKS = [
    fit_a_law_to_step_times,
    choose_K_for_a_time_budget,
    error_against_time_with_bands,
    own_law,
    own_problem,
    own_decaying_rate,
    save_load_and_compare,
    race_as_a_data_frame,
    own_rule_for_K,
    bound_beside_run,
]


def lines(source):
    """The lines of a function below its head that hold something."""
    (function,) = ast.parse(textwrap.dedent(source)).body
    body = source.splitlines()[function.body[0].lineno - 1 :]
    return [line for line in body if line.strip()]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_a_task_takes_at_most_8_lines_from_the_import_on(task):
    body = lines(inspect.getsource(task))
    assert body[0].strip().startswith("from sgdrace import ")
    assert len(body) <= 8 and not any(";" in line for line in body)


def test_lines_are_counted_as_a_reader_would():
    assert len(lines("def f(\n    a,\n):\n    b = [\n        a,\n    ]\n\n    return b  # two\n")) == 4


def test_a_law_is_fitted_to_a_file_of_step_times():
    trace, fits, wait = fit_a_law_to_step_times(data.path("step-times.csv"))
    # What a newcomer sees: the best law, how far off it is, and what it says about eight learners.
    assert isinstance(fits.best, Pareto) and 0.19 < fits[0].distance < 0.21 and wait > trace.mean
    header, *rows = repr(fits).split("\n")
    assert len(rows) == 9 and header.endswith("law fitted to 2000 times")
    assert {row.index("  " + type(one.law).__name__) for row, one in zip(rows, fits, strict=True)} == {37}


def test_K_for_a_time_budget_has_the_least_bound_of_all():
    chosen = []
    for budget in (60, 600):
        K, table, constants = choose_K_for_a_time_budget(budget)
        at = {"time": budget, "runtime": table, **constants}
        bounds = [theory.error_at_time("K-async", K=k, **at) for k in range(1, 9)]
        assert 1 + np.argmin(bounds) == K
        chosen.append(K)
    assert 1 <= chosen[0] < chosen[1] < 8  # who has more time waits for more gradients


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


def test_an_own_law_is_raced():
    assert np.unique(np.diff(own_law().time)).tolist() == [1, 10]


def test_an_own_problem_is_learned():
    run = own_problem()
    assert run.weights[0] == pytest.approx(np.median(ROWS, axis=0), abs=0.3)
    assert run.loss[0, -1] < run.loss[0, 0] / 2


def test_an_own_decaying_rate_is_followed_and_gives_the_same_run_again():
    run = own_decaying_rate()
    assert run.rate == pytest.approx(np.tile(0.1 / (1 + np.arange(1000) / 100), (20, 1)))
    assert (own_decaying_rate().loss == run.loss).all()
    race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=1000, replicas=20)
    assert train(Quadratic(), race, Decaying(0.1, after=100)).loss == pytest.approx(run.loss)


def test_a_saved_race_comes_back_and_can_be_run_again(tmp_path):
    loaded, again, same = save_load_and_compare(tmp_path / "race.npz")
    assert same is True and np.array_equal(loaded.time, again.time) and loaded.law == Pareto()
    assert loaded.time[0, -2] < 60 <= loaded.time[0, -1]
    assert loaded != simulate("K-async", P=8, K=2, delay=Pareto(), until=60, seed=1)


def frame_of_numpy(columns):
    """What pandas and polars do with columns, as far as NumPy can: equally long, each of one type."""
    return np.rec.fromarrays(list(columns.values()), names=list(columns))


@pytest.mark.parametrize("library", ["numpy", "pandas", "polars"])
def test_a_race_is_a_data_frame_in_one_call(library):
    frames = frame_of_numpy if library == "numpy" else pytest.importorskip(library).DataFrame
    race, frame = race_as_a_data_frame(frames)
    assert len(frame) == 3 * 100 * 2
    for r in range(3):
        ours = np.asarray(frame["replica"]) == r
        assert np.asarray(frame["time"])[ours].max() == race.time[r, -1]
        assert np.asarray(frame["staleness"])[ours].mean() == race.staleness[r].mean()


def test_an_own_rule_for_K_is_followed():
    run = own_rule_for_K()
    assert run.K[0, 0] == 1 and run.K[0, -1] == 8
    assert (np.diff(run.K[0]) >= 0).all()
    assert (own_rule_for_K().K == run.K).all()


def test_the_bound_lies_above_the_run():
    run, bound = bound_beside_run()
    assert bound.shape == run.updates.shape
    assert (run.loss.mean(axis=0) <= bound * (1 + 1e-12)).all()
    assert bound[0] == pytest.approx(run.loss[0, 0])
