"""Why a run waits, in one line."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.runtime.run_records import RunState


def waiting_text(state: RunState, others: Mapping[str, RunState], num_trainers: int, num_samplers: int) -> str:
    """Say what a run waits for and who has it; empty where it does not wait, or no other run is in its way.

    Parameters
    ----------
    state : RunState
    others : mapping
        The states of all runs by their ids.
    num_trainers, num_samplers : int
        Workers that are free.
    """
    if state.status.ended or state.live:
        return ""
    holding = {run_id: other for run_id, other in others.items() if other.live and not other.status.ended}
    trainers = _lack("trainer", state.world_size, num_trainers, {k: len(other.live) for k, other in holding.items()})
    used = {k: other.num_samplers for k, other in holding.items()}
    samplers = _lack("sampler", state.num_samplers, num_samplers, used)
    parts = [text for text in (trainers, samplers) if text]
    return "waits for " + "; for ".join(parts) if parts else ""


def _lack(role: str, wanted: int, free: int, used: Mapping[str, int]) -> str:
    holders = sorted(run_id for run_id, number in used.items() if number)
    missing, taken = wanted - free, sum(used.values())
    if missing <= 0 or not holders:
        return ""
    verb, runs = "is" if taken == 1 else "are", f"run{'s' * (len(holders) > 1)} {', '.join(holders)}"
    return f"{missing} {role}{'s' * (missing > 1)}: {taken} of {taken + free} {verb} used by {runs}"
