"""A run from launch to end on the local cluster: the same bits whoever samples, events, results, controls."""

from __future__ import annotations

import asyncio
import threading
import time

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.core.errors import InputError
from workbench.core.events import EVENT_KINDS, of_kind
from workbench.runtime.run_report import status_of
from workbench.testing.runs import PATIENCE_S, Launch, has_no_gap, losses, step_of, wait_for
from workbench.train import resolve

pytestmark = pytest.mark.slow


def test_samplers_do_not_change_a_bit_of_the_losses_nor_does_a_second_run(launch: Launch) -> None:
    runs = [launch(samplers=samplers).wait(PATIENCE_S) for samplers in (0, 1, 2, 2)]
    expected = losses(runs[0])
    assert len(expected) == 2 * 2 * 5  # epochs, ranks, steps of 150 nodes by 2 x 16
    for run in runs[1:]:
        assert losses(run) == expected
        assert run.history.train_loss.tolist() == runs[0].history.train_loss.tolist()
    served = {event.data["sampler"] for event in of_kind(runs[2].events, "batch_sampled")}
    assert served <= {0, 1}, "batches came from samplers, not from the trainers"
    ranks = {event.rank for event in of_kind(runs[1].events, "sampler_started")}
    assert ranks == {0, 1}, "one sampler serves both trainers"


def test_a_run_returns_at_once_and_leaves_its_results(launch: Launch, graph: wb.Graph) -> None:
    began_s = time.process_time()
    run = launch(epochs=8, rng_seed=3)
    assert time.process_time() - began_s < 5.0
    assert run.status in ("pending", "starting", "running")
    assert run.wait(PATIENCE_S) is run
    assert run.status == "finished"
    history = run.history
    assert history.epoch.tolist() == list(range(1, 9))
    assert history.train_loss.iloc[-1] < history.train_loss.iloc[0]
    assert list(history.columns[:6]) == ["epoch", "step", "elapsed_s", "train_loss", "val_accuracy", "test_accuracy"]
    predicted = run.predictions()
    assert predicted.shape == (graph.num_nodes,)
    accuracy = float(np.mean(predicted[graph.test_nodes] == graph.y[graph.test_nodes]))
    assert accuracy == pytest.approx(history.test_accuracy.iloc[-1])
    assert run.predictions(scores=True).shape == (graph.num_nodes, 3)
    assert sum(parameter.numel() for parameter in run.model().parameters()) > 0


def test_the_events_are_complete_ordered_and_known(launch: Launch) -> None:
    run = launch(samplers=1).wait(PATIENCE_S)
    assert has_no_gap(run)
    kinds = [event.kind for event in run.events]
    assert kinds[:2] == ["run_created", "gang_starting"]
    assert kinds[-1] == "run_finished"
    for event in run.events:
        assert set(event.data) <= set(EVENT_KINDS[event.kind].fields), event
    assert status_of(run.events) == run.status == "finished"
    assert run.events == run._folder.events(), "the live stream is the folder's content"


def test_a_stop_ends_all_ranks_with_a_checkpoint(launch: Launch) -> None:
    run = launch(epochs=10_000)
    wait_for(lambda: step_of(run) > 20, "some steps")
    run.stop()
    wait_for(lambda: run.status == "stopped", "the end")
    kinds = [event.kind for event in run.events]
    assert kinds.index("run_stopping") < kinds.index("run_stopped")
    saved = list(of_kind(run.events, "checkpoint_saved"))[-1]
    assert (run.folder / saved.data["path"]).is_file()
    assert saved.data["step"] == run.events[-1].data["step"], "the last checkpoint is of the last step"
    assert run.stop() is run, "stopping again does nothing"


def test_a_run_stops_before_its_ranks_are_ready(launch: Launch) -> None:
    run = launch(trainers=2)
    run.stop()
    assert wait_for(lambda: run.status in ("stopped", "finished"), "the end")


