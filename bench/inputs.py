"""What is compressed: pairs of the trajectory, tiled, or of the generator."""

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TRAJECTORY = ROOT / "../shared/data/trajectory"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"

MIB = 1 << 20
WIDTH = {"bf16": 2, "f16": 2, "f32": 4}
SAFETENSORS_TYPE = {"bf16": "BF16", "f16": "F16", "f32": "F32"}


@dataclass
class Source:
    """Where a pair comes from. `kind` and `fraction` are the generator's, used where the files are absent."""

    name: str
    element: str
    next: str
    prev: str | None = None
    kind: str = "bf16"
    fraction: float = 0.025


def _pair(element, prev, next, kind, prefix=""):
    file = f"{prefix}{element}-step" if prefix != "optim-" else "optim-f32-step"
    label = f"{prefix}{element} {prev.lstrip('0')}→{next.lstrip('0')}"
    return Source(label, element, f"{file}{next}", f"{file}{prev}", kind)


# The pairs of the design's evidence, and the plain contents.
REFERENCE = [
    _pair("bf16", "01600", "01601", "bf16"),
    _pair("bf16", "01600", "01610", "bf16"),
    _pair("bf16", "01600", "01700", "bf16"),
    _pair("bf16", "01200", "01600", "bf16"),
    _pair("bf16", "020", "021", "rl", "rl-"),
    _pair("f16", "01600", "01700", "bf16"),
    _pair("f32", "01600", "01610", "f32"),
    _pair("f32", "01600", "01700", "f32"),
    _pair("f32", "01600", "01700", "optim", "optim-"),
]
PLAIN = [
    Source("plain bf16 1700", "bf16", "bf16-step01700", kind="bf16"),
    Source("plain f16 1700", "f16", "f16-step01700", kind="bf16"),
    Source("plain f32 1700", "f32", "f32-step01700", kind="f32"),
    Source("plain optim-f32 1700", "f32", "optim-f32-step01700", kind="optim"),
]
SOURCES = REFERENCE + PLAIN
# What the speed goals are about.
MAIN = ["bf16 1600→1700", "f32 1600→1700", "rl-bf16 20→21", "plain bf16 1700", "plain f32 1700"]


class Pair:
    """A content, and the reference if there is one, in memory and as files of raw elements; and, for codecs that read containers or would find
    tiles, the untiled pair as safetensors."""

    def __init__(self, name, element, prev, next, prev_file, next_file, work):
        self.name = name
        self.element = element
        self.size = len(next)
        self.width = WIDTH[element]
        self.prev, self.next = prev, next
        self.prev_file, self.next_file = prev_file, next_file
        self.prev_path, self.next_path = (work.write("prev.raw", prev) if prev else None), work.write("next.raw", next)
        self.work = work

    @property
    def is_plain(self):
        return self.prev is None


class Work:
    """A folder for files of the run, in memory where there is room and they are not large."""

    def __init__(self, large=False):
        folder = os.environ.get("BENCH_WORK")
        if folder is None and not large and shutil.disk_usage("/dev/shm").free > 4 << 30:
            folder = "/dev/shm"
        self.path = Path(tempfile.mkdtemp(prefix="ulp-bench-", dir=folder))

    def write(self, name, data):
        path = self.path / name
        path.write_bytes(data)
        return path

    def __truediv__(self, name):
        return self.path / name

    def close(self):
        shutil.rmtree(self.path, ignore_errors=True)


def payload(file):
    """The tensors' bytes of a safetensors file."""
    return file[8 + int.from_bytes(file[:8], "little") :]


def wrap(element, data):
    """A safetensors file of one matrix."""
    count = len(data) // WIDTH[element]
    shape = [count // 1024, 1024] if count % 1024 == 0 else [count]
    header = {"weight": {"dtype": SAFETENSORS_TYPE[element], "shape": shape, "data_offsets": [0, len(data)]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def generator(kind, size, which, seed=1, fraction=0.025):
    """Command that writes half a pair of the generator to its stdout."""
    options = {"kind": kind, "size": size, "seed": seed, "which": which, "fraction": fraction}
    return [str(TARGET / "examples/synthetic"), *(word for key, value in options.items() for word in (f"--{key}", str(value)))]


def generate(*arguments, **keywords):
    return subprocess.run(generator(*arguments, **keywords), stdout=subprocess.PIPE, check=True).stdout


def load(source, size, work):
    """The pair, at least `size` bytes long; of size 0 the files as they are, with their headers."""
    if (TRAJECTORY / f"{source.next}.safetensors").exists():
        prev_file, next_file = (
            (TRAJECTORY / f"{name}.safetensors").read_bytes() if name else None for name in (source.prev, source.next)
        )
        if size == 0:
            return Pair(source.name, source.element, prev_file, next_file, prev_file, next_file, work)
        tiles = -(-size // len(payload(next_file)))
        prev, next = (payload(file) * tiles if file else None for file in (prev_file, next_file))
        return Pair(source.name, source.element, prev, next, prev_file, next_file, work)
    print(f"{source.name}: no trajectory files, using the generator ({source.kind})", flush=True)
    return synthetic(source, size or 4 * MIB, work)


def synthetic(source, size, work):
    """The generator's pair of that kind. (It has no f16: bf16 values, f16 bit patterns.)"""
    prev = generate(source.kind, size, "prev", fraction=source.fraction) if source.prev else None
    next = generate(source.kind, size, "next", fraction=source.fraction)
    small = min(size, 4 * MIB)
    prev_file, next_file = (wrap(source.element, data[:small]) if data else None for data in (prev, next))
    return Pair(source.name, source.element, prev, next, prev_file, next_file, work)


class FilePair:
    """The generator's pair as files alone: it may be larger than the memory."""

    def __init__(self, name, kind, size, work):
        self.name, self.size, self.work = name, size, work
        self.element = "f32" if kind in ("f32", "optim") else "bf16"
        self.is_plain = False
        self.prev_path, self.next_path = work / "prev.raw", work / "next.raw"
        for which, path in (("prev", self.prev_path), ("next", self.next_path)):
            with open(path, "wb") as file:
                subprocess.run(generator(kind, size, which), stdout=file, check=True)


def ordered_residual(pair):
    """Differences of the bit patterns in value order, as signed integers: the residual without any codec of ours."""
    unsigned, signed = np.dtype(f"u{pair.width}").type, np.dtype(f"i{pair.width}")
    top = unsigned(1 << (8 * pair.width - 1))
    ordered = lambda data: (lambda u: np.where(u & top, ~u, u | top))(np.frombuffer(data, unsigned))
    return (ordered(pair.next) - ordered(pair.prev)).view(signed)
