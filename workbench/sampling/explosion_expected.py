"""Expected unique nodes of a sampled batch, from the probability of each node to be reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from workbench.core.errors import Findings
from workbench.sampling.explosion_kernels import spread_misses
from workbench.sampling.explosion_record import FloatArray
from workbench.sampling.seeds import as_node_ids

if TYPE_CHECKING:
    from workbench.graph import Graph


def reach_probability(graph: Graph, seed_nodes: ArrayLike, fanouts: Sequence[int]) -> FloatArray:
    """Return the probability of each node to be reached within each hop, (depth + 1, n).

    ``p_v(h + 1) = 1 - (1 - p_v(h)) prod over the readers u of v of (1 - min(1, f / d_u) q_u(h))`` where q_u(h) is the
    probability that u is new at hop h. Exact for one hop and on trees; beyond, readers are taken to be independent
    (vertex-wise inclusion probability: Kaler et al., "Communication-Efficient Graph Neural Networks with Probabilistic
    Neighborhood Expansion Analysis and Caching", MLSys 2023).

    Parameters
    ----------
    seed_nodes : array_like of int or bool
    fanouts : sequence of int
        Edges drawn a node and hop without replacement, -1 = all.
    """
    seeds = as_node_ids(seed_nodes, graph.num_nodes, "seed_nodes")
    findings = Findings("reach_probability")
    if any(fanout < -1 for fanout in fanouts):
        findings.add("fanouts", "-1 (all) or 0 and more", tuple(fanouts), "use -1 to take all neighbours")
    findings.raise_if_any()
    reached = np.zeros((len(fanouts) + 1, graph.num_nodes))
    reached[0, seeds] = 1.0
    fresh = reached[0].copy()
    for hop, fanout in enumerate(fanouts):
        missed = np.ones(graph.num_nodes)
        spread_misses(graph.indptr, graph.indices, fresh, int(fanout), missed)
        fresh = (1 - reached[hop]) * (1 - missed)
        reached[hop + 1] = reached[hop] + fresh
    return reached


def expected_nodes(graph: Graph, seed_nodes: ArrayLike, fanouts: Sequence[int]) -> FloatArray:
    """Return the expected unique nodes within each hop, (depth + 1,): the sums of :func:`reach_probability`."""
    return np.asarray(reach_probability(graph, seed_nodes, fanouts).sum(axis=1))
