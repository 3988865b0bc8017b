"""Where a run goes on that lost its supervisor or that was stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.core.errors import InputError
from workbench.core.events import Event, of_kind
from workbench.runtime.continuation import check_resumable, continuation_of
from workbench.runtime.run import Run
from workbench.runtime.run_folder import RunFolder
from workbench.testing.runs import PATIENCE_S, Launch, has_no_gap, losses, step_of, wait_for


def starting(generation: int, resume_step: int = 0) -> Event:
    data = {"workers": [], "resume_step": resume_step}
    return Event(kind="gang_starting", time_s=0.0, generation=generation, data=data)


def step(rank: int, number: int) -> Event:
    return Event(kind="step_finished", time_s=0.0, rank=rank, data={"step": number})


def test_a_checkpoint_counts_when_every_rank_has_told_the_steps_before_it() -> None:
    events = [starting(0), *(step(0, k) for k in range(1, 11)), *(step(1, k) for k in range(1, 8))]
    found = continuation_of(events, [3, 6, 9], 2)
    assert (found.generation, found.resume_step) == (0, 6)
    assert continuation_of(events, [], 2).resume_step == 0
    assert continuation_of([], [3], 2).generation == -1


def test_steps_before_a_restart_do_not_count_for_the_gang_after_it() -> None:
    events = [starting(0), step(0, 9), step(1, 9), starting(1, resume_step=4), step(0, 8), step(1, 5)]
    found = continuation_of(events, [4, 5, 8, 9], 2)
    assert (found.generation, found.resume_step) == (1, 5)


def test_a_run_at_work_and_a_finished_one_are_refused() -> None:
    running = [Event(kind="run_started", time_s=0.0, data={"start_s": 1.0})]
    with pytest.raises(InputError, match=r"wb\.attach"):
        check_resumable("a", running, is_supervised=True)
    check_resumable("a", running, is_supervised=False)
    finished = [*running, Event(kind="run_finished", time_s=1.0, data={"step": 1, "elapsed_s": 1.0})]
    with pytest.raises(InputError, match="a finished run"):
        check_resumable("a", finished, is_supervised=False)


@pytest.mark.slow
def test_a_stopped_run_goes_on_to_the_result_of_the_undisturbed_one(launch: Launch, session: wb.Session) -> None:
    undisturbed = launch(epochs=30).wait(PATIENCE_S)
    run = launch(epochs=30)
    wait_for(lambda: step_of(run) > 20, "some steps")
    run.stop()
    wait_for(lambda: run.status == "stopped", "the end")
    again = session.resume(run.id)
    assert again.id == run.id
    again.wait(PATIENCE_S)
    assert again.status == "finished"
    told = list(of_kind(again.events, "run_restarting"))
    assert [event.data["attempt"] for event in told] == [0]
    assert told[0].data["from_step"] > 0
    assert losses(again) == losses(undisturbed)
    assert has_no_gap(again)
    weights = [torch.load(one.folder / "model.pt", weights_only=True) for one in (again, undisturbed)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    with pytest.raises(InputError, match="a finished run"):
        session.resume(run.id)


@pytest.mark.slow
def test_a_run_at_work_is_not_resumed_beside_itself(launch: Launch, session: wb.Session) -> None:
    run = launch(epochs=10_000)
    wait_for(lambda: step_of(run) > 1, "a step")
    with pytest.raises(InputError, match=r"wb\.attach"):
        session.resume(run.id)
    assert run.status == "running"


LAUNCH_ELSEWHERE = """
    import os, signal, sys, time  # the scheduler is killed as soon as the run has gone some way
    import workbench as wb
    graph = wb.Graph.open(sys.argv[1])
    session = wb.connect(trainers=2)
    run = session.launch(graph, "sage", trainers=2, epochs=60, batch_size=16, fanouts=(5, 5), hidden_channels=16)
    while run.history.empty or run.history.epoch.max() < 3:
        time.sleep(0.05)
    os.kill(session.cluster._files.read()["pid"], signal.SIGKILL)
    print(run.id, flush=True)
    os._exit(0)
"""


def said(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_run_whose_scheduler_was_killed_is_resumed_on_another(
    graph: wb.Graph, launch: Launch, tmp_path: Path
) -> None:
    undisturbed = launch(epochs=60).wait(PATIENCE_S)
    folder, home = tmp_path / "graph", tmp_path / "home"
    graph.save(folder)
    home.mkdir()
    environment = os.environ | {"WORKBENCH_HOME": str(home)}
    code = textwrap.dedent(LAUNCH_ELSEWHERE)
    command = [sys.executable, "-c", code, str(folder)]
    run_id = said(command, environment).strip()
    again = (
        "import sys, workbench as wb; session = wb.connect(trainers=2);"
        "run = session.resume(sys.argv[1]).wait(240); session.close(force=True)"
    )
    command = [sys.executable, "-c", again, run_id]
    said(command, environment)
    run = Run(RunFolder(path=home / "runs" / run_id))
    assert run.status == "finished"
    assert losses(run) == losses(undisturbed)
    assert has_no_gap(run)
