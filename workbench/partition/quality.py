"""What a partition costs: cut, halo, balance and traffic, in figures that a person can compare.

Edges are counted as the graph counts them, directed: ``edge_cut = m - sum of inner edges``. A symmetric graph stores
every undirected edge twice, so ``edge_cut_pairs`` (half of it) is the number that a drawing shows.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.errors import Findings
from workbench.core.given import note_whole
from workbench.core.units import format_bytes, format_count, format_seconds
from workbench.partition.figures import Figure, balance, figures_frame, figures_html, figures_text, layer_bytes
from workbench.partition.halo import count_halos
from workbench.partition.picture import draw_partition

if TYPE_CHECKING:
    import pandas as pd

    from workbench.partition.parts import Partition


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionQuality:
    """The cost of a partition; arrays are int64 (num_parts,).

    Parameters
    ----------
    edge_cut : int
        Directed edges whose ends have different owners: m minus the inner edges of all parts.
    edge_cut_pairs : int or None
        Undirected edges cut, on a symmetric graph; None on any other.
    edge_cut_ratio : float
        ``edge_cut / m``; 0 without edges.
    comm_volume : int
        Node rows that have to be exchanged a layer: the sum of all 1-hop halos.
    replication_factor : float
        ``1 + comm_volume / n``: copies of a node, on average.
    node_balance, edge_balance, train_balance, halo_balance : float
        Largest part over mean part, of nodes, in-edges, training nodes, halo nodes; 1 where all are 0.
    traffic : int64 (p, p) or None
        ``traffic[i, j]``: rows of part j that part i reads a layer; None beyond 2,048 parts.
    cut_edges : int64 (p, p) or None
        ``cut_edges[i, j]``: directed edges from part j into part i; None beyond 2,048 parts.
    part_nodes, part_in_edges, part_inner_edges, part_train_nodes, part_halo_nodes, part_boundary_nodes : ndarray
        The counts per part.
    peak_memory_bytes : int
        Memory that making the partition took at its peak, beyond what was there.
    part_sent : ndarray
        Rows that a part sends a layer.
    """

    method: str
    num_parts: int
    num_nodes: int
    num_edges: int
    edge_cut: int
    edge_cut_pairs: int | None
    edge_cut_ratio: float
    comm_volume: int
    replication_factor: float
    node_balance: float
    edge_balance: float
    train_balance: float
    halo_balance: float
    elapsed_s: float
    native_s: float
    peak_memory_bytes: int
    repaired_parts: tuple[int, ...]
    part_nodes: np.ndarray
    part_in_edges: np.ndarray
    part_inner_edges: np.ndarray
    part_train_nodes: np.ndarray
    part_halo_nodes: np.ndarray
    part_boundary_nodes: np.ndarray
    part_sent: np.ndarray
    traffic: np.ndarray | None
    cut_edges: np.ndarray | None

    def bytes_per_layer(self, width: int, itemsize: int = 4) -> int:
        """Return the bytes that a full-graph layer of this width exchanges: ``comm_volume * width * itemsize``.

        Raises
        ------
        InputError
            A width or an item size that is no whole number from 1 up.
        """
        findings = Findings("bytes_per_layer")
        note_whole(findings, 1, width=width, itemsize=itemsize)
        findings.raise_if_any()
        return self.comm_volume * int(width) * int(itemsize)

    def figures(self) -> Iterator[Figure]:
        """Yield the figures in the order in which a person reads them; less is better in every one."""
        if self.edge_cut_pairs is not None:
            meaning = f"undirected edges between parts; {self.edge_cut:,} directed"
            yield Figure(
                name="edge_cut_pairs",
                label="Edge cut",
                value=self.edge_cut_pairs,
                text=f"{format_count(self.edge_cut_pairs)} edges",
                meaning=meaning,
            )
        else:
            yield Figure(
                name="edge_cut",
                label="Edge cut",
                value=self.edge_cut,
                text=f"{format_count(self.edge_cut)} edges",
                meaning="directed edges whose ends have different owners",
            )
        for name, label, text, meaning in self._rows():
            yield Figure(name=name, label=label, value=getattr(self, name), text=text, meaning=meaning)

    def _rows(self) -> tuple[tuple[str, str, str, str], ...]:
        rows = f"{format_count(self.comm_volume)} rows"
        ratio = f"{self.edge_cut_ratio * 100:.1f} %"
        replication, seconds = f"{self.replication_factor:.3f}", format_seconds(self.elapsed_s)
        memory = format_bytes(self.peak_memory_bytes)
        return (
            ("edge_cut_ratio", "Cut ratio, cut / all edges", ratio, "share of the edges that join two parts"),
            ("comm_volume", "Communication volume", rows, "node rows exchanged a layer: the sum of the halos"),
            ("replication_factor", "Replication factor", replication, "copies of a node on average, halo included"),
            ("node_balance", "Node balance, max / mean", f"{self.node_balance:.2f}", "largest part over mean part"),
            ("edge_balance", "In-edge balance", f"{self.edge_balance:.2f}", "in-edges bound the time of a layer"),
            ("train_balance", "Training node balance", f"{self.train_balance:.2f}", "training nodes bound the steps"),
            ("halo_balance", "Halo balance", f"{self.halo_balance:.2f}", "the largest halo bounds the exchange"),
            ("elapsed_s", "Time to partition", seconds, "child process, checks and repair included"),
            ("peak_memory_bytes", "Memory to partition", memory, "at its peak; a child process in full"),
        )

    def traffic_bytes(self, widths: Sequence[int], bytes_per_value: int = 4) -> np.ndarray:
        """Return the bytes that part i reads of part j at each layer: int64 (layers, p, p), for these widths.

        Summed up it is ``bytes_per_value * comm_volume * sum(widths)``: what a forward pass with halo exchange sends.
        """
        return layer_bytes(self.traffic, self.num_parts, widths, bytes_per_value)

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a DataFrame: one row a figure, columns value and meaning."""
        return figures_frame(self.figures())

    def parts_frame(self) -> pd.DataFrame:
        """Return the parts as a DataFrame: one row a part, columns in counts."""
        import pandas as pd

        columns = {
            "nodes": self.part_nodes,
            "in_edges": self.part_in_edges,
            "inner_edges": self.part_inner_edges,
            "train_nodes": self.part_train_nodes,
            "halo_nodes": self.part_halo_nodes,
            "boundary_nodes": self.part_boundary_nodes,
            "rows_sent": self.part_sent,
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(self.num_parts, name="part"))

    def picture(self) -> str:
        """Return an SVG: nodes and halos of the parts, and the traffic between them."""
        return draw_partition({"nodes": self.part_nodes, "halo nodes": self.part_halo_nodes}, self.traffic)

    def _repr_html_(self) -> str:
        note = f"Parts {list(self.repaired_parts)} were left empty and repaired." if self.repaired_parts else ""
        head = f"{html.escape(self.method)}, {self.num_parts} parts"
        return figures_html(head, self.figures(), note) + self.picture()

    def __repr__(self) -> str:
        return figures_text(f"PartitionQuality: {self.method}, {self.num_parts} parts", self.figures())


