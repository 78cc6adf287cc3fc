# SPDX-License-Identifier: MIT-0
"""§6.6 Index. Faults inside an index may go unseen by a decoder that does not use it."""

from assemble.elements import BF16, BYTES
from assemble.records import BIND, CHUNK, LAYOUT, PROFILE, Index, Kind, Stream
from assemble.substreams import RESIDUAL, Substream, fit_bank
from assemble.tables import fit

from .coded import blank_bank, pair
from .registry import reject, valid

CHUNKS = 6


def coded(segments, chunks=CHUNKS):
    """Chunks of 40 bf16 values against a reference, with a bank and a profile; an Index after each number of chunks."""
    content, reference = pair(BF16, 40 * chunks + 8)
    s = Stream(content, [reference], bank_slots=2, profile_slots=3)
    s.profile(1, [0, 4, -3, 2])
    s.layout([Kind(BF16, BF16), Kind(BYTES)], [(0, 40 * chunks, 1), (1, 16)])
    plans = []
    for _ in range(chunks):
        plans.append(s.code(0, 80, RESIDUAL, profiles=True))
        s.coded += 80
    s.coded = 0
    s.bind(1, fit_bank(blank_bank(BF16, RESIDUAL), plans, fit))
    for done, plan in enumerate(plans, 1):
        plan.slot = 1
        s.chunk(80, [plan])
        if done in segments:
            s.index()
    s.chunk(16, [Substream(0, content[-16:])])
    return s.index().end()


@valid("index", "ULP-IDX-01", "an Index of all records: Layout, Bind, Profile, seven chunks, six of them with a reference")
def _():
    return coded(())


@valid("index-segments", "ULP-IDX-01 ULP-IDX-02", "three segments; the second and third list Layout, Bind and Profile again")
def _():
    return coded((2, 5))


@valid("index-later-form", "ULP-IDX-03 ULP-REC-04", "an Index with all flags set and a content of another form")
def _():
    s = coded(())
    s.records[-2] = Index()
    s.records[-2].flags = 255
    s.records[-2].change = lambda entries: entries.clear()
    s.records[-2].tail = b"not what it was"
    return s


def index_of(s, nth=0):
    return [r for r in s.records if isinstance(r, Index)][nth]


def fault(name, ids, about, sibling="index", nth=0):
    """An Index with one fault, which a decoder that does not use it may leave unseen."""
    def register(change):
        @reject(f"index/{name}", f"baseline/{sibling}", ids, about, chunks=CHUNKS + 1, may_accept=True)
        def _(s):
            change(index_of(s, nth))
        return change
    return register


def entry(name, ids, about, sibling="index", nth=0):
    """The same, in the list of entries."""
    def register(change):
        @fault(name, ids, about, sibling, nth)
        def _(index):
            index.change = change
        return change
    return register


def first(entries, kind):
    return next(e for e in entries if e[0] == kind)


@fault("previous-itself", "ULP-IDX-02", "previous is the segment's own offset or later: a loop", "index-segments", 1)
def _(index):
    index.fields = {"previous": 1 << 40}


@fault("previous-not-index", "ULP-IDX-03", "previous leads to a Layout", "index-segments", 1)
def _(index):
    index.fields = {"previous": 24}


@fault("previous-missing", "ULP-IDX-01", "the chain ends although chunks are missing", "index-segments", 2)
def _(index):
    index.fields = {"previous": 0}


@fault("first-chunk", "ULP-IDX-01", "first_chunk is 2^64 − 1", "index-segments", 1)
def _(index):
    index.fields = {"first_chunk": (1 << 64) - 1}


@fault("content-offset", "ULP-IDX-01", "content_offset is 16 bytes off")
def _(index):
    index.fields = {"content_offset": 16}


@fault("content-offset-end", "ULP-IDX-02", "content_offset is 2^63 − 1")
def _(index):
    index.fields = {"content_offset": (1 << 63) - 1}


@fault("count", "ULP-IDX-01", "count is 65,535, there are seven chunks")
def _(index):
    index.chunks = 65535


@fault("tail", "ULP-IDX-02", "the body ends inside an entry")
def _(index):
    index.tail = b"\5\x80"


