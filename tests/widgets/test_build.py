"""The built JavaScript: small, self-contained, and what its source builds (where Node.js is there to say so)."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

WIDGETS = Path(__file__).resolve().parents[2] / "workbench" / "widgets"
ENTRIES = sorted(path.stem for path in (WIDGETS / "src").glob("*.js"))


@pytest.mark.parametrize("name", ENTRIES)
def test_a_bundle_is_small_and_asks_nobody_outside(name: str) -> None:
    text = (WIDGETS / "static" / f"{name}.js").read_text(encoding="utf-8")
    assert len(text.encode()) < 100_000, "a view has 2 s to load its module"
    outside = set(re.findall(r"https?://[\w.-]+", text)) - {"http://www.w3.org"}
    assert not outside
    assert not re.search(r"\bimport\s*\(|\bimport\s*[\"'{*]|\brequire\s*\(", text), "one module, nothing loaded later"


def test_every_style_sheet_is_built() -> None:
    built = {path.name for path in (WIDGETS / "static").glob("*.css")}
    assert built == {"theme.css", *(path.name for path in (WIDGETS / "src").glob("*.css"))}


@pytest.mark.slow
def test_the_bundles_are_what_the_source_builds() -> None:
    if shutil.which("node") is None or not (WIDGETS / "node_modules").is_dir():
        pytest.skip("no Node.js, or `npm ci` was not run in workbench/widgets; CI builds and compares")
    done = subprocess.run(["node", "build.mjs", "--check"], cwd=WIDGETS, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
