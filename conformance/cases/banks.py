# SPDX-License-Identifier: MIT-0
"""§9 banks and their tables."""
from assemble.elements import BF16, F32, U8, U16, U32
from assemble.records import Stream
from assemble.substreams import MASK, PLAIN, RESIDUAL
from assemble.tables import Bank, fit, flat, single, table

from . import data
from .coded import blank_bank, coded_stream, fixed, pair
from .registry import reject, valid
from .streams import bytes_stream


# --- banks in use

@valid("bank-32-tables", "ULP-BNK-01", "32 element tables with steps of 1 to 12 quarter bits")
def _():
    bank = blank_bank(BF16, RESIDUAL, tables=32, element_base=-60, element_steps=[1 + k * 5 % 12 for k in range(31)])
    return coded_stream(RESIDUAL, bank=bank, n=3000, options=lambda k, s, n: {
        "block": 5, "scales": [s * 7 % 130 - 90 for s in range((n - 1 >> 5) + 1)]})


@valid("bank-31-mask-tables", "ULP-BNK-01", "31 mask tables and one element table")
def _():
    bank = blank_bank(BF16, MASK, mask_tables=31, mask_base=-35, mask_steps=[1 + k % 3 for k in range(30)])
    content, reference = pair(BF16, 3000, changed=1)
    return coded_stream(MASK, BF16, content, reference, bank=bank)


@valid("bank-steps-255", "ULP-BNK-01", "steps whose sum is 255, in both groups; bases at both ends of an i16")
def _():
    bank = blank_bank(U16, MASK, tables=3, mask_tables=2, mask_base=32767, mask_steps=[255], element_base=-32768,
                      element_steps=[254, 1])
    content, reference = pair(U16, 1500, changed=4)
    return coded_stream(MASK, U16, content, reference, bank=bank, options=lambda k, s, n: {
        "block": 8, "scale_base": -32700, "scales": [-32768, -32767, -32700, -32600, -32514, -32513]})


@valid("thresholds", "ULP-BNK-01", "λ just below, at and above each threshold")
def _():
    bank = blank_bank(U16, RESIDUAL, tables=4, element_base=-2, element_steps=[1, 3, 10])
    scales = [-100, -3, -2, -1, 0, 1, 2, 11, 12, 13, 100]
    return coded_stream(RESIDUAL, U16, bank=bank, n=32 * 11, options={"block": 5, "scales": scales})


@valid("bank-single-symbols", "ULP-BNK-02", "tables with one symbol of frequency 4096: symbols 0, 1, 17 and 239, one after "
       "the other; no step takes a word but for raw bits")
def _():
    zs = {0: 0, 1: 1, 17: 17, 239: 0xF0000001}
    content, scales = [], []
    random = data.Random(1)
    for k, (token, z) in enumerate(zs.items()):
        for _i in range(32):
            v = z
            if token >= 16:
                n = z.bit_length() - 1
                v = z | random.bits(n - 3) << 1
            content.append(v)
        scales.append(10 * k)
    bank = Bank(1, [single(t) for t in zs], scales=[fit({1: 1, 21: 3})], element_steps=[10, 10, 10])
    return coded_stream(PLAIN, U32, U32.pack(content), bank=fixed(bank), options={"block": 5, "scales": scales})


@valid("table-symbol-255", "ULP-BNK-02", "bytes 0…255 under the longest alphabet: last is 255, and so is implied")
def _():
    bank = fixed(Bank(0, [table({s: 15 for s in range(255)} | {255: 4096 - 255 * 15})]))
    return coded_stream(PLAIN, U8, bytes(range(256)), bank=bank)


@valid("table-implied-first", "ULP-BNK-03", "implied is the lowest of symbols with equal frequencies")
def _():
    bank = fixed(Bank(0, [table({10: 1024, 20: 1024, 30: 1024, 200: 1024})]))
    return coded_stream(PLAIN, U8, bytes([10, 20, 30, 200] * 20), bank=bank)


