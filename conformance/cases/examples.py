# SPDX-License-Identifier: MIT-0
"""§20: the small streams that spec/examples walks through."""
from assemble.elements import BF16, F32
from assemble.records import Kind, Stream
from assemble.substreams import MASK, PLAIN, RESIDUAL, fit_bank
from assemble.tables import Bank, fit

from .registry import valid

# The vectors that spec/examples shows, in its order.
EXAMPLES = {"empty": "valid/baseline/empty", "raw": "valid/baseline/raw-hello", "plain": "valid/baseline/example-plain",
            "reference": "valid/baseline/example-reference", "mask": "valid/baseline/example-mask"}


def example(element, method, content, reference, bank, **options):
    """A stream of one chunk."""
    references = [] if reference is None else [element.pack(reference)]
    s = Stream(element.pack(content), references, bank_slots=1, max_chunk_length=1 << 12)
    if references:
        s.sampled(0)
    s.layout([Kind(element, element if references else None)], [(0, len(content))])
    coded = s.code(0, len(s.content), method, **options)
    s.bind(0, fit_bank(bank, [coded], fit))
    return s.chunk(len(s.content), [coded]).end()


@valid("example-plain", "ULP-PLN-01 ULP-ENT-02", "eight f32 numbers by PLAIN with one lane: signs and top mantissa bits in tokens, "
       "a zero, a number outside of the window; 16 low bits are dropped")
def _():
    content = [0x3F800000, 0xBF800000, 0x3F000000, 0x3FC00000, 0x00000000, 0x3F800000, 0x42C80000, 0xBF400000]
    bank = Bank(3, [fit({0: 1})], form=3, centre=2, window=4, precision=3)
    return example(F32, PLAIN, content, None, bank, lanes=0, shift=16, scale_base=2)


@valid("example-reference", "ULP-ENT-02 ULP-BNK-03", "ten bf16 numbers by RESIDUAL with two lanes and two tables: small numbers "
       "have moved further than large ones; two raw bits and more")
def _():
    reference = [0x3F80, 0xBF80, 0x3F81, 0x3C23, 0x3C00, 0xBF90, 0xBC10, 0x3F8F, 0x3C7F, 0x0000]
    move = [1, 0, -1, 9, -30, 0, 55, 0, 1, 2]
    content = [u + d for u, d in zip(reference, move)]
    bank = Bank(1, [fit({0: 1})] * 2, element_base=0, element_steps=[40], precision=2)
    return example(BF16, RESIDUAL, content, reference, bank, lanes=1, scale_base=0)


@valid("example-mask", "ULP-MSK-01 ULP-ENT-02", "nineteen bf16 numbers by MASK with one lane: three groups, the last of three "
       "elements; four numbers differ")
def _():
    reference = [0x3F80 + 3 * k for k in range(19)]
    content = list(reference)
    for at, move in ((0, 1), (2, -2), (3, 1), (17, 1)):
        content[at] += move
    bank = Bank(1, [fit({0: 1})], masks=[fit({0: 1})], precision=4)
    return example(BF16, MASK, content, reference, bank, lanes=0, scale_base=-20)
