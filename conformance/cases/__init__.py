# SPDX-License-Identifier: MIT-0
"""The vectors, one module per area, in the order of the spec. Each module's import adds its vectors to `VECTORS`."""
from importlib import import_module

AREAS = ["streams", "references", "layouts", "slots", "indices", "chunks", "substreams", "banks", "symbols", "pairs", "entropy", "bank_files", "built_in",
         "limits", "hand_made", "examples"]


def load():
    for area in AREAS:
        import_module(f"cases.{area}")
