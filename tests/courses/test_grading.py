"""A folder is graded by command: good submissions right, bad ones with a reason, the key seen by nobody."""

import base64
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import psutil
import pytest
from courses import feedback, sandbox

from tests.courses import tiny

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None and not os.environ.get("SANDBOX_TESTS_REQUIRED"),
    reason="bubblewrap is not installed",
)
NAP = "98765.4321"  # a sleep that is ours

# Looks for the key wherever it could be, before any test has run, and says what it found.
SNOOP = """
import glob, os, sys
loot, looked = [], 0
def grab(path):
    global looked
    try:
        with open(path, "rb") as file:
            looked += 1
            loot.append(file.read(20_000).decode(errors="replace"))
    except OSError:
        pass
for path in {paths}:
    grab(path)
print(*loot)
processes = glob.glob("/proc/[0-9]*")
starts = [os.getcwd(), *(f"{{each}}/{{name}}" for each in processes for name in ("cwd", "root"))]
known = (sys.prefix, sys.base_prefix, "/usr", "/proc", "/bin", "/lib")
for start in starts:
    while True:
        try:
            names = os.listdir(start)
        except OSError:
            break
        for name in names:
            for where, folders, names in os.walk(os.path.join(start, name)):
                if where.count("/") > 9 or where.startswith(known):
                    folders[:], names = [], []
                for each in names:
                    if each.endswith((".ipynb", ".db", ".json", ".md", ".html", ".csv", ".log")):
                        grab(os.path.join(where, each))
        if os.path.realpath(start) == "/":
            break
        start = os.path.dirname(os.path.realpath(start))
for path in (path for name in ("environ", "cmdline", "fd/*") for path in glob.glob(f"/proc/[0-9]*/{{name}}")):
    if os.path.isfile(path):  # to read from a pipe would wait
        grab(path)
print("looked at", looked, "files", os.path.exists({paths}[0]), *loot)
"""

# Takes hidden tests from frames and history while they run, and says them plainly and in disguise.
THIEF = """
import base64, linecache, sys
from IPython.display import display
handle = display("nothing yet", display_id=True)
def mean(xs):
    source = "".join(linecache.getlines(sys._getframe(1).f_code.co_filename)) + "".join(In)
    source += "".join(str(entry[2]) for entry in get_ipython().history_manager.get_range())
    print(source)
    print(base64.b64encode(source.encode()).decode())
    handle.update(source)
    print(source, file=open("loot", "w"))
    return sum(xs) / len(xs)
"""

FORGED_RESULT = """
def mean(xs):
    shell = get_ipython()
    result = {"data": {"text/plain": "4"}, "metadata": {}, "execution_count": 1}
    pub = shell.display_pub
    shell.displayhook.session.send(pub.pub_socket, "execute_result", result, parent=pub.parent_header)
    return 0
"""

ACTIVE = """
from IPython.display import HTML, Javascript, display
display(HTML("<script>alert('output')</script><img src=x onerror=alert(3)>"), Javascript("alert('output')"))
display({"image/png": '"><script>alert(1)</script>', "text/plain": "<script>alert(2)</script>"}, raw=True)
display({"image/svg+xml": "<svg onload=alert(1)>", "text/plain": "<b onclick=alert(1)>"}, raw=True)
"""


def _code(**answers):
    return lambda blank: tiny.good(blank, **answers)


def _tampered(blank):
    return tiny.filled(blank, mean_tests="pass", stale_tests="pass")


def _deleted(blank):
    notebook = tiny.good(blank)
    notebook.cells = [
        cell for cell in notebook.cells if "nbgrader" not in cell.metadata or cell.metadata.nbgrader.solution
    ]
    return notebook


def _other_seed(blank):
    notebook = tiny.good(blank)
    notebook.metadata["course"] = "8"
    return notebook


def _foreign(blank):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])


def _with_mean(code):
    return _code(mean=f"{tiny.SOLUTION['mean']}\n{code}")


