"""The bookkeeping of batches on order: who makes which, in which slot, and what may be delivered next.

Pure state without locks, sockets or threads: the remote source guards it. Slots are the credits: a request is given out
together with a free slot, so that samplers never run further ahead than there are slots. A request that was given to a
sampler which is lost goes back to the head of the queue, and its slot is free again: the batch that is wanted next
can always be given out.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from workbench.gather import BatchRequest

Answer = TypeVar("Answer")


@dataclass(slots=True)
class RequestBoard(Generic[Answer]):
    """Orders of batches.

    Parameters
    ----------
    requests : iterator of BatchRequest
        In the order in which batches are to be delivered; read as slots become free.
    num_slots : int
    """

    requests: Iterator[BatchRequest]
    num_slots: int
    _free: list[int] = field(init=False)
    _again: list[tuple[int, BatchRequest]] = field(default_factory=list)
    _given: dict[int, tuple[int, BatchRequest, object]] = field(default_factory=dict)
    _answers: dict[int, tuple[int, Answer]] = field(default_factory=dict)
    _next_number: int = 0
    _next_wanted: int = 0
    _exhausted: bool = False

    def __post_init__(self) -> None:
        self._free = list(range(self.num_slots))

    @property
    def filled(self) -> int:
        """Return how many answers wait."""
        return len(self._answers)

    @property
    def done(self) -> bool:
        """Say whether everything was delivered."""
        return self._exhausted and not (self._again or self._given or self._answers)

    def give(self, taker: object) -> tuple[int, int, BatchRequest] | None:
        """Return (number, slot, request) for a taker, or None where no slot or no request is free."""
        if not self._free:
            return None
        if self._again:
            number, request = heapq.heappop(self._again)
        else:
            following = next(self.requests, None)
            if following is None:
                self._exhausted = True
                return None
            number, request = self._next_number, following
            self._next_number += 1
        slot = self._free.pop()
        self._given[number] = (slot, request, taker)
        return number, slot, request

    def answer(self, number: int, taker: object, answer: Answer) -> bool:
        """Note an answer; False where that request is not this taker's any more."""
        if number not in self._given or self._given[number][2] != taker:
            return False
        slot, _, _ = self._given.pop(number)
        self._answers[number] = (slot, answer)
        return True

    def lose(self, taker: object) -> list[int]:
        """Take back everything from a taker; return the slots that it may still write to, free again."""
        numbers = [number for number, (_, _, holder) in self._given.items() if holder == taker]
        slots = []
        for number in numbers:
            slot, request, _ = self._given.pop(number)
            heapq.heappush(self._again, (number, request))
            self._free.append(slot)
            slots.append(slot)
        return slots

    def slot_of(self, number: int) -> int:
        """Return the slot into which a request's batch goes."""
        return self._given[number][0]

    def holder(self) -> object | None:
        """Return who has the request that is wanted next, or None."""
        entry = self._given.get(self._next_wanted)
        return None if entry is None else entry[2]

    def deliver(self) -> tuple[int, Answer] | None:
        """Return (slot, answer) of the batch that is next, or None; the slot is the reader's until ``release``."""
        if self._next_wanted not in self._answers:
            return None
        slot, answer = self._answers.pop(self._next_wanted)
        self._next_wanted += 1
        return slot, answer

    def release(self, slot: int) -> None:
        """Let a slot be filled again."""
        self._free.append(slot)
