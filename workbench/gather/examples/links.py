"""Edges to predict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.core.params import param
from workbench.gather.dealing import EXAMPLES, Deal, Drawn, Examples, Ids
from workbench.gather.link_pairs import training_pairs
from workbench.gather.link_removal import without_edges
from workbench.gather.link_split import LinkSplit, split_links
from workbench.graph import Graph
from workbench.sampling.base import Sampler


@EXAMPLES.register("links")
@dataclass(frozen=True, slots=True, kw_only=True)
class Links(Examples):
    """Training edges: a batch samples around the ends of its edges and of their negatives.

    Edges of validation and test are in no batch, and a batch's own seed edges are taken out of its messages, in both
    directions where the graph is symmetric.
    """

    val_share: float = param(0.1, help="share of the edges that validate", minimum=0, maximum=1)
    test_share: float = param(0.1, help="share of the edges that test", minimum=0, maximum=1)
    split_rng_seed: int = param(0, help="what the split is drawn from", minimum=0)
    num_negatives: int = param(1, help="negatives for each seed edge", minimum=1)

    def open(self, graph: Graph) -> Deal:
        split = split_links(graph, val_share=self.val_share, test_share=self.test_share, rng_seed=self.split_rng_seed)
        return LinkDeal(split, self.num_negatives)


class LinkDeal:
    """The training pairs of a split."""

    def __init__(self, split: LinkSplit, num_negatives: int) -> None:
        self.split, self._num_negatives = split, num_negatives
        self.ids: Ids = np.arange(split.train_pairs.shape[1])

    def draw(self, sampler: Sampler, ids: Ids, *, epoch: int, batch: int, rng_seed: int) -> Drawn:
        split = self.split
        found = training_pairs(split, ids, num_negatives=self._num_negatives, epoch=epoch, rng_seed=rng_seed)
        nodes, rows = np.unique(found.ends, return_inverse=True)
        subgraph = sampler.sample(split.messages, nodes, epoch=epoch, batch=batch, rng_seed=rng_seed)
        subgraph = without_edges(subgraph, *split.train_pairs[:, ids], both=split.symmetric)
        return Drawn(subgraph=subgraph, y=found.targets, pairs=rows.reshape(2, -1), weights=found.weights)
