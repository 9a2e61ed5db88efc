"""No spoilers and two paths: veils, folds and the switch, and how long a page takes."""

import json
import pickle
import re
import sys

import pytest
from docutils import nodes

from tests.site.conftest import DESK, PATIENCE, PHONE, READY, ROOT, SITES, html

sys.path.insert(0, str(ROOT / "book/_ext"))
import book_paths

SECRET, OKAPI, NUMBAT, POTOROO, BILBY = (
    f"text={word}" for word in ("quagga", "okapi", "deeper word is numbat", "potoroo", "bilby")
)
BLOCKED = "**/paths.js*"


@pytest.fixture
def demo(addresses):
    return f"{addresses['demo']}/tests/site/demo.html"


@pytest.fixture
def page(reader, demo):
    """The demonstration page as it comes: veiled, and on the short path."""
    one = reader(viewport=DESK)
    yield one.open(demo, everything=False)
    assert one.errors == []


# Veils


def test_an_answer_lifts_the_veil_and_the_focus_stays(page):
    first, second = page.locator(".predict").all()
    assert not page.locator(SECRET).is_visible() and page.locator(".veil .explorer").count() == 1
    first.locator("input").first.click()
    assert not page.locator(SECRET).is_visible(), "that was another question"
    second.locator("input").nth(2).click()
    assert page.locator(SECRET).is_visible() and page.locator(".veil-ask").count() == 0
    assert page.evaluate("document.activeElement.type") == "radio"


def test_the_keyboard_lifts_the_veil_and_goes_on_behind_it(page):
    button = page.get_by_role("button", name="Show me")
    assert button.get_attribute("aria-expanded") == "false"
    veil = page.locator(f"#{button.get_attribute('aria-controls')}.veil")
    button.focus()
    page.keyboard.press("Tab")
    assert not veil.evaluate("veil => veil.contains(document.activeElement)"), "Tab stops at what is veiled"
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator(SECRET).is_visible() and not button.is_visible()
    assert veil.evaluate("veil => veil === document.activeElement")
    page.keyboard.press("Tab")
    assert veil.evaluate("veil => veil !== document.activeElement && veil.contains(document.activeElement)")


def test_a_veil_ends_at_the_next_heading_and_covers_nothing_where_nothing_follows(page):
    assert page.locator(".veil").count() == 1
    assert page.locator("article h3", has_text="After the veil").is_visible()
    assert page.locator("article h2", has_text="A slider and buttons").is_visible()


def test_without_scripts_nothing_is_veiled_and_folds_unfold(reader, demo):
    page = reader(viewport=DESK, java_script_enabled=False).open(demo)
    assert page.locator(SECRET).is_visible() and page.locator("article button.veil-ask").count() == 0
    assert not page.locator(NUMBAT).is_visible()
    page.locator("details.deeper > summary", has_text="numbat").click()
    assert page.locator(NUMBAT).is_visible()


def test_no_part_of_what_is_veiled_is_ever_seen(reader, demo):
    one = reader(viewport=DESK, own=True)
    one.page.add_init_script(
        """(function look() {
          const parts = [...document.querySelectorAll('.veil > *')];
          window.seen ||= parts.some(part => part.checkVisibility());
          window.looked = (window.looked || 0) + document.querySelectorAll('.veil').length;
          requestAnimationFrame(look);
        })()"""
    )
    page = one.open(demo, everything=False)
    assert page.evaluate("window.looked") > 2 and not page.evaluate("window.seen")


SIZES = """() => [...document.querySelectorAll('.veil :is(mjx-container, svg, .explorer, .noUi-target, p)')]
  .map(part => part.getBoundingClientRect()).map(box => [box.width, box.height].map(Math.round))"""


@pytest.mark.parametrize("window", [PHONE, DESK], ids=["phone", "desk"])
def test_formulas_and_widgets_behind_a_veil_have_the_size_that_they_have_without(window, reader, demo):
    plain, veiled = reader(viewport=window, own=True), reader(viewport=window)
    plain.page.route(BLOCKED, lambda route: route.abort())
    wanted = plain.open(demo).evaluate(SIZES)
    page = veiled.open(demo, everything=False)
    page.get_by_role("button", name="Show me").click()
    assert len(wanted) > 5 and page.evaluate(SIZES) == wanted


# What is asked for is shown


