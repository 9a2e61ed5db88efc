"""Schedules give the steps that their formulas say."""

import numpy as np
import pytest

from sgdrace.learning_rates import (
    ConstantRate,
    DelayAdaptive,
    DropOlderThan,
    InverseStaleness,
    LearningRate,
    StalenessCompensating,
    as_learning_rate,
)

STALENESS = np.array([[0, 1, 3], [7, 20, -1]])
USED = STALENESS >= 0


def test_a_number_is_a_constant_learning_rate():
    for number in (0.5, np.float64(0.5), np.array(0.5)):
        assert as_learning_rate(number).steps(STALENESS, None, USED) == 0.5
    assert as_learning_rate(1) == ConstantRate(1.0)


def test_a_schedule_passes_unchanged():
    schedule = InverseStaleness(0.3)
    assert as_learning_rate(schedule) is schedule


def test_inverse_staleness_divides_by_staleness_plus_one():
    steps = InverseStaleness(0.6).steps(STALENESS, None, USED)
    assert steps[USED] == pytest.approx([0.6, 0.3, 0.15, 0.075, 0.6 / 21])


def test_delay_adaptive_steps_are_full_up_to_the_threshold_and_fall_like_1_over_staleness():
    steps = DelayAdaptive(0.1, threshold=5).steps(STALENESS, None, USED)
    assert steps[USED] == pytest.approx([0.1, 0.1, 0.1, 0.1 * 5 / 7, 0.1 * 5 / 20])


def test_gradients_older_than_the_limit_are_dropped():
    steps = DropOlderThan(0.1, limit=3).steps(STALENESS, None, USED)
    assert steps[USED].tolist() == [0.1, 0.1, 0.1, 0.0, 0.0]
    assert DropOlderThan(0.1, limit=0).steps(STALENESS, None, USED)[0].tolist() == [0.1, 0.0, 0.0]


def test_staleness_compensating_uses_the_mean_square_distance_of_the_gradients_that_exist():
    distance = np.array([[0.0, 0.2, 0.4], [0.1, 0.5, 0.0]])
    steps = StalenessCompensating(C=0.01, eta_max=1.0).steps(STALENESS, distance, USED)
    assert steps == pytest.approx(np.array([[0.01 / 0.2], [0.01 / 0.3]]))


def test_staleness_compensating_never_exceeds_eta_max_and_reaches_it_at_distance_0():
    schedule = StalenessCompensating(C=0.01, eta_max=0.3)
    distance = np.array([[0.0], [1e-300], [0.01], [1.0], [1e300]])
    steps = schedule.steps(np.zeros((5, 1)), distance, np.ones((5, 1), bool))[:, 0]
    assert steps == pytest.approx([0.3, 0.3, 0.3, 0.01, 1e-302])


def test_only_staleness_compensating_needs_distances():
    for schedule in (ConstantRate(1.0), InverseStaleness(1.0), DelayAdaptive(1.0, 2), DropOlderThan(1.0, 2)):
        assert isinstance(schedule, LearningRate)
        assert not schedule.needs_distance
    assert StalenessCompensating(1.0, 1.0).needs_distance
    with pytest.raises(ValueError, match="needs the distances"):
        StalenessCompensating(1.0, 1.0).steps(STALENESS, None, USED)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: as_learning_rate(0), ValueError, "learning_rate must be a finite number above 0; got 0"),
        (lambda: as_learning_rate(-0.1), ValueError, "learning_rate .* got -0.1"),
        (lambda: as_learning_rate(np.nan), ValueError, "learning_rate .* got nan"),
        (lambda: as_learning_rate(np.inf), ValueError, "learning_rate .* got inf"),
        (lambda: as_learning_rate("fast"), TypeError, "learning_rate must be a number .* got 'fast'"),
        (lambda: as_learning_rate(None), TypeError, "learning_rate must be a number .* got None"),
        (lambda: as_learning_rate(True), TypeError, "learning_rate must be a number .* got True"),
        (lambda: as_learning_rate(InverseStaleness), TypeError, r"such as InverseStaleness\(...\), not"),
        (lambda: ConstantRate(0), ValueError, "eta must be"),
        (lambda: StalenessCompensating(0, 1), ValueError, "C must be"),
        (lambda: StalenessCompensating(1, -1), ValueError, "eta_max must be"),
        (lambda: InverseStaleness(np.nan), ValueError, "eta must be"),
        (lambda: DelayAdaptive(0.1, 0), ValueError, "threshold must be"),
        (lambda: DelayAdaptive(0, 1), ValueError, "eta must be"),
        (lambda: DropOlderThan(0.1, -1), ValueError, "limit must be at least 0; got -1"),
        (lambda: DropOlderThan(0.1, 1.5), TypeError, "limit must be a whole number"),
        (lambda: DropOlderThan(0, 1), ValueError, "eta must be"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(make, error, message):
    with pytest.raises(error, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
