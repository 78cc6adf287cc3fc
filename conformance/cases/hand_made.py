# SPDX-License-Identifier: MIT-0
"""Vectors written by hand in commented hex: the files of hex/."""
from pathlib import Path

from assemble.hex import assemble, parse
from assemble.records import CHUNK

from .registry import valid

HEX = Path(__file__).resolve().parent.parent / "hex"


class HandMade:
    """What a vector asks of its stream, out of a file."""

    def __init__(self, path):
        said, self.data = parse(path.read_text())
        (self.about,), (self.ids,), (content,) = said["about"], said["ids"], said["content"]
        self.content = assemble(content)
        self.references = [assemble(r) for r in said.get("reference", [])]
        self.records, self.header = [], {}

    def bytes(self):
        return self.data

    def boundaries(self):
        """Found by the lengths of records and chunks, which the file is trusted to have right."""
        at, lengths, data = 24, [0], self.data
        while data[at:at + 1]:
            if data[at:at + 6] == data[:6]:
                at += 24
                continue
            if data[at] == CHUNK:
                lengths.append(lengths[-1] + int.from_bytes(data[at + 20:at + 24], "little"))
            if data[at] == 0:
                break
            at += 12 + int.from_bytes(data[at + 4:at + 8], "little")
        return lengths


for _path in sorted(HEX.glob("*.hex")):
    _made = HandMade(_path)
    valid(f"hex-{_path.stem}", _made.ids, _made.about)(lambda path=_path: HandMade(path))
