"""Definitions at the words that need them, and anchors that land where they can be read."""

import re
import sys

import pytest
from docutils import nodes

from tests.site.conftest import DESK, PAGES, PATIENCE, PHONE, READY, ROOT, SITES, html, turn

sys.path.insert(0, str(ROOT / "book/_ext"))
import book_cards
from book_cards import Place

LAWS = "/book/appendix/delay-laws.html"  # a light page with many cards
CARD = ".card-of-word:not([hidden])"
HAS_CARDS = [case for case in PAGES if "<template data-card" in html(*case.values)]
WITH_CARDS = {case.id for case in HAS_CARDS}
GLOSSARY = (ROOT / "book/appendix/glossary.md").read_text()


def _shown(page):
    """The open card, once it has its place."""
    page.wait_for_function(f"document.querySelector('{CARD}')?.style.visibility === ''")
    return page.locator(CARD)


def _is_inside(page, card):
    box, window = card.bounding_box(), page.viewport_size
    return (
        box["x"] >= 0
        and box["y"] >= 0
        and box["x"] + box["width"] <= window["width"]
        and box["y"] + box["height"] <= window["height"]
    )


def test_every_page_of_the_book_that_defines_nothing_has_cards():
    assert {name for name in SITES["book"].pages if name.count("/") == 1} <= WITH_CARDS


@pytest.mark.parametrize(("site", "name"), HAS_CARDS)
def test_a_page_carries_the_definitions_that_it_links_to_and_no_others(site, name):
    text = html(site, name)
    article = re.sub(r"<template.*?</template>", "", text, flags=re.DOTALL)
    carried = re.findall(r'<template data-card="([^"]*)"', text)
    used = re.findall(r'<a class="reference internal" href="([^"]*#(?:term|notation)-[^"]*)"', article)
    assert sorted(carried) == sorted(set(used))


# In the page: open cards, each from one link, wherever that is in the window, and say what is wrong.
# Links in a solution that is still folded can't be reached.
OPEN_EACH = """async most => {
  const paper = getComputedStyle(document.body).backgroundColor;
  const reached = [...document.querySelectorAll('a.has-card')]
    .filter(link => link.checkVisibility({visibilityProperty: true}));
  const links = [...new Map(reached.map(link => [link.dataset.card, link])).values()].slice(0, most);
  const open = () => [...document.querySelectorAll('.card-of-word:not([hidden])')];
  const ready = () => open().length === 1 && open()[0].style.visibility === '';
  const until = async condition => {
    for (const began = performance.now(); !condition() && performance.now() - began < 60000;)
      await new Promise(requestAnimationFrame);
  };
  const wrong = [];
  for (const [n, link] of links.entries()) {
    link.scrollIntoView({block: ['start', 'center', 'end'][n % 3], behavior: 'instant'});
    link.focus({preventScroll: true});
    await until(ready);
    if (!ready()) { wrong.push(`${link.textContent}: ${open().length} cards`); continue; }
    const [card] = open(), box = card.getBoundingClientRect(), words = card.innerText.trim();
    const formulas = [...card.querySelectorAll('.math')];
    const says = (fault, found) => found && wrong.push(`${fault}: ${words}`);
    says('outside', box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight);
    says('cut', card.scrollWidth > card.clientWidth || card.scrollHeight > card.clientHeight);
    says('of another theme', getComputedStyle(card).backgroundColor !== paper);
    says('without its formulas', !formulas.every(one => one.querySelector(':scope > .tex > mjx-container')));
    says('with an error', card.querySelector('mjx-merror'));
    says('without its source', !/In the (glossary|notation|the demonstration page)$/.test(words));
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}));
    says('still open', open().length);
  }
  return [links.length, wrong];
}"""


