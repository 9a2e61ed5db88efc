"""What is often said, shown to be false, and what is true instead; each with its test."""

import math
from typing import Any

import numpy as np

from sgdrace import order_statistics
from sgdrace._estimate import mean_of, share_of
from sgdrace.delays import Exponential, Law, Lomax, Pareto, ShiftedExponential
from sgdrace.problems import LeastSquares, Problem
from sgdrace.race import simulate
from sgdrace.scorecard.measuring import PARABOLA, speed_up, streams, time_per_update
from sgdrace.scorecard.records import CONTRARY, INSTEAD, Claim, Evidence
from sgdrace.training import train


def one_not_one_over_K(effort: int, seed: int) -> list[Evidence]:
    """SGD with fresh gradients, K = P, at the step that either condition allows, L = 1 and M_G = 0."""
    found = []
    for K, stream in zip((4, 8), streams(seed, 2), strict=True):
        race = simulate("K-async", K, K, Exponential(), 6, replicas=2000 * effort, seed=stream)
        far = train(PARABOLA, race, K / 2, seed=stream, every=6).loss[:, -1]
        words = f"K = {K}, η = K/2: error after 6 updates, and at the start"
        found.append(Evidence(words, mean_of(far), ">", 4.5, CONTRARY))
        near = train(PARABOLA, race, 0.5, seed=stream, every=6).loss[:, -1]
        # The bound for γ = 0 and p0 = 1, which a parabola attains.
        floor = 0.5 / (2 * 1.5 * K)
        bound = floor + 0.25**6 * (4.5 - floor)
        words = f"K = {K}, η = 1/2: error after 6 updates, and its bound"
        found.append(Evidence(words, mean_of(near), "=", bound, INSTEAD))
    return found


def pareto_is_neither(effort: int, seed: int) -> list[Evidence]:
    """K-async against K-sync, 16 learners: who is faster depends on K with Pareto I, not with Lomax."""
    pareto, lomax = Pareto(2.5, 1.0), Lomax(2.5, 1.0)
    first, second, third, fourth = streams(seed, 4)

    def held(law: Law, K: int, relation: str, role: str, stream: Any) -> Evidence:
        words = f"{type(law).__name__}, K = {K}: time of K-async, and of K-sync".replace("Pareto", "Pareto I")
        raced = time_per_update("K-async", 16, K, law, effort, stream)
        return Evidence(words, raced, relation, order_statistics.mean(law, K, 16), role)

    return [
        held(pareto, 8, "<", CONTRARY, first),
        held(pareto, 15, ">", CONTRARY, second),
        held(lomax, 8, ">", INSTEAD, third),
        held(lomax, 15, ">", INSTEAD, fourth),
    ]


def per_update_and_per_mini_batch(effort: int, seed: int) -> list[Evidence]:
    """What 64 exponential learners gain by not waiting, in updates and in mini-batches."""
    updates, H = speed_up(64, Exponential(), effort, seed), sum(1 / k for k in range(1, 65))
    return [
        Evidence("P = 64: gain in mini-batches, against P·H_P", updates / 64, "<", 64 * H, CONTRARY),
        Evidence("P = 64: gain in mini-batches, against H_P", updates / 64, "=", H, INSTEAD),
        Evidence("P = 64: gain in updates, against P·H_P", updates, "=", 64 * H, INSTEAD),
    ]


def variance_not_second_moment(effort: int, seed: int) -> list[Evidence]:
    """The gradients of mini-batches: their mean square, and their mean square distance from the full one."""
    fit, n, found = LeastSquares.synthetic(rows=512, dimension=8, m=32), 4000 * effort, []
    problems: dict[str, Problem] = {"parabola": PARABOLA, "least squares": fit}
    for (name, problem), stream in zip(problems.items(), streams(seed, 2), strict=True):
        w, slope = problem.start, problem.gradient(problem.start)
        drawn = problem.mini_batch_gradients(
            np.tile(w, (n, 1)), problem.draw(np.random.default_rng(stream), n)
        )
        square, spread = (mean_of(np.sum(x**2, axis=1)) for x in (drawn, drawn - slope))
        limit = (problem.known("sigma2") + problem.known("M_G") * float(slope @ slope)) / problem.m
        relation = "=" if problem is PARABOLA else "<="  # there the noise is the same everywhere
        found += [
            Evidence(f"{name}: E|g|², against the right side", square, ">", limit, CONTRARY),
            Evidence(f"{name}: E|g − ∇F|², against the right side", spread, relation, limit, INSTEAD),
        ]
    return found


def worst_case_not_frequency(effort: int, seed: int) -> list[Evidence]:
    """The share of fresh gradients of async, P = 4, over all updates and after a wait of Δ or more."""
    race = simulate("K-async", 4, 1, ShiftedExponential(1.0, 1.0), 4000, replicas=100 * effort, seed=seed)
    assert race.staleness is not None  # for mypy: simulated with detail
    fresh = race.staleness[:, 2:, 0] == 0
    long = np.diff(race.time, axis=1)[:, :-1] >= 1.0  # the wait before the pull, in which all others ran too
    of_all, worst = mean_of(fresh[:, 200:].mean(axis=1)), share_of(fresh[long])
    return [
        Evidence("share fresh after a long wait, and of all", worst, "<", of_all, CONTRARY),
        Evidence("share fresh after a long wait, against e⁻³/4", worst, "=", math.exp(-3) / 4, INSTEAD),
        Evidence("share fresh of all, against 1/32", of_all, "=", 1 / 32, INSTEAD),
    ]


CORRECTIONS = (
    Claim(
        "step condition",
        "correction",
        "K-async may take steps up to 1/(2L(1/K + M_G/(Km))).",
        "Up to 1/(2L(1 + M_G/(Km))): averaging makes noise smaller, not the slope.",
        "convergence-bounds#why-1-and-not-1-k",
        one_not_one_over_K,
    ),
    Claim(
        "Pareto I",
        "correction",
        "Pareto delays belong to an ageing class, so one of K-sync and K-async is always the faster one.",
        "Pareto I, which has a least time, is in neither class. Lomax, which begins at 0, is NSTU.",
        "stragglers#strag-pareto",
        pareto_is_neither,
    ),
    Claim(
        "per update",
        "correction",
        "With exponential delays async does P·H_P times the work of synchronous SGD.",
        "It makes P·H_P times as many updates, of a P-th of the work each: H_P times as many mini-batches.",
        "k-variants#kv-headline",
        per_update_and_per_mini_batch,
    ),
    Claim(
        "mean square",
        "correction",
        "M_G bounds the mean square of a gradient: E|g|² ≤ σ²/m + (M_G/m)|∇F|².",
        "It bounds the variance, E|g − ∇F|². The mean square has |∇F|² on top.",
        "convergence-bounds#noise-that-grows-with-the-slope",
        variance_not_second_moment,
    ),
    Claim(
        "what p₀ is",
        "correction",
        "p₀ is the share of gradients that are fresh, so it can be counted.",
        "It is the least chance of a fresh gradient after any past. For exponential delays the two are "
        "equal; elsewhere they may differ a lot.",
        "convergence-bounds#cb-p0",
        worst_case_not_frequency,
    ),
)
