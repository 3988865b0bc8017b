"""A rank keeps the memory that it frees."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

CODE = """
import resource, sys
import numpy as np
from workbench.runtime.heap import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
def faults_of_a_step():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(50 << 20, np.int8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults_of_a_step()
print(faults_of_a_step())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked")
def test_a_temporary_of_the_size_of_the_last_one_costs_no_page_fault() -> None:
    faults = {}
    for mode in ("keep", "plain"):
        done = subprocess.run([sys.executable, "-c", CODE, mode], capture_output=True, text=True, check=True)
        faults[mode] = int(done.stdout)
    assert faults["plain"] > 20, "else this says nothing"  # 25 with huge pages, 12,800 without
    assert faults["keep"] < 10
