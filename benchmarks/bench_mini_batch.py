"""An epoch of mini-batch GraphSAGE against a plain PyG loop on the same sampled batches.

GraphSAGE 512-256-58, fanouts (15, 10), batches of 1,024, on the Debian graph and on its file graph (3.4 M edges). Both
train on the same batches, which a background thread makes ahead, from the same first weights and without dropout: their
losses and test accuracies (by the whole graph) must agree. The plain loop is what PyG's examples do: the whole model on
every batch, the loss on the seeds. ``mini_batch`` trains the same layers with the row cut, and once more with
``sparse=True``.

Runs take turns. Seconds and CPU seconds of the thread that trains are those of the last epoch, the least of the rounds,
since whatever else runs on the machine can only slow one down. GraphSAGE's ratio is asserted: with one thread of CPU
seconds, which a busy machine changes little, else of seconds. `--models` reports one step of others.

    python benchmarks/bench_mini_batch.py --rounds 3 --threads 2 --models gcn gat
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch_geometric import nn as pyg

from workbench.core.control import Control
from workbench.gather import Batch, BatchMaker, BatchPlan, BatchRequest, LocalSource, epoch_requests
from workbench.graph import Graph, datasets
from workbench.models import MODELS, ModelInputs, ModelSpec, call_model
from workbench.testing.rank_context import train_here
from workbench.train import resolve
from workbench.train.boundaries.cut import RowCut
from workbench.train.boundary import attached
from workbench.train.little import little_batch
from workbench.train.probe import Verdict, choose_row_cut
from workbench.train.seeding import seed_build

GRAPHS = ("debian", "debian_files")
FANOUTS, BATCH_SIZE, HIDDEN, LR = (15, 10), 1024, 256, 0.003
NUM_EPOCHS = 2  # of a run; the first one warms up
MIN_RATIO = 3.0  # of the plain loop's epoch over ours, for GraphSAGE
LOSS_TOLERANCE = 1e-3
ACCURACY_TOLERANCE = 0.005
OTHERS: dict[str, dict[str, Any]] = {
    "sage": {},
    "gcn": {},
    "gin": {},
    "graph_conv": {},
    "sgc": {"K": 2},
    "appnp": {"K": 2, "hidden_channels": HIDDEN},
    "gat": {},
    "gatv2": {},
    "transformer": {},
    "edge_conv": {},
    "cheb": {"K": 2},
}
Make = Callable[[int, int], nn.Module]
Epoch = tuple[float, float, float]  # seconds, CPU seconds of the thread, mean loss
Accuracies = dict[str, float]


class PlainSage(nn.Module):
    """GraphSAGE as in PyG's examples."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        widths = itertools.pairwise([in_channels, HIDDEN, out_channels])
        self.convs = nn.ModuleList(pyg.SAGEConv(a, b) for a, b in widths)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        x = self.convs[0](x, edge_index).relu()
        return self.convs[1](x, edge_index)


def plain_loop(graph: Graph, make: Make) -> tuple[Epoch, float]:
    """Train as PyG's examples do, and return the last epoch and the test accuracy after it."""
    seed_build(0)
    module = make(graph.num_features, graph.num_classes)
    optimizer = torch.optim.Adam(module.parameters(), lr=LR)
    sampler = {"name": "neighbor", "params": {"fanouts": FANOUTS}}
    source = LocalSource(BatchPlan(folder=str(graph.store()), sampler=sampler, batch_size=BATCH_SIZE))
    steps = source.maker.steps_per_epoch
    with closing(source):
        batches = source.batches(requests(steps))
        for _ in range(NUM_EPOCHS):
            begin, losses, num_seeds = (time.perf_counter(), time.thread_time()), 0.0, 0
            for batch in itertools.islice(batches, steps):
                optimizer.zero_grad()
                inputs = ModelInputs(x=torch.from_numpy(batch.x), edge_index=torch.from_numpy(batch.edge_index).long())
                out = call_model(module, inputs)[: batch.num_seeds]
                loss = functional.cross_entropy(out, torch.from_numpy(batch.y))
                loss.backward()
                optimizer.step()
                losses, num_seeds = losses + loss.item() * batch.num_seeds, num_seeds + batch.num_seeds
            end = time.perf_counter(), time.thread_time()
    return (end[0] - begin[0], end[1] - begin[1], losses / num_seeds), whole_graph_accuracy(graph, module)