@valid("table-implied-even", "ULP-BNK-03", "4096 equal shares of 256 symbols: implied is 0, of frequency 16")
def _():
    return coded_stream(PLAIN, U8, data.noise(300), bank=fixed(Bank(0, [flat(256)])))


for _precision in range(1, 13):
    @valid(f"precision-{_precision}", "ULP-BNK-01", f"three tables of {_precision} bits of precision, the second and third "
           "predicted from the one before")
    def _(precision=_precision):
        bank = blank_bank(U8, PLAIN, tables=3, precision=precision, element_steps=[10, 10])
        random = data.Random(precision)
        content = bytes(min(random.geometric() * 5 + random.below(6), 255) for _ in range(320))
        return coded_stream(PLAIN, U8, content, bank=bank, n=320, options={
            "block": 5, "scales": [0, 10, 20, 15, 5, 25, 0, 10, 20, 30]})


@valid("classes-of-tables", "ULP-BNK-02", "a table after one with a frequency of 4096, one after one with 2048 and 1: "
       "predicted classes of 12 and of 0, unary numbers of 24 ones")
def _():
    tables = [single(0), table({0: 1, 1: 4095}), table({0: 4095, 3: 1}), table({1: 1, 2: 4095}), single(5),
              table({5: 1, 6: 2047, 7: 2048}), table({1: 2048, 2: 2048})]
    bank = fixed(Bank(0, tables, scales=[fit({1: 1, 2: 1, 3: 1})], element_steps=[1] * 6))
    content = [[0], [0, 1], [0, 3], [1, 2], [5], [5, 6, 7], [1, 2]]
    flatten = bytes(content[k][i % len(content[k])] for k in range(7) for i in range(32))
    return coded_stream(PLAIN, U8, flatten, bank=bank, options={"block": 5, "scales": list(range(7))})


@valid("classes-from-two-before", "ULP-BNK-02", "a first table that alternates between rare and frequent symbols: each class "
       "is predicted from the symbol two before; implied in the middle counts as 12")
def _():
    frequencies = {s: 1 if s % 2 else 40 for s in range(40)}
    frequencies |= {20: 4096 - sum(f for s, f in frequencies.items() if s != 20)}
    bank = fixed(Bank(0, [table(frequencies)]))
    return coded_stream(PLAIN, U8, bytes(range(40)) * 3, bank=bank)


for _form, _window in ((0, 254), (1, 127), (2, 127), (3, 63)):
    @valid(f"form-{_form}", "ULP-BNK-01", f"class 3 with form {_form} and the largest window, {_window}: both signs, ESC and zeros")
    def _(form=_form, window=_window):
        content = data.weights(BF16, 300, 5)
        content[::17] = [0] * len(content[::17])
        content[5::40] = [0x8000, 0x7F80, 0xFF81, 1, 0x3F80, 0xC000, 0x0080, 0x7FFF][:len(content[5::40])]
        bank = blank_bank(BF16, PLAIN, form=form, window=window, centre=60)
        return coded_stream(PLAIN, BF16, BF16.pack(content), bank=bank, options={"scale_base": -20})


@valid("window-1", "ULP-BNK-01", "class 3 with a window of one exponent: the others are ESC")
def _():
    bank = blank_bank(F32, PLAIN, form=0, window=1, centre=255)
    content = data.weights(F32, 100)
    return coded_stream(PLAIN, F32, F32.pack(content), bank=bank, options={"scale_base": 4 * (255 - 6)})


# --- banks at fault, none of them used by a chunk

@valid("bank-unused", "ULP-BNK-04", "a bank of class 1 with scale, mask and element tables that nothing uses")
def _():
    return unused(Bank(1, [flat(242), flat(17), single(3)], masks=[flat(256), single(0)], scales=[flat(9)], mask_base=-7,
                       element_base=300, precision=12, element_steps=[200, 55]))


