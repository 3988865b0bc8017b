"""Ranks together take the step of their joint batch, for every task; a stopped run goes on as if nothing had been."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import SAGEConv

from workbench.core.control import Control
from workbench.gather import BatchMaker, BatchPlan
from workbench.gather.link_split import split_links
from workbench.graph import Graph
from workbench.graph.graph_set import GRAPH_IDS, graph_set
from workbench.testing import graphs
from workbench.testing.rank_context import train_here
from workbench.train import resolve

NewFolder = Callable[[], Path]
LINKS: dict[str, Any] = {"task": "link_prediction", "out_channels": 3, "num_negatives": 2}


class Twice(nn.Module):
    """Two layers in double precision, the same weights every time."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = SAGEConv(graphs.NUM_FEATURES, 8), SAGEConv(8, width)
        self.double()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.second(torch.tanh(self.first(x, edge_index)), edge_index)
        return out


def targets_of(task: str, num_nodes: int) -> Any:
    random = np.random.default_rng(0)
    if task == "multi_label":
        y = (random.random((num_nodes, 3)) < 0.5).astype(np.float32)
    else:
        y = random.normal(size=(num_nodes, 3)).astype(np.float32)
    y[4] = y[6, 0] = np.nan
    return y


def step_taken(graph: Graph, strategy: str, trainers: int, folder: Path, **words: Any) -> dict[str, Tensor]:
    """Return the gradients of the first step: what one step of SGD at rate 1 took off the weights."""
    module = Twice()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    words = {"optimizer": "sgd", "lr": 1.0, "epochs": 1, "trainers": trainers, **words}
    run = train_here(resolve(graph, module, strategy, **words), folder)
    assert run.outcomes[0].step == 1
    after = torch.load(folder / "model.pt", weights_only=True)
    after = {name.removeprefix("encoder."): value for name, value in after.items()}
    return {name: value - after[name] for name, value in before.items()}


def assert_gradient(found: dict[str, Tensor], loss_of: Callable[[nn.Module], Tensor]) -> None:
    module = Twice()
    wanted = torch.autograd.grad(loss_of(module), list(module.parameters()))
    for (name, _), gradient in zip(module.named_parameters(), wanted, strict=True):
        assert gradient.abs().max() > 1e-6, name
        assert (found[name] - gradient).abs().max() < 1e-12, name


def tensors(graph: Graph) -> tuple[Tensor, Tensor]:
    return torch.tensor(np.array(graph.x)).double(), torch.from_numpy(graph.edge_index())


@pytest.mark.parametrize("task", ["node_classification", "multi_label", "node_regression"])
@pytest.mark.parametrize(("num_nodes", "trainers"), [(20, 1), (20, 2), (22, 3), (8, 4)])
def test_a_step_on_nodes_is_that_of_the_joint_batch(
    task: str, num_nodes: int, trainers: int, new_folder: NewFolder
) -> None:
    graph = graphs.random(num_nodes, 3 * num_nodes)
    if task != "node_classification":
        graph = graph.with_data(y=targets_of(task, num_nodes), num_classes=None)
    found = step_taken(graph, "mini_batch", trainers, new_folder(), sampler="full")

    def loss_of(module: nn.Module) -> Tensor:
        rows, y = (
            module(*tensors(graph))[torch.tensor(graph.train_nodes)],
            torch.from_numpy(np.array(graph.y)[graph.train_nodes]),
        )
        if task == "node_classification":
            return functional.cross_entropy(rows, y)
        error = functional.mse_loss if task == "node_regression" else functional.binary_cross_entropy_with_logits
        losses = [
            torch.stack([error(p, t.double()) for p, t in zip(row, own, strict=True) if not torch.isnan(t)]).mean()
            for row, own in zip(rows, y, strict=True)
            if not bool(torch.isnan(own).all())
        ]
        return torch.stack(losses).mean()

    assert_gradient(found, loss_of)


def link_loss(module: nn.Module, graph: Graph, batches: list[Any]) -> Tensor:
    """Score the pairs of each rank's batch by the whole graph without held-out edges and the batch's own."""
    split = split_links(graph, val_share=0.1, test_share=0.1, rng_seed=0)
    x, edge_index = tensors(split.messages)
    losses, num_seeds = [], 0
    for batch in batches:
        ends = batch.node_ids[batch.pairs]
        own = {frozenset(pair) for pair in ends[:, batch.y == 1].T.tolist()}
        kept = torch.tensor([frozenset(pair) not in own for pair in edge_index.T.tolist()])
        rows = module(x, edge_index[:, kept])
        for (a, b), label in zip(ends.T.tolist(), batch.y.tolist(), strict=True):
            chance = torch.sigmoid(rows[a] @ rows[b])
            losses.append(-torch.log(chance if label else 1 - chance) / 3)  # an edge and its two negatives
        num_seeds += len(own)
    return torch.stack(losses).sum() / num_seeds


