"""Histories and update rules on ranks that are processes: what is killed comes back, and nothing is left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

import workbench as wb
from workbench.core.events import of_kind
from workbench.runtime.run import Run
from workbench.testing.runs import PATIENCE_S, Launch, losses, rank_pid, step_of, wait_for

pytestmark = pytest.mark.slow


def servers() -> set[int]:
    """Return the process ids of parameter servers that are alive."""
    found = set()
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        line = process.info["cmdline"] or []
        if any("server_main.py" in word for word in line) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.add(process.info["pid"])
    return found


def server_of(run: Run) -> int:
    """Return the process id of the server that rank 0 of a run has started."""
    return wait_for(
        lambda: next((pid for pid in servers() if psutil.Process(pid).ppid() == rank_pid(run, 0)), None), "a server"
    )


@pytest.fixture
def start(session: wb.Session, graph: wb.Graph) -> Iterator[Launch]:
    started: list[Run] = []

    def launch_one(strategy: str, **keywords: Any) -> Run:
        words = {"trainers": 2, "hidden_channels": 16, "evaluate_every": 5} | keywords
        started.append(session.launch(graph, "gcn", strategy, **words))
        return started[-1]

    yield launch_one
    for run in started:
        run.stop(force=True)


def test_histories_of_a_killed_rank_come_back_bit_for_bit(start: Launch) -> None:
    words: dict[str, Any] = {"epochs": 30, "num_clusters": 8, "clusters_per_batch": 1, "partitioner": "hash"}
    undisturbed = start("historical", **words).wait(PATIENCE_S)
    run = start("historical", history="mmap", **words)
    wait_for(lambda: step_of(run) > 20, "some steps")
    os.kill(rank_pid(run, 1), signal.SIGKILL)
    run.wait(PATIENCE_S)
    assert next(of_kind(run.events, "run_restarting")).data["from_step"] > 0
    assert losses(run) == losses(undisturbed)
    kinds = set(undisturbed.history.columns)
    assert {"bytes_history_push", "bytes_history_pull", "bytes_history_remote"} <= kinds
    cold = [event.data["step"] for event in of_kind(undisturbed.events, "staleness_measured") if event.data["num_cold"]]
    assert cold
    assert max(cold) <= 4


def test_a_killed_parameter_server_is_found_and_the_run_goes_on(start: Launch) -> None:
    run = start("mini_batch", epochs=60, batch_size=16, fanouts=(5, 5), update="parameter_server", staleness_bound=2)
    wait_for(lambda: step_of(run) > 10, "some steps")
    os.kill(server_of(run), signal.SIGKILL)
    run.wait(PATIENCE_S)
    failed = next(of_kind(run.events, "rank_failed"))
    assert "The parameter server" in failed.data["cause"]
    assert next(of_kind(run.events, "run_restarting")).data["attempt"] == 1
    told = [event.data["text"] for event in of_kind(run.events, "log_written")]
    assert any("same accuracy" in text for text in told)
    ages = [age for event in of_kind(run.events, "staleness_measured") for age in event.data["ages"]]
    assert max(ages) <= 2
    wait_for(lambda: not servers(), "the last server to end")


def test_a_killed_rank_leaves_no_server(start: Launch) -> None:
    run = start("mini_batch", epochs=60, batch_size=16, fanouts=(5, 5), update="parameter_server", staleness_bound=0)
    wait_for(lambda: step_of(run) > 10, "some steps")
    first = server_of(run)
    os.kill(rank_pid(run, 0), signal.SIGKILL)
    wait_for(lambda: first not in servers(), "the first server to end")
    run.wait(PATIENCE_S)
    assert next(of_kind(run.events, "rank_failed")).rank == 0
    wait_for(lambda: not servers(), "the last server to end")


def test_local_steps_of_a_killed_rank_come_back_bit_for_bit(start: Launch) -> None:
    words: dict[str, Any] = {"epochs": 30, "batch_size": 16, "fanouts": (5, 5), "update": "local_sgd", "local_steps": 3}
    undisturbed = start("mini_batch", **words).wait(PATIENCE_S)
    run = start("mini_batch", **words)
    wait_for(lambda: step_of(run) > 20, "some steps")
    os.kill(rank_pid(run, 1), signal.SIGKILL)
    run.wait(PATIENCE_S)
    assert losses(run) == losses(undisturbed)
    assert run.history["train_loss"].equals(undisturbed.history["train_loss"])


@pytest.mark.parametrize("update", [{"update": "local_sgd", "local_steps": 50}, {"update": "parameter_server"}])
def test_a_run_stops_when_it_is_asked_to(update: dict[str, Any], start: Launch) -> None:
    run = start("mini_batch", epochs=10_000, batch_size=16, fanouts=(5, 5), **update)
    wait_for(lambda: step_of(run) > 10, "some steps")
    run.stop()
    run.wait(PATIENCE_S)
    assert run.status == "stopped"
    assert step_of(run) < 40_000
    wait_for(lambda: not servers(), "the server to end")
