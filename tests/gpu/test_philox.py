"""Random delays: the published words, the same bits in NumPy and the kernels, the laws they should have."""

import math
import sys
from decimal import Decimal, localcontext
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from sgdrace import (
    Exponential,
    Gamma,
    Lomax,
    Pareto,
    ShiftedExponential,
    Weibull,
    order_statistics,
)
from sgdrace.gpu import kernels, philox
from sgdrace.gpu.philox import delays, exponentials, kth_fastest, words
from tests.gpu.emulator import ORDERS
from tests.sentences import refused

LAWS = [
    Exponential(2.0),
    ShiftedExponential(0.5, 3.0),
    Pareto(2.5, 0.4),
    Lomax(4.0, 3.0),
    Weibull(0.5, 0.5),
    Weibull(3.0),
]
ONE = 2**32 - 1
# Counter, key, words: the known answers that come with Random123, the authors' library.
PUBLISHED = [
    ((0,) * 4, (0,) * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((ONE,) * 4, (ONE,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]
# What the kernels are made of, each as a kernel of its own.
PARTS = """
extern "C" __global__ void scramble(unsigned* c, unsigned key0, unsigned key1) {
    const Words words = philox(Words{{c[0], c[1], c[2], c[3]}}, key0, key1);
    for (int i = 0; i < 4 && threadIdx.x == 0; ++i) c[i] = words.of[i];
}
extern "C" __global__ void at(unsigned* out, long long place, unsigned step, unsigned purpose) {
    const Words words = words_at(place, step, purpose, 1u, 2u);
    for (int i = 0; i < 4; ++i) out[i] = words.of[i];
}
extern "C" __global__ void functions(double* x, int n, double* log_x, double* exp_x, double* expm1_x) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        log_x[i] = logarithm(x[i] > 0 ? x[i] : 1.0);
        exp_x[i] = exponential(x[i]);
        expm1_x[i] = exponential_minus_1(x[i] > 0 ? x[i] : 0.0);
    }
}
"""


@pytest.fixture(scope="module")
def parts(emulated):
    return emulated(source=kernels.source() + PARTS)


@pytest.mark.parametrize(("counter", "key", "answer"), PUBLISHED)
def test_philox_gives_the_published_words(counter, key, answer):
    made = philox.philox(tuple(map(np.uint64, counter)), tuple(map(np.uint64, key)))
    assert " ".join(f"{word:08x}" for word in made) == answer


@pytest.mark.parametrize(("counter", "key", "answer"), PUBLISHED)
def test_the_kernel_gives_the_published_words(parts, counter, key, answer):
    made = np.array(counter, np.uint32)
    parts.ordered(1)("scramble", (1,), (32,), (made, *map(np.uint32, key)), 0)  # thread 0 comes last
    assert " ".join(f"{word:08x}" for word in made) == answer


@pytest.mark.parametrize("place", [0, 5, 2**32 - 1, 2**32, 2**62 + 3])
def test_places_of_more_than_32_bits_have_their_own_words(parts, place):
    out = np.empty(4, np.uint32)
    parts("at", (1,), (32,), (out, np.int64(place), np.uint32(3), np.uint32(1)), 0)
    twin = philox._words_at(np.array([place], np.uint64), 3, 1, 1 + 2 * 2**32)
    assert out.tolist() == [int(word[0]) for word in twin]


def logs(x):
    """Logarithms to 40 digits, of exactly these doubles."""
    with localcontext(prec=40):
        return [Decimal(value).ln() for value in x.tolist()]


def exps(x, minus=0):
    with localcontext(prec=80):
        return [Decimal(value).exp() - minus for value in x.tolist()]


def ulps(found, true):
    """The largest error in units of the last place of what is true."""
    with localcontext(prec=40):
        return max(
            float(abs(Decimal(value) - exact) / Decimal(math.ulp(float(exact))))
            for value, exact in zip(found.tolist(), true, strict=True)
        )


def arguments():
    """Numbers of every size, and those beside which a function has its seams."""
    rng = np.random.default_rng(0)
    seams = np.array([1.0, 2.0, math.sqrt(0.5), math.sqrt(2), math.log(2) / 2, 1.5 * math.log(2), 37.0])
    near = np.concatenate([seams, np.nextafter(seams, 0), np.nextafter(seams, 99)])
    uniform = (rng.integers(2**52, size=800) + 0.5) * 2.0**-52
    ends = np.array([0.5, 2**52 - 0.5]) * 2.0**-52  # the least and the largest uniform number
    return np.concatenate([near, ends, uniform, np.exp(rng.uniform(-40, 6, 800)), 1 + 1e-6 * uniform[:200]])


def test_logarithms_are_right_within_one_unit_of_the_last_place():
    x = arguments()
    assert ulps(philox.logarithm(x), logs(x)) < 1
    extremes = np.array([np.finfo(float).tiny, np.finfo(float).max])
    assert ulps(philox.logarithm(extremes), logs(extremes)) < 1


def test_exponentials_of_numbers_are_right_within_one_unit_of_the_last_place():
    x = arguments()
    x = np.concatenate([x, -x])
    assert ulps(philox.exponential(x), exps(x)) < 1
    x = np.array([-745.1, -730.0, -709.0, 709.7])  # of which the first are no normal numbers
    assert ulps(philox.exponential(x), exps(x)) < 1
    assert philox.exponential(np.array([-750.0, 710.0, -1e300, 1e300])).tolist() == [0, math.inf, 0, math.inf]


def test_exponentials_minus_1_keep_their_digits_near_0():
    x = arguments()
    assert ulps(philox.exponential_minus_1(x), exps(x, minus=1)) < 2
    tiny = np.array([1e-38, 1e-17, 1e-9])
    assert ulps(philox.exponential_minus_1(tiny), exps(tiny, minus=1)) < 1
    assert philox.exponential_minus_1(np.array([0.0, 1e-300, 1e300])).tolist() == [0.0, 1e-300, math.inf]


def test_the_functions_of_the_kernels_have_the_bits_of_those_of_numpy(parts):
    x = np.concatenate([arguments(), -arguments(), [-745.1, 709.7, 710.0, 1e300, -1e300]])
    made = [np.empty_like(x) for _ in range(3)]
    parts("functions", (1,), (64,), (x, np.int32(x.size), *made), 0)
    positive = np.where(x > 0, x, 0.0)
    np.testing.assert_array_equal(made[0], philox.logarithm(np.where(x > 0, x, 1.0)))
    np.testing.assert_array_equal(made[1], philox.exponential(x))
    np.testing.assert_array_equal(made[2], philox.exponential_minus_1(positive))


SEEDS = [0, 1, 2**32, 2**64 - 1]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [0, 1, 7, 1000])
def test_words_and_exponentials_of_the_kernel_have_the_bits_of_those_of_numpy(emulated, seed, size):
    for order in ORDERS[:2]:
        launch = emulated().ordered(order, blocks=2)
        np.testing.assert_array_equal(words(seed, size, launch), words(seed, size))
        np.testing.assert_array_equal(exponentials(seed, size, launch), exponentials(seed, size))


@pytest.fixture
def pretended(emulated, monkeypatch):
    """A GPU that is none: its memory is NumPy's, its kernels are emulated."""
    fetched = []

    def gpu(dtype):
        assert dtype == "float64"
        return SimpleNamespace(
            kernels=kernels.Kernels(emulated().ordered(2, blocks=3)),
            empty=np.empty,
            host=lambda array: fetched.append(array) or array,
        )

    monkeypatch.setitem(sys.modules, "sgdrace.gpu.devices", SimpleNamespace(gpu=gpu))
    return fetched


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_delays_on_both_devices_have_the_same_bits(pretended, law):
    for size in (0, 1, 501):
        there = delays(law, size, seed=5, device="gpu")
        np.testing.assert_array_equal(there, delays(law, size, seed=5))
    assert len(pretended) == 3


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize(("K", "P"), [(1, 1), (1, 1000), (2, 3), (8, 8), (3, 2**31 - 1)])
def test_kth_fastest_on_both_devices_have_the_same_bits(pretended, law, K, P):
    there = kth_fastest(law, K, P, size=301, seed=2**40, device="gpu")
    np.testing.assert_array_equal(there, kth_fastest(law, K, P, size=301, seed=2**40))
    assert len(pretended) == 1


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_delays_are_the_same_function_of_an_exponential_variable_as_those_of_the_law(law):
    e = exponentials(seed=3, size=4000)
    np.testing.assert_allclose(delays(law, 4000, seed=3), law.from_exponential(e), rtol=2e-13)


def test_an_exponential_is_made_of_the_words_of_the_stream():
    high, low = words(9, 2000).astype(np.uint64).reshape(-1, 2).T
    uniform = ((high << np.uint64(20) | low >> np.uint64(12)) + 0.5) / 2**52
    np.testing.assert_allclose(exponentials(9, 1000), -np.log(uniform), rtol=2e-15)


def test_longer_draws_begin_with_the_shorter_ones():
    for draw in (words, exponentials):
        np.testing.assert_array_equal(draw(4, 1000)[:101], draw(4, 101))


# Each statistical test below raises a false alarm once in 100,000 choices of its seed.
ALARM = 1e-5


@pytest.mark.parametrize("seed", [0, 1])
def test_exponentials_are_exponential(seed):
    assert stats.kstest(exponentials(seed, 20_000), stats.expon.cdf).pvalue > ALARM


def test_words_have_as_many_ones_as_zeros_in_every_place():
    bits = np.unpackbits(words(2, 20_000).view(np.uint8).reshape(-1, 4), axis=1)
    z = (bits.mean(axis=0) - 0.5) * 2 * math.sqrt(len(bits))
    assert np.abs(z).max() < stats.norm.isf(ALARM / 2 / 32)


def test_neighbors_and_neighboring_seeds_are_independent():
    one, other = exponentials(6, 20_000), exponentials(7, 20_000)
    again = kth_fastest(Exponential(), 1, 1, size=20_000, seed=6)  # for another purpose: other numbers
    for x, y in ((one, other), (one[:-1], one[1:]), (one, again)):
        z = np.corrcoef(x, y)[0, 1] * math.sqrt(len(x))
        assert abs(z) < stats.norm.isf(ALARM / 2 / 3)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize(("K", "P"), [(1, 4), (3, 4), (5, 12)])
def test_kth_fastest_has_the_law_and_the_mean_of_the_order_statistic(law, K, P):
    times = kth_fastest(law, K, P, size=20_000, seed=11)
    z = (times.mean() - order_statistics.mean(law, K, P)) / math.sqrt(
        order_statistics.var(law, K, P) / times.size
    )
    assert abs(z) < stats.norm.isf(ALARM / 4)
    assert stats.kstest(times, lambda x: order_statistics.cdf(law, K, P, x)).pvalue > ALARM / 2


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda: delays(Gamma(), 3),
            TypeError,
            "law must be Exponential, ShiftedExponential, Pareto, Lomax or",
        ),
        (lambda: kth_fastest(3, 1, 1, 3), TypeError, "whose delays are the same on every machine; got 3"),
        (lambda: delays(Pareto(), -1), ValueError, "size must be at least 0; got -1"),
        (lambda: delays(Pareto(), 2**40), ValueError, "random numbers would take 204800 GiB"),
        (lambda: delays(Pareto(), 3, seed=-1), ValueError, "seed must be between 0 and 18446744073709551615"),
        (lambda: words(2**64, 3), ValueError, "seed must be between 0 and 18446744073709551615"),
        (lambda: exponentials(0.5, 3), TypeError, "seed must be a whole number between 0 and"),
        (lambda: delays(Pareto(), 3, device="tpu"), ValueError, "device must be one of cpu, gpu"),
        (lambda: kth_fastest(Pareto(), 0, 4, 3), ValueError, "K must be between 1 and 4; got 0"),
        (lambda: kth_fastest(Pareto(), 5, 4, 3), ValueError, "K must be between 1 and 4; got 5"),
        (lambda: kth_fastest(Pareto(), 1, 2**31, 3), ValueError, "P must be between 1 and 2147483647"),
    ],
)
def test_a_wrong_call_is_refused_in_one_sentence(call, error, sentence):
    refused(call, error, sentence)
