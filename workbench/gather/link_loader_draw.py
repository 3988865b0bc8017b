"""One batch of the link loader: seed edges and their negatives become seed nodes, and are found again among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.gather.link_loader_negatives import Negatives
from workbench.gather.link_removal import without_edges
from workbench.gather.loader_draw import DrawKey
from workbench.gather.loader_sampling import Sampling

Ids = NDArray[np.int64]
EXCLUSIONS = (False, True, "forward")


def draw_links(sampling: Sampling, inputs: Any, negatives: Negatives | None, excluded: bool | str, key: DrawKey) -> Any:
    """Return PyG's ``SamplerOutput`` for an ``EdgeSamplerInput``.

    Its ``metadata`` is PyG's: (input_id, edge_label_index, edge_label, edge_label_time), and for triplets
    (input_id, src_index, dst_pos_index, dst_neg_index, seed_time).
    """
    if not sampling.is_own:
        return sampling.sampler.sample_from_edges(inputs, neg_sampling=negatives and negatives.given)
    ends = inputs.row.numpy(), inputs.col.numpy()
    num_positive, time = len(ends[0]), None if inputs.time is None else inputs.time.numpy()
    source, destination = _with_negatives(ends, negatives, time, key)
    nodes = np.concatenate([source, destination])
    times = None if time is None else np.concatenate([np.resize(time, len(source)), np.resize(time, len(destination))])
    if sampling.is_disjoint:
        seeds, rows = nodes, np.arange(len(nodes))
    else:
        seeds, rows = np.unique(nodes, return_inverse=True)
    subgraph = sampling.sample(seeds, times, key)
    if excluded:
        subgraph = without_edges(subgraph, *ends, both=excluded is True)
    out = sampling.to_output(subgraph)
    if out.batch is not None:
        pair = np.concatenate([np.arange(len(source)), np.arange(len(destination))]) % max(num_positive, 1)
        out.batch = torch.from_numpy(pair)[out.batch]
    positions = torch.from_numpy(rows[: len(source)]), torch.from_numpy(rows[len(source) :])
    out.metadata = _metadata(inputs, positions, negatives, disjoint=sampling.is_disjoint)
    return out


def _with_negatives(
    ends: tuple[Ids, Ids], negatives: Negatives | None, time: NDArray[Any] | None, key: DrawKey
) -> tuple[Ids, Ids]:
    """Return sources and destinations with the negatives behind the positives."""
    source, destination = ends
    if negatives is None:
        return source, destination
    if negatives.mode == "binary":
        source = np.concatenate([source, negatives.draw("src", len(source), time, key)])
    return source, np.concatenate([destination, negatives.draw("dst", len(destination), time, key)])


def _metadata(inputs: Any, positions: Any, negatives: Negatives | None, *, disjoint: bool) -> tuple[Any, ...]:
    source, destination = positions
    num_positive, time = len(inputs.row), inputs.time
    if negatives is None or negatives.mode == "binary":
        if time is not None:
            time = torch.from_numpy(np.resize(time.numpy(), len(source)))
        label = inputs.label
        if negatives is not None:
            label = torch.ones(num_positive) if label is None else label
            label = torch.cat([label, label.new_zeros(len(source) - num_positive, *label.shape[1:])])
        return inputs.input_id, torch.stack([source, destination]), label, time
    negative = destination[num_positive:]
    # Trees side by side: negative i stands against pair i modulo the pairs, and shares its number in `batch`.
    negative = negative.view(-1, num_positive).t() if disjoint else negative.view(num_positive, -1)
    return inputs.input_id, source, destination[:num_positive], negative.squeeze(-1), time
