"""Checks of a chapter: they hold what is true, refuse what is false, and say which."""

import math

import numpy as np
import pytest

from sgdrace.estimates import Estimate, mean_of, share_of, variance_of
from sgdrace.explore import check, table


def estimates(values, error, runs=math.inf):
    return [Estimate(value, error, runs) for value in values]


class TestClaims:
    def test_exact_numbers_are_equal_to_rounding(self):
        shown = check("two sums", "left = right", law=["a", "b"], left=[0.1 + 0.2, 1.0], right=[0.3, 1.0])
        assert "Left = right, to rounding." in shown.text
        with pytest.raises(AssertionError, match=r"Left = right fails at law = b: 1\.0\d* against 1\.0"):
            check("two sums", "left = right", law=["a", "b"], left=[0.3, 1.00001], right=[0.3, 1.0])

    def test_a_number_can_stand_on_the_right(self):
        check("bounds", "words < 6", "words >= 4", P=[10, 1000], words=[4, 5])
        with pytest.raises(AssertionError, match="Words < 5 fails at P = 1,000"):
            check("bounds", "words < 5", P=[10, 1000], words=[4, 5])

    def test_words_are_compared_as_words(self):
        check("ageing", "seen = said", seen=["NLTU", "NSTU"], said=["NLTU", "NSTU"])
        with pytest.raises(AssertionError, match="fails at seen = NSTU: NSTU against neither"):
            check("ageing", "seen = said", seen=["NLTU", "NSTU"], said=["NLTU", "neither"])

    def test_the_standard_error_decides_about_estimates(self):
        check("near", "raced = formula", formula=[1.0], raced=estimates([1.03], 0.01))
        with pytest.raises(AssertionError, match=r"5\.0 standard errors where 3\.9 decide"):
            check("far", "raced = formula", formula=[1.0], raced=estimates([1.05], 0.01))

    def test_at_most_stands_within_noise_and_below_only_beyond_it(self):
        near = estimates([1.02], 0.01)
        check("noise", "raced <= bound", bound=[1.0], raced=near)
        check("noise", "raced >= bound", bound=[1.0], raced=near)
        for claim in ("raced < bound", "raced > bound"):
            with pytest.raises(AssertionError):
                check("noise", claim, bound=[1.0], raced=near)
        check("clear", "raced > bound", bound=[1.0], raced=estimates([1.05], 0.01))
        with pytest.raises(AssertionError):
            check("clear", "raced <= bound", bound=[1.0], raced=estimates([1.05], 0.01))

    def test_a_difference_between_two_estimates_has_both_errors(self):
        check("both", "a = b", a=estimates([1.0], 0.03), b=estimates([1.18], 0.04))  # 3.6 of 0.05
        with pytest.raises(AssertionError):
            check("both", "a = b", a=estimates([1.0], 0.03), b=estimates([1.18], 0.0))

    def test_few_runs_need_more_standard_errors(self):
        check("ten runs", "raced = formula", formula=[1.0], raced=estimates([1.05], 0.01, runs=10))
        with pytest.raises(AssertionError):
            check("many runs", "raced = formula", formula=[1.0], raced=estimates([1.05], 0.01, runs=10_000))

    def test_runs_that_are_all_alike_leave_only_rounding(self):
        check("constant", "raced = formula", formula=[1.0], raced=estimates([1.0 + 1e-12], 0.0))
        with pytest.raises(AssertionError):
            check("constant", "raced = formula", formula=[1.0], raced=estimates([1.001], 0.0))

    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    def test_what_is_no_number_never_passes(self, bad):
        for column in ([bad], estimates([bad], 0.1), estimates([1.0], bad)):
            for claim in ("raced = formula", "raced <= formula", "raced > formula"):
                if claim == "raced > formula" and column == [math.inf]:
                    continue  # infinity is above every number
                with pytest.raises(AssertionError):
                    check("no number", claim, formula=[1.0], raced=column)

    @pytest.mark.no_cover
    @pytest.mark.parametrize("relation", ["=", "<=", ">="])
    def test_true_claims_are_refused_as_rarely_as_stated(self, relation):
        """At a rate of 1 in 20 for a whole table, 2,000 tables of 5 rows; false alarm 1e-4 (binomial)."""
        rng = np.random.default_rng(1)
        refused = 0
        for _ in range(2000):
            rows = rng.normal(size=(5, 8))
            try:
                check("luck", f"raced {relation} 0", false_alarms=0.05, raced=[mean_of(row) for row in rows])
            except AssertionError:
                refused += 1
        assert 64 <= refused <= 139  # 0.049 on average: 98 ± 9.6, and 3.9 of them on either side; see Šidák

    def test_all_rows_that_fail_are_named(self):
        with pytest.raises(AssertionError, match=r"K = 1.*K = 3") as caught:
            check("many", "a = b", K=[1, 2, 3], a=[1.0, 2.0, 3.0], b=[0.0, 2.0, 0.0])
        assert "K = 2" not in str(caught.value)
        assert "K  " in str(caught.value)  # the table


