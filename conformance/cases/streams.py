# SPDX-License-Identifier: MIT-0
"""§3 the stream, its header and record headers, and §4 End."""
from assemble.elements import BYTES
from assemble.records import Index, Kind, Record, Stream
from assemble.substreams import CONSTANT, Substream

from .registry import reject, valid

HELLO = b"hello, ulp\n"


def bytes_stream(content=HELLO, chunks=(None,), **header):
    """Content of type bytes in RAW chunks of the lengths given (None: all of it)."""
    s = Stream(content, **header)
    s.layout([Kind(BYTES)], [(0, len(content))])
    for length in chunks:
        length = len(content) if length is None else length
        s.chunk(length, [Substream(0, content[s.coded:s.coded + length])])
    return s.end()


def one_of(s, kind):
    return next(r for r in s.records if r.kind == kind)


# --- valid

@valid("empty", "ULP-STR-02 ULP-END-01 ULP-END-02", "an empty content: a Stream_Header and an End")
def _():
    return Stream(max_chunk_length=1).end()


@valid("raw-hello", "ULP-STR-03 ULP-CHK-06", "one RAW chunk of eleven bytes")
def _():
    return bytes_stream()


@valid("raw-three-chunks", "ULP-STR-03 ULP-CHK-02 ULP-END-01", "three RAW chunks of one Layout")
def _():
    return bytes_stream(chunks=(1, 6, 4))


@valid("raw-one-byte", "ULP-CHK-02", "max_chunk_length 1 and a chunk of one byte")
def _():
    return bytes_stream(b"\0", max_chunk_length=1)


@valid("header-baseline-maximum", "ULP-HDR-05", "every header field at its Baseline maximum")
def _():
    return Stream(references=[], bank_slots=64, profile_slots=4096, max_chunk_length=1 << 22).end()


@valid("header-extended-maximum", "ULP-HDR-05 ULP-HDR-06", "every header field at its maximum", extended=True)
def _():
    return Stream(bank_slots=128, profile_slots=4096, max_chunk_length=1 << 26, feature_set=1).end()


@valid("header-extended-small", "ULP-HDR-06", "feature set 1 within the limits of Baseline", extended=True)
def _():
    return bytes_stream(feature_set=1)


@valid("header-pairs-maximum", "ULP-HDR-05 ULP-HDR-06", "feature set 2, which the stream makes no use of, and every header field at its maximum",
       extended=True)
def _():
    return Stream(bank_slots=128, profile_slots=4096, max_chunk_length=1 << 26, feature_set=2).end()


@valid("zero-padding", "ULP-STR-01", "1000 zero bytes after the End record")
def _():
    s = bytes_stream()
    s.tail = bytes(1000)
    return s


@valid("zero-padding-one", "ULP-STR-01", "one zero byte after the End record")
def _():
    s = bytes_stream()
    s.tail = b"\0"
    return s


@valid("concatenated", "ULP-STR-01", "three streams, the second empty, decode to the concatenation")
def _():
    return [bytes_stream(chunks=(4, 7)), Stream().end(), bytes_stream(b"and more\n")]


@valid("concatenated-padded", "ULP-STR-01", "two streams, then zero padding")
def _():
    second = bytes_stream(b"more\n")
    second.tail = bytes(7)
    return [bytes_stream(), second]


@valid("ancillary-unknown", "ULP-REC-02", "unknown ancillary records with flags and counts, everywhere a record may be")
def _():
    s = bytes_stream(chunks=(4, 7))
    for at in range(len(s.records), -1, -1):
        if at < len(s.records):
            s.records.insert(at, Record(0x84 + at, bytes(range(40 * at)), 0xFF, 0x1234))
    return s


@valid("ancillary-empty", "ULP-REC-02", "an unknown ancillary record with an empty body: length 4")
def _():
    s = bytes_stream()
    s.records.insert(0, Record(0xFF, b""))
    return s


@valid("index-skipped", "ULP-END-01", "two Index records; End points to the last")
def _():
    s = bytes_stream(chunks=(4, 7))
    s.records.insert(2, Index())
    s.records.insert(4, Index())
    return s


# --- Stream_Header

@reject("header/magic", "baseline/raw-hello", "ULP-HDR-01", "last byte of the magic is 0B", message="not a ulp stream")
def _(s):
    s.header["magic"] = b"\x89ulp\r\x0b"


@reject("header/magic-text-mode", "baseline/raw-hello", "ULP-HDR-01", "CR LF of the magic became LF",
        message="not a ulp stream")
def _(s):
    s.header["magic"] = b"\x89ulp\n"


@reject("header/other-format", "baseline/raw-hello", "ULP-HDR-01", "gzip's magic", message="not a ulp stream")
def _(s):
    s.header["magic"] = b"\x1f\x8b\x08\0\0\0"


