"""The baselines play the same race as the protocol, and the benchmark runs from end to end."""

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import islice, repeat
from pathlib import Path

import numpy as np
import pytest
from benchmarks import against, measure, report
from benchmarks.baselines import BULK, Timeline, bulk_draw, heap_loop, simpy_race

from sgdrace import (
    VARIANTS,
    Constant,
    Empirical,
    Exponential,
    Pareto,
    PerLearner,
    ShiftedExponential,
    simulate,
)
from sgdrace._arguments import seed_sequence
from sgdrace._times import CommonTimes
from sgdrace.delays import Law, law_of_learners
from sgdrace.protocol import VirtualClock, run

ROOT = Path(__file__).parents[1]

UPDATES = 60
CONTINUOUS = [Exponential(), ShiftedExponential(), Pareto()]
TIED = [Constant(1.0), Empirical([1.0, 2.0, 2.0, 3.0])]
SIZES = [(1, 1), (4, 1), (4, 3), (5, 5), (16, 4), (3, 7)]  # (P, K), the last for the batch variants only
RACES = [(v, P, K) for v in VARIANTS for P, K in SIZES if K <= P or "batch" in v]


def draw_of(law: Law, P: int, seed: int = 7) -> Callable[[int], float]:
    """The n-th mini-batch of a learner takes the same time in every race with this seed."""
    return CommonTimes(law_of_learners(law, P), P, seed_sequence(seed).spawn(1)).reader(0)


def protocol(variant: str, P: int, K: int, law: Law) -> Timeline:
    updates = run(variant, P, K, VirtualClock(P, draw_of(law, P)), UPDATES).updates
    pushes = [(j, push) for j, update in enumerate(updates) for push in update.pushes]
    return Timeline(
        [update.time for update in updates],
        [push.learner for _, push in pushes],
        [j - push.version for j, push in pushes],
    )


@pytest.mark.parametrize("law", CONTINUOUS + TIED, ids=repr)
@pytest.mark.parametrize(("variant", "P", "K"), RACES)
def test_the_heap_loop_equals_the_protocol_event_by_event(variant, P, K, law):
    assert heap_loop(variant, P, K, draw_of(law, P), UPDATES) == protocol(variant, P, K, law)


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
@pytest.mark.parametrize(("variant", "P", "K"), RACES)
def test_simpy_equals_the_protocol_event_by_event(variant, P, K, law):
    assert simpy_race(variant, P, K, draw_of(law, P), UPDATES) == protocol(variant, P, K, law)


@pytest.mark.parametrize("race", [heap_loop, simpy_race])
@pytest.mark.parametrize("variant", VARIANTS)
def test_baselines_equal_the_protocol_with_learners_that_differ(variant, race):
    law = PerLearner(Exponential(), factors=[1.0, 1.0, 2.0, 5.0])
    assert race(variant, 4, 2, draw_of(law, 4), UPDATES) == protocol(variant, 4, 2, law)


def test_simpy_drops_the_pushes_that_tie_with_the_last_one_of_a_round():
    times, learners, staleness = simpy_race("K-sync", 4, 2, lambda learner: 1.0, 3)
    assert (times, learners, staleness) == ([1.0, 2.0, 3.0], [0, 1] * 3, [0] * 6)


@pytest.mark.parametrize(("variant", "P", "K"), RACES)
def test_the_heap_loop_and_the_simulator_return_the_same_things(variant, P, K):
    race = simulate(variant, P, K, Pareto(), UPDATES, seed=7, common=True)
    times, learners, staleness = heap_loop(variant, P, K, draw_of(Pareto(), P), UPDATES)
    np.testing.assert_allclose(race.time[0], times, rtol=1e-12)
    assert race.learner.ravel().tolist() == learners
    assert race.staleness.ravel().tolist() == staleness


def test_a_bulk_draw_gives_the_numbers_of_the_law_in_their_order():
    draw = bulk_draw(Pareto(), np.random.default_rng(3))
    rng = np.random.default_rng(3)
    expected = np.concatenate([Pareto().sample(rng, BULK), Pareto().sample(rng, BULK)])
    drawn = list(islice(map(draw, repeat(0)), 2 * BULK - 1))
    assert drawn == expected[1:].tolist()  # the first number starts the generator


@pytest.mark.parametrize(
    ("variant", "numbers"), [("K-sync", 8), ("K-batch-sync", 10), ("K-async", 3), ("K-batch-async", 3)]
)
def test_numbers_that_an_update_needs_at_least(variant, numbers):
    case = measure.Case("Pareto", variant, P=8, K=3)
    asked = []

    def draw(learner):
        asked.append(learner)
        return float(1 + len(asked) % 5)

    heap_loop(variant, 8, 3, draw, 100)
    assert case.numbers == numbers == pytest.approx((len(asked) - 8) / 100)


