"""Facts about timelines: their bars, their marks and what is said of them."""

import re

import numpy as np
import pytest

from sgdrace import VARIANTS
from sgdrace.figures import WORK, own_pace, rounds, timeline
from sgdrace.jobs import Jobs
from tests.figures.pictures import colors_of, drawn, limited, race_of, words_of

USED, STALE, CANCELLED = "#009e73", "#cc79a7", "#8a8a8a"
KEY = 1  # paths of each color that belong to the key


def paths(svg, color):
    return re.findall(rf'stroke="{color}"[^>]* d="([^"]*)"', svg)


def test_a_timeline_of_k_sync_has_cancelled_and_no_stale_work():
    svg = drawn(timeline(race_of("K-sync")))
    assert not paths(svg, STALE)
    assert len(paths(svg, CANCELLED)) == len(paths(svg, USED)) == 1 + KEY


def test_a_timeline_of_k_async_has_stale_and_no_cancelled_work():
    svg = drawn(timeline(race_of("K-async")))
    assert len(paths(svg, CANCELLED)) == KEY
    assert len(paths(svg, STALE)) == 1 + KEY


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_heading_says_variant_k_and_the_number_of_updates(variant):
    race = race_of(variant)
    ((words, _, _),) = words_of(drawn(timeline(race, race.time[0, 4])))
    texts = [text for text, _, _ in words]
    assert f"{variant}, K = 4" in texts
    assert "5 updates" in texts


def test_the_key_says_the_share_of_each_kind():
    ((words, _, _),) = words_of(drawn(timeline(Jobs.of_rounds([[1.0, 2.0], [2.0, 1.0]]))))
    assert {"used fresh 75 %", "idle 25 %", "cancelled 0 %"} <= {text for text, _, _ in words}


def test_the_key_tells_stale_work_only_where_there_can_be_some():
    for variant in VARIANTS:
        svg = drawn(timeline(race_of(variant)))
        assert ">used fresh " in svg and (">used stale " in svg) == variant.endswith("-async")
    svg = drawn(timeline([race_of(variant) for variant in VARIANTS]))
    assert ">used fresh<" in svg and ">used stale<" in svg


def test_bars_are_as_long_as_their_jobs():
    svg = drawn(timeline(Jobs.of_rounds([[1.0, 2.0]])))  # the axis of time is 24 to 352
    assert paths(svg, USED)[0] == "M24 28h163m-163 14h327"  # a unit of each is the gap to the next


def test_a_stack_of_timelines_shares_one_axis_that_ends_with_the_shortest():
    races = [race_of(variant) for variant in VARIANTS]
    svg = drawn(timeline(races))
    assert len(words_of(svg)) == 1
    assert {"#0072b2", "#56b4e9", "#d55e00", "#e69f00"} <= colors_of(svg)
    shortest = min(race.time[0, -1] for race in races)
    assert timeline(races).text.count(f"until time {shortest:.3g}") == 4


def test_learners_are_numbered_where_there_is_room():
    few, many = (drawn(timeline(race_of("K-async", P))) for P in (8, 64))
    assert [f">{n}</text>" in few for n in range(1, 9)] == [True] * 8
    assert ">64</text>" not in many


def test_marks_of_a_crowd_of_updates_stay_above_the_rows():
    lengths = []
    for updates in (10, 400):
        svg = drawn(timeline(race_of("K-async", 8, 1, updates)))
        marks = re.search(r'stroke-opacity=".8" stroke-width=".8" d="([^"]*)"', svg)[1]
        lengths.append(float(re.search(r"v([\d.]+)", marks)[1]))
    assert lengths[0] > 100 > 10 > lengths[1]


def test_the_description_of_a_timeline_counts_updates_and_shares():
    text = timeline(Jobs.of_rounds([[1.0, 3.0], [1.0, 1.0]]), until=3.5).text
    assert text == (
        "K-sync, P = 2, K = 2, until time 3.5 s: 1 update; of the learners' time, 57 % was used fresh, "
        "29 % was idle, 14 % is still running."
    )


def test_rounds_say_the_share_of_time_wasted_and_mark_the_slowest():
    svg = drawn(rounds([[1.0, 3.0], [3.0, 1.0]], title="Who is late?"))
    assert ">33 % idle<" in svg
    assert ">Who is late?<" in svg
    dots = re.search(r'stroke-width="7" stroke-linecap="round" d="([^"]*)"', svg)[1]
    assert dots.startswith("M187 42h0M351 28h0")  # learner 2 in the middle, learner 1 at the end


def test_rounds_that_are_cut_off_show_who_is_still_running():
    assert ">running<" in drawn(rounds([[1.0, 3.0]], until=2.0))
    assert ">running<" not in drawn(rounds([[1.0, 3.0]]))


