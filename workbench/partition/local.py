"""Parts as folders: each worker opens its own and nothing else.

``folder/part-0003/`` holds a graph folder with the part's nodes in local ids (its own first, then its halo, by owner
and id), the in-edges of its own nodes and the rows of all node and edge data, and beside it what ties the part to the
whole: global ids, global in-degrees, owners of the halo, and the rows that every other part reads.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import Findings
from workbench.core.given import note_whole, require_path
from workbench.graph import Graph
from workbench.graph.csc import build_csc
from workbench.graph.node_data import Columns
from workbench.partition.owners import folder_to_write
from workbench.partition.rows import take_node_data
from workbench.partition.saved import FORMAT_VERSION, checksum, write_json

if TYPE_CHECKING:
    from workbench.partition.parts import Part, Partition

PARTS, PART = "parts.json", "part.json"
_OWN_NAME = re.compile(r"\.?part-\d{4,}(-\d+)?|\.?parts\.json(-\d+)?")  # a part, one being written, the list of all
# NumPy reads headers through the parser of Python, whose count of depth is one for all threads (CPython 3.11): ranks
# that are threads and open parts at once would get "AST constructor recursion depth mismatch".
_OPENING = threading.Lock()
ARRAYS = ("node_ids", "edge_ids", "in_degrees", "halo_starts", "send_starts", "send_nodes")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalPart:
    """One part as its worker sees it, mapped from its folder.

    Parameters
    ----------
    id, num_parts : int
    fingerprint : str
        Of the whole graph.
    checksum : str
        Of the partition's assignment: equal for parts that belong together.
    graph : Graph
        Local ids: inner nodes ascending by global id, then halo nodes. In-edges of inner nodes alone; data of all;
        training, validation and test nodes among the inner ones alone, since a halo node is never counted in a loss.
    num_inner : int
    node_ids : int64 (local nodes,)
        Global ids.
    edge_ids : int64 (local edges,)
        Global edge ids.
    in_degrees : int64 (local nodes,)
        In-degrees in the whole graph: what normalisation by degree must use.
    halo_starts : int64 (num_parts + 1,)
        Halo nodes that part j owns: local ids ``num_inner + halo_starts[j]`` to ``num_inner + halo_starts[j + 1]``.
    send_starts, send_nodes : int64 (num_parts + 1,), int64
        Local ids of the inner nodes that part j reads, in the order of its halo:
        ``send_nodes[send_starts[j]:send_starts[j + 1]]``.
    """

    id: int
    num_parts: int
    fingerprint: str
    checksum: str
    graph: Graph
    num_inner: int
    node_ids: np.ndarray
    edge_ids: np.ndarray
    in_degrees: np.ndarray
    halo_starts: np.ndarray
    send_starts: np.ndarray
    send_nodes: np.ndarray

    @property
    def inner_nodes(self) -> np.ndarray:
        """Global ids of the nodes that the part owns, ascending."""
        return self.node_ids[: self.num_inner]

    @property
    def halo_nodes(self) -> np.ndarray:
        """Global ids of the nodes that it reads of others, by owner and then ascending."""
        return self.node_ids[self.num_inner :]

    def __repr__(self) -> str:
        num_halo = len(self.node_ids) - self.num_inner
        return (
            f"LocalPart({self.id} of {self.num_parts}: {self.num_inner:,} inner and {num_halo:,} halo nodes, "
            f"{self.graph.num_edges:,} edges)"
        )


def write_parts(partition: Partition, folder: str | Path) -> Path:
    """Write every part of a partition; each appears whole, by a rename, and ``parts.json`` last."""
    folder = folder_to_write(folder, "write_parts")
    names = [path.name for path in folder.iterdir()]
    strange = sorted(name for name in names if not _OWN_NAME.fullmatch(name))
    if strange and PARTS not in names:  # what a write left that did not end holds our own names alone
        findings = Findings(f"write_parts({str(folder)!r})")
        got = f"one with {', '.join(map(repr, strange[:3]))}{', ...' if len(strange) > 3 else ''}"
        findings.add("folder", "a new folder, or one that holds parts", got, "choose another folder")
        findings.raise_if_any()
    (folder / PARTS).unlink(missing_ok=True)
    for name in names:
        if _OWN_NAME.fullmatch(name) and (folder / name).is_dir():
            shutil.rmtree(folder / name)
    shared = {
        "format": FORMAT_VERSION,
        "num_parts": partition.num_parts,
        "method": partition.method,
        "fingerprint": partition.fingerprint,
        "checksum": checksum(partition.assignment),
    }
    parts = [_halo_by_owner(partition, part) for part in partition.parts()]
    in_degrees = partition.graph.in_degrees()
    local_of = np.full(partition.graph.num_nodes, -1, dtype=np.int64)
    for part, halo, halo_starts in parts:
        partial = folder / f".{_name(part.id)}-{os.getpid()}"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        arrays = {"halo_starts": halo_starts, "node_ids": np.concatenate([part.inner_nodes, halo])}
        arrays |= _sends(part, parts)
        arrays["in_degrees"] = in_degrees[arrays["node_ids"]]
        graph, arrays["edge_ids"] = _local_graph(partition.graph, part, arrays["node_ids"], local_of)
        graph.save(partial / "graph")
        for name in ARRAYS:
            np.save(partial / f"{name}.npy", arrays[name])
        write_json(partial / PART, {**shared, "id": part.id, "num_inner": len(part.inner_nodes)})
        partial.rename(folder / _name(part.id))
    write_json(folder / PARTS, shared)
    return folder


def open_part(folder: str | Path, part: int) -> LocalPart:
    """Map one part that :meth:`Partition.write_parts` wrote; nothing of another part is opened.

    Raises
    ------
    InputError
        There is no whole part of that number in the folder.
    """
    with _OPENING:
        return _open(require_path(folder, "folder", "open_part"), part)


def _open(folder: Path, part: int) -> LocalPart:
    findings = Findings(f"open_part({str(folder)!r}, {part!r})")
    note_whole(findings, minimum=0, part=part)
    findings.raise_if_any()
    place = folder / _name(part)
    try:
        record: dict[str, Any] = json.loads((place / PART).read_text())
        arrays = {name: np.load(place / f"{name}.npy", mmap_mode=_mode(place / f"{name}.npy")) for name in ARRAYS}
        known = record.pop("format")
    except (OSError, ValueError, KeyError, EOFError) as error:
        got = f"{type(error).__name__}: {error}"
        findings.add("part", f"a part that write_parts wrote, in {place}", got, "write the parts again")
        findings.raise_if_any()
    if known != FORMAT_VERSION:
        findings.add(PART, f"format {FORMAT_VERSION}", f"format {known}", "write the parts again")
        findings.raise_if_any()
    record.pop("method")
    return LocalPart(graph=Graph.open(place / "graph"), **record, **arrays)


def _mode(file: Path) -> Any:
    """An array without entries cannot be mapped; its file is the header alone."""
    return "r" if np.lib.format.open_memmap(file, mode="r").size else None


def _name(part: int) -> str:
    return f"part-{part:04d}"


def _halo_by_owner(partition: Partition, part: Part) -> tuple[Part, np.ndarray, np.ndarray]:
    """Return a part, its halo by owner and id, and where each owner's begins."""
    owners = partition.assignment[part.halo_nodes]
    halo = part.halo_nodes[np.argsort(owners, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=partition.num_parts))])
    return part, halo, starts.astype(np.int64)


