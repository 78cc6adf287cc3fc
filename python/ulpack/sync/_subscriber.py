"""The rollout's side."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ulpack import _native
from ulpack._native import ReferenceMismatch, UlpError
from ulpack.sync import _manifest
from ulpack.sync._manifest import Entry, Manifest
from ulpack.sync._target import Buffers, File

# Bytes of tensors that are decoded before they are written.
_BATCH = 64 << 20


class DeltaSubscriber:
    """Keeps a copy of the tensors that a `DeltaPublisher` publishes.

    Args:
        path: the publisher's directory, or a copy of it.
        target: numpy arrays or CPU tensors by name, which are written in place; or the path of a safetensors file, which is made if it is not there.
        threads: tensors decoded at a time.

    A target that already holds some version is recognised by its bytes. A file survives a kill of the process at any moment: the next update goes on.
    """

    def __init__(self, path: str | os.PathLike[str], target: Mapping[str, Any] | str | os.PathLike[str], *, threads: int = 2) -> None:
        self.path = Path(path)
        self._target = File(target) if isinstance(target, (str, os.PathLike)) else Buffers(target)
        self._threads = threads
        state = self._target.state()
        self._version: int | None = state.get("version")
        self._digest: str | None = state.get("digest")
        # A version whose anchor was being written: what the tensors were does not matter.
        self._anchoring: int | None = state.get("anchoring")

    @property
    def version(self) -> int | None:
        """The version that the target has; None where none is known."""
        return self._version

    def update(self, to: int | None = None) -> dict[str, int]:
        """Brings the target to version `to`, by default the newest.

        Returns:
            "version", "bytes" of frames that were read, "tensors" that were written.

        Raises:
            ReferenceMismatch: the target holds no version of this publisher (a fork, or it has been changed); nothing has been written then.
            UlpError, Truncated: a frame or a manifest is damaged; tensors that have been written hold the version on the way there, and the next update
                goes on.
        """
        to = _manifest.latest(self.path) if to is None else to
        if to is None:
            raise FileNotFoundError(f"{self.path}: nothing has been published there")
        if self._version is None and self._anchoring is None:
            self._recognise(to)
        done = {"version": to, "bytes": 0, "tensors": 0}
        for kind, version in self._plan(to):
            manifest = _manifest.read(self.path, version)
            entries = getattr(manifest, kind)
            if kind == "anchor":
                self._target.keep({"version": None, "digest": None, "anchoring": version})
                self._version, self._digest, self._anchoring = None, None, version
                self._target.prepare(entries)
            done["tensors"] += self._apply(manifest, kind)
            done["bytes"] += manifest.bytes_of(kind)
            self._version, self._digest, self._anchoring = version, manifest.digest, None
            self._target.keep({"version": version, "digest": manifest.digest})
        return done

    def _recognise(self, to: int) -> None:
        """Finds the version whose bytes the target has."""
        crcs = self._crcs(self._target.kinds)
        own = [Entry(name, *kind, crcs[name], None, None, 0, 0) for name, kind in self._target.kinds.items()]
        digest = _manifest.digest(own)
        for version in reversed(_manifest.versions(self.path)):
            if version <= to and _manifest.read(self.path, version).digest == digest:
                self._version, self._digest = version, digest
                return

    def _plan(self, to: int) -> list[tuple[str, int]]:
        """The frames to apply, kind and version, with the fewest bytes; nothing where the target is there already."""
        known = {v: _manifest.read(self.path, v) for v in _manifest.versions(self.path) if v <= to}
        if to not in known:
            raise FileNotFoundError(f"{self.path}: there is no version {to}")
        plans: list[list[tuple[str, int]]] = []
        if self._version is not None:
            own = known.get(self._version)
            if own is not None and own.digest != self._digest:
                raise ReferenceMismatch(f"version {self._version} of the target is not the one in {self.path}: a fork")
            if self._version > to:
                raise ReferenceMismatch(f"the target is at version {self._version}, which is later than {to}")
            follower = known.get(self._version + 1)
            if follower is not None and follower.delta is not None and follower.base_digest != self._digest:
                raise ReferenceMismatch(f"version {follower.version} does not follow from the target's: a fork")
            plans.append(_deltas(known, self._version, to))
        for version, manifest in known.items():
            later = self._version is None or version > self._version
            if manifest.anchor is not None and later and (self._anchoring is None or version >= self._anchoring):
                plans.append([("anchor", version), *_deltas(known, version, to)])
        possible = [plan for plan in plans if all(version in known for _, version in plan)]
        if not possible:
            raise ReferenceMismatch(f"{self.path}: no anchor leads to version {to}, nor do deltas from the target's")
        return min(possible, key=lambda plan: sum(known[version].bytes_of(kind) for kind, version in plan))

    def _apply(self, manifest: Manifest, kind: str) -> int:
        """Applies the frames of a version: first all tensors are looked at, then those that are not there yet are written."""
        entries: list[Entry] = getattr(manifest, kind)
        self._target.prepare(entries)
        crcs = self._crcs(entry.name for entry in entries)
        waiting = [entry for entry in entries if crcs[entry.name] != entry.crc]
        if kind == "delta":
            wrong = [entry.name for entry in waiting if crcs[entry.name] != entry.base_crc]
            if wrong:
                raise ReferenceMismatch(f"tensors are neither of version {manifest.base} nor of {manifest.version}: {', '.join(wrong[:5])}")
        with ThreadPoolExecutor(self._threads) as pool:
            batch: list[Entry] = []
            size = 0
            for entry in waiting:
                batch.append(entry)
                size += self._target.buffers[entry.name].size
                if size >= _BATCH:
                    self._write(pool, manifest, kind, batch)
                    batch, size = [], 0
            self._write(pool, manifest, kind, batch)
        return len(waiting)

    def _write(self, pool: ThreadPoolExecutor, manifest: Manifest, kind: str, batch: list[Entry]) -> None:
        path = _manifest.folder(self.path, manifest.version)

        def decoded(entry: Entry) -> tuple[str, np.ndarray] | None:
            if entry.file is None:
                raise UlpError(f"{path}: tensor {entry.name} has no frame, and should not be as it was")
            frame = _frame(path / entry.file, entry)
            own = self._target.buffers[entry.name]
            if kind == "delta" and self._target.in_place:
                # Checks all of the frame before it writes anything.
                _native.apply_in_place(own, frame, 1)
                result = own
            else:
                result = np.empty_like(own)
                _native.decode_into(result, frame, [own] if kind == "delta" else [], 1, None)
            if _native.crc32(result) != entry.crc:
                raise UlpError(f"{path}: the frame of {entry.name} does not lead to what the manifest says")
            return None if result is own else (entry.name, result)

        changes = [change for change in pool.map(decoded, batch) if change is not None]
        if changes:
            self._target.put(changes)

    def _crcs(self, names: Any) -> dict[str, int]:
        names = list(names)
        with ThreadPoolExecutor(self._threads) as pool:
            return dict(zip(names, pool.map(lambda name: _native.crc32(self._target.buffers[name]), names)))


def _deltas(known: Mapping[int, Manifest], after: int, to: int) -> list[tuple[str, int]]:
    """Deltas from one version to another; a version that does not exist where they are broken."""
    steps = []
    for version in range(after + 1, to + 1):
        manifest = known.get(version)
        before = known.get(version - 1)
        if manifest is None or manifest.delta is None or (before is not None and manifest.base_digest != before.digest):
            return [("delta", -1)]
        steps.append(("delta", version))
    return steps


def _frame(path: Path, entry: Entry) -> bytes:
    with open(path, "rb") as file:
        file.seek(entry.offset)
        frame = file.read(entry.length)
    if len(frame) < entry.length:
        raise UlpError(f"{path}: truncated, the frame of {entry.name} is not all there")
    return frame
