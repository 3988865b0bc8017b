"""A random share of the halo: the bytes that the rate says, sums that are unbiased, draws by the seed alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.train.halo_runs import CPU
from tests.train.test_resume import control_at
from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.partition import Partition, partition
from workbench.partition.local import LocalPart, open_part
from workbench.testing import graphs
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import resolve
from workbench.train.boundaries import sampled
from workbench.train.boundaries.sampled import SampledRows
from workbench.train.halo import HaloExchange
from workbench.train.thread_transport import run_in_threads
from workbench.train.transport import Transport

NewFolder = Callable[[], Path]
WORDS: dict[str, Any] = {"epochs": 5, "hidden_channels": 8, "num_layers": 3, "lr": 0.05}
QUIET: dict[str, Any] = {"evaluate_every": 0, "checkpoint_every": 0}
FLOAT = 4
NODE: Any = torch.nn.Module()  # StepRows.begin is given a module; draws do not look at it


@pytest.fixture(scope="module")
def graph() -> Graph:
    return graphs.random(90, 400)


def train(graph: Graph, strategy: str, folder: Path, *, trainers: int = 2, **words: Any) -> LocalRun:
    chosen = {**WORDS, "partition": partition(graph, trainers, "random"), **words}
    return train_here(resolve(graph, "gcn", strategy, trainers=trainers, **chosen), folder)


def moved(run: LocalRun, *kinds: str) -> list[int]:
    """Return the bytes of all ranks, step by step."""
    total: dict[int, int] = {}
    for data in run.told("step_finished"):
        total[data["step"]] = total.get(data["step"], 0) + sum(data["bytes"].get(kind, 0) for kind in kinds)
    return [total[step] for step in sorted(total)]


def parts_of(made: Partition, folder: Path) -> list[LocalPart]:
    made.write_parts(folder)
    return [open_part(folder, part) for part in range(made.num_parts)]


@pytest.mark.parametrize("trainers", [1, 2, 3, 4])
def test_rate_one_is_halo_exchange(trainers: int, graph: Graph, new_folder: NewFolder) -> None:
    exact = train(graph, "halo_exchange", new_folder(), trainers=trainers)
    drawn = train(graph, "sampled_boundary", new_folder(), trainers=trainers, boundary_rate=1.0)
    assert drawn.losses == exact.losses
    assert (drawn.folder / "model.pt").read_bytes() == (exact.folder / "model.pt").read_bytes()
    assert drawn.told("epoch_finished")[-1]["bytes"] == exact.told("epoch_finished")[-1]["bytes"]


def test_rate_zero_moves_no_row_and_trains(graph: Graph, new_folder: NewFolder) -> None:
    run = train(graph, "sampled_boundary", new_folder(), boundary_rate=0.0, **QUIET)
    assert sum(moved(run, "halo_forward", "halo_backward")) == 0
    assert np.isfinite(run.losses).all()


def test_bytes_are_those_of_the_rows_that_were_drawn(graph: Graph, new_folder: NewFolder, tmp_path: Path) -> None:
    """Counted == predicted, step by step: drawn rows times the widths of what travels, there and back."""
    made = partition(graph, 3, "random")
    words = {"partition": made, "boundary_rate": 0.4, "dropout": 0.0, "rng_seed": 11, **QUIET}
    run = train(graph, "sampled_boundary", new_folder(), trainers=3, **words)
    rows = [0] * WORDS["epochs"]
    for part in parts_of(made, tmp_path / "parts"):
        for step in range(1, WORDS["epochs"] + 1):
            salt = sampled.salt_of(11, step, part.id)
            rows[step - 1] += int(sampled.drawn(0.4, salt, torch.from_numpy(part.halo_nodes.copy())).sum())
    width = 8 + 8  # the features never travel, two hidden layers do
    assert moved(run, "halo_forward") == [FLOAT * count * width for count in rows]
    assert moved(run, "halo_backward") == moved(run, "halo_forward")
    assert len(set(rows)) > 1, "drawn anew in every step"


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_expected_bytes_are_the_rate_times_those_of_the_halo(rate: float, graph: Graph, tmp_path: Path) -> None:
    """Over 2,000 steps, within five standard errors; five percent more would be seen."""
    parts, num_steps = parts_of(partition(graph, 3, "random"), tmp_path / "parts"), 2000
    counts = []
    for part in parts:
        ids = torch.from_numpy(part.halo_nodes.copy())
        salts = [sampled.salt_of(0, step, part.id) for step in range(1, num_steps + 1)]
        counts.append([int(sampled.drawn(rate, salt, ids).sum()) for salt in salts])
    halo = sum(len(part.halo_nodes) for part in parts)
    mean, error = np.sum(counts) / num_steps, np.sqrt(halo * rate * (1 - rate) / num_steps)
    assert abs(mean - rate * halo) < 5 * error
    assert abs(mean - 1.05 * rate * halo) > 5 * error
    spread = np.var(np.sum(counts, axis=0)) / (halo * rate * (1 - rate))
    assert 0.8 < spread < 1.25, "rows are drawn one by one, and not together"


def on_ranks(parts: list[LocalPart], rate: float, work: Callable[[SampledRows, HaloExchange, int], Any]) -> list[Any]:
    """Run work(rows, exchange, rank) on a rank for each part."""

    def rank(transport: Transport) -> Any:
        exchange = HaloExchange(parts[transport.rank], transport, CPU)
        return work(SampledRows(exchange, parts[transport.rank], rate, 5), exchange, transport.rank)

    return run_in_threads(len(parts), rank, through_memory=True)


@pytest.mark.parametrize("scale", [1.0, 1.05])
def test_sums_over_neighbours_are_unbiased(scale: float, graph: Graph, tmp_path: Path) -> None:
    """Monte Carlo over 3,000 steps: the mean of each node's sum lies around the exact one; a 5% larger one does not."""
    parts, rate, num_steps = parts_of(partition(graph, 2, "random"), tmp_path / "parts"), 0.4, 3000
    x = torch.rand(graph.num_nodes, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) + 0.5

    def work(rows: SampledRows, exchange: HaloExchange, rank: int) -> tuple[Tensor, Tensor, Tensor]:
        part = parts[rank]
        source, target = torch.from_numpy(part.graph.edge_index())
        add = lambda all_rows: all_rows.new_zeros(part.num_inner, 1).index_add_(0, target, all_rows[source])  # noqa: E731
        exact = add(x[torch.from_numpy(part.node_ids.copy())])
        own, sums = x[torch.from_numpy(part.inner_nodes.copy())], []
        for step in range(1, num_steps + 1):
            rows.begin(step, NODE)
            sums.append(add(sampled.fetch(own, exchange, rows.choice)))
        stacked = torch.stack(sums)
        return exact, stacked.mean(0), stacked.std(0) / num_steps**0.5

    deviations = []
    for exact, mean, error in on_ranks(parts, rate, work):
        varies = error > 0
        assert torch.allclose(mean[~varies], exact[~varies]), "without a neighbour elsewhere nothing is random"
        deviations.append(((mean * scale - exact) / error)[varies])
    worst, typical = torch.cat(deviations).abs().max(), torch.cat(deviations).square().mean()
    assert len(torch.cat(deviations)) > 50
    assert (worst < 5 and typical < 2) == (scale == 1.0), (worst, typical)


