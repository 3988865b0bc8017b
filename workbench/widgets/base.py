"""WorkbenchWidget: what all widgets share. The kernel computes, the view draws.

What travels (see ``src/lib/connection.js`` for the other half):

==========  ================================================  =================================================
direction   message                                           meaning
==========  ================================================  =================================================
to kernel   ``hello {client, have}``, ``ping {client, have}``  a view is there, and has state number `have`
to kernel   ``ask {id, client, question, arguments, key}``    answer this; the newest ask of a question and key wins
to kernel   ``nudge {}``                                      nothing: it only keeps the line awake
to kernel   ``cancel {id}``                                   nobody waits for that answer any more
to kernel   ``command {id, name, arguments}``                 do this, also while a cell runs
to view     ``delta {from, to, body}``                        what changed between two states
to view     ``progress {id, fraction, text}``                 how far an answer is
to view     ``answer {id, body}`` or ``{id, error}``          the answer, or what was wrong
to view     ``done {id, error}``                              the command was obeyed, or why not
to view     ``pong {seq}``                                    the kernel lives; its state has this number
==========  ================================================  =================================================

The whole state is the trait ``_snapshot``, packed only when a page asks for it: on display, reload, second tab, gap.
"""

from __future__ import annotations

import contextvars
import html
import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from workbench.widgets.asks import Ask, AskCancelledError, AskQueue, Progress, error_text
from workbench.widgets.commands import marked, obey, release_route
from workbench.widgets.transport import encode

logger = logging.getLogger(__name__)

LISTEN_S = 5.0  # no word from any view for this long: nobody listens, nothing is sent


def asset(name: str) -> str:
    """Return the text of a built file of the widgets.

    The text and not its path: anywidget watches a path for changes, and would keep every widget alive with it.
    """
    return (Path(__file__).parent / "static" / name).read_text(encoding="utf-8")


