"""The keywords of a launch that belong to the run itself, whatever it trains."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.params import Params, param
from workbench.train.build import OPTIMIZERS


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings(Params):
    """What every run has."""

    epochs: int = param(help="passes over the training nodes, e.g. epochs=10", minimum=1)
    optimizer: str = param("adam", help="the optimiser", choices=OPTIMIZERS)
    lr: float = param(0.003, help="learning rate", minimum=0)
    weight_decay: float = param(0.0, help="weight decay of the optimiser", minimum=0)
    trainers: int = param(1, help="ranks that train", minimum=1)
    samplers: int = param(0, help="processes that sample ahead; 0 = a thread inside each trainer", minimum=0)
    threads_per_trainer: int = param(1, help="threads of a trainer", minimum=1)
    evaluate_every: int = param(1, help="epochs from one exact evaluation to the next; 0 = only at the end", minimum=0)
    checkpoint_every: int = param(1, help="epochs from one checkpoint to the next; 0 = only by time", minimum=0)
    rng_seed: int = param(0, help="what all randomness is a function of", minimum=0)
    name: str = param("", help="the run's name for people")
