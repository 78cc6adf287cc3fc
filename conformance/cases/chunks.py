# SPDX-License-Identifier: MIT-0
"""§7 Chunk."""
from zlib import crc32

from assemble.elements import BF16, U8, U16
from assemble.records import CHUNK, Chunk, Kind, Stream
from assemble.substreams import MASK, PLAIN, RESIDUAL, SAME, Substream, fit_bank
from assemble.tables import fit

from . import data
from .coded import blank_bank, coded_stream, pair
from .registry import reject, valid
from .streams import HELLO, bytes_stream


@valid("chunk-every-method", "ULP-CHK-04 ULP-CHK-05 ULP-SUB-01", "one chunk with a substream of each method, its kinds used "
       "in mixed order and in two spans each; two banks")
def _():
    content, reference = pair(BF16, 700)
    reference_patterns = BF16.unpack(reference)
    patterns = BF16.unpack(content)
    kinds = [Kind(BF16, BF16), Kind(U16), Kind(BF16, BF16), Kind(BF16), Kind(BF16, BF16), Kind(BF16)]
    order = [(4, 50), (0, 100), (1, 30), (2, 40), (3, 60), (5, 70), (2, 60), (3, 40), (1, 20), (0, 100), (4, 50), (5, 80)]
    at = 0
    for kind, n in order:
        if kind == 1:
            patterns[at:at + n] = [0xABCD] * n
        elif kind == 2:
            patterns[at:at + n] = reference_patterns[at:at + n]
        at += n
    s = Stream(BF16.pack(patterns[:at]), [reference], bank_slots=5)
    s.layout(kinds, order)
    length = 2 * at
    residual = blank_bank(BF16, MASK, tables=3, element_steps=[12, 12], element_base=-8)
    plain = blank_bank(BF16, PLAIN, form=3, window=60)
    coded = {0: s.code(0, length, RESIDUAL, slot=4, lanes=4), 3: s.code(3, length, PLAIN, slot=2, lanes=2),
             4: s.code(4, length, MASK, slot=4, lanes=1)}
    s.bind(4, fit_bank(residual, [coded[0], coded[4]], fit)).bind(2, fit_bank(plain, [coded[3]], fit))
    raw = Substream(0, BF16.pack(s.patterns(length)[5][0]))
    subs = [coded[0], Substream(1, b"\xcd\xab"), Substream(SAME), coded[3], coded[4], raw]
    return s.chunk(length, subs).end()


@valid("chunk-exactly-maximum", "ULP-CHK-02 ULP-REC-05", "output_length equal to max_chunk_length, and the body to its limit")
def _():
    return bytes_stream(max_chunk_length=11)


@valid("chunk-coded-longer-than-content", "ULP-REC-05", "PLAIN in 32 lanes of one element: 128 bytes for two, within "
       "max_chunk_length + 24 + 12 of the body")
def _():
    return coded_stream(PLAIN, n=1, header={"max_chunk_length": 150})


def chunk_of(s, nth=0):
    return [r for r in s.records if r.kind == CHUNK][nth]


@reject("chunk/crc", "baseline/raw-hello", "ULP-CHK-01", "the CRC of the Chunk's header does not match")
def _(s):
    chunk_of(s).body_crc = 1 << 16


@reject("chunk/crc-before-fields", "baseline/raw-hello", "ULP-CHK-01", "an unknown method, but the CRC does not match "
        "either: damage, not a later version")
def _(s):
    chunk_of(s).body_crc, chunk_of(s).substreams[0].method = 1, 200


for _offset in (0, 2, 1 << 63):
    @reject(f"chunk/offset-{_offset}", "baseline/raw-three-chunks", "ULP-CHK-02", f"output_offset of the second chunk is "
            f"{_offset}, not 1", chunks=1)
    def _(s, offset=_offset):
        chunk_of(s, 1).output_offset = offset


