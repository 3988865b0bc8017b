"""The harness of the browser tests: a notebook in an isolated JupyterLab, driven through Chromium.

`Lab` (labserver.py) starts a server whose configuration, data, settings and workspaces lie in a folder of its own, so
that nothing of the person who runs the tests is read or written. `Notebook` drives one page through
``window.jupyterapp``, the handle that JupyterLab offers for it, and keeps the book of everything a page may do wrong:
uncaught errors, console errors, requests that leave the machine.

Wait for facts that a widget publishes (``data-`` attributes, text), never for pixels or sleeps.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from labserver import Lab, chromium, chromium_path
from playwright.sync_api import Locator, Page

__all__ = ["Lab", "Notebook", "chromium", "chromium_path", "write_notebook"]

CURRENT = "window.jupyterapp.shell.currentWidget"
# Comms run on subshells and turn the status idle while a cell still runs: its prompt tells.
IDLE = f"""() => {CURRENT}?.sessionContext?.session?.kernel?.status === 'idle'
  && ![...{CURRENT}.node.querySelectorAll('.jp-InputPrompt')].some(prompt => prompt.textContent.startsWith('[*]'))"""
EXECUTE = f"""async (code) => {{
  const future = {CURRENT}.sessionContext.session.kernel.requestExecute({{code, store_history: false}});
  let text = '', error = '';
  future.onIOPub = ({{header, content}}) => {{
    if (header.msg_type === 'stream') text += content.text;
    if (header.msg_type === 'error') error = content.ename + ': ' + content.evalue;
  }};
  await future.done;
  return [text, error];
}}"""


def write_notebook(path: Path, cells: Sequence[str]) -> Path:
    """Write a notebook with one code cell for each text."""
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    document.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(document, path)
    return path


class Notebook:
    """One notebook, open in one page."""

    def __init__(self, page: Page, lab: Lab, shots: Path) -> None:
        self.page, self.lab, self._shots = page, lab, shots
        self.page_errors: list[str] = []
        self.console_errors: list[str] = []
        self.requests: list[str] = []
        self.bytes_received = 0
        self._allowed: list[str] = []
        self._path = ""
        page.on("pageerror", lambda error: self.page_errors.append(str(error)))
        page.on("console", self._note_console)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda socket: socket.on("framereceived", self._note_frame))

    def _note_console(self, message: Any) -> None:
        if message.type == "error":
            self.console_errors.append(message.text)

    def _note_frame(self, payload: str | bytes) -> None:
        self.bytes_received += len(payload)

    # Opening

    def open(self, *cells: str, path: Path | None = None, timeout_s: float = 90) -> Notebook:
        """Open a new notebook with these cells, or a copy of the one at `path`; wait for its kernel."""
        name = f"{secrets.token_hex(4)}.ipynb"
        if path is None:
            write_notebook(self.lab.root / name, cells)
        else:
            shutil.copyfile(path, self.lab.root / name)
        self._path = name
        self._load(timeout_s)
        self.wait_idle(timeout_s)
        return self

    def _load(self, timeout_s: float = 90) -> None:
        url = f"{self.lab.url}/lab/tree/{self._path}?reset&token={self.lab.token}"
        self.page.goto(url, wait_until="domcontentloaded")
        self.wait_js("() => window.jupyterapp?.restored", timeout_s)
        self.page.evaluate("() => window.jupyterapp.restored.then(() => true)")
        self.page.wait_for_selector(".jp-Notebook", timeout=timeout_s * 1000)
        self.wait_js(f"() => {CURRENT}?.context?.isReady", timeout_s)
        # Not its status: while a cell awaits something, a page that connects anew does not learn it.
        self.wait_js(f"() => {CURRENT}?.sessionContext?.session?.kernel?.connectionStatus === 'connected'", timeout_s)

    def reload(self, *, save: bool = True) -> None:
        """Reload the page, as F5 does (JupyterLab shows only saved outputs again, so save first)."""
        if save:
            self.save()
        self._load()

    def save(self) -> None:
        """Save the notebook."""
        self.command("docmanager:save")

    def saved(self) -> nbformat.NotebookNode:
        """Return the notebook as it lies on disk."""
        return nbformat.read(self.lab.root / self._path, as_version=4)

    def command(self, name: str, **arguments: Any) -> None:
        """Execute a command of JupyterLab and wait for it."""
        code = "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args); }"
        self.page.evaluate(code, [name, arguments])

    # Cells and kernel

    def run_all(self, timeout_s: float = 120) -> Notebook:
        """Run every cell and wait until the kernel is idle; a cell that raises fails the test."""
        self.command("notebook:run-all-cells")  # resolves with the last cell's reply
        self.wait_idle(timeout_s)
        assert not self.errors(), self.errors()
        return self

    def start_all(self) -> None:
        """Run every cell without waiting (for a notebook that awaits a run)."""
        self.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
        self.page.wait_for_timeout(100)  # the kernel turns busy only after the request has reached it

    def run_cell(self, index: int, timeout_s: float = 120) -> None:
        """Run one cell and wait until the kernel is idle."""
        self.page.evaluate(f"(index) => {{ {CURRENT}.content.activeCellIndex = index; }}", index)
        self.command("notebook:run-cell")
        self.wait_idle(timeout_s)

    def add_cell(self, code: str, timeout_s: float = 120) -> None:
        """Append a cell with this code, run it, and wait until the kernel is idle."""
        add = f"""(source) => {{ const {{content}} = {CURRENT};
          content.model.sharedModel.addCell({{cell_type: 'code', source}});
          content.activeCellIndex = content.widgets.length - 1; }}"""
        self.page.evaluate(add, code)
        self.command("notebook:run-cell")
        self.wait_idle(timeout_s)

    def wait_idle(self, timeout_s: float = 120) -> None:
        """Wait until the kernel is idle."""
        self.wait_js(IDLE, timeout_s)

    def errors(self) -> list[str]:
        """Return the errors in the outputs of all cells."""
        return [f"{o['ename']}: {o['evalue']}" for o in self._outputs() if o["output_type"] == "error"]

    def texts(self) -> list[str]:
        """Return the printed text and the ``text/plain`` of all outputs, in order."""
        found = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in self._outputs()]
        return ["".join(text) for text in found if text]

    def _outputs(self) -> list[dict[str, Any]]:
        code = f"() => {CURRENT}.content.model.sharedModel.cells.flatMap(cell => cell.toJSON().outputs || [])"
        return self.page.evaluate(code)

    def execute(self, code: str) -> str:
        """Run code in the kernel without a cell; return what it printed, raise where it raised."""
        text, error = self.page.evaluate(EXECUTE, code)
        assert not error, f"{error}, in the kernel, from: {code}"
        return text

    def value(self, expression: str) -> Any:
        """Return a Python expression's value in the kernel (it must fit into JSON)."""
        return json.loads(self.execute(f"import json as _json\nprint(_json.dumps({expression}))"))

    def wait_value(self, expression: str, expected: Any = True, timeout_s: float = 30) -> None:
        """Wait until an expression has a value in the kernel."""
        deadline = time.monotonic() + timeout_s
        while (found := self.value(expression)) != expected:
            assert time.monotonic() < deadline, f"{expression} is {found!r}, not {expected!r}, after {timeout_s} s"
            self.page.wait_for_timeout(100)

    def restart_kernel(self) -> None:
        """Restart the kernel without asking; its state is gone, the page stays."""
        # JupyterLab's own, when the old kernel goes before it has answered.
        self.allow(
            "Could not restore the debugger state|Canceled future for .*_request message before replies were done"
        )
        self.page.evaluate(f"async () => {{ await {CURRENT}.sessionContext.session.kernel.restart(); }}")
        self.wait_idle()

    # Looking

    def find(self, selector: str) -> Locator:
        """Return the elements that fit a CSS selector."""
        return self.page.locator(selector)

    def wait_js(self, function: str, timeout_s: float = 30) -> None:
        """Wait until a JavaScript function returns something true."""
        self.page.wait_for_function(function, timeout=timeout_s * 1000)

    def set_theme(self, theme: str) -> None:
        """Switch JupyterLab to its ``light`` or ``dark`` theme."""
        self.command("apputils:change-theme", theme=f"JupyterLab {theme.title()}")
        self.wait_js(f"() => document.body.dataset.jpThemeLight === '{str(theme == 'light').lower()}'")
        self.wait_js("() => !document.getElementById('jupyterlab-splash')")  # which covers the page meanwhile

    def screenshot(self, name: str, selector: str | None = None) -> Path:
        """Write a picture of the page, or of the first element that fits as far as it is in view; return its path."""
        self._shots.mkdir(parents=True, exist_ok=True)
        path, clip = self._shots / f"{name}.png", None
        if selector is not None:
            # Not Locator.screenshot: it waits until the element stands still, and a live one never does.
            self.page.locator(selector).first.evaluate("element => element.scrollIntoView({block: 'start'})")
            clip = self.page.locator(selector).first.bounding_box()
        self.page.screenshot(path=path, clip=clip)
        return path

    # What a page must not do

    def allow(self, pattern: str) -> None:
        """Expect page or console errors that fit a regular expression, in this test."""
        self._allowed.append(pattern)

    def faults(self) -> list[str]:
        """Return everything the page did wrong: uncaught errors, console errors, requests that left the machine."""
        own = (self.lab.url, self.lab.url.replace("http", "ws"), "data:", "blob:", "about:")
        found = [f"uncaught: {text}" for text in self.page_errors]
        found += [f"console: {text}" for text in self.console_errors]
        found += [f"left the machine: {url}" for url in self.requests if not url.startswith(own)]
        return [text for text in found if not any(re.search(pattern, text) for pattern in self._allowed)]
