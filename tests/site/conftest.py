"""A browser, the built sites behind a small web server, and their pages, opened as rarely as possible.

To open a page takes seconds (formulas are typeset, widgets drawn), to look at it milliseconds. So pytest
groups the tests by the page that they share, a session's fixture with parameters, and opens it once for all:

    opened           every page; with @WITH_WIDGETS only those that have controls
    without_scripts  every page, with scripts off
    demo             the page of the demonstration, for checks that need no other
    reader           makes a page of one's own, for what must be opened in a certain way

One more check on every page:

    def test_no_page_scrolls_sideways_on_a_phone(opened):
        page = opened.at(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0

`at` says how the check wants its page, whatever others asked for before: in which window, in the light theme
unless it names another, and if need be `veiled=True` (as it comes; such checks are in test_arrival.py, which
runs first, because a page whose veils were lifted is opened again), `unfolded=True` or what a browser can
emulate, `color_scheme="dark"`, `media="print"`, `forced_colors="active"` and the like. What else a check
changes, it changes back. To look otherwise takes a page a second, so `@turn("phone")` puts a check beside
those that want the same. `opened.errors` is what the page complained of, and `opened.elsewhere` what it asked
of other hosts. What a check asks of many elements, it asks with one script: a question from here takes longer
than a thousand within the page.
"""

import functools
import http.server
import itertools
import json
import os
import shutil
import threading
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "node_modules/axe-core/axe.min.js"
VISIT = (ROOT / "tests/site/visit.js").read_text()
WIDGETS = 'script[type="application/vnd.jupyter.widget-view+json"]'
JUDGE = (ROOT / "tests/site/axe.js").read_text()
REQUIRED = "SITE_TESTS_REQUIRED"  # set where a missing browser must not go unnoticed
THEMES = ("light", "dark")
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 800}
PAPER = {"width": 700, "height": 1000}  # about what an A4 sheet has between its margins
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Each new window would also load pages for an address bar that nobody sees. Only the last such list
    # counts: the other names are from Playwright's, those that matter on this machine.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,AimEnabled,"
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,MediaRouter,"
    "NetworkTimeServiceQuerying,OptimizationHints,PaintHolding,PreconnectToSearch",
]

# Every widget is drawn and named, every equation typeset, and the keyboard reaches whatever scrolls, to which
# the theme sees a moment after the layout has changed.
READY = """() => {
  const all = (selector, test) => [...document.querySelectorAll(selector)].every(test);
  return all('script[type="application/vnd.jupyter.widget-view+json"]', view => {
      const box = view.parentElement.querySelector('.explorer, .predict');
      return box && box.querySelector('[aria-live]') && box.querySelector('.widget-html-content');
    }) && all('.math', math => math.querySelector('mjx-container'))
    && all('article pre', box => box.scrollWidth <= box.clientWidth || box.tabIndex === 0);
}"""


# To ask lays the page out, which takes long while formulas come in: not in every frame, but every so many ms.
PATIENCE = 200


class Site:
    """A built site: where its files are, and its pages in the order of its table of contents."""

    def __init__(self, folder, toc):
        self.folder = ROOT / folder
        self.pages = list(_files(yaml.safe_load((ROOT / toc).read_text())))


def _files(entry):
    if isinstance(entry, dict):
        yield from (entry[key] for key in ("root", "file") if key in entry)
        for key in ("parts", "chapters", "sections"):
            yield from _files(entry.get(key, []))
    else:
        for one in entry:
            yield from _files(one)


SITES = {
    "demo": Site("_build/demo/_build/html", "tests/site/_toc.yml"),
    "book": Site("_build/html", "_toc.yml"),
}
DEMO = ("demo", "tests/site/demo")


def html(site, name):
    """The text of a page, which is empty if it was not built."""
    file = SITES[site].folder / f"{name}.html"
    return file.read_text() if file.exists() else ""


def _has_widgets(case):
    return "widget-view+json" in html(*case.values)


# Pages with widgets first: a parameter of the same place is the same page to pytest, which then stays open.
PAGES = sorted(
    (pytest.param(name, page, id=page) for name, site in SITES.items() for page in site.pages),
    key=lambda case: not _has_widgets(case),
)
WITH_WIDGETS = pytest.mark.parametrize(
    "opened",
    [pytest.param(case.values, id=case.id) for case in PAGES if _has_widgets(case)],
    indirect=True,
    scope="session",
)


def _chromium():
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api") if REQUIRED not in os.environ else None
    if api is None:
        import playwright.sync_api as api
    path = _chromium()
    if path is None and REQUIRED not in os.environ:
        pytest.skip("There is no Chromium on this machine.")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield chromium
        chromium.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="session")
def addresses():
    """The address of each site that was built."""
    servers = {}
    for name, site in SITES.items():
        if not (site.folder / "index.html").exists():
            pytest.fail(f"{site.folder.relative_to(ROOT)} is not built; `make test` builds it first.")
        handler = functools.partial(_Quiet, directory=str(site.folder))
        servers[name] = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=servers[name].serve_forever, daemon=True).start()
    yield {name: f"http://127.0.0.1:{server.server_port}" for name, server in servers.items()}
    for server in servers.values():
        server.shutdown()
        server.server_close()


# In the page: how long after a key press the explorer that has the focus shows another frame.
STOPWATCH = """() => {
  window.latencies = [];
  document.addEventListener('keydown', () => {
    const began = performance.now();
    const frames = document.activeElement.closest('.explorer').querySelector('.explorer-frames');
    const watch = new MutationObserver(() => {
      watch.disconnect();
      requestAnimationFrame(() => window.latencies.push(performance.now() - began));
    });
    watch.observe(frames, {subtree: true, childList: true, characterData: true});
  }, true);
}"""


