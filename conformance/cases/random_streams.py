# SPDX-License-Identifier: MIT-0
"""Legal streams made from a seed: any element types, references, methods, fields, banks and spans that the spec allows.

The runner makes them with `--random N`; they are not kept. They find what nobody thought of writing a vector for.
"""
from assemble.elements import FLOATS, TYPES, convert
from assemble.records import Kind, Span, Stream
from assemble.substreams import CONSTANT, MASK, PLAIN, RAW, RESIDUAL, SAME, Substream, fit_bank
from assemble.tables import fit

from . import data
from .coded import bank_class, blank_bank


class Maker:
    def __init__(self, seed):
        self.random = data.Random(seed)

    def pick(self, choices):
        return choices[self.random.below(len(choices))]

    def below(self, n):
        return self.random.below(n)

    def steps(self, tables):
        left = 255
        steps = []
        for k in range(tables - 1):
            steps.append(1 + self.below(max(1, min(20, left - (tables - 2 - k)))))
            left -= steps[-1]
        return steps

    def bank(self, element, method, n):
        kind, fields = bank_class(element, method), {}
        tables = self.pick([1, 2, 3, 8, 31])
        if kind == 3:
            form = self.below(4)
            most = 254 >> (form & 1) + (form >> 1)
            fields = {"form": form, "centre": self.below(256), "window": 1 + self.below(most)}
        masks = 0
        if method == MASK:
            masks = 1 + self.below(32 - tables)
            fields |= {"mask_base": self.below(80) - 60, "mask_steps": self.steps(masks)}
        return blank_bank(element, method, tables=tables, mask_tables=masks, scale=True,
                          precision=1 + self.below(12), element_base=self.below(100) - 60,
                          element_steps=self.steps(tables), **fields)

    def options(self, element, method, n, shift):
        options = {"lanes": self.below(6), "shift": shift, "scale_base": self.below(120) - 70}
        if self.below(3):
            low = 8 if method == MASK else 5
            block = low + self.below(21 - low) if self.below(3) == 0 else low
            options["block"] = block
            scales = [self.below(100) - 60 for _ in range((n - 1 >> block) + 1)]
            options["scales"] = scales
        if method == PLAIN:
            options["esc"] = [i for i in range(n) if self.below(20) == 0]
            options["zeros_relative"] = self.below(2) == 1
        if method == MASK:
            options["dense"] = [i for i in range(n) if self.below(10) == 0]
        return options

    def patterns(self, element, n):
        base = data.weights(element, n, self.random.bits(32))
        extreme = data.specials(element) if element.is_float else [0, 1, (1 << element.w) - 1, 1 << element.w - 1]
        return [self.pick(extreme) if self.below(8) == 0 else u for u in base]

    def kind(self, references):
        element = self.pick(TYPES)
        if not references or self.below(3) == 0:
            return Kind(element)
        other = self.pick(FLOATS) if element.is_float and self.below(2) else element
        return Kind(element, other, self.below(references))

    def stream(self):
        references = self.below(4)
        kinds = [self.kind(references) for _ in range(1 + self.below(4))]
        methods = [self.pick([RAW, CONSTANT, PLAIN, PLAIN] + [SAME, RESIDUAL, RESIDUAL, MASK, MASK] * bool(k.other))
                   for k in kinds]
        profiles = [[self.below(60) - 30 for _ in range(1 + self.below(12))] for _ in range(self.below(3))]
        spans = [Span(self.below(len(kinds)), 1 + self.below(self.pick([3, 40, 300])),
                      self.below(len(profiles)) if profiles and self.below(2) else None)
                 for _ in range(1 + self.below(8))]
        s = Stream(references=[b""] * references, bank_slots=len(kinds), profile_slots=len(profiles))
        for slot, values in enumerate(profiles):
            s.profile(slot, values, self.below(8))
        # reference ranges: mostly where they are expected, sometimes elsewhere
        for span in spans:
            if kinds[span.kind].other and self.below(3) == 0:
                span.at = self.below(5000)
        s.layout(kinds, spans)
        shifts = [self.shift(kinds[k].element, methods[k]) for k in range(len(kinds))]
        self.fill(s, methods, shifts)
        length = len(s.content)
        cuts = sorted({first for first, _, _, _ in s.spans if first} if self.below(2) else [])
        lengths = [b - a for a, b in zip([0] + cuts, cuts + [length])]
        plans = []
        for part in lengths:
            plans.append((part, self.substreams(s, part, methods, shifts)))
            s.coded += part
        s.coded = 0
        for slot in range(len(kinds)):
            mine = [c for _, subs in plans for c in subs if not isinstance(c, Substream) and c.slot == slot]
            if mine:
                bank = self.bank(kinds[slot].element, methods[slot], 0)
                s.bind(slot, fit_bank(bank, mine, fit))
        for part, subs in plans:
            s.chunk(part, subs)
        return s.end()

    def shift(self, element, method):
        if element.w == 8 or method <= SAME or self.below(2):
            return 0
        return self.below(element.m if element.is_float else element.w)

    def fill(self, s, methods, shifts):
        """Makes references that reach as far as they are needed, and a content that the methods can code."""
        needed = [0] * len(s.references)
        for _, _, span, start in s.spans:
            kind = s.kinds[span.kind]
            if kind.other:
                needed[kind.reference] = max(needed[kind.reference], start + span.elements * kind.other.w // 8)
        s.references = [data.noise(n + self.below(20), self.random.bits(32)) for n in needed]
        for _, _, span, start in s.spans:
            kind = s.kinds[span.kind]
            if kind.other and self.below(8):
                piece = kind.other.pack(self.patterns(kind.other, span.elements))
                r = s.references[kind.reference]
                s.references[kind.reference] = r[:start] + piece + r[start + len(piece):]
        content, constants = b"", {k: self.patterns(kind.element, 1) for k, kind in enumerate(s.kinds)}
        for _, _, span, start in s.spans:
            kind, method, shift = s.kinds[span.kind], methods[span.kind], shifts[span.kind]
            patterns = self.patterns(kind.element, span.elements)
            if method == CONSTANT:
                patterns = constants[span.kind] * span.elements
            elif method in (SAME, RESIDUAL, MASK):
                piece = s.references[kind.reference][start:start + span.elements * kind.other.w // 8]
                old = [convert(u, kind.other, kind.element) if kind.converts else u for u in kind.other.unpack(piece)]
                if method == SAME:
                    patterns = old
                elif self.below(6):
                    near = data.step(kind.element, old, self.random.bits(32), changed=self.below(9),
                                     size=min(shift + 6, kind.element.w))
                    patterns = [self.pick([a, a, a, b]) for a, b in zip(near, old)]
            content += kind.element.pack([u >> shift << shift for u in patterns])
        s.content = content

    def substreams(self, s, part, methods, shifts):
        subs = []
        for k, (content, reference, _) in s.patterns(part).items():
            element, method = s.kinds[k].element, methods[k]
            if method == RAW:
                subs.append(Substream(RAW, element.pack(content)))
            elif method == CONSTANT:
                subs.append(Substream(CONSTANT, element.pack(content[:1])))
            elif method == SAME:
                subs.append(Substream(SAME))
            else:
                named = any(p[5].profile is not None for p in s.parts(s.coded, s.coded + part) if p[0] == k)
                options = self.options(element, method, len(content), shifts[k])
                coded = s.code(k, part, method, slot=k, profiles=named and self.below(2) == 1, **options)
                self.zero_blocks(coded)
                subs.append(coded)
        return subs

    def zero_blocks(self, coded):
        """Makes ZERO of blocks that may be, now and then."""
        if not coded.block:
            return
        still = [0] * coded.n if coded.method == PLAIN else coded.reference
        scales = list(coded.scales)
        for b in range(len(scales)):
            part = slice(b << coded.block, b + 1 << coded.block)
            if coded.content[part] == still[part] and self.below(4):
                scales[b] = None
        coded.set_scales(scales)


def stream(seed):
    return Maker(seed).stream()
