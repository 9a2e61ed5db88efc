import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from sgdrace import (
    Constant,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Lomax,
    Pareto,
    PerLearner,
    ShiftedExponential,
    Uniform,
    Weibull,
    order_statistics,
    simulate,
    theory,
)
from sgdrace._quadrature import QuadratureError, integrate
from sgdrace.delays import Scaled
from sgdrace.theory import renewals
from sgdrace.variants import VARIANTS

# E[T] by law, P and K, to four digits: K-sync, K-async (simulated for 1 < K < P), K-batch-async.
EXPONENTIAL = """
8 1 .125 .125 .125
8 2 .2679 .2679 .25
8 4 .6345 .6345 .5
8 6 1.218 1.218 .75
8 8 2.718 2.718 1
16 1 .0625 .0625 .0625
16 4 .2775 .2775 .25
16 8 .6629 .6629 .5
16 12 1.297 1.297 .75
16 16 3.381 3.381 1
64 1 .01562 .01562 .01562
64 16 .2851 .2851 .25
64 32 .6854 .6854 .5
64 48 1.363 1.363 .75
64 64 4.744 4.744 1
256 1 .003906 .003906 .003906
256 64 .287 .287 .25
256 128 .6912 .6912 .5
256 192 1.38 1.38 .75
256 256 6.124 6.124 1
"""
SHIFTED = """
8 1 1.125 .25 .25
8 2 1.268 .5332 .5
8 4 1.635 1.241 1
8 6 2.218 2.052 1.5
8 8 3.718 3.718 2
16 1 1.062 .125 .125
16 4 1.278 .5516 .5
16 8 1.663 1.287 1
16 12 2.297 2.129 1.5
16 16 4.381 4.381 2
64 1 1.016 .03125 .03125
64 16 1.285 .5668 .5
64 32 1.685 1.307 1
64 48 2.363 2.192 1.5
64 64 5.744 5.744 2
256 1 1.004 .007812 .007812
256 64 1.287 .5696 .5
256 128 1.691 1.312 1
256 192 2.38 2.209 1.5
256 256 7.124 7.124 2
"""
PARETO = """
8 1 1.053 .2083 .2083
8 2 1.116 .4445 .4167
8 4 1.3 1.047 .8333
8 6 1.667 1.657 1.25
8 8 3.473 3.473 1.667
16 1 1.026 .1042 .1042
16 4 1.119 .4599 .4167
16 8 1.31 1.105 .8333
16 12 1.703 1.699 1.25
16 16 4.548 4.548 1.667
64 1 1.006 .02604 .02604
64 16 1.121 .4743 .4167
64 32 1.317 1.123 .8333
64 48 1.731 1.734 1.25
64 64 7.875 7.875 1.667
256 1 1.002 .00651 .00651
256 64 1.122 .4814 .4167
256 128 1.319 1.124 .8333
256 192 1.739 1.743 1.25
256 256 13.69 13.69 1.667
"""
TABLES = {Exponential(): EXPONENTIAL, ShiftedExponential(1.0, 1.0): SHIFTED, Pareto(2.5, 1.0): PARETO}
ROWS = [
    (law, int(P), int(K), float(sync), float(async_), float(batch_async))
    for law, table in TABLES.items()
    for P, K, sync, async_, batch_async in (line.split() for line in table.split("\n") if line)
]

