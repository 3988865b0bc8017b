"""An isolated JupyterLab server and a headless Chromium: for browser tests and the pictures of the documentation."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

CHROMIUM_FLAGS = (
    "--no-sandbox",  # tests may run as root
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--use-angle=swiftshader",  # WebGL in software
    "--enable-unsafe-swiftshader",
)

SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    "notebook-extension/tracker": {"windowingMode": "none"},
    "docmanager-extension/plugin": {"autosave": False},
}


def chromium_path() -> str | None:
    """Return the Chromium to drive: ``$CHROMIUM``, the system's, or Playwright's own; None where there is none."""
    named = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if named:
        return named
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


@contextlib.contextmanager
def chromium(executable: str) -> Iterator[Browser]:
    """Yield a headless Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, headless=True, args=list(CHROMIUM_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Lab:
    """A JupyterLab server of its own on a free port, with a random token."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "notebooks"
        self.root.mkdir(parents=True)
        self.token = secrets.token_hex(16)
        self._folder, self._log = folder, (folder / "lab.log").open("wb")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        self._process = subprocess.Popen(
            self._command(), stdout=self._log, stderr=subprocess.STDOUT, env=self._environment(), start_new_session=True
        )
        self._wait_until_up()

    def _command(self) -> list[str]:
        server = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": self.url.rpartition(":")[2],
            "ServerApp.port_retries": 0,
            "ServerApp.root_dir": self.root,
            "ServerApp.terminals_enabled": False,
            "IdentityProvider.token": self.token,
            "LabApp.expose_app_in_browser": True,
            "LabApp.news_url": None,
            "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
            "LabApp.extension_manager": "readonly",
        }
        options = [f"--{name}={value}" for name, value in server.items()]
        return [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *options]

    def _environment(self) -> dict[str, str]:
        for name, values in SETTINGS.items():
            file = self._folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))
        folders = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "IPYTHONDIR": "ipython",
        }
        return {**os.environ, **{name: str(self._folder / folder) for name, folder in folders.items()}}

    def _wait_until_up(self, timeout_s: float = 90) -> None:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError):
                self.request("GET", "/api/status")
                return
            time.sleep(0.1)
        raise RuntimeError(f"JupyterLab did not start:\n{self.log()}")

    def log(self) -> str:
        """Return what the server has written so far."""
        return (self._folder / "lab.log").read_text()

    def request(self, method: str, path: str) -> Any:
        """Ask the server's REST interface; return the JSON of its answer, or None."""
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", f"token {self.token}")
        with urllib.request.urlopen(request, timeout=10) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def shut_down_kernels(self) -> None:
        """End every kernel."""
        for kernel in self.request("GET", "/api/kernels"):
            with contextlib.suppress(urllib.error.HTTPError):  # it may have ended by itself
                self.request("DELETE", f"/api/kernels/{kernel['id']}")

    def stop(self) -> None:
        """End the kernels and the server."""
        with contextlib.suppress(OSError):
            self.shut_down_kernels()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
