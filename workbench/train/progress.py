"""Where a training stands."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from workbench.train.transport import Transport

# Every kind of bytes that is ever counted, so that ranks can sum theirs in one message.
BYTE_KINDS = (
    "gather",
    "gather_remote",
    "request",
    "all_reduce",
    "all_reduce_modelled",
    "parameter_average",
    "parameter_push",
    "parameter_pull",
    "history_push",
    "history_pull",
    "history_remote",
    "exchange",
    "halo_forward",
    "halo_backward",
    "halo_statistics",
    "transpose_forward",
    "transpose_backward",
    "batch_norm",
    "broadcast",
    "all_gather",
    "evaluate",
    "control",
)


@dataclass(slots=True, kw_only=True)
class Progress:
    """The position in a run and the sums of the epoch so far.

    Parameters
    ----------
    epoch : int
        The epoch at work, from 1.
    step : int
        Last global step done, 0 before the first.
    loss_sum, num_seeds : float, int
        Over all ranks, of the epoch's steps done.
    epoch_bytes : Counter
        Bytes by kind that this rank moved in the epoch so far.
    elapsed_s : float
        Seconds of training before this start of the rank.
    """

    epoch: int = 1
    step: int = 0
    loss_sum: float = 0.0
    num_seeds: int = 0
    epoch_bytes: Counter[str] = field(default_factory=Counter)
    elapsed_s: float = 0.0
    _started_s: float = field(default_factory=time.perf_counter)

    def elapsed(self) -> float:
        """Return seconds of training so far, pauses left out, earlier starts included."""
        return self.elapsed_s + time.perf_counter() - self._started_s

    def leave_out(self, seconds: float) -> None:
        """Take a pause out of the time of training."""
        self._started_s += seconds

    def begin_next_epoch(self) -> None:
        self.epoch, self.loss_sum, self.num_seeds = self.epoch + 1, 0.0, 0
        self.epoch_bytes = Counter()

    def bytes_of_all_ranks(self, transport: Transport) -> dict[str, int]:
        """Return the epoch's bytes by kind, summed over ranks; all ranks call it."""
        unknown = set(self.epoch_bytes) - set(BYTE_KINDS)
        assert not unknown, f"bytes of kinds that are not in BYTE_KINDS: {unknown}"
        counts = torch.tensor([self.epoch_bytes[kind] for kind in BYTE_KINDS], dtype=torch.int64)
        transport.all_reduce(counts, kind="control")
        return {kind: count for kind, count in zip(BYTE_KINDS, counts.tolist(), strict=True) if count}

    def to_dict(self, transport: Transport) -> dict[str, Any]:
        """Return what a checkpoint keeps; all ranks call it."""
        return {
            "epoch": self.epoch,
            "step": self.step,
            "loss_sum": self.loss_sum,
            "num_seeds": self.num_seeds,
            "epoch_bytes": self.bytes_of_all_ranks(transport),
            "elapsed_s": self.elapsed(),
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any], rank: int) -> Progress:
        """Return the position of a checkpoint; rank 0 takes over the bytes of all."""
        bytes_so_far = Counter(record["epoch_bytes"]) if rank == 0 else Counter()
        return cls(**{**record, "epoch_bytes": bytes_so_far})
