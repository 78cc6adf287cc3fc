"""torch.distributed.checkpoint with compression, against the checkpoint before.

    import torch.distributed.checkpoint as dcp
    from ulpack.dcp import Reader, Writer

    dcp.save(state, storage_writer=Writer("step2", ref_dir="step1"))
    dcp.load(state, storage_reader=Reader("step2"))

`Writer` knows the names of tensors: each item is coded against the same part of the same tensor in `ref_dir`, whatever ranks wrote that, and the checkpoint
records which one it was. `Reader` looks for it at the same place relative to the checkpoint, or where `ref_dir` says, and checks it before any tensor is
filled. References may have references; each is needed to read what refers to it.

`UlpExtension` compresses without a reference and without knowing names, for `FileSystemWriter(path, _extensions=[UlpExtension()])`; checkpoints of both are
read with `Reader`, those of the extension also by `FileSystemReader(path, _extension_registry=registry())`.

Needs torch 2.7 or later: the interfaces for extensions are experimental there.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, cast

import torch
from torch.distributed.checkpoint import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint._extension import ExtensionRegistry, StreamTransformExtension
from torch.distributed.checkpoint.filesystem import _StorageReaderTransforms, _StorageWriterTransforms
from torch.distributed.checkpoint.metadata import MetadataIndex, TensorStorageMetadata
from torch.distributed.checkpoint.planner import LoadItemType, WriteItemType

from ulpack._arrays import as_bytes
from ulpack._files import open as open_stream
from ulpack._native import ReferenceMismatch
from ulpack._tensors import _header

__all__ = ["Reader", "UlpExtension", "Writer", "registry"]

_METADATA = ".metadata"
# Descriptor of items with a reference: name, version, SHA-256 of the reference's metadata, where it was.
_WITH_REFERENCE = "stream.ulp.ref"
# Tensors of a reference that are kept decoded: neighbours in a plan often need the same one.
_KEPT = 4


class UlpExtension(StreamTransformExtension):
    """Compression of each item by itself.

    Args:
        level: 1 fast … 9 small.
        threads: worker threads; ranks share a machine, so one by default.
    """

    def __init__(self, level: int = 5, threads: int = 1) -> None:
        self.level, self.threads = level, threads

    @staticmethod
    def registry_name() -> str:
        return "stream.ulp"

    @staticmethod
    def from_descriptor(version: str) -> UlpExtension:
        if version.partition(".")[0] != "1":
            raise ValueError(f"the checkpoint needs version {version} of {UlpExtension.registry_name()}, this is version 1")
        return UlpExtension()

    def get_descriptor(self) -> str:
        return f"{self.registry_name()}/1"

    def transform_to(self, output: IO[bytes]) -> IO[bytes]:
        """A stream that compresses into `output`; closing it ends and flushes the compressed stream, and leaves a file open."""
        return cast("IO[bytes]", _Item(output, None, self.level, self.threads))

    def transform_from(self, input: IO[bytes]) -> IO[bytes]:
        """The content of `input`, forward only; each part is checked before it is given out."""
        return open_stream(input, "rb", threads=self.threads)


def registry() -> ExtensionRegistry:
    """A registry that knows torch's own extensions and `UlpExtension`."""
    known = ExtensionRegistry()
    known.register(UlpExtension)
    return known


class _Item(io.RawIOBase):
    """An item being written."""

    def __init__(self, output: Any, ref: bytes | None, level: int, threads: int) -> None:
        super().__init__()
        self._output = output
        self._stream = open_stream(output, "wb", ref=ref, level=level, threads=threads)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._stream.write(data)

    def close(self) -> None:
        if self.closed:
            return
        self._stream.close()
        self._output.flush()
        # Other extensions end their streams when they are closed; files take the next item.
        if not isinstance(self._output, (io.RawIOBase, io.BufferedIOBase)):
            self._output.close()
        super().close()


