"""A run as a script, a configuration from a file, and old runs that go only when asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import workbench as wb
from workbench.__main__ import main
from workbench.core.config import RunConfig
from workbench.core.errors import InputError
from workbench.core.events import Event
from workbench.runtime.event_log import EventLog
from workbench.runtime.export import script_of
from workbench.runtime.follow import line_of, read_config
from workbench.runtime.function_call import function_config
from workbench.runtime.retention import DAY_S, removable, remove
from workbench.runtime.run_folder import RunFolder, all_runs
from workbench.testing.runs import PATIENCE_S, Launch, losses
from workbench.train import resolve


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def config_of(graph: wb.Graph, **keywords: object) -> RunConfig:
    return resolve(graph, "sage", "mini_batch", epochs=2, fanouts=(5, 5), **keywords).config


def folder_of(config: RunConfig, kinds: Sequence[str] = ("run_finished",), age_s: float = 0.0) -> RunFolder:
    folder = RunFolder.create(config, "a summary")
    log = EventLog(folder.log)
    log.append([Event(kind=kind, time_s=1.0, data={"step": 1, "elapsed_s": 1.0}) for kind in kinds])
    log.close()
    for path in (folder.log, folder.path / "config.json"):
        os.utime(path, (time.time() - age_s,) * 2)
    return folder


def test_the_keywords_of_a_script_make_the_same_configuration(home: Path, graph: wb.Graph) -> None:
    config = config_of(graph, lr=0.01, hidden_channels=7, sampler="labor", rng_seed=5, trainers=2)
    script = script_of(folder_of(config))
    compile(script, "<script>", "exec")
    launched = {}

    class Session:
        def launch(self, graph: wb.Graph, **keywords: object) -> None:
            launched["config"] = resolve(graph, **keywords).config  # type: ignore[arg-type]

    start = script.index("run = session.launch")
    call = script[start : script.index("run.wait()")]
    exec(call, {"session": Session(), "graph": graph})
    assert launched["config"] == config


def test_a_function_has_no_script(home: Path) -> None:
    folder = folder_of(function_config("mine", trainers=2, threads_per_trainer=1))
    with pytest.raises(InputError, match="run_function"):
        script_of(folder)


def test_a_configuration_is_read_and_what_is_wrong_with_it_is_said(home: Path, graph: wb.Graph, tmp_path: Path) -> None:
    folder = folder_of(config_of(graph))
    assert read_config(folder.path) == (folder.config, "a summary")
    with pytest.raises(InputError, match="FileNotFoundError"):
        read_config(tmp_path / "nothing.json")
    (tmp_path / "torn.json").write_text('{"config": {')
    with pytest.raises(InputError, match="JSONDecodeError"):
        read_config(tmp_path / "torn.json")
    record = json.loads((folder.path / "config.json").read_text())
    record["config"]["graph"]["folder"] = "/nowhere"
    record["config"]["model"] = {"name": "custom", "params": {}}
    (tmp_path / "gone.json").write_text(json.dumps(record))
    with pytest.raises(InputError) as caught:
        read_config(tmp_path / "gone.json")
    assert {finding.where for finding in caught.value.findings} == {"config.model", "config.graph.folder"}


def test_only_old_ended_runs_beyond_the_newest_may_go(home: Path, graph: wb.Graph) -> None:
    config = config_of(graph)
    ages = [40.0, 35.0, 10.0, 40.0]
    folders = sorted((folder_of(config, age_s=age * DAY_S) for age in ages), key=lambda folder: folder.id)
    assert len(removable(keep=4, older_than_s=0)) == 0
    assert len(removable(keep=0, older_than_s=30 * DAY_S)) == 3
    assert [run.folder for run in removable(keep=3, older_than_s=0)] == folders[:1]
    before = len(all_runs())
    assert main(["clean", "--keep", "0", "--older-than", "30"]) == 0
    assert len(all_runs()) == before, "nothing is removed without a yes"
    found = removable(keep=0, older_than_s=30 * DAY_S)
    assert remove(found) == sum(run.num_bytes for run in found) > 0
    assert len(all_runs()) == before - 3


def test_an_epoch_is_a_line_and_a_step_is_none() -> None:
    data = {"epoch": 3, "step": 30, "elapsed_s": 1.5, "train_loss": 0.5, "metrics": {"val_accuracy": 0.75}}
    line = line_of(Event(kind="epoch_finished", time_s=0.0, data=data))
    assert "epoch    3" in line
    assert "loss 0.5000" in line
    assert "val_accuracy 0.7500" in line
    assert line_of(Event(kind="step_finished", time_s=0.0)) == ""


@pytest.mark.slow
def test_the_command_line_runs_a_configuration_again_to_the_same_losses(launch: Launch) -> None:
    run = launch().wait(PATIENCE_S)
    command = [sys.executable, "-m", "workbench", "run", str(run.folder / "config.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    assert "epoch    2" in done.stdout
    again = wb.attach(all_runs()[-1].id)
    assert again.id != run.id
    assert losses(again) == losses(run)
    followed = subprocess.run([*command[:3], "attach", again.id], capture_output=True, text=True, check=True)
    assert "finished" in followed.stdout
    exported = subprocess.run([*command[:3], "export", again.id], capture_output=True, text=True, check=True)
    assert "session.launch(" in exported.stdout
