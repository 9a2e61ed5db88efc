"""Grades a folder of submissions with nbgrader, each in a process and a sandbox of its own.

This module knows the folders of a course, how nbgrader is set up, and what to say when a submission could not
be run to its end. nbgrader itself restores locked cells, decides on points and keeps the gradebook, in this
trusted process; only the kernel runs elsewhere (`sandbox`). It does not know how submissions are named
(`submissions`), what students get to see (`feedback`) or what tables look like (`tables`).

Tests run in the same kernel as the answers that they test, because nbgrader works so. Hence a submission can
read hidden tests while they run, though it can keep nothing of them, and code that is made for it could feign
results. After each test a cell that must fail is run, and Python's own functions are looked at; that finds
simple attempts, not every one. Write tests that compare plain numbers, and read answers that look strange.
"""

import builtins
import json
import multiprocessing
import os
import resource
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

import nbformat
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateAssignment, NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import Execute
from traitlets import Any
from traitlets.config import Config

from courses import feedback, sandbox, submissions

ROOT = Path(__file__).resolve().parent.parent
GRACE = 30  # seconds that a grader may take beyond its submission's own
GRADER_MEMORY = 6 * 2**30  # of address space; a grader that reads too much ends alone


class Course:
    """One course's folder: the key, nbgrader's gradebook, and what becomes of submissions."""

    def __init__(self, seed, courses):
        self.folder = Path(courses).resolve() / str(seed)
        self.key = self.folder / "key"
        self.work = self.key / "grading"
        self.gradebook_file = self.key / "gradebook.db"
        self.results_file = self.work / "results.json"
        self.sources = {path.stem: path for path in sorted(self.key.glob("source/*/*.ipynb"))}
        if not self.sources:
            raise submissions.UnusableError(
                f"There is no key in {self.key}; `make assignments SEED={seed}` makes it."
            )

    def prepare(self):
        """Hide the key from others, and tell the gradebook of assignments that it does not know yet."""
        self.key.chmod(0o700)
        self.work.mkdir(exist_ok=True)
        if shutil.which("alembic") is None:  # nbgrader calls it by name when it makes a gradebook
            os.environ["PATH"] = os.pathsep.join(
                [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
            )
        with self.gradebook() as gradebook:
            known = {assignment.name for assignment in gradebook.assignments}
        for name in self.sources.keys() - known:
            GenerateAssignment(coursedir=self.nbgrader(name), force=True).start()

    def gradebook(self):
        return Gradebook(self.database)

    @property
    def database(self):
        return f"sqlite:///{self.gradebook_file}?timeout=60"  # two graders write to it

    def nbgrader(self, assignment, student="*"):
        """Nbgrader's own view of the folders."""
        config = Config()
        config.CourseDirectory.root = str(self.work)
        config.CourseDirectory.source_directory = str(self.key / "source")
        config.CourseDirectory.db_url = self.database
        config.CourseDirectory.assignment_id = assignment
        config.CourseDirectory.student_id = student
        return CourseDirectory(config=config)

    def releases(self):
        """What students were given, by assignment."""
        made = {name: self.key / "release" / name / f"{name}.ipynb" for name in self.sources}
        ours = {name: self.work / "release" / name / f"{name}.ipynb" for name in self.sources}
        return {
            name: nbformat.read(path if path.exists() else ours[name], as_version=4)
            for name, path in made.items()
        }

    def exercises(self):
        """Points possible by exercise, by assignment, in the order of the notebook."""
        return {
            name: {
                mark["grade_id"]: float(mark["points"])
                for cell in nbformat.read(path, as_version=4).cells
                if (mark := cell.metadata.get("nbgrader", {})).get("grade")
            }
            for name, path in self.sources.items()
        }

    def results(self):
        """What became of each student's notebooks so far, by student."""
        return json.loads(self.results_file.read_text()) if self.results_file.exists() else {}

    def keep(self, results):
        new = self.results_file.with_suffix(".new")
        new.write_text(json.dumps(results, indent=1, ensure_ascii=False, sort_keys=True))
        new.replace(self.results_file)


@dataclass
class Job:
    """One student's notebook for one assignment."""

    student: str
    assignment: str
    notes: list[str]


def grade(course, folder, limits, unsafe=False, say=print):
    """Grade every notebook in a folder, two at a time; returns what became of all students so far."""
    folder = Path(folder).resolve()
    found = submissions.students(folder)
    course.prepare()
    hidden = [course.key, course.folder, folder, ROOT / "book" / "exercises"]
    kind = sandbox.choose([path for path in hidden if path.exists()], unsafe)
    say(f"{len(found)} students. Submissions run in {kind.name}.")
    results = course.results()
    jobs = _take_in(course, found, results)
    with course.gradebook() as gradebook:
        for student in {job.student for job in jobs}:  # or two graders would add the same one at once
            gradebook.update_or_create_student(student)
    for job, outcome in _run(course, jobs, kind, limits):
        entry = results[job.student]["assignments"][job.assignment]
        entry["status"] = outcome["status"]
        entry["notes"] = [*job.notes, *outcome["notes"]]
        if outcome["status"] != "graded":
            _no_points(course, job)
            feedback.without_grade(course, job.student, job.assignment, entry["notes"])
        course.keep(results)
        say(f"  {job.student}, {job.assignment}: {'; '.join([outcome['status'], *entry['notes']])}")
    return results


def _take_in(course, found, results):
    """Sort out what was handed in: notebooks to grade as jobs, everything else as notes in `results`."""
    releases = course.releases()
    jobs = []
    for student in found.values():
        entry = results.setdefault(student.key, {"assignments": {}})
        entry |= {
            "name": student.name,
            "platform": student.platform,
            "id": student.id,
            "notes": student.notes,
        }
        by_assignment = {}
        for file in student.files:
            try:
                notebook = submissions.read(file.path)
                name = submissions.assignment_of(notebook, releases)
            except submissions.UnusableError as why:
                entry["notes"].append(f"{file.name} {why}")
            else:
                by_assignment.setdefault(name, []).append((file, notebook))
        if not student.files:
            entry["notes"].append("no notebook handed in")
        for name, all_files in by_assignment.items():
            file = submissions.latest([file for file, _ in all_files])
            notebook = next(notebook for each, notebook in all_files if each is file)
            clean, notes = submissions.cleaned(notebook, releases[name])
            others = [each.name for each, _ in all_files if each is not file]
            if others:
                notes.append(f"{len(all_files)} notebooks: graded {file.name}, not {', '.join(others)}")
            if file.late:
                notes.append("late")
            place = course.work / "submitted" / student.key / name
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            nbformat.write(clean, place / f"{name}.ipynb")
            entry["assignments"][name] = {"status": "waiting", "notes": [], "identifier": file.identifier}
            jobs.append(Job(student.key, name, notes))
    course.keep(results)
    return jobs


def _no_points(course, job):
    """Leave no points of an earlier attempt in the gradebook."""
    with course.gradebook() as gradebook:
        gradebook.update_or_create_student(job.student)
        submission = gradebook.update_or_create_submission(job.assignment, job.student)
        for notebook in submission.notebooks:
            for each in notebook.grades:
                each.auto_score, each.needs_manual_grade = 0, False
        gradebook.db.commit()


def _run(course, jobs, kind, limits):
    """Grade two jobs at a time, each in a process that can be ended; yields each with its outcome."""
    start = multiprocessing.get_context("fork")  # nbgrader takes seconds to load: once is enough
    feedback.load(course)
    waiting, running, places = deque(jobs), {}, [kind(), kind()]
    try:
        while waiting or running:
            while waiting and places:
                job, place = waiting.popleft(), places.pop()
                run = Path(tempfile.mkdtemp(prefix="grade-"))
                ours, theirs = start.Pipe(duplex=False)
                process = start.Process(target=_work, args=(course, job, place, limits, run, theirs))
                process.start()
                theirs.close()
                deadline = time.monotonic() + limits.total + GRACE
                running[process.sentinel] = (process, job, place, run, ours, deadline)
            soonest = min(deadline for *_, deadline in running.values())
            done = wait(list(running), timeout=max(0, soonest - time.monotonic()))
            late = [each for each, (*_, deadline) in running.items() if time.monotonic() > deadline]
            for sentinel in {*done, *late}:
                process, job, place, run, ours, _ = running.pop(sentinel)
                outcome = _outcome(process, ours, in_time=sentinel in done, limits=limits)
                place.sweep()
                shutil.rmtree(run, ignore_errors=True)
                places.append(place)
                yield job, outcome
    finally:
        for process, _, place, run, *_ in running.values():
            process.kill()
            process.join()
            place.sweep()
            shutil.rmtree(run, ignore_errors=True)


def _outcome(process, ours, in_time, limits):
    if not in_time:
        process.kill()  # and with it, the kernel in its container
    process.join()
    try:
        return json.loads(ours.recv_bytes()) if ours.poll() else _ended(process, in_time, limits)
    except (EOFError, OSError, ValueError):
        return _ended(process, in_time, limits)
    finally:
        ours.close()


def _ended(process, in_time, limits):
    why = (
        f"the grader ended with {process.exitcode}" if in_time else f"not done after {limits.total + GRACE} s"
    )
    return {"status": "stopped", "notes": [f"{why}: look at it by hand"]}


def _work(course, job, place, limits, run, pipe):
    """Grade one job in this process, and say through the pipe what became of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log = course.work / "log" / f"{job.student}-{job.assignment}.log"
    log.parent.mkdir(exist_ok=True)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    resource.setrlimit(resource.RLIMIT_AS, (GRADER_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    execute = SafeExecute(place, limits, run, hidden=feedback.hidden_lines(course.sources[job.assignment]))
    autograde = Autograde(coursedir=course.nbgrader(job.assignment, job.student), force=True)
    autograde.autograde_preprocessors = [
        execute if each is Execute else each for each in autograde.autograde_preprocessors
    ]
    status = "graded"
    try:
        autograde.start()
        feedback.write(course, job.student, job.assignment)
    except NbGraderException:
        status = "stopped" if execute.stopped else "failed"
    reason = [execute.stopped or "nbgrader could not grade it"] if status != "graded" else []
    pipe.send_bytes(json.dumps({"status": status, "notes": [*reason, *execute.notes]}).encode())
    pipe.close()
    sys.stderr.flush()
    os._exit(0)  # no clean-up of a process that has read what strangers wrote


class StoppedError(Exception):
    """A submission cannot be run to its end; the message says why."""


# Looks, by means that cannot be replaced, at functions that can be; then fails, as it must.
CANARY = """
def {name}():
    wrong = ""
    kind = [].append.__class__
    for name in {functions}:
        each = __import__("builtins").__dict__[name]
        if each.__class__ is not kind or each.__name__ != name or each.__self__.__name__ != "builtins":
            wrong += " " + name
    for value in [], 0.0, 0, "", {{}}, (), 1 == 1:
        if __import__("builtins").__dict__[value.__class__.__name__] is not value.__class__:
            wrong += " " + value.__class__.__name__
    wrong += " |"
    for name in globals():
        if name in __import__("builtins").__dict__ and name[0] != "_":
            wrong += " " + name
    raise AssertionError("{nonce}" + wrong)
{name}()
"""
FUNCTIONS = (
    "abs all any callable divmod getattr globals hasattr isinstance issubclass iter len max min next pow"
    " repr round sorted sum"
)


class SafeExecute(Execute):
    """nbgrader's own way to run a notebook, in a sandbox, with an eye on time, output and honesty.

    `notes` has what an instructor should know, `stopped` why the notebook did not run to its end.
    """

    place, limits, run_folder = Any(), Any(), Any()

    def __init__(self, place, limits, run, hidden=()):
        super().__init__(timeout=limits.cell, shutdown_kernel="immediate", iopub_timeout=min(4, limits.cell))
        self.place, self.limits, self.run_folder = place, limits, run
        self.timeout_func = self._seconds
        self.hidden = hidden
        self.notes, self.stopped = [], ""
        self._deadline, self._cell, self._size, self._count = 0.0, None, 0, 0

    def create_kernel_manager(self):
        self.km = self._kernel = sandbox.Kernel(self.place, self.limits, self.run_folder)
        return self.km

    def preprocess(self, nb, resources=None, km=None):
        self._deadline = time.monotonic() + self.limits.total
        self._kernel = None
        try:
            return super().preprocess(nb, resources, km)
        except Exception as error:  # whatever it is, it is this submission's
            self.stopped = self._why(error)
            raise
        finally:
            if self._kernel is not None:
                self._kernel.close()

    def _why(self, error):
        where = f"in {self._label}" if self._cell is not None else "at the start"
        watch = self._kernel and self._kernel.watch
        if isinstance(error, StoppedError):
            return str(error)
        if watch is not None and watch.reason:
            return f"stopped {where}: {watch.reason}"
        if isinstance(error, CellTimeoutError):
            return f"stopped {where}: it went on after {self.limits.cell} s although it was interrupted"
        if isinstance(error, DeadKernelError):
            return f"stopped {where}: the kernel ended (it ended itself, crashed, or was out of memory)"
        if isinstance(error, MemoryError):
            return f"stopped {where}: its output was more than the grader could take"
        return f"stopped {where}: the kernel does not answer ({type(error).__name__})"

    def _seconds(self, cell):
        return max(1, min(self.limits.cell, round(self._deadline - time.monotonic())))

    def preprocess_cell(self, cell, resources, index):
        if cell.cell_type != "code":
            return cell, resources
        if time.monotonic() > self._deadline:
            raise StoppedError(f"stopped: the notebook ran longer than {self.limits.total} s")
        self._label = cell.metadata.get("nbgrader", {}).get("grade_id") or f"cell {index + 1}"
        self._cell, self._size, self._count = cell, 0, 0
        super().preprocess_cell(cell, resources, index)
        test = cell.metadata.get("nbgrader", {}).get("locked") and cell.metadata["nbgrader"].get("grade")
        names = self._look_at(cell, test)
        if test and "CellTimeoutError" not in names:
            self._run_canary(index)
            self.nb.cells[index] = cell
        if (
            index == len(self.nb.cells) - 1
            or not any(each.cell_type == "code" for each in self.nb.cells[index + 1 :])
        ) and (left := self._kernel.watch.left_running()):
            self._note(f"left {left} processes running, which were ended")
        return cell, resources

    def _look_at(self, cell, test):
        """Note what went wrong in a cell; in a test, let an error decide and a mere warning not."""
        errors = [each for each in cell.outputs if each.output_type == "error"]
        for error in errors:
            if error.ename == "KeyboardInterrupt" and len(errors) > 1:
                continue  # by us
            said = _reason(error.ename, error.evalue, self.limits)
            if said:
                self._note(f"{self._label}: {said}")
            elif not test:
                known = error.ename if _is_builtin(error.ename) else "an error of its own"
                self._note(f"{self._label} ended with {known}")
        shown = json.dumps(cell.outputs, ensure_ascii=False).replace("\\\\", "\\").replace('\\"', '"')
        if any(line in shown for line in self.hidden):
            self._note("printed lines of hidden tests: look at it by hand")
        if test:
            cell.outputs = errors + [each for each in cell.outputs if each.output_type != "error"]
            for each in cell.outputs:
                if each.output_type == "stream":
                    each.name = "stdout"  # nbgrader takes a word on stderr for a failed test
        return {error.ename for error in errors}

    def _run_canary(self, index):
        nonce, name = secrets.token_hex(16), f"_{secrets.token_hex(4)}"
        source = CANARY.format(nonce=nonce, name=name, functions=tuple(FUNCTIONS.split()))
        cell = nbformat.v4.new_code_cell(source)
        self.execute_cell(cell, index, store_history=False)
        said = [each.evalue for each in cell.outputs if each.output_type == "error" and nonce in each.evalue]
        if not said:
            raise StoppedError(
                "not graded: its code changed how tests run, so that those that must fail do not"
            )
        changed, _, shadowed = said[0].partition(nonce)[2].partition("|")
        if changed.strip():
            raise StoppedError(f"not graded: its code replaced Python's own {_names(changed)}")
        if shadowed := set(shadowed.split()) - {"exit", "quit", "open", "display", "get_ipython"}:
            self._note(
                f"uses the names of Python's own {_names(' '.join(sorted(shadowed)))} for something else"
            )

    def process_message(self, msg, cell, cell_index):
        """Take what a cell puts out, up to the limit, and nothing that would change an earlier cell."""
        kind, content = msg["msg_type"], msg["content"]
        if kind == "update_display_data" or kind.startswith("comm"):
            return None
        if kind in ("stream", "display_data", "execute_result", "error"):
            content.pop("transient", None)
            limit = self.limits.output * sandbox.MEGABYTE
            room = max(0, limit - self._size) if self._count < 500 else 0
            size = len(content.get("text", "")) + sum(
                len(str(each)) for each in content.get("data", {}).values()
            )
            size += sum(map(len, content.get("traceback", ())))
            self._size, self._count = self._size + size, self._count + 1
            if self._size > 20 * limit:
                self._kernel.watch.end(f"it put out more than {20 * self.limits.output} MB")
            if size > room:
                self._note(f"{self._label}: put out more than is kept; the rest was dropped")
                if kind == "stream" and room:
                    content["text"] = content["text"][:room]
                elif kind == "error":
                    content["traceback"], content["evalue"] = [], content.get("evalue", "")[:1000]
                else:
                    return None
        return super().process_message(msg, cell, cell_index)

    def _note(self, note):
        if note not in self.notes:
            self.notes.append(note)


def _reason(ename, evalue, limits):
    if ename == "NotImplementedError":
        return "not answered"
    if ename == "CellTimeoutError":
        return f"stopped after {limits.cell} s"
    if ename.endswith("MemoryError"):
        return f"needed more than {limits.memory} MB of memory"
    if ename == "OSError" and evalue.startswith(("[Errno 27]", "[Errno 28]")):
        return f"wrote a file of more than {limits.file} MB, or too many"
    if ename == "BlockingIOError" or "can't start new thread" in evalue:
        return f"started more than {limits.processes} processes"
    return None


def _names(text):
    """Names that a kernel sent, of those that Python has."""
    return ", ".join(name for name in text.split() if hasattr(builtins, name))


def _is_builtin(name):
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)
