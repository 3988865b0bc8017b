"""Columns that steer sampling: weights of edges and times of edges or nodes, checked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.sampling.derived import DERIVED
from workbench.sampling.topology import Topology

T = TypeVar("T", bound=np.generic)
Ids = NDArray[np.int64]
_LATEST = 2**63 - 1
_FLOAT32 = np.finfo(np.float32)
NO_TIMES: Ids = np.empty(0, np.int64)
NO_WEIGHTS: NDArray[np.float32] = np.empty(0, np.float32)


def edge_weights(graph: Topology, name: str) -> NDArray[np.float32]:
    """Return a column of edge weights as float32 (m).

    Raises
    ------
    InputError
        If the graph has no such column, or a weight is negative, infinite, no number, or too large or small for
        float32, or all are zero.
    """
    column: Any = _columns(graph, "edge_data").get(name)
    if column is None:
        findings = Findings("weight_attr")
        known = ", ".join(map(repr, _columns(graph, "edge_data"))) or "none"
        findings.add("weight_attr", f"a column of edge_data: {known}", repr(name), f"pass edge_data={{{name!r}: ...}}")
        findings.raise_if_any()
    return _once(column, "weights", lambda: _check_weights(column, name), _as_weights)


def _check_weights(column: NDArray[Any], name: str) -> None:
    findings = Findings("weight_attr")
    note_weights(column, f"edge_data[{name!r}]", findings)
    findings.raise_if_any()


def note_weights(column: NDArray[Any], where: str, findings: Findings) -> None:
    """Note what keeps a column from being weights to draw by."""
    if column.ndim != 1 or column.dtype.kind not in "fiub":
        expected, got = "one number an edge", f"{column.dtype} {column.shape}"
        findings.add(where, expected, got, "pass a vector of weights")
        return
    good = np.isfinite(column) & (column >= 0)
    if not good.all():
        got = _first_of(column, ~good)
        findings.add(where, "finite weights of 0 or more", got, "give such edges the weight 0, or remove them")
    elif len(column) and column.max() > _FLOAT32.max:
        got = _first_of(column, column > _FLOAT32.max)
        findings.add(where, "weights that float32 can hold", got, "divide all weights by the largest")
    elif column.dtype.itemsize > 4 and (small := (column > 0) & (column < _FLOAT32.tiny)).any():
        fix = "multiply all weights by the same number, or give these the weight 0"
        findings.add(
            where, f"weights that float32 can hold: 0, or {_FLOAT32.tiny:.3g} and more", _first_of(column, small), fix
        )
    elif len(column) and not column.any():
        findings.add(where, "at least one positive weight", "all weights 0", "leave weight_attr out for uniform draws")


def _first_of(column: NDArray[Any], wrong: NDArray[np.bool_]) -> str:
    first = int(np.flatnonzero(wrong)[0])
    return f"{column[first]} at edge {first}, {int(wrong.sum())} such in all"


def _as_weights(column: NDArray[Any]) -> NDArray[np.float32]:
    return np.ascontiguousarray(column, np.float32)


def require_drawable(position: int, node: int, name: str) -> None:
    """Raise the error of a node whose in-edges all weigh nothing."""
    findings = Findings("weight_attr")
    got = f"node {node} (position {position} of its hop) has in-edges, all of weight 0"
    fix = f"give one of them a positive weight in edge_data[{name!r}], or remove them"
    findings.add(f"edge_data[{name!r}]", "a positive weight among the in-edges of every node", got, fix)
    findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Times as whole numbers in the order of time: of edges, else of nodes, and of each seed."""

    of_edges: Ids = field(default_factory=lambda: NO_TIMES)
    of_nodes: Ids = field(default_factory=lambda: NO_TIMES)
    of_seeds: Ids = field(default_factory=lambda: NO_TIMES)


