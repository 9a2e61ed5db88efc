"""The race that runs in the page: on a page of its own from the file system, and on the landing page."""

import gzip

import pytest

from sgdrace.live import STORIES, script
from tests.site.conftest import AXE, DESK, PHONE, SITES, THEMES

PAGE = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>A race</title>
<meta name="viewport" content="width=device-width"><style>
html[data-theme=dark] { --pst-color-text-base: #ced6dd; --pst-color-text-muted: #9ca4af;
  --pst-color-background: #121212; --pst-color-border: #48566b; --pst-color-primary: #528fe4;
  background: #121212; color: #ced6dd }
body { margin: 0 } </style><main><h1>A race</h1><div data-race></div></main><script src="race.js"></script>"""
RACE = "document.querySelector('[data-race]').race"
VIOLATIONS = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations.map(
    ({id, nodes}) => [id, nodes.map(node => node.target.flat().join(' ')).slice(0, 3)])"""
LARGEST = 30_000  # bytes of the script, compressed
HEAVIEST = 100_000  # bytes of the landing page with it, compressed


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    (folder / "race.js").write_text(script(), encoding="utf-8")
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    return (folder / "index.html").as_uri()


@pytest.fixture
def race(reader, page_file):
    """Open the page with a link; afterwards it must have complained of nothing and asked nobody else."""
    opened = []

    def visit(link="", window=DESK, **context):
        one = reader(viewport=window, **context)
        opened.append(one)
        one.page.goto(page_file + link)
        return one.page

    yield visit
    for one in opened:
        assert (one.errors, one.elsewhere) == ([], [])


def says(page, part):
    return page.locator(f"[data-is={part}]").inner_text()


def test_the_script_is_small():
    assert len(gzip.compress(script().encode(), 9)) <= LARGEST


@pytest.mark.parametrize("number", range(len(STORIES)), ids=[story.name for story in STORIES])
def test_a_story_is_one_sentence_and_one_click(race, number):
    page, story = race("#race?P=3&K=3&law=pareto"), STORIES[number]
    page.get_by_role("button", name=story.name).click()
    setting = page.evaluate(f"{RACE}.setting")
    assert {name: setting[name] for name in ("P", "K", "law", "eta", "parameter")} == {
        name: getattr(story, name) for name in ("P", "K", "law", "eta", "parameter")
    }
    assert says(page, "lesson") == story.says
    assert says(page, "clock") == "0.0"
    page.evaluate(f"{RACE}.seek(1e9)")
    assert " won at " in says(page, "story")


def test_bets_are_compared_with_the_result(race):
    page = race()
    assert says(page, "story") == "Place your bets, then press Play."
    for question in ("Who leads at 5?", "Who wins at 50?"):
        page.get_by_role("group", name=question).get_by_text("K-async").click()
    page.evaluate(f"{RACE}.seek(50)")
    early, late, since = says(page, "story").split(". ")
    assert early.startswith("K-async led at 5, as you bet") or early.endswith("you bet on K-async")
    assert late.endswith("you bet on K-async") or late.endswith("as you bet")
    assert "pair" in since
    assert not page.locator("[data-is=bets]").is_visible()


def test_play_moves_the_clock_and_pause_stops_it(race):
    page = race()
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(f"{RACE}.t > 0.2")
    page.get_by_role("button", name="Pause").click()
    stopped = page.evaluate(f"{RACE}.t")
    page.wait_for_timeout(200)
    assert page.evaluate(f"{RACE}.t") == stopped
    page.get_by_role("button", name="Back to the start").click()
    assert page.evaluate(f"{RACE}.t") == 0


def test_the_keyboard_moves_time_both_ways(race):
    page = race("#race?t=20")
    page.get_by_label("Time", exact=True).focus()
    page.keyboard.press("Home")
    assert page.evaluate(f"{RACE}.t") == 0
    page.keyboard.press("End")
    assert page.evaluate(f"{RACE}.t") == 50
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(f"{RACE}.t") < 50


def test_with_reduced_motion_time_goes_in_steps(race):
    page = race(reduced_motion="reduce")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(f"{RACE}.t > 0")
    assert page.evaluate(f"{RACE}.t") % 1 == pytest.approx(0)


def test_a_link_brings_back_the_race(race):
    page = race()
    for name in ("P", "K"):
        page.locator(f"[data-is={name}]").focus()
        page.keyboard.press("End")
    page.get_by_text("heavy tail").click()
    page.evaluate(f"{RACE}.seek(7)")
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_timeout(
        500
    )  # the address follows the controls after a while, and must not forget the moment
    link, setting = page.evaluate("location.hash"), page.evaluate(f"{RACE}.setting")
    assert (setting["P"], setting["K"], setting["law"]) == (64, 64, "lomax")
    again = race(link)
    assert again.evaluate(f"{RACE}.setting") == setting
    assert again.evaluate(f"{RACE}.t") == 7
    assert says(again, "status") == says(page, "status")


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ("#race?P=banana", "P must be a whole number between 2 and 64; “banana” is not, so it is 8."),
        ("#race?P=4&K=9", "K must be a whole number between 1 and 4; “9” is not, so it is 2."),
        ("#race?law=luck", "There is no law “luck”, so delays are part fixed."),
        ("#race?eta=1e9", "eta must be a number between 0.01 and 1; “1e9” is not, so it is 0.25."),
        ("#race?t=never", "t must be a time of at least 0; “never” is not, so the race starts at 0."),
        ("#race?law=pasted&times=1_x_3", "Line 2 holds “x”, which is no positive time written like 1.5."),
        (
            "#race?P=%3Cimg%20src%3Dx%3E",
            "P must be a whole number between 2 and 64; “<img src=x>” is not, so it is 8.",
        ),
    ],
)
def test_a_nonsense_link_is_answered_in_a_sentence(race, link, sentence):
    page = race(link)
    assert page.get_by_role("alert").inner_text() == sentence
    page.evaluate(f"{RACE}.seek(1e9)")
    assert " won at " in says(page, "story")


