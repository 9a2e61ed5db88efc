"""Facts about the least time of an update: counts against a loop that counts, limits, and the cards."""

import re

import pytest

from sgdrace.gpu import kernels
from sgdrace.gpu.roofline import CARDS, ROOFS, Update, fused, plain
from tests.sentences import refused

A100 = CARDS["A100 40 GB"]
USUAL = Update(gradients=10_000, rows=10_000, p=100, m=32, dtype="float32")
SMALL = [
    Update(gradients=5, rows=12, p=p, m=m, dtype=d) for p in (1, 3) for m in (1, 4) for d in kernels.REAL
]


class Meter:
    """A card whose reads, writes and operations are counted one by one, as the loops do them."""

    def __init__(self):
        self.operations = self.bytes = 0

    def moves(self, numbers, size):
        self.bytes += numbers * size


def as_the_kernel_does_it(update, reads):
    """The four loops of kernels.cu for logistic regression."""
    meter, size = Meter(), update.number_bytes
    for _ in range(update.gradients):
        meter.moves(2, 4)  # row[n], choice[n]
        meter.moves(update.p, size)  # load
        for _ in range(update.m):  # multiply
            meter.moves(update.p, size)
            meter.operations += 2 * update.p
        for _ in range(update.m):  # residual: -z, exp, 1 +, 1 /, - y
            meter.moves(1, size)
            meter.operations += 5
        for _ in range(update.p):  # add up
            meter.operations += 2 * update.m + 3
            meter.moves((reads - 1) * update.m + 1, size)
    return meter


def as_the_expression_does_it(update):
    """Reads and writes of each array expression that is in the docstring of `plain`."""
    meter, size, m, p = Meter(), update.number_bytes, update.m, update.p
    for _ in range(update.gradients):
        meter.moves(2, 4)
        for gathered in (m * p, p, m):
            meter.moves(2 * gathered, size)
        meter.moves(m * p + p + m, size)
        meter.moves(2 * m + m, size)
        meter.moves(m + m * p + p, size)
        meter.moves(2 * p + p, size)
    return meter


@pytest.mark.parametrize("update", SMALL)
@pytest.mark.parametrize("reads", [1, 2])
def test_the_kernel_is_counted_as_its_loops_run(update, reads):
    meter, found = as_the_kernel_does_it(update, reads), fused(update, A100, reads=reads)
    assert (found.update.operations, found.cache_bytes) == (meter.operations, meter.bytes)


@pytest.mark.parametrize("update", SMALL)
def test_the_plain_expression_is_counted_read_by_read(update):
    assert plain(update, A100).cache_bytes == as_the_expression_does_it(update).bytes


def test_the_loops_that_are_counted_are_those_of_the_source():
    loops = re.findall(
        r"for \(int \w = \w[^;]*; (\w) < ([\w* ]+);", kernels.source().partition("// ---- R")[0]
    )
    assert loops.count(("i", "m")) == 3 and ("j", "p") in loops and ("k", "d") in loops
    assert "-fmad=false" in kernels.options("float32")  # hence half of the peak


def test_the_usual_update_on_an_a100():
    """By hand: 10,000·(12,800 + 160 + 300) operations; 128 MB of rows, 8.08 MB of weights and gradients."""
    assert USUAL.operations == 132_600_000 and USUAL.temporary_bytes == 128_000_000
    in_l2, streamed = fused(USUAL, A100), fused(USUAL, A100, streamed=True)
    assert not in_l2.streamed and in_l2.memory_bytes == 8_080_000 + 4_040_000
    assert in_l2.times["arithmetic"] == pytest.approx(13.6e-6, rel=1e-3)
    assert in_l2.times["memory"] == pytest.approx(7.794e-6, rel=1e-3)
    assert in_l2.seconds == pytest.approx(137.36e6 / (5120 * 1.41e9), rel=1e-9)  # 19.0 µs
    assert fused(USUAL, A100, reads=2).seconds == pytest.approx(36.8e-6, rel=2e-3)
    assert streamed.seconds == pytest.approx((8.08e6 + 129.28e6) / 1.555e12, rel=1e-9)  # 88.3 µs
    assert plain(USUAL, A100).seconds == pytest.approx(423.8e6 / 1.555e12, rel=1e-9)  # 272.5 µs
    assert (in_l2.binds, streamed.binds, plain(USUAL, A100).binds) == ("L2 cache", "memory", "memory")


