"""Flat keywords become one decided run, or one error with everything that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, SAGEConv

from workbench.core.config import RunConfig
from workbench.core.errors import Finding, InputError
from workbench.gather.stores.memory import MemoryStore
from workbench.graph import Graph
from workbench.models.zoo.sage import Sage
from workbench.sampling.methods.neighbor import NeighborSampler
from workbench.testing.graphs import path
from workbench.testing.rank_context import train_here
from workbench.train import resolve
from workbench.train.strategies.mini_batch import MiniBatch

GRAPH = path(12)


def faults(*args: Any, **keywords: Any) -> dict[str, Finding]:
    with pytest.raises(InputError) as caught:
        resolve(*args, **keywords)
    assert caught.value.subject == "launch"
    return {finding.where: finding for finding in caught.value.findings}


def test_every_keyword_reaches_the_part_that_it_belongs_to() -> None:
    config = resolve(
        GRAPH,
        "sage",
        "mini_batch",
        epochs=7,
        batch_size=32,
        fanouts=[4, 3],
        replace=True,
        hidden_channels=16,
        num_layers=2,
        label_smoothing=0.1,
        trainers=2,
        samplers=1,
        lr=0.1,
        optimizer="sgd",
        rng_seed=5,
        name="mine",
    ).config
    assert config.strategy.params["batch_size"] == 32
    sampler = config.strategy.params["sampler"]
    assert (sampler["name"], sampler["params"]["fanouts"], sampler["params"]["replace"]) == ("neighbor", [4, 3], True)
    assert config.strategy.params["store"]["name"] == "memory"
    assert (config.model.name, config.model.params["hidden_channels"]) == ("sage", 16)
    assert config.task.params["label_smoothing"] == 0.1
    assert (config.epochs, config.trainers, config.samplers, config.lr) == (7, 2, 1, 0.1)
    assert (config.optimizer, config.rng_seed, config.name) == ("sgd", 5, "mine")


def test_defaults_are_those_that_were_decided() -> None:
    config = resolve(GRAPH, "sage", "mini_batch", epochs=1).config
    assert (config.optimizer, config.lr, config.evaluate_every, config.checkpoint_every) == ("adam", 0.003, 1, 1)
    assert config.strategy.params["batch_size"] == 1024
    assert (config.model.params["hidden_channels"], config.model.params["dropout"]) == (256, 0.5)
    assert (config.update.name, config.task.name) == ("all_reduce", "node_classification")


def test_the_graph_lies_where_ranks_can_open_it() -> None:
    reference = resolve(GRAPH, "gcn", "full_graph", epochs=1).config.graph
    opened = Graph.open(reference.folder)
    assert opened.fingerprint == reference.fingerprint == GRAPH.fingerprint
    assert (reference.num_nodes, reference.num_features, reference.num_classes) == (12, 4, 3)


def test_a_configuration_survives_json() -> None:
    import json

    config = resolve(GRAPH, "sage", "mini_batch", epochs=1, fanouts=(2, 2)).config
    again = RunConfig.from_json(json.loads(json.dumps(config.to_json())))
    assert again.to_json() == config.to_json()


def test_all_faults_come_at_once_and_each_says_what_to_do() -> None:
    found = faults(
        GRAPH,
        "sage",
        "full_graph",
        epochs=0,
        fanouts=(2, 2),
        batch_size=8,
        hiden_channels=3,
        quux=1,
        trainers=2,
        samplers=1,
        lr="fast",
    )
    assert set(found) == {
        "epochs",
        "fanouts",
        "batch_size",
        "hiden_channels",
        "quux",
        "trainers",
        "samplers",
        "lr",
    }
    assert "sampler 'neighbor'" in found["fanouts"].got
    assert found["fanouts"].fix == "remove fanouts=, or use strategy='mini_batch'"
    assert found["batch_size"].fix == "remove batch_size=, or use strategy='mini_batch'"
    assert found["hiden_channels"].fix == "write hidden_channels="
    assert "mini_batch" in found["trainers"].fix
    assert "compute the same whole graph again" in found["trainers"].got


def test_epochs_have_to_be_given() -> None:
    assert faults(GRAPH, "sage")["epochs"].fix == "pass epochs=..."


@pytest.mark.parametrize(
    ("arguments", "where", "fix"),
    [
        (("sagee", "mini_batch"), "model", "use 'sage'"),
        (("sage", "mini-batch"), "strategy", "use 'mini_batch'"),
        ((3, "mini_batch"), "model", "pass model='sage', for example"),
    ],
)
def test_wrong_names_are_told_with_the_near_ones(arguments: tuple[Any, str], where: str, fix: str) -> None:
    assert faults(GRAPH, *arguments, epochs=1)[where].fix == fix


@pytest.mark.parametrize(("keyword", "near"), [("update", "all_reduce"), ("task", "node_classification")])
def test_update_and_task_are_chosen_by_name_too(keyword: str, near: str) -> None:
    (finding,) = faults(GRAPH, "sage", "mini_batch", epochs=1, **{keyword: near + "s"}).values()
    assert finding.fix == f"use {near!r}"


def test_objects_can_be_given_instead_of_names() -> None:
    by_name = resolve(
        GRAPH, "sage", "mini_batch", epochs=1, batch_size=3, fanouts=(2, 1), hidden_channels=8, num_layers=2
    )
    model = Sage(hidden_channels=8, num_layers=2)
    sampler, store = NeighborSampler(fanouts=(2, 1)), MemoryStore()
    by_object = resolve(GRAPH, model, MiniBatch(batch_size=3, sampler=sampler, store=store), epochs=1)
    mixed = resolve(GRAPH, model, "mini_batch", epochs=1, batch_size=3, sampler=sampler)
    assert by_object.config == by_name.config == mixed.config


def test_keywords_beside_an_object_conflict() -> None:
    found = faults(GRAPH, Sage(), MiniBatch(), epochs=1, hidden_channels=3, batch_size=5)
    assert set(found) == {"hidden_channels", "batch_size"}
    assert "on the object" in found["batch_size"].fix


def test_a_graph_that_lacks_something_is_refused_with_all_of_it() -> None:
    bare = Graph.from_edge_index([[0], [1]], 2)
    assert set(faults(bare, "sage", "mini_batch", epochs=1)) == {"graph.x", "graph.y"}
    unsplit = GRAPH.with_data(train_nodes=None)
    assert set(faults(unsplit, "sage", "mini_batch", epochs=1)) == {"graph.train_nodes"}
    regression = GRAPH.with_data(y=np.ones((12, 2), np.float32))
    assert "float32" in faults(regression, "sage", "mini_batch", task="node_classification", epochs=1)["graph.y"].got


@pytest.mark.parametrize(
    ("fanouts", "text"), [((4, 3, 2), "3 hops: the hops beyond"), ((4,), "1 hops: outer layers see no edge")]
)
def test_fanouts_of_another_length_than_the_model_are_a_warning_with_both_numbers(
    fanouts: tuple[int, ...], text: str
) -> None:
    (finding,) = resolve(GRAPH, "sage", "mini_batch", epochs=1, fanouts=fanouts).warnings
    assert finding.severity == "warning"
    assert finding.expected.startswith("2 hops")
    assert finding.got.startswith(text)


def test_hops_that_are_no_layers_are_not_compared_with_them() -> None:
    deep = {"model": "sage", "num_layers": 3, "epochs": 1, "strategy": "mini_batch"}
    assert resolve(GRAPH, sampler="shadow", **deep).warnings == ()
    (finding,) = resolve(GRAPH, sampler="full", **deep).warnings
    assert finding.got.startswith("2 hops")


def test_a_run_is_summed_up_in_one_line() -> None:
    resolved = resolve(GRAPH, "sage", "mini_batch", epochs=1, fanouts=(15, 10), trainers=2, samplers=1)
    assert resolved.summary == "sage · mini_batch · neighbor (15, 10) · batch 1,024 · 2 trainers · 1 sampler"
    assert resolve(GRAPH, "gcn", "full_graph", epochs=1).summary == "gcn · full_graph · 1 trainer · 0 samplers"


class Net(nn.Module):
    def __init__(self, in_channels: int = 4, out_channels: int = 3) -> None:
        super().__init__()
        self.conv = SAGEConv(in_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.conv(x, edge_index)
        return out


def test_a_users_module_starts_from_its_own_weights(tmp_path: Path) -> None:
    module = Net()
    resolved = resolve(GRAPH, module, "mini_batch", epochs=1, fanouts=(2,), lr=0.0)
    assert (resolved.config.model.name, resolved.config.model.params["class"]) == ("custom", "Net")
    assert resolved.warnings == ()
    with torch.no_grad():
        module.conv.lin_r.weight.zero_()  # the run has a copy
    assert resolved.module is not None
    before = {name: tensor.clone() for name, tensor in resolved.module.state_dict().items()}
    train_here(resolved, tmp_path)
    after = torch.load(tmp_path / "model.pt", weights_only=True)
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert resolved.module.training


def test_a_factory_is_given_the_widths_and_draws_from_the_runs_seed() -> None:
    torch.manual_seed(123)
    first = resolve(GRAPH, Net, "full_graph", epochs=1, rng_seed=4).module
    torch.manual_seed(456)
    expected = torch.rand(1)
    torch.manual_seed(456)
    second = resolve(GRAPH, Net, "full_graph", epochs=1, rng_seed=4).module
    assert torch.equal(torch.rand(1), expected), "the caller's random state is left alone"
    other = resolve(GRAPH, Net, "full_graph", epochs=1, rng_seed=5).module
    assert first is not None
    assert second is not None
    assert other is not None
    assert torch.equal(first.conv.lin_r.weight, second.conv.lin_r.weight)
    assert not torch.equal(first.conv.lin_r.weight, other.conv.lin_r.weight)


def test_lazy_layers_are_made_before_the_module_travels() -> None:
    module = resolve(GRAPH, Net(-1), "full_graph", epochs=1).module
    assert module is not None
    assert module.conv.lin_l.weight.shape == (3, 4)


class OtherNames(nn.Module):
    def forward(self, features: Tensor, edges: Tensor) -> Tensor:
        return features


class WantsWeights(nn.Module):
    def forward(self, x: Tensor, edge_weight: Tensor, batch: Tensor) -> Tensor:
        return x[:, :3] * edge_weight.sum()


def broken(in_channels: int, out_channels: int) -> nn.Module:
    raise RuntimeError("no such layer")


@pytest.mark.parametrize(
    ("model", "places", "got"),
    [
        (OtherNames(), {"model.forward(features)", "model.forward(edges)"}, "features"),
        (WantsWeights(), {"model.forward(edge_weight)", "model.forward(batch)"}, "a graph without"),
        (Net(5), {"model"}, "RuntimeError"),
        (Net(4, 7), {"model"}, "(3, 7) for 3 nodes"),
        (broken, {"model"}, "RuntimeError: no such layer"),
        (lambda a, b: "net", {"model"}, "str"),
    ],
)
def test_a_users_model_that_does_not_fit_is_refused_before_anything_starts(
    model: Any, places: set[str], got: str
) -> None:
    found = faults(GRAPH, model, "mini_batch", epochs=1)
    assert set(found) == places
    assert got in next(iter(found.values())).got


def test_layers_that_remember_the_first_batch_are_refused_for_samples_alone() -> None:
    class Cached(Net):
        def __init__(self) -> None:
            super().__init__()
            self.conv = GCNConv(4, 3, cached=True)

    found = faults(GRAPH, Cached(), "mini_batch", epochs=1)
    assert found["model.conv"].got == "GCNConv(cached=True)"
    assert resolve(GRAPH, Cached(), "full_graph", epochs=1).module is not None


def test_model_keywords_beside_a_module_are_told() -> None:
    found = faults(GRAPH, Net(), "full_graph", epochs=1, hidden_channels=8)
    assert set(found) == {"hidden_channels"}
    assert "model 'sage'" in found["hidden_channels"].got