@reject("header/version", "baseline/raw-hello", "ULP-HDR-02", "version 1", error_class="unsupported")
def _(s):
    s.header["version"] = 1


@reject("header/version-crc", "baseline/raw-hello", "ULP-HDR-02", "version 255 and a header CRC that does not match: "
        "the version is checked first", error_class="unsupported")
def _(s):
    s.header["version"], s.header_crc = 255, 1


@reject("header/draft", "baseline/raw-hello", "ULP-HDR-02", "a draft number of the future", error_class="unsupported")
def _(s):
    s.header["draft"] = 200


@reject("header/draft-0", "baseline/raw-hello", "ULP-HDR-02", "draft 0", error_class="unsupported")
def _(s):
    s.header["draft"] = 0


@reject("header/crc", "baseline/raw-hello", "ULP-HDR-03", "one bit of the header CRC is flipped")
def _(s):
    s.header_crc = 1 << 31


@reject("header/crc-before-reserved", "baseline/raw-hello", "ULP-HDR-03", "a reserved flag, but the CRC does not match "
        "either: damage, not a later version")
def _(s):
    s.header["flags"], s.header_crc = 0x8000, 1


for _bit in (1, 7, 8, 15):
    @reject(f"header/flag-{_bit}", "baseline/raw-hello", "ULP-HDR-04", f"reserved header flag {_bit}",
            error_class="unsupported")
    def _(s, bit=_bit):
        s.header["flags"] = 1 << bit


@reject("header/reserved", "baseline/raw-hello", "ULP-HDR-04", "the reserved byte is 1", error_class="unsupported")
def _(s):
    s.header["reserved"] = 1


@reject("header/feature-set", "baseline/raw-hello", "ULP-HDR-06", "feature set 3", error_class="unsupported")
def _(s):
    s.header["feature_set"] = 3


@reject("header/feature-set-range", "baseline/raw-hello", "ULP-HDR-06", "feature set 255 whose max_chunk_length would be "
        "out of range today: the feature set is checked first", error_class="unsupported")
def _(s):
    s.header["feature_set"], s.header["max_chunk_length"] = 255, 1 << 31


for _field, _value in (("references", 17), ("bank_slots", 65), ("profile_slots", 4097),
                       ("max_chunk_length", (1 << 22) + 1)):
    @reject(f"header/baseline-{_field.replace('_', '-')}-{_value}", "baseline/raw-hello", "ULP-HDR-05",
            f"{_field} {_value} with feature set 0")
    def _(s, field=_field, value=_value):
        s.header[field] = value

@reject("header/max-chunk-length-0", "baseline/empty", "ULP-HDR-05", "max_chunk_length 0")
def _(s):
    s.header["max_chunk_length"] = 0


for _field, _value in (("bank_slots", 129), ("profile_slots", 4097),
                       ("max_chunk_length", (1 << 26) + 1), ("max_chunk_length", (1 << 32) - 1)):
    @reject(f"{_field.replace('_', '-')}-{_value}", "extended/header-extended-small", "ULP-HDR-05",
            f"{_field} {_value} with feature set 1", error_class="limit")
    def _(s, field=_field, value=_value):
        s.header[field] = value


# --- the whole file

@reject("stream/no-input", "baseline/raw-hello", "ULP-STR-02", "an input of no bytes", message="truncated")
def _(s):
    return []


@reject("stream/no-end", "baseline/raw-hello", "ULP-STR-02", "the End record is missing", chunks=1, message="truncated")
def _(s):
    s.records.pop()


@reject("stream/second-truncated", "baseline/concatenated", "ULP-STR-01 ULP-STR-02", "the last of three streams lacks "
        "its End record", chunks=3, message="truncated")
def _(streams):
    streams[2].records.pop()


@reject("stream/trailing-byte", "baseline/raw-hello", "ULP-STR-01", "a byte 01 after the End record", chunks=1)
def _(s):
    s.tail = b"\1"


@reject("stream/trailing-after-padding", "baseline/zero-padding", "ULP-STR-01", "a byte 01 after 1000 zero bytes",
        chunks=1)
def _(s):
    s.tail += b"\1"


@reject("stream/stream-after-padding", "baseline/concatenated", "ULP-STR-01", "zero bytes between two streams", chunks=2)
def _(streams):
    streams[0].tail = bytes(4)


@reject("stream/second-magic", "baseline/concatenated", "ULP-STR-01", "the magic of the second stream is damaged",
        chunks=2)
def _(streams):
    streams[1].header["magic"] = b"\x89ulq\r\n"


@reject("stream/second-version", "baseline/concatenated", "ULP-STR-01 ULP-HDR-02", "the third stream has version 1",
        chunks=2, error_class="unsupported")
def _(streams):
    streams[2].header["version"] = 1


# --- Record_Header

