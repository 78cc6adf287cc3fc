"""What a version is: its manifest, on disk and in memory."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ulpack._native import UlpError, Unsupported

FORMAT = "ulpack.sync/1"
LATEST = "LATEST"


@dataclass(frozen=True)
class Entry:
    """A tensor of a version."""

    name: str
    # As safetensors names it.
    dtype: str
    shape: tuple[int, ...]
    # Of the tensor's bytes, after this version and before it (None in anchors).
    crc: int
    base_crc: int | None
    # Where the frame is; no file where the tensor is as before.
    file: str | None
    offset: int
    length: int


@dataclass(frozen=True)
class Manifest:
    """A version."""

    version: int
    # SHA-256 over names, types, shapes and CRCs of all tensors.
    digest: str
    base: int | None
    base_digest: str | None
    # In the order of names; None where the version has no such frames.
    delta: list[Entry] | None
    anchor: list[Entry] | None

    def bytes_of(self, kind: str) -> int:
        """Bytes of the frames of a kind."""
        return sum(entry.length for entry in getattr(self, kind))


def digest(entries: list[Entry]) -> str:
    """The digest of the state that the entries lead to."""
    told = [[entry.name, entry.dtype, list(entry.shape), entry.crc] for entry in sorted(entries, key=lambda e: e.name)]
    return hashlib.sha256(json.dumps(told, ensure_ascii=True).encode()).hexdigest()


def folder(root: Path, version: int) -> Path:
    """The directory of a version."""
    return root / f"v{version:08d}"


def versions(root: Path) -> list[int]:
    """All versions there are, from the oldest."""
    names = (path.name for path in root.iterdir() if (path / "manifest.json").is_file())
    return sorted(int(name[1:]) for name in names if name.startswith("v") and name[1:].isdigit())


def latest(root: Path) -> int | None:
    """The newest version, or None before the first."""
    try:
        return int(json.loads((root / LATEST).read_text())["version"])
    except FileNotFoundError:
        return None


def read(root: Path, version: int) -> Manifest:
    """The manifest of a version."""
    path = folder(root, version) / "manifest.json"
    try:
        told: dict[str, Any] = json.loads(path.read_text())
        if told.pop("format") != FORMAT:
            raise Unsupported(f"{path}: another format than {FORMAT}")
        for kind in ("delta", "anchor"):
            if told[kind] is not None:
                told[kind] = [Entry(**{**entry, "shape": tuple(entry["shape"])}) for entry in told[kind]]
        manifest = Manifest(**told)
    except (KeyError, TypeError, ValueError) as error:
        raise UlpError(f"{path}: not a manifest: {error!r}") from None
    if manifest.version != version:
        raise UlpError(f"{path}: it is of version {manifest.version}")
    for entries in (manifest.delta, manifest.anchor):
        if entries is not None and digest(entries) != manifest.digest:
            raise UlpError(f"{path}: its tensors do not have its digest")
    return manifest


def write(path: Path, manifest: Manifest) -> None:
    """Writes a manifest and waits until it is stored."""
    save(path, json.dumps({"format": FORMAT, **asdict(manifest)}).encode())


def save(path: Path, content: bytes) -> None:
    """Writes a file that appears whole."""
    # One process writes it at a time; what another has left of it when it was killed is replaced.
    temporary = path.with_name(f"{path.name}.new")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Waits until names in a directory are stored, where the system can."""
    if os.name == "posix":
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
