#!/usr/bin/env python3
# SPDX-License-Identifier: MIT-0
"""Prints a stream as commented hex, field by field, down to the bits of tables and the steps of the entropy coder.

    annotate.py VECTOR            a name of the manifest, as valid/baseline/raw-hello
    annotate.py [--ref FILE]... < stream

It follows streams that the decoder accepts, of any length but made for short ones. `assemble/hex.py` turns the text back into bytes.
"""
import io
import json
import struct
import sys
import types
from pathlib import Path

sys.dont_write_bytecode = True
import check_spec  # noqa: E402

HERE = Path(__file__).resolve().parent
RECORDS = {1: "Layout", 2: "Reference", 3: "Bind", 4: "Profile", 5: "Chunk", 6: "End", 0x81: "Index", 0x82: "Metadata",
           0x83: "Digest"}
METHODS = ["RAW", "CONSTANT", "SAME", "RESIDUAL", "MASK", "PLAIN"]


class Writer:
    """Lines of hex, each with what it is."""

    def __init__(self, data):
        self.data, self.at, self.lines = data, 0, []

    def take(self, n, text):
        """The next n bytes; % in `text` stands for their number."""
        data = self.data[self.at:self.at + n]
        self.at += n
        if n == 0:
            self.note(f"{text}: none")
            return 0
        number = int.from_bytes(data, "little")
        text = text.replace("%", str(number) if number < 1 << 20 else f"{number:#x}")
        pieces = [data[k:k + 16].hex(" ").upper() for k in range(0, n, 16)]
        for k, piece in enumerate(pieces):
            self.lines.append(f"{piece:<48}# {text}" if k == 0 else piece)
        return number

    def note(self, text=""):
        self.lines.append(f"# {text}".rstrip())


