"""When P learners that start together have finished their first K mini-batches between them, on average.

Knows renewal processes and their numerics (convolution powers, quadrature); nothing of the four variants.
With N_i(t) the mini-batches that learner i has finished by t, the K-th is done at T with
E[T] = ∫ Pr(ΣN_i(t) < K) dt and Pr(N_i(t) >= n) = F^{*n}(t), the n-fold convolution power of the law.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from sgdrace import order_statistics
from sgdrace._arguments import FloatArray
from sgdrace._quadrature import QuadratureError, integrate
from sgdrace.delays import DelayLaw, Empirical, Exponential, Gamma, PerLearner, Scaled, ShiftedExponential

LARGEST_K = 512  # the work grows like K²: beyond, simulation is quicker
NEGLIGIBLE = 1e-17  # a probability that no longer changes a sum of order 1
TOLERANCE = 1e-5  # relative, before extrapolation, which gains two more digits for smooth laws
GRIDS = (512, 1024, 2048, 4096, 8192, 16384)
LARGEST_LATTICE = 1 << 15
STEEPEST = 0.1  # of Pr(T > t) in one step of a lattice: a steeper fall is not resolved
IMPOSSIBLE = 1e-18  # a probability that leaves no trace in a mean
SMOOTH = 20  # a kink of the n-th power, of order n, is one that Gauss-Legendre notices, for n up to this
MOST_PANELS = 2000  # a smooth integrand needs far fewer
CHUNK = 1 << 21  # numbers in one array, so that large K stay within memory

# Powers of a law: (n_max + 1, points), row n is F^{*n} at the points, row 0 is 1.
Powers = Callable[[FloatArray], FloatArray]


def event_times(laws: Sequence[DelayLaw], counts: Sequence[int]) -> FloatArray:
    """E[T] for each K in the increasing list `counts`, one law per learner, all means finite.

    >>> event_times([Exponential()] * 4, [1, 2, 8]).round(6).tolist()
    [0.25, 0.5, 2.0]
    """
    if counts[-1] > LARGEST_K:
        raise QuadratureError(f"K above {LARGEST_K} is too much work")
    learners = Counter(laws)  # learners that share a law share its convolution powers
    forms = [_gamma_form(law) for law in learners]
    if all(form is not None for form in forms):
        return _closed_powers([form for form in forms if form], list(learners.values()), counts)
    exact = _of_measured_times(learners, counts)
    if exact is not None:
        return exact
    alone = {K: _in_a_crowd_of_its_own(learners, K) for K in counts}
    left = [K for K in counts if alone[K] is None]
    rest = _on_finer_and_finer_grids(learners, left) if left else np.empty(0)
    known = alone | dict(zip(left, rest.tolist(), strict=True))
    return np.array([known[K] for K in counts], dtype=np.float64)


def fewer_than(counts: Sequence[int], groups: Sequence[tuple[FloatArray, int]]) -> FloatArray:
    """Pr(ΣN_i < K) at every point, for each K in `counts`: (counts, points).

    Each group holds F^{*n} of one law, shape (n_max + 1, points), and how many learners follow it.
    """
    K = counts[-1]
    shares = [_power(_pmf(powers, K), learners, K) for powers, learners in groups]
    total = reduce(lambda a, b: _convolve(a, b, K), shares)
    below = np.cumsum(total, axis=0)  # row k: at most k events
    rows = np.minimum(np.array(counts) - 1, len(below) - 1)
    return np.asarray(np.minimum(below[rows], 1.0))


def _pmf(powers: FloatArray, K: int) -> FloatArray:
    """Pr(N = n) for n < K, one learner: (at most K, points)."""
    pmf = np.append(powers[:-1] - powers[1:], powers[-1:], axis=0)
    return np.maximum(pmf[:K], 0.0)


def _power(pmf: FloatArray, learners: int, K: int) -> FloatArray:
    """The counts of several learners added up, by repeated squaring: only sums of positive terms."""
    total: FloatArray | None = None
    while True:
        if learners & 1:
            total = pmf if total is None else _convolve(total, pmf, K)
        learners >>= 1
        if not learners:
            assert total is not None
            return total
        pmf = _convolve(pmf, pmf, K)


def _convolve(a: FloatArray, b: FloatArray, K: int) -> FloatArray:
    """Distribution of a sum of two counts, as far as n < K: (at most K, points)."""
    if len(a) > len(b):
        a, b = b, a
    total = np.zeros((min(len(a) + len(b) - 1, K), a.shape[1]))
    for n, share in enumerate(a):
        total[n : n + len(b)] += share * b[: len(total) - n]
    return total


# Laws whose convolution powers are known: a shift plus a gamma variable.


def _gamma_form(law: DelayLaw) -> tuple[float, float, float] | None:
    """(shape, rate, shift) if X is a shift plus a gamma variable, whose sums are of the same kind."""
    match law:
        case Exponential(rate):
            return 1.0, rate, 0.0
        case ShiftedExponential(shift, rate):
            return 1.0, rate, shift
        case Gamma(shape, rate):
            return shape, rate, 0.0
        case Scaled(base, factor):
            form = _gamma_form(base)
            return None if form is None else (form[0], form[1] / factor, form[2] * factor)
    return None


def _closed_powers(
    forms: Sequence[tuple[float, float, float]], learners: Sequence[int], counts: Sequence[int]
) -> FloatArray:
    def survival(t: FloatArray) -> FloatArray:
        groups = [(_gamma_powers(form, t, counts[-1]), n) for form, n in zip(forms, learners, strict=True)]
        return fewer_than(counts, groups)

    end = min(shift + shape / rate for shape, rate, shift in forms)
    while survival(np.array([end])).max() > 1e-14:
        end *= 2
    start = _last_time(lambda t: survival(t).min(axis=0) >= 1 - NEGLIGIBLE, end)
    # A density may be infinite at 0, a shift makes a kink at each of its multiples, and the n-th mini-batch
    # of a narrow law ends between two edges that know nothing of it: its quantiles are edges too.
    own = np.concatenate([_edges(form, counts[-1], end - start) for form in forms])
    edges = np.concatenate([[start, end], end * 0.5 ** np.arange(60, 0, -1), own])
    inside = np.unique(edges[(edges >= start) & (edges <= end)])
    return start + integrate(survival, inside, chunk=CHUNK // counts[-1], most_panels=MOST_PANELS)


def _last_time(holds: Callable[[FloatArray], NDArray[np.bool_]], end: float) -> float:
    """The last time before `end`, nearly, up to which something holds that ends for good."""
    start = 0.0
    for _ in range(16):
        t = np.linspace(start, end, 9)
        first = np.count_nonzero(holds(t))
        if first in (0, t.size):
            break
        start, end = float(t[first - 1]), float(t[first])
    return start


def _edges(form: tuple[float, float, float], K: int, length: float) -> FloatArray:
    """Where F^{*n}, n <= K, begins or changes too fast to be seen by panels of this length in all."""
    shape, rate, shift = form
    n = np.arange(1, K + 1)[:, None]
    early = n * shift + special.gammaincinv(n * shape, [1e-15, 1e-9, 1e-5, 1e-2, 0.5]) / rate
    late = n * shift + special.gammainccinv(n * shape, [1e-2, 1e-5, 1e-9, 1e-15]) / rate
    quantiles = np.append(early, late, axis=1)
    narrow = quantiles[:, -3] - quantiles[:, 2] < length / 4
    return np.append(n[:SMOOTH] * shift, quantiles[narrow])


def _gamma_powers(form: tuple[float, float, float], t: FloatArray, K: int) -> FloatArray:
    shape, rate, shift = form
    n = np.arange(1, K + 1)[:, None]
    left = rate * np.maximum(t.max() - n[:, 0] * shift, 0.0)
    n = n[: max(1, np.count_nonzero(special.gammainc(n[:, 0] * shape, left) > NEGLIGIBLE))]
    powers = special.gammainc(n * shape, rate * np.maximum(t - n * shift, 0.0))
    return np.append(np.ones((1, t.size)), powers, axis=0)


# Any law with a cdf: the nearest law on a lattice is solved without further error.


def _on_finer_and_finer_grids(learners: Counter[DelayLaw], counts: Sequence[int]) -> FloatArray:
    """Halve the lattice until it no longer matters, then extrapolate: the error falls like its square."""
    end = _first_end(learners, counts[0])
    previous, _ = _lattice_means(learners, counts, end, GRIDS[0])
    for points in GRIDS[1:]:
        latest, blurred = _lattice_means(learners, counts, end, points)
        if (np.abs(latest - previous) <= TOLERANCE * latest).all() and not blurred:
            return latest + (latest - previous) / 3  # Richardson
        if counts[-1] * points > 8 * CHUNK:
            break
        previous = latest
    raise QuadratureError("grids do not agree")


def _first_end(learners: Counter[DelayLaw], K: int) -> float:
    """A time by which the K-th event may or may not have happened, such that a kink is on every grid."""
    with np.errstate(divide="ignore"):  # where the support has no end
        support = [float(law.ppf(q)) for law in learners for q in (0.0, 1.0)]
    early = min(float(law.ppf(0.5 / learners.total())) for law in learners)
    kinks = [kink for kink in support if 0 < kink < math.inf]
    # A power of two below or above the kink, so that a grid with 2^k points meets it.
    end = (
        kinks[0] * 2.0 ** math.floor(math.log2(early / kinks[0]))
        if kinks and early > 0
        else early or min(law.mean for law in learners)
    )
    while _lattice_survival(learners, [K], end, 128)[0, -1] > 0.9:
        end *= 2
    return end


def _lattice_means(
    learners: Counter[DelayLaw], counts: Sequence[int], end: float, points: int
) -> tuple[FloatArray, bool]:
    """∫ Pr(T > t) dt octave by octave, each on a lattice of its own, until nothing is left.

    And whether T is blurred: two lattices that are both too coarse for a law may well agree.
    """
    survival = _lattice_survival(learners, counts, end, points)
    mean = end / points * survival[:, :-1].sum(axis=1)
    blur = end / points * _steepest(learners, survival, end / points)
    for _ in range(400):
        end *= 2
        survival = _lattice_survival(learners, counts, end, points)[:, points // 2 :]
        mean += end / points * survival[:, :-1].sum(axis=1)
        blur = np.maximum(blur, end / points * _steepest(learners, survival, end / points, points // 2))
        if (end * survival[:, -1] < 1e-9 * mean).all():
            return np.asarray(mean), bool((blur > 1e-7 * mean).any())
    raise QuadratureError("the tail does not end")  # pragma: no cover: no law with a finite mean is so heavy


def _steepest(learners: Counter[DelayLaw], survival: FloatArray, step: float, first: int = 0) -> FloatArray:
    """The largest fall of Pr(T > t) in one step, for each count, or 0 if all are small.

    Measured times that are on the lattice are exact there: they and their sums may be as steep as they like.
    """
    fall = -np.diff(survival, axis=1)  # (counts, points): from `first` on
    for law in learners:
        atoms = _atoms(law)
        if atoms is not None and np.allclose(atoms / step, np.round(atoms / step), rtol=1e-12, atol=1e-9):
            unit = int(np.gcd.reduce(np.round(atoms / step).astype(np.int64)))
            if unit > 8:  # or next to nothing would be left to look at
                fall[:, -(first + 1) % unit :: unit] = 0.0
    steepest = fall.max(axis=1, initial=0.0)
    return np.where(steepest > STEEPEST, steepest, 0.0)


def _lattice_survival(
    learners: Counter[DelayLaw], counts: Sequence[int], end: float, points: int
) -> FloatArray:
    """Pr(T > t) at t = 0, end/points, ..., end for laws moved to that lattice: (counts, points + 1)."""
    powers = [_lattice_powers(_lattice_masses(law, end / points, points), counts[-1]) for law in learners]
    return _survival_on([(power, n) for power, n in zip(powers, learners.values(), strict=True)], counts)


def _survival_on(groups: Sequence[tuple[FloatArray, int]], counts: Sequence[int]) -> FloatArray:
    """`fewer_than` for many points: (counts, points)."""
    size, chunk = groups[0][0].shape[1], max(1, CHUNK // counts[-1])
    places = [slice(start, start + chunk) for start in range(0, size, chunk)]
    survival = [fewer_than(counts, [(power[:, at], n) for power, n in groups]) for at in places]
    return np.concatenate(survival, axis=1)


def _lattice_masses(law: DelayLaw, step: float, points: int, origin: float = 0.0) -> FloatArray:
    """Move each time to the lattice points beside it so that its mean stays: probabilities at 0, step, ...

    Times count from `origin`, below which there are none.

    Splitting a cell's mass by the distance to its two ends makes the new cdf at a lattice point the
    average of the old one over the cell to its right.
    """
    grid = np.asarray(origin + step * np.arange(points + 1), dtype=np.float64)
    if isinstance(law, Empirical):
        average = np.diff(_integrated_cdf(law, np.append(grid, grid[-1] + step))) / step
    else:
        nodes, weights = np.polynomial.legendre.leggauss(4)
        average = np.asarray(law.cdf(grid[:, None] + step * (nodes + 1) / 2)) @ (weights / 2)
    return np.maximum(np.diff(np.minimum(average, 1.0), prepend=0.0), 0.0)


def _integrated_cdf(law: Empirical, x: FloatArray) -> FloatArray:
    """∫ F up to x, which is E[max(x - X, 0)]."""
    below = np.searchsorted(law.times, x, side="right")
    return np.asarray((below * x - np.append(0.0, np.cumsum(law.times))[below]) / law.times.size)


def _lattice_powers(masses: FloatArray, K: int) -> FloatArray:
    """F^{*n} on the lattice for n = 0, 1, ... until K or nothing is left: (n_max + 1, points + 1)."""
    length = fft.next_fast_len(2 * masses.size - 1, real=True)
    transform = fft.rfft(masses, length)
    powers = [np.ones(masses.size)]
    mass = masses
    while len(powers) <= K:
        powers.append(np.minimum(np.cumsum(mass), 1.0))
        if powers[-1][-1] <= NEGLIGIBLE:
            break
        mass = np.maximum(fft.irfft(fft.rfft(mass, length) * transform, length)[: masses.size], 0.0)
        # What is left of an empty start is noise of the transform.
        mass[mass < 1e-18] = 0.0
    return np.array(powers)


# Narrow laws: no learner can finish a mini-batch before the others are done with theirs.


@dataclass(frozen=True)
class _Window:
    """When the n-th mini-batch of the learners with a law may end."""

    law: DelayLaw
    learners: int
    n: int
    start: float
    end: float


def _in_a_crowd_of_its_own(learners: Counter[DelayLaw], K: int) -> float | None:
    """E[T] if, whenever the K-th event happens, each learner can have one event at most around that time.

    Then T is an order statistic of independent sums, and a law may be as narrow as it likes.
    """
    before = 0
    for crowd in _crowds(learners, K):
        size = sum(window.learners for window in crowd)
        if before + size >= K:
            once = len({window.law for window in crowd}) == len(crowd)
            return _kth_of_sums(crowd, K - before) if once else None
        before += size
    return None


def _crowds(learners: Counter[DelayLaw], K: int) -> Iterator[list[_Window]]:
    """All windows in the order of time, those that overlap together."""
    with np.errstate(divide="ignore"):  # where the support has no end
        ranges = [(law, float(law.ppf(IMPOSSIBLE)), float(law.isf(IMPOSSIBLE))) for law in learners]
    rounds = range(1, -(-K // learners.total()) + 1)
    latest = max(end for _, _, end in ranges) * rounds[-1]  # by then all is over
    windows = [
        _Window(law, learners[law], n, n * start, n * end)
        for law, start, end in ranges
        for n in range(1, K + 1)
        if n * start <= latest
    ]
    crowd: list[_Window] = []
    for window in sorted(windows, key=lambda window: window.start):
        if crowd and window.start > max(other.end for other in crowd):
            yield crowd
            crowd = []
        crowd.append(window)
    yield crowd


def _kth_of_sums(crowd: list[_Window], k: int) -> float:
    """The mean of the k-th smallest of independent sums of n times, n depending on the law."""
    if all(window.n == 1 for window in crowd):
        laws = [law for window in crowd for law in [window.law] * window.learners]
        return order_statistics.mean(PerLearner(laws) if len(crowd) > 1 else laws[0], k, len(laws))
    base = min(window.start for window in crowd)
    length = max(window.end for window in crowd) - base
    previous = math.nan
    for points in GRIDS:
        step = length / points
        groups = [(_sum_on_lattice(window, base, step, points), window.learners) for window in crowd]
        latest = step * float(_survival_on(groups, [k])[0, :-1].sum())
        # To TOLERANCE of the wait since all this began, or to nine digits.
        if abs(latest - previous) <= max(TOLERANCE * latest, 1e-9 * base):
            return base + latest + (latest - previous) / 3  # Richardson
        previous = latest
    raise QuadratureError("grids do not agree")


def _sum_on_lattice(window: _Window, base: float, step: float, points: int) -> FloatArray:
    """Row 1: the cdf of the sum at base, base + step, ...; row 0 is 1."""
    first = math.floor((window.start - base) / step)
    masses = _lattice_masses(window.law, step, points - first, (base + first * step) / window.n)
    cdf = _lattice_powers(masses, window.n)[-1]
    return np.stack([np.ones(points + 1), np.append(np.zeros(first), cdf)])


# Measured times: exact on their own lattice, if written with a few decimals, or at their own sums, if few.


def _of_measured_times(learners: Counter[DelayLaw], counts: Sequence[int]) -> FloatArray | None:
    atoms = {law: _atoms(law) for law in learners}
    known = {law: times for law, times in atoms.items() if times is not None}
    if len(known) < len(atoms):
        return None
    rounds = -(-counts[-1] // learners.total())
    latest = rounds * max(float(times.max()) for times in known.values())  # by then all is over
    step = _common_step(list(learners))
    if step is not None and round(latest / step) <= LARGEST_LATTICE:
        measured: Counter[DelayLaw] = Counter(
            {Empirical(times): learners[law] for law, times in known.items()}
        )
        survival = _lattice_survival(measured, counts, latest, round(latest / step))
        return np.asarray(step * survival[:, :-1].sum(axis=1))
    return _at_own_sums([(known[law], n) for law, n in learners.items()], counts, latest)


def _at_own_sums(
    atoms: Sequence[tuple[FloatArray, int]], counts: Sequence[int], latest: float
) -> FloatArray | None:
    """E[T] from the steps of Pr(T > t) at all sums of times up to `latest`, unless they are too many."""
    sums = [_distributions_of_sums(times, counts[-1], latest) for times, _ in atoms]
    if any(own is None for own in sums):
        return None
    all_sums = [own for own in sums if own is not None]
    t = np.unique(np.concatenate([[0.0, latest], *(sum_ for own in all_sums for sum_, _ in own)]))
    if t.size > LARGEST_LATTICE:
        return None
    groups = [
        (np.array([np.ones(t.size), *(_steps(*pair, t) for pair in own)]), learners)
        for own, (_, learners) in zip(all_sums, atoms, strict=True)
    ]
    return np.asarray(_survival_on(groups, counts)[:, :-1] @ np.diff(t))


def _distributions_of_sums(
    times: FloatArray, K: int, latest: float
) -> list[tuple[FloatArray, FloatArray]] | None:
    """The sums of n = 1, 2, ... times that are not beyond `latest`, and their probabilities."""
    unit = latest * 2.0**-45  # sums that differ by rounding alone are one sum
    sums, shares = np.zeros(1), np.ones(1)
    distributions = []
    own, weights = np.unique(times, return_counts=True)
    for _ in range(K):
        if sums.size * own.size > CHUNK:
            return None
        keys, place = np.unique(np.round(np.add.outer(sums, own).ravel() / unit), return_inverse=True)
        added = np.multiply.outer(shares, weights / times.size).ravel()
        shares = np.bincount(place, added).astype(np.float64)
        sums, shares = keys[keys * unit <= latest] * unit, shares[keys * unit <= latest]
        if sums.size == 0:
            break
        if sums.size > LARGEST_LATTICE:
            return None
        distributions.append((sums, shares))
    return distributions


def _steps(sums: FloatArray, shares: FloatArray, t: FloatArray) -> FloatArray:
    return np.asarray(np.append(0.0, np.cumsum(shares))[np.searchsorted(sums, t, side="right")])


def _common_step(laws: Sequence[DelayLaw]) -> float | None:
    """The coarsest lattice that holds every time of these laws, if they are all written in few decimals."""
    times = [_atoms(law) for law in laws]
    if any(time is None for time in times):
        return None
    atoms = np.concatenate([time for time in times if time is not None])
    first = math.floor(math.log10(atoms.max()))  # of the decimals that the times are written in
    for decimals in range(-first, 10 - first):
        units = atoms * 10.0**decimals
        if np.allclose(units, np.round(units), rtol=1e-12, atol=1e-9):
            return int(np.gcd.reduce(np.round(units).astype(np.int64))) / 10.0**decimals
    return None


def _atoms(law: DelayLaw) -> FloatArray | None:
    match law:
        case Empirical():
            return law.times
        case Scaled(base, factor):
            atoms = _atoms(base)
            return None if atoms is None else factor * atoms
    return None
