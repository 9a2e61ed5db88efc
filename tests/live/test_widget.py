"""The race as a widget, and as what the built page mounts."""

import html
import json
import re

import pytest

from sgdrace.explore import PRERENDER
from sgdrace.live import LiveRace, still
from sgdrace.live.facts import FIRST


def test_it_starts_as_the_page_does():
    race = LiveRace()
    assert {name: getattr(race, name) for name in ("P", "K", "law", "parameter", "seed")} | {
        "eta": race.learning_rate
    } == FIRST


def test_traits_that_hang_together_move_together():
    race = LiveRace(P=16, K=12, law="pareto", parameter=3.0)
    assert (race.K, race.parameter) == (12, 3.0)
    race.P = 8
    assert race.K == 8
    race.law = "lomax"  # whose tail index may be 3 too
    assert race.parameter == 3.0
    race.law = "exponential"
    assert race.parameter is None
    race.law = "shifted"
    assert race.parameter == 0.5


@pytest.mark.parametrize(
    ("traits", "error", "sentence"),
    [
        ({"P": 65}, ValueError, "P must be between 2 and 64; got 65."),
        ({"P": 4, "K": 5}, ValueError, "K must be between 1 and 4; got 5."),
        ({"K": 1.5}, TypeError, "K must be a whole number between 1 and 8; got 1.5."),
        ({"law": "paretto"}, ValueError, "law 'paretto' is unknown; did you mean pareto?"),
        ({"parameter": 2}, ValueError, "parameter must be between 0.05 and 0.95; got 2."),
        ({"learning_rate": 0}, ValueError, "learning_rate must be between 0.01 and 1; got 0."),
        ({"seed": -1}, ValueError, "seed must be between 0 and 2147483648; got -1."),
        ({"times": [0]}, ValueError, "every entry of times must be a finite number above 0; entry 0 is 0."),
        ({"eta": 0.1}, TypeError, "LiveRace has no setting eta."),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_refused_in_a_sentence_and_loses_nothing(traits, error, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}$"):
        LiveRace(**traits)
    if len(traits) == 1 and "eta" not in traits:
        race = LiveRace()
        before = repr(race)
        with pytest.raises(error):
            setattr(race, *next(iter(traits.items())))
        assert repr(race) == before


def test_a_kernel_shows_a_widget_and_the_built_page_a_place_for_the_script(monkeypatch):
    live, _ = LiveRace()._repr_mimebundle_()
    assert "text/html" not in live and any("widget-view" in kind for kind in live)
    monkeypatch.setenv(PRERENDER, "1")
    race = LiveRace(P=3, K=2, law="lomax")
    built, _ = race._repr_mimebundle_()
    assert race.comm is None, "a page without a kernel has no use for the state of a widget"
    assert set(built) == {"text/plain", "text/html"} and built["text/plain"] == live["text/plain"].replace(
        "P=8", "P=3"
    ).replace("'shifted', parameter=0.5", "'lomax', parameter=2.5")
    place = re.match('<div data-race="(.*?)"></div><noscript>', built["text/html"])
    setting = json.loads(html.unescape(place[1]))
    assert setting == FIRST | {"P": 3, "K": 2, "law": "lomax", "parameter": 2.5}
    assert html.escape(still(setting).text) in built["text/html"]


def test_own_step_times_reach_the_page_and_its_picture(monkeypatch):
    monkeypatch.setenv(PRERENDER, "1")
    pasted = LiveRace(law="pasted", times=[8.0, 8.0]).html()
    assert "&quot;times&quot;: [8.0, 8.0]" in pasted
    assert html.escape(still(FIRST | {"law": "constant"}).text) in pasted
