# SPDX-License-Identifier: MIT-0
"""§10 from elements to symbols."""
from assemble.elements import BF16, F16, F32, FLOATS, I8, I16, I32, I64, U8, U16, U32, U64
from assemble.substreams import MASK, PLAIN, RESIDUAL
from assemble.tables import Bank, flat

from . import data
from .chunks import chunk_of
from .coded import blank_bank, coded_stream, fixed, pair
from .registry import reject, valid


@valid("small-reference", "ULP-REF-01 ULP-CHK-07 ULP-ENT-02", "two small RESIDUAL chunks of bf16 after a sampled reference: "
       "the runner makes every truncation and bit flip of it")
def _():
    return coded_stream(RESIDUAL, n=24, lengths=[20, 28], options={"lanes": 1}, sampled=True)


for _method, _name in ((RESIDUAL, "residual"), (MASK, "mask"), (PLAIN, "plain")):
    @valid(f"{_name}-bf16", "ULP-SUB-04 ULP-STR-03", f"500 bf16 elements by {_name.upper()} in 32 lanes")
    def _(method=_method):
        return coded_stream(method)


# --- 10.1 scales

def with_zero_blocks(method, element, block, scales, n, **options):
    """Content that is equal (or zero) where scales are None."""
    content, reference = pair(element, n)
    patterns, old = element.unpack(content), element.unpack(reference)
    for i in range(n):
        if scales[i >> block] is None:
            patterns[i] = 0 if method == PLAIN else old[i]
    bank = blank_bank(element, method, tables=3, element_steps=[12, 20], element_base=-4)
    return coded_stream(method, element, element.pack(patterns), None if method == PLAIN else reference, bank=bank,
                        options={"block": block, "scales": scales} | options)


@valid("scales-zero-blocks", "ULP-ENT-02", "RESIDUAL with ZERO blocks first, in the middle and last; scale differences skip "
       "them; the last block has one element")
def _():
    return with_zero_blocks(RESIDUAL, BF16, 5, [None, -5, None, None, 20, 3, None], 193, scale_base=-9)


@valid("scales-zero-blocks-plain", "ULP-ENT-02", "PLAIN with ZERO blocks in 16 lanes")
def _():
    return with_zero_blocks(PLAIN, F32, 6, [4, None, -8, None], 250, lanes=4)


@valid("scales-zero-blocks-mask", "ULP-ENT-02", "MASK with ZERO blocks: groups keep their numbers, elements are numbered "
       "among those that differ")
def _():
    return with_zero_blocks(MASK, BF16, 8, [None, 3, None, 5, 0], 1100)


@valid("scales-all-zero", "ULP-ENT-02", "nothing but ZERO blocks")
def _():
    return with_zero_blocks(RESIDUAL, F16, 5, [None] * 4, 100)


@valid("scales-clamped", "ULP-SUB-03", "scales that leave the range of an i16 at both ends and come back")
def _():
    bank = blank_bank(U16, RESIDUAL, tables=2, element_base=32642, element_steps=[3])
    # 32600 + 127 → 32727, + 127 → 32767 (not 32854), − 124 → 32643, − 127 …; then from below
    ups, downs = [255, 255, 248], [254, 254, 247]
    up = coded_stream(RESIDUAL, U16, bank=bank, n=96, options={"block": 5, "scale_base": 32600, "scale_symbols": ups})
    low = blank_bank(U16, RESIDUAL, tables=2, element_base=-32650, element_steps=[3])
    down = coded_stream(RESIDUAL, U16, bank=low, n=96, reference=up.references[0],
                        options={"block": 5, "scale_base": -32600, "scale_symbols": downs})
    return [up, down]


@valid("scale-symbols-255", "ULP-SUB-03", "scale symbols 1, 2, 254 and 255: differences of 0, −1, −127 and 127")
def _():
    bank = blank_bank(U16, RESIDUAL, tables=4, element_base=-64, element_steps=[64, 1, 60])
    return coded_stream(RESIDUAL, U16, bank=bank, n=32 * 6, options={
        "block": 5, "scale_symbols": [1, 2, 254, 255, 255, 1]})


for _block in (6, 10, 20):
    @valid(f"block-{_block}", "ULP-SUB-03", f"blocks of 2^{_block} elements")
    def _(block=_block):
        n = 3 * 64 if block == 6 else 2500
        bank = blank_bank(U8, PLAIN, tables=3, element_steps=[10, 10])
        count = (n - 1 >> block) + 1
        return coded_stream(PLAIN, U8, bank=bank, n=n, options={"block": block, "scales": [0, 20, 10][:count]})


