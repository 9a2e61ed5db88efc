"""Facts about colors, dashes and shades."""

import re
from pathlib import Path

from sgdrace.figures import colors

ROOT = Path(__file__).parents[2]
OURS = {look.color for look in (*colors.VARIANT.values(), *colors.WORK.values(), colors.FADED)} - {colors.INK}


def test_colors_are_written_in_one_place():
    sources = [path for folder in ("lib", "book", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    assert len(sources) > 40 and len(OURS) == 7
    pattern = re.compile("|".join(OURS), re.IGNORECASE)
    written = {path.name for path in sources if pattern.search(path.read_text(encoding="utf-8"))}
    assert written == {"colors.py"}


def test_curves_that_are_no_variants_differ_in_their_dashes_alone():
    assert {stroke.color for stroke in colors.INKS} == {colors.INK}
    assert len({stroke.dash for stroke in colors.INKS}) == len(colors.INKS)
