"""Runs by halo exchange: what moves is what the theory says, unequal ranks give the full batch, stops are resumed."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import BatchNorm, GCNConv, GraphNorm, SAGEConv

from tests.train.halo_runs import by_hand, mixed_graph, on_parts, on_the_whole_graph
from tests.train.test_resume import control_at
from workbench.core.errors import InputError, RunError
from workbench.graph import Graph
from workbench.models import MODELS
from workbench.partition import partition
from workbench.testing.graphs import path
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import resolve

NewFolder = Callable[[], Path]
F0, HIDDEN, CLASSES = 5, 6, 3
GRAPH = mixed_graph(F0, CLASSES)
NO_OTHER_SPLITS: dict[str, Any] = dict.fromkeys(("val_nodes", "test_nodes"), np.zeros(0, np.int64))
DOUBLE = 8  # bytes of a number in double precision


def model(name: str, **params: Any) -> nn.Module:
    torch.manual_seed(0)
    known = {info.name for info in MODELS.entry(name).params}
    small = {"hidden_channels": HIDDEN, "dropout": 0.0} | params
    return (
        MODELS.create(name, **{key: value for key, value in small.items() if key in known}).build(F0, CLASSES).double()
    )


class Normed(nn.Module):
    """Two layers with BatchNorm between them."""

    def __init__(self, norm: Callable[[int], nn.Module] = BatchNorm, in_channels: int = F0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.norm, self.top = SAGEConv(in_channels, HIDDEN), norm(HIDDEN), SAGEConv(HIDDEN, CLASSES)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.top(self.norm(self.conv(x, edge_index)).relu(), edge_index)
        return out


# model -> widths that move forward and backward at each call; features of the halo are there from the start
WIDTHS: dict[str, tuple[Callable[[], nn.Module], list[int], list[int]]] = {
    "sage": (lambda: model("sage", num_layers=3), [HIDDEN, HIDDEN], [HIDDEN, HIDDEN]),
    "gcn": (lambda: model("gcn", num_layers=3, dropout=0.0), [HIDDEN, HIDDEN], [HIDDEN, HIDDEN]),
    "gcn that drops features": (lambda: model("gcn", num_layers=2, dropout=0.5), [F0, HIDDEN], [HIDDEN]),
    "gat": (lambda: model("gat", num_layers=2, heads=2), [HIDDEN], [HIDDEN]),
    "sgc": (lambda: model("sgc", K=3), [F0, F0], []),  # its one linear map comes last: nothing before it learns
    "appnp": (lambda: model("appnp", K=3), [CLASSES] * 3, [CLASSES] * 3),
}


@pytest.mark.parametrize("method", ["random", "metis"])
@pytest.mark.parametrize("name", WIDTHS)
def test_bytes_counted_are_those_of_the_formula(name: str, method: str, tmp_path: Path) -> None:
    make, forward, backward = WIDTHS[name]
    parts = partition(GRAPH, 3, method)
    halo = sum(len(part.halo_nodes) for part in parts.parts())
    assert halo == parts.quality().comm_volume
    moved = sum((rank.bytes for rank in on_parts(make(), parts.write_parts(tmp_path / "p"), 3, keyed=True)), Counter())
    assert moved["halo_forward"] == DOUBLE * halo * sum(forward)
    assert moved["halo_backward"] == DOUBLE * halo * sum(backward)
    assert moved["halo_statistics"] in (0, DOUBLE * halo)  # degrees, once, for the layers that read them
    assert set(moved) <= {"halo_forward", "halo_backward", "halo_statistics"}


def test_batch_statistics_move_two_sums_a_direction(tmp_path: Path) -> None:
    folder = partition(GRAPH, 2, "random").write_parts(tmp_path / "p")
    for rank in on_parts(Normed().double(), folder, 2):
        assert rank.bytes["batch_norm"] == 2 * DOUBLE * (HIDDEN + 1 + HIDDEN)


@pytest.mark.parametrize(
    ("owners", "train_nodes"),
    [
        ([0, 0, 0, 1, 1, 1], [0, 1, 2, 4]),  # three training nodes here, one there
        ([0, 1, 2, 3, 3, 0], [0, 1, 5]),  # three training nodes on four ranks: two of them have none
    ],
)
@pytest.mark.parametrize("make", [lambda: model("gcn"), lambda: Normed(in_channels=F0).double()])
def test_unequal_ranks_give_the_gradient_of_the_full_batch(
    owners: list[int], train_nodes: list[int], make: Callable[[], nn.Module], tmp_path: Path
) -> None:
    x = np.random.default_rng(0).normal(size=(6, F0)).astype(np.float32)
    graph = path(6).with_data(x=x, train_nodes=np.array(train_nodes), **NO_OTHER_SPLITS)
    num_parts = max(owners) + 1
    folder = by_hand(graph, owners, num_parts).write_parts(tmp_path / "p")
    expected = on_the_whole_graph(make(), graph)
    for found in on_parts(make(), folder, num_parts):
        assert max(found.differences(expected).values()) < 1e-12


def test_4097_training_nodes_on_four_ranks(new_folder: NewFolder) -> None:
    graph = path(4100).with_data(train_nodes=np.arange(4097), **NO_OTHER_SPLITS)
    words: dict[str, Any] = {"epochs": 2, "hidden_channels": 4, "dropout": 0.0, "lr": 0.05}
    whole = train_here(resolve(graph, "gcn", "full_graph", **words), new_folder())
    run = train_here(resolve(graph, "gcn", "halo_exchange", partition="contiguous", trainers=4, **words), new_folder())
    assert run.losses == pytest.approx(whole.losses, rel=1e-5)
    assert [step["num_seeds"] for rank in range(4) for step in run.told("step_finished", rank=rank)][::2] == [
        1025, 1025, 1025, 1022
    ]  # fmt: skip


def predictions(run: LocalRun) -> np.ndarray:
    return np.load(run.folder / "predictions.npy")


@pytest.mark.parametrize("trainers", [1, 2, 3])
def test_a_run_equals_full_graph_dropout_included(trainers: int, new_folder: NewFolder) -> None:
    words: dict[str, Any] = {"epochs": 3, "hidden_channels": 4, "heads": 2, "dropout": 0.3, "lr": 0.05}
    whole = train_here(resolve(GRAPH, "gat", "full_graph", dropout_masks="keyed", **words), new_folder())
    run = train_here(
        resolve(GRAPH, "gat", "halo_exchange", partition="random", trainers=trainers, **words), new_folder()
    )
    assert run.losses == pytest.approx(whole.losses, rel=1e-4)
    assert predictions(run) == pytest.approx(predictions(whole), abs=1e-4)
    steps = run.told("step_finished")
    assert sum(step["num_nodes"] for step in steps) == 3 * GRAPH.num_nodes
    assert sum(step["num_edges"] for step in steps) == 3 * GRAPH.num_edges
    for step in steps:  # an exchange interrupts forward and backward: no moment is counted twice
        spans = [span for span in step["spans"] if span[0] in ("forward", "exchange", "backward")]
        assert all(a[1] + a[2] <= b[1] + 1e-6 for a, b in itertools.pairwise(spans))
        assert any(span[0] == "exchange" for span in spans) == (trainers > 1)


def test_ranks_of_one_row_and_of_none_take_part_in_batch_statistics(new_folder: NewFolder) -> None:
    words: dict[str, Any] = {"epochs": 3, "lr": 0.05, "optimizer": "sgd"}  # Adam makes of rounding in zeros a step
    parts = by_hand(GRAPH, [1, *[0] * 20, *[3] * (GRAPH.num_nodes - 21)], 4)
    whole = train_here(resolve(GRAPH, Normed(), "full_graph", **words), new_folder())
    run = train_here(resolve(GRAPH, Normed(), "halo_exchange", partition=parts, trainers=4, **words), new_folder())
    assert run.losses == pytest.approx(whole.losses, rel=1e-4)
    assert predictions(run) == pytest.approx(predictions(whole), abs=1e-4)
    assert [step["num_nodes"] for step in run.told("step_finished", rank=2)] == [0, 0, 0]


def test_parts_of_another_number_of_ranks_are_refused(new_folder: NewFolder) -> None:
    resolved = resolve(GRAPH, "sage", "halo_exchange", partition="random", trainers=2, epochs=1, hidden_channels=4)
    fewer = dataclasses.replace(resolved, config=dataclasses.replace(resolved.config, trainers=1))
    with pytest.raises(RunError, match="one rank for each of 2 parts; got 1"):
        train_here(fewer, new_folder())


def test_a_stopped_run_goes_on_as_if_nothing_had_been(new_folder: NewFolder) -> None:
    resolved = resolve(GRAPH, Normed(), "halo_exchange", partition="random", trainers=1, epochs=4, lr=0.05)
    whole, folder = train_here(resolved, new_folder()), new_folder()
    part = train_here(resolved, folder, controls=control_at(3, "stop"))
    rest = train_here(resolved, folder)
    assert part.losses + rest.losses == whole.losses
    assert (folder / "model.pt").read_bytes() == (whole.folder / "model.pt").read_bytes()


@pytest.mark.parametrize("strategy", ["full_graph", "halo_exchange"])
def test_layers_that_keep_their_first_graph_keep_that_of_the_run(strategy: str, new_folder: NewFolder) -> None:
    class Cached(nn.Module):
        def __init__(self, cached: bool) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.conv = GCNConv(F0, CLASSES, cached=cached)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            out: Tensor = self.conv(x, edge_index)
            return out

    runs = [
        train_here(resolve(GRAPH, Cached(cached), strategy, epochs=2, lr=0.1), new_folder()) for cached in (False, True)
    ]
    assert runs[0].losses == runs[1].losses


def test_the_configuration_says_how_the_graph_is_divided_and_where_the_parts_are() -> None:
    words: dict[str, Any] = {"trainers": 2, "epochs": 1, "hidden_channels": 4}
    resolved = resolve(GRAPH, "sage", "halo_exchange", partition="metis", imbalance=0.2, rng_seed=7, **words)
    config = resolved.config
    assert resolved.summary == "sage · halo_exchange · metis · 2 trainers · 0 samplers"
    record = config.strategy.params["partition"]
    assert (record["name"], record["num_parts"], record["params"]["imbalance"]) == ("metis", 2, 0.2)
    assert config.rng_seed == 7  # the run's; a partitioner's own is set on its object
    assert (Path(record["parts_folder"]) / "part-0001").is_dir()
    rerun = resolve(GRAPH, "sage", "halo_exchange", partition=dict(record), **words).config
    assert dict(rerun.strategy.params["partition"]) == {**record, "parts_folder": ANY}
    made = partition(GRAPH, 2, "random", rng_seed=3)
    again = resolve(GRAPH, "sage", "halo_exchange", partition=made, **words).config.strategy.params["partition"]
    assert (again["name"], again["params"]) == ("random", {"rng_seed": 3})


def test_a_partition_that_does_not_fit_is_told_with_every_other_fault() -> None:
    with pytest.raises(InputError) as caught:
        resolve(GRAPH, "sage", "halo_exchange", partition=partition(path(9), 3), trainers=2, samplers=1, epochs=0)
    assert {finding.where for finding in caught.value.findings} == {"partition", "samplers", "epochs"}
    assert len(caught.value.findings) == 4  # of another graph, and of another number of parts
    with pytest.raises(InputError, match="a keyword that this run uses"):
        resolve(GRAPH, "sage", "full_graph", partition="metis", epochs=1)


def refusal(make: Callable[[], nn.Module], graph: Graph = GRAPH, **words: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        resolve(graph, make(), "halo_exchange", trainers=2, epochs=1, partition="random", **words)
    return [f"{finding.where}: {finding.got}" for finding in caught.value.findings]


def test_a_global_layer_is_refused_at_launch_by_name() -> None:
    (told,) = refusal(lambda: Normed(GraphNorm))
    assert told.startswith("model.norm: GraphNorm takes mean and variance over all nodes")
    alone = resolve(GRAPH, Normed(GraphNorm), "halo_exchange", trainers=1, epochs=1)  # one rank holds all nodes
    assert alone.config.trainers == 1
