"""The life of a local cluster: detached, one a home, gone without a trace when it ends, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

import workbench as wb
from workbench.runtime.cluster_files import ClusterFiles
from workbench.runtime.local_cluster import stop_local
from workbench.testing.runs import PATIENCE_S, wait_for

slow = pytest.mark.slow

USE = """
    import os, signal, sys
    import workbench as wb

    session = wb.connect(trainers=1, samplers=0, idle_s=float(sys.argv[2]))
    graph = wb.datasets.load("karate")
    run = session.launch(graph, "sage", "mini_batch", epochs=int(sys.argv[1]), batch_size=4, fanouts=(3, 3))
"""
FINISH_AND_CLOSE = "run.wait(); session.close(); print('closed')"
LEAVE = "run.wait(); os._exit(0)"
ADDRESSES = """
import psutil
cluster = psutil.Process(session.cluster._files.read()["pid"])
for process in (cluster, *cluster.children(recursive=True)):
    for connection in process.net_connections("inet"):
        print(connection.laddr.ip)
session.close(force=True)
"""
LEAVE_RUNNING = """
import time
while "step_finished" not in {event.kind for event in run.events}: time.sleep(0.05)
print(run.id, flush=True)
os._exit(0)
"""


def use_cluster(home: Path, ending: str, epochs: int = 2, idle_s: float = 600.0) -> str:
    """Run a kernel that starts a cluster of its own in `home`; return what it printed."""
    script = textwrap.dedent(USE) + ending
    command = [
        sys.executable,
        "-W",
        "error",
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        script,
        str(epochs),
        str(idle_s),
    ]
    env = {**os.environ, "WORKBENCH_HOME": str(home)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "no warning, log line or traceback reaches the user"
    return done.stdout.strip()


def processes_of(home: Path) -> dict[int, str]:
    """Return the processes that belong to a home, found by their environment."""
    found = {}
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get("WORKBENCH_HOME") == str(home):
                found[process.pid] = " ".join(process.cmdline())
        except psutil.Error:
            continue
    return found


def assert_nothing_is_left(home: Path) -> None:
    wait_for(lambda: not processes_of(home), f"the end of {processes_of(home)}")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterFiles:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    return ClusterFiles.of_this_environment()


@slow
def test_closing_leaves_no_process_and_no_stale_file(tmp_path: Path, files: ClusterFiles) -> None:
    assert use_cluster(tmp_path, FINISH_AND_CLOSE) == "closed"
    assert_nothing_is_left(tmp_path)
    assert files.read() is None
    assert not (files.folder / "cluster.json").exists()


@slow
def test_everything_listens_on_the_loopback_interface_alone(tmp_path: Path, files: ClusterFiles) -> None:
    addresses = use_cluster(
        tmp_path, "while run.status != 'running': os.sched_yield()\n" + ADDRESSES, epochs=10_000
    ).split()
    assert len(addresses) > 5
    assert set(addresses) == {"127.0.0.1"}


@slow
def test_a_cluster_without_client_and_run_ends_by_itself(tmp_path: Path, files: ClusterFiles) -> None:
    use_cluster(tmp_path, LEAVE, idle_s=1.0)
    assert_nothing_is_left(tmp_path)
    assert files.read() is None


@slow
def test_a_kernel_that_ends_without_closing_ends_in_silence(tmp_path: Path, files: ClusterFiles) -> None:
    assert use_cluster(tmp_path, "run.wait(); print('left')", idle_s=1.0) == "left"
    assert_nothing_is_left(tmp_path)


@slow
def test_a_run_keeps_its_cluster_alive_without_any_client(tmp_path: Path, files: ClusterFiles) -> None:
    run_id = use_cluster(tmp_path, LEAVE_RUNNING, epochs=400, idle_s=1.0)
    log = tmp_path / "runs" / run_id / "events.log"
    wait_for(lambda: b"run_finished" in log.read_bytes(), "the end of the run")
    assert_nothing_is_left(tmp_path)


@slow
def test_stopping_the_cluster_ends_its_runs_and_everything(tmp_path: Path, files: ClusterFiles) -> None:
    use_cluster(tmp_path, LEAVE_RUNNING, epochs=10_000)
    assert stop_local()
    assert_nothing_is_left(tmp_path)
    assert not stop_local(), "there is none any more"


@slow
def test_a_killed_scheduler_leaves_no_process_and_its_run_says_that_it_failed(
    tmp_path: Path, files: ClusterFiles
) -> None:
    run_id = use_cluster(tmp_path, LEAVE_RUNNING, epochs=10_000)
    record = files.read()
    assert record is not None
    os.kill(record["pid"], signal.SIGKILL)
    assert_nothing_is_left(tmp_path)
    assert files.read() is None, "the file of a dead cluster is not believed"
    assert wb.attach(run_id).status == "failed"
    assert wb.runs().set_index("id").loc[run_id].status == "failed"
    assert use_cluster(tmp_path, FINISH_AND_CLOSE) == "closed", "another starts in its place"
    assert_nothing_is_left(tmp_path)


def test_the_files_of_a_cluster_are_its_owners_alone(files: ClusterFiles) -> None:
    files.write({"address": "tcp://127.0.0.1:1"})
    assert files.folder.stat().st_mode & 0o777 == 0o700
    assert (files.folder / "cluster.json").stat().st_mode & 0o777 == 0o600


def test_a_file_without_a_living_process_is_not_believed(files: ClusterFiles) -> None:
    files.write({"address": "tcp://127.0.0.1:1"})
    assert files.read() is None
    descriptor = files.hold_lock()
    assert descriptor is not None
    assert files.hold_lock() is None, "one process holds it"
    assert files.alive()
    assert files.read() == {"address": "tcp://127.0.0.1:1"}
    os.close(descriptor)
    assert files.read() is None


def test_another_version_or_environment_has_another_cluster(
    files: ClusterFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", "/another/environment")
    assert ClusterFiles.of_this_environment().folder != files.folder
