"""Exact 3-hop neighbourhood sizes of single seeds: 64 at once by bits, against one search a seed.

The two take turns on one thread, on the same seeds, and must give the same numbers; only their ratio is asserted.
Then all seeds are measured on one thread a core, as the explorer does, and the time to the first numbers, the whole
time and the bytes of each thread are printed. Last, the estimate that answers a moved slider at once is timed against
the measured batch that replaces it, for a seed and for small and large batches.

    python benchmarks/bench_explosion.py --scale 20 --seeds 1000

The graph is R-MAT with 2**scale nodes and 16 undirected edges a node, both ways; at scale 20 it has 31 M edges.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import tracemalloc
from typing import Any

import numpy as np
from references.bfs_numba import sizes_one_by_one

from workbench.graph import Graph, datasets
from workbench.sampling.explode import explosion
from workbench.sampling.explosion_estimate import DegreeProfile, estimate_explosion
from workbench.sampling.explosion_seeds import random_seeds
from workbench.sampling.explosion_sizes import iter_seed_sizes, neighborhood_sizes

DEPTH = 3
FANOUTS = (15, 10, 5)
SEEDS_A_TURN = 64
MIN_RATIO = 2.0
MAX_BYTES_A_NODE = 32


def one_turn(graph: Graph, seeds: Any) -> tuple[float, float]:
    """Return the seconds of one search a seed, and of all by bits, on one thread."""
    start = time.perf_counter()
    expected = sizes_one_by_one(graph.indptr, graph.indices, seeds, DEPTH)
    between = time.perf_counter()
    found = neighborhood_sizes(graph, seeds, depth=DEPTH, num_threads=1)
    end = time.perf_counter()
    np.testing.assert_array_equal(found, expected)
    return between - start, end - between


def bytes_a_node(graph: Graph) -> float:
    """Return the peak of the memory that one thread takes for a pass, by node."""
    seeds = random_seeds(graph, SEEDS_A_TURN, batch=0)
    tracemalloc.start()
    neighborhood_sizes(graph, seeds, depth=DEPTH, num_threads=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / graph.num_nodes


def whole(graph: Graph, num_seeds: int) -> tuple[float, float, Any]:
    """Return the seconds to the first numbers and to the last ones, and the result."""
    start = time.perf_counter()
    results = iter_seed_sizes(graph, num_seeds=num_seeds, depth=DEPTH)
    found = next(results)
    first = time.perf_counter() - start
    for later in results:
        found = later
    return first, time.perf_counter() - start, found


def estimate_turn(graph: Graph, profile: DegreeProfile, num_seeds: int) -> tuple[float, float, float]:
    """Return the seconds of an estimate and of one measured batch, and the estimate's error in the nodes reached."""
    seeds = random_seeds(graph, num_seeds, batch=0)
    start = time.perf_counter()
    guess = estimate_explosion(graph, seeds, FANOUTS, profile=profile)
    between = time.perf_counter()
    truth = explosion(graph, seeds, fanouts=FANOUTS, num_batches=1)
    end = time.perf_counter()
    reached, expected = (float(found.all_neighbors.unique_nodes.mean[-1]) for found in (truth, guess))
    return between - start, end - between, expected / reached - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=17, help="log2 of the number of nodes")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    num_nodes = 1 << options.scale
    graph = datasets.load("rmat", num_nodes=num_nodes, num_edges=16 * num_nodes)
    print(f"R-MAT: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges; {DEPTH} hops")
    one_turn(graph, np.zeros(1, np.int64))  # compiled before the clock runs
    turns = [one_turn(graph, random_seeds(graph, SEEDS_A_TURN, batch=turn)) for turn in range(options.rounds)]
    plain, ours = (statistics.median(values) for values in zip(*turns, strict=True))
    ratio = statistics.median(one / bits for one, bits in turns)
    print(f"{SEEDS_A_TURN} seeds on one thread: one by one {plain:.2f} s, by bits {ours:.2f} s, ratio {ratio:.1f}")
    used = bytes_a_node(graph)
    first, last, found = whole(graph, options.seeds)
    print(f"{len(found.sizes):,} seeds, {os.cpu_count()} threads: first numbers {first:.2f} s, all {last:.2f} s")
    print(f"{used:.1f} bytes a node and thread; load {os.getloadavg()[0]:.1f}")
    print(f"mean nodes within {DEPTH} hops {found.mean[DEPTH]:,.0f} ± {found.error[DEPTH]:,.0f} (95%)")
    profile = DegreeProfile.of(graph)
    estimate_turn(graph, profile, 1)
    for num_seeds in (1, 64, 1024, 4096):
        turns = sorted(estimate_turn(graph, profile, num_seeds) for _ in range(options.rounds))
        guess, measured, error = turns[len(turns) // 2]
        print(
            f"{num_seeds:5,} seeds: estimate {guess * 1e3:.0f} ms, one batch measured {measured * 1e3:.0f} ms, "
            f"ratio {measured / guess:.0f}; nodes within {DEPTH} hops {error:+.1%}"
        )
    missed = []
    if ratio < MIN_RATIO:
        missed.append(f"ratio {ratio:.2f}, not {MIN_RATIO}")
    if used > MAX_BYTES_A_NODE:
        missed.append(f"{used:.1f} bytes a node, not {MAX_BYTES_A_NODE}")
    if missed:
        raise SystemExit("missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
