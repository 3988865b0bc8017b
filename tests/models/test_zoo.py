"""The models that have a name: what every one of them must do, whoever registered it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.models import MODELS, ModelInputs, ModelSpec, call_model
from workbench.testing.models import spec_of
from workbench.testing.rank_context import train_here
from workbench.train import resolve

NAMES = MODELS.names()
NUM_NODES, NUM_EDGES, IN, OUT = 30, 120, 6, 4


def inputs_of(num_nodes: int = NUM_NODES, num_edges: int = NUM_EDGES, *, num_targets: int | None = None) -> ModelInputs:
    """Return random features and edges; no edge touches nodes from `num_targets` on."""
    make = torch.Generator().manual_seed(num_nodes)
    ends = torch.randint(0, num_targets or num_nodes, (2, num_edges), generator=make)
    return ModelInputs(
        x=torch.randn(num_nodes, IN, generator=make, dtype=torch.float64),
        edge_index=ends,
        edge_weight=torch.rand(num_edges, generator=make, dtype=torch.float64) + 0.5,
        edge_attr=torch.randn(num_edges, 3, generator=make, dtype=torch.float64),
    )


def model_of(name: str, rng_seed: int = 0, **params: Any) -> nn.Module:
    torch.manual_seed(rng_seed)
    return spec_of(name, edge_channels=3, **params).build(IN, OUT).double().eval()


@pytest.mark.parametrize("name", NAMES)
def test_a_model_gives_one_row_a_node_and_learns_through_every_parameter(name: str) -> None:
    module = model_of(name)
    output = call_model(module, inputs_of())
    assert output.shape == (NUM_NODES, OUT)
    parameters = dict(module.named_parameters())
    gradients = torch.autograd.grad(output.square().sum(), list(parameters.values()))
    assert [key for key, value in zip(parameters, gradients, strict=True) if not value.isfinite().all()] == []
    assert [key for key, value in zip(parameters, gradients, strict=True) if not value.abs().sum() > 0] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_model_says_how_many_hops_it_reads(name: str) -> None:
    num_nodes = 13
    chain = torch.stack([torch.arange(num_nodes - 1), torch.arange(1, num_nodes)])
    chain = torch.cat([chain, chain.flip(0)], dim=1)
    wide = {"hidden_channels": 16}  # a few units of random weights may all be dead, and nothing would be read at all
    spec, module = spec_of(name, edge_channels=3, **wide), model_of(name, **wide)
    x = torch.randn(num_nodes, IN, dtype=torch.float64, requires_grad=True)
    attributes = torch.ones(chain.shape[1], 3, dtype=torch.float64)
    call_model(module, ModelInputs(x=x, edge_index=chain, edge_attr=attributes))[-1].sum().backward()
    assert x.grad is not None
    assert num_nodes - 1 - int(x.grad.abs().sum(dim=1).nonzero().min()) == spec.num_propagations


@pytest.mark.parametrize("name", NAMES)
def test_weights_come_from_the_random_state_alone(name: str) -> None:
    first, again, other = (list(model_of(name, rng_seed).parameters()) for rng_seed in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_names_of_nodes_and_order_of_edges_mean_nothing(name: str) -> None:
    module, given = model_of(name), inputs_of()
    new_id, edge_order = torch.randperm(NUM_NODES), torch.randperm(NUM_EDGES)
    assert given.edge_weight is not None
    assert given.edge_attr is not None
    renamed = ModelInputs(
        x=torch.empty_like(given.x).index_copy_(0, new_id, given.x),
        edge_index=new_id[given.edge_index[:, edge_order]],
        edge_weight=given.edge_weight[edge_order],
        edge_attr=given.edge_attr[edge_order],
    )
    assert torch.allclose(call_model(module, given), call_model(module, renamed)[new_id], atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("num_nodes", "num_edges"), [(NUM_NODES, NUM_EDGES), (5, 0), (1, 0)])
def test_a_node_without_edges_is_as_good_as_a_graph_of_its_own(name: str, num_nodes: int, num_edges: int) -> None:
    given = inputs_of(num_nodes, num_edges, num_targets=num_nodes - 1 if num_edges else None)
    module = model_of(name)
    whole = call_model(module, given)
    alone = inputs_of(1, 0)
    lone = ModelInputs(
        x=given.x[-1:], edge_index=alone.edge_index, edge_weight=alone.edge_weight, edge_attr=alone.edge_attr
    )
    assert torch.allclose(whole[-1:], call_model(module, lone), atol=1e-10)
    assert whole.isfinite().all()


@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_edges_count_where_the_model_says_so(name: str) -> None:
    module, given, spec = model_of(name), inputs_of(), spec_of(name, edge_channels=3)
    plain = call_model(module, given)
    assert given.edge_weight is not None
    assert given.edge_attr is not None
    changed = {"edge_weight": given.edge_weight.flip(0), "edge_attr": given.edge_attr.flip(0)}
    values = {"x": given.x, "edge_index": given.edge_index, "edge_weight": given.edge_weight}
    differs = {
        key: not torch.allclose(
            plain, call_model(module, ModelInputs(**{**values, "edge_attr": given.edge_attr, key: value}))
        )
        for key, value in changed.items()
    }
    expected = {"edge_weight": getattr(spec, "weighted", False), "edge_attr": hasattr(spec, "edge_channels")}
    assert differs == expected


@pytest.mark.parametrize("name", [n for n in NAMES if hasattr(spec_of(n), "weighted")])
def test_edge_weights_can_be_left_out(name: str) -> None:
    given = inputs_of()
    bare = ModelInputs(x=given.x, edge_index=given.edge_index)
    module = model_of(name, weighted=False)
    assert torch.equal(call_model(module, given), call_model(module, bare))


@pytest.mark.parametrize("name", NAMES)
def test_dropout_acts_in_training_only(name: str) -> None:
    given, module = inputs_of(), model_of(name, dropout=0.5)
    assert not torch.equal(call_model(module.train(), given), call_model(module, given))
    assert torch.equal(call_model(module.eval(), given), call_model(module, given))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_travels_as_bytes(name: str) -> None:
    module, given = model_of(name), inputs_of()
    expected = call_model(module, given)
    assert torch.equal(call_model(pickle.loads(pickle.dumps(module)), given), expected)


def labelled_graph(num_nodes: int = 60, num_edges: int = 240) -> Graph:
    rng = np.random.default_rng(3)
    labels = np.arange(num_nodes) % OUT
    return Graph.from_edge_index(
        rng.integers(0, num_nodes, (2, num_edges)),
        num_nodes,
        x=(np.eye(OUT, IN)[labels] + 0.2 * rng.normal(size=(num_nodes, IN))).astype(np.float32),
        y=labels,
        train_nodes=np.arange(0, num_nodes, 2),
        val_nodes=np.arange(1, num_nodes, 4),
        test_nodes=np.arange(3, num_nodes, 4),
        edge_data={
            "weight": rng.uniform(0.5, 2.0, num_edges).astype(np.float32),
            "attr": rng.normal(size=(num_edges, 3)).astype(np.float32),
        },
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("strategy", ["full_graph", "mini_batch"])
def test_a_model_trains(name: str, strategy: str, tmp_path: Path) -> None:
    spec = spec_of(name, edge_channels=3, dropout=0.0, K=2)
    words = {"batch_size": 16, "fanouts": (4,) * spec.num_propagations} if strategy == "mini_batch" else {}
    run = train_here(resolve(labelled_graph(), spec, strategy, epochs=3, lr=0.01, **words), tmp_path)
    assert run.outcomes[0].status == "finished"
    assert len(run.losses) == 3
    assert run.losses[-1] < run.losses[0]


@pytest.mark.parametrize("name", [n for n in NAMES if hasattr(spec_of(n), "edge_channels")])
def test_features_of_edges_that_are_not_there_are_missed_before_anything_runs(name: str) -> None:
    graph = labelled_graph()
    bare = graph.with_data(edge_data={"attr": None})
    with pytest.raises(InputError, match=r"edge_channels: expected a graph with edge_data\['attr'\]; got a graph w"):
        resolve(bare, name, "full_graph", epochs=1, edge_channels=3)
    with pytest.raises(InputError, match=r"got 2, while graph.edge_data\['attr'\] has 3[\s\S]*pass edge_channels=3"):
        resolve(graph, name, "full_graph", epochs=1, edge_channels=2)


def test_one_number_an_edge_is_one_column() -> None:
    given = inputs_of()
    assert given.edge_attr is not None
    for name in ("nnconv", "gat"):
        torch.manual_seed(0)
        module = spec_of(name, edge_channels=1).build(IN, OUT).double().eval()
        flat, table = (
            call_model(module, ModelInputs(x=given.x, edge_index=given.edge_index, edge_attr=column))
            for column in (given.edge_attr[:, 0], given.edge_attr[:, :1])
        )
        assert torch.equal(flat, table)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MODELS.create("gcn", dropout=1.5, num_layers=0), r"2 problems[\s\S]*dropout: expected at most 1"),
        (lambda: MODELS.create("gat", hidden_channels=30, heads=8), r"multiple of heads=8; got 30.*hidden_channels=32"),
        (lambda: MODELS.create("sage", aggregation="pool", sparse=True), r"sparse: expected False.*no matrix product"),
        (lambda: MODELS.create("graph_conv", aggregation="max", sparse=True), r"sparse: expected False"),
        (lambda: MODELS.create("nnconv", edge_channels=0), r"edge_channels: expected at least 1"),
    ],
)
def test_wrong_parameters_are_named(make: Callable[[], ModelSpec], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
