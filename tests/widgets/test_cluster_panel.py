"""ClusterPanel over a cluster that is not one; tests/browser shows a real one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fake_run import FakeRun

import workbench as wb
from workbench.core.errors import InputError, RunError
from workbench.testing import event_logs
from workbench.widgets import cluster_panel
from workbench.widgets.cluster_panel import ClusterPanel


def worker(name: str, role: str) -> dict[str, Any]:
    facts = {"name": name, "address": f"tcp://127.0.0.1:{len(name)}", "host": "127.0.0.1", "roles": [role]}
    return {**facts, "memory_bytes": 1 << 28, "limit_bytes": None, "cpu_percent": 12.0}


class Session:
    """A session whose scheduler knows one run at work and one that has ended."""

    def __init__(self) -> None:
        self.cluster = SimpleNamespace(address="tcp://127.0.0.1:8786", is_local=True)
        self.run = FakeRun(event_logs.healthy(), name="live")
        self.run.tell_until("step_finished", 12)
        self.states = {"live": "running", "old": "finished"}
        self.workers = [worker("trainer-0", "trainer"), worker("trainer-1", "trainer"), worker("sampler-0", "sampler")]
        self.scaled: list[tuple[int, int]] = []
        self.restarted: list[str] = []
        self.gone = False

    def attach(self, run_id: str) -> FakeRun:
        assert run_id == "live"
        return self.run

    def scale(self, *, trainers: int, samplers: int) -> None:
        self.scaled.append((trainers, samplers))
        self.workers.append(worker("trainer-2", "trainer"))


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    made = Session()

    def facts(cluster: Any) -> list[dict[str, Any]]:
        if made.gone:
            raise RunError("cluster: the cluster is gone")
        return list(made.workers)

    monkeypatch.setattr(cluster_panel, "worker_facts", facts)
    monkeypatch.setattr(cluster_panel, "run_states", lambda cluster: dict(made.states))
    monkeypatch.setattr(cluster_panel, "restart_worker", lambda cluster, name: made.restarted.append(name))
    return made


def hosts(panel: ClusterPanel) -> dict[str, list[tuple[str, int, int | None]]]:
    rows = panel.snapshot()["state"]["workers"]
    return {row["name"]: [(d["kind"], d["index"], d["part"]) for d in row["duties"]] for row in rows}


def test_it_shows_what_each_worker_hosts(session: Session) -> None:
    panel = ClusterPanel(session)
    assert hosts(panel) == {
        "trainer-0": [("rank", 0, 0)],
        "trainer-1": [("rank", 1, 1)],
        "sampler-0": [("sampler", 0, None), ("sampler", 1, None)],
    }
    assert panel.snapshot()["state"]["runs"] == [{"id": "live", "status": "running"}]
    assert "step 12, mostly backward" in panel.static_html()
    assert panel.text_summary() == "Cluster at tcp://127.0.0.1:8786: 3 workers; live"
    panel.close()
    assert not session.run._listeners


def test_it_tells_what_changed_and_lets_go_of_a_run_that_ended(session: Session, view_of: Any) -> None:
    panel = ClusterPanel(session)
    view = view_of(panel)
    panel.look()
    assert view.of("delta") == [], "nothing changed"
    session.run.tell_until("step_finished", 14)
    panel.look()
    assert "step 13" in str(view.of("delta")[-1])
    session.states["live"] = "finished"
    panel.look()
    assert hosts(panel) == {"trainer-0": [], "trainer-1": [], "sampler-0": []}
    assert not session.run._listeners
    panel.close()


def test_commands_reach_the_cluster(session: Session, view_of: Any) -> None:
    panel = ClusterPanel(session)
    view = view_of(panel)
    view.say("command", id="1", name="scale", arguments={"trainers": 3, "samplers": 1})
    view.wait("done")
    assert session.scaled == [(3, 1)]
    assert len(panel.snapshot()["state"]["workers"]) == 4
    view.say("command", id="2", name="restart", arguments={"worker": "trainer-1"})
    view.wait("done", 2)
    assert session.restarted == ["trainer-1"]
    panel.close()


def test_a_cluster_that_is_gone_is_said(session: Session, view_of: Any) -> None:
    panel = ClusterPanel(session)
    session.gone = True
    panel.look()
    assert "gone" in panel.text_summary()
    assert "gone" in ClusterPanel(session).text_summary()
    panel.close()


def test_it_wants_a_session() -> None:
    with pytest.raises(InputError, match=r"wb\.connect"):
        wb.ClusterPanel("tcp://127.0.0.1:8786")