# Who, what they hand in, points for mean and staleness (None: no notebook for tiny), and words of the note.
BATCH = {
    "good": (_code(), 4, 3, ""),
    "good-again": (_code(mean="def mean(xs):\n    return float(np.mean(xs))"), 4, 3, ""),
    "warned": (_with_mean("import warnings\nwarnings.warn('careful')"), 4, 3, ""),
    "warned-in-test": (
        _code(
            mean="import sys\ndef mean(xs):\n    print('!', file=sys.stderr)\n    return sum(xs) / len(xs)"
        ),
        4,
        3,
        "",
    ),
    "blank": (lambda blank: blank, 0, 0, "mean: not answered"),
    "partial": (_code(stale="staleness = 8"), 4, 0, ""),
    "partial-visible": (_code(mean="def mean(xs):\n    return 2.0"), 0, 3, ""),
    "loop": (_code(stale="while True:\n    pass"), 4, 0, "stale: stopped after 4 s"),
    "stubborn": (
        _code(stale="import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    pass"),
        0,
        0,
        "went on after 4 s although it was interrupted",
    ),
    "children": (
        _with_mean(
            "from subprocess import Popen\nfor _ in range(50):\n"
            f"    Popen(['sleep', '{NAP}'], start_new_session=True)"
        ),
        4,
        3,
        "left 50 processes running",
    ),
    "hog": (_code(stale="hog = bytearray(10 * 2**30)"), 4, 0, "stale: needed more than 1024 MB of memory"),
    "exit": (_code(stale="import os\nos._exit(0)"), 0, 0, "stopped in stale: the kernel ended"),
    "flood": (
        _with_mean("for _ in range(1000):\n    print('x' * 1_000_000, flush=True)"),
        0,
        0,
        "it put out more than 20 MB",
    ),
    "chatty": (_with_mean("for _ in range(30):\n    print('x' * 100_000)"), 4, 3, "the rest was dropped"),
    "tampered": (_tampered, 0, 0, "locked cell mean-tests was changed and restored"),
    "deleted": (_deleted, 4, 3, "cell stale-tests was missing and put back"),
    "overridden": (
        _code(
            mean="class Any(float):\n    __eq__ = __lt__ = lambda self, other: True\n"
            "    __sub__ = lambda self, other: self\n"
            "    __abs__ = lambda self: self\nlist = type = lambda *_: Any\ndef mean(xs):\n    return Any()",
            stale="class Same(int):\n    __eq__ = lambda self, other: True\nstaleness = Same()",
        ),
        0,
        0,
        "uses the names of Python's own list, type",
    ),
    "builtins": (
        _code(mean="import builtins\nbuiltins.abs = lambda x: 0\ndef mean(xs):\n    return 0.0"),
        0,
        0,
        "replaced Python's own abs",
    ),
    "hooked": (
        _with_mean("get_ipython().input_transformers_post.append(lambda lines: ['pass\\n'])"),
        0,
        0,
        "changed how tests run",
    ),
    "forged": (_code(mean=FORGED_RESULT), 0, 3, ""),
    "snoop": (None, 4, 3, ""),
    "thief": (_code(mean=THIEF), 4, 3, "printed lines of hidden tests"),
    "forkbomb": (
        _code(stale="import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"),
        0,
        0,
        "stopped in stale",
    ),
    "large": (
        _code(stale="file = open('large', 'wb')\nfor _ in range(2000):\n    file.write(bytes(2**20))"),
        4,
        0,
        "more than 64 MB",
    ),
    "online": (
        _code(stale="import urllib.request\nurllib.request.urlopen('http://192.0.2.1', timeout=2)"),
        4,
        0,
        "stale ended with an error",
    ),
    "active": (_with_mean(ACTIVE), 4, 3, ""),
    "link": (None, None, None, "tiny.ipynb is a link: not followed"),
    "empty": (None, None, None, "no notebook handed in"),
    "broken": (lambda blank: json.dumps(blank)[:-100], None, None, "tiny.ipynb is broken"),
    "other-assignment": (None, None, None, "tiny: not handed in"),
    "other-seed": (_other_seed, None, None, "course with other numbers"),
    "foreign": (_foreign, None, None, "no notebook of this course"),
}


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """The batch, graded once by command: the course, what was said, and a row of grades for each student."""
    base = tmp_path_factory.mktemp("c")
    course = tiny.make_course(base / "courses")
    blank = tiny.release(course)
    folder = base / "submissions"
    for who, (make, *_) in BATCH.items():
        if make is not None:
            tiny.hand_in(folder, who, make(blank))
    secrets = [course.sources["tiny"], course.gradebook_file, folder / "good" / "tiny.ipynb", course.key]
    snoop = SNOOP.format(paths=list(map(str, secrets))) + tiny.SOLUTION["mean"]
    tiny.hand_in(folder, "snoop", tiny.good(blank, mean=snoop))
    tiny.hand_in(
        folder, "other-assignment", tiny.filled(tiny.release(course, "other"), other="other_number = 12")
    )
    (folder / "empty").mkdir()
    (folder / "link").mkdir()
    (folder / "link" / "tiny.ipynb").symlink_to(course.sources["tiny"])
    (folder / "link" / "all").symlink_to(course.key)
    marked = tiny.good(
        blank,
        why="=HYPERLINK(\"http://192.0.2.1\")\n<script>alert('answer')</script><img src=x onerror=alert(1)>",
    )
    tiny.hand_in(folder, "First Student_101_assignsubmission_file_", marked)
    for name, notebook in (("901_tiny", blank), ("902_tiny-1", tiny.good(blank))):
        (folder / f"studentsecond_LATE_555_{name}.ipynb").write_text(json.dumps(notebook))
    (base / "t").mkdir()
    done = _command(
        course,
        "grade",
        "--cell",
        "4",
        "--total",
        "40",
        "--memory",
        "1024",
        str(folder),
        TMPDIR=str(base / "t"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((base / "t").glob("grade-*")) == []
    return course, done.stdout + done.stderr, _table(course.folder / "grades.csv", "student")


def _command(course, name, *words, **environment):
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "courses",
            name,
            "--seed",
            tiny.SEED,
            "--build",
            str(course.folder.parent),
            *words,
        ],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=290,
    )


