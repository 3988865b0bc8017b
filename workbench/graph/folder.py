"""A graph as a folder: ``graph.json`` and one ``.npy`` file an array, written aside and renamed when whole."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings, InputError
from workbench.core.units import format_bytes
from workbench.graph.hashing import array_hash, text_hash
from workbench.graph.node_data import Columns, Names
from workbench.graph.sparse_rows import SparseRows

if TYPE_CHECKING:
    from workbench.graph.graph import Graph

Array = NDArray[Any]
G = TypeVar("G", bound="Graph")
FORMAT = 1
HEADER = "graph.json"
_PARTS = ("indptr", "indices", "values")
_AGAIN = "save the graph again, or take the folder from a backup"


def arrays_of(graph: Graph) -> dict[str, Array]:
    """Return every array of a graph by the name of its file (without ``.npy``)."""
    arrays: dict[str, Array] = {"indptr": graph.indptr, "indices": graph.indices}
    if graph.edge_order is not None:
        arrays["edge_order"] = graph.edge_order
    if graph.names is not None:
        arrays |= {"names.starts": graph.names.starts, "names.text": graph.names.text}
    for kind, columns in (("node", graph.node_data), ("edge", graph.edge_data)):
        for name, column in columns.items():
            stem = _stem(kind, name)
            if isinstance(column, SparseRows):
                arrays |= {f"{stem}.{part}": getattr(column, part) for part in _PARTS}
            else:
                arrays[stem] = column
    return arrays


def _stem(kind: str, name: str) -> str:
    return f"{kind}.{quote(name, safe='')}"  # a column may be called anything


def _header(graph: Graph, hashes: Mapping[str, str]) -> dict[str, Any]:
    """Return what ``graph.json`` holds, without the files' list."""
    return {
        "format": FORMAT,
        "name": graph.name,
        "num_nodes": graph.num_nodes,
        "num_edges": graph.num_edges,
        "fingerprint": text_hash([hashes["indptr"], hashes["indices"]]),
        "class_names": None if graph.class_names is None else list(graph.class_names),
        "class_count": graph.class_count,
        "node_data": _kinds(graph.node_data),
        "edge_data": _kinds(graph.edge_data),
        "meta": dict(graph.meta),
    }


def _kinds(columns: Columns) -> dict[str, Any]:
    return {
        name: {"sparse_columns": column.num_columns} if isinstance(column, SparseRows) else {}
        for name, column in columns.items()
    }


def content_hash(graph: Graph) -> str:
    """Return the hash over everything that a graph's folder holds; computed once a graph."""
    if "content_hash" not in graph._cache:
        hashes = {name: array_hash(array) for name, array in arrays_of(graph).items()}
        graph._cache["content_hash"] = text_hash([_header(graph, hashes), hashes])
        graph._cache["array_hashes"] = hashes
        graph._cache["fingerprint"] = text_hash([hashes["indptr"], hashes["indices"]])
    return str(graph._cache["content_hash"])


def save_graph(graph: Graph, path: Path) -> Path:
    """Write `graph` to `path`; a graph that is there already is replaced by a rename, any other folder is refused."""
    path = path.expanduser().absolute()
    if path.exists() and not (path / HEADER).is_file() and not (path.is_dir() and not any(path.iterdir())):
        findings = Findings(f"graph.save({str(path)!r})")
        findings.add("folder", "a new folder, or one that holds a graph", f"{path}", "choose another folder")
        findings.raise_if_any()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside(path) as partial:
            write(graph, partial)
            _swap(partial, path)
    except OSError as error:
        refuse(graph, path, error)
    return path


def refuse(graph: Graph, path: Path, error: OSError) -> None:
    """Say what the file system said, with what would be needed; what was there before is untouched."""
    needed = sum(array.nbytes for array in arrays_of(graph).values())
    parent = next(folder for folder in path.parents if folder.exists())
    free = shutil.disk_usage(parent).free
    findings = Findings(f"graph.save({str(path)!r})")
    got = f"{error.strerror or error} ({format_bytes(free)} free)"
    fix = "free some space or choose another folder; a graph that was there is as it was"
    findings.add("folder", f"a writable place with {format_bytes(needed)} free", got, fix)
    raise InputError(findings.subject, findings.items) from error


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """Give a fresh folder beside `path`; whatever is still there at the end is removed."""
    partial = path.parent / f".{path.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}.partial"
    partial.mkdir(mode=0o700)
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write(graph: Graph, folder: Path) -> None:
    """Write every file of a graph into a folder that is there, the header last."""
    for name, array in arrays_of(graph).items():
        with (folder / f"{name}.npy").open("wb") as stream:
            np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
            _flush(stream)
    seal(graph, folder)


