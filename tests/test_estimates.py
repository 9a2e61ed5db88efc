import math
from types import SimpleNamespace

import numpy as np
import pytest

from sgdrace import Exponential, Quadratic, estimates, simulate, train


def test_gamma_is_a_ratio_of_means_and_not_a_mean_of_ratios():
    square, gap = np.array([[1.0, 2.0], [3.0, 2.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    estimate = estimates.gamma(SimpleNamespace(gradient_square=square, gradient_gap_square=gap))
    assert estimate.value.tolist() == [0.25, 0.25]


def test_standard_error_of_gamma_is_the_spread_over_repetitions():
    rng = np.random.default_rng(3)
    square = rng.gamma(2.0, size=(500, 300))  # every record is an independent repetition
    gap = 0.5 * square * rng.gamma(4.0, 1 / 4, size=(500, 300))
    estimate = estimates.gamma(SimpleNamespace(gradient_square=square, gradient_gap_square=gap))
    # The spread of 300 values is known to 4 %: 5 times that is a false alarm in a million.
    assert estimate.standard_error.mean() == pytest.approx(estimate.value.std(ddof=1), rel=0.2)
    assert estimate.value.mean() == pytest.approx(0.5, abs=0.01)


def test_gamma_of_one_replica_has_no_standard_error_and_of_no_gradient_no_sense():
    one = SimpleNamespace(gradient_square=[[2.0, 0.0, 0.0]], gradient_gap_square=[[1.0, 0.0, 1.0]])
    assert estimates.gamma(one).value.tolist() == [0.5, 0.0, math.inf]
    assert estimates.gamma(one).standard_error.tolist() == [math.inf] * 3
    two = SimpleNamespace(gradient_square=[[0.0], [0.0]], gradient_gap_square=[[1.0], [2.0]])
    assert estimates.gamma(two).standard_error.tolist() == [math.inf]


def test_gamma_of_a_run_that_diverged_is_refused():
    race = simulate("K-async", 8, 1, Exponential(), updates=400, replicas=20, seed=0)
    run = train(Quadratic([1.0]), race, learning_rate=1.5, seed=0, gradients=True)
    lost = ~np.isfinite(run.gradient_square)
    assert lost.any() and not lost.all()
    first = int(np.argmax(lost.any(axis=0)))
    with pytest.raises(ValueError, match=rf"{lost.any(axis=1).sum()} of 20 replicas .* record {first};"):
        estimates.gamma(run)
    before = SimpleNamespace(
        gradient_square=run.gradient_square[:, :first], gradient_gap_square=run.gradient_gap_square[:, :first]
    )
    estimate = estimates.gamma(before)
    assert np.isfinite(estimate.value).all() and np.isfinite(estimate.standard_error).all()


@pytest.mark.parametrize("lost", [math.nan, math.inf])
def test_gamma_of_records_that_are_not_finite_is_refused(lost):
    run = SimpleNamespace(gradient_square=[[1.0, lost], [1.0, 2.0]], gradient_gap_square=[[1.0, 1.0]] * 2)
    with pytest.raises(ValueError, match="gradient_square must be finite, but 1 of 2 replicas diverged"):
        estimates.gamma(run)


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e200, 1e307])
def test_gamma_has_no_unit(unit):
    square, gap = np.array([[4.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [0.5]])
    run = SimpleNamespace(gradient_square=unit * square, gradient_gap_square=unit * gap)
    estimate = estimates.gamma(run)
    assert estimate.value == pytest.approx(3.5 / 9)
    spread = np.std(gap - 3.5 / 9 * square, ddof=1) / math.sqrt(3)
    assert estimate.standard_error == pytest.approx(spread / 3)


def test_gamma_needs_what_the_run_did_not_record():
    with pytest.raises(ValueError, match="a run that recorded gradient_square"):
        estimates.gamma(SimpleNamespace(gradient_square=None))
    with pytest.raises(ValueError, match=r"shape \(replicas, records\); got \(2,\)"):
        estimates.gamma(SimpleNamespace(gradient_square=[1.0, 2.0], gradient_gap_square=[1.0, 2.0]))
    with pytest.raises(ValueError, match=r"match in shape; got \(1, 2\), \(1, 1\)"):
        estimates.gamma(SimpleNamespace(gradient_square=[[1.0, 2.0]], gradient_gap_square=[[1.0]]))


def test_share_of_fresh_gradients_is_counted_after_the_burn_in():
    race = SimpleNamespace(staleness=np.array([[[0, 0], [0, 1], [2, 3]], [[0, 0], [0, 0], [1, 0]]]))
    assert estimates.fresh_share(race) == pytest.approx(8 / 12)
    assert estimates.fresh_share(race, burn_in=1) == pytest.approx(4 / 8)


def test_share_of_fresh_gradients_needs_a_race_that_recorded_its_staleness():
    with pytest.raises(ValueError, match="recorded its staleness; simulate it with detail=True"):
        estimates.fresh_share(SimpleNamespace(staleness=None))
    with pytest.raises(ValueError, match="burn_in must be between 0 and 2; got 3"):
        estimates.fresh_share(SimpleNamespace(staleness=np.zeros((1, 3, 1))), burn_in=3)


def test_estimates_of_something_else_are_refused():
    for other in (None, "a", 3.5, [1.0], np.ones(3)):
        with pytest.raises(ValueError, match="needs a run that recorded gradient_square"):
            estimates.gamma(other)
        with pytest.raises(ValueError, match="needs a race that recorded its staleness"):
            estimates.fresh_share(other)
