"""Training replays a race exactly, and does to the error what the mathematics says."""

import dataclasses

import numpy as np
import pytest

from sgdrace import _prepared, estimates, training
from sgdrace.delays import Constant, Exponential
from sgdrace.learning_rates import (
    ConstantRate,
    Decaying,
    DelayAdaptive,
    DropOlderThan,
    InverseStaleness,
    StalenessCompensating,
    Update,
    as_learning_rate,
)
from sgdrace.problems import MLP, LeastSquares, LogisticRegression, Problem, Quadratic, SoftmaxRegression
from sgdrace.race import Race, simulate
from sgdrace.training import STREAM, Training, train, train_each
from tests.machines import interrupt

X = np.random.default_rng(3).standard_normal((50, 3))
CLASSES = np.arange(50) % 3
FINE = simulate("K-async", 4, 2, Exponential(), updates=3, seed=0)


def race_of(staleness, K=None, time=None, variant="K-async"):
    """A race with this staleness (replicas, updates, K), an update every unit of time."""
    staleness = np.asarray(staleness, np.int32)
    replicas, updates, width = staleness.shape
    time = np.tile(np.arange(1.0, updates + 1), (replicas, 1)) if time is None else np.asarray(time)
    return Race(variant, 8, width if K is None else K, time, None, staleness, None)


def staggered(P, updates, replicas):
    """Constant times with evenly spread starts: after the first P updates staleness is P - 1 for ever."""
    staleness = np.minimum(np.arange(updates), P - 1)
    return race_of(np.broadcast_to(staleness[None, :, None], (replicas, updates, 1)))