@pytest.mark.parametrize(("num_nodes", "num_edges", "trainers"), [(20, 40, 1), (20, 40, 2), (21, 50, 3), (5, 3, 4)])
def test_a_step_on_links_is_that_of_the_joint_batch(
    num_nodes: int, num_edges: int, trainers: int, new_folder: NewFolder
) -> None:
    graph = graphs.random(num_nodes, num_edges)
    resolved = resolve(graph, "sage", "mini_batch", epochs=1, trainers=trainers, sampler="full", **LINKS)
    plan = BatchPlan(
        folder=resolved.config.graph.folder,
        sampler={"name": "full", "params": {}},
        world_size=trainers,
        examples={"name": "links", "params": {"num_negatives": 2}},
    )
    batches = [BatchMaker(plan).make(epoch=1, step=1, rank=rank) for rank in range(trainers)]
    sizes = [int(batch.y.sum()) for batch in batches if batch.y is not None]
    assert max(sizes) - min(sizes) <= 1
    found = step_taken(graph, "mini_batch", trainers, new_folder(), sampler="full", **LINKS)
    assert_gradient(found, lambda module: link_loss(module, graph, batches))


def test_one_fold_of_the_whole_graph_is_the_batch_of_all_edges(new_folder: NewFolder) -> None:
    graph = graphs.random(20, 40)
    source, destination = graph.edge_index()
    graph = graph.with_data(edge_data={"train_edges": (source + destination) % 3 == 0})  # the others carry messages
    words = {**LINKS, "epochs": 1}
    whole = step_taken(graph, "full_graph", 1, new_folder(), **words, num_folds=1)
    sampled = step_taken(graph, "mini_batch", 1, new_folder(), **words, sampler="full")
    for name, gradient in whole.items():
        assert gradient.abs().max() > 1e-6
        assert (gradient - sampled[name]).abs().max() < 1e-12


@pytest.mark.parametrize(
    ("sizes", "trainers"),
    [((3, 4, 2, 5, 3, 4, 2), 1), ((3, 4, 2, 5, 3, 4, 2), 2), ((3, 4, 2, 5, 3, 4, 2, 6), 3), ((3, 4, 2), 3)],
)
@pytest.mark.parametrize("readout", ["mean", "sum", "max"])
def test_a_step_on_graphs_is_that_of_the_joint_batch(
    sizes: tuple[int, ...], trainers: int, readout: str, new_folder: NewFolder
) -> None:
    graph = graphs.union(*sizes)
    found = step_taken(graph, "graph_batch", trainers, new_folder(), readout=readout)

    def loss_of(module: nn.Module) -> Tensor:
        rows, ids, union = module(*tensors(graph)), graph.node_data[GRAPH_IDS], graph_set(graph)
        assert union.y is not None
        join = {"mean": lambda r: r.mean(0), "sum": lambda r: r.sum(0), "max": lambda r: r.amax(0)}[readout]
        pooled = torch.stack([join(rows[np.flatnonzero(ids == g)]) for g in union.train_graphs])
        return functional.cross_entropy(pooled, torch.from_numpy(union.y[union.train_graphs]))

    assert_gradient(found, loss_of)


CASES: dict[str, tuple[Callable[[], Graph], str, dict[str, Any]]] = {
    "multi_label": (
        lambda: graphs.path(24).with_data(y=targets_of("multi_label", 24), num_classes=None),
        "mini_batch",
        {"batch_size": 4, "fanouts": (3, 2)},
    ),
    "node_regression": (
        lambda: graphs.path(24).with_data(y=targets_of("", 24), num_classes=None),
        "mini_batch",
        {"batch_size": 4, "fanouts": (3, 2)},
    ),
    "links": (lambda: graphs.path(24), "mini_batch", {**LINKS, "decoder": "bilinear", "batch_size": 7}),
    "folds": (lambda: graphs.path(24), "full_graph", {**LINKS, "num_folds": 3}),
    "graphs": (lambda: graphs.union(3, 4, 2, 5, 3, 4, 2, 6, 3), "graph_batch", {"batch_size": 2}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_stopped_and_resumed_run_equals_the_undisturbed_one(name: str, new_folder: NewFolder) -> None:
    make, strategy, words = CASES[name]
    resolved = resolve(make(), "sage", strategy, epochs=2, hidden_channels=8, lr=0.02, **words)
    whole, folder = train_here(resolved, new_folder()), new_folder()
    assert whole.outcomes[0].step == 6
    stops = iter([Control(kind="stop", id=1)])
    part = train_here(resolved, folder, controls=lambda step, call: next(stops, None) if step == 5 else None)
    assert (part.outcomes[0].status, part.outcomes[0].step) == ("stopped", 4)
    rest = train_here(resolved, folder)
    assert part.losses + rest.losses == whole.losses
    told = [data["metrics"] for run in (part, rest) for data in run.told("epoch_finished")]
    assert told == [data["metrics"] for data in whole.told("epoch_finished")]
    assert (folder / "model.pt").read_bytes() == (whole.folder / "model.pt").read_bytes()
