"""Checks of what the PyG-compatible loaders are given: all faults are found at construction, and told at once."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader
from torch_geometric.nn import MessagePassing
from torch_geometric.sampler.base import NumNeighbors

from workbench.core.errors import Findings
from workbench.core.given import note_whole
from workbench.core.params import MAX_INT64
from workbench.graph import Graph

OWN_OPTIONS = ("rng_seed", "transform", "transform_sampler_output", "filter_per_worker")
_TORCH_OPTIONS = tuple(inspect.signature(DataLoader.__init__).parameters)[2:]  # without self and dataset
_SET_BY_LOADERS = ("dataset", "collate_fn")  # what re-created loaders pass along; PyG drops them too


def check_data(data: Any, findings: Findings) -> bool:
    """Say whether `data` is a homogeneous graph; note what it is instead."""
    kind = type(data).__name__
    if isinstance(data, Graph):
        return True
    expected = "a torch_geometric.data.Data or a workbench Graph"
    if hasattr(data, "node_types"):
        fix = "pass data.to_homogeneous(); sampling of typed graphs comes with HeteroGraph"
        findings.add("data", expected, f"{kind} (not supported)", fix)
    elif isinstance(data, tuple | list):
        got = f"{kind} of {len(data)} (a feature and graph store are not supported)"
        findings.add("data", expected, got, "pass Graph.open(folder), which maps features from disk")
    elif not hasattr(data, "edge_index"):
        fix = "pass dataset[0]" if hasattr(data, "__getitem__") else "pass a Data object or a Graph"
        findings.add("data", expected, kind, fix)
    elif data.edge_index is None and getattr(data, "adj_t", None) is not None:
        fix = "set data.edge_index (2, m), sources above destinations, and delete data.adj_t"
        findings.add("data.adj_t", "data.edge_index", "adj_t alone (not supported)", fix)
    else:
        return True
    return False


def check_options(options: dict[str, Any], findings: Findings) -> None:
    """Note what is wrong with the options that do not concern sampling."""
    _check_own_options(options, findings)
    _check_torch_options(options, findings)


def _check_own_options(options: Mapping[str, Any], findings: Findings) -> None:
    """Note functions that cannot be called, and a `filter_per_worker` or `rng_seed` of another type."""
    for name in ("transform", "transform_sampler_output", "worker_init_fn"):
        value = options.get(name)
        if value is not None and not callable(value):
            findings.add(name, "a function of one argument", type(value).__name__, f"leave out {name}")
    value = options.get("filter_per_worker")
    if value is not None and not isinstance(value, bool):
        findings.add("filter_per_worker", "True, False or None", repr(value), "leave it out")
    rng_seed = options.get("rng_seed")
    if rng_seed is not None and (isinstance(rng_seed, bool) or not isinstance(rng_seed, int | np.integer)):
        findings.add("rng_seed", "a whole number or None", repr(rng_seed), "pass rng_seed=0")
    if rng_seed is not None and options.get("generator") is not None:
        fix = "leave out generator: rng_seed decides the order too"
        findings.add("rng_seed, generator", "one of the two", "both", fix)


def _check_torch_options(options: dict[str, Any], findings: Findings) -> None:
    """Note keywords that nobody knows and those of DataLoader that threads do not have; drop what loaders set."""
    for name in _SET_BY_LOADERS:
        options.pop(name, None)
    for name in options:
        if name not in _TORCH_OPTIONS and name not in OWN_OPTIONS and name != "custom_cls":
            findings.add(name, "an argument of the loader or of DataLoader", "an unknown keyword", f"remove {name}=")
    if options.pop("custom_cls", None) is not None:
        findings.add("custom_cls", "None", "a class (not supported)", "use transform to make the batch another class")
    if "batch_size" in options and options["batch_size"] is None:
        findings.add("batch_size", "at least 1", "None (not supported)", "pass batch_size=1 for single inputs")
    elif "batch_size" in options:
        note_whole(findings, 1, batch_size=options["batch_size"])
    if options.get("multiprocessing_context") is not None:
        got = f"{options['multiprocessing_context']!r} (not supported: workers are threads)"
        findings.add("multiprocessing_context", "None", got, "leave it out")


def check_fanouts(num_neighbors: Any, findings: Findings) -> tuple[int, ...]:
    """Return ``num_neighbors`` as a tuple, hop 1 (next to the seeds) first."""
    values = num_neighbors.values if isinstance(num_neighbors, NumNeighbors) else num_neighbors
    fix = "pass e.g. num_neighbors=[15, 10], or -1 for all neighbours of a hop"
    if isinstance(values, Mapping):
        findings.add("num_neighbors", "one number a hop", "a number for each edge type (not supported)", fix)
        return ()
    array = _as_vector(values)
    if array is None or array.ndim != 1 or not len(array) or array.dtype.kind not in "iu" or array.min() < -1:
        findings.add("num_neighbors", "whole numbers, one a hop, each -1 or more", repr(num_neighbors), fix)
        return ()
    if array.max() > MAX_INT64:
        findings.add("num_neighbors", f"at most {MAX_INT64} a hop", repr(num_neighbors), fix)
        return ()
    return tuple(int(value) for value in array)


def check_vector(name: str, value: Any, length: int, what: str, findings: Findings) -> NDArray[Any] | None:
    """Return a vector of numbers, one for each of `length` things, or None after noting what is wrong with it."""
    array = _as_vector(value)
    if array is None or array.shape != (length,) or array.dtype.kind not in "fiub":
        got = type(value).__name__ if array is None else f"{array.dtype} of shape {array.shape}"
        findings.add(name, f"numbers of shape ({length},), one {what}", got, f"pass one number {what}")
        return None
    return array


def _as_vector(value: Any) -> NDArray[Any] | None:
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        return None


def is_mask(value: Any) -> bool:
    """Say whether node ids were given as a boolean mask."""
    array = _as_vector(value)
    return array is not None and array.dtype == bool


def as_tensor(array: NDArray[Any] | None) -> Any:
    """Return an array as a tensor of its own, None as it is."""
    return None if array is None else torch.from_numpy(np.array(array))


def count_nodes(data: Any) -> int:
    """Return the number of nodes; where PyG must infer it from the edges, without its warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return int(data.num_nodes or 0)