def plain_loop(problem, race, learning_rate, seed):
    """The same SGD as `train`, one gradient after the other: all versions (replicas, updates + 1, d)."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM,)))
    schedule = as_learning_rate(learning_rate)
    replicas, updates, _ = race.staleness.shape
    history = [[problem.start] for _ in range(replicas)]
    for j in range(updates):
        choice = iter(problem.draw(rng, int((race.staleness[:, j] >= 0).sum())))
        for r, versions in enumerate(history):
            staleness = [s for s in race.staleness[r, j] if s >= 0]
            K, w, change = len(staleness), versions[-1], 0.0
            distance = np.array([[np.sum((w - versions[j - s]) ** 2) for s in staleness]])
            steps = schedule.steps(Update(j, np.array([staleness]), distance))
            for s, step in zip(staleness, np.broadcast_to(steps, (1, K))[0], strict=True):
                gradient = problem.mini_batch_gradients(versions[j - s][None], np.array([next(choice)]))[0]
                change = change + step * gradient / K
            versions.append(w - change)
    return np.array(history)


PROBLEMS = {
    "quadratic": Quadratic([0.5, 1.0], sigma2=1.0, m=2, start=[1.0, -2.0]),
    "least squares": LeastSquares(X, X.sum(axis=1) + CLASSES, m=8),
    "logistic": LogisticRegression(X, CLASSES == 1, m=8, l2=0.1),
    "softmax": SoftmaxRegression(X, CLASSES, m=8),
    "mlp": MLP(X, CLASSES, hidden=3, m=8),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("variant", ["K-sync", "K-async", "K-batch-async"])
def test_training_equals_a_plain_loop_over_gradients(name, variant):
    problem = PROBLEMS[name]
    race = simulate(variant, P=5, K=3, delay=Exponential(), updates=25, replicas=4, seed=1)
    run = train(problem, race, 0.1, seed=7, every=10)
    history = plain_loop(problem, race, 0.1, seed=7)
    assert run.weights == pytest.approx(history[:, -1], rel=1e-12, abs=1e-12)
    assert run.updates.tolist() == [0, 10, 20, 25]
    assert run.loss == pytest.approx(problem.loss(history[:, run.updates]), rel=1e-11)


@pytest.mark.parametrize(
    "schedule",
    [
        StalenessCompensating(0.01, 0.3),
        InverseStaleness(0.3),
        DelayAdaptive(0.2, 2),
        DropOlderThan(0.2, limit=2),
        Decaying(0.3, after=10),
    ],
)
def test_schedules_get_the_staleness_and_distance_of_each_gradient(schedule):
    race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=40, replicas=3, seed=2)
    run = train(PROBLEMS["logistic"], race, schedule, seed=1)
    history = plain_loop(PROBLEMS["logistic"], race, schedule, seed=1)
    assert run.weights == pytest.approx(history[:, -1], rel=1e-12, abs=1e-12)
    assert run.rate.shape == (3, 40)
    assert (run.rate >= 0).all()
    assert run.rate.max() <= 0.3


def test_distances_are_recorded_for_the_schedule_that_needs_them():
    race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=40, replicas=3, seed=2)
    schedule = StalenessCompensating(0.01, 0.3)
    run = train(PROBLEMS["quadratic"], race, schedule, seed=1)
    history = plain_loop(PROBLEMS["quadratic"], race, schedule, seed=1)
    for r, j in ((0, 0), (1, 7), (2, 39)):
        stale = history[r, j - race.staleness[r, j]]
        assert run.distance_square[r, j] == pytest.approx(np.square(history[r, j] - stale).sum(axis=1).mean())
    assert run.rate == pytest.approx(0.01 / np.maximum(run.distance_square, 0.01 / 0.3))
    constant = train(PROBLEMS["quadratic"], race, 0.1)
    assert constant.rate is None
    assert constant.distance_square is None


def test_K_may_differ_between_replicas_and_updates():
    rng = np.random.default_rng(0)
    K = rng.integers(1, 5, size=(3, 20))
    staleness = np.minimum(rng.integers(0, 6, size=(3, 20, 4)), np.arange(20)[:, None])
    staleness[np.arange(4) >= K[:, :, None]] = -1
    race = race_of(staleness, K)
    for schedule in (0.1, StalenessCompensating(0.01, 0.3), InverseStaleness(0.3)):
        for problem in (PROBLEMS["quadratic"], PROBLEMS["softmax"]):
            run = train(problem, race, schedule, seed=3, gradients=True)
            history = plain_loop(problem, race, schedule, seed=3)
            assert run.weights == pytest.approx(history[:, -1], rel=1e-12, abs=1e-12)
            assert (run.K == K).all() and not np.shares_memory(run.K, K)
            stale = history[1, 5 - staleness[1, 5][: K[1, 5]]]
            gap = problem.gradient(history[1, 5]) - problem.gradient(stale)
            assert run.gradient_gap_square[1, 5] == pytest.approx(np.square(gap).sum(axis=1).mean(), rel=1e-9)
            here = problem.gradient(history[1, 5])
            assert run.gradient_square[1, 5] == pytest.approx(here @ here, rel=1e-9)


def test_what_a_schedule_says_of_gradients_that_do_not_exist_is_ignored():
    class Inverse:
        needs_distance = False

        def steps(self, update):
            with np.errstate(divide="ignore"):
                return 0.3 / (update.staleness + 1)  # infinite for the staleness of -1 that stands for none

    K = np.array([[1, 3, 2], [3, 1, 3]])
    staleness = np.minimum(np.ones((2, 3, 3), int), np.arange(3)[:, None])
    staleness[np.arange(3) >= K[:, :, None]] = -1
    race = race_of(staleness, K)
    run, same = train(Quadratic(), race, Inverse()), train(Quadratic(), race, InverseStaleness(0.3))
    assert (run.loss == same.loss).all()
    assert (run.rate == same.rate).all()


def test_a_constant_rate_that_was_made_to_vary_is_a_schedule():
    class Warmed(ConstantRate):
        def steps(self, update):
            return self.eta / (update.staleness + 1)

    race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=40, replicas=3, seed=2)
    run, same = train(Quadratic(), race, Warmed(0.3)), train(Quadratic(), race, InverseStaleness(0.3))
    assert (run.rate == same.rate).all()


def test_each_learning_rate_gets_its_part_of_the_replicas_and_what_a_run_of_it_alone_would_record():
    race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=50, replicas=6, seed=1)
    problem = Quadratic([0.1, 1.0], sigma2=0.0, start=3.0)  # no noise, which the parts have of their own
    rates = {"fixed": 0.1, "braked": StalenessCompensating(0.01, 0.5)}
    found = train_each(problem, race, rates, gradients=True)
    for number, (name, rate) in enumerate(rates.items()):
        part, alone = slice(3 * number, 3 * number + 3), train(problem, race, rate, gradients=True)
        for field in ("time", "loss", "weights", "diverged", "rate", "gradient_square", "distance_square"):
            expected = getattr(alone, field)
            assert (getattr(found[name], field) is None) == (expected is None)
            assert expected is None or getattr(found[name], field) == pytest.approx(expected[part])
        assert found[name].learning_rate == alone.learning_rate


def test_each_learning_rate_keeps_the_K_of_its_replicas():
    K = np.array([[1, 2], [2, 1], [2, 2], [1, 1]])
    race = simulate("K-async", P=4, K=2, delay=Exponential(), updates=2, replicas=4, seed=1)
    staleness = np.where(np.arange(2) < K[..., None], race.staleness, -1)
    race = dataclasses.replace(race, K=K, staleness=staleness, learner=None, pushed=None)
    found = train_each(Quadratic(), race, {0.1: 0.1, 0.2: 0.2})
    assert found[0.2].K.tolist() == K[2:].tolist()


def test_sync_races_need_no_detail():
    for K in (3, np.array([[1, 2], [3, 1]])):
        staleness = np.zeros((2, 2, 3), int)
        staleness[np.arange(3) >= np.broadcast_to(K, (2, 2))[:, :, None]] = -1
        with_detail = race_of(staleness, K, variant="K-sync")
        without = dataclasses.replace(with_detail, staleness=None)
        for problem in PROBLEMS.values():
            assert (train(problem, with_detail).weights == train(problem, without).weights).all()


def test_the_same_seed_gives_the_same_run_and_another_one_does_not():
    race = simulate("K-async", P=4, K=2, delay=Exponential(), updates=30, replicas=3, seed=0)
    problem = PROBLEMS["logistic"]
    one, same, other = (train(problem, race, seed=seed) for seed in (5, 5, 6))
    assert (one.loss == same.loss).all()
    assert (one.loss[:, 1:] != other.loss[:, 1:]).mean() > 0.9  # two runs may pick the same block
    sequence = np.random.SeedSequence(5)
    assert (train(problem, race, seed=sequence).loss == one.loss).all()
    assert (train(problem, race, seed=sequence).loss == one.loss).all()


def test_every_decides_when_losses_are_recorded():
    race = simulate("K-sync", P=2, K=1, delay=Constant(2.0), updates=7)
    for every, updates in ((3, [0, 3, 6, 7]), (7, [0, 7]), (10**400, [0, 7]), (None, list(range(8)))):
        run = train(PROBLEMS["quadratic"], race, every=every)
        assert run.updates.tolist() == updates
        assert run.time[0].tolist() == [2.0 * j for j in updates]
    assert len(train(PROBLEMS["quadratic"], simulate("K-sync", 1, 1, Constant(), 1234)).updates) == 96


def test_the_loss_at_a_time_is_that_of_the_last_update_before():
    race = race_of(np.zeros((2, 3, 1)), time=[[1.0, 2.0, 3.0], [0.5, 0.5, 4.0]])
    run = train(Quadratic(sigma2=0.0), race, 0.5, every=1)
    losses = 0.5 * 0.25 ** np.arange(4)
    assert run.end == 3.0
    expected = [losses[[0, 1, 1, 3]], losses[[0, 2, 2, 2]]]
    assert run.at([0.0, 1.0, 1.9, 3.0]) == pytest.approx(np.array(expected))
    with pytest.raises(ValueError, match=r"between 0 and 3, when the first replica ends; got 3\.5"):
        run.at([1.0, 3.5])
    with pytest.raises(ValueError, match=r"^every entry of times must be a finite number of at least 0"):
        run.at([-1.0])


# --- against exact mathematics


def within_standard_errors(samples, exact, number):
    """Whether each column's mean over replicas is within so many standard errors of its expectation."""
    error = samples.std(axis=0, ddof=1) / len(samples) ** 0.5
    return (np.abs(samples.mean(axis=0) - exact) <= number * error).all()


