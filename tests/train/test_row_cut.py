"""The row cut changes nothing that the seeds' loss can see, and gives way where it would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import BatchNorm, SAGEConv
from torch_geometric.utils import dropout_edge

from workbench.graph import Graph
from workbench.models import ModelInputs, call_model
from workbench.sampling import sample
from workbench.testing.nets import CLASSES, EXACT, INEXACT, WIDTH, Net, sage
from workbench.testing.rank_context import train_here
from workbench.train import resolve
from workbench.train.boundaries.cut import RowCut
from workbench.train.boundary import BoundaryError, attached
from workbench.train.probe import ProbeBatch, choose_row_cut

NUM_SEEDS = 6


def random_graph(num_nodes: int = 300, num_edges: int = 1500) -> Graph:
    rng = np.random.default_rng(7)
    labels = rng.integers(0, CLASSES, num_nodes)
    return Graph.from_edge_index(
        rng.integers(0, num_nodes, (2, num_edges)),
        num_nodes,
        x=rng.normal(size=(num_nodes, WIDTH)).astype(np.float32),
        y=labels,
        train_nodes=np.arange(0, num_nodes, 2),
        val_nodes=np.arange(1, num_nodes, 4),
        test_nodes=np.arange(3, num_nodes, 4),
        edge_data={"weight": rng.uniform(0.5, 2.0, num_edges).astype(np.float32)},
    )


def batch_of(graph: Graph, fanouts: tuple[int, ...] = (4, 3, 3)) -> ProbeBatch:
    part = sample(graph, graph.train_nodes[:NUM_SEEDS], fanouts=fanouts)
    inputs = ModelInputs(
        x=torch.from_numpy(graph.x[part.node_ids]).double(),
        edge_index=torch.from_numpy(part.edge_index),
        edge_weight=torch.from_numpy(graph.edge_data["weight"][part.edge_ids]).double(),
    )
    nodes, edges = part.num_nodes_per_hop.tolist(), part.num_edges_per_hop.tolist()
    return ProbeBatch(inputs=inputs, num_nodes_per_hop=nodes, num_edges_per_hop=edges)


@pytest.fixture(scope="module")
def batch() -> ProbeBatch:
    return batch_of(random_graph())


def results(module: nn.Module, batch: ProbeBatch) -> list[torch.Tensor]:
    outputs = call_model(module, batch.inputs)[:NUM_SEEDS]
    weights = torch.arange(outputs.numel(), dtype=torch.float64).reshape(outputs.shape).cos()
    return [outputs, *torch.autograd.grad((outputs * weights).sum(), list(module.parameters()))]


@pytest.mark.parametrize("name", EXACT)
def test_outputs_and_gradients_of_the_seeds_equal_those_of_the_plain_model(name: str, batch: ProbeBatch) -> None:
    make, mode = EXACT[name]
    verdict = choose_row_cut(make(), batch)
    assert verdict.mode == mode, verdict.reason
    expected, module = results(make(), batch), make()
    hops = batch.num_nodes_per_hop, batch.num_edges_per_hop
    with attached(module, RowCut(*hops, verdict.num_calls, padded=mode == "padded")):
        found = results(module, batch)
    for a, b in zip(expected, found, strict=True):
        assert torch.allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", INEXACT)
def test_a_model_that_would_differ_is_left_uncut(name: str, batch: ProbeBatch) -> None:
    verdict = choose_row_cut(INEXACT[name](), batch)
    assert verdict.mode == "off"
    assert "differ" in verdict.reason


class InTraining(nn.Module):
    """Does in training what it does not do in evaluation."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way, self.convs = way, nn.ModuleList(SAGEConv(WIDTH, WIDTH) for _ in range(3))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        first, between, last = self.convs
        way = self.way if self.training else ""
        if way == "dropped edges":
            edge_index, _ = dropout_edge(edge_index, p=0.3)
        h = first(x, edge_index).relu()
        if way == "a layer more":
            h = between(h, edge_index).relu()
        if way == "residual":
            h = h + x
        if way == "mean of all rows":
            h = h - h.mean(0)
        out: torch.Tensor = self.head(last(h, edge_index))
        return out


@pytest.mark.parametrize(
    ("way", "mode", "because"),
    [
        ("a layer more", "cut", "equal"),
        ("residual", "padded", "equal"),
        ("mean of all rows", "off", "differ"),
        ("dropped edges", "off", "in training"),
    ],
)
def test_what_a_model_does_in_training_alone_decides_too(
    way: str, mode: str, because: str, batch: ProbeBatch, new_folder: Callable[[], Path]
) -> None:
    module, before = InTraining(way), torch.get_rng_state()
    verdict = choose_row_cut(module, batch)
    assert (verdict.mode, because in verdict.reason) == (mode, True), verdict.reason
    assert torch.equal(before, torch.get_rng_state())
    words = {"epochs": 1, "batch_size": 50, "fanouts": (4, 3, 3)}
    run = train_here(resolve(random_graph(), module, "mini_batch", **words), new_folder())
    assert [outcome.status for outcome in run.outcomes] == ["finished"]


