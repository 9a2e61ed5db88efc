"""Facts about the pictures of a scorecard."""

import re

import pytest

from sgdrace.estimates import Estimate
from sgdrace.figures import evidence, verdicts
from sgdrace.figures.colors import VERDICT
from sgdrace.scorecard import CLAIMS, VERDICTS, Evidence, Row
from tests.figures.pictures import colors_of, drawn, verdicts_of_all, words_of

NEAR, FAR = Evidence("near", Estimate(1.0, 0.02), "=", 1.05), Evidence("far", 9.0, ">", 1.0, "contrary")


def test_every_verdict_has_a_color_and_a_line():
    assert {*VERDICT} == {*VERDICTS} and len({*VERDICT.values()}) == len(VERDICTS)
    picture = verdicts_of_all()
    assert colors_of(drawn(picture)) == {color.lower() for color in VERDICT.values()}
    assert all(claim.name in picture.text for claim in CLAIMS)
    assert all(verdict in picture.text for verdict in VERDICTS)
    assert all(f"{title}: " in picture.text for title in ("Findings", "Questions: our answers", "Often said"))


def test_evidence_is_grouped_by_what_it_does_for_the_claim():
    picture = evidence(Row(CLAIMS[0], (FAR, NEAR)))
    assert picture.text.endswith("For it: near, 1.000 ± 0.020 = 1.050. Against it, as stated: far, 9 > 1.")
    assert "→" in drawn(picture) and "✗" not in drawn(picture)


def test_what_fails_is_crossed_out_in_red():
    row = Row(CLAIMS[0], (NEAR, FAR))
    assert VERDICT["red: its test fails"].lower() not in colors_of(drawn(evidence(row)))
    failing = drawn(evidence(row.changed(1.3)))
    assert "✗ 1.000 ± 0.020 = 1.365" in failing and VERDICT["red: its test fails"].lower() in failing


@pytest.mark.parametrize("other", [2.0, Estimate(0.0310, 0.0005), Estimate(0.03106, 0.00025)])
def test_numbers_keep_off_the_track(other):
    one = Evidence("late: error, K varied and K = 4", Estimate(0.0141, 0.0004), "<", other)
    ((words, _, _),) = words_of(drawn(evidence(Row(CLAIMS[0], (one,)))))
    (numbers,), (arrow,) = ([box for text, _, box in words if mark in text] for mark in "<←")
    assert numbers[2] < arrow[0] or numbers[3] < arrow[1]


def test_indices_stand_below():
    picture = drawn(evidence(Row(CLAIMS[0], (Evidence("P·H_P and E[X_K:K]", 1.0, "=", 1.0),))))
    assert "_" not in "".join(re.findall(r"<text.*?</text>", picture)) and "E[X_K:K]" in picture


def test_pictures_need_rows_and_evidence():
    with pytest.raises(ValueError, match=f"the claim '{CLAIMS[0].name}' was not tested here"):
        evidence(Row(CLAIMS[0], ()))
    for wrong in ([], [1]):
        with pytest.raises(TypeError, match="rows must be the rows of a scorecard, one or more"):
            verdicts(wrong)