SECOND_MOMENTS = [
    ("K-async", 8, 1, 0.2, [5.8, 3.374, 0.284128, 2.04088, 1.28065, 0.303753]),
    ("K-async", 8, 4, 0.5, [2.3125, 0.258929, 0.432039, 0.126355, 0.115907, 0.115854]),
    ("K-async", 16, 4, 0.3, [4.4325, 1.65112, 0.324711, 0.824132, 0.122872, 0.0793549]),
    ("K-batch-async", 8, 4, 0.5, [2.3125, 0.171814, 1.63278, 0.247054, 0.159193, 0.15397]),
    ("K-batch-async", 16, 4, 0.3, [4.4325, 1.58173, 0.577927, 1.58598, 0.233821, 0.0938582]),
]


@pytest.mark.parametrize(("variant", "P", "K", "a", "moments"), SECOND_MOMENTS)
def test_second_moments_on_a_quadratic_are_exact(variant, P, K, a, moments):
    race = simulate(variant, P, K, Exponential(), updates=60, replicas=10_000, seed=10)
    run = train(Quadratic(sigma2=3.0, m=3, start=3.0), race, a, seed=11, every=1)
    # 30 comparisons at 4 standard errors: 0.2 % of seeds would give a false alarm.
    squares = 2 * run.loss[:, [1, 2, 5, 10, 20, 60]]
    assert within_standard_errors(squares, np.array(moments), number=4)


@pytest.mark.parametrize(("K", "m"), [(1, 1), (4, 2)])
def test_sync_on_a_quadratic_follows_its_exact_recursion(K, m):
    a, second_moment = 0.5, [9.0]
    for _ in range(30):
        second_moment.append((1 - a) ** 2 * second_moment[-1] + a**2 * 1.5 / (K * m))
    race = simulate("K-sync", 8, K, Exponential(), updates=30, replicas=4000, seed=0, detail=False)
    run = train(Quadratic(sigma2=1.5, m=m, start=3.0), race, a, seed=1, every=1)
    # 62 comparisons (partly of the same numbers) at 4.5 standard errors: 0.04 % false alarms.
    assert within_standard_errors(2 * run.loss, np.array(second_moment), number=4.5)


def test_without_noise_sync_sgd_is_gradient_descent():
    race = simulate("K-batch-sync", 4, 6, Exponential(), updates=20, seed=0)
    problem = Quadratic([0.2, 1.0], sigma2=0.0, start=2.0)
    run = train(problem, race, 0.3)
    assert run.weights[0] == pytest.approx(2 * (1 - 0.3 * problem.eigenvalues) ** 20)


def test_recorded_gradients_give_the_exact_gamma_of_async_sgd_at_its_floor():
    P, a = 8, 0.1
    race = simulate("K-async", P, 1, Exponential(), updates=400, replicas=2000, seed=4)
    run = train(Quadratic(start=0.5), race, a, seed=5, every=20, gradients=True)
    assert run.gradient_square.shape == run.gradient_gap_square.shape == (2000, 20)
    gamma = run.gradient_gap_square[:, 8:].mean() / run.gradient_square[:, 8:].mean()
    assert estimates.gamma(run).value[8:].mean() == pytest.approx(gamma, rel=0.01)
    # 2000 runs with 12 nearly independent records each: standard error about 1.3 %; 4 of them.
    assert gamma == pytest.approx(2 * a * (P - 1) / (P * a + 1), rel=0.05)


def test_no_gradients_are_recorded_unless_asked_for():
    run = train(PROBLEMS["quadratic"], race_of(np.zeros((1, 3, 1))))
    assert run.gradient_square is None
    assert run.gradient_gap_square is None


# The quadratic of the table: 10 eigenvalues 0.1..1, w_0 = 3 and noise 0.3 in each coordinate, P = 40, K = 1.
TEN = Quadratic(np.geomspace(0.1, 1, 10), sigma2=0.9, start=3.0)


