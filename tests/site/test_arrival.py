"""Every page as it comes: what follows a question is veiled, and what is deeper is folded."""

import pytest

from tests.site.conftest import DEMO, DESK, PHONE, THEMES, VISIT, WIDGETS, turn


@turn("veiled")
def test_a_veiled_page_on_the_short_path_is_in_order(opened):
    page = opened.at(PHONE, veiled=True)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert opened.judged("scrolling") == []
    assert (opened.errors, opened.elsewhere) == ([], [])


@turn("desk")
def test_every_page_opens_on_the_frames_and_the_open_questions_that_its_state_has(opened):
    page = opened.at(DESK)
    seen = page.evaluate(VISIT, "look")
    assert len(seen) == page.locator(WIDGETS).count()
    assert [box["wrong"] for box in seen if box["wrong"]] == []


@pytest.mark.parametrize("theme", THEMES)
def test_veils_and_folds_are_in_order_in_every_theme(theme, reader, addresses):
    site, name = DEMO
    one = reader(viewport=PHONE, color_scheme=theme)
    one.open(f"{addresses[site]}/{name}.html", everything=False)
    assert one.judged("all") == [] and one.page.locator(".veil-ask").count() > 0
