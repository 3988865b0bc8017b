"""Halo exchange on two ranks of one thread against one rank of one thread; what boundaries and events cost of a step.

The graph is a grid (two parts of it share one line of nodes), the model GraphSAGE of width 256; runs take turns on the
local cluster, and epochs are compared by their medians. It prints what each rank spends its steps on, so that it shows
what binds. On a machine that others use, the steps count in which nobody waited for a core (quiet.py); without enough
of those the ratio of all steps is printed and nothing is asserted. The cost of boundaries and events is CPU time on the
Debian graph: what hooks and one event of a step add, over what the step takes.

    python benchmarks/bench_halo.py --rounds 3 --side 170
"""

from __future__ import annotations

import argparse
import copy
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import torch
from quiet import Watch

import workbench as wb
from workbench.core.events import Event, encode_line, of_kind
from workbench.models import MODELS, ModelInputs, call_model
from workbench.sampling import sample
from workbench.train.boundaries.cut import RowCut
from workbench.train.boundary import attached
from workbench.train.part_runner import PartRunner
from workbench.train.partitioned import open_local_part, record_parts
from workbench.train.transport import SoloTransport
from workbench.train.whole import whole_graph_inputs

NUM_EPOCHS, WIDTH = 16, 256
MIN_SPEEDUP = 1.6
MAX_COST = 0.03  # of a step
NUM_QUIET = 10  # steps that it takes to say something
PHASES = ("forward", "backward", "exchange", "wait_for_rank", "all_reduce", "update")
CPU = torch.device("cpu")


def train(session: wb.Session, graph: wb.Graph, trainers: int) -> wb.Run:
    """Return a finished run on so many ranks of one thread."""
    words = {"partition": "metis", "strategy": "halo_exchange", "hidden_channels": WIDTH, "lr": 0.01}
    run = session.launch(graph, "sage", trainers=trainers, epochs=NUM_EPOCHS, evaluate_every=0, **words)
    return run.wait()


def step_times(run: wb.Run) -> list[tuple[float, float]]:
    """Return when each step but the first began, and when the last rank was done with it (Unix time)."""
    ends: dict[int, float] = {}
    begins: dict[int, float] = {}
    for event in of_kind(run.events, "step_finished"):
        step, spans = event.data["step"], [span for span in event.data["spans"] if span[0] in PHASES]
        ends[step] = max(ends.get(step, 0.0), max(start + took for _, start, took in spans))
        begins[step] = min(begins.get(step, float("inf")), min(start for _, start, _ in spans))
    return [(begins[step], ends[step]) for step in sorted(ends)[1:]]


def tell_what_binds(run: wb.Run) -> None:
    """Print each rank's median seconds by phase, what it computes on and what it moves, in a step."""
    by_rank: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    last: dict[int, Event] = {}
    for event in of_kind(run.events, "step_finished"):
        spent: dict[str, float] = defaultdict(float)
        for phase, _, took in event.data["spans"]:
            spent[phase] += took
        for phase in PHASES:
            by_rank[event.rank or 0][phase].append(spent[phase])
        last[event.rank or 0] = event
    for rank, phases in sorted(by_rank.items()):
        medians = "  ".join(f"{phase} {statistics.median(took) * 1000:.0f} ms" for phase, took in phases.items())
        data = last[rank].data
        moved = data["bytes"].get("halo_forward", 0) + data["bytes"].get("halo_backward", 0)
        print(
            f"  rank {rank}: {data['num_nodes']:,} nodes, {data['num_edges']:,} edges, {moved:,} halo bytes;  {medians}"
        )


def bench_ranks(rounds: int, side: int) -> list[str]:
    """Print the epochs of one and of two ranks by turns; return what is missed."""
    graph = wb.datasets.load("grid", height=side, width=side, num_features=WIDTH)
    print(f"grid of {graph.num_nodes:,} nodes, {graph.num_edges:,} edges; load {os.getloadavg()[0]:.1f}")
    session = wb.connect(trainers=2, samplers=0)
    times: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    runs: dict[int, wb.Run] = {}
    try:
        with Watch() as watch:
            for _ in range(rounds):
                for trainers, measured in times.items():
                    runs[trainers] = train(session, graph, trainers)
                    measured += step_times(runs[trainers])
    finally:
        session.close()
    for trainers, run in runs.items():
        print(f"{trainers} rank{'s' * (trainers > 1)} of one thread, the last run:")
        tell_what_binds(run)
    quiet = {trainers: [time for time in all_of if watch.was_quiet(*time)] for trainers, all_of in times.items()}
    tell_speedup(times, "all")
    if min(map(len, quiet.values())) < NUM_QUIET:
        print(f"not asserted: the machine is not idle (load {os.getloadavg()[0]:.1f}), too few steps were quiet")
        return []
    speedup = tell_speedup(quiet, "quiet")
    return [f"two ranks are {speedup:.2f} times as fast, not {MIN_SPEEDUP}"] if speedup < MIN_SPEEDUP else []


