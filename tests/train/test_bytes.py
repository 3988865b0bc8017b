"""Bytes counted on the transport are those that the formulas of communication predict, and those on the wire."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.core.rng import generator
from workbench.gather import BatchMaker, BatchPlan
from workbench.graph import Graph
from workbench.partition import partition
from workbench.testing import graphs
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import ResolvedRun, resolve
from workbench.train.partitioned import FOLDER

NewFolder = Callable[[], Path]
FLOAT, ID = 4, 8  # bytes of a number, of a node id
SCRIPT = Path(__file__).with_name("namespace_rank.py")
QUIET: dict[str, Any] = {"evaluate_every": 0, "checkpoint_every": 0}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return graphs.random(150, 500)


def moved(run: LocalRun, *kinds: str) -> int:
    """Return the bytes of all ranks' steps."""
    return sum(step["bytes"].get(kind, 0) for step in run.told("step_finished") for kind in kinds)


def not_owned(resolved: ResolvedRun, graph: Graph, epochs: int) -> int:
    """Return the sum over batches and ranks of sampled nodes that the rank does not own, from batches made anew."""
    params, trainers = resolved.config.strategy.params, resolved.config.trainers
    plan = BatchPlan(
        folder=str(graph.store()),
        sampler=params["sampler"],
        store=None,
        batch_size=params["batch_size"],
        world_size=trainers,
        rng_seed=resolved.config.rng_seed,
        parts_folder=params["partition"][FOLDER],
    )
    maker, owners = BatchMaker(plan), partition(graph, trainers, "random").assignment
    count, step = 0, 0
    for epoch in range(1, epochs + 1):
        for step_in_epoch in range(maker.steps_per_epoch):
            step += 1
            for rank in range(trainers):
                batch = maker.make(epoch=epoch, step=step, step_in_epoch=step_in_epoch, rank=rank)
                count += int((owners[batch.node_ids] != rank).sum())
    return count


@pytest.mark.parametrize("trainers", [2, 3, 4])
def test_partitioned_mini_batch_moves_the_rows_of_nodes_not_owned(
    trainers: int, graph: Graph, new_folder: NewFolder
) -> None:
    """Sum over batches and workers of (sampled nodes not owned) F_0 s, and an id for each of them."""
    words = {"fanouts": (4, 3), "batch_size": 12, "trainers": trainers, "epochs": 2, "hidden_channels": 8}
    made = partition(graph, trainers, "random")
    resolved = resolve(graph, "sage", "partitioned_mini_batch", partition=made, rng_seed=5, **words, **QUIET)
    run = train_here(resolved, new_folder())
    remote = not_owned(resolved, graph, epochs=2)
    assert remote > 0
    assert moved(run, "gather_remote") == remote * graph.num_features * FLOAT
    assert moved(run, "request") == remote * ID
    sampled = sum(step["num_nodes"] for step in run.told("step_finished"))
    assert moved(run, "gather") == (sampled - remote) * graph.num_features * FLOAT, "num_local + num_remote == sampled"


@pytest.mark.parametrize(("trainers", "method"), [(2, "metis"), (4, "random")])
@pytest.mark.parametrize(("model", "dropout"), [("sage", 0.5), ("gcn", 0.0), ("gcn", 0.5)])
def test_halo_exchange_moves_the_halo_once_a_layer_and_back(
    model: str, dropout: float, trainers: int, method: str, graph: Graph, new_folder: NewFolder
) -> None:
    """Forward s H sum F_l, backward s H sum_{l>=1} F_l; features that the model reads as they are never move."""
    words = {"trainers": trainers, "epochs": 3, "hidden_channels": 8, "num_layers": 3, "dropout": dropout}
    made = partition(graph, trainers, method)
    halo = made.quality().comm_volume
    run = train_here(resolve(graph, model, "halo_exchange", partition=made, **words, **QUIET), new_folder())
    assert halo == sum(len(made.part(part).halo_nodes) for part in range(trainers)) > 0
    hidden = 8 + 8
    kept = (model, dropout) != (
        "gcn",
        0.5,
    )  # GCN drops out of its features: what its first layer reads is new each step
    assert moved(run, "halo_backward") == 3 * FLOAT * halo * hidden
    assert moved(run, "halo_forward") == 3 * FLOAT * halo * (hidden if kept else hidden + graph.num_features)
    assert moved(run, "gather", "gather_remote", "request", "exchange") == 0
    assert moved(run, "halo_forward") <= 3 * FLOAT * made.quality().edge_cut * (hidden + graph.num_features)


