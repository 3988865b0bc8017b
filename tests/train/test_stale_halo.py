"""Late rows: of the step that the bound says, with the gradients that belong to them, and never older."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import SAGEConv

from tests.train.halo_runs import by_hand
from tests.train.test_resume import control_at
from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.models import MODELS, call_model
from workbench.partition import partition
from workbench.partition.local import LocalPart, open_part
from workbench.testing import graphs
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import resolve
from workbench.train.whole import whole_graph_inputs

NewFolder = Callable[[], Path]
WORDS: dict[str, Any] = {"epochs": 5, "hidden_channels": 8, "num_layers": 3, "lr": 0.05}
QUIET: dict[str, Any] = {"evaluate_every": 0, "checkpoint_every": 0}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return graphs.random(90, 400)


def train(
    graph: Graph, strategy: str, folder: Path, *, trainers: int = 2, model: Any = "gcn", **words: Any
) -> LocalRun:
    chosen = {**WORDS, "partition": partition(graph, trainers, "random"), **words}
    if not isinstance(model, str):
        del chosen["hidden_channels"], chosen["num_layers"]
    return train_here(resolve(graph, model, strategy, trainers=trainers, **chosen), folder)


def ages(run: LocalRun, source: str, rank: int = 0) -> list[tuple[list[int], int]]:
    """Return the ages and the number of cold rows of each step."""
    told = run.told("staleness_measured", rank=rank)
    return [(reading["ages"], reading["num_cold"]) for reading in told if reading["source"] == source]


@pytest.mark.parametrize("trainers", [1, 2, 3, 4])
def test_bound_zero_is_halo_exchange(trainers: int, graph: Graph, new_folder: NewFolder) -> None:
    exact = train(graph, "halo_exchange", new_folder(), trainers=trainers)
    stale = train(graph, "stale_halo", new_folder(), trainers=trainers, staleness_bound=0)
    assert stale.losses == exact.losses
    assert (stale.folder / "model.pt").read_bytes() == (exact.folder / "model.pt").read_bytes()
    assert stale.told("epoch_finished")[-1]["bytes"] == exact.told("epoch_finished")[-1]["bytes"]
    assert {tuple(found) for found, _ in ages(stale, "halo")} == ({(0,)} if trainers > 1 else set())


class Two(nn.Module):
    """Two SAGE layers in double precision; the second reads rows that travel."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first, self.second = SAGEConv(4, 6), SAGEConv(6, 3)
        self.double()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.second(self.first(x, edge_index).tanh(), edge_index)
        return out


class Oracle:
    """PipeGCN in plain PyTorch, without boundary, transport or hooks: T steps late, written for the model Two.

    The gradient that arrives for an own row is added by a product with it: d(h . g)/dh = g.
    """

    def __init__(self, parts: list[LocalPart], late: int, lr: float) -> None:
        self.parts, self.late, self.lr = parts, late, lr
        self.owner = {int(node): (p.id, i) for p in parts for i, node in enumerate(p.inner_nodes)}
        self.rows: list[dict[int, Tensor]] = []  # of every step, by node: what owners sent
        self.gradients: list[dict[int, dict[int, Tensor]]] = []  # of every step, by reading part and node

    def step(self, model: Two) -> float:
        t, leaves, own, losses = len(self.rows), {}, {}, []
        model.zero_grad()
        for part in self.parts:
            x, edges = torch.from_numpy(part.graph.x.copy()).double(), torch.from_numpy(part.graph.edge_index())
            h = model.first((x, x[: part.num_inner]), edges).tanh()
            past = self.rows[t - self.late] if t >= self.late else {}
            zero = torch.zeros(6, dtype=torch.float64)
            halo = torch.stack([past.get(int(node), zero) for node in part.halo_nodes]).requires_grad_()
            out = model.second((torch.cat([h, halo]), h), edges)
            nodes = part.graph.train_nodes.copy()
            targets = torch.from_numpy(part.graph.y[nodes].copy())
            losses.append(functional.cross_entropy(out[torch.from_numpy(nodes)], targets, reduction="sum"))
            leaves[part.id], own[part.id] = halo, h
        late_gradients = self.gradients[t - self.late] if t >= self.late else {}
        terms = [own[self.owner[n][0]][self.owner[n][1]] @ g for by in late_gradients.values() for n, g in by.items()]
        num = sum(len(part.graph.train_nodes) for part in self.parts)
        (sum(losses) + sum(terms)).backward()  # type: ignore[union-attr]
        self.rows.append({node: own[part][row].detach().clone() for node, (part, row) in self.owner.items()})
        self.gradients.append(
            {p.id: dict(zip(map(int, p.halo_nodes), leaves[p.id].grad.clone(), strict=True)) for p in self.parts}
        )
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= self.lr * parameter.grad / num
        return float(sum(loss.item() for loss in losses) / num)