def times_for(graph: Topology, name: str, seed_nodes: Ids, seed_times: Any) -> Times:
    """Return the times by which a batch is filtered.

    A column of `edge_data` dates edges; else one of `node_data` dates nodes, and an edge is as late as its source.
    Seeds have the times given, else those of the column of `node_data`.

    Raises
    ------
    InputError
        If there is no such column, seeds have no time, or a time is none (NaN, NaT).
    """
    edges: Any = _columns(graph, "edge_data").get(name)
    nodes: Any = _columns(graph, "node_data").get(name)
    findings = Findings("time_attr")
    if edges is None and nodes is None:
        known = sorted({*_columns(graph, "edge_data"), *_columns(graph, "node_data")})
        findings.add(
            "time_attr", f"a column of edge_data or node_data: {known}", repr(name), "name the column of times"
        )
    elif seed_times is None and nodes is None:
        got = "only edges have times"
        findings.add("seed_times", "a time for each seed", got, f"pass seed_times=, or node_data={{{name!r}: ...}}")
    findings.raise_if_any()
    own = None if nodes is None else _times_of(nodes, f"node_data[{name!r}]")
    if seed_times is None and edges is None:
        assert own is not None, "checked above"
        of_seeds = own[seed_nodes]
    else:
        if seed_times is None:
            seed_times = nodes[seed_nodes]  # in the order of the edges, which may be of another type
        of_seeds = _seed_times(seed_times, len(seed_nodes), edges if edges is not None else nodes)
    if edges is not None:
        return Times(of_edges=_times_of(edges, f"edge_data[{name!r}]"), of_seeds=of_seeds)
    return Times(of_nodes=own if own is not None else NO_TIMES, of_seeds=of_seeds)


def _seed_times(given: Any, num_seeds: int, column: NDArray[Any]) -> Ids:
    if hasattr(given, "detach"):
        given = given.detach().cpu().numpy()
    array = np.asarray(given)
    if array.shape != (num_seeds,):
        findings = Findings("time_attr")
        findings.add("seed_times", f"one time a seed, shape ({num_seeds},)", f"shape {array.shape}", "pass a vector")
        findings.raise_if_any()
    _check_times(array, "seed_times")
    if {array.dtype.kind, column.dtype.kind} & set("mM") and array.dtype.kind != column.dtype.kind:
        findings = Findings("time_attr")
        fix = "give both as dates, or both as numbers of the same unit"
        findings.add("seed_times", f"times like the column's, {column.dtype}", str(array.dtype), fix)
        findings.raise_if_any()
    if column.dtype.kind in "mM":
        array = array.astype(column.dtype)  # rounded down: what is later than the seed stays later
    elif column.dtype.kind == "f":
        array = array.astype(np.float64)
    elif array.dtype.kind == "f":
        array = np.floor(np.clip(array, -(2.0**62), 2.0**62)).astype(np.int64)
    return _in_order(array)


def _times_of(column: NDArray[Any], where: str) -> Ids:
    return _once(column, "times", lambda: _check_times(column, where), _in_order)


def _check_times(column: NDArray[Any], where: str) -> None:
    findings = Findings("time_attr")
    if column.ndim != 1 or column.dtype.kind not in "fiubmM":
        findings.add(where, "one time each", f"{column.dtype} {column.shape}", "pass a vector of numbers or dates")
    elif column.dtype.kind in "fmM" and (column != column).any():  # NaN and NaT differ from themselves
        findings.add(where, "a time everywhere", "NaN or NaT", "leave out what has no time, or give it one")
    elif column.dtype == np.uint64 and (column > np.uint64(_LATEST)).any():
        findings.add(where, f"times up to {_LATEST} (int64)", str(column.max()), "subtract the earliest time from all")
    findings.raise_if_any()


def _in_order(column: NDArray[Any]) -> Ids:
    """Return int64 values in the same order: whole numbers as they are, floats by the order of their bits."""
    if column.dtype.kind == "f":
        bits = (np.ascontiguousarray(column, np.float64) + 0.0).view(np.int64)  # + 0.0 makes -0.0 equal to 0.0
        return bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    if column.dtype.kind in "mM":
        return np.ascontiguousarray(column).view(np.int64)
    return np.ascontiguousarray(column, np.int64)


def _columns(graph: Topology, name: str) -> Mapping[str, Any]:
    return getattr(graph, name, {})


def _once(
    column: NDArray[Any], key: str, check: Callable[[], None], convert: Callable[[NDArray[Any]], NDArray[T]]
) -> NDArray[T]:
    """Return a converted column; the check is made once, and the conversion where it needs memory of its own.

    A column that can be used as it is must not be kept: it would keep itself alive.
    """

    def compute() -> NDArray[T] | None:
        check()
        converted = convert(column)
        return None if np.may_share_memory(converted, column) else converted

    kept = DERIVED.get(column, key, compute)
    return convert(column) if kept is None else kept
