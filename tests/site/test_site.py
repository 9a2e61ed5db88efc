"""The built pages as a reader meets them, in a browser with no kernel and no other host."""

import json
import re

import pytest

from tests.site.conftest import (
    DESK,
    PAGES,
    PHONE,
    SITES,
    STOPWATCH,
    VISIT,
    WIDGETS,
    WITH_WIDGETS,
    html,
    turn,
)


@pytest.mark.parametrize(
    "window",
    [pytest.param(PHONE, id="phone", marks=turn("phone")), pytest.param(DESK, id="desk", marks=turn("desk"))],
)
def test_every_page_is_in_order_on_every_screen(opened, window):
    page = opened.at(window)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate("document.querySelectorAll('mjx-merror').length") == 0
    assert page.evaluate(
        "[...document.querySelectorAll('.math')].every(m => m.querySelector('mjx-container'))"
    )
    drawn = (
        "s => [...document.querySelectorAll(s)].every(v => v.parentElement.querySelector('.jupyter-widgets'))"
    )
    assert page.evaluate(drawn, WIDGETS)
    assert (opened.errors, opened.elsewhere) == ([], [])


# In the page: backgrounds behind outputs that do not follow the theme.
OFF_COLOR = """() => {
  const paper = getComputedStyle(document.body).backgroundColor;
  const boxes = '.cell_output :is(.widget-subarea, .text_html, .explorer, .predict)';
  return [...document.querySelectorAll(boxes)]
    .map(e => getComputedStyle(e).backgroundColor)
    .filter(color => color !== 'rgba(0, 0, 0, 0)' && color !== paper);
}"""


# In the page: formulas and tables that are wider than the text around them.
# Tables of checks are folded, and scroll in a box of their own.
CUT = """() => {
  const end = element => element.getBoundingClientRect().right;
  const box = element => element.closest('.math:not(span), td, p, li, dd, section');
  return [...document.querySelectorAll('article :is(mjx-math, table:not(.report, .numbers))')]
    .filter(one => end(one) > end(box(one)) + 1)
    .map(one => one.closest('.math, table').textContent.trim().slice(0, 60));
}"""


@turn("phone unfolded")
def test_no_formula_and_no_table_is_cut_off_on_a_phone(opened):
    assert opened.at(PHONE, unfolded=True).evaluate(CUT) == []


@turn("desk unfolded")
@pytest.mark.parametrize(("theme", "rules"), {"light": "all", "dark": "colors"}.items())
def test_axe_finds_nothing_serious_and_boxes_follow_the_theme(opened, theme, rules):
    page = opened.at(DESK, unfolded=True, formulas=False, color_scheme=theme)
    assert page.evaluate(OFF_COLOR) == []
    assert opened.judged(rules) == []


@turn("controls")
@WITH_WIDGETS
def test_every_state_of_every_control_shows_its_frame_and_its_text(opened, note):
    page, heard = opened.at(DESK, formulas=False), len(opened.errors)
    visited = page.evaluate(VISIT, "move")
    assert len(visited) == page.locator(WIDGETS).count() > 0
    for box in visited:
        assert box["kind"] != "nothing" and box["wrong"] == []
        assert _is_heard(box["sizes"], box["texts"]), f"a control of {box['sizes']} states changes no text"
    assert opened.errors[heard:] == []
    note(page=opened.name, states=sum(box["states"] for box in visited))