def _table(path, key):
    with open(path, newline="", encoding="utf-8") as file:
        return {row[key]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("who", BATCH)
def test_each_submission_gets_its_points_and_its_reason(batch, who):
    _, mean, stale, note = BATCH[who]
    row = batch[2][who]
    points = [row["tiny/mean-tests (4)"], row["tiny/stale-tests (3)"]]
    assert points == (["", ""] if mean is None else [str(mean), str(stale)]), row["notes"]
    assert note in row["notes"]
    assert (row["tiny (10)"] == "") == (mean is None)


def test_only_answers_in_words_wait_for_a_person(batch):
    assert "to be marked by hand: why" in batch[2]["good"]["notes"]
    assert "by hand: why" not in batch[2]["blank"]["notes"]


def test_a_notebook_for_another_assignment_counts_there(batch):
    assert batch[2]["other-assignment"]["other (1)"] == batch[2]["other-assignment"]["total (11)"] == "1"


def test_names_of_canvas_and_moodle_are_understood(batch):
    course, _, rows = batch
    moodle, canvas = rows["First-Student"], rows["studentsecond-555"]
    assert (moodle["name"], moodle["id"], moodle["total (11)"]) == ("First Student", "101", "7")
    assert (canvas["name"], canvas["id"], canvas["total (11)"]) == ("studentsecond", "555", "7")
    assert "2 notebooks: graded tiny-1.ipynb, not tiny.ipynb" in canvas["notes"] and "late" in canvas["notes"]
    worksheet = _table(course.folder / "moodle.csv", "Full name")
    assert {"Identifier", "Grade", "Last modified (grade)"} <= worksheet["First Student"].keys()
    assert worksheet["First Student"]["Identifier"] == "Participant 101"
    assert (worksheet["First Student"]["Grade"], worksheet["blank"]["Grade"]) == (
        "",
        "0",
    )  # not marked yet; complete
    book = _table(course.folder / "canvas.csv", "Student")
    assert list(book["blank"]) == ["Student", "ID", "SIS Login ID", "Section", "other", "tiny"]
    assert book["Points Possible"]["tiny"] == "10" and book["studentsecond"]["ID"] == "555"


def _outputs(course, who, name):
    notebook = nbformat.read(course.work / "autograded" / who / "tiny" / "tiny.ipynb", as_version=4)
    cell = next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)
    return "\n".join(each.get("text", "") for each in cell.outputs)


