"""Facts about records: they compare by content, cannot be changed, survive a file, and refuse nonsense."""

import json
import zipfile
from collections.abc import Hashable

import numpy as np
import pytest

from sgdrace import (
    VARIANTS,
    Constant,
    Empirical,
    Exponential,
    Pareto,
    PerLearner,
    Quadratic,
    Race,
    Training,
    simulate,
    train,
)
from sgdrace._records import HEADER
from sgdrace.delays import Scaled
from sgdrace.jobs import Jobs
from tests.examples import CONTINUOUS, DISCRETE, Own

LAWS = [
    *CONTINUOUS,
    *DISCRETE,
    PerLearner(Exponential(), factors=[1, 2, 3, 4]),
    PerLearner([Exponential(), Constant(2.0), Empirical([1.0, 3.0]), Scaled(Pareto(), 2.0)]),
]


def race_of(variant="K-async", law=None, **options):
    return simulate(variant, 4, 2, law or Exponential(), **({"updates": 10, "replicas": 3} | options))


def test_equal_races_are_equal_and_others_are_not():
    race = race_of()
    assert race == race_of()
    assert race != race_of(seed=1)
    assert race != race_of("K-batch-async")
    assert race != race_of(law=Exponential(2.0))
    assert race != race_of(detail=False)
    assert race != race.first(9)
    assert race != "a race"
    assert race_of(law=Empirical([1.0, 2.0])) == race_of(law=Empirical([2.0, 1.0]))
    own = Own(Exponential())
    assert race_of(law=own) == race_of(law=own)


def test_a_race_has_no_hash():
    assert not isinstance(race_of(), Hashable)


@pytest.mark.parametrize("name", ["time", "learner", "staleness", "pushed"])
def test_nobody_can_write_into_a_race(name):
    race = race_of()
    for part in (race, race.first(5), race.thin(2), race.until(1.0)):
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            getattr(part, name)[0, 0] = 0


def test_a_race_keeps_a_copy_of_what_it_is_given():
    time = np.array([[1.0, 2.0]])
    race = Race("K-sync", 2, 1, time)
    time[0, 0] = 7
    assert race.time.tolist() == [[1, 2]] and time.flags.writeable


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_a_race_is_the_same_after_it_was_saved_and_loaded(law, tmp_path):
    race = race_of(law=law)
    race.save(tmp_path / "race")  # no ending is added
    again = Race.load(tmp_path / "race")
    assert again == race and again.law is not None
    assert type(again.K) is int and not again.time.flags.writeable
    assert race_of(law=again.law) == race  # the law that was read makes the same race


@pytest.mark.parametrize("variant", VARIANTS)
def test_other_races_and_jobs_can_be_saved_too(variant, tmp_path):
    path = str(tmp_path / "it.npz")
    for race in (race_of(variant, detail=False), race_of(variant).thin(3)):
        race.save(path)
        assert Race.load(path) == race
    jobs = race_of(variant).jobs()
    jobs.save(path)
    assert Jobs.load(path) == jobs
    K = np.full((3, 10), 2)
    varying = Race(variant, 4, K, race_of(variant).time)
    varying.save(path)
    assert Race.load(path) == varying


@pytest.mark.parametrize("law", [Own(Exponential()), PerLearner([Own(Exponential())] * 4)], ids=repr)
def test_a_law_of_ones_own_is_not_kept_in_a_file(law, tmp_path):
    race_of(law=law).save(tmp_path / "race.npz")
    assert Race.load(tmp_path / "race.npz").law is None


def test_a_law_that_the_package_no_longer_has_is_unknown(tmp_path, monkeypatch):
    race_of(law=Pareto()).save(tmp_path / "race.npz")
    monkeypatch.delattr("sgdrace.delays.families.Pareto")
    assert Race.load(tmp_path / "race.npz").law is None


def test_a_file_says_what_it_holds(tmp_path):
    path = tmp_path / "race.npz"
    race_of(law=Pareto()).save(path)
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(str(file[HEADER]))
        assert header["format"] == "sgdrace.Race" and header["version"] == 1
        assert header["values"]["law"] == {
            "kind": "sgdrace.delays.families.Pareto",
            "parameters": {"shape": 2.5, "scale": 1.0},
        }


def test_files_that_hold_no_race_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "it.npz"
    race_of().jobs().save(path)
    with pytest.raises(ValueError, match=r"^it.npz holds sgdrace.Jobs, no sgdrace.Race\."):
        Race.load(path)
    race_of().save(path)
    monkeypatch.setattr(Race, "format_version", 2)
    with pytest.raises(ValueError, match=r"holds version 1 of sgdrace.Race, not 2, which is all that"):
        Race.load(path)
    np.savez(path, time=np.ones(3))
    with pytest.raises(ValueError, match=r"is no file that `save` has written\."):
        Race.load(path)
    np.save(tmp_path / "array.npy", np.ones(3))
    path.write_text("time, learner")
    with zipfile.ZipFile(tmp_path / "zip", "w") as file:
        file.writestr("time", "1")
    for other in (path, tmp_path / "array.npy", tmp_path / "zip"):
        with pytest.raises(ValueError, match=r"is no file that `save` has written\."):
            Race.load(other)
    with pytest.raises(FileNotFoundError):
        Race.load(tmp_path / "nowhere")


