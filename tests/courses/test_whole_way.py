"""From the sources to the grades by command, for two courses: what each student hands in gets its points."""

import csv
import os
import shutil
import subprocess
import sys

import nbformat
import pytest
from courses import sources
from courses.assignments import ROOT, with_answers

from tests.courses.tiny import hand_in

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None and not os.environ.get("SANDBOX_TESTS_REQUIRED"),
    reason="bubblewrap is not installed",
)
SOURCES = {source.name: source for source in sources.sources()}


def command(*words):
    path = os.pathsep.join([str(ROOT), str(ROOT / "lib")])
    done = subprocess.run(
        [sys.executable, "-m", "courses", *map(str, words)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


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


@pytest.mark.parametrize(
    ("seed", "students"), [(2026, {"reference", "blank", "hasty"}), (2027, {"reference", "stale"})]
)
def test_the_reference_gets_all_points_a_blank_none_and_mistakes_some(seed, students, tmp_path):
    assert f"{len(SOURCES)} assignments" in command("assignments", "--seed", seed, "--build", tmp_path)
    folder, wanted = tmp_path / "submissions", {}
    for name, source in SOURCES.items():
        handout = nbformat.read(tmp_path / f"{seed}/handout/{name}/{name}.ipynb", as_version=4)
        wanted[name] = submissions(folder, handout, source.drawn(seed))
    for others in folder.iterdir():
        if others.name not in students:
            shutil.rmtree(others)
    command("grade", "--seed", seed, "--build", tmp_path, folder)
    with (tmp_path / f"{seed}/grades.csv").open() as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert rows.keys() == students
    for student, row in rows.items():
        for name, points in wanted.items():
            most = points["reference"]
            given = {id: float(row[f"{name}/{id} ({most[id]})"]) for id in most}
            assert given == points[student], (student, name)
        assert student == "blank" or "to be marked by hand" in row["notes"]
        assert "stopped" not in row["notes"] and "failed" not in row["notes"]
