"""Where the kernel of a submission runs: in a container, as another user, or, if one insists, unprotected.

This module knows how to start a kernel that sees Python, the environment and `sgdrace`, and no more; how much
time, memory, disk and how many processes it may use; and how to end all that it started. It knows nothing of
notebooks, points or keys: whoever asks says which folders must stay hidden, and a probe looks whether they
do.

A container (bubblewrap's `bwrap`) has its own processes, network, users' files and temporary folders. Another
user, for which one must be root, has the machine's network and reads whatever everybody may read; the probe
refuses if that includes a folder to be hidden. Neither guards against a hole in the operating system's
kernel.
"""

import contextlib
import json
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

import psutil
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager

PACKAGE = Path(__file__).resolve().parent.parent / "lib" / "sgdrace"
MEGABYTE = 2**20


class NoSandboxError(Exception):
    """There is no safe place to run a submission; the message says what to do."""


@dataclass(frozen=True)
class Limits:
    """What one submission may use; sizes in megabytes, times in seconds."""

    cell: int = 30
    total: int = 300
    memory: int = 2048
    file: int = 64
    processes: int = 100
    output: int = 1  # kept of each cell; twenty times as much ends the submission

    def __post_init__(self):
        for name, value in vars(self).items():
            if value < 1:
                raise ValueError(f"The limit {name} is {value}, but has to be at least 1.")

    def of_process(self):
        """The limits that the operating system itself holds every single process to."""
        return {
            "RLIMIT_AS": self.memory * MEGABYTE,
            "RLIMIT_FSIZE": self.file * MEGABYTE,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_CPU": self.total + 10,
            "RLIMIT_NOFILE": 256,
            "RLIMIT_CORE": 0,
        }


# Runs inside, before anything of the submission: gives up rights for good, then becomes kernel or probe.
LAUNCH = """
import json, os, resource, runpy, sys
limits, user, module = json.loads(sys.argv.pop(1))
for name, value in limits.items():
    hard = resource.getrlimit(getattr(resource, name))[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(getattr(resource, name), (value, value))
if user is not None:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
if module:
    runpy.run_module(module, run_name="__main__", alter_sys=True)
else:
    import ipykernel, numpy, sgdrace
    seen = [path for path in sys.argv[1:] if os.access(path, os.R_OK)]
    interfaces = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
    print(json.dumps({"seen": seen, "network": interfaces != ["lo"], "uid": os.getuid()}))
"""


class Unprotected:
    """The kernel runs as whoever grades: only the limits of a single process hold."""

    name = "no sandbox: submissions can read and change all that you can, the key and the gradebook included"
    user = None

    def __init__(self, python=sys.executable):
        self.python = python

    def inside(self, run, limits):
        """The words before Python's own; `run` is the folder of one kernel, with `ipc` and `home` in it."""
        return []

    def environment(self, run):
        return {
            "HOME": str(run / "home"),
            "TMPDIR": str(run / "home"),
            "PATH": f"{Path(self.python).parent}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(PACKAGE.parent),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",  # each thread of linear algebra reserves memory
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
        }

    def command(self, run, limits, module, *arguments):
        what = json.dumps([limits.of_process(), self.user, module])
        return [*self.inside(run, limits), self.python, "-P", "-c", LAUNCH, what, *arguments]

    def prepare(self, run):
        """Make the two folders that a kernel may write to, for nobody else to look into."""
        for name in ("ipc", "home"):
            (run / name).mkdir(mode=0o700)
            if self.user is not None:
                os.chown(run / name, self.user, self.user)
        if self.user is not None:
            run.chmod(0o711)  # to be passed through, not listed

    def processes(self, process):
        """Whatever a kernel has started, itself included."""
        return [process, *process.children(recursive=True)]

    def end(self, process):
        for each in reversed(self.processes(process)):
            each.kill()

    def sweep(self):
        """End what outlived even the grader that started it."""

    def probe(self, hidden):
        """Why a kernel cannot run here unseen and unseeing, in one sentence; `None` if it can."""
        return None

    def _try(self, hidden):
        with tempfile.TemporaryDirectory(prefix="probe-") as folder:
            run = Path(folder)
            self.prepare(run)
            done = subprocess.run(
                self.command(run, Limits(), None, *map(str, hidden)),
                env=self.environment(run),
                cwd="/",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
            )
        if done.returncode:
            last = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
            return None, f"a Python there does not start ({last[-1]})"
        found = json.loads(done.stdout.splitlines()[-1])
        if found["seen"]:
            return None, f"it could read {found['seen'][0]}; `chmod -R go= {found['seen'][0]}` hides that"
        return found, None


