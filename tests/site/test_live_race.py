"""The race that runs in the page: on a page of its own from the file system, and on the landing page.

The page is opened once for most tests, which ask it for their race by a link, as a reader would.
"""

import gzip
import io
import re

import numpy as np
import pytest
from PIL import Image

from sgdrace import VARIANTS, theory
from sgdrace.figures import VARIANT
from sgdrace.live import LAWS, STORIES, module, script
from tests.site.conftest import AXE, DESK, PHONE, ROOT, SITES, THEMES, Reader

PAGE = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>A race</title>
<meta name="viewport" content="width=device-width"><style>
html[data-theme=dark] { --pst-color-text-base: #ced6dd; --pst-color-text-muted: #9ca4af;
  --pst-color-background: #121212; --pst-color-border: #48566b; --pst-color-primary: #528fe4;
  background: #121212; color: #ced6dd }
body { margin: 0 } </style><main><h1>A race</h1><div data-race></div></main><script src="race.js"></script>"""
HOST = "document.querySelector('[data-race]')"
RACE = f"{HOST}.race"
FOLLOW = """link => new Promise(done => {
  history.replaceState(null, '', '#');
  addEventListener('hashchange', () => done(), {once: true});
  location.hash = link;
})"""
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


@pytest.fixture(scope="module")
def opened_anew(browser, page_file):
    """Open the page in a browser of one's own; it must never complain, nor ask anybody else."""
    made = []

    def visit(link="", window=DESK, before="", **context):
        made.append(Reader(browser, viewport=window, **context))
        page = made[-1].page
        if before:
            page.add_init_script(before)
        page.goto(page_file + link)
        return page

    yield visit
    for one in made:
        assert (one.errors, one.elsewhere) == ([], [])
        one.context.close()


@pytest.fixture(scope="module")
def shared(opened_anew):
    return opened_anew()


@pytest.fixture
def race(shared):
    """The page that all share, after a link."""

    def visit(link=""):
        shared.evaluate(FOLLOW, link or "#race")
        return shared

    return visit


def says(page, part):
    return page.locator(f"[data-is={part}]").inner_text()


def test_the_script_is_small():
    assert len(gzip.compress(script().encode(), 9)) <= LARGEST


# ---- What people share ----------------------------------------------------------------------------------

LOOP, STILL = ROOT / "book/_static/race.webp", ROOT / "book/_static/race.png"


def test_the_loop_is_short_and_small_and_rests_on_its_last_word():
    with Image.open(LOOP) as loop:
        times = []
        for n in range(loop.n_frames):
            loop.seek(n)
            loop.load()
            times.append(loop.info["duration"])
        assert loop.info["loop"] == 0  # for ever
        loop.seek(0)
        first = np.asarray(loop.convert("RGB"), float)
        loop.seek(loop.n_frames - 1)
        last = np.asarray(loop.convert("RGB"), float)
    assert LOOP.stat().st_size < 1_000_000
    assert 6_000 <= sum(times) <= 10_000
    assert max(times) >= 2_000 and times.index(max(times)) > 0.8 * len(times)
    assert abs(first - last).mean() < 4, "out of 255: it comes back to its start by and by"


def test_what_is_shared_is_the_race_of_the_page(race):
    page = race("#race?t=12")
    page.wait_for_timeout(400)
    with Image.open(STILL) as still:
        assert still.info["Description"] == says(page, "status"), "`make loop` films the race as it is now"
    page.evaluate(f"{RACE}.seek(50)")
    assert says(page, "story") in " ".join((ROOT / "README.md").read_text().split())


# ---- What can be chosen ---------------------------------------------------------------------------------


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


def test_the_keyboard_moves_time_both_ways(race):
    page = race("#race?t=20")
    page.get_by_label("Time", exact=True).focus()
    page.keyboard.press("Home")
    assert page.evaluate(f"{RACE}.t") == 0
    page.keyboard.press("End")
    assert page.evaluate(f"{RACE}.t") == 50
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(f"{RACE}.t") < 50


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


def test_a_link_brings_back_the_race(race, opened_anew):
    page = race()
    for name, key, least in (("P", "Home", 2), ("P", "End", 64), ("K", "End", 64)):
        page.locator(f"[data-is={name}]").focus()
        page.keyboard.press(key)
        assert page.evaluate(f"{RACE}.setting")[name] == least
    page.get_by_text("heavy tail").click()
    page.evaluate(f"{RACE}.seek(7)")
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_timeout(
        500
    )  # the address follows the controls after a while, and must not forget the moment
    link, setting = page.evaluate("location.hash"), page.evaluate(f"{RACE}.setting")
    assert (setting["P"], setting["K"], setting["law"]) == (64, 64, "lomax")
    again = opened_anew(link)
    assert again.evaluate(f"{RACE}.setting") == setting
    assert again.evaluate(f"{RACE}.t") == 7
    assert says(again, "status") == says(page, "status")


NONSENSE = {
    "#race?P=banana": "P must be a whole number between 2 and 64; “banana” is not, so it is 8.",
    "#race?P=4&K=9": "K must be a whole number between 1 and 4; “9” is not, so it is 2.",
    "#race?law=luck": "There is no law “luck”, so delays are part fixed.",
    "#race?eta=1e9": "eta must be a number between 0.01 and 1; “1e9” is not, so it is 0.25.",
    "#race?t=never": "t must be a time of at least 0; “never” is not, so the race starts at 0.",
    "#race?law=pasted&times=1_x_3": "Line 2 holds “x”, which is no positive time written like 1.5.",
    "#race?P=%3Cimg%20src%3Dx%3E": "P must be a whole number between 2 and 64; “<img src=x>” is not, "
    "so it is 8.",
}


@pytest.mark.parametrize(("link", "sentence"), NONSENSE.items(), ids=NONSENSE)
def test_a_nonsense_link_is_answered_in_a_sentence(race, link, sentence):
    page = race(link)
    assert page.get_by_role("alert").inner_text() == sentence
    page.evaluate(f"{RACE}.seek(1e9)")
    assert " won at " in says(page, "story")


def test_a_nonsense_link_is_answered_when_the_page_opens(opened_anew):
    link, sentence = next(iter(NONSENSE.items()))
    assert opened_anew(link).get_by_role("alert").inner_text() == sentence


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


def test_a_slider_moves_the_race_and_does_not_draw_another(race):
    """Who comes back to a setting finds the race that was there."""
    page = race("#race?t=6")
    page.wait_for_timeout(400)  # a listener hears what is at rest
    before = says(page, "status")
    for key in ("ArrowRight", "ArrowLeft"):
        page.locator("[data-is=parameter]").focus()
        page.keyboard.press(key)
    page.wait_for_timeout(400)
    assert says(page, "status") == before


# A widget's model as a notebook has it: `tells` is what the kernel hears.
KERNEL = """() => {
  const heard = {}, values = {P: 8, K: 2, law: 'pasted', parameter: null, learning_rate: 0.25, seed: 1, times: [3, 5]};
  let follow = () => {};
  const model = {
    get: name => values[name],
    set(name, value) { heard[name] = values[name] = value; follow(); },
    on: (_, action) => { follow = action; },
    off() {},
    save_changes() {},
  };
  const el = document.querySelector('main').appendChild(document.createElement('div'));
  el.id = 'widget';
  widget.render({model, el});
  return {tells: model.set, hears: name => heard[name]};
}"""  # noqa: E501


def test_the_kernel_hears_of_the_chosen_column_and_what_it_sets_is_shown(opened_anew):
    page = opened_anew()
    page.add_script_tag(content=module().replace("export default", "window.widget ="), type="module")
    kernel = page.evaluate_handle(KERNEL)
    box, column = page.locator("#widget textarea"), page.locator("#widget [data-is=column]")
    assert box.input_value() == "3\n5"
    box.fill("step\tms\n1\t8\n2\t10\n")
    assert kernel.evaluate("it => it.hears('times')") == [1, 2]
    column.select_option("ms")
    assert kernel.evaluate("it => it.hears('times')") == [8, 10]
    kernel.evaluate("it => it.tells('P', 4)")
    assert says(page.locator("#widget"), "P-value") == "4"
    assert (box.input_value(), column.input_value()) == ("step\tms\n1\t8\n2\t10\n", "ms")
    box.focus()
    kernel.evaluate("it => it.tells('times', [7, 9, 11])")
    assert box.input_value() == "7\n9\n11"
    assert says(page.locator("#widget"), "times-note") == "3 times, 9.00 on average."
    assert not column.is_visible()


# ---- What is said ---------------------------------------------------------------------------------------


def test_one_sentence_compares_the_bets_at_5_and_at_50_with_the_result(race):
    page = race()
    assert says(page, "story") == "The lowest loss leads. Place your bets, then press Play."
    for question, bet in (("Who leads at time 5?", "K-async"), ("Who wins at time 50?", "K-batch-async")):
        page.get_by_role("group", name=question).get_by_text(bet, exact=True).click()
    page.evaluate(f"{RACE}.seek(50)")
    sentence = says(page, "story")
    pattern = (
        r"(.+) led at 5(.+); (.+) won at 50(.+); the (.*synchronous) pair took the lead for good at (.+)\."
    )
    early, first, late, second, pair, since = re.fullmatch(pattern, sentence).groups()
    assert first == (", as you bet" if early == "K-async" else " (you bet on K-async)")
    assert second == (", as you bet" if late == "K-batch-async" else " (you bet on K-batch-async)")
    assert not page.locator("[data-is=bets]").is_visible()
    places = f"""t => ({RACE}.seek(t), [0, 1, 2, 3].map(n => {HOST}.shadowRoot
      .querySelector(`[data-is=place-${{n}}]`).textContent))"""

    def lead(t):
        """Which pairs have somebody in the first place: True for the synchronous one."""
        found = zip(VARIANTS, page.evaluate(places, t), strict=True)
        return {variant.endswith("-sync") for variant, place in found if place == "1st"}

    assert lead(float(since) - 0.06) != lead(float(since) + 0.06)
    assert all(lead(t) == {pair == "synchronous"} for t in np.linspace(float(since) + 0.06, 50, 20))
    for question in ("early", "late"):  # nobody else has bet
        page.evaluate(
            f"{HOST}.shadowRoot.querySelectorAll('[name$={question}]').forEach(one => one.checked = false)"
        )


def test_measured_stands_beside_theory(race):
    page = race("#race?P=8&K=2&law=lomax&parameter=3.1&t=50")
    law = LAWS["lomax"].law(3.1)
    seen = lambda low, high, words: words(low) if high - low < 1e-9 else f"{words(low)} to {words(high)}"  # noqa: E731
    short = lambda value: f"{value:.2f}" if value >= 1 else f"{value:.3f}" if value else "0"  # noqa: E731
    for n, variant in enumerate(VARIANTS):
        assert says(page, f"pace-theory-{n}") == seen(*theory.runtime_bounds(variant, 8, 2, law), short)
        assert says(page, f"stale-theory-{n}") == short(theory.mean_staleness(variant, 8, 2))
        low, high = theory.used_share_bounds(variant, 8, 2, law)
        assert says(page, f"used-theory-{n}") == seen(
            low, high, lambda share: f"{int(100 * share + 0.5)}\u00a0%"
        )
        used = int(says(page, f"used-{n}").rstrip("\u00a0%")) / 100
        assert low - 0.1 < used < high + 0.1


def test_racing_many_times_says_how_sure_it_is(race):
    page = race("#race?P=4&K=2&law=exponential")
    page.get_by_role("button", name="Race 100 times").click()
    page.get_by_text("races with other luck").wait_for()
    wins = [page.locator(f"[data-is=wins-{n}]").inner_text().split(" and ") for n in range(4)]
    assert [sum(int(count) for count in column) for column in zip(*wins, strict=True)] == pytest.approx(
        [100, 100], abs=2
    )


def test_racing_many_times_leaves_the_page_time_within_every_race(race):
    """On a clock that shows 3 ms more whenever it is asked, 40 slices of 12 ms are not one race."""
    page = race("#race?P=64&K=8")
    progress = page.evaluate(f"""async () => {{
      const root = {HOST}.shadowRoot, button = root.querySelector('[data-is=many]'), real = performance.now;
      let clock = 0;
      performance.now = () => (clock += 3);
      button.click();
      for (let n = 0; n < 40; n++) await new Promise(done => setTimeout(done));
      performance.now = real;
      const words = button.innerText;
      {RACE}.set({{P: 2}});
      await new Promise(done => setTimeout(done, 20));
      return [words, button.innerText];
    }}""")
    assert progress == ["0 of 100", "Race 100 times"]


# ---- The pictures ---------------------------------------------------------------------------------------

# What is drawn at a moment: the words and the fills of each canvas, and how many rings are stamped on it.
DRAWN = f"""t => {{
  const kind = CanvasRenderingContext2D.prototype, {{fillText, fillRect, drawImage}} = kind;
  const canvases = ['.gate canvas', '.chart'].flatMap(all => [...{HOST}.shadowRoot.querySelectorAll(all)]);
  const seen = canvases.map(() => ({{words: [], fills: [], rings: 0}}));
  const note = (method, keep) => function (...all) {{
    const at = seen[canvases.indexOf(this.canvas)];
    if (at && this.globalAlpha > 0) keep(at, this, all);
    return method.apply(this, all);
  }};
  kind.fillText = note(fillText, (at, g, [word]) => at.words.push(word));
  kind.fillRect = note(fillRect, (at, g) => at.fills.push(g.fillStyle));
  kind.drawImage = note(drawImage, (at, g) => {{ if (g.globalAlpha < 1) at.rings++; }});
  {RACE}.seek(t);
  Object.assign(kind, {{fillText, fillRect, drawImage}});
  return {{seen, updates: canvases.slice(0, 4).map((_, n) =>
    parseInt({HOST}.shadowRoot.querySelector(`[data-is=count-${{n}}]`).textContent))}};
}}"""


def test_an_update_flashes_and_what_it_cancels_leaves_rings(race):
    page = race()
    before = page.evaluate(DRAWN, 0.01)
    assert before["updates"] == [0, 0, 0, 0]
    for n, variant in enumerate(VARIANTS):
        low, high = 0.01, 2.0  # the first update is between them
        while high - low > 1e-3:
            middle = (low + high) / 2
            low, high = (low, middle) if page.evaluate(DRAWN, middle)["updates"][n] else (middle, high)
        color = VARIANT[variant].color.lower()
        quiet, flash = page.evaluate(DRAWN, low)["seen"][n], page.evaluate(DRAWN, high)["seen"][n]
        assert color not in quiet["fills"] and color in flash["fills"], variant
        assert quiet["rings"] == 0 and (flash["rings"] > 0) == variant.endswith("-sync"), variant


def test_the_axis_of_the_loss_grows_with_the_race_down_to_a_floor_that_is_named(race):
    page = race()
    words = {t: page.evaluate(DRAWN, t)["seen"][4]["words"] for t in (0, 10, 50)}
    ends = [max(float(word) for word in words[t][: words[t].index("time")] if word != "floor") for t in words]
    assert ends == sorted(set(ends)) and ends[-1] == 50
    assert all({"floor", "loss", *VARIANTS} <= set(found) for found in words.values())


@pytest.mark.parametrize("theme", THEMES)
def test_the_pictures_follow_the_theme(race, theme):
    page = race()
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    page.wait_for_function(f"() => ({GROUND})().every(red => red === {0x12 if theme == 'dark' else 0xFF})")
    page.evaluate("document.documentElement.dataset.theme = 'light'")


GROUND = f"""() => [...{HOST}.shadowRoot.querySelectorAll('.gate canvas, .chart')]
  .map(canvas => canvas.getContext('2d').getImageData(0, 0, 1, 1).data[0])"""


def test_the_chart_does_not_grow_with_its_pixels(race):
    page = race()
    height = f"{HOST}.shadowRoot.querySelector('.chart').clientHeight"
    before = page.evaluate(height)
    for moment in range(5):
        page.evaluate(f"{RACE}.seek({moment})")
        page.get_by_role("button", name="New luck").click()
    assert page.evaluate(height) == before < 700


# A machine whose frames come as late as window.late says, in milliseconds.
LATE = """
window.late = 16;
window.asked = 0;
let clock = 1000;
window.requestAnimationFrame = draw => {
  asked++;
  return setTimeout(() => draw(clock += late));
};
window.cancelAnimationFrame = clearTimeout;"""
SOON = 50  # milliseconds; to wait frame by frame would ask for frames


def test_a_slow_machine_draws_fewer_pixels_and_recovers_and_off_screen_none(opened_anew):
    page = opened_anew("#race?P=2&K=1", PHONE, LATE, device_scale_factor=2)
    wide = f"{HOST}.shadowRoot.querySelector('.gate canvas').width"
    at_rest = page.evaluate(wide)
    page.locator("[data-is=speed]").select_option("0.25")
    page.get_by_role("button", name="Play").click()
    page.evaluate("window.late = 50")
    page.wait_for_function(f"{RACE}.pixels === 2", polling=SOON)
    assert page.evaluate(wide) <= 0.6 * at_rest
    page.evaluate("window.late = 16")
    page.wait_for_function(f"{RACE}.pixels === 0", polling=SOON)
    assert page.evaluate(wide) == at_rest
    page.evaluate("document.body.style.paddingBottom = '3000px'; scrollTo(0, 5000)")
    page.wait_for_timeout(200)
    still, moment = page.evaluate(f"[asked, {RACE}.t]")
    page.wait_for_timeout(200)
    assert page.evaluate(f"[asked, {RACE}.t]") == [still, moment]
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function(f"{RACE}.t > {moment}", polling=SOON)


def test_with_reduced_motion_time_goes_in_steps_and_nothing_flashes(opened_anew):
    page = opened_anew(reduced_motion="reduce", before=LATE)
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(f"{RACE}.t > 0", polling=SOON)
    assert page.evaluate(f"{RACE}.t") % 1 == pytest.approx(0)
    page.get_by_role("button", name="Pause").click()
    assert page.evaluate("asked") == 0
    for t in np.linspace(1, 2, 20):
        for variant, drawn in zip(VARIANTS, page.evaluate(DRAWN, t)["seen"], strict=False):
            assert VARIANT[variant].color.lower() not in drawn["fills"] and not drawn["rings"]


# ---- For every reader -----------------------------------------------------------------------------------


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


CONTROLS = f"""() => [...{HOST}.shadowRoot
  .querySelectorAll('button, select, input, textarea, [tabindex="0"]')]
  .filter(one => one.checkVisibility()).map(one => one.name || one.dataset.is || one.className)"""
FOCUSED = f"""() => {{
  const one = {HOST}.shadowRoot.activeElement;
  if (!one) return null;
  const {{outlineStyle, outlineWidth}} = getComputedStyle(one.type === 'radio' ? one.closest('label') : one);
  const ringed = outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2;
  return [one.name || one.dataset.is || one.className, ringed];
}}"""


def test_the_keyboard_reaches_every_control_in_view_of_the_reader(race):
    page = race("#race?law=pasted")
    page.locator("textarea").fill("a b\n1 2\n3 4")
    page.locator("h1").evaluate("one => { one.tabIndex = -1; one.focus(); }")
    controls, reached = set(page.evaluate(CONTROLS)), {}
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused is None:
            break
        reached[focused[0]] = focused[1]
    assert set(reached) == controls
    assert all(reached.values()), reached


def test_the_keyboard_works_every_control(race):
    page = race()
    press = lambda part, key: page.locator(f"[data-is={part}]").press(key)  # noqa: E731
    press("play", "Enter")
    page.wait_for_function(f"{RACE}.t > 0")
    press("play", "Space")
    press("restart", "Enter")
    assert page.evaluate(f"{RACE}.t") == 0
    press("story-3", "Enter")
    press("K", "ArrowLeft")
    press("eta", "ArrowRight")
    page.locator("input[value=lognormal]").press("ArrowRight")
    setting = page.evaluate(f"{RACE}.setting")
    assert (setting["P"], setting["K"], setting["law"]) == (16, 15, "pareto") and setting["eta"] > 0.25
    press("luck", "Enter")
    assert page.evaluate(f"{RACE}.setting.seed") != setting["seed"]
    page.locator("[name$=early]").first.press("ArrowRight")
    assert page.locator("[name$=early]").nth(1).is_checked()
    page.evaluate(f"{HOST}.shadowRoot.querySelectorAll('[name$=early]').forEach(one => one.checked = false)")


def test_a_screen_reader_finds_every_control_by_its_name(race):
    page = race("#race?law=pasted&t=10")
    page.locator("textarea").fill("a b\n1 2\n3 4")
    page.wait_for_timeout(400)  # what is told follows the race when it rests
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    found = {}
    for node in tree:
        if not node["ignored"]:
            found.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    named = lambda role: sorted(found[role])  # noqa: E731
    assert named("slider") == ["Time", "learners P", "learning rate η", "per update K"]
    assert named("combobox") == ["Column", "Speed"]
    assert named("textbox") == ["Your step times, in any unit: one column, or a table with names"]
    assert named("radio") == sorted(law.label for law in LAWS.values())
    buttons = ["Play", "Back to the start", "New luck", "Race 100 times", "Copy link"]
    assert named("button") == sorted([*buttons, *(story.name for story in STORIES)])
    pictures = found["image"]
    assert sum(name.startswith("Loss against time. Time 10.0 of 50.") for name in pictures) == 1
    for variant in VARIANTS:  # at the gate and in the table
        assert sum(name.startswith(f"{variant}: of the time of 8 learners") for name in pictures) == 2
    assert len(pictures) == 9


def test_a_listener_hears_the_state_at_rest_and_no_stream(race):
    page = race()
    page.wait_for_timeout(400)
    page.evaluate(f"""() => {{
      window.spoken = [];
      const root = {HOST}.shadowRoot;
      window.listening = [...root.querySelectorAll('[role=status], [role=alert], [aria-live]')];
      const note = changes => spoken.push(...changes.map(({{target}}) => target.textContent));
      window.ear = new MutationObserver(note);
      listening.forEach(one => ear.observe(one, {{subtree: true, childList: true, characterData: true}}));
    }}""")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(f"{RACE}.t > 0.25")
    assert page.evaluate("spoken") == []
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(400)
    assert len(page.evaluate("spoken")) == 1
    assert re.match(r".+\. Time 0\.\d of 50\. K-.+ after \d+ updates?\.$", says(page, "status"))
    for moment in range(1, 20):  # who drags the slider hears where it comes to rest
        page.evaluate(f"{RACE}.seek({moment})")
    page.wait_for_timeout(400)
    assert len(page.evaluate("spoken")) == 2 and " Time 19.0 of 50." in says(page, "status")
    page.evaluate("ear.disconnect()")


# Texts that are cut off, or outside of the window and of what scrolls.
CUT = f"""() => [...{HOST}.shadowRoot
  .querySelectorAll('button, label, legend, th, td, li, p, output, span, b, canvas')]
  .filter(one => one.checkVisibility() && !one.closest('.unseen') && !one.closest('.scroll, .stories'))
  .filter(one => {{
    const {{left, right}} = one.getBoundingClientRect(), whole = getComputedStyle(one).display === 'inline';
    return left < -0.5 || right > innerWidth + 0.5 || !whole && one.scrollWidth > one.clientWidth + 1;
  }})
  .map(one => one.dataset.is || one.textContent)"""


@pytest.mark.parametrize(
    ("width", "sharp"), [(640, 2), (320, 2), (195, 2)], ids=["desk at 200 %", "320 px", "phone at 200 %"]
)
def test_twice_the_size_cuts_nothing_off(race, width, sharp):
    page = race("#race?law=pasted")
    page.set_viewport_size({"width": width, "height": 450})
    for moment in (0, 50):
        page.evaluate(f"{RACE}.seek({moment})")
        assert page.evaluate(CUT) == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.set_viewport_size(DESK)


# Where words are, in pixels of a picture of the whole page.
WORDS = f"""() => [...{HOST}.shadowRoot.querySelectorAll(
  'button, .choices span, .laws span, .lesson, .story, .clock, output, .field label, th, td b')]
  .filter(one => one.checkVisibility() && /\\w/.test(one.textContent))
  .map(one => {{
    const range = document.createRange();
    range.selectNodeContents(one);
    const {{left, top, width, height}} = range.getBoundingClientRect();
    return [one.textContent, left, top + scrollY, width, height];
  }})"""


@pytest.mark.parametrize("scheme", THEMES)
def test_forced_colors_leave_everything_readable(race, scheme):
    page = race("#race?t=20")
    page.emulate_media(color_scheme=scheme)
    page.emulate_media(color_scheme=scheme, forced_colors="active")  # while the page is open
    page.wait_for_function(f"() => ({GROUND})().every(red => red === {0 if scheme == 'dark' else 255})")
    picture = np.asarray(Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")) / 255
    linear = np.where(picture <= 0.04045, picture / 12.92, ((picture + 0.055) / 1.055) ** 2.4)
    light = linear @ [0.2126, 0.7152, 0.0722]
    for words, left, top, width, height in page.evaluate(WORDS):
        box = light[int(top) : int(top + height), int(left) : int(left + width)]
        assert (box.max() + 0.05) / (box.min() + 0.05) >= 4.5, words
    page.emulate_media(forced_colors="none", color_scheme="light")
    page.wait_for_function(f"() => ({GROUND})().every(red => red === 255)")


# ---- On the landing page ----------------------------------------------------------------------------------

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
    first_visit = reader(viewport=window, own=True)
    page = first_visit.open(f"{addresses['book']}/{LANDING}.html", everything=False)
    page.evaluate(SHIFTS)
    page.wait_for_timeout(100)
    assert page.evaluate("window.shifts") < 0.1


def test_the_landing_page_is_light():
    html = (SITES["book"].folder / f"{LANDING}.html").read_bytes()
    assert len(gzip.compress(html, 9)) + len(gzip.compress(script().encode(), 9)) <= HEAVIEST


def test_without_scripts_the_landing_page_shows_the_race_as_a_picture(reader, addresses):
    one = reader(viewport=DESK, java_script_enabled=False)
    one.page.goto(f"{addresses['book']}/{LANDING}.html")
    assert one.page.locator("noscript [role=img]").first.is_visible()
    assert one.page.locator("[data-race]").bounding_box()["height"] == 0
