"""Edges to predict: split into training, validation and test, and what of the graph may carry messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.core.rng import generator
from workbench.graph import Graph
from workbench.graph.node_data import Columns

Ids = NDArray[np.int64]
MASKS = ("train_edges", "val_edges", "test_edges")  # boolean columns of edge_data that give a split
_TRAIN, _VAL, _TEST, _MESSAGES_ONLY = range(4)
_STREAM = 0x11ED6E  # sets the stream of the split apart from those of the epochs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkSplit:
    """The edges of a graph as examples.

    A pair stands for an edge of a directed graph, for both directions of a symmetric one, and for all parallel edges
    between its ends. Self-loops carry messages and are never predicted.

    Parameters
    ----------
    messages : Graph
        The graph without the edges of validation and test pairs: all that a model may ever see.
    train_pairs, val_pairs, test_pairs : array, int64 (2, k)
        Ends; in a symmetric graph the smaller id first.
    pair_of_edge : array, int64 (edges of `messages`)
        Position in `train_pairs`; -1 for an edge that carries messages alone.
    edge_keys : array, int64
        Sorted, ``source * num_nodes + destination`` of every edge of the whole graph: what is no negative.
    symmetric : bool
    """

    messages: Graph
    train_pairs: Ids
    val_pairs: Ids
    test_pairs: Ids
    pair_of_edge: Ids
    edge_keys: Ids
    symmetric: bool


def split_links(graph: Graph, *, val_share: float, test_share: float, rng_seed: int) -> LinkSplit:
    """Split a graph's edges, by its own masks where ``edge_data`` has them, else at random; once a graph and split.

    Parameters
    ----------
    graph : Graph
        Boolean columns ``train_edges``, ``val_edges``, ``test_edges`` of its edge data decide where at least one is
        there: a pair belongs to a split if any of its edges does; without ``train_edges`` all others train, with it
        the pairs in no split carry messages alone.
    val_share, test_share : float
        Of the pairs.
    rng_seed : int
        Of the split alone: runs with other weights may be compared on the same edges.

    Raises
    ------
    InputError
        If a mask is not boolean, or a pair is in two splits.
    """
    key = f"link_split({val_share}, {test_share}, {rng_seed})"
    split: LinkSplit = graph._cached(key, lambda: _split(graph, val_share, test_share, rng_seed))
    return split


def _split(graph: Graph, val_share: float, test_share: float, rng_seed: int) -> LinkSplit:
    source, destination = graph.edge_index()
    symmetric, num_nodes = graph.is_symmetric(), graph.num_nodes
    first, second = source, destination
    if symmetric:
        first, second = np.minimum(source, destination), np.maximum(source, destination)
    apart = source != destination
    keys, inverse = np.unique((first * num_nodes + second)[apart], return_inverse=True)
    pair_of_edge = np.full(graph.num_edges, -1, np.int64)
    pair_of_edge[apart] = inverse
    kind = _by_masks(graph, pair_of_edge, len(keys))
    if kind is None:
        kind = _at_random(len(keys), val_share, test_share, rng_seed)
    pairs = np.stack(np.divmod(keys, num_nodes)) if len(keys) else np.zeros((2, 0), np.int64)
    held_out = np.append((kind == _VAL) | (kind == _TEST), False)  # the last: of self-loops (-1)
    kept = ~held_out[pair_of_edge]
    number = np.append(np.where(kind == _TRAIN, np.cumsum(kind == _TRAIN) - 1, -1), -1)
    return LinkSplit(
        messages=_without(graph, kept),
        train_pairs=pairs[:, kind == _TRAIN],
        val_pairs=pairs[:, kind == _VAL],
        test_pairs=pairs[:, kind == _TEST],
        pair_of_edge=number[pair_of_edge[kept]],
        edge_keys=np.unique(source * num_nodes + destination),
        symmetric=symmetric,
    )


def _at_random(num_pairs: int, val_share: float, test_share: float, rng_seed: int) -> NDArray[np.int8]:
    kind = np.full(num_pairs, _TRAIN, np.int8)
    order = generator(rng_seed, num_pairs, _STREAM).permutation(num_pairs)
    num_val, num_test = round(val_share * num_pairs), round(test_share * num_pairs)
    kind[order[:num_val]] = _VAL
    kind[order[num_val : num_val + num_test]] = _TEST
    return kind


def _by_masks(graph: Graph, pair_of_edge: Ids, num_pairs: int) -> NDArray[np.int8] | None:
    """Return what each pair is for by the masks of the edge data, or None where it has none."""
    masks = {name: graph.edge_data[name] for name in MASKS if name in graph.edge_data}
    if not masks:
        return None
    chosen = _pairs_chosen(masks, pair_of_edge, num_pairs)
    kind = np.full(num_pairs, _MESSAGES_ONLY if MASKS[0] in masks else _TRAIN, np.int8)
    for value, name in enumerate(MASKS):
        kind[chosen.get(name, np.zeros(num_pairs, bool))] = value
    return kind


def _pairs_chosen(masks: Mapping[str, Any], pair_of_edge: Ids, num_pairs: int) -> dict[str, NDArray[np.bool_]]:
    findings, chosen = Findings("link prediction"), {}
    for name, mask in masks.items():
        if mask.dtype != bool or mask.ndim != 1:
            got = f"{mask.dtype} of shape {mask.shape}"
            findings.add(f"edge_data[{name!r}]", "a boolean mask over the edges", got, "pass mask.astype(bool)")
            continue
        own = pair_of_edge[np.asarray(mask)]
        chosen[name] = np.bincount(own[own >= 0], minlength=num_pairs) > 0
    counts = np.sum([*chosen.values(), np.zeros(num_pairs, bool)], axis=0)
    if (counts > 1).any():
        got = f"{int((counts > 1).sum()):,} pairs of nodes in more than one"
        fix = "both directions of an edge, and its parallel edges, belong to one split"
        findings.add(f"edge_data {', '.join(chosen)}", "splits that share no pair", got, fix)
    findings.raise_if_any()
    return chosen


def _without(graph: Graph, kept: NDArray[np.bool_]) -> Graph:
    """Return the graph with some of its edges alone; nodes and their data are shared, not copied."""
    if kept.all():
        return graph
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    return replace(
        graph,
        indptr=before[graph.indptr],
        indices=np.asarray(graph.indices)[kept],
        edge_data=Columns({name: np.asarray(column)[kept] for name, column in graph.edge_data.items()}),
        edge_order=None,
        folder=None,
    )
