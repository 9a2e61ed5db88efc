"""Another Python process: one that is interrupted, or that runs on a lesser processor."""

import os
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


def interrupt(code, patience=20):
    """The last line of what a script says that is interrupted a second after it has said that it begins."""
    script = f"{code.strip()}\nprint('finished')"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "begins\n", process.stderr.read()
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            return f"still running {patience} s after the interrupt"
    return (out + err).strip().splitlines()[-1]
