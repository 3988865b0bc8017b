"""ClusterPanel in JupyterLab over a real local cluster: it grows, and a worker is restarted after asking."""

from __future__ import annotations

from labkit import Notebook

WB = "section.wb"
SETUP = """import workbench as wb
session = wb.connect(trainers=1, samplers=1)
panel = wb.ClusterPanel(session)"""
COUNT = f"Number(document.querySelector('{WB}')?.dataset.workers ?? -1)"


def test_it_shows_a_cluster_grows_it_and_restarts_a_worker(notebook: Notebook) -> None:
    notebook.open(SETUP, "panel").run_all(240)
    try:
        notebook.wait_js(f"() => {COUNT} >= 2", 60)
        names = notebook.value("[row['name'] for row in panel._shown['workers']]")
        shown = "[...document.querySelectorAll('[aria-label=Workers] tbody tr')].map(row => row.cells[0].textContent)"
        assert notebook.page.evaluate(f"() => {shown}") == names
        notebook.screenshot("cluster-light", WB)
        before = notebook.page.evaluate(f"() => {COUNT}")
        samplers = notebook.page.get_by_label("samplers", exact=True)
        samplers.fill(str(int(samplers.input_value()) + 1))
        notebook.page.get_by_role("button", name="Let the cluster grow").click()
        notebook.wait_js(f"() => {COUNT} === {before + 1}", 90)
        address = notebook.value("panel._shown['workers'][-1]['address']")
        name = notebook.value("panel._shown['workers'][-1]['name']")
        notebook.page.get_by_role("button", name=f"Restart {name}, asks first").click()
        assert notebook.page.get_by_role("alertdialog").is_visible()
        notebook.page.keyboard.press("Escape")
        assert notebook.page.get_by_role("alertdialog").count() == 0
        notebook.page.get_by_role("button", name=f"Restart {name}, asks first").click()
        notebook.page.get_by_role("button", name=f"Restart {name} now").click()
        again = f"[r['address'] for r in panel._shown['workers'] if r['name'] == {name!r}] not in ([], [{address!r}])"
        notebook.wait_value(again, True, 120)
    finally:
        notebook.execute("session.close(force=True)")
    notebook.wait_js(f"() => document.querySelector('{WB}').dataset.gone === 'true'")
