"""safetensors files, compressed: what is inside a stream is a safetensors byte stream, so `ulp -d` gives a normal file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ulpack import _native
from ulpack._arrays import WIDTHS, as_bytes, columns_of, dtype_name, empty, is_torch
from ulpack._core import references
from ulpack._files import open as open_stream
from ulpack._native import UlpError

# Longest header that is believed, as in safetensors.
_MOST_HEADER = 100_000_000


def _shape(array: Any) -> list[int]:
    return [int(n) for n in array.shape] if is_torch(array) else [int(n) for n in np.shape(array)]


def _header(tensors: Mapping[str, Any], metadata: Mapping[str, str] | None) -> tuple[bytes, list[str]]:
    """The header and the names in the order of their bytes: wider types first, then by name, as safetensors does."""
    types = {name: dtype_name(array) for name, array in tensors.items()}
    names = sorted(tensors, key=lambda name: (-WIDTHS[types[name]], name))
    header: dict[str, Any] = {}
    if metadata:
        header["__metadata__"] = {str(key): str(value) for key, value in metadata.items()}
    offset = 0
    for name in names:
        shape = _shape(tensors[name])
        end = offset + math.prod(shape) * WIDTHS[types[name]]
        header[name] = {"dtype": types[name], "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, names


def save_file(
    tensors: Mapping[str, Any],
    path: str | os.PathLike[str],
    ref: Any = None,
    metadata: Mapping[str, str] | None = None,
    *,
    level: int = 5,
    threads: int = 0,
) -> None:
    """Saves tensors as a compressed safetensors file.

    Args:
        tensors: numpy arrays or torch tensors by name, of any shape. Contiguous ones on the CPU are not copied.
        path: the file, which appears when it is complete.
        ref: the safetensors file before (its path, bytes, or a `Reader` of a compressed one): tensors are matched by name.
        metadata: texts of the safetensors header.
        level, threads: as for `compress`.

    Raises:
        TypeError: a type that safetensors lacks.
    """
    header, names = _header(tensors, metadata)
    with open_stream(path, "wb", ref=ref, level=level, threads=threads) as out:
        out.write(header)
        for name in names:
            out.write(as_bytes(tensors[name]))


def _parsed(text: bytes | bytearray, length: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Entries and texts of a header that should have this length."""
    try:
        header = json.loads(text) if len(text) == length else None
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise UlpError("the content is not a safetensors file")
    metadata = header.pop("__metadata__", {})
    for name, entry in header.items():
        try:
            dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            right = all(type(n) is int and n >= 0 for n in (*shape, begin, end))
            right = right and end - begin == math.prod(shape) * WIDTHS[dtype]
        except (KeyError, TypeError, ValueError):
            right = False
        if not right:
            raise UlpError(f"tensor {name}: what the safetensors header says of it is wrong")
    return header, metadata


def load_file(
    path: str | os.PathLike[str], ref: Any = None, framework: Literal["np", "pt"] = "np", *, threads: int = 0
) -> dict[str, Any]:
    """Loads all tensors of a compressed safetensors file, straight into arrays of their own.

    Args:
        path: the file.
        ref: what it was saved with.
        framework: "np" for numpy arrays (bf16 and f8 need the package ml_dtypes), "pt" for torch tensors on the CPU.
        threads: as for `decompress`.

    Raises:
        What `decompress` raises; then no tensors are returned.
    """
    tensors: dict[str, Any] = {}
    with open_stream(path, "rb", ref=ref, threads=threads) as content:
        length = int.from_bytes(content.read(8), "little")
        if not 2 <= length <= _MOST_HEADER:
            raise UlpError("the content is not a safetensors file")
        header, _ = _parsed(content.read(length), length)
        at = 0
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            begin, end = entry["data_offsets"]
            array = empty(entry["dtype"], entry["shape"], framework)
            buffer = as_bytes(array, writable=True)
            if begin != at or len(buffer) != end - begin or content.readinto(buffer) != len(buffer):
                raise UlpError(f"tensor {name}: its place in the safetensors file is wrong")
            tensors[name] = array
            at = end
        # The rest of the stream, which ends with its check sums.
        if content.read(1):
            raise UlpError("there are bytes behind the tensors of the safetensors file")
    return tensors


