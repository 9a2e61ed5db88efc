import sys

import ipywidgets as widgets
import matplotlib.pyplot as plt
import numpy as np
import pytest
from ipywidgets.widgets.widget import _instances
from matplotlib.figure import Figure

from sgdrace.explore import PRERENDER, Choice, Play, explore, explorers, frames, glue, panels, predict, show
from sgdrace.explore import shown as shown_module
from sgdrace.figures import Picture

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def line(a, b=0):
    figure = Figure(figsize=(2, 1), facecolor="none")
    figure.subplots().plot([0, 1], [a, b])
    return Picture(figure, f"A line from {a} to {b}.")


@pytest.fixture
def building(monkeypatch):
    """As if the book were being built."""
    monkeypatch.setenv(PRERENDER, "1")


@pytest.fixture
def no_new_widgets():
    """Whatever happens in the test, it leaves no widget behind: nothing half-built on the page."""
    before = set(_instances)
    yield
    assert set(_instances) == before


def below(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from below(child)


def found(shown, kind):
    return [widget for widget in below(shown.widget) if isinstance(widget, kind)]


def visible(widget):
    """The HTML that a reader sees, following the stacks as the browser does."""
    if isinstance(widget, widgets.HTML):
        return "" if widget.layout.display == "none" else widget.value
    if isinstance(widget, widgets.Stack):
        return "" if widget.selected_index is None else visible(widget.children[widget.selected_index])
    return "".join(map(visible, getattr(widget, "children", ())))


def links_between(picker, kind):
    return [
        link.target[0]
        for link in _instances.values()
        if isinstance(link, widgets.widget_link.Link)
        and link.source[0] is picker
        and link.source[1] == "index"
        and isinstance(link.target[0], kind)
    ]


def pick(picker, index):
    """Move a control as the browser would: the links do the rest, and there is no kernel to run them."""
    picker.index = index
    for stack in links_between(picker, widgets.Stack):
        stack.selected_index = index


# Controls


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ([1, 2, 4], widgets.SelectionSlider),
        ([0.1, 0.01], widgets.SelectionSlider),
        (list(np.arange(3)), widgets.SelectionSlider),
        ({1: "a", 2: "b"}, widgets.SelectionSlider),
        (["K-sync", "K-async"], widgets.ToggleButtons),
        ({"one": 1, "two": 2}, widgets.ToggleButtons),
        ([True, False], widgets.ToggleButtons),
        ([1, 4, 2], widgets.ToggleButtons),
        (list("abcdef"), widgets.Dropdown),
        (["a long name for a law of delays", "another long name for a law"], widgets.Dropdown),
    ],
)
def test_ordered_numbers_are_a_slider_few_names_are_buttons_many_are_a_menu(options, kind):
    assert len(found(explore(line, a=options), kind)) == 1


def test_labels_are_in_unicode_and_numbers_are_short():
    shown = explore(lambda eta_max, sigma2: "…", eta_max=[0.001, 0.1], sigma2=[1_000, 20_000])
    first, second = found(shown, widgets.SelectionSlider)
    assert (first.description, first.options) == ("η max", ("0.001", "0.1"))
    assert (second.description, second.options) == ("σ²", ("1,000", "20,000"))
    flag = found(explore(line, a=[True, False]), widgets.ToggleButtons)[0]
    assert flag.options == ("yes", "no")


def test_a_choice_has_its_own_label_and_start():
    shown = explore(
        line, a=Choice([1, 2, 4], start=4, label="height"), b=Choice({"low": 0, "high": 9}, "high")
    )
    assert found(shown, widgets.SelectionSlider)[0].description == "height"
    assert "A line from 4 to 9." in visible(shown.widget)


def test_play_runs_a_slider_through_its_values():
    shown = explore(line, a=Play(range(5), interval=40))
    play, slider = found(shown, widgets.Play)[0], found(shown, widgets.SelectionSlider)[0]
    assert (play.min, play.max, play.interval) == (0, 4, 40)
    assert any(
        isinstance(link, widgets.widget_link.Link)
        and link.source == (play, "value")
        and link.target == (slider, "index")
        for link in _instances.values()
    )


# Frames


def test_a_built_page_has_every_frame_and_the_links_to_reach_it(building):
    shown = explore(line, a=[1, 2, 3], b=["x", "y"])
    slider, buttons = found(shown, widgets.SelectionSlider)[0], found(shown, widgets.ToggleButtons)[0]
    for i, a in enumerate([1, 2, 3]):
        for j, b in enumerate("xy"):
            pick(slider, i)
            pick(buttons, j)
            assert f"A line from {a} to {b}." in visible(shown.widget)
    assert shown.facts["frames"] == 6 and shown.facts["name"] == "explore(line, a, b)"
    assert shown.facts["bytes"] > 6 * 100 and shown.facts["slowest_seconds"] > 0


