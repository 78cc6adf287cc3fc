# SPDX-License-Identifier: MIT-0
"""§8 the fields of substreams."""
from assemble.elements import BF16, E4M3, F16, F32, F64, I64, TYPES, U8, U16, U32
from assemble.records import Kind, Span, Stream
from assemble.substreams import CONSTANT, MASK, PLAIN, PROFILES, RESIDUAL, SAME, Substream
from assemble.tables import Bank, flat

from . import data
from .chunks import chunk_of
from .coded import bank_class, blank_bank, coded_stream, pair
from .registry import reject, valid

NAMES = ["raw", "constant", "same", "residual", "mask", "plain"]


@valid("constant-f64", "ULP-SUB-02 ULP-SUB-03", "CONSTANT of two spans of a NaN with payload")
def _():
    value = 0xFFF0_0000_0000_1234
    s = Stream(F64.pack([value] * 50))
    s.layout([Kind(F64)], [(0, 20), (0, 30)])
    return s.chunk(400, [Substream(CONSTANT, F64.pack([value]))]).end()


@valid("same-three-spans", "ULP-SUB-02 ULP-CHK-07", "SAME of three spans with references in another order")
def _():
    reference = data.noise(300)
    s = Stream(reference[200:240] + reference[:40] + reference[1:101], [reference])
    s.layout([Kind(U16, U16)], [Span(0, 20, at=200), Span(0, 20, at=0), Span(0, 50, at=1)])
    return s.chunk(180, [Substream(SAME)]).end()


for _method in (RESIDUAL, MASK, PLAIN):
    for _element in TYPES:
        if _element is BF16:
            continue

        @valid(f"{NAMES[_method]}-{_element.name.replace('_', '-')}", "ULP-SUB-04", f"{_element.name} by "
               f"{NAMES[_method].upper()}, four tables, two chunks cut inside a span")
        def _(method=_method, element=_element):
            width = element.w // 8
            bank = blank_bank(element, method, tables=4, element_steps=[7, 10, 25], element_base=-10,
                              **({"mask_steps": [6], "mask_base": -4} if method == MASK else {}))
            return coded_stream(method, element, bank=bank, n=200, lengths=[77 * width, 123 * width],
                                options=lambda k, s, n: {"scale_base": 3 * k - 2, "lanes": 2 + 2 * k,
                                                         **blocks(method, n, k)})


def blocks(method, n, seed):
    """Scales of blocks of 32 (MASK: 256) elements."""
    b = 8 if method == MASK else 5
    random = data.Random(seed)
    return {"block": b, "scales": [random.below(40) - 20 for _ in range((n - 1 >> b) + 1)]}


def sub_of(s):
    return chunk_of(s).substreams[0]


# --- methods and fields

@reject("substream/method-6", "baseline/raw-hello", "ULP-SUB-01", "method 6", error_class="unsupported")
def _(s):
    sub_of(s).method = 6


@reject("substream/method-255", "baseline/raw-hello", "ULP-SUB-01", "method 255", error_class="unsupported")
def _(s):
    sub_of(s).method = 255


for _method in (SAME, RESIDUAL, MASK):
    @reject(f"substream/{NAMES[_method]}-without-reference", "baseline/plain-u16", "ULP-SUB-01", f"method {_method} for a "
            "kind without reference")
    def _(s, method=_method):
        sub_of(s).method = method
        if method == SAME:
            chunk_of(s).substreams = [Substream(SAME)]

for _field, _value in (("bank", 1), ("block", 5), ("shift", 1), ("lanes", 1), ("scale_base", -1), ("flags", PROFILES)):
    for _name, _sibling in (("raw", "raw-hello"), ("constant", "constant-bytes"), ("same", "whole-form")):
        if _name == "raw" or _field in ("bank", "scale_base"):
            @reject(f"substream/{_name}-{_field.replace('_', '-')}", f"baseline/{_sibling}", "ULP-SUB-02",
                    f"{_field} of a {_name.upper()} substream is {_value}")
            def _(s, field=_field, value=_value):
                setattr(sub_of(s), field, value)

