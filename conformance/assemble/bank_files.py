# SPDX-License-Identifier: MIT-0
"""Bank files (§12.1) and the Binds that name them. Every field can be overridden."""
import hashlib
import struct
from zlib import crc32

from .records import BIND, EXTERNAL, Record


class Entry:
    """`element` and `method` are numbers; `length` is that of the bank when it is to be wrong."""

    def __init__(self, element, method, bank, block=0):
        self.element, self.method, self.block, self.bank = element, method, block, bank
        self.reserved, self.length, self.body = 0, None, None

    def bytes(self):
        body = self.bank.body() if self.body is None else self.body
        length = len(body) if self.length is None else self.length
        return struct.pack("<BBBBI", self.element, self.method, self.block, self.reserved, length) + body


class BankFile:
    def __init__(self, entries):
        self.entries = entries
        self.magic, self.version, self.draft, self.reserved = b"\x89ulb\r\n", 0, 1, 0
        self.count = self.length = None
        self.header_crc = self.crc = 0               # xor patterns
        self.before_crc = self.tail = b""            # bytes after the entries, and after all

    def bytes(self):
        entries = b"".join(e.bytes() for e in self.entries) + self.before_crc
        rest = entries + struct.pack("<I", crc32(entries) ^ self.crc) + self.tail
        head = self.magic + struct.pack("<BBHHI", self.version, self.draft,
                                        len(self.entries) if self.count is None else self.count, self.reserved,
                                        20 + len(rest) if self.length is None else self.length)
        return head + struct.pack("<I", crc32(head) ^ self.header_crc) + rest


class ExternalBind(Record):
    """Names a bank of a file by the digest that the file has when the stream is written."""

    def __init__(self, slot, file, number):
        super().__init__(BIND, b"", EXTERNAL, slot)
        self.file, self.number, self.xor = file, number, 0

    def body(self, state):
        digest = bytearray(hashlib.sha256(self.file.bytes()).digest())
        digest[0] ^= self.xor
        self.payload = bytes(digest) + struct.pack("<H", self.number)
        return super().body(state)
