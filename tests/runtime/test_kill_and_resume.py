"""Every strategy on 1 to 4 ranks: a gang that lost a rank goes on to the bits of the undisturbed run."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.core.errors import InputError
from workbench.core.events import of_kind
from workbench.testing.runs import PATIENCE_S, has_no_gap, losses, rank_pid, step_of, wait_for
from workbench.train import STRATEGIES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
WORDS: dict[str, dict[str, Any]] = {
    "cluster_batch": {"num_clusters": 12},
    "graph_batch": {"batch_size": 4, "model": "gin"},
    "historical": {"num_clusters": 12},
    "mini_batch": {"batch_size": 16, "fanouts": (5, 5)},
    "partitioned_mini_batch": {"batch_size": 16, "fanouts": (5, 5)},
}
ONE_RANK_ONLY = {"full_graph"}


def molecules() -> wb.Graph:
    """Forty rings of three to six nodes, whose class is told by their features."""
    from torch_geometric.data import Data

    rng, rings = np.random.default_rng(0), []
    for number in range(40):
        size = int(rng.integers(3, 7))
        ring = torch.arange(size)
        edges = torch.stack([ring, ring.roll(1)])
        x = torch.from_numpy(rng.normal(number % 2, 1.0, (size, 4)).astype(np.float32))
        rings.append(Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], 1), y=torch.tensor([number % 2])))
    return wb.Graph.from_pyg_list(rings, train_graphs=range(30), val_graphs=range(30, 40))


def start(session: wb.Session, graph: wb.Graph, strategy: str, ranks: int) -> wb.Run:
    """Launch a strategy as it wants to be launched."""
    words = {"trainers": ranks, "epochs": 40, "hidden_channels": 16} | WORDS.get(strategy, {})
    model = words.pop("model", "sage")
    if strategy == "graph_batch":
        return session.launch(molecules(), model, strategy, **words)
    try:
        return session.launch(graph, model, strategy, **words)
    except InputError as error:
        if "partition" not in str(error):
            raise
        return session.launch(graph, model, strategy, partition=wb.partition(graph, ranks), **words)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("strategy", STRATEGIES.names())
def test_a_gang_that_lost_a_rank_ends_with_the_bits_of_the_undisturbed_run(
    session: wb.Session, graph: wb.Graph, strategy: str, ranks: int
) -> None:
    if ranks > 1 and strategy in ONE_RANK_ONLY:
        with pytest.raises(InputError, match="expected 1"):
            start(session, graph, strategy, ranks)
        return
    undisturbed = start(session, graph, strategy, ranks).wait(PATIENCE_S)
    for _ in range(3):
        run = start(session, graph, strategy, ranks)
        wait_for(lambda run=run: step_of(run) > 8 and list(of_kind(run.events, "checkpoint_saved")), "a checkpoint")
        os.kill(rank_pid(run, ranks - 1), signal.SIGKILL)
        run.wait(PATIENCE_S)
        if restarts := list(of_kind(run.events, "run_restarting")):
            break
    assert [event.data["attempt"] for event in restarts] == [1]
    assert restarts[0].data["from_step"] > 0
    assert has_no_gap(run)
    assert losses(run) == losses(undisturbed)
    weights = [torch.load(one.folder / "model.pt", weights_only=True) for one in (run, undisturbed)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert (run.folder / "predictions.npy").read_bytes() == (undisturbed.folder / "predictions.npy").read_bytes()