# K-batch-sync to seven digits.
BATCH_SYNC_SHIFTED = {
    (8, 2): 1.267841,
    (8, 4): 1.631235,
    (8, 6): 2.129264,
    (8, 8): 2.670761,
    (16, 4): 1.277518,
    (16, 8): 1.66146,
    (16, 12): 2.196545,
    (16, 16): 2.714645,
    (64, 16): 1.285094,
    (64, 32): 1.685359,
    (64, 48): 2.253537,
    (64, 64): 2.742034,
    (256, 64): 1.287032,
    (256, 128): 1.691198,
    (256, 192): 2.266779,
    (256, 256): 2.748609,
}
BATCH_SYNC_PARETO = {
    (8, 2): 1.116427,
    (8, 4): 1.299922,
    (8, 6): 1.638374,
    (8, 8): 2.173747,
    (16, 4): 1.119169,
    (16, 8): 1.309708,
    (16, 12): 1.686745,
    (16, 16): 2.24345,
    (64, 16): 1.121255,
    (64, 32): 1.31704,
    (64, 48): 1.72962,
    (64, 64): 2.265844,
}
# P = 256 is known to four digits only.
BATCH_SYNC_PARETO_256 = {64: 1.122, 128: 1.319, 192: 1.739, 256: 2.269}

# P = 16, K = 4, simulated to 0.3 %: K-batch-sync, K-async, K-batch-async.
MORE_LAWS = {
    Erlang(3, 3.0): (0.545, 0.276, 0.25),
    Uniform(0.0, 2.0): (0.4345, 0.2763, 0.25),
    HyperExponential((0.9, 0.1), (2.0, 1 / 5.5)): (0.1396, 0.2797, 0.25),
    Lomax(2.5, 1.0): (0.1062, 0.1858, 0.1667),
    Weibull(0.5): (0.0706, 0.572, 0.5),
    LogNormal(0.0, 1.0): (0.4769, 0.4554, 0.4122),
}

ANY_LAW = [*TABLES, *MORE_LAWS, Gamma(0.4, 0.4), Constant(2.0), Empirical([0.5, 1.0, 1.25, 4.0])]


def four_digits(value):
    """Equal to a number that was rounded to four significant digits."""
    return pytest.approx(value, rel=5.1e-4)


@pytest.mark.parametrize(("law", "P", "K", "sync", "async_", "batch_async"), ROWS)
def test_expected_runtimes_are_those_of_the_tables(law, P, K, sync, async_, batch_async):
    assert theory.expected_runtime("K-sync", P, K, law) == four_digits(sync)
    assert theory.expected_runtime("K-batch-async", P, K, law) == four_digits(batch_async)
    if K in (1, P) or law.ageing == "both":
        assert theory.expected_runtime("K-async", P, K, law) == four_digits(async_)
    tolerance = 1.02 if P == 256 else 1.005
    lower, upper = theory.runtime_bounds("K-async", P, K, law)
    assert lower / tolerance <= async_ <= upper * tolerance


@pytest.mark.parametrize(("P", "K"), BATCH_SYNC_SHIFTED)
def test_batch_sync_runtime_of_shifted_exponential_has_seven_digits(P, K):
    value = theory.expected_runtime("K-batch-sync", P, K, ShiftedExponential(1.0, 1.0))
    assert value == pytest.approx(BATCH_SYNC_SHIFTED[P, K], rel=1e-6)


@pytest.mark.parametrize(("P", "K"), BATCH_SYNC_PARETO)
def test_batch_sync_runtime_of_pareto_has_seven_digits(P, K):
    value = theory.expected_runtime("K-batch-sync", P, K, Pareto(2.5, 1.0))
    assert value == pytest.approx(BATCH_SYNC_PARETO[P, K], rel=1e-6)


@pytest.mark.parametrize("K", BATCH_SYNC_PARETO_256)
def test_batch_sync_runtime_of_pareto_with_256_learners(K):
    value = theory.expected_runtime("K-batch-sync", 256, K, Pareto(2.5, 1.0))
    assert value == four_digits(BATCH_SYNC_PARETO_256[K])


@pytest.mark.parametrize("law", MORE_LAWS, ids=repr)
def test_runtimes_of_more_laws_agree_with_simulations(law):
    batch_sync, async_, batch_async = MORE_LAWS[law]
    assert theory.expected_runtime("K-batch-sync", 16, 4, law) == pytest.approx(batch_sync, rel=3e-3)
    assert theory.expected_runtime("K-batch-async", 16, 4, law) == pytest.approx(batch_async, rel=3e-4)
    for variant, simulated in (("K-batch-sync", batch_sync), ("K-async", async_)):
        lower, upper = theory.runtime_bounds(variant, 16, 4, law)
        assert lower * 0.995 <= simulated <= upper * 1.005


