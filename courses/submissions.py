"""Who handed in what: files as Canvas and Moodle unpack them, turned into one notebook per assignment.

This module knows how the two name what they download, which assignment a notebook belongs to, and what is
wrong with a file that cannot be graded. It follows no link, runs nothing, and knows no points. What it reads
was written by strangers: of a notebook only cells go on, without outputs, attachments and metadata that
nobody asked for.

Moodle (mod/assign, 4.x) makes a folder for each student, `Full Name_1234567_assignsubmission_file_`; the
number belongs to this student in this one assignment. Canvas (lib/content_zipper.rb of 2025) makes flat
files, `lastfirst_12345_67890_staleness.ipynb`: student and file, `lastfirst_LATE_12345_…` if late,
`anon_x1Y2z_…` if anonymous, and `staleness-1.ipynb` when it was handed in again. Any other folder is a
student of that name.
"""

import copy
import os
import re
import stat
import unicodedata
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_(file|onlinetext)_?")
CANVAS = re.compile(r"(?P<name>[^_]*)_?(?P<late>LATE_)?(?P<id>\d+|anon_[^_]+)_(?P<upload>\d+)_(?P<file>.+)")
AGAIN = re.compile(r"(?:-| ?\()(\d+)\)?$")
LARGEST = 20 * 2**20


@dataclass
class Notebook:
    """One file that a student handed in, before anybody has looked into it."""

    path: Path
    name: str
    late: bool = False
    identifier: str = ""  # Moodle's number of this student in the assignment that the folder is of


@dataclass
class Student:
    """One student: a key that is safe as a name of files, and what the learning platform calls them."""

    key: str
    name: str
    platform: str = ""
    id: str = ""
    files: list[Notebook] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class UnusableError(Exception):
    """A file is no notebook of this course; the message says why, as the end of a sentence."""


def students(folder):
    """Everybody who has a folder or a file in `folder`, by key, with their notebooks."""
    folder = Path(folder)
    if not folder.is_dir():
        raise UnusableError(f"There is no folder {folder}.")
    found = {}
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.startswith((".", "__MACOSX")):
            continue
        path = Path(entry.path)
        moodle, canvas = MOODLE.fullmatch(entry.name), CANVAS.fullmatch(entry.name)
        if entry.is_dir(follow_symlinks=False):
            who = ("moodle", moodle["name"], moodle["id"]) if moodle else ("", entry.name, "")
            student = _student(found, *who)
            _collect(path, student, identifier=who[2])
        elif canvas and canvas["file"].endswith(".ipynb"):
            student = _student(found, "canvas", canvas["name"] or canvas["id"], canvas["id"])
            student.files.append(Notebook(path, canvas["file"], late=bool(canvas["late"])))
        elif entry.is_symlink() or entry.name.endswith(".ipynb"):
            student = _student(found, "", path.stem, "")
            student.files.append(Notebook(path, entry.name))
    return found


def _student(found, platform, name, identifier):
    """The student of this name; Canvas has numbers that last, Moodle's change with the assignment."""
    lasting = identifier if platform == "canvas" else ""
    key = _key(f"{name}-{lasting}" if lasting and lasting != name else name)
    same = found.get(key)
    if same is not None and (same.name, same.id) != (name, identifier):  # two people of one name
        key = _key(f"{name}-{identifier or len(found)}")
    return found.setdefault(key, Student(key, name, platform, identifier))


def _key(name):
    """A name for files and for the gradebook: letters, digits, dots and dashes."""
    key = re.sub(r"[^\w.]+", "-", unicodedata.normalize("NFC", name)).strip("-.")
    return key[:80] or "nameless"


def _collect(folder, student, identifier):
    for where, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__MACOSX")))
        for name in folders:
            if (Path(where) / name).is_symlink():
                student.notes.append(f"{name} is a link: not followed")
        for name in sorted(names):
            if name.startswith("."):
                continue
            if name.endswith(".ipynb"):
                student.files.append(Notebook(Path(where) / name, name, identifier=identifier))
            elif (Path(where) / name).is_symlink():
                student.notes.append(f"{name} is a link: not followed")


