"""``LinkNeighborLoader``: PyG's loader of neighbourhoods around edges, with negative samples, from plain wheels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from workbench.core.errors import Findings
from workbench.gather.link_loader_draw import EXCLUSIONS, draw_links
from workbench.gather.link_loader_inputs import link_inputs
from workbench.gather.link_loader_negatives import open_negatives
from workbench.gather.loader_base import BatchLoader
from workbench.gather.loader_check import check_options, warn_of_depth
from workbench.gather.loader_draw import DrawKey
from workbench.gather.loader_sampling import Sampling, SamplingOptions, open_sampling


@final
class LinkNeighborLoader(BatchLoader):
    """Batches of edges with their ends' neighbourhoods, as ``torch_geometric.loader.LinkNeighborLoader`` makes them.

    It replaces PyG's loader by changing the import, needs neither pyg-lib nor torch-sparse, and neither samples nor
    negatives depend on `num_workers`. Each argument is described in docs/loaders.md.

    Parameters
    ----------
    data, num_neighbors
        As in :class:`NeighborLoader`; so are all arguments that are not described here.
    edge_label_index : tensor or array (2, k), optional
        The seed edges, which need not be edges of the graph. Default: every edge.
    edge_label : tensor (k), optional
        Labels; with binary negatives a negative's label is 0, and labels that begin at 0 are counted up by one.
    edge_label_time : tensor (k), optional
        The time of each seed edge; goes with `time_attr`.
    neg_sampling : NegativeSampling, str, tuple or dict, optional
        ``"binary"`` pairs of random nodes, or ``"triplet"``: random destinations for each source; with ``amount`` and
        ``src_weight``, ``dst_weight``. A negative may happen to be an edge.
    neg_sampling_ratio : float, optional
        PyG's old word for binary negatives with this amount.
    exclude_seed_edges : bool or "forward"
        Takes the batch's own edges out of what is sampled, so that no model can read its answer off them: True in both
        directions, ``"forward"`` as they stand. They are removed after sampling; a node keeps fewer edges then.
    **kwargs
        ``rng_seed``, ``model``, and DataLoader's own.

    Yields
    ------
    torch_geometric.data.Data
        With ``n_id``, ``e_id``, ``input_id``, ``num_sampled_nodes``, ``num_sampled_edges``, and ``edge_label_index``
        (positions in ``n_id``), ``edge_label``, ``edge_label_time``; for triplets ``src_index``, ``dst_pos_index``,
        ``dst_neg_index`` and ``seed_time`` instead.

    Raises
    ------
    InputError
        At construction, with everything that is wrong or not supported.

    Examples
    --------
    >>> loader = LinkNeighborLoader(data, [15, 10], neg_sampling="binary", exclude_seed_edges=True, batch_size=1024)
    """

    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        edge_label_index: Any = None,
        edge_label: Any = None,
        edge_label_time: Any = None,
        replace: bool = False,
        subgraph_type: Any = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        neg_sampling: Any = None,
        neg_sampling_ratio: float | None = None,
        time_attr: str | None = None,
        weight_attr: str | None = None,
        transform: Callable[[Any], Any] | None = None,
        transform_sampler_output: Callable[[Any], Any] | None = None,
        is_sorted: bool = False,
        filter_per_worker: bool | None = None,
        neighbor_sampler: Any = None,
        directed: bool = True,
        **kwargs: Any,
    ) -> None:
        options = SamplingOptions(
            num_neighbors=num_neighbors,
            replace=replace,
            subgraph_type=subgraph_type,
            disjoint=disjoint,
            temporal_strategy=temporal_strategy,
            time_attr=time_attr,
            weight_attr=weight_attr,
            is_sorted=is_sorted,
            neighbor_sampler=neighbor_sampler,
            directed=directed,
        )
        kwargs |= {"transform": transform, "transform_sampler_output": transform_sampler_output}
        kwargs |= {"filter_per_worker": filter_per_worker}
        seeds = (edge_label_index, edge_label, edge_label_time)
        self._open(data, options, seeds, (neg_sampling, neg_sampling_ratio), kwargs)

    def _open(
        self, data: Any, options: SamplingOptions, seeds: tuple[Any, Any, Any], negatives: Any, kwargs: dict[str, Any]
    ) -> None:
        findings = Findings("LinkNeighborLoader")
        model, self.exclude_seed_edges = kwargs.pop("model", None), kwargs.pop("exclude_seed_edges", False)
        if self.exclude_seed_edges not in EXCLUSIONS:
            got = repr(self.exclude_seed_edges)
            findings.add("exclude_seed_edges", f"one of {list(EXCLUSIONS)}", got, "pass True: both directions")
        check_options(kwargs, findings)
        _check_times(seeds[2], options.time_attr, findings)
        sampling = open_sampling(data, options, "edge_label_time", seeds[2], findings)
        self._check_exclusion(sampling, findings)
        self.negatives = open_negatives(negatives[0], negatives[1], sampling, findings)
        self.input_data = link_inputs(data, sampling.graph.num_nodes, *seeds, self.negatives, findings)
        findings.raise_if_any()
        if model is not None:
            warn_of_depth("LinkNeighborLoader", model, sampling.num_hops)
        self.edge_label_index = seeds[0]
        super().__init__(data, len(self.input_data.row), sampling=sampling, options=kwargs)

    def _check_exclusion(self, sampling: Sampling, findings: Findings) -> None:
        if self.exclude_seed_edges and not sampling.is_own:
            got = f"{self.exclude_seed_edges!r} with a sampler of PyG's kind (not supported)"
            findings.add("exclude_seed_edges", "False", got, "leave out neighbor_sampler, or remove edges in it")
        if self.exclude_seed_edges == "forward" and sampling.is_bidirectional:
            got = "'forward', while bidirectional edges bring each edge back as the reverse of its reverse"
            findings.add("exclude_seed_edges", "True or False", got, "pass exclude_seed_edges=True")

    def draw(self, index: Any, key: DrawKey) -> Any:
        """Return the ``SamplerOutput`` of the seed edges at these positions."""
        return draw_links(self.sampling, self.input_data[index], self.negatives, self.exclude_seed_edges, key)

    def label(self, batch: Any, out: Any) -> None:
        """Put the seed edges, their labels and times, or the triplets onto a batch."""
        batch.input_id = out.metadata[0]
        if self.negatives is None or self.negatives.mode == "binary":
            batch.edge_label_index, batch.edge_label, batch.edge_label_time = out.metadata[1:4]
            return
        batch.src_index, batch.dst_pos_index, batch.dst_neg_index, batch.seed_time = out.metadata[1:5]
        for name in ("edge_label_index", "edge_label_time"):  # of the whole graph, not of this batch
            if name in batch:
                del batch[name]


def _check_times(edge_label_time: Any, time_attr: str | None, findings: Findings) -> None:
    if (edge_label_time is None) != (time_attr is None):
        given, missing = (
            ("time_attr", "edge_label_time") if edge_label_time is None else ("edge_label_time", "time_attr")
        )
        findings.add(missing, f"a value, since {given} is given", "None", f"pass both, or leave out {given}")
