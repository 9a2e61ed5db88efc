"""Facts about the picture of a block of threads."""

from sgdrace.figures import warps
from sgdrace.gpu import block
from tests.figures.pictures import drawn, warps_at
from tests.sentences import refused


def test_nothing_is_drawn_that_has_not_happened_yet():
    early, late = drawn(warps_at(1)), drawn(warps_at(10))
    assert ">load<" in early and ">x·w<" not in early and ">add<" in late


def test_the_words_say_what_shared_memory_holds():
    assert "holds 8 empty cells." in warps_at(0).text
    assert "holds 3 empty cells and 5 products." in warps_at(4).text
    assert "holds 5 residuals and 3 wrong numbers." in warps_at(5, without=2).text


def test_the_end_says_whether_the_gradient_is_right():
    assert warps_at(10).text.endswith("In the end the gradient is right.")
    assert warps_at(10, without=2).text.endswith("In the end wrong: what 4 warps added up.")
    assert warps_at(10, without=3).text.endswith("In the end wrong: what 3 warps added up.")
    assert warps_at(10, 2, paces=(2, 1, 1, 1)).text.endswith("the gradient is right.")


def test_what_cannot_be_drawn_is_refused():
    refused(lambda: warps(3, 1), TypeError, "block must be a Block, as sgdrace.gpu.block.run makes it")
    refused(lambda: warps(block.run(), 1, until=4), ValueError, "until must be at least 9; got 4")
    refused(lambda: warps(block.run(), -1), ValueError, "time must be at least 0; got -1")
