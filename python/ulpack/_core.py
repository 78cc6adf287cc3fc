"""One-shot functions on bytes and arrays."""

from __future__ import annotations

import os
from typing import Any

from ulpack import _native
from ulpack._arrays import as_bytes, columns_of, guessed_dtype


def reference(ref: Any) -> Any:
    """A reference as the native part takes it: a path, a native reader, a file object, or bytes."""
    if isinstance(ref, (str, os.PathLike)) or hasattr(ref, "read"):
        return ref
    native = getattr(ref, "_reader", None)
    return native if isinstance(native, _native.Reader) else as_bytes(ref)


def references(ref: Any) -> list[Any]:
    """References from what callers give: nothing, one, or a list of them."""
    if ref is None:
        return []
    if isinstance(ref, (list, tuple)):
        return [reference(one) for one in ref]
    return [reference(ref)]


def options(
    dtype: str = "auto",
    level: int = 5,
    threads: int = 0,
    columns: int | None = None,
    metadata: dict[str, str | bytes] | None = None,
    sha256: bool = False,
) -> dict[str, Any]:
    """Options of compression as the native part takes them."""
    pairs = [(key, value.encode() if isinstance(value, str) else bytes(value)) for key, value in (metadata or {}).items()]
    return {
        "dtype": dtype,
        "level": level,
        "threads": threads,
        "columns": columns,
        "metadata": pairs,
        "sha256": sha256,
    }


def compress(
    data: Any,
    ref: Any = None,
    dtype: str = "auto",
    level: int = 5,
    threads: int = 0,
    metadata: dict[str, str | bytes] | None = None,
) -> bytes:
    """Compresses `data` into one stream.

    Args:
        data: anything with the buffer protocol, a numpy array or a torch tensor (bf16 included). Contiguous ones on the CPU are read where they are. The
            bytes are coded, shape and type are not stored: see `save_file` for that.
        ref: what `decompress` will be given again: such an object, a path, a `Reader`, or a list of them.
        dtype: type of the numbers: "bf16", "f16", "f32", "f64", "u8" … "i64", "f8_e4m3", "f8_e5m2", "bytes"; "auto" takes an array's own type, and finds that
            of bytes from the headers of files, else by trying.
        level: 1 fast … 9 small.
        threads: worker threads, 0 for one per core, at most 8. The result does not depend on it.
        metadata: keys and values to store.

    Raises:
        ValueError: options that contradict each other, or data that is not contiguous and cannot be made so.
    """
    columns = None
    if dtype == "auto":
        dtype = guessed_dtype(data)
        columns = columns_of(data.shape) if dtype != "auto" else None
    return _native.compress(as_bytes(data), references(ref), options(dtype, level, threads, columns, metadata))


def decompress(data: Any, ref: Any = None, threads: int = 0, memory: int | None = None) -> bytes:
    """Decompresses all streams in `data`.

    Args:
        data: anything with the buffer protocol.
        ref: what `compress` was given, in the same order.
        threads: worker threads, 0 for one per core, at most 8.
        memory: most bytes of memory to use beside the result; streams that need more are refused.

    Raises:
        ReferenceMismatch: the reference is missing or another one.
        Truncated: `data` ends inside a stream.
        Unsupported: the stream needs a later version or more memory.
        UlpError: the stream is damaged.
    """
    return _native.decompress(as_bytes(data), references(ref), threads, memory)


def decode_into(out: Any, data: Any, ref: Any = None, threads: int = 0, memory: int | None = None) -> None:
    """Decompresses all streams in `data` into `out`, a writable buffer, numpy array or CPU tensor of exactly as many bytes as the content.

    After an error in the stream `out` holds a true prefix of the content, and zeros behind it. Raises what `decompress` raises, and ValueError where the length
    is another, `out` is not contiguous, or it shares memory with `data` or `ref`.
    """
    _native.decode_into(as_bytes(out, writable=True), as_bytes(data), references(ref), threads, memory)


def apply_in_place(target: Any, delta: Any, threads: int = 0) -> dict[str, int]:
    """Turns `target`, the reference of the stream `delta`, into its content, touching only chunks that change.

    Args:
        target: a writable buffer, numpy array or CPU tensor; or the path of a file. A file gets a journal beside it (`….ulp-journal`) while it is written:
            where a call is killed, the same call again completes it.
        delta: the stream: a buffer, or the path of a file.
        threads: worker threads, 0 for one per core, at most 8.

    Returns:
        "chunks" of the stream, how many were "written", and their "bytes_written". What has the result already stays.

    Raises:
        ReferenceMismatch, UlpError: as `decompress`, before anything is changed; also where the stream cannot be applied in place.
    """
    if isinstance(target, (str, os.PathLike)):
        path = os.fspath(target)
        source = delta if isinstance(delta, (str, os.PathLike)) else as_bytes(delta)
        return _native.apply_to_file(path, f"{path}.ulp-journal", source, threads)
    if isinstance(delta, (str, os.PathLike)):
        with open(delta, "rb") as file:
            delta = file.read()
    return _native.apply_in_place(as_bytes(target, writable=True), as_bytes(delta), threads)


def describe(data: Any) -> list[dict[str, Any]]:
    """What the streams in `data`, a buffer or the path of a file, tell without being decoded.

    Returns:
        For each stream: "content_bytes", "coded_bytes", "content_crc", "chunks", "in_place", "metadata" as (key, bytes) pairs, and "references": for each
        (length, CRC32), or None where the stream does not tell.
    """
    return _native.describe(data if isinstance(data, (str, os.PathLike)) else as_bytes(data))
