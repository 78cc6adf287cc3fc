#!/usr/bin/env python3
# SPDX-License-Identifier: MIT-0
"""Runs the procedures of the spec.

    check_spec.py [--verbose]

The Python blocks of spec/format.md take the place of the same parts of ulp_decode.py, and the decoder that they make must
answer every vector rightly. Encoder's directions and what no vector reaches are compared with definitions beside that.
"""
import argparse
import re
import sys
import types
from functools import lru_cache
from zlib import crc32

sys.dont_write_bytecode = True
import mutants  # noqa: E402
import run  # noqa: E402
from assemble import elements  # noqa: E402

SPEC = (run.HERE.parent / "spec/format.md").read_text()
# parts of the decoder that are no functions: (text, replacement)
PARTS = [
    ("pieces = [(k * (length - 4096) // 15, 4096) for k in range(16)]", "pieces = spec.sampled(length)"),
    ("values = [unzigzag(body.ones(255 >> rice) << rice | body.bits(rice)) for _ in range(columns)]",
     "values = [spec.profile_value(body.bits, rice) for _ in range(columns)]"),
]


def procedures(decoder):
    """The spec's Python blocks as a module; what they reject is rejected as the decoder does it."""
    module = types.ModuleType("spec")
    module.require = lambda holds: decoder.require(holds, "a procedure of the spec rejects it")
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", SPEC, re.MULTILINE | re.DOTALL)):
        exec(compile(block, f"block {number} of format.md", "exec"), module.__dict__)
    return module


def decoder():
    """ulp_decode.py with the procedures of the spec in it."""
    source = mutants.SOURCE
    for text, replacement in PARTS:
        assert source.count(text) == 1, text
        source = source.replace(text, replacement)
    module = mutants.decoder(source)
    spec = module.spec = procedures(module)
    module.clamp16, module.unzigzag = spec.clamp16, spec.unzigzag
    module.conversion_of_references = lru_cache(maxsize=1 << 20)(spec.convert)
    module.Body.leb128 = lambda body: spec.leb128(lambda: body.take("B"))
    module.table = lambda body, before, *rest: tuple(spec.table(body.bits, before or None, *rest))

    def layout(self, _flags, count, body):
        module.require(self.produced == self.described, "Layout before the output of the last one is complete")
        module.require(1 <= count <= 64, "number of kinds")
        self.kinds = [self.kind(body) for _ in range(count)]
        more = lambda: body.at < 8 * len(body.data)
        self.spans = spec.spans(lambda: body.take("B"), more, self.kinds, self.produced, self.reference_count)
        module.require(1 <= len(self.spans) <= 65536, "number of spans")
        for output, _end, kind, profile, offset in self.spans:
            module.require(profile is None or profile < self.profile_slots, "profile slot is out of range")
            element, other, _ = self.kinds[kind]
            placed = not self.flags & module.IN_PLACE or other is None or (other.w, offset) == (element.w, output)
            module.require(placed, "range is not in place")
        self.described = self.spans[-1][1]
    module.Stream.layout = layout

    old = module.Substream.decode

    def decode(self):
        if self.header.method < module.RESIDUAL:
            return old(self)
        element, references = self.element, None
        if self.uses_reference:
            references = list(module.unpack(self.other, b"".join(self.reference)))
            if self.other != element:
                references = [spec.convert(u, self.other, element) for u in references]
        bank = types.SimpleNamespace(**vars(self.bank))
        for group in ("mask", "element"):
            thresholds = bank.thresholds[group + "s"] or [0]
            setattr(bank, group + "_base", thresholds[0])
            setattr(bank, group + "_steps", [b - a for a, b in zip(thresholds, thresholds[1:])])
        return module.pack(element, spec.substream(self.data, self.header, bank, element, self.profile, references))
    module.Substream.decode = decode
    return module


def definitions(spec):
    """What vectors do not reach: the encoder's directions, against their inverses and definitions."""
    for data in (b"", b"123456789", bytes(range(256))):
        assert spec.crc32(data) == crc32(data)
    assert spec.crc32(b"123456789") == int(re.search(r'CRC32\("123456789"\) = (\w+)', SPEC)[1], 16)
    for v in range(-300, 300):
        assert spec.unzigzag(spec.zigzag(v)) == v
    for bank_class, w in ((1, 16), (1, 32), (2, 64)):
        numbers = set(range(1 << 12)) | {(1 << n) + d for n in range(4, w) for d in (-1, 0, 1, 1 << n - 2)} | {(1 << w) - 1}
        for z in numbers:
            token, raw = spec.token_of(z, bank_class)
            assert spec.z_of(token, raw, bank_class) == z and raw >> spec.raw_bits_of(token, bank_class, w) == 0, z
            assert token < {1: 240, 2: 256}[bank_class]
            if bank_class == 1:
                assert spec.z_of(240 + z % 2, z >> 1, 1) == z and z >> 1 + spec.raw_bits_of(240 + z % 2, 1, w) == 0, z
    for t in elements.FLOATS:
        u, w = 0, t.w
        patterns = set(elements.step(t, [])) if hasattr(elements, "step") else {0, 1, (1 << w) - 1, 1 << w - 1, t.infinity}
        for u in patterns:
            assert spec.pattern_of(spec.order(u, w), w) == u
        # Order of patterns is order of values.
        steps = [(1 << w - 1) + t.infinity - 1, (1 << w - 1) + 1, 1 << w - 1, 0, 1, t.infinity - 1]
        assert [spec.order(u, w) for u in steps] == sorted(spec.order(u, w) for u in steps)
    for a in elements.FLOATS:
        for b in elements.FLOATS:
            if a.w == 8 and a is not b:
                for u in range(256):
                    assert spec.convert(u, a, b) == elements.convert(u, a, b), (a.name, b.name, u)
    for base in (-9, 0, 32767):
        for lam in range(base - 3, min(base + 30, 32768)):
            steps, thresholds = [1, 5, 2], [base, base + 1, base + 6, base + 8]
            assert spec.table_of(lam, base, steps) == max([t for t in range(4) if thresholds[t] <= lam], default=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbose", action="store_true", help="name each vector")
    options = parser.parse_args()
    module = decoder()
    definitions(module.spec)
    vectors = run.load(lambda name: not name.startswith("generated/"))
    failed = 0
    for vector in vectors:
        problem = run.verdict(vector, *mutants.answer(module, vector))
        failed += problem is not None
        if problem or options.verbose:
            print(f"{vector['name']}: {problem or 'passed'}", flush=True)
    print(f"{len(vectors) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
