"""Every page as it comes: what follows a question is veiled, and what is deeper is folded."""

from tests.site.conftest import DESK, PHONE


def test_a_veiled_page_on_the_short_path_is_in_order(opened):
    window, rules = {"light": (PHONE, "all"), "dark": (DESK, "colors")}[opened.scheme]
    page = opened.at(window, veiled=True)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert opened.judged(rules) == []
    assert (opened.errors, opened.elsewhere) == ([], [])