def tell_speedup(times: dict[int, list[tuple[float, float]]], which: str) -> float:
    """Print the median epochs of one and of two ranks, and return their ratio."""
    seconds = {n: statistics.median(end - begin for begin, end in all_of) for n, all_of in times.items()}
    speedup = seconds[1] / seconds[2]
    print(
        f"{which} epochs ({len(times[1])} and {len(times[2])}): one rank {seconds[1] * 1000:.0f} ms, two ranks "
        f"{seconds[2] * 1000:.0f} ms: {speedup:.2f} times as fast"
    )
    return speedup


def cpu_s(work: Callable[[], object], rounds: int) -> float:
    """Return the least CPU seconds that the work took."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def sampled(graph: wb.Graph, num_seeds: int, fanouts: tuple[int, ...]) -> tuple[ModelInputs, list[int], list[int]]:
    part = sample(graph, graph.train_nodes[:num_seeds], fanouts=fanouts)
    x = torch.from_numpy(graph.x[part.node_ids]).float()
    inputs = ModelInputs(x=x, edge_index=torch.from_numpy(part.edge_index))
    return inputs, part.num_nodes_per_hop.tolist(), part.num_edges_per_hop.tolist()


def bench_costs(rounds: int) -> list[str]:
    """Print what the row cut's hooks, the halo's and one event add to a step on Debian; return what is missed."""
    graph = wb.datasets.load("debian")
    spec = MODELS.create("sage", hidden_channels=256, dropout=0.0)
    module = spec.build(graph.num_features, graph.num_classes)

    def forward(inputs: ModelInputs, nodes: list[int], edges: list[int], *, cut: bool) -> torch.Tensor:
        if not cut:
            return call_model(module, inputs)
        with attached(module, RowCut(nodes, edges, 2, padded=False)):
            return call_model(module, inputs)

    batch, tiny = sampled(graph, 1024, (15, 10)), sampled(graph, 1, (1, 1))
    step_s = cpu_s(lambda: forward(*batch, cut=True).sum().backward(), rounds)
    # On a batch of almost nothing the difference is what hooks cost: it does not grow with the batch.
    many = range(100)
    hooks_s = cpu_s(lambda: [forward(*tiny, cut=True) for _ in many], 5) / len(many)
    hooks_s -= cpu_s(lambda: [forward(*tiny, cut=False) for _ in many], 5) / len(many)
    spans = [["forward", 1.0, 1.0]] * 8
    data = {"epoch": 1, "step": 1, "num_seeds": 1024, "loss": 1.0, "num_nodes": 1, "num_edges": 1, "spans": spans,
            "bytes": {"gather": 1, "all_reduce": 1}, "ring_filled": None, "ring_slots": None}  # fmt: skip
    event = Event(kind="step_finished", time_s=1.0, seq=1, rank=0, data=data)
    event_s = cpu_s(lambda: [encode_line(event) for _ in many], 5) / len(many)
    cost = (hooks_s + event_s) / step_s
    print(
        f"mini_batch on {graph.name}: a step takes {step_s * 1000:.0f} ms of CPU, the boundary {hooks_s * 1e6:.0f} us, "
        f"its event {event_s * 1e6:.0f} us: {cost:.2%} of the step"
    )
    whole_s, halo_s = halo_step_s(graph, module, rounds)
    print(f"full batch on {graph.name}: plain {whole_s:.2f} s of CPU, through the halo's boundary {halo_s:.2f} s")
    return [f"boundaries and events cost {cost:.2%} of a step, not {MAX_COST:.0%}"] if cost > MAX_COST else []


def halo_step_s(graph: wb.Graph, module: torch.nn.Module, rounds: int) -> tuple[float, float]:
    """Return the CPU seconds of a step over the whole graph, plain and as the only part of a halo exchange."""
    inputs, plain, parted = whole_graph_inputs(graph, CPU, torch.float32), module, copy.deepcopy(module)
    folder = Path(record_parts(graph, "contiguous", 1)["parts_folder"])
    runner = PartRunner(open_local_part(folder, 0), SoloTransport(), CPU, torch.float32)
    whole_s = cpu_s(lambda: call_model(plain, inputs).sum().backward(), rounds)
    return whole_s, cpu_s(lambda: runner.forward(parted).sum().backward(), rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", type=int, default=170, help="nodes along a side of the grid")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as home:
        os.environ.setdefault("WORKBENCH_HOME", home)
        missed = bench_costs(options.rounds) + bench_ranks(options.rounds, options.side)
    if missed:
        raise SystemExit("missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
