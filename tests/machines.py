"""Another Python process: one whose work is interrupted, or that runs on a lesser processor."""

import os
import select
import signal
import subprocess
import sys

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

# Faster code paths of NumPy that this processor has and that a lesser one would not have.
DISPATCHED = [feature for feature in __cpu_dispatch__ if __cpu_features__[feature]]


def run_without_cpu_features(code, *words):
    """Run a script as a processor would that has none of NumPy's faster code paths."""
    environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED)}
    subprocess.run([sys.executable, "-c", code, *words], env=environment, check=True, timeout=120)


RUNS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
exec(sys.argv[1])
for code in sys.argv[2:]:
    print("begins", flush=True)
    try:
        exec(compile(code, "run", "exec"))  # of bare text, the Python itself would die of the interrupt
        print("finished", flush=True)
    except BaseException as error:
        print(type(error).__name__, flush=True)
"""


def interrupt(codes, setup, pause=0.4, patience=60):
    """How each of some long runs in one Python ends that is interrupted a moment after it has begun.

    And last, how the Python itself ends: none of the runs may have left anything behind that goes on.
    """
    ends = []
    command = [sys.executable, "-c", RUNS, setup, *codes]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
        for _ in codes:
            assert process.stdout.readline() == b"begins\n"
            if not select.select([process.stdout], [], [], pause)[0]:
                process.send_signal(signal.SIGINT)
            if not select.select([process.stdout], [], [], patience)[0]:
                process.kill()
                return [*ends, f"still running {patience} s after the interrupt"]
            ends.append(process.stdout.readline().decode().strip())
        try:
            ends.append(process.wait(patience))
        except subprocess.TimeoutExpired:
            process.kill()
            ends.append(f"still running {patience} s after all have ended")
    return ends
