"""The fast simulators make the same events as the protocol, whatever the variant, the law and the blocks."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgdrace import (
    VARIANTS,
    Constant,
    Empirical,
    Erlang,
    Exponential,
    HyperExponential,
    LogNormal,
    Lomax,
    Pareto,
    PerLearner,
    Race,
    ShiftedExponential,
    SteppedRace,
    Uniform,
    Weibull,
    _completions,
    simulate,
)
from sgdrace import (
    race as race_module,
)
from sgdrace._arguments import seed_sequence
from sgdrace._times import CommonTimes, FreshTimes
from sgdrace.protocol import VirtualClock, run
from tests.examples import Own
from tests.machines import DISPATCHED, interrupt, run_without_cpu_features

SINGLE = st.sampled_from(
    [
        Exponential(),
        ShiftedExponential(),
        Pareto(),
        Lomax(),
        Erlang(),
        Weibull(),
        HyperExponential(),
        LogNormal(),
        Uniform(),
        Constant(1.0),
        Empirical([1.0, 2.0]),
        Empirical([1.0, 1.5, 2.0, 3.0]),
        Empirical([0.0, 0.1, 0.2, 0.3]),
        Empirical([0.0] * 99 + [1.0]),
        Own(Exponential()),
    ]
)


@st.composite
def cases(draw, variant):
    P = draw(st.integers(1, 12))
    K = draw(st.integers(1, 3 * P if "batch" in variant else P))
    law = draw(SINGLE)
    kind = draw(st.sampled_from(["shared", "factors", "listed"]))
    if kind == "factors":
        law = PerLearner(
            law, factors=draw(st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=P, max_size=P))
        )
    elif kind == "listed":
        law = PerLearner(draw(st.lists(SINGLE, min_size=P, max_size=P)))
    return P, K, law, draw(st.integers(1, 25)), draw(st.integers(1, 3)), draw(st.integers(0, 2**32))


def protocol_races(variant, P, K, law, updates, replicas, seed, max_staleness=None):
    """The protocol, run on the streams that the simulator uses: the history of every replica."""
    streams = CommonTimes(race_module.law_of_learners(law, P), P, seed_sequence(seed).spawn(replicas))
    engines = [VirtualClock(P, streams.reader(row)) for row in range(replicas)]
    return [run(variant, P, K, engine, updates, max_staleness=max_staleness) for engine in engines]


def assert_equal_events(race, truth):
    for r, history in enumerate(truth):
        updates = history.updates
        assert race.time[r].tolist() == [update.time for update in updates]
        assert race.learner[r].tolist() == [[push.learner for push in update.pushes] for update in updates]
        versions = [[push.version for push in update.pushes] for update in updates]
        assert (np.arange(len(updates))[:, None] - race.staleness[r]).tolist() == versions
        assert race.pushed[r].tolist() == [[push.time for push in update.pushes] for update in updates]


def assert_equal_jobs(race, truth):
    for r, history in enumerate(truth):
        mine, theirs = race.jobs(r), history.jobs
        for name in ("learner", "start", "end", "version", "fate", "updates"):
            assert getattr(mine, name).tolist() == getattr(theirs, name).tolist(), name


def assert_equal_shares(race, truth):
    shares = race.utilization()
    for r, history in enumerate(truth):
        for fate, share in history.jobs.shares().items():
            assert getattr(shares, fate.replace(" ", "_"))[r] == pytest.approx(share, abs=1e-12)


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(race_module, "FEW", race_module.FEW)  # put back what a test changes


@pytest.mark.parametrize("variant", VARIANTS)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=50,
    deadline=None,
    derandomize=True,
)
@given(data=st.data())
def test_race_equals_protocol_event_by_event(variant, data):
    P, K, law, updates, replicas, seed = data.draw(cases(variant))
    race_module.FEW = data.draw(st.sampled_from([0, 100]))  # K-async vectorized or by heap
    race = simulate(variant, P, K, law, updates, replicas, seed=seed, common=True)
    truth = protocol_races(variant, P, K, law, updates, replicas, seed)
    assert_equal_events(race, truth)
    assert_equal_jobs(race, truth)
    assert_equal_shares(race, truth)
    bare = simulate(variant, P, K, law, updates, replicas, seed=seed, common=True, detail=False)
    assert bare.time.tolist() == race.time.tolist()


# Ties, times of 0, and sums that differ in their last digit alone, in rows that are sorted by value.
WIDE_LAWS = [
    Pareto(),
    Constant(1.0),
    Empirical([1.0, 2.0]),
    Empirical([0.0, 0.1, 0.2, 0.3]),
    HyperExponential(),
]


@pytest.mark.no_cover
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("law", [*WIDE_LAWS, "factors"], ids=repr)
def test_a_race_of_many_learners_equals_protocol_event_by_event(variant, law, monkeypatch):
    monkeypatch.setattr(race_module, "FEW", 0)
    sizes = [(30, 4, 12), (30, 30, 6), (70, 50, 5), (300, 7, 6), (30, 100, 4), (26, 1, 60), (700, 600, 2)]
    for P, K, updates in sizes:
        if K <= P or "batch" in variant:
            own = PerLearner(Empirical([0.1, 0.2, 0.3]), 1 + np.arange(P) % 3) if law == "factors" else law
            race = simulate(variant, P, K, own, updates, replicas=3, seed=P, common=True)
            assert_equal_events(race, protocol_races(variant, P, K, own, updates, 3, P))
            bare = simulate(variant, P, K, own, updates, replicas=3, seed=P, common=True, detail=False)
            assert bare.time.tolist() == race.time.tolist()


@pytest.mark.parametrize("law", WIDE_LAWS, ids=repr)
def test_a_long_race_of_many_learners_equals_protocol_in_segments(law, monkeypatch):
    for P, K in [(30, 4), (40, 1), (26, 60)]:
        monkeypatch.setattr(race_module, "LONG", 3 * K + 20)
        race = simulate("K-batch-async", P, K, law, updates=15, replicas=3, seed=2, common=True)
        assert_equal_events(race, protocol_races("K-batch-async", P, K, law, 15, 3, 2))


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_each_learner_needs_is_drawn_when_it_starts(variant, monkeypatch):
    # Fresh times, drawn ahead or not, are handed out in the same order: so the same seed, the same race.
    setting = {"P": 30, "K": 6, "delay": Exponential(), "updates": 20, "replicas": 40, "seed": 1}
    ahead = simulate(variant, **setting)
    monkeypatch.setattr(race_module, "AHEAD", 0)
    assert simulate(variant, **setting) == ahead


@pytest.mark.no_cover
@pytest.mark.parametrize("variant", ["K-async", "K-batch-async"])
@settings(max_examples=50, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_race_that_ignores_stale_gradients_equals_protocol_event_by_event(variant, data):
    P, K, law, updates, replicas, seed = data.draw(cases(variant))
    limit = data.draw(st.integers(0, 6))
    options = {"seed": seed, "common": True, "max_staleness": limit}
    race = simulate(variant, P, K, law, updates, replicas, **options)
    truth = protocol_races(variant, P, K, law, updates, replicas, seed, limit)
    assert_equal_events(race, truth)
    assert race.ignored.tolist() == [history.race().ignored[0].tolist() for history in truth]
    assert_equal_jobs(race, truth)
    assert_equal_shares(race, truth)
    for r, history in enumerate(truth):
        assert race.jobs(r).max_staleness == history.jobs.max_staleness == limit
    bare = simulate(variant, P, K, law, updates, replicas, detail=False, **options)
    assert bare.time.tolist() == race.time.tolist() and bare.ignored is None
    fewer = data.draw(st.integers(1, updates))
    begun = simulate(variant, P, K, law, fewer, replicas, **options)
    assert race.first(fewer) == begun and race.first(fewer).jobs() == begun.jobs()


@pytest.mark.parametrize("variant", ["K-async", "K-batch-async"])
@pytest.mark.parametrize("law", [Exponential(), Empirical([1.0, 2.0])], ids=repr)
def test_a_limit_that_nobody_reaches_changes_nothing(variant, law):
    setting = {"P": 5, "K": 3, "delay": law, "updates": 30, "replicas": 4, "seed": 3, "common": True}
    free, bound = simulate(variant, **setting), simulate(variant, max_staleness=30, **setting)
    assert (bound.ignored == -1).all()
    assert dataclasses.replace(bound, max_staleness=None, ignored=None) == free
    assert bound.jobs().shares() == free.jobs().shares()


@pytest.mark.parametrize("common", [False, True])
def test_any_number_of_threads_ignores_the_same_gradients(common, monkeypatch):
    monkeypatch.setattr(race_module, "BLOCK", 600)
    setting = {"P": 5, "K": 3, "delay": Pareto(), "updates": 20, "replicas": 17, "common": common}
    one, four = (simulate("K-async", max_staleness=1, threads=n, **setting) for n in (1, 4))
    assert one == four and (one.ignored >= 0).any()


def test_what_is_ignored_is_bounded_whatever_the_delays():
    # Between them the learners move on by at most (P - 1) versions an update, and who is ignored by more
    # than the limit: so at most (P - 1)/(limit + 1) are, on average over the updates so far.
    for law in (Exponential(), Lomax(1.1), PerLearner(Lomax(1.1), factors=[1, 1, 1, 50, 50, 900])):
        for K, limit in ((1, 0), (1, 5), (4, 0), (9, 2)):
            race = simulate("K-batch-async", 6, K, law, 150, replicas=5, max_staleness=limit)
            so_far = (race.ignored >= 0).sum(axis=2).cumsum(axis=1)
            assert (so_far * (limit + 1) <= 5 * np.arange(1, 151)).all()
            assert race.staleness.max() <= limit


def test_a_race_until_a_time_may_ignore_gradients():
    race = simulate("K-batch-async", 4, 2, Exponential(), until=20, replicas=3, max_staleness=0)
    assert (race.time[:, -1] >= 20).all() and race.staleness.max() == 0
    assert repr(race).startswith("Race(K-batch-async, P=4, K=2, max_staleness=0: 3 replicas of ")


def test_time_per_update_when_late_work_is_ignored_is_the_exact_one():
    # Two learners, K = 1, exponential: after an update one learner is current. Its push is next with
    # probability 1/2; else the other is ignored first. So 3/2 pushes, of which two come in a unit of time.
    race = simulate("K-batch-async", 2, 1, Exponential(), 4000, replicas=50, seed=1, max_staleness=0)
    mean, error = race.time_per_update()
    assert abs(mean - 0.75) < 4 * error  # false alarms: 1 in 10,000


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("law", [Exponential(), Empirical([1.0, 2.0])], ids=repr)
def test_a_stepped_race_equals_race_when_K_is_constant(variant, law):
    for P, K in [(1, 1), (4, 1), (5, 3), (4, 4), (3, 7)]:
        if K <= P or "batch" in variant:
            race = simulate(variant, P, K, law, updates=30, replicas=3, seed=5, common=True)
            steps = SteppedRace(variant, P, law, 3, source=CommonTimes(law, P, seed_sequence(5).spawn(3)))
            for j in range(30):
                step = steps.update(K)
                assert step.time.tolist() == race.time[:, j].tolist()
                assert step.learner.tolist() == race.learner[:, j].tolist()
                assert step.staleness.tolist() == race.staleness[:, j].tolist()
                assert step.pushed.tolist() == race.pushed[:, j].tolist()


def test_a_stepped_race_with_a_K_for_each_replica_is_each_replica_on_its_own():
    for variant in VARIANTS:
        together = SteppedRace(
            variant, 4, Exponential(), 3, source=CommonTimes(Exponential(), 4, seed_sequence(0).spawn(3))
        )
        K = np.array([1, 2, 4])
        updates = [together.update(K) for _ in range(20)]
        for r in range(3):
            alone = simulate(variant, 4, int(K[r]), Exponential(), 20, 3, seed=0, common=True)
            assert [u.time[r] for u in updates] == alone.time[r].tolist()
            for j, u in enumerate(updates):
                assert u.staleness[r].tolist() == [*alone.staleness[r, j].tolist(), -1, -1, -1][:4]


def test_changing_K_regroups_the_pushes_of_k_batch_async():
    source = CommonTimes(Exponential(), 3, seed_sequence(1).spawn(1))
    steps = SteppedRace("K-batch-async", 3, Exponential(), 1, source=source)
    pushes = np.concatenate([steps.update(K).pushed[0] for K in (2, 5, 1, 4)])
    single = simulate("K-batch-async", 3, 1, Exponential(), 12, seed=1, common=True)
    assert pushes.tolist() == single.time[0].tolist()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("common", [False, True])
def test_any_number_of_threads_gives_the_same_race(variant, common, monkeypatch):
    monkeypatch.setattr(race_module, "BLOCK", 600)  # several blocks
    monkeypatch.setattr(race_module, "FEW", 0)
    setting = {"P": 5, "K": 3, "delay": Pareto(), "updates": 20, "replicas": 17, "seed": 3, "common": common}
    one, four = simulate(variant, **setting), simulate(variant, threads=4, **setting)
    assert one.time.tolist() == four.time.tolist()
    assert one.learner.tolist() == four.learner.tolist()
    assert one.staleness.tolist() == four.staleness.tolist()


RACES = """
import sys
import numpy as np
from sgdrace import VARIANTS, Empirical, Erlang, Exponential, Pareto, PerLearner, simulate

