# SPDX-License-Identifier: MIT-0
"""§11 the entropy coder."""
from assemble.elements import BF16, F32, F64, U8, U16
from assemble.substreams import MASK, PLAIN, RESIDUAL
from assemble.tables import Bank, flat, single, table

from . import data
from .coded import blank_bank, coded_stream, fixed, pair
from .registry import reject, valid
from .substreams import blocks, sub_of
from .symbols import code_again

for _lanes in range(6):
    @valid(f"lanes-{1 << _lanes}", "ULP-ENT-01 ULP-ENT-02", f"all phases and raw bits of up to 28 bits in {1 << _lanes} lanes: "
           "MASK of f32 with scales, a last row that is not full")
    def _(lanes=_lanes):
        content, reference = pair(F32, 777, changed=5, size=31)
        bank = blank_bank(F32, MASK, tables=4, element_steps=[12, 20, 9], element_base=-30)
        return coded_stream(MASK, F32, content, reference, bank=bank, options={"lanes": lanes, **blocks(MASK, 777, lanes)})

for _n in (1, 31, 32, 33):
    @valid(f"rows-{_n}", "ULP-ENT-02", f"{_n} elements in 32 lanes")
    def _(n=_n):
        return coded_stream(PLAIN, F32, n=n)

for _shift in (0, 15, 16, 17, 31, 32, 33, 47, 48, 49):
    @valid(f"raw-bits-{64 - _shift}", "ULP-ENT-02", f"ESC tokens of f64 with {64 - _shift} raw bits, beside tokens of fewer, "
           "in passes of 16")
    def _(shift=_shift):
        content = [u >> shift << shift for u in data.weights(F64, 60, 70 + shift)]
        bank = blank_bank(F64, PLAIN, form=1, window=30, centre=35)
        return coded_stream(PLAIN, F64, F64.pack(content), bank=bank, options={
            "shift": shift, "lanes": 2, "esc": range(0, 60, 3), "scale_base": -4})


@valid("no-words", "ULP-ENT-02", "4000 elements of one symbol of frequency 4096: the data are the states alone")
def _():
    return coded_stream(RESIDUAL, U16, bytes(8000), bytes(8000), bank=fixed(Bank(1, [single(0)])))


@valid("state-highest", "ULP-ENT-01", "the rarest symbol of a table again and again: states above 2^31 at the start")
def _():
    bank = fixed(Bank(0, [table({0: 4095, 255: 1})]))
    return coded_stream(PLAIN, U8, bytes([255] * 64 + [0] * 3), bank=bank, options={"lanes": 1})


@valid("last-word-zero", "ULP-ENT-03", "the last word is 0: the last step of the only lane takes 16 raw bits")
def _():
    bank = fixed(Bank(3, [flat(3)], form=0, window=1, centre=0))
    return coded_stream(PLAIN, BF16, BF16.pack([0x3F80, 0, 0x1234]), bank=bank, options={"lanes": 0})


@reject("entropy/words-run-out", "baseline/residual-bf16", "ULP-ENT-03", "the last word is missing")
def _(s):
    sub_of(s).data = sub_of(s).data[:-2]


@reject("entropy/zero-word-missing", "baseline/last-word-zero", "ULP-ENT-03", "the last word, which is 0, is missing")
def _(s):
    assert sub_of(s).data[-2:] == b"\0\0"
    sub_of(s).data = sub_of(s).data[:-2]


@reject("entropy/no-words", "baseline/residual-bf16", "ULP-ENT-03", "all words are missing")
def _(s):
    sub_of(s).data = sub_of(s).data[:128]


for _extra, _what in ((b"\0\0", "a zero word"), (b"\x34\x12", "a word")):
    @reject(f"entropy/left-over-{_what.replace(' ', '-')}", "baseline/residual-bf16", "ULP-ENT-02", f"{_what} after the last one")
    def _(s, extra=_extra):
        sub_of(s).data += extra


@reject("entropy/left-over-byte", "baseline/residual-bf16", "ULP-ENT-02", "a zero byte after the last word")
def _(s):
    sub_of(s).data += b"\0"


@reject("entropy/left-over-no-words", "baseline/no-words", "ULP-ENT-02", "a word where no step takes one")
def _(s):
    sub_of(s).data += b"\0\0"


@reject("entropy/final-state", "baseline/small-reference", "ULP-ENT-02", "lane 1 ends at 2^16 + 1", chunks=1)
def _(s):
    final_state(s, {1: (1 << 16) + 1})


@reject("entropy/final-state-low", "baseline/rows-1", "ULP-ENT-02", "a lane without steps stays at 2^16 + 4096")
def _(s):
    code_again(s, lanes=5, final={17: (1 << 16) + 4096})


def final_state(s, final):
    chunk = s.records[-2]
    s.coded = 20
    s.records[-2] = s.chunk(28, [s.code(0, 28, RESIDUAL, lanes=1, final=final)]).records.pop()
    assert len(chunk.content) == 28


@reject("entropy/state-low", "baseline/lanes-4", "ULP-ENT-01", "lane 2 begins below 2^16, and comes to the same after its first "
        "word")
def _(s):
    code_again(s, lanes=2, early=[2], **blocks(MASK, 777, 2))


@reject("entropy/state-zero", "baseline/no-words", "ULP-ENT-01", "the state of one lane is 0, under a table that leaves states as "
        "they are")
def _(s):
    sub_of(s).data = sub_of(s).data[:124] + bytes(4)
