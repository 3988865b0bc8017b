"""From PyG's sampling arguments to a sampler of the workbench over the topology of the data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.sampler import BaseSampler
from torch_geometric.sampler import NeighborSampler as PygNeighborSampler
from torch_geometric.typing import WITH_PYG_LIB, WITH_TORCH_SPARSE

from workbench.core.errors import Findings, InputError
from workbench.gather.loader_check import check_data, check_fanouts
from workbench.gather.loader_draw import DrawKey, Ids, draw, is_disjoint, to_output
from workbench.gather.loader_topology import ColumnNames, open_topology
from workbench.graph import Graph
from workbench.sampling import SAMPLERS, SampledSubgraph, Sampler

SUBGRAPH_TYPES = ("directional", "bidirectional", "induced")
TEMPORAL_STRATEGIES = ("uniform", "last")


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """The arguments that say how neighbours are drawn, as PyG names them."""

    num_neighbors: Any
    replace: bool = False
    subgraph_type: Any = "directional"
    disjoint: bool = False
    temporal_strategy: str = "uniform"
    time_attr: str | None = None
    weight_attr: str | None = None
    is_sorted: bool = False
    neighbor_sampler: Any = None
    directed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the batches of a loader are drawn.

    Parameters
    ----------
    graph : Graph
        The topology, with the columns that the sampler reads.
    sampler : Sampler or torch_geometric.sampler.BaseSampler
    is_bidirectional : bool
        Whether the reverse of every edge is added, in PyG's way: each pair of nodes once in each direction.
    """

    graph: Graph
    sampler: Any
    is_bidirectional: bool = False

    @property
    def is_own(self) -> bool:
        """Say whether the sampler is the workbench's: safe in threads, its draws keyed."""
        return isinstance(self.sampler, Sampler)

    @property
    def edge_order(self) -> Any:
        """Return the original position of each edge that the sampler numbers; None where these are the positions."""
        return self.graph.edge_order if self.is_own else self.sampler.edge_permutation

    @property
    def num_hops(self) -> int | None:
        """Return the hops that are followed, where the sampler says so and each is a layer's."""
        if not getattr(self.sampler, "is_by_hop", True):  # any layer may read any of its edges
            return None
        fanouts = getattr(self.sampler, "fanouts", None)
        return getattr(self.sampler, "num_hops", None) if fanouts is None else len(fanouts)

    @property
    def is_disjoint(self) -> bool:
        """Say whether each seed has a tree of its own."""
        return is_disjoint(self.sampler)

    @property
    def node_time(self) -> Any:
        """Return the times of nodes (n) by which neighbours are filtered, where there are any."""
        name = getattr(self.sampler, "time_attr", None)
        return None if name is None else self.graph.node_data.get(name)

    def sample(self, seed_nodes: Ids, seed_times: NDArray[Any] | None, key: DrawKey) -> SampledSubgraph:
        """Sample a batch whose seeds may repeat."""
        return draw(self.graph, self.sampler, seed_nodes, key, seed_times)

    def to_output(self, subgraph: SampledSubgraph) -> Any:
        """Return a subgraph as PyG's ``SamplerOutput``, of the type that is wanted."""
        out = to_output(subgraph, by_hop=getattr(self.sampler, "is_by_hop", True))
        return out.to_bidirectional() if self.is_bidirectional else out

    def from_nodes(self, inputs: Any, key: DrawKey) -> Any:
        """Return PyG's ``SamplerOutput`` for a ``NodeSamplerInput``."""
        if not self.is_own:
            return self.sampler.sample_from_nodes(inputs)
        times = None if inputs.time is None else inputs.time.numpy()
        out = self.to_output(self.sample(inputs.node.numpy(), times, key))
        out.metadata = (inputs.input_id, inputs.time)
        return out


