"""A graph of 111 million nodes and 1.6 thousand million edges: generated, opened, sampled and explored on one machine.

    python benchmarks/huge.py                              # about 7 GB of disk, which are freed at the end
    WORKBENCH_HUGE_NODES=1000000 WORKBENCH_HUGE_EDGES=14000000 python benchmarks/huge.py

A directed R-MAT graph of the size of ogbn-papers100M, without features. Each stage reports its time and the peaks of
the process: its own memory, and its resident memory with the pages of the mapped graph, which the system may take
back at any moment. The own memory is limited to WORKBENCH_HUGE_GIB (24) by the system: what needs more fails.
WORKBENCH_HUGE_FOLDER is where the graph is written; the figures go to the files of --json and --markdown.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from workbench.core.units import format_bytes, format_count, format_seconds
from workbench.graph import Graph, datasets
from workbench.graph.rmat_stream import RmatStream
from workbench.sampling.explode import explosion
from workbench.sampling.explosion_seeds import random_seeds
from workbench.sampling.explosion_sizes import neighborhood_sizes
from workbench.sampling.methods.neighbor import NeighborSampler

FANOUTS, BATCH_SIZE, NUM_BATCHES = (15, 10, 5), 1024, 20
EXPLORED_BATCHES, SINGLE_SEEDS = 2, 64
WATCH_EVERY_S = 0.05
NOTES = f"""\
`generate` draws every edge once to count and once for each bucket of destinations; `sample` draws batches of
{BATCH_SIZE:,} seeds with fanouts {FANOUTS}, the first from pages that may not be in memory; `explore`
counts exactly what such batches read within each hop, with all neighbours and with drawn ones; `single seeds`
follows {SINGLE_SEEDS} seeds through {len(FANOUTS)} hops in one pass. Times depend on what else the machine
was doing: see its load."""


@dataclass(kw_only=True)
class Stage:
    """What one stage took, and what it found."""

    name: str
    elapsed_s: float = 0.0
    own_bytes: int = 0
    resident_bytes: int = 0
    found: dict[str, Any] = field(default_factory=dict)


def memory_now() -> tuple[int, int]:
    """Return the bytes of this process's own pages, and of all its resident ones."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    own, resident = (int(status[key].split()[0]) * 1024 for key in ("RssAnon", "VmRSS"))
    return own, resident


@contextlib.contextmanager
def watched(stages: list[Stage], name: str) -> Iterator[Stage]:
    """Measure a stage: wall time, and the peaks of memory as a thread sees them."""
    stage, over = Stage(name=name), threading.Event()

    def watch() -> None:
        while True:
            own, resident = memory_now()
            stage.own_bytes, stage.resident_bytes = max(stage.own_bytes, own), max(stage.resident_bytes, resident)
            if over.wait(WATCH_EVERY_S):
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    start = time.perf_counter()
    try:
        yield stage
    finally:
        stage.elapsed_s = time.perf_counter() - start
        over.set()
        thread.join()
    stages.append(stage)
    say(f"{name}: {format_seconds(stage.elapsed_s)}, own {format_bytes(stage.own_bytes)}, {stage.found}")


def say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


def progress_teller() -> Callable[[str, float], None]:
    """Return a progress callback that speaks every ten seconds."""
    last = [time.perf_counter()]

    def tell(name: str, fraction: float) -> None:
        if time.perf_counter() - last[0] > 10:
            last[0] = time.perf_counter()
            say(f"{name} {fraction:.0%}")

    return tell


def run(num_nodes: int, num_edges: int, folder: Path, stages: list[Stage]) -> None:
    """Run all stages on a graph in `folder`."""
    path = folder / "graph"
    with watched(stages, "compile"):
        everything(datasets.load("karate"), [])
        RmatStream(num_nodes=16, num_edges=64).save(folder / "tiny")
    with watched(stages, "generate") as stage:
        stream = RmatStream(num_nodes=num_nodes, num_edges=num_edges, num_threads=os.cpu_count() or 1)
        stream.save(path, progress_teller())
        stage.found["disk_bytes"] = sum(file.stat().st_size for file in path.iterdir())
    with watched(stages, "open") as stage:
        graph = Graph.open(path)
        stage.found |= {"num_nodes": graph.num_nodes, "num_edges": graph.num_edges}
    everything(graph, stages)