def late_loss(run):
    return run.loss[:, run.updates >= 0.8 * run.updates[-1]].mean()


@pytest.mark.parametrize(("eta", "fixed", "scheduled"), [(0.05, 0.0206, 0.0118), (0.1, 0.0608, 0.0178)])
def test_staleness_compensation_lowers_the_floor_of_async_sgd(eta, fixed, scheduled):
    race = simulate("K-async", 40, 1, Exponential(), updates=3000, replicas=40, seed=1)
    # Both our mean of 40 runs and the table's of 30 longer ones scatter by 5 % to 10 %.
    assert late_loss(train(TEN, race, eta, every=40)) == pytest.approx(fixed, rel=0.25)
    schedule = StalenessCompensating(C=0.001, eta_max=eta)
    assert late_loss(train(TEN, race, schedule, every=40)) == pytest.approx(scheduled, rel=0.25)


# How soon a fixed rate diverges depends on it.
@pytest.mark.parametrize(("eta", "updates", "scheduled"), [(0.05, 8000, 0.0118), (0.1, 4000, 0.0114)])
def test_staleness_compensation_prevents_divergence_under_constant_delay(eta, updates, scheduled):
    race = staggered(40, updates, replicas=10)
    fixed = train(TEN, race, eta, every=40)
    assert (fixed.diverged > 0).all()
    run = train(TEN, race, StalenessCompensating(C=0.001, eta_max=eta), every=40)
    assert (run.diverged == -1).all()
    assert late_loss(run) == pytest.approx(scheduled, rel=0.25)


def test_constant_delay_is_stable_below_and_unstable_above_its_exact_limit():
    limit = 2 * np.sin(np.pi / (2 * (2 * 7 + 1)))  # staleness 7
    for factor, stable in ((0.95, True), (1.05, False)):
        run = train(Quadratic(sigma2=0.0), staggered(8, 2000, 1), factor * limit)
        assert (run.loss[0, -1] < run.loss[0, 0]) == stable


# --- divergence


@pytest.mark.parametrize("name", ["quadratic", "least squares"])
def test_a_diverged_replica_has_infinite_losses_from_then_on_and_the_others_do_not_notice(name):
    # The first replica waits for nobody; the second sees versions that are 5 updates old.
    staleness = np.zeros((2, 400, 1), int)
    staleness[1] = np.minimum(np.arange(400), 5)[:, None]
    problem = PROBLEMS[name]
    eta = 0.9 / problem.L
    run = train(problem, race_of(staleness), eta, every=1, gradients=True)
    fine, lost = run.diverged
    assert fine == -1
    assert 50 < lost < 400
    assert np.isfinite(run.loss[0]).all()
    assert np.isfinite(run.loss[1, :lost]).all()
    assert (run.loss[1, lost:] == np.inf).all()
    assert (run.gradient_square[1, lost:] == np.inf).all()
    assert (run.gradient_gap_square[1, lost:] == np.inf).all()
    assert np.isfinite(run.gradient_gap_square[0]).all()
    assert problem.loss(run.weights[1]) == pytest.approx(run.loss[1, lost - 1])  # the last weights before
    assert repr(run).endswith("1 diverged)")
    twice_fine = train(problem, race_of(np.zeros((2, 400, 1))), eta, every=1)
    assert (twice_fine.loss[0] == run.loss[0]).all()


@pytest.mark.parametrize("eta", [3.0, 1e10, 1e200, 1e300])
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_step_is_so_large_that_it_makes_a_nan_or_a_warning(name, eta):
    race = simulate("K-async", 4, 2, Exponential(), updates=30, replicas=3, seed=0)
    for schedule in (eta, InverseStaleness(eta), StalenessCompensating(eta, eta)):
        run = train(PROBLEMS[name], race, schedule, gradients=True)
        assert not np.isnan(run.loss).any()
        assert not np.isnan(run.gradient_square).any()
        assert not np.isnan(run.gradient_gap_square).any()
        assert np.abs(run.weights).max() < 1e14
        assert (np.isinf(run.loss[:, -1]) == (run.diverged >= 0)).all()
        if eta > 1e100 and schedule == eta:
            assert (run.diverged >= 0).all()


def test_when_all_have_diverged_the_rest_of_the_race_still_has_records():
    run = train(TEN, staggered(40, 3000, 2), InverseStaleness(40.0), every=1000)
    assert (run.diverged > 0).all()
    assert run.loss.shape == (2, 4)
    assert run.rate.shape == (2, 3000)
    assert run.rate[:, -1].tolist() == [0, 0]
    assert repr(run) == "Training(K-async, P=8, K=1: 2 replicas, 3000 updates, 2 diverged)"


def test_a_loss_that_overflows_counts_as_divergence():
    # Small weights, but a loss that no float can hold.
    problem = LeastSquares(1e160 * X, X[:, 0], m=10, start=1.0)
    run = train(problem, race_of(np.zeros((1, 2, 1))), 1e-300)
    assert run.diverged.tolist() == [0]
    assert (run.loss == np.inf).all()


# --- input


def test_the_repr_is_short():
    run = train(Quadratic(sigma2=0.0), race_of(np.zeros((2, 5, 1))), 0.5)
    assert repr(run) == "Training(K-async, P=8, K=1: 2 replicas, 5 updates, mean final loss 0.000488)"
    assert isinstance(run, Training)


