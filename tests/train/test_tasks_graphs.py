"""Graphs as examples: readouts, models that pool by themselves, exact inference, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import BatchNorm, SAGEConv, global_add_pool, global_max_pool, global_mean_pool

from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.graph.graph_set import GRAPH_IDS, graph_set
from workbench.testing import graphs
from workbench.testing.rank_context import train_here
from workbench.train import resolve
from workbench.train.build import load_trained
from workbench.train.choose_task import fitting_task
from workbench.train.graphwise import GraphwiseInference
from workbench.train.heads import ReadOut, pool
from workbench.train.thread_transport import run_in_threads
from workbench.train.transport import Transport

NewFolder = Callable[[], Path]
WORDS: dict[str, Any] = {"epochs": 2, "batch_size": 3, "lr": 0.02}
SIZES = [2 + i % 5 for i in range(20)]


def union(*sizes: int, **data: Any) -> Graph:
    return graphs.union(*(sizes or SIZES)).with_data(**data)


class Pooled(nn.Module):
    """A model of graphs as its author wrote it: batch norm, pooling, a head."""

    def __init__(self, out_channels: int = 3) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.norm, self.head = SAGEConv(4, 8), BatchNorm(8), nn.Linear(8, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        rows: Tensor = self.norm(self.conv(x, edge_index)).relu()
        out: Tensor = self.head(global_mean_pool(rows, batch))
        return out


@pytest.mark.parametrize(
    ("how", "theirs"), [("mean", global_mean_pool), ("sum", global_add_pool), ("max", global_max_pool)]
)
def test_readouts_are_those_of_pyg(how: str, theirs: Any) -> None:
    batch, rows = torch.tensor([0, 0, 1, 3, 2, 3, 3]), torch.randn(7, 5, dtype=torch.float64)
    order = torch.argsort(batch)
    found = pool(rows[order], batch[order], how)
    assert torch.allclose(found, theirs(rows[order], batch[order]), atol=1e-14)
    assert pool(rows[:0], batch[:0], how).shape == (0, 5)
    alone = ReadOut(SAGEConv(4, 2), how)(torch.randn(5, 4), torch.tensor([[0, 1], [1, 2]]))
    assert alone.shape == (1, 2)


@pytest.mark.parametrize("trainers", [1, 2, 3])
@pytest.mark.parametrize("model", ["sage", "gcn", "pooled"])
def test_every_graph_trains_once_an_epoch_and_is_measured_exactly(
    model: str, trainers: int, new_folder: NewFolder
) -> None:
    graph = union()
    words = WORDS if model == "pooled" else {**WORDS, "hidden_channels": 8, "dropout": 0.0}
    given = Pooled() if model == "pooled" else model
    resolved = resolve(graph, given, "graph_batch", trainers=trainers, **words)
    assert resolved.config.task.name == "graph_classification"
    run, found = train_here(resolved, new_folder()), graph_set(graph)
    num_train = len(found.train_graphs)
    (started,) = run.told("train_started")
    assert (started["metric"], started["num_train_nodes"]) == ("accuracy", num_train)
    for epoch in (1, 2):
        own = [step for step in run.told("step_finished") if step["epoch"] == epoch]
        assert sum(step["num_seeds"] for step in own) == num_train
        assert max(step["num_seeds"] for step in own) - min(step["num_seeds"] for step in own) <= 1
    outputs = np.load(run.folder / "predictions.npy")
    assert outputs.shape == (20, 3)
    metrics = run.told("epoch_finished")[-1]["metrics"]
    assert found.y is not None
    for name, part in (("val", found.val_graphs), ("test", found.test_graphs)):
        assert metrics[f"{name}_accuracy"] == pytest.approx((outputs.argmax(1) == found.y)[part].mean())
    if trainers == 1:  # with more, the statistics of batch norm are the mean over ranks
        module, ids = load_trained(resolved.config, graph, run.folder), graph.node_data[GRAPH_IDS]
        with torch.no_grad():
            x, edge_index = torch.tensor(np.array(graph.x)), torch.from_numpy(graph.edge_index())
            wanted = module(x, edge_index, batch=torch.tensor(np.array(ids)))
        assert np.allclose(outputs, wanted.numpy(), atol=1e-5)


@pytest.mark.parametrize("world_size", [1, 2, 4])
@pytest.mark.parametrize("max_edges", [1, 20, 1 << 20])
def test_inference_graph_by_graph_is_that_of_the_whole_union(world_size: int, max_edges: int) -> None:
    graph, module = union(3, 1, 5, 2, 4, 1, 6), Pooled().double().eval()

    def rank(transport: Transport) -> Tensor:
        cpu = torch.device("cpu")
        inference = GraphwiseInference(
            graph=graph, transport=transport, device=cpu, dtype=torch.float64, max_edges=max_edges
        )
        with torch.no_grad():
            return inference.run(module, lambda rows: rows)

    x, edge_index = torch.tensor(np.array(graph.x)).double(), torch.from_numpy(graph.edge_index())
    with torch.no_grad():
        wanted = module(x, edge_index, torch.tensor(np.array(graph.node_data[GRAPH_IDS])))
    for found in run_in_threads(world_size, rank):
        assert torch.allclose(found, wanted, atol=1e-12)


def test_a_rank_without_a_graph_takes_its_step(new_folder: NewFolder) -> None:
    graph = union(3, 4, 2)  # two of them train
    run = train_here(resolve(graph, "sage", "graph_batch", trainers=3, hidden_channels=4, **WORDS), new_folder())
    assert [step["num_seeds"] for step in run.told("step_finished", rank=2)] == [0, 0]
    assert run.outcomes[2].status == "finished"


def test_graphs_without_a_label_are_left_out(new_folder: NewFolder) -> None:
    graph = union()
    y = np.array(graph.y)
    y[np.isin(graph.node_data[GRAPH_IDS], [0, 3])] = -1  # one of validation, one of test
    resolved = resolve(graph.with_data(y=y), "sage", "graph_batch", hidden_channels=4, **WORDS)
    run = train_here(resolved, new_folder())
    found, outputs = graph_set(graph.with_data(y=y)), np.load(run.folder / "predictions.npy")
    known = found.val_graphs[found.y[found.val_graphs] >= 0]  # type: ignore[index]
    accuracy = run.told("epoch_finished")[-1]["metrics"]["val_accuracy"]
    assert accuracy == pytest.approx((outputs.argmax(1) == found.y)[known].mean())


def refused(graph: Graph, model: Any = "sage", strategy: str = "graph_batch", **words: Any) -> dict[str, Any]:
    with pytest.raises(InputError) as caught:
        resolve(graph, model, strategy, **{"epochs": 1, **words})
    return {finding.where: finding for finding in caught.value.findings}


def test_what_cannot_be_is_refused_with_its_fix() -> None:
    graph = union()
    assert fitting_task(graph) == "graph_classification"
    assert refused(graph, strategy="mini_batch")["strategy"].fix == "use strategy='graph_batch'"
    assert refused(graphs.path(6), task="node_classification")["strategy"].got.startswith("'graph_batch', which trains")
    assert "graph.node_data['graph_ids']" in refused(graphs.path(6), task="graph_classification")
    assert refused(graph.with_data(train_nodes=None))["graph.train_nodes"].got == "none"
    assert refused(graph.with_data(train_nodes=[2]))["graph.train_nodes"].expected == "all nodes of a graph, or none"
    assert refused(graph.with_data(y=np.ones((graph.num_nodes, 2)), num_classes=None))["graph.y"].got.startswith(
        "float"
    )
    assert refused(graph, Pooled(5))["model"].expected == "an output of shape (num_graphs, 3)"
    assert refused(graph, SAGEConv(4, 5))["model"].expected == "an output of shape (num_nodes, 3)"
    assert "fanouts" in refused(graph, fanouts=(3, 3))


def test_nodes_of_a_union_may_be_classified_where_that_is_asked_for(new_folder: NewFolder) -> None:
    resolved = resolve(union(), "gcn", "full_graph", task="node_classification", epochs=1, hidden_channels=4)
    assert train_here(resolved, new_folder()).told("train_started")[0]["num_train_nodes"] == len(union().train_nodes)


def test_a_model_that_asks_for_batch_needs_graphs_to_classify() -> None:
    found = refused(graphs.path(6), Pooled(), "full_graph")
    assert "task='graph_classification'" in found["model.forward(batch)"].fix
