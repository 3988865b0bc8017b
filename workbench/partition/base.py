"""What a partitioner is, where partitioners are registered, and the one function that runs them."""

from __future__ import annotations

import abc
import operator
import threading
import time
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

import numpy as np

from workbench.core.cancel import CancelSignal
from workbench.core.errors import Findings, MissingDependencyError, RunError
from workbench.core.given import require_graph
from workbench.core.optional import available
from workbench.core.params import Params
from workbench.core.registry import Registry
from workbench.partition.child import Watch, watching
from workbench.partition.edge_parts import EdgePartition
from workbench.partition.memory import MemoryMeter
from workbench.partition.parts import Partition
from workbench.partition.repair import repair_empty_parts

if TYPE_CHECKING:
    from workbench.graph import Graph


MAX_IMBALANCE = 1e6  # beyond it limits of parts leave the whole numbers that compiled code counts in
VertexCut = Literal["dbh", "greedy", "grid_2d", "hdrf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioner(Params, abc.ABC):
    """A way to give every node of a graph (or every edge: a vertex-cut) to one part; its fields are its parameters."""

    divides: ClassVar[Literal["nodes", "edges"]] = "nodes"
    """What is given to parts: ``partition`` returns a ``Partition`` of nodes or an ``EdgePartition`` of edges."""

    needs: ClassVar[str] = ""
    """An optional package without which the method cannot run; the extra that brings it has the same name."""

    @abc.abstractmethod
    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        """Return the part of each node, int32 (n,), or of each edge by its id, int32 (m,): values in [0, num_parts).

        ``1 <= num_parts <= n`` holds. Randomness comes from a parameter ``rng_seed`` alone. Parts may be left
        empty: :func:`partition` repairs and reports them.
        """


PARTITIONERS: Registry[Partitioner] = Registry(
    "partitioner",
    Partitioner,  # type: ignore[type-abstract]
    "workbench.partition.methods",
    "workbench.partitioners",
)


def node_methods() -> tuple[str, ...]:
    """Return the names of the methods that divide nodes (edge-cuts) and whose packages are installed."""
    return tuple(entry.name for entry in PARTITIONERS if entry.factory.divides == "nodes" and is_usable(entry.factory))


def is_usable(factory: type[Partitioner]) -> bool:
    """Say whether the package that a method needs is installed."""
    return not factory.needs or available(factory.needs)


@overload
def partition(
    graph: Graph, num_parts: int, method: VertexCut, *, cancel: CancelSignal | None = None, **params: Any
) -> EdgePartition: ...


@overload
def partition(
    graph: Graph,
    num_parts: int,
    method: str | Partitioner = "metis",
    *,
    cancel: CancelSignal | None = None,
    **params: Any,
) -> Partition: ...


def partition(
    graph: Graph,
    num_parts: int,
    method: str | Partitioner = "metis",
    *,
    cancel: CancelSignal | None = None,
    **params: Any,
) -> Partition | EdgePartition:
    """Divide the nodes (or, with a vertex-cut, the edges) of a graph among parts.

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
    EdgePartition
        From the vertex-cut methods (dbh, hdrf, greedy, grid_2d): every edge has one owner in range, nodes are
        replicated; ``empty_parts`` names parts without an edge.

    Raises
    ------
    InputError
        A number of parts out of range, an unknown method or parameter.
    MissingDependencyError
        The method needs an optional package that is not installed; the error names the extra.
    RunError
        The method crashed, hung or returned something that is no partition; this process is unharmed.
    """
    require_graph(graph, "partition")
    num_parts = _check_num_parts(graph, num_parts)
    partitioner = PARTITIONERS.create(method, **params)
    name = PARTITIONERS.name_of(partitioner)
    _check_package(name, partitioner)
    start = time.perf_counter()
    with watching(Watch(cancel=cancel or threading.Event())) as watch, MemoryMeter() as meter:
        array = partitioner.assign(graph, num_parts)
    record: dict[str, Any] = {
        "graph": graph,
        "num_parts": num_parts,
        "method": name,
        "params": MappingProxyType(partitioner.to_dict()),
        "fingerprint": graph.fingerprint,
        "peak_memory_bytes": meter.growth_bytes + watch.child_peak_bytes,
    }
    if partitioner.divides == "edges":
        owners = check_assignment(name, array, graph.num_edges, num_parts, "edge")
        elapsed_s = time.perf_counter() - start
        return EdgePartition(edge_assignment=owners, elapsed_s=elapsed_s, **record)
    assignment = check_assignment(name, array, graph.num_nodes, num_parts)
    assignment, repaired_parts = repair_empty_parts(graph, assignment, num_parts)
    elapsed_s = time.perf_counter() - start
    native_s = watch.native_s or elapsed_s
    return Partition(
        assignment=assignment, repaired_parts=repaired_parts, elapsed_s=elapsed_s, native_s=native_s, **record
    )


def _check_package(name: str, partitioner: Partitioner) -> None:
    if not is_usable(type(partitioner)):
        raise MissingDependencyError(
            f"partitioner {name!r} needs the package {partitioner.needs!r}, which is not installed. "
            f"Fix: pip install 'gnn-workbench[{partitioner.needs}]', or use another method, such as 'metis'"
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


def check_assignment(name: str, assignment: Any, num_items: int, num_parts: int, item: str = "node") -> np.ndarray:
    """Return the assignment as int32 if it is one owner in range for every node or edge; else a :class:`RunError`."""
    array = np.asarray(assignment)
    fault = ""
    if array.shape != (num_items,):
        fault = f"an array of shape {array.shape} instead of ({num_items},)"
    elif array.dtype.kind not in "iu":
        fault = f"{array.dtype} values instead of whole numbers"
    elif num_items and (array.min() < 0 or array.max() >= num_parts):
        bad = int(np.flatnonzero((array < 0) | (array >= num_parts))[0])
        fault = f"part {array[bad]} for {item} {bad}, outside [0, {num_parts})"
    if fault:
        raise RunError(f"partitioner {name!r} returned {fault}. Fix: use another method, or report this one")
    return np.ascontiguousarray(array, dtype=np.int32)
