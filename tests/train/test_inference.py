"""Exact inference: layer by layer in pieces, by any number of ranks, equals one forward over the whole graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from workbench.graph import Graph
from workbench.models import MODELS, call_model
from workbench.testing import graphs
from workbench.testing.nets import CLASSES, EXACT, INEXACT, WIDTH
from workbench.train import exact
from workbench.train.exact import WholeInference, try_layerwise
from workbench.train.inference import LayerwiseInference
from workbench.train.pieces import PieceMaker, piece_bounds, rounds_of
from workbench.train.thread_transport import run_in_threads
from workbench.train.transport import Transport
from workbench.train.whole import whole_graph_inputs

CPU = torch.device("cpu")


def random_graph(num_nodes: int = 60, num_edges: int = 240) -> Graph:
    rng = np.random.default_rng(3)
    edges = np.concatenate([rng.integers(0, num_nodes, (2, num_edges)), [[5, 6], [5, 6]]], axis=1)  # two self-loops
    return Graph.from_edge_index(
        edges,
        num_nodes,
        x=rng.normal(size=(num_nodes, WIDTH)).astype(np.float32),
        y=rng.integers(0, CLASSES, num_nodes),
        edge_data={"weight": rng.uniform(0.5, 2.0, edges.shape[1]).astype(np.float32)},
    )


def layerwise(graph: Graph, transport: Transport, num_calls: int, piece_bytes: int = 16 << 10) -> LayerwiseInference:
    return LayerwiseInference(
        graph=graph,
        transport=transport,
        device=CPU,
        dtype=torch.float64,
        num_calls=num_calls,
        piece_bytes=piece_bytes,
    )


def num_calls_of(name: str) -> int:
    twice = dict.fromkeys(
        ("sgc", "ssgc", "appnp", "mixhop", "gated", "tag", "tag_plain", "arma", "cheb"), 6
    )  # each of three layers propagates twice
    return {"deeper_than_the_sample": 5, "shallower_than_the_sample": 2, **twice}.get(name, 3)


@pytest.mark.parametrize("name", EXACT)
@torch.no_grad()
def test_layer_by_layer_equals_the_whole_graph(name: str) -> None:
    graph, module = random_graph(), EXACT[name][0]()
    expected = call_model(EXACT[name][0](), whole_graph_inputs(graph, CPU, torch.float64))
    assert num_pieces(graph) > 4
    found = run_in_threads(1, lambda t: layerwise(graph, t, num_calls_of(name)).run(module, lambda rows: rows))[0]
    assert torch.allclose(found, expected, rtol=1e-12, atol=1e-12)


def num_pieces(graph: Graph) -> int:
    return len(piece_bounds(graph.indptr, max_edges=(16 << 10) // (256 * 8), world_size=1)) - 1


@pytest.mark.parametrize("name", ["gcn_weighted", "residual", "gat"])
@pytest.mark.parametrize("world_size", [2, 3])
@torch.no_grad()
def test_ranks_share_the_work_and_all_hold_the_result(name: str, world_size: int) -> None:
    graph = random_graph()
    models = [EXACT[name][0]() for _ in range(world_size)]
    expected = call_model(models[0], whole_graph_inputs(graph, CPU, torch.float64)).argmax(dim=1)

    def rank(transport: Transport) -> torch.Tensor:
        with torch.no_grad():
            return layerwise(graph, transport, 3).run(models[transport.rank], lambda rows: rows.argmax(dim=1))

    for found in run_in_threads(world_size, rank):
        assert torch.equal(found, expected)


@torch.no_grad()
def test_more_ranks_than_nodes() -> None:
    graph = graphs.path(3)
    models = [MODELS.create("gcn", hidden_channels=4).build(4, 3).double().eval() for _ in range(5)]
    for module in models:
        module.load_state_dict(models[0].state_dict())
    expected = call_model(models[0], whole_graph_inputs(graph, CPU, torch.float64))

    def rank(transport: Transport) -> torch.Tensor:
        with torch.no_grad():
            return layerwise(graph, transport, 2, 1).run(models[transport.rank], lambda rows: rows)

    for found in run_in_threads(5, rank):
        assert torch.allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("name", EXACT)
def test_the_probe_trusts_what_is_exact(name: str) -> None:
    assert try_layerwise(EXACT[name][0](), random_graph(), CPU) == (num_calls_of(name), None)


@pytest.mark.parametrize("name", INEXACT)
def test_the_probe_says_what_differs(name: str) -> None:
    _, difference = try_layerwise(INEXACT[name](), random_graph(), CPU)
    assert difference is not None
    assert difference.startswith("outputs differ by")


class Told:
    """A rank alone, as far as the choice of inference needs one."""

    rank, device = 0, CPU

    def __init__(self, graph: Graph, transport: Transport) -> None:
        self.graph, self.transport, self.texts = graph, transport, list[str]()

    def emit(self, kind: str, **data: Any) -> None:
        self.texts.append(data["text"])


@torch.no_grad()
def test_a_model_that_cannot_go_layer_by_layer_goes_at_once_and_says_what_that_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exact, "AT_ONCE_BYTES", 0)
    graph = random_graph()
    context = Told(graph, run_in_threads(1, lambda transport: transport)[0])
    assert isinstance(exact.open_inference(context, EXACT["sage"][0]()), LayerwiseInference)  # type: ignore[arg-type]
    assert context.texts == []
    module = INEXACT["mean"]()
    inference = exact.open_inference(context, module)  # type: ignore[arg-type]
    assert isinstance(inference, WholeInference)
    assert "on every rank" in context.texts[0]
    expected = call_model(module, whole_graph_inputs(graph, CPU, torch.float64))
    assert torch.equal(inference.run(module, lambda rows: rows), expected)


@pytest.mark.parametrize("world_size", [1, 3])
@pytest.mark.parametrize("name", ["star", "path", "isolated_nodes", "clique"])
def test_pieces_hold_every_node_once_with_all_its_in_edges(name: str, world_size: int) -> None:
    graph = getattr(graphs, name)()
    bounds = piece_bounds(graph.indptr, max_edges=4, world_size=world_size)
    maker, owned, edges = PieceMaker(graph), list[int](), list[tuple[int, int]]()
    for ranges in rounds_of(bounds, world_size):
        assert len(ranges) == world_size
        for begin, end in ranges:
            piece = maker.make(begin, end)
            owned += piece.node_ids[: piece.num_own].tolist()
            assert len(set(piece.node_ids.tolist())) == len(piece.node_ids)
            assert (piece.edge_index[1] < piece.num_own).all()
            edges += map(tuple, piece.node_ids[piece.edge_index].T.tolist())
    assert owned == list(range(graph.num_nodes))
    assert edges == list(map(tuple, graph.edge_index().T.tolist()))
