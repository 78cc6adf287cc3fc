# SPDX-License-Identifier: MIT-0
"""Frequency tables and banks (§9)."""
import struct

from .bits import BitWriter, zigzag

def table(frequencies):
    """A table of 256 frequencies from {symbol: frequency}; the sum is not checked, so that it can be wrong."""
    return [frequencies.get(s, 0) for s in range(256)]


def single(symbol):
    return table({symbol: 4096})


def flat(symbols):
    """All symbols below `symbols` as equal as 4096 allows; the lowest takes what is left over."""
    each = 4096 // symbols
    return table({s: each for s in range(symbols)} | {0: 4096 - each * (symbols - 1)})


def fit(counts, precision=12):
    """A legal table for {symbol: count}, each frequency with at most precision + 1 leading bits."""
    def down(f):
        lost = max(f.bit_length() - 1 - precision, 0)
        return max(f >> lost << lost, 1)
    total = sum(counts.values())
    rounded = {s: down(n * 4096 // total) for s, n in counts.items()}
    implied = min(counts, key=lambda s: (-rounded[s], s))
    while True:
        rest = 4096 - sum(f for s, f in rounded.items() if s != implied)
        # what rounding to few bits or to 1 took from or gave to the implied symbol must leave it the largest
        worst = max((f for s, f in rounded.items() if s != implied), default=0)
        if rest > worst:
            return table(rounded | {implied: rest})
        s = max((s for s in rounded if s != implied), key=lambda s: rounded[s])
        rounded[s] = down(rounded[s] - max(rounded[s] // 4, 1))


def write_table(out, frequencies, before, precision, last=None, implied=None, unary=None):
    """`last`, `implied` and `unary` ({symbol: ones}) replace what the frequencies ask for."""
    if last is None:
        last = max(s for s in range(256) if frequencies[s])
    if implied is None:
        implied = frequencies.index(max(frequencies))
    out.put(last, 8)
    out.put(implied, 8)
    classes = {}
    for s in range(last + 1):
        if s == implied:
            classes[s] = 12
            continue
        f = frequencies[s]
        c = classes[s] = f.bit_length()
        predicted = min(12, before[s].bit_length()) if before else classes[s - 2] if s >= 2 else 0
        out.unary(zigzag(c - predicted) if not unary or s not in unary else unary[s])
        if c >= 2:
            k = min(c - 1, precision)
            assert f >> (c - 1 - k) << (c - 1 - k) == f, "frequency needs more precision"
            out.put(f >> (c - 1 - k) & (1 << k) - 1, k)


class Bank:
    """A bank: its fields as given, its tables as lists of 256 frequencies."""

    def __init__(self, kind, elements, *, masks=(), scales=(), form=0, centre=0, window=0, precision=12,
                 mask_base=0, element_base=0, mask_steps=None, element_steps=None):
        self.kind, self.form, self.centre, self.window, self.precision = kind, form, centre, window, precision
        self.scales, self.masks, self.elements = list(scales), list(masks), list(elements)
        self.mask_base, self.element_base = mask_base, element_base
        self.mask_steps = [1] * (len(self.masks) - 1) if mask_steps is None else mask_steps
        self.element_steps = [1] * (len(self.elements) - 1) if element_steps is None else element_steps
        self.counts = None                           # (scale_tables, mask_tables, element_tables) as written
        self.written = {}                            # {(group, table): arguments of write_table}
        self.padding = 0
        self.fixed = False                           # tables are not to be fitted to what they code
        self.tail = b""

    @property
    def sign(self):
        return self.form & 1

    @property
    def top(self):
        return self.form >> 1 & 1

    @property
    def alphabet(self):
        return {1: 242, 3: 2 + (self.window << self.sign + self.top), 4: 1 + self.window ** 2}.get(self.kind, 256)

    def which(self, group, lam):
        """The index of the table that serves lambda in 'masks' or 'elements'."""
        base, steps = (self.mask_base, self.mask_steps) if group == "masks" else (self.element_base, self.element_steps)
        index, threshold = 0, base
        for i, step in enumerate(steps, 1):
            threshold += step
            if threshold <= lam:
                index = i
        return index

    def body(self):
        counts = self.counts or (len(self.scales), len(self.masks), len(self.elements))
        head = struct.pack("<8B2h", self.kind, self.form, self.centre, self.window, *counts, self.precision,
                           self.mask_base, self.element_base)
        out = BitWriter()
        for name, group in (("scales", self.scales), ("masks", self.masks), ("elements", self.elements)):
            before = None
            for i, frequencies in enumerate(group):
                write_table(out, frequencies, before, self.precision, **self.written.get((name, i), {}))
                before = frequencies
        return head + bytes(self.mask_steps) + bytes(self.element_steps) + out.bytes(self.padding) + self.tail
