"""What this machine offers to a run, and what of it is amiss; looks without touching CUDA or importing torch."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import socket
import sys
import tempfile
from pathlib import Path

import psutil

from workbench.core.errors import Findings
from workbench.core.home import HOME_FIX, home
from workbench.core.units import format_bytes

PACKAGES = ("torch", "torch-geometric", "dask", "distributed", "numpy", "numba")
OPTIONAL = {
    "pyg-lib": "not needed: the workbench has samplers of its own",
    "nvidia-ml-py": "memory and load of GPUs in the dashboard",
}
LITTLE_MEMORY_BYTES = 2 << 30
LITTLE_DISK_BYTES = 2 << 30


def machine_facts() -> dict[str, str]:
    """Return what is there, by name: cores, memory, disk, GPUs, versions."""
    memory = psutil.virtual_memory()
    disk = shutil.disk_usage(_existing(home()))
    facts = {
        "Python": f"{platform.python_version()} at {sys.prefix}",
        "Cores": f"{num_cores()} usable",
        "Memory": f"{format_bytes(memory.available)} free of {format_bytes(memory.total)}",
        "Disk": f"{format_bytes(disk.free)} free of {format_bytes(disk.total)} at {home()}",
        "GPUs": str(num_gpus()) if num_gpus() else "none",
        "Threads": f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'not set')} in this process",
    }
    facts |= {name: version_of(name) or "missing" for name in PACKAGES}
    facts |= {f"{name} (optional)": version_of(name) or f"not installed; {use}" for name, use in OPTIONAL.items()}
    return facts


def check_machine() -> Findings:
    """Return what is wrong or worth knowing about this machine, each with its fix."""
    findings = Findings("this machine")
    _check_resources(findings)
    _check_network(findings)
    _check_torch(findings)
    for name in PACKAGES:
        if version_of(name) is None:
            findings.add(name, "an installed package", "missing", f"pip install {name}")
    return findings


def num_cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0))


def num_gpus() -> int:
    """Return the NVIDIA GPUs that the kernel's driver shows; CUDA is not initialised."""
    return sum(1 for path in Path("/dev").glob("nvidia[0-9]*") if path.name.removeprefix("nvidia").isdigit())


def version_of(package: str) -> str | None:
    """Return a package's version, or None where it is not installed; it is not imported."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _check_resources(findings: Findings) -> None:
    cores, memory = num_cores(), psutil.virtual_memory().available
    if cores < 2:
        fix = "expect ranks to take turns: results are the same, speed is not shown"
        findings.add("cores", "at least 2, for two trainers", cores, fix, "warning")
    if memory < LITTLE_MEMORY_BYTES:
        fix = "close other programs, or use a smaller batch_size and store='mmap'"
        findings.add("memory", f"{format_bytes(LITTLE_MEMORY_BYTES)} free", format_bytes(memory), fix, "warning")
    folder = _existing(home())
    try:
        with tempfile.TemporaryFile(dir=folder):  # what the permissions say is not all: a file, /proc, a full disk
            pass
    except OSError as error:
        findings.add("WORKBENCH_HOME", "a folder that can be made and written", f"{home()}: {error}", HOME_FIX)
        return
    free = shutil.disk_usage(folder).free
    if free < LITTLE_DISK_BYTES:
        fix = f"make room on {folder}, or set WORKBENCH_HOME to another disk: checkpoints and graphs go there"
        findings.add("disk", f"{format_bytes(LITTLE_DISK_BYTES)} free", format_bytes(free), fix, "warning")


def _check_network(findings: Findings) -> None:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            pass
    except OSError as error:
        fix = "allow connections on the loopback interface: ranks and the scheduler talk there"
        findings.add("ports", "a free port on 127.0.0.1", error, fix)


def _check_torch(findings: Findings) -> None:
    torch = sys.modules.get("torch")
    version = version_of("torch") or ""
    if torch is not None and torch.cuda.is_initialized():
        fix = "restart the kernel and leave CUDA to the ranks: it takes GPU memory here"
        findings.add("CUDA", "untouched in this process", "initialised", fix, "warning")
    if num_gpus() and version.endswith("+cpu"):
        fix = "install torch with CUDA (see pytorch.org)"
        findings.add("torch", f"a build for the {num_gpus()} GPUs here", version, fix, "warning")
    if os.environ.get("OMP_NUM_THREADS") == "1" and num_cores() > 1:
        fix = "nothing to do for runs: each rank sets its own (threads_per_trainer); unset it to use all cores here"
        findings.add("OMP_NUM_THREADS", "not set in a notebook", "1: torch uses one thread here", fix, "info")


def _existing(path: Path) -> Path:
    """Return the path or its nearest parent that exists."""
    return next(folder for folder in (path, *path.parents) if folder.exists())