# A layout that glides into place has no moment at which to look at it.
AT_ONCE = "*, *::before, *::after { transition: none !important; }"


EVERYTHING = """() => {
  document.querySelectorAll('.veil-ask button').forEach(button => button.click());
  document.querySelectorAll('details.deeper').forEach(fold => fold.open = true);
}"""

# In the page: open every fold, or fold again what was folded at first. The theme sees what has come to scroll
# when it hears that the window has changed.
FOLD = """unfold => {
  for (const fold of document.querySelectorAll('article details')) {
    fold.dataset.atFirst ??= fold.open ? 'open' : 'folded';
    fold.open = unfold || fold.dataset.atFirst === 'open';
  }
  dispatchEvent(new Event('resize'));
}"""


class Reader:
    """A page in the browser that remembers what went wrong on it."""

    def __init__(self, browser, **context):
        self.scripts = context.get("java_script_enabled", True)
        self.scheme = context.get("color_scheme", "light")
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)  # a busy machine is slow, not wrong
        self.errors, self.elsewhere, self._emulated = [], [], None
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._asked)

    def _heard(self, message):
        if message.type == "error" or "[PST]: Changed" in message.text:
            self.errors.append(message.text)

    def _asked(self, request):
        if not request.url.startswith(("http://127.0.0.1:", "data:", "file:", "blob:")):
            self.elsewhere.append(request.url)

    def open(self, url, everything=True):
        """Go to a page and wait until it is drawn; lift its veils and unfold what is deeper, or leave it."""
        self.page.goto(url)
        self._veiled, self._unfolded = True, False
        if self.scripts:
            self.page.add_style_tag(content=AT_ONCE)
            self.page.wait_for_function(READY, polling=PATIENCE)
            if everything:
                self._lift()
                self.page.wait_for_function(READY, polling=PATIENCE)
        return self.page

    def _lift(self):
        self.page.evaluate(EVERYTHING)
        self._veiled = False

    def at(self, window, *, veiled=False, unfolded=False, **media):
        """The page, laid out in this window; on a screen, unless `media` says what else to emulate."""
        # No medium at all is the screen, and paper while a PDF is made.
        usual = {"media": "null", "reduced_motion": "no-preference", "forced_colors": "none"}
        emulated = {"color_scheme": self.scheme, **usual, **media}
        if emulated != self._emulated:  # else the browser would find all styles again
            self.page.emulate_media(**emulated)
            self._emulated = emulated
        if window != self.page.viewport_size:
            self.page.set_viewport_size(window)
        if self.scripts:
            if veiled and not self._veiled:
                self.open(self.page.url, everything=False)
            elif self._veiled and not veiled:
                self._lift()
            if unfolded != self._unfolded:
                self.page.evaluate(FOLD, unfolded)
                self._unfolded = unfolded
            theme = media.get("color_scheme", self.scheme)
            self.page.wait_for_function(
                f"innerWidth === {window['width']} && document.documentElement.dataset.theme === '{theme}'"
            )
            self.page.wait_for_function(READY, polling=PATIENCE)
        return self.page

    def judged(self, rules):
        """What axe finds serious on the page as it is, by the kinds of rules that axe.js names."""
        if not self.page.evaluate("Boolean(window.axe)"):
            self.page.add_script_tag(path=AXE)
        return self.page.evaluate(JUDGE, rules)


@pytest.fixture(scope="session", params=[case.values for case in PAGES], ids=lambda case: case[1])
def opened(request, browser, addresses):
    """Each page, for all tests that look at it or move its controls; every other one is a file."""
    site, name = request.param
    is_file = SITES[site].pages.index(name) % 2
    yield from _open(SITES[site].folder.as_uri() if is_file else addresses[site], name, browser)


@pytest.fixture(scope="session", params=[case.values for case in PAGES], ids=lambda case: case[1])
def without_scripts(request, browser, addresses):
    """Each page as a reader without scripts sees it."""
    site, name = request.param
    yield from _open(addresses[site], name, browser, java_script_enabled=False)


@pytest.fixture(scope="session")
def demo(browser, addresses):
    """The page of the demonstration, for tests that need no other."""
    site, name = DEMO
    yield from _open(addresses[site], name, browser)


# Ways for a page to look, in an order in which each differs little from the one before.
TURNS = (
    "veiled",
    "phone",
    "phone and dark",
    "desk unfolded",
    "phone unfolded",
    "paper unfolded",
    "paper",
    "desk",
)


def turn(name):
    """When a check has its turn on a page that it shares: with those that want it to look the same."""
    return pytest.mark.turn(TURNS.index(name))


def _turn(item):
    mark = item.get_closest_marker("turn")
    return mark.args[0] if mark else len(TURNS)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Checks of one page by their turns; pytest has put them side by side."""

    def page(item):
        params = item.callspec.params if hasattr(item, "callspec") else {}
        return next(((one, params[one]) for one in ("opened", "without_scripts") if one in params), None)

    items[:] = [
        item
        for shared, run in itertools.groupby(items, page)
        for item in (sorted(run, key=_turn) if shared else run)
    ]


def _open(base, name, browser, **context):
    one = Reader(browser, viewport=DESK, **context)
    one.name = name
    one.open(f"{base}/{name}.html", everything=False)
    yield one
    one.context.close()


@pytest.fixture
def reader(browser):
    """Make readers, each with the window and the settings asked for."""
    made = []

    def make(**context):
        made.append(Reader(browser, **context))
        return made[-1]

    yield make
    for one in made:
        one.context.close()


@pytest.fixture(scope="session")
def note():
    """Keep a measured figure for the report: a JSON line in _build/measured.jsonl."""

    def write(**figures):
        with (ROOT / "_build/measured.jsonl").open("a") as file:
            file.write(json.dumps(figures) + "\n")

    return write