def test_a_persistent_straggler_is_named():
    times = np.ones((5, 4))
    times[:, 2] = 3.0
    assert "learner 3 is the slowest most often, in 5 of 5 rounds." in rounds(times).text


def test_where_all_take_equally_long_nobody_is_the_slowest():
    equal, last = rounds(np.ones((3, 4))), rounds([[1.0, 1.0], [1.0, 2.0]])
    assert equal.text.endswith("and all take equally long in every round.")
    assert ">the slowest<" not in drawn(equal)
    assert last.text.endswith("and learner 2 is the slowest most often, in 1 of 2 rounds.")
    assert drawn(last).count("h0") == 2  # one in the second round, one in the key


def test_before_the_first_round_ends_there_is_no_slowest():
    assert rounds([[1.0, 3.0]], until=2.0).text == (
        "P = 2 learners, 0 rounds until time 2 s: "
        "25 % of the learners' time is spent waiting for the slowest."
    )
    assert "linecap" in drawn(rounds([[1.0, 3.0]], until=2.0))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_race_is_drawn_as_its_jobs_are(variant):
    race = race_of(variant)
    assert drawn(timeline(race)) == drawn(timeline(race.jobs()))
    assert timeline(race, until=2).text == timeline([race.jobs(0)], until=2).text


@pytest.mark.parametrize("races", [None, [], ["K-sync"], 3])
def test_a_timeline_needs_races(races):
    with pytest.raises(TypeError, match="races must be a Race, its Jobs or a non-empty list of them; got"):
        timeline(races)


@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_and_bars_of_many_learners_are_seen_on_a_phone(variant):
    svg = drawn(timeline(race_of(variant, 64, 32, 10)))
    ((_, _, height),) = words_of(svg)
    frame = 21 + 40 + 38  # heading, axis and key
    assert 64 * 4 + frame <= height < 390  # four pixels a row, and less high than the phone is wide
    for color in (USED, STALE, CANCELLED):
        for width in re.findall(rf'stroke="{color}" stroke-width="([\d.]+)"', svg):
            assert float(width) >= 1


@pytest.mark.parametrize("P", [2, 8, 16, 64])
def test_the_slowest_is_marked_by_a_dot_that_is_seen(P):
    svg = drawn(rounds(np.random.default_rng(P).exponential(size=(5, P))))
    sizes = re.findall(r'stroke-width="([\d.]+)" stroke-linecap="round"', svg)
    assert sizes and min(map(float, sizes)) >= 5


def test_a_title_that_would_run_into_the_share_is_refused():
    with pytest.raises(ValueError, match=r"the title 'Who is late\? .*' is too long to stand above the rows"):
        rounds([[1.0, 3.0]], title="Who is late? " * 4)


def test_who_waits_for_nobody_starts_the_next_mini_batch_at_once():
    times = [[1.0, 3.0], [3.0, 1.0], [2.0, 2.0]]
    picture = own_pace(times, until=4.0, title="No server")
    assert picture.text == (
        "P = 2 learners, each at its own pace until time 4 s: 4 mini-batches are done, by each 2 and 2."
    )
    svg = drawn(picture)
    assert ">4 mini-batches<" in svg and ">No server<" in svg and "idle" not in svg
    bars = re.search(rf'stroke="{USED}"[^>]* d="([^"]*)"', svg)[1]
    assert bars == "M24 28h81m1 0h245m-327 14h245m1 0h81"  # no gap but the unit that parts two bars


def test_one_learner_alone_is_told_as_such():
    assert own_pace([[1.0], [2.0]]).text == (
        "P = 1 learner at its own pace until time 3 s: 2 mini-batches are done."
    )
    many = own_pace(np.ones((3, 8)), until=2.0).text
    assert many.endswith("16 mini-batches are done, by each between 2 and 2.")


def test_own_paces_end_where_the_first_learner_has_no_more_times():
    with pytest.raises(ValueError, match=r"until must be at most 2, where the race ends; got 3\."):
        own_pace([[1.0, 2.0], [1.0, 2.0]], until=3.0)


def test_what_is_ignored_is_named_only_where_something_can_be():
    race = limited()
    svg, text = drawn(timeline(race)), timeline(race).text
    assert text.startswith("K-batch-async, P = 8, K = 4, staleness at most 0, until time ")
    assert "was ignored" in text and "K-batch-async, K = 4, s ≤ 0" in svg and ">ignored " in svg
    assert WORK["ignored"].color.lower() in colors_of(svg)
    free = drawn(timeline(race_of("K-batch-async")))
    assert "ignored" not in free and "s ≤" not in free
    both = drawn(timeline([race_of("K-batch-sync"), race]))
    assert ">ignored<" in both and ">cancelled<" in both