@pytest.mark.parametrize(("trainers", "late"), [(2, 1), (3, 1), (3, 2)])
def test_rows_and_gradients_are_exactly_so_many_steps_old(
    trainers: int, late: int, graph: Graph, new_folder: NewFolder, tmp_path: Path
) -> None:
    """A second implementation, by hand, loses the same in every step (1e-10), and one with another lag does not."""
    owners = np.random.default_rng(2).integers(0, trainers, graph.num_nodes)
    made = by_hand(graph, owners, trainers)
    made.write_parts(tmp_path / "parts")
    parts = [open_part(tmp_path / "parts", part) for part in range(trainers)]
    words = {"partition": made, "optimizer": "sgd", "lr": 0.3, "epochs": 6, "staleness_bound": late, **QUIET}
    run = train(graph, "stale_halo", new_folder(), trainers=trainers, model=Two(), **words)
    losses = {}
    for lag in (late, late + 1):
        oracle, model = Oracle(parts, lag, 0.3), copy.deepcopy(Two())
        losses[lag] = [oracle.step(model) for _ in range(6)]
    assert run.losses == pytest.approx(losses[late], rel=0, abs=1e-10)
    assert run.losses != pytest.approx(losses[late + 1], rel=0, abs=1e-6)


@pytest.mark.parametrize(("bound", "every"), [(1, 1), (2, 1), (2, 2), (3, 2), (1, 2)])
def test_ages_are_told_and_within_the_bound(bound: int, every: int, graph: Graph, new_folder: NewFolder) -> None:
    words = {"staleness_bound": bound, "refresh_every": every, "epochs": 8, **QUIET}
    run = train(graph, "stale_halo", new_folder(), trainers=3, **words)
    lag = bound - every + 1
    for source in ("halo", "halo_gradient"):
        told = ages(run, source)
        assert len(told) == 8
        assert all(found == [] and cold > 0 for found, cold in told[:lag])
        assert all(cold == 0 and lag <= found[0] <= bound for found, cold in told[lag:])
        assert {age for found, _ in told for age in found} == set(range(lag, bound + 1))
    text = "".join(data["text"] for data in run.told("log_written"))
    assert ("zeros" in text) == (lag > 0)


def test_as_many_bytes_as_halo_exchange_and_fewer_where_rows_are_sent_less_often(
    graph: Graph, new_folder: NewFolder
) -> None:
    def moved(strategy: str, **words: Any) -> int:
        run = train(graph, strategy, new_folder(), trainers=3, epochs=6, **words, **QUIET)
        steps = run.told("step_finished")
        return sum(step["bytes"].get(kind, 0) for step in steps for kind in ("halo_forward", "halo_backward"))

    exact = moved("halo_exchange")
    assert exact > 0
    assert moved("stale_halo") == exact
    assert moved("stale_halo", staleness_bound=3, refresh_every=3) * 3 == exact