def everything(graph: Graph, stages: list[Stage]) -> None:
    """Sample and explore a graph that is open."""
    with watched(stages, "sample") as stage:
        sampler, edges, nodes, times = NeighborSampler(fanouts=FANOUTS), 0, 0, []
        for batch in range(NUM_BATCHES):
            seeds = random_seeds(graph, BATCH_SIZE, batch=batch)
            start = time.perf_counter()
            found = sampler.sample(graph, seeds, epoch=0, batch=batch, rng_seed=0)
            times.append(time.perf_counter() - start)
            edges, nodes = edges + found.num_edges, nodes + found.num_nodes
        stage.found |= {"batches": NUM_BATCHES, "first_batch_s": times[0]}  # its pages may have to come from the disk
        stage.found |= {"mean_edges": edges / NUM_BATCHES}
        stage.found |= {"median_batch_s": sorted(times)[len(times) // 2], "mean_nodes": nodes / NUM_BATCHES}
    with watched(stages, "explore") as stage:
        result = explosion(graph, num_seeds=BATCH_SIZE, fanouts=FANOUTS, num_batches=EXPLORED_BATCHES)
        full, sampled = result.all_neighbors, result.sampled
        stage.found |= {"batches": EXPLORED_BATCHES, "all_nodes": full.unique_nodes.mean.tolist()}
        stage.found |= {"all_edges": full.num_edges.mean.tolist(), "share": float(full.share[-1])}
        stage.found |= {"sampled_nodes": sampled.unique_nodes.mean.tolist()}
    with watched(stages, "single seeds") as stage:
        seeds = random_seeds(graph, SINGLE_SEEDS, batch=0)
        sizes = neighborhood_sizes(graph, seeds, depth=len(FANOUTS))
        stage.found |= {"seeds": len(seeds), "mean_nodes": sizes.mean(axis=0).tolist()}


def markdown(record: dict[str, Any]) -> str:
    """Return the report as a page."""
    rows = [
        f"| {stage['name']} | {format_seconds(stage['elapsed_s'])} | {format_bytes(stage['own_bytes'])} | "
        f"{format_bytes(stage['resident_bytes'])} | {_words(stage['found'])} |"
        for stage in record["stages"]
    ]
    loads = ", ".join(f"{load:.1f}" for load in record["load_before"])
    after = ", ".join(f"{load:.1f}" for load in record["load_after"])
    return "\n".join(
        [
            "# A huge graph on one machine",
            "",
            "Made by `make huge` (`benchmarks/huge.py`): a directed R-MAT graph folded onto "
            f"{format_count(record['num_nodes'])} nodes with {format_count(record['num_edges'])} edges, no features.",
            "",
            f"{record['date']}, {record['cores']} cores, {format_bytes(record['machine_bytes'])} memory; load of the "
            f"last 1, 5 and 15 minutes {loads} before and {after} after. The process's own memory was limited to "
            f"{record['limit_gib']} GiB.",
            "",
            "| stage | time | peak own memory | peak resident, mapped pages included | found |",
            "|---|---|---|---|---|",
            *rows,
            "",
            NOTES,
            "",
        ]
    )


def _words(found: dict[str, Any]) -> str:
    def word(key: str, value: Any) -> str:
        if isinstance(value, list):
            return ", ".join(format_count(item) for item in value)
        if key.endswith("_bytes"):
            return format_bytes(value)
        return format_seconds(value) if key.endswith("_s") else _number(value)

    return "; ".join(f"{key.removesuffix('_s').replace('_', ' ')} {word(key, value)}" for key, value in found.items())


def _number(value: float) -> str:
    return f"{value:.3g}" if 0 < value < 10 and value != int(value) else format_count(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--markdown", type=Path, help="file for the page")
    options = parser.parse_args()
    num_nodes = int(os.environ.get("WORKBENCH_HUGE_NODES", "111000000"))
    num_edges = int(os.environ.get("WORKBENCH_HUGE_EDGES", "1600000000"))
    limit_gib = float(os.environ.get("WORKBENCH_HUGE_GIB", "24"))
    limit = int(limit_gib * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    stages: list[Stage] = []
    before = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="huge-", dir=os.environ.get("WORKBENCH_HUGE_FOLDER")) as folder:
        run(num_nodes, num_edges, Path(folder), stages)
    record = {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "cores": os.cpu_count(),
        "machine_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load_before": before,
        "load_after": os.getloadavg(),
        "limit_gib": limit_gib,
        "num_nodes": num_nodes,
        "num_edges": num_edges,
        "stages": [asdict(stage) for stage in stages],
    }
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(markdown(record))
    sys.stdout.write(markdown(record))


if __name__ == "__main__":
    main()
