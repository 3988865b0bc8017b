"""L5: the training of a rank: strategies, update rules, tasks, and what they share."""

from workbench.train.base import (
    STRATEGIES,
    TASKS,
    UPDATES,
    Outcome,
    RankContext,
    Strategy,
    Task,
    Update,
)
from workbench.train.config import ResolvedRun, resolve, summarise
from workbench.train.loop import train_rank
from workbench.train.transport import GlooTransport, SoloTransport, Transport

__all__ = [
    "GlooTransport",
    "Outcome",
    "RankContext",
    "ResolvedRun",
    "STRATEGIES",
    "SoloTransport",
    "Strategy",
    "TASKS",
    "Task",
    "Transport",
    "UPDATES",
    "Update",
    "resolve",
    "summarise",
    "train_rank",
]
