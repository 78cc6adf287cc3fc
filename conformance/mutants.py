#!/usr/bin/env python3
# SPDX-License-Identifier: MIT-0
"""Deliberate decoder mutants, each of which the corpus must kill.

    mutants.py [--run GLOB] [--jobs N] [--verbose]

A mutant is ulp_decode.py with one piece of text replaced: a check left out, a rule bent. It is killed by the first vector
that the changed decoder answers wrongly. The decoder itself must pass all. Checks that the spec leaves to the decoder (a
wrong Digest, a whole Reference, reference_crc where the content comes out right) have no mutants.
"""
import argparse
import fnmatch
import hashlib
import io
import multiprocessing
import sys
import types
from pathlib import Path

import run

SOURCE = (Path(__file__).resolve().parent / "ulp_decode.py").read_text()

# name: (text, replacement)
MUTANTS = {
    # --- the stream and its header
    "magic-unchecked": ('require(MAGIC.startswith(magic), "not a ulp stream")', "magic = MAGIC"),
    "version-unchecked": ('start[6:] == b"\\0\\1"', 'start[6:7] in b"\\0\\1\\xff" or True'),
    "draft-unchecked": ('start[6:] == b"\\0\\1"', 'start[6:7] == b"\\0"'),
    "version-invalid": ('draft {start[7]}", UNSUPPORTED)', 'draft {start[7]}")'),
    "version-after-crc": ('    require(start[6:] ==', '    start += source.read(16)\n'
                          '    require(crc32(start[:20]) == int.from_bytes(start[20:], "little"), "CRC")\n'
                          '    source.file = io_join(start[8:], source.file)\n    start = start[:8]\n    require(start[6:] =='),
    "header-crc-unchecked": ('require(crc32(data[:20]) == little(data[20:]), "Stream_Header CRC")', "pass"),
    "header-flags-unchecked": ("not flags & ~IN_PLACE and not reserved", "not reserved"),
    "header-high-flags-unchecked": ("not flags & ~IN_PLACE and not reserved", "not flags & 0xFF & ~IN_PLACE and not reserved"),
    "header-reserved-unchecked": ("not flags & ~IN_PLACE and not reserved", "not flags & ~IN_PLACE"),
    "header-reserved-invalid": ('"reserved field of the Stream_Header", UNSUPPORTED', '"reserved field of the Stream_Header"'),
    "feature-set-unchecked": ("features <= 2, f", "True, f"),
    "feature-set-after-ranges": ('    require(features <= 2, f"feature set {features}", UNSUPPORTED)\n', ""),
    "baseline-limits-ignored": ("MAXIMUM if features else BASELINE", "MAXIMUM"),
    "header-ranges-unchecked": ("chunk >= 1 and all(map(int.__le__, fields, most))", "chunk >= 1"),
    "chunk-length-0-allowed": ("chunk >= 1 and all(", "all("),
    "in-place-references-unchecked": ("not flags & IN_PLACE or references == 1", "True"),
    "trailing-bytes-ignored": ('require(start in (b"", MAGIC[:1]), "bytes after the End record")',
                               'start = start if start == MAGIC[:1] else b""'),
    "padding-unchecked": ('require(not start.strip(b"\\0"), "bytes after zero padding")', "pass"),
    "stream-after-padding": ("start = source.some(1 << 16)", "start = source.some(1)"),
    "padding-not-accepted": ('while start[:1] == b"\\0":', "while False:"),
    "one-stream-only": ("Stream(stream_header(start, source), source, references, out, bank_files).records()",
                        "Stream(stream_header(start, source), source, references, out, bank_files).records()\n        return"),
    "padding-forbids-more": ('start += source.some(5) if start else b""', "require(not start, 'one stream')"),
    "empty-input-accepted": ('require(start := source.some(6), "truncated: the input is empty")', "start = source.some(6)"),
    "truncation-accepted": ('require(len(data) == n, "truncated")', "exit_if(len(data) < n)"),
    "truncation-unnamed": ('"truncated")\n        return data', '"too short")\n        return data'),
    "encoded-length-of-file": ("source.at = len(start)", "source.at += 0"),
    # --- records
    "record-crc-unchecked": ('require(crc32(data[:8]) == crc, "Record_Header CRC")', "pass"),
    "record-crc-after-type": ('require(crc32(data[:8]) == crc, "Record_Header CRC")',
                              'require(kind <= 6 or kind & 0x80, "type", UNSUPPORTED)\n        require(crc32(data[:8]) == crc, "CRC")'),
    "critical-skipped": ("known or kind & 0x80, f", "True, f"),
    "critical-invalid": ('f"critical record of type {kind}", UNSUPPORTED', 'f"critical record of type {kind}"'),
    "ancillary-refused": ("known or kind & 0x80, f", "known or kind == INDEX, f"),
    "ancillary-flags-checked": ("        if known:\n", "        require(known or not flags, 'flags')\n        if known:\n"),
    "ancillary-count-checked": ("        if known:\n", "        require(known or not count, 'count')\n        if known:\n"),
    "index-refused": ("known or kind & 0x80, f", "kind != INDEX, f"),
    "record-flags-unchecked": ('require(not flags & ~FLAGS.get(kind, 0), "reserved record flag", UNSUPPORTED)', "pass"),
    "record-high-flag-unchecked": ("not flags & ~FLAGS.get(kind, 0)", "not flags & 0x7F & ~FLAGS.get(kind, 0)"),
    "record-flags-invalid": ('"reserved record flag", UNSUPPORTED', '"reserved record flag"'),
    "count-unchecked": ('require(count == 0 or kind not in (END, DIGEST), "count is not 0")', "pass"),
    "count-of-digest-unchecked": ("kind not in (END, DIGEST)", "kind != END"),
    "sizes-unchecked": ("length == SIZES.get(kind, length) and length <= most", "length <= most"),
    "limits-unchecked": ("length == SIZES.get(kind, length) and length <= most", "length == SIZES.get(kind, length)"),
    "body-crc-unchecked": ('require(other or crc32(body[:-4]) == little(body[-4:]), "record body CRC")', "pass"),
    "ancillary-body-crc-unchecked": ("require(other or crc32(body[:-4])", "require(other or not known or crc32(body[:-4])"),
    # --- End
    "end-crc-unchecked": ("crc32(body[:36]) == crc and body[40:] == CLOSING_MAGIC", "body[40:] == CLOSING_MAGIC"),
    "closing-magic-unchecked": ("crc32(body[:36]) == crc and body[40:] == CLOSING_MAGIC", "crc32(body[:36]) == crc"),
    "end-too-early": ('require(self.produced == self.described, "End before all output of the Layout")', "pass"),
    "chunk-count-unchecked": ("(chunks, length, content_crc) == (self.chunks, self.produced, self.content_crc)",
                              "(length, content_crc) == (self.produced, self.content_crc)"),
    "content-length-unchecked": ("(chunks, length, content_crc) == (self.chunks, self.produced, self.content_crc)",
                                 "(chunks, content_crc) == (self.chunks, self.content_crc)"),
    "end-content-crc-unchecked": ("(chunks, length, content_crc) == (self.chunks, self.produced, self.content_crc)",
                                  "(chunks, length) == (self.chunks, self.produced)"),
    "encoded-length-unchecked": ("(encoded, index) == (self.source.at, self.index)", "index == self.index"),
    "index-offset-unchecked": ("(encoded, index) == (self.source.at, self.index)", "encoded == self.source.at"),
    "index-offset-0-allowed": ("(encoded, index) == (self.source.at, self.index)",
                               "encoded == self.source.at and index in (0, self.index)"),
    "index-of-first": ("self.index = start if kind == INDEX else", "self.index = start if kind == INDEX and not self.index else"),
    # --- references
    "reference-index-unchecked": ('require(count < self.reference_count, "reference index is out of range")\n        late',
                                  "count = min(count, self.reference_count - 1)\n        late"),
    "sampled-late-allowed": ('late = not whole and (count, "named") in self.seen', "late = False"),
    "reference-record-twice": ("not late and (count, whole) not in self.seen", "not late"),
    "chunk-after-whole": ('[(count, whole)] + ["no more chunks"] * whole', "[(count, whole)]"),
    "sampled-length-unchecked": ('require(not self.references[count].read(1), f"reference {count} does not match: it is too long")',
                                 "pass"),
    "sampled-crc-unchecked": ('require(crc == identity, f"reference {count} does not match")', "pass"),
    "sampled-pieces-of-15": ("for k in range(16)]", "for k in range(15)]"),
    "sampled-spacing": ("k * (length - 4096) // 15", "k * ((length - 4096) // 15)"),
    "sampled-spacing-16": ("k * (length - 4096) // 15", "k * (length - 4096) // 16"),
    "sampled-from-65535": ("length >= 65536", "length >= 65535"),
    "whole-like-sampled": ("if not whole and length >= 65536", "if length >= 65536"),
    "reference-needed-for-raw": ("if substreams[part.kind].uses_reference:", "if part.reference is not None:"),
    "reference-padded": ('require(offset + length <= end, f"reference {index} does not match: it is too short")\n'
                         "        self.references[index].seek(offset)\n        return self.references[index].read(length)",
                         "self.references[index].seek(offset)\n"
                         "        return self.references[index].read(length).ljust(length, b'\\0')"),
    "reference-damage": ('require(crc == reference_crc, "reference does not match")', "pass"),
    "reference-crc-of-none-unchecked": ('require(crc == reference_crc, "reference does not match")',
                                        'require(crc == reference_crc or not any(s.uses_reference for s in substreams.values()), '
                                        '"reference does not match")'),
    "reference-crc-by-kind": ("for part in parts:\n            if sub", "for part in sorted(parts, key=lambda p: p.kind):\n            if sub"),
    # --- Layout
    "layout-too-early": ('require(self.produced == self.described, "Layout before', 'require(True, "Layout before'),
    "kinds-65": ("1 <= count <= 64", "1 <= count <= 65"),
    "spans-65537": ("len(self.spans) < 65536", "len(self.spans) < 65537"),
    "spans-65535": ("len(self.spans) < 65536", "len(self.spans) < 65535"),
    "no-spans": ("while not self.spans or body.at", "while body.at"),
    "span-kind-unchecked": ("head & 63 < count and elements >= 1", "elements >= 1"),
    "span-empty": ("head & 63 < count and elements >= 1", "head & 63 < count"),
    "span-profile-unchecked": ("profile is None or profile < self.profile_slots", "True"),
    "span-offset-without-reference": ("not head & 0x40 or other and away", "not head & 0x40 or away"),
    "span-offset-0": ("not head & 0x40 or other and away", "not head & 0x40 or other"),
    "output-range-unchecked": ('require(output + size < 1 << 63, "output range")', "pass"),
    "output-wraps": ('require(output + size < 1 << 63, "output range")', "size %= 1 << 64"),
    "output-end-included": ("output + size < 1 << 63", "output + size <= 1 << 63"),
    "reference-range-unchecked": ('require(0 <= begin and finish < 1 << 63, "reference range")', "begin %= 1 << 64"),
    "reference-end-included": ("0 <= begin and finish < 1 << 63", "0 <= begin and finish <= 1 << 63"),
    "reference-wraps": ("begin = cursors[reference] + away", "begin = (cursors[reference] + away) % (1 << 64)"),
    "in-place-unchecked": ("not self.flags & IN_PLACE or (other.w, begin)", "True or (other.w, begin)"),
    "in-place-width-unchecked": ("(other.w, begin) == (element.w, output)", "begin == output"),
    "in-place-offset-unchecked": ("(other.w, begin) == (element.w, output)", "other.w == element.w"),
    "cursors-from-0": ("[self.produced] * self.reference_count", "[0] * self.reference_count"),
    "cursor-by-output": ("finish = grown[reference] = begin", "finish = begin"),
    "cursor-stays": ("grown = [cursor + size for cursor in cursors]", "grown = list(cursors)"),
    "cursor-only-without-reference": ("grown = [cursor + size for cursor in cursors]",
                                      "grown = list(cursors) if other else [cursor + size for cursor in cursors]"),
    "offset-not-zigzag": ("unzigzag(body.leb128()) if head & 0x40", "body.leb128() if head & 0x40"),
    "offset-before-profile": ("profile = body.leb128() if head & 0x80 else None",
                              "raw = [body.leb128() for _ in range((head >> 7) + (head >> 6 & 1))]\n"
                              "            profile = raw.pop() if head & 0x80 else None\n"
                              "            if raw:\n                body.leb128 = lambda: body.__dict__.pop('leb128') and raw.pop()"),
    "kind-reserved-unchecked": ('require(not reserved, "reserved byte of a kind", UNSUPPORTED)', "pass"),
    "kind-reserved-invalid": ('"reserved byte of a kind", UNSUPPORTED', '"reserved byte of a kind"'),
    "element-types-invalid": ('{other_number}", UNSUPPORTED', '{other_number}"'),
    "reference-type-unknown": ("element and (other or other_number == 0)", "element"),
    "reference-types-unchecked": ('require(not other or other == element or (other.e and element.e), "reference type does not fit")',
                                  "pass"),
    "reference-types-by-width": ("not other or other == element or (other.e and element.e)", "not other or other.w == element.w or other.e and element.e"),
    "reference-type-of-integers": ("(other.e and element.e)", "bool(other.e) == bool(element.e)"),
    "kind-reference-unchecked": ("reference < self.reference_count if other else reference == 0", "True"),
    "kind-reference-without-type": ("reference < self.reference_count if other else reference == 0",
                                    "not other or reference < self.reference_count"),
    "leb128-padded": ('require(byte or k == 1, "LEB128 is not in its shortest form")', "pass"),
    "leb128-of-zero-refused": ("byte or k == 1", "byte"),
    "leb128-wraps": ('require(k <= 10 and value < 1 << 64, "LEB128 is too long")',
                     'value %= 1 << 64\n            require(k <= 10, "long")'),
    "layout-element-0": ("require(element and (other or other_number == 0)", "element = element or ELEMENTS[1]\n        require((other or other_number == 0)"),
    # --- slots
    "bank-slot-unchecked": ('require(count < self.bank_slots, "bank slot is out of range")', "pass"),
    "bind-external-ignored": ('require(banks, f"the bank file {digest} is not at hand", UNSUPPORTED)', "if not banks: return"),
    "bind-external-invalid": ("is not at hand\", UNSUPPORTED)", "is not at hand\", INVALID)"),
    "bind-external-unnamed": ("the bank file {digest} is", "a bank file is"),
    "bind-external-length": ('require(len(body.data) == 34, "length of an external Bind")', "pass"),
    "bind-once": ("self.banks[count] = banks[number] if external else Bank(body)",
                  "self.banks.setdefault(count, banks[number] if external else Bank(body))"),
    "profile-slot-unchecked": ("count < self.profile_slots and 1 <= columns", "1 <= columns"),
    "profile-columns-0": ("1 <= columns <= 1 << 20", "columns <= 1 << 20"),
    "profile-rice-8": ("rice <= 7", "rice <= 8"),
    "profile-values-unchecked": ("body.ones(255 >> rice)", "body.ones(1000)"),
    "profile-sum-unchecked": ('require(sum(map(len, self.profiles.values())) <= 1 << 20, "too many columns")', "pass"),
    "profile-sum-of-all": ("sum(map(len, self.profiles.values())) <= 1 << 20", "self.__dict__.setdefault('columns', []).append(columns) or sum(self.columns) <= 1 << 20"),
    "profile-once": ("self.profiles[count] = values", "self.profiles.setdefault(count, values)"),
    "profile-not-finished": ("for _ in range(columns)]\n        body.finish()", "for _ in range(columns)]"),
    "padding-bits-unchecked": ('require(self.at % 8 == 0 or self.data[-1] >> self.at % 8 == 0, "padding bit is set")', "pass"),
    "left-over-unchecked": ('require((self.at + 7) // 8 == len(self.data), "record body is too long")', "pass"),
    "rice-high-first": ("body.ones(255 >> rice) << rice | body.bits(rice)", "body.bits(rice) | body.ones(255 >> rice) << rice"),
    "metadata-sum-unchecked": ('require(self.metadata_bytes <= LIMITS[METADATA], "too much metadata")', "pass"),
    "metadata-sum-low": ("self.metadata_bytes <= LIMITS", "self.metadata_bytes < LIMITS"),
    "metadata-key-empty": ("key and key not in self.keys and", "key not in self.keys and"),
    "metadata-key-twice": ("key and key not in self.keys and", "key and"),
    "metadata-key-bytes": ('and key == key.decode(errors="ignore").encode()', ""),
    "metadata-not-finished": ("self.keys.add(key)\n        body.finish()", "self.keys.add(key)"),
    "metadata-ignored": ("METADATA: self.metadata, ", ""),
    "digest-twice": ("DIGEST not in self.seen and", ""),
    "chunk-after-digest": ('self.seen.update([DIGEST, "no more chunks"])', "self.seen.add(DIGEST)"),
    # --- Chunk
    "chunk-crc-unchecked": ('require(crc32(body[:size]) == little(body[size:size + 4]), "Chunk CRC")', "pass"),
    "chunk-crc-late": ('        require(crc32(body[:size]) == little(body[size:size + 4]), "Chunk CRC")\n', ""),
    "output-offset-unchecked": ("offset == self.produced and 1 <= length", "1 <= length"),
    "output-length-0": ("1 <= length <= self.max_chunk_length", "length <= self.max_chunk_length"),
    "output-length-unchecked": ("1 <= length <= self.max_chunk_length", "1 <= length"),
    "chunk-beyond-layout": ('require(offset + length <= self.described, "Chunk outside of the output of the Layout")', "pass"),
    "substreams-fewer": ("count == len(kinds :=", "count <= len(kinds :="),
    "substreams-more": ("count == len(kinds :=", "count >= len(kinds :="),
    "kinds-in-order-of-use": ("kinds := sorted({part.kind for part in parts})", "kinds := list(dict.fromkeys(part.kind for part in parts))"),
    "chunk-data-left-over": ("sum(h.length for h in headers) == len(body) - size - 4", "sum(h.length for h in headers) <= len(body) - size - 4"),
    "content-crc-unchecked": ('require(crc32(content) == content_crc, "content CRC")', "pass"),
    "release-before-check": ('require(crc32(content) == content_crc, "content CRC")',
                             'self.out.write(content); require(crc32(content) == content_crc, "content CRC"); content_kept = content'),
    "cut-elements-absolute": ("(low - first) % width == (high - first) % width == 0", "low % width == high % width == 0 or width == 2"),
    # --- Substream
    "method-invalid": ('f"method {h.method}", UNSUPPORTED', 'f"method {h.method}"'),
    "method-unchecked": ('require(h.method <= PLAIN, f"method {h.method}", UNSUPPORTED)', "pass"),
    "substream-flags-unchecked": ('require(not h.flags & ~PROFILES, "reserved substream flag", UNSUPPORTED)', "pass"),
    "substream-flags-invalid": ('"reserved substream flag", UNSUPPORTED', '"reserved substream flag"'),
    "method-without-reference": ('require(self.other or not self.uses_reference, "method needs a reference")', "pass"),
    "raw-fields-unchecked": ('require(h[1:7] == (0,) * 6, "field of a substream without bank is not 0")', "pass"),
    "raw-bank-unchecked": ("h[1:7] == (0,) * 6", "h[2:7] == (0,) * 5"),
    "raw-scale-base-unchecked": ("h[1:7] == (0,) * 6", "h[1:6] == (0,) * 5"),
    "raw-length-unchecked": ('require(h.length == (self.n * w // 8, w // 8, 0)[h.method], "length of a substream")', "pass"),
    "block-unchecked": ('require(block == 0 or (8 if method == MASK else 5) <= block <= 20, "block")', "pass"),
    "block-low-unchecked": ("(8 if method == MASK else 5) <= block <= 20", "block <= 20"),
    "block-of-masks": ("(8 if method == MASK else 5) <= block <= 20", "5 <= block <= 20"),
    "block-21": ("<= block <= 20", "<= block <= 21"),
    "block-19": ("<= block <= 20", "<= block <= 19"),
    "lanes-unchecked": ("h.lanes <= 5 and h.length", "h.length"),
    "length-of-states-unchecked": ("h.lanes <= 5 and h.length >= 4 << h.lanes", "h.lanes <= 5"),
    "built-in-invalid": ('f"built-in bank {h.bank - 128}", UNSUPPORTED', 'f"built-in bank {h.bank - 128}"'),
    "built-in-unchecked": ('require(h.bank < 128 + len(built_in()), f"built-in bank {h.bank - 128}", UNSUPPORTED)',
                           "h = h._replace(bank=min(h.bank, 127 + len(built_in())))"),
    "built-in-reversed": ("built_in()[h.bank - 128]", "built_in()[127 - h.bank]"),
    "bank-default": ("stream.banks.get(h.bank)", "stream.banks.get(h.bank, next(iter(stream.banks.values()), None))"),
    "bank-class-unchecked": ('require(self.kind == (4 if pairs else fits), "class of the bank does not fit")', "pass"),
    "shift-unchecked": ('require(h.shift <= (0 if w == 8 else self.element.m - bank.top if is_float else w - 1), "shift")', "pass"),
    "shift-of-8-bits": ("(0 if w == 8 else self.element.m - bank.top", "(self.element.m - bank.top"),
    "shift-top-unchecked": ("self.element.m - bank.top if is_float", "self.element.m if is_float"),
    "shift-m-refused": ("self.element.m - bank.top if is_float", "self.element.m - 1 if is_float"),
    "scale-table-unchecked": ("and (self.scales or not block) and", "and"),
    "mask-table-unchecked": ("and (self.masks or method != MASK)", ""),
    "element-table-unchecked": ("require(self.elements and (self.scales", "require((self.scales"),
    "profiles-without-profile": ("not profiles or any(part.profile is not None for part in parts)", "True"),
    "profile-slot-empty": ('require(not profiles or part.profile in profiles, "profile slot is empty")', "pass"),
    "profile-without-flag": ("if h.flags & PROFILES else {}", "if True else {}"),
    "profile-needs-filled-slots": ("not profiles or part.profile in profiles", "part.profile is None or part.profile in stream.profiles"),
    "profile-from-chunk": ("range(part.first, part.first + part.elements)", "range(part.elements)"),
    # --- bank files
    "bank-file-magic-unchecked": ('require(data[:6] == b"\\x89ulb\\r\\n", "not a bank file")', "pass"),
    "bank-file-version-unchecked": ('require(data[6:8] == b"\\0\\1", "version or draft of a bank file", UNSUPPORTED)', "pass"),
    "bank-file-draft-unchecked": ('data[6:8] == b"\\0\\1"', 'data[6:7] == b"\\0"'),
    "bank-file-version-invalid": ('"version or draft of a bank file", UNSUPPORTED', '"version or draft of a bank file"'),
    "bank-file-header-crc-unchecked": ("len(data) >= 24 and crc32(data[:16]) == little(data[16:20])", "len(data) >= 24"),
    "bank-file-reserved-unchecked": ('require(not reserved, "reserved field of a bank file", UNSUPPORTED)', "pass"),
    "bank-file-reserved-invalid": ('"reserved field of a bank file", UNSUPPORTED', '"reserved field of a bank file"'),
    "bank-file-count-unchecked": ("1 <= count <= 1024 and size", "size"),
    "bank-file-count-0": ("1 <= count <= 1024 and size", "count <= 1024 and size"),
    "bank-file-length-unchecked": ("size == len(data) <= 1 << 22", "True"),
    "bank-file-crc-unchecked": ('require(crc32(data[20:-4]) == little(data[-4:]), "bank file CRC")', "pass"),
    "bank-file-element-unchecked": ("number in ELEMENTS and method <= PLAIN and not reserved", "method <= PLAIN and not reserved"),
    "bank-file-entry-reserved-unchecked": ("number in ELEMENTS and method <= PLAIN and not reserved", "number in ELEMENTS and method <= PLAIN"),
    "bank-file-entry-invalid": ('"entry of a bank file", UNSUPPORTED', '"entry of a bank file"'),
    "bank-file-method-same": ("method >= RESIDUAL and length + 4", "length + 4"),
    "bank-file-use-unchecked": ("        banks[-1].check_use(ELEMENTS[number], method, block)\n", ""),
    "bank-file-left-over": ("    body.finish()\n    return banks", "    return banks"),
    "external-number-unchecked": ('require(number < len(banks), "number of an external bank")', "number = min(number, len(banks) - 1)"),
    "external-first-bank": ("banks[number] if external", "banks[0] if external"),
    "external-any-file": ("self.bank_files.get(digest := body.bytes(32).hex())",
                          "self.bank_files.get(digest := body.bytes(32).hex(), next(iter(self.bank_files.values()), None))"),
    # --- banks
    "bank-class-5": ('require(self.kind <= 4, f"bank class {self.kind}", UNSUPPORTED)', "self.kind = min(self.kind, 2)"),
    "bank-class-invalid": ('f"bank class {self.kind}", UNSUPPORTED', 'f"bank class {self.kind}"'),
    "form-unchecked": ("form <= 3 and window >= 1", "window >= 1"),
    "window-0": ("form <= 3 and window >= 1 and", "form <= 3 and"),
    "window-unchecked": ("window >= 1 and alphabet <= 256", "window >= 1"),
    "form-of-others": ("(form, self.centre, window) == (0, 0, 0)", "(self.centre, window) == (0, 0)"),
    "centre-of-others": ("(form, self.centre, window) == (0, 0, 0)", "(form, window) == (0, 0)"),
    "window-of-others": ("(form, self.centre, window) == (0, 0, 0)", "(form, self.centre) == (0, 0)"),
    "scale-tables-2": ("in_range = scales <= 1 and", "in_range ="),
    "precision-0": ("1 <= precision <= 12", "precision <= 12"),
    "precision-13": ("1 <= precision <= 12", "1 <= precision <= 13"),
    "tables-33": ("1 <= masks + elements <= 32", "1 <= masks + elements <= 33"),
    "tables-32-each": ("1 <= masks + elements <= 32", "1 <= masks + elements and masks <= 32 and elements <= 32"),
    "tables-31": ("1 <= masks + elements <= 32", "1 <= masks + elements <= 31"),
    "tables-0": ("1 <= masks + elements <= 32", "masks + elements <= 32"),
    "mask-base-unchecked": ("and (masks or not bases[0])", ""),
    "element-base-unchecked": ("and (elements or not bases[1])", ""),
    "steps-0": ("all(steps) and sum(steps) <= 255", "sum(steps) <= 255"),
    "steps-sum": ("all(steps) and sum(steps) <= 255", "all(steps)"),
    "steps-sum-254": ("sum(steps) <= 255", "sum(steps) <= 254"),
    "thresholds-exclusive": ("bisect_right(thresholds, v)", "bisect_left(thresholds, v)"),
    "thresholds-of-elements": ("self.thresholds[group]", 'self.thresholds["elements"]'),
    "below-first-threshold": ("max(bisect_right(thresholds, v) - 1, 0)", "(bisect_right(thresholds, v) - 1)"),
    "alphabet-240": ("{1: 242, 3:", "{3:"),
    "alphabet-without-esc": ("{1: 242, 3:", "{1: 240, 3:"),
    "esc-base": ("[0, 1] * 8 if r == 2", "[0, 0] * 8 if r == 2"),
    "esc-raw-bits": ("[self.w - 1] * 16", "[self.w] * 16"),
    "esc-shift": ("[self.w - 1] * 16", "[element.w - 1] * 16"),
    "alphabet-255": ("last < alphabet", "last < min(alphabet, 255)"),
    "alphabet-unchecked": ("implied <= last < alphabet", "implied <= last"),
    "implied-unchecked": ("implied <= last < alphabet", "last < alphabet"),
    "class-13-predicted": ("min(before[s].bit_length(), 12)", "before[s].bit_length()"),
    "class-of-implied": ("    classes[implied] = 12\n", ""),
    "class-of-implied-true": ("classes[s - 2] if s >= 2 else 0", "(0 if s - 2 == implied else classes[s - 2]) if s >= 2 else 0"),
    "class-from-one-before": ("classes[s - 2] if s >= 2 else 0", "classes[s - 1] if s >= 1 else 0"),
    "class-never-from-table-before": ("min(before[s].bit_length(), 12) if before else", ""),
    "class-from-other-group": ('found = [()]\n        for _ in range(count):\n            found.append(table(body, found[-1], alphabet, precision))',
                               "found = [getattr(body, 'before', ())]\n        for _ in range(count):\n            body.before = table("
                               "body, found[-1], alphabet, precision)\n            found.append(body.before)"),
    "class-unchecked": ('require(0 <= c <= 12, "class of a frequency")', "c = classes[s] = frequencies[s] = max(c, 0)"),
    "unary-23": ("body.ones(24)", "body.ones(23)"),
    "precision-ignored": ("k = min(c - 1, precision)", "k = c - 1"),
    "precision-one-more": ("k = min(c - 1, precision)", "k = min(c - 1, precision + 1)"),
    "last-zero": ("frequencies[last] and f >= 1", "f >= 1"),
    "implied-zero": ("frequencies[last] and f >= 1 and f > lower and f >= higher", "frequencies[last]"),
    "implied-not-lowest": ("f > lower and f >= higher", "f >= lower and f >= higher"),
    "implied-not-highest": ("f > lower and f >= higher", "f > lower"),
    "implied-strictly-highest": ("f > lower and f >= higher", "f > lower and f > max(frequencies[implied + 1:], default=0)"),
    "sum-above-4096": ("f = frequencies[implied] = 4096 - sum(frequencies)\n    lower, higher = max(frequencies[:implied], default=0), "
                       "max(frequencies[implied:])\n    require(frequencies[last] and f >= 1 and f > lower and f >= higher,",
                       "f = frequencies[implied] = max(4096 - sum(frequencies), 1)\n    require(frequencies[last],"),
    "bank-padding": ("for group in groups]\n        body.finish()", "for group in groups]"),
    # --- conversion of references
    "convert-truncates": ("rounded += 2 * rest > 1 << down or (2 * rest == 1 << down and rounded & 1)", "pass"),
    "convert-half-up": ("(2 * rest == 1 << down and rounded & 1)", "2 * rest == 1 << down"),
    "convert-half-down": (" or (2 * rest == 1 << down and rounded & 1)", ""),
    "convert-flushes-subnormals": ("    if not significand:\n", "    if not significand or not exponent:\n"),
    "convert-flushes-results": ("    return sign | min(((leading", "    if leading == 1 - b.bias and rounded >> b.m == 0:\n        return sign\n    return sign | min(((leading"),
    "convert-saturates": ("+ rounded, infinity)", "+ rounded, infinity - 1)"),
    "convert-nan-quiet": ("or 1 << (b.m - 1)\n", "| 1 << (b.m - 1)\n"),
    "convert-nan-payload-low": ("mantissa >> max(a.m - b.m, 0) << max(b.m - a.m, 0)", "(mantissa & (1 << min(a.m, b.m)) - 1) << max(b.m - a.m, 0)"),
    "convert-nan-to-infinity": ("or 1 << (b.m - 1)\n", "\n"),
    "convert-nan-sign": ("return sign | infinity | (payload", "return infinity | (payload"),
    "convert-f8-infinity": ('infinity = 0x7F if no_infinity else', "infinity = 0x7E if no_infinity else"),
    "convert-f8-ieee": ('(a.name != "f8_e4m3" or mantissa == 7)', "True"),
    "convert-zero-sign": ("    if not significand:\n        return sign", "    if not significand:\n        return 0"),
    # --- symbols
    "scales-not-clamped": ("previous = clamp16(previous + unzigzag(symbol - 1)) if", "previous = previous + unzigzag(symbol - 1) if"),
    "scales-zigzag-of-symbol": ("unzigzag(symbol - 1)", "unzigzag(symbol)"),
    "scales-zero-resets": ("if symbol else previous\n", "if symbol else self.header.scale_base\n"),
    "lambda-not-clamped": ("else clamp16(b - k) for", "else b - k for"),
    "lambda-clamped-first": ("else clamp16(b - k) for", "else clamp16(clamp16(b) - k) for"),
    "lambda-subnormal": ("max(u >> self.m & (1 << self.element.e) - 1, 1)", "(u >> self.m & (1 << self.element.e) - 1)"),
    "lambda-m-unshifted": ("- self.element.bias - self.m)", "- self.element.bias - self.element.m)"),
    "lambda-of-integers": ("if self.uses_reference and self.element.e:", "if self.uses_reference:"),
    "residual-inward": ("else (ring - u) - o & ring", "else (ring - u) + o & ring"),
    "residual-order": ("(u ^ top) + o & ring if u < top", "u + o & ring if u < top"),
    "residual-integers-signed": ("new = u + (o := unzigzag(self.z(token, raw))) & ring",
                                 "new = u + (o := unzigzag(self.z(token, raw))) * (-1 if u >= top and self.element.signed else 1) & ring"),
    "ring-unchecked": ('require(z >> self.w == 0, "z is outside of the ring")', "pass"),
    "shift-reference-kept": ("reference = [u >> shift for u in unpack(element, reference)]", "reference = [u >> shift << 0 if method != RESIDUAL else u for u in unpack(element, reference)]"),
    "shift-not-undone": ("[u << shift for u in patterns]", "[u << shift if method != PLAIN else u for u in patterns]"),
    "tokens-of-class-1": ("r = {1: 2, 2: 1}", "r = {1: 1, 2: 1}"),
    "tokens-of-class-2": ("r = {1: 2, 2: 1}", "r = {1: 2, 2: 2}"),
    "raw-bits-from-0": ("self.bank.z_base[token] | raw << 1", "self.bank.z_base[token] | raw"),
    "plain-signed": ("if element.signed else z)", "if False else z)"),
    "plain-unsigned": ("if element.signed else z)", "if True else z)"),
    "plain-exponent-unchecked": ('require(0 <= exponent < 1 << element.e, "exponent is out of range")', "exponent &= (1 << element.e) - 1"),
    "plain-lambda-truncated": ("(lam >> 2)", "int(lam / 4)"),
    "plain-centre": ("- bank.centre\n", "+ bank.centre\n"),
    "plain-sign-low": ("rest & 1 if bank.sign else raw >> low", "rest & 1 if bank.sign else raw & 1"),
    "plain-top-above-sign": ("sign, top = rest & 1 if bank.sign", "sign, top = rest >> bank.top if bank.sign"),
    "pairs-without-feature-set": ("self.banks[count].kind < 4 or self.features >= 2", "True"),
    "pairs-from-feature-set-1": ("self.features >= 2", "self.features >= 1"),
    "pairs-with-profiles": ('require(bank.kind < 4 or not h.flags, "PROFILES with pairs")', "pass"),
    "pairs-block-unchecked": ('require(not pairs or block != 5, "block of pairs")', "pass"),
    "pairs-of-any-width": ("element.e > 0 and element.w in (16, 32)", "element.e > 0"),
    "pairs-of-integers": ("method == PLAIN and element.e > 0 and element.w", "method == PLAIN and element.w"),
    "pairs-of-residuals": ("self.kind == 4 and method == PLAIN and", "self.kind == 4 and"),
    "pairs-form-unchecked": ("(self.kind == 3 or form == 0)", "True"),
    "pairs-alphabet-unchecked": ("4: 1 + window * window}", "}"),
    "pairs-swapped": ("            patterns += pair\n", "            patterns += pair[::-1]\n"),
    "pairs-exponents-swapped": ("divmod(token - 1, bank.window)]", "divmod(token - 1, bank.window)[::-1]]"),
    "pairs-raws-swapped": ("divmod(raw, 1 << (m + 1))[::-1]", "divmod(raw, 1 << (m + 1))"),
    "pairs-escape-swapped": ("divmod(raw, 1 << w)[::-1]", "divmod(raw, 1 << w)"),
    "pairs-exponent-unchecked": ('require(all(0 <= e < 1 << element.e for e in exponents), "exponent of a pair is out of range")',
                                 "exponents = [e & (1 << element.e) - 1 for e in exponents]"),
    "pairs-one-exponent-unchecked": ("for e in exponents), \"exponent of a pair", "for e in exponents[:1]), \"exponent of a pair"),
    "pairs-copy-unchecked": ('require(self.n % 2 == 0 or patterns[-1] == patterns[-2], "copy of the last element is another")', "pass"),
    "plain-esc-needs-window": ("            elif token < 2:\n", "            elif token == 1 and 0 <= (raw >> m & (1 << element.e) - 1) - element.bias - (lam >> 2)"
                               " + bank.centre < 10:\n                raise Reject('ESC', 2)\n            elif token < 2:\n"),
    "plain-zero-canonical": ("                patterns.append(sign <<", "                require(sign or exponent or top or raw, 'zero')\n                patterns.append(sign <<"),
    "mask-absent-bits": ('require(symbols[-1] >> len(groups[-1]) == 0, "bit of an absent element is set")', "pass"),
    "mask-bits-high-first": ("symbols[i >> 3] >> (i & 7) & 1]", "symbols[i >> 3] >> (7 - (i & 7)) & 1]"),
    "mask-smallest-lambda": ("else max(group) for", "else min(group) for"),
    "mask-first-lambda": ("else max(group) for", "else group[0] for"),
    "mask-elements-numbered": ("zip(differ, self.residual([lambdas[i] for i in differ], [reference[i] for i in differ]))",
                               "((i, u) for i, u in enumerate(self.residual([lambdas[i] if i in set(differ) else None for i in range(self.n)],"
                               " reference)) if i in set(differ))"),
    "mask-zero-residual-refused": ("            new = u + (o", "            require(token or self.header.method != MASK, 'equal')\n            new = u + (o"),
    # --- entropy coder
    "state-low": ('require(min(self.states) >= 1 << 16, "state below 2^16")', "pass"),
    "final-states-unchecked": ("set(coder.states) == {1 << 16} and coder.at", "coder.at"),
    "final-state-of-lane-0": ("set(coder.states) == {1 << 16}", "coder.states[0] == 1 << 16"),
    "words-left-over": (" and coder.at == len(coder.words)", ""),
    "half-word": ('require((len(data) - 4 * lanes) % 2 == 0, "half a word")', "data = data[:len(data) // 2 * 2]"),
    "words-of-zero": ('require(self.at < len(self.words), "words run out")', "self.words += (0,) * (self.at >= len(self.words))"),
    "words-big-endian": ('f"<{len(data) // 2 - 2 * lanes}H"', 'f">{len(data) // 2 - 2 * lanes}H"'),
    "lanes-reversed": ("        for k in active:\n            if self.states", "        for k in reversed(active):\n            if self.states"),
    "renormalise-at-once": ("symbols[k], frequency, rest = tables[k][x & 4095]\n                states[k - row] = frequency * (x >> 12) + rest\n",
                            "symbols[k], frequency, rest = tables[k][x & 4095]\n                states[k - row] = frequency * (x >> 12) + rest\n"
                            "                if raw_bits and raw_bits[symbols[k]]:\n                    self.renormalise(row, [k])\n"),
    "raw-high-first": ("raws[k] |= (states[k - row] & (1 << t) - 1) << done", "raws[k] = raws[k] << t | (states[k - row] & (1 << t) - 1)"),
    "raw-passes-of-8": ("t = min(raw_bits[symbols[k]] - done, 16)", "t = min(raw_bits[symbols[k]] - done, 8)"),
    "raw-lane-by-lane": ("while raw_bits and (active := [k for k in active if raw_bits[symbols[k]] > done]):",
                         "for active, done in [([k], n) for k in active for n in range(0, raw_bits[symbols[k]] if raw_bits else 0, 16)]:"),
}
# those that only one of the slow vectors of generated/large can kill
NEED_LARGE = {"spans-65537", "spans-65535", "profile-sum-unchecked", "profile-sum-of-all", "metadata-sum-unchecked",
              "metadata-sum-low"}