@torch.no_grad()
def whole_graph_accuracy(graph: Graph, module: nn.Module) -> float:
    """Return the share of the test nodes that a model gets right, by one forward over all edges."""
    edge_index = torch.from_numpy(np.stack(graph.edge_index())).long()
    inputs = ModelInputs(x=torch.tensor(np.asarray(graph.x)), edge_index=edge_index)
    found = call_model(module.eval(), inputs).argmax(1).numpy()[graph.test_nodes]
    return float((found == np.asarray(graph.y)[graph.test_nodes]).mean())


def requests(steps: int) -> Iterator[BatchRequest]:
    """Yield the requests of all epochs."""
    for epoch in range(1, NUM_EPOCHS + 1):
        yield from epoch_requests(epoch=epoch, rank=0, steps_per_epoch=steps)


def workbench(graph: Graph, spec: ModelSpec) -> Epoch:
    """Train by ``mini_batch`` and return the last epoch, all that a rank does and tells included."""
    words = {"batch_size": BATCH_SIZE, "fanouts": FANOUTS, "lr": LR, "evaluate_every": 0}
    resolved = resolve(graph, spec, "mini_batch", epochs=NUM_EPOCHS + 1, **words)
    steps, clock = -(-len(graph.train_nodes) // BATCH_SIZE), list[tuple[float, float]]()

    def before_step(step: int, _call: int) -> Control | None:
        if (step - 1) % steps == 0:
            clock.append((time.perf_counter(), time.thread_time()))
        return Control(kind="stop", id="done") if step > NUM_EPOCHS * steps else None

    with tempfile.TemporaryDirectory() as folder:
        run = train_here(resolved, Path(folder), controls=before_step, timeout_s=3600.0)
    begin, end = clock[-2:]
    return end[0] - begin[0], end[1] - begin[1], run.losses[-1]


def trained_accuracy(graph: Graph, spec: ModelSpec) -> float:
    """Train by ``mini_batch`` for as long as the plain loop and return the test accuracy that the run tells."""
    words = {"batch_size": BATCH_SIZE, "fanouts": FANOUTS, "lr": LR, "evaluate_every": 0}
    resolved = resolve(graph, spec, "mini_batch", epochs=NUM_EPOCHS, **words)
    with tempfile.TemporaryDirectory() as folder:
        run = train_here(resolved, Path(folder), timeout_s=3600.0)
    return float(run.told("epoch_finished")[-1]["metrics"]["test_accuracy"])


def compare_accuracy(graph: Graph, ours: dict[str, ModelSpec], plain: float) -> None:
    """Print the accuracies of all, and stop where one differs."""
    found: Accuracies = {"plain loop": plain} | {name: trained_accuracy(graph, spec) for name, spec in ours.items()}
    said = ", ".join(f"{name} {accuracy:.4f}" for name, accuracy in found.items())
    print(f"{graph.name:14} test accuracy after {NUM_EPOCHS} epochs: {said}", flush=True)
    if max(found.values()) - min(found.values()) > ACCURACY_TOLERANCE:
        raise SystemExit("the accuracies differ")


def compare(graph: Graph, label: str, make: Make, ours: dict[str, ModelSpec], rounds: int) -> list[float]:
    """Print the best epochs of all, by turns, and return what is asserted: the plain loop's seconds over ours."""
    accuracies: list[float] = []

    def plain_epoch() -> Epoch:
        epoch, accuracy = plain_loop(graph, make)
        accuracies.append(accuracy)
        return epoch

    runs: dict[str, Callable[[], Epoch]] = {"plain loop": plain_epoch}
    runs |= {name: lambda spec=spec: workbench(graph, spec) for name, spec in ours.items()}
    found: dict[str, list[Epoch]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, train in runs.items():
            found[name].append(train())
    best = {name: tuple(min(epoch[i] for epoch in epochs) for i in range(2)) for name, epochs in found.items()}
    plain, ratios = best["plain loop"], list[float]()
    for name, (seconds, cpu_s) in best.items():
        loss, wanted = found[name][-1][2], found["plain loop"][-1][2]
        of_seconds, of_cpu_s = plain[0] / seconds, plain[1] / cpu_s
        if name in ours:
            ratios.append(of_cpu_s if torch.get_num_threads() == 1 else of_seconds)
        print(
            f"{graph.name:14} {label:12} {name:18} {seconds:7.2f} s  {cpu_s:7.2f} CPU s  loss {loss:.5f}  "
            f"{of_seconds:5.2f} times as fast ({of_cpu_s:.2f} by CPU s)",
            flush=True,
        )
        if abs(loss - wanted) > LOSS_TOLERANCE * wanted:
            raise SystemExit(f"the losses differ: {loss} and {wanted}")
    compare_accuracy(graph, ours, accuracies[-1])
    return ratios


def variants(name: str, **params: Any) -> tuple[Make, dict[str, ModelSpec]]:
    """Return how a model is built for the plain loop, and its forms here."""
    spec = MODELS.create(name, dropout=0.0, **params)
    ours = {"mini_batch": spec}
    if hasattr(spec, "sparse"):
        ours["mini_batch, sparse"] = MODELS.create(name, dropout=0.0, sparse=True, **params)
    return spec.build, ours


def compare_steps(graph: Graph, name: str, params: dict[str, Any], rounds: int) -> None:
    """Print CPU seconds of a step of a model: all of it on a batch, and by the row cut that its probe chooses."""
    sampler = {"name": "neighbor", "params": {"fanouts": FANOUTS}}
    maker = BatchMaker(BatchPlan(folder=str(graph.store()), sampler=sampler, batch_size=BATCH_SIZE))
    batch = maker.make(epoch=1, step=1, rank=0)
    modules = {
        label: spec.build(graph.num_features, graph.num_classes) for label, spec in variants(name, **params)[1].items()
    }
    little = little_batch(graph, len(FANOUTS), torch.device("cpu"), torch.float32)
    verdict = choose_row_cut(modules["mini_batch"], little)
    steps = {"plain": lambda: take_step(modules["mini_batch"], batch, None)}
    steps |= {label: lambda module=module: take_step(module, batch, verdict) for label, module in modules.items()}
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(rounds + 1):  # the first ones warm up
        for label, step in steps.items():
            best[label] = min(best[label], step())
    for label, cpu_s in best.items():
        mode = "off" if label == "plain" else verdict.mode
        print(
            f"{name:12} {label:18} {mode:6} {1e3 * cpu_s:7.0f} CPU ms  {best['plain'] / cpu_s:5.2f} times as fast",
            flush=True,
        )


def take_step(module: nn.Module, batch: Batch, verdict: Verdict | None) -> float:
    """Return the CPU seconds of one forward and backward."""
    inputs = ModelInputs(x=torch.from_numpy(batch.x), edge_index=torch.from_numpy(batch.edge_index).long())
    hops = batch.num_nodes_per_hop.tolist(), batch.num_edges_per_hop.tolist()
    begin = time.thread_time()
    with ExitStack() as stack:
        if verdict is not None and verdict.mode != "off":
            stack.enter_context(attached(module, RowCut(*hops, verdict.num_calls, padded=verdict.mode == "padded")))
        out = call_model(module, inputs)[: batch.num_seeds]
    functional.cross_entropy(out, torch.from_numpy(batch.y)).backward()
    return time.thread_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument(
        "--models", nargs="*", choices=sorted(OTHERS), default=[], help="others to report, one round each, on Debian"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as home:
        os.environ.setdefault("WORKBENCH_HOME", home)
        worst = float("inf")
        for name in options.graphs:
            _, ours = variants("sage")
            worst = min(worst, *compare(datasets.load(name), "sage", PlainSage, ours, options.rounds))
        for name in options.models:
            compare_steps(datasets.load("debian"), name, OTHERS[name], options.rounds)
    if worst < MIN_RATIO:
        raise SystemExit(f"too slow: {worst:.2f} < {MIN_RATIO}")


if __name__ == "__main__":
    main()