def test_pause_resume_and_checkpoint(launch: Launch) -> None:
    run = launch(epochs=10_000)
    wait_for(lambda: step_of(run) > 5, "some steps")
    run.pause()
    wait_for(lambda: run.status == "paused", "the pause")
    wait_for(lambda: len(run.events) == _after(run, 0.3), "silence")
    standing = step_of(run)
    time.sleep(0.3)
    assert step_of(run) == standing
    run.resume()
    wait_for(lambda: step_of(run) > standing, "steps after the pause")
    wait_for(lambda: run.status == "running", "rank 0's word, which a step of rank 1 may overtake")
    before = len(list(of_kind(run.events, "checkpoint_saved")))
    run.checkpoint()
    wait_for(lambda: len(list(of_kind(run.events, "checkpoint_saved"))) > before, "a checkpoint")


def _after(run: wb.Run, seconds: float) -> int:
    time.sleep(seconds)
    return len(run.events)


def test_one_trainer_alone_needs_no_process_group(launch: Launch) -> None:
    runs = [launch(trainers=1, samplers=samplers, epochs=1).wait(PATIENCE_S) for samplers in (0, 1)]
    assert losses(runs[0]) == losses(runs[1])
    run = launch(trainers=1, epochs=10_000)
    wait_for(lambda: step_of(run) > 5, "some steps")
    run.pause()
    wait_for(lambda: run.status == "paused", "the pause")
    run.stop()
    wait_for(lambda: run.status == "stopped", "the end, out of a pause")


def test_the_whole_graph_in_every_step(session: wb.Session, graph: wb.Graph) -> None:
    run = session.launch(graph, "gcn", "full_graph", epochs=20).wait(PATIENCE_S)
    assert run.history.epoch.tolist() == list(range(1, 21))
    assert run.history.train_loss.iloc[-1] < run.history.train_loss.iloc[0]


def test_a_run_can_be_awaited(launch: Launch) -> None:
    run = launch()

    async def wait() -> wb.Run:
        return await asyncio.wait_for(run, PATIENCE_S)

    assert asyncio.run(wait()) is run
    assert run.status == "finished"


def test_a_subscriber_sees_every_event_once_in_order(launch: Launch) -> None:
    run, seen = launch(), []
    unsubscribe = run.subscribe(lambda events: seen.extend(event.seq for event in events), replay=True)
    run.wait(PATIENCE_S)
    wait_for(lambda: len(seen) == len(run.events), "the last events")
    assert seen == list(range(1, len(seen) + 1))
    unsubscribe()


def test_mistakes_are_told_before_anything_starts(session: wb.Session, graph: wb.Graph) -> None:
    before = len(wb.runs())
    with pytest.raises(InputError, match="epohcs"):
        session.launch(graph, "sage", "mini_batch", epohcs=3)
    assert len(wb.runs()) == before


def test_a_module_that_cannot_travel_is_refused_and_leaves_no_folder(session: wb.Session, graph: wb.Graph) -> None:
    module = torch.nn.Linear(1, 1)
    module.handle = threading.Lock()
    config = resolve(graph, "sage", "mini_batch", epochs=1).config
    before = len(wb.runs())
    with pytest.raises(InputError, match="pickled"):
        session.cluster.submit(config, module=module)
    assert len(wb.runs()) == before


def test_the_cluster_grows_when_a_launch_asks_for_more(launch: Launch, session: wb.Session) -> None:
    launch(trainers=2, epochs=1).wait(PATIENCE_S)  # its workers are there
    before = count_trainers(session)  # other tests may have made it grow
    run = launch(trainers=before + 1, epochs=1).wait(PATIENCE_S)
    assert {event.rank for event in of_kind(run.events, "rank_ready")} == set(range(before + 1))
    assert count_trainers(session) == before + 1


def count_trainers(session: wb.Session) -> int:
    return sum(worker["trainer"] for worker in session.cluster.workers())