def extreme_lambdas(base, step):
    """λ = 32767 + profile − 4 · (E − 134) for E = 1 and 254, one threshold at base + step."""
    reference = [1 << 7, 254 << 7] * 60
    bank = blank_bank(BF16, RESIDUAL, tables=2, element_base=base, element_steps=[step])
    return coded_stream(RESIDUAL, BF16, BF16.pack(data.step(BF16, reference, 3)), BF16.pack(reference), bank=bank,
                        header={"profile_slots": 1}, layout=[(0, 120, 0)], profiles={0: [127, 127, 126]},
                        options={"scale_base": 32767, "profiles": True})


@valid("lambda-clamped", "ULP-BNK-01", "λ is clamped to 32767, below a threshold of 32855")
def _():
    return extreme_lambdas(32600, 255)


@valid("lambda-clamped-last", "ULP-BNK-01", "a scale of 32767 and a profile of 127 are not clamped before the exponent is taken off")
def _():
    return extreme_lambdas(32400, 10)


@valid("lambda-clamped-low", "ULP-BNK-01", "λ is clamped to −32768: the scale of one chunk, the sum of the other")
def _():
    bank = blank_bank(U16, RESIDUAL, tables=2, element_base=-32768, element_steps=[1])
    return coded_stream(RESIDUAL, U16, bank=bank, n=100, header={"profile_slots": 1}, layout=[(0, 100, 0)],
                        profiles={0: [-128, 0, 1]}, options={"scale_base": -32768, "profiles": True})


@valid("lambda-subnormal", "ULP-BNK-01", "exponent field 0 counts as 1: a threshold between what it gives and what 0 would")
def _():
    reference = [e << 7 | i for i in range(100) for e in (0, 1)]
    bank = blank_bank(BF16, RESIDUAL, tables=2, element_base=-10, element_steps=[12])
    return coded_stream(RESIDUAL, BF16, BF16.pack(data.step(BF16, reference, 3)), BF16.pack(reference), bank=bank,
                        options={"scale_base": -532})


@valid("lambda-shifted", "ULP-SUB-05", "shift lowers the mantissa bits that λ counts: f32 by RESIDUAL and MASK with shift 16 and "
       "thresholds all along")
def _():
    streams = []
    content, reference = pair(F32, 400, size=21)
    content = F32.pack([u >> 16 << 16 for u in F32.unpack(content)])
    for method in (RESIDUAL, MASK):
        bank = blank_bank(F32, method, tables=16, mask_tables=16 * (method == MASK), element_base=-30,
                          element_steps=[4] * 15, **({"mask_base": -30, "mask_steps": [4] * 15} if method == MASK else {}))
        streams.append(coded_stream(method, F32, content, reference, bank=bank, options={"scale_base": -65, "shift": 16}))
    return streams


# --- 10.3 residuals

for _element in FLOATS:
    @valid(f"residual-specials-{_element.name.replace('_', '-')}", "ULP-PLN-02", "every pair of zeros, subnormals, powers of two, "
           f"largest values, infinities and NaNs of {_element.name}")
    def _(element=_element):
        return all_pairs(RESIDUAL, element, data.specials(element))

for _element in (U8, I16, U32, I64):
    @valid(f"residual-ring-{_element.name}", "ULP-PLN-02", f"residuals around both ends of the ring of {_element.name}")
    def _(element=_element):
        w = element.w
        ends = [0, 1, 2, (1 << w - 1) - 1, 1 << w - 1, (1 << w - 1) + 1, (1 << w) - 2, (1 << w) - 1]
        return all_pairs(RESIDUAL, element, ends)


def all_pairs(method, element, values):
    content = [a for a in values for _ in values]
    reference = [b for _ in values for b in values]
    return coded_stream(method, element, element.pack(content), element.pack(reference), options={"scale_base": 30})


for _element in (U16, U32, U64):
    @valid(f"tokens-{_element.name}", "ULP-PLN-02", "z of 15, 16, 17 and around every power of two, with raw bits all ones and all "
           f"zeros, of {_element.name} by PLAIN")
    def _(element=_element):
        values = [0, 1, 14, 15, 16, 17, 18, 19, 23, 24, 28, 31]
        for k in range(5, element.w):
            values += [(1 << k) - 2, (1 << k) - 1, 1 << k, (1 << k) + 1, (1 << k) + (1 << k - 2) - 1, (3 << k - 1) - 1,
                       3 << k - 1]
        values.append((1 << element.w) - 1)
        return coded_stream(PLAIN, element, element.pack(values))


# --- 10.3 ESC

