"""Partitioners against the epoch of ``halo_exchange``: seconds, bytes, and which figure of quality tells them best.

    python -m benchmarks.results_strategies --partitions          # what is missing, then docs/results/partitions.md

Every partitioner's parts train in rounds, one after another, so that a load from outside falls on all of them alike. An
epoch's seconds are by the clock (the least and the median of all epochs), and by the processor: what all ranks together
computed, which a load changes less. Ranks are threads with one thread of torch each.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import textwrap
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student

from benchmarks.strategy_runs import QUIET, Entry, load
from workbench.core.control import Control
from workbench.graph import Graph
from workbench.partition import node_methods, partition
from workbench.testing.rank_context import train_here
from workbench.train import resolve

GRAPHS = {"cora": 25, "pubmed": 15, "debian": 4}  # and the epochs of a round
NUM_PARTS, NUM_ROUNDS = 4, 3
OPTIONAL = ("kahip", "mtkahypar")  # extras that are not installed everywhere
MODEL: dict[str, Any] = {"hidden_channels": 64, "num_layers": 2, "dropout": 0.0, "sparse": True}
FIGURES = {
    "edge_cut_ratio": "edges cut / edges",
    "comm_volume": "rows that travel in a layer (sum of halos)",
    "largest_halo": "rows of the largest halo",
    "node_balance": "largest part over mean, nodes",
    "edge_balance": "largest part over mean, in-edges",
    "largest_part": "in-edges and halo rows of the part that has most",
}


def fill(text: str) -> str:
    """Return a paragraph in lines of a page."""
    return textwrap.fill(text, 118, break_on_hyphens=False, break_long_words=False)


def quality_of(made: Any) -> Entry:
    """Return the figures of a partition that are compared with its epochs."""
    quality = made.quality()
    return {
        "edge_cut_ratio": round(float(quality.edge_cut_ratio), 5),
        "comm_volume": int(quality.comm_volume),
        "largest_halo": int(quality.part_halo_nodes.max()),
        "node_balance": round(float(quality.node_balance), 4),
        "edge_balance": round(float(quality.edge_balance), 4),
        "largest_part": int((quality.part_in_edges + quality.part_halo_nodes).max()),
    }


def measure(graph: Graph, method: str, epochs: int) -> Entry:
    """Train some epochs on a method's parts and return their seconds and bytes."""
    made = partition(graph, NUM_PARTS, method)
    words = {**MODEL, **QUIET, "trainers": NUM_PARTS, "epochs": epochs + 2, "partition": made}
    marks: dict[int, tuple[float, float]] = {}

    def look(step: int, call: int) -> Control | None:
        marks.setdefault(step, (time.perf_counter(), time.process_time()))  # the first rank that begins a step
        return None

    with tempfile.TemporaryDirectory() as folder:
        run = train_here(
            resolve(graph, "sage", "halo_exchange", **words), Path(folder), controls=look, timeout_s=1800.0
        )
    seen = [marks[step] for step in sorted(marks)][1:]  # the first epoch warms up
    moved = [event["bytes"] for event in run.told("step_finished") if event["step"] == 2]
    return {
        "dataset": graph.name,
        "method": method,
        "num_parts": NUM_PARTS,
        "epoch_s": [round(after[0] - before[0], 5) for before, after in pairwise(seen)],
        "cpu_s": round((seen[-1][1] - seen[0][1]) / (len(seen) - 1), 5),
        "halo_bytes": sum(moved_by.get(kind, 0) for moved_by in moved for kind in ("halo_forward", "halo_backward")),
        "quality": quality_of(made),
        "partition_s": round(made.elapsed_s, 3),
        "load": round(os.getloadavg()[0], 1),
    }


class Kept:
    """The rounds of a graph, in a file that is whole after every one."""

    def __init__(self, folder: Path, dataset: str) -> None:
        self.dataset, self.path = dataset, folder / "partitions" / f"{dataset}.json"
        self.runs: list[Entry] = json.loads(self.path.read_text())["runs"] if self.path.exists() else []

    def add(self, run: Entry) -> None:
        self.runs.append(run)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = self.path.with_suffix(".part")
        aside.write_text(json.dumps({"model": MODEL, "runs": self.runs}, indent=1) + "\n")
        aside.replace(self.path)

    def of(self, method: str) -> list[Entry]:
        return [run for run in self.runs if run["method"] == method]

    def methods(self) -> list[str]:
        return sorted({run["method"] for run in self.runs}, key=lambda name: self.seconds(name)["least"])

    def seconds(self, method: str) -> dict[str, float]:
        """Return an epoch's seconds: least and median by the clock, median of the rounds by the processor."""
        runs = self.of(method)
        clock = [value for run in runs for value in run["epoch_s"]]
        cpu = statistics.median(run["cpu_s"] for run in runs)
        return {"least": min(clock), "median": statistics.median(clock), "cpu": cpu}

    def correlation(self, figure: str, of: str) -> float | None:
        """Return the rank correlation (Spearman) of a figure of quality with an epoch's seconds, over partitioners."""
        methods = self.methods()
        a = rankdata([self.of(name)[-1]["quality"][figure] for name in methods])
        b = rankdata([self.seconds(name)[of] for name in methods])
        if len(methods) < 3 or a.std() == 0 or b.std() == 0:
            return None
        return float(np.corrcoef(a, b)[0, 1])


