"""The slower sections of the neighbourhood explorer, measured one after the other on a thread of their own."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Cancelled
from workbench.partition import Partition, partition
from workbench.sampling.access import batch_access, degree_spread, load_imbalance
from workbench.sampling.access_parts import part_access
from workbench.sampling.explosion_profile import hub_ablation, iter_saturation
from workbench.sampling.explosion_reach import reach
from workbench.sampling.explosion_sizes import iter_seed_sizes
from workbench.widgets.asks import Ask, AskQueue, Progress, error_text
from workbench.widgets.neighborhood_pack import (
    MAX_WHOLE_GRAPH_EDGES,
    pack_access,
    pack_hubs,
    pack_parts,
    pack_reach,
    pack_saturation,
    pack_sizes,
)

if TYPE_CHECKING:
    from workbench.graph import Graph

PUBLISH_EVERY_S = 0.3
MAX_HOLD_S = 1.0  # what is urgent takes milliseconds; whatever goes wrong there must not stop the rest for good
EDGE_READS = 4e8  # budget of the saturation curves: a second or two on one core
SAMPLED_BATCHES = 10  # of each size, for the saturation curves
NUM_SEEDS = 1000  # measured one by one for the sizes
DETAILS = ("component", "reach", "access", "sizes", "parts", "hubs", "saturation")
NUM_PARTS = 8
MAX_METIS_EDGES = 4_000_000  # above, parts come from a method that reads the edges once


class Details:
    """Measures what is missing or out of date, newest settings first; tells every result through `publish`.

    Parameters
    ----------
    graph : Graph
    publish : callable
        ``publish(name, value)`` with a name of ``DETAILS`` and JSON; ``{"error": text}`` where it failed.
    report : callable
        ``report(name, fraction, text)``: how far it is; a fraction of 1 ends it.
    """

    def __init__(
        self,
        graph: Graph,
        publish: Callable[[str, Mapping[str, Any]], None],
        report: Callable[[str, float, str], None],
        rng_seed: int,
    ) -> None:
        self.graph, self.rng_seed = graph, rng_seed
        self._publish, self._report = publish, report
        self._queue = AskQueue(self._answer)
        self._done: dict[str, Any] = {}
        self._partition: Partition | None = None
        self._free, self._lock, self._holders = threading.Event(), threading.Lock(), 0
        self._free.set()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Pause the measuring while something that a person waits for is computed."""
        self._hold(1)
        try:
            yield
        finally:
            self._hold(-1)

    def _hold(self, by: int) -> None:
        with self._lock:
            self._holders += by
            self._free.clear() if self._holders else self._free.set()

    def request(self, fanouts: tuple[int, ...], seeds: NDArray[np.int64], *, is_random: bool) -> None:
        """Ask for every detail that was not measured for these settings."""
        wanted = {
            "component": (),
            "reach": (seeds.size, hash(seeds.tobytes())),
            "access": (fanouts, is_random, seeds.size, hash(seeds.tobytes())),
            "parts": (fanouts, seeds.size, hash(seeds.tobytes())),
            "sizes": (),
            "hubs": (),
            "saturation": fanouts,
        }
        arguments = {"fanouts": fanouts, "seeds": seeds, "is_random": is_random}
        for name, key in wanted.items():
            if self._done.get(name, self) == key:
                continue
            self._done[name] = key
            progress = _Patient(self._free, lambda fraction, text, name=name: self._report(name, fraction, text))
            self._queue.put(
                Ask(id=_id(name, key), client="details", question=name, arguments=arguments, progress=progress)
            )

    def cancel(self) -> None:
        """Stop; what was not finished is measured again on the next request."""
        for ask in self._queue.cancel():
            self._forget(ask)

    def _forget(self, ask: Ask) -> None:
        if _id(ask.question, self._done.get(ask.question)) == ask.id:  # no newer one was asked for
            del self._done[ask.question]
            self._report(ask.question, 1.0, "")

    def _answer(self, ask: Ask) -> None:
        try:
            getattr(self, f"_{ask.question}")(ask.progress, **ask.arguments)
        except Exception as error:
            self._publish(ask.question, {"error": error_text(error)})
        if ask.progress.cancelled:
            self._forget(ask)
        else:
            self._report(ask.question, 1.0, "")

    def _component(self, progress: Progress, **_settings: Any) -> None:
        if self.graph.num_edges > MAX_WHOLE_GRAPH_EDGES:
            self._publish("component", {"error": f"not measured above {MAX_WHOLE_GRAPH_EDGES:,} edges"})
            return
        stats = self.graph.stats()
        found = {"largest": stats.largest_component, "num_components": stats.num_components}
        self._publish("component", {**found, "symmetric": self.graph.is_symmetric()})

    def _reach(self, progress: Progress, *, seeds: NDArray[np.int64], **_settings: Any) -> None:
        self._publish("reach", pack_reach(self.graph, reach(self.graph, seeds), seeds.size))

    def _parts(
        self, progress: Progress, *, fanouts: tuple[int, ...], seeds: NDArray[np.int64], **_settings: Any
    ) -> None:
        if self.graph.num_edges > MAX_WHOLE_GRAPH_EDGES:
            self._publish("parts", {"error": f"not measured above {MAX_WHOLE_GRAPH_EDGES:,} edges"})
            return
        if self._partition is None:
            method = "metis" if self.graph.num_edges <= MAX_METIS_EDGES else "ldg"
            progress.report(0.0, f"dividing the graph into {NUM_PARTS} parts")
            num_parts = min(NUM_PARTS, self.graph.num_nodes)
            try:
                self._partition = partition(self.graph, num_parts, method, cancel=_Signal(progress))
            except Cancelled:
                return
        found = part_access(self.graph, seeds, fanouts, self._partition.assignment, rng_seed=self.rng_seed)
        self._publish("parts", pack_parts(found, self._partition.method))

    def _access(
        self, progress: Progress, *, fanouts: tuple[int, ...], seeds: NDArray[np.int64], is_random: bool
    ) -> None:
        batch = batch_access(self.graph, seeds, fanouts, rng_seed=self.rng_seed)
        load = load_imbalance(
            self.graph,
            None if is_random else seeds,
            num_seeds=seeds.size,
            fanouts=fanouts,
            num_batches=5 if is_random else 1,
            rng_seed=self.rng_seed,
        )
        self._publish("access", pack_access(self.graph, degree_spread(self.graph), batch, load))

    def _sizes(self, progress: Progress, **_settings: Any) -> None:
        shown = -math.inf
        for found in iter_seed_sizes(
            self.graph, num_seeds=NUM_SEEDS, rng_seed=self.rng_seed, cancelled=lambda: progress.cancelled
        ):
            done, total = len(found.sizes), min(NUM_SEEDS, self.graph.num_nodes)
            now = time.monotonic()
            if done and (now - shown > PUBLISH_EVERY_S or done == total or progress.cancelled):
                shown = now
                self._publish("sizes", pack_sizes(self.graph, found))
            progress.report(done / total, f"{done:,} of {total:,} seeds")

    def _hubs(self, progress: Progress, **_settings: Any) -> None:
        found = hub_ablation(
            self.graph,
            rng_seed=self.rng_seed,
            progress=lambda done, total: progress.report(done / total, f"{done} of {total} rows"),
            cancelled=lambda: progress.cancelled,
        )
        if found.num_hubs:
            self._publish("hubs", pack_hubs(self.graph, found))

    def _saturation(self, progress: Progress, *, fanouts: tuple[int, ...], **_settings: Any) -> None:
        orders = int(np.clip(EDGE_READS / max(self.graph.num_edges * len(fanouts), 1), 20, 200))
        shown = 0.0
        curves = iter_saturation(
            self.graph, fanouts=fanouts, num_orders=orders, num_batches=SAMPLED_BATCHES, rng_seed=self.rng_seed
        )
        for found in curves:
            now = time.monotonic()
            if now - shown > PUBLISH_EVERY_S or found.num_orders == orders or progress.cancelled:
                shown = now
                self._publish("saturation", pack_saturation(found, fanouts))
            if progress.cancelled:
                return
            progress.report(found.num_orders / orders, f"{found.num_orders} of {orders} orders of the seeds")


class _Patient(Progress):
    """Progress that waits, whenever it is asked whether to go on, until nothing more urgent runs."""

    def __init__(self, free: threading.Event, send: Callable[[float, str], None]) -> None:
        super().__init__(send)
        self._free = free

    @property
    def cancelled(self) -> bool:
        self._free.wait(MAX_HOLD_S)
        return super().cancelled


class _Signal:
    """An ask's progress as the cancel signal of long work."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def is_set(self) -> bool:
        return self._progress.cancelled


def _id(name: str, key: Any) -> str:
    return f"{name}:{key}"
