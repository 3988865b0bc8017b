"""NeighborhoodExplorer: why sampling is needed, and what a fanout costs, on the graph at hand."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from workbench.core.errors import InputError
from workbench.sampling.explosion_record import Explosion
from workbench.sampling.explosion_seeds import seeds_by_degree
from workbench.sampling.tree import computation_tree
from workbench.widgets.asks import Progress, answers, error_text
from workbench.widgets.base import WorkbenchWidget, asset
from workbench.widgets.commands import command
from workbench.widgets.neighborhood_details import Details
from workbench.widgets.neighborhood_measure import Background, Measuring
from workbench.widgets.neighborhood_pack import pack_graph, pack_result, pack_tree
from workbench.widgets.neighborhood_settings import (
    MAX_DEPTH,
    NEIGHBORS,
    Settings,
    changed,
    check_explorable,
    label_of,
    seeds_as_changes,
    unknown_node,
)
from workbench.widgets.neighborhood_static import static_page

if TYPE_CHECKING:
    from workbench.graph import Graph

PUBLISH_EVERY_S = 0.25
WAIT_FOR_EXACT_S = 0.5  # a saved notebook should show exact numbers where they come that fast
SEND_S = 0.01  # in which the answer leaves, before the interpreter is kept busy again
TYPICAL_PERCENTILE = 99.0  # of the degree: a seed whose tree is worth looking at


class NeighborhoodExplorer(WorkbenchWidget):
    """Explore what batches of a graph read, hop by hop: with all neighbours, and with sampled ones.

    Every control has its attribute here: set it, and the view follows; use the view, and it changes. The first
    batch is measured at once; ``result`` becomes exact (``not result.is_estimate``) a moment later.

    Parameters
    ----------
    graph : Graph
        At least one node; names and features are optional.
    seeds : str, int or array_like
        ``"random"``, ``"hub"``, ``"median"`` or ``"percentile"`` (of the in-degree), a node's name or id, or ids.
    depth : int, optional
        Hops, 1 to 5; default the number of fanouts, else 3.
    fanouts : sequence of int, optional
        Neighbours drawn a node and hop, -1 = all; default (15, 10, 5).
    batch_size : int
        Seeds of a batch; given ids are a batch of their own.
    rng_seed : int
        Of every random choice.

    Attributes
    ----------
    depth, fanouts, batch_size, seed_nodes, percentile, neighbors, seed_choice
        The controls; ``seed_nodes`` are those of the first batch.
    result, tree_node : Explosion, int
        The newest counts; the root of the computation tree.
    """

    _esm = asset("neighborhood.js")

    depth = traitlets.Int(3, min=1, max=MAX_DEPTH)
    fanouts = traitlets.Tuple((15, 10, 5))
    batch_size = traitlets.Int(1024, min=1)
    seed_choice = traitlets.Unicode("random")
    percentile = traitlets.Float(90.0, min=0, max=100)
    neighbors = traitlets.Enum(NEIGHBORS, "all")
    seed_nodes = traitlets.Any(None, allow_none=True)
    result = traitlets.Any(None, allow_none=True)
    tree_node = traitlets.Int(0)

    def __init__(
        self,
        graph: Graph,
        *,
        seeds: Any = "random",
        depth: int | None = None,
        fanouts: Sequence[int] | None = None,
        batch_size: int = 1024,
        rng_seed: int = 0,
    ) -> None:
        check_explorable(graph)
        self.graph, self.rng_seed = graph, rng_seed
        changes: dict[str, Any] = {"batch_size": batch_size, **seeds_as_changes(seeds)}
        if fanouts is not None:
            changes["fanouts"] = tuple(fanouts)
        if depth is not None or fanouts is not None:
            changes["depth"] = depth if depth is not None else len(tuple(fanouts or ()))
        self._settings = changed(Settings(nodes=np.zeros(0, np.int64)), graph, changes)
        self._seeds = self._settings.seeds(graph, rng_seed)
        self._tree: dict[str, Any] = {}
        self._found: dict[str, Any] = {}
        self._facts = pack_graph(graph)
        self._measuring = Measuring(graph, rng_seed)
        self._measured = self._measuring.at_once(self._settings, self._seeds)
        self._status = "estimating"
        self._syncing, self._viewed, self._stopped = True, False, False
        self._is_exact = threading.Event()
        self._shown_s = 0.0
        self._details = Details(graph, self._publish_detail, self._publish_busy, rng_seed)
        self._background = Background(self._measuring, self._take, self._request_details, self._publish_trouble)
        super().__init__()
        self.tree_node = int(seeds_by_degree(graph, TYPICAL_PERCENTILE)[0])
        self._keep(self._measured)
        self._sync_traits()
        self._draw_tree(self._root(), 0)
        self._measure_rest(again=True)

    # -- from Python --------------------------------------------------------------------------------------------

    @traitlets.observe("depth", "fanouts", "batch_size", "seed_choice", "percentile", "neighbors", "seed_nodes")
    def _on_trait(self, change: Any) -> None:
        if self._syncing:
            return
        name, value = change["name"], change["new"]
        changes = {{"seed_choice": "choice", "seed_nodes": "nodes"}.get(name, name): value}
        changes |= {"seed_nodes": {"choice": "given"}, "fanouts": {"depth": np.size(value)}}.get(name, {})
        try:
            settings = changed(self._settings, self.graph, changes)
        except InputError:
            self._sync_traits()
            raise
        self._tell_cancelled(self._queue.cancel())
        self._change(settings, Progress())

    # -- from the views -----------------------------------------------------------------------------------------

    @answers("explore")
    def _explore(self, progress: Progress, **changes: Any) -> Mapping[str, Any]:
        """Change the settings, show an estimate at once and exact numbers as they come."""
        try:
            settings = changed(self._settings, self.graph, changes)
        except InputError:
            if "node" not in changes:
                raise
            return unknown_node(self.graph, str(changes["node"]).strip())
        self._viewed, self._stopped = True, False
        self._change(settings, progress)
        return {}

    @answers("tree")
    def _redraw(self, progress: Progress, *, node: int | None = None, draw: int = 0) -> Mapping[str, Any]:
        """Draw the computation tree again, of the same or of another node."""
        self._draw_tree(self.tree_node if node is None else int(node), draw)
        return {}

    @command("cancel")
    def _cancel(self) -> None:
        """Stop measuring; what was found so far stays."""
        self._tell_cancelled(self._queue.cancel())
        self._background.cancel()
        self._details.cancel()
        with self.state_lock:
            self._stopped = True
            self._status = "exact" if self._is_exact.is_set() else "cancelled"
            self.publish({"status": self._status, "stopped": True})

    # -- measuring ----------------------------------------------------------------------------------------------

    def _change(self, settings: Settings, progress: Progress) -> None:
        """Take new settings together with what is known of them at once; the rest is measured in the background."""
        with self._details.held():
            stays, deeper = settings.measures_as(self._settings), settings.depth != self._settings.depth
            if stays:
                self._adopt(settings, self._seeds, None)
            else:
                self._background.cancel()
                seeds = settings.seeds(self.graph, self.rng_seed)
                estimate = self._measuring.at_once(settings, seeds)
                progress.raise_if_cancelled()  # a newer change came: the view has left this one already
                self._adopt(settings, seeds, estimate)
            time.sleep(SEND_S if self.listening else 0)
        if not stays or deeper:
            self._draw_tree(self._root(), int(self._tree.get("draw", 0)))
        self._measure_rest(again=not stays)

    def _adopt(self, settings: Settings, seeds: NDArray[np.int64], estimate: Explosion | None) -> None:
        """Change settings and numbers in one step and one message, so that no view shows the ones with the others."""
        with self.state_lock:
            self._settings, self._seeds = settings, seeds
            body = {} if estimate is None else {"result": pack_result(estimate)}
            if estimate is not None:
                self._is_exact.clear()
                self._keep(estimate)
            if not self._is_exact.is_set() and (estimate is not None or not self._stopped):
                self._status = "estimating"
            self._sync_traits()
            self.publish({"settings": self._pack_settings(), "status": self._status, "stopped": self._stopped, **body})

    def _keep(self, result: Explosion) -> None:
        """Take a result for the current settings."""
        self._measured = result
        self.result = result.first_hops(self._settings.depth)
        if not result.is_estimate:
            self._status = "exact"
            self._is_exact.set()

    def _measure_rest(self, *, again: bool) -> None:
        """Measure what is missing; `again` where the settings are other ones than those being measured."""
        if self._is_exact.is_set():
            self._request_details()
        elif again or not self._stopped:
            self._background.start(self._settings, self._seeds, again=again)

    def _request_details(self) -> None:
        """Measure the slower sections, where there is a view."""
        if self._viewed and not self._stopped:
            now = self._settings
            self._details.request(now.all_fanouts, self._seeds, is_random=now.choice == "random")

    def _take(self, result: Explosion, settings: Settings) -> bool:
        """Keep a result and show it (at most four a second); return False where the settings are other ones by now."""
        with self.state_lock:
            if not settings.measures_as(self._settings):
                return False
            first, ends = self._measured.sampled.num_batches == 0, not result.is_estimate
            self._keep(result)
            if first or ends or time.monotonic() - self._shown_s > PUBLISH_EVERY_S:
                self._shown_s = time.monotonic()
                self.publish({"status": self._status, "result": pack_result(result)})
            return True

    def _root(self) -> int:
        """Return the node whose computation tree belongs to the settings."""
        return self.tree_node if self._settings.choice == "random" else int(self._seeds[0])

    def _draw_tree(self, node: int, draw: int) -> None:
        tree = computation_tree(self.graph, node, fanouts=self._settings.fanouts, draw=draw, rng_seed=self.rng_seed)
        with self.state_lock:
            self._tree = pack_tree(self.graph, tree, draw, self._measuring.profile)
            self.tree_node = node
            self.publish({"tree": self._tree})

    def _sync_traits(self) -> None:
        """Let the traits say what the settings are, without hearing it."""
        settings = self._settings
        self._syncing = True
        with contextlib.ExitStack() as stack:
            stack.callback(setattr, self, "_syncing", False)
            self.depth, self.fanouts, self.neighbors = settings.depth, settings.fanouts, settings.neighbors
            self.seed_nodes, self.batch_size = self._seeds, int(self._seeds.size)
            self.seed_choice, self.percentile = settings.choice, settings.percentile
            self.result = self._measured.first_hops(settings.depth)

    def _pack_settings(self) -> dict[str, Any]:
        return {**self._settings.to_json(self.graph), "first_seed": label_of(self.graph, int(self._seeds[0]))}

    def _publish_detail(self, name: str, value: Mapping[str, Any]) -> None:
        with self.state_lock:
            self._found[name] = value
            self.publish({"details": {name: value}})

    def _publish_busy(self, name: str, fraction: float, text: str) -> None:
        self.publish({"busy": {name: [fraction, text] if fraction < 1 else None}})

    def _publish_trouble(self, error: BaseException) -> None:
        self.publish({"trouble": error_text(error)})

    # -- what the base asks for ---------------------------------------------------------------------------------

    def snapshot(self) -> Mapping[str, Any]:
        return {
            "graph": self._facts,
            "settings": self._pack_settings(),
            "status": self._status,
            "stopped": self._stopped,
            "result": pack_result(self._measured),
            "tree": self._tree or None,
            "details": self._found,
        }

    def static_html(self) -> str:
        self._is_exact.wait(WAIT_FOR_EXACT_S)
        return static_page(self._facts, self.result)

    def text_summary(self) -> str:
        return str(self.result)

    def close(self) -> None:
        for name in ("_background", "_details"):
            if (work := getattr(self, name, None)) is not None:
                work.cancel()
        super().close()
