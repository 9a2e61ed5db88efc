"""Schedules give the steps that their formulas say."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sgdrace import Exponential, Quadratic, simulate, train
from sgdrace.learning_rates import (
    ConstantRate,
    Decaying,
    DelayAdaptive,
    DropOlderThan,
    InverseStaleness,
    LearningRate,
    PerUpdate,
    SideBySide,
    StalenessCompensating,
    Update,
    as_learning_rate,
)

STALENESS = np.array([[0, 1, 3], [7, 20, -1]])
USED = STALENESS >= 0


def test_a_number_is_a_constant_learning_rate():
    for number in (0.5, np.float64(0.5), np.array(0.5)):
        assert as_learning_rate(number).steps(Update(0, STALENESS)) == 0.5
    assert as_learning_rate(1) == ConstantRate(1.0)


def test_a_schedule_passes_unchanged():
    schedule = InverseStaleness(0.3)
    assert as_learning_rate(schedule) is schedule


def test_inverse_staleness_divides_by_staleness_plus_one():
    steps = InverseStaleness(0.6).steps(Update(0, STALENESS))
    assert steps[USED] == pytest.approx([0.6, 0.3, 0.15, 0.075, 0.6 / 21])


def test_delay_adaptive_steps_are_full_up_to_the_threshold_and_fall_like_1_over_staleness():
    steps = DelayAdaptive(0.1, threshold=5).steps(Update(0, STALENESS))
    assert steps[USED] == pytest.approx([0.1, 0.1, 0.1, 0.1 * 5 / 7, 0.1 * 5 / 20])


def test_gradients_older_than_the_limit_are_dropped():
    steps = DropOlderThan(0.1, limit=3).steps(Update(0, STALENESS))
    assert steps[USED].tolist() == [0.1, 0.1, 0.1, 0.0, 0.0]
    assert DropOlderThan(0.1, limit=0).steps(Update(0, STALENESS))[0].tolist() == [0.1, 0.0, 0.0]


def test_side_by_side_each_part_of_the_replicas_has_its_own_schedule():
    distance = np.array([[0.0, 0.2, 0.4], [0.1, 0.5, 0.0]])
    parts = [0.3, InverseStaleness(0.6), StalenessCompensating(C=0.01, eta_max=1.0), lambda j: 1 / (1 + j)]
    both = SideBySide(parts)
    update = Update(3, np.tile(STALENESS, (4, 1)), np.tile(distance, (4, 1)))
    seen = Update(3, STALENESS, distance)
    expected = [np.broadcast_to(as_learning_rate(one).steps(seen), (2, 3)) for one in parts]
    assert both.needs_distance and not SideBySide([0.1, InverseStaleness(0.6)]).needs_distance
    assert both.steps(update) == pytest.approx(np.vstack(expected))
    assert SideBySide([0.1, 0.2]).steps(Update(0, STALENESS)).tolist() == [[0.1] * 3, [0.2] * 3]


def test_staleness_compensating_uses_the_mean_square_distance_of_the_gradients_that_exist():
    distance = np.array([[0.0, 0.2, 0.4], [0.1, 0.5, 0.0]])
    steps = StalenessCompensating(C=0.01, eta_max=1.0).steps(Update(0, STALENESS, distance))
    assert steps == pytest.approx(np.array([[0.01 / 0.2], [0.01 / 0.3]]))


def test_staleness_compensating_never_exceeds_eta_max_and_reaches_it_at_distance_0():
    schedule = StalenessCompensating(C=0.01, eta_max=0.3)
    distance = np.array([[0.0], [1e-300], [0.01], [1.0], [1e300]])
    steps = schedule.steps(Update(0, np.zeros((5, 1)), distance))[:, 0]
    assert steps == pytest.approx([0.3, 0.3, 0.3, 0.01, 1e-302])


@pytest.mark.parametrize(("C", "eta_max"), [(1e-320, 1e10), (1e308, 1e-5), (1e308, 1e308), (1e-320, 1e-320)])
def test_staleness_compensating_knows_no_parameters_that_give_a_nan_or_no_step_at_distance_0(C, eta_max):
    schedule = StalenessCompensating(C, eta_max)
    with np.errstate(all="raise", over="ignore", under="ignore"):
        steps = schedule.steps(Update(0, np.zeros((2, 1)), np.array([[0.0], [1.0]])))[:, 0]
    assert steps.tolist() == pytest.approx([eta_max, min(C, eta_max)], rel=1e-12, abs=1e-300)


def test_the_largest_steps_stay_finite():
    for schedule in (DelayAdaptive(1e308, 10**12), DelayAdaptive(1e308, 2), InverseStaleness(1e308)):
        steps = schedule.steps(Update(0, STALENESS.astype(np.int32)))
        assert np.isfinite(steps).all() and steps.max() == 1e308


SCHEDULES = [
    lambda number: ConstantRate(number),
    lambda number: StalenessCompensating(number, number),
    lambda number: InverseStaleness(number),
    lambda number: DelayAdaptive(number, number),
    lambda number: DropOlderThan(number, limit=np.array(3)),
    lambda number: Decaying(number, number),
]


@pytest.mark.parametrize("make", SCHEDULES)
@pytest.mark.parametrize("number", [Decimal("0.5"), Fraction(1, 2), np.array(0.5), np.float32(0.5)])
def test_any_real_number_will_do_for_a_parameter(make, number):
    race = simulate("K-async", 4, 2, Exponential(), updates=20, replicas=3, seed=0)
    given, plain = make(number), make(0.5)
    assert given == plain and hash(given) == hash(plain) and repr(given) == repr(plain)
    assert (train(Quadratic(), race, given).loss == train(Quadratic(), race, plain).loss).all()


class Schedule:
    """Gives what it was told to, or what a function makes of the staleness."""

    needs_distance = False

    def __init__(self, steps):
        self.given = steps

    def steps(self, update):
        return self.given(update.staleness) if callable(self.given) else self.given


ALLOWED = {
    "a number": 0.1,
    "a whole number": 0,
    "an array of one number": np.array(0.1),
    "all": np.full((2, 3), 0.1),
    "a list of lists": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]],
    "a column": np.full((2, 1), 0.1),
    "a row": np.full((1, 3), 0.1, np.float32),
}


@pytest.mark.parametrize("steps", ALLOWED.values(), ids=ALLOWED)
def test_a_schedule_may_give_one_number_or_an_array_that_names_both_axes(steps):
    race = simulate("K-async", 4, 3, Exponential(), updates=5, replicas=2, seed=0)
    everywhere = np.array(np.broadcast_to(steps, (2, 3)))
    run, expected = (train(Quadratic(), race, Schedule(each)) for each in (steps, everywhere))
    assert run.loss == pytest.approx(expected.loss)
    assert run.rate == pytest.approx(np.broadcast_to(everywhere.mean(axis=1)[:, None], (2, 5)))


REFUSED = [
    (None, TypeError, "gave None"),
    ("fast", TypeError, "gave 'fast'"),
    (1j, TypeError, "gave 1j"),
    (True, TypeError, "gave True"),
    (Decimal("0.1"), TypeError, "gave Decimal"),
    ([[0.1], [0.1, 0.2]], ValueError, "gave "),
    (np.datetime64("2020-01-01"), TypeError, "gave "),
    (np.nan, ValueError, "gave nan"),
    (np.inf, ValueError, "gave inf"),
    (-0.1, ValueError, "gave -0.1"),
    (np.array([[0.1, np.nan], [0.1, 0.1]]), ValueError, r"of shape \(2, 2\)"),
    (np.array([[0.1, 0.1], [-0.1, 0.1]]), ValueError, r"of shape \(2, 2\)"),
    (np.array([0.1, 0.2]), ValueError, r"of shape \(2,\)"),  # along replicas or along gradients?
    (np.array([0.1]), ValueError, r"of shape \(1,\)"),
    (np.ones((2, 3)), ValueError, r"of shape \(2, 3\)"),
    (np.ones((2, 2, 2)), ValueError, r"of shape \(2, 2, 2\)"),
    (np.empty((0, 2)), ValueError, r"of shape \(0, 2\)"),
]


@pytest.mark.parametrize(("steps", "error", "message"), REFUSED)
def test_what_a_schedule_must_not_give_is_refused_in_one_sentence(steps, error, message):
    race = simulate("K-async", 4, 2, Exponential(), updates=5, replicas=2, seed=0)
    allowed = r"finite numbers of at least 0, one or an array of shape \(2, 2\), \(2, 1\) or \(1, 2\)"
    with pytest.raises(error, match=f"^steps must be {allowed}; Schedule .*{message}") as caught:
        train(Quadratic(), race, Schedule(steps))
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_a_schedule_is_watched_at_every_update():
    race = simulate("K-async", 4, 2, Exponential(), updates=50, replicas=2, seed=0)
    with pytest.raises(ValueError, match=r"^steps must be .*; Schedule gave "):
        train(Quadratic(), race, Schedule(lambda staleness: np.where(staleness < 4, 0.1, np.nan)))


def test_a_schedule_cannot_write_to_the_race():
    race = simulate("K-async", 4, 2, Exponential(), updates=5, replicas=2, seed=0)
    before = race.staleness.copy()

    def steps(staleness):
        staleness += 1

    with pytest.raises(ValueError, match="output array is read-only"):
        train(Quadratic(), race, Schedule(steps))
    assert (race.staleness == before).all()


def test_schedules_that_decay_know_the_number_of_the_update():
    steps = [Decaying(0.6, after=10).steps(Update(j, STALENESS)) for j in (0, 10, 20, 50)]
    assert steps == pytest.approx([0.6, 0.3, 0.2, 0.1])
    race = simulate("K-async", 4, 2, Exponential(), updates=20, replicas=3, seed=0)
    expected = np.broadcast_to(0.6 / (1 + np.arange(20) / 10), (3, 20))
    for rate in (Decaying(0.6, after=10), lambda j: 0.6 / (1 + j / 10), PerUpdate(lambda j: 6 / (10 + j))):
        assert train(Quadratic(), race, rate).rate == pytest.approx(expected)


def test_a_decaying_rate_gives_the_same_run_every_time():
    race = simulate("K-async", 4, 2, Exponential(), updates=20, replicas=3, seed=0)
    for rate in (Decaying(0.5, after=3), lambda j: 0.5 / (1 + j)):
        once, again = (train(Quadratic(), race, rate, seed=1).loss for _ in range(2))
        assert (once == again).all()


def test_a_decaying_rate_falls_below_the_floor_of_a_constant_one():
    race = simulate("K-sync", 4, 1, Exponential(), updates=2000, replicas=200, seed=0, detail=False)
    constant, decaying = (
        train(Quadratic(), race, rate, every=1).loss[:, -500:].mean() for rate in (0.5, Decaying(0.5, 10.0))
    )
    # The floor of a constant step is E F = ½ η σ²/(2 - η) = 1/6; the decaying one is far below it.
    assert constant == pytest.approx(1 / 6, rel=0.05)
    assert decaying < constant / 50


def test_a_function_that_does_not_tell_its_arguments_will_do():
    race = simulate("K-async", 4, 2, Exponential(), updates=2, seed=0)
    assert train(Quadratic(), race, math.hypot).rate.tolist() == [[0, 1]]  # the length of a vector (j)
    with pytest.raises(TypeError, match=r"^steps must be .*; PerUpdate gave None"):
        train(Quadratic(), race, {0: 0.1}.get)


def test_only_staleness_compensating_needs_distances():
    for schedule in (ConstantRate(1.0), InverseStaleness(1.0), DelayAdaptive(1.0, 2), DropOlderThan(1.0, 2)):
        assert isinstance(schedule, LearningRate)
        assert not schedule.needs_distance
    assert StalenessCompensating(1.0, 1.0).needs_distance
    with pytest.raises(ValueError, match=r"StalenessCompensating needs the distances .*; got None"):
        StalenessCompensating(1.0, 1.0).steps(Update(0, STALENESS))


class Half:
    """Has the names of a schedule, but its steps cannot be asked for."""

    needs_distance, steps = False, 0.1


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: as_learning_rate(0), ValueError, "learning_rate must be a finite number above 0; got 0"),
        (lambda: as_learning_rate(-0.1), ValueError, "learning_rate .* got -0.1"),
        (lambda: as_learning_rate(np.nan), ValueError, "^learning_rate must be .* got nan"),
        (lambda: as_learning_rate(np.inf), ValueError, "^learning_rate must be .* got inf"),
        (lambda: as_learning_rate("fast"), TypeError, "learning_rate must be a number .* got 'fast'"),
        (lambda: as_learning_rate(None), TypeError, "learning_rate must be a number .* got None"),
        (lambda: as_learning_rate(True), TypeError, "learning_rate must be a number .* got True"),
        (lambda: as_learning_rate(InverseStaleness), TypeError, r"such as InverseStaleness\(...\), not"),
        (lambda: as_learning_rate(Schedule), TypeError, r"such as Schedule\(...\), not"),
        (lambda: as_learning_rate(Half()), TypeError, "learning_rate must be a number .* got <"),
        (lambda: ConstantRate(0), ValueError, "^eta must be a finite number above 0; got 0"),
        (lambda: StalenessCompensating(0, 1), ValueError, "^C must be a finite number above 0; got 0"),
        (
            lambda: StalenessCompensating(1, -1),
            ValueError,
            "^eta_max must be a finite number above 0",
        ),
        (lambda: InverseStaleness(np.nan), ValueError, "^eta must be a finite number above 0; got nan"),
        (lambda: DelayAdaptive(0.1, 0), ValueError, "^threshold must be a finite number above 0; got 0"),
        (lambda: DelayAdaptive(0, 1), ValueError, "^eta must be a finite number above 0; got 0"),
        (lambda: DropOlderThan(0.1, -1), ValueError, "limit must be at least 0; got -1"),
        (lambda: DropOlderThan(0.1, 1.5), TypeError, "limit must be a whole number"),
        (lambda: SideBySide(0.1), TypeError, "^schedules must be a list of one or more .*; got 0.1"),
        (lambda: SideBySide([]), TypeError, r"^schedules must be a list of one or more .*; got \[\]"),
        (
            lambda: SideBySide([0.1, 0.2, 0.3]).steps(Update(0, STALENESS)),
            ValueError,
            "^replicas must be a multiple of 3, the number of schedules side by side; got 2",
        ),
        (lambda: DropOlderThan(0, 1), ValueError, "^eta must be a finite number above 0; got 0"),
        (lambda: Decaying(0, 1), ValueError, "^eta must be a finite number above 0; got 0"),
        (lambda: Decaying(0.1, 0), ValueError, "after must be a finite number above 0; got 0"),
        (
            lambda: PerUpdate(0.1),
            TypeError,
            "step must be a function of the number of an update alone, .*0.1",
        ),
        (
            lambda: PerUpdate(lambda: 0.1),
            TypeError,
            "step must be a function of the number of an update alone",
        ),
        (lambda: as_learning_rate(lambda j, w: 0.1), TypeError, "a function of the number of an update or a"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(make, error, message):
    with pytest.raises(error, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
