"""Seed nodes: what may be passed as such, and how an epoch deals them out to ranks and steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.core.rng import generator
from workbench.sampling.topology import Topology

Ids = NDArray[np.int64]
_SHUFFLE = 0x5EED5  # sets the stream of the epoch's order apart from the streams of the samplers


def as_node_ids(nodes: Any, num_nodes: int, name: str) -> Ids:
    """Return node ids as a contiguous int64 vector, in the order given.

    Parameters
    ----------
    nodes : int, sequence, array, tensor
        Whole numbers in 0 .. num_nodes - 1 of any integer type, or a boolean mask (num_nodes). Nothing
        (``[]``) is valid. Repeated ids pass here: whether they may come twice is the sampler's business.
    num_nodes : int
        Nodes of the graph.
    name : str
        The argument's name, for the error.

    Raises
    ------
    InputError
        If they are not whole numbers, out of range, of a wrong shape, or a mask of another length.
    """
    findings = Findings("node ids")
    array = _as_array(nodes, name, findings)
    if array.dtype == bool:
        if array.shape != (num_nodes,):
            findings.add(name, f"a mask of shape ({num_nodes},)", f"shape {array.shape}", "pass one value a node")
            findings.raise_if_any()
        return np.flatnonzero(array)
    if array.size and array.dtype.kind not in "iu":
        convert = "long()" if hasattr(nodes, "detach") else "astype('int64')"
        fix = f"pass {name}.{convert} if the numbers are node ids" if array.dtype.kind == "f" else "pass a list of ids"
        findings.add(name, "whole numbers (integers)", f"{array.dtype} {_some(array)}", fix)
    if array.ndim > 1:
        findings.add(name, "one dimension", f"shape {array.shape}", f"pass {name}.reshape(-1)")
    findings.raise_if_any()
    array = np.atleast_1d(array)
    if array.size and (array.min() < 0 or array.max() >= num_nodes):
        wrong = array[(array < 0) | (array >= num_nodes)]
        fix = "leave them out, or use the graph that they belong to"
        findings.add(name, f"ids from 0 to {num_nodes - 1}", f"{len(wrong)} outside: {_some(wrong)}", fix)
        findings.raise_if_any()
    return np.ascontiguousarray(array, np.int64)


def as_seed_nodes(graph: Topology, seed_nodes: Any) -> Ids:
    """Return `seed_nodes` as checked ids of the graph: :func:`as_node_ids` under the argument's usual name."""
    return as_node_ids(seed_nodes, graph.num_nodes, "seed_nodes")


def _as_array(nodes: Any, name: str, findings: Findings) -> NDArray[Any]:
    if hasattr(nodes, "detach"):  # a tensor, on whatever device; torch itself is not known here
        nodes = nodes.detach().cpu().numpy()
    try:
        return np.asarray(nodes)
    except (TypeError, ValueError):
        findings.add(name, "one vector of node ids", f"a {type(nodes).__name__} of mixed shape", "flatten it")
        findings.raise_if_any()
        raise


def _some(values: NDArray[Any]) -> str:
    shown = ", ".join(str(value) for value in values.reshape(-1)[:5])
    return f"[{shown}, ...]" if values.size > 5 else f"[{shown}]"


def num_steps(num_seeds: int, batch_size: int, world_size: int) -> int:
    """Return the global steps of an epoch: the fewest in which no rank has more than `batch_size` seeds."""
    return -(-num_seeds // (batch_size * world_size))


def epoch_order(nodes: Ids, *, rng_seed: int, epoch: int) -> Ids:
    """Return the nodes in the order of an epoch: a permutation that depends on `rng_seed` and `epoch` alone."""
    return generator(rng_seed, epoch, _SHUFFLE).permutation(nodes)


def seed_range(num_seeds: int, *, steps: int, world_size: int, step: int, rank: int) -> tuple[int, int]:
    """Return where the seeds of a rank in a step (from 0) begin and end in the epoch's order.

    The order is cut into `steps` nearly equal pieces and each piece into `world_size`: sizes of global steps
    differ by at most one, and so do those of ranks within a step.
    """
    begin, end = _cut(num_seeds, steps, step)
    first, last = _cut(end - begin, world_size, rank)
    return begin + first, begin + last


def _cut(length: int, pieces: int, index: int) -> tuple[int, int]:
    """Return the bounds of one of `pieces` pieces; the first ``length % pieces`` are one longer."""
    size, longer = divmod(length, pieces)
    return index * size + min(index, longer), (index + 1) * size + min(index + 1, longer)


def split_seeds(
    nodes: Any, *, batch_size: int, world_size: int = 1, rank: int = 0, rng_seed: int = 0, epoch: int = 0
) -> list[Ids]:
    """Deal out the seed nodes of an epoch: the batches of one rank.

    Every rank gets the same number of batches, every node comes exactly once an epoch over all ranks, nothing is
    dropped or padded. The epoch takes the fewest steps in which no rank has more than `batch_size` seeds, and
    its steps are equal but for one seed: 4,097 nodes, 4 ranks and batches of 1,024 make two steps of 513 or 512
    seeds a rank rather than one full step and one with a single seed. With fewer nodes than ranks some ranks
    get an empty batch, and still take the step.

    Parameters
    ----------
    nodes : array, int64 (k)
        Each node once.
    batch_size : int
        The most seeds of a rank in a step.

    Returns
    -------
    list of int64 arrays
        One a step; step s of all ranks together is global step s of the epoch.

    Raises
    ------
    InputError
        If the sizes are below one, the rank is not of the world, or a node comes twice.
    """
    ids = np.asarray(nodes)
    _check_split(ids, batch_size, world_size, rank)
    ids = ids.astype(np.int64, copy=False)
    steps = num_steps(len(ids), batch_size, world_size)
    order = epoch_order(ids, rng_seed=rng_seed, epoch=epoch)
    shape = {"steps": steps, "world_size": world_size, "rank": rank}
    return [order[slice(*seed_range(len(ids), step=step, **shape))] for step in range(steps)]


def _check_split(ids: NDArray[Any], batch_size: int, world_size: int, rank: int) -> None:
    findings = Findings("split_seeds")
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        got = f"{ids.dtype} of shape {ids.shape}"
        findings.add("nodes", "a vector of whole numbers", got, "pass node ids, e.g. graph.train_nodes")
    elif len(np.unique(ids)) < len(ids):
        findings.add("nodes", "each node once", "repeated ids", "pass np.unique(nodes)")
    for name, value in (("batch_size", batch_size), ("world_size", world_size)):
        if value < 1:
            findings.add(name, "at least 1", value, f"pass {name}=1 or more")
    if not 0 <= rank < max(world_size, 1):
        findings.add("rank", f"0 to {world_size - 1}", rank, "pass the rank's number, counted from 0")
    findings.raise_if_any()
