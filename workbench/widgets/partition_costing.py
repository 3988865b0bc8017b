"""The controls of what a partition costs in training: widths of layers, epochs, link; from Python and the view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import traitlets

from workbench.widgets import partition_pack as pack
from workbench.widgets.asks import Progress, answers
from workbench.widgets.partition_cost import CostSettings
from workbench.widgets.partition_lead import pack_costs
from workbench.widgets.partition_settings import EPOCHS, LINKS, check_cost

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.widgets.partition_results import Made


class CostControls(traitlets.HasTraits):
    """What is trained and over what, as traits: set one, and the views follow; use a view, and it changes."""

    widths = traitlets.TraitType((64,))  # not Any, which takes None unchecked
    epochs = traitlets.TraitType(EPOCHS[1])
    link_gbit = traitlets.TraitType(LINKS[0])

    graph: Graph
    _shown: tuple[Made, ...]
    _syncing: bool

    if TYPE_CHECKING:  # what the widget gives

        def _assign(self, **values: Any) -> None: ...

        def refresh(self) -> None: ...

    @property
    def _cost(self) -> CostSettings:
        chosen = {"widths": self.widths, "epochs": self.epochs, "link_gbit": self.link_gbit}
        return CostSettings(**chosen, num_features=self.graph.num_features)

    @traitlets.validate("widths", "epochs", "link_gbit")
    def _validate_cost(self, proposal: Any) -> Any:
        name = proposal["trait"].name
        return check_cost(**(self._cost_snapshot() | {name: proposal["value"]}))[name]

    @traitlets.observe("widths", "epochs", "link_gbit")
    def _on_cost(self, _change: Any) -> None:
        if not self._syncing:
            self.refresh()

    @answers("cost")
    def _answer_cost(self, _progress: Progress, **change: Any) -> Mapping[str, Any]:
        """Return the costs after a change of settings, by name; widths may be what was typed, such as ``"256, 64"``.

        What is not named stays: a view must not set back what Python has just set.
        """
        before, checked = self._cost, check_cost(**(self._cost_snapshot() | change), typed=True)
        self._assign(**{name: checked[name] for name in change})
        if self._cost != before:
            self.refresh()  # before the answer: the view's controls show what the kernel has
        return self._pack_costs()

    def _pack_costs(self) -> dict[str, Any]:
        """Return the costs of what is shown, None where nothing is, and the tables of quality that show widths."""
        figures = [pack.pack_figures(made, self._shown, self.widths) for made in self._shown]
        return {"costs": pack_costs(self.graph, self._shown, self._cost) if self._shown else None, "figures": figures}

    def _cost_snapshot(self) -> dict[str, Any]:
        return {"widths": list(self.widths), "epochs": self.epochs, "link_gbit": self.link_gbit}