def test_columns_hold_one_row_for_each_gradient():
    race = race_of()
    columns = race.to_columns()
    assert list(columns) == ["replica", "update", "time", "learner", "staleness", "pushed"]
    assert {column.shape for column in columns.values()} == {(3 * 10 * 2,)}
    row = 2 * (10 * 1 + 7) + 1  # replica 1, update 7, its second gradient
    wanted = [1, 7, race.time[1, 7], race.learner[1, 7, 1], race.staleness[1, 7, 1], race.pushed[1, 7, 1]]
    assert [column[row] for column in columns.values()] == wanted


def test_columns_without_detail_hold_one_row_for_each_update():
    race = race_of(detail=False)
    columns = race.to_columns()
    assert list(columns) == ["replica", "update", "time"]
    assert columns["time"].tolist() == race.time.ravel().tolist()
    assert columns["replica"].tolist() == np.repeat([0, 1, 2], 10).tolist()


def test_columns_of_a_thinned_race_name_its_updates():
    assert race_of(replicas=1, detail=False).thin(4).to_columns()["update"].tolist() == [3, 7]


def test_columns_leave_out_what_a_smaller_K_does_not_use():
    staleness = np.array([[[0, -1], [1, 0]]])
    race = Race("K-async", 4, np.array([[1, 2]]), [[1.0, 2.0]], None, staleness)
    columns = race.to_columns()
    assert columns["update"].tolist() == [0, 1, 1] and columns["staleness"].tolist() == [0, 1, 0]


ONES = np.ones((1, 2, 1), int)


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"variant": "K-zync"}, ValueError, "variant 'K-zync' is unknown; did you mean K-sync?"),
        ({"P": 0}, ValueError, "P must be at least 1; got 0"),
        ({"K": 3}, ValueError, "K must be between 1 and P = 2; got 3"),
        ({"K": 1.0}, TypeError, "K must be a whole number at least 1; got 1.0"),
        ({"K": np.array([[1, 2, 2]])}, ValueError, "K must be one whole number, or one for each of"),
        ({"K": np.array([[1.0, 2.0]])}, ValueError, "K must be one whole number, or one for each of"),
        ({"K": np.array([[0, 2]])}, ValueError, "K must be at least 1; got 0"),
        ({"K": np.array([[1, 3]])}, ValueError, "K must be between 1 and P = 2; got 3"),
        ({"time": [1.0, 2.0]}, ValueError, "time must have one row per replica and one column per update"),
        ({"time": [[]]}, ValueError, "time must have one row per replica and one column per update"),
        ({"time": "now"}, TypeError, "time must be numbers; got 'now'"),
        ({"time": [[2.0, 1.0]]}, ValueError, "time must be finite, at least 0 and never go back"),
        ({"time": [[-1.0, 1.0]]}, ValueError, "time must be finite, at least 0 and never go back"),
        ({"time": [[np.nan, 1.0]]}, ValueError, "time must be finite, at least 0 and never go back"),
        ({"time": [[1.0, np.inf]]}, ValueError, "time must be finite, at least 0 and never go back"),
        ({"learner": 2 * ONES}, ValueError, "learner must be between 0 and 1; got 2 to 2"),
        ({"learner": 1.0 * ONES}, ValueError, r"learner must be whole numbers of shape \(1, 2, 1\), one for"),
        ({"staleness": -ONES}, ValueError, "staleness must be between 0 and inf; got -1 to -1"),
        (
            {"staleness": ONES[0]},
            ValueError,
            r"staleness must be whole numbers of shape \(1, 2, 1\), one for",
        ),
        ({"pushed": ONES}, ValueError, r"pushed must be times of shape \(1, 2, 1\), one for each gradient"),
        ({"pushed": np.inf * ONES}, ValueError, "pushed must be between 0 and inf; got inf to inf"),
        ({"pushed": np.nan * ONES}, ValueError, "pushed must be between 0 and inf; got nan to nan"),
        ({"every": 0}, ValueError, "every must be at least 1; got 0"),
    ],
)
def test_a_race_that_cannot_be_is_refused(wrong, error, words):
    right = {"variant": "K-sync", "P": 2, "K": 1, "time": [[1.0, 2.0]]}
    assert Race(**right).time.tolist() == [[1, 2]]
    with pytest.raises(error, match=words) as caught:
        Race(**(right | wrong))
    assert str(caught.value).endswith((".", "?")) and "\n" not in str(caught.value)


def test_no_gradient_is_older_than_the_race():
    race = Race("K-async", 2, 1, [[1.0, 2.0]], 0 * ONES, 5 * ONES, np.array([[[1.0], [2.0]]]))
    for ask in (race.jobs, race.utilization):
        with pytest.raises(
            ValueError, match=r"staleness must be at most j in update j: no gradient is older"
        ):
            ask()


def test_what_a_race_ignored_is_kept_by_files_cuts_and_trainings(tmp_path):
    race = simulate("K-batch-async", 4, 2, Exponential(), 30, replicas=2, max_staleness=0)
    race.save(tmp_path / "race.npz")
    assert Race.load(tmp_path / "race.npz") == race != simulate("K-batch-async", 4, 2, Exponential(), 30, 2)
    assert race.thin(3).ignored.shape == (2, 10, 4)
    run = train(Quadratic(), race)
    assert run.max_staleness == 0
    assert repr(run).startswith("Training(K-batch-async, P=4, K=2, max_staleness=0: 2 replicas")
    run.save(tmp_path / "run.npz")
    assert Training.load(tmp_path / "run.npz") == run
