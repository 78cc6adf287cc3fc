# SPDX-License-Identifier: MIT-0
"""The entropy coder (§11) run backwards."""
import struct


class Step:
    """One step of a phase: a symbol of a table (a list of frequencies) and `n` raw bits."""

    def __init__(self, frequencies, symbol, raw=0, n=0):
        assert frequencies[symbol], f"symbol {symbol} has no frequency"
        assert raw >> n == 0
        self.frequency, self.cumulative = frequencies[symbol], sum(frequencies[:symbol])
        self.raw, self.n = raw, n


def operations(phases, lanes):
    """(lane, step, pass) in the order in which a decoder takes them and then renormalises; pass None is the token."""
    for steps in phases:
        for row in range(0, len(steps), lanes):
            present = [(i, step) for i, step in enumerate(steps[row:row + lanes]) if step]
            yield [(lane, step, None) for lane, step in present]
            for k in range(max((-(-step.n // 16) for _, step in present), default=0)):
                yield [(lane, step, k) for lane, step in present if step.n > 16 * k]


def encode(phases, lanes, early=(), final=None):
    """(states, words) of phases: lists of steps, None for those that do not take place.

    `final`: {lane: state at the end} where it is not to be 2^16. `early`: lanes whose state at the start is to be less
    than 2^16, which a decoder that does not look brings back into its range with the first word.
    """
    states, words = [(final or {}).get(lane, 1 << 16) for lane in range(lanes)], []
    rows = list(operations(phases, lanes))
    for number in range(len(rows) - 1, -1, -1):
        for lane, step, k in reversed(rows[number]):
            x = states[lane]
            if k is None:
                limit = step.frequency << 20
            else:
                t = min(step.n - 16 * k, 16)
                limit = 1 << 32 - t
            if x >= limit or number == 0 and lane in early:
                words.append(x & 0xFFFF)
                x >>= 16
            if k is None:
                x = (x // step.frequency << 12) + x % step.frequency + step.cumulative
            else:
                x = x << t | step.raw >> 16 * k & (1 << t) - 1
            states[lane] = x
    return states, words[::-1]


def pack(states, words):
    return struct.pack(f"<{len(states)}I{len(words)}H", *states, *words)
