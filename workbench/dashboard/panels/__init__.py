"""One panel a file; each registers itself in :data:`workbench.dashboard.base.PANELS`."""
