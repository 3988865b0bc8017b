from workbench.core import display


def test_outside_a_notebook_a_run_shows_itself() -> None:
    assert display.render_run(object()) is None


def test_the_renderer_registered_last_is_used() -> None:
    before = list(display._renderers)
    try:
        display.register_run_renderer(lambda run: ("first", run))
        display.register_run_renderer(lambda run: ("second", run))
        assert display.render_run(7) == ("second", 7)
    finally:
        display._renderers[:] = before
