"""Facts about a picture and its words."""

import pytest
from matplotlib.figure import Figure

from sgdrace.figures import Picture


def test_figures_side_by_side_keep_their_order_and_their_words():
    first, second, third = Figure(), Figure(), Figure()
    row = Picture(first, "One.") + Picture([second, third], "Two. Three.")
    assert row.figures == (first, second, third)
    assert row.text == "One. Two. Three."


def test_words_can_be_added_or_others_said_and_the_figures_stay():
    picture = Picture(Figure(), "It falls.")
    assert picture.adding("It ends at 3.").text == "It falls. It ends at 3."
    assert picture.saying("It ends at 3.").text == "It ends at 3."
    assert picture.text == "It falls."
    assert picture.adding("More.").figures == picture.saying("Else.").figures == picture.figures


def test_a_picture_says_in_its_repr_what_it_shows():
    assert repr(Picture(Figure(), "It falls.")) == "Picture(1 figure: It falls.)"
    assert repr(Picture([Figure(), Figure()], "Both fall.")) == "Picture(2 figures: Both fall.)"


@pytest.mark.parametrize("text", ["", "  ", None, 3])
def test_a_picture_without_words_is_refused(text):
    with pytest.raises(ValueError, match=r"^text must say in words what the picture shows; got "):
        Picture(Figure(), text)


@pytest.mark.parametrize("figures", [None, [], "figure", [1], Picture(Figure(), "A picture.")])
def test_what_is_no_figure_is_refused(figures):
    with pytest.raises(TypeError, match=r"^figures must be a Figure or a non-empty list of them; got "):
        Picture(figures, "Nothing.")


def test_a_picture_and_something_else_do_not_add_up():
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Picture' and 'str'"):
        Picture(Figure(), "One.") + "Two."
