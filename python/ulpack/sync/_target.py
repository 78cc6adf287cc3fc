"""What a subscriber keeps up to date: buffers of the caller, or a safetensors file."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ulpack import _native
from ulpack._arrays import WIDTHS, as_bytes, dtype_name
from ulpack._native import UlpError
from ulpack._tensors import _parsed
from ulpack.sync import _manifest
from ulpack.sync._manifest import Entry


class Buffers:
    """Numpy arrays or CPU tensors by name, written in place."""

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self.kinds = {name: (dtype_name(tensor), tuple(int(n) for n in tensor.shape)) for name, tensor in tensors.items()}
        self.buffers = {name: np.frombuffer(as_bytes(tensor, writable=True), np.uint8) for name, tensor in tensors.items()}

    def state(self) -> dict[str, Any]:
        """What is known of the last update: nothing, as the process is new."""
        return {}

    def keep(self, state: dict[str, Any]) -> None:
        """Stores what is to be known after a kill: nothing of the buffers would be left."""

    def prepare(self, entries: list[Entry]) -> None:
        """Makes sure that the tensors are these."""
        wanted = {entry.name: (entry.dtype, entry.shape) for entry in entries}
        if wanted != self.kinds:
            odd = sorted(name for name in wanted.keys() | self.kinds.keys() if wanted.get(name) != self.kinds.get(name))
            raise ValueError(f"the buffers have other names, types or shapes than the version: {', '.join(odd[:5])}")

    def put(self, changes: list[tuple[str, np.ndarray]]) -> None:
        """Writes tensors."""
        for name, data in changes:
            self.buffers[name][:] = data

    # Deltas may be applied where the buffer is: a process that is killed leaves none.
    in_place = True


class File:
    """A safetensors file, with `FILE.ulp-sync` beside it that says which version it is, and `FILE.ulp-journal` while it is being written."""

    in_place = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._state = Path(f"{path}.ulp-sync")
        self._journal = Path(f"{path}.ulp-journal")
        self.kinds: dict[str, tuple[str, tuple[int, ...]]] = {}
        self.buffers: dict[str, np.ndarray] = {}
        self._map: mmap.mmap | None = None
        # What a process that was killed has left unfinished.
        for unfinished in (self._state, self._journal, self.path):
            Path(f"{unfinished}.new").unlink(missing_ok=True)
        if self.path.exists():
            self._open()
            self._replay()

    def _open(self) -> None:
        with open(self.path, "r+b") as file:
            length = int.from_bytes(file.read(8), "little")
            size = os.fstat(file.fileno()).st_size
            header, _ = _parsed(file.read(length) if length <= size else b"", length)
            if 8 + length + sum(e["data_offsets"][1] - e["data_offsets"][0] for e in header.values()) > size:
                raise UlpError(f"{self.path}: the file is truncated")
            self._map = mmap.mmap(file.fileno(), 0)
        data = np.frombuffer(self._map, np.uint8)[8 + length :]
        self.kinds = {name: (entry["dtype"], tuple(entry["shape"])) for name, entry in header.items()}
        self.buffers = {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()}

    def state(self) -> dict[str, Any]:
        """The version that the file has, or is on its way to."""
        try:
            return json.loads(self._state.read_text())
        except FileNotFoundError:
            return {}
        except ValueError:
            raise UlpError(f"{self._state}: not readable; remove it to have the file looked at") from None

    def keep(self, state: dict[str, Any]) -> None:
        """Stores what is to be known after a kill. The file's own bytes come first."""
        self._flush()
        _manifest.save(self._state, json.dumps(state).encode())

    def _flush(self) -> None:
        if self._map is not None:
            self._map.flush()

    def prepare(self, entries: list[Entry]) -> None:
        """Makes sure that there is a file with these tensors; a new one is zeros."""
        wanted = {entry.name: (entry.dtype, entry.shape) for entry in entries}
        if wanted == self.kinds:
            return
        header: dict[str, Any] = {}
        offset = 0
        for entry in sorted(entries, key=lambda e: (-WIDTHS[e.dtype], e.name)):
            end = offset + int(np.prod(entry.shape, dtype=np.int64)) * WIDTHS[entry.dtype]
            header[entry.name] = {"dtype": entry.dtype, "shape": list(entry.shape), "data_offsets": [offset, end]}
            offset = end
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        temporary = Path(f"{self.path}.new")
        with open(temporary, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.truncate(8 + len(text) + offset)
            os.fsync(file.fileno())
        os.replace(temporary, self.path)
        self._open()

    def put(self, changes: list[tuple[str, np.ndarray]]) -> None:
        """Writes tensors, to the journal first: after a kill at any moment each is as before, or is written when the file is opened next."""
        told = [[name, data.size, _native.crc32(data)] for name, data in changes]
        head = json.dumps(told).encode()
        temporary = Path(f"{self._journal}.new")
        with open(temporary, "wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)
            for _, data in changes:
                file.write(data.data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._journal)
        _manifest.sync_directory(self._journal.parent)
        for name, data in changes:
            self.buffers[name][:] = data
        self._flush()
        self._journal.unlink()

    def _replay(self) -> None:
        if not self._journal.exists():
            return
        journal = np.fromfile(self._journal, np.uint8)
        length = int.from_bytes(journal[:8].tobytes(), "little")
        at = 8 + length
        for name, size, crc in json.loads(journal[8:at].tobytes()):
            data = journal[at : at + size]
            at += size
            own = self.buffers.get(name)
            if data.size != size or own is None or own.size != size or _native.crc32(data) != crc:
                raise UlpError(f"{self._journal}: damaged, or of another file; remove it to give up what it holds")
            own[:] = data
        self._flush()
        self._journal.unlink()