@pytest.mark.parametrize(
    ("P", "law", "per_update", "per_mini_batch"),
    [
        (8, Exponential(), 21.74, 2.718),
        (16, Exponential(), 54.09, 3.381),
        (64, Exponential(), 303.6, 4.744),
        (256, Exponential(), 1568, 6.124),
        (8, ShiftedExponential(), 14.87, 1.859),
        (16, ShiftedExponential(), 35.05, 2.19),
        (64, ShiftedExponential(), 183.8, 2.872),
        (256, ShiftedExponential(), 911.9, 3.562),
        (8, Pareto(), 16.67, 2.084),
        (16, Pareto(), 43.66, 2.729),
        (64, Pareto(), 302.4, 4.725),
        (256, Pareto(), 2103, 8.215),
    ],
)
def test_headline_of_sync_over_async(P, law, per_update, per_mini_batch):
    assert theory.sync_over_async_per_update(P, law) == four_digits(per_update)
    assert theory.sync_over_async_per_mini_batch(P, law) == four_digits(per_mini_batch)


@pytest.mark.parametrize(("P", "K"), [(8, 1), (8, 4), (8, 8), (16, 16), (64, 64), (256, 256)])
def test_lomax_waits_less_than_pareto_by_its_scale(P, K):
    lomax = theory.expected_runtime("K-sync", P, K, Lomax(2.5, 1.0))
    assert lomax == pytest.approx(theory.expected_runtime("K-sync", P, K, Pareto(2.5, 1.0)) - 1, abs=1e-9)
    listed = {
        (8, 1): 0.05263,
        (8, 4): 0.3002,
        (8, 8): 2.473,
        (16, 16): 3.548,
        (64, 64): 6.875,
        (256, 256): 12.69,
    }
    assert lomax == four_digits(listed[P, K])


@pytest.mark.parametrize("law", ANY_LAW, ids=repr)
def test_variants_that_are_the_same_have_the_same_runtime(law):
    runtime = theory.expected_runtime
    assert runtime("K-async", 5, 5, law) == runtime("K-sync", 5, 5, law)
    assert runtime("K-async", 5, 1, law) == runtime("K-batch-async", 5, 1, law)
    assert runtime("K-batch-sync", 5, 1, law) == runtime("K-sync", 5, 1, law)
    assert runtime("K-batch-sync", 1, 3, law) == pytest.approx(3 * law.mean)


@pytest.mark.parametrize("law", ANY_LAW, ids=repr)
def test_quadrature_of_batch_sync_gives_the_least_of_P_times_at_K_1(law):
    value = renewals.event_times([law] * 6, [1])[0]
    assert value == pytest.approx(order_statistics.mean(law, 1, 6), rel=2e-6)


@pytest.mark.parametrize("law", ANY_LAW, ids=repr)
def test_quadrature_of_batch_sync_gives_K_means_for_one_learner(law):
    assert renewals.event_times([law], [3])[0] == pytest.approx(3 * law.mean, rel=1e-5)


@pytest.mark.parametrize("law", [Gamma(0.3, 1.0), Gamma(0.5, 0.5), Erlang(3, 3.0)], ids=repr)
@pytest.mark.parametrize(("P", "K"), [(4, 3), (8, 20), (32, 32)])
def test_closed_convolution_powers_agree_with_the_lattice(law, P, K):
    same_without_closed_form = stats.gamma(law.shape, scale=1 / law.rate)
    lattice = theory.expected_runtime("K-batch-sync", P, K, same_without_closed_form)
    assert lattice == pytest.approx(theory.expected_runtime("K-batch-sync", P, K, law), rel=3e-6)


