"""A kernel in its place: what it sees, what it may use, and that nothing of it stays."""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from courses import sandbox

needs_container = pytest.mark.skipif(
    shutil.which("bwrap") is None and not os.environ.get("SANDBOX_TESTS_REQUIRED"),
    reason="bubblewrap is not installed",
)
LIMITS = sandbox.Limits(memory=1024, file=16, processes=60)


def run(*cells, place=sandbox.Container, limits=LIMITS):
    """What cells print in a kernel of their own, or the name of their error; and the kernel's watch."""
    return asyncio.run(_run(cells, place(), limits))


async def _run(cells, place, limits):
    said = []

    def hear(message):
        if message["msg_type"] == "stream":
            said[-1] += message["content"]["text"].strip()
        if message["msg_type"] == "error":
            said[-1] += message["content"]["ename"]

    folder = Path(tempfile.mkdtemp(prefix="grade-"))
    kernel = sandbox.Kernel(place, limits, folder)
    try:
        await kernel.start_kernel()
        client = kernel.client()
        client.start_channels()
        await client.wait_for_ready(timeout=60)
        for cell in cells:
            said.append("")
            running = client.execute_interactive(cell, output_hook=hear, timeout=20)
            if not await _outlives(kernel, asyncio.ensure_future(running)):
                said[-1] += "gone"
        client.stop_channels()
        family = place.processes(kernel.watch.process)
    except psutil.NoSuchProcess:
        family = []
    finally:
        kernel.close()
        await kernel.provisioner.wait()
        await kernel.cleanup_resources()
        shutil.rmtree(folder)
    psutil.wait_procs(family, timeout=5)
    assert [each for each in family if each.is_running() and each.status() != psutil.STATUS_ZOMBIE] == []
    return said, kernel.watch


async def _outlives(kernel, cell):
    """Whether a kernel lives, and answers, until its cell has run: one that was killed is not waited for."""
    while not cell.done() and await kernel.is_alive():
        await asyncio.wait([cell], timeout=0.1)
    cell.cancel()
    try:
        await cell
    except (RuntimeError, TimeoutError, asyncio.CancelledError):
        return False
    return True


@needs_container
def test_a_container_has_no_rights_no_network_and_one_place_to_write_to():
    said, _ = run(
        "import os; print(os.getcwd(), set(os.listdir()) - {'.ipython'}, os.getuid() == 0)",
        "import socket; socket.create_connection(('192.0.2.1', 80), timeout=2)",
        "open('/usr/x', 'w')",
        f"open({sys.prefix!r} + '/x', 'w')",
        "open('/dev/shm/x', 'w')",
        "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')])",
        "print(len([name for name in os.listdir('/proc') if name.isdigit()]) < 5)",
        "print(sorted(set(os.environ) & {'USER', 'SSH_AUTH_SOCK', 'JPY_PARENT_PID', 'PYTEST_CURRENT_TEST'}))",
        "import numpy, scipy.stats, sgdrace; print('works')",
    )
    assert said[0] == "/home/student set() False"
    assert said[1] == "OSError" and all(each in ("OSError", "PermissionError") for each in said[2:5])
    assert said[5:] == ["['0000000000000000']", "True", "[]", "works"]


@needs_container
def test_the_limits_of_a_process_hold():
    said, _ = run(
        "hog = bytearray(10 * 2**30)",
        "open('large', 'wb').write(bytes(17 * 2**20))",
        "for number in range(9): open(f'{number}', 'wb').write(bytes(15 * 2**20))",
        "import subprocess\nfor _ in range(100): subprocess.Popen(['sleep', '100'])",
        "print('still here')",
    )
    assert said == ["MemoryError", "OSError", "OSError", "BlockingIOError", "still here"]


@needs_container
def test_what_many_processes_need_together_is_limited_too():
    fork = "import os, time\nfor _ in range(8):\n    if not os.fork():\n"
    fork += "        hog = b'x' * (200 * 2**20); time.sleep(60); os._exit(0)\ntime.sleep(15)"
    said, watch = run(fork)
    assert said == ["gone"] and "more than 1024 MB" in watch.reason


@needs_container
def test_the_folder_of_the_sockets_is_no_place_to_fill_a_disk():
    fill = (
        "import glob, time\nplace = glob.glob('/tmp/*/ipc')[0]\n" if tempfile.gettempdir() == "/tmp" else ""
    )
    if not fill:
        pytest.skip("temporary files are elsewhere")
    fill += "for number in range(9): open(f'{place}/{number}', 'wb').write(bytes(15 * 2**20))\ntime.sleep(15)"
    said, watch = run(fill)
    assert said == ["gone"] and "to disk" in watch.reason


def test_hidden_folders_decide_whether_a_place_will_do(tmp_path):
    """A probe looks: what must be hidden and lies where every kernel looks is a reason to refuse."""
    inside = Path(sys.prefix) / "bin"
    with pytest.raises(sandbox.NoSandboxError, match="there is no safe place here to run them") as said:
        sandbox.choose([inside], kinds=(sandbox.Container,))
    assert "--unsafe" in str(said.value) and "ALLOW_UNSAFE=1" in str(said.value)


def test_without_any_sandbox_grading_is_refused_unless_one_insists(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))  # no bwrap
    monkeypatch.setattr(os, "geteuid", lambda: 1000)  # and not root
    with pytest.raises(sandbox.NoSandboxError, match="bwrap is not installed"):
        sandbox.choose([tmp_path])
    assert sandbox.choose([tmp_path], unsafe=True) is sandbox.Unprotected


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_that_could_read_the_key_will_not_do(tmp_path, monkeypatch):
    place = sandbox.OtherUser(python=shutil.which("python3", path="/usr/bin") or sys.executable)
    monkeypatch.setattr(sandbox, "LAUNCH", sandbox.LAUNCH.replace("import ipykernel, numpy, sgdrace", ""))
    open_to_all, locked = Path(tempfile.mkdtemp()), tmp_path / "key"
    open_to_all.chmod(0o755)
    locked.mkdir(mode=0o700)
    try:
        assert "could read" in place.probe([open_to_all])
        assert place.probe([locked]) is None
    finally:
        open_to_all.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_everything_of_another_user_is_ended():
    import subprocess

    place = sandbox.OtherUser()
    nap = [sys.executable, "-c", f"import os, time; os.setuid({place.user}); os.setsid(); time.sleep(100)"]
    processes = [subprocess.Popen(nap) for _ in range(3)]
    for _ in range(100):
        if len(sandbox._of_user(place.user)) == 3:
            break
        time.sleep(0.1)
    place.sweep()
    assert sandbox._of_user(place.user) == []
    for process in processes:
        process.wait(5)


def test_limits_have_to_be_positive():
    with pytest.raises(ValueError, match="The limit memory is 0, but has to be at least 1"):
        sandbox.Limits(memory=0)
