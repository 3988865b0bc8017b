"""The base of the widgets, with a test in the place of the page (tests/browser has the page)."""

from __future__ import annotations

import gc
import time
import weakref
from typing import Any

import numpy as np
import pytest
from demo_widget import Demo

from workbench.widgets import base
from workbench.widgets.commands import release_route


def test_the_snapshot_is_packed_only_when_asked_for() -> None:
    demo = Demo()
    demo.add(2)
    packed = demo.get_state("_snapshot")["_snapshot"]
    assert packed["seq"] == 1
    assert packed["content"]["values"]["shape"] == [1]
    assert np.frombuffer(packed["buffers"][0], np.float32).tolist() == [2]


def test_changes_carry_their_place_and_gaps_are_filled_by_the_snapshot(view_of: Any) -> None:
    demo = Demo()
    view = view_of(demo)
    demo.add(1)
    demo.add(2)
    assert [(m["from"], m["to"], m["body"]) for m in view.of("delta")] == [(0, 1, {"value": 1}), (1, 2, {"value": 2})]
    view.say("hello", have=2)
    assert view.states == []
    view.say("hello", have=1)
    assert [state["seq"] for state in view.states] == [2]


def test_nothing_is_sent_when_nobody_was_heard_for_a_while(view_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    demo = Demo()
    view = view_of(demo)
    monkeypatch.setattr(base, "LISTEN_S", 0.0)
    assert demo.add(1) is False
    assert view.sent == []
    monkeypatch.setattr(base, "LISTEN_S", 5.0)
    view.say("ping")
    assert view.of("pong") == [{"k": "pong", "seq": 1}], "the view sees that it missed something, and asks"
    assert demo.add(2) is True


def test_a_body_that_costs_is_made_only_for_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    demo = Demo()
    monkeypatch.setattr(base, "LISTEN_S", 0.0)
    demo.publish(lambda: pytest.fail("nobody listens"))


def test_a_question_is_answered_off_the_main_thread_with_buffers(view_of: Any) -> None:
    view = view_of(Demo())
    view.say("ask", id="page:1", question="sum", arguments={"n": 4})
    answer = view.wait("answer")[0]
    assert answer["id"] == "page:1"
    assert answer["body"]["sum"] == 6
    buffers = next(buffers for content, buffers in view.sent if content["k"] == "answer")
    assert np.frombuffer(buffers[0], np.int32).tolist() == [0, 1, 4, 9]


def test_errors_are_answers_too(view_of: Any) -> None:
    view = view_of(Demo())
    view.say("ask", id="1", question="sum", arguments={"n": -1})
    view.say("ask", id="2", question="other")
    view.say("ask", id="3", question="sum", arguments={"wrong": 1}, client="another page")
    found = {answer["id"]: answer["error"] for answer in view.wait("answer", 3)}
    assert "expected n >= 0; got -1" in found["1"]
    assert "does not answer 'other'" in found["2"]
    assert "wrong" in found["3"]


def test_a_newer_ask_ends_the_older_one_and_cancel_the_newest(view_of: Any) -> None:
    demo = Demo()
    view = view_of(demo)
    view.say("ask", id="1", question="sum", arguments={"n": 100_000})
    view.wait("progress")
    view.say("ask", id="2", question="sum", arguments={"n": 200_000})
    assert view.wait("answer")[0] == {"k": "answer", "id": "1", "cancelled": True}
    view.say("cancel", id="2")
    assert view.wait("answer", 2)[1] == {"k": "answer", "id": "2", "cancelled": True}


def test_commands_are_obeyed_and_answered_on_a_thread_of_their_own(view_of: Any) -> None:
    demo = Demo()
    view = view_of(demo)
    view.say("command", id="1", name="stop")
    assert view.wait("done") == [{"k": "done", "id": "1", "error": None}]
    assert demo.commands_on == ["workbench-command"]
    view.say("command", id="2", name="explode")
    assert "no command 'explode'" in view.wait("done", 2)[1]["error"]


def test_messages_that_are_none_are_ignored(view_of: Any) -> None:
    demo = Demo()
    demo._receive("nonsense", [])
    view_of(demo).say("unheard of")


def test_the_route_of_a_comm_is_left_to_the_front_end() -> None:
    class Comm:
        _reply_subshell_id = None

    comm = Comm()
    comm._reply_subshell_id = "main"
    release_route(comm)
    assert "_reply_subshell_id" not in vars(comm)
    release_route(None)


def test_the_bundle_has_a_picture_and_words_beside_the_view() -> None:
    demo = Demo()
    demo.add(3)
    data, _ = demo._repr_mimebundle_()
    assert data["text/html"] == "<p class='demo-static'>static: 3</p>"
    assert data["text/plain"] == "Demo of 1 numbers"
    assert "application/vnd.jupyter.widget-view+json" in data


def test_a_picture_that_fails_does_not_hide_the_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    demo = Demo()
    monkeypatch.setattr(Demo, "static_html", lambda self: 1 / 0)
    data, _ = demo._repr_mimebundle_()
    assert "could not be drawn" in data["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in data


def test_a_closed_widget_shows_its_picture() -> None:
    demo = Demo()
    demo.close()
    data, _ = demo._repr_mimebundle_()
    assert sorted(data) == ["text/html", "text/plain"]


def test_a_closed_widget_is_freed() -> None:
    demo = Demo()
    gone = weakref.ref(demo)
    demo.close()
    del demo
    deadline = time.monotonic() + 5
    while gone() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    assert gone() is None
