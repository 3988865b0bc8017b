"""What an explosion analysis found: a record that reads as a table, as text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from workbench.core.units import format_bytes, format_count

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A quantity per hop, over batches: each (depth + 1,).

    Parameters
    ----------
    mean, low, high : ndarray
        Mean, 10th and 90th percentile.
    error : ndarray
        Half the width of the 95% interval of `mean` as an estimate over all possible batches; 0 where nothing varies,
        infinite where one batch is all that is known.
    """

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    error: FloatArray

    @classmethod
    def of(cls, rows: NDArray[np.float64], *, is_exact: bool = False) -> Spread:
        """Summarise `rows` (batches, depth + 1); with `is_exact` every batch would give the same."""
        low, high = np.percentile(rows, [10, 90], axis=0)
        error = mean_error(rows, len(rows) if is_exact else None)
        return cls(mean=rows.mean(axis=0), low=low, high=high, error=error)

    def first_hops(self, depth: int) -> Spread:
        """Return the same for hops 0 to `depth`."""
        end = depth + 1
        return Spread(mean=self.mean[:end], low=self.low[:end], high=self.high[:end], error=self.error[:end])


def mean_error(rows: FloatArray, num_population: int | None = None) -> FloatArray:
    """Return half the width of the 95% interval of the mean of `rows` (k, columns), by Student's t.

    Rows are drawn without replacement from `num_population` (None = without bound): 0 where all were drawn, else
    infinite for a single row of which more than one value is possible.
    """
    count = len(rows)
    if count == 0:
        return np.full(rows.shape[1], np.inf)
    left = 1.0 if num_population is None else 1 - count / num_population
    if left <= 0:
        return np.zeros(rows.shape[1])
    if count == 1:
        return np.full(rows.shape[1], np.inf)
    error: FloatArray = stdtrit(count - 1, 0.975) * rows.std(axis=0, ddof=1) * np.sqrt(left / count)
    return error


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """One way to expand a batch, counted up to each hop (index 0 = the seeds alone).

    Parameters
    ----------
    fanouts : tuple of int
        Neighbours drawn a node and hop, -1 = all.
    tree_slots : Spread
        Nodes of the computation tree with repeats: exact walks, or their expectation under the fanouts.
    unique_nodes : Spread
        Distinct nodes read, as measured.
    num_edges : Spread
        Edges read, every node expanded once, where it first appears.
    num_batches : int
        Batches behind the means.
    num_graph_nodes : int
        Nodes of the graph.
    row_bytes : int
        Bytes of one node's features; 0 without features.
    """

    fanouts: tuple[int, ...]
    tree_slots: Spread
    unique_nodes: Spread
    num_edges: Spread
    num_batches: int
    num_graph_nodes: int
    row_bytes: int

    def first_hops(self, depth: int) -> Growth:
        """Return the same for hops 0 to `depth`."""
        names = ("tree_slots", "unique_nodes", "num_edges")
        cut: dict[str, Any] = {name: getattr(self, name).first_hops(depth) for name in names}
        return replace(self, fanouts=self.fanouts[:depth], **cut)

    @property
    def share(self) -> FloatArray:
        """Unique nodes / nodes of the graph, in [0, 1]."""
        return self.unique_nodes.mean / self.num_graph_nodes

    @property
    def redundancy(self) -> FloatArray:
        """Tree slots / unique nodes: how often the average node would be fetched without sharing."""
        return self.tree_slots.mean / np.maximum(self.unique_nodes.mean, 1)

    @property
    def feature_bytes(self) -> FloatArray:
        """Bytes of the unique nodes' features."""
        return self.unique_nodes.mean * self.row_bytes

    @property
    def max_slots(self) -> FloatArray | None:
        """Bound on the slots, b (1 + f1 + f1 f2 + ...); None where a fanout takes all neighbours."""
        if min(self.fanouts) < 0:
            return None
        products = np.cumprod([1.0, *self.fanouts])
        bound: FloatArray = self.unique_nodes.mean[0] * np.cumsum(products)
        return bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Explosion:
    """What a batch of seeds reads, hop by hop, with all neighbours and with sampled ones.

    Parameters
    ----------
    graph_name, num_nodes, num_edges : str, int, int
        The graph.
    seeds : str
        What the seeds are, in words (``"A batch of 1,024 random seeds"``).
    num_seeds, depth : int
        Seeds of a batch, hops.
    walks : ndarray, (depth + 1,)
        The rule of thumb b d^h with the mean degree d. It ignores hubs: the real tree is larger.
    all_neighbors, sampled : Growth
        The two ways to expand.
    num_batches : int
        Batches asked for; fewer were measured while ``is_estimate``.
    elapsed_s : float
        Wall time of the measurement so far.
    """

    graph_name: str
    num_nodes: int
    num_edges: int
    seeds: str
    num_seeds: int
    depth: int
    walks: FloatArray
    all_neighbors: Growth
    sampled: Growth
    num_batches: int
    elapsed_s: float

    @property
    def fanouts(self) -> tuple[int, ...]:
        return self.sampled.fanouts

    @property
    def is_estimate(self) -> bool:
        """True while fewer batches were measured than asked for."""
        return self.sampled.num_batches < self.num_batches

    def first_hops(self, depth: int) -> Explosion:
        """Return the explosion of fewer hops: a shallower search reads the same nodes up to its depth."""
        ways: dict[str, Any] = {name: getattr(self, name).first_hops(depth) for name in ("all_neighbors", "sampled")}
        return replace(self, depth=depth, walks=self.walks[: depth + 1], **ways)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a hop and way: counts, share, redundancy, bytes, and the percentiles of the unique nodes."""
        import pandas as pd

        frames = []
        for way, growth in (("all", self.all_neighbors), ("sampled", self.sampled)):
            columns = {
                "neighbors": way,
                "hop": np.arange(self.depth + 1),
                "walks": self.walks,
                "tree_slots": growth.tree_slots.mean,
                "unique_nodes": growth.unique_nodes.mean,
                "unique_nodes_p10": growth.unique_nodes.low,
                "unique_nodes_p90": growth.unique_nodes.high,
                "unique_nodes_error": growth.unique_nodes.error,
                "num_edges": growth.num_edges.mean,
                "share": growth.share,
                "redundancy": growth.redundancy,
                "feature_bytes": growth.feature_bytes,
            }
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    @property
    def sentence(self) -> str:
        """The finding in one sentence."""
        almost = "about " if self.is_estimate else ""
        hops = f"{self.depth} hop{'s' if self.depth > 1 else ''}"
        fanouts = ", ".join("all" if f < 0 else str(f) for f in self.fanouts)
        everything, sampled = (format_share(growth.share[-1]) for growth in (self.all_neighbors, self.sampled))
        return (
            f"{self.seeds}, {hops}, all neighbours: reads {almost}{everything} of the graph. "
            f"Sampled ({fanouts}): {almost}{sampled}."
        )

    def __str__(self) -> str:
        head = f"{self.graph_name}: {format_count(self.num_nodes)} nodes, {format_count(self.num_edges)} edges"
        lines = [head, self.sentence]
        for title, growth in _ways(self):
            lines += ["", title, *_text_table(_HEADER, _rows(growth))]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = "".join(_html_table(title, _rows(growth)) for title, growth in _ways(self))
        return f"<div><p>{html.escape(self.sentence)}</p>{tables}</div>"


def format_share(share: float) -> str:
    """``0.955 -> '96%'``, ``0.0123 -> '1.2%'``, ``0.00001 -> '<0.01%'``."""
    percent = 100 * float(share)
    if percent >= 9.95:
        return f"{percent:.0f}%"
    if percent >= 0.1:
        return f"{percent:.1f}%"
    return "<0.01%" if 0 < percent < 0.01 else f"{percent:.2f}%"


def format_fanouts(fanouts: Sequence[int]) -> str:
    """``(15, -1) -> '(15, all)'``."""
    return "(" + ", ".join("all" if f < 0 else str(f) for f in fanouts) + ")"


_HEADER = ("Hop", "Tree slots", "Unique nodes", "Edges", "Share of graph", "Redundancy", "Feature bytes")


def _ways(explosion: Explosion) -> tuple[tuple[str, Growth], ...]:
    sampled = f"Sampled, fanouts {format_fanouts(explosion.fanouts)}"
    return (("All neighbours", explosion.all_neighbors), (sampled, explosion.sampled))


def _rows(growth: Growth) -> list[tuple[str, ...]]:
    bytes_of = [format_bytes(b) if growth.row_bytes else "no features" for b in growth.feature_bytes]
    return [
        (
            str(hop),
            format_count(growth.tree_slots.mean[hop]),
            format_count(growth.unique_nodes.mean[hop]),
            format_count(growth.num_edges.mean[hop]),
            format_share(growth.share[hop]),
            f"{growth.redundancy[hop]:,.1f} ×",
            bytes_of[hop],
        )
        for hop in range(len(growth.share))
    ]


def _text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)]


def _html_table(title: str, rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in _HEADER)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{html.escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