class _Checkpoint:
    """A checkpoint that others refer to."""

    def __init__(self, path: str | os.PathLike[str], expected: str | None = None, where: Sequence[Path] = ()) -> None:
        """Opens the checkpoint at `path`, or the first of `where` that is the `expected` one."""
        self.path = self._find(Path(path), expected, where)
        raw = (self.path / _METADATA).read_bytes()
        self.digest = hashlib.sha256(raw).hexdigest()
        # As torch itself reads it.
        self.metadata = pickle.loads(raw)
        self._kept: OrderedDict[MetadataIndex, torch.Tensor] = OrderedDict()
        self._parents = Parents(self.path, self.metadata, where)
        missing = {
            info.relative_path
            for info in self.metadata.storage_data.values()
            if not (self.path / info.relative_path).is_file()
        }
        if missing:
            raise ReferenceMismatch(f"{self.path}: files of the checkpoint are missing: {', '.join(sorted(missing))}")

    @staticmethod
    def _find(path: Path, expected: str | None, where: Sequence[Path]) -> Path:
        found = []
        for candidate in (*where, path):
            file = candidate / _METADATA
            if not file.is_file():
                continue
            if expected is None or hashlib.sha256(file.read_bytes()).hexdigest() == expected:
                return candidate
            found.append(candidate)
        if found:
            raise ReferenceMismatch(f"{found[0]} is not the checkpoint that was referred to; name that one with ref_dir")
        raise ReferenceMismatch(f"{path}: no checkpoint there, and it is referred to; name its directory with ref_dir")

    def part(self, name: str, offsets: Sequence[int], sizes: Sequence[int], dtype: torch.dtype) -> bytes | None:
        """A part of a tensor, as a safetensors file of its own, which is the same whatever ranks wrote it; None where it is not all there."""
        stored = self.metadata.state_dict_metadata.get(name)
        if not isinstance(stored, TensorStorageMetadata) or len(stored.size) != len(offsets):
            return None
        result = torch.empty(tuple(sizes), dtype=stored.properties.dtype)
        covered = 0
        for chunk in stored.chunks:
            begin = [max(a, b) for a, b in zip(offsets, chunk.offsets)]
            end = [min(a + m, b + n) for a, m, b, n in zip(offsets, sizes, chunk.offsets, chunk.sizes)]
            if any(b >= e for b, e in zip(begin, end)):
                continue
            whole = self._tensor(MetadataIndex(name, chunk.offsets))
            if whole is None or tuple(whole.shape) != tuple(chunk.sizes):
                return None
            source = tuple(slice(b - o, e - o) for b, e, o in zip(begin, end, chunk.offsets))
            target = tuple(slice(b - o, e - o) for b, e, o in zip(begin, end, offsets))
            result[target] = whole[source]
            covered += result[target].numel()
        if covered != result.numel() or covered == 0:
            return None
        if result.dtype != dtype:
            if not (result.dtype.is_floating_point and dtype.is_floating_point):
                return None
            result = result.to(dtype)
        try:
            header, _ = _header({"part": result}, None)
        except TypeError:
            return None
        return header + bytes(as_bytes(result))

    def _tensor(self, index: MetadataIndex) -> torch.Tensor | None:
        if index in self._kept:
            self._kept.move_to_end(index)
            return self._kept[index]
        info = self.metadata.storage_data.get(index)
        if info is None:
            return None
        with open(self.path / info.relative_path, "rb") as file:
            file.seek(info.offset)
            raw = io.BytesIO(file.read(info.length))
        descriptors = info.transform_descriptors or ()
        stream = self._parents.opened(self.metadata, index, descriptors, raw) or _plain(descriptors, raw)
        tensor = torch.load(io.BytesIO(stream.read()), map_location="cpu", weights_only=True)
        self._kept[index] = tensor
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return tensor


def _plain(descriptors: Sequence[str], raw: IO[bytes]) -> IO[bytes]:
    stream = raw
    for extension in registry().from_descriptor_list(descriptors):
        stream = extension.transform_from(stream)
    return stream


class Parents:
    """The checkpoints that a checkpoint refers to, opened and checked at once."""

    def __init__(self, path: Path, metadata: Any, where: Sequence[Path]) -> None:
        self._known: dict[str, _Checkpoint] = {}
        for info in metadata.storage_data.values():
            for descriptor in getattr(info, "transform_descriptors", None) or ():
                found = _reference(descriptor)
                if found and found[0] not in self._known:
                    digest, place = found
                    self._known[digest] = _Checkpoint(path / place, digest, where)

    def opened(self, metadata: Any, index: MetadataIndex, descriptors: Sequence[str], raw: IO[bytes]) -> IO[bytes] | None:
        """The content of an item that has a reference; None for others."""
        found = _reference(descriptors[0]) if len(descriptors) == 1 else None
        if not found:
            return None
        stored = metadata.state_dict_metadata[index.fqn]
        chunk = next(chunk for chunk in stored.chunks if tuple(chunk.offsets) == tuple(index.offset or chunk.offsets))
        part = self._known[found[0]].part(index.fqn, chunk.offsets, chunk.sizes, stored.properties.dtype)
        if part is None:
            raise ReferenceMismatch(f"{index.fqn}: the checkpoint that is referred to lacks its counterpart")
        return open_stream(raw, "rb", ref=part, threads=1)


