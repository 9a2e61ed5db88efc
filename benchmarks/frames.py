"""What a frame of the live race costs a browser: `make bench-live`.

Chromium plays the race for some seconds while its developer protocol counts: frames, and the time that the
main thread spends on each, in all and in scripts. Without a GPU, drawing the pixels takes most of it.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from sgdrace.live import script

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A race</title>
<meta name="viewport" content="width=device-width"><div data-race></div><script src="race.js"></script>"""
SETTINGS = {
    "P = 8, K = 2": "#race?P=8&K=2",
    "P = 64, K = 8": "#race?P=64&K=8&eta=0.1",
    "P = 64, K = 1": "#race?P=64&K=1&eta=0.05",
}
WINDOWS = {"phone": (390, 844, 3), "desk": (1280, 900, 1)}
THROTTLES = (1, 4)
SECONDS = 4
COUNT = "window.frames_seen = 0; (function count() { frames_seen++; requestAnimationFrame(count); })()"


def measured(browser, address, window, throttle):
    """Frames a second, and milliseconds of the main thread and of its scripts for each."""
    width, height, ratio = WINDOWS[window]
    page = browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=ratio)
    page.goto(address)
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})  # time at work, not time that passed
    tools.send("Emulation.setCPUThrottlingRate", {"rate": throttle})
    page.get_by_role("button", name="Play").click()
    page.wait_for_timeout(2000)  # until the race knows how many pixels this machine draws in time
    page.evaluate(COUNT)

    def metrics():
        found = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
        return page.evaluate("[performance.now(), frames_seen]"), found

    (start, first), before = metrics()
    page.wait_for_timeout(1000 * SECONDS)
    (end, last), after = metrics()
    frames = last - first
    spent = [1000 * (after[name] - before[name]) / frames for name in ("TaskDuration", "ScriptDuration")]
    page.close()
    return 1000 * frames / (end - start), *spent


@contextmanager
def race_in_chromium() -> Iterator[tuple[Browser, str]]:
    """A browser, and the address of a page that has nothing but a race."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("There is no Chromium on this machine, which this needs.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        (Path(folder) / "race.js").write_text(script(), encoding="utf-8")
        page = Path(folder) / "index.html"
        page.write_text(PAGE, encoding="utf-8")
        browser = tools.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser, page.as_uri()
        browser.close()


def main():
    with race_in_chromium() as (browser, address):
        print(
            f"{'race':15}{'window':8}{'throttled':>10}{'frames/s':>10}{'ms a frame':>12}{'of it script':>14}"
        )
        for name, link in SETTINGS.items():
            for window in WINDOWS:
                for throttle in THROTTLES:
                    rate, task, scripts = measured(browser, address + link, window, throttle)
                    print(
                        f"{name:15}{window:8}{throttle:>9}×{rate:>10.0f}{task:>12.1f}{scripts:>14.2f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