@pytest.mark.parametrize("law", [Exponential(2.0), Gamma(1.0, 2.0), Weibull(1.0, 0.5)], ids=repr)
def test_batch_sync_of_exponential_times_is_an_erlang_mean(law):
    assert theory.expected_runtime("K-batch-sync", 8, 20, law) == pytest.approx(20 / (8 * 2.0))


@pytest.mark.parametrize(("K", "rounds"), [(1, 1), (8, 1), (9, 2), (16, 2), (17, 3)])
def test_batch_sync_of_constant_times_counts_rounds(K, rounds):
    assert theory.expected_runtime("K-batch-sync", 8, K, Constant(0.3)) == pytest.approx(0.3 * rounds)


def test_batch_sync_of_measured_times_equals_enumeration():
    times = [0.5, 1.25, 2.0]
    expected = 0.0
    for x in itertools.product(times, repeat=6):  # three mini-batches for each of two learners
        events = np.sort(np.concatenate([np.cumsum(x[:3]), np.cumsum(x[3:])]))
        expected += events[2] / 3**6
    assert theory.expected_runtime("K-batch-sync", 2, 3, Empirical(times)) == pytest.approx(
        expected, rel=1e-12
    )


def test_batch_sync_of_times_with_many_decimals_converges_as_well():
    times = np.random.default_rng(0).gamma(3.0, size=400)
    rounded = theory.expected_runtime("K-batch-sync", 8, 12, Empirical(times.round(4)))
    assert theory.expected_runtime("K-batch-sync", 8, 12, Empirical(times)) == pytest.approx(
        rounded, rel=1e-4
    )


def test_batch_sync_of_times_on_a_very_fine_lattice_falls_back_to_grids():
    coarse, fine = Empirical([1.0, 2.0, 4.0]), Empirical([1.0, 2.0, 4.000001])
    exact = theory.expected_runtime("K-batch-sync", 4, 6, coarse)
    assert theory.expected_runtime("K-batch-sync", 4, 6, fine) == pytest.approx(exact, rel=1e-4)


def test_learners_that_differ_add_their_speeds():
    laws = PerLearner(Exponential(), factors=[1, 2, 4])
    assert theory.expected_runtime("K-batch-async", 3, 2, laws) == pytest.approx(2 / 1.75)
    assert theory.expected_runtime("K-batch-sync", 3, 2, laws) == pytest.approx(2 / 1.75)
    assert theory.expected_runtime("K-async", 3, 1, laws) == pytest.approx(1 / 1.75)
    assert theory.expected_runtime("K-async", 3, 2, laws) == pytest.approx(order_statistics.mean(laws, 2, 3))


@pytest.mark.parametrize(
    "law", [ShiftedExponential(), Gamma(2.0, 2.0), Pareto(), Empirical([1.0, 1.5])], ids=repr
)
def test_learners_with_equal_laws_are_learners_with_one_law(law):
    alike = PerLearner(law, factors=[1.0] * 4)
    assert theory.expected_runtime("K-batch-sync", 4, 6, alike) == pytest.approx(
        theory.expected_runtime("K-batch-sync", 4, 6, law), rel=2e-6
    )


def test_batch_sync_with_two_kinds_of_learners_agrees_with_simulation():
    laws = PerLearner([Pareto(), Pareto(), Uniform(0.0, 1.0), Uniform(0.0, 1.0)])
    rng = np.random.default_rng(1)
    finish = laws.sample(rng, (100_000, 8, 4)).cumsum(axis=1).reshape(100_000, 32)
    fifth = np.partition(finish, 4, axis=1)[:, 4]
    error = fifth.std() / np.sqrt(fifth.size)
    # 4 standard errors: one false alarm in 16,000 seeds
    assert abs(theory.expected_runtime("K-batch-sync", 4, 5, laws) - fifth.mean()) < 4 * error


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("law", [Exponential(), Lomax(2.5, 1.0), ShiftedExponential()], ids=repr)
def test_table_of_runtimes_equals_one_runtime_at_a_time(variant, law):
    if variant == "K-async" and law.ageing != "both":
        with pytest.raises(theory.NoClosedForm, match=r"simulate it or use theory.runtime_bounds"):
            theory.expected_runtimes(variant, 6, law)
        return
    table = theory.expected_runtimes(variant, 6, law)
    one_by_one = [theory.expected_runtime(variant, 6, K, law) for K in range(1, 7)]
    np.testing.assert_allclose(table, one_by_one, rtol=2e-6)


