"""Events: what happened in a run, as the ranks, samplers and the run manager tell it.

An event is past tense and immutable. The run's folder keeps them in order, the live stream is a fast copy,
and every panel is a function of them. ``EVENT_KINDS`` is the whole vocabulary with the fields of each kind.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

RUN = -1  # the rank of an event that concerns the run as a whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened.

    Parameters
    ----------
    seq : int
        Position in the run's log, from 1, without gaps; 0 until the run manager has assigned it.
    time_s : float
        Unix time at which it happened, by the clock of the process that tells it.
    kind : str
        A key of ``EVENT_KINDS``.
    generation : int
        Which start of the gang it belongs to, from 0.
    rank : int
        The rank it concerns, or ``RUN``.
    data : mapping
        The fields that ``EVENT_KINDS`` names for the kind; JSON values only.
    """

    kind: str
    time_s: float
    seq: int = 0
    generation: int = 0
    rank: int = RUN
    data: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def to_json(self) -> dict[str, Any]:
        return {
            "seq": self.seq,
            "time_s": self.time_s,
            "kind": self.kind,
            "generation": self.generation,
            "rank": self.rank,
            "data": dict(self.data),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Event:
        return cls(**{**record, "data": MappingProxyType(dict(record["data"]))})


@dataclass(frozen=True, slots=True, kw_only=True)
class EventKind:
    """The meaning of a kind of event and of its fields."""

    meaning: str
    fields: Mapping[str, str]


def _kind(meaning: str, **fields: str) -> EventKind:
    return EventKind(meaning=meaning, fields=MappingProxyType(fields))


EVENT_KINDS: Mapping[str, EventKind] = MappingProxyType(
    {
        "run_created": _kind(
            "The run was accepted and its folder written.",
            config="the run's configuration, as in config.json",
            summary="one line: model, strategy, fanouts, batch size, trainers, samplers",
        ),
        "gang_starting": _kind(
            "Ranks are being started; a new generation begins.",
            workers="list of {rank, worker, host} in rank order",
            resume_step="global step to continue from, 0 for a fresh start",
        ),
        "rank_ready": _kind(
            "A rank has joined the process group.",
            pid="process id",
            host="host name or address",
            worker="name of the Dask worker that hosts it",
            part="part it owns, or null",
            device="torch device",
            num_threads="threads of the rank",
        ),
        "run_started": _kind("All ranks are ready; training begins or continues.", start_s="seconds since launch"),
        "train_started": _kind(
            "The shape of the training is known (told by rank 0).",
            num_epochs="epochs in all",
            steps_per_epoch="global steps an epoch",
            num_train_nodes="training nodes (edges, graphs) of an epoch",
            unit="what is trained on: node, edge or graph",
            metric="name of the metric that counts first (accuracy, f1, ...)",
            lower_is_better="names of the metrics of which less is better (mae)",
            num_parameters="parameters of the model",
        ),
        "traffic_predicted": _kind(
            "What a step is predicted to move, by the formulas of the strategy (told by rank 0 at the start).",
            bytes="bytes a step over all ranks, by kind: {kind: count}; kinds without a prediction are left out",
            formulas="the formula of each kind, in words: {kind: text}",
        ),
        "step_finished": _kind(
            "A rank finished a global step.",
            epoch="epoch, from 1",
            step="global step, from 1",
            num_seeds="seed (training) nodes of this rank in this step",
            loss="this rank's mean loss over its seeds, or null without seeds",
            num_nodes="nodes of the rank's batch",
            num_edges="edges of the rank's batch",
            spans="list of [phase, start_s (Unix), duration_s] of the rank in this step",
            bytes="bytes by kind moved by this rank in this step: {kind: count}",
            ring_filled="batches waiting for the rank when it asked, or null",
            ring_slots="slots of the rank's ring, or null",
        ),
        "batch_sampled": _kind(
            "A sampler handed a batch to a rank.",
            sampler="index of the sampler",
            step="global step the batch is for",
            spans="list of [phase, start_s, duration_s]: sample, gather, wait",
            pid="process id of the sampler",
        ),
        "staleness_measured": _kind(
            "A rank read rows in a step that may be of earlier steps (told before its step_finished).",
            step="global step in which they were read",
            source="what was read: halo, halo_gradient, history, parameters",
            ages="list of ages in steps, ascending, from 0; the age of a row is the step of the read less its own",
            counts="rows read of each age, as many as there are ages",
            bound="greatest age that the strategy allows, or null where it sets none",
            num_cold="rows read that were never written: the rank read zeros; they are not in counts",
        ),
        "messages_counted": _kind(
            "What a rank's exchanges of rows take beside their bytes (told before the step_finished of the first step, "
            "and of every step that differs from the one told last).",
            step="global step from which on it holds",
            rounds="exchanges that the rank entered in the step, by kind: {kind: count}; each costs a latency",
            messages="messages that the rank sent in them, by kind: {kind: count}",
        ),
        "rows_gathered": _kind(
            "A rank's feature rows of a step were brought together (told before its step_finished).",
            step="global step",
            num_local="rows that the rank owns",
            num_cached="rows of others that a cache held",
            num_remote="rows fetched from others",
        ),
        "epoch_finished": _kind(
            "An epoch ended on all ranks (told by rank 0).",
            epoch="epoch, from 1",
            step="global step reached",
            elapsed_s="seconds of training since the run started, restarts included",
            train_loss="mean loss over the epoch's training nodes",
            metrics="exact metrics after it: {'val_<metric>': ..., 'test_<metric>': ...}; empty where not measured",
            evaluate_s="seconds of exact inference, 0 where not measured",
            bytes="bytes by kind in this epoch, all ranks",
        ),
        "checkpoint_saved": _kind(
            "A checkpoint is complete on disk.",
            path="its path, relative to the run's folder",
            epoch="epoch",
            step="global step",
            num_bytes="size",
        ),
        "resources_measured": _kind(
            "Memory and load of a process.",
            role="trainer or sampler",
            index="rank or sampler index",
            worker="name of the Dask worker",
            rss_bytes="resident memory",
            limit_bytes="memory limit, or null",
            cpu_percent="percent of one core since the last measurement",
            gpu="{name, percent, used_bytes, limit_bytes} of its device, or null without one",
        ),
        "sampler_started": _kind("A sampler serves a rank.", sampler="index", worker="Dask worker", pid="process id"),
        "sampler_lost": _kind(
            "A sampler's connection ended early.",
            sampler="index",
            reissued="batches given to another",
            cause="what is known",
        ),
        "rank_failed": _kind(
            "A rank ended with an error or was lost.",
            host="host",
            part="part, or null",
            cause="one line",
            traceback="text, or empty",
            log_tail="last lines of the rank's output",
        ),
        "run_restarting": _kind(
            "The gang starts again from the last checkpoint: after a failure, or because a person resumed the run.",
            attempt="1, 2, 3 after a failure; 0 where a person resumed it",
            from_step="global step",
            cause="one line",
        ),
        "run_paused": _kind("All ranks stand still between two steps.", step="global step"),
        "run_resumed": _kind("Training goes on after a pause.", step="global step"),
        "run_stopping": _kind("Stop was asked for.", by="who asked"),
        "run_stopped": _kind("The run ended because it was asked to.", step="global step"),
        "run_finished": _kind(
            "All epochs are done; the final model is saved.", step="global step", elapsed_s="seconds"
        ),
        "run_failed": _kind(
            "The run ended with an error and will not restart.",
            cause="one line",
            rank="first failing rank",
            step="global step",
        ),
        "output_written": _kind(
            "Code of the user's printed on a rank.", stream="stdout or stderr", text="whole lines, at the end the rest"
        ),
        "values_logged": _kind(
            "Code of the user's told figures.", step="its own step, or null", values="{name: number}"
        ),
        "log_written": _kind(
            "A message for the person who watches.", level="info, warning or error", text="the message"
        ),
    }
)

TERMINAL_KINDS = frozenset({"run_stopped", "run_finished", "run_failed"})


def encode_line(event: Event) -> bytes:
    """Return a log line: CRC-32 of the JSON as 8 hex digits, a tab, the JSON, a newline."""
    body = json.dumps(event.to_json(), separators=(",", ":"), allow_nan=True).encode()
    return b"%08x\t%s\n" % (zlib.crc32(body), body)


def is_whole(line: bytes) -> bool:
    """Say whether a log line is neither torn nor damaged, by its checksum."""
    checksum, _, body = line.rstrip(b"\n").partition(b"\t")
    return line.endswith(b"\n") and len(checksum) == 8 and b"%08x" % zlib.crc32(body) == checksum


def decode_line(line: bytes) -> Event | None:
    """Return the event of a log line, or None where the line is torn or damaged."""
    return Event.from_json(json.loads(line[9:])) if is_whole(line) else None


def decode_log(data: bytes) -> tuple[list[Event], int]:
    """Return the events of a log up to its first damaged line, and the bytes they take: a torn tail is cut."""
    events: list[Event] = []
    offset = 0
    for line in data.splitlines(keepends=True):
        event = decode_line(line)
        if event is None:
            break
        events.append(event)
        offset += len(line)
    return events, offset


def of_kind(events: Iterable[Event], *kinds: str) -> Iterator[Event]:
    """Yield the events of some kinds, in order."""
    return (event for event in events if event.kind in kinds)