@pytest.mark.parametrize(
    ("theme", "most"),  # all cards look alike, but not all fit alike
    [
        pytest.param("light", 1000, marks=turn("phone")),
        pytest.param("dark", 1, marks=turn("dark phone")),
    ],
)
def test_every_card_fits_a_phone_and_follows_the_theme(opened, theme, most):
    page = opened.at(PHONE, formulas=theme == "light", color_scheme=theme)
    page.keyboard.press("Tab")  # so that the focus counts as the keyboard's
    count, wrong = page.evaluate(OPEN_EACH, most)
    assert wrong == [] and (count > 0) == (opened.name in WITH_CARDS)
    assert (opened.errors, opened.elsewhere) == ([], [])


@turn("phone")
def test_screen_readers_hear_the_definition_with_the_link(opened):
    heard = opened.at(PHONE).evaluate(
        """() => [...document.querySelectorAll('a.has-card')]
          .map(e => document.getElementById(e.getAttribute('aria-describedby')).textContent)"""
    )
    assert bool(heard) == (opened.name in WITH_CARDS) and all(re.search(r"\w", words) for words in heard)
    assert [words for words in heard if re.search(r"[\\<]\w|\\\(", words)] == []


def test_a_description_reads_its_formulas_aloud(reader, addresses):
    page = reader(viewport=DESK).open(addresses["book"] + LAWS)
    about = page.locator('a.has-card[href$="#notation-h"]').first.get_attribute("aria-describedby")
    assert page.locator(f"#{about}").text_content() == "harmonic number 1 + 1/2 + ⋯ + 1/n"


def test_pointing_shows_the_definition_and_leaves_time_to_reach_it(reader, addresses):
    page = reader(viewport=DESK).open(addresses["book"] + LAWS)
    link = page.locator('a.has-card[href$="#term-learner"]').first
    link.hover()
    card = _shown(page)
    assert "computes gradients" in card.inner_text() and _is_inside(page, card)
    assert page.locator(CARD).count() == 1
    card.hover()
    page.wait_for_timeout(500)
    assert card.is_visible()
    page.locator("article h1").hover()
    card.wait_for(state="hidden")
    link.hover()
    _shown(page).get_by_role("link", name="In the glossary").click()
    page.wait_for_url("**/appendix/glossary.html#term-learner")


def test_the_keyboard_opens_closes_and_follows(reader, addresses):
    page = reader(viewport=DESK).open(addresses["book"] + LAWS)
    page.keyboard.press("Tab")
    link = page.locator("a.has-card").first
    link.focus()
    card = _shown(page)
    page.keyboard.press("Escape")
    assert not card.is_visible() and link.evaluate("e => e === document.activeElement")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    first = _shown(page).inner_text()
    page.keyboard.press("Tab")  # to another word, in this text
    assert _shown(page).inner_text() != first
    page.keyboard.press("Shift+Tab")
    assert _shown(page).inner_text() == first
    page.keyboard.press("Enter")
    page.wait_for_url("**/appendix/*.html#notation-x")


def test_a_tap_opens_the_card_and_the_next_one_goes_on(reader, addresses):
    page = reader(viewport=PHONE, has_touch=True, is_mobile=True).open(addresses["book"] + LAWS)
    here = page.url
    link = page.locator('a.has-card[href$="#notation-k"]').first
    link.tap()
    card = _shown(page)
    assert page.url == here and _is_inside(page, card)
    assert card.locator(".card-name mjx-container").is_visible()
    page.locator("article h1").tap()
    assert not card.is_visible() and page.url == here
    link.tap()
    more = _shown(page).get_by_role("link", name="In the notation")
    assert more.bounding_box()["height"] >= 24
    more.tap()
    page.wait_for_url("**/appendix/notation.html#notation-k")
    page.go_back()
    page.wait_for_function(READY, polling=PATIENCE)
    link.tap()
    _shown(page)
    link.tap()
    page.wait_for_url("**/appendix/notation.html#notation-k")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colors_give_a_card_its_edge(scheme, reader, addresses):
    one = reader(viewport=DESK, color_scheme=scheme, forced_colors="active")
    page = one.open(addresses["book"] + LAWS)
    page.locator("a.has-card").first.hover()
    look = _shown(page).evaluate(
        """e => {
          const look = getComputedStyle(e);
          return [look.borderTopWidth, look.borderTopColor, look.backgroundColor];
        }"""
    )
    assert look[0] == "2px" and look[1] != look[2]
    assert look[2] == page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_cards_are_not_printed(reader, addresses):
    page = reader(viewport=DESK).open(addresses["book"] + LAWS)
    page.locator("a.has-card").first.hover()
    card = _shown(page)
    page.emulate_media(media="print")
    assert not card.is_visible()


