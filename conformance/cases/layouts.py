# SPDX-License-Identifier: MIT-0
"""§6.1 Layout."""

from assemble.bits import leb128
from assemble.elements import BF16, BYTES, F16, F32, F64, I16, I32, TYPES, U8, U16, U32, convert
from assemble.records import Kind, Layout, Span, Stream
from assemble.substreams import RESIDUAL, SAME, Substream, fit_bank
from assemble.tables import fit

from . import data
from .coded import blank_bank, pair
from .registry import reject, valid
from .streams import HELLO


def raw_chunk(s, length, same=()):
    """A chunk whose kinds are RAW, or SAME for those in `same`."""
    found = s.patterns(length)
    return s.chunk(length, [Substream(SAME) if k in same else Substream(0, s.kinds[k].element.pack(p[0]))
                            for k, p in found.items()])


# --- valid

@valid("layout-every-type", "ULP-ELT-01 ULP-LAY-02", "one kind of each element type, spans of three elements at odd bytes, "
       "one chunk")
def _():
    spans = [(0, 1)] + [(k, 3) for k in range(len(TYPES))]
    content = data.noise(1 + sum(3 * t.w // 8 for t in TYPES))
    s = Stream(content)
    s.layout([Kind(t) for t in TYPES], spans)
    return raw_chunk(s, len(content)).end()


@valid("layout-one-f64", "ULP-LAY-02", "one element of eight bytes")
def _():
    s = Stream(data.noise(8))
    return raw_chunk(s.layout([Kind(F64)], [(0, 1)]), 8).end()


@valid("layout-kinds-64", "ULP-LAY-02 ULP-CHK-04", "64 kinds, many of them equal, some unused, used in falling order")
def _():
    content = data.noise(2 * 40)
    s = Stream(content)
    s.layout([Kind((U16, I16, BF16)[k % 3]) for k in range(64)], [(63 - k, 1) for k in range(40)])
    return raw_chunk(s, len(content)).end()


@valid("layout-three", "ULP-LAY-01", "three Layouts, each when the output of the one before is complete")
def _():
    content = data.noise(300)
    s = Stream(content)
    s.layout([Kind(U8)], [(0, 100)])
    raw_chunk(s, 60)
    raw_chunk(s, 40)
    s.layout([Kind(F64), Kind(BYTES)], [(0, 10), (1, 20)])
    raw_chunk(s, 100)
    s.layout([Kind(U16)], [(0, 50)])
    return raw_chunk(s, 100).end()


@valid("layout-interleaved", "ULP-CHK-03 ULP-CHK-04", "small spans of three kinds in turn, chunks cut within spans, one "
       "chunk without the second kind")
def _():
    spans = [(2, 5), (0, 3), (1, 7), (0, 1), (2, 40), (0, 9), (1, 1)]
    content = data.noise(20 + 3 + 14 + 1 + 160 + 9 + 2)
    s = Stream(content)
    s.layout([Kind(BYTES), Kind(BF16), Kind(F32)], spans)
    for length in (8, 12 + 3 + 2, 12 + 1 + 80, 80 + 4, 5 + 2):
        raw_chunk(s, length)
    return s.end()


@valid("layout-long-leb128", "ULP-LAY-05", "element counts of one, two and three LEB128 bytes, with values 127, 128, 16383 "
       "and 16384")
def _():
    content = data.noise(1) * (127 + 128 + 16383 + 16384)
    s = Stream(content)
    s.layout([Kind(BYTES)], [(0, 127), (0, 128), (0, 16383), (0, 16384)])
    return s.chunk(len(content), [Substream(1, content[:1])]).end()


@valid("layout-profile-ignored", "ULP-LAY-03 ULP-SUB-07", "spans name a profile slot that is never filled, and no "
       "substream has PROFILES")
def _():
    s = Stream(HELLO, profile_slots=300)
    s.layout([Kind(BYTES)], [(0, 5, 299), (0, 6, 0)])
    return raw_chunk(s, 11).end()


@valid("cursors", "ULP-LAY-03", "two references of other widths than the output: after a span the cursor of its reference "
       "is at the end of its range, the other has grown by the output")
def _():
    first, second = data.weights(BF16, 200, 3), data.weights(F64, 200, 4)
    s = Stream(b"", [BF16.pack(first), F64.pack(second)])
    kinds = [Kind(F32, BF16, 0), Kind(F32, F64, 1), Kind(BYTES)]
    return cursor_stream(s, kinds, [
        (0, 10),                                     # reference 0 at 0 … 20
        (2, 3),                                      # 0: 23, 1: 43
        Span(1, 5, at=40),                           # 1: 40 … 80
        (0, 6),                                      # 0: 43 … 55
        (1, 4),                                      # 1: 80 + 24 = 104 … 136
        Span(0, 7, away=-30),
        Span(1, 2, away=800),
        (2, 1),
        (0, 3), (1, 3)])


def cursor_stream(s, kinds, spans):
    """Fills in the content that SAME makes of the reference ranges, zero bytes for kinds without reference."""
    s.layout(kinds, spans)
    out = b""
    for first, last, span, start in s.spans:
        kind = kinds[span.kind]
        if kind.other:
            width = kind.other.w // 8
            patterns = kind.other.unpack(s.references[kind.reference][start:start + span.elements * width])
            assert len(patterns) == span.elements
            out += kind.element.pack([convert(u, kind.other, kind.element) for u in patterns])
        else:
            out += bytes(last - first)
    s.content = out
    return raw_chunk(s, len(out), [k for k, kind in enumerate(kinds) if kind.other]).end()


@valid("cursors-second-layout", "ULP-LAY-03", "the cursors of a second Layout start at its first output offset again")
def _():
    reference = data.noise(100)
    s = Stream(reference[30:50] + reference[20:60], [reference])
    s.layout([Kind(U8, U8)], [Span(0, 20, at=30)])
    raw_chunk(s, 20, [0])
    s.layout([Kind(U8, U8)], [(0, 40)])
    return raw_chunk(s, 40, [0]).end()


@valid("span-odd-reference", "ULP-LAY-03", "f32 elements against a reference range at an odd byte, far away")
def _():
    reference = data.noise(3001) + F32.pack(data.weights(F32, 50))
    s = Stream(reference[3001:], [reference])
    s.layout([Kind(F32, F32)], [Span(0, 50, at=3001)])
    return raw_chunk(s, 200, [0]).end()


@valid("in-place", "ULP-HDR-07", "IN_PLACE: every reference range is its output range; i32 against itself")
def _():
    content, reference = pair(I32, 60)
    s = Stream(b"ab" + content, [b"cd" + reference], flags=1, bank_slots=1)
    s.layout([Kind(BYTES, BYTES), Kind(I32, I32), Kind(BYTES)], [(0, 2), (1, 30), Span(1, 30)])
    bank = blank_bank(I32, RESIDUAL)
    coded = s.code(1, 242, RESIDUAL, lanes=3)
    s.bind(0, fit_bank(bank, [coded], fit))
    return s.chunk(242, [Substream(0, b"ab"), coded]).end()


@valid("in-place-two-floats", "ULP-HDR-07", "IN_PLACE with f16 against bf16: same width, converted")
def _():
    reference = data.weights(BF16, 50)
    s = Stream(b"", [BF16.pack(reference)], flags=1)
    return cursor_stream(s, [Kind(F16, BF16)], [(0, 50)])


@valid("in-place-raw", "ULP-HDR-07", "IN_PLACE, every kind with a reference, all RAW")
def _():
    s = Stream(data.noise(44), [data.noise(44, 2)], flags=1)
    s.layout([Kind(F32, F32), Kind(BYTES, BYTES)], [(0, 1), (1, 10), (0, 7), (1, 2)])
    return raw_chunk(s, 44).end()


@valid("span-profile-and-offset", "ULP-LAY-03", "spans with both a profile slot and a reference offset: the slot comes first")
def _():
    reference = data.noise(100)
    s = Stream(reference[50:60] + reference[7:27], [reference], profile_slots=200)
    s.layout([Kind(U8, U8)], [Span(0, 10, 150, at=50), Span(0, 20, 1, at=7)])
    return raw_chunk(s, 30, [0]).end()


# --- kinds

def set_kind(s, **fields):
    layout = s.records[0]
    layout.kinds = [Kind(k.element, k.other, k.reference, k.reserved) for k in layout.kinds]
    for name, value in fields.items():
        setattr(layout.kinds[0], name, value)


class Number:
    """An element type that §2 does not have."""

    def __init__(self, number):
        self.number, self.w = number, 8


for _number in (16, 127, 255):
    @reject(f"layout/element-{_number}", "baseline/raw-hello", "ULP-ELT-01", f"element type {_number}",
            error_class="unsupported")
    def _(s, number=_number):
        set_kind(s, element=Number(number))

    @reject(f"layout/reference-element-{_number}", "baseline/sampled-short", "ULP-ELT-01", f"reference element type "
            f"{_number}", error_class="unsupported")
    def _(s, number=_number):
        s.records.pop(0)
        set_kind(s, other=Number(number))


@reject("layout/element-0", "baseline/raw-hello", "ULP-LAY-02 ULP-ELT-01", "element type 0", error_class="unsupported")
def _(s):
    set_kind(s, element=Number(0))


@reject("layout/kind-reserved", "baseline/raw-hello", "ULP-LAY-02", "the reserved byte of a kind is 1",
        error_class="unsupported")
def _(s):
    set_kind(s, reserved=1)


for _element, _other in ((BYTES, U8), (U8, BYTES), (U16, I16), (I16, F16), (BF16, U16), (F32, I32), (U32, U16)):
    @reject(f"layout/{_element.name}-against-{_other.name}".replace("_", "-"), "baseline/reference-unread", "ULP-LAY-02",
            f"element type {_element.name} with reference type {_other.name}")
    def _(s, element=_element, other=_other):
        s.content = data.noise(8)
        s.records = []
        s.coded = s.described = 0
        s.layout([Kind(element, other)], [(0, 64 // element.w)])
        raw_chunk(s, 8).end()


@reject("layout/reference-index", "baseline/reference-unread", "ULP-LAY-02", "a kind names reference 1, there is one")
def _(s):
    set_kind(s, reference=1)


@reject("layout/reference-index-without", "baseline/reference-unread", "ULP-LAY-02", "a kind without reference type names "
        "a reference above 0")
def _(s):
    s.header["references"] = 2
    s.references *= 2
    set_kind(s, other=None, reference=1)


@reject("layout/reference-without-references", "baseline/raw-hello", "ULP-LAY-02", "a kind names reference 0, the header "
        "says that there is none")
def _(s):
    set_kind(s, other=BYTES)


@reject("layout/kinds-0", "baseline/raw-hello", "ULP-LAY-04", "a Layout of no kinds")
def _(s):
    s.records[0].count, s.records[0].kinds = 0, []


@reject("layout/kinds-65", "baseline/layout-kinds-64", "ULP-LAY-04", "a Layout of 65 kinds")
def _(s):
    s.records[0].count += 1
    s.records[0].kinds = s.records[0].kinds + [Kind(U8)]


# --- spans

@reject("layout/span-kind", "baseline/raw-hello", "ULP-LAY-03", "a span names kind 1 of 1")
def _(s):
    s.records[0].spans[0].kind = 1


@reject("layout/span-no-elements", "baseline/raw-three-chunks", "ULP-LAY-03", "a span of 0 elements")
def _(s):
    s.records[0].spans.append(Span(0, 0))


@reject("layout/span-profile-slot", "baseline/layout-profile-ignored", "ULP-LAY-03", "a span names profile slot 300 of 300")
def _(s):
    s.records[0].spans[0].profile = 300


@reject("layout/span-offset-without-reference", "baseline/raw-hello", "ULP-LAY-03", "a span without reference has bit 6 set")
def _(s):
    s.records[0].spans[0].away = 1


@reject("layout/span-offset-0", "baseline/reference-unread", "ULP-LAY-03", "a reference offset of 0 is written out")
def _(s):
    s.records[0].spans = [Span(0, 5, raw=b"\x40\x05\0")]


def range_vector(name, about, spans, class_ids="ULP-LAY-03", sibling="baseline/reference-unread"):
    @reject(f"layout/{name}", sibling, class_ids, about)
    def _(s):
        s.records[0] = Layout(s.records[0].kinds, spans)


range_vector("reference-negative", "a reference range begins at −1", [Span(0, 5, away=-1)])
range_vector("reference-far-negative", "reference offset − expected offset is −2^63", [Span(0, 5, away=-(1 << 63))])
range_vector("reference-end", "a reference range ends at 2^63", [Span(0, 5, away=(1 << 63) - 5)])
range_vector("reference-beyond", "a reference range begins at 2^64 − 100 by two spans",
             [Span(0, 1, away=(1 << 63) - 100), Span(0, 4, away=(1 << 63) - 1)])


@valid("reference-far-unread", "ULP-REF-02", "a reference range that ends at 2^63 − 1, of a RAW chunk")
def _():
    s = Stream(b"plain", [b""])
    s.layout([Kind(BYTES, BYTES)], [(0, 5, None, (1 << 63) - 6)])
    return raw_chunk(s, 5).end()


@reject("layout/reference-wraps", "baseline/reference-far-unread", "ULP-LAY-03", "a cursor of 2^63 + 2^62 plus an offset of "
        "2^62 + 100 would be 100 in 64 bits")
def _(s):
    s.records[0].count, s.records[0].kinds = 2, [Kind(BYTES, BYTES), Kind(BYTES)]
    s.records[0].spans = [Span(0, 5, away=(1 << 63) - 6), Span(1, 1 << 62), Span(0, 1, away=(1 << 62) + 101)]
range_vector("output-end", "the output ends at 2^63", [Span(0, 1 << 62), Span(0, 1 << 62)], sibling="baseline/raw-hello")
range_vector("output-wraps", "the output would be 2^64 + 11 bytes: sizes do not wrap", [Span(0, (1 << 64) - 1), Span(0, 12)],
             sibling="baseline/raw-hello")
range_vector("output-elements-wrap", "2^61 + 1 elements of eight bytes, which is one in 64 bits", [Span(0, (1 << 61) + 1)],
             sibling="baseline/layout-one-f64")


@reject("layout/output-huge", "baseline/raw-hello", "ULP-END-02", "a legal Layout of 2^63 − 1 bytes; End comes after 11",
        chunks=1)
def _(s):
    s.records[0].spans = [Span(0, (1 << 63) - 1)]


@reject("layout/leb128-padded", "baseline/raw-hello", "ULP-LAY-05", "the element count has a superfluous zero byte")
def _(s):
    s.records[0].spans = [Span(0, 11, raw=b"\0" + leb128(11, 2))]


@reject("layout/leb128-padded-ten", "baseline/raw-hello", "ULP-LAY-05", "the element count fills ten bytes without need")
def _(s):
    s.records[0].spans = [Span(0, 11, raw=b"\0" + leb128(11, 10))]


@reject("layout/leb128-eleven", "baseline/raw-hello", "ULP-LAY-05", "an element count of eleven bytes")
def _(s):
    s.records[0].spans = [Span(0, 11, raw=b"\0" + b"\x8b" + b"\x80" * 9 + b"\x01")]


@reject("layout/leb128-65-bits", "baseline/raw-hello", "ULP-LAY-05", "an element count of 2^64 + 11, which is 11 in 64 bits")
def _(s):
    s.records[0].spans = [Span(0, 11, raw=b"\0" + leb128((1 << 64) + 11))]


@reject("layout/leb128-cut", "baseline/raw-hello", "ULP-LAY-04", "the body ends inside an element count")
def _(s):
    s.records[0].spans = [Span(0, 11, raw=b"\0\x8b")]


@reject("layout/head-only", "baseline/raw-three-chunks", "ULP-LAY-04", "the body ends after the head of a span")
def _(s):
    s.records[0].tail = b"\0"


@reject("layout/no-spans", "baseline/empty", "ULP-LAY-04", "a Layout without spans")
def _(s):
    s.records.insert(0, Layout([Kind(U8)], []))


@reject("layout/kinds-cut", "baseline/empty", "ULP-LAY-04", "the body ends inside a kind")
def _(s):
    s.records.insert(0, Layout([], []))
    s.records[0].count, s.records[0].tail = 1, b"\2\0\0"


@reject("layout/too-early", "baseline/layout-three", "ULP-LAY-01", "the second Layout comes before the second chunk of the "
        "first", chunks=1)
def _(s):
    s.records.insert(2, s.records.pop(3))


# --- in place

@reject("layout/in-place-moved", "baseline/in-place-raw", "ULP-HDR-07", "IN_PLACE, and a reference range one byte away")
def _(s):
    s.records[0].spans[2].away = 1


@reject("layout/in-place-width", "baseline/in-place-raw", "ULP-HDR-07", "IN_PLACE, and an f32 span at offset 0 against bf16; "
        "the spans after it are brought back to their place")
def _(s):
    s.records[0].kinds = [Kind(F32, BF16), Kind(BYTES, BYTES), Kind(F32, F32)]
    s.records[0].count = 3
    s.records[0].spans = [Span(0, 1), Span(1, 10, away=2), Span(2, 7), Span(1, 2)]
    raw = s.records[1].substreams
    s.records[1].substreams = [Substream(0, raw[0].data[:4]), raw[1], Substream(0, raw[0].data[4:])]
    s.records[1].count = 3


@reject("layout/in-place-no-reference", "baseline/raw-hello", "ULP-HDR-07", "IN_PLACE without a reference")
def _(s):
    s.header["flags"] = 1


@reject("layout/in-place-two-references", "baseline/in-place", "ULP-HDR-07", "IN_PLACE with two references")
def _(s):
    s.header["references"] = 2
    s.references *= 2
