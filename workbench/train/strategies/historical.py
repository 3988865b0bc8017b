"""GNNAutoScale: batches of clusters that read their neighbours' rows out of histories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.core.registry import Registry
from workbench.gather import STORES
from workbench.train.base import STRATEGIES, Job, Strategy, StrategyRun
from workbench.train.clusters import check_clusters, settle_clusters
from workbench.train.history import PLACES

if TYPE_CHECKING:
    from torch import nn

    from workbench.graph import Graph


@STRATEGIES.register("historical")
@dataclass(frozen=True, slots=True, kw_only=True)
class Historical(Strategy):
    """GNNAutoScale: a step computes a few clusters with all their in-edges; other nodes' rows come out of histories.

    Before each message-passing call but the first, the batch's own rows are pushed into the history of that call, and
    the rows of their in-neighbours in other clusters are pulled from it: what those were when their cluster was last
    computed. So every edge counts in every epoch, and a step's memory grows with the batch and not with the graph.
    Features of in-neighbours are read as they are, and what the model does to rows before its first call it does to
    theirs too. Degrees are those of the whole graph.

    What is exact: with frozen weights, no dropout and BatchNorm in evaluation, outputs are those of ``full_graph``
    after L - 1 epochs for L calls. In training, rows are up to ``2 K - 1`` steps old for K steps an epoch (each has its
    age; the histogram is told), no gradient flows into pulled rows, and rows that were never written (in the first
    epoch) are zeros, counted as cold. What dropout has dropped of a row stays dropped in its history. BatchNorm takes
    the statistics of the batch. Evaluation is exact and reads no history.

    Clusters are dealt out to the trainers as in ``cluster_batch``. Each rank holds the histories of its own nodes:
    ``n sum_{l=1..L-1} F_l`` numbers over all ranks, in memory or in a mapped file; they are part of checkpoints. An
    epoch pushes as many, and pulls ``sum over batches of halo(batch)`` rows; those of other ranks travel, one request
    and one answer an owner. Features, edges and the rank's own history rows of the next batch are read in a thread
    meanwhile, and what is written after that is read again: the result has the same bits.

    Fey et al., "GNNAutoScale: Scalable and Expressive Graph Neural Networks via Historical Embeddings", ICML 2021,
    arXiv 2106.05609.
    """

    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({"store": STORES})

    num_clusters: int | None = param(
        None, help="clusters of the graph; by default 50, or the parts of a partition given", minimum=1
    )
    clusters_per_batch: int = param(5, help="clusters of a trainer in a step", unit="clusters", minimum=1)
    partitioner: Any = param(  # noqa: RUF009
        "metis", help="what makes the clusters: a name of PARTITIONERS, or a Partition whose parts they are"
    )
    partition_folder: str = param("", help="folder of a saved partition whose parts are the clusters, instead")
    history: str = param(
        "memory",
        help="where histories lie: memory; mmap: a file in the run's folder; pinned: memory that a GPU reads by itself",
        choices=PLACES,
    )
    prefetch: bool = param(True, help="read the next batch in a thread while the model computes; the same bits")
    # Mapped, not in memory: a rank touches the rows of a batch alone.
    store: Any = param("mmap", help="where features are read: a name, an object or its description")  # noqa: RUF009

    def __post_init__(self) -> None:
        settle_clusters(self, "historical")

    def check(self, graph: Graph, *, trainers: int, samplers: int, findings: Findings) -> None:
        check_clusters(self, graph, trainers, findings)
        if samplers != 0:
            findings.add("samplers", "0 for historical, which samples nothing", samplers, "remove samplers=")

    def check_model(self, make: Callable[[], nn.Module], graph: Graph, *, trainers: int, findings: Findings) -> None:
        from workbench.train.history_probe import refuse_inexact_histories  # PyG takes seconds to import

        refuse_inexact_histories(make(), graph, findings)

    def open(self, job: Job) -> StrategyRun:
        from workbench.train.history_run import HistoryRun  # PyG takes seconds to import

        return HistoryRun(self, job)
