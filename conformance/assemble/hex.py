# SPDX-License-Identifier: MIT-0
"""Commented hex: what `spec/examples` and `conformance/hex` are written in.

    # a comment, to the end of the line
    89 75 6C 70             bytes
    "text"                  bytes of ASCII text, without escapes
    u16 300  u32 7  i16 -8  a number in little-endian, of 8, 16, 32 or 64 bits
    [ … ]                   the bytes between, then their CRC32
    ( … )                   the CRC32 of the bytes between, in their place
    zeros 1000              so many zero bytes

A line of `= name: value` before the bytes says something of the file: `ids`, `about`, `content`, `reference` (repeatable), where a
content or reference is commented hex on one line.
"""
import re
import struct
from zlib import crc32

NUMBERS = {"u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q", "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q"}
TOKEN = re.compile(r'"[^"]*"|#.*|\S+')


def assemble(text):
    """The bytes of commented hex."""
    out, opened = bytearray(), []
    tokens = (t for line in text.splitlines() for t in TOKEN.findall(line) if not t.startswith("#"))
    for token in tokens:
        if token == "[":
            opened.append(len(out))
        elif token == "]":
            out += struct.pack("<I", crc32(out[opened.pop():]))
        elif token == "(":
            opened.append(len(out))
        elif token == ")":
            start = opened.pop()
            out[start:] = struct.pack("<I", crc32(out[start:]))
        elif token == "zeros":
            out += bytes(int(next(tokens)))
        elif token in NUMBERS:
            out += struct.pack(NUMBERS[token], int(next(tokens), 0))
        elif token.startswith('"'):
            out += token[1:-1].encode()
        else:
            assert re.fullmatch("[0-9A-Fa-f]{2}", token), f"{token!r} is no byte"
            out.append(int(token, 16))
    assert not opened, "a bracket is not closed"
    return bytes(out)


def parse(text):
    """({name: [values]}, bytes) of a file."""
    said = {}
    for name, value in re.findall(r"^= (\w+): (.*)$", text, re.MULTILINE):
        said.setdefault(name, []).append(value)
    return said, assemble(re.sub(r"^= .*$", "", text, flags=re.MULTILINE))
