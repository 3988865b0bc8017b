"""L6: panels, pure reducers from a run's events to what is shown of it; they know no widget and no cluster."""

from workbench.dashboard.base import PANELS, Dashboard, Panel
from workbench.dashboard.delta import diff, patched

__all__ = ["PANELS", "Dashboard", "Panel", "diff", "patched"]
