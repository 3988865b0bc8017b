"""Weights, times, trees side by side, all edges, both ways: NeighborLoader's forms, checked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

from workbench.core.errors import InputError
from workbench.gather import NeighborLoader


def hub(**columns: Any) -> Data:
    """Edges from 1, 2, 3, 4 to node 0, given in the order 4, 3, 2, 1."""
    edge_index = torch.tensor([[4, 3, 2, 1], [0, 0, 0, 0]])
    return Data(edge_index=edge_index, num_nodes=5, **columns)


def random_graph(num_nodes: int = 50, num_edges: int = 400) -> Data:
    torch.manual_seed(1)
    return Data(
        edge_index=torch.randint(0, num_nodes, (2, num_edges)),
        time=torch.randint(0, 100, (num_nodes,)),
        edge_time=torch.randint(0, 100, (num_edges,)),
        weight=torch.rand(num_edges),
        num_nodes=num_nodes,
    )


def findings_of(data: Data, **kwargs: Any) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        NeighborLoader(data, [2], **kwargs)
    return {item.where: item.got for item in caught.value.findings}


def test_weighted_draws_follow_the_weights_of_the_original_edges() -> None:
    data = hub(score=torch.tensor([3.0, 2.0, 1.0, 0.0]))  # of the edges from 4, 3, 2, 1
    batch = next(iter(NeighborLoader(data, [6000], [0], weight_attr="score", replace=True, rng_seed=0)))
    counts = np.bincount(batch.e_id.numpy(), minlength=4)
    assert counts[3] == 0
    assert stats.chisquare(counts[:3], np.array([3, 2, 1]) / 6 * 6000).pvalue > 1e-4
    assert stats.chisquare(counts[:3], np.array([3 * 0.9, 2, 1]) / 5.7 * 6000).pvalue < 1e-3


def test_columns_that_are_no_weights_are_named() -> None:
    for score in (torch.tensor([1.0, -1, 1, 1]), torch.tensor([1.0, float("nan"), 1, 1]), torch.zeros(4)):
        assert findings_of(hub(score=score), weight_attr="score").keys() == {"data['score']"}
    assert findings_of(hub(score=torch.ones(3)), weight_attr="score").keys() == {"data['score']"}
    assert findings_of(hub(score=torch.ones(4, 2)), weight_attr="score").keys() == {"data['score']"}
    assert findings_of(hub(), weight_attr="score").keys() == {"weight_attr"}
    wrong = findings_of(hub(score=torch.tensor([1.0, -1, 1, 1])), weight_attr="score")
    assert wrong["data['score']"] == "-1.0 at edge 1, 1 such in all", "as the data numbers its edges"


@pytest.mark.parametrize("strategy", ["uniform", "last"])
@pytest.mark.parametrize("time_attr", ["time", "edge_time"])
def test_no_edge_is_later_than_its_seed(time_attr: str, strategy: str) -> None:
    data = random_graph()
    seed_time = torch.randint(0, 100, (50,))
    options = {"temporal_strategy": strategy, "input_time": seed_time, "batch_size": 20, "shuffle": True}
    seen = 0
    for batch in NeighborLoader(data, [3, 3], time_attr=time_attr, **options):
        assert torch.equal(batch.seed_time, seed_time[batch.input_id])
        assert batch.batch[: batch.batch_size].tolist() == list(range(batch.batch_size))
        source, destination = batch.edge_index
        assert torch.equal(batch.batch[source], batch.batch[destination])
        time = batch.edge_time if time_attr == "edge_time" else batch.time[source]
        assert (time <= batch.seed_time[batch.batch[source]]).all()
        seen += len(source)
    assert seen > 100


def test_the_last_edges_before_the_seeds_time_are_taken() -> None:
    data = hub(time=torch.tensor([0, 10, 20, 30, 40]))
    for seed_time, expected in ((35, [2, 3]), (10, [1]), (5, []), (99, [3, 4])):
        loader = NeighborLoader(data, [2], [0], torch.tensor([seed_time]), time_attr="time", temporal_strategy="last")
        assert sorted(next(iter(loader)).n_id[1:].tolist()) == expected


def test_seeds_have_their_own_times_unless_others_are_given() -> None:
    data = hub(time=torch.tensor([25, 10, 20, 30, 40]))
    batch = next(iter(NeighborLoader(data, [-1], [0, 0], time_attr="time", batch_size=2)))
    assert sorted(batch.n_id[2:].tolist()) == [1, 1, 2, 2]
    assert "seed_time" not in batch
    times = torch.tensor([10, 40])
    batch = next(iter(NeighborLoader(data, [-1], [0, 0], times, time_attr="time", batch_size=2)))
    assert [sorted(batch.n_id[2:][batch.batch[2:] == tree].tolist()) for tree in (0, 1)] == [[1], [1, 2, 3, 4]]


def test_times_that_are_missing_are_named() -> None:
    data = random_graph()
    assert findings_of(data, time_attr="clock").keys() == {"time_attr"}
    assert findings_of(data, time_attr="edge_time").keys() == {"input_time"}
    assert findings_of(data, time_attr="time", input_time=torch.zeros(3)).keys() == {"input_time"}
    assert findings_of(data, temporal_strategy="last").keys() == {"time_attr"}


def test_a_disjoint_batch_is_each_seed_sampled_alone_side_by_side() -> None:
    data = random_graph()
    seeds = [4, 9, 4, 30]
    together = next(iter(NeighborLoader(data, [-1, -1], seeds, disjoint=True, batch_size=4)))
    assert together.n_id[:4].tolist() == seeds
    for tree, node in enumerate(seeds):
        alone = next(iter(NeighborLoader(data, [-1, -1], [node])))
        mine = together.batch == tree
        assert sorted(together.n_id[mine].tolist()) == sorted(alone.n_id.tolist())
        edges = mine[together.edge_index[1]]
        assert sorted(together.e_id[edges].tolist()) == sorted(alone.e_id.tolist())


def test_an_induced_batch_has_every_edge_between_its_nodes_once() -> None:
    data = random_graph()
    for batch in NeighborLoader(data, [3, 2], subgraph_type="induced", batch_size=5):
        _, _, mask = subgraph(batch.n_id, data.edge_index, num_nodes=50, return_edge_mask=True)
        assert sorted(batch.e_id.tolist()) == mask.nonzero().flatten().tolist()
        assert "num_sampled_edges" not in batch


def test_a_bidirectional_batch_has_each_pair_in_both_directions() -> None:
    data = random_graph()
    for batch in NeighborLoader(data, [3, 2], subgraph_type="bidirectional", batch_size=5):
        pairs = set(map(tuple, batch.edge_index.T.tolist()))
        assert pairs == {(b, a) for a, b in pairs}
        assert len(pairs) == batch.num_edges
        original = data.edge_index[:, batch.e_id].sort(dim=0).values
        assert torch.equal(original, batch.n_id[batch.edge_index].sort(dim=0).values)
        assert "num_sampled_edges" not in batch
