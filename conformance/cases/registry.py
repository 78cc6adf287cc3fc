# SPDX-License-Identifier: MIT-0
"""What a vector is, and the list of all."""

from hashlib import sha256

VECTORS = {}                                         # name -> Vector
REFERENCES = {}                                      # file name -> bytes


class Vector:
    """`make()` gives the Stream of a vector, fresh each time; `data()` its bytes."""

    def __init__(self, name, make, ids, about):
        assert name not in VECTORS, f"two vectors are called {name}"
        self.name, self.make, self.ids, self.about = name, make, ids.split(), about
        self.expect, self.error_class, self.message, self.sibling = "accept", None, None, None
        self.released = None                         # lengths of content that may be out, None: only all of it
        self.references = None                       # names in REFERENCES, None: those of the stream
        VECTORS[name] = self

    def stream(self):
        stream = self.make()
        return stream if isinstance(stream, list) else [stream]

    def build(self):
        """(bytes, content, reference names)"""
        streams = self.stream()
        names = self.references
        if names is None:
            names = [add_reference(data) for data in max((s.references for s in streams), key=len, default=[])]
        return b"".join(s.bytes() for s in streams), b"".join(s.content for s in streams), names


def boundaries(streams):
    """The lengths of content at the chunk boundaries of concatenated streams."""
    lengths = [0]
    for stream in streams:
        lengths += [lengths[-1] + n for n in stream.boundaries()[1:]]
    return lengths


def add_reference(data, name=None):
    """Files a reference under its name, or one made from its hash."""
    name = name or f"{sha256(data).hexdigest()[:8]}.bin"
    assert REFERENCES.get(name, data) == data
    REFERENCES[name] = data
    return name


def valid(name, ids, about, extended=False):
    """Decorates the function that makes the Stream (or list of Streams) of a vector that must be accepted."""
    def register(make):
        vector = Vector(f"valid/{'extended' if extended else 'baseline'}/{name}", make, ids, about)
        vector.expect = "accept-or-unsupported" if extended else "accept"
        return make
    return register


def reject(name, sibling, ids, about, chunks=0, error_class="invalid", message=None, references=None,
           may_accept=False):
    """Decorates a function that puts one fault into the Stream of the valid vector `sibling`.

    `chunks`: how many chunks, counted over all streams, may be released. `references` replaces the files given.
    `may_accept`: a decoder may leave the fault unchecked.
    """
    area, _, short = name.rpartition("/")
    folder = "unsupported" if error_class == "unsupported" else "limits" if error_class == "limit" else f"invalid/{area}"
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
        vector.released = boundaries(VECTORS[f"valid/{sibling}"].stream())[:chunks + 1]
        assert len(vector.released) == chunks + 1, f"{name}: fewer than {chunks} chunks"
        return mutate
    return register
