"""Many independent graphs in one: a disjoint union whose nodes know which graph they belong to."""

from __future__ import annotations

GRAPH_IDS = "graph_ids"  # the node column that says it