LAWS = {
    "exponential": Exponential(),
    "ties": Empirical([1.0, 2.0, 3.0]),
    "Erlang": Erlang(),
    "factors": PerLearner(Exponential(), np.arange(1, 65) / 8),
    "Pareto": Pareto(),
}
arrays = {}
for name, law in LAWS.items():
    for variant in VARIANTS:
        for K in (1, 16, 64):
            for detail in (True, False):
                race = simulate(variant, 64, K, law, updates=40, replicas=3, seed=1, detail=detail)
                for part in ("time", "learner", "staleness", "pushed") if detail else ("time",):
                    arrays[f"{name} {variant} {K} {detail} {part}"] = getattr(race, part)
np.savez(sys.argv[1], **arrays)
"""


@pytest.mark.skipif(not DISPATCHED, reason="NumPy has no faster code paths for this processor")
def test_the_same_seed_gives_the_same_race_on_a_lesser_processor(tmp_path, monkeypatch):
    here, there = tmp_path / "here.npz", tmp_path / "there.npz"
    monkeypatch.setattr("sys.argv", ["", str(here)])
    exec(RACES, {})
    run_without_cpu_features(RACES, str(there))
    with np.load(here) as ours, np.load(there) as theirs:
        assert sorted(ours) == sorted(theirs) and len(ours) == 5 * 4 * 3 * 5
        for name in ours:
            # Processors differ in the last digit of exp, which makes all times of a Pareto law, and without
            # detail the levels at which other laws are asked for their quantiles.
            of_exp = name.startswith("Pareto") and name.endswith(("time", "pushed"))
            if of_exp or name.endswith("False time"):
                np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-13, err_msg=name)
            else:
                assert ours[name].tobytes() == theirs[name].tobytes(), name


# Each would take most of a minute or more: one long block, one law drawn for all updates, threads.
LONG_RACES = [
    "'K-async', 8, 2, Pareto(), updates=10_000_000",
    "'K-sync', 64, 16, Erlang(), updates=400_000_000, detail=False",
    "'K-batch-sync', 64, 16, Pareto(), updates=2000, replicas=20_000, threads=2",
    "'K-async', 8, 2, Pareto(), updates=10_000_000, replicas=2, threads=2",
]


def test_an_interrupt_stops_a_race():
    races = [f"simulate({race}, seed=0)" for race in LONG_RACES]
    # What loads late is loaded before: parts of it run bare text, of which an interrupted Python dies.
    first = "for kind in ('K-async', 'K-sync', 'K-batch-sync'):\n for detail in (True, False):\n"
    first += (
        "  simulate(kind, 8, 2, Erlang(), 9, 3, detail=detail, threads=2), simulate(kind, 8, 2, Pareto(), 9)"
    )
    ends = interrupt(races, setup=f"from sgdrace import Erlang, Pareto, simulate\n{first}")
    assert ends == ["KeyboardInterrupt"] * len(LONG_RACES) + [0]


def test_streams_are_copied_rarely_however_long_they_grow():
    stream = CommonTimes(Exponential(), 2, seed_sequence(0).spawn(1))
    read, buffers = stream.reader(0), []
    for _ in range(5000):
        read(0)
        if not any(stream.drawn is buffer for buffer in buffers):
            buffers.append(stream.drawn)
    assert len(buffers) < 10  # twice the room each time


@pytest.mark.parametrize("variant", VARIANTS)
def test_thousands_of_different_learners_need_little_memory(variant):
    law = PerLearner(Exponential(), factors=np.linspace(1, 2, 5000))
    tracemalloc.start()
    simulate(variant, 5000, 2, law, updates=20, seed=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30e6


def test_a_race_that_follows_no_learner_may_have_any_number_of_them():
    race = simulate("K-sync", 1_000_000, 500_000, Exponential(), updates=100, replicas=1000, detail=False)
    assert race.time_per_update().value == pytest.approx(np.log(2), rel=1e-3)


@pytest.mark.parametrize("variant", VARIANTS)
def test_blocks_do_not_change_common_random_numbers(variant, monkeypatch):
    setting = {"P": 5, "K": 3, "delay": Pareto(), "updates": 20, "seed": 3, "common": True}
    whole = simulate(variant, replicas=10, **setting)
    monkeypatch.setattr(race_module, "BLOCK", 50)
    assert simulate(variant, replicas=10, **setting).time.tolist() == whole.time.tolist()
    assert simulate(variant, replicas=4, **setting).time.tolist() == whole.time[:4].tolist()


@pytest.mark.parametrize(
    "law", [Exponential(), Empirical([0.0, 1.0, 2.0]), PerLearner(Pareto(), [1, 1, 2])], ids=repr
)
@pytest.mark.parametrize("K", [1, 2, 7])
def test_long_races_continue_where_a_segment_ended(law, K, monkeypatch):
    setting = {"P": 3, "K": K, "delay": law, "updates": 60, "replicas": 4, "seed": 8, "common": True}
    whole = simulate("K-batch-async", **setting)
    monkeypatch.setattr(race_module, "LONG", 25)
    segments = simulate("K-batch-async", **setting)
    assert segments.time.tolist() == whole.time.tolist()
    assert segments.learner.tolist() == whole.learner.tolist()
    assert segments.staleness.tolist() == whole.staleness.tolist()


def test_a_long_race_in_which_no_time_passes_is_refused(monkeypatch):
    monkeypatch.setattr(race_module, "LONG", 25)
    still = Own(Exponential())
    still.sample = lambda rng, size: np.zeros(size)
    assert simulate("K-batch-async", 3, 2, still, updates=10, seed=0).time.max() == 0
    with pytest.raises(ValueError, match="nearly all mini-batch times are 0"):
        simulate("K-batch-async", 3, 2, still, updates=60, seed=0)


def test_segments_do_not_change_the_speed_of_a_fresh_race(monkeypatch):
    monkeypatch.setattr(race_module, "LONG", 16)
    time = simulate("K-batch-async", 4, 2, Erlang(), updates=400, replicas=200, seed=0, detail=False).time
    error = time[:, -1].std() / np.sqrt(200)
    # Elementary renewal theorem, with the start-up of learners that begin together.
    renewals = (time[:, -1] - time[:, 99]).mean() / 300
    assert renewals == pytest.approx(2 * 1.0 / 4, abs=4.9 * error / 300)  # false alarm 1e-6


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_seed_may_be_a_number_a_sequence_or_a_generator(variant):
    def race(seed):
        return simulate(variant, 3, 2, Exponential(), 5, 2, seed=seed).time.tolist()

    assert race(7) == race(7) == race(np.random.SeedSequence(7)) == race(np.int64(7))
    sequence = np.random.SeedSequence(7)
    assert race(sequence) == race(sequence)
    generator = np.random.default_rng(7)
    assert race(generator) != race(generator)
    assert race(np.random.default_rng(1)) == race(np.random.default_rng(1))
    assert race(None) != race(None)


def test_common_random_numbers_make_identical_protocols_identical():
    setting = {"P": 6, "delay": Lomax(), "updates": 30, "replicas": 2, "seed": 4, "common": True}
    full = [simulate(variant, K=6, **setting).time.tolist() for variant in ("K-sync", "K-async")]
    assert full[0] == full[1]
    single = [simulate(variant, K=1, **setting).time.tolist() for variant in ("K-async", "K-batch-async")]
    assert single[0] == single[1]
    assert (
        simulate("K-batch-sync", K=3, **setting).time[:, 0] <= simulate("K-sync", K=3, **setting).time[:, 0]
    ).all()


class TestRace:
    race = simulate("K-async", 4, 2, Exponential(), updates=50, replicas=3, seed=0)

    def test_counts_updates_before_a_time(self):
        times = [0.0, 1.0, self.race.time[1, 10], 1e9]
        counts = self.race.updates_before(times)
        assert counts.shape == (3, 4)
        assert counts.tolist() == [[(row < t).sum() for t in times] for row in self.race.time]
        assert counts[1, 2] == 10
        assert self.race.updates_before(1.0).shape == (3,)

    def test_can_be_cut_at_a_time(self):
        cut = self.race.until(2.0)
        assert (cut.time < 2).any(axis=0).all()
        assert (self.race.time[:, cut.time.shape[1]] >= 2).all()
        assert cut.staleness.shape == (*cut.time.shape, 2)

    def test_can_be_thinned(self):
        thin = self.race.thin(7)
        assert thin.time.tolist() == self.race.time[:, 6::7].tolist()
        assert thin.pushed.shape == (3, 7, 2)
        assert simulate("K-sync", 4, 2, Exponential(), 10, seed=0, detail=False).thin(5).staleness is None

    def test_carries_a_varying_K_along(self):
        K = np.full((3, 50), 2, np.int32)
        varying = dataclasses.replace(self.race, K=K)
        assert varying.first(5).K.shape == (3, 5)
        assert "K=varying" in repr(varying)

    def test_has_a_short_repr(self):
        assert repr(self.race) == "Race(K-async, P=4, K=2: 3 replicas of 50 updates)"

    def test_is_not_changed_by_its_users(self):
        with pytest.raises(AttributeError):
            self.race.K = 3


@pytest.mark.parametrize("variant", VARIANTS)
def test_progress_counts_every_update(variant, capsys):
    simulate(variant, 4, 2, Uniform(), updates=30, replicas=4, seed=0, progress=True)
    assert "120/120" in capsys.readouterr().err


def test_times_without_learners_are_the_times_with_learners():
    rng = np.random.default_rng(0)
    source = FreshTimes(Constant(0.75), rng)  # no chance in it, so both must agree to the last digit
    for P, n in [
        (1, 1),
        (1, 9),
        (4, 3),
        (4, 4),
        (4, 5),
        (7, 50),
        (3, 400),
        (40, 1),
        (40, 39),
        (40, 200),
        (700, 600),
        (700, 2000),
    ]:
        finish = rng.exponential(3.0, size=(5, P))
        (times, _), _ = _completions.first_completions(finish, n, source)
        bare = _completions.first_completion_times(finish.copy(), n, source)
        assert bare[:, -1].tolist() == times[:, -1].tolist()
        assert np.sort(bare, axis=1).tolist() == times.tolist()


STEPPED = [(1, 1), (1, 5), (4, 1), (4, 3), (4, 4), (4, 20), (8, 2), (8, 8), (30, 30), (64, 16)]  # P, n


@pytest.mark.parametrize("law", [Exponential(), Pareto(1.2), Empirical([0.0, 0.5, 1.0])], ids=repr)
@pytest.mark.parametrize(("P", "n"), STEPPED)
def test_completions_found_one_by_one_are_those_found_by_sorting(law, P, n, monkeypatch):
    found = []
    for narrow in (_completions.NARROW, 0):
        monkeypatch.setattr(_completions, "NARROW", narrow)
        source = CommonTimes(law, P, seed_sequence(P).spawn(20))
        for _ in range(20):  # rounds: each begins where the streams are after the one before
            finish = source.begin(np.arange(20)[:, None], np.arange(P))
            done = _completions.next_completions(finish, n, source)
            found.append((done.time.tolist(), done.learner.tolist(), source.next.tolist()))
    assert found[:20] == found[20:]


UNTIL_LAWS = [Exponential(), Lomax(1.2), Constant(1.0), PerLearner(Uniform(), [1, 1, 1, 50]), Own(Pareto())]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("law", UNTIL_LAWS, ids=repr)
def test_a_race_until_a_time_is_the_beginning_of_a_longer_one(variant, law):
    setting = {"P": 4, "K": 3, "delay": law, "replicas": 5, "seed": 9}
    for t in (0.001, 3.0, 40.0):
        race = simulate(variant, until=t, **setting)
        longer = simulate(variant, updates=race.time.shape[1] + 20, common=True, **setting)
        assert race == longer.first(race.time.shape[1])
        assert race.updates_before(t).tolist() == longer.updates_before(t).tolist()  # N(t) is known
        assert (race.time[:, -1] >= t).all()
        assert race.time.shape[1] == 1 or (race.time[:, -2] < t).any()  # and no update more than it takes


def test_a_race_until_a_time_does_not_depend_on_how_its_length_was_guessed(monkeypatch):
    setting = {"variant": "K-async", "P": 8, "K": 2, "delay": Pareto(), "replicas": 20, "detail": False}
    race = simulate(until=30, **setting)
    assert simulate(until=30, common=True, threads=2, **setting) == race
    whole = simulate(updates=500, common=True, **setting)
    assert whole.first(race.time.shape[1]) == race


def test_a_seed_is_0_unless_told():
    for setting in ({"updates": 5}, {"until": 2.0}):
        assert simulate("K-sync", 3, 2, Exponential(), **setting) == simulate(
            "K-sync", 3, 2, Exponential(), seed=0, **setting
        )
    steps = [SteppedRace("K-sync", 3, Exponential(), **seed).update(2).time for seed in ({}, {"seed": 0})]
    assert steps[0].tolist() == steps[1].tolist()


class TestTimePerUpdate:
    def test_is_exact_where_there_is_no_chance(self):
        for replicas in (1, 3):
            race = simulate("K-sync", 4, 2, Constant(0.5), updates=90, replicas=replicas)
            assert tuple(race.time_per_update()) == (0.5, 0.0)
            assert tuple(race.time_per_update(burn_in=30)) == (0.5, 0.0)
            assert tuple(race.thin(3).time_per_update()) == (0.5, 0.0)

    def test_leaves_out_the_burn_in(self):
        time = np.concatenate([np.arange(1, 31) * 10.0, 300 + np.arange(1, 61)])[None].repeat(2, axis=0)
        sync, go_on = (Race(variant, 4, 2, time) for variant in ("K-sync", "K-async"))
        assert go_on.time_per_update().value == 1.0  # a third
        assert sync.time_per_update().value == 4.0  # none
        assert sync.time_per_update(burn_in=29).value == pytest.approx((10 + 60) / 61)

    def test_of_several_replicas_is_that_of_their_ends(self):
        race = simulate("K-async", 4, 2, Pareto(), updates=60, replicas=10)
        rates = (race.time[:, -1] - race.time[:, 19]) / 40
        mean, error = race.time_per_update()
        assert mean == pytest.approx(rates.mean())
        assert error == pytest.approx(rates.std(ddof=1) / np.sqrt(10))

    def test_of_one_replica_has_an_error_by_batch_means(self):
        # The rounds of K-sync are independent, so the error of a long race is known.
        race = simulate("K-sync", 4, 1, Exponential(), updates=30_000)
        mean, error = race.time_per_update()
        assert mean == pytest.approx(0.25, abs=4.9 * 0.25 / np.sqrt(30_000))  # false alarm 1e-6
        # 30 batches tell the error to about 13 %: chi-square with 29 degrees, false alarm 1e-6.
        assert error == pytest.approx(0.25 / np.sqrt(30_000), rel=0.75)

    def test_of_one_replica_counts_every_update(self):
        race = simulate("K-sync", 4, 2, Pareto(), updates=59)  # no multiple of the batches
        assert race.time_per_update().value == pytest.approx(race.time[0, -1] / 59, rel=1e-15)
        assert race.time_per_update(burn_in=9).value == pytest.approx(
            (race.time[0, -1] - race.time[0, 8]) / 50
        )

    def test_needs_enough_updates(self):
        race = simulate("K-async", 4, 2, Exponential(), updates=44)
        with pytest.raises(ValueError, match=r"at least 30 updates after the burn-in .*; it has 29"):
            race.time_per_update(burn_in=15)
        assert race.time_per_update(burn_in=14).standard_error > 0
        with pytest.raises(ValueError, match="burn_in must be between 0 and 43; got 44"):
            race.time_per_update(burn_in=44)