def test_an_update_is_never_faster_than_one_of_its_roofs():
    for card in CARDS.values():
        for dtype in kernels.REAL:
            for rows in (1000, 10**6):
                for found in (way(Update(4000, rows, dtype=dtype), card) for way in (fused, plain)):
                    assert (
                        found.speed <= found.peak
                        and found.speed <= 1.000001 * card.bandwidth * found.intensity
                    )
                    assert found.seconds == found.times[found.binds] and found.binds in ROOFS


def test_intensity_tends_to_one_operation_a_byte_when_streamed_and_grows_with_m_in_l2():
    large = [Update(10**5, 10**5, p=10**3, m=m) for m in (100, 200)]
    assert fused(large[0], A100, streamed=True).intensity == pytest.approx(1, rel=0.03)
    assert plain(large[0], A100, streamed=False).intensity == pytest.approx(1 / 3, rel=0.03)
    here, there = (fused(update, A100, streamed=False).intensity for update in large)
    assert there / here == pytest.approx(2, rel=0.01)


def test_an_array_that_fits_the_cache_never_goes_to_memory():
    few, many = (plain(Update(gradients), A100) for gradients in (3000, 4000))  # 38 and 51 MB
    assert few.memory_bytes < few.update.temporary_bytes < A100.l2
    assert many.memory_bytes > 3 * many.update.temporary_bytes > 3 * A100.l2


def test_the_data_fit_some_caches_and_not_others():
    update = Update(10_000, rows=30_000)  # 12 MB
    assert [card.name for card in CARDS.values() if fused(update, card).streamed] == ["T4", "V100"]


def test_the_cards_are_those_of_their_data_sheets():
    # Peaks once more, from what the sheets say elsewhere: multiprocessors, lanes, clock in GHz, 2 for an FMA.
    lanes = {
        "T4": (64, 1.59),
        "L4": (128, 2.04),
        "V100": (64, 1.53),
        "A100 40 GB": (64, 1.41),
        "H100 SXM": (128, 1.98),
        "RTX 4090": (128, 2.52),
    }
    assert lanes.keys() == CARDS.keys()
    for name, (each, clock) in lanes.items():
        assert CARDS[name].float32 == pytest.approx(
            2e9 * CARDS[name].multiprocessors * each * clock, rel=0.01
        )
    assert [round(card.float32 / card.float64) for card in CARDS.values()] == [32, 64, 2, 2, 2, 64]


def test_where_nobody_says_how_fast_the_cache_is_it_is_no_roof():
    assert [name for name, card in CARDS.items() if card.l2_bandwidth] == ["V100", "A100 40 GB"]
    assert "L2 cache" not in fused(USUAL, CARDS["T4"]).times


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: fused(3, A100), TypeError, "a least time needs an Update and a Card; got 3 and"),
        (lambda: plain(USUAL, "A100"), TypeError, "a least time needs an Update and a Card"),
        (lambda: fused(USUAL, A100, reads=3), ValueError, "reads must be between 1 and 2; got 3"),
        (lambda: Update(gradients=0), ValueError, "gradients must be at least 1; got 0"),
        (lambda: A100.peak("float16"), ValueError, "dtype 'float16' is unknown; did you mean"),
    ],
)
def test_a_wrong_call_gets_one_clear_sentence(call, error, sentence):
    refused(call, error, sentence)
