"""LinkNeighborLoader: the batches are PyG's, negatives are where they belong, seed edges can be left out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.sampler import NegativeSampling

from workbench.core.errors import InputError
from workbench.gather import LinkNeighborLoader
from workbench.gather.loader_draw import DrawKey
from workbench.testing.pyg_reference import reference_of

NUM_NODES, NUM_EDGES = 40, 150
KEY = DrawKey(rng_seed=0, epoch=0, batch=0)
# Only one node can be drawn: negatives are known, and whole batches can be compared.
ONLY_SEVEN = torch.nn.functional.one_hot(torch.tensor(7), NUM_NODES).float()


@pytest.fixture
def data() -> Data:
    torch.manual_seed(0)
    return Data(
        x=torch.randn(NUM_NODES, 3),
        edge_index=torch.randint(0, NUM_NODES, (2, NUM_EDGES)),
        edge_attr=torch.arange(NUM_EDGES),
        node_time=torch.randint(0, 50, (NUM_NODES,)),
        edge_time=torch.randint(0, 50, (NUM_EDGES,)),
        num_nodes=NUM_NODES,
    )


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, torch.Tensor):
        return ours.dtype == theirs.dtype and torch.equal(ours, theirs)
    return type(ours) is type(theirs) and bool(ours == theirs)


def negatives(mode: str, amount: float) -> NegativeSampling:
    return NegativeSampling(mode, amount, src_weight=ONLY_SEVEN, dst_weight=ONLY_SEVEN)


@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize(
    ("neg_sampling", "label"),
    [
        (None, None),
        (None, torch.arange(NUM_EDGES) % 3),
        (negatives("binary", 1), None),
        (negatives("binary", 2), torch.arange(NUM_EDGES) % 3),
        (negatives("binary", 1), torch.arange(NUM_EDGES) + 1),
        (negatives("binary", 1), torch.ones(NUM_EDGES, 2)),
        (negatives("triplet", 1), None),
        (negatives("triplet", 3), None),
    ],
    ids=["plain", "labels", "binary", "binary-labels", "labels-from-1", "rows", "triplet", "triplets"],
)
def test_batches_have_what_pyg_gives_them(data: Data, neg_sampling: Any, label: Any, disjoint: bool) -> None:
    options = {"edge_label": label, "neg_sampling": neg_sampling}
    loader = LinkNeighborLoader(data, [-1, -1], disjoint=disjoint, batch_size=40, **options)
    reference = reference_of(loader, KEY, batch_size=40, **options)
    assert len(loader) == len(reference) == 4
    for ours, theirs in zip(loader, reference, strict=True):
        assert set(ours.keys()) == set(theirs.keys())
        assert {key: ours[key] for key in ours.keys() if not same(ours[key], theirs[key])} == {}  # noqa: SIM118


@pytest.mark.parametrize("time_attr", ["node_time", "edge_time"])
@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_batches_with_times_have_what_pyg_gives_them(data: Data, time_attr: str, mode: str) -> None:
    data.node_time[7] = 0  # so that the only negative is never too late
    time = torch.arange(NUM_EDGES) // 3
    options = {"edge_label_time": time, "neg_sampling": negatives(mode, 2)}
    loader = LinkNeighborLoader(data, [-1, -1], time_attr=time_attr, batch_size=40, **options)
    for ours, theirs in zip(loader, reference_of(loader, KEY, batch_size=40, **options), strict=True):
        assert set(ours.keys()) == set(theirs.keys())
        assert {key: ours[key] for key in ours.keys() if not same(ours[key], theirs[key])} == {}  # noqa: SIM118


def test_seed_edges_are_found_in_the_batch_under_their_ids(data: Data) -> None:
    pairs = torch.randint(0, NUM_NODES, (2, 30))
    for batch in LinkNeighborLoader(data, [3, 2], pairs, batch_size=8, shuffle=True):
        assert torch.equal(batch.n_id[batch.edge_label_index], pairs[:, batch.input_id])
        assert torch.equal(data.edge_index[:, batch.e_id], batch.n_id[batch.edge_index])
        assert len(batch.n_id.unique()) == len(batch.n_id)


def test_binary_negatives_follow_the_positives(data: Data) -> None:
    for form in ("binary", ("binary", 1.5), {"mode": "binary", "amount": 1.5}, NegativeSampling("binary", 1.5)):
        amount = 1.0 if form == "binary" else 1.5
        batch = next(iter(LinkNeighborLoader(data, [2], neg_sampling=form, batch_size=11)))
        num_negative = -int(-11 * amount // 1)
        assert batch.edge_label.tolist() == [1.0] * 11 + [0.0] * num_negative
        assert torch.equal(batch.n_id[batch.edge_label_index[:, :11]], data.edge_index[:, batch.input_id])
    batch = next(iter(LinkNeighborLoader(data, [2], neg_sampling_ratio=2.0, batch_size=11)))
    assert batch.edge_label_index.shape == (2, 33)
    batch = next(iter(LinkNeighborLoader(data, [2], neg_sampling_ratio=0.0, batch_size=11)))
    assert batch.edge_label_index.shape == (2, 11)


def test_triplets_share_the_source(data: Data) -> None:
    batch = next(iter(LinkNeighborLoader(data, [2], neg_sampling=("triplet", 4), batch_size=11)))
    pairs = torch.stack([batch.n_id[batch.src_index], batch.n_id[batch.dst_pos_index]])
    assert torch.equal(pairs, data.edge_index[:, batch.input_id])
    assert batch.dst_neg_index.shape == (11, 4)
    assert "edge_label_index" not in batch


def test_repeated_and_isolated_pairs_are_sampled() -> None:
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=6)
    pairs = torch.tensor([[0, 0, 5, 4], [1, 1, 5, 3]])
    (batch,) = LinkNeighborLoader(data, [-1], pairs, batch_size=4)
    assert batch.n_id.tolist() == [0, 1, 3, 4, 5]
    assert batch.edge_label_index.tolist() == [[0, 0, 4, 3], [1, 1, 4, 2]]
    assert batch.num_edges == 2
    (batch,) = LinkNeighborLoader(data, [-1], pairs, batch_size=4, disjoint=True)
    assert batch.n_id[:8].tolist() == pairs.flatten().tolist()
    assert batch.batch[:8].tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


def test_trees_of_another_sampler_have_the_number_of_their_pair() -> None:
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=6)
    pairs = torch.tensor([[5, 4, 1], [2, 0, 1]])
    (batch,) = LinkNeighborLoader(data, None, pairs, batch_size=3, neighbor_sampler="shadow")
    assert batch.n_id[batch.edge_label_index].tolist() == pairs.tolist()
    assert batch.batch[batch.edge_label_index].tolist() == [[0, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_seed_edges_can_be_left_out_of_the_sample(data: Data, disjoint: bool, workers: int) -> None:
    data.edge_index = torch.cat([data.edge_index[:, :75], data.edge_index[:, :75].flip(0)], dim=1)  # both directions
    options = {"disjoint": disjoint, "num_workers": workers, "batch_size": 20, "rng_seed": 5, "neg_sampling": "binary"}
    plain, both, forward = (
        list(LinkNeighborLoader(data, [4, 4], exclude_seed_edges=excluded, **options))
        for excluded in (False, True, "forward")
    )
    counts = [0, 0, 0]
    for batches in zip(plain, both, forward, strict=True):
        positive = data.edge_index[:, batches[0].input_id].T.tolist()
        for which, batch in enumerate(batches):
            edges = batch.n_id[batch.edge_index].T.tolist()
            counts[which] += sum(edge in positive or edge[::-1] in positive for edge in edges)
            if which == 2:
                assert not any(edge in positive for edge in edges)
            assert sum(batch.num_sampled_edges) == batch.num_edges == len(batch.edge_attr)
            # What is left is what would have been sampled.
            assert set(batch.e_id.tolist()) <= set(batches[0].e_id.tolist())
            assert torch.equal(batch.edge_label_index, batches[0].edge_label_index)
    assert counts[0] > counts[2] > counts[1] == 0


def findings_of(data: Any, **kwargs: Any) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        LinkNeighborLoader(data, [2], **kwargs)
    return {item.where: item.got for item in caught.value.findings}


@pytest.mark.parametrize(
    ("kwargs", "where"),
    [
        ({"edge_label_index": ("a", "to", "b")}, "edge_label_index"),
        ({"edge_label_index": (("a", "to", "b"), torch.zeros(2, 3, dtype=torch.long))}, "edge_label_index"),
        ({"edge_label_index": torch.zeros(3, 2, dtype=torch.long)}, "edge_label_index"),
        ({"edge_label_index": torch.zeros(2, 3)}, "edge_label_index"),
        ({"edge_label_index": torch.tensor([[0], [NUM_NODES]])}, "edge_label_index"),
        ({"edge_label": torch.ones(3)}, "edge_label"),
        ({"edge_label": torch.ones(NUM_EDGES), "neg_sampling": "triplet"}, "edge_label"),
        ({"edge_label_time": torch.ones(NUM_EDGES)}, "time_attr"),
        ({"time_attr": "node_time"}, "edge_label_time"),
        ({"time_attr": "node_time", "edge_label_time": torch.ones(3)}, "edge_label_time"),
        ({"neg_sampling": "tripel"}, "neg_sampling"),
        ({"neg_sampling": ("binary", 0)}, "neg_sampling"),
        ({"neg_sampling": ("triplet", 1.5)}, "neg_sampling"),
        ({"neg_sampling": ("binary", 1, torch.ones(3))}, "neg_sampling.src_weight"),
        ({"neg_sampling": ("binary", 1, None, -torch.ones(NUM_NODES))}, "neg_sampling.dst_weight"),
        ({"neg_sampling": ("binary", 1, None, torch.zeros(NUM_NODES))}, "neg_sampling.dst_weight"),
        ({"exclude_seed_edges": "reverse"}, "exclude_seed_edges"),
        ({"exclude_seed_edges": "forward", "subgraph_type": "bidirectional"}, "exclude_seed_edges"),
        ({"num_neighbours": [3]}, "num_neighbours"),
    ],
)
def test_mistakes_are_named_at_construction(data: Data, kwargs: Any, where: str) -> None:
    assert set(findings_of(data, **kwargs)) == {where}


def test_negatives_drawn_in_a_way_of_their_own_are_refused(data: Data) -> None:
    class Hard(NegativeSampling):
        def sample(self, *args: Any, **kwargs: Any) -> torch.Tensor:
            return torch.zeros(1, dtype=torch.long)

    assert set(findings_of(data, neg_sampling=Hard("binary"))) == {"neg_sampling"}


def test_batches_are_the_same_for_any_number_of_workers(data: Data) -> None:
    options = {"neg_sampling": ("triplet", 2), "batch_size": 16, "shuffle": True, "rng_seed": 3}
    runs = [list(LinkNeighborLoader(data, [3, 2], num_workers=workers, **options)) for workers in (0, 1, 3)]
    for batches in zip(*runs, strict=True):
        for other in batches[1:]:
            assert all(same(other[key], batches[0][key]) for key in batches[0].keys())  # noqa: SIM118
