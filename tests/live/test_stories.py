"""What the stories of the page say is true of their races, in most of many runs with other luck."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sgdrace.live import facts, part
from tests.live.test_engine import node

LUCKS = 24


@pytest.fixture(scope="module")
def stories():
    """What Node.js tells of each story, by name; updates, staleness and rebounds are (races, variants)."""
    source = f"const FACTS = {json.dumps(facts())};\n{part('race.js')}\n{part('setting.js')}"
    asked = json.dumps({"source": source, "lucks": LUCKS})
    script = Path(__file__).with_name("stories.js")
    done = subprocess.run([node(), script], input=asked, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert all(story["said"] == [] for story in told)
    arrays = ("updates", "staleness", "rebounds", "cancelled", "early", "late")
    return {story["name"]: story | {key: np.array(story[key]) for key in arrays} for story in told}


def pairs(counts):
    """Wins of the synchronous and of the asynchronous pair, as shares."""
    return counts[:2].sum() / LUCKS, counts[2:].sum() / LUCKS


def mean_time_left(story):
    """Of what K-sync cancelled, and its standard error."""
    return story["cancelled"].mean(), story["cancelled"].std(ddof=1) / np.sqrt(LUCKS)


def test_there_is_a_test_for_every_story(stories):
    tested = [
        value.__doc__ for name, value in globals().items() if name.startswith("test_") and value.__doc__
    ]
    assert sorted(tested) == sorted(stories)


def test_hares_update_twice_as_often_lead_early_and_lose(stories):
    """Hares and tortoises"""
    story = stories["Hares and tortoises"]
    assert (story["updates"][:, 2:].min(axis=1) > 2 * story["updates"][:, :2].max(axis=1)).all()
    assert pairs(story["early"])[1] > 0.9
    assert pairs(story["late"])[0] > 0.8


def test_what_is_cancelled_was_as_far_as_what_replaces_it(stories):
    """Cancelling is free"""
    left, error = mean_time_left(stories["Cancelling is free"])
    assert abs(left - 1) < 4 * error < 0.1


def test_what_is_cancelled_was_farther_and_who_cancels_updates_more_often(stories):
    """Cancelling pays"""
    story = stories["Cancelling pays"]
    left, error = mean_time_left(story)
    assert left - 1 > 4 * error
    assert (story["updates"][:, :2].min(axis=1) > story["updates"][:, 2:].max(axis=1)).all()


def test_who_waits_for_all_updates_less_often_than_who_takes_any(stories):
    """All wait for one"""
    story = stories["All wait for one"]
    assert (2 * story["updates"][:, [0, 2]].max(axis=1) < story["updates"][:, [1, 3]].min(axis=1)).all()
    assert story["late"][[1, 3]].sum() > 0.9 * LUCKS


def test_seven_updates_old_four_times_as_often_and_ahead(stories):
    """Stale wins"""
    story = stories["Stale wins"]
    assert story["staleness"][:, 2:].mean() == pytest.approx(7, abs=0.5)
    often = story["updates"][:, 2:].sum() / story["updates"][:, :2].sum()
    assert often == pytest.approx(4, abs=0.5)
    assert pairs(story["late"])[1] > 0.9


def test_longer_steps_make_the_stale_swing_and_lose(stories):
    """Stale and hot"""
    story = stories["Stale and hot"]
    sync, stale = story["rebounds"][:, :2], story["rebounds"][:, 2:]
    assert (stale.min(axis=1) > 2 * sync.max(axis=1)).all(), (sync.mean(0), stale.mean(0))
    assert (stale.min(axis=1) > stories["Stale wins"]["rebounds"][:, 2:].max(axis=1)).all()
    assert pairs(story["late"])[0] > 0.9
