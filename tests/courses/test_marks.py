"""Marks by hand: what is wrong on a sheet is said, all of it, and nothing is lost."""

import csv
import shutil

import nbformat
import pytest
from courses import marks, tables
from courses.grading import Course

from tests.courses import tiny

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A course in which two students have answered in words, as if tests had been run."""
    course, results = tiny.make_course(tmp_path_factory.mktemp("original")), {}
    for who in ("ann", "ben"):
        answered(course, who, f"What {who} thinks.")
        results[who] = {"name": who, "platform": "", "id": "", "notes": []}
        # Not "graded": there is no run notebook here to make a page of.
        results[who]["assignments"] = {"tiny": {"status": "stopped", "notes": [], "identifier": ""}}
    course.keep(results)
    return course


@pytest.fixture
def course(original, tmp_path):
    """A copy of it: nbgrader takes its time to make one."""
    shutil.copytree(original.folder, tmp_path / tiny.SEED)
    return Course(tiny.SEED, tmp_path)


def answered(course, who, text):
    place = course.work / "submitted" / who / "tiny"
    place.mkdir(parents=True, exist_ok=True)
    nbformat.write(tiny.good(tiny.release(course), why=text), place / "tiny.ipynb")
    with course.gradebook() as gradebook:
        gradebook.update_or_create_student(who)
        submission = gradebook.update_or_create_submission("tiny", who)
        for grade in submission.notebooks[0].grades:
            grade.needs_manual_grade, grade.auto_score = grade.name == "why", 1
        gradebook.db.commit()


def sheet(path, *rows, header="student,assignment,exercise,points,comment"):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8-sig")
    return path


def read(course, name="marking.csv"):
    with open(course.folder / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


WRONG = {
    "ann,tiny,why,4,": "ann gets 4 points for why, which has 0 to 3.",
    "ann,tiny,why,-1,": "ann gets -1 points for why, which has 0 to 3.",
    "ann,tiny,why,two,": "'two' is not a number of points.",
    "ann,tiny,why,nan,": "'nan' is not a number of points.",
    "eve,tiny,why,2,": "there is no student 'eve' in this course.",
    "ann,other,other-tests,1,": "ann has not handed in 'other'.",
    "ann,tiny,whence,1,": "tiny has no exercise 'whence'.",
    "ann,tiny,why,,Good.": "has a comment for ann, but no points.",
}


def test_every_mistake_on_a_sheet_is_said_and_nothing_is_changed(course, tmp_path):
    path = sheet(tmp_path / "sheet.csv", "ben,tiny,why,2,Fine.", *WRONG)
    with pytest.raises(marks.SheetError) as said:
        marks.apply(course, path)
    lines = str(said.value).splitlines()
    assert len(lines) == len(WRONG) + 1 and lines[-1] == "Nothing was changed."
    for line, sentence in zip(lines, WRONG.values(), strict=False):
        assert sentence in line and line.startswith("Row ")
    assert [row["points"] for row in marks.answers(course)] == ["", ""]


def test_two_different_marks_for_one_answer_are_a_mistake(course, tmp_path):
    with pytest.raises(marks.SheetError, match="already has other points"):
        marks.apply(course, sheet(tmp_path / "sheet.csv", "ann,tiny,why,1,", "ann,tiny,why,2,"))


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("student,assignment,exercise,points,comment", "ann,tiny,why,2.5,Good."),
        ("student;assignment;exercise;points;comment", "ann;tiny;why;2,5;Good."),
        ("comment\texercise\tstudent\tassignment\tpoints\tmood", "Good.\twhy\tann\ttiny\t2.5\tgrim"),
    ],
)
def test_a_sheet_is_read_as_any_spreadsheet_saves_it(course, tmp_path, header, row):
    assert marks.apply(course, sheet(tmp_path / "sheet.csv", row, header=header)) == 1
    tables.write(course)
    grades = {row["student"]: row for row in read(course, "grades.csv")}
    assert grades["ann"]["tiny/why (3)"] == "2.5" and grades["ann"]["tiny (10)"] == "4.5"
    assert next(marks.answers(course))["comment"] == "Good."


def test_a_sheet_without_its_columns_is_refused(course, tmp_path):
    with pytest.raises(marks.SheetError, match="has no column points"):
        marks.apply(
            course,
            sheet(tmp_path / "sheet.csv", "ann,tiny,why,x", header="student,assignment,exercise,comment"),
        )
    with pytest.raises(marks.SheetError, match=r"nowhere\.csv cannot be read: No such file"):
        marks.apply(course, tmp_path / "nowhere.csv")


def test_whatever_tests_could_not_decide_can_be_decided_by_hand(course, tmp_path):
    rows = ["ann,tiny,why,3,", "ann,tiny,mean-tests,4,", "ann,tiny,stale-tests,3,"]
    marks.apply(course, sheet(tmp_path / "sheet.csv", *rows))
    tables.write(course)
    canvas = {row["Student"]: row["tiny"] for row in read(course, "canvas.csv")}
    assert (canvas["ann"], canvas["ben"]) == ("10", "")


def test_what_was_typed_stays_when_the_sheet_is_written_again(course):
    marks.write_sheet(course)
    text = (course.folder / "marking.csv").read_text()
    (course.folder / "marking.csv").write_text(
        text.replace("What ann thinks.,3,,", "What ann thinks.,3,2,Good.")
    )
    assert marks.write_sheet(course) is None
    assert read(course)[0] | {"points": "2", "comment": "Good."} == read(course)[0]


def test_points_for_an_answer_that_has_changed_are_kept_beside_the_sheet(course):
    marks.write_sheet(course)
    text = (course.folder / "marking.csv").read_text()
    (course.folder / "marking.csv").write_text(
        text.replace("What ann thinks.,3,,", "What ann thinks.,3,2,Good.")
    )
    answered(course, "ann", "Something else.")
    assert marks.write_sheet(course) == course.folder / "marking-1.csv"
    assert [row["points"] for row in read(course)] == ["", ""]
    assert read(course, "marking-1.csv")[0]["points"] == "2"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "plain", "'quoted", "-"])
def test_text_that_looks_like_a_formula_is_written_as_text_and_read_back(text):
    written = tables.plain(text)
    assert not written.startswith(tables.FORMULA) or len(written) == 1
    assert tables.unplain(written) == text