def test_table_of_runtimes_may_exceed_P_for_batch_variants_only():
    assert theory.expected_runtimes("K-batch-async", 2, Exponential(), K_max=4).tolist() == [0.5, 1, 1.5, 2]
    assert theory.expected_runtimes("K-batch-sync", 3, Pareto(), K_max=1).size == 1
    with pytest.raises(ValueError, match="K must be between 1 and P = 2; got 4"):
        theory.expected_runtimes("K-sync", 2, Exponential(), K_max=4)


@pytest.mark.parametrize("law", ANY_LAW, ids=repr)
@pytest.mark.parametrize(("P", "K"), [(8, 2), (8, 7), (4, 11)])
def test_bounds_of_batch_sync_hold(law, P, K):
    lower, upper = theory.runtime_bounds("K-batch-sync", P, K, law)
    assert lower * (1 - 1e-5) <= theory.expected_runtime("K-batch-sync", P, K, law) <= upper * (1 + 1e-5)


@pytest.mark.parametrize("law", [Pareto(), LogNormal()], ids=repr)
def test_no_inequality_of_a_class_is_quoted_for_laws_of_neither_class(law):
    lower, upper = theory.runtime_bounds("K-async", 16, 4, law)
    assert lower == pytest.approx(4 * law.mean / 16)
    assert upper == order_statistics.mean(law, 4, 4)


def test_batch_sync_never_takes_longer_than_all_but_one_more_mini_batch_a_learner():
    law = LogNormal()  # of neither class, and K > P: only the bound for any law is left
    assert theory.runtime_bounds("K-batch-sync", 4, 11, law)[1] == pytest.approx((11 + 4 - 1) * law.mean / 4)


def test_new_shorter_than_used_turns_the_bounds_round():
    law = Lomax(2.5, 1.0)
    sync = theory.expected_runtime("K-sync", 16, 15, law)
    assert theory.runtime_bounds("K-async", 16, 15, law)[0] == max(sync, 15 * law.mean / 16)
    assert theory.runtime_bounds("K-batch-sync", 16, 15, law)[1] == pytest.approx(15 * law.mean / 16)


def test_bounds_of_async_with_different_learners_use_the_slowest_of_all():
    laws = PerLearner(Pareto(), factors=[1, 1, 2])
    assert theory.runtime_bounds("K-async", 3, 2, laws)[1] == order_statistics.mean(laws, 3, 3)


@pytest.mark.parametrize("variant", VARIANTS)
def test_bounds_meet_where_the_runtime_is_known(variant):
    lower, upper = theory.runtime_bounds(variant, 8, 3, Exponential())
    assert lower == upper == theory.expected_runtime(variant, 8, 3, Exponential())


@pytest.mark.parametrize(("P", "K", "off"), [(8, 4, 2.5e-3), (8, 8, 4.5e-2), (64, 32, 1e-4)])
def test_logarithm_with_halves_approximates_the_harmonic_sum(P, K, off):
    exact = theory.expected_runtime("K-sync", P, K, Exponential(3.0))
    assert theory.approximate_exponential_runtime(P, K, rate=3.0) == pytest.approx(exact, rel=off)


