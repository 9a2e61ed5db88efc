"""Facts about the pictures of laws and of their order statistics."""

import re

import numpy as np
import pytest
from scipy import stats

from sgdrace import Constant, Empirical, Exponential, Lomax, Pareto, PerLearner, Uniform, Weibull
from sgdrace.figures import (
    densities,
    law_card,
    means,
)
from sgdrace.figures.colors import LAW
from tests.examples import Own
from tests.figures.pictures import drawn, words_of


def texts(figures):
    return [text for words, _, _ in words_of(drawn(figures)) for text, _, _ in words]


def test_both_densities_are_named_with_their_means():
    words = texts(densities(Exponential(), 8, 6))
    assert "X, mean 1" in words
    assert "X6:8, mean 1.22" in words


def test_the_axis_of_time_does_not_depend_on_k():
    ticks = [
        [text for text in texts(densities(Pareto(2.5, 0.6), 8, K)) if text[0].isdigit()] for K in (1, 5, 8)
    ]
    assert ticks[0] == ticks[1] == ticks[2]


def test_an_area_under_a_density_is_one():
    svg = drawn(densities(Uniform(0.0, 2.0), 1, 1))
    color = LAW["Uniform"].color
    data = re.search(rf'<path fill="{color}" fill-opacity="[^"]*" stroke="none" d="M([^"]*)"', svg)[1]
    width, height = float(re.search(r"h([\d.]+)v", data)[1]), float(re.search(r"v([\d.]+)", data)[1])
    axis = {text: (box[0] + box[2]) / 2 for text, _, box in words_of(svg)[0][0] if text in ("0", "1")}
    assert width / (axis["1"] - axis["0"]) == pytest.approx(2, rel=0.02)
    assert 30 < height < 160


def test_means_mark_the_chosen_k_with_its_value():
    svg = drawn(means(Exponential(), 8, 6))
    assert re.findall(r'font-weight="600"><text[^>]*>([^<]*)', svg) == ["1.22"]
    assert svg.count('stroke-width="11"') == 1
    assert "E[X] = 1" in svg


def test_what_is_infinite_is_said():
    law = Pareto(0.9, 1.0)
    assert "infinite from K = 8" in texts(means(law, 8, 8))
    assert not any(text.startswith("E[X] =") for text in texts(means(law, 8, 3)))
    assert 'font-weight="600"' not in drawn(means(law, 8, 8))
    assert densities(law, 8, 8).text.startswith(
        "One mini-batch takes infinitely long on average; the 8th fastest of 8 learners takes infinitely "
        "long. Half"
    )
    assert means(law, 8, 8).text.endswith(
        "infinitely long at K = 8; one learner alone takes infinitely long."
    )
    alone = Pareto(0.5, 1.0)
    assert "infinite from K = 1" in texts(means(alone, 1, 1))


@pytest.mark.parametrize(
    ("law", "P", "K", "words"),
    [
        (Exponential(), 8, 8, "rises from 0.125 s at K = 1 to 2.72 s at K = 8; one learner alone takes 1 s."),
        (Exponential(), 8, 1, "rises from 0.125 s at K = 1 to 2.72 s at K = 8; one learner alone takes 1 s."),
        (Uniform(0.0, 1.0), 3, 2, "from 0.25 s at K = 1 to 0.5 s at K = 2 and 0.75 s at K = 3"),
        (Constant(2.0), 8, 3, "is 2 s for every K up to 8; one learner alone takes 2 s."),
        (Exponential(), 1, 1, "is 1 s for every K up to 1; one learner alone takes 1 s."),
    ],
)
def test_the_description_of_means_says_how_they_rise(law, P, K, words):
    assert words in means(law, P, K).text


@pytest.mark.parametrize(
    ("P", "K", "place"),
    [
        (3, 1, "1st"),
        (3, 2, "2nd"),
        (3, 3, "3rd"),
        (8, 4, "4th"),
        (30, 11, "11th"),
        (30, 22, "22nd"),
        (200, 112, "112th"),
    ],
)
def test_the_description_of_densities_names_the_place(P, K, place):
    assert f"the {place} fastest of {P} learners" in densities(Exponential(), P, K).text


def test_equal_times_are_called_just_as_long():
    assert (
        "takes 2 s, just as long. Half of the time it takes between 2 and 2 s."
        in densities(Constant(2), 4, 3).text
    )


def test_a_card_tells_what_age_means():
    for law, words in (
        (Exponential(), "at any age as good as new"),
        (Uniform(0.0, 2.0), "new longer than used: age brings the end nearer"),
        (Lomax(2.5, 1.5), "new shorter than used: age is a bad sign"),
        (Pareto(2.5, 0.6), "neither of the two: it depends on the age"),
    ):
        assert words in texts(law_card(law))
        assert words in law_card(law).text


def test_a_card_of_a_law_without_density_says_no_hazard():
    text = law_card(Constant()).text
    assert "Hazard" not in text
    assert text.endswith("New longer than used: age brings the end nearer.")
    assert "density" in texts(law_card(Empirical([1, 2, 2, 5])))


def test_an_infinite_hazard_leaves_the_plot_and_does_not_flatten_it():
    ticks = [text for text in texts(law_card(Weibull(0.5)).figures[1]) if re.fullmatch(r"[\d.]+", text)]
    assert "1" in ticks and all(float(tick) < 1000 for tick in ticks)


def test_the_mean_and_deviation_of_a_card_are_those_of_the_law():
    text = law_card(Uniform(0.0, 2.0)).text
    assert text.startswith("A mini-batch takes 1 s on average, with standard deviation 0.577 s; half of them")


def test_laws_of_scipy_and_of_anybody_are_drawn():
    assert "X, mean 1" in texts(densities(stats.expon(), 4, 2))
    own = Own(Exponential(), ("mean", "cdf", "ppf"))
    assert "X, mean 1" in texts(densities(own, 4, 2))  # without a density, as a histogram


@pytest.mark.parametrize("function", [densities, means])
def test_bad_arguments_are_refused_in_one_sentence(function):
    with pytest.raises(ValueError, match="K must be between 1 and 4; got 5"):
        function(Exponential(), 4, 5)
    with pytest.raises(ValueError, match="P must be at least 1; got 0"):
        function(Exponential(), 0, 1)
    with pytest.raises(TypeError, match="law must be one law that all learners share"):
        function(PerLearner(Exponential(), [1.0, 2.0]), 2, 1)
    with pytest.raises(TypeError, match="law must be a law of mini-batch times"):
        function("exponential", 2, 1)


def test_a_steep_density_does_not_flatten_the_other():
    svg = drawn(densities(Exponential(), 64, 1))
    assert np.isfinite([float(n) for n in re.findall(r"\d+\.?\d*", svg.split("<g")[0])]).all()
    assert "X1:64, mean 0.0156" in texts(densities(Exponential(), 64, 1))