@pytest.mark.parametrize(
    ("anchor", "seen"),
    [("demo-veiled", SECRET), ("demo-deep", NUMBAT), ("a-heading-within-the-fold", NUMBAT)],
)
@pytest.mark.parametrize("how", ["address", "link", "again"])
def test_an_address_and_a_link_open_what_they_lead_to(how, anchor, seen, reader, demo):
    one = reader(viewport=DESK)
    if how == "address":
        page = one.open(f"{demo}#{anchor}", everything=False)
    else:
        page = one.open(demo if how == "link" else f"{demo}#{anchor}", everything=False)
        page.evaluate("document.querySelectorAll('details.deeper').forEach(fold => fold.open = false)")
        page.locator("article").evaluate(
            "(article, id) => article.insertAdjacentHTML('beforeend', `<a class=go href='#${id}'>go</a>`)",
            anchor,
        )
        if how == "again" and anchor != "demo-veiled":  # the address stays, and browsers differ in what then
            page.evaluate("addEventListener('click', event => event.preventDefault(), true)")
        page.locator("a.go").click()
    assert page.locator(seen).is_visible()
    assert page.locator(".veil-ask").count() == (anchor != "demo-veiled")
    page.wait_for_function(
        "id => Math.abs(document.getElementById(id).getBoundingClientRect().top - 100) <= 105", arg=anchor
    )
    assert not page.locator(BILBY).is_visible(), "nothing else unfolds"


def test_a_link_into_a_fold_within_a_fold_opens_both(page):
    page.locator(POTOROO).evaluate("one => one.id = 'inmost'")
    page.evaluate("location.hash = 'inmost'")
    page.wait_for_selector(POTOROO, state="visible")


@pytest.mark.parametrize("word", ["quagga", "okapi", "potoroo"])
def test_finding_a_word_opens_what_hides_it(word, reader, demo):
    page = reader(viewport=DESK).page
    page.goto(f"{demo}#:~:text={word}")  # the browser looks for it as Find does
    page.wait_for_selector(f"text={word}", state="visible")
    page.wait_for_function(READY, polling=PATIENCE)
    assert page.locator(".veil-ask").count() == (word != "quagga")


@pytest.mark.parametrize("word", ["quagga", "numbat", "potoroo"])
def test_the_search_of_the_site_finds_and_shows_what_is_hidden(word, reader, addresses):
    page = reader(viewport=DESK).page
    page.goto(f"{addresses['demo']}/search.html?q={word}")
    page.locator("#search-results li a").first.click()
    page.wait_for_selector(".highlighted", state="attached")
    page.wait_for_function(
        "[...document.querySelectorAll('.highlighted')].every(one => one.checkVisibility())"
    )


def test_paper_has_everything_and_afterwards_all_is_as_it_was(page):
    hidden = [SECRET, OKAPI, NUMBAT, POTOROO, BILBY]
    assert not any(page.locator(word).is_visible() for word in hidden)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert all(page.locator(word).is_visible() for word in hidden)
    assert not page.locator(".veil-ask").is_visible() and not page.locator(".paths").is_visible()
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not any(page.locator(word).is_visible() for word in hidden)
    assert page.locator(".veil-ask").is_visible() and page.locator(".paths").is_visible()


# Folds


def test_a_proof_shows_its_idea_and_folds_the_rest(page):
    proofs = page.locator("div.proof:not(.lemma, .theorem)", has_text="Proof.")
    assert proofs.locator("> p:visible").all_inner_texts() == [
        "Proof. The maximum is a sum of gaps, and each gap has no memory.",
        "Proof. A proof of one paragraph stays as it is.",
    ]
    assert not page.locator(OKAPI).is_visible()
    page.locator("summary", has_text="The proof").first.click()
    assert page.locator(OKAPI).is_visible()


def test_a_deeper_section_folds_with_its_cells_and_subsections_and_says_what_is_inside(page):
    fold = page.locator("details.deeper", has=page.locator("#a-heading-within-the-fold"))
    assert fold.locator("..").get_attribute("id") == "a-deeper-section"
    assert page.locator("h2", has_text="A deeper section").is_visible()
    summary = fold.locator("> summary")
    assert re.fullmatch(
        r"Deeper: What the word numbat has to do with \S+ 1 min", " ".join(summary.text_content().split())
    )
    assert fold.locator(".cell, h3, .lemma").count() == 3
    assert not any(part.is_visible() for part in fold.locator("> :not(summary)").all())


def test_the_contents_and_the_numbers_do_not_know_of_folds(page):
    contents = page.locator(".bd-toc a.nav-link").all_text_contents()
    titles = [title.strip() for title in contents]
    assert "A deeper section" in titles and "A heading within the fold" in titles
    lemma, link = page.locator("#demo-deep .admonition-title"), page.locator("a[href$='#demo-deep']")
    assert "Lemma 1" in lemma.text_content() and link.text_content() == "Lemma 1"


def test_a_fold_can_end_before_its_section_does(page):
    assert page.locator("text=What stands here is for everybody").is_visible()
    assert page.locator("text=This is for everybody again").is_visible()
    assert not page.locator(BILBY).is_visible()


