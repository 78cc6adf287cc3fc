"""Lossless streaming compression of checkpoints, with the previous one as reference.

>>> import numpy as np, ulpack
>>> prev = np.random.default_rng(0).standard_normal(100_000).astype(np.float32)
>>> next = prev * np.float32(1.0001)
>>> delta = ulpack.compress(next, ref=prev)
>>> len(delta) < 0.6 * next.nbytes
True
>>> np.array_equal(np.frombuffer(ulpack.decompress(delta, ref=prev), np.float32), next)
True

Whole files: `save_file`, `load_file` and `Reader` have the names and the semantics of safetensors; `open` gives a file object. What comes back is equal bit
for bit, and a wrong reference or a damaged stream is an error before any byte of it is given out.

`ulpack.dcp` is for torch.distributed.checkpoint, `ulpack.sync` for the weights of reinforcement learning; neither is imported here, and torch is not needed
for anything else.
"""

from ulpack import _fsspec
from ulpack._core import apply_in_place, compress, decode_into, decompress, describe
from ulpack._files import open
from ulpack._native import ReferenceMismatch, Truncated, UlpError, Unsupported
from ulpack._tensors import Reader, load_file, save_file

__all__ = [
    "Reader",
    "ReferenceMismatch",
    "Truncated",
    "UlpError",
    "Unsupported",
    "apply_in_place",
    "compress",
    "decode_into",
    "decompress",
    "describe",
    "load_file",
    "open",
    "save_file",
]

_fsspec.register()
