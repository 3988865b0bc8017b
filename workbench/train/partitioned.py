"""The partition of a run: chosen by name, object or ready-made, and written once as parts that ranks open alone."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import Findings
from workbench.core.home import home_folder
from workbench.graph.folder import aside, content_hash
from workbench.graph.hashing import text_hash
from workbench.partition import PARTITIONERS, Partition, partition
from workbench.partition.base import Partitioner
from workbench.partition.local import PARTS, LocalPart, open_part, write_parts
from workbench.partition.saved import FORMAT_VERSION, checksum

if TYPE_CHECKING:
    from workbench.core.config import RunConfig
    from workbench.graph import Graph

PartitionChoice = str | Partitioner | Partition | Mapping[str, Any]
FOLDER = "parts_folder"  # key in the record of a strategy's partition


def check_partition(graph: Graph, choice: Any, num_parts: int, findings: Findings, *, per: str = "trainer") -> None:
    """Note what makes a choice no partition of this graph into so many parts.

    Parameters
    ----------
    choice : str, Partitioner, Partition or mapping
        A mapping is what the configuration of a run keeps of its partition.
    num_parts : int
        Parts that the run needs.
    per : str
        What has a part of its own, for the error's words.
    """
    choice = _opened(graph, choice)
    if isinstance(choice, Partition):
        _check_made(graph, choice, num_parts, findings, per)
        return
    if not isinstance(choice, str | Partitioner):
        expected = f"a method ({', '.join(map(repr, PARTITIONERS.names()))}), a Partitioner or a Partition"
        findings.add("partition", expected, type(choice).__name__, "pass partition=wb.partition(graph, num_parts)")
        return
    partitioner = PARTITIONERS.create(choice)
    if partitioner.divides != "nodes":
        got = f"{PARTITIONERS.name_of(partitioner)!r}, which divides the edges"
        findings.add("partition", "a method that gives every node to one part", got, "use partition='metis'")
    if num_parts > graph.num_nodes:
        got = f"{num_parts:,} parts for {graph.num_nodes:,} nodes"
        findings.add("partition", "at most one part a node", got, f"use at most {graph.num_nodes} {per}s")


def _check_made(graph: Graph, made: Partition, num_parts: int, findings: Findings, per: str) -> None:
    if made.fingerprint != graph.fingerprint:
        expected = f"a partition of {graph.name!r} (fingerprint {graph.fingerprint[:12]})"
        got = f"one of {made.graph.name!r} (fingerprint {made.fingerprint[:12]})"
        findings.add("partition", expected, got, "partition this graph: wb.partition(graph, num_parts)")
    if made.num_parts != num_parts:
        got = f"{made.num_parts} parts for {num_parts} {per}s"
        findings.add("partition", f"one part for each {per}", got, f"wb.partition(graph, {num_parts})")


def prepare_parts(graph: Graph, choice: PartitionChoice, num_parts: int, findings: Findings) -> Path:
    """Return a folder with every part of a graph, for ranks to open their own: made once, found again by its content.

    The parts carry the data of `graph`, also where a ready-made partition was made for a graph of the same edges
    with other data.

    Parameters
    ----------
    graph : Graph
    choice : str, Partitioner or Partition
        A method's name or object, which is run now, or what one has made.
    num_parts : int
        One a rank, as a rule.
    findings : Findings
        Gets what is wrong with the choice.

    Raises
    ------
    InputError
        With all findings, where there is one: a partition of another graph or of another number of parts.
    """
    chosen = _opened(graph, choice)
    check_partition(graph, chosen, num_parts, findings)
    findings.raise_if_any()
    folder = home_folder("partitions") / _key(graph, chosen, num_parts)
    if not (folder / PARTS).is_file():  # the last file that is written
        made = chosen if isinstance(chosen, Partition) else partition(graph, num_parts, chosen)
        with aside(folder) as partial:
            write_parts(dataclasses.replace(made, graph=graph), partial)
            try:
                partial.rename(folder)
            except OSError:  # another process was first
                if not (folder / PARTS).is_file():
                    raise
    return folder


def _opened(graph: Graph, choice: PartitionChoice) -> str | Partitioner | Partition:
    """Return what a run's record of its partition stands for: the very parts where they still lie, else the method."""
    if not isinstance(choice, Mapping):
        return choice
    folder = Path(str(choice.get(FOLDER, "")))
    try:
        record = json.loads((folder / PARTS).read_text())
        if record["fingerprint"] != graph.fingerprint:
            raise ValueError("parts of another graph")
        assignment = np.empty(graph.num_nodes, np.int32)
        for part in range(record["num_parts"]):
            assignment[open_part(folder, part).inner_nodes] = part
    except (OSError, ValueError, KeyError):
        return PARTITIONERS.from_dict(choice)
    made = {"method": choice["name"], "params": choice["params"], "num_parts": record["num_parts"]}
    return Partition(graph=graph, assignment=assignment, fingerprint=graph.fingerprint, **made)


def _key(graph: Graph, choice: str | Partitioner | Partition, num_parts: int) -> str:
    made_by = checksum(choice.assignment) if isinstance(choice, Partition) else _method(choice)
    return text_hash([FORMAT_VERSION, content_hash(graph), num_parts, made_by])


def _method(choice: str | Partitioner | Partition) -> dict[str, Any]:
    if isinstance(choice, Partition):
        return {"name": choice.method, "params": dict(choice.params)}
    return PARTITIONERS.to_dict(PARTITIONERS.create(choice))


def record_parts(graph: Graph, choice: PartitionChoice, num_parts: int) -> dict[str, Any]:
    """Prepare the parts and return what a configuration keeps of them: method, parameters, number, folder."""
    chosen = _opened(graph, choice)
    folder = prepare_parts(graph, chosen, num_parts, Findings("launch"))
    return {**_method(chosen), "num_parts": num_parts, FOLDER: str(folder)}


def open_local_part(folder: str | Path, rank: int) -> LocalPart:
    """Map the part of one rank; nothing of another part, and not the whole graph, is opened."""
    return open_part(folder, rank)


def part_of(config: RunConfig, rank: int) -> int | None:
    """Return the part that a rank of a run owns, or None where the graph is not divided among ranks."""
    partition = config.strategy.params.get("partition")
    is_divided = isinstance(partition, Mapping) and partition.get("num_parts") == config.trainers
    return rank if is_divided else None
