# SPDX-License-Identifier: MIT-0
"""§5 references and §2.1 their conversion."""
import struct
from functools import lru_cache

from assemble.elements import BF16, BYTES, E4M3, E5M2, F16, F32, F64, FLOATS, U16, convert, nearest
from assemble.records import WHOLE, Kind, Span, Stream
from assemble.substreams import MASK, PLAIN, RESIDUAL, SAME, Substream, fit_bank
from assemble.tables import fit

from . import data
from .coded import blank_bank, coded_stream, pair
from .registry import VECTORS, reject, valid


def same_stream(reference, begin=0, end=None, element=BYTES, **header):
    """Content equal to a range of the reference, by SAME."""
    content = reference[begin:end]
    s = Stream(content, [reference], **({"max_chunk_length": 1 << 17} | header))
    s.layout([Kind(element, element)], [Span(0, len(content) * 8 // element.w, at=begin)])
    return s.chunk(len(content), [Substream(SAME)])


def flipped(reference, at):
    return reference[:at] + bytes([reference[at] ^ 1]) + reference[at + 1:]


# --- conversion

@lru_cache(maxsize=None)
def hard_patterns(source):
    """Patterns of a float type at which rounding to the others is hard: values of the others, the middles between
    neighbours, and the patterns beside both; specials; some that are random."""
    if source.w == 8:
        return list(range(256))
    random, found = data.Random(source.number), set(data.specials(source))
    for target in FLOATS:
        if target is source:
            continue
        samples = list(range(target.infinity)) if target.w == 8 else []
        for exponent in range(0, (1 << target.e) - 1, max(1, (1 << target.e) // 48)):
            samples += [exponent << target.m, (exponent << target.m) + (1 << target.m) - 1]
        samples += [1, 2, 3, target.infinity - 1, (1 << target.m) - 1, 1 << target.m]
        samples += [random.below(1 << target.w - 1) % target.infinity for _ in range(40)]
        for p in samples:
            for value in (target.value(p), (target.value(p) + target.value(p + 1)) // 2):
                u = nearest(value, source)
                sign = random.bits(1) << source.w - 1
                found |= {v | sign for v in (u - 1, u, u + 1) if 0 <= v < 1 << source.w - 1}
    found |= {random.bits(source.w) for _ in range(100)}
    # payloads: one bit at each place of a NaN
    found |= {source.infinity | 1 << k for k in range(source.m)}
    return sorted(found)


for _target in FLOATS:
    @valid(f"convert-to-{_target.name.replace('_', '-')}", "ULP-LAY-02 ULP-REF-02", f"SAME: references of the other "
           f"float types become {_target.name}, at ties, subnormals, overflow, infinities and NaNs")
    def _(target=_target):
        others = [t for t in FLOATS if t is not target]
        patterns = [hard_patterns(t) for t in others]
        content = b"".join(target.pack([convert(u, t, target) for u in p]) for t, p in zip(others, patterns))
        s = Stream(content, [t.pack(p) for t, p in zip(others, patterns)], max_chunk_length=1 << 17)
        spans = [Span(k, len(p), at=0) for k, p in enumerate(patterns)]
        s.layout([Kind(target, t, k) for k, t in enumerate(others)], spans)
        return s.chunk(len(content), [Substream(SAME)] * 5).end()

for _element, _other, _method, _name in ((F32, BF16, RESIDUAL, "residual"), (BF16, F32, RESIDUAL, "residual"),
                                         (F16, F32, MASK, "mask"), (F64, F16, RESIDUAL, "residual"),
                                         (E4M3, F32, RESIDUAL, "residual"), (F32, E5M2, MASK, "mask")):
    @valid(f"{_name}-{_element.name.replace('_', '-')}-from-{_other.name.replace('_', '-')}", "ULP-SUB-04 ULP-CHK-07",
           f"{_element.name} against {_other.name}, in two chunks cut inside the span")
    def _(element=_element, other=_other, method=_method):
        width = element.w // 8
        return coded_stream(method, element, other=other, lengths=[101 * width, 199 * width], n=300,
                            bank=blank_bank(element, method, tables=4, element_steps=[3, 20, 9]))


# --- Reference records

for _size in (65535, 65536, 70001):
    @valid(f"sampled-{_size}", "ULP-REF-01", f"the sampled form of a reference of {_size} bytes")
    def _(size=_size):
        reference = data.noise(size, size)
        s = same_stream(reference, 5000, 5100)
        s.records.insert(0, Stream(references=[reference]).sampled(0).records[0])
        return s.end()


@valid("sampled-short", "ULP-REF-01", "the sampled form of a reference of 3 bytes, of which 1 is used")
def _():
    s = same_stream(b"abc", 1, 2)
    s.records.insert(0, Stream(references=[b"abc"]).sampled(0).records[0])
    return s.end()


@valid("reference-empty", "ULP-REF-01 ULP-REF-03", "an empty reference that nothing uses, sampled and whole")
def _():
    s = Stream(b"x", [b""]).sampled(0)
    s.layout([Kind(BYTES)], [(0, 1)])
    return s.chunk(1, [Substream(0, b"x")]).whole(0).end()


@valid("whole-form", "ULP-REF-03", "the whole form after the last chunk, without a sampled form")
def _():
    return same_stream(data.noise(300)).whole(0).end()


@valid("whole-form-70001", "ULP-REF-03", "the whole form of a reference of 70,001 bytes: the CRC of all of it")
def _():
    return same_stream(data.noise(70001, 70001), 5000, 5100).whole(0).end()


@valid("both-forms", "ULP-REF-01 ULP-REF-03", "sampled forms and whole forms of two references, in mixed order")
def _():
    first, second = data.noise(300, 1), data.noise(200, 2)
    s = Stream(first[:100] + second[:50], [first, second]).sampled(1).sampled(0)
    s.layout([Kind(BYTES, BYTES, 0), Kind(BYTES, BYTES, 1)], [(0, 100), Span(1, 50, at=0)])
    return s.chunk(150, [Substream(SAME)] * 2).whole(1).whole(0).end()


@valid("sampled-before-second-layout", "ULP-REF-04", "a sampled form after a Layout that does not name the reference, "
       "before one that does")
def _():
    reference = data.noise(50)
    s = Stream(b"abc" + reference[3:], [reference])
    s.layout([Kind(BYTES)], [(0, 3)]).chunk(3, [Substream(0, b"abc")]).sampled(0)
    s.layout([Kind(BYTES, BYTES)], [(0, 47)])
    return s.chunk(47, [Substream(SAME)]).end()


@valid("reference-ends-before-raw", "ULP-REF-02", "a kind with a reference that ends early: its chunk is RAW there, so the "
       "missing bytes are not needed")
def _():
    reference = data.noise(64)
    s = Stream(reference + data.noise(40, 7), [reference])
    s.layout([Kind(BYTES, BYTES)], [(0, 104)])
    return s.chunk(64, [Substream(SAME)]).chunk(40, [Substream(0, data.noise(40, 7))]).end()


@valid("reference-unread", "ULP-REF-02", "a reference that a Layout names and no substream uses")
def _():
    s = Stream(b"plain", [b"other"])
    s.layout([Kind(BYTES, BYTES)], [(0, 5)])
    return s.chunk(5, [Substream(0, b"plain")]).end()


@valid("references-sixteen", "ULP-HDR-05", "sixteen references, each the source of one element")
def _():
    references = [U16.pack([1000 + k, 2000 + k]) for k in range(16)]
    s = Stream(U16.pack([2000 + k for k in range(16)]), references)
    s.layout([Kind(U16, U16, k) for k in range(16)], [Span(k, 1, at=2) for k in range(16)])
    return s.chunk(32, [Substream(SAME)] * 16).end()


@valid("references-255", "ULP-HDR-05", "255 references, of which the last is used", extended=True)
def _():
    s = Stream(b"b", [b"a"] * 254 + [b"b"], feature_set=1)
    s.layout([Kind(BYTES, BYTES, 254)], [(0, 1)])
    return s.chunk(1, [Substream(SAME)]).end()


@valid("references-interleaved", "ULP-LAY-03 ULP-CHK-07", "two references in one chunk: RESIDUAL against one, MASK "
       "against the other, PLAIN and RAW between; reference_crc covers only what is used, in output order")
def _():
    n = 40
    content, first = pair(BF16, 4 * n, seed=5)
    second = BF16.pack(data.step(BF16, BF16.unpack(content), 9, changed=1))
    kinds = [Kind(BF16, BF16, 0), Kind(BF16, BF16, 1), Kind(BF16), Kind(BYTES, BYTES, 0)]
    s = Stream(content, [first, second], bank_slots=2)
    s.layout(kinds, [(1, n // 2), (0, n), (2, n), (3, n), (0, n // 2), (1, n // 2)])
    length = len(content)
    residual, plain = blank_bank(BF16, MASK), blank_bank(BF16, PLAIN)
    coded = [s.code(0, length, RESIDUAL, slot=0), s.code(1, length, MASK, slot=0), s.code(2, length, PLAIN, slot=1)]
    fit_bank(residual, coded[:2], fit)
    fit_bank(plain, coded[2:], fit)
    s.bind(0, residual).bind(1, plain)
    raw = BYTES.pack(s.patterns(length)[3][0])
    return s.chunk(length, coded + [Substream(0, raw)]).end()


# --- the reference does not match

_long = data.noise(70001, 70001)
_message = {"message": "reference"}


@reject("reference/sampled-length", "baseline/sampled-70001", "ULP-REF-01", "the reference is one byte longer",
        references=[_long + b"\0"], **_message)
def _(s):
    pass


for _k, _at in ((0, 0), (7, 7 * 65905 // 15 + 4095), (15, 70000)):
    @reject(f"reference/sampled-piece-{_k}", "baseline/sampled-70001", "ULP-REF-01", f"piece {_k} of the reference "
            "differs in one byte, which the stream does not use", references=[flipped(_long, _at)], **_message)
    def _(s):
        pass


@reject("reference/sampled-identity", "baseline/sampled-short", "ULP-REF-01", "the CRC of a sampled form is wrong",
        **_message)
def _(s):
    s.records[0].payload = struct.pack("<QI", 3, 0)


@reject("reference/sampled-first-byte", "baseline/sampled-short", "ULP-REF-01", "an unused byte of a short reference "
        "differs", references=[b"abd"], **_message)
def _(s):
    pass


_small = VECTORS["valid/baseline/residual-f32-from-bf16"].stream()[0].references[0]


@reject("reference/too-short", "baseline/residual-f32-from-bf16", "ULP-REF-02 ULP-CHK-07", "the reference lacks its last "
        "byte, which the second chunk needs", chunks=1, references=[_small[:-1]], **_message)
def _(s):
    pass


@valid("same-zeros", "ULP-REF-02", "a reference of zero bytes that is just long enough")
def _():
    return same_stream(bytes(50)).end()


@reject("reference/too-short-of-zeros", "baseline/same-zeros", "ULP-REF-02", "the reference lacks its last byte, which is 0",
        references=[bytes(49)], **_message)
def _(s):
    pass


@reject("reference/empty", "baseline/residual-f32-from-bf16", "ULP-REF-02 ULP-CHK-07", "the reference is empty",
        references=[b""], **_message)
def _(s):
    pass


@reject("reference/changed", "baseline/residual-f32-from-bf16", "ULP-CHK-07", "one bit of the reference of the second "
        "chunk differs; there is no sampled form", chunks=1, references=[flipped(_small, 202)], **_message)
def _(s):
    pass


@reject("reference/same-changed", "baseline/whole-form", "ULP-CHK-07", "one bit of the reference of a SAME chunk differs",
        references=[flipped(data.noise(300), 299)], **_message)
def _(s):
    pass


@reject("reference/whole-identity", "baseline/whole-form", "ULP-REF-03", "the CRC of a whole form is wrong", chunks=1,
        may_accept=True, **_message)
def _(s):
    s.records[-2].payload = struct.pack("<QI", 300, 1)


@reject("reference/whole-length", "baseline/whole-form", "ULP-REF-03", "the reference is longer than its whole form says",
        chunks=1, references=[data.noise(300) + b"\0"], may_accept=True, **_message)
def _(s):
    pass


# --- rules of the records

@reject("reference/index", "baseline/sampled-short", "ULP-REF-04", "count of a Reference record is 1, there is one "
        "reference")
def _(s):
    s.records[0].count = 1


@reject("reference/sampled-twice", "baseline/sampled-short", "ULP-REF-04", "two sampled forms of one reference")
def _(s):
    s.records.insert(0, s.records[0])


@reject("reference/sampled-late", "baseline/sampled-short", "ULP-REF-04", "the sampled form follows a Layout that names "
        "the reference")
def _(s):
    s.records[0], s.records[1] = s.records[1], s.records[0]


@reject("reference/sampled-after-chunk", "baseline/whole-form", "ULP-REF-04", "a sampled form after the last chunk",
        chunks=1)
def _(s):
    s.records[-2].flags = 0


@reject("reference/whole-twice", "baseline/whole-form", "ULP-REF-04", "two whole forms of one reference", chunks=1)
def _(s):
    s.records.insert(2, s.records[2])


@reject("reference/whole-before-chunk", "baseline/sampled-short", "ULP-REF-04", "the whole form comes before the chunk")
def _(s):
    s.records[0].flags = WHOLE


@reject("reference/whole-between-chunks", "baseline/reference-ends-before-raw", "ULP-REF-04", "the whole form comes before "
        "the last chunk", chunks=1)
def _(s):
    s.records.insert(2, Stream(references=s.references).whole(0).records[0])


@reject("reference/flag-2", "baseline/sampled-short", "ULP-REC-04", "reserved flag 2 of a Reference record",
        error_class="unsupported")
def _(s):
    s.records[0].flags = 2


for _size in (15, 17):
    @reject(f"reference/length-{_size}", "baseline/sampled-short", "ULP-REC-05", f"a Reference record of {_size} bytes")
    def _(s, size=_size):
        s.records[0].payload = (s.records[0].payload + b"\0")[:size - 4]


@reject("reference/body-crc", "baseline/sampled-short", "ULP-REC-03", "the body CRC of a Reference record does not match")
def _(s):
    s.records[0].body_crc = 1
