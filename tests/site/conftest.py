"""A browser, the built sites behind a small web server, and their pages, opened as rarely as possible.

To open a page takes seconds (formulas are typeset, widgets drawn), to look at it milliseconds. So pytest
groups the tests by the page that they share, a session's fixture with parameters, and opens it once for all:

    opened           every page; with @WITH_WIDGETS only those that have controls
    without_scripts  every page, with scripts off
    demo             the page of the demonstration, for checks that need no other
    reader           opens pages in a certain way, in a tab that other tests have left; with `own=True` in
                     one that nobody has used, for what counts on a first visit or changes the tab itself

One more check on every page:

    def test_no_page_scrolls_sideways_on_a_phone(opened):
        page = opened.at(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0

`at` says how the check wants its page, whatever others asked for before: in which window, in the light theme
unless it names another, and if need be `veiled=True` (as it comes; such checks are in test_arrival.py, which
runs first, because a page whose veils were lifted is opened again), `unfolded=True`, `formulas=False` (for a
check to which they are nothing) or what a browser can emulate, `color_scheme="dark"`, `media="print"`,
`forced_colors="active"` and the like. What else a check changes, it changes back. To look otherwise takes a
page a second, less without formulas, so `@turn("phone")` puts a check beside those that want the same.
`opened.errors` is what the page complained of, and `opened.elsewhere` what it asked of other hosts. What a
check asks of many elements, it asks with one script: a question from here takes longer than a thousand within
the page.
"""

import contextlib
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
WINDOW = {"width": 1280, "height": 720}  # for who does not care
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


# A layout that glides into place has no moment at which to look at it, nor have words that fade in.
AT_ONCE = """*, *::before, *::after {
  transition: none !important; animation-duration: 0s !important; animation-delay: 0s !important;
}"""


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


# What a tab can be told later; no medium at all is the screen, and paper while a PDF is made.
MEDIA = {
    "media": "null",
    "color_scheme": "light",
    "reduced_motion": "no-preference",
    "forced_colors": "none",
}


# In the page: set aside what formulas are made of, half of all elements, or put it back.
SET_ASIDE = """aside => {
  for (const formula of document.querySelectorAll('mjx-container')) {
    if (aside) formula.setAside ??= [...formula.childNodes];
    formula.replaceChildren(...(aside ? [] : formula.setAside ?? formula.childNodes));
  }
}"""


class Reader:
    """A tab of the browser that remembers what went wrong on its page."""

    def __init__(self, browser, viewport=WINDOW, **context):
        self.media, fixed = _parted(context)
        self.scripts = fixed.get("java_script_enabled", True)
        self.context = browser.new_context(viewport=viewport, **context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)  # a busy machine is slow, not wrong
        self.errors, self.elsewhere = [], []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._asked)
        self._emulated = self.media

    def come(self, viewport, media):
        """Another reader sits down, who sees it in this way."""
        self.errors.clear()
        self.elsewhere.clear()
        self.media = media
        self._look(viewport, media)

    def leave(self):
        """Leave the tab as it was found: empty, and with no memory of this reader."""
        if self.scripts and not self.page.url.startswith("about:"):
            self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.page.mouse.move(-1, -1)
        self.page.goto("about:blank")
        self._emulated = None  # a test may have emulated more

    def _look(self, window, media):
        if media != self._emulated:  # else the browser would find all styles again
            self.page.emulate_media(**media)
            self._emulated = media
        if window != self.page.viewport_size:
            self.page.set_viewport_size(window)

    def _heard(self, message):
        if message.type == "error" or "[PST]: Changed" in message.text:
            self.errors.append(message.text)

    def _asked(self, request):
        if not request.url.startswith(("http://127.0.0.1:", "data:", "file:", "blob:")):
            self.elsewhere.append(request.url)

    def open(self, url, everything=True):
        """Go to a page and wait until it is drawn; lift its veils and unfold what is deeper, or leave it."""
        self.page.goto(url)
        self._veiled, self._unfolded, self._formulas = True, False, True
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

    def at(self, window, *, veiled=False, unfolded=False, formulas=True, **media):
        """The page, laid out in this window; on a screen, unless `media` says what else to emulate."""
        if self.scripts and formulas != self._formulas:
            self.page.evaluate(SET_ASIDE, not formulas)
            self._formulas = formulas
        emulated = {**self.media, **media}
        self._look(window, emulated)
        if self.scripts:
            if veiled and not self._veiled:
                self.open(self.page.url, everything=False)
            elif self._veiled and not veiled:
                self._lift()
            if unfolded != self._unfolded:
                self.page.evaluate(FOLD, unfolded)
                self._unfolded = unfolded
            theme = emulated["color_scheme"]
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


def _parted(context):
    """What can be emulated on an open page, and what is for good."""
    return (
        {name: context.get(name, usual) for name, usual in MEDIA.items()},
        {name: value for name, value in context.items() if name not in MEDIA},
    )


@pytest.fixture(scope="session")
def tabs(browser):
    """Tabs that others have left: one that knows the scripts of the site opens a page in half the time."""
    idle = {}

    @contextlib.contextmanager
    def take(viewport=WINDOW, kind="http", own=False, **context):
        media, fixed = _parted(context)
        left = idle.setdefault(json.dumps([kind, fixed], sort_keys=True), [])
        one = left.pop() if left and not own else Reader(browser, viewport, **context)
        one.come(viewport, media)
        yield one
        if own:
            one.context.close()
        else:
            one.leave()
            left.append(one)

    yield take
    for one in itertools.chain(*idle.values()):
        one.context.close()


def _open(tabs, base, name, **context):
    with tabs(viewport=DESK, kind=base.partition(":")[0], **context) as one:
        one.name = name
        one.open(f"{base}/{name}.html", everything=False)
        yield one


@pytest.fixture(scope="session", params=[case.values for case in PAGES], ids=lambda case: case[1])
def opened(request, tabs, addresses):
    """Each page, for all tests that look at it or move its controls; every other one is a file."""
    site, name = request.param
    is_file = SITES[site].pages.index(name) % 2
    yield from _open(tabs, SITES[site].folder.as_uri() if is_file else addresses[site], name)


@pytest.fixture(scope="session", params=[case.values for case in PAGES], ids=lambda case: case[1])
def without_scripts(request, tabs, addresses):
    """Each page as a reader without scripts sees it."""
    site, name = request.param
    yield from _open(tabs, addresses[site], name, java_script_enabled=False)


@pytest.fixture(scope="session")
def demo(tabs, addresses):
    """The page of the demonstration, for tests that need no other."""
    site, name = DEMO
    yield from _open(tabs, addresses[site], name)


# Ways for a page to look, in an order in which each differs little from the one before; the last three
# without formulas. Controls are moved when all else was looked at.
TURNS = (
    "veiled",
    "phone",
    "phone unfolded",
    "desk",
    "paper unfolded",
    "paper",
    "desk unfolded",
    "dark phone",
    "controls",
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


@pytest.fixture
def reader(tabs):
    """Make readers, each with the window and the settings asked for."""
    with contextlib.ExitStack() as made:
        yield lambda **context: made.enter_context(tabs(**context))


@pytest.fixture(scope="session")
def note():
    """Keep a measured figure for the report: a JSON line in _build/measured.jsonl."""

    def write(**figures):
        with (ROOT / "_build/measured.jsonl").open("a") as file:
            file.write(json.dumps(figures) + "\n")

    return write
