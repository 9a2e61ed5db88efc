"""The five questions of the paper, with this book's answers as claims, each with its test."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdrace import order_statistics, theory
from sgdrace._arguments import FloatArray
from sgdrace._estimate import Estimate, mean_of, ratio_of
from sgdrace.delays import DelayLaw, Exponential, Lomax, Pareto, ShiftedExponential, Uniform
from sgdrace.estimates import gamma
from sgdrace.learning_rates import InverseStaleness
from sgdrace.problems import Problem, Quadratic, Workspace
from sgdrace.race import simulate
from sgdrace.scorecard.measuring import PARABOLA, error_at, on_the_clock, settled, streams, time_per_update
from sgdrace.scorecard.records import CONTRARY, Claim, Evidence
from sgdrace.training import train


def time_of_each_variant(effort: int, seed: int) -> list[Evidence]:
    """E[T] of the four variants with K = 4 of 8, under three laws that age in three ways."""
    laws = {
        "shifted exp.": ShiftedExponential(0.5, 2.0),
        "Pareto I": Pareto(2.5, 0.6),
        "Lomax": Lomax(2.5, 1.5),
    }
    found = []
    for (name, law), stream in zip(laws.items(), streams(seed, 3), strict=True):
        formulas = {
            "K-sync": order_statistics.mean(law, 4, 8),
            "K-batch-sync": theory.expected_runtime("K-batch-sync", 8, 4, law),
            "K-batch-async": 4 * law.mean / 8,
        }
        found += [
            Evidence(f"{name}: {variant}", time_per_update(variant, 8, 4, law, effort, stream), "=", formula)
            for variant, formula in formulas.items()
        ]
        raced = time_per_update("K-async", 8, 4, law, effort, stream)
        found.append(Evidence(f"{name}: K-async, above K·E[X]/P", raced, ">", 4 * law.mean / 8))
        found.append(
            Evidence(f"{name}: K-async, below E[X_K:K]", raced, "<", order_statistics.mean(law, 4, 4))
        )
    return found


def cost_of_staleness(effort: int, seed: int) -> list[Evidence]:
    """The floor of async over that of fresh gradients, which K-sync with K = 1 has; then a braked step."""
    *each, fresh, fourth, fifth = streams(seed, 6)
    runs, found = 200 * effort, []
    calm = mean_of(settled(PARABOLA, "K-sync", 16, 1, 0.1, runs, fresh))
    for P, stream in zip((16, 8, 2), each, strict=True):
        floor = mean_of(settled(PARABOLA, "K-async", P, 1, 0.1, runs, stream))
        words = f"P = {P}, η = 0.1: floor, over that of fresh gradients"
        found.append(Evidence(words, ratio_of(floor, calm), "=", _floor(P, 0.1) / _floor(1, 0.1)))
    nearly = _floor(16, 0.02) / _floor(1, 0.02) / (1 + 15 * 0.02)
    words = "P = 16, η = 0.02: the same, exact, over 1 + (P − 1)ηc"
    found += [Evidence(words, nearly, ">", 0.99), Evidence(words, nearly, "<", 1.01)]
    fixed = mean_of(settled(PARABOLA, "K-async", 16, 1, 0.2, 100 * effort, fourth))
    braked = mean_of(settled(PARABOLA, "K-async", 16, 1, InverseStaleness(0.2), 100 * effort, fifth))
    return [*found, Evidence("η = 0.2: floor with η/(s + 1), and without", braked, "<", fixed)]


def _floor(P: int, a: float) -> float:
    """The exact floor of async on the parabola, η = a, exponential delays; of fresh gradients for P = 1."""
    return theory.stationary_square("K-async", P, 1, a, a**2) / 2


class Gorge(Problem):
    """F(w) = ln(1 + w²): steep near its minimum, flat far from it, and not convex. L = 2, F* = 0."""

    dimension, m, start = 1, 1, np.array([3.0])
    L, sigma2, M_G, minimum = 2.0, 1.0, 0.0, 0.0

    def loss(self, w: ArrayLike) -> FloatArray:
        return np.asarray(np.log1p(np.square(self._weights(w)[..., 0])))

    def gradient(self, w: ArrayLike) -> FloatArray:
        weights = self._weights(w)
        return np.asarray(2 * weights / (1 + weights**2))

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[Any]:
        return rng.standard_normal((size, 1))

    def mini_batch_gradients(
        self,
        w: FloatArray,
        choice: NDArray[Any],
        row: NDArray[Any] | None = None,
        work: Workspace | None = None,
    ) -> FloatArray:
        return np.asarray(self.gradient(w if row is None else w[row]) + choice)


def guarantee_without_convexity(effort: int, seed: int) -> list[Evidence]:
    """The mean squared slope in a gorge against its bound, and on a parabola, where the bound is attained."""
    gorge, found = Gorge(), []
    laws = {"exponential": (Exponential(), 4 / 8), "uniform": (Uniform(0.0, 2.0), 0.0)}
    for (name, (law, p0)), stream in zip(laws.items(), streams(seed, 2), strict=True):
        race = simulate("K-async", 8, 4, law, 100, replicas=300 * effort, seed=stream)
        run = train(gorge, race, 0.2, seed=stream, every=1, gradients=True)
        largest = float(gamma(run).value.max())
        bound = theory.nonconvex_bound(
            "K-async",
            updates=100,
            K=4,
            eta=0.2,
            gamma=largest,
            p0=p0,
            **gorge.constants("L", "sigma2", "e_0"),
        )
        assert run.gradient_square is not None  # for mypy: trained with gradients
        found.append(
            Evidence(f"{name}, ln(1 + w²): mean |∇F|²", mean_of(run.gradient_square.mean(axis=1)), "<", bound)
        )
    calm = Quadratic([1.0], sigma2=0.0, start=3.0)
    race = simulate("K-async", 8, 8, Exponential(), 60, seed=seed)
    run = train(calm, race, 0.5, every=1, gradients=True)
    assert run.gradient_square is not None
    total = float(run.gradient_square.sum())
    found.append(Evidence("K = P, w²/2: sum of |∇F|², and its bound", total, "=", 2 * 4.5 / (0.5 * 1.5)))
    race = simulate("K-async", 8, 1, Exponential(), 20_000 * effort, seed=seed)
    assert race.staleness is not None
    oldest = float(race.staleness.max())
    return [*found, Evidence("oldest gradient, in mean ages P − 1", oldest / 7, ">", 5.0)]


def trade_off_of_batches(effort: int, seed: int) -> list[Evidence]:
    """Errors at the same time, K = 4 of 16: early with two laws, and when all have settled."""
    exponential, lomax = Exponential(), Lomax(2.5, 1.5)

    def early(variant: str, law: DelayLaw) -> Estimate:
        return error_at(on_the_clock(variant, 16, 4, law, 0.02, 16.0, effort, seed, 200), 15.0)

    first, second = streams(seed, 2)
    batch = early("K-batch-async", exponential)
    floor = mean_of(settled(PARABOLA, "K-batch-async", 16, 4, 0.2, 100 * effort, first))
    fresh = mean_of(settled(PARABOLA, "K-sync", 16, 4, 0.2, 100 * effort, second))
    beaten = early("K-batch-async", lomax)
    return [
        Evidence("exponential: K-batch-async, and K-async", batch, "<", early("K-async", exponential)),
        Evidence("exponential: K-batch-async, and K-sync", batch, "<", early("K-sync", exponential)),
        Evidence("exponential, late: K-batch-async, and K-sync", floor, ">", fresh, CONTRARY),
        Evidence("Lomax: K-batch-async, and K-sync", beaten, ">", early("K-sync", lomax), CONTRARY),
    ]


def when_async_leads(effort: int, seed: int) -> list[Evidence]:
    """Who is ahead early and late, P = 16, η = 0.1, and when sync comes down to where async has settled.

    Predicted is the crossing of the exact errors with time/E[T] in place of the number of updates, which is
    too early, because that number is random. Then sync with two learners and ten times the step of async.
    """
    fast = on_the_clock("K-async", 16, 1, Exponential(), 0.1, 145.0, effort, seed)
    slow = on_the_clock("K-sync", 16, 16, Exponential(), 0.1, 145.0, effort, seed, 1200)
    late, times = range(100, 141, 5), np.arange(0.0, 145.0, 0.5)
    floor = _floor(16, 0.1)
    groups = slow.at(times).reshape(40, -1, times.size).mean(axis=1)
    crossed = mean_of([times[np.argmax(group < floor)] for group in groups])
    predicted = _predicted_crossing(times)
    calm = on_the_clock("K-async", 2, 1, Exponential(), 0.02, 12.0, effort, seed, 400)
    bold = on_the_clock("K-sync", 2, 2, Exponential(), 0.2, 12.0, effort, seed, 400)
    words = "P = 2, ten times the step for sync, time"
    return [
        Evidence("time 10: error of async, and of sync", error_at(fast, 10.0), "<", error_at(slow, 10.0)),
        Evidence("late: error of async, and of sync", error_at(fast, *late), ">", error_at(slow, *late)),
        Evidence("crossing, in units of the predicted time", crossed / predicted, ">", 1.0),
        Evidence("crossing, in units of the predicted time", crossed / predicted, "<", 1.5),
        *(
            Evidence(f"{words} {t}: errors", error_at(calm, t), ">", error_at(bold, t), CONTRARY)
            for t in (2, 10)
        ),
    ]


def _predicted_crossing(times: FloatArray) -> float:
    """The time at which the exact errors of the two cross, if there were time/E[T] updates by then."""
    curves = []
    for K, per_update in ((1, 1 / 16), (16, order_statistics.mean(Exponential(), 16, 16))):
        square = theory.second_moments("K-async", 16, K, 0.1, 0.1**2 / K, 3.0, 3000).square
        curves.append(np.interp(times / per_update, np.arange(3001), square))
    ahead = np.flatnonzero(curves[0] < curves[1])
    return float(times[ahead[-1]])


QUESTIONS = (
    Claim(
        "time per update",
        "question",
        "How long does an update take under any law of delays? K-sync E[X_K:P], K-batch-async K·E[X]/P; "
        "K-batch-sync by an integral; K-async between K·E[X]/P and E[X_K:K].",
        "",
        "k-variants#how-long-an-update-takes",
        time_of_each_variant,
    ),
    Claim(
        "cost of staleness",
        "question",
        "What does staleness do, and can the step soften it? On a parabola with exponential delays it "
        "multiplies the floor of fresh gradients, by about 1 + (P − 1)ηc at small steps; steps that shrink "
        "with staleness lower it.",
        "",
        "staleness#squares-decide",
        cost_of_staleness,
    ),
    Claim(
        "guarantees",
        "question",
        "What is guaranteed without convexity and without a limit on delays? A bound on the mean squared "
        "slope, if γ is small enough.",
        "",
        "convergence-bounds#cb-nonconvex",
        guarantee_without_convexity,
    ),
    Claim(
        "K-batch-async",
        "question",
        "Does K-batch-async trade error for time better than K-async and K-sync? Yes.",
        "At the same K and step, before the floor is reached, and if delays are not such that cancelling is "
        "faster, as with Lomax.",
        "error-runtime",
        trade_off_of_batches,
    ),
    Claim(
        "who wins when",
        "question",
        "When does async beat sync on the clock? Until one crossing time; afterwards sync is better.",
        "At the same step for both; tested with one law and 16 learners. With a larger step sync can lead "
        "from the start.",
        "error-runtime",
        when_async_leads,
    ),
)