def test_progress_is_shown_only_when_asked_for(capsys):
    race = race_of(np.zeros((1, 5, 1)))
    train(Quadratic(), race)
    assert capsys.readouterr().err == ""
    train(Quadratic(), race, progress=True)
    assert "5/5" in capsys.readouterr().err


def test_an_enormous_ring_of_past_weights_is_refused():
    race = race_of(np.minimum(np.arange(5000), 4000)[None, :, None])
    with pytest.raises(
        ValueError, match=r"staleness up to 4000 of 1 replicas with 1000000 weights needs 29.8 GiB"
    ):
        train(Quadratic(np.ones(1_000_000)), race)


def test_a_run_whose_records_no_memory_can_hold_is_refused_before_it_starts(monkeypatch):
    race, problem = race_of(np.zeros((3, 200, 2))), Quadratic()
    monkeypatch.setattr("sgdrace._memory.LARGEST", 40_000)
    train(problem, race)  # 100 records
    for more in ({"gradients": True}, {"every": 1}, {"learning_rate": StalenessCompensating(1.0, 1.0)}):
        with pytest.raises(
            ValueError, match=r"^200 updates of 3 replicas would take more than .* larger every"
        ):
            train(problem, race, **more)
    with pytest.raises(ValueError, match=r"200 updates of 3 replicas .* which hold about 0; use fewer"):
        train(Quadratic(np.ones(1000)), race)  # the gradients of one update


def test_an_interrupt_stops_a_run():
    setup = """
from sgdrace import *
race = simulate("K-async", 8, 2, Exponential(), updates=300_000, seed=0)
setting = (Quadratic(), "K-async", 8, Exponential(), SqrtRule(1))
"""
    runs = ["train(Quadratic(), race)", "train_adaptively(*setting, until=1e6)"]
    assert interrupt(runs, setup) == ["KeyboardInterrupt", "KeyboardInterrupt", 0]


# --- what a run remembers and tells


def test_a_run_remembers_what_was_trained_how():
    race = simulate("K-batch-async", 4, 6, Exponential(), updates=5, seed=0)
    problem, schedule = PROBLEMS["softmax"], InverseStaleness(0.1)
    run = train(problem, race, schedule)
    assert run.problem is problem and run.learning_rate is schedule
    assert (run.variant, run.P, run.K) == ("K-batch-async", 4, 6)
    assert run.law == getattr(race, "law", None)
    assert train(problem, race, 0.3).learning_rate == ConstantRate(0.3)


def test_the_arrays_of_a_run_cannot_be_written_to_and_are_its_own():
    K = np.array([[1, 2], [2, 1]])
    staleness = np.zeros((2, 2, 2), int)
    staleness[np.arange(2) >= K[:, :, None]] = -1
    run = train(Quadratic(), race_of(staleness, K), StalenessCompensating(1.0, 0.1), gradients=True)
    arrays = {name: value for name, value in vars(run).items() if isinstance(value, np.ndarray)}
    assert len(arrays) == 10
    for array in (*arrays.values(), *vars(run.band([0.0])).values()):
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            array[0] = 0
    K[:] = 7
    assert run.K.max() == 2
    given = np.zeros((2, 3))
    copied = dataclasses.replace(run, loss=given)
    given[:] = 1
    assert (copied.loss == 0).all()


def test_runs_are_equal_if_everything_in_them_is():
    race, other = (simulate("K-async", 4, 2, Exponential(), updates=5, seed=seed) for seed in (0, 1))
    run = train(Quadratic(), race, InverseStaleness(0.1), seed=0)
    assert run == train(Quadratic(), race, InverseStaleness(0.1), seed=0)
    different = [
        train(Quadratic(), race, InverseStaleness(0.1), seed=1),
        train(Quadratic(), race, InverseStaleness(0.2), seed=0),
        train(Quadratic(), other, InverseStaleness(0.1), seed=0),
        train(Quadratic(sigma2=2.0), race, InverseStaleness(0.1), seed=0),
        train(Quadratic(), race, InverseStaleness(0.1), seed=0, gradients=True),
        dataclasses.replace(run, P=5),
        dataclasses.replace(run, K=np.full((1, 5), 2)),
        "a run",
    ]
    assert not any(run == each or each == run for each in different)
    assert run.band([0.0]) == run.band([0.0]) != run.band([0.1])
    diverged = train(Quadratic(), race, 1e200)
    assert diverged == train(Quadratic(), race, 1e200)


