"""The instructor's guide leads to places that are there, and each misconception to an explorer."""

import ast
import re

import pytest
import yaml
from book.notebooks import ROOT, read
from courses.practice import titles

GUIDE = (ROOT / "book/teach/guide.md").read_text(encoding="utf-8")
LINKS = sorted(set(re.findall(r"\{section\}`([^`]*)`", GUIDE)))
MISCONCEPTIONS = re.findall(r"^\*\*“(.+?)”\*\*((?:.+\n)+)", GUIDE, re.M)


def sections(page):
    """The headings of a page, each with the names of the functions that are called below it."""
    found = {}
    for cell in read(ROOT / "book" / f"{page}.ipynb").cells:
        if cell.cell_type == "markdown":
            for heading in re.findall(r"^#+ (.+)$", cell.source, re.M):
                called = found[heading] = set()
        else:
            nodes = ast.walk(ast.parse(re.sub(r"^[%!].*$", "", cell.source, flags=re.M)))
            called |= {getattr(node.func, "id", "") for node in nodes if isinstance(node, ast.Call)}
    return found


@pytest.mark.parametrize("link", LINKS)
def test_every_section_that_the_guide_names_is_there(link):
    page, _, heading = link.partition(": ")
    assert heading in sections(page)


@pytest.mark.parametrize(("said", "answer"), MISCONCEPTIONS, ids=[said for said, _ in MISCONCEPTIONS])
def test_every_misconception_has_its_explorer(said, answer):
    links = [link.partition(": ") for link in re.findall(r"\{section\}`([^`]*)`", answer)]
    assert any("explore" in sections(page)[heading] for page, _, heading in links)
    assert set(re.findall(r"\{prf:ref\}`([^`]*)`", answer)) <= titles().keys()


def test_there_are_enough_misconceptions():
    assert len(MISCONCEPTIONS) >= 10


def test_the_guide_types_no_minutes_of_reading():
    plan, rest = GUIDE.split("### Three weeks")
    assert not re.search(r"\d+ minutes", rest)
    assert sum(map(int, re.findall(r"\*(\d+) minutes\.\*", plan))) == 90


def test_the_ways_through_the_book_name_every_chapter():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [part for part in toc["parts"] if part["caption"].startswith("Part")]
    chapters = {entry["file"] for part in parts for entry in part["chapters"]}
    assert chapters <= {f"book/{name}" for name in re.findall(r"\{doc\}`\.\./([\w-]+)`", GUIDE)}