for _flag in (2, 0x80):
    @reject(f"substream/flag-{_flag}", "baseline/residual-u16", "ULP-SUB-03", f"reserved flag {_flag:#x} of a substream",
            error_class="unsupported")
    def _(s, flag=_flag):
        sub_of(s).flags = flag


@reject("substream/raw-flag-2", "baseline/raw-hello", "ULP-SUB-03", "reserved flag 2 of a RAW substream",
        error_class="unsupported")
def _(s):
    sub_of(s).flags = 2


for _name, _sibling, _data in (("raw-short", "raw-hello", b"hello, ulp"), ("raw-long", "raw-hello", b"hello, ulp\n\0"),
                               ("constant-short", "constant-f64", bytes(7)), ("constant-long", "constant-f64", bytes(9)),
                               ("constant-empty", "constant-bytes", b""), ("same-with-data", "whole-form", b"\0")):
    @reject(f"substream/{_name}", f"baseline/{_sibling}", "ULP-SUB-03", f"the data of a substream are {len(_data)} bytes")
    def _(s, data=_data):
        sub_of(s).data = data

for _block in (1, 4, 21, 255):
    @reject(f"substream/block-{_block}", "baseline/residual-u16", "ULP-SUB-03", f"block is {_block}")
    def _(s, block=_block):
        sub_of(s).block = block

for _block in (5, 7, 21):
    @reject(f"substream/mask-block-{_block}", "baseline/mask-u16", "ULP-SUB-03", f"block of a MASK substream is {_block}")
    def _(s, block=_block):
        sub_of(s).block = block

@reject("substream/lanes-6", "baseline/flat-residual-bf16", "ULP-SUB-03", "lanes is 6, and there are 64")
def _(s):
    end = s.records.pop()
    s.records.pop()
    s.coded = 0
    s.chunk(len(s.content), [s.code(0, len(s.content), RESIDUAL, lanes=6)]).add(end)


@reject("substream/lanes-255", "baseline/residual-u16", "ULP-SUB-03", "lanes is 255")
def _(s):
    sub_of(s).lanes = 255


@valid("residual-one-element", "ULP-SUB-03", "one element in one lane")
def _():
    return coded_stream(RESIDUAL, n=1, options={"lanes": 0})


@reject("substream/shorter-than-states", "baseline/residual-one-element", "ULP-SUB-03", "the data are shorter than the states")
def _(s):
    sub_of(s).data = sub_of(s).data[:2]


# --- banks

@reject("substream/bank-empty", "baseline/bind-last-slot", "ULP-SUB-04", "the bank's slot was never filled")
def _(s):
    sub_of(s).bank = 62


for _bank in (64, 127):
    @reject(f"substream/bank-{_bank}", "baseline/bind-last-slot", "ULP-SUB-04", f"bank {_bank} of 64 slots")
    def _(s, bank=_bank):
        sub_of(s).bank = bank

for _bank in (255,):
    @reject(f"substream/bank-{_bank}", "baseline/bind-last-slot", "ULP-SUB-04", f"built-in bank {_bank - 128}",
            error_class="unsupported")
    def _(s, bank=_bank):
        sub_of(s).bank = bank


def flat_bank(kind, **fields):
    """A bank of a class in which each symbol of the alphabet has a frequency."""
    if kind == 3:
        fields = {"form": 2, "centre": 24, "window": 100} | fields
        return Bank(3, [flat(2 + (fields["window"] << bin(fields["form"]).count("1")))], **fields)
    return Bank(kind, [flat((256, 242, 256)[kind])], **fields)


def flat_stream(method, element, kind, n=20):
    """A stream under a flat bank of any class, right or wrong."""
    content, reference = pair(element, n)
    s = Stream(content, [reference], bank_slots=1)
    s.layout([Kind(element, element)], [(0, n)])
    return s.bind(0, flat_bank(kind)).chunk(len(content), [s.code(0, len(content), method, lanes=1)]).end()


