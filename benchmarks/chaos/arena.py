"""Where faults happen: a home of its own on a small file system, a local cluster, tiny runs, and whom to hit."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

import workbench as wb
from benchmarks.chaos.model import Tripwire
from workbench.core.config import RunConfig
from workbench.core.events import of_kind
from workbench.runtime.run import Run
from workbench.train import resolve

HOME_MB = 192
EPOCHS = 40
WORLD_SIZE = 2
SETTINGS = {"trainers": WORLD_SIZE, "epochs": EPOCHS, "batch_size": 16, "fanouts": (5, 5), "evaluate_every": 5}


class Arena:
    """A home, mounted as a file system of its own where that is allowed, and a cluster in it."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="workbench-chaos-"))
        self.wire = Path(tempfile.mkdtemp(prefix="workbench-wire-"))
        mount = ["mount", "-t", "tmpfs", "-o", f"size={HOME_MB}m,mode=700", "workbench-chaos", str(self.home)]
        self.is_mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
        os.environ["WORKBENCH_HOME"] = str(self.home)
        self._fills = threading.Event()
        self.graph = _graph()
        self.session = self.connect()

    def connect(self) -> wb.Session:
        """Return a session on the local cluster, which is started where it does not live."""
        self.session = wb.connect(trainers=WORLD_SIZE, samplers=2)
        return self.session

    def launch(self, samplers: int = 0, limits: dict[str, Any] | None = None) -> Run:
        """Start the run that every fault meets."""
        torch.manual_seed(0)
        model = Tripwire(str(self.wire), 12, 3)
        resolved = resolve(self.graph, model, "mini_batch", samplers=samplers, **SETTINGS)
        config: RunConfig = resolved.config
        options = {"limits": limits or {}}
        return self.session.cluster.submit(config, summary=resolved.summary, module=resolved.module, options=options)

    # ---- whom to hit

    def record(self) -> dict[str, Any]:
        """Return what the local cluster says of its processes; empty where it is dead."""
        files = self.session.cluster._files
        return (files.read() if files is not None else None) or {}

    def processes(self) -> list[psutil.Process]:
        """Return every process of this home but our own and its children that are clients."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                mine = process.pid == os.getpid() or "benchmarks.chaos" in " ".join(process.cmdline())
                lives = process.status() != psutil.STATUS_ZOMBIE
                if not mine and lives and process.environ().get("WORKBENCH_HOME") == str(self.home):
                    found.append(process)
        return found

    def ranks(self) -> list[psutil.Process]:
        """Return the processes of ranks: children of a zygote."""
        found = []
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                is_zygote = "workbench.runtime.zygote" in process.cmdline()
                if is_zygote and "workbench.runtime.zygote" in process.parent().cmdline():  # type: ignore[union-attr]
                    found.append(process)
        return found

    def zygotes(self) -> list[psutil.Process]:
        """Return the processes that ranks are forked from."""
        ranks = {process.pid for process in self.ranks()}
        found = []
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                if process.pid not in ranks and "workbench.runtime.zygote" in process.cmdline():
                    found.append(process)
        return found

    # ---- the disk

    def fill(self) -> None:
        """Take every byte that is left, also what becomes free later, until ``free_disk``."""
        self._fills.set()
        filled = threading.Event()
        threading.Thread(target=self._keep_full, args=(filled,), daemon=True).start()
        filled.wait()

    def _keep_full(self, filled: threading.Event) -> None:
        with (self.home / "filler").open("wb", buffering=0) as file:
            while self._fills.is_set():
                try:
                    file.write(b"\0" * 4096)
                except OSError:
                    filled.set()
                    time.sleep(0.001)

    def free_disk(self) -> None:
        """Give the space back."""
        self._fills.clear()
        time.sleep(0.05)
        (self.home / "filler").unlink(missing_ok=True)

    def close(self) -> None:
        """End everything and leave nothing."""
        with contextlib.suppress(Exception):
            self.session.close(force=True)
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()
        if self.is_mounted:
            subprocess.run(["umount", "--lazy", str(self.home)], check=False)
        for folder in (self.home, self.wire):
            subprocess.run(["rm", "-rf", str(folder)], check=False)


def _graph() -> wb.Graph:
    """Return a random graph of 300 nodes with 3 classes."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    edges = rng.integers(0, 300, (2, 2000))
    x = (np.eye(3)[labels].repeat(4, axis=1) + rng.normal(0, 1, (300, 12))).astype(np.float32)
    order = rng.permutation(300)
    splits = {"train_nodes": order[:150], "val_nodes": order[150:200], "test_nodes": order[200:]}
    return wb.Graph.from_edge_index(edges, num_nodes=300, x=x, y=labels, name="chaos", **splits)


def losses_of(run: Run) -> dict[tuple[int, int], float]:
    """Return the loss of every (step, rank), of the last telling."""
    return {(e.data["step"], e.rank): e.data["loss"] for e in of_kind(run.events, "step_finished")}


KERNEL = """
import sys, time
from benchmarks.chaos import arena
arena.run_in_kernel(sys.argv[1])
"""


def kernel(arena: Arena) -> tuple[subprocess.Popen[str], str]:
    """Start another process that launches the run and waits for it; return it and the run's id."""
    if not (arena.home / "graph-of-kernel").exists():
        arena.graph.save(arena.home / "graph-of-kernel")
    command = [sys.executable, "-c", KERNEL, str(arena.wire)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def run_in_kernel(wire: str) -> None:
    """Be that process."""
    arena = Arena.__new__(Arena)
    arena.home, arena.wire = Path(os.environ["WORKBENCH_HOME"]), Path(wire)
    arena.graph = wb.Graph.open(arena.home / "graph-of-kernel")
    arena.connect()
    print(arena.launch().id, flush=True)
    time.sleep(600)