def test_without_scripts_a_link_is_a_link(reader, addresses):
    page = reader(java_script_enabled=False, viewport=DESK).open(addresses["book"] + LAWS)
    assert "computes gradients, one mini-batch" not in page.locator("body").inner_text()
    page.locator('article a[href$="#term-learner"]').first.click()
    assert page.url.endswith("appendix/glossary.html#term-learner")


def test_cards_work_from_the_file_system(reader):
    one = reader(viewport=DESK)
    page = one.open((SITES["book"].folder / "book/appendix/delay-laws.html").as_uri())
    page.locator('a.has-card[href$="#term-learner"]').first.hover()
    assert "computes gradients" in _shown(page).inner_text()
    assert (one.errors, one.elsewhere) == ([], [])


def test_a_page_without_formulas_typesets_those_of_its_cards(reader, addresses):
    page = reader(viewport=DESK).open(f"{addresses['book']}/book/appendix/performance.html")
    page.locator('a.has-card[href$="#term-update"]').first.hover()
    assert _shown(page).locator("mjx-container").count() == 3  # K, j and j + 1


# In the page: words that link themselves where they must not.
OUT_OF_PLACE = """() => [...document.querySelectorAll('a.has-card:has(.std-term)')]
  .filter(e => e.parentElement.closest('h1, h2, h3, pre, code, caption, figcaption, .admonition-title, a'))
  .map(e => e.textContent)"""


@turn("phone")
def test_no_heading_caption_or_code_has_a_card(opened):
    assert opened.at(PHONE).evaluate(OUT_OF_PLACE) == []


def _linked(text, wanted):
    """The text with brackets around what links itself."""
    paragraph = nodes.paragraph("", text)
    places = {form: Place("glossary", word) for word, forms in wanted.items() for form in (word, *forms)}
    book_cards.link_first(paragraph[0], places, lambda at, words: nodes.reference("", words, refid=at.anchor))
    return "".join(f"[{c.astext()}]" if isinstance(c, nodes.reference) else c for c in paragraph.children)


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("A learner and another learner.", "A [learner] and another learner."),
        ("Learners’ time; a learner", "[Learners]’ time; a learner"),
        ("The K-batch-sync and K-sync rules", "The K-batch-sync and [K-sync] rules"),
        ("relearner, learner-like, learnerx", "relearner, learner-like, learnerx"),
        ("the renewal\ntheorem of a renewal process", "the [renewal\ntheorem] of a renewal process"),
        ("no word of the glossary", "no word of the glossary"),
    ],
)
def test_the_first_use_of_a_whole_word_is_linked(text, linked):
    wanted = {"learner": ["learners"], "k-sync": [], "renewal theorem": [], "renewal": []}
    assert _linked(text, wanted) == linked.replace("a renewal process", "a [renewal] process")


def test_only_running_text_links_itself():
    document = nodes.section("", nodes.title("", "learner"), nodes.paragraph("", "prose"))
    document += nodes.bullet_list("", nodes.list_item("", nodes.paragraph("", "", nodes.Text("listed "))))
    document += nodes.admonition("", nodes.title("", "boxed"), nodes.paragraph("", "in a box"))
    document += nodes.figure("", nodes.caption("", "below a figure"))
    document += nodes.table("", nodes.entry("", nodes.paragraph("", "in a table")))
    document += nodes.paragraph("", "", nodes.literal("", "code"), nodes.Text(" after"), nodes.math("", "x"))
    document += nodes.paragraph("", "", nodes.reference("", "a link"), nodes.emphasis("", "new"))
    assert [str(text) for text in book_cards.prose(document)] == ["prose", "listed ", " after"]


