"""TLS by Dask's own settings, and what lies on disk: for its owner alone, and without a secret."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import workbench as wb
from workbench.testing.runs import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TRAIN = """
    import sys
    import workbench as wb
    from workbench.core.events import of_kind
    if __name__ == "__main__":
        graph = wb.Graph.open(sys.argv[1])
        session = wb.connect(*sys.argv[2:], trainers=2)
        assert session.cluster.address.startswith("tls://"), session.cluster.address
        run = session.launch(graph, "sage", trainers=2, samplers=1, epochs=2, batch_size=16, fanouts=(5, 5))
        run.wait(240)
        print(run.status, len(list(of_kind(run.events, "batch_sampled"))))
        session.close(force=True)
"""


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    """The environment of a person who has set up TLS for Dask, with a certificate that signs itself."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=workbench -addext subjectAltName=IP:127.0.0.1"
    command = ["openssl", *words.split(), "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    comm = "DASK_DISTRIBUTED__COMM__"
    environment = {f"{comm}TLS__CA_FILE": str(certificate), f"{comm}REQUIRE_ENCRYPTION": "true"}
    for role in ("CLIENT", "SCHEDULER", "WORKER"):
        environment |= {f"{comm}TLS__{role}__CERT": str(certificate), f"{comm}TLS__{role}__KEY": str(key)}
    home = tmp_path / "home"
    return os.environ | environment | {"WORKBENCH_HOME": str(home)}


@pytest.fixture
def folder(graph: wb.Graph, tmp_path: Path) -> str:
    graph.save(tmp_path / "graph")
    return str(tmp_path / "graph")


def train(environment: dict[str, str], *arguments: str) -> list[str]:
    script = Path(environment["WORKBENCH_HOME"]).parent / "train.py"
    script.write_text(textwrap.dedent(TRAIN))
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


def test_the_local_cluster_encrypts_where_dask_must_and_leaves_no_secret(settings: dict[str, str], folder: str) -> None:
    assert train(settings, folder) == ["finished", "20"]  # 2 ranks, 2 epochs, 5 steps
    home = Path(settings["WORKBENCH_HOME"])
    lines = (home.parent / "key.pem").read_text().splitlines()
    secrets = [line.encode() for line in lines if not line.startswith("-")] + [b"PRIVATE KEY"]
    files = [path for path in home.rglob("*") if path.is_file()]
    assert any(path.name == "events.log" for path in files)
    leaks = [(path, secret) for path in files for secret in secrets if secret in path.read_bytes()]
    assert leaks == []
    folders = [
        home,
        *(path for path in home.glob("*/") if path.is_dir()),
        *home.glob("runs/*/"),
        *home.glob("runs/*/*/"),
    ]
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in folders if path.stat().st_mode & 0o077} == {}


@pytest.fixture
def foreign(settings: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """The address of a cluster whose certificates were given on the command line, not by configuration."""
    certificate = settings["DASK_DISTRIBUTED__COMM__TLS__CA_FILE"]
    flags = ["--tls-ca-file", certificate, "--tls-cert", certificate]
    flags += ["--tls-key", settings["DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"]]
    plain = {name: value for name, value in settings.items() if not name.startswith("DASK_")}
    file, command = tmp_path / "scheduler.json", [sys.executable, "-m", "dask"]
    scheduler = [*command, "scheduler", "--protocol", "tls", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    worker = [*command, "worker", "--protocol", "tls", "--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard"]
    started = [subprocess.Popen([*scheduler, *flags, "--scheduler-file", str(file)], env=plain, cwd=tmp_path)]
    for _ in range(2):
        started.append(subprocess.Popen([*worker, *flags, "--scheduler-file", str(file)], env=plain, cwd=tmp_path))
    yield str(file)
    for process in started:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        process.kill()
        process.wait()


def test_a_cluster_with_certificates_of_its_own_trains_with_samplers(
    settings: dict[str, str], folder: str, foreign: str
) -> None:

    wait_for(lambda: Path(foreign).exists() and Path(foreign).read_text().rstrip().endswith("}"), "the scheduler")
    address = json.loads(Path(foreign).read_text())["address"]
    assert address.startswith("tls://")
    assert train(settings, folder, address) == ["finished", "20"]
