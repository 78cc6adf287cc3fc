# SPDX-License-Identifier: MIT-0
"""Streams and their records (§3–§7). Every field can be overridden; CRCs, offsets and End follow what is there."""
import hashlib
import struct
from zlib import crc32

from .bits import BitWriter, leb128, zigzag
from .elements import TYPES, convert
from .substreams import MASK, RESIDUAL, SAME, Coded, Substream

LAYOUT, REFERENCE, BIND, PROFILE, CHUNK, END, INDEX, METADATA, DIGEST = 1, 2, 3, 4, 5, 6, 0x81, 0x82, 0x83
IN_PLACE, WHOLE, EXTERNAL = 1, 1, 1
BY_NUMBER = {t.number: t for t in TYPES}


class Record:
    """A record whose body ends with its CRC."""

    def __init__(self, kind, payload, flags=0, count=0):
        self.kind, self.payload, self.flags, self.count = kind, payload, flags, count
        self.length = None                           # of the body, when it is to be wrong
        self.header_crc = self.body_crc = 0          # xor patterns

    def body(self, state):
        return self.payload + struct.pack("<I", crc32(self.payload) ^ self.body_crc)

    def bytes(self, state):
        body = self.body(state)
        head = struct.pack("<BBHI", self.kind, self.flags, self.count, len(body) if self.length is None else self.length)
        return head + struct.pack("<I", crc32(head) ^ self.header_crc) + body


class Kind:
    def __init__(self, element, other=None, reference=0, reserved=0):
        self.element, self.other, self.reference, self.reserved = element, other, reference, reserved

    @property
    def converts(self):
        return self.other is not self.element and self.other.is_float and self.element.is_float

    def bytes(self):
        return bytes([self.element.number, self.other.number if self.other else 0, self.reference, self.reserved])


class Span:
    """`away`: reference offset − expected offset, written if not 0; `at`: the reference offset, instead of `away`.
    `raw` replaces the bytes."""

    def __init__(self, kind, elements, profile=None, away=0, at=None, raw=None):
        self.kind, self.elements, self.profile, self.away, self.at, self.raw = kind, elements, profile, away, at, raw

    def bytes(self):
        if self.raw is not None:
            return self.raw
        head = self.kind | (self.profile is not None) << 7 | (self.away != 0) << 6
        out = bytes([head]) + leb128(self.elements)
        if self.profile is not None:
            out += leb128(self.profile)
        return out + (leb128(zigzag(self.away)) if self.away else b"")


class Layout(Record):
    def __init__(self, kinds, spans):
        super().__init__(LAYOUT, b"", 0, len(kinds))
        self.kinds, self.spans, self.tail = kinds, spans, b""

    def body(self, state):
        self.payload = b"".join(x.bytes() for x in self.kinds + self.spans) + self.tail
        return super().body(state)


class Chunk(Record):
    """`content`: its bytes; `parts`: their reference bytes in use, in output order."""

    def __init__(self, content, substreams, reference_bytes):
        super().__init__(CHUNK, b"", 0, len(substreams))
        self.content, self.substreams = content, substreams
        self.output_offset = self.output_length = self.content_crc = None
        self.reference_crc = crc32(reference_bytes)
        self.ranges = []                             # (reference, offset, length), neighbours as one
        self.tail = b""

    def body(self, state):
        content_crc = crc32(self.content) if self.content_crc is None else self.content_crc
        head = struct.pack("<QIII", state["produced"] if self.output_offset is None else self.output_offset,
                           len(self.content) if self.output_length is None else self.output_length,
                           content_crc, self.reference_crc)
        for s in self.substreams:
            head += struct.pack("<BBBBBBhI", s.method, s.bank, s.block, s.shift, s.lanes, s.flags, s.scale_base,
                                len(s.data) if s.length is None else s.length)
        head += struct.pack("<I", crc32(head) ^ self.body_crc)
        return head + b"".join(s.data for s in self.substreams) + self.tail


class End(Record):
    """`fields` replaces computed values."""

    def __init__(self):
        super().__init__(END, b"")
        self.fields, self.closing, self.tail = {}, b"\x8aulp", b""

    def body(self, state):
        values = {"chunk_count": state["chunks"], "content_length": state["produced"],
                  "content_crc": state["content_crc"], "encoded_length": state["at"] + 56,
                  "index_offset": state["index"]} | self.fields
        head = struct.pack("<QQIQQ", *values.values())
        return head + struct.pack("<I", crc32(head) ^ self.body_crc) + self.closing + self.tail


