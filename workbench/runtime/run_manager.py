"""The run manager: a Dask scheduler plugin that supervises runs, whoever started them and whether he still lives.

It feeds what happens to the state machine of each run (run_state.py) and does what that says. It runs on the
scheduler's event loop and never blocks it: appends to a log file, stream messages, timers.
"""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

from distributed import Scheduler
from distributed.comm import get_address_host
from distributed.diagnostics.plugin import SchedulerPlugin

from workbench.core.events import Event
from workbench.runtime.continuation import continued
from workbench.runtime.event_log import EventLog
from workbench.runtime.placement import free_workers, quiet_workers
from workbench.runtime.rank_host import guarded
from workbench.runtime.rank_messages import event_of, signals_of
from workbench.runtime.run_folder import RunFolder
from workbench.runtime.run_records import (
    ControlAsked,
    EndRun,
    HostsOffered,
    Instruction,
    KillRanks,
    Limits,
    Publish,
    RankExited,
    RunState,
    SeekHosts,
    SendToRank,
    SetTimer,
    Signal,
    StartRanks,
    TimerFired,
    WorkerLost,
)
from workbench.runtime.run_state import transition
from workbench.runtime.supervised_run import SupervisedRun
from workbench.runtime.waiting import waiting_text

log = logging.getLogger(__name__)
IPC_TIMEOUT_S = 60.0
GATHER_S = 0.03
RETRY_S = 1.0
LOOK_EVERY_S = 1.0
QUIET_S = 25.0  # without a heartbeat
MAX_WAITING_BYTES = 1 << 25


def topic_of(run_id: str) -> str:
    """Return the Dask topic on which a run's new log lines are published."""
    return f"workbench/{run_id}"


