"""What a person installs: the wheel holds everything, and the files that name dependencies agree."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

REPOSITORY = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", "node_modules", "build", "*.egg-info", "__pycache__")

# What the installed wheel must be able to do, told as JSON.
PROBE = """
import json, pathlib, workbench as wb
for name in wb.__all__:
    getattr(wb, name)
root = pathlib.Path(wb.__file__).parent
graph = wb.datasets.load("debian")
told = {"root": str(root), "typed": (root / "py.typed").exists()}
print(json.dumps({**told, "datasets": wb.datasets.names(), "num_nodes": graph.num_nodes}))
"""


def project() -> dict[str, Any]:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]


def declared() -> list[str]:
    """The requirements of base and dev, without the project itself."""
    extras = project()["optional-dependencies"]
    texts = [*project()["dependencies"], *extras["test"], *extras["dev"]]
    return [text for text in texts if Requirement(text).name != project()["name"]]


def pins() -> dict[str, Version]:
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def closure(texts: list[str]) -> set[str]:
    """Everything that is installed because of these requirements, here and on this Python."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(text) for text in texts]
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in found:
            continue
        found.add(key)
        for text in importlib.metadata.distribution(requirement.name).requires or []:
            needed = Requirement(text)
            extras = requirement.extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(needed)
    return {name for name, _ in found}


def test_every_package_of_the_environment_is_pinned() -> None:
    assert closure(declared()) - set(pins()) == set()


def test_pins_lie_within_the_declared_ranges() -> None:
    requirements = [Requirement(text) for text in declared()]
    outside = [str(r) for r in requirements if not r.specifier.contains(pins()[canonicalize_name(r.name)])]
    assert outside == []


def test_pins_carry_neither_local_versions_nor_paths() -> None:
    text = (REPOSITORY / "constraints.txt").read_text()
    assert not any(mark in text for mark in ("+", "@", "/", "-e "))


def test_conda_environment_is_in_step_with_the_project() -> None:
    environment = yaml.safe_load((REPOSITORY / "environment.yml").read_text())
    *conda, pip = environment["dependencies"]
    assert conda == [f"python{project()['requires-python']}", "pip"]
    assert environment["channels"][0] == "conda-forge"
    assert pip["pip"] == ["-c constraints.txt", "-e .", *declared()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the tree, so that the tree stays as it is."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(REPOSITORY, folder / "source", ignore=LEFT_OUT)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), "source"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    (path,) = folder.glob("*.whl")
    return path


def shipped_licences() -> list[Path]:
    """The licences of what the package bundles: data, and JavaScript of others where a widget uses some."""
    package = REPOSITORY / "workbench"
    return [
        path for folder in ("widgets/static", "graph/datasets/files") for path in (package / folder).glob("*LICENSE*")
    ]


@pytest.mark.slow
def test_wheel_holds_assets_data_and_licences(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for folder, suffix in (("widgets/static", ".js"), ("graph/datasets/files", ".npz")):
        source = REPOSITORY / "workbench" / folder
        committed = {f"workbench/{folder}/{path.name}" for path in source.iterdir()}
        assert committed - set(names) == set()
        assert any(name.endswith(suffix) for name in committed)
    licences = ["LICENSE", *sorted(path.relative_to(REPOSITORY).as_posix() for path in shipped_licences())]
    assert "workbench/graph/datasets/files/wordnet-LICENSE.txt" in licences
    assert [path for path in licences if not any(name.endswith(f"/licenses/{path}") for name in names)] == []
    strange = [name for name in names if not name.startswith(("workbench/", "gnn_workbench-"))]
    assert strange == []


@pytest.mark.slow
def test_wheel_works_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    """The dependencies are lent from this environment, by a path alone: the editable project does not come along."""
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    paths = {"base": str(tmp_path / "env"), "platbase": str(tmp_path / "env")}
    site = Path(sysconfig.get_path("purelib", "venv", vars=paths))
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    shown = subprocess.run([python, "-c", PROBE], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr[-3000:]
    told = json.loads(shown.stdout)
    assert Path(told["root"]) == site / "workbench"
    assert told["typed"]
    assert told["num_nodes"] == 63_436
    assert {"debian", "debian_files", "wordnet"} <= set(told["datasets"])
