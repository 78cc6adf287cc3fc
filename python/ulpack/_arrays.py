"""Arrays of numpy and torch as bytes and back, without copies; names of element types."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

# Names in safetensors: numpy, torch, this format. What numpy or this format lacks is None.
_NUMPY: dict[str, Any] = {
    "BOOL": np.bool_,
    "U8": np.uint8,
    "I8": np.int8,
    "U16": np.uint16,
    "I16": np.int16,
    "U32": np.uint32,
    "I32": np.int32,
    "U64": np.uint64,
    "I64": np.int64,
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
    "C64": np.complex64,
}
_NAMES = {np.dtype(dtype): name for name, dtype in _NUMPY.items()}
# Types that numpy has from the package ml_dtypes only.
_EXTENSION = {"bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}
_TORCH = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}
# Types whose numbers this format knows; others are bytes to it.
_ELEMENTS = {
    "U8": "u8",
    "I8": "i8",
    "U16": "u16",
    "I16": "i16",
    "U32": "u32",
    "I32": "i32",
    "U64": "u64",
    "I64": "i64",
    "F16": "f16",
    "F32": "f32",
    "F64": "f64",
    "BF16": "bf16",
    "F8_E4M3": "f8_e4m3",
    "F8_E5M2": "f8_e5m2",
    "BOOL": "u8",
    "C64": "f32",
}
WIDTHS = {name: int(name.split("_")[0].lstrip("UIFBC")) // 8 for name in _TORCH if name != "BOOL"} | {"BOOL": 1}


def is_torch(array: Any) -> bool:
    """Whether this is a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def dtype_name(array: Any) -> str:
    """The safetensors name of an array's element type."""
    if is_torch(array):
        name = str(array.dtype).removeprefix("torch.")
        for ours, theirs in _TORCH.items():
            if theirs == name:
                return ours
        raise TypeError(f"torch.{name} has no safetensors type")
    dtype = np.asarray(array).dtype
    found = _NAMES.get(dtype) or _EXTENSION.get(dtype.name)
    if found is None:
        raise TypeError(f"numpy's {dtype} has no safetensors type")
    return found


def element_of(name: str) -> str:
    """This format's name of an element type that has this name in safetensors."""
    return _ELEMENTS.get(name, "bytes")


def as_bytes(data: Any, *, writable: bool = False) -> Any:
    """The bytes of `data` as an object with the buffer protocol.

    numpy arrays and torch tensors on the CPU that are contiguous are not copied, and neither is anything with the buffer protocol. Others are brought to
    that form first, unless they are to be written to: then that is a ValueError.
    """
    if is_torch(data):
        import torch

        tensor = data.detach()
        if writable and not (tensor.device.type == "cpu" and tensor.is_contiguous()):
            raise ValueError("a tensor to be written to must be contiguous and on the CPU")
        tensor = tensor.cpu().contiguous().reshape(-1)
        return tensor.view(torch.uint8).numpy()
    if isinstance(data, np.ndarray):
        if not data.dtype.isnative:
            if writable:
                raise ValueError("an array to be written to must have the machine's byte order")
            data = data.astype(data.dtype.newbyteorder("="))
        if not data.flags.c_contiguous:
            if writable:
                raise ValueError("an array to be written to must be contiguous in C order")
            data = np.ascontiguousarray(data)
        return data.reshape(-1).view(np.uint8)
    view = memoryview(data)
    if view.nbytes == 0:
        return b"" if not writable else bytearray()
    if view.format == "B" and view.ndim == 1:
        return view
    return view.cast("B")


def guessed_dtype(data: Any) -> str:
    """What `dtype="auto"` means for this object: the type of an array, else `auto`."""
    if is_torch(data) or isinstance(data, np.ndarray):
        try:
            return element_of(dtype_name(data))
        except TypeError:
            return "auto"
    return "auto"


def columns_of(shape: Sequence[int]) -> int | None:
    """Row length of a matrix, where it is one that the format takes."""
    return int(shape[-1]) if len(shape) > 1 and 0 < shape[-1] <= 1 << 20 else None


def empty(name: str, shape: Sequence[int], framework: str) -> Any:
    """An array of a safetensors type that is not yet filled."""
    if framework == "pt":
        import torch

        dtype = getattr(torch, _TORCH[name], None) if name in _TORCH else None
        if dtype is None:
            raise TypeError(f"torch has no type for {name}")
        return torch.empty(tuple(shape), dtype=dtype)
    if framework != "np":
        raise ValueError(f"framework {framework!r}: it is 'np' or 'pt'")
    dtype = _NUMPY.get(name)
    if dtype is None:
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(f"numpy has no {name}: install ml_dtypes, or load with framework='pt'") from None
        dtype = getattr(ml_dtypes, _TORCH[name])
    return np.empty(tuple(shape), dtype=dtype)
