"""The codecs, each with the same face: made for a pair, then `encode()` and `decode()` in turn, both timed, the second verified.

Everything runs in one thread. A codec sets `coded`, the compressed size, and raises `Unavailable` when it does not apply or is not installed."""

import importlib
import os
import shutil

import numpy as np

import stand_ins
from measure import call, process


class Unavailable(Exception):
    """This codec cannot run here."""


class WrongBytes(Exception):
    """A round trip did not give the content back."""


def need(module):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unavailable(f"{module} is not installed") from error


def check(name, got, expected):
    # Arrays compare in one pass, without a copy.
    if not np.array_equal(np.frombuffer(got, np.uint8), np.frombuffer(expected, np.uint8)):
        raise WrongBytes(f"{name}: the round trip changed the content")


class Codec:
    name = ""
    # "reference" or "plain": which contents it is for.
    mode = "reference"
    # Long windows would find the tiles of the content again, and some codecs read containers only: these get the untiled safetensors file.
    untiled = False
    # A process, or calls in this one.
    is_process = False
    # Seconds per megabyte: three rounds are enough.
    slow = False

    def __init__(self, pair):
        self.pair = pair
        self.content = pair.next_file if self.untiled else pair.next
        self.reference = pair.prev_file if self.untiled else pair.prev
        self.content_bytes = len(self.content)
        self.coded = 0

    def close(self):
        pass


class ZipNN(Codec):
    mode = "plain"
    delta = False

    def __init__(self, pair):
        super().__init__(pair)
        stand_ins.install()
        types = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}
        options = {"delta_compressed_type": "byte"} if self.delta else {}
        self.codec = need("zipnn").ZipNN(bytearray_dtype=types[pair.element], threads=1, **options)
        self.name = "zipnn delta" if self.delta else "zipnn"
        self.with_reference = {"delta_second_data": self.reference} if self.delta else {}

    def encode(self):
        # It reorders bits in the caller's buffer, so it gets a copy of its own.
        content = bytes(bytearray(self.content))
        self.stream, timing = call(self.codec.compress, content, **self.with_reference)
        self.coded = len(self.stream)
        return timing

    def decode(self):
        content, timing = call(self.codec.decompress, self.stream, **self.with_reference)
        check(self.name, content, self.content)
        return timing


class ZipNNDelta(ZipNN):
    mode = "reference"
    delta = True


class Pcodec(Codec):
    """Residuals in, residuals out: making them of the two checkpoints and undoing it is not timed, which flatters it."""

    name = "pcodec on ready residuals"

    def __init__(self, pair):
        super().__init__(pair)
        from inputs import ordered_residual

        pcodec = need("pcodec")
        self.standalone, self.config = need("pcodec.standalone"), pcodec.ChunkConfig()
        self.residual = ordered_residual(pair)

    def encode(self):
        self.stream, timing = call(self.standalone.simple_compress, self.residual, self.config)
        self.coded = len(self.stream)
        return timing

    def decode(self):
        residual, timing = call(self.standalone.simple_decompress, self.stream)
        if not np.array_equal(residual, self.residual):
            raise WrongBytes(self.name)
        return timing


class PcodecPlain(Codec):
    name = "pcodec"
    mode = "plain"

    def __init__(self, pair):
        super().__init__(pair)
        pcodec = need("pcodec")
        self.standalone, self.config = need("pcodec.standalone"), pcodec.ChunkConfig()
        # It knows no bf16.
        self.numbers = np.frombuffer(self.content, {"bf16": "u2", "f16": "f2", "f32": "f4"}[pair.element])

    def encode(self):
        self.stream, timing = call(self.standalone.simple_compress, self.numbers, self.config)
        self.coded = len(self.stream)
        return timing

    def decode(self):
        numbers, timing = call(self.standalone.simple_decompress, self.stream)
        check(self.name, numbers, self.content)
        return timing