@reject("chunk/offset-before-release", "baseline/raw-hello", "ULP-CHK-02 ULP-STR-03", "output_offset of the first chunk is 1")
def _(s):
    chunk_of(s).output_offset = 1


@reject("chunk/swapped", "baseline/raw-three-chunks", "ULP-CHK-02", "the second and third chunk are swapped", chunks=1)
def _(s):
    second, third = chunk_of(s, 1), chunk_of(s, 2)
    second.output_offset, third.output_offset = 1, 7
    s.records[2:4] = [third, second]


@reject("chunk/repeated", "baseline/raw-three-chunks", "ULP-CHK-02", "the second chunk comes twice", chunks=2)
def _(s):
    chunk_of(s, 1).output_offset = 1
    s.records.insert(3, chunk_of(s, 1))


@reject("chunk/length-0", "baseline/raw-hello", "ULP-CHK-02", "an empty chunk before the first")
def _(s):
    s.records.insert(1, Stream().layout([Kind(U8)], []).chunk(0, []).records[1])


@reject("chunk/length-above-maximum", "baseline/constant-bytes", "ULP-CHK-02", "output_length 65,536 with max_chunk_length "
        "65,535")
def _(s):
    s.header["max_chunk_length"] = 65535


@reject("chunk/no-layout", "baseline/raw-hello", "ULP-CHK-03", "a chunk without a Layout")
def _(s):
    del s.records[0]


@reject("chunk/constant-beyond-layout", "baseline/constant-bytes", "ULP-CHK-03", "output_length is 65,537, the Layout describes "
        "65,536")
def _(s):
    s.header["max_chunk_length"] = 1 << 17
    chunk_of(s).output_length = 65537


@reject("chunk/beyond-layout", "baseline/raw-hello", "ULP-CHK-03", "a chunk of eleven bytes, the Layout describes ten")
def _(s):
    s.records[0].spans[0].elements = 10


@reject("chunk/two-layouts", "baseline/layout-three", "ULP-CHK-03", "a chunk begins in the output of one Layout and ends "
        "beyond it", chunks=1)
def _(s):
    second = chunk_of(s, 1)
    second.content = s.content[60:101]
    second.substreams[0].data = second.content


@reject("chunk/end-inside-element", "baseline/layout-one-f64", "ULP-CHK-03", "a chunk ends inside an f64")
def _(s):
    s.records[1:2] = [Chunk(piece, [Substream(0, piece)], b"") for piece in (s.content[:7], s.content[7:])]


@reject("chunk/cut-inside-element", "baseline/layout-interleaved", "ULP-CHK-03", "the second chunk ends inside an f32 of a "
        "span at offset 38; its own end, 48, is a multiple of four", chunks=1)
def _(s):
    c = s.content
    pieces = [c[20:23] + c[37:38], c[23:37], c[8:20] + c[38:48]]
    s.records[2:-1] = [Chunk(c[8:48], [Substream(0, piece) for piece in pieces], b"")]


@reject("chunk/count-low", "baseline/layout-interleaved", "ULP-CHK-04", "two substreams for three kinds: the data of the "
        "first two are one", chunks=1)
def _(s):
    chunk = chunk_of(s, 1)
    a, b, c = chunk.substreams
    chunk.substreams = [Substream(0, a.data + b.data), c]
    chunk.count = 2


@reject("chunk/count-high", "baseline/raw-hello", "ULP-CHK-04", "a second substream without data, for a kind that does not "
        "occur")
def _(s):
    chunk_of(s).substreams.append(Substream(0, b""))
    chunk_of(s).count = 2


@reject("chunk/count-0", "baseline/raw-hello", "ULP-CHK-04 ULP-CHK-05", "a chunk without substreams")
def _(s):
    chunk_of(s).substreams, chunk_of(s).count = [], 0


@reject("chunk/kinds-descending", "baseline/layout-interleaved", "ULP-CHK-04", "the substreams are in the order of the spans, "
        "not of the kinds", chunks=1)