@fault("leb128-long", "ULP-IDX-02", "a LEB128 number not in its shortest form")
def _(index):
    index.tail = b"\1\x80\x00"


@fault("many-ranges", "ULP-IDX-02 ULP-IDX-03", "a chunk claims 2^63 reference ranges")
def _(index):
    index.tail = b"\5\x10\x10" + b"\x80" * 9 + b"\1"


@entry("type", "ULP-IDX-02", "an entry of type 2")
def _(entries):
    entries[0][0] = 2


@entry("distance", "ULP-IDX-02", "a chunk 15 bytes behind the one before")
def _(entries):
    entries[-1][1] = entries[-2][1] + 15


@entry("beyond", "ULP-IDX-02", "a chunk beyond the Index")
def _(entries):
    entries[-1][1] = 1 << 62


@entry("in-header", "ULP-IDX-02", "a record inside the Stream_Header")
def _(entries):
    entries[0][1] = 23


@entry("offset", "ULP-IDX-03", "a chunk one byte off")
def _(entries):
    entries[-2][1] += 1


@entry("other-type", "ULP-IDX-03", "the Bind is listed as a Profile")
def _(entries):
    first(entries, BIND)[0] = PROFILE


@entry("bank-slot", "ULP-IDX-03", "the Bind is listed for slot 0")
def _(entries):
    first(entries, BIND)[2] = 0


@entry("profile-slot", "ULP-IDX-02", "a Profile of slot 2^32 + 1")
def _(entries):
    first(entries, PROFILE)[2] = (1 << 32) + 1


@entry("length", "ULP-IDX-03", "lengths of two chunks are exchanged for others with the same sum")
def _(entries):
    for e, length in zip([e for e in entries if e[0] == CHUNK], (79, 81)):
        e[2] = length, e[2][1]


@entry("length-0", "ULP-IDX-02", "a chunk of no bytes")
def _(entries):
    e = first(entries, CHUNK)
    e[2] = 0, e[2][1]


@entry("length-large", "ULP-IDX-03", "a chunk of 2^32 − 1 bytes")
def _(entries):
    e = first(entries, CHUNK)
    e[2] = (1 << 32) - 1, e[2][1]


@entry("exchanged", "ULP-IDX-03", "the list leaves out a chunk, and lists the one before twice as long")
def _(entries):
    chunks = [e for e in entries if e[0] == CHUNK]
    entries.remove(chunks[1])
    chunks[0][2] = 160, chunks[0][2][1]


@entry("layout-missing", "ULP-IDX-01", "the Layout is not listed")
def _(entries):
    entries.remove(first(entries, LAYOUT))


@entry("begun", "ULP-IDX-03", "the Layout is said to begin elsewhere", "index-segments", 1)
def _(entries):
    first(entries, LAYOUT)[2] = 0


@entry("begun-before", "ULP-IDX-02", "the Layout is said to begin before the content")
def _(entries):
    first(entries, LAYOUT)[2] = 1


@entry("bind-missing", "ULP-IDX-01", "the second segment does not list the Bind that is still in force", "index-segments", 1)
def _(entries):
    entries.remove(first(entries, BIND))


@entry("profile-missing", "ULP-IDX-01", "the Profile is not listed")
def _(entries):
    entries.remove(first(entries, PROFILE))


@entry("range-0", "ULP-IDX-02", "a reference range of no bytes")
def _(entries):
    first(entries, CHUNK)[2][1][0] = 0, 0, 0


@entry("range-end", "ULP-IDX-02", "a reference range that ends beyond 2^63 − 1")
def _(entries):
    first(entries, CHUNK)[2][1][0] = 0, (1 << 63) - 8, 8


@reject("index/crc", "baseline/index", "ULP-REC-03", "the CRC of an Index does not match", chunks=CHUNKS + 1)
def _(s):
    index_of(s).body_crc = 1


@reject("index/too-short", "baseline/index", "ULP-REC-03", "an Index of length 3", chunks=CHUNKS + 1)
def _(s):
    index = index_of(s)
    index.body = lambda state: b"\0\0\0"
