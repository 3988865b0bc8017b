"""Checks of what a person hands in: every fault is found before anything is built, and all are told at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.graph.node_data import SPLITS
from workbench.graph.sparse_rows import SparseRows

Array = NDArray[Any]
ROWS_PER_CHECK = 1 << 24  # numbers looked at at a time, so that a mapped file larger than memory can be checked
MOST_NODES = 1 << 33  # whose pointers alone take 64 GiB
MOST_CLASSES = 1 << 16  # a label beyond that, and beyond the number of nodes, is an id of something else


def to_numpy(value: Any) -> Any:
    """Return tensors and sequences as NumPy arrays, without importing torch."""
    if isinstance(value, (np.ndarray, SparseRows)):
        return value
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        plain = value.detach().cpu()
        plain = plain.to_dense() if str(plain.layout) != "torch.strided" else plain
        return (plain.float() if "bfloat16" in str(plain.dtype) else plain).numpy()
    if hasattr(value, "to_numpy"):
        return value.to_numpy()
    try:
        return np.asarray(value)
    except (ValueError, TypeError):
        return np.asarray(value, dtype=object)


def rows_of(value: Any) -> int | None:
    """Return the number of rows of a column, where it has any."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    return len(value) if hasattr(value, "__len__") else None


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``1 node``, ``2,708 nodes``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def check_edge_index(value: Any, num_nodes: int | None, findings: Findings) -> tuple[Array, Array] | None:
    """Return (source, destination), or None after noting what is wrong with them."""
    edges = to_numpy(value)
    where = "edge_index"
    if edges.ndim != 2 or edges.shape[0] != 2:
        turned = edges.ndim == 2 and edges.shape[1] == 2
        fix = "transpose it: edge_index.T" if turned else "pass one row of sources and one of destinations"
        findings.add(where, "shape (2, m): a row of sources and a row of destinations", f"shape {edges.shape}", fix)
        if not turned:
            return None
        edges = edges.T
    if edges.shape[1] == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if edges.dtype.kind not in "iu":
        _check_id_type(where, edges, findings)
        return None
    low, high = int(edges.min()), int(edges.max())
    if low < 0:
        _add_offenders(where, edges, edges < 0, "ids from 0 up", "drop or renumber those edges", findings)
    if high >= MOST_NODES:
        fix = "renumber: ids, edges = np.unique(edge_index, return_inverse=True), and reshape edges to (2, m)"
        findings.add(where, f"ids below {MOST_NODES:,}: a graph keeps 8 bytes an id", f"an id of {high:,}", fix)
        return None
    if num_nodes is not None and high >= num_nodes:
        expected = f"ids below num_nodes = {num_nodes:,}"
        fix = f"pass num_nodes={high + 1} or more (and as many rows of x and y), or drop those edges"
        _add_offenders(where, edges, edges >= num_nodes, expected, fix, findings)
    return edges[0], edges[1]


def _check_id_type(where: str, ids: Array, findings: Findings) -> None:
    whole = ids.dtype.kind == "f" and bool(np.all(ids == np.floor(ids)))
    fix = f"convert with {where}.astype(np.int64) (every value is whole)" if whole else f"pass whole numbers as {where}"
    findings.add(where, "whole-number ids (int32 or int64)", f"{ids.dtype} values, first {_show(ids)}", fix)


def _show(values: Array, limit: int = 4) -> str:
    first = [str(value) for value in values.ravel()[:limit].tolist()]
    return ", ".join(first) + (", ..." if values.size > limit else "")


def _add_offenders(where: str, values: Array, bad: Array, expected: str, fix: str, findings: Findings) -> None:
    count = int(np.count_nonzero(bad))
    place = np.unravel_index(int(np.argmax(bad)), bad.shape)
    at = ", ".join(str(int(i)) for i in place)
    got = f"{count:,} outside, first {values[place].item()} at {where}[{at}]"
    findings.add(where, expected, got, fix)