for _method, _element, _shift in ((RESIDUAL, BF16, 0), (RESIDUAL, F16, 3), (RESIDUAL, F32, 0), (RESIDUAL, F32, 8), (MASK, BF16, 0),
                                  (MASK, F32, 5), (PLAIN, U16, 0), (PLAIN, I16, 2), (PLAIN, U32, 0), (PLAIN, I32, 0)):
    @valid(f"esc-{('residual', 'mask', 'plain')[_method - RESIDUAL]}-{_element.name}-shift-{_shift}", "ULP-PLN-02",
           f"some elements of {_element.name} take ESC, whatever their z; {_shift} low bits are dropped")
    def _(method=_method, element=_element, shift=_shift):
        content, reference = (element.unpack(bytes) for bytes in pair(element, 700))
        ends = [0, 1, (1 << element.w - 1) - 1, 1 << element.w - 1, (1 << element.w) - 1]
        content[100:105], reference[100:105] = ends, [0] * 5
        content[200:205], reference[200:205] = ends, ends[::-1]
        content, reference = (element.pack([u >> shift << shift for u in patterns]) for patterns in (content, reference))
        return coded_stream(method, element, content, None if method == PLAIN else reference, options={
            "shift": shift, "scale_base": 8, "esc": [i for i in range(700) if i % 7 == 0 or 99 < i < 300]})


@valid("esc-alone", "ULP-PLN-02", "every element takes ESC, and the table has no other symbol")
def _():
    return coded_stream(RESIDUAL, BF16, n=100, options={"esc": range(100)})


# --- 10.4 plain

for _element in (I8, I16, I32, I64):
    @valid(f"plain-signed-{_element.name}", "ULP-PLN-02", f"small and extreme values of both signs of {_element.name} by PLAIN")
    def _(element=_element):
        w = element.w
        values = [v % (1 << w) for k in range(0, w - 1, 3) for v in (1 << k, -1 << k, (1 << k) - 1, -(1 << k) - 1)]
        return coded_stream(PLAIN, element, element.pack(values + [1 << w - 1, (1 << w - 1) - 1, 0]))

for _element in FLOATS:
    @valid(f"plain-specials-{_element.name.replace('_', '-')}", "ULP-PLN-01", f"zeros, subnormals, infinities and NaNs of "
           f"{_element.name} by PLAIN")
    def _(element=_element):
        fields = {"form": 3, "centre": 30, "window": 60} if element.w > 8 else {}
        return coded_stream(PLAIN, element, element.pack(data.specials(element) * 3),
                            bank=blank_bank(element, PLAIN, **fields), options={"scale_base": 4 * 20})


@valid("plain-esc-without-need", "ULP-PLN-01", "ESC tokens for zeros and for values inside the window")
def _():
    content = data.weights(F16, 100)
    content[3] = content[50] = 0
    return coded_stream(PLAIN, F16, F16.pack(content), options={"esc": range(0, 100, 3), "scale_base": -20})


@valid("plain-relative-zeros", "ULP-PLN-01", "ordinary tokens that stand for zeros, beside tokens 0")
def _():
    content = [0] * 60 + [0x8000, 1] * 10
    bank = blank_bank(BF16, PLAIN, form=3, window=20, centre=10)
    return coded_stream(PLAIN, BF16, BF16.pack(content), bank=bank, lengths=[100, 60], options=lambda k, s, n: {
        "scale_base": 4 * (5 - 127), "zeros_relative": k == 0})


@valid("plain-lambda-negative", "ULP-PLN-01", "λ from −9 to 9: λ >> 2 rounds down")
def _():
    bank = blank_bank(F32, PLAIN, tables=2, form=1, window=40, centre=20, element_base=-2, element_steps=[5])
    return coded_stream(PLAIN, F32, bank=bank, n=32 * 19, options={"block": 5, "scales": list(range(-9, 10))})


def exponent_ends(scale):
    """Exponent fields 0, 1, 254 and 255 under a window of 254 from 1 + (scale >> 2)."""
    content = [e << 7 | m | s << 15 for e in (0, 1, 254, 255) for m in (0, 1, 63, 64, 127) for s in (0, 1)]
    bank = fixed(Bank(3, [flat(256)], form=0, window=254, centre=126))
    return coded_stream(PLAIN, BF16, BF16.pack(content), bank=bank, options={"scale_base": scale, "zeros_relative": True})


for _scale, _about in ((-4, "its lower end is exponent field 0"), (4, "its upper end is exponent field 255"),
                       (-7, "it begins at exponent field −1"), (9, "it ends at exponent field 256")):
    @valid(f"plain-window-at-{_scale}", "ULP-PLN-01", f"a window of 254 and λ = {_scale}: {_about}")
    def _(scale=_scale):
        return exponent_ends(scale)


@reject("plain/exponent-minus-1", "baseline/plain-window-at--7", "ULP-PLN-01", "a token whose exponent field is −1, where the "
        "content has 255")
def _(s):
    bad_exponent(s, 0, 255, -7)