FINE_RUN = train(Quadratic(), FINE, InverseStaleness(0.1), gradients=True)  # 4 records of 1 replica


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"variant": "K-zync"}, ValueError, "variant 'K-zync' is unknown; did you mean K-sync"),
        ({"P": 0}, ValueError, "P must be at least 1; got 0"),
        ({"K": 5}, ValueError, "K must be between 1 and P = 4; got 5"),
        ({"K": np.full((1, 3), 5)}, ValueError, "K must be between 1 and P = 4; got 5"),
        ({"K": np.array([[1, 0, 1]])}, ValueError, "K must be at least 1; got 0"),
        ({"K": np.ones((1, 2), int)}, ValueError, "K must be an array of 1 x 3 whole numbers; got an array"),
        ({"problem": 3}, TypeError, "problem must be a Problem"),
        ({"learning_rate": "fast"}, TypeError, "learning_rate must be a number"),
        ({"updates": np.array([0, 2, 1, 3])}, ValueError, "updates must grow from 0, one number for each"),
        ({"updates": np.array([1, 2, 3, 4])}, ValueError, "updates must grow from 0"),
        ({"updates": np.arange(4.0)}, ValueError, "updates must be an array of any number whole numbers"),
        ({"updates": np.arange(0)}, ValueError, "updates must be an array of any number whole numbers"),
        ({"time": np.zeros(4)}, ValueError, r"time must be an array of any number x 4 .* shape \(4,\)"),
        ({"time": [[0.0, 2.0, 1.0, 3.0]]}, ValueError, "time must be finite, at least 0 and never fall"),
        ({"time": [[-1.0, 0.0, 1.0, 3.0]]}, ValueError, "time must be finite, at least 0 and never fall"),
        ({"time": [[0.0, 1.0, 2.0, np.inf]]}, ValueError, "time must be finite, at least 0 and never fall"),
        (
            {"loss": np.full((1, 4), np.nan)},
            ValueError,
            "loss must be an array of 1 x 4 numbers, none .* NaN",
        ),
        ({"loss": "low"}, ValueError, "loss must be an array of 1 x 4 numbers, none of them NaN; got 'low'"),
        ({"weights": np.zeros((1, 2))}, ValueError, "weights must be an array of 1 x 1 numbers"),
        ({"diverged": np.zeros(1)}, ValueError, "diverged must be an array of 1 whole numbers"),
        ({"rate": np.zeros((1, 4))}, ValueError, "rate must be an array of 1 x 3 numbers"),
        ({"gradient_square": np.zeros((1, 4))}, ValueError, "gradient_square must be an array of 1 x 3"),
    ],
)
def test_a_run_that_contradicts_itself_is_refused_in_one_sentence(change, error, message):
    with pytest.raises(error, match=message) as caught:
        dataclasses.replace(FINE_RUN, **change)
    assert str(caught.value)[-1] in ".?" and "\n" not in str(caught.value)


def test_a_band_is_the_mean_and_the_quantiles_over_replicas():
    race = simulate("K-async", P=8, K=2, delay=Exponential(), updates=200, replicas=40, seed=0)
    run = train(Quadratic(start=3.0), race, 0.2, every=1)
    times = np.linspace(0, run.end, 7)
    losses, band = run.at(times), run.band(times)
    assert (band.times == times).all()
    assert band.mean == pytest.approx(losses.mean(axis=0))
    assert (band.low == np.quantile(losses, 0.1, axis=0)).all()
    assert (band.high == np.quantile(losses, 0.9, axis=0)).all()
    wide = run.band(times, low=0, high=1)
    assert (wide.low == losses.min(axis=0)).all() and (wide.high == losses.max(axis=0)).all()


def test_a_band_without_times_compares_replicas_after_as_many_updates():
    race = simulate("K-async", 4, 2, Exponential(), updates=60, replicas=40, seed=3)
    run = train(Quadratic(start=3.0), race, every=7)
    band = run.band(high=0.75)
    assert band.mean == pytest.approx(run.loss.mean(axis=0)) and band.mean.shape == run.updates.shape
    assert (band.low == np.quantile(run.loss, 0.1, axis=0)).all()
    assert (band.high == np.quantile(run.loss, 0.75, axis=0)).all()
    assert (band.times == run.time.mean(axis=0)).all() and band.times[0] == 0


def test_a_diverged_replica_counts_as_infinite_in_a_band():
    # 11 replicas, so that the 10 % and 90 % quantiles are losses of single replicas; one or two diverge.
    for lost, high_is_finite in ((1, True), (2, False)):
        loss = np.tile([1.0, 0.5], (11, 1)) * np.arange(1, 12)[:, None]
        loss[:lost, 1] = np.inf
        run = dataclasses.replace(
            train(Quadratic(), race_of(np.zeros((11, 1, 1)))), loss=loss, diverged=np.full(11, -1)
        )
        band = run.band([0.0, 1.0])
        assert band.mean.tolist() == [6.0, np.inf]
        assert band.low.tolist() == [2.0, 0.5 * (2 + lost)]
        assert band.high.tolist() == [10.0, 5.5 if high_is_finite else np.inf]
        assert run.band([1.0], high=0.85).high.tolist() == [5.25 if high_is_finite else np.inf]
        assert run.band([1.0], high=1).high.tolist() == [np.inf]


def test_a_loss_is_reached_at_its_first_record_and_never_if_no_record_is_that_low():
    race = race_of(np.zeros((2, 4, 1)), time=[[1.0, 2.0, 3.0, 4.0], [0.5, 0.5, 4.0, 9.0]])
    run = train(Quadratic(sigma2=0.0), race, 0.5, every=1)  # losses 0.5 · 0.25^j
    assert run.time_to_reach(0.5).tolist() == [0, 0]
    assert run.time_to_reach(0.125).tolist() == [1, 0.5]
    assert run.time_to_reach(0.03).tolist() == [3, 4]
    assert run.time_to_reach(0.0).tolist() == [np.inf, np.inf]
    seldom = train(Quadratic(sigma2=0.0), race, 0.5, every=3)
    assert seldom.time_to_reach(0.125).tolist() == [3, 4]
    up_again = dataclasses.replace(run, loss=np.array([[3.0, 1.0, 2.0, 0.5, np.inf], [1.0] * 5]))
    assert up_again.time_to_reach(1.5).tolist() == [1, 0]
    assert up_again.time_to_reach(0.5).tolist() == [3, np.inf]