HELPERS = '''
from bisect import bisect_left
import io
def io_join(data, file):
    return io.BytesIO(data + file.read())
def exit_if(short):
    if short:
        raise EOFError
'''


def decoder(source):
    """The module of a decoder's source text."""
    module = types.ModuleType("mutant")
    exec(compile(HELPERS + source, "mutant", "exec"), module.__dict__)
    return module


def answer(module, vector, limit=1 << 27):
    """(status, output, message) as the command would give them."""
    out = io.BytesIO()
    references = [io.BytesIO((run.HERE / r).read_bytes()) for r in vector["references"]]
    try:
        files = [(run.HERE / b).read_bytes() for b in vector.get("banks", ())]
        banks = {hashlib.sha256(data).hexdigest(): module.bank_file(data) for data in files}
        module.file(module.Source(io.BytesIO(vector["bytes"])), references, out, banks)
    except module.Reject as error:
        return error.args[1], out.getvalue(), error.args[0]
    except EOFError:
        return 0, out.getvalue(), ""
    except Exception as error:
        return 1, out.getvalue(), f"{type(error).__name__}: {error}"
    return 0, out.getvalue(), ""


def killer(name):
    """(mutant, the name of the first vector that it fails, what it says), None if it passes all."""
    text, replacement = MUTANTS[name]
    assert SOURCE.count(text) == 1, f"{name}: the text occurs {SOURCE.count(text)} times"
    module = decoder(SOURCE.replace(text, replacement))
    for vector in vectors:
        if vector["name"].startswith("generated") and name not in NEED_LARGE:
            continue
        problem = run.verdict(vector, *answer(module, vector))
        if problem:
            return name, vector["name"], problem
    return name, None, None


vectors = []


def load():
    vectors.extend(sorted(run.load(lambda n: not n.startswith("generated/") or n.startswith("generated/large/")),
                          key=lambda v: (v["name"].startswith("generated"), len(v["bytes"]))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="*", metavar="GLOB")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count(), metavar="N")
    parser.add_argument("--verbose", action="store_true", help="name the vector that kills each")
    options = parser.parse_args()
    load()
    original = decoder(SOURCE)
    wrong = [v["name"] for v in vectors if run.verdict(v, *answer(original, v))]
    if wrong:
        sys.exit(f"the decoder itself fails {', '.join(wrong)}")
    chosen = [name for name in MUTANTS if fnmatch.fnmatch(name, options.run)]
    alive = 0
    with multiprocessing.Pool(options.jobs) as pool:
        for name, vector, problem in pool.imap(killer, chosen):
            alive += vector is None
            if vector is None:
                print(f"ALIVE {name}", flush=True)
            elif options.verbose:
                print(f"{name}: killed by {vector}: {problem}", flush=True)
    print(f"{len(chosen) - alive} killed, {alive} alive")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
