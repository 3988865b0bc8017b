"""Partitioners, quality and halo against one plain pass over the edges; METIS in its child against bare METIS.

A plain pass reads the owners of both ends of every edge and compares them: less nothing can do that looks at all edges.
What runs in this process is measured in seconds of its own CPU, the best of the rounds, so that other work on the
machine matters little; METIS in wall seconds, bare and ours by turns. Asserts ratios, the bound of METIS (bare plus a
tenth plus half a second for the child process) and the memory of quality (twice the topology); prints edges a second.

    python benchmarks/bench_partition.py --scale 20     # 31 M edges, as docs/results/partition.md has it

The graph is R-MAT with 2**scale nodes and 16 undirected edges a node, both ways; METIS divides the graph of files of
Debian's packages, which is shipped.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pymetis
from references.edge_pass import count_cut

from workbench.graph import Graph, datasets
from workbench.graph.symmetric import symmetric_topology
from workbench.partition import partition, reorder
from workbench.partition.memory import MemoryMeter
from workbench.sampling.access import num_row_lines

NUM_PARTS, METIS_PARTS = 16, 8
BLOCK, BYTES_A_ROW = 1024, 16
STREAMS = ("ldg", "fennel", "hdrf", "greedy", "dbh", "grid_2d", "bfs", "label_propagation")
MAX_PASSES = {"ldg": 40, "fennel": 40, "hdrf": 120, "greedy": 120, "quality": 8, "halo of all parts": 16}
MAX_MEMORY, MAX_METIS, MAX_METIS_S = 2.0, 1.1, 0.5


def cpu_s(work: Callable[[], object], rounds: int) -> float:
    """Return the least CPU seconds that the work took."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def bench_passes(graph: Graph, rounds: int) -> list[str]:
    """Print the edges a second of everything that passes over the edges; return what took too many plain passes."""
    made = partition(graph, NUM_PARTS, "ldg")  # from here on the graph knows that it is symmetric
    plain_s = cpu_s(lambda: count_cut(graph.indptr, graph.indices, made.assignment), rounds)
    works: dict[str, Callable[[], object]] = {
        name: lambda name=name: partition(graph, NUM_PARTS, name) for name in STREAMS
    }
    works |= {"quality": made.quality, "halo of all parts": made.parts}
    print(f"{'plain pass':18} {plain_s:7.3f} s {graph.num_edges / plain_s / 1e6:8.1f} M edges/s")
    missed = []
    for name, work in works.items():
        seconds = cpu_s(work, rounds)
        passes = seconds / plain_s
        print(
            f"{name:18} {seconds:7.3f} s {graph.num_edges / seconds / 1e6:8.1f} M edges/s  {passes:6.1f} plain passes"
        )
        if passes > MAX_PASSES.get(name, np.inf):
            missed.append(f"{name} took {passes:.1f} plain passes, not {MAX_PASSES[name]}")
    return missed


def bench_memory(graph: Graph) -> list[str]:
    """Print what quality and halo take at their peak, in topologies."""
    topology = graph.indptr.nbytes + graph.indices.nbytes
    made, missed = partition(replace(graph), NUM_PARTS, "hash"), []  # a graph that does not know yet if it is symmetric
    for name, work in {"quality": made.quality, "halo of all parts": made.parts}.items():
        with MemoryMeter() as meter:
            kept = work()
        share = meter.growth_bytes / topology
        print(f"{name}: {share:.2f} of the topology's {topology / 2**20:.0f} MiB ({type(kept).__name__} included)")
        if share > MAX_MEMORY:
            missed.append(f"{name} took {share:.2f} topologies of memory, not {MAX_MEMORY}")
    return missed


def bench_metis(rounds: int) -> list[str]:
    """Print METIS in its child against bare METIS in this process, by turns."""
    graph = datasets.load("debian_files")
    starts, adjacent, weights = symmetric_topology(graph)
    width = pymetis.zero_copy_dtype()
    arrays = pymetis.CSRAdjacency(starts.astype(width), adjacent.astype(width))
    edge_weights = {} if weights is None else {"eweights": weights.astype(width)}
    options = pymetis.Options(seed=0, ncuts=1)
    bare, ours, cuts = [], [], []
    for _ in range(rounds):
        start = time.perf_counter()
        pymetis.part_graph(METIS_PARTS, adjacency=arrays, options=options, recursive=True, **edge_weights)
        bare.append(time.perf_counter() - start)
        start = time.perf_counter()
        made = partition(graph, METIS_PARTS, "metis")
        ours.append(time.perf_counter() - start)
        cuts.append(made.native_s)
    bound = MAX_METIS * min(bare) + MAX_METIS_S
    print(
        f"METIS, {graph.num_edges:,} edges in {METIS_PARTS} parts: bare {min(bare):.2f} s; ours {min(ours):.2f} s, "
        f"of them METIS {min(cuts):.2f} s; ratio {min(ours) / min(bare):.2f}, bound {bound:.2f} s"
    )
    return [f"METIS took {min(ours):.2f} s, not {bound:.2f}"] if min(ours) > bound else []


def bench_reorder(graph: Graph) -> None:
    """Print the cache lines of feature rows that blocks of 1,024 destinations read, before and after renumbering."""
    before = lines_of_blocks(graph)
    print(f"rows of 16 bytes read by blocks of {BLOCK:,} nodes: {before:,} cache lines as it is")
    for by in ("rcm", "bfs", "degree", partition(graph, 64, "metis")):
        start = time.process_time()
        moved = reorder(graph, by)
        seconds = time.process_time() - start
        lines = lines_of_blocks(moved)
        print(
            f"  {by if isinstance(by, str) else '64 parts':8} {lines:,} lines, {lines / before:.2f}, in {seconds:.2f} s"
        )


def lines_of_blocks(graph: Graph) -> int:
    starts = graph.indptr[np.append(np.arange(0, graph.num_nodes, BLOCK), graph.num_nodes)]
    blocks = (np.unique(graph.indices[a:b]) for a, b in pairwise(starts))
    return sum(num_row_lines(ids, BYTES_A_ROW) for ids in blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=16, help="log2 of the number of nodes")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    small = datasets.load("rmat", num_nodes=1 << 10, num_edges=1 << 14)
    for name in STREAMS:
        partition(small, 4, name).quality()  # compiled before the clock runs
    partition(small, 4, "ldg").parts()
    graph = datasets.load("rmat", num_nodes=1 << options.scale, num_edges=16 << options.scale)
    print(f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {NUM_PARTS} parts; load {os.getloadavg()[0]:.1f}")
    missed = bench_memory(graph)  # first: memory that was freed before would hide what is taken
    missed += bench_passes(graph, options.rounds) + bench_metis(options.rounds)
    bench_reorder(datasets.load("debian"))
    if missed:
        raise SystemExit("missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
