#!/usr/bin/env python3
# SPDX-License-Identifier: MIT-0
"""An independent decoder of ulp streams, written from spec/format.md alone.

    ulp_decode.py [--ref FILE]... < stream > content

Exit status: 0 accepted, 2 invalid, 3 unsupported or over limit; 1 for usage and system errors. Content is
written chunk by chunk, each after its CRC has matched. Functions bear the names of the sections they follow.
"""
import hashlib
import struct
import sys
from bisect import bisect_right
from collections import namedtuple
from zlib import crc32


class Reject(Exception):
    """The input is refused; `status` is the exit status."""
    name, status = "invalid", 2


class Invalid(Reject):
    pass


class Unsupported(Reject):
    name, status = "unsupported", 3


def require(holds, message, error=Invalid):
    if not holds:
        raise error(message)


# --- 1 Conventions ---------------------------------------------------------------------------------------------

def unzigzag(z):
    return -((z + 1) >> 1) if z & 1 else z >> 1


def clamp16(v):
    return max(-32768, min(32767, v))


class Bits:
    """A bit string: the first bit is the lowest of the first byte."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def bit(self):
        require(self.at < 8 * len(self.data), "bit string is too short")
        self.at += 1
        return self.data[(self.at - 1) >> 3] >> (self.at - 1 & 7) & 1

    def bits(self, n):
        return sum(self.bit() << k for k in range(n))

    def ones(self, most):
        n = 0
        while self.bit():
            n += 1
            require(n <= most, "unary number is too long")
        return n

    def finish(self):
        require((self.at + 7) // 8 == len(self.data), "bytes left over after a bit string")
        while self.at < 8 * len(self.data):
            require(not self.bit(), "padding bit is set")


class Body:
    """The body of a record, read field by field."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def bytes(self, n):
        require(n <= len(self.data) - self.at, "record body is too short")
        self.at += n
        return self.data[self.at - n:self.at]

    def take(self, fields):
        values = struct.unpack("<" + fields, self.bytes(struct.calcsize("<" + fields)))
        return values if len(values) > 1 else values[0]

    def rest(self):
        return self.bytes(len(self.data) - self.at)

    def leb128(self):
        value = 0
        for k in range(10):
            byte = self.take("B")
            value |= (byte & 127) << 7 * k
            if byte < 128:
                require(byte or not k, "LEB128 is not in its shortest form")
                require(value < 1 << 64, "LEB128 is too large")
                return value
        raise Invalid("LEB128 is too long")

    def finish(self):
        require(self.at == len(self.data), "record body is too long")


# --- 2 Element types -------------------------------------------------------------------------------------------

Element = namedtuple("Element", "name w bias m e kind")
FLOAT, SIGNED, UNSIGNED = "float", "signed", "unsigned"
ELEMENTS = {1: Element("bytes", 8, 0, 0, 0, UNSIGNED)}
for _id, _w in ((2, 8), (4, 16), (6, 32), (8, 64)):
    ELEMENTS[_id] = Element(f"u{_w}", _w, 0, 0, 0, UNSIGNED)
    ELEMENTS[_id + 1] = Element(f"i{_w}", _w, 0, 0, 0, SIGNED)
ELEMENTS |= {10: Element("f8_e4m3", 8, 7, 3, 4, FLOAT), 11: Element("f8_e5m2", 8, 15, 2, 5, FLOAT),
             12: Element("bf16", 16, 127, 7, 8, FLOAT), 13: Element("f16", 16, 15, 10, 5, FLOAT),
             14: Element("f32", 32, 127, 23, 8, FLOAT), 15: Element("f64", 64, 1023, 52, 11, FLOAT)}
CODES = {8: "B", 16: "H", 32: "I", 64: "Q"}


def patterns(element, data):
    return list(struct.unpack(f"<{len(data) * 8 // element.w}{CODES[element.w]}", data))