def test_a_live_kernel_draws_a_frame_when_it_is_asked_for():
    drawn = []

    def counted(a):
        drawn.append(a)
        return line(a)

    shown = explore(counted, a=[1, 2, 3])
    assert drawn == [1]
    slider = found(shown, widgets.SelectionSlider)[0]
    for index, text in [(2, "from 3"), (0, "from 1"), (2, "from 3")]:
        slider.index = index
        assert text in visible(shown.widget)
    assert drawn == [1, 3]


def test_a_live_kernel_shows_the_error_where_the_frame_would_be():
    def picky(a):
        return line(1 / (a - 2))

    shown = explore(picky, a=[1, 2])
    found(shown, widgets.SelectionSlider)[0].index = 1
    assert "fails at a = 2: ZeroDivisionError" in visible(shown.widget)


def test_a_state_without_a_picture_says_why():
    shown = explore(lambda K: line(K) if K < 3 else f"K = {K} is more than P & more.", K=[3, 1])
    assert "K = 3 is more than P &amp; more." in visible(shown.widget)
    assert repr(shown) == "Explorer(K: 2 options). K = 3 is more than P & more."


def test_the_text_alternative_of_a_frame_is_that_of_its_picture():
    shown = explore(line, a=[1, 2])
    assert repr(shown).endswith("A line from 1 to 0.")
    assert 'aria-label="A line from 1 to 0."' in visible(shown.widget)


def test_an_explorer_without_controls_is_one_frame(building):
    assert "A line from 7 to 0." in visible(explore(lambda: line(7)).widget)


def test_what_a_frame_keeps_is_there_for_later_frames_and_later_cells(building):
    kept = []

    def remembered(a):
        kept.append(a)
        return line(a)

    explore(remembered, a=list(range(9)))
    assert kept == list(range(9))


# Bad input


@pytest.mark.parametrize("mode", ["live", "building"])
@pytest.mark.parametrize(
    ("controls", "message"),
    [
        ({"a": []}, "The control a has no option; a reader needs two"),
        ({"a": [1]}, "The control a has only one option; a reader needs two"),
        ({"a": "abc"}, "The control a needs a list of options or a mapping from names to values; got 'abc'"),
        ({"a": 3}, "The control a needs a list"),
        ({"a": [1, None]}, "The control a offers None, which has no label; use a mapping"),
        ({"a": [1, 1.0]}, "shows two options under the same label: 1, 1"),
        ({"a": Choice([1, 2], start=3)}, "The control a cannot start at 3; its options are 1, 2"),
        (
            {"a": range(100), "b": range(100)},
            r"explore\(line, a, b\) has 100 × 100 = 10,000 frames; at most 400",
        ),
    ],
)
def test_wrong_controls_are_refused_in_a_sentence(controls, message, mode, request, no_new_widgets):
    if mode == "building":
        request.getfixturevalue("building")
    with pytest.raises((TypeError, ValueError), match=message):
        explore(line, **controls)


def test_a_draw_function_that_raises_names_the_state(building, no_new_widgets):
    def picky(a, law):
        return line(1 / (a - 2))

    message = r"explore\(picky, a, law\) fails at a = 2, law = Pareto: ZeroDivisionError"
    with pytest.raises(RuntimeError, match=message):
        explore(picky, a=range(3), law={"Pareto": 1, "uniform": 2})


@pytest.mark.parametrize(
    "made",
    [
        lambda a: None,
        lambda a: line(a).figures[0],
        lambda a: line(a).figures,
        lambda a: (line(a).figures[0], "A pair."),
        lambda a: 17,
        lambda a: " ",
    ],
)
def test_a_draw_function_that_returns_no_picture_is_refused(made, no_new_widgets):
    message = (
        r"^explore\(<lambda>, a\) fails at a = 1: TypeError: draw must return a Picture, or a sentence for a "
        r"state that has none; got .+\.$"
    )
    with pytest.raises(RuntimeError, match=message):
        explore(made, a=[1, 2])


@pytest.mark.parametrize("draw", [None, 17, line(1)])
def test_what_is_no_function_is_refused(draw, no_new_widgets):
    with pytest.raises(TypeError, match=r"^draw must be a function that returns a Picture; got .+\.$"):
        explore(draw, a=[1, 2])


@pytest.mark.parametrize("given", [None, line(1).figures[0], (line(1).figures[0], "A pair."), "A sentence."])
def test_only_a_picture_is_shown(given, no_new_widgets):
    with pytest.raises(
        TypeError, match=r"^picture must be a Picture, which is figures with their words; got"
    ):
        show(given)


def test_a_figure_left_open_in_pyplot_is_refused_and_closed(building, no_new_widgets):
    def careless(a):
        plt.figure()
        return line(a)

    with pytest.raises(
        RuntimeError, match=r"at a = 1: ValueError: 1 figure\(s\) left open in pyplot; return"
    ):
        explore(careless, a=[1, 2])
    assert plt.get_fignums() == []


def test_a_figure_of_pyplot_that_is_returned_is_welcome_and_closed():
    def by_hand(a):
        figure, axes = plt.subplots(figsize=(2, 1))
        axes.plot([0, a])
        return Picture(figure, f"Up to {a}.")

    assert "Up to 1." in visible(explore(by_hand, a=[1, 2]).widget)
    assert plt.get_fignums() == []


