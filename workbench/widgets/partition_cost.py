"""What a partition costs in training, and whether the better cut pays for the time to make it.

The model is a full-graph GraphSAGE with halo exchange (theory: communication per epoch, halo exchange with the layer-0
halo features kept once), of one layer more than there are hidden widths: two by default. Everything here is predicted
from counted rows; nothing is measured but the time to partition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.core.units import format_bytes, format_count, format_seconds
from workbench.partition.quality import PartitionQuality
from workbench.widgets.partition_names import method_in_sentence, method_label

ITEMSIZE = 4  # float32
ROUNDS = 2  # of a hidden layer: its rows forward, their gradients backward


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSettings:
    """What is trained and over what: hidden widths, epochs, link speed of each part in Gbit/s, width of the input."""

    widths: tuple[int, ...]
    epochs: int
    link_gbit: float
    num_features: int

    @property
    def rounds(self) -> int:
        """Exchanges of an epoch: every layer but the first reads halo rows, and sends their gradients back."""
        return ROUNDS * len(self.widths)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeCost:
    """Predicted cost of one partition; bytes and seconds."""

    method: str
    num_parts: int
    layer_bytes: tuple[int, ...]  # of every hidden width, forward and backward
    epoch_bytes: int
    once_bytes: int
    total_bytes: int
    busiest_bytes: int
    busiest_edges: int
    epoch_s: float
    once_s: float
    messages: int
    partition_s: float
    native_s: float

    @property
    def start_s(self) -> float:
        """Seconds before the first epoch: partitioning, and the input features of the halo."""
        return self.partition_s + self.once_s

    def after(self, epochs: float) -> float:
        """Return seconds of partitioning and transfer after a number of epochs."""
        return self.start_s + epochs * self.epoch_s


def exchange_cost(quality: PartitionQuality, settings: CostSettings) -> ExchangeCost:
    """Predict the exchange of a partition.

    An epoch moves ``2 s H sum F`` bytes (H halo rows, F the hidden widths, s bytes a number); its time is that of the
    part that receives most: its halo forward, the gradients of its boundary rows backward.
    """
    row_bytes, rate = sum(settings.widths) * ITEMSIZE, settings.link_gbit * 1e9 / 8
    feature_bytes = settings.num_features * ITEMSIZE
    layer_bytes = tuple(ROUNDS * quality.bytes_per_layer(width, ITEMSIZE) for width in settings.widths)
    epoch_bytes = sum(layer_bytes)
    once_bytes = quality.comm_volume * feature_bytes
    busiest = int((quality.part_halo_nodes + quality.part_sent).max()) * row_bytes
    busiest_once = int(np.maximum(quality.part_halo_nodes, quality.part_sent).max()) * feature_bytes
    pairs = int(np.count_nonzero(quality.traffic)) if quality.traffic is not None else 0
    return ExchangeCost(
        method=quality.method,
        num_parts=quality.num_parts,
        layer_bytes=layer_bytes,
        epoch_bytes=epoch_bytes,
        once_bytes=once_bytes,
        total_bytes=once_bytes + settings.epochs * epoch_bytes,
        busiest_bytes=busiest,
        busiest_edges=int(quality.part_in_edges.max()),
        epoch_s=busiest / rate,
        once_s=busiest_once / rate,
        messages=settings.rounds * pairs,
        partition_s=quality.elapsed_s,
        native_s=quality.native_s,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Which of two costs wins, and when: `epochs` is None where the costs never cross."""

    better: ExchangeCost
    other: ExchangeCost
    epochs: int | None
    pays: bool
    text: str
    short: str


