"""Negative samples of the link loader: drawn by key, so that they do not depend on threads or on torch's state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.sampler import NegativeSampling

from workbench.core.errors import Findings
from workbench.core.rng import generator
from workbench.gather.loader_check import check_vector
from workbench.gather.loader_draw import DrawKey
from workbench.gather.loader_sampling import Sampling

Ids = NDArray[np.int64]
_STREAM = {"src": 0x5EC0, "dst": 0xDE57}  # sets the streams apart from each other and from those of the samplers
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Negatives:
    """How nodes for negative pairs are drawn.

    Parameters
    ----------
    mode : str
        ``binary`` (both ends) or ``triplet`` (destinations).
    amount : float
        Negatives for each positive pair.
    num_nodes : int
    cumulative : mapping of "src", "dst" -> array, float64 (n), or None
        Running sums of the weights of nodes; None = uniform.
    node_time : array (n), optional
        A negative is at most as late as the pair that it stands against.
    given : NegativeSampling
        PyG's own record of all this.
    """

    mode: str
    amount: float
    num_nodes: int
    cumulative: dict[str, NDArray[np.float64] | None]
    node_time: NDArray[Any] | None
    given: Any

    def count(self, num_positive: int) -> int:
        """Return the negatives of a batch."""
        return math.ceil(num_positive * self.amount)

    def draw(self, end: str, num_positive: int, pair_time: NDArray[Any] | None, key: DrawKey) -> Ids:
        """Return nodes for one end of the negative pairs; number i stands against pair ``i % num_positive``.

        A node that comes too late for its pair is drawn again, five times at most; the earliest node stands in then.
        A negative may happen to be an edge of the graph, as in PyG.
        """
        random = generator(key.rng_seed, key.epoch, key.batch, _STREAM[end])
        num = self.count(num_positive)
        nodes = self._some(end, num, random)
        if self.node_time is None or pair_time is None or num == 0:
            return nodes
        limit = np.resize(pair_time, num)  # repeats the times in turn
        for _ in range(_TRIES):
            late = np.flatnonzero(self.node_time[nodes] > limit)
            nodes[late] = self._some(end, len(late), random)
        nodes[self.node_time[nodes] > limit] = int(np.argmin(self.node_time))
        return nodes

    def _some(self, end: str, num: int, random: np.random.Generator) -> Ids:
        sums = self.cumulative[end]
        if sums is None:
            return random.integers(0, self.num_nodes, num)
        nodes: Ids = np.searchsorted(sums, random.random(num) * sums[-1], side="right")
        last = int(np.searchsorted(sums, sums[-1]))  # a product may round up to the last sum
        return np.minimum(nodes, last)


def open_negatives(given: Any, ratio: Any, sampling: Sampling, findings: Findings) -> Negatives | None:
    """Return the negatives of PyG's arguments: a ``NegativeSampling``, its mode, tuple or dict; or a ratio."""
    if ratio is not None and ratio != 0:
        given = ("binary", ratio)  # as in PyG, the old argument wins
    try:
        chosen = NegativeSampling.cast(given)
    except (TypeError, ValueError) as error:
        fix = "pass neg_sampling='binary', or NegativeSampling('triplet', amount=2)"
        findings.add("neg_sampling", "'binary' or 'triplet', with a positive amount", f"{given!r}: {error}", fix)
        return None
    if chosen is None:
        return None
    if not isinstance(chosen, NegativeSampling) or type(chosen).sample is not NegativeSampling.sample:
        got = f"{type(chosen).__name__} with a sample() of its own (not supported)"
        findings.add("neg_sampling", "torch_geometric.sampler.NegativeSampling", got, "use src_weight and dst_weight")
        return None
    num_nodes = sampling.graph.num_nodes
    ends = {"src": chosen.src_weight, "dst": chosen.dst_weight}
    return Negatives(
        mode=chosen.mode.value,
        amount=chosen.amount,
        num_nodes=num_nodes,
        cumulative={end: _sums(end, weight, num_nodes, findings) for end, weight in ends.items()},
        node_time=sampling.node_time,
        given=chosen,
    )


def _sums(end: str, weight: Any, num_nodes: int, findings: Findings) -> NDArray[np.float64] | None:
    if weight is None:
        return None
    where = f"neg_sampling.{end}_weight"
    values = check_vector(where, weight, num_nodes, "for each node", findings)
    if values is None:
        return None
    values = values.astype(np.float64)
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        got = f"values from {values.min() if len(values) else 'nothing'}"
        findings.add(where, "finite weights of 0 or more, not all 0", got, "clip them at 0")
        return None
    return np.cumsum(values)
