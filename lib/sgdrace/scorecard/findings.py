"""The five findings of the paper, in our words, each with its test."""

import math
from typing import Any

import numpy as np

from sgdrace import order_statistics, theory
from sgdrace._arguments import FloatArray
from sgdrace._estimate import Estimate, mean_of, ratio_of, share_of
from sgdrace.delays import (
    Erlang,
    Exponential,
    Law,
    Lomax,
    Pareto,
    ShiftedExponential,
    Uniform,
)
from sgdrace.estimates import gamma
from sgdrace.learning_rates import StalenessCompensating
from sgdrace.problems import Quadratic
from sgdrace.race import simulate
from sgdrace.scorecard.measuring import (
    BOWL,
    PARABOLA,
    error_at,
    on_the_clock,
    settled,
    speed_up,
    streams,
)
from sgdrace.scorecard.records import CONTRARY, Claim, Evidence
from sgdrace.training import train

MUCH = 1.1  # "not much" more error is read as at most a tenth more


def faster_by_P_times_a_factor(effort: int, seed: int) -> list[Evidence]:
    """Updates of async per synchronous one, P = 16, for four laws; then the errors of both, late."""
    laws = {
        "exponential": Exponential(),
        "uniform": Uniform(0.0, 2.0),
        "shifted exponential": ShiftedExponential(0.5, 2.0),
        "Pareto I": Pareto(2.5, 0.6),
    }
    found = [
        Evidence(
            f"{name}: updates of async per one of sync",
            speed_up(16, law, effort, seed + k),
            "=",
            16 * order_statistics.mean(law, 16, 16) / law.mean,
        )
        for k, (name, law) in enumerate(laws.items())
    ]
    return [*found, late_error(effort, seed)]


def late_error(effort: int, seed: int) -> Evidence:
    """The error of async, held against that of sync, when both have settled."""
    times = range(100, 141, 5)
    late = [
        error_at(on_the_clock(variant, 16, K, Exponential(), 0.1, 145.0, effort, seed), *times)
        for variant, K in (("K-async", 1), ("K-sync", 16))
    ]
    return Evidence("late, error of async and of sync", late[0], ">", late[1], CONTRARY)


def less_idle_time(effort: int, seed: int) -> list[Evidence]:
    """Idle shares with K = 4 of 8, then errors at a small step, then at a large one."""
    first, second, third, fourth = streams(seed, 4)
    idle, H = {}, 1 / 8 + 1 / 7 + 1 / 6 + 1 / 5
    for kind in ("sync", "async"):
        for variant, stream in ((f"K-{kind}", first), (f"K-batch-{kind}", second)):
            race = simulate(variant, 8, 4, Exponential(), 1500, replicas=40 * effort, seed=stream)
            idle[variant] = mean_of(race.utilization().idle)
    found = [
        Evidence(f"idle share, K-batch-{kind} and K-{kind}", idle[f"K-batch-{kind}"], "<", idle[f"K-{kind}"])
        for kind in ("sync", "async")
    ]
    found += [
        Evidence(f"idle share, {variant}", share, "=", 0.0 if "batch" in variant else 1 - 4 / (8 * H))
        for variant, share in idle.items()
    ]
    batch, plain = (
        mean_of(settled(PARABOLA, variant, 8, 4, 0.05, 200 * effort, stream))
        for variant, stream in (("K-batch-async", third), ("K-async", fourth))
    )
    exact = theory.stationary_square("K-batch-async", 8, 4, 0.05, 1.0)
    exact /= theory.stationary_square("K-async", 8, 4, 0.05, 1.0)
    words = "η = 0.05: error of K-batch-async over K-async"
    found += [
        Evidence(words, ratio_of(batch, plain), "=", exact),
        Evidence(f"{words}, exact", exact, "<", MUCH),
    ]
    for variant, relation in (("K-async", "<"), ("K-batch-async", ">")):
        race = simulate(variant, 8, 4, Exponential(), 400, replicas=150 * effort, seed=third)
        end = train(PARABOLA, race, 1.9, seed=third, every=400).loss[:, -1]
        grown = np.log10(np.minimum(end, 1e300) / 4.5)
        words = f"η = 1.9, {variant}: growth of the error, log₁₀"
        found.append(Evidence(words, mean_of(grown), relation, 0.0, CONTRARY))
    return found


def grows_like_P_log_P(effort: int, seed: int) -> list[Evidence]:
    """Updates per synchronous update for growing P, against P H_P; then mini-batches."""
    found, ratios = [], {}
    for P in (4, 16, 64):
        ratios[P] = speed_up(P, Exponential(), effort, seed + P)
        claimed = P * sum(1 / k for k in range(1, P + 1))
        found.append(Evidence(f"P = {P}: updates, and P·H_P", ratios[P], "=", claimed))
    found.append(Evidence("P = 64: updates, and P·ln P", ratios[64], ">", 64 * math.log(64)))
    found.append(Evidence("P = 64: updates, and P·(1 + ln P)", ratios[64], "<", 64 * (1 + math.log(64))))
    words = "P = 64: mini-batches, and P·ln P"
    return [*found, Evidence(words, ratios[64] / 64, "<", 64 * math.log(64), CONTRARY)]


