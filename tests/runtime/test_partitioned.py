"""Halo exchange on the local cluster: two processes, each with its part, give what one gives with all of the graph."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import SAGEConv

import workbench as wb
from workbench.core.events import of_kind
from workbench.dashboard import Dashboard
from workbench.testing.rank_context import train_here
from workbench.testing.runs import PATIENCE_S, has_no_gap, losses, rank_pid, step_of, wait_for
from workbench.train import resolve

pytestmark = pytest.mark.slow
WIDTH, EPOCHS = 8, 3


def test_two_ranks_with_a_part_each_give_what_one_gives(session: wb.Session, graph: wb.Graph, tmp_path: Path) -> None:
    words = {"epochs": EPOCHS, "hidden_channels": WIDTH, "dropout": 0.4, "lr": 0.02}
    parts = wb.partition(graph, 2)
    run = session.launch(graph, "sage", "halo_exchange", partition=parts, trainers=2, **words).wait(PATIENCE_S)
    assert run.status == "finished"
    assert has_no_gap(run)
    alone = train_here(resolve(graph, "sage", "full_graph", dropout_masks="keyed", **words), tmp_path)
    assert run.history.train_loss.tolist() == pytest.approx(alone.losses, rel=1e-4)
    assert run.predictions(scores=True) == pytest.approx(np.load(tmp_path / "predictions.npy"), abs=1e-3)
    halo_bytes = 4 * WIDTH * parts.quality().comm_volume  # one layer reads what the other has computed
    assert run.history.bytes_halo_forward.tolist() == [halo_bytes] * EPOCHS
    assert run.history.bytes_halo_backward.tolist() == [halo_bytes] * EPOCHS
    assert {event.rank: event.data["part"] for event in of_kind(run.events, "rank_ready")} == {0: 0, 1: 1}
    dashboard = Dashboard()
    dashboard.apply(run.events)
    rows = {row["kind"]: row for row in dashboard.view()["traffic"]["rows"]}
    assert rows["halo_forward"]["total_bytes"] == rows["halo_backward"]["total_bytes"] == EPOCHS * halo_bytes
    assert rows["halo_forward"]["name"] == "Halo exchange, forward"


def test_ranks_agree_on_the_layers_that_a_model_skips_at_random(
    session: wb.Session, graph: wb.Graph, tmp_path: Path
) -> None:
    class StochasticDepth(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([SAGEConv(12, 12) for _ in range(4)])
            self.last = SAGEConv(12, 3)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                if not self.training or torch.rand(()) < 0.5:
                    x = x + layer(x, edge_index).relu()
            return self.last(x, edge_index)

    torch.manual_seed(0)
    model, words = StochasticDepth(), {"epochs": 6, "lr": 0.01}
    run = session.launch(graph, model, "halo_exchange", trainers=2, **words).wait(PATIENCE_S)
    alone = train_here(resolve(graph, model, "full_graph", **words), tmp_path)
    assert run.history.train_loss.tolist() == pytest.approx(alone.losses, rel=1e-4)


def test_a_rank_killed_between_exchanges_restarts_and_the_result_is_the_same(
    session: wb.Session, graph: wb.Graph
) -> None:
    words = {"partition": "metis", "trainers": 2, "epochs": 40, "hidden_channels": WIDTH, "lr": 0.02}
    undisturbed = session.launch(graph, "sage", "halo_exchange", **words).wait(PATIENCE_S)
    run = session.launch(graph, "sage", "halo_exchange", **words)
    wait_for(lambda: step_of(run) > 10, "some steps")
    os.kill(rank_pid(run, 1), signal.SIGKILL)
    run.wait(PATIENCE_S)
    failed = next(of_kind(run.events, "rank_failed"))
    assert (failed.rank, failed.data["part"]) == (1, 1)
    assert losses(run) == losses(undisturbed)
    assert run.history[["train_loss", "bytes_halo_forward"]].equals(
        undisturbed.history[["train_loss", "bytes_halo_forward"]]
    )