def conversion_of_references(u, a, b):
    """2.1: the pattern of type b for the pattern u of type a."""
    sign, ones, quiet = u >> (a.w - 1) << (b.w - 1), (1 << b.e) - 1, b.name == "f8_e4m3"
    exponent, mantissa = u >> a.m & (1 << a.e) - 1, u & (1 << a.m) - 1
    infinity = 0x7F if quiet else ones << b.m
    if exponent == (1 << a.e) - 1 and (a.name != "f8_e4m3" or mantissa == 7):
        if not mantissa or quiet:
            return sign | infinity
        kept = min(a.m, b.m)
        return sign | infinity | (mantissa >> (a.m - kept) << (b.m - kept) or 1 << (b.m - 1))
    significand = mantissa | (1 << a.m if exponent else 0)
    if not significand:
        return sign
    power = max(exponent, 1) - a.bias - a.m                       # the value is significand * 2^power
    leading = max(significand.bit_length() - 1 + power, 1 - b.bias)
    down = leading - b.m - power                                  # bits to round away
    if down <= 0:
        rounded = significand << -down
    else:
        rounded, rest = significand >> down, significand & (1 << down) - 1
        rounded += rest > 1 << (down - 1) or rest == 1 << (down - 1) and rounded & 1
    finite = ((leading + b.bias - 1) << b.m) + rounded            # a carry moves into the exponent
    return sign | (finite if finite < infinity else infinity)


# --- 3 The stream ----------------------------------------------------------------------------------------------

class Source:
    """The input, with the offset in the current stream; allocates only what has arrived."""

    def __init__(self, file):
        self.file, self.at = file, 0

    def some(self, n):
        pieces = []
        while n:
            piece = self.file.read(min(n, 1 << 16))
            if not piece:
                break
            pieces.append(piece)
            n -= len(piece)
        data = b"".join(pieces)
        self.at += len(data)
        return data

    def read(self, n):
        data = self.some(n)
        require(len(data) == n, "truncated")
        return data


Stream_Header = namedtuple("Stream_Header", "flags references bank_slots profile_slots feature_set max_chunk_length")
MAGIC, CLOSING_MAGIC, IN_PLACE = b"\x89ulp\r\n", b"\x8aulp", 1
BASELINE, MAXIMUM = (16, 64, 4096, 1 << 22), (255, 128, 4096, 1 << 26)
LAYOUT, REFERENCE, BIND, PROFILE, CHUNK, END, INDEX, METADATA, DIGEST = 1, 2, 3, 4, 5, 6, 0x81, 0x82, 0x83
FLAGS = {REFERENCE: 1, BIND: 1}
LIMITS = {LAYOUT: 1 << 21, BIND: 1 << 16, PROFILE: 1 << 23, METADATA: 1 << 20}
SIZES = {REFERENCE: 16, END: 44, DIGEST: 36}


def stream_header(magic, source):
    """3.1"""
    require(magic == MAGIC, "not a ulp stream" if MAGIC[:len(magic)] != magic else "truncated")
    start = magic + source.read(2)
    require(start[6:] == b"\0\1", f"version {start[6]} draft {start[7]}", Unsupported)
    data = start + source.read(16)
    require(crc32(data[:20]) == int.from_bytes(data[20:], "little"), "Stream_Header CRC")
    flags, references, banks, profiles, features, reserved, chunk = struct.unpack("<HBBHBBI", data[8:20])
    require(not flags & ~IN_PLACE and not reserved, "reserved field of Stream_Header", Unsupported)
    require(features <= 1, f"feature set {features}", Unsupported)
    for value, most in zip((references, banks, profiles, chunk), MAXIMUM if features else BASELINE):
        require(value <= most, "Stream_Header field is out of range")
    require(chunk >= 1, "max_chunk_length is 0")
    require(not flags & IN_PLACE or references == 1, "IN_PLACE without one reference")
    return Stream_Header(flags, references, banks, profiles, features, chunk)


def file(source, references, write):
    """3: File = Stream+ zero-bytes*"""
    start = source.some(6)
    while start:
        source.at = len(start)
        Stream(stream_header(start, source), source, references, write).records()
        start = source.some(1)
        if start == b"\0":
            while start:
                require(not start.strip(b"\0"), "bytes after zero padding")
                start = source.some(1 << 16)
            return
        require(not start or start == MAGIC[:1], "bytes after the End record")
        start += source.some(5) if start else b""
        if not start:
            return
    raise Invalid("empty input: truncated")