def test_infinite_means_are_told_apart():
    heavy = Pareto(0.9, 1.0)
    assert theory.expected_runtime("K-sync", 4, 1, heavy) == pytest.approx(order_statistics.mean(heavy, 1, 4))
    assert theory.expected_runtime("K-sync", 4, 4, heavy) == np.inf
    for variant in ("K-batch-sync", "K-batch-async"):
        with pytest.raises(ValueError, match="this needs a finite mean"):
            theory.expected_runtime(variant, 4, 2, heavy)
    with pytest.raises(ValueError, match="this needs a finite mean"):
        theory.runtime_bounds("K-async", 4, 2, PerLearner([heavy] * 4))


def test_async_between_1_and_P_says_what_to_use_instead():
    with pytest.raises(theory.NoClosedForm, match=r"K-async with 1 < K < P has no closed form for Pareto"):
        theory.expected_runtime("K-async", 8, 4, Pareto())


def test_batch_sync_of_very_many_mini_batches_is_refused():
    with pytest.raises(theory.NoClosedForm, match=r"simulate it or use theory.runtime_bounds"):
        theory.expected_runtime("K-batch-sync", 8, 10**6, Pareto())


def test_batch_sync_that_cannot_be_integrated_is_refused(monkeypatch):
    monkeypatch.setattr(renewals, "TOLERANCE", 0.0)
    with pytest.raises(theory.NoClosedForm, match="grids do not agree"):
        theory.expected_runtime("K-batch-sync", 3, 2, Lomax())
    monkeypatch.setattr(renewals, "CHUNK", 64)
    with pytest.raises(theory.NoClosedForm, match="grids do not agree"):
        theory.expected_runtime("K-batch-sync", 3, 2, Lomax())


def test_panels_that_never_agree_are_an_error():
    rng = np.random.default_rng(0)
    with pytest.raises(QuadratureError, match="panels do not agree"):
        integrate(lambda x: np.where(x > 1 / 3, 1.0, rng.random(x.size))[None], np.array([0.0, 1e-9, 1.0]))


def test_a_function_that_is_no_number_somewhere_is_an_error():
    with pytest.raises(QuadratureError, match="panels do not agree"):
        integrate(lambda x: np.where(x > 0.5, math.nan, x)[None], np.array([0.0, 1.0]), most_panels=100)


def test_panels_find_a_jump_between_edges():
    found = integrate(lambda x: np.stack([x < 1 / 3, x * 0]).astype(float), np.array([0.0, 1.0]), 1e-13)
    assert found == pytest.approx([1 / 3, 0.0], rel=1e-12, abs=0)


def test_a_law_on_irrational_times_has_no_common_step():
    times = Empirical([1.0, np.pi])
    assert renewals._common_step([times]) is None
    assert theory.expected_runtime("K-batch-sync", 2, 3, times) == pytest.approx(
        theory.expected_runtime("K-batch-sync", 2, 3, Empirical([1.0, 3.1416])), rel=1e-4
    )


def test_times_of_zero_are_allowed():
    assert theory.expected_runtime("K-batch-sync", 2, 2, Empirical([0.0, 0.0, 0.0, 1.0])) > 0
    irrational = Empirical([0.0, 0.0, 0.0, np.pi / 3])
    assert theory.expected_runtime("K-batch-sync", 2, 2, irrational) == pytest.approx(
        np.pi / 3 * theory.expected_runtime("K-batch-sync", 2, 2, Empirical([0.0, 0.0, 0.0, 1.0])), rel=1e-3
    )


def narrow_laws(width):
    """Laws near 1 whose spread is about `width`."""
    spread = np.random.default_rng(0).random(40)
    return [
        Uniform(1.0, 1 + width),
        Gamma(1 / width**2, 1 / width**2),
        LogNormal(0.0, width),
        Weibull(1 / width, 1.0),
        ShiftedExponential(1.0, 1 / width),
        Pareto(1 / width, 1.0),
        Scaled(Uniform(1.0, 1 + width), 3.7),
        Empirical(1 + width * spread),
        stats.uniform(1, width),
    ]


WIDTHS = [1e-1, 1e-2, 1e-3, 5e-4, 1e-4, 1e-6, 1e-8]