def test_columns_are_equally_long_and_hold_every_record():
    race = simulate("K-async", P=4, K=2, delay=Exponential(), updates=6, replicas=3, seed=0)
    run = train(PROBLEMS["logistic"], race, every=2, gradients=True)
    columns = run.to_columns()
    assert list(columns) == ["replica", "updates", "time", "loss", "gradient_square", "gradient_gap_square"]
    assert {column.shape for column in columns.values()} == {(12,)}
    at = (columns["replica"] == 1) & (columns["updates"] == 4)
    assert columns["loss"][at] == run.loss[1, 2] and columns["time"][at] == run.time[1, 2]
    assert columns["gradient_square"][at] == run.gradient_square[1, 2]
    assert (np.isnan(columns["gradient_gap_square"]) == (columns["updates"] == 6)).all()
    columns["loss"][:] = 0  # a table is its owner's
    assert run.loss.all()


@pytest.mark.parametrize(
    "rate", [0.1, StalenessCompensating(0.01, 0.3), Decaying(0.1, 3.0), DropOlderThan(0.2, limit=2)]
)
def test_a_saved_run_is_loaded_as_it_was(rate, tmp_path):
    race = simulate("K-async", P=4, K=2, delay=Exponential(), updates=6, replicas=3, seed=0)
    run = train(PROBLEMS["quadratic"], race, rate, gradients=True)
    run.save(tmp_path / "run")  # without an ending that NumPy would add
    assert Training.load(tmp_path / "run") == run
    varying = dataclasses.replace(run, K=np.full((3, 6), 2), law=Exponential(2.0))
    varying.save(tmp_path / "run")
    assert Training.load(str(tmp_path / "run")) == varying != run


def test_what_is_more_than_a_few_numbers_is_not_loaded_but_can_be_put_back(tmp_path):
    class Own:
        def sample(self, rng, size):
            return np.ones(size)

    parts = {"problem": PROBLEMS["mlp"], "law": Own()}
    run = dataclasses.replace(train(PROBLEMS["mlp"], FINE, lambda j: 0.1), **parts)
    run.save(tmp_path / "run.npz")
    loaded = Training.load(tmp_path / "run.npz")
    assert (loaded.problem, loaded.law, loaded.learning_rate) == (None, None, None)
    assert (loaded.loss == run.loss).all() and loaded != run
    assert dataclasses.replace(loaded, **parts, learning_rate=run.learning_rate) == run


def test_a_file_that_holds_a_race_is_no_run(tmp_path):
    FINE.save(tmp_path / "race.npz")
    with pytest.raises(ValueError, match=r"^race.npz holds sgdrace.Race, no sgdrace.Training\.$"):
        Training.load(tmp_path / "race.npz")


# --- problems of one's own


class Bowl(Problem):
    """F(w) = ½||w||² without noise; any part can be replaced by another one."""

    dimension, m, start = 2, 1, np.ones(2)

    def __init__(self, **parts):
        vars(self).update(parts)

    def loss(self, w):
        return np.vecdot(w, w) / 2

    def gradient(self, w):
        return w

    def draw(self, rng, size):
        return np.zeros(size)

    def mini_batch_gradients(self, w, choice, row=None, work=None):
        return w[row]


def test_a_problem_of_ones_own_trains_like_ours():
    own, ours = (train(problem, FINE, 0.1, gradients=True) for problem in (Bowl(), Quadratic([1, 1], 0.0)))
    assert own.loss == pytest.approx(ours.loss)
    assert own.gradient_gap_square == pytest.approx(ours.gradient_gap_square)
    listed = train(Bowl(start=[1, 1], mini_batch_gradients=lambda w, c, row, work: w[row].astype("f4")), FINE)
    assert listed.loss == pytest.approx(ours.loss, rel=1e-6)


def test_a_loss_that_is_a_part_of_the_weights_leaves_them_alone_when_it_diverges():
    run = train(Bowl(loss=lambda w: np.asarray(w)[..., 0]), FINE, 1e30)
    assert (run.diverged == 1).all()
    assert run.weights.tolist() == [[1, 1]]


@pytest.mark.parametrize("part", ["loss", "gradient", "mini_batch_gradients"])
def test_a_problem_cannot_write_to_the_weights(part):
    def writes(w, *rest):
        w[...] = 0.0

    with pytest.raises(ValueError, match="assignment destination is read-only"):
        train(Bowl(**{part: writes}), FINE, gradients=True)