def _(s):
    chunk_of(s, 1).substreams.reverse()


@reject("chunk/data-left-over", "baseline/raw-hello", "ULP-CHK-05", "one byte after the substreams")
def _(s):
    chunk_of(s).tail = b"\0"


@reject("chunk/data-short", "baseline/raw-hello", "ULP-CHK-05", "the body ends one byte before the substream does")
def _(s):
    chunk_of(s).substreams[0].data, chunk_of(s).substreams[0].length = HELLO[:10], 11


@reject("chunk/lengths-wrap", "baseline/layout-interleaved", "ULP-CHK-05", "the substreams' lengths sum to the rest of the "
        "body in 32 bits", chunks=1)
def _(s):
    a, b, _c = chunk_of(s, 1).substreams
    a.length, b.length = len(a.data) + (1 << 31), len(b.data) + (1 << 31)


for _size in (0, 3, 19, 35):
    @reject(f"chunk/body-{_size}", "baseline/raw-hello", "ULP-CHK-05", f"the body of a chunk has {_size} bytes, fewer than "
            "its header needs")
    def _(s, size=_size):
        chunk_of(s).length = size


@reject("chunk/body-too-long", "baseline/chunk-coded-longer-than-content", "ULP-REC-05", "the body is longer than "
        "max_chunk_length + 36")
def _(s):
    s.header["max_chunk_length"] = len(chunk_of(s).substreams[0].data) - 1


@reject("chunk/content-crc", "baseline/raw-three-chunks", "ULP-CHK-06 ULP-STR-03", "content_crc of the third chunk is wrong",
        chunks=2)
def _(s):
    chunk_of(s, 2).content_crc = 0


@reject("chunk/content-changed", "baseline/raw-three-chunks", "ULP-CHK-06 ULP-STR-03", "one bit of the data of the second "
        "chunk is flipped", chunks=1)
def _(s):
    sub = chunk_of(s, 1).substreams[0]
    sub.data = sub.data[:5] + bytes([sub.data[5] ^ 0x10])


@reject("chunk/coded-changed", "baseline/residual-bf16", "ULP-CHK-06 ULP-STR-03", "one bit in the middle of the words of a "
        "RESIDUAL substream is flipped")
def _(s):
    sub = chunk_of(s).substreams[0]
    at = (128 + len(sub.data)) // 2
    sub.data = sub.data[:at] + bytes([sub.data[at] ^ 1]) + sub.data[at + 1:]


@reject("chunk/reference-crc", "baseline/residual-bf16", "ULP-CHK-07", "reference_crc is wrong although the content comes out "
        "right", may_accept=True)
def _(s):
    chunk_of(s).reference_crc ^= 1


@reject("chunk/reference-crc-without-reference", "baseline/raw-hello", "ULP-CHK-08", "reference_crc is not 0 in a chunk of a "
        "stream without references")
def _(s):
    chunk_of(s).reference_crc = 1


@reject("chunk/reference-crc-unused", "baseline/reference-unread", "ULP-CHK-08", "reference_crc is that of reference bytes that "
        "no substream uses")
def _(s):
    chunk = next(r for r in s.records if r.kind == CHUNK)
    chunk.reference_crc = crc32(s.references[0][:len(chunk.content)])


@reject("chunk/reference-wrong-and-words-run-out", "baseline/residual-f32-from-bf16", "ULP-CHK-07", "another reference, which "
        "makes the entropy decoder fail: still reported as a reference that does not match",
        references=[data.noise(600, 99)], message="reference")
def _(s):
    pass


@reject("chunk/method-release", "baseline/layout-three", "ULP-STR-03 ULP-CHK-06", "the second of two substreams of a chunk is "
        "damaged: nothing of the chunk is released", chunks=2)
def _(s):
    sub = chunk_of(s, 2).substreams[1]
    sub.data = b"\0" + sub.data[1:]