class Reader:
    """Random access to a compressed safetensors file: only the chunks that hold what is asked for are read and decoded.

    Args:
        path: the file, or its bytes.
        ref: what it was saved with: a path, bytes, or another Reader. Without it, what needs no reference can be read.
        framework: as for `load_file`.
        threads: as for `decompress`.

    A Reader can be the `ref` of another one, and of everything else that takes one.
    """

    def __init__(self, path: Any, ref: Any = None, framework: Literal["np", "pt"] = "np", *, threads: int = 0) -> None:
        source = path if isinstance(path, (str, os.PathLike)) else as_bytes(path)
        self._reader = _native.Reader(source, references(ref), threads)
        self._framework = framework
        prefix = self._bytes(0, 8) if len(self._reader) >= 8 else b""
        length = int.from_bytes(prefix, "little")
        if not 2 <= length <= min(_MOST_HEADER, len(self._reader) - 8):
            raise UlpError("the content is not a safetensors file")
        self._header, self._metadata = _parsed(self._bytes(8, length), length)
        self._start = 8 + length

    def _bytes(self, offset: int, length: int) -> bytearray:
        out = bytearray(length)
        self._reader.readinto(out, offset)
        return out

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __len__(self) -> int:
        """Number of tensors."""
        return len(self._header)

    def keys(self) -> list[str]:
        """Names of all tensors, in the order of the file's header."""
        return list(self._header)

    def metadata(self) -> dict[str, str]:
        """Texts of the safetensors header."""
        return dict(self._metadata)

    def _entry(self, name: str) -> tuple[str, list[int], int]:
        entry = self._header.get(name)
        if entry is None:
            raise KeyError(f"no tensor {name!r}")
        return entry["dtype"], entry["shape"], self._start + entry["data_offsets"][0]

    def get_tensor(self, name: str) -> Any:
        """A tensor, whole. Raises KeyError where there is none of that name."""
        dtype, shape, offset = self._entry(name)
        array = empty(dtype, shape, self._framework)
        self._reader.readinto(as_bytes(array, writable=True), offset)
        return array

    def get_slice(self, name: str) -> Slice:
        """A tensor of which parts can be taken with `[…]`. Raises KeyError where there is none of that name."""
        return Slice(self, *self._entry(name))


class Slice:
    """A tensor in a file. `s[2:5]` reads rows 2 to 4 and nothing else; further indices select from these rows."""

    def __init__(self, reader: Reader, dtype: str, shape: list[int], offset: int) -> None:
        self._owner, self._dtype, self._shape, self._offset = reader, dtype, shape, offset

    def get_shape(self) -> list[int]:
        """Dimensions."""
        return list(self._shape)

    def get_dtype(self) -> str:
        """Type, as safetensors names it: "BF16", "F32", …"""
        return self._dtype

    def __getitem__(self, index: Any) -> Any:
        index = index if isinstance(index, tuple) else (index,)
        if not self._shape or index[:1] == (...,):
            first, rest = slice(None), index
        else:
            first, rest = index[0], index[1:]
        if not self._shape:
            return self._rows(0, 1)[index] if index != (...,) else self._rows(0, 1)
        size = self._shape[0]
        if first is ... or isinstance(first, slice):
            start, stop, step = (first if isinstance(first, slice) else slice(None)).indices(size)
            if step < 1:
                raise ValueError("steps must be positive")
            rows = self._rows(start, max(start, stop))
            return rows[(slice(None, None, step), *rest)] if first is not ... and index[:1] != (...,) else rows[index]
        row = first.__index__()
        if not -size <= row < size:
            raise IndexError(f"index {row} of {size} rows")
        row %= size
        return self._rows(row, row + 1)[(0, *rest)]

    def _rows(self, start: int, stop: int) -> Any:
        shape = [stop - start, *self._shape[1:]] if self._shape else []
        array = empty(self._dtype, shape, self._owner._framework)
        row = math.prod(self._shape[1:]) * WIDTHS[self._dtype]
        if math.prod(shape):
            self._owner._reader.readinto(as_bytes(array, writable=True), self._offset + start * row)
        return array
