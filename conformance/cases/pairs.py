# SPDX-License-Identifier: MIT-0
"""Class 4, pairs of floats: §8, §9, §10.4."""
from assemble.elements import BF16, E4M3, F16, F32, F64, U32
from assemble.records import Stream
from assemble.substreams import PLAIN, PROFILES, RESIDUAL
from assemble.tables import Bank, flat

from . import data
from .banks import unused
from .bank_files import other_entries, outside
from .coded import blank_bank, coded_stream, fixed
from .registry import reject, valid
from .substreams import sub_of
from .symbols import code_again


def paired(element, n, *, window=15, centre=11, tables=1, options=None, content=None, **more):
    """n weights in blocks whose mean exponent is some −6."""
    bank = blank_bank(element, PLAIN, tables=tables)
    bank.kind, bank.form, bank.window, bank.centre = 4, 0, window, centre
    if content is None:
        content = element.pack(data.weights(element, n))
    return coded_stream(PLAIN, element, content, bank=bank, options={"scale_base": -24} | (options or {}), **more)


for _element in (BF16, F16, F32):
    @valid(f"pairs-{_element.name}", "ULP-PLN-03 ULP-SUB-04", f"pairs of {_element.name}, the last element alone; specials at both places",
           extended=True)
    def _(element=_element):
        content = data.weights(element, 401)
        specials = data.specials(element)
        content[40:40 + len(specials)] = specials
        content[101:101 + len(specials)] = specials
        return paired(element, 401, content=element.pack(content), options={"esc": range(0, 400, 50), "lanes": 4})

for _n in (1, 2, 3, 63, 64, 65, 129):
    @valid(f"pairs-{_n}", "ULP-PLN-03", f"pairs of {_n} elements with 32 lanes", extended=True)
    def _(n=_n):
        return paired(BF16, n)


@valid("pairs-last-escaped", "ULP-PLN-03", "the last element, alone, is an ESC", extended=True)
def _():
    return paired(F32, 35, options={"esc": [34], "lanes": 1})


@valid("pairs-blocks", "ULP-SUB-08 ULP-BNK-05", "blocks of 64 elements, two of them ZERO, the last one short; three tables", extended=True)
def _():
    content = data.weights(BF16, 300)
    content[64:128] = [0] * 64
    content[192:256] = [0] * 64
    return paired(BF16, 300, tables=3, content=BF16.pack(content), options={
        "block": 6, "scales": [-26, None, -24, None, -23], "lanes": 5})


@valid("pairs-window-1", "ULP-BNK-01", "a window of one exponent, centre 255", extended=True)
def _():
    content = data.weights(F16, 80)
    content[10:20] = [0x2400, 0xA401] * 5
    return paired(F16, 80, window=1, centre=255, content=F16.pack(content), options={"scale_base": 4 * (255 - 6)})


@valid("pairs-shift-m", "ULP-SUB-05", "f32 with shift 23: signs alone are raw bits", extended=True)
def _():
    return paired(F32, 90, content=F32.pack([u >> 23 << 23 for u in data.weights(F32, 90)]), options={"shift": 23, "lanes": 2})


@valid("pairs-shift-16", "ULP-SUB-05", "f32 made of bf16", extended=True)
def _():
    return paired(F32, 91, content=F32.pack([u >> 16 << 16 for u in data.weights(F32, 91)]), options={"shift": 16, "lanes": 2})


def ends(scale):
    """Exponent fields at both places under a window of 15 that reaches one beyond the field; first those at the other end of it, at each place."""
    base = (scale >> 2) + 127 - 7
    inside = [e for e in range(base, base + 15) if 0 <= e < 256]
    other = next(e % 256 for e in range(base, base + 15) if not 0 <= e < 256)
    exponents = [other, inside[0], inside[0], other, *inside * 4]
    content = [e << 7 | k * 37 % 128 | k % 2 << 15 for k, e in enumerate(exponents)]
    bank = fixed(Bank(4, [flat(226)], window=15, centre=7))
    return coded_stream(PLAIN, BF16, BF16.pack(content), bank=bank, options={"scale_base": scale})


for _name, _scale in (("low", -4 * 121), ("high", 4 * 122 + 3)):
    @valid(f"pairs-window-{_name}", "ULP-PLN-01", f"λ = {_scale}: the window reaches beyond the exponent field", extended=True)
    def _(scale=_scale):
        return ends(scale)


@valid("pairs-lambda-negative", "ULP-PLN-01", "λ from −9 to 9: λ >> 2 rounds down", extended=True)
def _():
    bank = blank_bank(F32, PLAIN, tables=2, element_base=-2, element_steps=[5])
    bank.kind, bank.form, bank.window, bank.centre = 4, 0, 14, 12
    return coded_stream(PLAIN, F32, bank=bank, n=64 * 19, options={"block": 6, "scales": list(range(-9, 10))})


# --- at fault: other decoders than those of feature set 2 may call it unsupported

def fault(name, sibling, ids, about):
    return reject(f"pairs-{name}", f"extended/{sibling}", ids, about, error_class="limit")


for _features in (0, 1):
    @fault(f"feature-set-{_features}", "pairs-bf16", "ULP-BNK-05", f"a bank of pairs with feature set {_features}")
    def _(s, features=_features):
        s.header["feature_set"] = features


@valid("pairs-bank-unused", "ULP-BNK-05", "feature set 2 and a bank of pairs that nothing uses", extended=True)
def _():
    s = unused(Bank(4, [flat(170)], window=13, centre=10))
    s.header["feature_set"] = 2
    return s