@valid("bank-unused-plain", "ULP-BNK-04", "a bank of class 3 that nothing uses")
def _():
    return unused(Bank(3, [flat(102)], form=2, centre=24, window=50))


def unused(bank):
    s = bytes_stream(bank_slots=1)
    s.records.insert(0, Stream().bind(0, bank).records[0])
    return s


def bad_bank(name, ids, about, change, sibling="baseline/bank-unused"):
    """`change(bank)` before the body is written."""
    @reject(f"bank/{name}", sibling, ids, about, chunks=1)
    def _(s):
        bank = s.records[0].bank
        change(bank)
        s.records[0].payload = bank.body()


def setting(**fields):
    def change(bank):
        for name, value in fields.items():
            setattr(bank, name, value)
    return change


_plain = {"sibling": "baseline/bank-unused-plain"}
for _class in (5, 255):
    @reject(f"bank/class-{_class}", "baseline/bank-unused", "ULP-BNK-01", f"a bank of class {_class}", error_class="unsupported")
    def _(s, kind=_class):
        s.records[0].payload = bytes([kind]) + s.records[0].payload[1:]

for _field, _value in (("form", 1), ("centre", 1), ("window", 1), ("precision", 13)):
    bad_bank(f"{_field}-is-{_value}", "ULP-BNK-01", f"{_field} of a bank, else of class 1, is {_value}",
             setting(**{_field: _value}))
bad_bank("precision-is-0", "ULP-BNK-01", "a precision of 0; all frequencies are powers of two", setting(
    precision=0, elements=[flat(128), flat(16), single(3)], scales=[flat(8)]))
bad_bank("form-4", "ULP-BNK-01", "reserved bit 2 of form", setting(form=6), **_plain)
bad_bank("form-128", "ULP-BNK-01", "reserved bit 7 of form", setting(form=0x82), **_plain)
bad_bank("window-0", "ULP-BNK-01", "a window of 0", setting(window=0, elements=[flat(2)]), **_plain)
bad_bank("window-128", "ULP-BNK-01", "a window of 128 with TOP: 258 symbols", setting(window=128), **_plain)
bad_bank("window-64", "ULP-BNK-01", "a window of 64 with SIGN and TOP: 258 symbols", setting(window=64, form=3), **_plain)
bad_bank("window-255", "ULP-BNK-01", "a window of 255: 257 symbols", setting(window=255, form=0), **_plain)
bad_bank("scale-tables-2", "ULP-BNK-01", "two scale tables", setting(scales=[flat(9), flat(9)]))
bad_bank("tables-0", "ULP-BNK-01", "neither mask nor element tables", setting(
    elements=[], masks=[], element_steps=[], mask_steps=[], element_base=0, mask_base=0))
bad_bank("tables-33", "ULP-BNK-01", "33 element tables", setting(elements=[flat(2)] * 33, element_steps=[1] * 32,
                                                               masks=[], mask_steps=[], mask_base=0))
bad_bank("tables-16-17", "ULP-BNK-01", "16 mask tables and 17 element tables", setting(
    elements=[flat(2)] * 17, element_steps=[1] * 16, masks=[flat(2)] * 16, mask_steps=[1] * 15))
bad_bank("mask-base", "ULP-BNK-01", "mask_base without mask tables", setting(masks=[], mask_steps=[]))
bad_bank("element-base", "ULP-BNK-01", "element_base without element tables", setting(elements=[], element_steps=[]))
bad_bank("step-0", "ULP-BNK-01", "an element step of 0", setting(element_steps=[0, 55]))
bad_bank("mask-step-0", "ULP-BNK-01", "a mask step of 0", setting(mask_steps=[0]))
bad_bank("steps-256", "ULP-BNK-01", "element steps that sum to 256", setting(element_steps=[200, 56]))
bad_bank("mask-steps-256", "ULP-BNK-01", "mask steps that sum to 256", setting(
    masks=[flat(256), flat(2), single(0)], mask_steps=[255, 1]))


