"""Facts about histograms of measured times."""

import re

import numpy as np
import pytest
from scipy import stats

from sgdrace import Exponential, Uniform
from sgdrace.figures import histogram
from tests.figures.pictures import drawn, numbers_are_finite

TIMES = np.random.default_rng(0).exponential(size=2000)


def bars(svg):
    return re.search(r'fill-opacity=".42" stroke="none" d="([^"]*)"', svg)[1].lower().count("m")


def test_a_histogram_has_as_many_bars_as_the_data_bear():
    assert 8 <= bars(drawn(histogram(TIMES))) <= 48
    assert bars(drawn(histogram([1.0] * 20))) == 1


def test_fitted_laws_are_named_and_differ_in_their_dashes():
    svg = drawn(histogram(TIMES, {"exponential": Exponential(), "uniform": Uniform(0.0, 2.0)}, "step (ms)"))
    assert ">exponential<" in svg and ">uniform<" in svg and ">step (ms)<" in svg
    assert svg.count("stroke-dasharray") == 1  # a path that the curve and its key share


def test_what_lies_beyond_the_axis_is_said():
    far = np.append(np.linspace(1, 2, 995), [50, 60, 70, 80, 90])
    assert "10 of them lie beyond the axis, up to 90" in drawn(histogram(far))  # 1 % of 1,000
    assert "beyond" not in drawn(histogram(np.linspace(1, 2, 1000)))


def test_the_distance_of_a_law_is_kolmogorovs():
    text = histogram(TIMES, {"exponential": Exponential(0.5)}).text
    wanted = stats.kstest(TIMES, stats.expon(scale=2).cdf).statistic
    assert f"The exponential law is off by at most {100 * wanted:.0f} %" in text


def test_the_description_gives_mean_median_and_tail():
    text = histogram(np.arange(1, 101), x_name="step time (ms)").text
    assert text == (
        "100 measured values of step time (ms): mean 50.5, median 50.5; 1 % are above 99 and the longest is "
        "100."
    )


@pytest.mark.parametrize("times", [[0.0], [0.0, 0.0], [3.0], [1.0, 1.0, 1.0, 5.0]])
def test_data_that_hardly_vary_are_drawn(times):
    assert numbers_are_finite(drawn(histogram(times)))


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="every entry of times must be a finite number of at least 0"):
        histogram([1.0, -1.0])
    with pytest.raises(TypeError, match="fits must be a mapping from names to laws"):
        histogram([1.0], [Exponential()])
    with pytest.raises(TypeError, match="the law 'fast' must be a law"):
        histogram([1.0], {"fast": 3})
    with pytest.raises(ValueError, match="at most 6 fitted laws"):
        histogram([1.0], {str(k): Exponential() for k in range(7)})
    with pytest.raises(ValueError, match="is too long for a phone"):
        histogram([1.0], {"x" * 60: Exponential()})