def test_async_races_leave_the_start_behind():
    for case in measure.cases(quick=False):
        if not case.sync:
            assert case.updates * case.K >= 4096 >= 4 * case.P


def race_row(variant: str, P: int, heap: float, simpy: float = 1000.0) -> measure.Row:
    ratios = {"heap/sgdrace": heap, "simpy/sgdrace": simpy, "heap/detail": 3.0}
    return {"law": "Pareto", "variant": variant, "P": P, "K": 2, "ratios": ratios}


def test_an_aim_names_its_worst_case_among_64_learners_and_more():
    races = [race_row(variant, P, heap) for variant in VARIANTS for P, heap in ((8, 1.0), (64, 15.0))]
    found = report.aims({"races": races, "scaling": [], "training": {}})
    assert [aim["met"] for aim in found] == [False, False, True, True, True, True, False]
    words = report.aims_in_words(found)
    assert "NOT met K-sync: at least 20 times the heap loop, without detail, P ≥ 64: worst 15.0" in words
    assert "(Pareto, K-sync, P = 64, K = 2) (1 of 1 cases miss it)" in words
    assert "met     all: at least 3 times the heap loop, with detail, P = 8: worst 3.00" in words
    assert "NOT met all: at least 5 times the heap loop, with detail, P ≥ 64: worst 3.00" in words


def test_a_training_meets_the_aim_of_its_own_problem():
    ratios = {"least squares": 3.0, "logistic regression": 3.0}
    run = {"replicas": 1000, "K": 4, "d": 64, "m": 32, "ratios": ratios}
    races = [race_row(variant, 64, 20.0) for variant in VARIANTS]
    found = report.aims({"races": races, "scaling": [], "training": run})
    assert [aim["met"] for aim in found if "matrix product" in aim["aim"]] == [False, True]
    assert "NOT met training, least squares: within 2.5 times" in report.aims_in_words(found)


def test_the_picture_is_text_on_a_transparent_ground_and_the_same_every_time(tmp_path):
    races = [race_row(variant, P, 20.0 * n) for n, variant in enumerate(VARIANTS, 1) for P in (8, 64)]
    for name in ("a.svg", "b.svg"):
        report.draw(races, tmp_path / name)
    picture = (tmp_path / "a.svg").read_text()
    assert picture == (tmp_path / "b.svg").read_text()
    assert all(f">{variant}</text>" in picture for variant in VARIANTS)
    assert "fill: #ffffff" not in picture
    assert "<dc:date>" not in picture


def test_a_quick_run_measures_everything_and_saves_it(tmp_path):
    command = [sys.executable, "-m", "benchmarks", "--quick"]
    saved = ["--json", str(tmp_path / "results.json"), "--picture", str(tmp_path / "performance.svg")]
    done = subprocess.run(command + saved, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "times the heap loop" in done.stdout
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert set(results) == {"machine", "quick", "memory", "races", "scaling", "training", "aims"}
    assert set(results["machine"]) == {"processor", "cores", "python", "numpy", "date"}
    assert {row["variant"] for row in results["races"]} == set(VARIANTS)
    programs = {"heap", "simpy", "sgdrace", "detail", "draws"}
    for row in results["races"]:
        assert set(row["seconds_per_update"]) == programs
        assert min(row["seconds_per_update"].values()) > 0
    assert all(row["megabytes_peak"] >= row["megabytes_before"] > 0 for row in results["memory"])
    assert len(results["scaling"]) == 6
    assert set(results["training"]["ratios"]) == set(report.MOST)
    assert min(results["training"]["ratios"].values()) > 1
    assert "<svg" in (tmp_path / "performance.svg").read_text(encoding="utf-8")


def test_a_package_is_compared_with_another_one_case_by_case(tmp_path):
    (tmp_path / "sgdrace").symlink_to(ROOT / "lib/sgdrace")
    command = [sys.executable, "-m", "benchmarks", "--quick", "--against", str(tmp_path)]
    saved = ["--json", str(tmp_path / "results.json")]
    done = subprocess.run(command + saved, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["against"]
    assert {row["kind"] for row in rows} == {"detail", "common", "training"}
    assert all(min(row["old"], row["new"], row["ratio"]) > 0 for row in rows)
    assert "detail: " in done.stdout and "times as fast in the geometric mean" in done.stdout


def test_a_folder_without_the_package_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must hold a folder sgdrace"):
        against.Package(tmp_path)