def test_gradients_travel_back_along_the_rows_that_were_drawn(graph: Graph, tmp_path: Path) -> None:
    """<fetch(x), y> == <x, give_back(y)> over all ranks: the backward is the adjoint of the forward, exactly."""
    parts = parts_of(partition(graph, 3, "random"), tmp_path / "parts")

    def work(rows: SampledRows, exchange: HaloExchange, rank: int) -> tuple[float, float]:
        rows.begin(7, NODE)
        random = torch.Generator().manual_seed(rank)
        x = torch.rand(exchange.num_inner, 3, dtype=torch.float64, generator=random)
        y = torch.rand(exchange.num_local, 3, dtype=torch.float64, generator=random)
        there = sampled.fetch(x, exchange, rows.choice)
        back = sampled.give_back(y, exchange, rows.choice)
        halo = there[exchange.num_inner :]
        assert 0 < int((halo == 0).all(1).sum()) < len(halo)
        return float((there * y).sum()), float((x * back).sum())

    left, right = np.sum(on_ranks(parts, 0.5, work), axis=0)
    assert left == pytest.approx(right, rel=1e-12)


def test_draws_depend_on_the_seed_alone(graph: Graph, new_folder: NewFolder) -> None:
    def losses(rng_seed: int) -> list[float]:
        words = {"boundary_rate": 0.3, "rng_seed": rng_seed, "dropout": 0.0}
        return train(graph, "sampled_boundary", new_folder(), trainers=3, **words, **QUIET).losses

    assert losses(0) == losses(0) != losses(1)


def test_a_stopped_and_resumed_run_equals_the_undisturbed_one(graph: Graph, new_folder: NewFolder) -> None:
    made, folder, calls = partition(graph, 2, "random"), new_folder(), dict[int, Any]()
    resolved = resolve(graph, "gcn", "sampled_boundary", trainers=2, partition=made, boundary_rate=0.3, **WORDS)
    whole = train_here(resolved, new_folder())

    def controls(asked: int, call: int) -> Any:
        own = calls.setdefault(threading.get_ident(), control_at(3, "stop"))  # each rank is a thread
        return own(asked, call)

    part = train_here(resolved, folder, controls=controls)
    rest = train_here(resolved, folder)
    assert {outcome.status for outcome in part.outcomes} == {"stopped"}
    assert part.losses + rest.losses == whole.losses
    assert (folder / "model.pt").read_bytes() == (whole.folder / "model.pt").read_bytes()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ({"boundary_rate": 1.1}, "boundary_rate"),
        ({"boundary_rate": -0.1}, "boundary_rate"),
        ({"samplers": 1}, "samplers"),
    ],
)
def test_what_cannot_be_is_an_error_that_names_it(words: dict[str, Any], name: str, graph: Graph) -> None:
    with pytest.raises(InputError, match=name):
        resolve(graph, "gcn", "sampled_boundary", trainers=2, epochs=1, **words)
