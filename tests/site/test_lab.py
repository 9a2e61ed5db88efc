"""The same explorers with a live kernel, in JupyterLab, in the browser."""

import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from book.notebooks import KERNEL

from tests.site.conftest import DESK, ROOT, STOPWATCH

TOKEN = "only-on-this-machine"
LIVE = """from ipywidgets import HTML
from sgdrace.live import LiveRace
race, heard = LiveRace(P=16, K=4), HTML()
race.observe(lambda change: setattr(heard, "value", f"P is {change.new}"), "P")
def answer(change):
    if change.new == [8, 10]:
        race.times = [7, 9, 11]
race.observe(answer, "times")
display(race, heard)
race.K = 3"""


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab that has a copy of the demonstration notebook."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copy(ROOT / "tests/site/demo.ipynb", home)
    cells, kernel = [nbformat.v4.new_code_cell(LIVE)], {"kernelspec": KERNEL}  # or JupyterLab asks for one
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), home / "live.ipynb")
    base = f"http://127.0.0.1:{(port := _free_port())}"
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", f"--port={port}"]
    command += [f"--ServerApp.root_dir={home}", f"--IdentityProvider.token={TOKEN}", "--LabApp.news_url=None"]
    command += ["--LabApp.expose_app_in_browser=True"]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=home, stdout=log, stderr=log)
        try:
            _wait_for(f"{base}/api?token={TOKEN}", server, home / "log")
            yield base
        finally:
            server.terminate()
            server.wait(20)


def _wait_for(url, server, log):
    for _ in range(240):
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.5)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()}")


# Before the kernel is there, the same command opens a dialog that asks for one.
RUN_ALL = """async () => {
  const session = jupyterapp.shell.currentWidget.sessionContext;
  await session.ready;
  await session.session.kernel.info;
  await jupyterapp.commands.execute('notebook:run-all-cells');
}"""


def test_a_slider_moved_in_jupyterlab_draws_its_frame(lab, reader, note):
    page = reader(viewport=DESK, own=True).page
    page.goto(f"{lab}/lab/tree/demo.ipynb?reset&token={TOKEN}", timeout=120_000)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=120_000)
    page.evaluate(RUN_ALL)
    frames = page.locator(".explorer-frames").first
    picture = frames.locator("[role=img]")
    picture.wait_for(timeout=120_000)
    handle = page.locator(".explorer .noUi-handle").first
    handle.scroll_into_view_if_needed()
    page.evaluate(STOPWATCH)
    seen = [picture.get_attribute("aria-label")]
    for _ in range(2):
        handle.press("ArrowRight")
        page.wait_for_function(
            "old => document.querySelector('.explorer-frames [role=img]')?.ariaLabel !== old", arg=seen[-1]
        )
        seen.append(picture.get_attribute("aria-label"))
    assert len(set(seen)) == 3, "every frame has its own text alternative"
    note(page="JupyterLab", frames_ms=page.evaluate("window.latencies"))


def test_the_race_in_jupyterlab_follows_the_kernel_and_the_kernel_the_reader(lab, reader):
    page = reader(viewport=DESK, own=True).page
    page.goto(f"{lab}/lab/tree/live.ipynb?reset&token={TOKEN}", timeout=120_000)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=120_000)
    page.evaluate(RUN_ALL)
    page.locator("[data-is=K-value]").get_by_text("3", exact=True).wait_for(timeout=120_000)
    assert page.locator("[data-is=P-value]").inner_text() == "16"
    page.locator("[data-is=P]").press("End")
    page.get_by_text("P is 64", exact=True).wait_for()
    assert page.locator("[data-is=K-value]").inner_text() == "3"
    page.get_by_text("your own", exact=True).click()
    page.locator("textarea[data-is=times]").fill("step\tms\n1\t8\n2\t10")
    page.locator("[data-is=column]").select_option("ms")
    page.get_by_text("3 times, 9.00 on average.").wait_for()  # the kernel heard of the column, and answered
    assert page.locator("textarea[data-is=times]").input_value() == "7\n9\n11"
