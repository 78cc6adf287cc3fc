# SPDX-License-Identifier: MIT-0
"""Bit strings, LEB128 and zigzag (§1.2)."""


def zigzag(v):
    return 2 * v if v >= 0 else -2 * v - 1


def leb128(value, length=0):
    """`length` pads with zero groups, which is not legal."""
    out = []
    while True:
        out.append(value & 127)
        value >>= 7
        if not value and len(out) >= length:
            break
    return bytes(b | 128 for b in out[:-1]) + bytes(out[-1:])


class BitWriter:
    """Collects a bit string, the first bit in the lowest of the first byte."""

    def __init__(self):
        self.digits = []

    def put(self, value, n):
        self.digits += [value >> k & 1 for k in range(n)]

    def unary(self, ones):
        self.digits += [1] * ones + [0]

    def bytes(self, padding=0):
        digits = self.digits + [padding] * (-len(self.digits) % 8)
        return bytes(sum(bit << k for k, bit in enumerate(digits[i:i + 8])) for i in range(0, len(digits), 8))
