#!/usr/bin/env python3
# SPDX-License-Identifier: MIT-0
"""A decoder of ulp streams from spec/format.md alone: ulp_decode.py [--ref FILE]... [--bank FILE]... < stream > content
Exit status: 0 accepted, 2 invalid, 3 unsupported; 1 for usage and system errors. Content is written chunk by chunk,
each after its CRC has matched. Functions have the names of the sections they follow, with their numbers."""
import hashlib, struct, sys  # noqa: E401
from bisect import bisect_right
from collections import namedtuple
from functools import lru_cache
from zlib import crc32
Reject, USAGE, INVALID, UNSUPPORTED = type("Reject", (Exception,), {}), 1, 2, 3    # raised with message and exit status
def require(holds, message, status=INVALID):
    if not holds:
        raise Reject(message, status)
# --- 1 Conventions ---------------------------------------------------------------------------------------------------
def unzigzag(z): return -((z + 1) >> 1) if z & 1 else z >> 1
def clamp16(v): return max(-32768, min(32767, v))
def little(data): return int.from_bytes(data, "little")
class Body:  # of a record; `at` counts bits, the first of which is the lowest of the first byte
    def __init__(self, data):
        self.data, self.at = data, 0
    def bytes(self, n):
        at, self.at = self.at // 8, self.at + 8 * n
        require(self.at <= 8 * len(self.data), "record body is too short")
        return self.data[at:at + n]
    def take(self, fields):
        values = struct.unpack("<" + fields, self.bytes(struct.calcsize("<" + fields)))
        return values if len(values) > 1 else values[0]
    def leb128(self):
        value, k, byte = 0, 0, 128
        while byte >= 128:
            byte = self.take("B")
            value, k = value | (byte & 127) << 7 * k, k + 1
            require(k <= 10 and value < 1 << 64, "LEB128 is too long")
        require(byte or k == 1, "LEB128 is not in its shortest form")
        return value
    def bit(self):
        require(self.at < 8 * len(self.data), "bit string is too short")
        self.at += 1
        return self.data[(self.at - 1) >> 3] >> (self.at - 1 & 7) & 1
    def bits(self, n): return sum(self.bit() << k for k in range(n))
    def ones(self, most):
        require((n := next((n for n in range(most + 1) if not self.bit()), None)) is not None, "unary number is too long")
        return n
    def finish(self):
        require((self.at + 7) // 8 == len(self.data), "record body is too long")
        require(self.at % 8 == 0 or self.data[-1] >> self.at % 8 == 0, "padding bit is set")
# --- 2 Element types -------------------------------------------------------------------------------------------------
Element = namedtuple("Element", "name w bias m e signed", defaults=(0, 0, 0, False))
ELEMENTS = dict(enumerate((
    Element("bytes", 8), Element("u8", 8), Element("i8", 8, signed=True), Element("u16", 16),
    Element("i16", 16, signed=True), Element("u32", 32), Element("i32", 32, signed=True), Element("u64", 64),
    Element("i64", 64, signed=True), Element("f8_e4m3", 8, 7, 3, 4), Element("f8_e5m2", 8, 15, 2, 5),
    Element("bf16", 16, 127, 7, 8), Element("f16", 16, 15, 10, 5), Element("f32", 32, 127, 23, 8),
    Element("f64", 64, 1023, 52, 11)), 1))
CODES = {8: "B", 16: "H", 32: "I", 64: "Q"}
def unpack(element, data): return struct.unpack(f"<{len(data) * 8 // element.w}{CODES[element.w]}", data)
def pack(element, patterns): return struct.pack(f"<{len(patterns)}{CODES[element.w]}", *patterns)
@lru_cache(maxsize=1 << 20)
def conversion_of_references(u, a, b):  # 2.1: the pattern of type b for the pattern u of type a
    sign, no_infinity = u >> (a.w - 1) << (b.w - 1), b.name == "f8_e4m3"
    infinity = 0x7F if no_infinity else (1 << b.e) - 1 << b.m       # the pattern after the largest finite one
    exponent, mantissa = u >> a.m & (1 << a.e) - 1, u & (1 << a.m) - 1
    if exponent == (1 << a.e) - 1 and (a.name != "f8_e4m3" or mantissa == 7):
        payload = mantissa >> max(a.m - b.m, 0) << max(b.m - a.m, 0) or 1 << (b.m - 1)
        return sign | infinity | (payload if mantissa and not no_infinity else 0)
    significand, power = mantissa | (1 << a.m if exponent else 0), max(exponent, 1) - a.bias - a.m
    if not significand:
        return sign
    leading = max(significand.bit_length() - 1 + power, 1 - b.bias)
    down = leading - b.m - power + 54                               # bits to round away, of 54 more
    rounded, rest = divmod(significand << 54, 1 << down)
    rounded += 2 * rest > 1 << down or (2 * rest == 1 << down and rounded & 1)
    return sign | min(((leading + b.bias - 1) << b.m) + rounded, infinity)      # a carry moves into the exponent
# --- 3 The stream ----------------------------------------------------------------------------------------------------
MAGIC, CLOSING_MAGIC, IN_PLACE = b"\x89ulp\r\n", b"\x8aulp", 1
BASELINE, MAXIMUM = (16, 64, 4096, 1 << 22), (255, 128, 4096, 1 << 26)
LAYOUT, REFERENCE, BIND, PROFILE, CHUNK, END, INDEX, METADATA, DIGEST = 1, 2, 3, 4, 5, 6, 0x81, 0x82, 0x83
FLAGS, SIZES = {REFERENCE: 1, BIND: 1}, {REFERENCE: 16, END: 44, DIGEST: 36}     # FLAGS: WHOLE, EXTERNAL
LIMITS = {LAYOUT: 1 << 21, BIND: 1 << 16, PROFILE: 1 << 23, METADATA: 1 << 20}
class Source:  # the input and the offset in the current stream; takes no more memory than what has arrived
    def __init__(self, file):
        self.file, self.at = file, 0
    def some(self, n):
        pieces = []
        while n and (piece := self.file.read(min(n, 1 << 16))):
            pieces.append(piece)
            n, self.at = n - len(piece), self.at + len(piece)
        return b"".join(pieces)
    def read(self, n):
        data = self.some(n)
        require(len(data) == n, "truncated")
        return data
def file(source, references, out, bank_files={}):  # 3: File = Stream+ zero-bytes*
    require(start := source.some(6), "truncated: the input is empty")
    while start:
        source.at = len(start)
        Stream(stream_header(start, source), source, references, out, bank_files).records()
        start = source.some(1)
        while start[:1] == b"\0":
            require(not start.strip(b"\0"), "bytes after zero padding")
            start = source.some(1 << 16)
        require(start in (b"", MAGIC[:1]), "bytes after the End record")
        start += source.some(5) if start else b""
def stream_header(magic, source):  # 3.1
    require(MAGIC.startswith(magic), "not a ulp stream")
    require(magic == MAGIC, "truncated")
    start = magic + source.read(2)
    require(start[6:] == b"\0\1", f"version {start[6]}, draft {start[7]}", UNSUPPORTED)
    data = start + source.read(16)
    require(crc32(data[:20]) == little(data[20:]), "Stream_Header CRC")
    flags, references, banks, profiles, features, reserved, chunk = struct.unpack("<HBBHBBI", data[8:20])
    require(not flags & ~IN_PLACE and not reserved, "reserved field of the Stream_Header", UNSUPPORTED)
    require(features <= 2, f"feature set {features}", UNSUPPORTED)
    fields, most = (references, banks, profiles, chunk), MAXIMUM if features else BASELINE
    require(chunk >= 1 and all(map(int.__le__, fields, most)), "Stream_Header field is out of range")
    require(not flags & IN_PLACE or references == 1, "IN_PLACE without one reference")
    return flags, features, *fields
class Stream:
    def __init__(self, header, source, references, out, bank_files={}):
        self.source, self.references, self.bank_files, self.out = source, references, bank_files, out
        self.flags, self.features, self.reference_count, self.bank_slots, self.profile_slots, self.max_chunk_length = header
        self.kinds, self.spans, self.banks, self.profiles = [], [], {}, {}
        self.produced = self.described = self.chunks = self.content_crc = self.index = self.metadata_bytes = 0
        self.sha256, self.seen, self.keys = hashlib.sha256(), set(), set()
    def records(self):
        sections = {LAYOUT: self.layout, REFERENCE: self.reference, BIND: self.bind, PROFILE: self.profile,
                    METADATA: self.metadata, DIGEST: self.digest, CHUNK: self.chunk, END: self.end}
        kind = None
        while kind != END:
            start = self.source.at
            kind, flags, count, body = self.record()
            self.index = start if kind == INDEX else self.index
            sections.get(kind, lambda *_: None)(flags, count, body)
    def record(self):  # 3.2
        data = self.source.read(12)
        kind, flags, count, length, crc = struct.unpack("<BBHII", data)
        require(crc32(data[:8]) == crc, "Record_Header CRC")
        known = LAYOUT <= kind <= END or kind in (METADATA, DIGEST)
        require(known or kind & 0x80, f"critical record of type {kind}", UNSUPPORTED)
        if known:
            require(not flags & ~FLAGS.get(kind, 0), "reserved record flag", UNSUPPORTED)
            require(count == 0 or kind not in (END, DIGEST), "count is not 0")
            most = self.max_chunk_length + 24 + 12 * count if kind == CHUNK else LIMITS.get(kind, length)
            require(length == SIZES.get(kind, length) and length <= most, "length of a record body")
        require(length >= 4, "record body is too short")
        body = self.source.read(length)
        other = kind in (CHUNK, END)                                # these have their CRC elsewhere
        require(other or crc32(body[:-4]) == little(body[-4:]), "record body CRC")
        return kind, flags, count, body if other else Body(body[:-4])
    def end(self, _flags, _count, body):  # 4
        chunks, length, content_crc, encoded, index, crc = struct.unpack("<QQIQQI", body[:40])
        require(crc32(body[:36]) == crc and body[40:] == CLOSING_MAGIC, "End CRC or closing magic")
        require(self.produced == self.described, "End before all output of the Layout")
        require((chunks, length, content_crc) == (self.chunks, self.produced, self.content_crc), "End: content")
        require((encoded, index) == (self.source.at, self.index), "End: encoded_length or index_offset")
    def reference(self, whole, count, body):  # 5
        length, identity = body.take("QI")
        require(count < self.reference_count, "reference index is out of range")
        late = not whole and (count, "named") in self.seen
        require(not late and (count, whole) not in self.seen, "sampled form after a Layout, or second record of a form")
        self.seen.update([(count, whole)] + ["no more chunks"] * whole)
        self.read_reference(count, length, 0)
        require(not self.references[count].read(1), f"reference {count} does not match: it is too long")
        pieces, crc = [(at, min(1 << 20, length - at)) for at in range(0, length, 1 << 20)], 0
        if not whole and length >= 65536:
            pieces = [(k * (length - 4096) // 15, 4096) for k in range(16)]
        for at, n in pieces:
            crc = crc32(self.read_reference(count, at, n), crc)
        require(crc == identity, f"reference {count} does not match")
    def read_reference(self, index, offset, length):
        require(index < len(self.references), f"reference {index} is not given", USAGE)
        end = self.references[index].seek(0, 2)
        require(offset + length <= end, f"reference {index} does not match: it is too short")
        self.references[index].seek(offset)
        return self.references[index].read(length)
    def layout(self, _flags, count, body):  # 6.1
        require(self.produced == self.described, "Layout before the output of the last one is complete")
        require(1 <= count <= 64, "number of kinds")
        self.kinds, self.spans = [self.kind(body) for _ in range(count)], []
        output, cursors = self.produced, [self.produced] * self.reference_count
        while not self.spans or body.at < 8 * len(body.data):
            require(len(self.spans) < 65536, "too many spans")
            head, elements, begin = body.take("B"), body.leb128(), None
            require(head & 63 < count and elements >= 1, "span of an unknown kind or without elements")
            element, other, reference = self.kinds[head & 63]
            profile = body.leb128() if head & 0x80 else None
            require(profile is None or profile < self.profile_slots, "profile slot is out of range")
            away, size = unzigzag(body.leb128()) if head & 0x40 else 0, elements * element.w // 8
            require(not head & 0x40 or other and away, "reference offset without reference or of 0")
            require(output + size < 1 << 63, "output range")
            grown = [cursor + size for cursor in cursors]
            if other:
                begin = cursors[reference] + away
                finish = grown[reference] = begin + elements * other.w // 8
                require(0 <= begin and finish < 1 << 63, "reference range")
                require(not self.flags & IN_PLACE or (other.w, begin) == (element.w, output), "range is not in place")
            self.spans.append((output, output + size, head & 63, profile, begin))
            output, cursors = output + size, grown
        self.described = output
    def kind(self, body):
        number, other_number, reference, reserved = body.take("BBBB")
        require(not reserved, "reserved byte of a kind", UNSUPPORTED)
        element, other = ELEMENTS.get(number), ELEMENTS.get(other_number)
        require(element and (other or other_number == 0), f"element type {number} or {other_number}", UNSUPPORTED)
        require(not other or other == element or (other.e and element.e), "reference type does not fit")
        require(reference < self.reference_count if other else reference == 0, "reference index is out of range")
        self.seen.update([(reference, "named")] if other else [])
        return element, other, reference
    def bind(self, external, count, body):  # 6.3
        require(count < self.bank_slots, "bank slot is out of range")
        if external:
            require(len(body.data) == 34, "length of an external Bind")
            banks, number = self.bank_files.get(digest := body.bytes(32).hex()), body.take("H")
            require(banks, f"the bank file {digest} is not at hand", UNSUPPORTED)
            require(number < len(banks), "number of an external bank")
        self.banks[count] = banks[number] if external else Bank(body)
        require(self.banks[count].kind < 4 or self.features >= 2, "bank of pairs without feature set 2")
    def profile(self, _flags, count, body):  # 6.4
        columns, rice = body.take("IB")
        require(count < self.profile_slots and 1 <= columns <= 1 << 20 and rice <= 7, "Profile field is out of range")
        values = [unzigzag(body.ones(255 >> rice) << rice | body.bits(rice)) for _ in range(columns)]
        body.finish()
        self.profiles[count] = values
        require(sum(map(len, self.profiles.values())) <= 1 << 20, "too many columns")
    def metadata(self, _flags, count, body):  # 6.5
        self.metadata_bytes += len(body.data) + 4
        require(self.metadata_bytes <= LIMITS[METADATA], "too much metadata")
        for _ in range(count):
            key = body.bytes(body.take("H"))
            body.bytes(body.take("I"))
            require(key and key not in self.keys and key == key.decode(errors="ignore").encode(), "metadata key")
            self.keys.add(key)
        body.finish()
    def digest(self, _flags, _count, body):  # 6.5
        require(DIGEST not in self.seen and self.sha256.digest() == body.data, "second Digest, or of another content")
        self.seen.update([DIGEST, "no more chunks"])
    def chunk(self, _flags, count, body):  # 7
        size = 20 + 12 * count
        require("no more chunks" not in self.seen, "Chunk after a Digest or a whole Reference")
        require(len(body) >= size + 4, "Chunk body is too short")
        require(crc32(body[:size]) == little(body[size:size + 4]), "Chunk CRC")
        offset, length, content_crc, reference_crc = struct.unpack("<QIII", body[:20])
        require(offset == self.produced and 1 <= length <= self.max_chunk_length, "output_offset or output_length")
        require(offset + length <= self.described, "Chunk outside of the output of the Layout")
        parts = self.span_parts(offset, offset + length)
        require(count == len(kinds := sorted({part.kind for part in parts})), "number of substreams")
        headers = [Substream_Header(*struct.unpack_from("<BBBBBBhI", body, 20 + 12 * k)) for k in range(count)]
        require(sum(h.length for h in headers) == len(body) - size - 4, "lengths of the substreams")
        data, crc = Body(body[size + 4:]), 0
        substreams = {kind: Substream(self, self.kinds[kind], header, [part for part in parts if part.kind == kind],
                                      data.bytes(header.length)) for kind, header in zip(kinds, headers)}
        for part in parts:
            if substreams[part.kind].uses_reference:
                _, other, reference = self.kinds[part.kind]
                at, n = part.reference + part.first * other.w // 8, part.elements * other.w // 8
                substreams[part.kind].reference.append(self.read_reference(reference, at, n))
                crc = crc32(substreams[part.kind].reference[-1], crc)
        require(crc == reference_crc, "reference does not match")
        pieces = {kind: Body(substream.decode()) for kind, substream in substreams.items()}
        content = b"".join(pieces[p.kind].bytes(p.elements * self.kinds[p.kind][0].w // 8) for p in parts)
        require(crc32(content) == content_crc, "content CRC")
        self.chunks, self.produced, self.content_crc = self.chunks + 1, offset + length, crc32(content, self.content_crc)
        self.sha256.update(content)
        self.out.write(content)
        self.out.flush()
    def span_parts(self, begin, end):  # the parts of spans that lie in an output range
        parts = []
        at = bisect_right(self.spans, begin, key=lambda span: span[1])
        for first, last, kind, profile, reference in self.spans[at:]:
            if first >= end:
                break
            low, high, width = max(first, begin), min(last, end), self.kinds[kind][0].w // 8
            require((low - first) % width == (high - first) % width == 0, "Chunk ends inside an element")
            parts.append(Part(kind, (low - first) // width, (high - low) // width, profile, reference))
        return parts
# --- 8 Substreams ----------------------------------------------------------------------------------------------------
Part = namedtuple("Part", "kind first elements profile reference")
Substream_Header = namedtuple("Substream_Header", "method bank block shift lanes flags scale_base length")
RAW, CONSTANT, SAME, RESIDUAL, MASK, PLAIN, PROFILES = 0, 1, 2, 3, 4, 5, 1
class Substream:  # the header is checked at once, the data in `decode`, for which the chunk adds the reference bytes
    def __init__(self, stream, kind, header, parts, data):
        (self.element, self.other, _), self.header, self.data, self.reference = kind, header, data, []
        self.n = sum(part.elements for part in parts)
        h, w, is_float = header, self.element.w, self.element.e > 0
        require(h.method <= PLAIN, f"method {h.method}", UNSUPPORTED)
        require(not h.flags & ~PROFILES, "reserved substream flag", UNSUPPORTED)
        self.uses_reference = h.method in (SAME, RESIDUAL, MASK)
        require(self.other or not self.uses_reference, "method needs a reference")
        if h.method <= SAME:
            require(h[1:7] == (0,) * 6, "field of a substream without bank is not 0")
            require(h.length == (self.n * w // 8, w // 8, 0)[h.method], "length of a substream")
            return
        require(h.lanes <= 5 and h.length >= 4 << h.lanes, "lanes or length of a substream")
        require(h.bank < 128 + len(built_in()), f"built-in bank {h.bank - 128}", UNSUPPORTED)
        self.bank = bank = built_in()[h.bank - 128] if h.bank >= 128 else stream.banks.get(h.bank)
        require(bank, "bank slot is empty")
        bank.check_use(self.element, h.method, h.block)
        require(h.shift <= (0 if w == 8 else self.element.m - bank.top if is_float else w - 1), "shift")
        require(bank.kind < 4 or not h.flags, "PROFILES with pairs")
        self.profile, profiles = [], stream.profiles | {None: [0]} if h.flags & PROFILES else {}
        require(not profiles or any(part.profile is not None for part in parts), "PROFILES without a profile")
        for part in parts:
            require(not profiles or part.profile in profiles, "profile slot is empty")
            values = profiles.get(part.profile, [0])
            self.profile += (values[i % len(values)] for i in range(part.first, part.first + part.elements))
    def decode(self):  # the elements, as bytes
        element, method, shift = self.element, self.header.method, self.header.shift
        if method in (RAW, CONSTANT):
            return self.data * (self.n if method == CONSTANT else 1)
        reference = b"".join(self.reference)
        if self.uses_reference and self.other != element:
            reference = pack(element, [conversion_of_references(u, self.other, element) for u in unpack(self.other, reference)])
        if method == SAME:
            return reference
        self.w, self.m = element.w - shift, element.m - shift       # w' and the mantissa bits left, 10.2
        self.bank.raw_bits[240:] = [self.w - 1] * 16 if self.bank.kind == 1 else self.bank.raw_bits[240:]   # ESC
        self.coder = coder = Coder(self.data, 1 << self.header.lanes)
        reference = [u >> shift for u in unpack(element, reference)]
        coded = {RESIDUAL: self.residual, MASK: self.mask, PLAIN: self.plain}[method]
        patterns = coded(self.lambdas(self.scales(), reference), reference)
        require(set(coder.states) == {1 << 16} and coder.at == len(coder.words), "final states, or words left over")
        return pack(element, [u << shift for u in patterns])
    def scales(self):  # 10.1: base(i) of each element, None in ZERO blocks
        block, previous, base = self.header.block, self.header.scale_base, []
        if block == 0:
            return [previous + profile for profile in self.profile]
        for k, symbol in enumerate(self.coder.phase([slots(self.bank.scales[0])] * -(-self.n >> block))[0]):
            previous = clamp16(previous + unzigzag(symbol - 1)) if symbol else previous
            base += [previous + v if symbol else None for v in self.profile[k << block:(k + 1) << block]]
        return base
    def lambdas(self, base, reference):  # 10.1
        less = [0] * self.n
        if self.uses_reference and self.element.e:
            less = [4 * (max(u >> self.m & (1 << self.element.e) - 1, 1) - self.element.bias - self.m) for u in reference]
        return [None if b is None else clamp16(b - k) for b, k in zip(base, less)]
    def residual(self, lambdas, reference):  # 10.3
        tokens, raws = self.coder.phase(self.bank.tables_for(lambdas), self.bank.raw_bits)
        top, ring, patterns = 1 << (self.w - 1), (1 << self.w) - 1, []
        for token, raw, u in zip(tokens, raws, reference):
            new = u + (o := unzigzag(self.z(token, raw))) & ring
            if self.element.e:
                order = (u ^ top) + o & ring if u < top else (ring - u) - o & ring
                new = order ^ top if order >= top else ring - order
            patterns.append(new)
        return patterns
    def z(self, token, raw):
        z = self.bank.z_base[token] | raw << 1
        require(z >> self.w == 0, "z is outside of the ring")
        return z
    def plain(self, lambdas, _reference):  # 10.4
        bank, w, m, element, patterns = self.bank, self.w, self.m, self.element, []
        if bank.kind == 4:
            return self.pairs(lambdas[::2])
        low = m - bank.top                                          # raw mantissa bits in class 3
        widths = bank.raw_bits if bank.kind < 3 else [0, w] + [low + 1 - bank.sign] * 254
        for token, raw, lam in zip(*self.coder.phase(bank.tables_for(lambdas), widths), lambdas):
            if bank.kind == 0 or lam is None:
                patterns.append(token)
            elif bank.kind < 3:
                z = self.z(token, raw)
                patterns.append(unzigzag(z) & (1 << w) - 1 if element.signed else z)
            elif token < 2:
                patterns.append(raw)
            else:
                r, rest = divmod(token - 2, 1 << bank.top + bank.sign)
                sign, top = rest & 1 if bank.sign else raw >> low, rest >> bank.sign
                exponent = r + element.bias + (lam >> 2) - bank.centre
                require(0 <= exponent < 1 << element.e, "exponent is out of range")
                patterns.append(sign << (w - 1) | exponent << m | top << low | raw & (1 << low) - 1)
        return patterns
    def pairs(self, lambdas):  # 10.4, class 4
        bank, w, m, element, patterns = self.bank, self.w, self.m, self.element, []
        widths = [2 * w] + [2 * (m + 1)] * 255
        for token, raw, lam in zip(*self.coder.phase(bank.tables_for(lambdas), widths), lambdas):
            pair = divmod(raw, 1 << w)[::-1]
            if token:
                offset, rests = element.bias + (lam >> 2) - bank.centre, divmod(raw, 1 << (m + 1))[::-1]
                exponents = [r + offset for r in divmod(token - 1, bank.window)]
                require(all(0 <= e < 1 << element.e for e in exponents), "exponent of a pair is out of range")
                pair = [s >> m << (w - 1) | e << m | s & (1 << m) - 1 for e, s in zip(exponents, rests)]
            patterns += pair
        require(self.n % 2 == 0 or patterns[-1] == patterns[-2], "copy of the last element is another")
        return patterns[:self.n]
    def mask(self, lambdas, reference):  # 10.5
        groups = [lambdas[i:i + 8] for i in range(0, self.n, 8)]
        largest = [None if group[0] is None else max(group) for group in groups]
        symbols, _ = self.coder.phase(self.bank.tables_for(largest, "masks"))
        require(symbols[-1] >> len(groups[-1]) == 0, "bit of an absent element is set")
        differ = [i for i in range(self.n) if symbols[i >> 3] >> (i & 7) & 1]
        changed = dict(zip(differ, self.residual([lambdas[i] for i in differ], [reference[i] for i in differ])))
        return [changed.get(i, u) for i, u in enumerate(reference)]
# --- 9 Banks ---------------------------------------------------------------------------------------------------------
class Bank:
    def __init__(self, body):
        self.kind, form, self.centre, self.window, scales, masks, elements, precision, *bases = body.take("8B2h")
        require(self.kind <= 4, f"bank class {self.kind}", UNSUPPORTED)
        self.sign, self.top = form & 1, form >> 1 & 1
        window = self.window
        alphabet = {1: 242, 3: 2 + (window << self.sign + self.top), 4: 1 + window * window}.get(self.kind, 256)
        plain = form <= 3 and window >= 1 and alphabet <= 256
        plain = plain and (self.kind == 3 or form == 0)
        require(plain if self.kind >= 3 else (form, self.centre, window) == (0, 0, 0), "form or window of a bank")
        in_range = scales <= 1 and 1 <= precision <= 12 and 1 <= masks + elements <= 32
        require(in_range and (masks or not bases[0]) and (elements or not bases[1]), "Bank field is out of range")
        self.thresholds = {"masks": self.steps(body, masks, bases[0]), "elements": self.steps(body, elements, bases[1])}
        groups = (scales, 256), (masks, 256), (elements, alphabet)
        self.scales, self.masks, self.elements = [self.tables(body, *group, precision) for group in groups]
        body.finish()
        self.z_base, self.raw_bits = list(range(256)), [0] * 256    # 10.3: z without its raw bits, their number
        r = {1: 2, 2: 1}.get(self.kind)
        for token in range(16, 256 if r else 0):
            step, sign = divmod(token - 16, 2)
            n = (step >> r) + 4
            self.z_base[token] = (1 << r | step & (1 << r) - 1) << (n - r) | sign
            self.raw_bits[token] = n - r - 1
        self.z_base[240:] = [0, 1] * 8 if r == 2 else self.z_base[240:]     # ESC
    def check_use(self, element, method, block):  # 8
        pairs = self.kind == 4 and method == PLAIN and element.e > 0 and element.w in (16, 32)
        require(block == 0 or (8 if method == MASK else 5) <= block <= 20, "block")
        require(not pairs or block != 5, "block of pairs")
        fits = 0 if element.w == 8 else 3 if method == PLAIN and element.e else 2 if element.w == 64 else 1
        require(self.kind == (4 if pairs else fits), "class of the bank does not fit")
        require(self.elements and (self.scales or not block) and (self.masks or method != MASK), "no such table")
    def steps(self, body, tables, base):
        steps = body.bytes(max(tables - 1, 0))
        require(all(steps) and sum(steps) <= 255, "steps of thresholds")
        return [base + sum(steps[:t]) for t in range(tables)]
    def tables(self, body, count, alphabet, precision):
        found = [()]
        for _ in range(count):
            found.append(table(body, found[-1], alphabet, precision))
        return found[1:]
    def tables_for(self, lambdas, group="elements"):  # the slots of the table that serves each lambda
        tables, thresholds = getattr(self, group), self.thresholds[group]
        known = {v: slots(tables[max(bisect_right(thresholds, v) - 1, 0)]) for v in set(lambdas) if v is not None}
        return [known.get(v) for v in lambdas]
def table(body, before, alphabet, precision):  # the frequencies, `before` those of the table before
    last, implied = body.bits(8), body.bits(8)
    require(implied <= last < alphabet, "symbols of a table")
    frequencies, classes = [0] * 256, [0] * 256
    classes[implied] = 12
    for s in [s for s in range(last + 1) if s != implied]:
        predicted = min(before[s].bit_length(), 12) if before else classes[s - 2] if s >= 2 else 0
        c = classes[s] = frequencies[s] = predicted + unzigzag(body.ones(24))
        require(0 <= c <= 12, "class of a frequency")
        if c >= 2:
            k = min(c - 1, precision)
            frequencies[s] = (1 << k | body.bits(k)) << (c - 1 - k)
    f = frequencies[implied] = 4096 - sum(frequencies)
    lower, higher = max(frequencies[:implied], default=0), max(frequencies[implied:])
    require(frequencies[last] and f >= 1 and f > lower and f >= higher, "frequency of last or implied")
    return tuple(frequencies)
@lru_cache(maxsize=256)
def slots(frequencies):  # (symbol, frequency, slot - cumulative) of every slot
    return [(s, f, k) for s, f in enumerate(frequencies) for k in range(f)]
# --- 11 The entropy coder --------------------------------------------------------------------------------------------
class Coder:
    def __init__(self, data, lanes):
        require((len(data) - 4 * lanes) % 2 == 0, "half a word")
        self.states = list(struct.unpack_from(f"<{lanes}I", data))
        require(min(self.states) >= 1 << 16, "state below 2^16")
        self.words, self.at = struct.unpack_from(f"<{len(data) // 2 - 2 * lanes}H", data, 4 * lanes), 0
    def phase(self, tables, raw_bits=None):  # symbols and raw bits; a step without table does not take place
        lanes, states, count = len(self.states), self.states, len(tables)
        symbols, raws = [0] * count, [0] * count
        for row in range(0, count, lanes):
            active = [k for k in range(row, min(row + lanes, count)) if tables[k] is not None]
            for k in active:
                x = states[k - row]
                symbols[k], frequency, rest = tables[k][x & 4095]
                states[k - row] = frequency * (x >> 12) + rest
            self.renormalise(row, active)
            done = 0
            while raw_bits and (active := [k for k in active if raw_bits[symbols[k]] > done]):
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
# --- 12 Banks outside the stream -------------------------------------------------------------------------------------
def bank_file(data):  # 12.1: its banks
    require(data[:6] == b"\x89ulb\r\n", "not a bank file")
    require(data[6:8] == b"\0\1", "version or draft of a bank file", UNSUPPORTED)
    require(len(data) >= 24 and crc32(data[:16]) == little(data[16:20]), "Bank_File_Header CRC")
    count, reserved, size = struct.unpack("<HHI", data[8:16])
    require(not reserved, "reserved field of a bank file", UNSUPPORTED)
    require(1 <= count <= 1024 and size == len(data) <= 1 << 22, "count or length of a bank file")
    require(crc32(data[20:-4]) == little(data[-4:]), "bank file CRC")
    body, banks = Body(data[20:-4]), []
    for _ in range(count):
        number, method, block, reserved, length = body.take("BBBBI")
        require(number in ELEMENTS and method <= PLAIN and not reserved, "entry of a bank file", UNSUPPORTED)
        require(method >= RESIDUAL and length + 4 <= LIMITS[BIND], "method or length of a bank file's entry")
        banks.append(Bank(Body(body.bytes(length))))
        banks[-1].check_use(ELEMENTS[number], method, block)
    body.finish()
    return banks
@lru_cache
def built_in():  # 12.2
    return bank_file(open(sys.path[0] + "/../spec/banks/builtin.ulpbank", "rb").read())
def main(arguments):
    if len(arguments) % 2 or not {"--ref", "--bank"} >= set(arguments[0::2]):
        return print(__doc__, file=sys.stderr) or 1
    given = list(zip(arguments[0::2], arguments[1::2]))
    references, files = [[open(name, "rb") for o, name in given if o == option] for option in ("--ref", "--bank")]
    try:
        banks = {hashlib.sha256(data).hexdigest(): bank_file(data) for data in [f.read() for f in files]}
        file(Source(sys.stdin.buffer), references, sys.stdout.buffer, banks)
    except Reject as error:
        message, status = error.args
        print(f"ulp_decode: {['usage', 'invalid', 'unsupported'][status - 1]}: {message}", file=sys.stderr)
        return status
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