def _reference(descriptor: str) -> tuple[str, str] | None:
    """SHA-256 and place of the reference in a descriptor; None for those of other items."""
    name, _, version = descriptor.partition("/")
    if name != _WITH_REFERENCE:
        return None
    number, _, rest = version.partition(";")
    digest, _, place = rest.partition(";")
    if number.partition(".")[0] != "1":
        raise ValueError(f"the checkpoint needs version {number} of {_WITH_REFERENCE}, this is version 1")
    return digest, place


class _WriterTransforms(_StorageWriterTransforms):
    def __init__(self, writer: Writer, level: int, threads: int) -> None:
        super().__init__((UlpExtension(level, threads),))
        self._writer, self._level, self._threads = writer, level, threads

    def transform_save_stream(self, write_item: Any, raw_stream: io.IOBase) -> tuple[IO[bytes], list[str]]:
        before = self._writer._before
        if before is None or write_item.type == WriteItemType.BYTE_IO:
            return super().transform_save_stream(write_item, raw_stream)
        data = write_item.tensor_data
        part = before.part(write_item.index.fqn, data.chunk.offsets, data.chunk.sizes, data.properties.dtype)
        if part is None:
            return super().transform_save_stream(write_item, raw_stream)
        place = os.path.relpath(before.path, self._writer.path)
        item = cast("IO[bytes]", _Item(raw_stream, part, self._level, self._threads))
        return item, [f"{_WITH_REFERENCE}/1;{before.digest};{place}"]


class Writer(FileSystemWriter):
    """Writes a compressed checkpoint.

    Args:
        path: its directory.
        ref_dir: the directory of the checkpoint before, written by `Writer` or by torch; without it items are coded by themselves.
        level: 1 fast … 9 small.
        threads: worker threads of each of torch's threads (`thread_count`); ranks share a machine, so one by default.
        kwargs: as for `FileSystemWriter`.

    Raises:
        ReferenceMismatch: there is no whole checkpoint in `ref_dir`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        ref_dir: str | os.PathLike[str] | None = None,
        *,
        level: int = 5,
        threads: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(path, **kwargs)
        self._before = None if ref_dir is None else _Checkpoint(ref_dir)
        self.transforms = _WriterTransforms(self, level, threads)


class _ReaderTransforms(_StorageReaderTransforms):
    def __init__(self, reader: Reader, known: ExtensionRegistry) -> None:
        super().__init__(known)
        self._reader = reader

    def transform_load_stream(self, read_item: Any, transform_descriptors: Sequence[str], raw_stream: IO[bytes]) -> IO[bytes]:
        if read_item.type != LoadItemType.BYTE_IO and self._reader._parents is not None:
            metadata = self._reader._metadata
            found = self._reader._parents.opened(metadata, read_item.storage_index, transform_descriptors, raw_stream)
            if found is not None:
                return found
        return super().transform_load_stream(read_item, transform_descriptors, raw_stream)


class Reader(FileSystemReader):
    """Reads checkpoints of `Writer`, of `UlpExtension` and of torch.

    Args:
        path: the directory.
        ref_dir: where the checkpoint is that this one refers to, or several directories where those are that these refer to; by default where they were,
            seen from `path`.

    Raises, when a load begins and before any tensor is filled:
        ReferenceMismatch: a checkpoint that is referred to is missing or another one. (torch wraps it in its CheckpointException.)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        ref_dir: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
        _extension_registry: ExtensionRegistry | None = None,
    ) -> None:
        known = _extension_registry or registry()
        known.register(UlpExtension)
        super().__init__(path, known)
        places = [] if ref_dir is None else [ref_dir] if isinstance(ref_dir, (str, os.PathLike)) else ref_dir
        self._where = [Path(place) for place in places]
        self._parents: Parents | None = None
        self._metadata: Any = None
        self.transforms = _ReaderTransforms(self, known)

    def set_up_storage_reader(self, metadata: Any, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        super().set_up_storage_reader(metadata, is_coordinator, *args, **kwargs)
        self._metadata = metadata
        self._parents = Parents(Path(self.path), metadata, self._where)