class Stream:
    """One stream: what its records have set so far."""

    def __init__(self, header, source, references, write):
        self.header, self.source, self.references, self.write = header, source, references, write
        self.banks, self.profiles = {}, {}
        self.kinds, self.spans, self.produced, self.described = [], [], 0, 0
        self.chunks, self.content_crc, self.sha256, self.index, self.closed = 0, 0, hashlib.sha256(), 0, False
        self.seen, self.metadata_bytes, self.keys = set(), 0, set()

    def records(self):
        sections = {LAYOUT: self.layout, REFERENCE: self.reference, BIND: self.bind, PROFILE: self.profile,
                    METADATA: self.metadata, DIGEST: self.digest}
        while True:
            start = self.source.at
            kind, flags, count, length = self.record_header()
            if kind == END:
                return self.end(self.source.read(length))
            if kind == CHUNK:
                self.chunk(count, self.source.read(length))
            elif kind in sections:
                body = self.source.read(length)
                require(crc32(body[:-4]) == int.from_bytes(body[-4:], "little"), "record body CRC")
                sections[kind](flags, count, Body(body[:-4]))
            else:
                self.index = start if kind == INDEX else self.index
                self.skip(length - 4)

    def record_header(self):
        """3.2"""
        data = self.source.read(12)
        kind, flags, count, length, crc = struct.unpack("<BBHII", data)
        require(crc32(data[:8]) == crc, "Record_Header CRC")
        known = LAYOUT <= kind <= END or kind in (METADATA, DIGEST)
        require(known or kind & 0x80, f"critical record of type {kind}", Unsupported)
        if known:
            require(not flags & ~FLAGS.get(kind, 0), "reserved record flag", Unsupported)
            require(count == 0 or kind not in (END, DIGEST), "count is not 0")
            require(length == SIZES.get(kind, length), "record body has a wrong length")
            most = self.header.max_chunk_length + 24 + 12 * count if kind == CHUNK else LIMITS.get(kind, length)
            require(length <= most, "record body is too long")
        require(length >= 4, "record body is too short")
        return kind, flags, count, length

    def skip(self, length):
        crc = 0
        while length:
            data = self.source.read(min(length, 1 << 16))
            crc, length = crc32(data, crc), length - len(data)
        require(crc == int.from_bytes(self.source.read(4), "little"), "record body CRC")

    def end(self, body):
        """4"""
        chunks, length, content_crc, encoded, index, crc = struct.unpack("<QQIQQI", body[:40])
        require(crc32(body[:36]) == crc, "End CRC")
        require(body[40:] == CLOSING_MAGIC, "closing magic")
        require(self.produced == self.described, "End before all output of the Layout")
        require((chunks, length, content_crc) == (self.chunks, self.produced, self.content_crc), "End: content")
        require(encoded == self.source.at, "End: encoded_length")
        require(index == self.index, "End: index_offset")

    # --- 5 References ------------------------------------------------------------------------------------------

    def reference(self, whole, count, body):
        length, identity = body.take("QI")
        require(count < self.header.references, "reference index is out of range")
        require((count, whole) not in self.seen, "second Reference record of a form")
        require(whole or (count, "named") not in self.seen, "sampled form after a Layout that uses the reference")
        self.seen.add((count, whole))
        self.closed = self.closed or bool(whole)
        step = length if whole or length < 65536 else 4096
        pieces = [0] if step == length else [k * (length - 4096) // 15 for k in range(16)]
        crc = 0
        for offset in pieces:
            while step and (data := self.read_reference(count, offset, min(step, 1 << 20))):
                crc, offset = crc32(data, crc), offset + len(data)
                if offset >= length or len(pieces) > 1:
                    break
        end = self.references[count].seek(0, 2)
        require(end == length and crc == identity, f"reference {count} does not match")

    def read_reference(self, index, offset, length):
        require(index < len(self.references), f"reference {index} is not at hand", Unsupported)
        self.references[index].seek(offset)
        return self.references[index].read(length)

    # --- 6 Records before chunks -------------------------------------------------------------------------------

    def layout(self, _flags, count, body):
        """6.1"""
        require(self.produced == self.described, "Layout before the output of the last one is complete")
        require(1 <= count <= 64, "number of kinds")
        self.kinds, self.spans = [self.kind(body) for _ in range(count)], []
        output, cursors = self.produced, [self.produced] * self.header.references
        while body.at < len(body.data):
            require(len(self.spans) < 65536, "too many spans")
            head, elements = body.take("B"), body.leb128()
            require(head & 63 < count, "span of an unknown kind")
            element, other, reference = self.kinds[head & 63]
            require(elements >= 1, "span without elements")
            profile = body.leb128() if head & 0x80 else None
            require(profile is None or profile < self.header.profile_slots, "profile slot is out of range")
            require(other or not head & 0x40, "reference offset without reference")
            end, begin = output + elements * element.w // 8, None
            if other:
                begin = cursors[reference]
                if head & 0x40:
                    away = unzigzag(body.leb128())
                    require(away, "reference offset of 0 is written out")
                    begin += away
                finish = begin + elements * other.w // 8
                require(begin >= 0 and finish < 1 << 63, "reference range")
                if self.header.flags & IN_PLACE:
                    require(other.w == element.w and begin == output, "reference range is not in place")
            require(end < 1 << 63, "output range")
            self.spans.append((output, end, head & 63, profile, begin))
            cursors = [c + end - output for c in cursors]
            if other:
                cursors[reference] = finish
            output = end
        require(self.spans, "Layout without spans")
        self.described = output

    def kind(self, body):
        element, other, reference, reserved = body.take("BBBB")
        require(not reserved, "reserved byte of a kind", Unsupported)
        for number in (element, other):
            require(number in ELEMENTS or number == 0 != element, f"element type {number}", Unsupported)
        element, other = ELEMENTS[element], ELEMENTS.get(other)
        require(not other or other == element or other.kind == element.kind == FLOAT, "reference type does not fit")
        require(reference < self.header.references if other else reference == 0, "reference index is out of range")
        if other:
            self.seen.add((reference, "named"))
        return element, other, reference

    def bind(self, external, count, body):
        """6.3"""
        require(count < self.header.bank_slots, "bank slot is out of range")
        if external:
            digest, number = body.bytes(32), body.take("H")
            body.finish()
            raise Unsupported(f"bank {number} of the bank file {digest.hex()} is not at hand")
        self.banks[count] = Bank(body)

    def profile(self, _flags, count, body):
        """6.4"""
        require(count < self.header.profile_slots, "profile slot is out of range")
        columns, rice = body.take("IB")
        require(1 <= columns <= 1 << 20 and rice <= 7, "Profile field is out of range")
        others = sum(len(values) for slot, values in self.profiles.items() if slot != count)
        require(others + columns <= 1 << 20, "too many columns")
        bits, values = Bits(body.rest()), []
        for _ in range(columns):
            z = bits.ones(255 >> rice) << rice
            values.append(unzigzag(z | bits.bits(rice)))
        bits.finish()
        self.profiles[count] = values

    def metadata(self, _flags, count, body):
        """6.5"""
        self.metadata_bytes += len(body.data) + 4
        require(self.metadata_bytes <= LIMITS[METADATA], "too much metadata")
        for _ in range(count):
            key = body.bytes(body.take("H"))
            body.bytes(body.take("I"))
            try:
                key.decode()
            except UnicodeDecodeError:
                raise Invalid("metadata key is not UTF-8") from None
            require(key and key not in self.keys, "metadata key is empty or not unique")
            self.keys.add(key)
        body.finish()

    def digest(self, _flags, _count, body):
        """6.5"""
        require("digest" not in self.seen, "second Digest")
        self.seen.add("digest")
        self.closed = True
        require(self.sha256.digest() == body.rest(), "SHA-256 of the content")

    # --- 7 Chunk -----------------------------------------------------------------------------------------------

    def chunk(self, count, body):
        require(not self.closed, "Chunk after a Digest or a whole Reference")
        size = 20 + 12 * count
        require(len(body) >= size + 4, "Chunk body is too short")
        require(crc32(body[:size]) == int.from_bytes(body[size:size + 4], "little"), "Chunk CRC")
        offset, length, content_crc, reference_crc = struct.unpack("<QIII", body[:20])
        require(offset == self.produced, "output_offset")
        require(1 <= length <= self.header.max_chunk_length, "output_length")
        require(offset + length <= self.described, "Chunk outside of the Layout's output")
        parts = self.span_parts(offset, offset + length)
        kinds = sorted({part.kind for part in parts})
        require(count == len(kinds), "number of substreams")
        headers = [Substream_Header(*struct.unpack_from("<BBBBBBhI", body, 20 + 12 * k)) for k in range(count)]
        require(sum(h.length for h in headers) == len(body) - size - 4, "lengths of the substreams")
        subs, at = {}, size + 4
        for kind, header in zip(kinds, headers):
            mine = [part for part in parts if part.kind == kind]
            subs[kind] = Substream(self, self.kinds[kind], header, mine, body[at:at + header.length])
            at += header.length
        crc = 0
        for part in parts:
            if subs[part.kind].uses_reference:
                _, other, reference = self.kinds[part.kind]
                width, sub = other.w // 8, subs[part.kind]
                data = self.read_reference(reference, part.reference + part.first * width, part.elements * width)
                require(len(data) == part.elements * width, f"reference {reference} does not match: too short")
                crc = crc32(data, crc)
                sub.reference.append(data)
        require(crc == reference_crc, "reference does not match")
        pieces = {kind: Body(sub.decode()) for kind, sub in subs.items()}
        content = b"".join(pieces[p.kind].bytes(p.elements * self.kinds[p.kind][0].w // 8) for p in parts)
        require(crc32(content) == content_crc, "content CRC")
        self.content_crc, self.produced = crc32(content, self.content_crc), offset + length
        self.chunks += 1
        self.sha256.update(content)
        self.write(content)

    def span_parts(self, begin, end):
        """The parts of spans that lie in an output range, which must not cut an element."""
        parts = []
        for k in range(bisect_right(self.spans, begin, key=lambda span: span[1]), len(self.spans)):
            first, last, kind, profile, reference = self.spans[k]
            if first >= end:
                break
            lo, hi, width = max(first, begin), min(last, end), self.kinds[kind][0].w // 8
            require((lo - first) % width == 0 and (hi - first) % width == 0, "Chunk ends inside an element")
            parts.append(Part(kind, (lo - first) // width, (hi - lo) // width, profile, reference))
        return parts


Part = namedtuple("Part", "kind first elements profile reference")

# --- 8 Substreams ----------------------------------------------------------------------------------------------

Substream_Header = namedtuple("Substream_Header", "method bank block shift lanes flags scale_base length")
RAW, CONSTANT, SAME, RESIDUAL, MASK, PLAIN = range(6)
PROFILES = 1


class Substream:
    """One substream; its header is checked here, its data in `decode`."""

    def __init__(self, stream, kind, header, parts, data):
        self.element, self.other, _ = kind
        self.header, self.data, self.reference = header, data, []
        self.n = sum(part.elements for part in parts)
        h, w, is_float = header, self.element.w, self.element.kind == FLOAT
        require(h.method <= PLAIN, f"method {h.method}", Unsupported)
        require(not h.flags & ~PROFILES, "reserved substream flag", Unsupported)
        self.uses_reference = h.method in (SAME, RESIDUAL, MASK)
        require(self.other or not self.uses_reference, "method needs a reference")
        if h.method <= SAME:
            require(h[1:7] == (0,) * 6, "field of a substream without bank is not 0")
            require(h.length == (self.n * w // 8, w // 8, 0)[h.method], "length of a substream")
            return
        require(h.block == 0 or (8 if h.method == MASK else 5) <= h.block <= 20, "block")
        require(h.lanes <= 5, "lanes")
        require(h.length >= 4 << h.lanes, "length of a substream")
        require(h.bank < 128, f"built-in bank {h.bank - 128}", Unsupported)
        require(h.bank in stream.banks, "bank slot is empty")
        self.bank = bank = stream.banks[h.bank]
        fits = 0 if w == 8 else 3 if h.method == PLAIN and is_float else 2 if w == 64 else 1
        require(bank.kind == fits, "class of the bank does not fit")
        require(h.shift <= (0 if w == 8 else self.element.m if is_float else w - 1), "shift")
        require(not (fits == 3 and bank.top) or h.shift < self.element.m, "shift leaves no top mantissa bit")
        require(bank.elements and (bank.scales or not h.block) and (bank.masks or h.method != MASK), "no such table")
        self.profile = [0] * self.n
        if h.flags & PROFILES:
            require(any(part.profile is not None for part in parts), "PROFILES without a profile")
            self.profile = []
            for part in parts:
                require(part.profile is None or part.profile in stream.profiles, "profile slot is empty")
                values = [0] if part.profile is None else stream.profiles[part.profile]
                self.profile += (values[i % len(values)] for i in range(part.first, part.first + part.elements))

    def decode(self):
        """The elements, as bytes."""
        element, method = self.element, self.header.method
        if method == RAW:
            return self.data
        if method == CONSTANT:
            return self.data * self.n
        reference = b"".join(self.reference)
        if self.uses_reference and self.other != element:
            known = {u: conversion_of_references(u, self.other, element) for u in set(patterns(self.other, reference))}
            reference = pack(element, [known[u] for u in patterns(self.other, reference)])
        if method == SAME:
            return reference
        shift = self.header.shift
        self.w, self.m = element.w - shift, element.m - shift      # w' and the mantissa bits left
        self.coder = Coder(self.data, 1 << self.header.lanes)
        base = self.scales()
        reference = [u >> shift for u in patterns(element, reference)]
        decoded = {RESIDUAL: self.residual, MASK: self.mask, PLAIN: self.plain}[method](base, reference)
        self.coder.finish()
        return pack(element, [u << shift for u in decoded])

    # --- 10 From elements to symbols ---------------------------------------------------------------------------

    def scales(self):
        """10.1: base(i) of each element, None in ZERO blocks."""
        block, previous = self.header.block, self.header.scale_base
        if block == 0:
            return [clamp16(previous) + profile for profile in self.profile]
        base = []
        symbols, _ = self.coder.phase([self.bank.scales[0]] * -(-self.n >> block))
        for k, symbol in enumerate(symbols):
            part = self.profile[k << block:(k + 1) << block]
            if symbol:
                previous = clamp16(previous + unzigzag(symbol - 1))
            base += [previous + profile for profile in part] if symbol else [None] * len(part)
        return base

    def lambdas(self, base, reference):
        """10.1: lambda of each element in RESIDUAL and MASK."""
        if self.element.kind != FLOAT:
            return [None if b is None else clamp16(b) for b in base]
        m, mask, less = self.m, (1 << self.element.e) - 1, self.element.bias + self.m
        return [None if b is None else clamp16(b - 4 * (max(u >> m & mask, 1) - less)) for b, u in zip(base, reference)]

    def residual(self, base, reference):
        """10.3"""
        tables = [None if v is None else self.bank.element_table(v) for v in self.lambdas(base, reference)]
        return self.residuals(tables, reference)

    def residuals(self, tables, reference):
        tokens, raws = self.coder.phase(tables, self.bank.raw_bits)
        top, ring, is_float = 1 << (self.w - 1), (1 << self.w) - 1, self.element.kind == FLOAT
        decoded = []
        for token, raw, u in zip(tokens, raws, reference):
            o = unzigzag(self.z(token, raw))
            if not is_float:
                decoded.append(u + o & ring)
            else:
                order = (u ^ top) + o if u < top else (ring - u) - o
                order &= ring
                decoded.append(order ^ top if order >= top else ring - order)
        return decoded

    def z(self, token, raw):
        z = self.bank.z_base[token] | raw << 1
        require(z >> self.w == 0, "residual outside the ring")
        return z

    def plain(self, base, _reference):
        """10.4"""
        lambdas = [None if b is None else clamp16(b) for b in base]
        bank, w, m, element = self.bank, self.w, self.m, self.element
        low = m - bank.top                                         # mantissa bits that are raw
        widths = bank.raw_bits if bank.kind < 3 else [0, w] + [low + (not bank.sign)] * 254
        tables = [None if v is None else bank.element_table(v) for v in lambdas]
        decoded = []
        for token, raw, lam in zip(*self.coder.phase(tables, widths), lambdas):
            if bank.kind == 0 or lam is None:
                decoded.append(token)
            elif bank.kind < 3:
                z = self.z(token, raw)
                decoded.append(unzigzag(z) & (1 << w) - 1 if element.kind == SIGNED else z)
            elif token < 2:
                decoded.append(raw)
            else:
                t = token - 2
                sign = t & 1 if bank.sign else raw >> low
                t >>= bank.sign
                top = t & 1 if bank.top else 0
                exponent = (t >> bank.top) + element.bias + (lam >> 2) - bank.centre
                require(0 <= exponent < 1 << element.e, "exponent is out of range")
                mantissa = top << low | raw & (1 << low) - 1
                decoded.append(sign << (w - 1) | exponent << m | mantissa)
        return decoded

    def mask(self, base, reference):
        """10.5"""
        lambdas = self.lambdas(base, reference)
        groups = [lambdas[i:i + 8] for i in range(0, self.n, 8)]
        tables = [None if g[0] is None else self.bank.mask_table(max(g)) for g in groups]
        symbols, _ = self.coder.phase(tables)
        require(symbols[-1] >> len(groups[-1]) == 0, "bit of an absent element is set")
        differ = [i for i in range(self.n) if symbols[i >> 3] >> (i & 7) & 1]
        tables = [self.bank.element_table(lambdas[i]) for i in differ]
        decoded = list(reference)
        for i, u in zip(differ, self.residuals(tables, [reference[i] for i in differ])):
            decoded[i] = u
        return decoded


def pack(element, values):
    return struct.pack(f"<{len(values)}{CODES[element.w]}", *values)


# --- 9 Banks ---------------------------------------------------------------------------------------------------

class Bank:
    def __init__(self, body):
        self.kind, form, self.centre, self.window, scales, masks, elements, precision, *bases = body.take("8B2h")
        require(self.kind <= 3, f"bank class {self.kind}", Unsupported)
        self.sign, self.top = form & 1, form >> 1 & 1
        alphabet = {0: 256, 1: 240, 2: 256, 3: 2 + (self.window << self.sign + self.top)}[self.kind]
        if self.kind == 3:
            require(form <= 3 and self.window >= 1 and alphabet <= 256, "form or window of a bank")
        else:
            require(not form and not self.centre and not self.window, "form, centre or window of a bank")
        require(scales <= 1 and 1 <= precision <= 12 and 1 <= masks + elements <= 32, "Bank field is out of range")
        require((masks or not bases[0]) and (elements or not bases[1]), "base of an empty group")
        self.mask_thresholds, self.element_thresholds = [self.thresholds(body, *group) for group in
                                                         zip((masks, elements), bases)]
        bits = Bits(body.rest())
        self.scales, self.masks, self.elements = [self.tables(bits, *group, precision) for group in
                                                  ((scales, 256), (masks, 256), (elements, alphabet))]
        bits.finish()
        # z of a token with its raw bits zero, and the number of those
        self.z_base, self.raw_bits = list(range(256)), [0] * 256
        refine = {1: 2, 2: 1}.get(self.kind)
        for token in range(16, 256 if refine else 0):
            step, sign = divmod(token - 16, 2)
            n, leading = (step >> refine) + 4, (1 << refine) + (step & (1 << refine) - 1)
            self.z_base[token], self.raw_bits[token] = leading << (n - refine) | sign, n - refine - 1

    def thresholds(self, body, tables, base):
        steps, found = list(body.bytes(max(tables - 1, 0))), [base]
        require(all(steps) and sum(steps) <= 255, "steps of thresholds")
        for step in steps:
            found.append(found[-1] + step)
        return found

    def tables(self, bits, count, alphabet, precision):
        found, before = [], None
        for _ in range(count):
            before = self.table(bits, before, alphabet, precision)
            found.append(before)
        return [Table(frequencies) for frequencies in found]

    def table(self, bits, before, alphabet, precision):
        last, implied = bits.bits(8), bits.bits(8)
        require(implied <= last < alphabet, "symbols of a table")
        frequencies, classes = [0] * 256, [0] * 256
        classes[implied] = 12
        for s in range(last + 1):
            if s == implied:
                continue
            predicted = min(before[s].bit_length(), 12) if before else classes[s - 2] if s >= 2 else 0
            c = predicted + unzigzag(bits.ones(24))
            require(0 <= c <= 12, "class of a frequency")
            f = c
            if c >= 2:
                k = min(c - 1, precision)
                f = (1 << k | bits.bits(k)) << (c - 1 - k)
            frequencies[s], classes[s] = f, c
        f = frequencies[implied] = 4096 - sum(frequencies)
        require(frequencies[last] and f >= 1, "frequencies of a table")
        require(f > max(frequencies[:implied], default=0) and f >= max(frequencies[implied:]), "implied symbol")
        return frequencies

    def mask_table(self, lam):
        return self.masks[max(bisect_right(self.mask_thresholds, lam) - 1, 0)]

    def element_table(self, lam):
        return self.elements[max(bisect_right(self.element_thresholds, lam) - 1, 0)]


class Table:
    """(symbol, frequency, slot - cumulative) of every slot, built on first use."""

    def __init__(self, frequencies):
        self.frequencies, self.built = frequencies, None

    def slots(self):
        if self.built is None:
            self.built = [(s, f, k) for s, f in enumerate(self.frequencies) for k in range(f)]
        return self.built


# --- 11 The entropy coder --------------------------------------------------------------------------------------

class Coder:
    def __init__(self, data, lanes):
        require((len(data) - 4 * lanes) % 2 == 0, "half a word")
        self.states = list(struct.unpack_from(f"<{lanes}I", data))
        require(min(self.states) >= 1 << 16, "state below 2^16")
        self.words = struct.unpack_from(f"<{len(data) // 2 - 2 * lanes}H", data, 4 * lanes)
        self.at = 0

    def phase(self, tables, raw_bits=None):
        """One phase: the symbols and raw bits of its steps; a step without a table does not take place."""
        lanes, states = len(self.states), self.states
        symbols, raws = [0] * len(tables), [0] * len(tables)
        for row in range(0, len(tables), lanes):
            active = [k for k in range(row, min(row + lanes, len(tables))) if tables[k] is not None]
            for k in active:
                x = states[k - row]
                symbols[k], frequency, rest = tables[k].slots()[x & 4095]
                states[k - row] = frequency * (x >> 12) + rest
            self.renormalise(row, active)
            if raw_bits:
                done = 0
                while active := [k for k in active if raw_bits[symbols[k]] > done]:
                    for k in active:
                        t = min(raw_bits[symbols[k]] - done, 16)
                        raws[k] |= (states[k - row] & (1 << t) - 1) << done
                        states[k - row] >>= t
                    self.renormalise(row, active)
                    done += 16
        return symbols, raws

    def renormalise(self, row, active):
        for k in active:
            if self.states[k - row] < 1 << 16:
                require(self.at < len(self.words), "words run out")
                self.states[k - row] = self.states[k - row] << 16 | self.words[self.at]
                self.at += 1

    def finish(self):
        require(set(self.states) == {1 << 16}, "final state is not 2^16")
        require(self.at == len(self.words), "words are left over")


# --- Command ---------------------------------------------------------------------------------------------------

def main(arguments):
    references = []
    while arguments:
        if arguments[0] != "--ref" or len(arguments) < 2:
            print(__doc__, file=sys.stderr)
            return 1
        references.append(open(arguments[1], "rb"))
        arguments = arguments[2:]

    def write(data):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    try:
        file(Source(sys.stdin.buffer), references, write)
    except Reject as error:
        print(f"ulp_decode: {error.name}: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