for _method, _element in ((RESIDUAL, BF16), (RESIDUAL, F64), (RESIDUAL, E4M3), (PLAIN, F32), (PLAIN, F64), (PLAIN, U32),
                          (PLAIN, I64), (PLAIN, U8), (PLAIN, E4M3)):
    @valid(f"flat-{NAMES[_method]}-{_element.name.replace('_', '-')}", "ULP-SUB-04", f"{_element.name} by "
           f"{NAMES[_method].upper()} under a bank in which every symbol is as likely")
    def _(method=_method, element=_element):
        return flat_stream(method, element, bank_class(element, method))

def small_stream(method, element, kind):
    """Residuals below 16, or zeros, whose tokens are the same in each class."""
    reference = data.weights(element, 40)
    content = [0] * 40 if method == PLAIN else data.step(element, reference, 2, size=3)
    s = Stream(element.pack(content), [element.pack(reference)], bank_slots=1)
    s.layout([Kind(element, element)], [(0, 40)])
    s.bind(0, small_bank(kind))
    return s.chunk(len(s.content), [s.code(0, len(s.content), method, lanes=1)]).end()


def small_bank(kind):
    fields = {"centre": 24, "window": 100} if kind == 3 else {}
    return Bank(kind, [flat(16)], masks=[flat(256)], **fields)


for _method, _element in ((RESIDUAL, BF16), (RESIDUAL, F64), (RESIDUAL, E4M3), (MASK, U16), (PLAIN, F32), (PLAIN, F64),
                          (PLAIN, U32), (PLAIN, I64), (PLAIN, U8), (PLAIN, E4M3)):
    @valid(f"small-{NAMES[_method]}-{_element.name.replace('_', '-')}", "ULP-SUB-04", f"{_element.name} by {NAMES[_method].upper()}"
           " whose tokens would be the same in each class of banks")
    def _(method=_method, element=_element):
        return small_stream(method, element, bank_class(element, method))

for _sibling, _wrong in (("residual-bf16", 0), ("residual-bf16", 2), ("residual-bf16", 3), ("residual-f64", 1),
                         ("residual-f8-e4m3", 1), ("plain-f32", 1), ("plain-f64", 2), ("plain-u32", 2), ("plain-i64", 1),
                         ("plain-u8", 1), ("plain-f8-e4m3", 3), ("mask-u16", 2)):
    @reject(f"substream/class-{_sibling}-{_wrong}", f"baseline/small-{_sibling}", "ULP-SUB-04", f"a bank of class {_wrong}")
    def _(s, wrong=_wrong):
        s.records[1] = Stream().bind(0, small_bank(wrong)).records[0]


# --- shift

@valid("shift-f32-16", "ULP-SUB-05", "f32 whose low 16 bits are zero, reference shifted too although its are not")
def _():
    return shifted(RESIDUAL, F32, 16)


@valid("shift-f32-m", "ULP-SUB-05", "f32 with shift 23: no mantissa bit is left")
def _():
    return shifted(RESIDUAL, F32, 23)


@valid("shift-mask-f64-29", "ULP-SUB-05", "f64 made of f32, by MASK")
def _():
    return shifted(MASK, F64, 29)


@valid("shift-residual-u16-15", "ULP-SUB-05", "u16 with shift 15: a ring of two")
def _():
    return shifted(RESIDUAL, U16, 15)


@valid("shift-residual-u32-9", "ULP-SUB-05", "u32 with shift 9")
def _():
    return shifted(RESIDUAL, U32, 9)


@valid("shift-plain-i64-20", "ULP-SUB-05", "i64 by PLAIN with shift 20: a zigzag of 44 bits")
def _():
    return shifted(PLAIN, I64, 20)


@valid("shift-plain-f32-16", "ULP-SUB-05", "f32 made of bf16 by PLAIN with TOP")
def _():
    return shifted(PLAIN, F32, 16)


@valid("shift-plain-f16-9", "ULP-SUB-05", "f16 with shift 9: the top mantissa bit is the only one")
def _():
    return shifted(PLAIN, F16, 9)


@valid("shift-plain-f16-10", "ULP-SUB-05", "f16 with shift 10 under a bank without TOP: no mantissa bit")
def _():
    return shifted(PLAIN, F16, 10, form=1)


