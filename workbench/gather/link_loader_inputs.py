"""The seed edges of the link loader: checked, with their labels and times."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.sampler import EdgeSamplerInput

from workbench.core.errors import Findings
from workbench.gather.link_loader_negatives import Negatives
from workbench.gather.loader_check import as_tensor, check_vector
from workbench.graph import Graph
from workbench.graph.inputs import check_edge_index, to_numpy

Ids = NDArray[np.int64]


def link_inputs(
    data: Any,
    num_nodes: int,
    edge_label_index: Any,
    edge_label: Any,
    edge_label_time: Any,
    negatives: Negatives | None,
    findings: Findings,
) -> Any:
    """Return PyG's ``EdgeSamplerInput`` of all seed edges, or None after noting what is wrong with them."""
    pairs = _all_edges(data) if edge_label_index is None else edge_label_index
    ends = _checked_pairs(pairs, num_nodes, findings)
    if ends is None:
        return None
    time = None
    if edge_label_time is not None:
        time = check_vector("edge_label_time", edge_label_time, len(ends[0]), "for each seed edge", findings)
    label = _checked_label(edge_label, len(ends[0]), negatives, findings)
    row, col = (torch.from_numpy(np.array(end, np.int64)) for end in ends)
    return EdgeSamplerInput(input_id=None, row=row, col=col, label=label, time=as_tensor(time))


def _all_edges(data: Any) -> Any:
    """Return the edges in their original order."""
    if not isinstance(data, Graph):
        return np.zeros((2, 0), np.int64) if data.edge_index is None else data.edge_index
    edges = data.edge_index()
    if data.edge_order is None:
        return edges
    original = np.empty_like(edges)
    original[:, data.edge_order] = edges
    return original


def _checked_pairs(pairs: Any, num_nodes: int, findings: Findings) -> tuple[Ids, Ids] | None:
    where = "edge_label_index"
    if isinstance(pairs, str) or (isinstance(pairs, tuple | list) and any(isinstance(part, str) for part in pairs)):
        findings.add(where, "a (2, k) tensor", f"an edge type, {pairs!r} (not supported)", "pass the pairs themselves")
        return None
    if isinstance(pairs, tuple | list) and len(pairs) == 2 and isinstance(pairs[0], tuple | str):
        findings.add(where, "a (2, k) tensor", "an edge type with pairs (not supported)", "pass the pairs alone")
        return None
    found = Findings(where)
    ends = check_edge_index(pairs, num_nodes, found)
    for item in found.items:
        named = {key: getattr(item, key).replace("edge_index", where) for key in ("where", "got", "fix")}
        findings.items.append(dataclasses.replace(item, **named))
    return None if found.items else ends


def _checked_label(label: Any, num_pairs: int, negatives: Negatives | None, findings: Findings) -> Any:
    """Return the labels, counted up by one where 0 is to mean a negative."""
    if label is None:
        return None
    if negatives is not None and negatives.mode == "triplet":
        fix = "leave out edge_label: the batch tells positives and negatives apart"
        findings.add("edge_label", "nothing beside triplet negatives", "labels", fix)
        return None
    array = to_numpy(label)
    if array.ndim == 0 or len(array) != num_pairs or array.dtype.kind not in "fiub":
        got = f"{array.dtype} of shape {array.shape}"
        findings.add("edge_label", f"numbers, one row for each of {num_pairs} seed edges", got, "pass one label a pair")
        return None
    tensor = torch.as_tensor(label).cpu()
    if negatives is not None and len(tensor) and tensor.min() == 0:
        return tensor + 1
    return tensor
