"""From the sources to the grades by command, for two courses: what each student hands in gets its points."""

import csv
import os
import shutil
import subprocess
import sys

import nbformat
import pytest
from courses import assignments, sources
from courses.assignments import ROOT, with_answers

from tests.courses.tiny import hand_in

needs_container = pytest.mark.skipif(
    shutil.which("bwrap") is None and not os.environ.get("SANDBOX_TESTS_REQUIRED"),
    reason="bubblewrap is not installed",
)
SOURCES = {source.name: source for source in sources.sources()}


def command(*words, **environment):
    path = os.pathsep.join([str(ROOT), str(ROOT / "lib")])
    done = subprocess.run(
        [sys.executable, "-m", "courses", *map(str, words)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="class")
def made(request, tmp_path_factory):
    """The folder to which the command has written the notebooks of the course that a class is about."""
    seed, build = request.cls.seed, tmp_path_factory.mktemp("made")
    # In another process than the tests, with other hashes of strings.
    said = command("assignments", "--seed", seed, "--build", build, PYTHONHASHSEED="7")
    assert f"{len(SOURCES)} assignments" in said
    return build / str(seed)


def files(folder):
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def mistakes(assignment, which):
    """One mistake of each answer that has several or one: the first, or the last."""
    by_answer = {}
    for mistake in assignment.mistakes:
        by_answer.setdefault(mistake.of, []).append(mistake)
    return [found[which] for found in by_answer.values()]


def submissions(folder, handout, assignment):
    """What four students hand in for an assignment, and the points by tests that each deserves."""
    points = {cell.id: cell.points for cell in assignment.cells if cell.role == "tests"}
    right = {cell.id: cell.source for cell in assignment.cells if cell.role in ("answer", "written")}
    wanted = {"reference": points, "blank": dict.fromkeys(points, 0)}
    hand_in(folder, "blank", handout, f"{assignment.name}.ipynb")
    hand_in(folder, "reference", with_answers(handout, right), f"{assignment.name}.ipynb")
    for student, which in (("hasty", 0), ("stale", -1)):
        made = mistakes(assignment, which)
        wrong = right | {mistake.of: mistake.source for mistake in made}
        hand_in(folder, student, with_answers(handout, wrong), f"{assignment.name}.ipynb")
        caught = {id for mistake in made for id in mistake.caught_by}
        wanted[student] = {id: 0 if id in caught else most for id, most in points.items()}
    return wanted


@pytest.fixture(scope="class")
def graded(request, made, tmp_path_factory):
    """A course after the command has graded what its students handed in, and what they deserve."""
    seed, build = request.cls.seed, tmp_path_factory.mktemp("graded")
    course, folder, deserved = build / str(seed), build / "submissions", {}
    shutil.copytree(made, course)
    for name, source in SOURCES.items():
        handout = nbformat.read(course / f"handout/{name}/{name}.ipynb", as_version=4)
        deserved[name] = submissions(folder, handout, source.drawn(seed))
    for student in folder.iterdir():
        if student.name not in request.cls.students:
            shutil.rmtree(student)
    command("grade", "--seed", seed, "--build", build, folder)
    return course, deserved


class Course:
    """Two classes, so that two workers can grade a course each."""

    @needs_container
    def test_the_handouts_are_what_nbgrader_releases(self, graded):
        course, _ = graded
        for name in SOURCES:
            released = nbformat.read(course / f"key/grading/release/{name}/{name}.ipynb", as_version=4)
            assert released == nbformat.read(course / f"handout/{name}/{name}.ipynb", as_version=4)

    @needs_container
    def test_the_reference_gets_all_points_a_blank_none_and_mistakes_some(self, graded):
        course, deserved = graded
        with (course / "grades.csv").open() as file:
            rows = {row["student"]: row for row in csv.DictReader(file)}
        assert rows.keys() == self.students
        for student, row in rows.items():
            for name, points in deserved.items():
                most = points["reference"]
                given = {id: float(row[f"{name}/{id} ({most[id]})"]) for id in most}
                assert given == points[student], (student, name)
            assert student == "blank" or "to be marked by hand" in row["notes"]
            assert "stopped" not in row["notes"] and "failed" not in row["notes"]


class TestOneCourse(Course):
    seed, students = 2026, {"reference", "blank", "hasty"}

    def test_the_same_seed_gives_the_same_files_byte_for_byte(self, made, tmp_path):
        there = files(made)
        practice = {f"{part}/practice/{name}.ipynb" for name in SOURCES for part in ("handout", "key")}
        assert practice <= there.keys()
        assert {path for path in there if "/practice/" not in path} == {
            f"{part}/{name}/{name}.ipynb" for name in SOURCES for part in ("handout", "key/source")
        }
        assignments.write(self.seed, tmp_path)
        assert files(tmp_path / str(self.seed)) == there


class TestAnotherCourse(Course):
    seed, students = 2027, {"reference", "stale"}