class XorZstd(Codec):
    """What weight-sync systems ship: XOR, then zstd -1, in blocks that stay in the cache."""

    level = 1
    block = 1 << 20

    def __init__(self, pair):
        super().__init__(pair)
        zstandard = need("zstandard")
        self.name = f"XOR + zstd -{self.level}"
        self.compressor = zstandard.ZstdCompressor(level=self.level)
        self.decompressor = zstandard.ZstdDecompressor()
        self.words = self.as_words(self.content)
        self.reference_words = self.as_words(self.reference)

    @staticmethod
    def as_words(data):
        return np.frombuffer(data, np.uint64 if len(data) % 8 == 0 else np.uint8)

    def blocks(self):
        step = self.block // self.words.itemsize
        return (slice(start, start + step) for start in range(0, len(self.words), step))

    def compress(self):
        buffer = np.empty(self.block // self.words.itemsize, self.words.dtype)
        frames = []
        for block in self.blocks():
            words = self.words[block]
            frames.append(self.pack(np.bitwise_xor(words, self.reference_words[block], out=buffer[: len(words)])))
        return frames

    def decompress(self):
        content = np.empty_like(self.words)
        for block, frame in zip(self.blocks(), self.frames):
            reference = self.reference_words[block]
            np.bitwise_xor(self.unpack(frame, reference.nbytes), reference, out=content[block])
        return content

    def pack(self, words):
        return self.compressor.compress(words)

    def unpack(self, frame, size):
        return np.frombuffer(self.decompressor.decompress(frame), self.words.dtype)

    def encode(self):
        self.frames, timing = call(self.compress)
        self.coded = sum(4 + len(frame) for frame in self.frames)
        return timing

    def decode(self):
        content, timing = call(self.decompress)
        check(self.name, content, self.content)
        return timing


class XorGroupedZstd(XorZstd):
    """XOR, the bytes of a block regrouped by their place in the element, then zstd -3."""

    level = 3

    def __init__(self, pair):
        super().__init__(pair)
        self.name = f"XOR + byte groups + zstd -{self.level}"

    def pack(self, words):
        # Shifts are vectorised, a transposition of bytes is not.
        elements = words.view(f"u{self.pair.width}")
        groups = np.empty((self.pair.width, len(elements)), np.uint8)
        for place, group in enumerate(groups):
            np.copyto(group, elements >> (8 * place), casting="unsafe")
        return self.compressor.compress(groups)

    def unpack(self, frame, size):
        groups = np.frombuffer(self.decompressor.decompress(frame), np.uint8).reshape(self.pair.width, -1)
        elements = groups[0].astype(f"u{self.pair.width}")
        for place, group in enumerate(groups[1:], 1):
            elements |= group.astype(elements.dtype) << (8 * place)
        return elements.view(self.words.dtype)


class XorZstd19(XorZstd):
    level = 19
    slow = True
    block = 1 << 30
    # Its window is larger than a tile.
    untiled = True


class ZstdPlain(XorZstd):
    mode = "plain"

    def __init__(self, pair):
        Codec.__init__(self, pair)
        zstandard = need("zstandard")
        self.name = f"zstd -{self.level}"
        self.compressor = zstandard.ZstdCompressor(level=self.level)
        self.decompressor = zstandard.ZstdDecompressor()

    def compress(self):
        return [self.compressor.compress(self.content)]

    def decompress(self):
        return self.decompressor.decompress(self.frames[0])


class ZstdPlain19(ZstdPlain):
    level = 19
    slow = True
    untiled = True


class Z4ai(Codec):
    name = "z4ai"
    mode = "plain"
    untiled = True

    def __init__(self, pair):
        super().__init__(pair)
        self.z4ai = need("z4ai")
        self.type = {"bf16": "bf16", "f16": "fp16", "f32": "fp32"}[pair.element]

    def encode(self):
        self.stream, timing = call(self.z4ai.compress, self.content, dtype=self.type, threads=1, pinned=True)
        self.coded = len(self.stream)
        return timing

    def decode(self):
        content, timing = call(self.z4ai.decompress, self.stream, pinned=True)
        check(self.name, content, self.content)
        return timing


class Z4aiDelta(Z4ai):
    name = "z4ai delta"
    mode = "reference"

    def encode(self):
        self.stream, timing = call(self.z4ai.compress_delta, self.content, self.reference, dtype=self.type, threads=1, pinned=True)
        self.coded = len(self.stream)
        return timing

    def decode(self):
        content, timing = call(self.z4ai.decompress_delta, self.stream, self.reference, pinned=True)
        check(self.name, content, self.content)
        return timing


class Glyd(Codec):
    name = "glyd"
    mode = "plain"
    untiled = True

    def __init__(self, pair):
        super().__init__(pair)
        self.glyd = need("glyd")

    def encode(self):
        self.stream, timing = call(self.glyd.compress, self.content, threads=1, pinned=True)
        self.coded = len(self.stream)
        return timing

    def decode(self):
        content, timing = call(self.glyd.decompress, self.stream, pinned=True)
        check(self.name, content, self.content)
        return timing


class GlydBase(Glyd):
    name = "glyd with base"
    mode = "reference"

    def encode(self):
        self.stream, timing = call(self.glyd.compress_with_base, self.reference, self.content, pinned=True)
        self.coded = len(self.stream)
        return timing

    def decode(self):
        content, timing = call(self.glyd.decompress_with_base, self.reference, self.stream, pinned=True)
        check(self.name, content, self.content)
        return timing


class Lmz(Codec):
    """Codes files into archives."""

    name = "lmz"
    mode = "plain"
    untiled = True

    def __init__(self, pair):
        super().__init__(pair)
        self.api = need("lmz.api")
        self.folder = pair.work / "lmz"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.input, self.archive, self.output = (self.folder / name for name in ("next.safetensors", "archive.lmz", "out.safetensors"))
        self.input.write_bytes(self.content)

    def encode(self):
        _, timing = call(self.api.compress, str(self.input), str(self.archive), workers=1)
        self.coded = self.archive.stat().st_size
        return timing

    def decode(self):
        self.output.unlink(missing_ok=True)
        _, timing = call(self.api.decompress, str(self.archive), str(self.output), workers=1)
        check(self.name, self.output.read_bytes(), self.content)
        return timing

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class LmzAppend(Lmz):
    """An archive grows by the difference from the file in it."""

    name = "lmz append"
    mode = "reference"

    def __init__(self, pair):
        super().__init__(pair)
        prev = self.folder / "prev"
        prev.mkdir()
        (prev / "prev.safetensors").write_bytes(self.reference)
        self.base = self.folder / "base.lmz"
        self.api.compress(str(prev), str(self.base), workers=1)

    def encode(self):
        shutil.copyfile(self.base, self.archive)
        _, timing = call(self.api.append, str(self.archive), str(self.input), workers=1)
        self.coded = self.archive.stat().st_size - self.base.stat().st_size
        return timing

    def decode(self):
        self.output.unlink(missing_ok=True)
        _, timing = call(self.api.extract, str(self.archive), self.input.name, str(self.output), workers=1)
        check(self.name, self.output.read_bytes(), self.content)
        return timing


class Files(Codec):
    """Codecs that are commands, with files."""

    is_process = True

    def __init__(self, pair):
        super().__init__(pair)
        self.stream, self.output = pair.work / "stream", pair.work / "output"
        if self.untiled:
            self.next_path = pair.work.write("next.safetensors", self.content)
            self.prev_path = pair.work.write("prev.safetensors", self.reference) if self.reference else None
        else:
            self.next_path, self.prev_path = pair.next_path, pair.prev_path

    def encode(self):
        self.stream.unlink(missing_ok=True)
        timing = process(self.encode_command())
        self.coded = self.stream.stat().st_size
        return timing

    def decode(self):
        self.output.unlink(missing_ok=True)
        timing = process(self.decode_command())
        check(self.name, self.output.read_bytes(), self.content)
        return timing

    def close(self):
        self.stream.unlink(missing_ok=True)
        self.output.unlink(missing_ok=True)


class ZstdPatch(Files):
    untiled = True
    level = 3

    def __init__(self, pair):
        super().__init__(pair)
        self.zstd = shutil.which("zstd")
        if not self.zstd:
            raise Unavailable("zstd is not installed")
        self.name = f"zstd -{self.level} --patch-from"
        # The window must hold the reference.
        self.window = f"--long={max(27, (len(self.reference) + len(self.content) - 1).bit_length())}"

    def encode_command(self):
        return [self.zstd, "-q", "-f", "--single-thread", f"-{self.level}", self.window, f"--patch-from={self.prev_path}", self.next_path, "-o", self.stream]

    def decode_command(self):
        return [self.zstd, "-d", "-q", "-f", self.window, f"--patch-from={self.prev_path}", self.stream, "-o", self.output]


class ZstdPatch19(ZstdPatch):
    level = 19
    slow = True


def processor_name():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), os.uname().machine)


ALL = [
    ZipNN,
    ZipNNDelta,
    Pcodec,
    PcodecPlain,
    XorZstd,
    XorGroupedZstd,
    ZstdPlain,
    ZstdPatch,
    Z4ai,
    Z4aiDelta,
    Glyd,
    GlydBase,
    Lmz,
    LmzAppend,
]
