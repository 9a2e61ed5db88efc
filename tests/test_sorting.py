"""Sorts of values give what stable sorts of positions give, also where the lowest bits decide."""

import numpy as np
import pytest

from sgdrace import (
    Constant,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Lomax,
    Pareto,
    PerLearner,
    ShiftedExponential,
    Uniform,
    Weibull,
    _sorting,
)
from sgdrace._arguments import seed_sequence
from sgdrace._sorting import (
    Events,
    earliest,
    first_columns,
    first_events,
    first_places,
    in_order,
    narrow,
    nth_time,
    staleness_of,
)
from sgdrace._times import CHUNK, IN_ORDER, CommonTimes, FreshTimes, draws_in_order

SIZES = [
    (width, n)
    for width in (1, 2, 9, 24, 25, 64, 300, 600)
    for n in {1, 2, 8, width // 3 + 1, width - 1, width}
    if 0 < n <= width
]
EPS = np.finfo(float).eps


def tables(width):
    """Times that differ, tie, are zero, are infinite, or differ in their lowest bits alone."""
    rng = np.random.default_rng(width)
    some = rng.exponential(size=(50, width))
    ended = np.where(rng.random((50, width)) < 0.5, np.inf, some)
    near = 1 + EPS * rng.integers(0, 4 * width, (50, width))
    mixed = np.where(rng.random((50, width)) < 0.5, near, some)
    return {
        "different": some,
        "tied": rng.integers(0, 4, (50, width)).astype(float),
        "zero": np.zeros((50, width)),
        "infinite": ended,
        "near": near,
        "nearly tied": 1 + EPS * rng.integers(0, 3, (50, width)),
        "mixed": mixed,
        "backward": np.sort(some)[:, ::-1].copy(),
        "crowded": np.where(rng.random((50, width)) < 0.1, 1e9, some),
        "tiny": 1e-305 * some,
        "huge": 1e308 * rng.random((50, width)),
    }


@pytest.mark.parametrize("many", [0, _sorting.MANY])
@pytest.mark.parametrize(("width", "n"), SIZES)
def test_first_columns_are_those_of_a_stable_sort(width, n, many, monkeypatch):
    monkeypatch.setattr(_sorting, "MANY", many)
    for name, time in tables(width).items():
        column, found = first_columns(time, n)
        order = time.argsort(axis=1, kind="stable")[:, :n]
        assert column.tolist() == order.tolist(), name
        assert found.tolist() == np.take_along_axis(time, order, 1).tolist(), name


@pytest.mark.parametrize("wide", [1, _sorting.WIDE])
@pytest.mark.parametrize(("width", "n"), SIZES)
def test_first_places_are_the_same_for_who_knows_the_nth_time(width, n, wide, monkeypatch):
    monkeypatch.setattr(_sorting, "WIDE", wide)
    for name, time in tables(width).items():
        nth = np.sort(time, axis=1)[:, n - 1 : n]
        place, found = first_places(time, n, nth)
        order = time.argsort(axis=1, kind="stable")[:, :n]
        assert (place - width * np.arange(50)[:, None]).tolist() == order.tolist(), name
        assert found.tolist() == np.take_along_axis(time, order, 1).tolist(), name


@pytest.mark.parametrize("wide", [1, _sorting.WIDE])
@pytest.mark.parametrize(("width", "n"), SIZES)
def test_the_nth_time_and_those_before_it(width, n, wide, monkeypatch):
    monkeypatch.setattr(_sorting, "WIDE", wide)
    for name, time in tables(width).items():
        first = np.sort(time, axis=1)[:, :n]
        assert nth_time(time, n).tolist() == first[:, -1:].tolist(), name
        found = earliest(time.copy(), n)
        assert found[:, -1:].tolist() == first[:, -1:].tolist(), name
        assert np.sort(found, axis=1).tolist() == first.tolist(), name
        assert in_order(found).tolist() == first.tolist(), name


@pytest.mark.parametrize("rounds", [0, 1, 2, _sorting.EXCHANGES])
def test_neighbors_change_places_until_all_are_in_order(rounds, monkeypatch):
    monkeypatch.setattr(_sorting, "EXCHANGES", rounds)
    rng = np.random.default_rng(5)
    for reach in (1, 2, 5, 300):  # how far from its place a time may stand
        time = np.sort(rng.integers(0, 200, (50, 300)), axis=1).astype(float)
        time = np.take_along_axis(time, (np.arange(300) + reach * rng.random((50, 300))).argsort(axis=1), 1)
        place, found = np.tile(np.arange(300), (50, 1)), time.copy()
        _sorting._exchange_neighbors(place, found)
        assert found.tolist() == np.sort(time, axis=1).tolist()
        assert place.tolist() == time.argsort(axis=1, kind="stable").tolist()


@pytest.mark.parametrize("n", [1, 2, 9])
def test_no_rows_have_no_first_columns(n):
    assert [part.shape for part in first_columns(np.empty((0, 9)), n)] == [(0, n), (0, n)]


def test_taking_the_earliest_in_turn_leaves_the_times_as_they_were():
    for name, time in tables(24).items():
        before = time.copy()
        first_columns(time, 2)
        assert (time == before).all(), name


def test_rows_need_not_lie_one_after_the_other():
    time = np.random.default_rng(0).exponential(size=(30, 80))[:, ::2]
    assert first_columns(time, 7)[0].tolist() == time.argsort(axis=1)[:, :7].tolist()


@pytest.mark.parametrize(("width", "n"), SIZES)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64])
def test_first_events_go_by_time_and_learner(width, n, dtype):
    learner = np.random.default_rng(1).integers(0, 9, (50, width)).astype(dtype)
    for name, time in tables(width).items():
        order = np.lexsort((learner, time), axis=1)[:, :n]
        found, who = first_events(Events(time, learner), n)
        assert found.tolist() == np.take_along_axis(time, order, 1).tolist(), name
        assert who.tolist() == np.take_along_axis(learner, order, 1).tolist(), name