def table(kept: Kept) -> str:
    """Return the partitioners of a graph as Markdown, the fastest epoch first."""
    head = ("partitioner", "cut", "rows a layer", "edge balance", "epoch, least", "median", "processor", "MB", "epochs")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for method in kept.methods():
        runs, seconds = kept.of(method), kept.seconds(method)
        quality = runs[-1]["quality"]
        milliseconds = [f"{1e3 * seconds[name]:,.1f} ms" for name in ("least", "median", "cpu")]
        cells = [
            *(f"`{method}`", f"{quality['edge_cut_ratio']:.3f}", f"{quality['comm_volume']:,}"),
            *(f"{quality['edge_balance']:.2f}", *milliseconds, f"{runs[-1]['halo_bytes'] / 1e6:,.1f}"),
            str(sum(len(run["epoch_s"]) for run in runs)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def correlations(found: list[Kept]) -> str:
    """Return which figure ranks partitioners as their epochs do."""
    names = [f"{kept.dataset}, {how}" for kept in found for how in ("least", "processor")]
    lines = [f"| figure | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    for figure, meaning in FIGURES.items():
        values = [kept.correlation(figure, of) for kept in found for of in ("least", "cpu")]
        cells = ["" if value is None else f"{value:+.2f}" for value in values]
        lines.append(f"| {meaning} | {' | '.join(cells)} |")
    return "\n".join(lines)


def verdict(found: list[Kept]) -> str:
    """Say which figure ranks best, over all graphs and both measures."""
    means = {}
    for figure in FIGURES:
        values = [kept.correlation(figure, of) for kept in found for of in ("least", "cpu")]
        known = [value for value in values if value is not None]
        if known:
            means[figure] = statistics.mean(known)
    if not means:
        return "Too few partitioners were measured to compare figures."
    order = sorted(means, key=lambda figure: -means[figure])
    best, second = order[0], order[1]
    bound = by_chance(min(len(kept.methods()) for kept in found))
    firm = [figure for figure in order if means[figure] >= bound]
    told = (
        f"by that measure {len(firm)} of the figures tell epochs apart"
        if firm
        else "so none of them tells epochs for certain here: what the parts change is smaller than the noise"
    )
    return (
        f"Over these graphs the best predictor is: {FIGURES[best]} (mean rank correlation {means[best]:+.2f}); then: "
        f"{FIGURES[second]} ({means[second]:+.2f}). A correlation of {bound:.2f} or more, up or down, comes about "
        f"by chance once in twenty times, {told}. Bytes are {2 * 4 * MODEL['hidden_channels']} times the rows a layer, "
        "exactly: that figure ranks them without fail. Ranks of one process hand rows over in memory; between "
        "machines they cost what the network takes for the bytes."
    )


def by_chance(count: int) -> float:
    """Return the rank correlation of `count` pairs that unrelated ones exceed in one case of twenty (by t)."""
    deviates = float(student.ppf(0.975, count - 2))
    return deviates / float(np.sqrt(count - 2 + deviates**2))


def report(found: list[Kept]) -> str:
    """Return the page of what there is."""
    found = [kept for kept in found if kept.runs]
    loads = [run["load"] for kept in found for run in kept.runs] or [0.0]
    blocks = [
        "# Partitioners and the epoch that follows",
        fill(
            f"`halo_exchange` on {NUM_PARTS} trainers: GraphSAGE, {MODEL['num_layers']} layers, "
            f"{MODEL['hidden_channels']} hidden channels; the result is the same whatever the parts. MB: halo rows and "
            "their gradients that all ranks send in an epoch. Processor: seconds of all ranks together, waiting left "
            "out."
        ),
        *(f"## {kept.dataset}\n\n{table(kept)}" for kept in found),
        "## Which figure of quality tells the epoch?",
        "Rank correlation (Spearman) over the partitioners; +1: it ranks them as their epochs do.",
        correlations(found),
        fill(verdict(found)),
        fill(
            f"Load of the machine meanwhile: {min(loads):.0f} to {max(loads):.0f}, on 2 cores, on which {NUM_PARTS} "
            "ranks take turns: seconds by the clock are noisy, and what separates two neighbours of a table may be "
            "noise. Cuts, rows and bytes are exact. Written by `python -m benchmarks.results_strategies --partitions` "
            "from the rounds in `partitions/`."
        ),
    ]
    return "\n\n".join(blocks) + "\n"


def run(folder: Path, root: str | None, until_s: float) -> None:
    """Measure what is missing, round by round, and write the page."""
    found = [Kept(folder, dataset) for dataset in GRAPHS]
    methods = [name for name in node_methods() if name not in OPTIONAL]
    for kept in found:
        for turn in range(NUM_ROUNDS):
            for method in methods:
                if len(kept.of(method)) > turn or time.monotonic() > until_s:
                    continue
                entry = measure(load(kept.dataset, root), method, GRAPHS[kept.dataset])
                kept.add(entry)
                print(
                    kept.dataset, method, f"{1e3 * min(entry['epoch_s']):.1f} ms", f"load {entry['load']}", flush=True
                )
    (folder / "partitions.md").write_text(report(found))