class OtherUser(Unprotected):
    """The kernel runs as a user of its own, whose number nobody else has."""

    name = "another user (the machine's network and files that everybody may read stay within reach)"

    def __init__(self, python=sys.executable):
        super().__init__(python)
        self.user = _spare_user(61300)

    def processes(self, process):
        return [process, *(each for each in _of_user(self.user) if each.pid != process.pid)]

    def end(self, process):
        process.kill()
        self.sweep()

    def sweep(self):
        while left := _of_user(
            self.user
        ):  # also those that have left the family; each round stops them first
            for send in (signal.SIGSTOP, signal.SIGKILL):
                for each in left:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        each.send_signal(send)
            psutil.wait_procs(left, timeout=1)

    def probe(self, hidden):
        if os.geteuid() != 0:
            return "only root can start a process as another user"
        return self._try(hidden)[1]


class Container(Unprotected):
    """The kernel has namespaces of its own; of the disk it sees what Python needs, and an empty home."""

    name = "a container (bubblewrap)"

    def __init__(self, python=sys.executable):
        super().__init__(python)
        # Nobody counts the processes of root, so that root has to become somebody else inside.
        self.user = _spare_user(62300) if os.geteuid() == 0 else None

    def visible(self):
        """Folders that a kernel sees besides the system's own."""
        real = Path(os.path.realpath(self.python))
        folders = {Path(sys.prefix), Path(sys.base_prefix), real.parent.parent}
        return sorted(folder for folder in folders if not folder.is_relative_to("/usr"))

    def inside(self, run, limits):
        words = [
            "bwrap",
            "--die-with-parent",
            "--new-session",
            "--unshare-pid",
            "--unshare-net",
            "--unshare-ipc",
        ]
        words += ["--unshare-uts", "--unshare-cgroup-try", "--clearenv", "--hostname", "sandbox"]
        if self.user is None:
            words += ["--unshare-user"]
        else:
            words += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        words += ["--ro-bind", "/usr", "/usr"]
        for name in ("bin", "sbin", "lib", "lib32", "lib64"):
            top = Path("/", name)
            if top.is_symlink():
                words += ["--symlink", os.readlink(top), str(top)]
            elif top.is_dir():
                words += ["--ro-bind", str(top), str(top)]
        for name in ("ld.so.cache", "alternatives", "fonts", "localtime"):
            words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        words += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
        for folder in ("/tmp", "/home/student"):  # in memory
            words += ["--perms", "1777", "--size", str(2 * limits.file * MEGABYTE), "--tmpfs", folder]
        mounts = [("--ro-bind", folder, folder) for folder in self.visible()]
        mounts += [("--ro-bind", PACKAGE, Path("/opt/book/sgdrace")), ("--bind", run / "ipc", run / "ipc")]
        for how, outside, there in mounts:
            for parent in reversed(there.parents[:-1]):  # else only root could pass through
                words += ["--perms", "0755", "--dir", str(parent)]
            words += [how, str(outside), str(there)]
        for name, value in self._environment().items():
            words += ["--setenv", name, value]
        return [*words, "--chdir", "/home/student"]

    def _environment(self):
        home = {"HOME": "/home/student", "TMPDIR": "/tmp", "PYTHONPATH": "/opt/book"}
        return super().environment(Path("/")) | home

    def environment(self, run):
        return {"PATH": os.environ.get("PATH", os.defpath)}  # bwrap's own; what is inside gets its own

    def end(self, process):
        process.kill()  # with bwrap's first process its namespace goes, and everything in it

    def probe(self, hidden):
        if shutil.which("bwrap") is None:
            return "bwrap is not installed (Debian, Ubuntu, Fedora: package bubblewrap)"
        for folder in self.visible():
            inside = [path for path in map(Path, hidden) if path.resolve().is_relative_to(folder)]
            if inside:
                return f"{inside[0]} lies in {folder}, which every kernel has to see"
        found, why = self._try(hidden)
        return "it would have the network of this machine" if found and found["network"] else why


def choose(hidden, unsafe=False, kinds=(Container, OtherUser)):
    """The safest kind of place that works on this machine and hides these folders."""
    reasons = []
    for kind in kinds:
        try:
            why = kind().probe(hidden)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            why = str(error)
        if why is None:
            return kind
        reasons.append(f"{kind.__name__}: {why}.")
    if unsafe:
        return Unprotected
    raise NoSandboxError(
        "Submissions are programs of strangers, and there is no safe place here to run them. "
        + " ".join(reasons)
        + " Install bubblewrap, or say --unsafe (make: ALLOW_UNSAFE=1) to run them as yourself: they could"
        " then read the key and other submissions, change grades and files, and use the network."
    )


