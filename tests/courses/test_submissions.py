"""What Canvas and Moodle unpack is understood; what cannot be graded is named, and no link is followed."""

import json
import os

import nbformat
import pytest
from courses import submissions

from tests.courses import tiny


def marked(*names):
    cells = [
        nbformat.v4.new_code_cell("1", metadata={"nbgrader": {"grade_id": name, "locked": True}})
        for name in names
    ]
    return nbformat.v4.new_notebook(cells=cells)


def put(path, content="{}"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def test_names_of_folders_and_files(tmp_path):
    put(tmp_path / "Some One_1234567_assignsubmission_file_" / "x.ipynb")
    put(tmp_path / "Some One_7654321_assignsubmission_file_" / "deeper" / "x.ipynb")  # another of that name
    put(tmp_path / "onesome_12345_678910_staleness.ipynb")
    put(tmp_path / "onesome_12345_678911_staleness-1.ipynb")
    put(tmp_path / "twosome_LATE_23456_678912_k_variants.ipynb")
    put(tmp_path / "anon_x1Y2z_678913_staleness.ipynb")
    put(tmp_path / "plain folder" / "x.ipynb")
    put(tmp_path / "__MACOSX" / "x.ipynb")
    put(tmp_path / "notes.txt")
    found = submissions.students(tmp_path)
    assert {key: (each.name, each.platform, each.id, len(each.files)) for key, each in found.items()} == {
        "Some-One": ("Some One", "moodle", "1234567", 1),
        "Some-One-7654321": ("Some One", "moodle", "7654321", 1),
        "onesome-12345": ("onesome", "canvas", "12345", 2),
        "twosome-23456": ("twosome", "canvas", "23456", 1),
        "anon_x1Y2z": ("anon_x1Y2z", "canvas", "anon_x1Y2z", 1),
        "plain-folder": ("plain folder", "", "", 1),
    }
    assert found["twosome-23456"].files[0].late and found["twosome-23456"].files[0].name == "k_variants.ipynb"
    assert submissions.latest(found["onesome-12345"].files).name == "staleness-1.ipynb"


@pytest.mark.parametrize(
    "name", ["../../up", "a/b", "* ?", "..", "\u0430\u0431", "x" * 300, "%s{student_id}"]
)
def test_a_name_is_safe_for_files(name):
    key = submissions._key(name)
    assert key and len(key) <= 80 and not set(key) & set("/*?[]{}+% ") and not key.startswith((".", "-"))


def test_what_is_no_notebook_is_named(tmp_path):
    cases = {"broken": '{"cells": [', "list": "[]", "empty": "", "deep": "[" * 100_000, "text": "\xff\x00"}
    for name, content in cases.items():
        put(tmp_path / name, content)
        with pytest.raises(submissions.UnusableError, match=r"is empty|is broken"):
            submissions.read(tmp_path / name)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "broken")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(submissions.LARGEST + 1)
    for name, why in (
        ("pipe", "is no file"),
        ("link", "is a link: not followed"),
        ("large", "larger than"),
        ("none", r"cannot be read \(No such file"),
    ):
        with pytest.raises(submissions.UnusableError, match=why):
            submissions.read(tmp_path / name)


def test_a_notebook_belongs_to_the_assignment_whose_cells_it_has():
    releases = {"a": marked("one", "two", "why"), "b": marked("three", "why")}
    assert submissions.assignment_of(marked("three", "why"), releases) == "b"
    assert submissions.assignment_of(marked("one", "why"), releases) == "a"
    with pytest.raises(submissions.UnusableError, match="no notebook of this course"):
        submissions.assignment_of(marked("four"), releases)


def test_a_notebook_with_other_numbers_is_known_by_what_it_was_handed_out_with():
    release, other = marked("one"), marked("one")
    release.cells[0].metadata["nbgrader"]["checksum"] = "ours"
    other.cells[0].source = "edited"
    assert submissions.assignment_of(other, {"a": release}) == "a"
    other.cells[0].metadata["nbgrader"]["checksum"] = "theirs"
    with pytest.raises(submissions.UnusableError, match="of a course with other numbers"):
        submissions.assignment_of(other, {"a": release})


def test_only_cells_go_on(tmp_path):
    release = tiny.tiny()
    notebook = tiny.good(release)
    notebook.cells[2].metadata["extra"] = "<script>"
    notebook.cells[2].metadata["nbgrader"]["points"] = 100
    notebook.cells[0]["attachments"] = {"a.png": {"image/png": ""}}
    notebook.cells.insert(1, nbformat.v4.new_raw_cell("<script>"))
    notebook.cells.append(notebook.cells[3].copy())  # a marked cell twice
    notebook.metadata["widgets"] = {}
    put(tmp_path / "x.ipynb", json.dumps(notebook))
    clean, notes = submissions.cleaned(submissions.read(tmp_path / "x.ipynb"), release)
    assert "script" not in json.dumps(clean) and "attachments" not in json.dumps(clean) and notes == []
    assert clean.cells[2].metadata == release.cells[2].metadata and clean.metadata == release.metadata
    assert len(submissions.ids(clean)) == len(set(submissions.ids(clean))) == len(submissions.ids(release))


def test_missing_cells_come_back_in_their_place():
    release = marked("one", "two", "three")
    clean, notes = submissions.cleaned(marked("three"), release)
    assert submissions.ids(clean) == ["one", "two", "three"] and len(notes) == 2