@pytest.mark.parametrize("P", [1, 3, 256, 257, 70_000])
def test_staleness_follows_each_learner_from_pull_to_push_however_it_is_cut(P, monkeypatch):
    rng, rows, n, K = np.random.default_rng(P), 5, 90, 4
    learner = rng.integers(0, P, (rows, n)).astype(narrow(P))
    assert learner.max() < P
    expected, at = np.empty((rows, n), np.int32), [[7] * P for _ in range(rows)]
    for r in range(rows):
        for c, i in enumerate(learner[r]):
            expected[r, c], at[r][i] = 100 + c // K - at[r][i], 100 + (c + 1) // K
    push = np.arange(n)
    used, pulled = (100 + push // K).astype(np.int32), (100 + (push + 1) // K).astype(np.int32)
    for piece in (1, 200, 1 << 15):
        monkeypatch.setattr(_sorting, "PIECE", piece)
        version = np.full((rows, P), 7, np.int32)
        parts = [
            staleness_of(learner[:, some], used[some], pulled[some], version)
            for some in (slice(0, 37), slice(37, n))
        ]
        assert np.concatenate(parts, axis=1).tolist() == expected.tolist()
        assert version.tolist() == at


LAWS = [
    *(Constant(2.0), Empirical([1.0, 2.0, 5.0]), Erlang(), Exponential(2.0), Gamma(0.7, 1.0), LogNormal()),
    *(Lomax(), Pareto(), ShiftedExponential(), Uniform(), Weibull(0.5)),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_laws_that_draw_in_order_give_the_same_times_in_one_call_or_many(law):
    assert draws_in_order(law) and {type(one) for one in LAWS} == IN_ORDER
    one, many = np.random.default_rng(4), np.random.default_rng(4)
    pieces = [law.sample(many, size) for size in (1, 2, 3, 7, (5, 3), 64, 1000)]
    assert np.concatenate([np.ravel(piece) for piece in pieces]).tolist() == law.sample(one, 1092).tolist()


def test_other_laws_are_not_drawn_ahead():
    two = PerLearner([Exponential(), Pareto()])
    assert not draws_in_order(HyperExponential()) and not draws_in_order(two)
    assert draws_in_order(PerLearner(Exponential(), [1.0, 2.0]))


@pytest.mark.parametrize("ahead", [0, 1, 50])
def test_fresh_times_drawn_ahead_are_those_drawn_at_once(ahead):
    source = FreshTimes(Pareto(), np.random.default_rng(2), ahead)
    given = [
        source.times(np.zeros(shape, int), count=count)
        for shape, count in [((3, 4), 2), ((1, 7), 1), ((9, 9), 1)]
    ]
    assert [part.shape for part in given] == [(3, 4, 2), (1, 7, 1), (9, 9, 1)]
    drawn = Pareto().sample(np.random.default_rng(2), 24 + 7 + 81).tolist()
    for part in given:
        assert part.ravel().tolist() == drawn[: part.size]
        part += 1  # what is handed out belongs to the caller
        drawn = drawn[part.size :]


@pytest.mark.parametrize(
    "law", [Exponential(), HyperExponential(), PerLearner([Exponential(), Pareto(), Pareto()])], ids=repr
)
def test_a_stream_does_not_depend_on_how_much_of_it_is_asked_for_at_a_time(law):
    bit, whole = (CommonTimes(law, 3, seed_sequence(0).spawn(2)) for _ in range(2))
    read = bit.reader(1)
    single = [[read(i) for i in range(3)] for _ in range(5 * CHUNK + 3)]
    assert whole.rounds(0, 5 * CHUNK + 3)[1].tolist() == single
    everyone = np.broadcast_to(np.arange(3), (2, 3))
    assert whole.times(everyone, 2, 9)[1].T.tolist() == single[2:11]
    whole.start(np.array([[0, 0, 2], [1, 1, 1]]))
    assert whole.times(everyone)[1, :, 0].tolist() == [single[0][0], single[3][1], single[0][2]]