def check_features(value: Any, num_nodes: int, findings: Findings) -> Any:
    """Return x as float32 (n, f), a mapped file as it is, or :class:`SparseRows`; note NaN and infinite entries."""
    x = _sparse_or_array(value)
    shape = tuple(x.shape)
    if len(shape) != 2:
        fix = "x[:, None]" if len(shape) == 1 else "x.reshape(len(x), -1)"
        findings.add("x", "a matrix, one row a node", f"shape {shape}", f"pass {fix}")
        return None
    if shape[0] != num_nodes:
        fix = f"pass num_nodes={shape[0]}, or {num_nodes:,} rows (of zeros where nothing is known)"
        findings.add("x", f"num_nodes = {num_nodes:,} rows", f"{shape[0]:,} rows", fix)
    if isinstance(x, SparseRows):
        _check_finite_sparse(x, findings)
        return x
    if x.dtype.kind not in "fiub":
        findings.add("x", "numbers", f"type {x.dtype}", "pass x.astype(np.float32)")
        return None
    if x.dtype != np.float32:
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is told below
            x = x.astype(np.float32)
    _check_finite(x, findings)
    return x


def _sparse_or_array(value: Any) -> Any:
    if isinstance(value, (np.ndarray, SparseRows)):
        return value
    if hasattr(value, "tocsr"):
        return SparseRows.from_scipy(value)
    if "sparse" in str(getattr(value, "layout", "")):
        return SparseRows.from_torch(value)
    return to_numpy(value)


