import threading

import pytest

from workbench.core.errors import Finding, InputError
from workbench.widgets.asks import Ask, AskCancelledError, AskQueue, Progress, error_text


def ask(number: int, question: str = "q", client: str = "a", key: str = "") -> Ask:
    return Ask(id=str(number), client=client, question=question, arguments={}, progress=Progress(), key=key)


class Blocking:
    """An answerer that stands still in its first ask until `go` is set."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.cancelled: list[str] = []
        self.begun, self.go, self.done = threading.Event(), threading.Event(), threading.Semaphore(0)

    def __call__(self, one: Ask) -> None:
        self.begun.set()
        assert self.go.wait(10)
        self.seen.append(one.id)
        if one.progress.cancelled:
            self.cancelled.append(one.id)
        self.done.release()

    def wait(self, count: int) -> None:
        for _ in range(count):
            assert self.done.acquire(timeout=10)


def test_the_newest_ask_of_a_question_wins() -> None:
    answer = Blocking()
    queue = AskQueue(answer)
    assert queue.put(ask(1)) == []
    assert answer.begun.wait(10)
    assert queue.put(ask(2)) == []
    assert [old.id for old in queue.put(ask(3))] == ["2"]
    answer.go.set()
    answer.wait(2)
    assert answer.seen == ["1", "3"]
    assert answer.cancelled == ["1"]


def test_other_questions_and_other_pages_are_not_disturbed() -> None:
    answer = Blocking()
    queue = AskQueue(answer)
    queue.put(ask(1))
    assert answer.begun.wait(10)
    assert queue.put(ask(2, "other")) == queue.put(ask(3, client="b")) == []
    answer.go.set()
    answer.wait(3)
    assert (answer.seen, answer.cancelled) == (["1", "2", "3"], [])


def test_views_that_ask_by_keys_of_their_own_do_not_replace_one_another() -> None:
    answer = Blocking()
    queue = AskQueue(answer)
    queue.put(ask(1, key="left"))
    assert answer.begun.wait(10)
    assert queue.put(ask(2, key="right")) == queue.put(ask(3, key="left")) == []
    assert [old.id for old in queue.put(ask(4, key="right"))] == ["2"]
    answer.go.set()
    answer.wait(3)
    assert (answer.seen, answer.cancelled) == (["1", "3", "4"], ["1"])


def test_cancelling_reaches_what_waits_and_what_runs() -> None:
    answer = Blocking()
    queue = AskQueue(answer)
    queue.put(ask(1))
    assert answer.begun.wait(10)
    queue.put(ask(2, "other"))
    assert [gone.id for gone in queue.cancel()] == ["2"]
    answer.go.set()
    answer.wait(1)
    assert answer.cancelled == ["1"]


def test_no_thread_is_left_when_nothing_waits() -> None:
    def answers_alive() -> bool:
        return any(thread is worker for thread in threading.enumerate())

    done = threading.Event()
    queue = AskQueue(lambda _: done.set())
    queue.put(ask(1))
    worker = queue._thread
    assert done.wait(10)
    if worker is not None:
        worker.join(10)
    assert not answers_alive()
    done.clear()
    queue.put(ask(2))
    assert done.wait(10), "and a new one starts with the next ask"


def test_progress_tells_at_most_four_times_a_second_and_always_the_end() -> None:
    told: list[float] = []
    progress = Progress(lambda fraction, _: told.append(fraction))
    for i in range(1001):
        progress.report(i / 1000)
    assert told[0] == 0
    assert told[-1] == 1
    assert len(told) < 20


def test_a_cancelled_ask_leaves_its_handler() -> None:
    progress = Progress()
    progress.raise_if_cancelled()
    progress.cancel()
    with pytest.raises(AskCancelledError):
        progress.raise_if_cancelled()


def test_errors_of_a_person_keep_their_words_and_others_their_type() -> None:
    error = InputError("sum", [Finding(where="n", expected="n >= 0", got="-1", fix="ask for 0")])
    assert "expected n >= 0; got -1" in error_text(error)
    assert error_text(KeyError("x")) == "KeyError: 'x'"
