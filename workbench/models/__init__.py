"""L4: models by name, and the call of any module by the names of its arguments."""

from workbench.models.base import MODELS, ModelSpec
from workbench.models.call import FORWARD_NAMES, ModelInputs, call_model, forward_names
from workbench.models.custom import MODEL_FILE, load_module, save_module

__all__ = [
    "FORWARD_NAMES",
    "MODELS",
    "MODEL_FILE",
    "ModelInputs",
    "ModelSpec",
    "call_model",
    "forward_names",
    "load_module",
    "save_module",
]
