"""Whether two nodes are joined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from workbench.core.errors import Findings, InputError
from workbench.core.params import param
from workbench.gather.link_pairs import NO_NODE, negatives, oriented
from workbench.gather.link_split import MASKS, LinkSplit, split_links
from workbench.train.heads import Decoded, score_pairs
from workbench.train.losses import total
from workbench.train.ranking import auc, mean_reciprocal_rank
from workbench.train.task import TASKS, Reading, Task, Unit

if TYPE_CHECKING:
    from workbench.gather import Batch
    from workbench.graph import Graph
    from workbench.train.transport import Transport

_EVALUATION = {"val": 0xE7A1, "test": 0xE7A2}  # the streams of their negatives
_VALUES_AT_A_TIME = 1 << 23  # of embeddings, when pairs are scored


@TASKS.register("link_prediction")
@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPrediction(Task):
    """Binary cross entropy of edges against negatives; measured by AUC, and by MRR.

    The model gives each node an embedding; the score of a pair is their dot product, or ``h_u W h_v``. Validation and
    test edges carry no message, ever; a training edge carries none in the step that predicts it. Negatives are no
    edges of the whole graph and keep the source of their edge. An edge and its negatives weigh as much as one seed.

    The edges split at random (`val_share`, `test_share`, `split_rng_seed`) or by boolean columns ``train_edges``,
    ``val_edges``, ``test_edges`` of the graph's edge data. AUC and MRR are over the embeddings of exact inference,
    against fixed negatives. Kipf & Welling, "Variational Graph Auto-Encoders", arXiv 1611.07308.
    """

    metric: ClassVar[str] = "auc"
    unit: ClassVar[Unit] = "edge"

    out_channels: int = param(64, help="width of the embeddings", minimum=1)
    decoder: str = param("dot", help="score of a pair; bilinear tells directions apart", choices=("dot", "bilinear"))
    num_negatives: int = param(1, help="negatives for each training edge", minimum=1)
    val_share: float = param(0.1, help="share of the edges that validate", minimum=0, maximum=1)
    test_share: float = param(0.1, help="share of the edges that test", minimum=0, maximum=1)
    split_rng_seed: int = param(0, help="what the split and the negatives of evaluation are drawn from", minimum=0)
    num_eval_negatives: int = param(100, help="negatives that each validation and test edge is ranked among", minimum=1)
    num_folds: int = param(
        4, help="full_graph: steps of an epoch, each predicts its share of the edges from the others", minimum=1
    )

    def check(self, graph: Graph, findings: Findings) -> None:
        if self.val_share + self.test_share >= 1:
            got = f"{self.val_share} and {self.test_share}"
            findings.add("val_share, test_share", "less than 1 together", got, "leave edges to train on")
            return
        try:
            split = split_of(self, graph)
        except InputError as error:
            findings.items.extend(error.findings)
            return
        if not split.train_pairs.shape[1]:
            fix = "use a graph with edges between different nodes, or smaller shares for validation and test"
            findings.add("edges", "at least one edge to train on", "none", fix)
        if self.decoder == "dot" and not split.symmetric:
            got = "a directed graph: a dot product scores both directions of a pair alike"
            findings.add("decoder", "one that tells directions apart", got, "pass decoder='bilinear'", "warning")
        for name, pairs in (("validation", split.val_pairs), ("test", split.test_pairs)):
            if not pairs.shape[1]:
                fix = f"a larger share, or a column {MASKS[1]} or {MASKS[2]} in edge_data"
                findings.add("edges", f"edges for {name}", "none: its metrics cannot be measured", fix, "warning")

    def num_outputs(self, graph: Graph) -> int:
        return self.out_channels

    def num_examples(self, graph: Graph) -> int:
        return int(split_of(self, graph).train_pairs.shape[1])

    def examples(self) -> dict[str, Any]:
        names = ("val_share", "test_share", "split_rng_seed", "num_negatives")
        return {"name": "links", "params": {name: getattr(self, name) for name in names}}

    def visible(self, graph: Graph) -> Graph:
        return split_of(self, graph).messages

    def complete(self, module: nn.Module, num_outputs: int) -> nn.Module:
        return Decoded(module, num_outputs) if self.decoder == "bilinear" else module

    def is_known(self, targets: NDArray[Any]) -> NDArray[np.bool_]:
        return np.ones(len(targets), bool)

    def read(self, batch: Batch) -> Reading:
        assert batch.y is not None, "links bring their targets"
        assert batch.pairs is not None, "links bring their pairs"
        num_seeds = int(np.count_nonzero(batch.y))
        return Reading(num_seeds=num_seeds, targets=batch.y, positions=batch.pairs, weights=batch.node_weight)

    def rows(self, module: nn.Module, outputs: Tensor, positions: Tensor) -> Tensor:
        return score_pairs(module, outputs[positions[0]], outputs[positions[1]])[:, None]

    def loss_sum(self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
        scores = outputs[:, 0]
        losses = functional.binary_cross_entropy_with_logits(scores, targets.to(scores.dtype), reduction="none")
        return total(losses, weights)

    def measure(self, summaries: Tensor, targets: Tensor) -> float:
        """Return the AUC of scores (rows,), of which those with target 1 are edges."""
        scores, is_positive = summaries.double().numpy(), targets.numpy() > 0
        return auc(scores[is_positive], scores[~is_positive])

    def metrics(self, summaries: Tensor, graph: Graph, module: nn.Module, transport: Transport) -> Mapping[str, float]:
        split, found = split_of(self, graph), dict[str, float]()
        for name, pairs in (("val", split.val_pairs), ("test", split.test_pairs)):
            scores = self._scores(summaries, module, split, pairs, _EVALUATION[name], transport)
            there = ~np.isnan(scores[:, 1:])
            if there.any():
                found[f"{name}_auc"] = auc(scores[:, 0], scores[:, 1:][there])
                found[f"{name}_mrr"] = mean_reciprocal_rank(scores[:, 0], scores[:, 1:], there)
        return found

    def _scores(
        self,
        rows: Tensor,
        module: nn.Module,
        split: LinkSplit,
        pairs: NDArray[np.int64],
        stream: int,
        transport: Transport,
    ) -> NDArray[np.floating[Any]]:
        """Return the scores of pairs, and behind each those of its fixed negatives (k, 1 + q), NaN where none exists.

        Every rank scores its share.
        """
        if not pairs.shape[1]:
            return np.empty((0, 1 + self.num_eval_negatives))
        bounds = np.linspace(0, pairs.shape[1], transport.world_size + 1).astype(np.int64)
        ids = np.arange(bounds[transport.rank], bounds[transport.rank + 1])
        key = (self.split_rng_seed, stream)
        source, destination = oriented(split, pairs[:, ids], ids, key)
        drawn = negatives(split, source, ids, self.num_eval_negatives, key)
        candidates = np.concatenate([destination[:, None], drawn], axis=1)
        own = score_candidates(module, rows, torch.from_numpy(source), torch.from_numpy(candidates))
        return torch.cat(transport.all_gather(own, np.diff(bounds).tolist(), kind="evaluate")).numpy()


def score_candidates(module: nn.Module, rows: Tensor, source: Tensor, candidates: Tensor) -> Tensor:
    """Return the score of each source (k,) with each of its candidates (k, c), NaN where a candidate is ``NO_NODE``."""
    scores = rows.new_empty(candidates.shape)
    step = max(1, _VALUES_AT_A_TIME // (max(rows.shape[1], 1) * candidates.shape[1]))
    for begin in range(0, len(source), step):
        ids = candidates[begin : begin + step]
        ends = rows.index_select(0, ids.clamp(min=0).reshape(-1)).view(*ids.shape, -1)
        found = score_pairs(module, rows[source[begin : begin + step], None], ends)
        scores[begin : begin + step] = found.cpu().masked_fill(ids == NO_NODE, torch.nan)
    return scores


def split_of(task: LinkPrediction, graph: Graph) -> LinkSplit:
    """Return a graph's edges by what they are for; worked out once a graph."""
    return split_links(graph, val_share=task.val_share, test_share=task.test_share, rng_seed=task.split_rng_seed)