def of(value):
    return lambda *arguments: value


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ({"dimension": None}, TypeError, "dimension of Bowl must be a whole number"),
        ({"dimension": 0}, ValueError, "dimension of Bowl must be at least 1; got 0"),
        ({"start": None}, TypeError, "start of Bowl must be 2 weights; got None"),
        ({"start": ["a", "b"]}, TypeError, "start of Bowl must be 2 weights"),
        ({"start": np.ones(3)}, ValueError, "start of Bowl must hold 2 finite weights"),
        ({"start": np.full(2, np.nan)}, ValueError, "start of Bowl must hold 2 finite weights"),
        ({"loss": of(None)}, ValueError, r"loss of Bowl.* numbers of shape \(1,\); it gave None"),
        ({"loss": of(1.0)}, ValueError, r"loss of Bowl.* numbers of shape \(1,\); it gave 1.0"),
        ({"loss": of(np.ones(7))}, ValueError, r"loss of Bowl.* it gave an array of shape \(7,\)"),
        ({"loss": of(np.array(["a"]))}, ValueError, "loss of Bowl.* must give an array of numbers"),
        ({"loss": of(np.full(1, np.nan))}, ValueError, "loss of Bowl.* gives NaN at the start"),
        ({"gradient": of(np.ones(3))}, ValueError, r"gradient of Bowl.* of shape \(1, 2\); it gave"),
        ({"gradient": of(np.full((1, 2), np.nan))}, ValueError, "gradient of Bowl.* gives NaN at the start"),
        ({"draw": of(None)}, ValueError, "draw of Bowl.* an array of 2 mini-batches .* it gave None"),
        ({"draw": of(np.zeros(3))}, ValueError, r"draw of Bowl.* array of 2 .* shape \(3,\)"),
        ({"mini_batch_gradients": of(None)}, ValueError, r"mini_batch_gradients of Bowl.* \(2, 2\); it gave"),
        ({"mini_batch_gradients": of(np.ones((2, 1)))}, ValueError, r"\(2, 2\); it gave .* shape \(2, 1\)"),
        (
            {"mini_batch_gradients": of(np.ones((2, 2), complex))},
            ValueError,
            "mini_batch_gradients of Bowl.* must give an array of numbers",
        ),
        ({"mini_batch_gradients": of(np.full((2, 2), np.nan))}, ValueError, "gives NaN at the start"),
    ],
)
def test_what_a_problem_of_ones_own_must_not_give_is_refused_in_one_sentence(parts, error, message):
    with pytest.raises(error, match=message) as caught:
        train(Bowl(**parts), FINE, gradients=True)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_a_constant_of_ones_own_must_be_a_number():
    with pytest.raises(TypeError, match=r"the constant minimum of Bowl.* must be a number; got 'low'"):
        Bowl(minimum="low").known("minimum")


# --- wrong calls

ASYNC = simulate("K-async", 4, 2, Exponential(), updates=3, detail=False, seed=0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: train("problem", FINE), TypeError, "problem must be a Problem .* got 'problem'"),
        (lambda: train(Quadratic(), 3), TypeError, "race must be a Race, .* got 3"),
        (lambda: train(Quadratic(), ASYNC), ValueError, "K-async race needs its staleness; .*detail=True"),
        (
            lambda: train(Quadratic(), FINE, 0),
            ValueError,
            "^learning_rate must be a finite number above 0",
        ),
        (lambda: train(Quadratic(), FINE, every=0), ValueError, "every must be at least 1; got 0"),
        (lambda: train(Quadratic(), FINE, seed=-1), ValueError, "^seed must be at least 0; got -1"),
        (lambda: train(Quadratic(), FINE, gradients="no"), TypeError, "gradients must be True or False; got"),
        (
            lambda: train(Quadratic(), FINE, gradients=np.ones(2)),
            TypeError,
            "gradients must be True or False",
        ),
        (
            lambda: train(Quadratic(), FINE, progress=None),
            TypeError,
            "progress must be True or False; got None",
        ),
        (
            lambda: train(Quadratic(), race_of(np.ones((1, 3, 1)))),
            ValueError,
            "staleness of update j must be",
        ),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


class OwnLoss(Quadratic):
    """A problem of somebody who has not heard of workspaces."""

    def loss(self, w):
        return super().loss(w)


class TestPreparedUpdates:
    """What is prepared for many updates at a time changes no bit of a run."""

    @pytest.mark.parametrize("variant", ["K-sync", "K-async", "K-batch-async"])
    @pytest.mark.parametrize(
        ("problem", "eta"),
        [
            (Quadratic([0.1, 1.0], sigma2=0.5, start=3.0), 0.1),
            (Quadratic(sigma2=0.0), 2.0),
            (Quadratic([1.0, 30.0]), 0.4),  # diverges, some replicas before others
            (Quadratic([1e290, 1.0], start=1e10), 1e-291),  # its loss overflows, its weights do not
            (OwnLoss([1.0, 30.0]), 0.4),
            (LeastSquares(X, X.sum(axis=1), m=8), 0.1),
            (LogisticRegression(X, CLASSES > 0, m=8, l2=0.1), 0.5),
            (MLP(X, CLASSES, hidden=3, m=8), 0.2),
        ],
        ids=lambda value: repr(value)[:12],
    )
    @pytest.mark.parametrize("ahead", [1, 200, 2**15])
    def test_are_those_made_one_by_one(self, variant, problem, eta, ahead, monkeypatch):
        race = simulate(variant, 6, 2, Exponential(), updates=90, replicas=9, seed=4)
        monkeypatch.setattr(_prepared, "AHEAD", ahead)
        asked = [
            {"every": every, "gradients": gradients} for every in (1, 4, 90) for gradients in (False, True)
        ]
        prepared = [train(problem, race, eta, seed=2, **how) for how in asked]
        monkeypatch.setattr(training.Replay, "prepared", lambda self, race: None)
        assert [train(problem, race, eta, seed=2, **how) for how in asked] == prepared

    def test_were_left_where_a_replica_diverges(self):
        race = simulate("K-async", 6, 2, Exponential(), updates=90, replicas=9, seed=4)
        diverged = train(Quadratic([1.0, 30.0]), race, 0.4, seed=2).diverged
        assert len(set(diverged.tolist())) > 1 and (diverged > 1).any()
