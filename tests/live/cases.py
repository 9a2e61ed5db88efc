"""Questions for the engine in the browser, and Python's answers to them."""

import math
from heapq import heappush

import numpy as np

from sgdrace import VARIANTS, Empirical, theory
from sgdrace.live import LAWS, facts
from sgdrace.live.facts import PROBLEM
from sgdrace.protocol import VirtualClock, run

# Times as a race may see them; a kind that makes ties makes them across learners and updates.
TIMES = {
    "exponential": lambda rng: rng.standard_exponential(),
    "heavy": lambda rng: 0.6 * (1 - rng.random()) ** -0.8,
    "constant": lambda rng: 1.0,
    "dice": lambda rng: float(rng.integers(1, 4)),  # many ties
    "tenths": lambda rng: rng.integers(1, 30) / 10,  # ties that rounding makes or breaks
    "zeros": lambda rng: float(rng.integers(0, 3)),  # mini-batches that take no time
}
PROBLEM_FACTS = facts()["problem"]
LEARNERS = (1, 2, 3, 5, 8, 13, 32)


class MortalClock(VirtualClock):
    """A clock on which a mini-batch may last for ever: then its learner is dead until somebody cancels it."""

    def start(self, learner, version, w):
        time = self.draw(learner)
        self.started += 1
        self.running[learner] = self.started, version, w
        if time < math.inf:
            heappush(self.queue, (self.clock + time, learner, self.started))