def judge(costs: Sequence[ExchangeCost], settings: CostSettings) -> Verdict | None:
    """Compare the cost that moves least with the one of the rest that is made fastest; None for a single one."""
    if len(costs) < 2:
        return None
    better = min(costs, key=lambda cost: (cost.epoch_s, cost.start_s))
    other = min((cost for cost in costs if cost is not better), key=lambda cost: (cost.partition_s, cost.epoch_s))
    name, name_other = method_label(better.method), method_in_sentence(other.method)
    moved = (
        f"An epoch moves {format_bytes(better.epoch_bytes)} with {method_in_sentence(better.method)}, "
        f"{format_bytes(other.epoch_bytes)} with {name_other}."
    )
    saved_s = other.epoch_s - better.epoch_s
    if saved_s <= 0:
        short = f"{name} and {name_other} exchange the same"
        return Verdict(better=better, other=other, epochs=None, pays=False, text=f"{moved} {short}.", short=short)
    extra_s = better.start_s - other.start_s
    epochs = max(1, math.ceil(extra_s / saved_s))
    pays = epochs <= settings.epochs
    if extra_s <= 0:
        why = f"{name} costs no more before the first epoch and saves {format_seconds(saved_s)} of transfer in each"
        short = f"{name} pays off from the first epoch"
    else:
        why = (
            f"{_before_the_first(name, better, other)}, then saves {format_seconds(saved_s)} of transfer an epoch "
            f"({format_seconds(extra_s)} / {format_seconds(saved_s)} = {_ratio(extra_s / saved_s)})"
        )
        after = f"after {epochs:,} of {epochs_of(settings)}"
        short = f"{name} pays off {after}" if pays else f"{name} does not pay off within {epochs_of(settings)}"
    text = f"{moved} {why}: {'it ' + short.removeprefix(name + ' ')}."
    return Verdict(better=better, other=other, epochs=epochs, pays=pays, text=text, short=short)


def _ratio(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def judge_alike(costs: Sequence[ExchangeCost], settings: CostSettings) -> list[Verdict]:
    """Judge the methods of every number of parts that has several: computing aside, only they do the same work."""
    counts = dict.fromkeys(cost.num_parts for cost in costs)
    verdicts = [judge([cost for cost in costs if cost.num_parts == count], settings) for count in counts]
    return [verdict for verdict in verdicts if verdict is not None]


def _before_the_first(name: str, better: ExchangeCost, other: ExchangeCost) -> str:
    """Say what the better cut costs before the first epoch: to make, and to send the input features of the halo."""
    longer_s, once_s = better.partition_s - other.partition_s, better.once_s - other.once_s
    how = "longer" if longer_s >= 0 else "less"
    if not once_s:
        return f"{name} takes {format_seconds(abs(longer_s))} {how} to make"
    sent = f"{format_seconds(abs(once_s))} {'less' if once_s <= 0 else 'more'} to send the halo's input features once"
    total = format_seconds(better.start_s - other.start_s)
    return f"{name} takes {format_seconds(abs(longer_s))} {how} to make and {sent}: {total} in all"


def epochs_of(settings: CostSettings) -> str:
    """Return ``200 epochs``."""
    return f"{settings.epochs:,} epoch{'s' if settings.epochs != 1 else ''}"


def cost_rows(costs: Sequence[ExchangeCost], settings: CostSettings) -> list[tuple[str, list[str]]]:
    """Return the table of costs: a label and one text a partition."""
    return [
        ("Bytes an epoch, all parts", [format_bytes(cost.epoch_bytes) for cost in costs]),
        *_layer_rows(costs, settings.widths),
        ("Once: input features of the halo", [format_bytes(cost.once_bytes) for cost in costs]),
        ("\u2003its transfer, before the first epoch", [format_seconds(cost.once_s) for cost in costs]),
        (f"Bytes in {epochs_of(settings)}", [format_bytes(cost.total_bytes) for cost in costs]),
        ("Busiest part, received an epoch", [format_bytes(cost.busiest_bytes) for cost in costs]),
        (f"Transfer an epoch at {settings.link_gbit:g} Gbit/s", [format_seconds(cost.epoch_s) for cost in costs]),
        ("Rounds and messages an epoch", [f"{settings.rounds} and {cost.messages:,}" for cost in costs]),
        ("Largest part, in-edges a layer", [format_count(cost.busiest_edges) for cost in costs]),
        ("Time to partition, measured", [format_seconds(cost.partition_s) for cost in costs]),
        ("\u2003of it, the partitioner itself", [format_seconds(cost.native_s) for cost in costs]),
    ]


def _layer_rows(costs: Sequence[ExchangeCost], widths: Sequence[int]) -> list[tuple[str, list[str]]]:
    """Return the bytes of an epoch by layer, where there are several; the first layer's are sent once."""
    if len(widths) < 2:
        return []
    return [
        (f"\u2003layer {i + 2}, width {width}, forward and back", [format_bytes(cost.layer_bytes[i]) for cost in costs])
        for i, width in enumerate(widths)
    ]