def rate_under_general_staleness(effort: int, seed: int) -> list[Evidence]:
    """The error of K-async at a small step against the bound that the rate gives, whatever the law.

    γ is the largest that the run has: a ratio of expectations at every update. p0 is a lower bound given any
    past: 0 is valid for every law, K/P for exponential delays and for NSTU ones such as Lomax. With fresh
    gradients, γ = 0 and p0 = 1, the bound is attained, so that one is an equation. At a larger step γ is too
    large for the formula to speak, and SGD converges.
    """
    laws: dict[str, tuple[Law, float]] = {
        "uniform, p₀ = 0": (Uniform(0.0, 2.0), 0.0),
        "Erlang, p₀ = 0": (Erlang(3, 3.0), 0.0),
        "Lomax, p₀ = 1/2": (Lomax(2.5, 1.5), 1 / 2),
        "exponential, p₀ = 1/2": (Exponential(), 1 / 2),
    }
    *each, fifth, sixth, last = streams(seed, 7)
    found = [
        _bounded(PARABOLA, 0.03, 80, law, p0, 400 * effort, stream, f"{name}: error after 80 updates")
        for (name, (law, p0)), stream in zip(laws.items(), each, strict=True)
    ]
    words = "bowl, exponential, p₀ = 1/2: error after 200 updates"
    found.append(_bounded(BOWL, 0.05, 200, Exponential(), 1 / 2, 100 * effort, fifth, words))
    race = simulate("K-async", 8, 8, Uniform(0.0, 2.0), 6, replicas=2000 * effort, seed=sixth)
    error = mean_of(train(PARABOLA, race, 0.5, seed=sixth, every=6).loss[:, -1])
    given = PARABOLA.constants() | {"gamma": 0.0, "p0": 1.0}
    bound = theory.error_bound("K-async", updates=6, K=8, eta=0.5, **given)
    found.append(Evidence("K = P, γ = 0, p₀ = 1: error after 6 updates, and its bound", error, "=", bound))
    race = simulate("K-async", 8, 1, Exponential(), 60, replicas=1000 * effort, seed=last)
    run = train(PARABOLA, race, 0.1, seed=last, every=1, gradients=True)
    seen, at = gamma(run), 12
    hump = Estimate(float(seen.value[at]), float(seen.standard_error[at]), seen.runs)
    end = mean_of(run.loss[:, -1])
    return [
        *found,
        Evidence("K = 1, η = 0.1: γ after 12 updates, against 1 + p₀/2", hump, ">", 1 + 1 / 16, CONTRARY),
        Evidence("K = 1, η = 0.1: error after 60 updates, and at the start", end, "<", 4.5, CONTRARY),
    ]


def _bounded(
    problem: Quadratic, eta: float, updates: int, law: Law, p0: float, runs: int, seed: Any, words: str
) -> Evidence:
    """The error after these updates of K-async, K = 4 of 8, against the bound with γ as measured."""
    race = simulate("K-async", 8, 4, law, updates, replicas=runs, seed=seed)
    run = train(problem, race, eta, seed=seed, every=1, gradients=True)
    given = problem.constants() | {"gamma": float(gamma(run).value.max()), "p0": p0}
    bound = theory.error_bound("K-async", updates=updates, K=4, eta=eta, **given)
    return Evidence(f"{words}, and its bound", mean_of(run.loss[:, -1]), "<", bound)


def brakes_for_stale_gradients(effort: int, seed: int) -> list[Evidence]:
    """The long-run error of async with 40 learners, fixed against braked, at large steps and at small."""
    exponential, pareto = Exponential(), Pareto(2.5, 0.6)

    def errors(rate: float, braked: bool, law: Law) -> FloatArray:
        schedule = StalenessCompensating(C=0.001, eta_max=rate) if braked else rate
        return settled(BOWL, "K-async", 40, 1, schedule, 40 * effort, seed, law, updates=2000)

    braked, fixed = (mean_of(errors(0.1, brake, exponential)) for brake in (True, False))
    lost = [share_of(np.isinf(errors(0.2, brake, pareto))) for brake in (False, True)]
    tuned = mean_of(errors(0.02, False, exponential))
    return [
        Evidence("exponential, η = 0.1: error, braked and fixed", braked, "<", fixed),
        Evidence("Pareto I, η = 0.2: share that diverges, fixed", lost[0], ">", 0.5),
        Evidence("Pareto I, η = 0.2: share that diverges, braked", lost[1], "<", 0.5),
        Evidence("error, braked at η = 0.1 and fixed at 0.02", braked, ">", tuned, CONTRARY),
    ]


FINDINGS = (
    Claim(
        "faster clock",
        "finding",
        "Asynchronous SGD progresses faster on the clock than synchronous SGD: by P times a factor that "
        "depends on the law of delays.",
        "Progress counts updates. In error, async leads only until its floor is reached.",
        "k-variants#kv-headline",
        faster_by_P_times_a_factor,
    ),
    Claim(
        "less idle time",
        "finding",
        "K-batch-async and K-batch-sync cut idle time without hurting convergence much.",
        "The step must be small: K-batch-async becomes unstable at smaller steps than K-async.",
        "k-variants#kv-utilization",
        less_idle_time,
    ),
    Claim(
        "P log P",
        "finding",
        "For exponential delays the speed-up of async over synchronous SGD grows like P log P.",
        "Counted in updates. Counted in mini-batches it grows like log P.",
        "k-variants#kv-headline",
        grows_like_P_log_P,
    ),
    Claim(
        "rate of K-async",
        "finding",
        "K-async converges by the factor 1 − ηc(1 − γ + p₀/2) per update, without assuming bounded or "
        "exponential delays.",
        "At a small step. Where γ is 1 + p₀/2 or more the formula promises nothing; SGD may converge all the "
        "same.",
        "convergence-bounds#cb-async",
        rate_under_general_staleness,
    ),
    Claim(
        "brakes",
        "finding",
        "A learning rate that shrinks with staleness stabilizes async SGD, and can beat a fixed one.",
        "At the same large step. A small fixed step, well chosen, is as good or better.",
        "adaptive-learning-rate",
        brakes_for_stale_gradients,
    ),
)
