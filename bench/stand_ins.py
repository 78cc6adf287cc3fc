"""Names that ZipNN looks up when it is imported and does not use for bytes, so that its 5 GB of dependencies need not be installed."""

import importlib.util
import sys
import types


class _Names(types.ModuleType):
    """A module in which every name exists."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"script": staticmethod(lambda function: function)})


def install():
    """Puts stand-ins for torch and safetensors in place, unless the real ones are there."""
    if "torch" in sys.modules or importlib.util.find_spec("torch"):
        return
    names = ["torch", "safetensors", "safetensors.torch"]
    sys.modules.update({name: _Names(name) for name in names})
    sys.modules["safetensors"].torch = sys.modules["safetensors.torch"]