def _sends(part: Part, parts: list[tuple[Part, np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return which of a part's own nodes, in local ids, every part reads."""
    read = [halo[starts[part.id] : starts[part.id + 1]] for _, halo, starts in parts]
    nodes = np.searchsorted(part.inner_nodes, np.concatenate(read))
    starts = np.concatenate([[0], np.cumsum([len(ids) for ids in read])])
    return {"send_starts": starts.astype(np.int64), "send_nodes": nodes.astype(np.int64)}


def _local_graph(graph: Graph, part: Part, node_ids: np.ndarray, local_of: np.ndarray) -> tuple[Graph, np.ndarray]:
    """Return the in-edges of a part's own nodes with the data of all its nodes, and the global edge ids."""
    local_of[node_ids] = np.arange(len(node_ids))
    first = graph.indptr[part.inner_nodes]
    sizes = graph.indptr[part.inner_nodes + 1] - first
    ends = np.cumsum(sizes)
    edge_ids = np.arange(int(sizes.sum()), dtype=np.int64) + np.repeat(first - (ends - sizes), sizes)
    topology = build_csc(local_of[graph.indices[edge_ids]], np.repeat(np.arange(len(sizes)), sizes), len(node_ids))
    if topology.order is not None:
        edge_ids = edge_ids[topology.order]
    local_of[node_ids[len(sizes) :]] = -1  # splits are of inner nodes alone
    local = Graph(
        indptr=topology.indptr,
        indices=topology.indices,
        node_data=Columns(take_node_data(graph, node_ids, local_of)),
        edge_data=Columns({name: np.ascontiguousarray(column[edge_ids]) for name, column in graph.edge_data.items()}),
        name=f"{graph.name}, part {part.id}",
        class_names=graph.class_names,
        class_count=graph.num_classes or None,
    )
    local_of[part.inner_nodes] = -1
    return local, edge_ids
