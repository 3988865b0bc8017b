"""What a notebook calls, as far as it needs no cluster: doctor, runs, attach to what is on disk."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.core.config import Choice, GraphRef, RunConfig
from workbench.core.display import register_run_renderer
from workbench.core.errors import Finding, InputError, RunError
from workbench.core.events import Event
from workbench.runtime.event_log import EventLog
from workbench.runtime.report import Report
from workbench.runtime.run_folder import RunFolder


def config(name: str = "") -> RunConfig:
    graph = GraphRef(
        folder="/nowhere", name="tiny", fingerprint="", num_nodes=1, num_edges=1, num_features=1, num_classes=2
    )
    return RunConfig(
        graph=graph,
        model=Choice(name="sage"),
        strategy=Choice(name="mini_batch"),
        update=Choice(name="all_reduce"),
        task=Choice(name="node_classification"),
        epochs=2,
        name=name,
    )


def write_run(*events: Event, name: str = "") -> RunFolder:
    folder = RunFolder.create(config(name), "sage · mini_batch · 1 trainer")
    log = EventLog(folder.log)
    log.append([Event(kind="run_created", time_s=1.0, data={"config": {}, "summary": ""}), *events])
    log.close()
    return folder


def epoch(number: int, **metrics: float) -> Event:
    data = {
        "epoch": number,
        "step": 5 * number,
        "elapsed_s": float(number),
        "train_loss": 1 / number,
        "metrics": metrics,
        "evaluate_s": 0.0,
        "bytes": {"gather": 10 * number},
    }
    return Event(kind="epoch_finished", time_s=1.0 + number, rank=0, data=data)


FINISHED = Event(kind="run_finished", time_s=9.0, data={"step": 10, "elapsed_s": 2.0})


def test_a_run_is_read_from_its_folder_alone() -> None:
    folder = write_run(epoch(1), epoch(2, val_accuracy=0.75, test_accuracy=0.5), FINISHED)
    run = wb.attach(folder.id)
    assert run.status == "finished"
    history = run.history
    assert list(history.columns) == [
        *("epoch", "step", "elapsed_s", "train_loss", "val_accuracy", "test_accuracy", "bytes_gather"),
    ]
    assert history.epoch.tolist() == [1, 2]
    assert np.isnan(history.val_accuracy[0])
    assert history.val_accuracy[1] == 0.75
    assert run.config == config()
    assert run.wait() is run
    assert "sage · mini_batch" in repr(run)


def test_an_epoch_that_was_repeated_after_a_restart_counts_once() -> None:
    folder = write_run(epoch(1), epoch(2), dataclasses.replace(epoch(2, val_accuracy=0.5), generation=1))
    history = wb.attach(folder.id).history
    assert history.epoch.tolist() == [1, 2]
    assert history.val_accuracy[1] == 0.5


def test_a_run_whose_scheduler_is_gone_has_failed_and_says_why() -> None:
    run = wb.attach(write_run(epoch(1)).id)
    assert run.status == "failed"
    with pytest.raises(RunError, match="its scheduler is gone"):
        run.wait()
    run.stop()
    with pytest.raises(RunError, match="no predictions yet"):
        run.predictions()


def test_a_failure_names_rank_host_cause_and_traceback_and_escapes_them() -> None:
    evil = "<img src=x onerror=alert(1)>"
    failed = {"host": "10.0.0.1", "part": None, "cause": evil, "traceback": f"Traceback\n{evil}", "log_tail": ""}
    folder = write_run(
        Event(kind="rank_failed", time_s=2.0, rank=1, data=failed),
        Event(kind="run_failed", time_s=2.0, data={"cause": evil, "rank": 1, "step": 3}),
    )
    run = wb.attach(folder.id)
    with pytest.raises(RunError, match=r"rank 1 on 10\.0\.0\.1"):
        run.wait()
    assert evil not in run._repr_html_()
    assert "&lt;img" in run._repr_html_()


def test_runs_lists_the_newest_first_and_executes_nothing(tmp_path: Path) -> None:
    folder = write_run(epoch(1, val_accuracy=0.5), FINISHED, name="listed run")
    (folder.path / "model.pkl").write_bytes(b"cos\nsystem\n(S'touch " + bytes(tmp_path / "owned") + b"'\ntR.")
    table = wb.runs().set_index("id")
    row = table.loc[folder.id]
    assert (row.status, row.epoch, row.train_loss, row.val_metric) == ("finished", 1, 1.0, 0.5)
    assert table.index.tolist() == sorted(table.index, reverse=True)
    wb.attach(folder.id)
    assert not (tmp_path / "owned").exists()


def test_a_module_of_the_users_is_loaded_with_trust_alone() -> None:
    folder = RunFolder.create(dataclasses.replace(config(), model=Choice(name="custom")))
    (folder.path / "model.pt").touch()
    log = EventLog(folder.log)
    log.append([FINISHED])
    log.close()
    with pytest.raises(InputError, match="trust=True"):
        wb.attach(folder.id).model()


def test_an_id_may_be_shortened_while_it_is_unique() -> None:
    folder = write_run(FINISHED, name="only one")
    assert wb.attach(folder.id[:-2]).id == folder.id
    with pytest.raises(InputError, match="no-such-run"):
        wb.attach("no-such-run")
    with pytest.raises(InputError, match="attach"):
        wb.attach("")


def test_folders_are_for_their_owner_alone() -> None:
    folder = write_run(FINISHED)
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert (folder.path / "config.json").stat().st_mode & 0o777 == 0o600
    assert folder.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_run_shows_what_is_registered_for_it() -> None:
    run = wb.attach(write_run(FINISHED).id)
    assert set(run._repr_mimebundle_()) == {"text/plain", "text/html"}

    class Shown:
        def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
            return {"application/x": run.id}

    from workbench.core import display

    before = list(display._renderers)
    try:
        register_run_renderer(lambda _: Shown())
        assert run._repr_mimebundle_() == {"application/x": run.id}
    finally:
        display._renderers[:] = before


def test_doctor_looks_at_the_machine_without_touching_cuda() -> None:
    report = wb.doctor()
    assert report.ok
    assert "this machine: ready" in repr(report)
    assert {"Cores", "Memory", "Disk", "GPUs", "torch"} <= set(report.facts)
    assert "<table>" in report._repr_html_()


def test_doctor_does_not_import_torch_or_dask() -> None:
    code = "import sys, workbench as wb; wb.doctor(); print({'torch', 'dask', 'distributed'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"


def test_doctor_tells_what_is_wrong_with_a_graph() -> None:
    graph = wb.Graph.from_edge_index(np.array([[0, 1], [1, 2]]), num_nodes=4, name="<b>bare</b>")
    report = wb.doctor(graph)
    assert "<b>bare</b>" in report.headline
    assert any(finding.where == "edges" and "directed" in finding.got for finding in report.findings)
    assert report.facts["Graph"].endswith("4 nodes, 2 edges")
    assert "<b>bare" not in report._repr_html_()


def test_a_report_with_an_error_is_not_ready_and_shows_it_first() -> None:
    remark = Finding(where="a", expected="b", got="c", fix="d", severity="info")
    fault = Finding(where="disk", expected="room", got="none", fix="make room")
    report = Report(subject="it", facts={}, findings=(remark, fault))
    assert not report.ok
    assert report.headline == "it: not ready (1 error, 1 info)"
    assert repr(report).index("disk") < repr(report).index("a: c")


def test_connect_names_what_is_wrong_with_its_arguments() -> None:
    with pytest.raises(InputError, match="trainers"):
        wb.connect(trainers=0, samplers=-1)
    with pytest.raises(InputError, match=r"tcp://127\.0\.0\.1:1"):
        wb.connect("tcp://127.0.0.1:1")
