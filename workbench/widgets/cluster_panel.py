"""ClusterPanel: the workers of a session, what each hosts and does, restart and scale."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from workbench.core.errors import Findings, RunError
from workbench.core.events import Event
from workbench.core.units import format_bytes
from workbench.dashboard.words import counted
from workbench.dashboard.workers import Duties
from workbench.runtime.cluster_workers import restart_worker, run_states, worker_facts
from workbench.widgets.base import WorkbenchWidget, asset
from workbench.widgets.commands import command
from workbench.widgets.dashboard_run import ENDED
from workbench.widgets.figures import figure, table, text_of

logger = logging.getLogger(__name__)
LOOK_EVERY_S = 2.0


class ClusterPanel(WorkbenchWidget):
    """The workers of a session: roles, what run, rank and part each hosts, what it does now, memory and load.

    A worker is restarted (a run with a rank there goes on from its last checkpoint), and the local cluster grows. It
    looks every two seconds, while a page looks at it.

    Parameters
    ----------
    session : Session
        As ``wb.connect`` returns it.
    """

    _esm = asset("cluster_panel.js")

    def __init__(self, session: Any) -> None:
        if not hasattr(session, "cluster"):
            findings = Findings("ClusterPanel")
            findings.add("session", "a Session", type(session).__name__, "pass what wb.connect() returns")
            findings.raise_if_any()
        self.session = session
        self._duties: dict[str, Duties] = {}
        self._unsubscribe: dict[str, Callable[[], None]] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._shown = self._look()
        super().__init__(_live=True)
        threading.Thread(target=self._follow, name="workbench-cluster-panel", daemon=True).start()

    # -- looking ------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        while not self._closed.wait(LOOK_EVERY_S):
            if self.listening:
                self.look()

    def look(self) -> None:
        """Look at the cluster now, and tell the views what changed."""
        try:
            now = self._look()
        except Exception as error:  # a cluster that goes away in mid-question must not end the thread
            now = {**self._shown, "gone": str(error)}
        with self.state_lock:
            if now != self._shown:
                self._shown = now
                self.publish({"state": now})

    def _look(self) -> dict[str, Any]:
        cluster = self.session.cluster
        try:
            facts, states = worker_facts(cluster), run_states(cluster)
        except RunError as error:
            return {"address": "", "local": False, "workers": [], "runs": [], "gone": str(error)}
        self._follow_runs(states)
        hosted = self._hosted()
        return {
            "address": cluster.address,
            "local": cluster.is_local,
            "gone": "",
            "workers": [{**row, "duties": hosted.get(row["name"], [])} for row in facts],
            "runs": [{"id": run_id, "status": status} for run_id, status in states.items() if status not in ENDED],
        }

    def _follow_runs(self, states: Mapping[str, str]) -> None:
        """Follow the events of the runs at work, and let go of the others."""
        at_work = {run_id for run_id, status in states.items() if status not in ENDED}
        for run_id in set(self._unsubscribe) - at_work:
            self._unsubscribe.pop(run_id)()
            self._duties.pop(run_id, None)
        for run_id in at_work - set(self._unsubscribe):
            self._duties[run_id] = Duties()
            run = self.session.attach(run_id)
            self._unsubscribe[run_id] = run.subscribe(
                lambda events, name=run_id: self._on_events(name, events), replay=True
            )

    def _on_events(self, run_id: str, events: list[Event]) -> None:
        with self._lock:
            duties = self._duties.get(run_id)
            for event in events if duties is not None else ():
                duties = duties.after(event)
            if duties is not None:
                self._duties[run_id] = duties

    def _hosted(self) -> dict[str, list[dict[str, Any]]]:
        """Return by worker the ranks and samplers that it hosts."""
        hosted: dict[str, list[dict[str, Any]]] = {}
        with self._lock:
            for run_id, duties in self._duties.items():
                for (kind, index), duty in sorted(duties.by_key.items()):
                    entry = {"run": run_id, "kind": kind, "index": index, "part": duty.part}
                    entry |= {"does": duty.does, "rss_bytes": duty.rss_bytes}
                    hosted.setdefault(duty.worker, []).append(entry)
        return hosted

    def snapshot(self) -> Mapping[str, Any]:
        """Return the workers with what they host, and the runs at work."""
        return {"state": self._shown}

    # -- commands -----------------------------------------------------------------------------------------------

    @command("restart")
    def _restart(self, *, worker: str) -> None:
        restart_worker(self.session.cluster, worker)
        self.look()

    @command("scale")
    def _scale(self, *, trainers: int, samplers: int) -> None:
        self.session.scale(trainers=int(trainers), samplers=int(samplers))
        self.look()

    # -- pictures -----------------------------------------------------------------------------------------------

    def text_summary(self) -> str:
        """Return the cluster in a sentence."""
        state = self._shown
        if state["gone"]:
            return f"Cluster: {state['gone']}"
        runs = ", ".join(run["id"] for run in state["runs"]) or "no run at work"
        return f"Cluster at {state['address']}: {counted(len(state['workers']), 'worker')}; {runs}"

    def static_html(self) -> str:
        """Return the table of workers without scripts."""
        rows = [
            [
                text_of(row["name"]),
                text_of(", ".join(row["roles"])),
                text_of(
                    "; ".join(f"{d['kind']} {d['index']} of {d['run']}: {d['does']}" for d in row["duties"]) or "idle"
                ),
                format_bytes(row["memory_bytes"]),
                f"{row['cpu_percent']:.0f}%",
            ]
            for row in self._shown["workers"]
        ]
        drawn = table(["Worker", "Roles", "Does", "Memory", "CPU"], rows, label="Workers", num=(3, 4))
        return figure(f'<div class="wb-body"><p>{text_of(self.text_summary())}</p>{drawn}</div>', label="Cluster")

    def close(self) -> None:
        """Stop looking, and free the widget."""
        if hasattr(self, "_closed"):
            self._closed.set()
            for unsubscribe in self._unsubscribe.values():
                unsubscribe()
        super().close()
