"""File objects that compress what is written to them, or give the content of streams."""

from __future__ import annotations

import builtins
import io
import os
import tempfile
from typing import IO, Any, Literal, overload

from ulpack import _native
from ulpack._arrays import as_bytes
from ulpack._core import options, references


@overload
def open(
    file: str | os.PathLike[str] | IO[bytes],
    mode: Literal["rb", "r"] = ...,
    ref: Any = ...,
    *,
    threads: int = ...,
    memory: int | None = ...,
) -> io.BufferedReader: ...


@overload
def open(
    file: str | os.PathLike[str] | IO[bytes],
    mode: Literal["wb", "w"],
    ref: Any = ...,
    *,
    dtype: str = ...,
    level: int = ...,
    threads: int = ...,
    metadata: dict[str, str | bytes] | None = ...,
) -> io.RawIOBase: ...


def open(
    file: str | os.PathLike[str] | IO[bytes],
    mode: Literal["rb", "wb", "r", "w"] = "rb",
    ref: Any = None,
    *,
    dtype: str = "auto",
    level: int = 5,
    threads: int = 0,
    memory: int | None = None,
    metadata: dict[str, str | bytes] | None = None,
) -> io.RawIOBase | io.BufferedReader:
    """Opens a compressed file, forward only.

    Args:
        file: a path, or a file object, which is read or written but not closed.
        mode: "rb" gives the content of the streams in `file`; "wb" compresses what is written. A path that is written appears when the file is closed, and
            not at all if a `with` block ends with an exception.
        ref: the reference, as for `compress`; a file object is read forward in step with the content.
        dtype, level, metadata: as for `compress`, for writing.
        threads: as for `compress`.
        memory: as for `decompress`, for reading.

    Raises:
        What `decompress` raises, when the bytes that are wrong are reached: what has been read before is right.
    """
    if mode in ("rb", "r"):
        return io.BufferedReader(_Reading(file, references(ref), threads, memory), buffer_size=1 << 16)
    if mode in ("wb", "w"):
        return _Writing(file, references(ref), options(dtype, level, threads, None, metadata))
    raise ValueError(f"mode {mode!r}: it is 'rb' or 'wb'")


class _Reading(io.RawIOBase):
    def __init__(self, file: Any, refs: list[Any], threads: int, memory: int | None) -> None:
        super().__init__()
        self._own = builtins.open(file, "rb") if isinstance(file, (str, os.PathLike)) else None
        self._decoder = _native.Decoder(self._own or file, refs, threads, memory)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._decoder.readinto(as_bytes(buffer, writable=True))

    def readall(self) -> bytes:
        return self._decoder.readall()

    def close(self) -> None:
        if self._own is not None:
            self._own.close()
        super().close()


class _Writing(io.RawIOBase):
    def __init__(self, file: Any, refs: list[Any], options: dict[str, Any]) -> None:
        super().__init__()
        self._path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else None
        self._temporary = None
        if self._path is not None:
            directory, name = os.path.split(os.path.abspath(self._path))
            self._temporary = file = tempfile.NamedTemporaryFile(dir=directory, prefix=f"{name}.ulp-", delete=False)
        self._encoder = _native.Encoder(file, refs, options)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._encoder.write(as_bytes(data))

    def close(self) -> None:
        """Ends the stream. Unless this has returned, what is in the file is not complete."""
        if self.closed:
            return
        try:
            self._encoder.finish()
            if self._temporary is not None and self._path is not None:
                self._temporary.flush()
                os.fsync(self._temporary.fileno())
                self._temporary.close()
                mask = os.umask(0)
                os.umask(mask)
                os.chmod(self._temporary.name, 0o666 & ~mask)
                os.replace(self._temporary.name, self._path)
        except BaseException:
            self.abandon()
            raise
        super().close()

    def abandon(self) -> None:
        """Gives up: a path that was to be written is left as it was."""
        self._encoder.abandon()
        if self._temporary is not None:
            self._temporary.close()
            if os.path.exists(self._temporary.name):
                os.unlink(self._temporary.name)
        super().close()

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def __del__(self) -> None:
        # A file that nobody has closed is not complete, and must not look as if it were.
        if not self.closed:
            self.abandon()
