"""What is freed is used again."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
from sgdrace import Pareto, simulate

def pages(replicas):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    simulate("K-batch-async", P=64, K=64, delay=Pareto(2.5), updates=64, replicas=replicas)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(pages(100), pages(100), pages(100))
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="Only that C library is told to keep what is freed."
)
def test_a_race_needs_no_fresh_pages_where_another_has_been():
    said = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    first, *others = map(int, said.stdout.split())
    assert first > 1000  # several megabytes
    assert max(others) < first / 20
