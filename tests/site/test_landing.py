"""The order of the landing page: panels, table of protocols, race; on a phone the race before the table."""

import pytest

from tests.site.conftest import DESK, PHONE

TOPS = """() => Object.fromEntries(Object.entries({title: 'h1', panels: '.panels', table: 'article table',
    race: '[data-race]', decides: '#what-decides-it'}).map(
    ([name, selector]) => [name, document.querySelector(selector).getBoundingClientRect().top]))"""
PANELS = """() => [...document.querySelectorAll('.panels figure')].map(panel => {
    const {left, right, top} = panel.getBoundingClientRect(); return {left, right, top}; })"""


@pytest.mark.parametrize(
    ("window", "order"),
    [(DESK, "title panels table race decides"), (PHONE, "title panels race table decides")],
    ids=["desk", "phone"],
)
def test_the_panels_come_first(reader, addresses, window, order):
    tops = reader(viewport=window).open(f"{addresses['book']}/book/index.html").evaluate(TOPS)
    assert sorted(tops, key=tops.get) == order.split()


@pytest.mark.parametrize("window", [DESK, {"width": 768, "height": 1024}], ids=["desk", "tablet"])
def test_the_panels_stand_side_by_side_where_there_is_room(reader, addresses, window):
    panels = reader(viewport=window).open(f"{addresses['book']}/book/index.html").evaluate(PANELS)
    assert len(panels) == 3 and len({panel["top"] for panel in panels}) == 1
    assert panels[-1]["right"] <= window["width"]


def test_on_a_phone_the_next_panel_peeks_in_and_the_keyboard_brings_it(reader, addresses):
    page = reader(viewport=PHONE).open(f"{addresses['book']}/book/index.html")
    first, second, _ = page.evaluate(PANELS)
    assert first["right"] < second["left"] < PHONE["width"] < second["right"]
    page.get_by_role("group", name="Step by step").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"({PANELS})()[1].right <= {PHONE['width']}")
