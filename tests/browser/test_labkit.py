"""The harness itself: it drives a notebook, and it notices what a page does wrong."""

from labkit import Notebook


def test_a_cell_runs_and_its_value_is_read(notebook: Notebook) -> None:
    notebook.open("x = 6 * 7", "print(x)").run_all()
    assert notebook.texts() == ["42\n"]
    assert notebook.value("[x, str(x)]") == [42, "42"]


def test_an_error_in_a_cell_is_seen(notebook: Notebook) -> None:
    notebook.open("1 / 0")
    notebook.run_cell(0)
    assert notebook.errors() == ["ZeroDivisionError: division by zero"]


def test_faults_of_the_page_are_seen(notebook: Notebook) -> None:
    notebook.open()
    assert notebook.faults() == []
    notebook.page.evaluate(
        "() => { console.error('a console error'); setTimeout(() => { throw Error('thrown') }, 0); }"
    )
    notebook.page.evaluate("() => fetch('http://192.0.2.1/').catch(() => 0) && 0")
    notebook.wait_js("() => true")
    notebook.page.wait_for_timeout(200)
    assert {fault.partition(":")[0] for fault in notebook.faults()} == {"console", "uncaught", "left the machine"}
    notebook.allow("a console error|thrown|192.0.2.1|Failed to load|ERR_")


def test_reload_keeps_outputs_and_restart_loses_state(notebook: Notebook) -> None:
    notebook.open("x = 1", "print('kept')").run_all()
    notebook.reload()
    assert notebook.texts() == ["kept\n"]
    assert notebook.value("x") == 1
    notebook.restart_kernel()
    assert notebook.value("'x' in globals()") is False


def test_the_theme_switches(notebook: Notebook) -> None:
    notebook.open("'themed'").run_all()
    notebook.set_theme("dark")
    assert notebook.page.evaluate("() => getComputedStyle(document.body).getPropertyValue('--jp-layout-color0')") != ""
    picture = notebook.screenshot("dark", ".jp-Notebook")
    assert picture.stat().st_size > 1000