@pytest.mark.parametrize(
    ("pasted", "note"),
    [
        ("1 2 3", "3 times, 2.00 on average."),
        ("ms\n1.5\n2.5\n", "2 times, 2.00 on average."),
        ("step,ms\n1,8\n2,10\n", "2 times, 1.50 on average."),
        (
            "1,8\n2,10\n",
            "Line 1 has 2 cells: add a line of names above, so that you can choose a column, "
            "or paste one column.",
        ),
        ("step;ms\n1;8\n2\n", "Line 3 has 1 cells where the first line has 2."),
        ("1\n0\n3", "Line 2 holds “0”, which is no positive time written like 1.5."),
        ("", "Paste at least two step times."),
    ],
)  # fmt: skip
def test_pasted_times_are_read_by_column_or_refused_in_a_sentence(race, pasted, note):
    page = race("#race?law=pasted")
    page.locator("textarea").fill(pasted)
    assert says(page, "times-note") == note


def test_the_reader_chooses_the_column(race):
    page = race("#race?law=pasted")
    page.locator("textarea").fill("step\tms\n1\t8\n2\t10\n")
    page.locator("[data-is=column]").select_option("ms")
    assert says(page, "times-note") == "2 times, 9.00 on average."
    assert page.locator("[data-is=column]").input_value() == "ms"


def test_racing_many_times_says_how_sure_it_is(race):
    page = race("#race?P=4&K=2&law=exponential")
    page.get_by_role("button", name="Race 100 times").click()
    page.get_by_text("races with other luck").wait_for()
    wins = [page.locator(f"[data-is=wins-{n}]").inner_text().split(" and ") for n in range(4)]
    assert [sum(int(count) for count in column) for column in zip(*wins, strict=True)] == pytest.approx(
        [100, 100], abs=2
    )


def test_a_slider_moves_the_race_and_does_not_draw_another(race):
    """Who comes back to a setting finds the race that was there."""
    page = race("#race?t=6")
    before = says(page, "status")
    for key in ("ArrowRight", "ArrowLeft"):
        page.locator("[data-is=parameter]").focus()
        page.keyboard.press(key)
    page.wait_for_timeout(400)  # a listener hears what is at rest
    assert says(page, "status") == before


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("window", [PHONE, DESK], ids=["phone", "desk"])
def test_nothing_keeps_a_reader_out(reader, page_file, window, theme):
    one = reader(viewport=window)
    one.page.goto(page_file)
    one.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    one.page.add_script_tag(path=AXE)
    for moment in (0, 10, 50):
        one.page.evaluate(f"{RACE}.seek({moment})")
        assert one.page.evaluate(VIOLATIONS) == []
    assert one.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("theme", THEMES)
def test_the_pictures_follow_the_theme(race, theme):
    page = race()
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    ground = """() => [...document.querySelector('[data-race]').shadowRoot
      .querySelectorAll('.gate canvas, .chart')]
      .map(canvas => canvas.getContext('2d').getImageData(0, 0, 1, 1).data[0])"""
    page.wait_for_function(f"() => ({ground})().every(red => red === {0x12 if theme == 'dark' else 0xFF})")


LANDING = "book/index"
SCREEN = {"width": 390, "height": 844}
SHIFTS = """() => { window.shifts = 0; new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
  }).observe({type: 'layout-shift', buffered: true}); }"""


def test_play_clock_score_and_chart_are_on_the_first_screen_of_a_phone(reader, addresses):
    page = reader(viewport=SCREEN).open(f"{addresses['book']}/{LANDING}.html")
    assert page.evaluate(f"{RACE}.t") == 0
    for part in ("play", "clock", "story", "chart"):
        box = page.locator(f"[data-is={part}]").bounding_box()
        assert box["y"] + box["height"] <= SCREEN["height"], part


@pytest.mark.parametrize("window", [SCREEN, DESK], ids=["phone", "desk"])
def test_the_landing_page_does_not_jump(reader, addresses, window):
    page = reader(viewport=window).open(f"{addresses['book']}/{LANDING}.html", everything=False)
    page.evaluate(SHIFTS)
    page.wait_for_timeout(100)
    assert page.evaluate("window.shifts") < 0.1


def test_the_chart_does_not_grow_with_its_pixels(race):
    page = race()
    height = "document.querySelector('[data-race]').shadowRoot.querySelector('.chart').clientHeight"
    before = page.evaluate(height)
    for moment in range(5):
        page.evaluate(f"{RACE}.seek({moment})")
        page.get_by_role("button", name="New luck").click()
    assert page.evaluate(height) == before < 700


def test_the_landing_page_is_light():
    html = (SITES["book"].folder / f"{LANDING}.html").read_bytes()
    assert len(gzip.compress(html, 9)) + len(gzip.compress(script().encode(), 9)) <= HEAVIEST


def test_without_scripts_the_landing_page_shows_the_race_as_a_picture(reader, addresses):
    one = reader(viewport=DESK, java_script_enabled=False)
    one.page.goto(f"{addresses['book']}/{LANDING}.html")
    assert one.page.locator("noscript [role=img]").first.is_visible()
    assert one.page.locator("[data-race]").bounding_box()["height"] == 0
