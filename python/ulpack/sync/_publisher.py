"""The trainer's side."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ulpack import _native
from ulpack._arrays import as_bytes, columns_of, dtype_name, element_of
from ulpack._core import options
from ulpack._native import ReferenceMismatch
from ulpack.sync import _manifest
from ulpack.sync._manifest import Entry, Manifest


class DeltaPublisher:
    """Publishes versions of a set of tensors.

    Args:
        path: the directory; made if it is not there.
        anchor_every: every so many versions one has frames that need no version before; the first has them always, and one whose tensors have other names,
            types or shapes than before.
        level: 1 fast … 9 small, as for `ulpack.compress`.
        threads: tensors coded at a time.
        shard_bytes: frames are grouped into files of about this size.

    The last version is kept in memory: as many bytes as the tensors have. One process publishes at a time.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        anchor_every: int = 50,
        *,
        level: int = 1,
        threads: int = 2,
        shard_bytes: int = 256 << 20,
    ) -> None:
        if anchor_every < 1:
            raise ValueError(f"anchor_every {anchor_every}: it is 1 or more")
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        # What a publisher that was killed has left unfinished.
        for unfinished in (*self.path.glob(".tmp-*"), *self.path.glob(".old-*")):
            shutil.rmtree(unfinished, ignore_errors=True)
        self._anchor_every, self._level, self._threads, self._shard_bytes = anchor_every, level, threads, shard_bytes
        self._version = _manifest.latest(self.path)
        self._digest: str | None = None
        # Bytes, type and shape of the version before, and the CRC of these bytes.
        self._before: dict[str, tuple[np.ndarray, str, tuple[int, ...], int]] = {}
        self._since_anchor = 0

    @property
    def version(self) -> int | None:
        """The newest version, or None before the first."""
        return self._version

    def resume(self, tensors: Mapping[str, Any]) -> None:
        """Goes on where another process has stopped: `tensors` are those of the newest version. Without it the next version is an anchor.

        Raises:
            ReferenceMismatch: they are not.
        """
        if self._version is None:
            raise ReferenceMismatch(f"{self.path}: nothing has been published there")
        manifest = _manifest.read(self.path, self._version)
        before = self._taken(tensors)
        entries = [Entry(name, dtype, shape, crc, None, None, 0, 0) for name, (_, dtype, shape, crc) in before.items()]
        if _manifest.digest(entries) != manifest.digest:
            raise ReferenceMismatch(f"the tensors are not those of version {self._version}")
        self._keep(before, set())
        self._digest = manifest.digest
        published = (v for v in _manifest.versions(self.path) if _manifest.read(self.path, v).anchor is not None)
        self._since_anchor = self._version - max(published, default=0)

    def publish(self, tensors: Mapping[str, Any]) -> Manifest:
        """Publishes a version, which others see whole or not at all.

        Args:
            tensors: numpy arrays or torch tensors by name, which must not change until this returns.

        Returns:
            Its manifest.
        """
        now = self._taken(tensors)
        kinds = {name: value[1:3] for name, value in now.items()}
        alike = kinds == {name: value[1:3] for name, value in self._before.items()}
        version = 1 if self._version is None else self._version + 1
        anchored = not alike or self._since_anchor + 1 >= self._anchor_every
        temporary = self.path / f".tmp-{version}-{os.getpid()}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        try:
            delta = self._frames(temporary, "delta", now, self._before) if alike else None
            anchor = self._frames(temporary, "anchor", now, {}) if anchored else None
            digest = _manifest.digest(delta or anchor or [])
            base = (self._version, self._digest) if alike else (None, None)
            manifest = Manifest(version, digest, *base, delta, anchor)
            _manifest.write(temporary / "manifest.json", manifest)
            # Fails where another process has published this version.
            os.rename(temporary, _manifest.folder(self.path, version))
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        _manifest.sync_directory(self.path)
        _manifest.save(self.path / _manifest.LATEST, f'{{"version": {version}, "digest": "{digest}"}}\n'.encode())
        self._version, self._digest = version, digest
        self._since_anchor = 0 if anchored else self._since_anchor + 1
        as_before = {entry.name for entry in delta or [] if entry.file is None}
        self._keep(now, as_before)
        return manifest

    def prune(self, anchors: int = 2) -> list[int]:
        """Removes versions older than the newest `anchors` versions with an anchor; returns which. Subscribers that are further behind go on from an anchor."""
        all_versions = _manifest.versions(self.path)
        anchored = [v for v in all_versions if _manifest.read(self.path, v).anchor is not None]
        if anchors < 1 or len(anchored) < anchors:
            return []
        old = [v for v in all_versions if v < anchored[-anchors]]
        for version in old:
            # First the name: a version that is half removed must not be seen.
            gone = self.path / f".old-{version}-{os.getpid()}"
            os.rename(_manifest.folder(self.path, version), gone)
            shutil.rmtree(gone)
        return old

    def _taken(self, tensors: Mapping[str, Any]) -> dict[str, tuple[np.ndarray, str, tuple[int, ...], int]]:
        def take(item: tuple[str, Any]) -> tuple[str, tuple[np.ndarray, str, tuple[int, ...], int]]:
            name, tensor = item
            data = np.frombuffer(as_bytes(tensor), np.uint8)
            return name, (data, dtype_name(tensor), tuple(int(n) for n in tensor.shape), _native.crc32(data))

        with ThreadPoolExecutor(self._threads) as pool:
            return dict(pool.map(take, sorted(tensors.items())))

    def _keep(self, now: Mapping[str, Any], as_before: set[str]) -> None:
        """Makes a version the one before: its bytes go where those of the version before are, if they fit."""
        # If this is interrupted there is no version before, and the next one is an anchor.
        before, self._before = self._before, {}

        def keep(item: tuple[str, Any]) -> tuple[str, Any]:
            name, (data, *rest) = item
            kept = before[name][0] if name in before else None
            if kept is None or kept.size != data.size:
                kept = data.copy()
            elif name not in as_before:
                np.copyto(kept, data)
            return name, (kept, *rest)

        with ThreadPoolExecutor(self._threads) as pool:
            self._before = dict(pool.map(keep, now.items()))

    def _frames(self, path: Path, kind: str, now: Mapping[str, Any], before: Mapping[str, Any]) -> list[Entry]:
        """Writes the frames of all tensors; returns the entries."""

        def coded(name: str) -> bytes:
            data, dtype, shape, crc = now[name]
            kept = before.get(name)
            if kept is not None and kept[3] == crc and np.array_equal(kept[0], data):
                return b""
            refs = [] if kept is None else [kept[0]]
            return _native.compress(data, refs, options(element_of(dtype), self._level, 1, columns_of(shape)))

        entries: list[Entry] = []
        number, offset, file = -1, 0, None
        try:
            with ThreadPoolExecutor(self._threads) as pool:
                # Frames come in order; some are made ahead.
                for name, frame in zip(now, pool.map(coded, now)):
                    _, dtype, shape, crc = now[name]
                    base_crc = before[name][3] if name in before else None
                    if not frame:
                        entries.append(Entry(name, dtype, shape, crc, base_crc, None, 0, 0))
                        continue
                    if file is None or offset >= self._shard_bytes:
                        _close(file)
                        number, offset = number + 1, 0
                        file = open(path / f"{kind}-{number:03d}", "wb")
                    entries.append(Entry(name, dtype, shape, crc, base_crc, f"{kind}-{number:03d}", offset, len(frame)))
                    file.write(frame)
                    offset += len(frame)
        finally:
            _close(file)
        return entries


def _close(file: Any) -> None:
    if file is not None:
        file.flush()
        os.fsync(file.fileno())
        file.close()
