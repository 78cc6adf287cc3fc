# SPDX-License-Identifier: MIT-0
"""Element types (§2) and the conversion of references (§2.1), with values as exact integers."""
import struct
from functools import lru_cache


class Type:
    """One row of the table of §2."""

    def __init__(self, number, name, w, bias=0, m=0, e=0, signed=False):
        self.number, self.name, self.w, self.bias, self.m, self.e, self.signed = number, name, w, bias, m, e, signed
        self.is_float = e > 0
        self.code = {8: "B", 16: "H", 32: "I", 64: "Q"}[w]

    def pack(self, values):
        return struct.pack(f"<{len(values)}{self.code}", *values)

    def unpack(self, data):
        return list(struct.unpack(f"<{len(data) * 8 // self.w}{self.code}", data))

    def exponent(self, u, shift=0):
        """The exponent field of a pattern that lost `shift` low bits."""
        return u >> (self.m - shift) & (1 << self.e) - 1

    # the patterns of +infinity (or the one after the largest finite value) and of the quiet NaN
    @property
    def infinity(self):
        return 0x7F if self.name == "f8_e4m3" else (1 << self.e) - 1 << self.m

    def is_nan(self, u):
        u &= (1 << self.w - 1) - 1
        return u == 0x7F if self.name == "f8_e4m3" else u > self.infinity

    def value(self, u):
        """The value of a non-negative pattern in units of 2^-1200, as if its exponent field were an ordinary one."""
        exponent, mantissa = u >> self.m, u & (1 << self.m) - 1
        if exponent:
            mantissa |= 1 << self.m
        return mantissa << max(exponent, 1) - self.bias - self.m + 1200


BYTES = Type(1, "bytes", 8)
U8, I8 = Type(2, "u8", 8), Type(3, "i8", 8, signed=True)
U16, I16 = Type(4, "u16", 16), Type(5, "i16", 16, signed=True)
U32, I32 = Type(6, "u32", 32), Type(7, "i32", 32, signed=True)
U64, I64 = Type(8, "u64", 64), Type(9, "i64", 64, signed=True)
E4M3, E5M2 = Type(10, "f8_e4m3", 8, 7, 3, 4), Type(11, "f8_e5m2", 8, 15, 2, 5)
BF16, F16 = Type(12, "bf16", 16, 127, 7, 8), Type(13, "f16", 16, 15, 10, 5)
F32, F64 = Type(14, "f32", 32, 127, 23, 8), Type(15, "f64", 64, 1023, 52, 11)
TYPES = [BYTES, U8, I8, U16, I16, U32, I32, U64, I64, E4M3, E5M2, BF16, F16, F32, F64]
FLOATS = [t for t in TYPES if t.is_float]


@lru_cache(maxsize=None)
def convert(u, source, target):
    """§2.1: the nearest pattern is found by bisection over the target's patterns, which ascend with their values."""
    sign = u >> source.w - 1 << target.w - 1
    u &= (1 << source.w - 1) - 1
    if source.is_nan(u):
        if target is E4M3:
            return sign | 0x7F
        digits = f"{u & (1 << source.m) - 1:0{source.m}b}"[:target.m].ljust(target.m, "0")
        return sign | target.infinity | (int(digits, 2) or 1 << target.m - 1)
    if u == source.infinity and source is not E4M3:
        return sign | target.infinity
    return sign | nearest(source.value(u), target)


def nearest(value, target):
    """The non-negative pattern nearest to a value >= 0, ties to even, infinity (or NaN) beyond the largest finite."""
    low, high = 0, target.infinity                   # value(low) <= value < value(high)
    if value >= target.value(high):
        return target.infinity
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if target.value(middle) <= value else (low, middle)
    below, above = value - target.value(low), target.value(high) - value
    if below == above:
        return low if low % 2 == 0 else high
    return low if below < above else high