def warn_of_depth(loader: str, model: Any, num_hops: int | None) -> None:
    """Warn where a model has more or fewer message-passing layers than there are hops, if that can be told."""
    layers = [module for module in model.modules() if isinstance(module, MessagePassing)]
    if (
        num_hops is None or not layers or any(hasattr(layer, "K") for layer in layers)
    ):  # such a layer propagates K times, each in its way
        return
    if len(layers) != num_hops:
        effect = "the hops beyond are sampled for nothing" if num_hops > len(layers) else "outer layers see no edge"
        text = (
            f"{loader}: num_neighbors has {num_hops} hops and the model {len(layers)} message-passing layers: {effect}"
        )
        warnings.warn(text, UserWarning, stacklevel=4)


def warn_of_sources(loader: str, graph: Graph, seed_nodes: NDArray[np.int64]) -> None:
    """Warn where no seed has an in-edge but some have out-edges, so that every batch is right and has no edge."""
    if len(seed_nodes) == 0 or (graph.indptr[seed_nodes + 1] > graph.indptr[seed_nodes]).any():
        return
    has_out_edge = np.zeros(graph.num_nodes, bool)
    has_out_edge[graph.indices] = True
    if has_out_edge[seed_nodes].any():
        fix = "add reverse edges with torch_geometric.transforms.ToUndirected(), or flip data.edge_index"
        text = f"{loader}: edges leave the seeds and none leads to them, so that batches have no edge. Fix: {fix}"
        warnings.warn(text, UserWarning, stacklevel=4)
