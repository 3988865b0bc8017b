"""Aggregation by sparse products is the edge-wise one: values, gradients, and everything around the layer."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import TAGConv

from workbench.models import MODELS, ModelInputs, call_model, sparse
from workbench.models.sparse import Structure, Structures, aggregate_sparsely, maps_first, multiply
from workbench.testing.graphs import random
from workbench.testing.models import spec_of
from workbench.testing.rank_context import train_here
from workbench.train import resolve

CASES = [
    (name, aggregation)
    for name in MODELS.names()
    if hasattr(spec_of(name), "sparse")
    for aggregation in (("mean", "sum") if hasattr(spec_of(name), "aggregation") else (None,))
]
NUM_NODES, NUM_EDGES, OUT = 40, 150, 5


def inputs_of(in_channels: int, num_nodes: int = NUM_NODES, num_edges: int = NUM_EDGES) -> ModelInputs:
    make = torch.Generator().manual_seed(in_channels)
    return ModelInputs(
        x=torch.randn(num_nodes, in_channels, generator=make, dtype=torch.float64).requires_grad_(),
        edge_index=torch.randint(0, max(1, num_nodes - 5), (2, num_edges), generator=make),
        edge_weight=(torch.rand(num_edges, generator=make, dtype=torch.float64) + 0.5).requires_grad_(),
    )


def both(name: str, in_channels: int, **params: Any) -> tuple[nn.Module, nn.Module]:
    """Return a model that aggregates edge by edge and one by sparse products, of the same weights."""
    params = {key: value for key, value in params.items() if value is not None}
    models = []
    for is_sparse in (False, True):
        torch.manual_seed(0)
        models.append(spec_of(name, sparse=is_sparse, **params).build(in_channels, OUT).double().eval())
    return models[0], models[1]


def results(module: nn.Module, given: ModelInputs) -> list[Tensor]:
    """Return outputs and gradients in features, weights of edges, and parameters."""
    outputs = call_model(module, given)
    scales = torch.arange(outputs.numel(), dtype=outputs.dtype).reshape(outputs.shape).cos()
    wanted = [given.x, *module.parameters()]
    if given.edge_weight is not None:
        wanted.insert(0, given.edge_weight)
    return [outputs, *torch.autograd.grad((outputs * scales).sum(), wanted, materialize_grads=True)]


def assert_same(a: list[Tensor], b: list[Tensor]) -> None:
    for first, second in zip(a, b, strict=True):
        assert first.shape == second.shape
        assert torch.allclose(first, second, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "aggregation"), CASES)
@pytest.mark.parametrize("in_channels", [3, 20])
def test_values_and_gradients_are_those_of_the_edges(name: str, aggregation: str | None, in_channels: int) -> None:
    edgewise, product = both(name, in_channels, aggregation=aggregation)
    assert list(edgewise.state_dict()) == list(product.state_dict())
    given = inputs_of(in_channels)
    assert_same(results(edgewise, given), results(product, given))


@pytest.mark.parametrize(("name", "aggregation"), CASES)
@pytest.mark.parametrize(("num_nodes", "num_edges"), [(4, 0), (1, 0), (1, 3)])
def test_the_smallest_graphs(name: str, aggregation: str | None, num_nodes: int, num_edges: int) -> None:
    given = inputs_of(7, num_nodes, num_edges)
    edgewise, product = both(name, 7, aggregation=aggregation)
    assert_same(results(edgewise, given), results(product, given))


@pytest.fixture
def widths(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Return the widths at which sparse products are taken, as they come."""
    seen: list[int] = []
    times = sparse._times

    def noted(matrix: Tensor, x: Tensor) -> Tensor:
        seen.append(x.shape[1])
        return times(matrix, x)

    monkeypatch.setattr(sparse, "_times", noted)
    return seen


@pytest.mark.parametrize("name", ["gcn", "sage", "graph_conv"])
@pytest.mark.parametrize(("in_channels", "out_channels", "width"), [(12, 5, 5), (5, 12, 5), (6, 6, 6)])
def test_the_product_is_taken_at_the_narrower_width(
    name: str, in_channels: int, out_channels: int, width: int, widths: list[int]
) -> None:
    module = spec_of(name, num_layers=1, sparse=True).build(in_channels, out_channels).double()
    results(module, inputs_of(in_channels))
    assert widths == [width, width], "forward and backward"


def test_sgc_maps_first_where_that_is_narrower(widths: list[int]) -> None:
    for in_channels, width in ((12, OUT), (3, 3)):
        widths.clear()
        call_model(spec_of("sgc", K=3, sparse=True).build(in_channels, OUT).double(), inputs_of(in_channels))
        assert widths == [width] * 3


def test_a_sampled_batch_maps_few_rows_rather_than_many() -> None:
    """Of 1,000 sources and 10 destinations: narrowing first would map a hundred times the rows."""
    ends = torch.stack([torch.randint(0, 1000, (50,)), torch.randint(0, 10, (50,))])
    weight = torch.randn(4, 8)
    structure = Structure(ends, 1000, 1000)
    assert structure.shape == (int(ends[1].max()) + 1, 1000)
    assert not maps_first(structure, torch.randn(1000, 8), weight)
    square = Structure(torch.randint(0, 10, (2, 50)), 10, 10)
    assert maps_first(square, torch.randn(10, 8).requires_grad_(), weight)


