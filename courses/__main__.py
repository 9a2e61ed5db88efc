"""`python -m courses assignments`, `grade` and `marks`: what an instructor runs."""

import argparse
import sys
from pathlib import Path

BUILD = Path(__file__).resolve().parents[1] / "_build/courses"


def main(arguments=None):
    """Run one command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m courses", description="Assignments of a course.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in RUN:
        command = commands.add_parser(
            name, **HELP[name], formatter_class=argparse.RawDescriptionHelpFormatter
        )
        command.add_argument("--seed", type=_seed, required=True, help="a whole number that only you know")
        command.add_argument("--build", type=Path, default=BUILD, help="the folder of all courses")
        OPTIONS[name](command)
    chosen = parser.parse_args(arguments)
    return RUN[chosen.command](chosen)


def _seed(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0; got {text!r}.")
    return int(text)


def _no_options(command):
    pass


def _grade_options(command):
    command.add_argument(
        "submissions", help="folder with a folder for each student, or with Canvas's flat files"
    )
    command.add_argument(
        "--unsafe", action="store_true", help="grade even where no sandbox works (see below)"
    )
    for name, default, what in LIMITS:
        command.add_argument(f"--{name}", type=int, default=default, help=f"{what} (default: {default})")


def _marks_options(command):
    command.add_argument("marks", help="the marking sheet with points (and comments) filled in, as CSV")


LIMITS = (
    ("cell", 30, "seconds for one cell"),
    ("total", 300, "seconds for one notebook"),
    ("memory", 2048, "megabytes of memory for one submission"),
    ("file", 64, "megabytes for one file that a submission writes"),
    ("processes", 100, "processes and threads of one submission"),
    ("output", 1, "megabytes of output kept of a cell; twenty times as much ends the submission"),
)
HELP = {
    "assignments": {
        "help": "write notebooks for students, and the key",
        "description": """\
Write the assignments of a course, with numbers of its own, to _build/courses/SEED:
  handout/   a notebook for each assignment, and the chapters' own exercises to practice
  key/       the same with solutions and hidden tests, for you alone

The same seed gives the same files, byte for byte. Who has the seed and this repository can make the key: keep
the seed as secret as the key.""",
    },
    "grade": {
        "help": "grade a folder of submissions",
        "description": """\
Grade a folder of submissions with nbgrader, two at a time.

Reads the key in _build/courses/SEED/key and writes to _build/courses/SEED:
  grades.csv     points per exercise, assignment and in all; notes on whatever went wrong
  canvas.csv     for Canvas: Grades, Import
  moodle.csv     for Moodle: the assignment's Upload grading worksheet
  marking.csv    answers in words, to be marked by hand; marking.html to read them
  feedback/      a page for each student and assignment, without hidden tests""",
        "epilog": """\
Submissions are programs of strangers. Each runs in a container (bubblewrap) without network, which sees
neither the key nor other submissions; where that does not work and you are root, as another user; where
neither does, not at all. --unsafe runs them as yourself: they could then read the key, change grades and
files, and use the network.""",
    },
    "marks": {
        "help": "read marks for answers in words, and rewrite the tables",
        "description": """\
Read points and comments from a marking sheet, put them into the gradebook, and rewrite tables and feedback.

The sheet has the columns student, assignment, exercise, points and comment; further ones are passed over,
and so are rows without points. If anything in it is wrong, every mistake is said and nothing is changed.""",
    },
}


def _assignments(chosen):
    from courses import assignments

    handouts = assignments.write(chosen.seed, chosen.build)
    course = chosen.build / str(chosen.seed)
    print(f"{len(handouts)} assignments: {', '.join(path.stem for path in handouts)}.")
    print(f"For students: {course / 'handout'}. Not for students: {course / 'key'}, and the seed.")
    return 0


def _grade(chosen):
    from courses import grading, marks, sandbox, tables
    from courses.submissions import UnusableError

    try:
        limits = sandbox.Limits(**{name: getattr(chosen, name) for name, *_ in LIMITS})
        course = _course(chosen)
        grading.grade(course, chosen.submissions, limits, unsafe=chosen.unsafe)
    except (UnusableError, sandbox.NoSandboxError, ValueError) as why:
        return _complain(why)
    kept = marks.write_sheet(course)
    tables.write(course)
    print(
        f"Grades are in {course.folder / 'grades.csv'}, answers to mark in {course.folder / 'marking.csv'}."
    )
    if kept:
        print(f"The marking sheet had points for answers that have changed since: it is kept as {kept}.")
    return 0


def _marks(chosen):
    from courses import marks, tables
    from courses.submissions import UnusableError

    try:
        course = _course(chosen)
        count = marks.apply(course, chosen.marks)
    except (UnusableError, marks.SheetError) as why:
        return _complain(why)
    marks.write_sheet(course)
    tables.write(course)
    print(f"{count} marks read; grades are in {course.folder / 'grades.csv'}.")
    return 0


def _course(chosen):
    from courses.grading import Course

    return Course(chosen.seed, chosen.build)


def _complain(why):
    print(why, file=sys.stderr)
    return 1


OPTIONS = {"assignments": _no_options, "grade": _grade_options, "marks": _marks_options}
RUN = {"assignments": _assignments, "grade": _grade, "marks": _marks}

if __name__ == "__main__":
    sys.exit(main())