def open_sampling(
    data: Any, options: SamplingOptions, times_name: str, given_times: Any, findings: Findings
) -> Sampling:
    """Return the topology and the sampler of a loader.

    Parameters
    ----------
    times_name : str
        The argument that dates the seeds, for errors: ``input_time`` or ``edge_label_time``.
    given_times : object
        Its value; None where the seeds have the times of their nodes.

    Raises
    ------
    InputError
        With every finding so far, where one makes it impossible to go on.
    """
    subgraph_type = _check_words(options, findings)
    own = _check_sampler(options, subgraph_type, findings)
    fanouts = check_fanouts(options.num_neighbors, findings) if own is None else ()
    check_data(data, findings)
    findings.raise_if_any()
    names = ColumnNames(weight=options.weight_attr, time=options.time_attr)
    graph, names = open_topology(data, names, findings)
    if names.time is not None and given_times is None and names.time not in graph.node_data:
        fix = f"pass {times_name}=: one time for each seed"
        findings.add(times_name, f"a time for each seed, since {options.time_attr!r} dates edges only", "None", fix)
    findings.raise_if_any()
    is_bidirectional = subgraph_type == "bidirectional"
    if own is not None:
        return Sampling(graph=graph, sampler=own)
    params = {
        "fanouts": fanouts,
        "replace": bool(options.replace),
        "weight_attr": names.weight,
        "time_attr": names.time,
        "temporal_strategy": options.temporal_strategy,
        "disjoint": bool(options.disjoint),
        "subgraph_type": "directional" if is_bidirectional else subgraph_type,
    }
    return Sampling(graph=graph, sampler=_tried(params, graph, findings), is_bidirectional=is_bidirectional)


def _tried(params: Mapping[str, Any], graph: Graph, findings: Findings) -> Any:
    """Return a sampler that has made a batch without seeds: columns are checked and kernels compiled by now."""
    none = np.empty(0, np.int64)
    times = {} if params["time_attr"] is None else {"seed_times": none}
    try:
        sampler: Any = SAMPLERS.create("neighbor", **params)
        sampler.sample(graph, none, epoch=0, batch=0, rng_seed=0, **times)
    except InputError as error:
        findings.items.extend(error.findings)
        findings.raise_if_any()
    return sampler


def _check_words(options: SamplingOptions, findings: Findings) -> str:
    """Return the subgraph type; note words that nobody knows."""
    subgraph_type = getattr(options.subgraph_type, "value", options.subgraph_type)  # PyG's enumeration, or its word
    if subgraph_type not in SUBGRAPH_TYPES:
        findings.add("subgraph_type", f"one of {list(SUBGRAPH_TYPES)}", repr(subgraph_type), "pass 'directional'")
    if options.temporal_strategy not in TEMPORAL_STRATEGIES:
        expected = f"one of {list(TEMPORAL_STRATEGIES)}"
        findings.add("temporal_strategy", expected, repr(options.temporal_strategy), "pass 'uniform'")
    for name in ("replace", "disjoint", "is_sorted", "directed"):
        value = getattr(options, name)
        if not isinstance(value, bool | np.bool_):
            findings.add(name, "True or False", repr(value), f"leave out {name}")
    if options.directed is False:
        warnings.warn("directed=False is PyG's old word for subgraph_type='induced'", DeprecationWarning, stacklevel=5)
        return "induced"
    return str(subgraph_type)


def _check_sampler(options: SamplingOptions, subgraph_type: str, findings: Findings) -> Any:
    """Return the sampler that was given, ready to use, or None where the arguments describe one."""
    given = options.neighbor_sampler
    if given is None:
        return None
    unused = {name: getattr(options, name) for name in ("replace", "disjoint", "time_attr", "weight_attr")}
    unused["subgraph_type"] = None if subgraph_type == "directional" else subgraph_type
    for name, value in unused.items():
        if value:
            fix = f"leave out {name}, or set it on the sampler"
            findings.add(name, "nothing beside neighbor_sampler, which draws in its own way", repr(value), fix)
    if isinstance(given, str) and given in SAMPLERS.names():
        given = SAMPLERS.create(given)
    if isinstance(given, PygNeighborSampler) and not (WITH_PYG_LIB or WITH_TORCH_SPARSE):
        got = f"PyG's {type(given).__name__}, which needs pyg-lib or torch-sparse"
        findings.add("neighbor_sampler", "a sampler that can run here", got, "leave it out: this loader brings its own")
    elif not isinstance(given, Sampler | BaseSampler):
        expected = f"one of {list(SAMPLERS.names())}, a workbench Sampler or a PyG BaseSampler"
        findings.add("neighbor_sampler", expected, repr(given), "leave it out")
    elif getattr(given, "draws_seeds", False):
        got = f"{type(given).__name__}, which draws its own seeds"
        findings.add("neighbor_sampler", "a sampler that takes the seeds of a batch", got, "use it in launch()")
    return given
