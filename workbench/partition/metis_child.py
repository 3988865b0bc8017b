"""The child process of the METIS partitioner: ``python metis_child.py FOLDER`` (see child.py for the protocol).

METIS's own calls, exported by the shared library that pymetis brings, take several constraints and both widths of
integers; pymetis's function takes one constraint and cuts a longer array of weights off without a word. It is the
way out where those calls are not exported: then several constraints become one, their sum in shares of their totals.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent))  # at the end: nothing here may hide a module of the standard library
import child_job  # type: ignore[import-not-found]

NUM_OPTIONS = 40  # METIS_NOPTIONS
STATUS = {-2: "it refused its input", -3: "it found no memory", -4: "it failed"}
Arrays = dict[str, np.ndarray]


def prepare(job: dict[str, Any], arrays: Arrays) -> Callable[[], Arrays]:
    """Check the arrays, bring them to METIS's width, and return the call."""
    import pymetis

    width = pymetis.zero_copy_dtype() if hasattr(pymetis, "zero_copy_dtype") else np.dtype(np.int32)
    if len(arrays["adjacent"]) > np.iinfo(width).max:
        sys.exit(f"this build of METIS counts edges in {width.itemsize * 8} bits; the graph has more")
    fault = fault_of(arrays)
    if fault:
        sys.exit(fault)
    if "node_weights" in arrays:
        arrays["node_weights"] = fit_width(arrays["node_weights"], width)
    arrays = {name: np.ascontiguousarray(array, dtype=width) for name, array in arrays.items()}
    options = pymetis.Options(**job["metis_options"])
    library = None if job.get("library") == "pymetis" else own_calls()
    if library is None:
        return lambda: call_pymetis(pymetis, job, arrays, options)
    numbers = np.array([options._get(i) for i in range(NUM_OPTIONS)], dtype=width)
    return lambda: call_own(library, job, arrays, numbers)


def fault_of(arrays: Arrays) -> str:
    """Return what is wrong with the lengths or values of the arrays, or nothing: METIS itself reads beyond ends."""
    num_nodes, num_entries = len(arrays["starts"]) - 1, len(arrays["adjacent"])
    if num_nodes < 1 or arrays["starts"][0] != 0 or arrays["starts"][-1] != num_entries:
        return f"starts must run from 0 to the {num_entries} entries of adjacent"
    if num_entries and not 0 <= arrays["adjacent"].min() <= arrays["adjacent"].max() < num_nodes:
        return f"adjacent must hold nodes from 0 to {num_nodes - 1}"
    for name, array in arrays.items():  # METIS counts: 1.5 would be cut to 1 without a word
        if array.dtype.kind not in "iu":
            return f"{name} must hold whole numbers, not {array.dtype}"
    if "edge_weights" in arrays and arrays["edge_weights"].shape != (num_entries,):
        return f"edge_weights must have {num_entries} entries, not {arrays['edge_weights'].shape}"
    if num_entries and "edge_weights" in arrays and arrays["edge_weights"].min() < 0:
        return "edge_weights must not be negative"
    weights = arrays.get("node_weights")
    if weights is not None and (weights.ndim != 2 or len(weights) != num_nodes):
        return f"node_weights must be ({num_nodes}, constraints), not {weights.shape}"
    if weights is not None and (weights.min() < 0 or not weights.any(axis=0).all()):
        return "node_weights must not be negative, and no constraint may weigh nothing"
    return ""


def fit_width(weights: np.ndarray, width: np.dtype[Any]) -> np.ndarray:
    """Scale constraints down whose total METIS could not add up in its integers."""
    limit = np.iinfo(width).max // 8
    totals = weights.sum(axis=0, dtype=np.float64)
    return np.where(totals > limit, np.ceil(weights * (limit / totals)), weights).astype(width)


def own_calls() -> ctypes.CDLL | None:
    """Return the library that exports METIS's calls, or None where this build hides them."""
    import pymetis._internal

    try:
        library = ctypes.CDLL(pymetis._internal.__file__)
        _ = library.METIS_PartGraphKway, library.METIS_PartGraphRecursive
    except (OSError, AttributeError):
        return None
    return library


def call_own(library: ctypes.CDLL, job: dict[str, Any], arrays: Arrays, options: np.ndarray) -> Arrays:
    """Call METIS's k-way or recursive function as its manual has it."""
    width = options.dtype

    def number(value: int) -> ctypes.Array[ctypes.c_char]:
        return ctypes.create_string_buffer(np.array([value], dtype=width).tobytes())

    def pointer(name: str) -> ctypes.c_void_p | None:
        return ctypes.c_void_p(arrays[name].ctypes.data) if name in arrays else None

    num_nodes = len(arrays["starts"]) - 1
    constraints = arrays["node_weights"].shape[1] if "node_weights" in arrays else 1
    cut, parts = number(0), np.zeros(num_nodes, dtype=width)
    function = library.METIS_PartGraphRecursive if job["recursive"] else library.METIS_PartGraphKway
    function.restype = ctypes.c_int
    head = (number(num_nodes), number(constraints), pointer("starts"), pointer("adjacent"), pointer("node_weights"))
    goals = (None, pointer("edge_weights"), number(job["num_parts"]), None, None)  # sizes, part weights, tolerances
    status = function(*head, *goals, ctypes.c_void_p(options.ctypes.data), cut, ctypes.c_void_p(parts.ctypes.data))
    if status != 1:
        sys.exit(f"METIS answered {status}: {STATUS.get(status, 'unknown')}")
    return {"assignment": parts.astype(np.int64)}


def call_pymetis(pymetis: Any, job: dict[str, Any], arrays: Arrays, options: Any) -> Arrays:
    """Call METIS through pymetis's own function, with one constraint."""
    keywords: dict[str, Any] = {}
    if "node_weights" in arrays:
        keywords["vweights"] = combined(arrays["node_weights"])
    if "edge_weights" in arrays:
        keywords["eweights"] = arrays["edge_weights"]
    if hasattr(pymetis, "CSRAdjacency"):
        keywords["adjacency"] = pymetis.CSRAdjacency(arrays["starts"], arrays["adjacent"])
    else:
        keywords |= {"xadj": arrays["starts"], "adjncy": arrays["adjacent"]}
    _, parts = pymetis.part_graph(job["num_parts"], options=options, recursive=job["recursive"], **keywords)
    return {"assignment": np.asarray(parts, dtype=np.int64)}


def combined(weights: np.ndarray) -> np.ndarray:
    """Return one weight a node: the sum of its shares of every constraint's total, in parts of a large whole."""
    if weights.shape[1] == 1:
        return np.ascontiguousarray(weights[:, 0])
    whole = min(1000 * len(weights), np.iinfo(np.int32).max // 8)
    shares = (weights / weights.sum(axis=0)).mean(axis=1)
    whole_shares: np.ndarray = np.maximum(1, np.rint(shares * whole)).astype(weights.dtype)
    return whole_shares


if __name__ == "__main__":
    child_job.run(prepare)
