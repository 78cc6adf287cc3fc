# SPDX-License-Identifier: MIT-0
"""§13: what claims more than it brings, and what brings much. The vectors of `large/` are made by the runner."""
import struct

from assemble.elements import BYTES, U8
from assemble.entropy import pack
from assemble.records import BIND, CHUNK, LAYOUT, METADATA, PROFILE, Kind, Record, Span, Stream
from assemble.substreams import CONSTANT, PLAIN, Substream
from assemble.tables import Bank, single

from .registry import reject, valid
from .streams import HELLO, bytes_stream

for _kind, _name, _most in ((LAYOUT, "layout", 1 << 21), (BIND, "bind", 1 << 16), (PROFILE, "profile", 1 << 23),
                            (METADATA, "metadata", 1 << 20), (CHUNK, "chunk", (1 << 16) + 36)):
    for _length in (_most + 1, (1 << 32) - 1):
        @reject(f"{_name}-length-{_length}", "baseline/raw-hello", "ULP-REC-05", f"a {_name} record claims a body of {_length} bytes "
                "and brings nineteen", chunks=1, error_class="limit")
        def _(s, kind=_kind, length=_length):
            record = Record(kind, HELLO + b"1234", 0, kind == CHUNK)
            record.length = length
            s.records[2:] = [record]


@reject("ancillary-length-4294967295", "baseline/raw-hello", "ULP-STR-02", "an unknown ancillary record claims a body of 2^32 − 1 "
        "bytes and brings nineteen", chunks=1, error_class="limit", message="truncated")
def _(s):
    record = Record(0xC0, HELLO + b"1234")
    record.length = (1 << 32) - 1
    s.records[2:] = [record]


@reject("chunk-claims-4m", "baseline/header-baseline-maximum", "ULP-STR-02", "a chunk record claims 4 MiB and brings nineteen bytes",
        error_class="limit", message="truncated")
def _(s):
    record = Record(CHUNK, HELLO + b"1234", 0, 1)
    record.length = (1 << 22) + 36
    s.records[0:] = [record]


@reject("layout-claims-2m", "baseline/raw-hello", "ULP-STR-02", "a Layout claims 2 MiB and brings nineteen bytes",
        error_class="limit", message="truncated")
def _(s):
    record = Record(LAYOUT, HELLO + b"1234", 0, 1)
    record.length = 1 << 21
    s.records[0:] = [record]


@reject("substreams-65535", "baseline/raw-hello", "ULP-CHK-05 ULP-REC-05", "a chunk of count 65,535 whose body is short",
        error_class="limit")
def _(s):
    s.records[1].count = 65535


def constant(length, **header):
    s = Stream(b"\x5a" * length, **({"max_chunk_length": length} | header))
    s.layout([Kind(BYTES)], [(0, length)])
    return s.chunk(length, [Substream(CONSTANT, b"\x5a")]).end()


@valid("constant-4m", "ULP-HDR-05 ULP-CHK-02", "one chunk of 4 MiB, the largest of Baseline, by CONSTANT")
def _():
    return constant(1 << 22)


@valid("constant-64m", "ULP-HDR-05 ULP-CHK-02", "one chunk of 64 MiB, the largest of all, by CONSTANT", extended=True)
def _():
    return constant(1 << 26, feature_set=1)


@valid("spans-65536", "ULP-LAY-04", "a Layout of 65,536 spans of one byte", large=True)
def _():
    return spans(65536)


@reject("spans-65537", "baseline/spans-65536", "ULP-LAY-04", "a Layout of 65,537 spans", large=True)
def _(s):
    s.records[0].spans.append(Span(0, 1))


def spans(n):
    s = Stream(b"\x5a" * n)
    return s.layout([Kind(BYTES)], [(0, 1)] * n).chunk(n, [Substream(CONSTANT, b"\x5a")]).end()


def large_profile(s, slot, columns):
    """A profile of zeros."""
    return s.add(Record(PROFILE, struct.pack("<IB", columns, 0) + bytes(-(-columns // 8)), 0, slot))


@valid("profile-columns-2-20", "ULP-PRF-02", "profiles of 2^20 columns in sum; the slots of both are then filled anew", large=True)
def _():
    s = Stream(HELLO, profile_slots=2)
    large_profile(large_profile(s, 1, 5), 0, (1 << 20) - 5)
    large_profile(large_profile(s, 0, (1 << 20) - 6), 1, 6)
    s.layout([Kind(BYTES)], [(0, 11)])
    return s.chunk(11, [Substream(0, HELLO)]).end()


@reject("profile-columns-above", "baseline/profile-columns-2-20", "ULP-PRF-02", "profiles of 2^20 + 1 columns in sum", large=True)
def _(s):
    s.records[1] = large_profile(Stream(), 0, (1 << 20) - 4).records[0]


@valid("metadata-2-20", "ULP-REC-05", "two Metadata records of 2^20 bytes in sum, their CRCs included", large=True)
def _():
    return metadata(1 << 20)


@reject("metadata-above", "baseline/metadata-2-20", "ULP-REC-05", "two Metadata records of 2^20 + 1 bytes in sum", large=True)
def _(s):
    s.records[1:2] = [metadata((1 << 20) + 1).records[1]]


def metadata(total):
    s = bytes_stream()
    pairs = Stream().metadata((b"a", b"1")).records + Stream().metadata((b"b", bytes(total - 2 * (4 + 7) - 1))).records
    s.records[0:0] = pairs
    assert sum(len(p.payload) + 4 for p in pairs) == total
    return s


@valid("plain-one-symbol-4m", "ULP-ENT-02", "4 MiB of one symbol of frequency 4096: 128 bytes of states", large=True)
def _():
    s = Stream(bytes([7]) * (1 << 22), max_chunk_length=1 << 22, bank_slots=1)
    s.bind(0, Bank(0, [single(7)])).layout([Kind(U8)], [(0, 1 << 22)])
    return s.chunk(1 << 22, [Substream(PLAIN, pack([1 << 16] * 32, []), lanes=5)]).end()


@valid("chunks-1000", "ULP-END-01", "1000 chunks of one byte, with a Layout each", large=True)
def _():
    s = Stream(bytes(range(250)) * 4)
    for k in range(1000):
        s.layout([Kind(BYTES)], [(0, 1)]).chunk(1, [Substream(0, s.content[k:k + 1])])
    return s.end()


@valid("padding-1m", "ULP-STR-01", "2^20 zero bytes after the End record", large=True)
def _():
    s = bytes_stream()
    s.tail = bytes(1 << 20)
    return s