@pytest.mark.parametrize("width", [width for width in WIDTHS if width < 0.05])
@pytest.mark.parametrize("which", range(9))
@pytest.mark.parametrize(("P", "K"), [(4, 2), (8, 7), (3, 3)])
def test_with_narrow_laws_nobody_comes_twice_before_all_came_once(width, which, P, K):
    """T is then X_{K:P}; the sixth digit of the width is asked for, or the last one of the time."""
    law = narrow_laws(width)[which]
    value = theory.expected_runtime("K-batch-sync", P, K, law)
    exact = order_statistics.mean(law, K, P)
    assert value == pytest.approx(exact, rel=0, abs=1e-6 * width + 4e-15)


def test_batch_sync_of_a_narrow_uniform_law_in_closed_form():
    assert theory.expected_runtime("K-batch-sync", 4, 2, Uniform(1.0, 1.0005)) == pytest.approx(
        1 + 0.0005 * 2 / 5, rel=1e-14
    )
    # Two rounds: the third smallest of four sums of two uniform times, from the triangular law.
    triangle = stats.triang(0.5, loc=0.0, scale=2.0)
    third = quad(lambda y: stats.binom.cdf(2, 4, triangle.cdf(y)), 0, 2, points=[1])[0]
    for width in WIDTHS[1:]:
        value = theory.expected_runtime("K-batch-sync", 4, 7, Uniform(1.0, 1 + width))
        assert value == pytest.approx(2 + width * third, rel=0, abs=1e-5 * width + 1e-9)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("P", "K"), [(4, 3), (4, 11), (2, 20)])