def test_a_page_can_have_its_proofs_open():
    proof = book_paths.proof_node("", nodes.admonition("", _paragraph(1), _paragraph(1)))
    document = _document(proof)
    assert book_paths.fold(document, proofs=False) == [] and len(proof[0]) == 2
    assert not list(document.findall(book_paths.Fold))
    assert not book_paths.folds_proofs({"proofs": "open"}) and book_paths.folds_proofs({})
    with (SITES["book"].folder.parent / ".doctrees/environment.pickle").open("rb") as file:
        assert pickle.load(file).metadata["book/appendix/proofs"]["proofs"] == "open"


# The switch


def _pressed(page):
    return [one.get_attribute("aria-pressed") for one in page.locator(".paths button").all()]


def test_the_switch_is_remembered_from_page_to_page(page, demo):
    short, everything = page.locator(".paths button").all()
    assert _pressed(page) == ["true", "false"]
    everything.click()
    assert _pressed(page) == ["false", "true"] and page.locator(POTOROO).is_visible()
    assert not page.locator(SECRET).is_visible(), "a longer path is no spoiler"
    page.goto(demo)
    assert _pressed(page) == ["false", "true"] and page.locator(POTOROO).is_visible()
    short.click()
    assert page.locator("details.deeper[open]").count() == 0
    page.goto(demo)
    assert _pressed(page) == ["true", "false"] and not page.locator(OKAPI).is_visible()


def test_the_switch_works_where_nothing_can_be_remembered(reader, demo):
    page = reader(viewport=DESK, own=True).page
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw Error('forbidden'); }})"
    )
    page.goto(demo)
    page.locator(".paths button").nth(1).click()
    assert _pressed(page) == ["false", "true"] and page.locator(POTOROO).is_visible()


def test_the_switch_states_the_minutes_of_the_report(page, reader, demo):
    read = _report("demo")["tests/site/demo"]
    short, everything = (read[name]["minutes"] for name in ("short", "everything"))
    assert short < everything
    assert page.locator(".paths button").all_inner_texts() == [
        f"Short path, {short} min",
        f"Everything, {everything} min",
    ]
    assert page.get_by_role("group", name="How much to read").count() == 1
    plain = reader(java_script_enabled=False).open(demo).locator(".paths")
    assert (
        plain.inner_text()
        == f"The short path takes about {short} minutes, everything {everything}. Exercises come on top."
    )


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_forced_colors_show_which_path_is_taken_and_where_the_focus_is(scheme, reader, demo):
    page = reader(viewport=DESK, color_scheme=scheme, forced_colors="active").open(demo, everything=False)
    highlight = page.evaluate(
        """() => {
          const probe = document.body.appendChild(document.createElement('i'));
          probe.style.cssText = 'forced-color-adjust: none; color: Highlight';
          return getComputedStyle(probe).color;
        }"""
    )
    looks = page.locator(".paths button").evaluate_all(
        "all => all.map(e => getComputedStyle(e).backgroundColor)"
    )
    assert looks[0] == highlight != looks[1]
    page.keyboard.press("Tab")
    for control in page.locator(".paths button, .veil-ask button, details.deeper > summary").all():
        if control.is_visible():
            control.focus()
            assert control.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"


# How long a page takes


def _report(site):
    pages = json.loads((SITES[site].folder.parent / "report.json").read_text())["pages"]
    return {page["page"]: page["reading"] for page in pages}


def _paragraph(words):
    return nodes.paragraph("", " ".join(["word"] * words))


def _section(title, *children):
    return nodes.section("", nodes.title("", title), *children)


def _cell(source, *outputs, **attributes):
    """A cell as myst-nb makes it; an output is HTML, with True beside it if it is also a widget."""
    code = nodes.container("", nodes.literal_block("", source), nb_element="cell_code_source")
    cell = nodes.container("", code, nb_element="cell_code", **attributes)
    for shown, is_widget in outputs:
        kinds = ["text/html", book_paths.WIDGET] if is_widget else ["text/html"]
        raw = [nodes.container("", nodes.raw("", shown, format="html"), mime_type=kind) for kind in kinds[:1]]
        raw += [nodes.container("", mime_type=kind) for kind in kinds[1:]]
        cell += nodes.container("", nodes.container("", *raw, nb_element="mime_bundle"))
    return cell


def _document(*children):
    document = nodes.document(None, None)
    document += _section("Title", *children)
    return document


PREDICTION, PICTURE, RACE = '<div class="predict">', '<div role="img">', '<div data-race="{}"></div>'


