"""Commands: what a view tells the kernel to do, also while a cell runs.

JupyterLab sends messages of widgets to a *subshell*, a thread of its own, but ipykernel (7.4 on) answers a comm on the
shell that last published on it: a widget made in a cell would be heard only after every running cell has ended.
So what we publish leaves no such mark (:func:`release_route`), it goes out in the context of the message that it
answers, and the view's ``ping`` is answered inside its handler, which moves the comm to the subshell where the mark
cannot be removed. Handlers run on any thread, at the same time as a cell: they only hand over work.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping
from typing import Any

from workbench.widgets.asks import error_text


def command(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a method as the one that obeys the command `name`: ``method(self, **arguments)``; it may block."""

    def mark(method: Callable[..., Any]) -> Callable[..., Any]:
        method.obeys_command = name  # type: ignore[attr-defined]
        return method

    return mark


def release_route(comm: Any) -> None:
    """Let the front end choose the shell that hears this comm, instead of the one that published last."""
    vars(comm).pop("_reply_subshell_id", None) if hasattr(comm, "__dict__") else None


def marked(cls: type, attribute: str) -> dict[str, str]:
    """Return {mark: method name} of the methods of a class, and its bases, that carry a mark."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            mark = getattr(value, attribute, None) if callable(value) else None
            if isinstance(mark, str):
                found[mark] = name
    return found


def obey(
    method: Callable[..., Any], arguments: Mapping[str, Any], done: Callable[[str | None], None]
) -> threading.Thread:
    """Run a command on a short thread of its own, in the context of the message, and call ``done(error or None)``."""
    context = contextvars.copy_context()

    def run() -> None:
        try:
            method(**arguments)
        except Exception as error:
            done(error_text(error))
        else:
            done(None)

    thread = threading.Thread(target=context.run, args=(run,), name="workbench-command", daemon=True)
    thread.start()
    return thread
