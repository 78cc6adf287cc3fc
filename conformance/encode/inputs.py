# SPDX-License-Identifier: MIT-0
"""The inputs for encoders: contents and their references, made from seeds."""
import json
import struct

from assemble.elements import BF16, E4M3, E5M2, F16, F32, F64, FLOATS, I32, TYPES, U16, convert
from cases import data

INPUTS = []                                          # (name, about, content, references)


def add(name, about, content, *references):
    INPUTS.append((name, about, bytes(content), [bytes(r) for r in references]))


def safetensors(*tensors):
    """A safetensors file of (name, dtype, shape, bytes)."""
    header, at, body = {}, 0, b""
    for name, dtype, shape, content in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(content)]}
        at, body = at + len(content), body + content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def moved(element, n, seed, **moves):
    """(next, before) of n patterns."""
    before = data.weights(element, n, seed)
    return element.pack(data.step(element, before, seed + 1, **moves)), element.pack(before)


def make():
    if INPUTS:
        return INPUTS
    add("empty", "nothing", b"")
    for n in (1, 2, 3, 7, 63, 64, 65):
        add(f"bytes-{n}", f"{n} bytes of no pattern", data.noise(n, n))
    add("hello", "a short text", b"hello, ulp\n")
    add("zeros", "100,000 zero bytes", bytes(100_000))
    add("noise", "200,001 bytes that cannot be made smaller", data.noise(200_001, 5))
    add("noise-with-reference", "bytes that cannot be made smaller against others of that sort", data.noise(70_000, 6), data.noise(70_000, 7))
    add("text", "a text that repeats", b"".join(b"line %d of many\n" % (k % 97) for k in range(4000)))
    for element in TYPES[1:]:
        content, before = moved(element, 6000, 20 + element.number)
        add(f"{element.name}-step", f"{element.name} patterns and what a step made of them", content, before)
        add(f"{element.name}-plain", f"{element.name} patterns alone", content)
    for element in FLOATS:
        patterns = data.specials(element) * 40
        add(f"{element.name}-specials", "zeros, subnormal numbers, infinities, NaNs with payloads", element.pack(patterns),
            element.pack(patterns[7:] + patterns[:7]))
    content, before = moved(BF16, 9000, 50, changed=1)
    add("few-changed", "one bf16 number of eight has changed", content, before)
    add("equal", "the reference itself", before, before)
    add("reference-short", "a reference of half the length", content, before[:9000])
    add("reference-short-odd", "a reference that ends inside an element", content, before[:9001])
    add("reference-long", "a reference of twice the length", content, before + content)
    add("reference-empty", "an empty reference", content, b"")
    add("reference-moved", "the reference is preceded by 64 bytes", content, bytes(64) + before)
    add("reference-other", "a reference of other weights", content, moved(BF16, 9000, 51)[0])
    add("reference-of-f32", "bf16 numbers against the f32 numbers they were rounded from",
        BF16.pack([convert(u, F32, BF16) for u in data.weights(F32, 5000, 52)]), F32.pack(data.weights(F32, 5000, 52)))
    add("two-references", "the second of two references is the near one", content, data.noise(100, 8), before)
    add("odd-end", "f32 numbers and three bytes", *[x + b"abc" for x in moved(F32, 3000, 53)])
    add("odd-start", "five bytes and f64 numbers", *[b"abcde" + x for x in moved(F64, 3000, 54)])
    columns = [u for row in range(150) for u in data.step(F32, data.weights(F32, 64, 55), row, size=3)]
    add("rows", "a matrix whose columns differ in size", F32.pack(columns), F32.pack(data.step(F32, columns, 56)))

    def checkpoint(step):
        made = [("a.weight", "BF16", [64, 32], BF16, 60), ("a.bias", "F32", [64], F32, 61), ("b.weight", "F16", [40, 50], F16, 62),
                ("b.scale", "F8_E4M3", [100], E4M3, 63), ("c", "F8_E5M2", [9, 11], E5M2, 64), ("ids", "I32", [33], I32, 65),
                ("u", "U16", [5], U16, 66)]
        tensors = []
        for name, dtype, shape, element, seed in made:
            n = 1
            for side in shape:
                n *= side
            tensors.append((name, dtype, shape, moved(element, n, seed)[1 - step]))
        return safetensors(*tensors)
    add("safetensors", "a file of seven tensors against the one before", checkpoint(1), checkpoint(0))
    add("safetensors-plain", "a file of seven tensors", checkpoint(1))
    add("safetensors-cut", "a file that ends inside a tensor", checkpoint(1)[:3001], checkpoint(0))
    return INPUTS