@pytest.mark.parametrize(("strategy", "every"), [("halo_exchange", 1), ("stale_halo", 1), ("stale_halo", 2)])
def test_rounds_and_messages_are_told_where_they_change(
    strategy: str, every: int, graph: Graph, new_folder: NewFolder
) -> None:
    """Two hidden layers travel, there and back, to each of two peers, and degrees once; evaluations do not count."""
    words = {"refresh_every": every} if every > 1 else {}
    run = train(graph, strategy, new_folder(), trainers=3, dropout=0.0, epochs=4, **words)
    told = [(data["step"], data["rounds"], data["messages"]) for data in run.told("messages_counted", rank=1)]
    full, both = {"halo_backward": 2, "halo_forward": 2}, {"halo_backward": 4, "halo_forward": 4}
    first = (1, {**full, "halo_statistics": 1}, {**both, "halo_statistics": 2})
    if every == 1:
        assert told == [first, (2, full, both)]
    else:
        assert told == [first, (2, {}, {}), (3, full, both), (4, {}, {})]


@pytest.mark.parametrize("step", [2, 3, 5])
@pytest.mark.parametrize("words", [{}, {"staleness_bound": 3, "refresh_every": 2, "smoothing": 0.5}])
def test_a_stopped_and_resumed_run_equals_the_undisturbed_one(
    step: int, words: dict[str, Any], graph: Graph, new_folder: NewFolder
) -> None:
    """Stale rows, gradients and averages come back, bit for bit."""
    made, folder = partition(graph, 2, "random"), new_folder()
    resolved = resolve(graph, "gcn", "stale_halo", trainers=2, partition=made, **{**WORDS, **words})
    whole = train_here(resolved, new_folder())
    calls: dict[int, Any] = {}  # each rank is a thread, and counts its own

    def controls(asked: int, call: int) -> Any:
        own = calls.setdefault(threading.get_ident(), control_at(step, "stop"))
        return own(asked, call)

    part = train_here(resolved, folder, controls=controls)
    assert {outcome.status for outcome in part.outcomes} == {"stopped"}
    rest = train_here(resolved, folder)
    assert part.losses + rest.losses == whole.losses
    assert (folder / "model.pt").read_bytes() == (whole.folder / "model.pt").read_bytes()
    assert not rest.told("log_written"), "nothing is cold after a resume"


def test_smoothing_changes_the_run_and_each_side_alone(graph: Graph, new_folder: NewFolder) -> None:
    cases = [{}, {"smoothing": 0.5}, *({"smoothing": 0.5, "smoothed": side} for side in ("features", "gradients"))]
    losses = [tuple(train(graph, "stale_halo", new_folder(), **words, **QUIET).losses) for words in cases]
    assert len(set(losses)) == len(cases)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ({"staleness_bound": -1}, "staleness_bound"),
        ({"staleness_bound": 1.5}, "staleness_bound"),
        ({"refresh_every": 3}, "refresh_every"),
        ({"refresh_every": 0}, "refresh_every"),
        ({"smoothing": 1.0}, "smoothing"),
        ({"smoothing": 0.5, "staleness_bound": 0}, "smoothing"),
        ({"smoothed": "all"}, "smoothed"),
        ({"samplers": 1}, "samplers"),
    ],
)
def test_what_cannot_be_is_an_error_that_names_it(words: dict[str, Any], name: str, graph: Graph) -> None:
    with pytest.raises(InputError, match=name):
        resolve(graph, "gcn", "stale_halo", trainers=2, epochs=1, **words)


def test_the_evaluation_is_exact(graph: Graph, new_folder: NewFolder) -> None:
    """What is evaluated after a step is what halo_exchange would find at those weights: none is read late."""
    run = train(graph, "stale_halo", new_folder(), trainers=3)
    model = MODELS.create("gcn", hidden_channels=8, num_layers=3).build(graph.num_features, graph.num_classes)
    model.load_state_dict(torch.load(run.folder / "model.pt", weights_only=True))
    with torch.inference_mode():
        expected = call_model(model.eval(), whole_graph_inputs(graph, torch.device("cpu"), torch.float32))
    assert np.abs(np.load(run.folder / "predictions.npy") - expected.numpy()).max() < 1e-5