@pytest.mark.parametrize(
    ("node", "seconds"),
    [
        (_paragraph(200), 60),
        (nodes.paragraph("", "", nodes.math("", "a + b + c"), nodes.Text(" is — one.")), 3 * 0.3),
        (nodes.math_block("", "x"), 15),
        (_cell("x = 1\nx"), 20),
        (_cell("x = 1", hide_mode="input"), 0),
        (_cell("predict()", (PREDICTION, True), hide_mode="input"), 60),
        (_cell("explore()", (PICTURE, True), hide_mode="input"), 60),
        (_cell("show()", (PICTURE, False), hide_mode="input"), 15),
        (_cell("panels()", (3 * PICTURE, False), hide_mode="input"), 45),
        (_cell("LiveRace()", (RACE + PICTURE, False), hide_mode="input"), 60),
        (_cell("check()", ("<table><tr><td>many words in a table</td></tr></table>", False)), 20),
        (nodes.figure("", nodes.image(uri="a.svg"), nodes.caption("", "Two words")), 15.6),
        (nodes.literal_block("", "many words of code"), 20),
        (nodes.container("", _paragraph(200), design_component="dropdown"), 0),
        (book_paths.solution_node("", _paragraph(200)), 0),
        (_section("Exercises", _paragraph(200), _section("Harder", _paragraph(200))), 0),
        (nodes.comment("", "many words"), 0),
    ],
)
def test_the_time_is_counted_from_what_there_is_to_read(node, seconds):
    assert book_paths.tally([node]).seconds == pytest.approx(seconds)


def test_the_short_path_leaves_out_what_is_folded_but_not_what_the_fold_says():
    proof = book_paths.proof_node("", nodes.admonition("", _paragraph(10), _paragraph(40)))
    mark = book_paths.Deeper("", "", nodes.Text("Three more words."))
    deep = _section("Deep", mark, _paragraph(600), _cell("assert True\n1"))
    document = _document(_paragraph(100), _cell("1"), proof, deep)
    assert book_paths.fold(document) == []
    read = book_paths.measured(document)
    seen = 1 + 100 + 10 + 2 + 1 + 6  # Deeper: Three more words. 3 min
    assert read["short"] == {"words": seen, "minutes": 1}
    assert read["everything"] == {"words": seen + 40 + 600, "minutes": 4}
    assert (read["open_cells"], read["deeper_cells"], read["open_asserts"]) == (1, 1, 1)
    assert read["median_lines"] == 1.5


def _marked(*parts):
    """Marks and paragraphs by their letters: D, E and p."""
    made = {
        "D": lambda: book_paths.Deeper("", "Words."),
        "E": book_paths.DeeperEnd,
        "p": lambda: _paragraph(1),
    }
    return [made[part]() for part in parts]


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (_document(_section("Deep", *_marked("D", "p"))), None),
        (_document(*_marked("D", "p", "E", "p")), None),
        (_document(_section("Deep", *_marked("D", "p", "D", "p"))), None),
        (_document(*_marked("D", "p")), "fold the whole page"),
        (_document(_section("Deep", *_marked("p", "D"))), "nothing to fold"),
        (_document(_section("Deep", *_marked("D", "E", "p"))), "nothing to fold"),
        (_document(nodes.admonition("", *_marked("D", "p"))), "must stand in a section"),
        (_document(_section("Deep", *_marked("p", "E"))), "deeper-end"),
    ],
)
def test_a_fold_that_cannot_be_is_named(document, complaint):
    complaints = [words for words, _ in book_paths.fold(document)]
    assert not complaints if complaint is None else complaint in complaints[0]
    assert not list(document.findall(lambda node: isinstance(node, book_paths.Deeper | book_paths.DeeperEnd)))


def test_a_veil_ends_at_another_prediction():
    cells = [_cell("predict()", (PREDICTION, True)) for _ in range(2)]
    document = _document(cells[0], _paragraph(1), _paragraph(1), cells[1], _paragraph(1), _section("Next"))
    book_paths.veil(document)
    assert [len(veil) for veil in document.findall(book_paths.Veil)] == [2, 1]
    assert cells[0].parent is cells[1].parent is document[0]


# What a chapter may take: minutes and words of the short path, minutes of everything, open cells, the median
# of their lines, and how many of them assert.
GOALS = {"short": 25, "words": 2500, "everything": 60, "cells": 12, "lines": 4, "asserts": 0}


def _taken(read):
    return {
        "short": read["short"]["minutes"],
        "words": read["short"]["words"],
        "everything": read["everything"]["minutes"],
        "cells": read["open_cells"],
        "lines": read["median_lines"],
        "asserts": read["open_asserts"],
    }


CHAPTERS = [name for name in SITES["book"].pages if re.fullmatch(r"book/(?!index)[\w-]+", name)]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_takes_no_longer_than_it_may(name):
    taken = _taken(_report("book")[name])
    assert {what: much for what, much in taken.items() if much > GOALS[what]} == {}


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_says_how_long_it_takes(name):
    assert re.search(r'<div class="paths" data-short="\d+" data-everything="\d+"', html("book", name))


def test_the_landing_page_is_read_in_seven_minutes_and_has_one_path():
    taken = _taken(_report("book")["book/index"])
    assert taken["short"] == taken["everything"] <= 7