@pytest.mark.parametrize("strategy", ["mini_batch", "cluster_batch", "partitioned_mini_batch", "halo_exchange"])
@pytest.mark.parametrize("trainers", [2, 3])
def test_the_all_reduce_carries_the_parameters_once_a_rank_and_step(
    strategy: str, trainers: int, graph: Graph, new_folder: NewFolder
) -> None:
    """Payload: |theta| numbers, a flag a parameter, and three totals; on a ring 2 (p-1) times that in all."""
    own = {
        "mini_batch": {"fanouts": (3, 2), "batch_size": 10},
        "cluster_batch": {"num_clusters": 6, "clusters_per_batch": 1, "partitioner": "hash"},
        "partitioned_mini_batch": {"fanouts": (3, 2), "batch_size": 10, "partition": "hash"},
        "halo_exchange": {"partition": "hash"},
    }[strategy]
    words = {"trainers": trainers, "epochs": 1, "hidden_channels": 8, **own, **QUIET}
    run = train_here(resolve(graph, "gcn", strategy, **words), new_folder())
    num_parameters, num_tensors = run.told("train_started")[0]["num_parameters"], 4
    payload = (num_parameters + num_tensors + 3) * FLOAT
    num_steps = run.told("train_started")[0]["steps_per_epoch"]
    assert num_parameters == 4 * 8 + 8 + 8 * 3 + 3
    assert moved(run, "all_reduce") == trainers * num_steps * payload
    on_a_ring = trainers * num_steps * round(2 * (trainers - 1) / trainers * payload)
    assert moved(run, "all_reduce_modelled") == on_a_ring
    told = run.told("epoch_finished")[0]["bytes"]
    assert told["all_reduce"] == moved(run, "all_reduce")


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no network namespaces here: ip {' '.join(words)}: {done.stderr.strip()}")


@pytest.fixture
def namespaces() -> Iterator[tuple[list[str], list[str]]]:
    """Two network namespaces joined by one cable: their names, and those of the interfaces in them."""
    if sys.platform != "linux" or shutil.which("ip") is None:
        pytest.skip("no network namespaces here: Linux with iproute2 has them")
    mark = uuid.uuid4().hex[:6]
    names, interfaces = [f"wb{mark}{i}" for i in range(2)], [f"wb{mark}v{i}" for i in range(2)]
    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", interfaces[0], "netns", names[0], "type", "veth", "peer", interfaces[1], "netns", names[1])
        for rank, (name, interface) in enumerate(zip(names, interfaces, strict=True)):
            ip("-n", name, "addr", "add", f"10.177.0.{rank + 1}/24", "dev", interface)
            ip("-n", name, "link", "set", interface, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names, interfaces
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def wide_graph() -> Graph:
    """Return 3,000 nodes of 512 features: the rows outweigh headers, ids and gradients by far."""
    num_nodes, rng = 3000, generator(7)
    edges = rng.integers(0, num_nodes, (2, 5 * num_nodes))
    x = rng.normal(size=(num_nodes, 512)).astype(np.float32)
    labels = rng.integers(0, 3, num_nodes)
    return Graph.from_edge_index(edges, num_nodes, x=x, y=labels, train_nodes=np.arange(num_nodes))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_interfaces_send_what_the_transport_counts(namespaces: tuple[list[str], list[str]], tmp_path: Path) -> None:
    """Two processes in two network namespaces: bytes on the wire within 5% of those counted."""
    names, interfaces = namespaces
    words = {"fanouts": (10, 5), "batch_size": 256, "trainers": 2, "epochs": 2, "hidden_channels": 8}
    resolved = resolve(wide_graph(), "sage", "partitioned_mini_batch", partition="hash", **words, **QUIET)
    spec = {
        "config": resolved.config.to_json(),
        "folder": str(tmp_path),
        "interfaces": interfaces,
        "host": "10.177.0.1",
        "port": 29531,  # in a namespace of its own every port is free
    }
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    ranks = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, str(SCRIPT), str(tmp_path / "spec.json"), str(rank)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for rank, name in enumerate(names)
    ]
    try:
        told = [json.loads(rank.communicate(timeout=240)[0].splitlines()[-1]) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    counted: Counter[str] = Counter()
    for report in told:
        counted.update(report["counted"])
    # With two ranks a ring all-reduce sends the buffer once each: what is modelled is what moves.
    expected = counted["gather_remote"] + counted["request"] + counted["all_reduce_modelled"]
    sent = sum(report["sent"] for report in told)
    assert counted["gather_remote"] > 20e6
    assert sent == pytest.approx(expected, rel=0.05)