@pytest.mark.parametrize(("site", "name"), HAS_CARDS)
def test_no_entry_links_itself_twice_on_a_page(site, name):
    article = re.sub(r"<template.*?</template>", "", html(site, name), flags=re.DOTALL)
    listed = re.findall(r"^  ([\w\-– ]+): \[(.*)\]$", GLOSSARY.split("---")[1], re.MULTILINE)
    by_word = dict(listed)
    assert len(by_word) > 30
    links = re.findall(r'href="[^"]*#(term-[^"]*)"><span class="xref std std-term">([^<]*)</span>', article)
    source = _source(name)
    for word in by_word:
        anchor = f"term-{word.replace(' ', '-')}"
        used = [text for target, text in links if target == anchor]
        if len(used) > 1:  # then an author did it
            assert re.search(r"\{term\}`[^`]*" + re.escape(word), source, re.IGNORECASE), word


def _source(name):
    return next(
        (ROOT / f"{name}{end}").read_text() for end in (".ipynb", ".md") if (ROOT / f"{name}{end}").exists()
    )


def _entries():
    """The words of each entry of the glossary and its definition."""
    blocks = "\n".join(re.findall(r"```\{glossary\}\n(.*?)```", GLOSSARY, re.DOTALL))
    for block in re.split(r"\n\s*\n", blocks.strip()):
        lines = block.strip("\n").split("\n")
        yield (
            [line for line in lines if not line.startswith(" ")],
            " ".join(line.strip() for line in lines if line.startswith(" ")),
        )


def test_the_glossary_has_the_words_of_the_book():
    words = {word for words, _ in _entries() for word in words}
    wanted = (
        "learner run trace mini-batch update staleness straggler NLTU NSTU floor renewal race round version"
    )
    assert set(wanted.split()) <= words


def test_a_definition_is_at_most_two_sentences():
    long = [words[0] for words, text in _entries() if len(re.findall(r"[.?!](?:\s|$)", text)) > 2]
    assert long == []


# In the page: some places that links lead to, the last of each kind: all above it moves while the page loads.
TARGETS = """() => {
  const kinds = ['section section[id]', '.proof[id]', '.exercise[id]', 'dt[id]', 'div.math[id]', 'td p[id]'];
  return kinds.flatMap(kind => {
    const all = [...document.querySelectorAll(`article ${kind}`)].filter(e => e.checkVisibility());
    return all.slice(-1).map(e => e.id);
  });
}"""
# In the page: how far below the header a place is, and whether the end of the page came first.
LANDED = """id => {
  const header = document.querySelector('.bd-header-article').getBoundingClientRect();
  const place = document.getElementById(id);
  const mark = place.matches('section') ? place.querySelector('h1, h2, h3, h4') : place;
  const end = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
  return [mark.getBoundingClientRect().top - Math.max(0, header.bottom), end];
}"""


@pytest.mark.parametrize("window", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize(
    "name", ["book/order-statistics", "book/appendix/glossary", "book/appendix/notation"]
)
def test_no_anchor_lands_under_the_header(name, window, reader, addresses):
    address = f"{addresses['book']}/{name}.html"
    page = reader(viewport=window).open(address)
    targets = page.evaluate(TARGETS)
    assert len(targets) >= (3 if "order" in name else 2)
    for target in targets:
        page.goto("about:blank")
        page.goto(f"{address}#{target}")
        page.wait_for_function(READY, polling=PATIENCE)
        page.wait_for_timeout(300)
        below, end = page.evaluate(LANDED, target)
        assert below >= 0 and (below <= 120 or end), target
