"""What happens to a run when parts of it die: it goes on to the same result, or says what broke."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import cloudpickle
import psutil
import pytest
import torch

import workbench as wb
from workbench.core.errors import RunError
from workbench.core.events import of_kind
from workbench.runtime import local_cluster
from workbench.testing.runs import PATIENCE_S, Launch, has_no_gap, losses, rank_pid, step_of, wait_for

pytestmark = pytest.mark.slow


def test_a_killed_rank_restarts_from_the_checkpoint_and_the_result_is_the_same(launch: Launch) -> None:
    undisturbed = launch(epochs=30).wait(PATIENCE_S)
    run = launch(epochs=30)
    wait_for(lambda: step_of(run) > 20, "some steps")
    os.kill(rank_pid(run, 1), signal.SIGKILL)
    run.wait(PATIENCE_S)
    restarts = list(of_kind(run.events, "run_restarting"))
    assert [event.data["attempt"] for event in restarts] == [1]
    assert restarts[0].data["from_step"] > 0
    failed = next(of_kind(run.events, "rank_failed"))
    assert failed.rank == 1
    assert "signal 9" in failed.data["cause"]
    assert "127.0.0.1" in failed.data["host"]
    assert losses(run) == losses(undisturbed)
    measured = ["epoch", "step", "train_loss", "val_accuracy", "test_accuracy", "bytes_gather", "bytes_all_reduce"]
    assert run.history[measured].equals(undisturbed.history[measured])
    assert has_no_gap(run)
    weights = [torch.load(one.folder / "model.pt", weights_only=True) for one in (run, undisturbed)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_rank_that_is_lost_again_and_again_fails_the_run(launch: Launch) -> None:
    run = launch(epochs=10_000)
    for starts in (1, 2, 3, 4):
        wait_for(lambda starts=starts: len(list(of_kind(run.events, "run_started"))) == starts, "a start")
        os.kill(rank_pid(run, 0), signal.SIGKILL)
    with pytest.raises(RunError, match=r"rank 0 on 127.0.0.1"):
        run.wait(PATIENCE_S)
    assert len(list(of_kind(run.events, "run_restarting"))) == 3


def test_a_killed_worker_comes_back_and_the_run_goes_on(launch: Launch, session: wb.Session) -> None:
    undisturbed = launch(epochs=20).wait(PATIENCE_S)
    run = launch(epochs=20)
    wait_for(lambda: step_of(run) > 20, "some steps")
    name = next(of_kind(run.events, "gang_starting")).data["workers"][1]["worker"]
    files = session.cluster._files
    assert files is not None
    record = files.read()
    assert record is not None
    os.kill(record["workers"][name], signal.SIGKILL)
    run.wait(PATIENCE_S)
    assert "left the cluster" in next(of_kind(run.events, "rank_failed")).data["cause"]
    assert losses(run) == losses(undisturbed)


def test_a_killed_sampler_costs_nothing_but_its_batches(launch: Launch, session: wb.Session) -> None:
    undisturbed = launch(epochs=30).wait(PATIENCE_S)
    run = launch(epochs=30, samplers=2)
    wait_for(lambda: step_of(run) > 10, "some steps")
    os.kill(next(of_kind(run.events, "sampler_started")).data["pid"], signal.SIGKILL)
    run.wait(PATIENCE_S)
    lost = list(of_kind(run.events, "sampler_lost"))
    assert lost
    assert not list(of_kind(run.events, "run_restarting"))
    assert losses(run) == losses(undisturbed)


def test_a_killed_zygote_is_replaced_and_the_run_goes_on(launch: Launch, session: wb.Session) -> None:
    undisturbed = launch(epochs=20).wait(PATIENCE_S)
    run = launch(epochs=20)
    wait_for(lambda: step_of(run) > 20, "some steps")
    os.kill(psutil.Process(rank_pid(run, 0)).ppid(), signal.SIGKILL)
    run.wait(PATIENCE_S)
    assert len(list(of_kind(run.events, "run_restarting"))) == 1
    assert losses(run) == losses(undisturbed)


class Breaks(torch.nn.Module):
    """Raises, or returns NaN, once it trains: it is sound when it is tried at launch."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.linear = torch.nn.Linear(12, 3)
        self.calls = 0

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if torch.distributed.is_initialized() and self.calls > 3:
            if self.how == "raises":
                raise KeyError("my own mistake")
            return self.linear(x) * float("nan")
        return self.linear(x)


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if it stood in a notebook's cell