def test_without_pyplot_there_is_nothing_to_close(monkeypatch):
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot")
    assert repr(show(line(1))) == "Figure. A line from 1 to 0."
    assert frames._open_figures() == set()


def test_frames_that_are_too_heavy_say_by_how_much(building, monkeypatch, no_new_widgets):
    monkeypatch.setattr(explorers, "MOST_BYTES", 1_000)
    message = r"explore\(line, a\) needs 0.0\d MB for its 3 frames, 0.0\d MB over the limit of 0.001 MB"
    with pytest.raises(ValueError, match=message):
        explore(line, a=[1, 2, 3])


# What a cell shows


def test_a_live_notebook_stores_text_and_the_widget_only():
    data, metadata = explore(line, a=[1, 2])._repr_mimebundle_()
    assert data.keys() == {"text/plain", WIDGET_VIEW} and metadata == {}
    assert data["text/plain"] == "Explorer(a: 2 options). A line from 1 to 0."
    assert show(line(1))._repr_mimebundle_()[0].keys() == {"text/plain", WIDGET_VIEW}


def test_a_built_page_has_the_first_frame_without_scripts(building):
    data, metadata = explore(line, a=Choice([1, 2], start=2))._repr_mimebundle_()
    assert data.keys() == {"text/plain", "text/html", WIDGET_VIEW}
    assert 'aria-label="A line from 2 to 0."' in data["text/html"]
    assert metadata["explorer"]["frames"] == 2


def test_a_still_figure_needs_no_widget_on_a_built_page(building):
    data, _ = show(line(1) + line(2))._repr_mimebundle_()
    assert data.keys() == {"text/plain", "text/html"}
    assert data["text/html"].count("<svg") == 2 and data["text/plain"] == (
        "Figure. A line from 1 to 0. A line from 2 to 0."
    )


def test_panels_have_a_picture_and_a_caption_each(building):
    data, _ = panels(("One.", "A < B.", line(1)), ("Two.", "And more.", line(2)))._repr_mimebundle_()
    assert data.keys() == {"text/plain", "text/html"}
    assert data["text/html"].count('role="img"') == data["text/html"].count("<figcaption>") == 2
    assert "<strong>1. One.</strong> A &lt; B.</figcaption>" in data["text/html"]
    assert data["text/plain"] == (
        "Panel 1. One. A < B. A line from 1 to 0.\nPanel 2. Two. And more. A line from 2 to 0."
    )


def test_glue_records_plain_values_under_their_name(capsys, monkeypatch):
    seen = []
    monkeypatch.setattr(shown_module, "display", lambda *args, **kwargs: seen.append((args, kwargs)))
    glue("mean", np.float64(2.5))
    glue("winner", "K-sync")
    key = "application/papermill.record/text/plain"
    assert [args[0][key] for args, _ in seen] == ["2.5", "'K-sync'"]
    assert seen[0][1]["metadata"]["scrapbook"]["name"] == "mean"


# Predictions

ROUND = ("How long is a round?", ["1 s", "2.7 s"])


def test_a_prediction_answers_what_was_picked_and_nothing_before():
    shown = predict(*ROUND, answer="2.7 s", why="Stragglers & co.")
    assert "Stragglers" not in visible(shown.widget)
    radio = found(shown, widgets.RadioButtons)[0]
    pick(radio, 1)
    assert "<strong>Yes: 2.7 s.</strong> Stragglers &amp; co." in visible(shown.widget)
    pick(radio, 0)
    assert "<strong>No: 2.7 s.</strong>" in visible(shown.widget)


def test_each_option_can_have_its_own_reason(building):
    shown = predict(*ROUND, answer="2.7 s", why={"1 s": "That is one learner.", "2.7 s": "Well done."})
    pick(found(shown, widgets.RadioButtons)[0], 0)
    assert "That is one learner." in visible(shown.widget)
    assert shown.html.count("<details><summary>Is it?</summary>") == 2 and "Well done." in shown.html


@pytest.mark.parametrize(
    ("options", "answer", "why", "message"),
    [
        (["1 s"], "1 s", "", "needs two or more different options"),
        (["1 s", "1 s"], "1 s", "", "needs two or more different options"),
        ("ab", "a", "", "needs two or more different options"),
        (["1 s", "2 s"], "3 s", "", "has the answer '3 s', which is none of"),
        (["1 s", "2 s"], "1 s", {"1 s": "yes"}, "needs a reason for each of"),
    ],
)
def test_wrong_predictions_are_refused(options, answer, why, message, no_new_widgets):
    with pytest.raises(ValueError, match=message):
        predict("How long?", options, answer, why)


def test_an_explorer_tells_the_page_that_it_moves_and_a_still_picture_does_not(building):
    moving, still = explore(lambda K: line(K), K=[1, 2]), show(line(1))
    assert 'class="explorer explorer-moves"' in moving.html
    assert "explorer-moves" in moving.widget._dom_classes
    assert 'class="explorer"' in still.html