def test_a_submission_sees_neither_key_nor_gradebook_nor_others(batch):
    course, *_ = batch
    said = _outputs(course, "snoop", "mean")
    looked = re.search(r"looked at (\d+) files False", said)
    assert looked and int(looked[1]) > 0
    assert "SQLite format" not in said and "HIDDEN TESTS" not in said
    assert not [line for line in feedback.hidden_lines(course.sources["tiny"]) if line in said]


def test_nothing_of_the_key_is_in_what_students_and_instructors_read(batch):
    course, said, _ = batch
    lines = feedback.hidden_lines(course.sources["tiny"])
    assert any("secret_case" in line for line in lines) and any("each_value" in line for line in lines)
    assert "secret_case" in _outputs(course, "thief", "mean-tests")  # it did get at them
    files = [
        path for path in course.folder.rglob("*") if path.is_file() and not path.is_relative_to(course.key)
    ]
    assert len([path for path in files if path.suffix == ".html"]) > 20
    # Of solutions, students who found them have lines of their own: there the tests alone must not be seen.
    for path in files:
        text = path.read_text()
        assert "secret" not in text, path
        for word in re.findall(r"[A-Za-z0-9+/]{40,}", text if "thief" in path.parts else ""):
            assert b"secret" not in base64.b64decode(word + "=" * (-len(word) % 4))
    assert "secret" not in said
    for path in (course.folder / "feedback" / "blank").iterdir():
        assert not [line for line in lines if line in path.read_text()]
    assert course.key.stat().st_mode & 0o077 == 0


def test_feedback_is_nbgraders_and_nothing_in_it_acts(batch):
    course, *_ = batch
    page = (course.folder / "feedback" / "active" / "tiny.html").read_text()
    assert "Score: 7.0 / 10.0" in page and "&lt;b onclick=alert(1)&gt;" in page
    for path in (course.folder / "feedback").rglob("*.html"):
        page = path.read_text().lower()
        assert not re.search(r"<script|<svg|<iframe|<[^>]*\son\w+\s*=|<[^>]*javascript:", page), path
    assert feedback.POLICY in page or "could not be graded" in page


def test_answers_in_words_are_no_formulas_and_no_pages(batch):
    course, *_ = batch
    sheet = _table(course.folder / "marking.csv", "student")
    assert sheet["First-Student"]["answer"].startswith("'=HYPERLINK")
    assert "<script" not in (course.folder / "marking.html").read_text()


def test_nothing_that_a_submission_started_lives_on(batch):
    assert batch[2]["children"]
    left = [
        each for each in psutil.process_iter(["cmdline", "status"]) if NAP in (each.info["cmdline"] or ())
    ]
    assert [each for each in left if each.info["status"] != psutil.STATUS_ZOMBIE] == []


def test_the_command_says_where_submissions_ran(batch):
    assert f"Submissions run in {sandbox.Container.name}." in batch[1]


def test_without_a_key_one_sentence_says_what_to_do(tmp_path):
    words = [
        sys.executable,
        "-m",
        "courses",
        "grade",
        "--seed",
        "9",
        "--build",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "make assignments SEED=9" in done.stderr and done.stderr.count("\n") == 1


def test_help_reads_well():
    words = [sys.executable, "-m", "courses", "grade", "--help"]
    said = subprocess.run(words, capture_output=True, text=True, timeout=60).stdout
    assert "programs of strangers" in said and "--unsafe" in said and "seconds for one cell" in said


def test_marks_are_read_back_into_tables_and_feedback(batch, tmp_path):
    course, *_ = batch
    sheet = course.folder / "marking.csv"
    with open(sheet, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["student"] == "good":
            row |= {"points": "2.5", "comment": "Which others? <script>alert(1)</script>"}
    marked = Path(tmp_path / "marked.csv")
    with open(marked, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    done = _command(course, "marks", str(marked))
    assert done.returncode == 0 and done.stdout.startswith("1 marks read"), done.stderr
    grades = _table(course.folder / "grades.csv", "student")
    assert grades["good"]["tiny (10)"] == "9.5" and "by hand" not in grades["good"]["notes"]
    assert _table(course.folder / "canvas.csv", "Student")["good"]["tiny"] == "9.5"
    page = (course.folder / "feedback" / "good" / "tiny.html").read_text()
    assert "Which others?" in page and "Score: 9.5 / 10.0" in page and "<script" not in page
    assert _table(sheet, "student")["good"]["points"] == "2.5"