def test_batch_sync_of_narrow_gamma_times_over_several_rounds(width, P, K):
    """Sums of n are gamma variables; where rounds overlap, samples: 5 standard errors, 6e-7 false alarms."""
    law, rounds = Gamma(1 / width**2, 1 / width**2), -(-K // P)
    value = theory.expected_runtime("K-batch-sync", P, K, law)
    if width < 0.01:
        sums = Gamma(rounds / width**2, 1 / width**2)
        exact = order_statistics.mean(sums, K - (rounds - 1) * P, P)
        assert value == pytest.approx(exact, rel=0, abs=1e-6 * width + 4e-15 * rounds)
    else:
        finish = law.sample(np.random.default_rng(3), (20_000, P, 2 * rounds + 8)).cumsum(axis=2)
        last = np.partition(finish.reshape(20_000, -1), K - 1, axis=1)[:, K - 1]
        assert abs(value - last.mean()) < 5 * last.std() / np.sqrt(20_000)


@pytest.mark.parametrize("width", WIDTHS[:-1])
@pytest.mark.parametrize("K", [2, 4, 6, 7])
def test_batch_sync_of_narrow_laws_that_differ(width, K):
    """Two learners near 1 and two near 1.7: the events come at 1, 1, 1.7, 1.7, 2, 2, 3, ..."""
    laws = PerLearner([Uniform(1.0, 1 + width / 9)] * 2 + [LogNormal(math.log(1.7), width / 20)] * 2)
    rng = np.random.default_rng(4)
    finish = laws.sample(rng, (40_000, 6, 4)).cumsum(axis=1).reshape(40_000, 24)
    last = np.partition(finish, K - 1, axis=1)[:, K - 1]
    value = theory.expected_runtime("K-batch-sync", 4, K, laws)
    # 5 standard errors: one false alarm in 1.7 million seeds, for each case
    assert abs(value - last.mean()) < 5 * last.std() / np.sqrt(40_000) + 1e-9


def test_a_law_that_no_lattice_resolves_is_refused_and_not_guessed():
    fine, wide = Uniform(1.0, 1.0001), Uniform(0.0, 4.0)
    with pytest.raises(theory.NoClosedForm, match="grids do not agree"):
        theory.expected_runtime("K-batch-sync", 4, 3, PerLearner([fine, fine, fine, wide]))


def test_constants_among_other_laws_are_no_obstacle():
    # Before 1 the exponential learner alone has events; with Z ~ Poisson(1) of them by then, T = 1 unless
    # Z >= 2; the second event of a Poisson process, cut off at 1, comes at 2 - 3/e on average.
    laws = PerLearner([Constant(1.0), Constant(1.0), Exponential()])
    value = theory.expected_runtime("K-batch-sync", 3, 2, laws)
    first_two = quad(lambda t: stats.poisson.cdf(1, t), 0, 1)[0]
    assert value == pytest.approx(first_two, rel=2e-6)


def test_no_value_outside_the_bounds_is_returned(monkeypatch):
    monkeypatch.setattr("sgdrace.theory.runtime.event_times", lambda laws, counts: np.full(len(counts), 0.9))
    with pytest.raises(theory.NoClosedForm, match=r"0.9 would be outside the bounds"):
        theory.expected_runtime("K-batch-sync", 4, 2, Uniform(1.0, 1.5))
    falling = [1.2, 1.1, 1.15, 1.5]
    monkeypatch.setattr("sgdrace.theory.runtime.event_times", lambda laws, counts: np.array(falling))
    with pytest.raises(theory.NoClosedForm, match="more mini-batches would take less time"):
        theory.expected_runtimes("K-batch-sync", 5, Uniform(1.0, 1.8))


@pytest.mark.parametrize("P", range(1, 10))
def test_constant_times_let_K_async_make_P_over_K_updates_at_once(P):
    for K in range(1, P + 1):
        updates = 60 * (P // K)
        race = simulate("K-async", P, K, Constant(2.0), updates=updates, replicas=1, seed=0, detail=False)
        for law in (
            Constant(2.0),
            Scaled(Constant(0.5), 4.0),
            Empirical([2.0, 2.0]),
            PerLearner([Constant(2.0)] * P),
        ):
            value = theory.expected_runtime("K-async", P, K, law)
            assert value == pytest.approx(race.time[0, -1] / updates, rel=1e-12)
            assert theory.runtime_bounds("K-async", P, K, law) == (value, value)
    table = theory.expected_runtimes("K-async", P, Constant(2.0))
    assert table == pytest.approx([2 / (P // K) for K in range(1, P + 1)])


def test_constants_that_differ_have_no_closed_form_in_K_async():
    with pytest.raises(theory.NoClosedForm):
        theory.expected_runtime("K-async", 3, 2, PerLearner([Constant(1.0), Constant(1.0), Constant(2.0)]))


def test_batch_sync_of_constant_times_knows_no_largest_K():
    assert theory.expected_runtime("K-batch-sync", 8, 10**6 + 1, Constant(0.5)) == 0.5 * 125_001


@pytest.mark.parametrize("K", [1, 2, 3, 5])
def test_batch_sync_of_a_few_irrational_times_equals_enumeration(K):
    times = [1.0, math.sqrt(2), math.pi]
    expected = 0.0
    for x in itertools.product(times, repeat=6):  # three mini-batches for each of two learners
        events = np.sort(np.concatenate([np.cumsum(x[:3]), np.cumsum(x[3:])]))
        expected += events[K - 1] / 3**6
    if K < 5:  # a fourth mini-batch takes at least 4, so the fifth event may be missed here
        assert renewals.event_times([Empirical(times)] * 2, [K])[0] == pytest.approx(expected, rel=1e-12)
    else:
        assert renewals.event_times([Empirical(times)] * 2, [K])[0] <= expected * (1 + 1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_bad_arguments_are_named(variant):
    with pytest.raises(ValueError, match="P must be at least 1; got 0"):
        theory.expected_runtime(variant, 0, 1, Exponential())
    with pytest.raises(TypeError, match="must be a law of mini-batch times"):
        theory.expected_runtime(variant, 2, 1, 3.0)
    with pytest.raises(ValueError, match="describes 2 learners, but P is 3"):
        theory.runtime_bounds(variant, 3, 1, PerLearner([Exponential(), Pareto()]))