@reject("record/header-crc", "baseline/raw-three-chunks", "ULP-REC-01", "one bit of the CRC of the second chunk's "
        "Record_Header is flipped", chunks=1)
def _(s):
    s.records[2].header_crc = 1 << 7


@reject("record/header-crc-unknown", "baseline/raw-hello", "ULP-REC-01", "an unknown critical type, but the CRC does not "
        "match either: damage, not a later version")
def _(s):
    s.records.insert(0, Record(0x40, b""))
    s.records[0].header_crc = 1


for _type in (0, 7, 0x7F):
    @reject(f"record/critical-{_type}", "baseline/raw-hello", "ULP-REC-02", f"a critical record of type {_type}",
            error_class="unsupported")
    def _(s, kind=_type):
        s.records.insert(1, Record(kind, b""))


@reject("record/ancillary-crc", "baseline/ancillary-empty", "ULP-REC-02 ULP-REC-03", "the body CRC of an unknown "
        "ancillary record does not match")
def _(s):
    s.records[0].body_crc = 1


@reject("record/ancillary-length-3", "baseline/ancillary-empty", "ULP-REC-02", "an unknown ancillary record of length 3")
def _(s):
    s.records[0].length = 3


@reject("record/layout-body-crc", "baseline/raw-hello", "ULP-REC-03", "the body CRC of a Layout does not match")
def _(s):
    s.records[0].body_crc = 0x100


for _at, _what in ((0, "Layout"), (1, "Chunk"), (2, "End")):
    for _flag in (1, 0x80):
        @reject(f"record/{_what.lower()}-flag-{_flag}", "baseline/raw-hello", "ULP-REC-04",
                f"reserved flag {_flag:#x} of a {_what}", error_class="unsupported", chunks=_at == 2)
        def _(s, at=_at, flag=_flag):
            s.records[at].flags = flag


# --- End

@reject("end/count", "baseline/raw-hello", "ULP-REC-04", "count of End is 1", chunks=1)
def _(s):
    s.records[-1].count = 1


@reject("end/length-43", "baseline/raw-hello", "ULP-REC-05", "End of length 43", chunks=1)
def _(s):
    s.records[-1].length = 43


@reject("end/length-45", "baseline/raw-hello", "ULP-REC-05", "End of length 45, with one byte more", chunks=1)
def _(s):
    s.records[-1].tail = b"\0"


for _field, _value in (("chunk_count", 2), ("content_length", len(HELLO) - 1), ("content_crc", 0), ("encoded_length", 0),
                       ("index_offset", 24)):
    @reject(f"end/{_field.replace('_', '-')}", "baseline/raw-hello", "ULP-END-01", f"{_field} of End is {_value}",
            chunks=1)
    def _(s, field=_field, value=_value):
        s.records[-1].fields[field] = value


@reject("end/index-offset-first", "baseline/index-skipped", "ULP-END-01", "index_offset names the first of two Index "
        "records", chunks=2)
def _(s):
    s.records[-1].fields["index_offset"] = 24 + len(s.records[0].bytes({})) + len(s.records[1].bytes({"produced": 0}))


@reject("end/index-offset-0", "baseline/index-skipped", "ULP-END-01", "index_offset is 0 although there is an Index",
        chunks=2)
def _(s):
    s.records[-1].fields["index_offset"] = 0


@reject("end/encoded-length-of-file", "baseline/concatenated", "ULP-END-01", "encoded_length of the third stream counts "
        "from the start of the file", chunks=3)
def _(streams):
    streams[2].records[-1].fields["encoded_length"] = sum(len(s.bytes()) for s in streams)


@reject("end/crc", "baseline/raw-hello", "ULP-END-01", "the CRC of End does not match", chunks=1)
def _(s):
    s.records[-1].body_crc = 1


@reject("end/closing-magic", "baseline/raw-hello", "ULP-END-01", "the closing magic is that of the start", chunks=1)
def _(s):
    s.records[-1].closing = b"\x89ulp"


@reject("end/too-early", "baseline/raw-three-chunks", "ULP-END-02", "End although the Layout describes more", chunks=2)
def _(s):
    del s.records[3]
    s.content = s.content[:7]


@reject("end/missing-chunk", "baseline/raw-three-chunks", "ULP-CHK-02 ULP-END-02", "the second of three chunks is "
        "dropped, the third keeps its offset", chunks=1)
def _(s):
    s.records[3].output_offset = 7
    del s.records[2]


@reject("end/empty-with-layout", "baseline/raw-hello", "ULP-END-02", "a Layout and no chunk")
def _(s):
    del s.records[1]
    s.content = b""


@valid("constant-bytes", "ULP-SUB-02", "65,536 equal bytes by CONSTANT")
def _():
    s = Stream(b"\xa5" * 65536)
    s.layout([Kind(BYTES)], [(0, 65536)])
    return s.chunk(65536, [Substream(CONSTANT, b"\xa5")]).end()
