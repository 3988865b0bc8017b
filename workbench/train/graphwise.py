"""Exact inference over many independent graphs: a few whole graphs at a time, shared out among all ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from workbench.gather.examples.graphs import whole_graphs
from workbench.graph.graph_set import graph_set
from workbench.models import ModelInputs, call_model
from workbench.train.pieces import piece_bounds
from workbench.train.whole import ATTRIBUTES, WEIGHT, as_tensor, edge_column

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.train.base import Job
    from workbench.train.transport import Transport

MAX_EDGES = 1 << 17  # about, of the graphs computed at a time; a node counts as one


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphwiseInference:
    """A union of graphs prepared for exact inference."""

    graph: Graph
    transport: Transport
    device: torch.device
    dtype: torch.dtype
    max_edges: int = MAX_EDGES

    def run(self, module: nn.Module, keep: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``keep(outputs)`` for all graphs, on the CPU of every rank; all ranks call it.

        Parameters
        ----------
        module : Module
            In evaluation mode, the same on all ranks; returns one row a graph.
        keep : callable
            Maps (rows, out_channels) to what is kept of each row.
        """
        starts, transport = graph_set(self.graph).starts, self.transport
        edges_before = np.asarray(self.graph.indptr)[starts]
        bounds = piece_bounds(edges_before + starts, max_edges=self.max_edges, world_size=transport.world_size)
        result = torch.empty(0)
        for at in range(0, len(bounds) - 1, transport.world_size):
            ranges = [(int(bounds[at + r]), int(bounds[at + r + 1])) for r in range(transport.world_size)]
            begin, end = ranges[transport.rank]
            # A rank without a graph in this round joins with no row; the shape of a row it learns from some graph.
            rows = keep(self._forward(module, np.arange(begin, max(end, begin + 1)) % (len(starts) - 1)))
            parts = transport.all_gather(rows[: end - begin].contiguous(), [b - a for a, b in ranges], kind="evaluate")
            if not len(result):
                result = rows.new_empty(len(starts) - 1, *rows.shape[1:])
            for (first, last), part in zip(ranges, parts, strict=True):
                result[first:last] = part
        return result.cpu()

    def _forward(self, module: nn.Module, ids: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Tensor:
        graph, part = self.graph, whole_graphs(self.graph, ids)
        inputs = ModelInputs(
            x=as_tensor(graph.x[part.node_ids], self.device, self.dtype),
            edge_index=torch.from_numpy(part.edge_index).to(self.device),
            edge_weight=edge_column(graph, WEIGHT, part.edge_ids, self.device, self.dtype),
            edge_attr=edge_column(graph, ATTRIBUTES, part.edge_ids, self.device, self.dtype),
            batch=None if part.batch is None else torch.from_numpy(part.batch).to(self.device),
        )
        rows: Tensor = call_model(module, inputs)
        return rows


def open_graphwise(job: Job) -> GraphwiseInference:
    """Return the inference of a job that classifies whole graphs."""
    dtype = next((p.dtype for p in job.module.parameters()), torch.float32)
    context = job.context
    return GraphwiseInference(graph=job.graph, transport=context.transport, device=context.device, dtype=dtype)
