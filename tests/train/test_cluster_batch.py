"""Cluster-GCN: every cluster once an epoch, clusters stay with their rank, all of them at once are the full batch."""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from workbench.core.errors import InputError
from workbench.gather import BatchMaker, BatchPlan, LocalSource, epoch_requests
from workbench.graph import Graph
from workbench.models import MODELS
from workbench.partition import partition
from workbench.sampling import SAMPLERS
from workbench.sampling.cluster_owners import deal_clusters
from workbench.sampling.methods.cluster import ClusterSampler
from workbench.testing import graphs
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import resolve
from workbench.train.strategies.cluster_batch import ClusterBatch

NewFolder = Callable[[], Path]
QUIET: dict[str, Any] = {"evaluate_every": 0, "checkpoint_every": 0}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return graphs.random(90, 300)


def double(name: str, graph: Graph, rng_seed: int = 3) -> torch.nn.Module:
    torch.manual_seed(rng_seed)
    spec = MODELS.create(name, hidden_channels=7, dropout=0.0)
    return spec.build(graph.num_features, graph.num_classes).double()


def trained(run: LocalRun) -> dict[str, torch.Tensor]:
    weights: dict[str, torch.Tensor] = torch.load(run.folder / "model.pt", weights_only=True)
    return weights


def plan_of(graph: Graph, world_size: int, rng_seed: int = 0, **words: Any) -> BatchPlan:
    sampler = SAMPLERS.to_dict(ClusterBatch(partitioner="hash", **words).sampler(world_size))
    return BatchPlan(folder=str(graph.store()), sampler=sampler, world_size=world_size, rng_seed=rng_seed)


def epoch_of(maker: BatchMaker, epoch: int) -> list[list[Any]]:
    """Return the batches of each rank."""
    steps = maker.steps_per_epoch
    return [
        [maker.make(epoch=epoch, step=(epoch - 1) * steps + step + 1, rank=rank) for step in range(steps)]
        for rank in range(maker.plan.world_size)
    ]


