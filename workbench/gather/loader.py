"""``NeighborLoader``: PyG's loader of sampled neighbourhoods, from plain wheels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np
from torch_geometric.sampler import NodeSamplerInput

from workbench.core.errors import Findings, InputError
from workbench.gather.loader_base import BatchLoader
from workbench.gather.loader_check import (
    as_tensor,
    check_options,
    check_vector,
    is_mask,
    warn_of_depth,
    warn_of_sources,
)
from workbench.gather.loader_draw import DrawKey
from workbench.gather.loader_sampling import SamplingOptions, open_sampling
from workbench.sampling import as_node_ids


@final
class NeighborLoader(BatchLoader):
    """Batches of sampled neighbourhoods, with the arguments and batches of ``torch_geometric.loader.NeighborLoader``.

    It replaces PyG's loader by changing the import, needs neither pyg-lib nor torch-sparse, and its batches do not
    depend on `num_workers`. Each argument is described in docs/loaders.md.

    Parameters
    ----------
    data : torch_geometric.data.Data or Graph
        Rows are read from it at the time of each batch.
    num_neighbors : list of int
        In-edges drawn a node at each hop, next to the seeds first; -1 = all.
    input_nodes : tensor, array, list or boolean mask, optional
        The seeds; a repeated one gets a row for each time. Default: every node.
    input_time : tensor, optional
        A time for each seed, instead of that of `time_attr`.
    replace, subgraph_type, disjoint, temporal_strategy, time_attr, weight_attr
        As in PyG.
    transform, transform_sampler_output : callable, optional
        Applied to each batch, and to each ``SamplerOutput`` before it.
    is_sorted : bool
        Accepted; the order of the edges is found out in any case.
    filter_per_worker : bool, optional
        Whether workers read the rows and call the functions. Default: they do, unless there are functions or the data
        is on a GPU; functions are then called in order by the thread that loops.
    neighbor_sampler : str, Sampler or torch_geometric.sampler.BaseSampler, optional
        Another sampler than the one that the arguments describe.
    directed : bool
        False is PyG's old word for ``subgraph_type="induced"``.
    rng_seed : int, optional
        Makes order and samples a function of (rng_seed, ``loader.epoch``, batch). Without it they follow `generator`
        or torch's own random state, as in PyG.
    model : torch.nn.Module, optional
        Warns where its message-passing layers are not as many as the hops.
    **kwargs
        DataLoader's own: ``batch_size``, ``shuffle``, ``num_workers`` (threads), ``drop_last`` ...

    Yields
    ------
    torch_geometric.data.Data
        With the columns of `data` at its nodes and edges and ``n_id``, ``e_id`` (ids of the original edges),
        ``input_id``, ``batch_size``, ``num_sampled_nodes``, ``num_sampled_edges``, and where they apply ``batch`` and
        ``seed_time``. The first ``batch_size`` nodes are the seeds in their order.

    Raises
    ------
    InputError
        At construction, with everything that is wrong or not supported.

    Notes
    -----
    Hamilton, Ying & Leskovec, "Inductive Representation Learning on Large Graphs", NeurIPS 2017.

    Examples
    --------
    >>> loader = NeighborLoader(data, [15, 10], input_nodes=data.train_mask, batch_size=1024, shuffle=True)
    """

    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        input_nodes: Any = None,
        input_time: Any = None,
        replace: bool = False,
        subgraph_type: Any = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
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
        self._open(data, options, input_nodes, input_time, kwargs)

    def _open(
        self, data: Any, options: SamplingOptions, input_nodes: Any, input_time: Any, kwargs: dict[str, Any]
    ) -> None:
        findings = Findings("NeighborLoader")
        input_id, model = kwargs.pop("input_id", None), kwargs.pop("model", None)
        check_options(kwargs, findings)
        if input_time is not None and options.time_attr is None:
            findings.add("input_time", "time_attr beside it", "input_time alone", "name the column: time_attr='time'")
        sampling = open_sampling(data, options, "input_time", input_time, findings)
        self.input_data = _inputs(sampling.graph.num_nodes, input_nodes, input_time, input_id, findings)
        findings.raise_if_any()
        if sampling.is_own:
            warn_of_sources("NeighborLoader", sampling.graph, self.input_data.node.numpy())
        if model is not None:
            warn_of_depth("NeighborLoader", model, sampling.num_hops)
        self.input_nodes, self.input_time = input_nodes, input_time
        super().__init__(data, len(self.input_data.node), sampling=sampling, options=kwargs)

    def draw(self, index: Any, key: DrawKey) -> Any:
        """Return the ``SamplerOutput`` of the seeds at these positions."""
        return self.sampling.from_nodes(self.input_data[index], key)

    def label(self, batch: Any, out: Any) -> None:
        """Put ``input_id``, ``seed_time`` and ``batch_size`` onto a batch."""
        batch.input_id, batch.seed_time = out.metadata[:2]
        batch.batch_size = len(batch.input_id)


def _inputs(num_nodes: int, input_nodes: Any, input_time: Any, input_id: Any, findings: Findings) -> Any:
    """Return the seeds, their times and their ids as PyG keeps them; a mask's ids are its nodes, others positions."""
    try:
        nodes = np.arange(num_nodes) if input_nodes is None else as_node_ids(input_nodes, num_nodes, "input_nodes")
    except InputError as error:
        findings.items.extend(error.findings)
        return None
    ids, time = None, None
    if input_time is not None:
        time = check_vector("input_time", input_time, len(nodes), "for each seed", findings)
    if input_id is not None:
        ids = check_vector("input_id", input_id, len(nodes), "for each seed", findings)
    elif is_mask(input_nodes):
        ids = nodes
    return NodeSamplerInput(node=as_tensor(nodes), time=as_tensor(time), input_id=as_tensor(ids))
