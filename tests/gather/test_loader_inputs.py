"""What people hand to NeighborLoader: every kind of seeds, and each mistake named at construction."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import GCN, MLP, SGConv
from torch_geometric.sampler import BaseSampler, SamplerOutput
from torch_geometric.sampler import NeighborSampler as PygNeighborSampler
from torch_geometric.sampler.base import NumNeighbors, SubgraphType

from workbench.core.errors import InputError
from workbench.gather import LinkNeighborLoader, NeighborLoader
from workbench.sampling import SAMPLERS


def star(num_nodes: int = 6) -> Data:
    """Edges from 1, 2, 3 to node 0 and from 0 to 1; what comes after node 3 is isolated."""
    edge_index = torch.tensor([[1, 2, 3, 0], [0, 0, 0, 1]])
    return Data(x=torch.eye(num_nodes), edge_index=edge_index, num_nodes=num_nodes)


def only_batch(loader: Any) -> Data:
    (batch,) = list(loader)
    return batch


def findings_of(*args: Any, loader: Any = NeighborLoader, **kwargs: Any) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        loader(*args, **kwargs)
    assert caught.value.subject == loader.__name__
    return {item.where: item.got for item in caught.value.findings}


@pytest.mark.parametrize(
    "kind", [list, tuple, np.array, torch.tensor, lambda ids: torch.tensor(ids, dtype=torch.int32)]
)
def test_seeds_come_as_any_sequence_of_whole_numbers(kind: Any) -> None:
    batch = only_batch(NeighborLoader(star(), [-1], kind([0, 4]), batch_size=2))
    assert batch.n_id.tolist() == [0, 4, 1, 2, 3]
    assert batch.input_id.tolist() == [0, 1]


def test_a_mask_names_its_nodes_and_other_seeds_their_positions() -> None:
    mask = torch.tensor([False, True, False, False, True, False])
    assert only_batch(NeighborLoader(star(), [1], mask, batch_size=9)).input_id.tolist() == [1, 4]
    assert only_batch(NeighborLoader(star(), [1], [1, 4], batch_size=9)).input_id.tolist() == [0, 1]
    batch = only_batch(NeighborLoader(star(), [1], [1, 4], batch_size=9, input_id=torch.tensor([70, 80])))
    assert batch.input_id.tolist() == [70, 80]


def test_a_repeated_seed_has_a_row_for_each_time_with_the_same_edges() -> None:
    batch = only_batch(NeighborLoader(star(), [-1], [0, 1, 0], batch_size=3))
    assert batch.n_id.tolist() == [0, 1, 0, 2, 3]
    assert batch.batch_size == 3
    # Into both rows of node 0 from 1, 2 and 3; into node 1 from the first row of node 0.
    assert batch.edge_index.tolist() == [[1, 3, 4, 0, 1, 3, 4], [0, 0, 0, 1, 2, 2, 2]]
    assert batch.e_id.tolist() == [0, 1, 2, 3, 0, 1, 2]
    assert (batch.num_sampled_nodes, batch.num_sampled_edges) == ([3, 2], [7])


@pytest.mark.parametrize("options", [{"disjoint": True}, {"neighbor_sampler": "shadow"}], ids=str)
def test_a_repeated_seed_has_a_tree_for_each_time(options: dict[str, Any]) -> None:
    batch = only_batch(NeighborLoader(star(), [-1], [0, 5, 0], batch_size=3, **options))
    assert batch.n_id[:3].tolist() == [0, 5, 0]
    assert batch.batch.bincount().tolist() == [4, 1, 4]
    assert torch.equal(batch.n_id[batch.batch == 0], batch.n_id[batch.batch == 2])


def test_rows_of_a_repeated_seed_get_the_same_output() -> None:
    torch.manual_seed(0)
    edge_index = torch.randint(0, 30, (2, 200))
    data = Data(x=torch.randn(30, 4), edge_index=edge_index, num_nodes=30)
    model = GCN(4, 8, 2, 3).eval()
    batch = only_batch(NeighborLoader(data, [3, 3], [9, 4, 9, 9, 4, 1], batch_size=6, model=model))
    out = model(batch.x, batch.edge_index)
    assert torch.allclose(out[0], out[2])
    assert torch.allclose(out[0], out[3])
    assert torch.allclose(out[1], out[4])


def test_isolated_seeds_are_a_batch_without_edges() -> None:
    batch = only_batch(NeighborLoader(star(), [5, 5], [4, 5], batch_size=2))
    assert (batch.num_nodes, batch.num_edges, batch.edge_index.shape) == (2, 0, (2, 0))
    assert (batch.num_sampled_nodes, batch.num_sampled_edges) == ([2, 0, 0], [0, 0])


def test_seeds_that_edges_only_leave_are_told() -> None:
    with pytest.warns(UserWarning, match="edges leave the seeds") as caught:
        loader = NeighborLoader(star(), [2], [2, 3])
    assert caught[0].filename == __file__
    assert [batch.num_edges for batch in loader] == [0, 0]


def test_no_seeds_are_an_epoch_without_batches() -> None:
    for nothing in ([], torch.zeros(6, dtype=torch.bool), torch.empty(0, dtype=torch.long)):
        for shuffle in (False, True):
            loader = NeighborLoader(star(), [2], nothing, shuffle=shuffle)
            assert (len(loader), list(loader)) == (0, [])


def test_nodes_beyond_every_edge_are_there() -> None:
    batch = only_batch(NeighborLoader(star(40), [-1, -1], batch_size=40))
    assert batch.n_id.tolist() == list(range(40))
    assert batch.num_edges == 4


def test_a_graph_without_edges_or_with_one_node_is_sampled() -> None:
    alone = Data(x=torch.ones(1, 2), edge_index=torch.zeros(2, 0, dtype=torch.long))
    assert only_batch(NeighborLoader(alone, [3])).n_id.tolist() == [0]
    loop = Data(x=torch.ones(1, 2), edge_index=torch.zeros(2, 1, dtype=torch.long))
    assert only_batch(NeighborLoader(loop, [3, 3])).edge_index.tolist() == [[0], [0]]


@pytest.mark.parametrize(
    ("seeds", "got"),
    [
        ([0.0, 1.0], "float64 [0.0, 1.0]"),
        (torch.tensor([1.5]), "float32 [1.5]"),
        ([0, 6], "1 outside: [6]"),
        ([-1], "1 outside: [-1]"),
        ([True], "shape (1,)"),
        ([[0], [1]], "shape (2, 1)"),
        (("paper", [0]), "a tuple of mixed shape"),
    ],
)
def test_wrong_seeds_are_named(seeds: Any, got: str) -> None:
    assert findings_of(star(), [2], seeds) == {"input_nodes": got}


def test_all_mistakes_are_told_at_once() -> None:
    found = findings_of(
        star(),
        [2, -3],
        replace="yes",
        subgraph_type="both",
        temporal_strategy="first",
        transform=3,
        filter_per_worker=1,
        input_time=torch.zeros(6),
        batch_size=None,
        multiprocessing_context="fork",
        custom_cls=Data,
        num_neighbours=[3],
        rng_seed=0,
        generator=torch.Generator(),
    )
    assert set(found) == {
        *("replace", "subgraph_type", "temporal_strategy", "transform", "filter_per_worker", "input_time"),
        *("batch_size", "multiprocessing_context", "custom_cls", "num_neighbours", "num_neighbors"),
        "rng_seed, generator",
    }


@pytest.mark.parametrize("fanouts", [[], 3, [2.0], ["all"], [[2, 2]], {("a", "to", "b"): [2]}, NumNeighbors({}), None])
def test_fanouts_that_are_none_are_named(fanouts: Any) -> None:
    assert set(findings_of(star(), fanouts)) == {"num_neighbors"}


@pytest.mark.parametrize("fanouts", [(2, -1), np.array([2, -1]), torch.tensor([2, -1]), NumNeighbors([2, -1])])
def test_fanouts_come_as_any_sequence(fanouts: Any) -> None:
    assert NeighborLoader(star(), fanouts).sampling.num_hops == 2


@pytest.mark.parametrize("loader", [NeighborLoader, LinkNeighborLoader])
def test_data_that_is_no_homogeneous_graph_is_named(loader: Any) -> None:
    hetero = HeteroData()
    hetero["paper"].x = torch.ones(3, 1)
    assert findings_of(hetero, [2], loader=loader) == {"data": "HeteroData (not supported)"}
    stores = (object(), object())
    assert findings_of(stores, [2], loader=loader) == {
        "data": "tuple of 2 (a feature and graph store are not supported)"
    }
    assert findings_of(torch.ones(2, 3), [2], loader=loader) == {"data": "Tensor"}
    transposed = Data(num_nodes=3)
    transposed.adj_t = torch.eye(3).to_sparse_coo()
    assert set(findings_of(transposed, [2], loader=loader)) == {"data.adj_t"}


def test_wrong_edges_are_named() -> None:
    data = Data(edge_index=torch.tensor([[0, 7], [1, 1]]), num_nodes=3)
    assert findings_of(data, [2]) == {"edge_index": "1 outside, first 7 at edge_index[0, 1]"}
    data = Data(edge_index=torch.tensor([[0.0], [1.0]]), num_nodes=3)
    assert set(findings_of(data, [2])) == {"edge_index"}


def test_pygs_words_are_understood() -> None:
    with pytest.warns(DeprecationWarning, match="subgraph_type='induced'"):
        loader = NeighborLoader(star(), [1], [1], directed=False)
    assert loader.sampling.sampler.subgraph_type == "induced"
    assert NeighborLoader(star(), [1], subgraph_type=SubgraphType.bidirectional).sampling.is_bidirectional
    batch = only_batch(NeighborLoader(star(), [1], is_sorted=True, batch_size=6, dataset=None, collate_fn=None))
    assert torch.equal(star().edge_index[:, batch.e_id], batch.n_id[batch.edge_index])


@pytest.mark.parametrize("num_layers", [1, 3])
def test_fanouts_of_another_length_than_the_model_warn_with_both_numbers(num_layers: int) -> None:
    expected = f"num_neighbors has 2 hops and the model {num_layers} message-passing layers"
    with pytest.warns(UserWarning, match=expected) as caught:
        NeighborLoader(star(), [2, 2], model=GCN(6, 4, num_layers, 2))
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=expected) as caught:
        LinkNeighborLoader(star(), [2, 2], model=GCN(6, 4, num_layers, 2))
    assert caught[0].filename == __file__


def test_models_that_fit_or_cannot_be_told_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (GCN(6, 4, 2, 2), SGConv(6, 2, K=3), MLP([6, 2])):
            NeighborLoader(star(), [2, 2], model=model)
        NeighborLoader(star(), None, model=GCN(6, 4, 3, 2), neighbor_sampler="shadow")  # its hops are no layers


def test_a_sampler_of_the_workbench_can_take_the_place() -> None:
    by_name = only_batch(NeighborLoader(star(), None, [1], neighbor_sampler="full"))
    by_object = only_batch(NeighborLoader(star(), None, [1], neighbor_sampler=SAMPLERS.create("full", num_hops=2)))
    assert by_name.n_id.tolist() == by_object.n_id.tolist() == [1, 0, 2, 3]
    found = findings_of(star(), [1], neighbor_sampler="full", replace=True, subgraph_type="induced")
    assert set(found) == {"replace", "subgraph_type"}
    assert set(findings_of(star(), [1], neighbor_sampler="fastest")) == {"neighbor_sampler"}


class Backwards(BaseSampler):
    """Gives each seed itself and no edge, and the edges a new order."""

    @property
    def edge_permutation(self) -> torch.Tensor:
        return torch.tensor([3, 2, 1, 0])

    def sample_from_nodes(self, inputs: Any) -> SamplerOutput:
        zero = torch.tensor([0])
        metadata = (inputs.input_id, inputs.time)
        return SamplerOutput(node=inputs.node, row=zero, col=zero, edge=zero, metadata=metadata)

    def sample_from_edges(self, inputs: Any, neg_sampling: Any = None) -> SamplerOutput:
        raise NotImplementedError


def test_a_sampler_of_pygs_kind_can_take_the_place() -> None:
    batch = only_batch(NeighborLoader(star(), None, [2, 5], neighbor_sampler=Backwards(), batch_size=2, num_workers=3))
    assert (batch.n_id.tolist(), batch.e_id.tolist(), batch.input_id.tolist()) == ([2, 5], [3], [0, 1])


def test_pygs_own_sampler_is_refused_where_it_could_not_sample() -> None:
    with pytest.warns(UserWarning, match="pyg-lib"):
        sampler = PygNeighborSampler(star(), [2])
    assert set(findings_of(star(), [2], neighbor_sampler=sampler)) == {"neighbor_sampler"}
