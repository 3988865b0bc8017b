"""What the neighbourhood explorer sends to its view, as plain JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.sampling.access import BatchAccess, DegreeSpread, LoadImbalance
from workbench.sampling.access_parts import PartAccess
from workbench.sampling.explode import explosion, row_bytes
from workbench.sampling.explosion_estimate import DegreeProfile, estimate_explosion
from workbench.sampling.explosion_profile import HubAblation, Saturation
from workbench.sampling.explosion_reach import Reach
from workbench.sampling.explosion_record import Explosion, Growth
from workbench.sampling.explosion_sizes import SeedSizes
from workbench.sampling.tree import ComputationTree
from workbench.widgets.neighborhood_measure import QUICK_EDGES
from workbench.widgets.neighborhood_settings import label_of

if TYPE_CHECKING:
    from workbench.graph import Graph

TREE_LIMITS = (24, 12, 8)  # names that fit: branches, children of each, dots behind each child
NUM_BINS = 32
REACHED_SHARES = (0.5, 0.9)
MAX_WHOLE_GRAPH_EDGES = 50_000_000  # above, no copy of the topology is made only to describe it


def pack_graph(graph: Graph) -> dict[str, Any]:
    """Describe the graph: what the title and the key figures need."""
    degrees = graph.in_degrees()
    hub = int(np.argmax(degrees)) if degrees.size else 0
    return {
        "name": graph.name,
        "num_nodes": graph.num_nodes,
        "num_edges": graph.num_edges,
        "mean_degree": graph.num_edges / max(graph.num_nodes, 1),
        "hub": label_of(graph, hub),
        "hub_degree": int(degrees.max(initial=0)),
        "has_names": graph.node_names is not None,
        "num_features": graph.num_features,
        "row_bytes": row_bytes(graph),
        "symmetric": graph.is_symmetric() if graph.num_edges <= QUICK_EDGES else None,  # else it follows later
    }


def pack_result(result: Explosion) -> dict[str, Any]:
    """Pack the counts of all measured hops."""
    return {
        "walks": result.walks.tolist(),
        "all": _growth(result.all_neighbors),
        "sampled": _growth(result.sampled),
        "num_seeds": result.num_seeds,
        "num_batches": result.num_batches,
        "measured": result.sampled.num_batches,
        "elapsed_s": result.elapsed_s,
    }


def _growth(growth: Growth) -> dict[str, Any]:
    return {
        "slots": growth.tree_slots.mean.tolist(),
        "nodes": growth.unique_nodes.mean.tolist(),
        "low": growth.unique_nodes.low.tolist(),
        "high": growth.unique_nodes.high.tolist(),
        "error": [error if np.isfinite(error) else None for error in growth.unique_nodes.error.tolist()],
        "edges": growth.num_edges.mean.tolist(),
    }


def pack_tree(graph: Graph, tree: ComputationTree, draw: int, profile: DegreeProfile | None = None) -> dict[str, Any]:
    """Pack a computation tree, cut to what can be read, with the names in it and the full neighbourhood beside it.

    With a `profile` that neighbourhood is counted as far as a budget goes, and estimated beyond.
    """
    nested = tree.nested(TREE_LIMITS)
    shown: set[int] = set()
    _collect(nested, shown)
    root = int(tree.node_ids[0])
    if profile is None:
        full = explosion(graph, [root], fanouts=tree.fanouts, num_batches=1).all_neighbors
    else:
        full = estimate_explosion(graph, np.array([root]), tree.fanouts, profile=profile).all_neighbors
    often = [node for node, _ in tree.most_repeated() if node != root and node in shown]
    return {
        "node": root,
        "draw": draw,
        "fanouts": list(tree.fanouts),
        "root": nested,
        "names": {str(node): label_of(graph, node) for node in sorted(shown)},
        "slots": tree.num_slots_per_hop.tolist(),
        "num_nodes": tree.num_nodes,
        "full_slots": float(full.tree_slots.mean[-1]),
        "full_nodes": float(full.unique_nodes.mean[-1]),
        "full_is_exact": not (full.tree_slots.error[-1] or full.unique_nodes.error[-1]),
        "often": often[0] if often else root,
    }


def _collect(nested: Sequence[Any], into: set[int]) -> None:
    into.add(nested[0])
    for child in nested[4]:
        _collect(child, into)


def pack_sizes(graph: Graph, found: SeedSizes) -> dict[str, Any]:
    """Pack the distribution of the 2-hop sizes as a histogram in equal ratios, with a seed for every bar."""
    sizes, near = found.sizes[:, 2], found.next_to_hub
    edges = np.geomspace(1, max(graph.num_nodes, 2), NUM_BINS + 1)
    bins = np.clip(np.searchsorted(edges, sizes, side="right") - 1, 0, NUM_BINS - 1)
    seeds = np.full(NUM_BINS, -1)
    seeds[bins[::-1]] = found.seed_nodes[::-1]
    return {
        "edges": edges.tolist(),
        "near": np.bincount(bins[near], minlength=NUM_BINS).tolist(),
        "others": np.bincount(bins[~near], minlength=NUM_BINS).tolist(),
        "seeds": seeds.tolist(),
        "num_seeds": int(sizes.size),
        "num_population": found.num_population,
        "mean": float(found.mean[2]),
        "mean_error": float(found.error[2]) if np.isfinite(found.error[2]) else None,
        "median": float(np.median(sizes)),
        "p10": found.percentile(10, 2),
        "p90": found.percentile(90, 2),
        "hub": label_of(graph, found.hub_node),
        "hub_node": found.hub_node,
        "hub_size": int(found.hub_sizes[2]),
        "near_min": int(sizes[near].min(initial=graph.num_nodes)),
        "others_median": float(np.median(sizes[~near])) if (~near).any() else 0.0,
    }


def pack_saturation(found: Saturation, fanouts: Sequence[int]) -> dict[str, Any]:
    """Pack the curves of unique nodes against batch size."""
    return {
        "fanouts": list(fanouts),
        "batch_sizes": found.batch_sizes.tolist(),
        "all": found.all_neighbors.tolist(),
        "sampled": found.sampled.tolist(),
        "num_orders": found.num_orders,
        "num_batches": found.num_batches,
    }


def pack_hubs(graph: Graph, found: HubAblation) -> dict[str, Any]:
    """Pack the mean sizes with the largest hubs left unexpanded."""
    return {
        "num_hubs": list(found.num_hubs),
        "sizes": found.mean_sizes.tolist(),
        "num_seeds": found.num_seeds,
        "one_percent": max(1, graph.num_nodes // 100),
        "hub": label_of(graph, int(np.argmax(graph.in_degrees()))),
    }


def pack_access(graph: Graph, spread: DegreeSpread, batch: BatchAccess, load: LoadImbalance) -> dict[str, Any]:
    """Pack the four cells of irregular access."""
    return {
        "median": spread.median,
        "p99": spread.p99,
        "maximum": spread.maximum,
        "hub": label_of(graph, spread.hub_node),
        "num_isolated": spread.num_isolated,
        "top": [
            [share, count, held]
            for share, count, held in zip(spread.top_shares, spread.top_counts, spread.top_edge_shares, strict=True)
        ],
        "num_seeds": batch.num_seeds,
        "list_lines": batch.list_lines,
        "row_lines": batch.row_lines,
        "num_runs": batch.num_runs,
        "num_runs_by_degree": batch.num_runs_by_degree,
        "num_threads": load.num_threads,
        "hop": load.hop,
        "fanout": load.fanout,
        "all_imbalance": load.all_neighbors,
        "sampled_imbalance": load.sampled,
    }


def pack_reach(graph: Graph, found: Reach, num_seeds: int) -> dict[str, Any]:
    """Pack at which hop the graph is reached, and when the hubs come in."""
    return {
        "num_seeds": num_seeds,
        "nodes": found.unique_nodes.tolist(),
        "is_complete": found.is_complete,
        "hops": [[share, found.hop_of(share)] for share in REACHED_SHARES],
        "hubs": [[hub.node, label_of(graph, hub.node), hub.in_degree, hub.hop] for hub in found.hubs],
    }


def pack_parts(found: PartAccess, method: str) -> dict[str, Any]:
    """Pack what a partition changes."""
    return {"method": method, **{field.name: getattr(found, field.name) for field in fields(found)}}
