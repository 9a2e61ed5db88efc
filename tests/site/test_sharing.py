"""What a shared link shows of a page, and what a phone shows of the book."""

import re
import struct
import sys
from html import unescape

import numpy as np
import pytest
from docutils import nodes
from matplotlib.image import imread

from tests.site.conftest import PAGES, PHONE, ROOT, SITES, html, turn

sys.path.insert(0, str(ROOT / "book/_ext"))
import book_sharing

BOOK = "Slow and stale gradients can win the race"


def _card(html):
    found = re.findall(r'<meta (?:name|property)="([\w:]+)" content="([^"]*)"', html)
    assert len(dict(found)) >= len([name for name, _ in found if name.startswith(("og:", "twitter:"))])
    return {name: unescape(value) for name, value in found}


def _picture(site, name, card):
    """The file that the card's relative address leads to."""
    return (SITES[site].folder / name).parent / card["og:image"]


@pytest.mark.parametrize(("site", "name"), PAGES)
def test_every_page_has_a_card(site, name):
    card = _card(html(site, name))
    assert card["og:title"] and card["og:site_name"] == BOOK
    assert card["og:description"] == card["description"]
    assert 20 <= len(card["description"]) <= 200
    assert not re.search(r"[\\`$]|\{\w+\}", card["description"])
    assert card["author"] and card["twitter:card"] == "summary_large_image"
    assert card["og:type"] == ("website" if name == SITES[site].pages[0] else "article")
    assert card["og:title"] in card["og:image:alt"]
    head = _picture(site, name, card).read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:]) == (1200, 630)
    assert (card["og:image:width"], card["og:image:height"]) == ("1200", "630")


@pytest.mark.parametrize(("site", "name"), PAGES)
def test_the_picture_keeps_its_margins_and_is_not_empty(site, name):
    ink = imread(_picture(site, name, _card(html(site, name))))[:, :, :3].min(axis=2) < 0.9
    margin = book_sharing.MARGIN - 6
    rows, columns = (np.flatnonzero(ink.any(axis=axis)) for axis in (1, 0))
    assert columns[0] >= margin and columns[-1] < 1200 - margin
    assert rows[0] >= margin - 10 and rows[-1] < 630 - 40
    assert ink[:380].mean() > 0.01 and ink[380:].mean() > 0.1  # words above, races below


def test_a_page_speaks_with_its_own_question():
    cards = {name: _card(html("book", name)) for name in SITES["book"].pages}
    assert cards["book/index"]["og:title"] == BOOK
    assert cards["book/index"]["description"] == "Eight learners train one model. Who should wait for whom?"
    assert cards["book/k-variants"]["og:title"] == "Four ways to wait"
    assert len({card["description"] for card in cards.values()}) == len(cards)
    assert len({card["og:image"] for card in cards.values()}) == len(cards)


@pytest.mark.parametrize("site", SITES)
def test_the_card_of_the_first_page_shows_the_race_and_says_what_it_shows(site):
    first = SITES[site].pages[0]
    card = _card(html(site, first))
    assert _picture(site, first, card).read_bytes() == (ROOT / "book/_static/race.png").read_bytes()
    assert re.search(r"Time [\d.]+ of \d+\. K-\S+: loss", card["og:image:alt"])


@pytest.mark.parametrize("site", SITES)
def test_the_address_of_the_site_has_the_card_of_its_first_page(site):
    root = (SITES[site].folder / "index.html").read_text()
    first = SITES[site].pages[0]
    assert f'content="0; url={first}.html"' in root
    front, page = _card(root), _card(html(site, first))
    assert front["og:title"] == page["og:title"]
    assert (SITES[site].folder / front["og:image"]).exists()


class App:
    """What the extension asks of Sphinx."""

    def __init__(self, base):
        titles = {"book/race": nodes.title("", "Races & rounds")}
        self.env = type("Env", (), {"titles": titles})
        self.builder = type("Builder", (), {"get_target_uri": staticmethod(lambda page: f"{page}.html")})
        self.config = type("Config", (), {"html_title": BOOK, "author": "Somebody", "root_doc": "book/index"})
        self.config.html_baseurl = ""
        if base is not None:
            book_sharing.configure(self, self.config)


@pytest.mark.parametrize(
    ("address", "image"),
    [
        ("", "../_static/sharing/book-race.png"),
        ("https://example.org/sgdrace", "https://example.org/sgdrace/_static/sharing/book-race.png"),
        ("https://example.org/", "https://example.org/_static/sharing/book-race.png"),
    ],
)
def test_addresses_are_full_when_the_site_has_one(address, image, monkeypatch):
    monkeypatch.setenv(book_sharing.VARIABLE, address)
    card = _card(book_sharing.tags(App(address), "book/race", 'Who "waits"?', "book/race"))
    assert card["og:image"] == image
    assert card["og:title"] == "Races & rounds" and card["description"] == 'Who "waits"?'
    assert card.get("og:url") == (f"{address.rstrip('/')}/book/race.html" if address else None)


def test_an_address_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv(book_sharing.VARIABLE, "example.org")
    with pytest.raises(book_sharing.ExtensionError, match=r"BOOK_ADDRESS must be .* got 'example.org'\.$"):
        App("example.org")


def test_a_description_is_the_first_paragraph_that_is_not_in_a_box():
    question = nodes.paragraph("", "", nodes.strong("", "Who waits?"))
    box = nodes.admonition("", nodes.paragraph("", "You will be able to wait."))
    page = nodes.section("", nodes.title("", "Races"), box, question, nodes.paragraph("", "Nobody."))
    assert book_sharing.description(page) == "Who waits?"


@pytest.mark.parametrize(
    ("words", "short"),
    [
        ("a" * 199 + ".", "a" * 199 + "."),
        ("Short. " + "long " * 60, "Short."),
        ("word " * 60, "word " * 39 + "…"),
    ],
)
def test_a_description_ends_with_a_sentence_or_a_word(words, short):
    assert book_sharing.shortened(words.strip()) == short


def test_the_same_words_make_the_same_picture(tmp_path):
    files = [tmp_path / "one.png", tmp_path / "two.png"]
    for file in files:
        book_sharing.draw(file, BOOK, "Why somebody is always late", "What does waiting cost? " * 8)
    assert files[0].read_bytes() == files[1].read_bytes()


@turn("phone")
def test_the_first_screen_of_a_phone_has_the_title_of_the_book(opened):
    page = opened.at(PHONE)
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    title = page.locator("p.book-title")
    box = title.bounding_box()
    header = page.locator(".bd-header-article").bounding_box()
    assert title.inner_text() == BOOK
    assert box["y"] >= header["y"] + header["height"] - 1 and box["y"] + box["height"] <= PHONE["height"]
    assert page.locator("article h1").bounding_box()["y"] >= box["y"] + box["height"]