def test_both_orders_are_the_edge_loop_of_gcn() -> None:
    for in_channels in (12, 3):
        given = inputs_of(in_channels)
        module: Any = spec_of("gcn", num_layers=1, sparse=True).build(in_channels, OUT).double().eval()
        assert given.edge_weight is not None
        given.edge_index[1] = (given.edge_index[0] + 1 + given.edge_index[1] % 7) % NUM_NODES  # without self-loops
        source, destination = torch.cat([given.edge_index, torch.arange(NUM_NODES).repeat(2, 1)], dim=1)
        weight = torch.cat([given.edge_weight, torch.ones(NUM_NODES).double()])
        degree = torch.zeros(NUM_NODES).double().index_add(0, destination, weight)
        expected = torch.zeros(NUM_NODES, OUT).double()
        mapped = given.x @ module.layers[0].lin.weight.T
        for u, v, w in zip(source, destination, weight, strict=True):
            expected[v] = expected[v] + w / (degree[u] * degree[v]).sqrt() * mapped[u]
        assert torch.allclose(call_model(module, given), expected + module.layers[0].bias, rtol=1e-12, atol=1e-12)


def test_a_product_needs_no_dense_matrix_forward_or_backward() -> None:
    num_nodes = 400_000  # as a dense matrix: 640 GB
    ends = torch.randint(0, num_nodes, (2, 1000))
    x = torch.randn(num_nodes, 2, requires_grad=True)
    values = torch.rand(1000, requires_grad=True)
    multiply(Structure(ends, num_nodes, num_nodes), values, x).square().sum().backward()
    assert x.grad is not None
    assert values.grad is not None
    out = torch.zeros(num_nodes, 2).index_add(0, ends[1], values[:, None] * x[ends[0]])
    expected = torch.autograd.grad(out.square().sum(), [x, values])
    assert torch.allclose(x.grad, expected[0], atol=1e-5)
    assert torch.allclose(values.grad, expected[1], atol=1e-4)


def test_gradients_agree_with_differences() -> None:
    given = inputs_of(3, 9, 20)
    structure = Structure(given.edge_index, 9, 9)
    assert torch.autograd.gradcheck(lambda values, x: multiply(structure, values, x), (given.edge_weight, given.x))


def test_layers_share_the_matrix_of_their_edges_and_notice_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    begin = Structure.__init__

    def noted(self: Structure, edge_index: Tensor, *shape: int) -> None:
        made.append(edge_index.shape[1])
        begin(self, edge_index, *shape)

    monkeypatch.setattr(Structure, "__init__", noted)
    edgewise, product = both("gcn", 4, num_layers=3)
    given = inputs_of(4)
    for _ in range(2):
        call_model(product, given)  # PyG adds self-loops anew in each layer of each forward
    assert len(made) == 1
    given.edge_index[0, 0] = (given.edge_index[0, 0] + 1) % 10
    assert torch.allclose(call_model(product, given), call_model(edgewise, given), atol=1e-12)
    assert len(made) == 2


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("name", ["gcn", "sage", "sgc", "appnp"])
def test_a_copy_is_a_model_of_its_own(copier: Any, name: str) -> None:
    given, (_, product) = inputs_of(12), both(name, 12)
    before = call_model(product, given)
    copied = copier(product)
    assert torch.equal(call_model(copied, given), before)
    with torch.no_grad():
        for parameter in copied.parameters():
            parameter.mul_(2.0)
    assert not torch.allclose(call_model(copied, given), before)
    assert torch.equal(call_model(product, given), before)


def test_hooks_around_propagate_act_as_on_any_layer() -> None:
    edgewise, product = both("graph_conv", 12)
    given = inputs_of(12)
    for module in (edgewise, product):
        for layer in module.layers:
            layer.register_propagate_forward_pre_hook(lambda _l, args: (args[0][:, ::2], args[1], halved(args[2])))
            layer.register_propagate_forward_hook(lambda _l, _args, out: 3 * out)
    assert_same(results(edgewise, given), results(product, given))


def halved(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**kwargs, "edge_weight": kwargs["edge_weight"][::2]}


def test_dropped_edges_are_the_same_ones() -> None:
    given = inputs_of(6)
    found = []
    for module in both("appnp", 6, edge_dropout=0.5, dropout=0.0):
        torch.manual_seed(3)
        found.append(call_model(module.train(), given))
    assert torch.allclose(found[0], found[1], atol=1e-12)


def test_a_layer_of_the_users_own_model_aggregates_so_too() -> None:
    given = inputs_of(6)
    torch.manual_seed(0)
    layer = TAGConv(6, OUT, K=2).double()
    expected = layer(given.x, given.edge_index, given.edge_weight)
    found = aggregate_sparsely(layer, Structures())(given.x, given.edge_index, given.edge_weight)
    assert torch.allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("strategy", ["full_graph", "mini_batch"])
@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_training_goes_the_same_way(name: str, strategy: str, tmp_path: Path) -> None:
    losses = []
    for is_sparse in (False, True):
        spec = spec_of(name, dropout=0.0, K=2, sparse=is_sparse)
        words = {"batch_size": 40, "fanouts": (3,) * spec.num_propagations} if strategy == "mini_batch" else {}
        folder = tmp_path / str(is_sparse)
        folder.mkdir()
        run = train_here(resolve(random(120, 400), spec, strategy, epochs=3, lr=0.01, **words), folder)
        losses.append([*run.losses, *(data["metrics"]["test_accuracy"] for data in run.told("epoch_finished"))])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4, abs=1e-4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: the product there is cuSPARSE's")
@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_a_gpu_gives_the_same(name: str) -> None:
    _, product = both(name, 12)
    given = inputs_of(12)
    moved = ModelInputs(
        x=given.x.detach().cuda().requires_grad_(),
        edge_index=given.edge_index.cuda(),
        edge_weight=given.edge_weight.detach().cuda().requires_grad_() if given.edge_weight is not None else None,
    )
    expected = results(product, given)
    for a, b in zip(expected, results(product.cuda(), moved), strict=True):
        assert torch.allclose(a, b.cpu(), rtol=1e-9, atol=1e-9)
