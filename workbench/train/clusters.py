"""The clusters that a strategy trains on: how they are chosen in a launch, and who owns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from workbench.core.errors import Findings, InputError
from workbench.partition import PARTITIONERS, Partition
from workbench.sampling.methods.cluster import ClusterSampler

if TYPE_CHECKING:
    from workbench.graph import Graph

NUM_CLUSTERS = 50


class Clustered(Protocol):
    """A strategy with these fields."""

    @property
    def num_clusters(self) -> int | None: ...
    @property
    def clusters_per_batch(self) -> int: ...
    @property
    def partitioner(self) -> Any: ...
    @property
    def partition_folder(self) -> str: ...


def settle_clusters(strategy: Any, name: str) -> None:
    """Bring the fields of a frozen strategy into one form: a partition that was given lies saved, the count is known.

    Raises
    ------
    InputError
        Where the count is another than that of the parts given.
    """
    given, count = strategy.partitioner, strategy.num_clusters
    if isinstance(given, Partition):
        if count not in (None, given.num_parts):
            findings = Findings(f"strategy '{name}'")
            got = f"{count} clusters beside a partition of {given.num_parts} parts"
            findings.add("num_clusters", "the parts of the partition", got, "remove num_clusters=")
            findings.raise_if_any()
        saved = ClusterSampler.of(given)
        object.__setattr__(strategy, "partition_folder", saved.partition_folder)
        object.__setattr__(strategy, "partitioner", given.method)
        count = given.num_parts
    object.__setattr__(strategy, "num_clusters", count or NUM_CLUSTERS)


def check_clusters(strategy: Clustered, graph: Graph, trainers: int, findings: Findings) -> None:
    """Note what is wrong with the clusters of a launch, and make them where nothing is."""
    num_errors = len(findings.errors)
    _check_partitioner(strategy.partitioner, findings)
    if min(strategy.num_clusters or 0, graph.num_nodes) < trainers:
        got = f"{strategy.num_clusters} clusters for {trainers} trainers: some of them would have nothing to do"
        findings.add("num_clusters", "at least one cluster a trainer", got, "use more clusters", "warning")
    if len(findings.errors) == num_errors == 0:
        try:  # made where the launch can tell of it, and found again by the ranks
            cluster_sampler(strategy, trainers).clusters(graph)
        except InputError as error:
            findings.items.extend(error.findings)


def _check_partitioner(partitioner: Any, findings: Findings) -> None:
    try:
        entry = PARTITIONERS.entry(partitioner)
    except InputError as error:
        findings.items.extend(error.findings)
        return
    if entry.factory.divides != "nodes":
        got = f"{partitioner!r}, which divides the edges"
        findings.add("partitioner", "a method that gives every node to one part", got, "use partitioner='metis'")


def cluster_sampler(strategy: Clustered, num_owners: int) -> ClusterSampler:
    """Return what knows the clusters, with each rank's its own."""
    assert strategy.num_clusters is not None, "settled"
    return ClusterSampler(
        num_clusters=strategy.num_clusters,
        clusters_per_batch=strategy.clusters_per_batch,
        partitioner=strategy.partitioner,
        partition_folder=strategy.partition_folder,
        num_owners=num_owners,
    )
