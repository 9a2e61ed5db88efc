"""Answers in words: one sheet to mark them on, and marks read back from it.

This module knows the marking sheet. It writes down each answer that tests cannot judge, with the points
possible, and puts the points that somebody typed into nbgrader's gradebook, or, if anything on the sheet is
wrong, none of them. It judges no answer.
"""

import csv
import html
import io
import math
from contextlib import suppress
from pathlib import Path

import nbformat
from nbgrader.api import MissingEntry

from courses import feedback, tables

COLUMNS = ["student", "assignment", "exercise", "answer", "possible", "points", "comment"]
KEY = COLUMNS[:3]


class SheetError(Exception):
    """A marking sheet has mistakes; the message says each, one a line."""


def answers(course):
    """Each answer in words as a row of the sheet, with the marks that the gradebook has."""
    for student, entry in sorted(course.results().items()):
        for name in sorted(entry["assignments"]):
            written = course.work / "submitted" / student / name / f"{name}.ipynb"
            if not written.exists():
                continue
            possible = course.exercises()[name]
            for cell in nbformat.read(written, as_version=4).cells:
                mark = cell.metadata.get("nbgrader", {})
                if mark.get("grade") and mark.get("solution"):
                    points, comment, pending = _marked(course, student, name, mark["grade_id"])
                    if points or pending:
                        yield dict(
                            zip(
                                COLUMNS,
                                [
                                    student,
                                    name,
                                    mark["grade_id"],
                                    tables.plain(cell.source),
                                    f"{possible[mark['grade_id']]:g}",
                                    points,
                                    comment,
                                ],
                                strict=True,
                            )
                        )


def _marked(course, student, name, exercise):
    """Points and comment given by hand, as text, and whether they are still to be given."""
    with course.gradebook() as gradebook:
        try:
            grade = gradebook.find_grade(exercise, name, name, student)
        except MissingEntry:
            return "", "", False
        try:
            comment = gradebook.find_comment(exercise, name, name, student).manual_comment or ""
        except MissingEntry:
            comment = ""
        given = grade.manual_score is not None and not grade.needs_manual_grade
        return (
            f"{grade.manual_score:g}" if given else "",
            tables.plain(comment),
            bool(grade.needs_manual_grade),
        )


def write_sheet(course):
    """Write marking.csv and marking.html; what was typed into an older sheet stays, or that sheet does.

    Returns the file that an older sheet was kept as, if it had points for answers that are no longer there.
    """
    place = course.folder / "marking.csv"
    rows = sorted(answers(course), key=lambda row: (row["assignment"], row["exercise"], row["student"]))
    kept = None
    if place.exists():
        typed = {_key(row): row for row in _rows(place) if row["points"].strip() or row["comment"].strip()}
        for row in rows:
            old = typed.get(_key(row))
            if old is not None and old["answer"].splitlines() == row["answer"].splitlines():
                del typed[_key(row)]
                if not row["points"]:
                    row |= {"points": old["points"], "comment": old["comment"]}
        if typed:
            kept = next(
                path
                for number in range(1, 10**6)
                if not (path := place.with_name(f"marking-{number}.csv")).exists()
            )
            place.rename(kept)
    tables.save(place, [COLUMNS, *([row[column] for column in COLUMNS] for row in rows)])
    place.with_suffix(".html").write_text(_page(rows), encoding="utf-8")
    return kept


def _page(rows):
    parts = [
        f"<section><h2>{html.escape(row['assignment'])}: {html.escape(row['exercise'])}</h2>"
        f"<p><b>{html.escape(row['student'])}</b>, {row['possible']} points possible"
        f"{', given: ' + html.escape(row['points']) if row['points'] else ''}</p>"
        f"<pre>{html.escape(row['answer'])}</pre></section>"
        for row in rows
    ]
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Answers to mark</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{feedback.POLICY}">'
        "<style>body{max-width:48rem;margin:2rem auto;font-family:sans-serif}"
        "pre{white-space:pre-wrap}</style></head>"
        f"<body><h1>Answers to mark</h1>{''.join(parts)}</body></html>\n"
    )


def _key(row):
    return tuple(row[column] for column in KEY)


def _rows(path):
    """A sheet's rows, as any spreadsheet saves them: with commas, semicolons or tabs."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SheetError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SheetError(f"{path} is not in UTF-8; save it as CSV (UTF-8).") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval=""))
    missing = [column for column in (*KEY, "points", "comment") if column not in (rows[0] if rows else {})]
    if missing:
        raise SheetError(f"{path} has no column {', '.join(missing)}, or no rows.")
    return [{"answer": "", **{key: value or "" for key, value in row.items() if key}} for row in rows]


def apply(course, path):
    """Put every mark of a sheet into the gradebook, or, if one is wrong, none; returns how many."""
    marks = _checked(course, _rows(path))
    with course.gradebook() as gradebook:
        for (student, name, exercise), points, comment in marks:
            grade = gradebook.find_grade(exercise, name, name, student)
            grade.manual_score, grade.needs_manual_grade = points, False
            if comment:
                with suppress(MissingEntry):  # nbgrader keeps comments on answers, not on tests
                    gradebook.find_comment(exercise, name, name, student).manual_comment = comment
        gradebook.db.commit()
    results = course.results()
    for student, name in sorted({key[:2] for key, *_ in marks}):
        if results[student]["assignments"][name]["status"] == "graded":
            feedback.write(course, student, name)
    return len(marks)


def _checked(course, rows):
    """The marks on a sheet as keys, points and comments; all that is wrong is said at once."""
    results, exercises = course.results(), course.exercises()
    marks, wrong, seen = [], [], {}
    for line, row in enumerate(rows, start=2):
        (student, name, exercise), typed = _key(row), row["points"].strip()
        if not typed:
            if row["comment"].strip():
                wrong.append(f"Row {line} has a comment for {student}, but no points.")
            continue
        points = _number(typed)
        if student not in results:
            wrong.append(f"Row {line}: there is no student {student!r} in this course.")
        elif name not in results[student]["assignments"]:
            wrong.append(f"Row {line}: {student} has not handed in {name!r}.")
        elif exercise not in exercises[name]:
            wrong.append(f"Row {line}: {name} has no exercise {exercise!r}.")
        elif points is None:
            wrong.append(f"Row {line}: {typed!r} is not a number of points.")
        elif not 0 <= points <= exercises[name][exercise]:
            wrong.append(
                f"Row {line}: {student} gets {points:g} points for {exercise},"
                f" which has 0 to {exercises[name][exercise]:g}."
            )
        elif seen.setdefault(_key(row), points) != points:
            wrong.append(f"Row {line}: {student} already has other points for {exercise} further up.")
        else:
            marks.append((_key(row), points, tables.unplain(row["comment"].strip())))
    if wrong:
        raise SheetError("\n".join([*wrong, "Nothing was changed."]))
    return marks


def _number(text):
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