class Annotator:
    def __init__(self, data, references):
        self.out, self.references = Writer(data), references
        self.module = check_spec.decoder()
        self.spec = self.module.spec
        self.banks, self.profiles = {}, {}
        self.stream = None

    def text(self):
        self.header()
        while True:
            kind = self.record()
            if kind == 6:
                break
        if self.out.at < len(self.out.data):
            self.out.take(len(self.out.data) - self.out.at, "zero padding")
        return "\n".join(self.out.lines) + "\n"

    def header(self):
        out, data = self.out, self.out.data
        self.stream = self.module.Stream(self.module.stream_header(data[:6], self.module.Source(io.BytesIO(data[6:24]))), None,
                                         [io.BytesIO(r) for r in self.references], io.BytesIO())
        out.note("Stream_Header (§3.1)")
        out.take(6, "magic")
        out.take(1, "version %")
        out.take(1, "draft %")
        out.take(2, "flags %")
        out.take(1, "references: %")
        out.take(1, "bank_slots: %")
        out.take(2, "profile_slots: %")
        out.take(1, "feature_set %")
        out.take(1, "reserved")
        out.take(4, "max_chunk_length %")
        out.take(4, "crc of the 20 bytes before")

    def record(self):
        out = self.out
        kind, flags, count, length = struct.unpack_from("<BBHI", out.data, out.at)
        out.note()
        out.note(f"{RECORDS.get(kind, 'unknown ancillary')} record (§3.2)")
        out.take(1, f"type %: {RECORDS.get(kind, 'unknown')}")
        out.take(1, "flags %")
        out.take(2, "count %")
        out.take(4, "length of the body: %")
        out.take(4, "crc of the 8 bytes before")
        body = out.data[out.at:out.at + length]
        end = out.at + length
        if kind in (5, 6):
            getattr(self, RECORDS[kind].lower())(count, body)
        else:
            done = getattr(self, RECORDS.get(kind, "other").lower(), self.other)(flags, count, body[:-4])
            section = {1: self.stream.layout, 3: self.stream.bind, 4: self.stream.profile}.get(kind)
            if section:
                section(flags, count, self.module.Body(body[:-4]))
            if done is None:
                out.take(end - 4 - out.at, "body")
            out.take(4, "crc of the body before")
        assert out.at == end, (kind, out.at, end)
        return kind

    def other(self, *_):
        return None

    def end(self, *_):
        out = self.out
        out.take(8, "chunk_count %")
        out.take(8, "content_length %")
        out.take(4, "content_crc")
        out.take(8, "encoded_length %")
        out.take(8, "index_offset %")
        out.take(4, "crc of the 36 bytes before")
        out.take(4, "closing magic")

    def reference(self, flags, *_):
        out = self.out
        out.take(8, "length of the reference: %")
        out.take(4, "its CRC32" + (" as a whole" if flags else ", sampled where it is 65,536 bytes or more"))
        return True

    def layout(self, _flags, count, body):
        out = self.out
        names = {k: e.name for k, e in self.module.ELEMENTS.items()} | {0: "none"}
        for k in range(count):
            element, other, index, _ = body[4 * k:4 * k + 4]
            against = f" against {names[other]} of reference {index}" if other else ", no reference"
            out.take(4, f"kind {k}: {names[element]}{against}")
        at = 4 * count

        def number(at):
            n = next(k for k in range(at, len(body)) if body[k] < 128) + 1 - at
            return n, self.spec.leb128(iter(body[at:]).__next__)
        while at < len(body):
            head = body[at]
            out.take(1, f"span: kind {head & 63}{', a profile' if head & 128 else ''}{', a reference offset' if head & 64 else ''}")
            at += 1
            n, value = number(at)
            out.take(n, f"{value} elements")
            at += n
            if head & 128:
                n, value = number(at)
                out.take(n, f"profile slot {value}")
                at += n
            if head & 64:
                n, value = number(at)
                out.take(n, f"reference offset: expected {self.spec.unzigzag(value):+}")
                at += n
        return True

    def profile(self, _flags, count, body):
        out = self.out
        columns = out.take(4, "columns: %")
        rice = out.take(1, "rice %")
        bits = self.module.Body(body[5:])
        values = []
        for _ in range(columns):
            start = bits.at
            value = self.spec.profile_value(bits.bits, rice)
            values.append(f"{self.digits(body[5:], start, bits.at)} = {value}")
        out.take(len(body) - 5, "values, as bits in order: " + ", ".join(values))
        return True

    @staticmethod
    def digits(data, start, end):
        return "".join(str(data[k >> 3] >> (k & 7) & 1) for k in range(start, end))

    def bind(self, flags, _count, body):
        out = self.out
        if flags:
            return None
        kind = out.take(1, "class %")
        out.take(1, "form %")
        out.take(1, "centre %")
        window = out.take(1, "window %")
        scales = out.take(1, "scale_tables: %")
        masks = out.take(1, "mask_tables: %")
        elements = out.take(1, "element_tables: %")
        precision = out.take(1, "precision %")
        mask_base, element_base = struct.unpack_from("<2h", body, 8)
        out.take(2, f"mask_base {mask_base}")
        out.take(2, f"element_base {element_base}")
        for name, n in (("mask", masks), ("element", elements)):
            for k in range(1, n):
                out.take(1, f"step of {name} threshold {k}: %")
        rest = body[out_size(body, masks, elements):]
        alphabet = {1: 242, 3: 2 + (window << bin(body[1]).count("1")), 4: 1 + window * window}.get(kind, 256)
        bits, lines = self.module.Body(rest), []
        for name, n, size in (("scale", scales, 256), ("mask", masks, 256), ("element", elements, alphabet)):
            before = None
            for k in range(n):
                lines.append(f"{name} table {k}")
                before = self.table(bits, rest, before, size, precision, lines)
        out.take(len(rest), f"tables, {bits.at} bits:")
        for line in lines:
            out.note("    " + line)
        return True

    def table(self, bits, data, before, alphabet, precision, lines):
        """Says what each bit of a table is; the spec's procedure reads it."""
        start, log = bits.at, []

        def logged(n):
            at = bits.at
            value = bits.bits(n)
            log.append((at, n, value))
            return value
        f = self.spec.table(logged, before, alphabet, precision)
        (a, _, last), (b, _, implied) = log[:2]
        lines.append(f"    {self.digits(data, a, b)} {self.digits(data, b, b + 8)}: last {last}, implied {implied}")
        position, s = 2, 0
        for s in range(last + 1):
            if s == implied:
                continue
            first, ones = log[position][0], 0
            while log[position][2]:
                ones, position = ones + 1, position + 1
            position += 1
            end = log[position - 1][0] + 1
            c = min(f[s].bit_length(), 12)
            text = f"{self.digits(data, first, end)}: {ones} ones, class {c - self.spec.unzigzag(ones)}{self.spec.unzigzag(ones):+}"
            if c >= 2:
                at, n, _ = log[position]
                text += f"; {self.digits(data, at, at + n) or 'no bits'}"
                position += 1
            lines.append(f"    symbol {s}: {text}: frequency {f[s]}")
        lines.append(f"    symbol {implied}: the rest of 4096: frequency {f[implied]}")
        assert bits.at >= start
        return f

    def chunk(self, count, body):
        out, module, stream = self.out, self.module, self.stream
        offset = out.take(8, "output_offset %")
        length = out.take(4, "output_length %")
        out.take(4, "content_crc")
        out.take(4, "reference_crc")
        parts = stream.span_parts(offset, offset + length)
        kinds = sorted({part.kind for part in parts})
        headers = []
        for kind in kinds:
            headers.append(module.Substream_Header(*struct.unpack_from("<BBBBBBhI", out.data, out.at)))
            out.note(f"Substream_Header of kind {kind} (§7, §8)")
            out.take(1, f"method %: {METHODS[headers[-1].method]}")
            out.take(1, "bank %")
            out.take(1, "block %")
            out.take(1, "shift %")
            out.take(1, "lanes: 2^%")
            out.take(1, "flags %")
            out.take(2, f"scale_base {headers[-1].scale_base}")
            out.take(4, "length of the data: %")
        out.take(4, f"crc of the {20 + 12 * count} bytes before")
        at = 24 + 12 * count
        for kind, header in zip(kinds, headers):
            mine = [part for part in parts if part.kind == kind]
            data = body[at:at + header.length]
            at += header.length
            out.note(f"data of kind {kind}")
            if header.method < 3:
                out.take(header.length, "elements" if header.method == 0 else "the element" if header.method == 1 else "nothing")
                continue
            substream = module.Substream(stream, stream.kinds[kind], header, mine, data)
            for part in mine:
                if substream.uses_reference:
                    _, other, index = stream.kinds[kind]
                    first = part.reference + part.first * other.w // 8
                    substream.reference.append(self.references[index][first:first + part.elements * other.w // 8])
            self.coded(substream, data, header)
        stream.produced = offset + length

    def coded(self, substream, data, header):
        """The states and words of a substream, then the steps that a decoder takes."""
        out, spec = self.out, self.spec
        for k in range(1 << header.lanes):
            out.take(4, f"state of lane {k}: %")
        out.take(header.length - (4 << header.lanes), "words")
        lines, element = [], substream.element
        digits = (element.w - header.shift + 3) // 4
        show = lambda u: f"{u:0{digits}X}"
        lams = []

        class Loud(spec.Coder):
            def phase(self, tables, raw_bits):
                lines.append(f"a phase of {len(tables)} steps, {sum(t is not None for t in tables)} of which take place")
                L = len(self.states)
                # One row at a time, so that each can be told.
                symbols, raws = [], []
                for row in range(0, len(tables), L):
                    part = tables[row:row + L]
                    old, word = list(self.states), self.next
                    s, r = super().phase(part, raw_bits)
                    for k, table in enumerate(part):
                        if table is None:
                            lines.append(f"    step {row + k}: none")
                            continue
                        n, f, slot = raw_bits(s[k]), table[s[k]], old[k] % 4096
                        low = sum(table[:s[k]])
                        text = (f"    step {row + k}: x = {old[k]:#x}, slot {slot} of symbol {s[k]} ({low} … {low + f - 1}): "
                                f"x = {f} · {old[k] >> 12} + {slot} − {low} = {f * (old[k] >> 12) + slot - low:#x}")
                        if n:
                            text += f"; {n} raw bits: {r[k]:#x}"
                        lines.append(text)
                    if self.next > word:
                        read = " ".join(f"{w:04X}" for w in self.words[word:self.next])
                        lines.append(f"      words read in this row: {read}; states at its end: " + " ".join(f"{x:#x}" for x in self.states))
                    symbols += s
                    raws += r
                return symbols, raws

        names = spec.__dict__
        kept = {k: names[k] for k in ("Coder", "expected_length", "residual", "plain_float", "pair_of_floats", "table_of")}

        def expected_length(*arguments):
            lams.append(kept["expected_length"](*arguments))
            return lams[-1]

        def residual(reference, z, w, is_float):
            u = kept["residual"](reference, z, w, is_float)
            lines.append(f"    reference {show(reference)}, z = {z}, o = {spec.unzigzag(z):+}: {show(u)}")
            return u

        def plain_float(token, raw, lam, *rest):
            u = kept["plain_float"](token, raw, lam, *rest)
            lines.append(f"    token {token}, raw bits {raw:#x}, λ = {lam}: {show(u)}")
            return u

        def pair_of_floats(token, raw, lam, *rest):
            pair = kept["pair_of_floats"](token, raw, lam, *rest)
            lines.append(f"    token {token}, raw bits {raw:#x}, λ = {lam}: {' '.join(map(show, pair))}")
            return pair
        names |= {"Coder": Loud, "expected_length": expected_length, "residual": residual, "plain_float": plain_float,
                  "pair_of_floats": pair_of_floats}
        try:
            patterns = self.module.unpack(element, substream.decode())
        finally:
            names |= kept
        lengths = [f"{v}" for v in lams]
        out.note("    λ of the elements: " + " ".join(lengths))
        for line in lines:
            out.note("    " + line)
        out.note("    all states are 2^16, all words are read")
        out.note("    elements: " + " ".join(f"{u:0{element.w // 4}X}" for u in patterns))


def out_size(body, masks, elements):
    """Bytes of a bank before its tables."""
    return 12 + max(masks - 1, 0) + max(elements - 1, 0)


def example(name, data, about, references, content):
    """The text of an example: what it is, and its bytes."""
    lines = [f"= vector: {name}", f"= about: {about}"]
    lines += [f"= reference: {r.hex(' ').upper()}" for r in references]
    lines.append(f"= content: {content.hex(' ').upper()}".rstrip())
    return "\n".join(lines) + "\n\n" + Annotator(data, references).text()


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 1:
        vectors = json.loads((HERE / "manifest.json").read_text())["vectors"]
        vector = next((v for v in vectors if v["name"] == arguments[0]), None)
        if vector is None:
            sys.exit(f"no vector is called {arguments[0]}")
        data = (HERE / vector["file"]).read_bytes()
        references = [(HERE / r).read_bytes() for r in vector["references"]]
    else:
        data, references = sys.stdin.buffer.read(), [Path(n).read_bytes() for n in arguments[1::2]]
    print(Annotator(data, references).text(), end="")


if __name__ == "__main__":
    main()
