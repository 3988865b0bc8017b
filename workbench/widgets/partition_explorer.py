"""PartitionExplorer: what a partition costs, methods and numbers of parts side by side, on the graph at hand."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from workbench.core.errors import Cancelled
from workbench.partition import Partition
from workbench.widgets import partition_pack as pack
from workbench.widgets.asks import Ask, AskCancelledError, Progress, answers
from workbench.widgets.base import WorkbenchWidget, asset
from workbench.widgets.commands import command
from workbench.widgets.partition_bundles import pack_edges
from workbench.widgets.partition_costing import CostControls
from workbench.widgets.partition_lead import pack_costs
from workbench.widgets.partition_names import by_name
from workbench.widgets.partition_results import Choice, Made, Results, nodes_inside, roles
from workbench.widgets.partition_settings import check, check_part, check_seed, choices, first_cost, one_or_all
from workbench.widgets.partition_static import static_page, summary
from workbench.widgets.partition_words import find_node, node_facts

if TYPE_CHECKING:
    from workbench.graph import Graph

QUICK_EDGES = 1_000_000
WAIT_FOR_RESULTS_S = 2.0  # a saved notebook should show results where they come that fast


class PartitionExplorer(CostControls, WorkbenchWidget):
    """Divide a graph in several ways and see what each costs: cut, halo, balance, traffic, and whether it pays.

    Every control has its attribute here: set it, and the view follows; use the view, and it changes.

    Parameters
    ----------
    graph : Graph
        At least two nodes; names, classes and features are optional.
    num_parts : int or sequence of int
        From 2 to the number of nodes (at most 1,024); several, such as ``(2, 4, 8)``, stand side by side.
    methods : sequence of str
        Names of ``PARTITIONERS``, side by side: every method with every number of parts, at most 8 partitions. Part
        numbers follow those of the first by overlap.
    rng_seed : int
        Of every method that has one.
    width, widths : int, or sequence of int
        Hidden widths of the predicted exchange, one of the two names: ``width=64`` (the default) is a model of two
        layers, ``widths=(256, 64)`` one of three. At most 16.

    Attributes
    ----------
    num_parts, methods, rng_seed, selected_part, widths, epochs, link_gbit
        The controls, as traits: ``num_parts`` is an int, or a tuple of several; ``selected_part`` may be None;
        ``widths`` is a tuple.
    selected_nodes : int64 array
        What was selected on the map with the lasso.
    partitions : dict
        What is shown, with the part numbers that are shown: by method (``partitions["metis"]``), and by method and
        number where there are several numbers of parts (``partitions["metis", 4]``).
    """

    _esm = asset("partition_explorer.js")
    _beside = frozenset({"sketch", "map"})  # a sketch must not wait for partitions

    num_parts = traitlets.TraitType(4)  # not Any, which takes None unchecked
    methods = traitlets.Tuple(("metis", "random"))
    rng_seed = traitlets.TraitType(0)
    selected_part = traitlets.Int(None, allow_none=True)
    selected_nodes = traitlets.Any()

    def __init__(
        self,
        graph: Graph,
        num_parts: int | Sequence[int] = 4,
        methods: Sequence[str] = ("metis", "random"),
        *,
        rng_seed: int = 0,
        width: int | None = None,
        widths: int | Sequence[int] | None = None,
    ) -> None:
        methods = (methods,) if isinstance(methods, str) else tuple(methods)
        counts = check(graph, num_parts, methods)
        cost, rng_seed = first_cost(width, widths), check_seed(rng_seed)
        self.graph = graph
        self._results = Results(graph)
        self._shown: tuple[Made, ...] = ()
        self._error = ""
        self._facts = pack.pack_facts(graph)
        self._syncing, self._viewed = True, False
        self._is_ready, self._is_divided = threading.Event(), threading.Event()
        super().__init__(num_parts=one_or_all(counts), methods=methods, rng_seed=rng_seed, **cost)
        self.on_msg(self._note_view)
        self.selected_nodes = np.zeros(0, dtype=np.int64)
        self._syncing = False
        self._prepare()

    # -- from Python --------------------------------------------------------------------------------------------

    @property
    def partitions(self) -> dict[Any, Partition]:
        """What is shown; empty until it was computed."""
        return by_name(self._shown)

    @property
    def _counts(self) -> tuple[int, ...]:
        return self.num_parts if isinstance(self.num_parts, tuple) else (self.num_parts,)

    @traitlets.validate("num_parts", "rng_seed")
    def _validate_whole(self, proposal: Any) -> Any:  # 4.0 == 4, so that no change would be observed
        if proposal["trait"].name == "rng_seed":
            return check_seed(proposal["value"])
        return one_or_all(check(self.graph, proposal["value"], self.methods))

    @traitlets.observe("num_parts", "methods", "rng_seed", "selected_part")
    def _on_trait(self, change: Any) -> None:
        if self._syncing:
            return
        try:
            counts = check(self.graph, self.num_parts, self.methods)
            if change["name"] == "selected_part":
                check_part(self.selected_part, max(counts))
        except ValueError:
            self._assign(**{change["name"]: change["old"]})
            raise
        self._assign(num_parts=one_or_all(counts))
        self._drop_part()
        self._tell_cancelled(self._queue.cancel())
        self.refresh()
        self._prepare()

    def _assign(self, **values: Any) -> None:
        """Set traits without reacting to them."""
        self._syncing = True
        try:
            for name, value in values.items():
                setattr(self, name, value)
        finally:
            self._syncing = False

    def _drop_part(self) -> None:
        """Select no part where the selected one is in none of the partitions."""
        if self.selected_part is not None and self.selected_part >= max(self._counts):
            self._assign(selected_part=None)

    def _prepare(self) -> None:
        """Compute in the background, on the thread that answers the views, whether anybody looks or not."""
        self._is_ready.clear()
        self._is_divided.clear()
        progress = Progress(lambda fraction, text: self.publish({"busy": [fraction, text]}))
        self._queue.put(Ask(id="kernel", client="kernel", question="prepare", arguments={}, progress=progress))

    @answers("prepare")
    def _answer_prepare(self, progress: Progress) -> Mapping[str, Any]:
        try:
            self._divide(progress)
        except BaseException as error:
            self._error = "" if isinstance(error, AskCancelledError) else str(error)
            self._end_preparing()
            raise
        finally:
            self._is_divided.set()
        ask = Ask(id="kernel", client="kernel", question="prepare_map", arguments={}, progress=progress)
        self._queues_beside["map"].put(ask)  # the views need not wait for it to see the partitions
        return {}

    def _end_preparing(self) -> None:
        self._is_ready.set()
        self.publish({"busy": None})

    @answers("prepare_map")
    def _answer_prepare_map(self, progress: Progress) -> Mapping[str, Any]:
        try:
            self._guarded(self._results.layout, progress)
        finally:
            self._end_preparing()
        if not self._viewed:
            self._update_unseen()
        return {}

    def _note_view(self, *_message: Any) -> None:
        self._viewed = True

    def _update_unseen(self) -> None:
        """Put the results into outputs that no page has drawn yet: a notebook that runs without a browser."""
        data, metadata = self._repr_mimebundle_()
        for handle in self._display_handles:
            handle.update(data, raw=True, metadata=metadata)

    def _ipython_display_(self) -> None:
        self._is_ready.wait(WAIT_FOR_RESULTS_S if self.graph.num_edges <= QUICK_EDGES else 0)
        super()._ipython_display_()

    # -- computing ----------------------------------------------------------------------------------------------

    @staticmethod
    def _guarded(work: Any, *arguments: Any) -> Any:
        try:
            return work(*arguments)
        except Cancelled as error:
            raise AskCancelledError from error

    def _divide(self, progress: Progress) -> tuple[Made, ...]:
        """Return the partitions that the settings ask for, part numbers matched to the first."""
        pairs = itertools.product(self._counts, self.methods)
        choices = [Choice(method=method, num_parts=count, rng_seed=self.rng_seed) for count, method in pairs]
        self._shown, self._error = self._guarded(self._results.side_by_side, choices, progress), ""
        return self._shown

    # -- from the views -----------------------------------------------------------------------------------------

    @answers("partition")
    def _answer_partition(
        self, progress: Progress, *, methods: Sequence[str], num_parts: Any, rng_seed: int, again: bool = False
    ) -> Mapping[str, Any]:
        methods, counts = tuple(methods), check(self.graph, num_parts, tuple(methods))
        changed = (methods, counts, rng_seed) != (self.methods, self._counts, self.rng_seed)
        self._assign(methods=methods, num_parts=one_or_all(counts), rng_seed=rng_seed)
        self._drop_part()
        if again:
            self._results.forget()
        shown = self._divide(progress)
        if changed:
            self.refresh()
        return {
            "columns": [pack.pack_column(made, shown, self.widths) for made in shown],
            "costs": pack_costs(self.graph, shown, self._cost),
        }

    @answers("sketch")
    def _answer_sketch(self, progress: Progress) -> Mapping[str, Any]:
        """Return what can be drawn of a large graph at once, without edges; None where the map itself is as fast."""
        rough = self._guarded(self._results.sketch, progress)
        return {"map": None if rough is None else pack.pack_sketch(self.graph, rough)}

    @answers("map")
    def _answer_map(self, progress: Progress) -> Mapping[str, Any]:
        # The times of the partitions are measured: nothing runs beside them.
        while not self._results.has_layout and not self._is_divided.wait(0.1):
            progress.raise_if_cancelled()
            progress.report(0.0, "the layout comes after the partitions")
        return pack.pack_map(self.graph, self._guarded(self._results.layout, progress))

    @answers("edges")
    def _answer_edges(self, progress: Progress, *, part: int | None, box: Sequence[float]) -> Mapping[str, Any]:
        """Return what a map draws of too many edges: the single ones inside a box, or bundles of them by partition."""
        positions = self._guarded(self._results.layout, progress).positions
        return pack_edges(self.graph, positions, box, [made.partition.assignment for made in self._shown], part)

    @answers("roles")
    def _answer_roles(self, _progress: Progress, *, part: int | None) -> Mapping[str, Any]:
        """Return what each node is to a part, in every partition; and remember the part as the selected one."""
        check_part(part, max(self._counts))
        changed = part != self.selected_part
        self._assign(selected_part=part)
        found = [roles(made.partition, part) for made in self._shown] if part is not None else []
        if changed:
            self.refresh()
        return {"part": part, "roles": found}

    @answers("node")
    def _answer_node(self, _progress: Progress, *, query: Any) -> Mapping[str, Any]:
        return node_facts(self._results, self._shown, find_node(self.graph, query), self.selected_part)

    @answers("lasso")
    def _answer_lasso(self, progress: Progress, *, polygon: Sequence[float]) -> Mapping[str, Any]:
        """Select the nodes inside a polygon [x0, y0, x1, y1, ...] of layout coordinates; an empty one selects none."""
        corners = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
        positions = self._guarded(self._results.layout, progress).positions
        inside = nodes_inside(positions, corners) if len(corners) >= 3 else np.zeros(0, dtype=np.int64)
        self.selected_nodes = inside
        return {"num_nodes": len(inside), "node_ids": inside.astype(np.uint32)}

    @command("cancel")
    def _command_cancel(self) -> None:
        self._tell_cancelled(self._cancel_asks())
        self._is_ready.set()

    # -- display ------------------------------------------------------------------------------------------------

    def snapshot(self) -> Mapping[str, Any]:
        one_each = {"rng_seed": self.rng_seed, "selected_part": self.selected_part}
        return {
            "facts": self._facts,
            "available": pack.pack_methods(),
            "settings": {"methods": list(self.methods), "num_parts": list(self._counts)} | one_each,
            "cost": self._cost_snapshot(),
            "choices": choices(self.graph, self.widths, self.epochs, self.link_gbit),
        }

    def static_html(self) -> str:
        return static_page(self.graph, self._shown, self._cost, self._results, self._error)

    def text_summary(self) -> str:
        return summary(self.graph, self._shown, self._cost, self._error)