class Kernel(AsyncKernelManager):
    """A Jupyter kernel in a place of its own, reached through sockets in a folder instead of the network."""

    def __init__(self, place, limits, run, **traits):
        """Keep sockets in the empty folder `run`, whose path is short: a socket's has 107 characters."""
        self.place, self.limits, self.run = place, limits, Path(run)
        place.prepare(self.run)
        ipc = self.run / "ipc"
        super().__init__(
            transport="ipc", ip=str(ipc / "k"), connection_file=str(ipc / "kernel.json"), **traits
        )
        flags = [
            "-f",
            "{connection_file}",
            "--HistoryManager.enabled=False",
            "--InteractiveShell.xmode=Minimal",
        ]
        # By message, because a signal would reach the container and end it.
        self._kernel_spec = KernelSpec(argv=["python", *flags], interrupt_mode="message", language="python")
        self.watch = None

    def format_kernel_cmd(self, extra_arguments=None):
        _, *flags = super().format_kernel_cmd(extra_arguments)
        return self.place.command(self.run, self.limits, "ipykernel_launcher", *flags)

    def write_connection_file(self, **others):
        super().write_connection_file(**others)
        if self.place.user is not None:
            os.chown(self.connection_file, self.place.user, self.place.user)

    async def _async_launch_kernel(self, kernel_cmd, **options):
        options |= {"env": self.place.environment(self.run), "cwd": str(self.run)}
        options |= {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        await super()._async_launch_kernel(kernel_cmd, **options)
        self.watch = Watch(psutil.Process(self.provisioner.pid), self.place, self.run, self.limits)
        self.watch.start()

    _launch_kernel = _async_launch_kernel

    def close(self):
        """End everything that was started."""
        if self.watch is not None:
            self.watch.stop()


class Watch(threading.Thread):
    """Looks at a kernel and its children together, which the limits of a single process do not."""

    INTERVAL = 0.25

    def __init__(self, process, place, run, limits):
        super().__init__(daemon=True)
        self.process, self.place, self.run_folder, self.limits = process, place, run, limits
        self.reason = None
        self._over = threading.Event()

    def run(self):
        while not self._over.wait(self.INTERVAL):
            try:
                self._look()
            except psutil.Error:  # gone while we looked
                continue

    def _look(self):
        family = self.place.processes(self.process)
        if len(family) > self.limits.processes + 10:
            self.end(f"it had started more than {self.limits.processes} processes")
        elif sum(map(_memory, family)) > self.limits.memory * MEGABYTE:
            self.end(f"it and what it had started needed more than {self.limits.memory} MB of memory")
        elif _size(self.run_folder) > 2 * self.limits.file * MEGABYTE:
            self.end(f"it had written more than {2 * self.limits.file} MB to disk")

    def end(self, reason):
        """Stop the kernel and its children, and remember why."""
        self.reason = self.reason or reason
        with contextlib.suppress(psutil.Error):
            self.place.end(self.process)

    def left_running(self):
        """How many processes live on that are neither the kernel nor the container around it."""
        try:
            family = self.place.processes(self.process)
            return sum(1 for each in family[1:] if each.status() != psutil.STATUS_ZOMBIE) - self._own(family)
        except psutil.Error:
            return 0

    def _own(self, family):
        return 2 if isinstance(self.place, Container) else 0

    def stop(self):
        self._over.set()
        with contextlib.suppress(psutil.Error):
            self.place.end(self.process)
        self.join(timeout=5)


def _memory(process):
    """A process's share of memory in bytes: what it shares with others counts in part."""
    try:
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return process.memory_info().rss
    except psutil.Error:
        return 0


def _size(folder):
    return sum(
        os.lstat(os.path.join(where, name)).st_size
        for where, _, names in os.walk(folder)
        for name in names
        if os.path.lexists(os.path.join(where, name))
    )


def _of_user(user):
    return [each for each in psutil.process_iter(["uids"]) if user in (each.info["uids"] or ())]


def _spare_user(first):
    """One of the thousand numbers from `first` on, that no user has and no process uses."""
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    taken |= {uid for each in psutil.process_iter(["uids"]) for uid in each.info["uids"] or ()}
    return secrets.choice([user for user in range(first, first + 1000) if user not in taken])