def race(number):
    """A race on times of its own: (the question, what `protocol.run` answers)."""
    rng = np.random.default_rng([15, number])
    variant, kind = VARIANTS[number % 4], list(TIMES)[number // 4 % len(TIMES)]
    P = int(rng.choice(LEARNERS))
    beyond = number % 3 == 0 and "batch" in variant
    K = int(rng.integers(P + 1, 3 * P + 1) if beyond else rng.integers(1, P + 1))
    replaced = 0.1 if number % 7 == 5 else 0.0  # how often a learner dies and another takes its place
    mortal = number % 5 == 1
    needed = 1 if "batch" in variant else K  # so many must live
    dying = set(rng.permutation(P)[: (P - needed) // 2].tolist()) if mortal else set()
    streams, dead = [[] for _ in range(P)], []

    def draw(learner):
        dies = learner in dying and rng.random() < 0.3
        streams[learner].append(math.inf if dies else float(TIMES[kind](rng)))
        return streams[learner][-1]

    def gradient(w):
        dead.append(bool(rng.random() < replaced))
        return None if dead[-1] else 0.0

    updates = int(rng.integers(5, 40))
    clock = MortalClock(P, draw, gradient) if dying else VirtualClock(P, draw, gradient)
    history = run(variant, P, K, clock, updates)
    jobs = [[] for _ in range(P)]
    for job in history.log:
        jobs[job.learner].append([job.version, job.start, _finite(job.end), job.fate])
    answer = {
        "asked": len(dead),
        "updates": [[update.time, [list(push) for push in update.pushes]] for update in history.updates],
        "jobs": jobs,
    }
    times = [[_finite(time) for time in stream] for stream in streams]
    question = {"variant": variant, "P": P, "K": K, "updates": updates, "streams": times, "dead": dead}
    return question, answer


def training(number):
    """SGD along the protocol with noise that is written down: (question, losses)."""
    rng = np.random.default_rng([16, number])
    variant, P, eta = VARIANTS[number % 4], int(rng.integers(2, 17)), float(rng.uniform(0.05, 0.4))
    K = int(rng.integers(1, P + 1))
    streams, losses = [[] for _ in range(P)], []
    noises = rng.standard_normal((25, PROBLEM.dimension))

    def draw(learner):
        streams[learner].append(float(rng.standard_exponential()))
        return streams[learner][-1]

    def step(w, pushes):
        noise = noises[len(losses)] * math.sqrt(PROBLEM.sigma2 / PROBLEM.dimension / K)
        w = w - eta * (np.mean([push.gradient for push in pushes], axis=0) + noise)
        losses.append(float(PROBLEM.loss(w)))
        return w

    run(variant, P, K, VirtualClock(P, draw, PROBLEM.gradient), len(noises), PROBLEM.start, step)
    question = {"variant": variant, "P": P, "K": K, "eta": eta, "streams": streams, "noises": noises.tolist()}
    return question | {"problem": PROBLEM_FACTS}, losses


def laws():
    """(question, law) of every law on the page, at the ends and at the beginning of its slider."""
    at = np.concatenate([np.geomspace(1e-9, 0.5, 30), np.linspace(0.6, 23, 60)]).tolist()
    for name, law in LAWS.items():
        if name != "pasted":
            slider = law.parameter
            for value in (slider.low, slider.first, slider.high) if slider else (0.0,):
                yield {"name": name, "given": value, "at": at}, law.law(value)
    rng = np.random.default_rng(17)
    for times in ([3.0], [1, 2, 2, 4.5], rng.uniform(8, 9, 11), rng.standard_exponential(300)):
        times = np.asarray(times, float)
        yield {"name": "pasted", "given": times.tolist(), "at": at}, Empirical(times / times.mean())


def bounds():
    """(question, (runtime from, to, mean staleness, used share from, to)) for every law."""
    for question, law in laws():
        for P, K in (
            (1, 1),
            (2, 1),
            (2, 2),
            (8, 2),
            (8, 5),
            (8, 8),
            (64, 1),
            (64, 20),
            (64, 63),
            (64, 64),
            (8, 20),
        ):
            for variant in VARIANTS:
                if K <= P or "batch" in variant:
                    runtime = theory.runtime_bounds(variant, P, K, law)
                    staleness = theory.mean_staleness(variant, P, K)
                    used = theory.used_share_bounds(variant, P, K, law)
                    asked = {"name": question["name"], "given": question["given"], "P": P, "K": K}
                    yield asked | {"variant": variant}, (*runtime, staleness, *used)


def fresh():
    """(question, E F(w_j)) with fresh gradients, and the floor after very many updates."""
    for K, eta in ((1, 0.05), (2, 0.25), (8, 1.0)):
        d, sigma2 = PROBLEM.dimension, PROBLEM.sigma2
        noise = eta**2 * sigma2 / (d * K)
        squares, floors = [], []
        for c in PROBLEM.eigenvalues:
            moments = theory.second_moments("K-sync", 8, K, eta * c, noise, float(PROBLEM.start[0]), 40)
            squares.append(c / 2 * moments.square)
            floors.append(c / 2 * theory.stationary_square("K-sync", 8, K, eta * c, noise))
        losses = np.sum(squares, axis=0)
        updates = [0, 1, 2, 7, 40, 10**9]
        answer = [*losses[updates[:-1]].tolist(), math.fsum(floors)]
        yield {"problem": PROBLEM_FACTS, "K": K, "eta": eta, "updates": updates}, answer


PAGES = [
    {"variant": variant, "P": P, "K": K, "law": law, "given": given, "eta": eta, "until": until, "seed": seed}
    for seed, (P, K, law, given, eta, until) in enumerate(
        [
            (8, 2, "shifted", 0.5, 0.25, 20.0),
            (5, 5, "lognormal", 0.8, 0.1, 12.0),
            (16, 3, "lomax", 2.5, 0.3, 5.0),
        ]
    )
    for variant in VARIANTS
]
for page in PAGES:
    page |= {"moments": [page["until"] / 7, page["until"]], "problem": PROBLEM_FACTS}


def page_again(asked, said):
    """The race of a page, run by Python with the same luck: what the page should have said."""
    law = LAWS[asked["law"]].law(asked["given"])
    times = [iter(law.from_exponential(hazards).tolist()) for hazards in said["hazards"]]
    K, eta, losses = asked["K"], asked["eta"], [float(PROBLEM.loss(PROBLEM.start))]

    def step(w, pushes):
        noise = np.array(said["noises"][len(losses) - 1]) * math.sqrt(PROBLEM.sigma2 / PROBLEM.dimension / K)
        w = w - eta * (np.mean([push.gradient for push in pushes], axis=0) + noise)
        losses.append(float(PROBLEM.loss(w)))
        return w

    clock = VirtualClock(asked["P"], lambda learner: next(times[learner]), PROBLEM.gradient)
    history = run(asked["variant"], asked["P"], K, clock, len(said["noises"]), PROBLEM.start, step)
    race = history.race()
    shares = [history.jobs.shares(t) for t in asked["moments"]]
    return {
        "time": [0.0, *race.time[0].tolist()],
        "loss": losses,
        "stale": [0, *race.staleness[0].sum(axis=1).cumsum().tolist()],
        "versions": [int((race.time[0] <= t).sum()) for t in asked["moments"]],
        "shares": [{fate: share for fate, share in one.items() if fate != "ignored"} for one in shares],
    }


def _finite(time):
    """JSON knows no infinity."""
    return time if time < math.inf else None