def _is_heard(sizes, texts):
    """Whether every control changes the text alternative somewhere."""
    heard = []
    for d, size in enumerate(sizes):
        below = 1
        for other in sizes[d + 1 :]:
            below *= other
        starts = [n for n in range(len(texts)) if (n // below) % size == 0]
        heard.append(any(texts[n] != texts[n + below * i] for n in starts for i in range(1, size)))
    return all(heard)


# In the page: step to the last state without waiting for any frame.
DRAG = """handle => {
  const key = {key: 'ArrowRight', bubbles: true, cancelable: true};
  for (let i = 0; i < Number(handle.getAttribute('aria-valuemax')); i++)
    handle.dispatchEvent(new KeyboardEvent('keydown', key));
}"""


@turn("controls")
@WITH_WIDGETS
def test_a_slider_that_is_dragged_faster_than_frames_appear_ends_at_the_right_one(opened):
    page = opened.at(DESK, formulas=False)
    for explorer in page.locator(".explorer:has(.noUi-handle)").all()[:1]:  # or none: predictions only
        handle, frames = explorer.locator(".noUi-handle").first, explorer.locator(".explorer-frames")
        handle.press("End")
        last = _settled(page, frames)
        handle.press("Home")
        assert _settled(page, frames) != last
        handle.evaluate(DRAG)
        assert _settled(page, frames) == last


def _settled(page, frames):
    """The frame that is still there a moment later."""
    seen = None
    while seen != (now := frames.locator(".widget-html-content").inner_html()):
        seen = now
        page.wait_for_timeout(200)
    return seen


def test_a_key_press_is_answered(demo, note):
    page = demo.at(PHONE)
    page.evaluate(STOPWATCH)
    for handle in page.locator(".explorer .noUi-handle").all():
        handle.focus()
        last = int(float(handle.get_attribute("aria-valuemax")))
        for key in ["Home", *["ArrowRight"] * min(last, 10), "Home"]:
            page.keyboard.press(key)
            page.wait_for_timeout(60)
    latencies = sorted(page.evaluate("window.latencies"))
    assert latencies, "no key press was answered"
    at_95 = latencies[int(0.95 * (len(latencies) - 1))]
    note(page=demo.name, presses=len(latencies), median_ms=latencies[len(latencies) // 2], p95_ms=at_95)


@turn("desk")
def test_controls_have_names(opened):
    controls = ".noUi-handle, .widget-toggle-buttons, .widget-play button, .widget-radio-box"
    names = opened.at(DESK).evaluate(
        "s => [...document.querySelectorAll(s)].map(e => e.getAttribute('aria-label'))", controls
    )
    assert all(names)


# In the page: how many animations its widget state has.
ANIMATIONS = """() =>
  [...document.querySelectorAll('script[type="application/vnd.jupyter.widget-state+json"]')]
  .flatMap(script => Object.values(JSON.parse(script.textContent).state))
  .filter(model => model.model_name === 'PlayModel').length"""


def plays(page):
    """Each Play button of a page, with the handle of the slider that it moves."""
    rows = page.locator(".explorer-play").all()
    assert len(rows) == page.evaluate(ANIMATIONS)
    return [(row.locator(".widget-play button").first, row.locator(".noUi-handle")) for row in rows]


@turn("controls")
@WITH_WIDGETS
def test_play_plays(opened):
    page, heard = opened.at(DESK, formulas=False), len(opened.errors)
    for button, handle in plays(page):
        before = handle.get_attribute("aria-valuenow")
        button.click()
        page.wait_for_function(
            "([h, b]) => h.getAttribute('aria-valuenow') !== b", arg=[handle.element_handle(), before]
        )
        button.click()
    assert opened.errors[heard:] == []


# In the page: pictures that are not seen, though nothing folds them, or that have no text.
UNSEEN = """() => [...document.querySelectorAll('.explorer [role=img]')].filter(picture => {
  const {width, height} = picture.getBoundingClientRect();
  const seen = picture.checkVisibility({visibilityProperty: true}) && width && height;
  return !(seen || picture.closest('details:not([open])')) || !picture.ariaLabel;
}).map(picture => picture.outerHTML.slice(0, 200))"""

FRAMED = """views => [...document.querySelectorAll(views)].map(view =>
  Boolean(view.parentElement.querySelector('.explorer [role=img], .explorer-note, .predict')))"""


@turn("desk")
def test_the_first_frame_is_there_without_scripts(without_scripts):
    page = without_scripts.at(DESK)
    assert all(page.evaluate(FRAMED, WIDGETS))
    assert page.evaluate(UNSEEN) == []


@pytest.mark.parametrize(("site", "name"), PAGES)
def test_the_notebook_can_be_downloaded(site, name):
    links = re.findall(r'<a href="([^"]*)"[^>]*btn-download-source-button', html(site, name))
    assert len(links) == 1
    target = (SITES[site].folder / name).parent / links[0]
    assert target.exists()
    if target.suffix == ".ipynb":
        assert json.loads(target.read_text())["nbformat"] == 4


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("how", ["served", "file"])
def test_search_finds_pages(site, how, reader, addresses):
    base = addresses[site] if how == "served" else SITES[site].folder.as_uri()
    one = reader(viewport=DESK)
    page = one.open(f"{base}/search.html?q={'straggler' if site == 'demo' else 'gradients'}")
    page.wait_for_selector("#search-results li a")
    assert (one.errors, one.elsewhere) == ([], [])


@pytest.mark.parametrize(("site", "name"), PAGES)
def test_no_page_links_to_a_repository_that_is_not_known(site, name):
    text = (SITES[site].folder / f"{name}.html").read_text()  # a page that is missing is no success
    launch = re.findall(r'href="https://(?:mybinder|colab)[^"]*', text)
    assert all(re.search(r"/(?:gh|gl|github)/[\w.-]+/[\w.-]+", link) for link in launch)