class RunManager(SchedulerPlugin):  # type: ignore[misc]  # distributed is untyped
    """Supervises the runs of a cluster."""

    name = "workbench-run-manager"
    idempotent = True

    async def start(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._runs: dict[str, SupervisedRun] = {}
        self._ready: set[str] = set()  # workers whose zygote can fork
        self._unfit: dict[str, str] = {}  # workers that cannot hold a rank, and why
        scheduler.handlers.update(
            {
                "workbench_start": self.start_run,
                "workbench_control": self.control_run,
                "workbench_tail": self.tail_run,
                "workbench_runs": self.list_runs,
            }
        )
        self._look()
        scheduler.stream_handlers.update(
            {
                "workbench_rank_said": guarded(self._on_rank_said),
                "workbench_rank_exited": guarded(self._on_rank_exited),
                "workbench_host_ready": guarded(self._on_host_ready),
                "workbench_host_gone": guarded(self._on_host_gone),
                "workbench_host_failed": guarded(self._on_host_failed),
            }
        )

    async def before_close(self) -> None:
        for run in self._runs.values():
            self._send(run)
            run.log.close()

    # ---- what a client asks

    async def start_run(self, run_id: str, folder: str, options: dict[str, Any]) -> None:
        """Begin to supervise a run whose folder and configuration are written, or go on with one that has a log."""
        path = Path(folder)
        record = json.loads((path / "config.json").read_text())
        config = record["config"]
        state = RunState(
            world_size=config["trainers"],
            num_samplers=config["samplers"],
            created_s=time.time(),
            limits=Limits(**options.get("limits", {})),
        )
        run = SupervisedRun(run_id, path, config, options, state, EventLog(path / "events.log"))
        self._runs[run_id] = run
        if run.log.seq:
            run.state, again = continued(state, RunFolder(path=path))
            self._publish(run, [again])
        else:
            notes = [("log_written", {"level": "warning", "text": note}) for note in options.get("notes", ())]
            told = [("run_created", {"config": config, "summary": record["summary"]}), *notes]
            self._publish(run, [Event(kind=kind, time_s=state.created_s, data=data) for kind, data in told])
        self._offer_hosts()

    async def control_run(self, run_id: str, **fields: Any) -> None:
        """Hand a person's wish (``ControlAsked``) to a run; a run that has ended ignores it."""
        self._feed(self._runs[run_id], ControlAsked(time_s=time.time(), **fields))

    async def tail_run(self, run_id: str, offset: int, client: str = "", max_bytes: int = 1 << 22) -> bytes:
        """Subscribe a client and return the log from a byte on: in one tick, so that nothing falls between."""
        run = self._runs[run_id]
        if client:
            self._scheduler.subscribe_topic(topic_of(run_id), client)
        return run.log.tail(offset, max_bytes)

    async def list_runs(self) -> dict[str, str]:
        """Return the status of every run of this scheduler."""
        return {run.run_id: str(run.state.status) for run in self._runs.values()}

    @property
    def num_active(self) -> int:
        """Return how many runs have not ended."""
        return sum(not run.state.status.ended for run in self._runs.values())

    # ---- what workers tell

    def _on_host_ready(self, worker: str, info: dict[str, Any]) -> None:
        self._ready.add(worker)
        self._unfit.pop(worker, None)
        self._offer_hosts()

    def _on_host_gone(self, worker: str) -> None:
        self._ready.discard(worker)

    def _on_host_failed(self, worker: str, text: str) -> None:
        self._unfit[worker] = text
        self._offer_hosts()

    def _say_once(self, run: SupervisedRun, key: str, level: str, text: str) -> None:
        if key not in run.told:
            run.told.add(key)
            self._publish(run, [Event(kind="log_written", time_s=time.time(), data={"level": level, "text": text})])

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        self._offer_hosts()

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        self._ready.discard(worker)
        self._unfit.pop(worker, None)
        for run in list(self._runs.values()):
            self._feed(run, WorkerLost(time_s=time.time(), address=worker))

    def _on_rank_said(self, worker: str, run_id: str, generation: int, rank: int, message: dict[str, Any]) -> None:
        run, may_wait = self._runs[run_id], message["op"] == "events"
        for signal in signals_of(message, rank, generation, time.time()):
            self._feed(run, signal, send=False)
        if not may_wait:
            self._send(run)
        elif not run.is_due:  # what many ranks tell goes to the disk and to readers as one piece
            run.is_due = True
            self._scheduler.loop.call_later(GATHER_S, self._send, run)

    def _on_rank_exited(self, worker: str, run_id: str, **fields: Any) -> None:
        self._feed(self._runs[run_id], RankExited(time_s=time.time(), **fields))

    # ---- the state machine and its instructions

    def _feed(self, run: SupervisedRun, signal: Signal, *, send: bool = True) -> None:
        run.state, instructions = transition(run.state, signal)
        for instruction in instructions:
            self._execute(run, instruction)
        if send:
            self._send(run)

    def _execute(self, run: SupervisedRun, instruction: Instruction) -> None:
        match instruction:
            case Publish():
                run.unsent.append(event_of(instruction, run.folder))
            case StartRanks():
                self._start_ranks(run, instruction)
            case KillRanks():
                for rank in instruction.ranks:
                    self._to_rank(run, "workbench_kill_rank", instruction.generation, rank)
            case SendToRank():
                self._send(run)  # a rank may rely on it that the log holds what came before
                message = dict(instruction.message)
                self._to_rank(run, "workbench_send_rank", instruction.generation, instruction.rank, message=message)
            case SetTimer():
                self._scheduler.loop.call_later(instruction.delay_s, self._fire, run, instruction)
            case SeekHosts():
                self._scheduler.loop.add_callback(self._offer_hosts)
            case EndRun():
                self._send(run)
                if run.log.retry():
                    run.log.close()
                self._scheduler.loop.add_callback(self._offer_hosts)

    def _fire(self, run: SupervisedRun, timer: SetTimer) -> None:
        self._feed(run, TimerFired(time_s=time.time(), name=timer.name, generation=timer.generation))

    def _send(self, run: SupervisedRun) -> None:
        run.is_due = False
        if run.unsent:
            events, run.unsent = run.unsent, []
            self._publish(run, events)

    def _publish(self, run: SupervisedRun, events: list[Event]) -> None:
        lines = run.log.append(events)
        topic = topic_of(run.run_id)
        self._scheduler.log_event(topic, lines)
        # Dask keeps ten thousand messages a topic for ever; the log on disk is our memory.
        self._scheduler._broker.truncate(topic)
        if run.log.last_error and not run.retries:
            run.retries = True
            self._retry_log(run)

    def _retry_log(self, run: SupervisedRun) -> None:
        """Try again every second to write what a full disk did not take; stop a run that tells too much for memory."""
        has_ended = run.state.status.ended
        if run.log.retry():
            run.retries = False
            if has_ended:
                run.log.close()
            return
        text = f"the event log cannot be written: {run.log.last_error}. Events wait in memory. Fix: free space there"
        self._say_once(run, "log", "error", f"{text}: {run.folder}")
        if run.log.num_waiting > MAX_WAITING_BYTES and not has_ended:
            self._feed(run, ControlAsked(time_s=time.time(), kind="stop", by="the run manager: the disk is full"))
        self._scheduler.loop.call_later(RETRY_S, self._retry_log, run)

    def _start_ranks(self, run: SupervisedRun, start: StartRanks) -> None:
        for rank, host in enumerate(start.hosts):
            spec = {
                "run_id": run.run_id,
                "folder": str(run.folder),
                "rank": rank,
                "world_size": len(start.hosts),
                "generation": start.generation,
                "resume_step": start.resume_step,
                "host": host.host,
                "host_index": sum(other.host == host.host for other in start.hosts[:rank]),
                "worker": host.name,
                "scheduler": self._scheduler.address,
                "samplers": run.state.num_samplers,
                "timeout_s": IPC_TIMEOUT_S,
                "threads": run.config["threads_per_trainer"],
                "device": "auto",
                "entry": "workbench.train:train_rank",
                **run.options.get("rank", {}),
            }
            self._scheduler.worker_send(host.address, {"op": "workbench_start_rank", "spec": spec})

    def _to_rank(self, run: SupervisedRun, op: str, generation: int, rank: int, **fields: Any) -> None:
        message = {"op": op, "run_id": run.run_id, "generation": generation, "rank": rank, **fields}
        self._scheduler.worker_send(run.state.hosts[rank].address, message)

    # ---- who may hold a rank

    def _offer_hosts(self) -> None:
        for run in list(self._runs.values()):
            if not run.state.status.ended:
                active = [other.state for other in self._runs.values() if not other.state.status.ended]
                hosts, num_samplers = free_workers(self._scheduler.workers, self._ready, active)
                self._feed(run, HostsOffered(time_s=time.time(), hosts=hosts, num_samplers=num_samplers))
                states = {run_id: other.state for run_id, other in self._runs.items()}
                for why in self._unfit.values() if not run.state.live else ():
                    self._say_once(run, why, "error", why)
                if text := waiting_text(run.state, states, len(hosts), num_samplers):
                    self._say_once(run, f"waits after generation {run.state.generation}", "info", text)

    def _look(self) -> None:
        """Once a second: a worker of another machine that is silent is told, and after a while held for lost."""
        self._scheduler.loop.call_later(LOOK_EVERY_S, self._look)
        own_host, now_s = get_address_host(self._scheduler.address), time.time()
        for run in list(self._runs.values()):
            for quiet in quiet_workers(self._scheduler.workers, run.state, own_host, now_s):
                self._say_once(run, f"quiet {quiet.host.address}", "warning", quiet.text)
                if quiet.seconds > QUIET_S:
                    remove = self._scheduler.remove_worker
                    self._scheduler.loop.add_callback(remove, quiet.host.address, stimulus_id="workbench-quiet")