def shifted(method, element, shift, **fields):
    content, reference = pair(element, 150, size=min(shift + 6, element.w))
    patterns = [u >> shift << shift for u in element.unpack(content)]
    return coded_stream(method, element, element.pack(patterns), reference if method != PLAIN else None,
                        bank=blank_bank(element, method, **fields), options={"shift": shift, "lanes": 3})


for _name, _sibling, _shift in (("u8", "flat-plain-u8", 1), ("f8", "flat-residual-f8-e4m3", 1), ("f32", "shift-f32-m", 24),
                                ("bf16", "flat-residual-bf16", 8), ("u16", "shift-residual-u16-15", 16),
                                ("i64", "shift-plain-i64-20", 64), ("plain-f32", "shift-plain-f32-16", 24),
                                ("top", "shift-plain-f16-9", 10), ("255", "shift-residual-u32-9", 255)):
    @reject(f"substream/shift-{_name}", f"baseline/{_sibling}", "ULP-SUB-05", f"shift is {_shift}")
    def _(s, shift=_shift):
        sub_of(s).shift = shift


# --- tables that a bank lacks

@reject("substream/no-scale-table", "baseline/flat-residual-bf16", "ULP-SUB-06", "block is 5, the bank has no scale table")
def _(s):
    sub_of(s).block = 5


@reject("substream/no-mask-table", "baseline/flat-residual-bf16", "ULP-SUB-06", "MASK under a bank without mask table")
def _(s):
    sub_of(s).method = MASK


@reject("substream/no-element-table", "baseline/flat-residual-bf16", "ULP-SUB-06", "RESIDUAL under a bank of mask tables only")
def _(s):
    s.records[1] = Stream().bind(0, Bank(1, [], masks=[flat(256)])).records[0]


@valid("mask-all-equal", "ULP-SUB-06", "MASK of equal elements: no element step takes place")
def _():
    reference = BF16.pack(data.weights(BF16, 100))
    return coded_stream(MASK, content=reference, reference=reference)


@reject("substream/mask-no-element-table", "baseline/mask-all-equal", "ULP-SUB-06", "MASK of equal elements under a bank "
        "without element table, which no step would use")
def _(s):
    bank = s.banks[0]
    s.records[1] = Stream().bind(0, Bank(1, [], masks=bank.masks, mask_steps=bank.mask_steps)).records[0]


# --- profiles

@reject("substream/profile-slot-empty", "baseline/profile-some-spans", "ULP-SUB-07", "PROFILES, and the slot of a span was "
        "never filled")
def _(s):
    del s.records[1]


@reject("substream/profile-of-zeros-empty", "baseline/profile-zeros", "ULP-SUB-07", "PROFILES, and the slot of a span was never "
        "filled; zeros would do")
def _(s):
    del s.records[1]


@reject("substream/profiles-without-profile", "baseline/flat-residual-bf16", "ULP-SUB-07", "PROFILES, and no span of the kind "
        "has a profile")
def _(s):
    sub_of(s).flags = PROFILES


@valid("profiles-only-in-other-chunk", "ULP-SUB-07", "two spans, the first with a profile; the first chunk has PROFILES, the "
       "second, of the second span, has not")
def _():
    return two_spans()


def two_spans():
    content, reference = pair(BF16, 60)
    s = Stream(content, [reference], bank_slots=1, profile_slots=2)
    s.profile(1, [5, -9, 30])
    s.layout([Kind(BF16, BF16)], [(0, 30, 1), (0, 30)])
    bank = Bank(1, [flat(240), flat(100), flat(50)], element_base=-10, element_steps=[20, 20])
    s.bind(0, bank)
    return s.chunk(60, [s.code(0, 60, RESIDUAL, profiles=True)]).chunk(60, [s.code(0, 60, RESIDUAL)]).end()


@reject("substream/profiles-in-other-chunk", "baseline/profiles-only-in-other-chunk", "ULP-SUB-07", "the second chunk has "
        "PROFILES, but only the span of the first has a profile", chunks=1)
def _(s):
    chunk_of(s, 1).substreams[0].flags = PROFILES