def _check_finite(x: Array, findings: Findings) -> None:
    step = max(1, ROWS_PER_CHECK // max(1, x.shape[1]))
    count, first = 0, ""
    for start in range(0, len(x), step):
        bad = ~np.isfinite(x[start : start + step])
        if not bad.any():
            continue
        if not count:
            row, column = (int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
            first = f"{x[start + row, column]} at row {start + row}, column {column}"
        count += int(np.count_nonzero(bad))
    if count:
        _add_not_finite("x", count, first, findings)


def _check_finite_sparse(x: SparseRows, findings: Findings) -> None:
    bad = np.flatnonzero(~np.isfinite(x.values)) if x.values.dtype.kind == "f" else np.zeros(0, np.int64)
    if len(bad):
        row = int(np.searchsorted(x.indptr, bad[0], side="right")) - 1
        first = f"{x.values[bad[0]]} at row {row}, column {int(x.indices[bad[0]])}"
        _add_not_finite("x", len(bad), first, findings)


def _add_not_finite(where: str, count: int, first: str, findings: Findings) -> None:
    got = f"{counted(count, 'value that is', 'values that are')} NaN or infinite, first {first}"
    findings.add(where, "finite numbers", got, f"{where} = np.nan_to_num({where}), or drop those nodes")


def check_labels(value: Any, num_nodes: int, num_classes: int | None, findings: Findings) -> Array | None:
    """Return y as int64 (n,), -1 where unknown, or float32 (n, c), NaN where unknown; note what is wrong with it."""
    y: Array = to_numpy(value)
    if y.ndim == 2 and y.shape[1] == 1 and y.dtype.kind in "iub":
        y = y[:, 0]
    if y.ndim not in (1, 2):
        findings.add("y", "one label a node, (n,), or a row of targets, (n, c)", f"shape {y.shape}", "reshape y")
        return None
    if len(y) != num_nodes:
        fix = "pass one label a node, -1 where it is unknown"
        findings.add("y", f"num_nodes = {num_nodes:,} labels", f"{len(y):,}", fix)
    if y.ndim == 1 and y.dtype.kind == "f" and (y % 1 != 0)[np.isfinite(y)].any():
        y = y[:, None]  # numbers that are no classes: targets of a regression
    if y.ndim == 2:
        return _check_targets(y, findings)
    if y.dtype.kind not in "iub":
        _check_label_type(y, findings)
        return None
    y = y.astype(np.int64)
    expected = "labels from 0 up, -1 where unknown"
    if len(y) and y.min() < -1:
        _add_offenders("y", y, y < -1, expected, "set unknown labels to -1 and number classes from 0", findings)
    if num_classes is not None and len(y) and y.max() >= num_classes:
        fix = f"pass num_classes={int(y.max()) + 1}, or mend those labels"
        _add_offenders("y", y, y >= num_classes, f"labels below num_classes = {num_classes}", fix, findings)
    elif num_classes is None and len(y) and y.max() >= (most := max(num_nodes, MOST_CLASSES)):
        # Labels are counted and become columns of outputs: one stray id would ask for gigabytes of them.
        fix = "number the classes: class_names, y = np.unique(y, return_inverse=True), or pass num_classes="
        _add_offenders("y", y, y >= most, f"labels that number classes, below {most:,}", fix, findings)
    return y


def _check_targets(y: Array, findings: Findings) -> Array | None:
    if y.dtype.kind not in "fiub":
        findings.add("y", "numbers", f"type {y.dtype}", "pass y.astype(np.float32)")
        return None
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is told
        y = y.astype(np.float32)
    bad = np.isinf(y)
    if bad.any():
        row, column = (int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
        many = counted(int(bad.sum()), "value that is", "values that are")
        got, fix = f"{many} infinite, first at row {row}, column {column}", "y[np.isinf(y)] = np.nan, or clip them"
        findings.add("y", "finite numbers, NaN where unknown", got, fix)
    return y


def _check_label_type(y: Array, findings: Findings) -> None:
    numeric = y.dtype.kind == "f"
    fix = "y.astype(np.int64) for classes (-1 where unknown), or y[:, None] for targets of a regression"
    if not numeric:
        fix = "number the classes: class_names, y = np.unique(y, return_inverse=True)"
    findings.add("y", "whole-number labels", f"{y.dtype} values, first {_show(y)}", fix)


def check_split(where: str, value: Any, num_nodes: int, findings: Findings) -> Array | None:
    """Return a split as sorted int64 ids; it may be given as ids or as a boolean mask."""
    nodes: Array = to_numpy(value)
    if nodes.ndim != 1:
        fix = f"pass one column: {where}[:, 0]" if nodes.ndim == 2 else f"pass a flat array as {where}"
        findings.add(where, "node ids or a mask, one dimension", f"shape {nodes.shape}", fix)
        return None
    if nodes.dtype == bool:
        if len(nodes) != num_nodes:
            fix = f"pass a mask of {num_nodes:,} values, or node ids"
            findings.add(where, f"a mask of num_nodes = {num_nodes:,} values", f"{len(nodes):,}", fix)
            return None
        return np.flatnonzero(nodes)
    if len(nodes) == 0:
        return np.zeros(0, np.int64)
    if nodes.dtype.kind not in "iu":
        _check_id_type(where, nodes, findings)
        return None
    bad = (nodes < 0) | (nodes >= num_nodes)
    if bad.any():
        expected = f"ids from 0 to {num_nodes - 1:,}"
        _add_offenders(where, nodes, bad, expected, "drop those ids", findings)
        if bad.all():
            return None  # nothing is left to judge
        nodes = nodes[~bad]
    ids = np.unique(nodes).astype(np.int64)
    if len(ids) < len(nodes):
        fix = f"pass np.unique({where})"
        findings.add(where, "each node once", counted(len(nodes) - len(ids), "repeated id"), fix)
    return ids


def check_splits_together(columns: dict[str, Any], findings: Findings) -> None:
    """Note an empty training set, splits that overlap, and training nodes without a label."""
    train = columns.get("train_nodes")
    if train is not None and len(train) == 0:
        findings.add("train_nodes", "at least one node", "none", "pass the nodes to train on, or leave the split out")
    for i, first in enumerate(SPLITS):
        for second in SPLITS[i + 1 :]:
            if columns.get(first) is None or columns.get(second) is None:
                continue
            both = np.intersect1d(columns[first], columns[second], assume_unique=True)
            if len(both):
                got = f"{counted(len(both), 'node')} in both: {_show(both)}"
                fix = f"{second} = np.setdiff1d({second}, {first})"
                findings.add(f"{first}, {second}", "splits that share no node", got, fix)
    _check_train_labels(train, columns.get("y"), findings)


def _check_train_labels(train: Array | None, y: Array | None, findings: Findings) -> None:
    if train is None or y is None or y.ndim != 1 or not len(train) or train[-1] >= len(y):
        return
    bare = train[y[train] == -1]
    if len(bare):
        got = f"{len(bare):,} without (y = -1), first node {int(bare[0])}"
        findings.add("train_nodes", "nodes that have a label", got, "train_nodes = train_nodes[y[train_nodes] >= 0]")