@reject("pairs-unused-feature-set-0", "extended/pairs-bank-unused", "ULP-BNK-05", "a bank of pairs that nothing uses with feature set 0", chunks=1,
        error_class="limit")
def _(s):
    s.header["feature_set"] = 0


for _field, _value in (("form", 1), ("form", 2), ("form", 4), ("window", 0), ("window", 16), ("window", 255)):
    @reject(f"pairs-{_field}-{_value}", "extended/pairs-bank-unused", "ULP-BNK-01", f"{_field} {_value} in a bank of pairs", chunks=1,
            error_class="limit")
    def _(s, field=_field, value=_value):
        bank = s.records[0].bank
        setattr(bank, field, value)
        if field == "window":
            bank.elements = [flat(1)]
        s.records[0].payload = bank.body()


@reject("pairs-alphabet", "extended/pairs-bank-unused", "ULP-BNK-02", "a symbol beyond the window in a bank of pairs", chunks=1, error_class="limit")
def _(s):
    s.records[0].bank.elements = [flat(171)]
    s.records[0].payload = s.records[0].bank.body()


@fault("block-5", "pairs-one-scale", "ULP-SUB-08", "blocks of 32 with pairs; the content fits one, so that all else is the same")
def _(s):
    sub_of(s).block = 5


@valid("pairs-one-scale", "ULP-SUB-08", "one block of 64, of which there are 30", extended=True)
def _():
    return paired(BF16, 30, options={"block": 6, "scales": [-24], "lanes": 0})


@valid("pairs-unused-profile", "ULP-SUB-08", "a span with a profile of zeros, and pairs, which take none", extended=True)
def _():
    return paired(F16, 100, header={"profile_slots": 1}, layout=[(0, 100, 0)], profiles={0: [0, 0, 0]})


@fault("profiles", "pairs-unused-profile", "ULP-SUB-08", "PROFILES with pairs; all values are 0")
def _(s):
    sub_of(s).flags = PROFILES


for _element in (F64, E4M3, U32):
    @reject(f"pairs-of-{_element.name.replace('_', '-')}", f"baseline/small-plain-{_element.name.replace('_', '-')}", "ULP-SUB-04",
            f"pairs of {_element.name}", error_class="limit")
    def _(s, element=_element):
        return paired(element, 40, options={"esc": range(40), "lanes": 1})


@reject("pairs-of-residuals", "baseline/small-residual-bf16", "ULP-SUB-04", "RESIDUAL with a bank of pairs", error_class="limit")
def _(s):
    s.header["feature_set"] = 2
    s.records[1] = Stream().bind(0, Bank(4, [flat(16)], window=4)).records[0]


@valid("pairs-external", "ULP-BKF-03 ULP-BND-02", "pairs with the bank of a file", extended=True)
def _():
    return outside(paired(BF16, 200, options={"block": 6, "scales": [-24] * 4}), 1, other_entries())


for _name, _fields, _about in (("element", {"element": F64.number}, "for f64"), ("method", {"method": RESIDUAL}, "for RESIDUAL"),
                               ("block", {"block": 5}, "with blocks of 32")):
    @fault(f"file-{_name}", "pairs-external", "ULP-BKF-03", f"an entry with a bank of pairs {_about}")
    def _(s, fields=_fields):
        for field, value in fields.items():
            setattr(s.bank_files[0].entries[1], field, value)


@fault("external-feature-set-1", "pairs-external", "ULP-BNK-05", "a bank of pairs of a file with feature set 1")
def _(s):
    s.header["feature_set"] = 1


@fault("copy", "pairs-65", "ULP-PLN-03", "the copy of the last element has another sign")
def _(s):
    other_copy(s, 1 << 15, esc=False)


@fault("copy-escaped", "pairs-65", "ULP-PLN-03", "the copy of the last element, an ESC, is another in the lowest bit")
def _(s):
    other_copy(s, 1, esc=True)


def other_copy(s, change, esc):
    u = BF16.unpack(s.content)[64]
    v = u ^ change
    rest = [(x >> 15) << 7 | x & 127 for x in (u, v)]
    r = (u >> 7 & 255) - 127 + 6 + 11
    assert 0 <= r < 15
    token = (0, u | v << 16, 32) if esc else (1 + r * 15 + r, rest[0] | rest[1] << 8, 16)
    code_again(s, lanes=5, scale_base=-24, tokens={64: token})


for _name, _place in (("first", 0), ("second", 1)):
    for _end, _r in (("low", 0), ("high", 14)):
        @fault(f"exponent-{_name}-{_end}", f"pairs-window-{_end}", "ULP-PLN-01", f"the {_name} exponent of a pair is outside of its field")
        def _(s, place=_place, end=_end, r=_r):
            bad_exponent(s, place, end, r)


def bad_exponent(s, place, end, r):
    scale = {"low": -4 * 121, "high": 4 * 122 + 3}[end]
    base = (scale >> 2) + 127 - 7
    content = BF16.unpack(s.content)
    # Modulo 256 the token would stand for what is there.
    pair = content[2 * place:2 * place + 2]
    assert not 0 <= base + r < 256 and (base + r) % 256 == pair[place] >> 7 & 255
    rs = [(u >> 7 & 255) - base for u in pair]
    rs[place] = r
    rest = [(x >> 15) << 7 | x & 127 for x in pair]
    code_again(s, lanes=5, scale_base=scale, tokens={2 * place: (1 + rs[0] * 15 + rs[1], rest[0] | rest[1] << 8, 16)})
