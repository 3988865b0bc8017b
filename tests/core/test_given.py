"""What is handed in by mistake is refused by name, before anything is tried with it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import workbench as wb
from workbench.core.errors import Findings, InputError
from workbench.core.given import note_whole, require_path


def graph() -> wb.Graph:
    return wb.Graph.from_edge_index([[0, 1], [1, 0]], num_nodes=2, x=np.ones((2, 1)), y=[0, 1], train_nodes=[0, 1])


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "no graph to sample": (lambda: wb.sample(None, [0]), "graph"),
    "a key that is text": (lambda: wb.sample(graph(), [0], rng_seed="a"), "rng_seed"),
    "no epoch": (lambda: wb.sample(graph(), [0], epoch=None), "epoch"),
    "no graph to partition": (lambda: wb.partition(None, 2), "graph"),
    "a number for a graph": (lambda: wb.doctor(5), "graph"),
    "no graph to explode": (lambda: wb.explosion(None), "graph"),
    "a depth that is text": (lambda: wb.explosion(graph(), depth="x"), "depth"),
    "batches of nothing": (lambda: wb.NeighborLoader(graph(), [2], batch_size=0), "batch_size"),
    "batches of text": (lambda: wb.NeighborLoader(graph(), [2], batch_size="a"), "batch_size"),
    "ids that are hashes": (lambda: wb.Graph.from_edge_index(np.array([[0, 2**40], [1, 0]])), "edge_index"),
    "ids beyond int64": (lambda: wb.Graph.from_edge_index(np.array([[2**63 + 5], [0]], np.uint64)), "edge_index"),
    "a sparse matrix of edges": (lambda: wb.Graph.from_edge_index(torch.eye(3).to_sparse()), "edge_index"),
    "no networkx graph": (lambda: wb.Graph.from_networkx(None), "graph"),
    "no Parquet file": (lambda: wb.Graph.from_parquet(None), "edges"),
    "no folder": (lambda: wb.Graph.open(None), "path"),
    "no graph to show": (lambda: wb.PartitionExplorer(None), "graph"),
    "no run to show": (lambda: wb.TrainingDashboard(None), "run"),
    "masks where dropout is left out": (lambda: wb.check_parity(graph(), "gcn", dropout_masks="x"), "dropout_masks"),
    "a fanout beyond int64": (lambda: wb.sample(graph(), [0], fanouts=(2**63,)), "fanouts"),
    "an explosion beyond int64": (lambda: wb.explosion(graph(), [0], fanouts=(2**63,)), "fanouts"),
    "neighbours beyond int64": (lambda: wb.NeighborLoader(graph(), [2**63]), "num_neighbors"),
    "layers beyond int64": (lambda: wb.sample(graph(), [0], "layer_wise", layer_sizes=(2**63,)), "layer_sizes"),
    "a walk of years": (lambda: wb.sample(graph(), [0], "saint_walk", walk_length=2**62), "walk_length"),
    "data without edges": (lambda: wb.NeighborLoader(Data(x=torch.ones(5, 2)), [2]), "data.edge_index"),
    "no graph to compare on": (lambda: wb.check_parity(None, "gcn"), "graph"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistaken_argument_is_named(name: str) -> None:
    mistake, where = MISTAKES[name]
    with pytest.raises(InputError) as caught:
        mistake()
    assert where in [finding.where for finding in caught.value.findings]


def test_a_pyg_graph_is_told_how_it_becomes_ours() -> None:
    with pytest.raises(InputError, match="from_pyg"):
        wb.partition(SimpleNamespace(edge_index=None), 2)


def test_whole_numbers_of_any_kind_pass_and_the_others_are_all_noted() -> None:
    findings = Findings("test")
    note_whole(findings, 1, a=1, b=np.int64(3), c=torch.tensor(2))
    assert not findings.items
    note_whole(findings, 1, a=0, b=1.0, c=True, d=None)
    assert [finding.where for finding in findings.items] == ["a", "b", "c", "d"]


def test_a_path_comes_as_text_or_as_a_path(tmp_path: Any) -> None:
    assert require_path(str(tmp_path), "path", "test") == require_path(tmp_path, "path", "test")