def test_frozen_parameters_have_no_gradient_to_compare(batch: ProbeBatch) -> None:
    module = EXACT["sage"][0]()
    module.convs[0].requires_grad_(False)
    assert choose_row_cut(module, batch).mode == "cut"
    assert choose_row_cut(module.requires_grad_(False), batch).mode == "cut"


def test_the_answer_says_that_batch_norm_sees_other_rows(batch: ProbeBatch) -> None:
    verdict = choose_row_cut(Net(sage, norm=lambda: BatchNorm(WIDTH)), batch)
    assert verdict.mode == "cut"
    assert verdict.reason.endswith("BatchNorm takes its statistics of the computed rows alone")


def test_rows_are_really_left_out(batch: ProbeBatch) -> None:
    module, heights = EXACT["sage"][0](), list[int]()
    for conv in module.convs:
        conv.lin_l.register_forward_hook(lambda _m, args, _o: heights.append(len(args[0])))
    hops = batch.num_nodes_per_hop, batch.num_edges_per_hop
    with attached(module, RowCut(*hops, 3, padded=False)):
        assert len(call_model(module, batch.inputs)) == NUM_SEEDS
    within = np.cumsum(batch.num_nodes_per_hop)
    assert heights == [within[2], within[1], within[0]]


def test_batch_norm_in_training_sees_computed_rows_alone(batch: ProbeBatch) -> None:
    module = Net(sage, norm=lambda: BatchNorm(WIDTH), residual=True).train()
    seen: list[int] = []
    for norm in module.norms or ():
        norm.module.register_forward_hook(lambda _m, args, _o: seen.append(len(args[0])))
    hops = batch.num_nodes_per_hop, batch.num_edges_per_hop
    with attached(module, RowCut(*hops, 3, padded=True)):
        call_model(module, batch.inputs)
    within = np.cumsum(batch.num_nodes_per_hop)
    assert seen == [within[2], within[1], within[0]]


def test_a_call_more_than_at_launch_is_an_error_that_says_what_to_do(batch: ProbeBatch) -> None:
    module = EXACT["sage"][0]()
    hops = batch.num_nodes_per_hop, batch.num_edges_per_hop
    with (
        pytest.raises(BoundaryError, match=r"got call 3\. Fix: launch with row_cut='off'"),
        attached(module, RowCut(*hops, 2, padded=False)),
    ):
        call_model(module, batch.inputs)


def test_the_layers_are_left_as_they_were_when_a_forward_breaks(batch: ProbeBatch) -> None:
    module = EXACT["gcn"][0]()
    module.convs[1].register_forward_hook(lambda *_: 1 / 0)
    hops = batch.num_nodes_per_hop, batch.num_edges_per_hop
    with pytest.raises(ZeroDivisionError), attached(module, RowCut(*hops, 3, padded=False)):
        call_model(module, batch.inputs)
    assert all(conv.normalize for conv in module.convs)


def test_seeds_without_neighbours_cannot_tell_and_are_not_trusted() -> None:
    graph = Graph.from_edge_index(
        np.zeros((2, 0), np.int64), 20, x=np.ones((20, WIDTH), np.float32), train_nodes=np.arange(20)
    ).with_data(edge_data={"weight": np.zeros(0, np.float32)})
    verdict = choose_row_cut(EXACT["residual"][0](), batch_of(graph))
    assert verdict.mode == "off"
    assert "too few neighbours" in verdict.reason


@pytest.mark.parametrize(("model", "mode"), [("sage", "on"), ("gcn", "on")])
def test_a_run_says_which_way_it_took_and_trains_the_same(
    model: str, mode: str, new_folder: Callable[[], Path]
) -> None:
    graph = random_graph()
    words = {"epochs": 2, "batch_size": 16, "fanouts": (4, 3), "hidden_channels": 8, "dropout": 0.0, "lr": 0.01}
    cut = train_here(resolve(graph, model, "mini_batch", **words), new_folder())
    off = train_here(resolve(graph, model, "mini_batch", row_cut="off", **words), new_folder())
    assert [data["text"].startswith(f"Row cut {mode}") for data in cut.told("log_written")] == [True]
    assert cut.losses == pytest.approx(off.losses, rel=1e-5)