@reject("plain/exponent-256", "baseline/plain-window-at-9", "ULP-PLN-01", "a token whose exponent field is 256, where the content "
        "has 0")
def _(s):
    bad_exponent(s, 253, 0, 9)


def bad_exponent(s, r, exponent, scale):
    u, i = next((u, i) for i, u in enumerate(BF16.unpack(s.content)) if u >> 7 & 255 == exponent)
    code_again(s, lanes=5, scale_base=scale, zeros_relative=True, tokens={i: (2 + r, u & 127 | u >> 15 << 7, 8)})


# --- 10.5 masks

for _n in (1, 7, 8, 9, 259):
    @valid(f"mask-{_n}", "ULP-MSK-01", f"MASK of {_n} elements")
    def _(n=_n):
        content, reference = pair(F16, n, changed=6)
        return coded_stream(MASK, F16, content, reference, options={"lanes": 2})


@valid("mask-set-bits-of-equal", "ULP-MSK-01", "mask bits are set for elements that are equal: z is 0 there")
def _():
    content, reference = pair(BF16, 90, changed=2)
    return coded_stream(MASK, BF16, content, reference, options={"dense": range(0, 90, 4)})


@valid("mask-largest-lambda", "ULP-MSK-01", "the mask table is that of the largest λ of a group, which is the element of the "
       "smallest exponent; three mask tables")
def _():
    reference = [(100 + 5 * (i * 7 % 11)) << 7 | i for i in range(120)]
    bank = blank_bank(BF16, MASK, tables=2, mask_tables=3, mask_base=0, mask_steps=[40, 20], element_base=0,
                      element_steps=[50])
    return coded_stream(MASK, BF16, BF16.pack(data.step(BF16, reference, 3, changed=4)), BF16.pack(reference), bank=bank,
                        options={"scale_base": -30})


@valid("mask-profile", "ULP-MSK-01 ULP-SUB-07", "profiles move the λ of the elements of a group")
def _():
    content, reference = pair(U16, 300, changed=3)
    bank = blank_bank(U16, MASK, tables=2, mask_tables=3, mask_base=0, mask_steps=[10, 10], element_steps=[12])
    return coded_stream(MASK, U16, content, reference, bank=bank, header={"profile_slots": 1}, layout=[(0, 300, 0)],
                        profiles={0: [0, 5, -7, 14, 3, 3, 3, 3, 3, 3, 25, -9, 0]}, options={"profiles": True})


@reject("mask/absent-bit", "baseline/mask-9", "ULP-MSK-01", "the last group has one element and two bits; no token follows for "
        "the second")
def _(s):
    symbol = chunk_mask(s, 1)
    code_again(s, masks={1: symbol | 2}, lanes=2)


@reject("mask/absent-bit-high", "baseline/mask-7", "ULP-MSK-01", "the only group has seven elements and bit 7 set")
def _(s):
    code_again(s, masks={0: chunk_mask(s, 0) | 0x80}, lanes=2)


def chunk_mask(s, group):
    s.coded = 0
    content, reference, _ = s.patterns(len(s.content))[0]
    return sum(1 << i for i, (a, b) in enumerate(zip(content[8 * group:], reference[8 * group:])) if i < 8 and a != b)


def code_again(s, **options):
    """Codes the only chunk of a stream again, with other options and under flat tables."""
    chunk = chunk_of(s)
    bank = s.banks[0]
    bank.elements = [flat(bank.alphabet)] * len(bank.elements)
    bank.masks = [flat(256)] * len(bank.masks)
    bind = next(r for r in s.records if r.kind == 3)
    bind.payload = bank.body()
    s.coded = 0
    s.chunk(len(s.content), [s.code(0, len(s.content), chunk.substreams[0].method, **options)])
    s.records[s.records.index(chunk)] = s.records.pop()


# --- residuals outside of the ring

@reject("residual/ring", "baseline/shift-residual-u16-15", "ULP-PLN-02", "shift 15, and a z of 2 where 1 is meant: the same in "
        "the ring of two, but not in it")
def _(s):
    s.coded = 0
    content, reference, _ = s.patterns(len(s.content))[0]
    odd = next(i for i, (a, b) in enumerate(zip(content, reference)) if a >> 15 != b >> 15)
    code_again(s, shift=15, lanes=3, tokens={odd: (2, 0, 0)})


@reject("residual/ring-plain", "baseline/shift-plain-i64-20", "ULP-PLN-02", "PLAIN with shift 20, and a z of 2^44")
def _(s):
    s.coded = 0
    zero = next((i for i, u in enumerate(s.patterns(len(s.content))[0][0]) if u >> 20 == 0), None)
    assert zero is not None
    code_again(s, shift=20, lanes=3, tokens={zero: (16 + 4 * 40, 0, 42)})