class Index(Record):
    """Lists what came since the Index before. `fields` replaces computed values; `change` is given the list of entries,
    [type, offset, begun or slot or (output_length, ranges)], before they are written; `tail` comes after them."""

    def __init__(self, change=None, **fields):
        super().__init__(INDEX, b"")
        self.change, self.fields, self.tail = change, fields, b""
        self.chunks = None                           # count, when it is to be wrong

    def entries(self, state):
        """(entries, chunks before, content before)"""
        since = [e for e in state["listed"] if e[0] > state["previous"]]
        force = {}
        for at, record in state["listed"]:
            if at <= state["previous"] and record.kind != CHUNK:
                force[record.kind, record.count if record.kind != LAYOUT else 0] = at, record
        first = [r for _, r in since if r.kind == CHUNK]
        before = [r for at, r in state["listed"] if r.kind == CHUNK and at <= state["previous"]]
        content = sum(len(r.content) for r in before)
        old = [e for e in sorted(force.values(), key=lambda e: e[0]) if e[1].kind != LAYOUT or e[1].described > content]
        return old + since, len(before), content

    def body(self, state):
        listed, chunks, content = self.entries(state)
        fields = {"previous": state["previous"], "first_chunk": chunks, "content_offset": content} | self.fields
        entries = [[r.kind, at, (len(r.content), list(r.ranges)) if r.kind == CHUNK else
                    max(content - r.begins, 0) if r.kind == LAYOUT else r.count] for at, r in listed]
        if self.change:
            self.change(entries)
        out, before, at = struct.pack("<QQQ", *fields.values()), 0, content
        for kind, offset, value in entries:
            out += bytes([kind]) + leb128(offset - before)
            before = offset
            if kind == CHUNK:
                length, ranges = value
                out += leb128(length) + leb128(len(ranges))
                expected, at = at, at + length
                for reference, start, size in ranges:
                    out += bytes([reference]) + leb128(zigzag(start - expected)) + leb128(size)
                    expected = start + size
            else:
                out += leb128(value)
        self.payload = out + self.tail
        self.count = sum(e[0] == CHUNK for e in entries) if self.chunks is None else self.chunks
        return super().body(state)


class Digest(Record):
    def __init__(self, xor=0):
        super().__init__(DIGEST, b"")
        self.xor, self.tail = xor, b""

    def body(self, state):
        digest = bytearray(hashlib.sha256(state["content"]).digest())
        digest[0] ^= self.xor
        self.payload = bytes(digest) + self.tail
        return super().body(state)


