"""A cluster over two network namespaces, as over two machines: scheduler, trainers and samplers on two addresses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

import workbench as wb
from workbench.core.events import of_kind
from workbench.runtime.run_folder import RunFolder
from workbench.testing.runs import PATIENCE_S, losses, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SETTINGS: dict[str, Any] = {"batch_size": 16, "fanouts": (5, 5), "hidden_channels": 16}
LAUNCH = """
    import json, sys
    import workbench as wb
    if __name__ == "__main__":
        graph, settings = wb.Graph.open(sys.argv[2]), json.loads(sys.argv[3])
        session = wb.connect(sys.argv[1])
        run = session.launch(graph, "sage", "mini_batch", **settings)
        print(run.id, flush=True)
        run.wait(400)
"""


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no network namespaces here: ip {' '.join(words)}: {done.stderr.strip()}")


@dataclass(slots=True)
class Hosts:
    """Two namespaces with an address each, and what runs in them."""

    folder: Path
    names: list[str]
    interfaces: list[str]
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(self, host: int, *command: str, **more: Any) -> subprocess.Popen[str]:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        words = ["ip", "netns", "exec", self.names[host], sys.executable, *command]
        process = subprocess.Popen(words, env=environment, cwd=self.folder, text=True, **more)
        self.processes.append(process)
        return process

    def worker(self, host: int, name: str, role: str, address: str) -> None:
        words = ["-m", "dask", "worker", address, "--host", f"10.178.0.{host + 1}", "--nthreads", "1", "--name", name]
        self.run(host, *words, "--resources", f"{role}=1", "--no-dashboard", "--no-nanny")

    def close(self) -> None:
        for process in self.processes:
            for child in psutil.Process(process.pid).children(recursive=True) if process.poll() is None else ():
                child.kill()
            process.kill()
            process.communicate()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    if sys.platform != "linux" or shutil.which("ip") is None:
        pytest.skip("no network namespaces here: Linux with iproute2 has them")
    mark = uuid.uuid4().hex[:6]
    made = Hosts(tmp_path, [f"wb{mark}{i}" for i in range(2)], [f"wb{mark}v{i}" for i in range(2)])
    try:
        for name in made.names:
            ip("netns", "add", name)
        (a, b), (x, y) = made.names, made.interfaces
        ip("link", "add", x, "netns", a, "type", "veth", "peer", y, "netns", b)
        for host, (name, interface) in enumerate(zip(made.names, made.interfaces, strict=True)):
            ip("-n", name, "addr", "add", f"10.178.0.{host + 1}/24", "dev", interface)
            ip("-n", name, "link", "set", interface, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield made
    finally:
        made.close()


def start(hosts: Hosts, graph: wb.Graph, **settings: Any) -> RunFolder:
    """Start the cluster and launch a run from the first host; return the run's folder."""
    file, script = hosts.folder / "scheduler.json", hosts.folder / "launch.py"
    script.write_text(textwrap.dedent(LAUNCH))
    graph.save(hosts.folder / "graph")
    scheduler = ["-m", "dask", "scheduler", "--host", "10.178.0.1", "--port", "0", "--no-dashboard"]
    hosts.run(0, *scheduler, "--scheduler-file", str(file))
    wait_for(lambda: file.exists() and file.read_text().rstrip().endswith("}"), "the scheduler")
    address = json.loads(file.read_text())["address"]
    assert "10.178.0.1" in address
    for host, name, role in ((0, "t0", "trainer"), (1, "t1", "trainer"), (1, "s0", "sampler")):
        hosts.worker(host, name, role, address)
    wait_for_workers(hosts, address)
    words = [str(script), address, str(hosts.folder / "graph"), json.dumps(SETTINGS | settings)]
    kernel = hosts.run(0, *words, stdout=subprocess.PIPE)
    assert kernel.stdout is not None
    return RunFolder.find(kernel.stdout.readline().strip())


def wait_for_workers(hosts: Hosts, address: str) -> None:
    """Wait until the three workers have joined; only a process of the first host can ask."""
    code = f"from distributed import Client; Client({address!r}).wait_for_workers(3, timeout=200)"
    assert hosts.run(0, "-c", code).wait() == 0


def status(folder: RunFolder) -> str:
    return wb.Run(folder).status


def ended(folder: RunFolder) -> bool:
    return any(True for _ in of_kind(folder.milestones(), "run_finished", "run_failed", "run_stopped"))


def test_trainers_and_samplers_on_two_addresses_give_the_bits_of_one_machine(
    hosts: Hosts, session: wb.Session, graph: wb.Graph
) -> None:
    here = session.launch(graph, "sage", "mini_batch", trainers=2, epochs=3, **SETTINGS).wait(PATIENCE_S)
    folder = start(hosts, graph, trainers=2, samplers=1, epochs=3)
    wait_for(lambda: ended(folder), "the end")
    run = wb.Run(folder)
    assert run.status == "finished"
    assert {e.data["host"] for e in of_kind(run.events, "rank_ready")} == {"10.178.0.1", "10.178.0.2"}
    assert list(of_kind(run.events, "batch_sampled"))
    assert losses(run) == losses(here)


def test_a_cut_cable_is_told_with_the_host_and_the_run_goes_on_when_there_is_another(
    hosts: Hosts, graph: wb.Graph
) -> None:
    folder = start(hosts, graph, trainers=2, samplers=0, epochs=10_000)
    wait_for(lambda: any(True for _ in of_kind(folder.milestones(), "epoch_finished")), "an epoch")
    address = json.loads((hosts.folder / "scheduler.json").read_text())["address"]
    hosts.worker(0, "spare", "trainer", address)
    time.sleep(15.0)
    ip("-n", hosts.names[1], "link", "set", hosts.interfaces[1], "down")
    cut_s = time.time()
    warned = wait_for(lambda: [e for e in folder.events() if "no sign of life" in e.data.get("text", "")], "a warning")
    assert warned[0].time_s - cut_s < 8.0, "5 s, and patience with a busy machine"
    assert "10.178.0.2" in warned[0].data["text"]
    assert "rank 1" in warned[0].data["text"]
    failed = wait_for(lambda: [e for e in folder.milestones() if e.kind == "rank_failed"], "the failure")[0]
    assert failed.time_s - cut_s < 45.0
    assert failed.rank == 1
    assert "10.178.0.2" in failed.data["host"]
    again = wait_for(lambda: [e for e in folder.milestones() if e.kind == "run_started"][1:], "training again")[0]
    assert again.generation == failed.generation + 1
