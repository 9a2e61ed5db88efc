"""Random delays that are the same on every machine: counter-based random numbers, rounded in one way only.

Knows the laws whose delays are an increasing function of a unit exponential variable; nothing of races. NumPy
here and the kernels of `kernels.cu` on a GPU do the same operations in the same order, each of which IEEE 754
rounds in one way, so that the results agree to the last bit. (The logarithms of NumPy and CUDA do not.)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdrace._arguments import FloatArray, count, one_of, shown
from sgdrace._memory import must_fit
from sgdrace.delays import Exponential, Lomax, Pareto, ShiftedExponential, Weibull
from sgdrace.gpu.kernels import LARGEST_INT, Kernels, Launch

Words = NDArray[np.uint32]
Bits = NDArray[np.uint64]  # words of 32 bits, with room for the product of two

LARGEST_SEED = 2**64 - 1
BYTES_EACH = 200  # of memory for each delay, while NumPy computes it

# What is drawn for different purposes is kept apart by the last word of the counter.
DRAWS, ORDER_STATISTICS = 0, 1
EXPONENTIAL, PARETO, LOMAX, WEIBULL = range(4)  # as in kernels.cu

MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
KEY_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
WORD, HALF = np.uint64(2**32 - 1), np.uint64(32)

LN2_HIGH = float.fromhex("0x1.62e42fefap-1")  # 37 bits of log 2, so that a small integer times it is exact
LN2_LOW = float.fromhex("0x1.cf79abc9e3b3ap-40")  # the next 53
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
ROOT_HALF = np.int64(0x3FE6A09E667F3BCD)  # the bits of the square root of 1/2
OCTAVE = np.int64(2**52)  # added to the bits of a number, doubles it


def words(seed: int, size: int, launch: Launch | None = None) -> Words:
    """The first words of the stream of this seed, of 32 random bits each; with `launch`, made by the kernel.

    >>> [f"{word:08x}" for word in words(seed=0, size=4)]  # the published answer for counter 0 and key 0
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    seed, size = _seed(seed), _size(size)
    if launch:
        out = np.empty(size, np.uint32)
        Kernels(launch).words(seed, out)
        return out
    places = np.arange(-(-size // 4), dtype=np.uint64)
    return np.stack(_words_at(places, 0, DRAWS, seed), axis=-1).reshape(-1)[:size].astype(np.uint32)


def exponentials(seed: int, size: int, launch: Launch | None = None) -> FloatArray:
    """Independent unit exponential variables; with `launch`, made by the kernel.

    >>> exponentials(seed=1, size=3).round(3)
    array([0.116, 0.535, 0.397])
    """
    seed, size = _seed(seed), _size(size)
    return _delays((EXPONENTIAL, 0.0, 1.0), size, seed, _made_with(launch) if launch else None)


def delays(law: Any, size: int, seed: int = 0, device: str = "cpu") -> FloatArray:
    """Independent delays of a law, the same on every machine and on both devices, "cpu" and "gpu".

    The law must be exponential, shifted or not, Pareto, Lomax or Weibull.

    >>> delays(Exponential(rate=2.0), size=3, seed=1).round(3)  # half of what `exponentials` gives
    array([0.058, 0.267, 0.199])
    """
    return _delays(_law(law), _size(size), _seed(seed), _device(device))


def kth_fastest(law: Any, K: int, P: int, size: int, seed: int = 0, device: str = "cpu") -> FloatArray:
    """Independent draws of X_{K:P}, when the K-th of P learners is done, the same on every machine.

    The law and the device are as in `delays`. The cost grows with K; nothing is sorted, and P may be huge.

    >>> kth_fastest(Pareto(), K=1, P=10**6, size=2).round(4)  # of a million learners one is done at once
    array([1., 1.])
    """
    P = count("P", P, maximum=LARGEST_INT)
    K = count("K", K, maximum=P)
    kind, size, seed, there = _law(law), _size(size), _seed(seed), _device(device)
    if there:
        return there.filled(size, lambda kernels, out: kernels.kth_fastest(seed, *kind, K, P, out))
    places = np.arange(size, dtype=np.uint64)
    e = np.zeros(size)
    # Rényi: of P unit exponentials the first ends after E/P, the next E/(P-1) later, and so on.
    for done in range(0, K, 2):
        four = _words_at(places, done // 2, ORDER_STATISTICS, seed)
        e += _unit_exponentials(four[0], four[1]) / (P - done)
        if done + 1 < K:
            e += _unit_exponentials(four[2], four[3]) / (P - done - 1)
    return _delay(kind, e)


def philox(counter: tuple[Bits, ...], key: tuple[np.uint64, ...]) -> tuple[Bits, ...]:
    """Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011): four words of a counter, scrambled with a key.

    >>> ones = np.uint64(2**32 - 1)
    >>> [f"{word:08x}" for word in philox((ones,) * 4, (ones,) * 2)]  # the published answer
    ['408f276d', '41c83b0e', 'a20bc7c6', '6d5451fd']
    """
    c0, c1, c2, c3 = counter
    key0, key1 = key
    for _ in range(10):
        first, third = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = third >> HALF ^ c1 ^ key0, third & WORD, first >> HALF ^ c3 ^ key1, first & WORD
        key0, key1 = key0 + KEY_STEPS[0] & WORD, key1 + KEY_STEPS[1] & WORD
    return c0, c1, c2, c3


def logarithm(x: FloatArray) -> FloatArray:
    """The natural logarithm of x > 0, within 1 ulp; `kernels.cu` says why.

    >>> logarithm(np.array([1.0, 2.0]))
    array([0.        , 0.69314718])
    """
    bits = x.view(np.int64)
    k = bits - ROOT_HALF >> 52
    f = (bits - k * OCTAVE).view(np.float64) - 1.0
    s = f / (2.0 + f)
    square = s * s
    series = np.zeros_like(s)
    for n in range(10, 0, -1):
        series = (series + 2.0 / (2 * n + 1)) * square
    return k * LN2_HIGH + (f - (s * (f - series) - k * LN2_LOW))


def exponential(x: FloatArray) -> FloatArray:
    """e^x, within 1 ulp.

    >>> exponential(np.array([-np.inf, 0.0, 1.0, np.inf]))
    array([0.        , 1.        , 2.71828183,        inf])
    """
    k, minus_1 = _reduced(x)
    half = k >> 1
    with np.errstate(over="ignore", under="ignore"):
        return (1.0 + minus_1) * _power_of_2(half) * _power_of_2(k - half)


def exponential_minus_1(x: FloatArray) -> FloatArray:
    """e^x - 1 for x >= 0, within 2 ulp.

    >>> exponential_minus_1(np.array([0.0, 1e-20, 1.0]))
    array([0.00000000e+00, 1.00000000e-20, 1.71828183e+00])
    """
    k, minus_1 = _reduced(x)
    octaves = _power_of_2(np.minimum(k, 60))
    return np.where(k > 60, exponential(x), octaves * minus_1 + (octaves - 1.0))


class _Elsewhere(NamedTuple):
    """Kernels, memory that they can write to, and the way back from there."""

    kernels: Any
    empty: Callable[[int], Any]
    fetch: Callable[[Any], FloatArray]

    def filled(self, size: int, fill: Callable[[Kernels, Any], None]) -> FloatArray:
        out = self.empty(size)
        fill(self.kernels, out)
        return self.fetch(out)


def _made_with(launch: Launch) -> _Elsewhere:
    return _Elsewhere(Kernels(launch), np.empty, np.asarray)


def _device(device: str) -> _Elsewhere | None:
    if one_of("device", device, ["cpu", "gpu"]) == "cpu":
        return None
    from sgdrace.gpu.devices import gpu  # type: ignore[import-not-found, unused-ignore]

    on = gpu("float64")
    return _Elsewhere(on.kernels, lambda size: on.empty((size,)), on.host)


def _seed(seed: Any) -> int:
    return count("seed", seed, minimum=0, maximum=LARGEST_SEED)


def _size(size: Any) -> int:
    number = count("size", size, minimum=0)
    must_fit(f"{number} random numbers", BYTES_EACH * number)
    return number


def _law(law: Any) -> tuple[int, float, float]:
    """The number of the law in the kernels, and its two parameters."""
    match law:
        case Exponential(rate):
            return EXPONENTIAL, 0.0, rate
        case ShiftedExponential(shift, rate):
            return EXPONENTIAL, shift, rate
        case Pareto(shape, scale):
            return PARETO, scale, shape
        case Lomax(shape, scale):
            return LOMAX, scale, shape
        case Weibull(shape, scale):
            return WEIBULL, scale, shape
    raise TypeError(
        "law must be Exponential, ShiftedExponential, Pareto, Lomax or Weibull, whose delays are the same on "
        f"every machine; got {shown(law)}."
    )


def _delays(kind: tuple[int, float, float], size: int, seed: int, there: _Elsewhere | None) -> FloatArray:
    if there:
        return there.filled(size, lambda kernels, out: kernels.delays(seed, *kind, out))
    high, low, second_high, second_low = _words_at(np.arange(-(-size // 2), dtype=np.uint64), 0, DRAWS, seed)
    pairs = [_unit_exponentials(high, low), _unit_exponentials(second_high, second_low)]
    return _delay(kind, np.stack(pairs, axis=-1).reshape(-1)[:size])


def _delay(kind: tuple[int, float, float], e: FloatArray) -> FloatArray:
    law, a, b = kind
    with np.errstate(over="ignore", under="ignore"):  # a tail may reach beyond what float64 can hold
        if law == EXPONENTIAL:
            return a + e / b
        if law == PARETO:
            return a * exponential(e / b)
        if law == LOMAX:
            return a * exponential_minus_1(e / b)
        return a * exponential(logarithm(e) / b)


def _words_at(places: Bits, step: int, purpose: int, seed: int) -> tuple[Bits, ...]:
    counter = (places & WORD, places >> HALF, np.full_like(places, step), np.full_like(places, purpose))
    return philox(counter, (np.uint64(seed) & WORD, np.uint64(seed) >> HALF))


def _unit_exponentials(high: Bits, low: Bits) -> FloatArray:
    """-log of uniform variables from the middles of 2^52 equal parts of (0, 1), never 0 or 1."""
    part = high << np.uint64(20) | low >> np.uint64(12)
    return -logarithm((part.astype(np.float64) + 0.5) * 2.0**-52)


def _reduced(x: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Whole k and e^r - 1, where x = k log 2 + r with |r| at most log(2)/2."""
    x = np.clip(x, -1400.0, 1400.0)  # beyond, e^x is 0 or infinite anyway
    k = np.floor(x * LOG2_E + 0.5)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    series = np.ones_like(r)
    for n in range(13, 2, -1):
        series = 1.0 + r * (1.0 / n) * series
    return k.astype(np.int64), r + 0.5 * r * r * series


def _power_of_2(k: NDArray[np.int64]) -> FloatArray:
    return ((k + 1023) * OCTAVE).view(np.float64)
