"""Slides hold what their page holds, cut out of it, and work from the file system."""

import pytest
from book.slides import main, write
from bs4 import BeautifulSoup

from tests.site.conftest import SITES, Reader

SCREEN = {"width": 1280, "height": 720}
BOOK = SITES["book"].folder
WIDGET = '<script type="application/vnd.jupyter.widget-view+json">{}</script>'


def a_cell(shown):
    return f'<div class="cell"><pre>code = 1</pre><div class="cell_output">{shown}</div></div>'


def a_picture(words):
    return a_cell(f'<div class="explorer">{words}</div>')


PAGE = f"""<html><head><link href="../_static/book.css" rel="stylesheet"/>
<script src="../_static/vendor/mathjax/startup.js"></script>
<script src="../_static/paths.js"></script></head><body>
<h1>A title for paper</h1><article><section id="late"><h1>Late<a href="#late">#</a></h1>
<p><strong>What does it cost?</strong></p>
<div class="admonition-you-will-be-able-to admonition"><p>You</p><ul><li>compute</li></ul></div>
<section id="wait"><h2>Waiting</h2><p>Look at <a href="staleness.html#x">this</a>.</p>
{a_picture("bars")}
{a_cell('<details class="check">Checked</details>')}
<div class="proof theorem admonition"><p>Theorem 1: so it is.</p></div>
<div class="proof admonition"><p>Proof, long.</p></div>
<p>Now bet.</p>{a_cell(WIDGET)}
<div class="veil">{a_picture("answer")}</div>
<details class="deeper">{a_picture("deep")}</details>
</section>
<section id="what-you-learned"><h2>What you learned</h2><p>Much.</p></section>
<section id="exercises"><h2>Exercises</h2>
<div class="exercise admonition"><p class="admonition-title">Exercise 3 (By hand)</p></div>
<div class="solution"><p>Seven.</p></div></section>
<section id="further-reading"><h2>Further reading</h2>{a_picture("more")}</section>
</section></article></body></html>"""


def a_site(folder):
    (folder / "html/book").mkdir(parents=True)
    (folder / "html/book/late.html").write_text(PAGE)
    (folder / "html/book/plain.html").write_text("<article><h1>No exercises</h1></article>")
    return folder / "html"


@pytest.fixture
def cut(tmp_path):
    site = a_site(tmp_path)
    (path,) = write(site, tmp_path / "slides")
    return BeautifulSoup(path.read_text(), "html.parser")


def test_slides_are_the_question_the_outcomes_the_figures_and_the_theorems_of_a_page(cut):
    found = [" ".join(slide.get_text(" ").split()) for slide in cut.find_all(class_="slide")]
    assert found == [
        "Late What does it cost?",
        "You will be able to compute",
        "Waiting Look at this . bars",
        "Waiting Theorem 1: so it is.",
        "Waiting Now bet.",
        "Waiting answer",
        "What you learned Much.",
        "Exercises By hand",
    ]
    assert [str(script) for script in cut.body.find_all("script")] == [WIDGET]


def test_links_lead_where_they_led(cut, tmp_path):
    assert [link["href"] for link in cut.find_all("a")] == ["../html/book/staleness.html#x"]
    assert [link["href"] for link in cut.find_all("link")] == [
        "../html/_static/book.css",
        "../html/_static/slides.css",
    ]
    assert [tag["src"] for tag in cut.head.find_all("script")] == [
        "../html/_static/vendor/mathjax/startup.js",
        "../html/_static/slides.js",
    ]
    assert 'href="late.html">Late<' in (tmp_path / "slides/list.html").read_text()


def test_without_a_book_there_are_no_slides(tmp_path, capsys):
    assert main([str(tmp_path / "html"), str(tmp_path / "slides")]) == 1
    assert "run `make book` first" in capsys.readouterr().err


def test_a_chapter_can_be_shown_from_the_file_system(browser, addresses, tmp_path):
    (path,) = write(BOOK, tmp_path, [BOOK / "book/stragglers.html"])
    reader = Reader(browser, viewport=SCREEN)
    page = reader.open(path.as_uri(), everything=False)
    shown = (
        "() => [...document.querySelectorAll('.slide')].findIndex(s => s.getBoundingClientRect().bottom > 1)"
    )
    assert page.evaluate(shown) == 0
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(shown) == 2
    page.keyboard.press("End")
    slides = page.locator(".slide")
    assert page.evaluate(shown) == slides.count() - 1 > 10
    handle = page.locator(".noUi-handle").first
    handle.focus()
    where = page.evaluate(shown)
    value = handle.get_attribute("aria-valuetext")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "([h, v]) => h.getAttribute('aria-valuetext') !== v", arg=[handle.element_handle(), value]
    )
    assert page.evaluate(shown) == where, "the keys belong to the control that has the focus"
    assert reader.errors == [] and reader.elsewhere == []
    reader.context.close()
