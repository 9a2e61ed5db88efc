"""Facts about code that a page shows."""

import pytest

from sgdrace.explore import listing
from sgdrace.gpu.kernels import source
from sgdrace.protocol import VirtualClock, run


def test_the_event_loop_fits_a_phone_and_one_screen():
    lines = repr(listing(run, since="sync =")).splitlines()
    assert lines[0] == 'sync = variant.endswith("-sync")'
    assert len(lines) <= 27 and max(map(len, lines)) <= 46


def test_a_listing_is_the_code_itself_indented_half_as_far():
    assert repr(listing(VirtualClock.now)).splitlines() == [
        "def now(self) -> float:",
        '  """Seconds since the start of the race."""',
        "  return self.clock",
    ]


def test_a_page_sets_a_listing_as_python():
    shown = listing(VirtualClock.now, since="return")
    assert shown._repr_markdown_() == "```python\nreturn self.clock\n```"


def test_what_cannot_be_listed_is_refused():
    with pytest.raises(TypeError, match="function must have a source that can be read; got 3"):
        listing(3)
    with pytest.raises(ValueError, match="since must be how a line of run begins; got 'nothing'"):
        listing(run, since="nothing")
    with pytest.raises(ValueError, match="until must be how a line of run begins; got 'import'"):
        listing(run, since="sync =", until="import")  # which is there, but before


def test_a_part_of_the_cuda_source_is_set_as_cuda():
    part = listing(source(), since="for (unsigned distance", until="return part", language="cuda")
    assert repr(part).splitlines() == [
        "for (unsigned distance = WARP / 2; distance > 0; distance /= 2)",
        "  part += __shfl_xor_sync(WHOLE_WARP, part, distance);",
        "return part;",
    ]
    assert part._repr_markdown_().startswith("```cuda\nfor (unsigned")