class Stream:
    """A stream under construction over `content` and its references (bytes)."""

    def __init__(self, content=b"", references=(), **header):
        self.content, self.references = content, list(references)
        self.header = {"magic": b"\x89ulp\r\n", "version": 0, "draft": 1, "flags": 0, "references": len(self.references),
                       "bank_slots": 0, "profile_slots": 0, "feature_set": 0, "reserved": 0,
                       "max_chunk_length": 1 << 16} | header
        self.header_crc = 0
        self.records, self.tail = [], b""
        self.banks, self.profiles, self.described, self.coded = {}, {}, 0, 0

    def add(self, record):
        self.records.append(record)
        return self

    # --- records before chunks

    def sampled(self, index, data=None):
        data = self.references[index] if data is None else data
        pieces = data
        if len(data) >= 65536:
            pieces = b"".join(data[o:o + 4096] for o in (k * (len(data) - 4096) // 15 for k in range(16)))
        return self.add(Record(REFERENCE, struct.pack("<QI", len(data), crc32(pieces)), 0, index))

    def whole(self, index, data=None):
        data = self.references[index] if data is None else data
        return self.add(Record(REFERENCE, struct.pack("<QI", len(data), crc32(data)), WHOLE, index))

    def layout(self, kinds, spans):
        """Spans may be given as Span or (kind, elements, …)."""
        spans = [s if isinstance(s, Span) else Span(*s) for s in spans]
        self.kinds, self.spans, begins = kinds, [], self.described
        output, cursors = self.described, [self.described] * 256
        for s in spans:
            kind = kinds[s.kind] if s.kind < len(kinds) else kinds[0]
            size, start = s.elements * kind.element.w // 8, None
            if kind.other:
                if s.at is not None:
                    s.away = s.at - cursors[kind.reference]
                start = cursors[kind.reference] + s.away
                cursors = [c + size for c in cursors]
                cursors[kind.reference] = start + s.elements * kind.other.w // 8
            else:
                cursors = [c + size for c in cursors]
            self.spans.append((output, output + size, s, start))
            output += size
        self.described = output
        layout = Layout(kinds, spans)
        layout.begins, layout.described = begins, self.described
        return self.add(layout)

    def bind(self, slot, bank):
        self.banks[slot] = bank
        record = Record(BIND, bank.body(), 0, slot)
        record.bank = bank
        return self.add(record)

    def profile(self, slot, values, rice=2):
        self.profiles[slot] = values
        out = BitWriter()
        for v in values:
            out.unary(zigzag(v) >> rice)
            out.put(zigzag(v) & (1 << rice) - 1, rice)
        return self.add(Record(PROFILE, struct.pack("<IB", len(values), rice) + out.bytes(), 0, slot))

    def metadata(self, *pairs):
        out = b"".join(struct.pack("<H", len(k)) + k + struct.pack("<I", len(v)) + v for k, v in pairs)
        return self.add(Record(METADATA, out, 0, len(pairs)))

    # --- chunks

    def parts(self, begin, end):
        """(kind, first element, last element, span, offset of the span in its reference)."""
        for first, last, span, reference in self.spans:
            low, high = max(first, begin), min(last, end)
            if low < high:
                width = self.kinds[span.kind].element.w // 8
                yield span.kind, (low - first) // width, (high - first) // width, low, high, span, reference

    def patterns(self, length):
        """{kind: (content patterns, converted reference patterns, profile values)} of the next `length` bytes."""
        found = {}
        for number, first, last, low, high, span, reference in self.parts(self.coded, self.coded + length):
            kind = self.kinds[number]
            mine = found.setdefault(number, ([], [], []))
            mine[0].extend(kind.element.unpack(self.content[low:high]))
            if kind.other:
                width = kind.other.w // 8
                data = self.references[kind.reference][reference + first * width:reference + last * width]
                data = data[:len(data) // width * width]
                mine[1].extend(convert(u, kind.other, kind.element) if kind.converts else u
                               for u in kind.other.unpack(data))
            values = [0] if span.profile is None else self.profiles.get(span.profile, [0])
            mine[2].extend(values[i % len(values)] for i in range(first, last))
        return dict(sorted(found.items()))

    def code(self, kind, length, method, profiles=False, **options):
        """A Coded of one kind in the next `length` bytes."""
        content, reference, profile = self.patterns(length)[kind]
        return Coded(method, self.kinds[kind].element, content, reference or None,
                     profile=profile if profiles else None, **options)

    def chunk(self, length, substreams):
        """`substreams`: one Substream or Coded per kind that occurs, in ascending order."""
        used, ranges = b"", []
        numbers = sorted({part[0] for part in self.parts(self.coded, self.coded + length)})
        for number, first, last, _, _, _, reference in self.parts(self.coded, self.coded + length):
            if substreams[numbers.index(number)].method in (SAME, RESIDUAL, MASK):
                kind = self.kinds[number]
                width = kind.other.w // 8
                begin, end = reference + first * width, reference + last * width
                used += self.references[kind.reference][begin:end]
                if ranges and ranges[-1][0] == kind.reference and sum(ranges[-1][1:]) == begin:
                    begin = ranges.pop()[1]
                ranges.append((kind.reference, begin, end - begin))
        built = [s.build(self.banks[s.slot]) if isinstance(s, Coded) else s for s in substreams]
        content = self.content[self.coded:self.coded + length]
        self.coded += length
        chunk = Chunk(content, built, used)
        chunk.ranges = ranges
        return self.add(chunk)

    def index(self, **fields):
        return self.add(Index(**fields))

    def digest(self, xor=0):
        return self.add(Digest(xor))

    def end(self):
        return self.add(End())

    # --- the bytes

    def bytes(self):
        h = self.header
        head = h["magic"] + struct.pack("<BBHBBHBBI", *(h[k] for k in (
            "version", "draft", "flags", "references", "bank_slots", "profile_slots", "feature_set", "reserved",
            "max_chunk_length")))
        out = head + struct.pack("<I", crc32(head) ^ self.header_crc)
        state = {"produced": 0, "chunks": 0, "content_crc": 0, "content": b"", "index": 0, "listed": []}
        for record in self.records:
            state["at"], state["previous"] = len(out), state["index"]
            if record.kind in (LAYOUT, BIND, PROFILE, CHUNK):
                state["listed"].append((len(out), record))
            if record.kind == INDEX:
                state["index"] = len(out)
            out += record.bytes(state)
            if isinstance(record, Chunk):
                state["produced"] += len(record.content)
                state["chunks"] += 1
                state["content_crc"] = crc32(record.content, state["content_crc"])
                state["content"] += record.content
        return out + self.tail

    def boundaries(self):
        """The lengths of content at chunk boundaries, 0 first."""
        lengths = [0]
        for record in self.records:
            if isinstance(record, Chunk):
                lengths.append(lengths[-1] + len(record.content))
        return lengths


def raw(element, patterns):
    return Substream(0, element.pack(patterns))