def measure_quality(partition: Partition) -> PartitionQuality:
    """Measure a partition: linear in nodes and edges, O(n + p^2) memory."""
    graph, num_parts = partition.graph, partition.num_parts
    counts = count_halos(graph, partition.assignment, num_parts)
    train = np.bincount(partition.assignment[graph.train_nodes], minlength=num_parts).astype(np.int64)
    edge_cut = graph.num_edges - int(counts.num_inner_edges.sum())
    comm_volume = int(counts.num_halo.sum())
    return PartitionQuality(
        method=partition.method,
        num_parts=num_parts,
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        edge_cut=edge_cut,
        edge_cut_pairs=edge_cut // 2 if graph.is_symmetric() else None,
        edge_cut_ratio=edge_cut / graph.num_edges if graph.num_edges else 0.0,
        comm_volume=comm_volume,
        replication_factor=1 + comm_volume / graph.num_nodes,
        node_balance=balance(counts.num_nodes),
        edge_balance=balance(counts.num_in_edges),
        train_balance=balance(train),
        halo_balance=balance(counts.num_halo),
        elapsed_s=partition.elapsed_s,
        native_s=partition.native_s,
        peak_memory_bytes=partition.peak_memory_bytes,
        repaired_parts=partition.repaired_parts,
        part_nodes=counts.num_nodes,
        part_in_edges=counts.num_in_edges,
        part_inner_edges=counts.num_inner_edges,
        part_train_nodes=train,
        part_halo_nodes=counts.num_halo,
        part_boundary_nodes=counts.num_boundary,
        part_sent=counts.num_sent,
        traffic=counts.traffic,
        cut_edges=counts.cut_edges,
    )