def seal(graph: Graph, folder: Path) -> None:
    """Write the header of a folder that holds the graph's array files already."""
    total = content_hash(graph)
    hashes = graph._cache["array_hashes"]
    files = {
        name: {
            "num_bytes": (folder / f"{name}.npy").stat().st_size,
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "blake2b": hashes[name],
        }
        for name, array in arrays_of(graph).items()
    }
    header = _header(graph, hashes) | {"content_hash": total, "files": files}
    with (folder / HEADER).open("w", encoding="utf-8") as stream:
        json.dump(header, stream, indent=1, ensure_ascii=False)
        _flush(stream)


def _flush(stream: Any) -> None:
    stream.flush()
    os.fsync(stream.fileno())  # a full disk shows itself here, before anything is renamed


def _swap(partial: Path, path: Path) -> None:
    if not path.exists():
        partial.rename(path)
        return
    old = path.parent / f"{partial.name}.old"
    path.rename(old)
    try:
        partial.rename(path)
    except OSError:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def read_header(path: Path) -> dict[str, Any]:
    """Return ``graph.json`` after comparing it with the files beside it: presence and size."""
    findings = Findings(f"Graph.open({str(path)!r})")
    file = path / HEADER
    if not file.is_file():
        got = "an unfinished or foreign folder" if path.is_dir() else "no such folder"
        findings.add("folder", f"a folder with {HEADER}", got, "pass a folder written by graph.save(folder)")
        findings.raise_if_any()
    try:
        header: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        known = header["format"]
        files = header["files"]
    except (ValueError, KeyError, TypeError):
        findings.add(HEADER, "the JSON that graph.save wrote", "a damaged file", _AGAIN)
        findings.raise_if_any()
    if known != FORMAT:
        findings.add(HEADER, f"format {FORMAT}", f"format {known}", "save the graph again with this version")
        findings.raise_if_any()
    for name, facts in files.items():
        array_file = path / f"{name}.npy"
        if not array_file.is_file():
            findings.add(array_file.name, f"{facts['num_bytes']:,} bytes", "no such file", _AGAIN)
        elif array_file.stat().st_size != facts["num_bytes"]:
            got = f"{array_file.stat().st_size:,} bytes"
            findings.add(array_file.name, f"{facts['num_bytes']:,} bytes", got, _AGAIN)
    findings.raise_if_any()
    return header


def open_graph(kind: type[G], path: Path, *, verify: bool) -> G:
    """Map the arrays of a folder into a graph; `verify` compares every checksum."""
    path = path.expanduser().absolute()
    header = read_header(path)
    findings = Findings(f"Graph.open({str(path)!r})")
    arrays = {name: _map(path, name, facts, findings, verify) for name, facts in header["files"].items()}
    findings.raise_if_any()
    names = None
    if "names.starts" in arrays:
        names = Names(starts=arrays["names.starts"], text=arrays["names.text"])
    classes = header["class_names"]
    graph = kind(
        indptr=np.asarray(arrays["indptr"]),
        indices=np.asarray(arrays["indices"]),
        edge_order=arrays.get("edge_order"),
        node_data=_columns("node", header["node_data"], arrays),
        edge_data=_columns("edge", header["edge_data"], arrays),
        name=header["name"],
        names=names,
        class_names=None if classes is None else tuple(classes),
        class_count=header["class_count"],
        folder=path,
        meta=header["meta"],
    )
    hashes = {name: facts["blake2b"] for name, facts in header["files"].items()}
    known = {"fingerprint": header["fingerprint"], "content_hash": header["content_hash"], "array_hashes": hashes}
    graph._cache.update(known)
    return graph


def _map(path: Path, name: str, facts: Mapping[str, Any], findings: Findings, verify: bool) -> Array:
    file = path / f"{name}.npy"
    try:
        empty = 0 in facts["shape"]  # an empty file cannot be mapped
        array: Array = np.load(file, mmap_mode=None if empty else "r", allow_pickle=False)
        found = (array.dtype.str, list(array.shape))
    except (ValueError, OSError, EOFError) as error:
        findings.add(file.name, "an array file", f"a damaged file ({error})", _AGAIN)
        return np.zeros(0)
    if found != (facts["dtype"], facts["shape"]):
        findings.add(file.name, f"{facts['dtype']} {facts['shape']}", f"{found[0]} {found[1]}", _AGAIN)
    elif verify and array_hash(array) != facts["blake2b"]:
        findings.add(file.name, f"checksum {facts['blake2b']}", f"checksum {array_hash(array)}", _AGAIN)
    return array


def _columns(kind: str, described: Mapping[str, Any], arrays: Mapping[str, Array]) -> Columns:
    columns: dict[str, Any] = {}
    for name, facts in described.items():
        stem = _stem(kind, name)
        if "sparse_columns" in facts:
            parts = {part: np.asarray(arrays[f"{stem}.{part}"]) for part in _PARTS}
            columns[name] = SparseRows(num_columns=facts["sparse_columns"], **parts)
        else:
            column = arrays[stem]
            columns[name] = column if name == "x" else np.asarray(column)
    return Columns(columns)
