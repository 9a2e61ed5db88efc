"""A browser, and the built sites behind a small web server."""

import functools
import http.server
import json
import os
import shutil
import threading
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "node_modules/axe-core/axe.min.js"
REQUIRED = "SITE_TESTS_REQUIRED"  # set where a missing browser must not go unnoticed
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
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
PAGES = [pytest.param(name, page, id=page) for name, site in SITES.items() for page in site.pages]


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


class Reader:
    """A page in the browser that remembers what went wrong on it."""

    def __init__(self, browser, **context):
        self.scripts = context.get("java_script_enabled", True)
        self.scheme = context.get("color_scheme")
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.errors, self.elsewhere = [], []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._asked)

    def _heard(self, message):
        if message.type == "error" or "[PST]: Changed" in message.text:
            self.errors.append(message.text)

    def _asked(self, request):
        if not request.url.startswith(("http://127.0.0.1:", "data:", "file:", "blob:")):
            self.elsewhere.append(request.url)

    def open(self, url):
        self.page.goto(url)
        if self.scripts:
            self.page.add_style_tag(content=AT_ONCE)
            self.page.wait_for_function(READY)
        return self.page


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
