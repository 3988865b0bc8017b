"""Every model of the registry gives the same by the row cut, padded or not, and layer by layer, as without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

from workbench.graph import Graph
from workbench.models import MODELS, ModelInputs, call_model
from workbench.sampling import sample
from workbench.testing.models import spec_of
from workbench.testing.rank_context import train_here
from workbench.train import resolve
from workbench.train.boundaries.cut import RowCut
from workbench.train.boundary import attached
from workbench.train.exact import try_layerwise
from workbench.train.probe import ProbeBatch, choose_row_cut

NUM_SEEDS, IN, OUT, EDGE_CHANNELS = 6, 5, 4, 3
NEEDS_ALL_ROWS = {"appnp", "cheb", "nnconv"}  # they add rows from before a round of messages to those from after
AROUND: tuple[dict[str, Any], ...] = (
    {},
    {"sparse": True},
    {"aggregation": "sum"},
    {"aggregation": "pool"},
    {"norm": "layer"},
    {"residual": True, "norm": "batch"},
    {"jumping_knowledge": "lstm"},
    {"edge_channels": 0},
    {"weighted": False},
)


class Case(NamedTuple):
    name: str
    params: dict[str, Any]

    def build(self) -> nn.Module:
        torch.manual_seed(1)
        given = {"edge_channels": EDGE_CHANNELS, "num_layers": 3, **self.params}
        return spec_of(self.name, **given).build(IN, OUT).double().eval()


def _fits(name: str, params: dict[str, Any]) -> bool:
    """Say whether a model has these parameters, and they are not what it is built with anyhow."""
    usual = {info.name: info for info in MODELS.entry(name).params}
    if not params.keys() <= usual.keys():
        return False
    if params == {"edge_channels": 0}:
        return usual["edge_channels"].minimum == 0
    return all(
        value in (usual[key].choices or (value,)) and value != usual[key].default for key, value in params.items()
    )


CASES = [Case(name, params) for name in MODELS.names() for params in AROUND if _fits(name, params)]


def label(case: Case) -> str:
    return "-".join([case.name, *(f"{key}={value}" for key, value in case.params.items())])


def random_graph(num_nodes: int = 300, num_edges: int = 1500) -> Graph:
    rng = np.random.default_rng(7)
    return Graph.from_edge_index(
        rng.integers(0, num_nodes, (2, num_edges)),
        num_nodes,
        x=rng.normal(size=(num_nodes, IN)).astype(np.float32),
        y=rng.integers(0, OUT, num_nodes),
        train_nodes=np.arange(0, num_nodes, 2),
        edge_data={
            "weight": rng.uniform(0.5, 2.0, num_edges).astype(np.float32),
            "attr": rng.normal(size=(num_edges, EDGE_CHANNELS)).astype(np.float32),
        },
    )


@pytest.fixture(scope="module")
def graph() -> Graph:
    return random_graph()


@pytest.fixture(scope="module")
def batch(graph: Graph) -> ProbeBatch:
    part = sample(graph, graph.train_nodes[:NUM_SEEDS], fanouts=(4, 3, 3))
    inputs = ModelInputs(
        x=torch.from_numpy(graph.x[part.node_ids]).double(),
        edge_index=torch.from_numpy(part.edge_index),
        edge_weight=torch.from_numpy(graph.edge_data["weight"][part.edge_ids]).double(),
        edge_attr=torch.from_numpy(graph.edge_data["attr"][part.edge_ids]).double(),
    )
    nodes, edges = part.num_nodes_per_hop.tolist(), part.num_edges_per_hop.tolist()
    return ProbeBatch(inputs=inputs, num_nodes_per_hop=nodes, num_edges_per_hop=edges)


def results(module: nn.Module, batch: ProbeBatch) -> list[torch.Tensor]:
    outputs = call_model(module, batch.inputs)[:NUM_SEEDS]
    scales = torch.arange(outputs.numel(), dtype=torch.float64).reshape(outputs.shape).cos()
    return [outputs, *torch.autograd.grad((outputs * scales).sum(), list(module.parameters()))]


@pytest.mark.parametrize("case", CASES, ids=label)
def test_cut_and_padded_give_the_outputs_and_gradients_of_the_uncut_model(case: Case, batch: ProbeBatch) -> None:
    module = case.build()
    verdict, expected = choose_row_cut(module, batch), results(case.build(), batch)
    needs_all = case.name in NEEDS_ALL_ROWS or {"residual", "jumping_knowledge"} & set(case.params)
    assert verdict.mode == ("padded" if needs_all else "cut"), verdict.reason
    given = {"edge_channels": EDGE_CHANNELS, "num_layers": 3, **case.params}
    assert verdict.num_calls == spec_of(case.name, **given).num_propagations
    for mode in ("padded",) if needs_all else ("cut", "padded"):
        cut = RowCut(batch.num_nodes_per_hop, batch.num_edges_per_hop, verdict.num_calls, padded=mode == "padded")
        with attached(module, cut):
            found = results(module, batch)
        for a, b in zip(expected, found, strict=True):
            assert torch.allclose(a, b, rtol=1e-12, atol=1e-12), mode
    for a, b in zip(expected, results(module, batch), strict=True):
        assert torch.equal(a, b), "the model is as it was"


@pytest.mark.parametrize("case", CASES, ids=label)
def test_layer_by_layer_gives_the_outputs_of_one_forward(case: Case, graph: Graph) -> None:
    num_calls, difference = try_layerwise(case.build(), graph, torch.device("cpu"))
    given = {"edge_channels": EDGE_CHANNELS, "num_layers": 3, **case.params}
    assert (num_calls, difference) == (spec_of(case.name, **given).num_propagations, None)


@pytest.mark.parametrize("name", MODELS.names())
def test_a_run_trains_the_same_cut_and_uncut(name: str, graph: Graph, new_folder: Callable[[], Path]) -> None:
    spec = spec_of(name, edge_channels=EDGE_CHANNELS, dropout=0.0, K=2)
    words = {"epochs": 2, "batch_size": 32, "fanouts": (4,) * spec.num_propagations, "lr": 0.01}
    cut = train_here(resolve(graph, spec, "mini_batch", **words), new_folder())
    off = train_here(resolve(graph, spec, "mini_batch", row_cut="off", **words), new_folder())
    (told,) = [data["text"] for data in cut.told("log_written") if data["text"].startswith("Row cut")]
    assert told.startswith("Row cut on")
    assert cut.losses == pytest.approx(off.losses, rel=1e-4)