@pytest.mark.parametrize("model", ["gcn", "sage"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_all_clusters_in_one_batch_are_the_full_batch(
    model: str, optimizer: str, graph: Graph, new_folder: NewFolder
) -> None:
    """Identity 12, in double precision: losses, the gradient of the first step, and the weights after five."""
    module, at_once = double(model, graph), {"num_clusters": 6, "clusters_per_batch": 6, "partitioner": "hash"}
    for epochs in (1, 5):  # one step of SGD with lr 1 changes the weights by the gradient
        words = {"epochs": epochs, "optimizer": optimizer, "lr": 1.0 if epochs == 1 else 0.05, **QUIET}
        whole = train_here(resolve(graph, module, "full_graph", **words), new_folder())
        clustered = train_here(resolve(graph, module, "cluster_batch", **at_once, **words), new_folder())
        assert clustered.losses == pytest.approx(whole.losses, rel=1e-10, abs=1e-10)
        expected, found = trained(whole), trained(clustered)
        for name, value in expected.items():
            torch.testing.assert_close(found[name], value, rtol=1e-10, atol=1e-10)
            assert not torch.equal(value, module.state_dict()[name]), "the step has changed it"


@pytest.mark.parametrize(("world_size", "per_batch"), list(itertools.product((1, 2, 3, 5), (1, 2, 4))))
def test_every_cluster_comes_once_an_epoch_and_stays_with_its_rank(
    world_size: int, per_batch: int, graph: Graph
) -> None:
    maker = BatchMaker(plan_of(graph, world_size, num_clusters=11, clusters_per_batch=per_batch))
    assert isinstance(maker.sampler, ClusterSampler)
    clusters = maker.sampler.clusters(maker.graph)
    owned: list[set[int]] = []
    for epoch in (1, 2):
        ranks = epoch_of(maker, epoch)
        assert len({len(batches) for batches in ranks}) == 1, "as many steps on every rank"
        found = [[set(clusters[batch.node_ids].tolist()) for batch in batches] for batches in ranks]
        assert all(len(batch) <= per_batch for batches in found for batch in batches)
        assert Counter(c for batches in found for batch in batches for c in batch) == dict.fromkeys(range(11), 1)
        nodes = np.concatenate([batch.node_ids for batches in ranks for batch in batches])
        assert np.array_equal(np.sort(nodes), np.arange(graph.num_nodes))
        owned.append([set.union(*batches) for batches in found])  # type: ignore[arg-type]
    assert owned[0] == owned[1]
    assert max(map(len, owned[0])) - min(map(len, owned[0])) <= 1  # type: ignore[arg-type]


def test_clusters_are_regrouped_every_epoch_and_by_rng_seed(graph: Graph) -> None:
    def groups(epoch: int, rng_seed: int = 0) -> list[list[int]]:
        maker = BatchMaker(plan_of(graph, 2, rng_seed, num_clusters=12, clusters_per_batch=2))
        return [batch.node_ids.tolist() for batches in epoch_of(maker, epoch) for batch in batches]

    assert groups(1) == groups(1)
    assert groups(1) != groups(2)
    assert groups(1) != groups(1, rng_seed=1)


def test_a_batch_has_every_edge_among_its_nodes_and_the_rest_is_dropped(graph: Graph) -> None:
    """A = block diagonal + dropped: with one cluster a step, edges that an epoch uses + edges cut == all edges."""
    clusters = partition(graph, 9, "metis")
    quality = clusters.quality()
    plan = BatchPlan(
        folder=str(graph.store()),
        sampler=SAMPLERS.to_dict(ClusterBatch(partitioner=clusters, clusters_per_batch=1).sampler(2)),
        world_size=2,
    )
    batches = [batch for rank in epoch_of(BatchMaker(plan), 1) for batch in rank]
    used = np.sort(np.concatenate([batch.edge_ids for batch in batches]))
    source, destination = graph.edge_index()
    inside = np.flatnonzero(clusters.assignment[source] == clusters.assignment[destination])
    assert np.array_equal(used, inside)
    assert len(used) + quality.edge_cut == graph.num_edges
    for batch in batches:  # embedding utilisation: what a batch computes with are the edges inside of it
        among = np.isin(source, batch.node_ids) & np.isin(destination, batch.node_ids)
        assert batch.num_edges == among.sum()
        assert np.array_equal(np.sort(batch.edge_ids), np.flatnonzero(among))


def test_edges_between_the_clusters_of_a_batch_are_kept(graph: Graph) -> None:
    maker = BatchMaker(plan_of(graph, 1, num_clusters=9, clusters_per_batch=3))
    clusters = maker.sampler.clusters(maker.graph)  # type: ignore[attr-defined]
    (batches,) = epoch_of(maker, 1)
    for batch in batches:
        of_edge = clusters[batch.node_ids[batch.edge_index]]
        assert (of_edge[0] != of_edge[1]).any()


def test_clusters_are_dealt_out_evenly() -> None:
    loads = np.array([9.0, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    owned = deal_clusters(loads, 3)
    assert sorted(np.concatenate(owned).tolist()) == list(range(10))
    assert sorted(map(len, owned)) == [3, 3, 4]
    heavy = next(own for own in owned if 0 in own)
    assert len(heavy) == 3
    loads = np.linspace(1, 2, 30)
    sums = sorted(loads[own].sum() for own in deal_clusters(loads, 5))
    assert sums[-1] / sums[0] < 1.05
    assert [len(own) for own in deal_clusters(np.ones(2), 4)] == [1, 1, 0, 0]


def test_a_gradient_of_several_ranks_is_that_of_their_joint_batch(graph: Graph, new_folder: NewFolder) -> None:
    """One step, one cluster a rank: the update is the one of the mean over all training nodes, each cluster alone."""
    module = double("gcn", graph)
    clusters = partition(graph, 3, "hash")
    words = {"partitioner": clusters, "clusters_per_batch": 1, "epochs": 1, "optimizer": "sgd", "lr": 1.0, **QUIET}
    run = train_here(resolve(graph, module, "cluster_batch", trainers=3, **words), new_folder())
    model = copy.deepcopy(module)
    data = torch.from_numpy(graph.edge_index())
    owner = torch.from_numpy(clusters.assignment.copy())
    inside = data[:, owner[data[0]] == owner[data[1]]]  # separate clusters in one forward: the block diagonal
    outputs = model(torch.from_numpy(np.array(graph.x)).double(), inside)
    train_nodes = torch.from_numpy(np.array(graph.train_nodes))
    loss = torch.nn.functional.cross_entropy(outputs[train_nodes], torch.from_numpy(np.array(graph.y))[train_nodes])
    loss.backward()
    assert run.losses[0] == pytest.approx(loss.item(), abs=1e-10)
    for name, parameter in model.named_parameters():
        expected = module.state_dict()[name] - parameter.grad
        torch.testing.assert_close(trained(run)[name], expected, rtol=1e-10, atol=1e-10)


def test_no_feature_row_travels_between_ranks(graph: Graph, new_folder: NewFolder) -> None:
    words = {"num_clusters": 8, "clusters_per_batch": 2, "partitioner": "hash", "hidden_channels": 8, "epochs": 2}
    run = train_here(resolve(graph, "gcn", "cluster_batch", trainers=2, **words), new_folder())
    steps = run.told("step_finished")
    assert {kind for step in steps for kind in step["bytes"]} == {"gather", "all_reduce", "all_reduce_modelled"}
    width = graph.num_features * 4
    assert all(step["bytes"].get("gather", 0) == step["num_nodes"] * width for step in steps)
    assert sum(step["num_seeds"] for step in steps) == 2 * len(graph.train_nodes)


def test_ranks_without_a_cluster_or_a_training_node_join_with_zeros(new_folder: NewFolder) -> None:
    """3 training nodes, 4 ranks, 5 clusters: no deadlock, and every training node counts once an epoch."""
    graph = graphs.random(40, 80).with_data(train_nodes=np.array([0, 2, 4]))
    words = {"num_clusters": 5, "clusters_per_batch": 1, "partitioner": "hash", "hidden_channels": 4, "epochs": 2}
    run = train_here(resolve(graph, "sage", "cluster_batch", trainers=4, **words), new_folder())
    assert all(outcome.status == "finished" for outcome in run.outcomes)
    assert sum(step["num_seeds"] for step in run.told("step_finished")) == 6
    assert {len(run.told("step_finished", rank=rank)) for rank in range(4)} == {4}
    fewer = train_here(
        resolve(graph, "sage", "cluster_batch", trainers=4, **{**words, "num_clusters": 2}), new_folder()
    )
    assert sum(step["num_nodes"] for step in fewer.told("step_finished")) == 2 * graph.num_nodes


def test_batches_are_the_same_bits_whoever_makes_them(graph: Graph) -> None:
    """A plan that travelled as JSON, a background thread, and batches asked for out of order."""
    plan = plan_of(graph, 2, num_clusters=10, clusters_per_batch=2)
    elsewhere = BatchMaker(BatchPlan.from_json(plan.to_json()))
    steps = elsewhere.steps_per_epoch
    requests = list(epoch_requests(epoch=2, rank=1, steps_per_epoch=steps))
    with LocalSource(plan) as source:
        ahead = list(source.batches(requests))
    for batch, request in reversed(list(zip(ahead, requests, strict=True))):
        ours, theirs = batch.to_arrays(), elsewhere.answer(request).to_arrays()
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours.keys() - {"spans"})


def test_a_partition_given_is_the_clusters(graph: Graph) -> None:
    made = partition(graph, 7, "random")
    resolved = resolve(graph, "gcn", "cluster_batch", partitioner=made, epochs=1)
    params = resolved.config.strategy.params
    assert (params["num_clusters"], params["partitioner"]) == (7, "random")
    assert resolved.summary == "gcn · cluster_batch · 5 of 7 clusters · 1 trainer · 0 samplers"
    again = ClusterBatch.from_kwargs(dict(params))
    assert np.array_equal(again.sampler(1).clusters(graph), made.assignment)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"partitioner": "metiss"}, "metis"),
        ({"partitioner": "hdrf"}, "divides the edges"),
        ({"num_clusters": 0}, "num_clusters"),
        ({"clusters_per_batch": 0}, "clusters_per_batch"),
        ({"batch_size": 10}, "batch_size"),
        ({"sampler": "neighbor"}, "sampler"),
    ],
)
def test_what_does_not_fit_is_refused(words: dict[str, Any], named: str, graph: Graph) -> None:
    with pytest.raises(InputError, match=named):
        resolve(graph, "gcn", "cluster_batch", epochs=1, **words)


def test_a_partition_of_another_graph_or_number_is_refused(graph: Graph) -> None:
    with pytest.raises(InputError, match="fingerprint"):
        resolve(graph, "gcn", "cluster_batch", partitioner=partition(graphs.random(90, 301), 4, "hash"), epochs=1)
    with pytest.raises(InputError, match="4 parts"):
        resolve(graph, "gcn", "cluster_batch", partitioner=partition(graph, 4, "hash"), num_clusters=5, epochs=1)


def test_more_trainers_than_clusters_is_remarked(graph: Graph) -> None:
    resolved = resolve(graph, "gcn", "cluster_batch", num_clusters=2, partitioner="hash", trainers=3, epochs=1)
    assert any("nothing to do" in finding.got for finding in resolved.warnings)


def test_a_layer_that_keeps_its_first_graph_is_refused(graph: Graph) -> None:
    from torch_geometric.nn import GCNConv

    with pytest.raises(InputError, match="cached=True"):
        resolve(graph, lambda a, b: GCNConv(a, b, cached=True), "cluster_batch", epochs=1)