bad_bank("class-13", "ULP-BNK-02", "a class of 13: 24 ones after a prediction of 1", lambda bank: setting(
    elements=[table({0: 4095, 1: 1}), flat(2)], element_steps=[200], written={("elements", 1): {"unary": {1: 24}}})(bank))
bad_bank("class-negative", "ULP-BNK-02", "a class of −1, after which all is as if it were 0", setting(
    elements=[table({0: 2000, 2: 2096})], element_steps=[], written={("elements", 0): {"unary": {1: 1}}}))
bad_bank("class-25-ones", "ULP-BNK-02", "a unary number of 25 ones, which would be a class of −1 after 12", lambda bank: setting(
    elements=[single(0), table({0: 1, 1: 4095})], element_steps=[200], written={("elements", 1): {"unary": {0: 25}}})(bank))
bad_bank("last-0", "ULP-BNK-02", "the frequency of `last` is 0", setting(written={("elements", 1): {"last": 17}}))
bad_bank("alphabet-242", "ULP-BNK-02", "a symbol 242 in class 1", setting(elements=[flat(243), flat(17), single(3)]))
bad_bank("alphabet-242-single", "ULP-BNK-02", "one symbol, 242, in class 1", setting(
    elements=[single(242), flat(17), single(3)]))
bad_bank("alphabet-window", "ULP-BNK-02", "a symbol beyond the window of class 3", setting(elements=[flat(103)]), **_plain)
bad_bank("implied-above-last", "ULP-BNK-02", "implied is above last", setting(
    elements=[table({2: 100, 3: 3996})], element_steps=[], written={("elements", 0): {"last": 2}}))
bad_bank("sum-4097", "ULP-BNK-03", "the frequencies without implied sum to 4096", setting(
    elements=[table({0: 0, 1: 2048, 2: 2048}), flat(17), single(3)], written={("elements", 0): {"implied": 0}}))
bad_bank("sum-above", "ULP-BNK-03", "the frequencies without implied sum to 4097: implied would be −1", setting(
    elements=[table({0: 1, 1: 2048, 2: 2049}), flat(17), single(3)], written={("elements", 0): {"implied": 0}}))
bad_bank("implied-not-lowest", "ULP-BNK-03", "a symbol below implied is as frequent", setting(
    elements=[table({0: 2048, 1: 2048}), flat(17), single(3)], written={("elements", 0): {"implied": 1}}))
bad_bank("implied-not-highest", "ULP-BNK-03", "a symbol above implied is more frequent", setting(
    elements=[table({0: 2047, 1: 2049}), flat(17), single(3)], written={("elements", 0): {"implied": 0}}))
bad_bank("implied-less-than-lower", "ULP-BNK-03", "a symbol below implied is more frequent", setting(
    elements=[table({0: 2049, 1: 2047}), flat(17), single(3)], written={("elements", 0): {"implied": 1}}))
bad_bank("padding", "ULP-BNK-04", "a padding bit is set", setting(padding=1))
bad_bank("left-over", "ULP-BNK-04", "a zero byte after the tables", setting(tail=b"\0"))


def cut(n):
    def change(bank):
        body = bank.body()
        bank.body = lambda: body[:n]
    return change


bad_bank("cut-tables", "ULP-BNK-04", "the last byte of the tables is missing", cut(-1))
bad_bank("cut-steps", "ULP-BNK-04", "the body ends after the first mask step", cut(13))
bad_bank("cut-header", "ULP-BNK-04", "a body of eleven bytes", cut(11))
bad_bank("empty", "ULP-BNK-04", "an empty body", cut(0))
bad_bank("counts-missing-table", "ULP-BNK-04", "the header counts one element table more than there is", setting(
    counts=(1, 2, 4), element_steps=[200, 54, 1]))
