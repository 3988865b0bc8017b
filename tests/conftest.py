"""What every test shares: a home of its own, the data folder, the settings of hypothesis."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parent.parent
HOME = "WORKBENCH_HOME"

# A busy machine is no finding: no deadlines, and slow data generation is fine.
settings.register_profile("workbench", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("workbench")


def pytest_configure() -> None:
    """Give the session a home of its own, before any module of the workbench asks for it."""
    os.environ[HOME] = tempfile.mkdtemp(prefix="workbench-tests-")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # two ranks on two cores, as in a run


def pytest_unconfigure() -> None:
    """End what the session left running in its home (detached clusters outlive their tests by design)."""
    home = os.environ.pop(HOME)
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(HOME) == home:
                process.kill()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder with raw data sets (``$WORKBENCH_DATA``, else ``../shared/data`` beside the repository)."""
    root = Path(os.environ.get("WORKBENCH_DATA", REPOSITORY.parent / "shared" / "data"))
    if not root.is_dir():
        pytest.skip(f"no raw data sets: {root} does not exist; set WORKBENCH_DATA to a folder that has them")
    return root