def read(path):
    """The notebook in a file, if it is a file and has one."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise UnusableError(
            "is a link: not followed" if os.path.islink(path) else f"cannot be read ({error.strerror})"
        ) from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UnusableError("is no file")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise UnusableError(f"is larger than {LARGEST // 2**20} MB")
    if not content.strip():
        raise UnusableError("is empty")
    try:
        with warnings.catch_warnings(action="ignore"):  # of cells without ids, or with the same
            notebook = nbformat.reads(content.decode("utf-8-sig"), as_version=4)
            _, notebook = nbformat.validator.normalize(notebook)
            nbformat.validate(notebook)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, nbformat.ValidationError):
        raise UnusableError("is broken: not the JSON of a notebook") from None
    return notebook


def ids(notebook):
    """The names of a notebook's exercises and answers, in order."""
    return [name for cell in notebook.cells if (name := _id(cell))]


def _id(cell):
    mark = cell.metadata.get("nbgrader")
    name = mark.get("grade_id") if isinstance(mark, dict) else None
    return name if isinstance(name, str) else None


def assignment_of(notebook, releases):
    """The assignment that a notebook is of: the one that it shares the most marked cells with."""
    mine = set(ids(notebook))
    shared = {name: len(mine & set(ids(release))) for name, release in releases.items()}
    best = max(shared, key=shared.get, default=None)
    if best is None or not shared[best]:
        raise UnusableError("is no notebook of this course")
    theirs, ours = notebook.metadata.get("course"), releases[best].metadata.get("course")
    if (ours is not None and theirs != ours) or _checksums(notebook, releases[best]):
        raise UnusableError("is of a course with other numbers, or of an older handout")
    return best


def _checksums(notebook, release):
    """Marked cells that were handed out with another content; an edit leaves a checksum as it was."""
    ours = {_id(cell): cell.metadata["nbgrader"].get("checksum") for cell in release.cells if _id(cell)}
    return [
        name
        for cell in notebook.cells
        if (name := _id(cell)) in ours
        if (theirs := cell.metadata["nbgrader"].get("checksum")) and ours[name] and theirs != ours[name]
    ]


def cleaned(notebook, release):
    """A submission's cells in their order, missing ones put back; and what had to be done, in words.

    What the cells say stays the student's: nbgrader itself restores those that are locked.
    """
    known = {_id(cell): cell for cell in release.cells if _id(cell)}
    cells, seen = [], set()
    for cell in notebook.cells:
        name = _id(cell)
        if cell.cell_type not in ("code", "markdown"):
            continue
        if name in known and name not in seen:
            seen.add(name)
            metadata = {"nbgrader": copy.deepcopy(known[name].metadata["nbgrader"])}
            kind = known[name].cell_type
        else:
            metadata, kind = {}, cell.cell_type
        new = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
        cells.append(new(cell.source, metadata=metadata))
    notes = []
    for position, name in enumerate(known):
        if name in seen:
            continue
        before = set(list(known)[:position])
        place = max((at + 1 for at, cell in enumerate(cells) if _id(cell) in before), default=0)
        cells.insert(place, copy.deepcopy(known[name]))
        notes.append(f"cell {name} was missing and put back")
    changed = [
        name
        for name, cell in known.items()
        if cell.metadata["nbgrader"].get("locked") and name in seen
        if next(each for each in cells if _id(each) == name).source.strip() != cell.source.strip()
    ]
    notes += [f"locked cell {name} was changed and restored" for name in changed]
    for at, cell in enumerate(cells):
        cell["id"] = f"cell-{at}"
    return nbformat.v4.new_notebook(cells=cells, metadata=copy.deepcopy(release.metadata)), notes


def latest(files):
    """Of several notebooks for one assignment the last: by its number, else by its time."""

    def order(file):
        again = AGAIN.search(Path(file.name).stem)
        return (int(again[1]) if again else 0, os.lstat(file.path).st_mtime, file.name)

    return max(files, key=order)
