"""Cluster sampling: a batch is a few clusters of the graph, with the edges between them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings, InputError
from workbench.core.home import home_folder
from workbench.core.params import param
from workbench.core.rng import generator
from workbench.partition import Partition, partition
from workbench.sampling.base import SAMPLERS, Ids, SampledSubgraph, Sampler
from workbench.sampling.cluster_owners import cluster_loads, deal_clusters
from workbench.sampling.derived import DERIVED, DerivedCache
from workbench.sampling.drawn import subgraph_among
from workbench.sampling.scratch import Scratch
from workbench.sampling.topology import Topology

if TYPE_CHECKING:
    from workbench.graph import Graph

_REGROUP = 0xC1057E5  # sets the stream of the clusters' order apart from the streams of hops


@SAMPLERS.register("cluster")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSampler(Sampler):
    """Puts a few clusters into each batch, with every edge within and between them; regrouped each epoch.

    Draws its seeds: those of `seed_nodes` that lie in the batch's clusters. An epoch has every cluster once, in
    batches of `clusters_per_batch` and a last one of what is left; batch numbers beyond it are empty. The clusters
    are made once for a graph and kept under the workbench's home; a graph of fewer nodes has as many clusters as nodes.
    With several owners, batch b has clusters of owner ``b % num_owners`` alone: as many each (or one less), dealt out
    once by seed nodes and edges, and regrouped among its own.

    Chiang et al., "Cluster-GCN: An Efficient Algorithm for Training Deep and Large Graph Convolutional Networks",
    KDD 2019.
    """

    draws_seeds: ClassVar[bool] = True

    num_clusters: int = param(50, help="clusters of the graph", unit="clusters", minimum=1)
    clusters_per_batch: int = param(5, help="clusters that a batch has", unit="clusters", minimum=1)
    partitioner: str = param("metis", help="how the clusters are made: a name of PARTITIONERS")
    partition_folder: str = param("", help="folder of a saved partition whose parts are the clusters, instead")
    num_owners: int = param(1, help="ranks among which the clusters are divided: each keeps its own", minimum=1)

    @classmethod
    def of(cls, clusters: Partition, *, clusters_per_batch: int = 1) -> Self:
        """Return the sampler whose clusters are the parts of a partition; it is saved under the workbench's home."""
        content = hashlib.blake2b(clusters.assignment.tobytes(), digest_size=16)
        content.update(clusters.fingerprint.encode())
        folder = clusters.save(home_folder("clusterings") / content.hexdigest())
        return cls(
            num_clusters=clusters.num_parts,
            clusters_per_batch=clusters_per_batch,
            partitioner=clusters.method,
            partition_folder=str(folder),
        )

    def num_batches(self, graph: Topology) -> int:
        most = -(-self._num_clusters(graph) // self.num_owners)
        return self.num_owners * -(-most // self.clusters_per_batch)

    def clusters(self, graph: Topology) -> NDArray[np.int32]:
        """Return the cluster of each node, int32 (n)."""
        key = (self.num_clusters, self.partitioner, self.partition_folder)
        return DERIVED.get(graph.indptr, key, lambda: self._make(cast("Graph", graph)))

    def sample(
        self,
        graph: Topology,
        seed_nodes: Ids,
        *,
        epoch: int,
        batch: int,
        rng_seed: int,
        scratch: Scratch | None = None,
    ) -> SampledSubgraph:
        clusters, (turn, owner) = self.clusters(graph), divmod(batch, self.num_owners)
        own, key = self.owned(graph, seed_nodes)[owner], (owner,) if self.num_owners > 1 else ()
        first = turn * self.clusters_per_batch
        in_batch = np.zeros(self._num_clusters(graph), bool)
        in_batch[
            generator(rng_seed, epoch, _REGROUP, *key).permutation(own)[first : first + self.clusters_per_batch]
        ] = True
        return subgraph_among(graph, np.flatnonzero(in_batch[clusters]), seed_nodes, scratch=scratch)

    def owned(self, graph: Topology, seed_nodes: Ids) -> list[Ids]:
        """Return the clusters of each owner; together every cluster once."""
        count = self._num_clusters(graph)
        if self.num_owners == 1:
            return [np.arange(count)]

        def deal() -> list[Ids]:
            return deal_clusters(cluster_loads(graph, self.clusters(graph), seed_nodes, count), self.num_owners)

        of_graph = DERIVED.get(
            graph.indptr, ("owners", self), DerivedCache
        )  # forgotten with the graph, or with the seeds
        return of_graph.get(seed_nodes, "owned", deal)

    def _num_clusters(self, graph: Topology) -> int:
        return min(self.num_clusters, graph.num_nodes)

    def _make(self, graph: Graph) -> NDArray[np.int32]:
        if self.partition_folder:
            return self._opened(graph, Path(self.partition_folder))
        num_clusters = self._num_clusters(graph)
        if num_clusters == 0:
            return np.zeros(0, np.int32)
        what: list[Any] = [graph.fingerprint, self.partitioner, num_clusters]
        name = hashlib.blake2b(json.dumps(what).encode(), digest_size=16).hexdigest()
        folder = home_folder("clusterings") / name
        try:
            return Partition.open(folder, graph).assignment
        except InputError:  # not there, or torn
            made = partition(graph, num_clusters, self.partitioner)
            made.save(folder)
            return made.assignment

    def _opened(self, graph: Graph, folder: Path) -> NDArray[np.int32]:
        opened = Partition.open(folder, graph)
        if opened.num_parts != self.num_clusters:
            findings = Findings("sampler 'cluster'")
            got = f"{opened.num_parts} parts in {folder}"
            findings.add(
                "num_clusters", f"the {self.num_clusters} clusters of the sampler", got, "use ClusterSampler.of"
            )
            findings.raise_if_any()
        return opened.assignment
