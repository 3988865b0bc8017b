"""Cluster-GCN: a step on a few clusters of the graph, and nothing outside of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.core.errors import Findings, RunError
from workbench.core.params import param
from workbench.core.registry import Registry
from workbench.gather import STORES, BatchPlan
from workbench.sampling import SAMPLERS
from workbench.sampling.base import steps_per_epoch
from workbench.sampling.methods.cluster import ClusterSampler
from workbench.train.base import STRATEGIES, Job, Strategy, StrategyRun
from workbench.train.batches import BatchRun
from workbench.train.clusters import NUM_CLUSTERS, check_clusters, cluster_sampler, settle_clusters
from workbench.train.strategies.mini_batch import describe

if TYPE_CHECKING:
    from torch import nn

    from workbench.graph import Graph


@STRATEGIES.register("cluster_batch")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBatch(Strategy):
    """Cluster-GCN: each step computes on a few clusters, with the edges within and between them.

    Edges to nodes outside the batch are dropped and degrees are those of the batch: ``A = A_batch + A_dropped``. The
    clusters are dealt out to the trainers once, evenly by training nodes and edges, and each trainer regroups its own
    every epoch: a rank reads the features of its clusters alone, and only gradients travel. Every cluster comes once
    an epoch, all ranks take equally many steps, and one that has no cluster left joins with zeros.

    With `diagonal_enhancement` > 0 every graph convolution uses ``A~ + lambda diag(A~)`` (the paper's equation 11), so
    that a node's own row is not lost in deep models; defined for GCNConv, refused for models with other layers. The
    saved weights belong to that matrix: the plain model computes something else with them.

    Chiang et al., "Cluster-GCN: An Efficient Algorithm for Training Deep and Large Graph Convolutional Networks",
    KDD 2019, arXiv 1905.07953.
    """

    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({"store": STORES})

    num_clusters: int | None = param(
        None, help=f"clusters of the graph; by default {NUM_CLUSTERS}, or the parts of a partition given", minimum=1
    )
    clusters_per_batch: int = param(5, help="clusters of a trainer in a step", unit="clusters", minimum=1)
    partitioner: Any = param(  # noqa: RUF009
        "metis", help="what makes the clusters: a name of PARTITIONERS, or a Partition whose parts they are"
    )
    partition_folder: str = param("", help="folder of a saved partition whose parts are the clusters, instead")
    diagonal_enhancement: float = param(
        0.0, help="lambda of A~ + lambda diag(A~) in every GCNConv, in training and evaluation; 0: as it is", minimum=0
    )
    # Mapped, not in memory: a rank touches the rows of its own clusters alone.
    store: Any = param("mmap", help="where features are read: a name, an object or its description")  # noqa: RUF009

    def __post_init__(self) -> None:
        settle_clusters(self, "cluster_batch")

    def check(self, graph: Graph, *, trainers: int, samplers: int, findings: Findings) -> None:
        check_clusters(self, graph, trainers, findings)

    def check_model(self, make: Callable[[], nn.Module], graph: Graph, *, trainers: int, findings: Findings) -> None:
        if not self.diagonal_enhancement:
            return
        from workbench.train.diagonal import enhance  # PyG takes seconds to import

        module = make()
        try:
            enhance(module, self.diagonal_enhancement)()
        except RunError:
            expected = "GCNConv layers that normalise and add self-loops, and no other message passing"
            got, fix = (
                f"{type(module).__name__} with others or none",
                "use model='gcn', or remove diagonal_enhancement=",
            )
            findings.add("diagonal_enhancement", expected, got, fix)

    def sampler(self, num_owners: int) -> ClusterSampler:
        """Return what draws the batches, with each rank's clusters its own."""
        return cluster_sampler(self, num_owners)

    def open(self, job: Job) -> StrategyRun:
        context = job.context
        sampler = self.sampler(context.world_size)
        plan = BatchPlan(
            folder=context.config.graph.folder,
            sampler=SAMPLERS.to_dict(sampler),
            store=describe(STORES, self.store),
            world_size=context.world_size,
            rng_seed=context.config.rng_seed,
        )
        steps = steps_per_epoch(sampler, context.graph, 0, batch_size=1, world_size=context.world_size)
        undo = self._enhance(job) if self.diagonal_enhancement else None
        return BatchRun(job, plan, steps_per_epoch=steps, row_cut="off", on_close=undo)

    def _enhance(self, job: Job) -> Callable[[], None]:
        """Change the layers for the length of the run, and say so."""
        from workbench.train.diagonal import enhance

        undo = enhance(job.module, self.diagonal_enhancement)
        if job.context.rank == 0:
            text = (
                f"Diagonal enhancement: every GCNConv uses A~ + {self.diagonal_enhancement:g} diag(A~), in training "
                "and in evaluation; model.pt holds weights for that, not for the plain layers."
            )
            job.context.emit("log_written", level="info", text=text)
        return undo
