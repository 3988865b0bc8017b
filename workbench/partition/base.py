"""What a partitioner is, where partitioners are registered, and the one function that runs them."""

from __future__ import annotations

import abc
import operator
import threading
import time
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.cancel import CancelSignal
from workbench.core.errors import Findings, RunError
from workbench.core.params import Params
from workbench.core.registry import Registry
from workbench.partition.child import Watch, watching
from workbench.partition.parts import Partition
from workbench.partition.repair import repair_empty_parts

if TYPE_CHECKING:
    from workbench.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioner(Params, abc.ABC):
    """A way to give every node of a graph to one part; its fields are its parameters."""

    @abc.abstractmethod
    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        """Return the part of each node: int32 (n,), values in [0, num_parts).

        ``1 <= num_parts <= n`` holds. Randomness comes from a parameter ``rng_seed`` alone. Parts may be left
        empty: :func:`partition` repairs and reports them.
        """


PARTITIONERS: Registry[Partitioner] = Registry(
    "partitioner",
    Partitioner,  # type: ignore[type-abstract]
    "workbench.partition.methods",
    "workbench.partitioners",
)


def partition(
    graph: Graph,
    num_parts: int,
    method: str | Partitioner = "metis",
    *,
    cancel: CancelSignal | None = None,
    **params: Any,
) -> Partition:
    """Divide the nodes of a graph among parts.

    Parameters
    ----------
    graph : Graph
    num_parts : int
        From 1 to the number of nodes.
    method : str or Partitioner
        A name of ``PARTITIONERS`` or an object of its kind.
    cancel : CancelSignal, optional
        A ``threading.Event``: set it from another thread to stop a partitioner that runs in a child process.
    **params
        Parameters of the method, such as ``rng_seed``.

    Returns
    -------
    Partition
        Every node has one owner in range and no part is empty; ``repaired_parts`` names the parts that the
        method had left empty.

    Raises
    ------
    InputError
        A number of parts out of range, an unknown method or parameter.
    RunError
        The method crashed, hung or returned something that is no partition; this process is unharmed.
    """
    num_parts = _check_num_parts(graph, num_parts)
    partitioner = PARTITIONERS.create(method, **params)
    name = PARTITIONERS.name_of(partitioner)
    start = time.perf_counter()
    with watching(Watch(cancel=cancel or threading.Event())) as watch:
        assignment = check_assignment(name, partitioner.assign(graph, num_parts), graph.num_nodes, num_parts)
    assignment, repaired_parts = repair_empty_parts(graph, assignment, num_parts)
    elapsed_s = time.perf_counter() - start
    return Partition(
        graph=graph,
        assignment=assignment,
        num_parts=num_parts,
        method=name,
        params=MappingProxyType(partitioner.to_dict()),
        fingerprint=graph.fingerprint,
        elapsed_s=elapsed_s,
        native_s=watch.native_s or elapsed_s,
        repaired_parts=repaired_parts,
    )


def _check_num_parts(graph: Graph, num_parts: int) -> int:
    findings = Findings("partition")
    try:
        count = operator.index(num_parts)
    except TypeError:
        findings.add("num_parts", "a whole number", repr(num_parts), "pass num_parts=4")
        findings.raise_if_any()
    if isinstance(num_parts, bool) or count < 1:
        findings.add("num_parts", "at least 1", repr(num_parts), "pass num_parts=4")
    elif count > graph.num_nodes:
        fix = f"pass num_parts={graph.num_nodes} or less" if graph.num_nodes else "give the graph at least one node"
        findings.add("num_parts", f"at most the {graph.num_nodes:,} nodes of the graph", f"{count:,}", fix)
    findings.raise_if_any()
    return count


def check_assignment(name: str, assignment: Any, num_nodes: int, num_parts: int) -> np.ndarray:
    """Return the assignment as int32 if it is one owner in range for every node; else raise :class:`RunError`."""
    array = np.asarray(assignment)
    fault = ""
    if array.shape != (num_nodes,):
        fault = f"an array of shape {array.shape} instead of ({num_nodes},)"
    elif array.dtype.kind not in "iu":
        fault = f"{array.dtype} values instead of whole numbers"
    elif num_nodes and (array.min() < 0 or array.max() >= num_parts):
        bad = int(np.flatnonzero((array < 0) | (array >= num_parts))[0])
        fault = f"part {array[bad]} for node {bad}, outside [0, {num_parts})"
    if fault:
        raise RunError(f"partitioner {name!r} returned {fault}. Fix: use another method, or report this one")
    return np.ascontiguousarray(array, dtype=np.int32)
