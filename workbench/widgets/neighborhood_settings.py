"""What the neighbourhood explorer is set to: one immutable record, and how a change of it is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.core.units import format_count
from workbench.sampling.explode import DEFAULT_FANOUTS
from workbench.sampling.explosion_seeds import find_node, random_seeds, seeds_by_degree, suggest_node
from workbench.sampling.seeds import as_node_ids

if TYPE_CHECKING:
    from workbench.graph import Graph

MAX_DEPTH = 5  # hops that the view can draw
SHOWN_DEPTH = 3  # hops that are measured at least, so that the view can show what comes next
CHOICES = ("random", "hub", "median", "percentile", "node", "given")
NEIGHBORS = ("all", "sampled")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settings:
    """One state of the controls.

    Parameters
    ----------
    depth : int
        Hops that the sentence is about.
    all_fanouts : tuple of int
        Fanouts of all measured hops, ``max(SHOWN_DEPTH, depth)``; those beyond `depth` are drawn faintly.
    batch_size : int
        Seeds of a batch.
    choice : str
        One of ``CHOICES``: how the seeds are chosen.
    percentile : float
        Of the in-degree, for ``"percentile"``.
    nodes : ndarray
        The seeds for ``"node"`` (one) and ``"given"``.
    neighbors : str
        Which way of expanding the sentence is about.
    """

    depth: int = SHOWN_DEPTH
    all_fanouts: tuple[int, ...] = DEFAULT_FANOUTS
    batch_size: int = 1024
    choice: str = "random"
    percentile: float = 90.0
    nodes: NDArray[np.int64]
    neighbors: str = "all"

    @property
    def fanouts(self) -> tuple[int, ...]:
        return self.all_fanouts[: self.depth]

    @property
    def num_batches(self) -> int:
        """Batches to measure: many small ones, 20 large ones; the fixed seeds' sampling is drawn 20 times."""
        return min(max(6400 // self.batch_size, 20), 1000) if self.choice == "random" else 20

    def seeds(self, graph: Graph, rng_seed: int) -> NDArray[np.int64]:
        """Return the seeds of the first batch."""
        if self.choice == "random":
            return random_seeds(graph, self.batch_size, batch=0, rng_seed=rng_seed)
        if self.choice in ("node", "given"):
            return self.nodes
        percentile = {"hub": 100.0, "median": 50.0}.get(self.choice, self.percentile)
        return seeds_by_degree(graph, percentile, self.batch_size)

    def describe(self, graph: Graph, seeds: NDArray[np.int64]) -> str:
        """Say in words what the seeds are, to begin a sentence with."""
        count, first = format_count(seeds.size), label_of(graph, int(seeds[0]))
        where = f"at the {self.percentile:g}th percentile of the degree"
        one, many = {
            "random": ("One random seed", f"A batch of {count} random seeds"),
            "hub": (f"The hub {first}", f"The {count} largest hubs"),
            "median": (f"The median seed {first}", f"A batch of {count} median seeds"),
            "percentile": (f"The seed {first} {where}", f"A batch of {count} seeds {where}"),
        }.get(self.choice, (f"The seed {first}", f"The {count} given seeds"))
        return one if seeds.size == 1 else many

    def measures_as(self, other: Settings) -> bool:
        """Say whether the same numbers are measured for both (only what is emphasised differs)."""
        mine, theirs = (
            (s.all_fanouts, s.batch_size, s.choice, s.percentile if s.choice == "percentile" else 0, s.nodes.tolist())
            for s in (self, other)
        )
        return mine == theirs

    def to_json(self, graph: Graph) -> dict[str, Any]:
        shown = self.nodes[:3].tolist()
        return {
            "depth": self.depth,
            "fanouts": list(self.all_fanouts),
            "batch_size": min(self.batch_size, graph.num_nodes),
            "choice": self.choice,
            "percentile": self.percentile,
            "neighbors": self.neighbors,
            "nodes": shown,
            "node_text": ", ".join(label_of(graph, node) for node in shown) + (" …" if self.nodes.size > 3 else ""),
        }


def changed(settings: Settings, graph: Graph, changes: Mapping[str, Any]) -> Settings:
    """Return settings with `changes` applied, or raise with every fault.

    Parameters
    ----------
    changes : mapping
        Any of ``depth``, ``fanouts``, ``batch_size``, ``choice``, ``percentile``, ``neighbors``, ``nodes`` (ids),
        ``node`` (a name or an id as text: the seed becomes that node).
    """
    changes = dict(changes)
    if "node" in changes:
        changes["nodes"] = [find_node(graph, str(changes.pop("node")))]
        changes["choice"] = "node"
    _check(changes)
    depth = int(changes.get("depth", settings.depth))
    fanouts = tuple(int(f) for f in changes.get("fanouts", settings.all_fanouts))
    wanted = max(SHOWN_DEPTH, depth)
    fanouts = (fanouts + (fanouts[-1],) * wanted)[:wanted]
    fields: dict[str, Any] = {name: changes[name] for name in ("choice", "neighbors") if name in changes}
    if "percentile" in changes:
        fields["percentile"] = float(changes["percentile"])
    if "nodes" in changes:
        fields["nodes"] = np.unique(as_node_ids(changes["nodes"], graph.num_nodes, "seed_nodes"))
    if "batch_size" in changes:
        fields["batch_size"] = int(changes["batch_size"])
    result = replace(settings, depth=depth, all_fanouts=fanouts, **fields)
    return _consistent(result, "choice" in changes)


def _consistent(settings: Settings, choice_changed: bool) -> Settings:
    """Let the seeds' number and their choice agree: a node is a batch of one; a larger batch needs another choice."""
    if settings.choice not in ("node", "given"):
        return settings
    if settings.nodes.size == 0:
        findings = Findings("neighbourhood explorer")
        findings.add("seed_nodes", "at least one node", "none", "give a node's name or id")
        findings.raise_if_any()
    if settings.batch_size != settings.nodes.size and not choice_changed:
        return replace(settings, choice="random")
    return replace(settings, batch_size=int(settings.nodes.size))


def _check(changes: Mapping[str, Any]) -> None:
    findings = Findings("neighbourhood explorer")
    depth, fanouts, size = changes.get("depth", 1), changes.get("fanouts", (1,)), changes.get("batch_size", 1)
    if not 1 <= int(depth) <= MAX_DEPTH:
        findings.add("depth", f"1 to {MAX_DEPTH} hops", depth, "use explosion() for more hops")
    if len(fanouts) == 0 or any(int(f) < -1 for f in fanouts):
        findings.add("fanouts", "-1 (all) or 0 and more, one a hop", tuple(fanouts), "use (15, 10, 5)")
    if int(size) < 1:
        findings.add("batch_size", "at least 1 seed", size, "use 1024")
    if not 0 <= float(changes.get("percentile", 0)) <= 100:
        findings.add("percentile", "0 to 100", changes["percentile"], "use 50 for the median")
    for name, known in (("choice", CHOICES), ("neighbors", NEIGHBORS)):
        if changes.get(name, known[0]) not in known:
            findings.add(name, f"one of {known}", repr(changes[name]), f"use {known[0]!r}")
    findings.raise_if_any()


def seeds_as_changes(seeds: Any) -> dict[str, Any]:
    """Turn the constructor's `seeds` into changes: a word of ``CHOICES``, a name, an id, or an array of ids."""
    if isinstance(seeds, str):
        return {"choice": seeds} if seeds in CHOICES[:4] else {"node": seeds}
    if isinstance(seeds, (int, np.integer)):
        return {"nodes": [int(seeds)], "choice": "node"}
    return {"nodes": seeds, "choice": "given"}


def label_of(graph: Graph, node: int) -> str:
    """Return a node's name, or ``node 7``."""
    names = graph.node_names
    return f"node {format_count(node)}" if names is None else str(names[node])


def unknown_node(graph: Graph, wanted: str) -> dict[str, Any]:
    """Say in a sentence that no node is called so, with the name that may have been meant."""
    what = "There is no node" if graph.node_names is None else "No node is named"
    problem = f"{what} “{wanted}”; ids go from 0 to {graph.num_nodes - 1:,}."
    return {"problem": problem, "suggestion": suggest_node(graph, wanted)}


def check_explorable(graph: Any) -> None:
    """Refuse what is no graph, or has no node."""
    findings = Findings("NeighborhoodExplorer")
    if not hasattr(graph, "indptr"):
        findings.add("graph", "a workbench.Graph", type(graph).__name__, "use Graph.from_pyg, from_networkx, ...")
    elif graph.num_nodes < 1:
        findings.add("graph", "at least one node", "an empty graph", "load a graph with nodes")
    findings.raise_if_any()
