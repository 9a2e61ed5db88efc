"""Grades as tables: `grades.csv` for the instructor, `canvas.csv` and `moodle.csv` for what these import.

This module knows columns. Points come from nbgrader's gradebook, notes from grading; it changes neither.
Whatever is not complete (not handed in, not graded, not marked) is empty for Canvas and Moodle, which leave
such a grade as it is.

Canvas: columns and the row "Points Possible" as lib/gradebook_importer.rb of instructure/canvas-lms reads
them (2025): Student, ID, SIS Login ID, Section, then a column for each assignment, found by its name. Moodle:
the offline grading worksheet of an assignment, as mod/assign/feedback/offline reads it (4.x, English): it
needs Identifier, Grade and Last modified (grade), and passes over rows whose Identifier is of another
assignment, so that one file serves them all.
"""

import csv
import io

from nbgrader.api import MissingEntry

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(course):
    """Write the three tables of a course from its gradebook and its results."""
    results, exercises = course.results(), course.exercises()
    handed_in = [name for name in exercises if any(name in each["assignments"] for each in results.values())]
    scores = {
        (student, name): score(course, student, name, entry["assignments"][name], exercises[name])
        for student, entry in results.items()
        for name in handed_in
        if name in entry["assignments"]
    }
    save(course.folder / "grades.csv", _grades(results, exercises, handed_in, scores))
    save(course.folder / "canvas.csv", _canvas(results, exercises, handed_in, scores))
    save(course.folder / "moodle.csv", _moodle(results, exercises, handed_in, scores))


class Score:
    """Points by exercise for one notebook, and which of them wait for somebody to decide."""

    def __init__(self, points, pending, graded):
        self.points, self.pending, self.graded = points, pending, graded

    @property
    def total(self):
        return sum(self.points.values())

    @property
    def complete(self):
        return self.graded and not self.pending


def score(course, student, name, entry, exercises):
    """The points of one notebook, as the gradebook has them."""
    with course.gradebook() as gradebook:
        try:
            notebook = gradebook.find_submission_notebook(name, name, student)
        except MissingEntry:
            return Score(dict.fromkeys(exercises, 0.0), [], False)
        grades = {grade.name: grade for grade in notebook.grades}
        points = {each: float(grades[each].score or 0) if each in grades else 0.0 for each in exercises}
        pending = [each for each in exercises if each in grades and grades[each].needs_manual_grade]
        by_hand = all(grades[each].manual_score is not None for each in grades)
    return Score(points, pending, entry["status"] == "graded" or by_hand)


def _grades(results, exercises, handed_in, scores):
    columns = ["student", "name", "id"]
    for name in handed_in:
        columns += [f"{name}/{each} ({_number(most)})" for each, most in exercises[name].items()]
        columns += [f"{name} ({_number(sum(exercises[name].values()))})"]
    possible = sum(sum(exercises[name].values()) for name in handed_in)
    yield [*columns, f"total ({_number(possible)})", "notes"]
    for student, entry in sorted(results.items()):
        row, notes, total = [student, entry["name"], entry["id"]], list(entry["notes"]), 0.0
        for name in handed_in:
            one = scores.get((student, name))
            if one is None:
                row += [""] * (len(exercises[name]) + 1)
                notes.append(f"{name}: not handed in")
                continue
            row += [*map(_number, one.points.values()), _number(one.total)]
            total += one.total
            said = entry["assignments"][name]
            notes += [f"{name}: {note}" for note in said["notes"]]
            if said["status"] != "graded":
                notes.append(f"{name}: {said['status']}, no points by tests")
            if one.pending:
                notes.append(f"{name}: to be marked by hand: {', '.join(one.pending)}")
        yield [*row, _number(total), "; ".join(notes)]


def _canvas(results, exercises, handed_in, scores):
    yield ["Student", "ID", "SIS Login ID", "Section", *handed_in]
    yield ["Points Possible", "", "", "", *(_number(sum(exercises[name].values())) for name in handed_in)]
    for student, entry in sorted(results.items()):
        identifier = entry["id"] if entry["platform"] == "canvas" and entry["id"].isdigit() else ""
        row = [_decided(scores.get((student, name))) for name in handed_in]
        yield [entry["name"], identifier, "", "", *row]


def _moodle(results, exercises, handed_in, scores):
    yield ["Identifier", "Full name", "Assignment", "Grade", "Maximum Grade", "Last modified (grade)"]
    for student, entry in sorted(results.items()):
        for name in handed_in:
            one = scores.get((student, name))
            if one is None:
                continue
            number = entry["assignments"][name].get("identifier")
            most = _number(sum(exercises[name].values()))
            yield [f"Participant {number}" if number else "", entry["name"], name, _decided(one), most, "-"]


def _decided(one):
    return _number(one.total) if one is not None and one.complete else ""


def _number(value):
    return f"{value:.10g}"


def plain(text):
    """Text that a spreadsheet takes for text: what a stranger wrote must not become a formula."""
    return f"'{text}" if str(text).startswith(FORMULA) and len(text) > 1 else text


def unplain(text):
    """What `plain` was given."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


def save(path, rows):
    """Write rows whole or not at all."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([plain(cell) for cell in row] for row in rows)
    new = path.with_suffix(".new")
    new.write_text(text.getvalue(), encoding="utf-8", newline="")
    new.replace(path)
