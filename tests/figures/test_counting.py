"""Facts about staircases of pushes."""

import numpy as np
import pytest

from sgdrace import Lomax
from sgdrace.figures import every_kth, staircases
from sgdrace.figures.colors import law_stroke
from tests.figures.pictures import colors_of, drawn


def test_the_line_has_the_color_of_the_variant_that_never_waits():
    assert colors_of(drawn(staircases([[1.0, 2.0]], 1.0, 2.0))) == {"#e69f00"}


def test_a_description_counts_until_the_end_of_the_axis():
    assert staircases([[0.5, 2.0, 3.0], [1.5, 4.0]], 1.0, 2.5).text == (
        "By time 2.5 s each of 2 learners has pushed between 1 and 2 times, 1.5 on average; "
        "the line t/E[X] is at 2.5."
    )


def test_a_push_at_the_end_of_the_axis_counts():
    assert "has pushed 2 times" in staircases([[1.0, 2.0]], 1.0, 2.0).text


def test_only_learners_that_differ_are_named():
    alike = staircases([[1.0, 3.0], [1.0, 3.0]], 1.0, 2.0)
    unlike = staircases([[1.0, 3.0], [1.0, 1.5, 3.0]], 1.0, 2.0)
    assert "most" not in drawn(alike)
    assert ">most, 2<" in drawn(unlike) and ">fewest, 1<" in drawn(unlike)


def test_a_count_reads_as_english():
    assert "has pushed 1 time;" in staircases([[1.0, 3.0], [1.5, 3.0]], 1.0, 2.0).text
    steps = np.arange(1, 2001) / 1000
    assert "has pushed 1,000 times;" in staircases([steps, steps], 0.001, 1.0).text


def test_one_staircase_is_darker_than_the_others():
    pale = 'stroke-opacity=".4"'
    assert pale not in drawn(staircases([[1.0, 3.0]], 1.0, 2.0))
    assert pale in drawn(staircases([[1.0, 3.0], [1.5, 3.0]], 1.0, 2.0))


def test_learners_that_have_not_pushed_yet_are_drawn():
    assert "has pushed 0 times" in staircases([[3.0], [4.0]], 1.0, 2.0).text
    drawn(staircases([[3.0], [4.0]], 1.0, 2.0))


def test_many_pushes_take_no_more_room_than_the_eye_can_see():
    times = np.random.default_rng(0).exponential(size=(8, 20_000)).cumsum(axis=1)
    assert len(drawn(staircases(times, 1.0, 15_000.0))) < 8_000


def test_bad_pushes_are_refused():
    for pushes in (None, [], 3):
        with pytest.raises(TypeError, match="pushes must hold the times of each learner"):
            staircases(pushes, 1.0, 1.0)
    with pytest.raises(ValueError, match="in the order of their times"):
        staircases([[2.0, 1.0]], 1.0, 1.0)
    with pytest.raises(ValueError, match="at most 8 staircases"):
        staircases([[1.0]] * 9, 1.0, 1.0)
    with pytest.raises(ValueError, match="end at 1, before until = 2"):
        staircases([[3.0], [1.0]], 1.0, 2.0)
    with pytest.raises(ValueError, match="mean must be a finite number above 0"):
        staircases([[1.0]], 0.0, 1.0)
    with pytest.raises(ValueError, match="until must be a finite number above 0"):
        staircases([[1.0]], 1.0, -1.0)


def test_staircases_of_a_law_have_its_color_and_its_name():
    law = Lomax(2.5, 1.5)
    picture = staircases([[1.0, 2.0]], 1.0, 2.0, name="Lomax", law=law)
    assert law_stroke(law).color.lower() in colors_of(drawn(picture))
    assert picture.text.startswith("Lomax. By time 2 s") and "Lomax: pushes" in drawn(picture)


def test_every_kth_push_of_all_learners_makes_an_update():
    picture = every_kth([[1.0, 3.0, 5.0], [2.0, 4.0, 9.0]], K=2, mean=2.0, until=4.5)
    assert picture.text == (
        "By time 4.5 s the 2 learners have pushed 4 times together; every push number 2, 4, 6 and so on "
        "makes an update, at 2 s and 4 s; the line P t/E[X] is at 4.5."
    )
    assert "no update is made yet" in every_kth([[1.0, 3.0]], K=3, mean=1.0, until=2.5).text
    assert "an update, at 2 s;" in every_kth([[1.0, 2.0, 3.0]], K=2, mean=1.0, until=2.5).text


def test_counted_updates_are_dots_in_the_color_of_the_variant_that_never_waits():
    drawing = drawn(every_kth([[1.0, 2.0, 3.0, 4.0]], K=2, mean=1.0, until=4.0))
    assert colors_of(drawing) == {"#e69f00"}
