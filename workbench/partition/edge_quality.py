"""What a vertex-cut costs: copies of nodes, balance of edges, rows exchanged."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.units import format_bytes, format_count, format_seconds
from workbench.partition.figures import Figure, balance, figures_frame, figures_html, figures_text, layer_bytes
from workbench.partition.picture import draw_partition
from workbench.partition.replicas import count_replicas

if TYPE_CHECKING:
    import pandas as pd

    from workbench.partition.edge_parts import EdgePartition


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgePartitionQuality:
    """The cost of a vertex-cut; arrays are int64 (num_parts,).

    Parameters
    ----------
    replication_factor : float
        Copies of a node, on average: the sum of the parts' nodes over n; an isolated node has one.
    num_cut_nodes : int
        Nodes that are in more than one part.
    comm_volume : int
        Node rows exchanged a layer: each replica but the master sends its partial sum and receives the result, so
        ``2 (replication_factor - 1) n``.
    edge_balance, node_balance : float
        Largest part over mean part, of edges and of replicas.
    max_replicas : int
        Parts that the most replicated node is in.
    traffic : int64 (p, p) or None
        ``traffic[i, j]``: rows that part i receives from part j a layer; None beyond 2,048 parts.
    part_edges, part_nodes, part_masters : ndarray
        Edges, nodes (replicas) and masters of each part.
    """

    method: str
    num_parts: int
    num_nodes: int
    num_edges: int
    replication_factor: float
    num_cut_nodes: int
    comm_volume: int
    edge_balance: float
    node_balance: float
    max_replicas: int
    elapsed_s: float
    peak_memory_bytes: int
    empty_parts: tuple[int, ...]
    part_edges: np.ndarray
    part_nodes: np.ndarray
    part_masters: np.ndarray
    traffic: np.ndarray | None

    def figures(self) -> Iterator[Figure]:
        """Yield the figures in the order in which a person reads them; less is better in every one."""
        rows = f"{format_count(self.comm_volume)} rows"
        cut, most = f"{format_count(self.num_cut_nodes)} nodes", f"{self.max_replicas} parts"
        replication, edges, nodes = (
            f"{self.replication_factor:.3f}",
            f"{self.edge_balance:.2f}",
            f"{self.node_balance:.2f}",
        )
        for name, label, text, meaning in (
            ("replication_factor", "Replication factor", replication, "copies of a node on average"),
            ("num_cut_nodes", "Cut nodes", cut, "nodes in more than one part"),
            ("max_replicas", "Most replicas", most, "parts that the most replicated node is in"),
            ("comm_volume", "Communication volume", rows, "node rows a layer: partial sums in, results back"),
            ("edge_balance", "Edge balance, max / mean", edges, "edges bound the time of a layer"),
            ("node_balance", "Replica balance", nodes, "replicas bound the memory of a part"),
            ("elapsed_s", "Time to partition", format_seconds(self.elapsed_s), "checks included"),
            ("peak_memory_bytes", "Memory to partition", format_bytes(self.peak_memory_bytes), "at its peak"),
        ):
            yield Figure(name=name, label=label, value=getattr(self, name), text=text, meaning=meaning)

    def traffic_bytes(self, widths: Sequence[int], bytes_per_value: int = 4) -> np.ndarray:
        """Return the bytes that part i receives from part j at each layer: int64 (layers, p, p), for these widths."""
        return layer_bytes(self.traffic, self.num_parts, widths, bytes_per_value)

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a DataFrame: one row a figure, columns value and meaning."""
        return figures_frame(self.figures())

    def parts_frame(self) -> pd.DataFrame:
        """Return the parts as a DataFrame: one row a part, columns in counts."""
        import pandas as pd

        columns = {"edges": self.part_edges, "nodes": self.part_nodes, "masters": self.part_masters}
        return pd.DataFrame(columns, index=pd.RangeIndex(self.num_parts, name="part"))

    def picture(self) -> str:
        """Return an SVG: the balance of edges and replicas, and the traffic between parts."""
        return draw_partition({"edges": self.part_edges, "replicas": self.part_nodes}, self.traffic)

    def _repr_html_(self) -> str:
        empty = f"Parts {list(self.empty_parts)} have no edge." if self.empty_parts else ""
        head = f"{html.escape(self.method)}, {self.num_parts} parts"
        return figures_html(head, self.figures(), empty) + self.picture()

    def __repr__(self) -> str:
        return figures_text(f"EdgePartitionQuality: {self.method}, {self.num_parts} parts", self.figures())


def measure_edge_quality(partition: EdgePartition) -> EdgePartitionQuality:
    """Measure a vertex-cut: linear in edges, O(n p) beside."""
    graph = partition.graph
    counts = count_replicas(graph, partition.edge_assignment, partition.num_parts)
    num_replicas = int(counts.replicas.sum())
    return EdgePartitionQuality(
        method=partition.method,
        num_parts=partition.num_parts,
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        replication_factor=num_replicas / graph.num_nodes,
        num_cut_nodes=int(np.count_nonzero(counts.replicas > 1)),
        comm_volume=2 * (num_replicas - graph.num_nodes),
        edge_balance=balance(counts.num_edges),
        node_balance=balance(counts.num_nodes),
        max_replicas=int(counts.replicas.max()),
        elapsed_s=partition.elapsed_s,
        peak_memory_bytes=partition.peak_memory_bytes,
        empty_parts=partition.empty_parts,
        part_edges=counts.num_edges,
        part_nodes=counts.num_nodes,
        part_masters=counts.num_masters,
        traffic=counts.traffic,
    )
