"""With a live kernel an explorer draws what the built page shows, also after the last cell has run."""

import pytest
from book.notebooks import ROOT, read

from sgdrace.explore import PRERENDER
from tests.notebooks import live
from tests.site.conftest import SITES

PAGES = [
    pytest.param(site.folder / f"{page}.html", ROOT / f"{page}.ipynb", id=page)
    for site in SITES.values()
    for page in site.pages
    if (ROOT / f"{page}.ipynb").exists()
]


@pytest.mark.parametrize(("page", "notebook"), PAGES)
def test_a_chapter_alone_in_a_folder_runs_to_its_end_and_its_explorers_draw_what_the_page_has(
    page, notebook, tmp_path, monkeypatch
):
    assert page.exists(), f"{page.relative_to(ROOT)} is not built; `make test` builds it first."
    monkeypatch.delenv(PRERENDER, raising=False)
    drawn = live.explorers_after_all(read(notebook), tmp_path)
    built = live.explorers_on(page.read_text(encoding="utf-8"))
    assert [explorer["count"] for explorer in drawn] == list(map(live.count, built))
    different = [
        f"{explorer['name']} at {words}: {frame[:200]}"
        for explorer, frames in zip(drawn, built, strict=True)
        for state, words, frame in explorer["frames"]
        if frame != live.at(frames, state)
    ]
    assert different == []