class WorkbenchWidget(anywidget.AnyWidget):
    """Base of the widgets; a subclass sets ``_esm = asset("name.js")`` and overrides what it needs.

    A subclass implements :meth:`snapshot`, marks methods with ``@answers("question")`` and ``@command("name")``, calls
    :meth:`publish` when its state changes, and gives :meth:`static_html` and :meth:`text_summary`. State that
    `snapshot` reads must exist before ``super().__init__()`` is called.
    """

    _client_uid = traitlets.Unicode().tag(sync=True)
    _live = traitlets.Bool(False).tag(sync=True)  # a live widget is pinged often enough to be seen to be stale
    _snapshot = traitlets.Any(None, allow_none=True).tag(
        sync=True, to_json=lambda _value, widget: widget._pack(), from_json=lambda _value, _widget: None
    )

    _beside: frozenset[str] = frozenset()  # questions that are answered beside the others, each on a thread of its own
    _answers: Mapping[str, str] = {}
    _commands: Mapping[str, str] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._answers = marked(cls, "answers_question")
        cls._commands = marked(cls, "obeys_command")

    def __init__(self, **traits: Any) -> None:
        self.state_lock = threading.RLock()
        self._seq = 0
        self._heard_s = time.monotonic()
        self._view_context: contextvars.Context | None = None
        self._display_handles: list[Any] = []
        self._clients: set[str] = set()
        self._queue = AskQueue(self._answer)
        self._queues_beside = {question: AskQueue(self._answer) for question in self._beside}
        super().__init__(_client_uid=uuid.uuid4().hex, **traits)
        self.on_msg(WorkbenchWidget._receive)

    # -- what a subclass gives ----------------------------------------------------------------------------------

    def snapshot(self) -> Mapping[str, Any]:
        """Return the whole state as JSON values, NumPy arrays and bytes."""
        return {}

    def static_html(self) -> str:
        """Return a picture without scripts (HTML and SVG), for saved notebooks and for views without a kernel."""
        return f"<p>{html.escape(self.text_summary())}</p>"

    def text_summary(self) -> str:
        """Return the same in words."""
        return type(self).__name__

    # -- state to the views -------------------------------------------------------------------------------------

    @property
    def listening(self) -> bool:
        """True while some view was heard from in the last seconds."""
        return time.monotonic() - self._heard_s < LISTEN_S

    def publish(self, body: Mapping[str, Any] | Callable[[], Mapping[str, Any]]) -> bool:
        """Send what changed; return False where nobody listens (a view that returns asks for the snapshot).

        Change the state and publish it in one ``with widget.state_lock``, so that no snapshot falls between. A
        function as `body` is called only when somebody listens.
        """
        with self.state_lock:
            self._seq += 1
            if not self.listening:
                return False
            content, buffers = encode(body() if callable(body) else body)
            message = {"k": "delta", "from": self._seq - 1, "to": self._seq, "body": content}
            self._in_view_context(self.send, message, buffers)
        return True

    def refresh(self) -> None:
        """Send the whole state again, after a change that is not worth a delta."""
        with self.state_lock:
            self._seq += 1
            if self.listening:
                self._in_view_context(self.send_state, "_snapshot")

    def _pack(self) -> dict[str, Any]:
        with self.state_lock:
            content, buffers = encode(self.snapshot())
            return {"seq": self._seq, "content": content, "buffers": buffers}

    def _in_view_context(self, function: Callable[..., Any], *arguments: Any) -> None:
        if self._view_context is None:
            function(*arguments)
        else:
            self._view_context.copy().run(function, *arguments)

    def _send(self, msg: Any, buffers: Any = None) -> None:
        super()._send(msg, buffers)
        release_route(self.comm)

    def open(self) -> None:
        super().open()
        release_route(self.comm)

    # -- messages from the views --------------------------------------------------------------------------------

    def _receive(self, content: Any, _buffers: Any) -> None:
        if not isinstance(content, Mapping):
            return
        self._heard_s = time.monotonic()
        self._clients.add(str(content.get("client")))
        self._view_context = contextvars.copy_context()
        kind = content.get("k")
        if kind == "ping":
            self.send({"k": "pong", "seq": self._seq})
        elif kind == "hello" and content.get("have") != self._seq:
            self.send_state("_snapshot")
        elif kind == "ask":
            self._receive_ask(content)
        elif kind == "cancel":
            self._tell_cancelled(self._cancel_asks(str(content.get("id"))))
        elif kind == "command":
            self._receive_command(content)

    def _receive_ask(self, content: Mapping[str, Any]) -> None:
        ask_id = str(content["id"])
        ask = Ask(
            id=ask_id,
            client=str(content.get("client")),
            question=str(content["question"]),
            arguments=dict(content.get("arguments") or {}),
            key=str(content.get("key") or ""),
            progress=Progress(lambda fraction, text: self._send_progress(ask_id, fraction, text)),
        )
        self._tell_cancelled(self._queues_beside.get(ask.question, self._queue).put(ask))

    def _cancel_asks(self, ask_id: str | None = None) -> list[Ask]:
        """Cancel one ask, or all; return those that had not begun."""
        return [ask for queue in (self._queue, *self._queues_beside.values()) for ask in queue.cancel(ask_id)]

    def _send_progress(self, ask_id: str, fraction: float, text: str) -> None:
        self.send({"k": "progress", "id": ask_id, "fraction": fraction, "text": text})

    def _tell_cancelled(self, asks: list[Ask]) -> None:
        for ask in asks:
            self.send({"k": "answer", "id": ask.id, "cancelled": True})

    def _answer(self, ask: Ask) -> None:
        """Answer one ask, on the worker thread; an error is an answer too."""
        message: dict[str, Any] = {"k": "answer", "id": ask.id}
        buffers: list[memoryview] = []
        try:
            method = self._answers.get(ask.question)
            if method is None:
                raise LookupError(f"{type(self).__name__} does not answer {ask.question!r}")
            message["body"], buffers = encode(getattr(self, method)(ask.progress, **ask.arguments))
        except AskCancelledError:
            message["cancelled"] = True
        except Exception as error:
            message["error"] = error_text(error)
        if self.comm is not None:
            self.send(message, buffers)

    def _receive_command(self, content: Mapping[str, Any]) -> None:
        def done(error: str | None) -> None:
            self.send({"k": "done", "id": content.get("id"), "error": error})

        method = self._commands.get(str(content.get("name")))
        if method is None:
            done(f"{type(self).__name__} has no command {content.get('name')!r}")
        else:
            obey(getattr(self, method), dict(content.get("arguments") or {}), done)

    # -- display ------------------------------------------------------------------------------------------------

    def _static_bundle(self) -> dict[str, str]:
        """Return the picture and the words; a fault in the picture must not hide the widget."""
        try:
            picture, words = self.static_html(), self.text_summary()
        except Exception:
            logger.exception("the static picture of %s failed", type(self).__name__)
            picture = words = f"{type(self).__name__} (its static picture could not be drawn; the log says why)"
        return {"text/html": picture, "text/plain": words}

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if self.comm is None:  # closed: the picture is what is left
            return dict(self._static_bundle()), {}
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, **self._static_bundle()}, metadata

    def _ipython_display_(self) -> None:
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        handle = display(data, raw=True, metadata=metadata, display_id=True)
        if handle is not None:
            self._display_handles.append(handle)

    def freeze(self) -> None:
        """Replace every displayed view by the static picture, so that the saved notebook shows it without a kernel.

        It reaches the outputs of pages that were not reloaded since; a reloaded page keeps its live view.
        """
        bundle = self._static_bundle()
        for handle in self._display_handles:
            handle.update(bundle, raw=True)

    @property
    def num_pages(self) -> int:
        """Return how many pages have shown it so far; a reload counts again."""
        return len(self._clients)

    def close(self) -> None:
        """Free the widget: its views go, whatever it computes is cancelled. Displayed again, it is a picture."""
        if hasattr(self, "_queue"):
            self._cancel_asks()
        super().close()
        vars(self).pop("_repr_mimebundle_", None)  # ipywidgets puts None there
