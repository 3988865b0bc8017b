"""Fixtures of the browser tests. They run in a pytest process of their own: while Playwright's loop is alive,
``asyncio.run`` fails in every other test of the process."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from labkit import Lab, Notebook, chromium, chromium_path
from playwright.sync_api import Browser

logger = logging.getLogger(__name__)

FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the fixture know how its test ended."""
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One isolated JupyterLab for the whole session."""
    server = Lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless Chromium for the whole session; without one the tests are skipped, except in CI."""
    executable = chromium_path()
    if executable is None:
        complain = pytest.fail if os.environ.get("CI") else pytest.skip
        complain("no Chromium: apt-get install chromium, or playwright install chromium, or set CHROMIUM to its path")
    with chromium(executable) as running:
        yield running


@pytest.fixture
def notebook(browser: Browser, lab: Lab, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Notebook]:
    """A notebook in a page of its own, 1400 x 1000; the test also fails on anything in `Notebook.faults`.

    Pictures go to ``$WORKBENCH_SHOTS``, else to the test's temporary folder. A test that fails leaves one of the page,
    and tells the errors in its cells.
    """
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.set_default_timeout(30_000)
    shots = Path(os.environ.get("WORKBENCH_SHOTS", tmp_path))
    driven = Notebook(context.new_page(), lab, shots)
    yield driven
    if request.node.stash.get(FAILED, False):
        logger.error("the page: %s", driven.screenshot(f"failed-{request.node.name}"))
        logger.error("its cells: %s", "\n".join([*driven.texts(), *driven.errors()]))
    faults = driven.faults()
    if driven.page.evaluate("() => document.body?.dataset.jpThemeLight") == "false":
        driven.set_theme("light")  # the theme is a setting of the server, and the next test expects the light one
    context.close()
    lab.shut_down_kernels()
    assert not faults, "\n".join(faults)
