"""When P learners that start together have finished their first K mini-batches between them, on average.

Knows renewal processes and their numerics (convolution powers, quadrature); nothing of the four variants.
With N_i(t) the mini-batches that learner i has finished by t, the K-th is done at T with
E[T] = ∫ Pr(ΣN_i(t) < K) dt and Pr(N_i(t) >= n) = F^{*n}(t), the n-fold convolution power of the law.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import numpy as np
from scipy import fft, special

from sgdrace.arguments import FloatArray
from sgdrace.delays import DelayLaw, Empirical, Exponential, Gamma, Scaled, ShiftedExponential

LARGEST_K = 512  # the work grows like K²: beyond, simulation is quicker
NEGLIGIBLE = 1e-17  # a probability that no longer changes a sum of order 1
TOLERANCE = 1e-5  # relative, before extrapolation, which gains two more digits for smooth laws
GRIDS = (512, 1024, 2048, 4096, 8192, 16384)
LARGEST_LATTICE = 1 << 15
MOST_PANELS = 2000  # a smooth integrand needs far fewer
CHUNK = 1 << 21  # numbers in one array, so that large K stay within memory

# Powers of a law: (n_max + 1, points), row n is F^{*n} at the points, row 0 is 1.
Powers = Callable[[FloatArray], FloatArray]


class QuadratureError(Exception):
    """The quadrature has not reached its accuracy."""


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
    step = _common_step(list(learners))
    if step is not None:
        return _on_common_step(learners, counts, step)
    return _on_finer_and_finer_grids(learners, counts)


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
    # A density may be infinite at 0, and a shift makes a kink at each of its multiples.
    shifts = {shift for _, _, shift in forms if shift > 0}
    kinks = [shift * np.arange(1, min(end / shift, counts[-1]) + 1) for shift in shifts]
    edges = np.concatenate([[0.0], end * 0.5 ** np.arange(60, -1, -1), *kinks])
    return integrate(survival, np.unique(edges[edges <= end]), CHUNK // counts[-1])


def _gamma_powers(form: tuple[float, float, float], t: FloatArray, K: int) -> FloatArray:
    shape, rate, shift = form
    n = np.arange(1, K + 1)[:, None]
    left = rate * np.maximum(t.max() - n[:, 0] * shift, 0.0)
    n = n[: max(1, np.count_nonzero(special.gammainc(n[:, 0] * shape, left) > NEGLIGIBLE))]
    powers = special.gammainc(n * shape, rate * np.maximum(t - n * shift, 0.0))
    return np.append(np.ones((1, t.size)), powers, axis=0)


def integrate(f: Callable[[FloatArray], FloatArray], edges: FloatArray, chunk: int = CHUNK) -> FloatArray:
    """∫ f from the first edge to the last, for f: (points,) -> (functions, points), smooth between edges.

    Gauss-Legendre, each panel halved until both halves together say the same as the whole.

    >>> integrate(lambda x: np.stack([x, x**2]), np.array([0.0, 1.0])).round(12).tolist()
    [0.5, 0.333333333333]
    """
    nodes, weights = np.polynomial.legendre.leggauss(16)

    def panels(a: FloatArray, b: FloatArray) -> FloatArray:
        x = (a + (b - a) * ((nodes + 1) / 2)[:, None]).ravel()  # (nodes * panels,)
        values = np.concatenate([f(part) for part in _chunks(x, chunk)], axis=1)
        panel = np.einsum("n,fnp->fp", weights, values.reshape(-1, nodes.size, a.size))
        return np.asarray((b - a) / 2 * panel)

    a, b = edges[:-1], edges[1:]
    whole = panels(a, b)  # (functions, panels)
    done = np.zeros(len(whole))
    for _ in range(40):
        middle = (a + b) / 2
        left, right = panels(a, middle), panels(middle, b)
        scale = np.abs(done + whole.sum(axis=1))[:, None]
        open_ = (np.abs(left + right - whole) > 1e-11 * scale).any(axis=0)
        done += (left + right)[:, ~open_].sum(axis=1)
        if not open_.any():
            return done
        if open_.sum() > MOST_PANELS:
            break
        a, b = np.append(a[open_], middle[open_]), np.append(middle[open_], b[open_])
        whole = np.append(left[:, open_], right[:, open_], axis=1)
    raise QuadratureError("panels do not agree")


def _chunks(x: FloatArray, size: int) -> Iterator[FloatArray]:
    for start in range(0, x.size, max(1, size)):
        yield x[start : start + max(1, size)]


# Any law with a cdf: the nearest law on a lattice is solved without further error.


def _on_finer_and_finer_grids(learners: Counter[DelayLaw], counts: Sequence[int]) -> FloatArray:
    """Halve the lattice until it no longer matters, then extrapolate: the error falls like its square."""
    end = _first_end(learners, counts[0])
    previous = _lattice_means(learners, counts, end, GRIDS[0])
    for points in GRIDS[1:]:
        latest = _lattice_means(learners, counts, end, points)
        if (np.abs(latest - previous) <= TOLERANCE * latest).all():
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


def _lattice_means(learners: Counter[DelayLaw], counts: Sequence[int], end: float, points: int) -> FloatArray:
    """∫ Pr(T > t) dt octave by octave, each on a lattice of its own, until nothing is left."""
    mean = end / points * _lattice_survival(learners, counts, end, points)[:, :-1].sum(axis=1)
    for _ in range(400):
        end *= 2
        survival = _lattice_survival(learners, counts, end, points)[:, points // 2 :]
        mean += end / points * survival[:, :-1].sum(axis=1)
        if (end * survival[:, -1] < 1e-9 * mean).all():
            return np.asarray(mean)
    raise QuadratureError("the tail does not end")  # pragma: no cover: no law with a finite mean is so heavy


def _lattice_survival(
    learners: Counter[DelayLaw], counts: Sequence[int], end: float, points: int
) -> FloatArray:
    """Pr(T > t) at t = 0, end/points, ..., end for laws moved to that lattice: (counts, points + 1)."""
    powers = [_lattice_powers(_lattice_masses(law, end / points, points), counts[-1]) for law in learners]
    parts = _chunks(np.arange(points + 1.0), CHUNK // counts[-1])
    places = [slice(int(part[0]), int(part[-1]) + 1) for part in parts]
    groups = [
        [(power[:, at], n) for power, n in zip(powers, learners.values(), strict=True)] for at in places
    ]
    return np.concatenate([fewer_than(counts, group) for group in groups], axis=1)


def _lattice_masses(law: DelayLaw, step: float, points: int) -> FloatArray:
    """Move each time to the lattice points beside it so that its mean stays: probabilities at 0, step, ...

    Splitting a cell's mass by the distance to its two ends makes the new cdf at a lattice point the
    average of the old one over the cell to its right.
    """
    grid = np.asarray(step * np.arange(points + 1), dtype=np.float64)
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


# Measured times, often written with a few decimals: exact on their own lattice.


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


def _on_common_step(learners: Counter[DelayLaw], counts: Sequence[int], step: float) -> FloatArray:
    rounds = -(-counts[-1] // learners.total())
    slowest = max(float(law.ppf(1.0)) for law in learners)
    points = round(rounds * slowest / step)  # by then every learner has done its share for certain
    if points > LARGEST_LATTICE:
        return _on_finer_and_finer_grids(learners, counts)
    atoms: Counter[DelayLaw] = Counter()
    for law, n in learners.items():
        times = _atoms(law)
        assert times is not None  # or there were no common step
        atoms[Empirical(times)] = n
    survival = _lattice_survival(atoms, counts, points * step, points)
    return np.asarray(step * survival[:, :-1].sum(axis=1))