class TestWords:
    def test_the_line_says_what_was_compared_and_what_came_out(self):
        raced = estimates([1.013, 1.0], 0.01)
        shown = check("2 laws, formula against 4,000 rounds", "raced = formula", formula=1.0, raced=raced)
        first = shown.text.splitlines()[0]
        assert first == (
            "Checked: 2 laws, formula against 4,000 rounds. "
            "Raced = formula: at most 1.3 standard errors apart."
        )
        assert f"<summary><strong>{first.replace('Checked:', 'Checked:</strong>')}</summary>" in shown.html

    def test_the_page_gets_a_table_and_how_sure_it_is(self):
        html = check("x", "raced = 2", law={"a": 0, "b & c": 1}, raced=estimates([2.0, 2.0], 0.01)).html
        assert html.count("<tr>") == 3
        assert '<th scope="row" class="words">b &amp; c</th><td class="number">2.000 ± 0.010</td>' in html
        assert "once" not in html
        assert "one check in 10,000 would exceed that" in html
        assert "0.5 % of its value" in html

    def test_an_error_is_no_share_of_a_value_that_should_be_zero(self):
        raced = estimates([0.01, 2.0], 0.02)
        assert "is 1 % of its value" in check("x", "raced = formula", formula=[0.0, 2.0], raced=raced).html

    def test_a_difference_beyond_noise_says_how_far(self):
        raced = estimates([1.0, 2.0], 0.01)
        assert (
            "Raced > 0.5 in both rows, by 50 standard errors or more."
            in check("x", "raced > 0.5", raced=raced).text
        )


@pytest.mark.parametrize(
    ("claims", "columns", "sentence"),
    [
        ([], {"a": [1]}, "check\\('x'\\) needs a claim such as 'raced = formula'"),
        (
            ["a is 1"],
            {"a": [1]},
            "a claim must read like 'raced = formula', beginning with a column; got 'a is 1'",
        ),
        (["b = 1"], {"a": [1]}, "beginning with a column; got 'b = 1'"),
        (["a = b"], {"a": [1]}, r"must end in a number or one of the columns \['a'\]"),
        (["a = 1"], {}, "given by its rows or by its columns"),
        (["a = 1"], {"a": []}, "lists of one length; got {'a': 0}"),
        (["a = 1"], {"a": [1], "b": [1, 2]}, "lists of one length; got {'a': 1, 'b': 2}"),
        (["a = 1"], {"a": [1], "false_alarms": 0}, "must be between 0 and 1, both excluded; got 0"),
        (["a = 1"], {"rows": [{"a": 1}, {"b": 1}]}, "rows must be one or more, all with the same names"),
        (["a = 1"], {"rows": []}, "rows must be one or more, all with the same names"),
    ],
)
def test_a_check_that_makes_no_sense_says_why(claims, columns, sentence):
    with pytest.raises(ValueError, match=sentence):
        check("x", *claims, **columns)


def test_one_run_has_no_standard_error():
    for measure in (mean_of, share_of, variance_of):
        with pytest.raises(ValueError, match="a standard error needs at least two runs"):
            measure([1.0])


class TestTables:
    def test_rows_and_columns_give_the_same_table(self):
        by_rows = table([{"K": 1, "mean": 0.5}, {"K": 2, "mean": 1.5}])
        assert by_rows.text == table(K=[1, 2], mean=[0.5, 1.5]).text == "K   mean\n1  0.500\n2  1.500"

    def test_numbers_of_very_different_sizes_are_written_each_by_itself(self):
        assert table(x=[1e-6, 12345.678]).text.split() == ["x", "1e-06", "1.235e+04"]

    def test_counts_are_whole_and_truths_are_words(self):
        assert table(P=[10, 100_000], stable=[True, False]).text.split() == [
            *("P", "stable", "10", "yes", "100,000", "no"),
        ]

    def test_no_minus_before_a_zero(self):
        assert table(x=[-1e-9, 1.0]).text.split() == ["x", "-1e-09", "1"]
        assert table(x=estimates([-1e-9, 1.0], 0.1)).text.split("\n")[1].strip() == "0.00 ± 0.10"

    def test_an_array_of_estimates_is_a_column(self):
        shown = table(mean=mean_of([[1.0, 2.0], [3.0, 4.0]]))
        assert shown.text.split("\n")[1:] == ["2.0 ± 1.0", "3.0 ± 1.0"]


class TestEstimates:
    """Their standard errors against many repetitions; false alarm about 1e-4 each (4 standard errors)."""

    def spread(self, measure, draw):
        rng = np.random.default_rng(2)
        found = [measure(draw(rng)) for _ in range(4000)]
        values = np.array([one.value for one in found])
        said = np.sqrt(np.mean([one.standard_error**2 for one in found]))
        return values.mean(), values.std(), said

    def test_mean(self):
        mean, seen, said = self.spread(mean_of, lambda rng: rng.exponential(size=50))
        assert abs(mean - 1) < 4 / math.sqrt(50 * 4000)
        assert abs(said / seen - 1) < 4 / math.sqrt(2 * 4000)

    def test_variance(self):
        mean, seen, said = self.spread(variance_of, lambda rng: rng.normal(size=400))
        assert abs(mean - 1) < 4 * math.sqrt(2 / 400 / 4000)
        assert abs(said / seen - 1) < 4 / math.sqrt(2 * 4000)

    def test_share(self):
        mean, seen, said = self.spread(share_of, lambda rng: rng.random(400) < 0.3)
        assert abs(mean - 0.3) < 4 * math.sqrt(0.21 / 400 / 4000)
        assert abs(said / seen - 1) < 4 / math.sqrt(2 * 4000) + 0.002  # two more hits and misses
        assert share_of([False] * 100).standard_error > 0.01

    def test_moving_and_scaling(self):
        moved = (-2 * Estimate(3.0, 0.5, runs=7) + 1) / 4
        assert (moved.value, moved.standard_error, moved.runs) == (-1.25, 0.25, 7)