def launch_breaking(session: wb.Session, graph: wb.Graph, how: str) -> wb.Run:
    return session.launch(graph, Breaks(how), "mini_batch", trainers=2, epochs=50, batch_size=16, fanouts=(5,))


def test_an_exception_of_the_users_is_shown_with_rank_host_and_traceback(session: wb.Session, graph: wb.Graph) -> None:
    run = launch_breaking(session, graph, "raises")
    with pytest.raises(RunError) as caught:
        run.wait(PATIENCE_S)
    text = str(caught.value)
    assert "KeyError: 'my own mistake'" in text
    assert "rank " in text
    assert "127.0.0.1" in text
    assert "in forward" in text, "the traceback leads into the model"
    assert run.status == "failed"
    assert not list(of_kind(run.events, "run_restarting"))
    assert "my own mistake" in run._repr_html_()
    assert "class Breaks" in (run.folder / "model_source.txt").read_text()


def test_a_loss_that_is_no_number_fails_the_run_without_restart(session: wb.Session, graph: wb.Graph) -> None:
    run = launch_breaking(session, graph, "nan")
    with pytest.raises(RunError, match=r"(?i)loss.*nan|nan.*loss|finite"):
        run.wait(PATIENCE_S)
    assert not list(of_kind(run.events, "run_restarting"))


KERNEL = """
    import numpy as np, sys, time
    import workbench as wb

    graph = wb.Graph.open(sys.argv[1])
    session = wb.connect(trainers=2, samplers=1)
    run = session.launch(graph, "sage", "mini_batch", trainers=2, samplers=1, epochs=60, batch_size=16,
                         fanouts=(5, 5), hidden_channels=16)
    print(run.id, flush=True)
    time.sleep(600)
"""


def test_a_run_outlives_the_kernel_that_launched_it(session: wb.Session, graph: wb.Graph, tmp_path: Path) -> None:
    graph.save(tmp_path / "graph")
    script = [sys.executable, "-c", textwrap.dedent(KERNEL), str(tmp_path / "graph")]
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True) as kernel:
        assert kernel.stdout is not None
        run_id = kernel.stdout.readline().strip()
        log = Path(os.environ["WORKBENCH_HOME"]) / "runs" / run_id / "events.log"
        wait_for(lambda: b"epoch_finished" in log.read_bytes(), "the first epoch")
        kernel.kill()
    run = wb.attach(run_id)
    run.wait(PATIENCE_S)
    assert run.history.epoch.tolist() == list(range(1, 61))
    assert has_no_gap(run)
    assert run.events == run._folder.events()
    table = wb.runs().set_index("id")
    assert table.loc[run_id].status == "finished"
    assert table.loc[run_id].epoch == 60


def test_attaching_late_shows_everything_without_gap_or_double(session: wb.Session, launch: Launch) -> None:
    run = launch(epochs=60)
    wait_for(lambda: step_of(run) > 20, "some steps")
    late = wb.Run(run._folder, _second_client(session))
    assert late.status == "running"
    assert len(late.events) > 20
    late.wait(PATIENCE_S)
    run.wait(PATIENCE_S)
    assert has_no_gap(late)
    wait_for(lambda: late.events == run.events, "the last events")


def _second_client(session: wb.Session) -> object:
    from distributed import Client

    return Client(session.cluster.address, set_as_default=False)


def test_a_gap_in_the_live_stream_is_filled_from_the_log(session: wb.Session, launch: Launch) -> None:
    run = launch(epochs=40)
    wait_for(lambda: step_of(run) > 5, "some steps")
    handlers, topic = session.cluster.client._event_handlers, f"workbench/{run.id}"
    handler, dropped = handlers[topic], []

    def lossy(event: object) -> None:
        if len(dropped) < 3:
            dropped.append(event)
        else:
            handler(event)

    handlers[topic] = lossy
    run.wait(PATIENCE_S)
    assert len(dropped) == 3
    assert has_no_gap(run)


def test_connecting_twice_gives_the_same_cluster(session: wb.Session) -> None:
    again = wb.connect(trainers=2)
    assert again.cluster is session.cluster
    files = session.cluster._files
    assert files is not None
    record = files.read()
    assert record is not None
    assert local_cluster.find_or_start(files, 2, 0, 60.0)["pid"] == record["pid"]
