"""Writers of a run's events for trackers of experiments, one file each; each needs an extra of its own."""

from workbench.dashboard.writers_base import WRITERS, Destination, Writer, send

__all__ = ["WRITERS", "Destination", "Writer", "send"]
