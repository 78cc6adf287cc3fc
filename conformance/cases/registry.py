# SPDX-License-Identifier: MIT-0
"""What a vector is, and the list of all."""

from functools import cached_property
from hashlib import sha256

VECTORS = {}                                         # name -> Vector
REFERENCES = {}                                      # file name -> bytes
BANK_FILES = {}                                      # file name -> bytes


class Vector:
    """`make()` gives the Stream of a vector, fresh each time; `data()` its bytes."""

    def __init__(self, name, make, ids, about):
        assert name not in VECTORS, f"two vectors are called {name}"
        self.name, self.make, self.ids, self.about = name, make, ids.split(), about
        self.expect, self.error_class, self.message, self.sibling = "accept", None, None, None
        self.chunks = 0                              # how many chunks may be released by a decoder that rejects
        self.large = False                           # made by the runner, not kept in a file
        self.references = None                       # bytes of each, None: those of the stream
        VECTORS[name] = self

    def stream(self):
        """Fresh Streams, which a fault may be put into."""
        stream = self.make()
        return stream if isinstance(stream, list) else [stream]

    @cached_property
    def streams(self):
        """The Streams, not to be changed."""
        return self.stream()

    def entry(self, data, content, references):
        """The object of the manifest."""
        path = f"vectors/{self.name}.ulp"
        entry = {"name": self.name, "file": path, "sha256": digest(data), "ids": sorted(self.ids), "about": self.about,
                 "references": [f"vectors/references/{r}" for r in references], "expect": self.expect}
        names = [add_bank_file(f.bytes()) for s in self.streams for f in getattr(s, "bank_files", [])]
        if names:
            entry["banks"] = [f"vectors/banks/{n}" for n in names]
        if self.expect != "reject":
            entry["output"] = prefix(content)
        if self.expect == "accept":
            entry["boundaries"] = [prefix(content[:n]) for n in boundaries(self.streams)]
        if self.expect == "accept-or-unsupported":
            entry |= {"class": "unsupported", "released": [prefix(b"")]}
        if self.error_class:
            entry |= {"class": self.error_class, "released": [prefix(p) for p in self.released()],
                      "sibling": self.sibling}
        if self.message:
            entry["message"] = self.message
        return entry

    def released(self):
        """The prefixes of the truth that a decoder which rejects may have released."""
        streams = VECTORS[self.sibling].streams
        lengths = boundaries(streams)[:self.chunks + 1]
        assert len(lengths) == self.chunks + 1, f"{self.name}: fewer than {self.chunks} chunks"
        content = b"".join(s.content for s in streams)
        return [content[:n] for n in lengths]

    def build(self):
        """(bytes, content, reference names)"""
        streams = self.streams
        references = self.references
        if references is None:
            references = max((s.references for s in streams), key=len, default=[])
        names = [add_reference(data) for data in references]
        return b"".join(s.bytes() for s in streams), b"".join(s.content for s in streams), names


def digest(data):
    return sha256(data).hexdigest()


def prefix(data):
    return {"length": len(data), "sha256": digest(data)}


def boundaries(streams):
    """The lengths of content at the chunk boundaries of concatenated streams."""
    lengths = [0]
    for stream in streams:
        lengths += [lengths[-1] + n for n in stream.boundaries()[1:]]
    return lengths


def add_reference(data):
    """Files a reference under a name made from its hash."""
    name = f"{digest(data)[:12]}.bin"
    REFERENCES[name] = data
    return name


def add_bank_file(data):
    """Files a bank file under a name made from its hash."""
    name = f"{digest(data)[:12]}.ulpbank"
    BANK_FILES[name] = data
    return name


def valid(name, ids, about, extended=False, large=False):
    """Decorates the function that makes the Stream (or list of Streams) of a vector that must be accepted."""
    def register(make):
        vector = Vector(f"valid/{'extended' if extended else 'baseline'}/{name}", make, ids, about)
        vector.expect = "accept-or-unsupported" if extended else "accept"
        vector.large = large
        return make
    return register


def reject(name, sibling, ids, about, chunks=0, error_class="invalid", message=None, references=None,
           may_accept=False, large=False):
    """Decorates a function that puts one fault into the Stream of the valid vector `sibling`.

    `chunks`: how many chunks, counted over all streams, may be released. `references` replaces the files given.
    `may_accept`: a decoder may leave the fault unchecked.
    """
    area, _, short = name.rpartition("/")
    folder = {"unsupported": "unsupported", "limit": "limits"}.get(error_class, f"invalid/{area or 'limits'}")
    if error_class == "unsupported":
        short = f"{area}-{short}"

    def register(mutate):
        def make():
            streams = VECTORS[f"valid/{sibling}"].stream()
            changed = mutate(streams[0] if len(streams) == 1 else streams)
            return streams if changed is None else changed
        vector = Vector(f"{folder}/{short}", make, ids, about)
        vector.expect = "accept-or-reject" if may_accept else "reject"
        vector.error_class, vector.message, vector.sibling = error_class, message, f"valid/{sibling}"
        vector.references = references
        vector.chunks, vector.large = chunks, large
        return mutate
    return register
