# SPDX-License-Identifier: MIT-0
"""§6.2–§6.6: Bind, Profile, Metadata, Digest."""
import struct

from assemble.elements import BF16, U16
from assemble.records import EXTERNAL, METADATA, PROFILE, Kind, Record, Stream
from assemble.substreams import PLAIN, RESIDUAL, fit_bank
from assemble.tables import Bank, fit, flat

from .coded import blank_bank, coded_stream, pair
from .registry import reject, valid
from .streams import bytes_stream, one_of


def place(s, kind, nth=0):
    return [i for i, r in enumerate(s.records) if r.kind == kind][nth]


# --- Bind

@valid("bind-last-slot", "ULP-BND-01", "the last of 64 bank slots, bound before the Layout; slot 0 stays empty")
def _():
    s = coded_stream(PLAIN, n=60, header={"bank_slots": 64}, options={"slot": 0})
    s.records.insert(0, s.records.pop(1))
    s.records[0].count = 63
    s.records[2].substreams[0].bank = 63
    return s


@valid("rebind", "ULP-SUB-04", "a slot is bound three times: unused, then for the first chunk, then, with another class, for "
       "the second")
def _():
    content, reference = pair(BF16, 80)
    s = Stream(content, [reference], bank_slots=1)
    s.layout([Kind(BF16, BF16)], [(0, 80)])
    first, second = blank_bank(BF16, RESIDUAL), blank_bank(BF16, PLAIN)
    one = s.code(0, 80, RESIDUAL)
    fit_bank(first, [one], fit)
    s.bind(0, Bank(0, [flat(256)])).bind(0, first).chunk(80, [one])
    two = s.code(0, 80, PLAIN)
    return s.bind(0, fit_bank(second, [two], fit)).chunk(80, [two]).end()


@valid("bind-unused-mask-tables", "ULP-BNK-01 ULP-SUB-06", "a bank of mask tables only, which nothing uses")
def _():
    s = bytes_stream(bank_slots=1)
    s.records.insert(0, Stream().bind(0, Bank(0, [], masks=[flat(256), flat(3)], mask_base=-5)).records[0])
    return s


@reject("bind/slot", "baseline/bind-last-slot", "ULP-BND-01", "slot 64 of 64 is bound")
def _(s):
    s.records[0].count = 64


@reject("bind/no-slots", "baseline/raw-hello", "ULP-BND-01", "slot 0 is bound although there are no slots")
def _(s):
    s.records.insert(0, Record(3, Bank(0, [flat(256)]).body()))


@reject("bind/external", "baseline/bind-last-slot", "ULP-BND-02", "a bank outside of the stream that nobody has",
        error_class="unsupported", message="digest")
def _(s):
    s.records[0].flags, s.records[0].payload = EXTERNAL, bytes(range(32)) + struct.pack("<H", 7)


@reject("bind/external-unused", "baseline/raw-hello", "ULP-BND-02", "a bank outside of the stream that nothing uses",
        error_class="unsupported", message="digest")
def _(s):
    s.header["bank_slots"] = 1
    s.records.insert(0, Record(3, bytes(34), EXTERNAL))


for _size in (33, 35):
    @reject(f"bind/external-length-{_size}", "baseline/bind-last-slot", "ULP-REC-05", f"an external bind whose body is "
            f"{_size} bytes and a CRC")
    def _(s, size=_size):
        s.records[0].flags, s.records[0].payload = EXTERNAL, bytes(size)


@reject("bind/flag-2", "baseline/bind-last-slot", "ULP-REC-04", "reserved flag 2 of a Bind", error_class="unsupported")
def _(s):
    s.records[0].flags = 2


@reject("bind/body-crc", "baseline/bind-last-slot", "ULP-REC-03", "the body CRC of a Bind does not match")
def _(s):
    s.records[0].body_crc = 1 << 24


# --- Profile

def profiled(method=RESIDUAL, element=BF16, values=((3, -8, 40, -2),), rice=2, columns_of=((4, 0),), n=None, **options):
    """Spans of (rows of columns) elements with the profile of a slot, None for a span without."""
    spans = [(0, count, slot) for count, slot in columns_of]
    total = sum(count for count, _ in columns_of)
    content, reference = pair(element, total)
    s = Stream(content, [reference] if method != PLAIN else [], bank_slots=1, profile_slots=len(values))
    for slot, v in enumerate(values):
        s.profile(slot, list(v), rice)
    s.layout([Kind(element, element if method != PLAIN else None)], spans)
    bank = blank_bank(element, method, tables=8, element_steps=[5, 9, 3, 11, 2, 30, 7], element_base=-20)
    length = len(content)
    halves = [length // 3 // 8 * 8, length - length // 3 // 8 * 8]
    plans, at = [], 0
    for part in halves:
        s.coded = at
        plans.append(s.code(0, part, method, profiles=True, **options))
        at += part
    s.coded = 0
    s.bind(0, fit_bank(bank, plans, fit))
    for part, plan in zip(halves, plans):
        s.chunk(part, [plan])
    return s.end()


@valid("profile-residual", "ULP-SUB-07 ULP-PRF-01", "rows of four columns; the second chunk begins inside a row")
def _():
    return profiled(columns_of=((150, 0),), values=((3, -8, 40, -2, 17),))


@valid("profile-some-spans", "ULP-SUB-07", "spans with two profiles, with one and without; columns count from each span's "
       "first element")
def _():
    return profiled(columns_of=((21, 1), (30, None), (50, 0), (7, 1)), values=((3, -8, 40), (-30, 9, 0, 1, 2, 3, 60)))


@valid("profile-plain-u16", "ULP-SUB-07 ULP-PRF-01", "PLAIN of u16: the profile selects the table of each column")
def _():
    return profiled(PLAIN, U16, columns_of=((100, 0),), values=((-20, -10, 0, 10, 25),))


@valid("profile-one-column", "ULP-PRF-01", "a profile of one column")
def _():
    return profiled(columns_of=((40, 0),), values=((77,),))


for _rice in range(8):
    @valid(f"profile-rice-{_rice}", "ULP-PRF-01", f"a profile with Rice parameter {_rice} and the values −128 and 127")
    def _(rice=_rice):
        return profiled(columns_of=((60, 0),), values=((0, -128, 127, 1, -1, 5, -64, 63),), rice=rice)


@valid("profile-replaced", "ULP-PRF-02", "a profile slot is filled anew between two chunks")
def _():
    s = profiled(columns_of=((96, 0),), values=((3, -8, 40, -2, 17),))
    other = [k + 4 for k in (3, -8, 40, -2, 17)]
    second = s.records[-2]
    s.records.insert(-2, Stream().profile(0, other).records[0])
    # with scale_base less by 4, the sums are the same
    second.substreams[0].scale_base -= 4
    return s


@valid("profile-zeros", "ULP-SUB-07", "two profiles of zeros only")
def _():
    return profiled(columns_of=((21, 1), (50, 0)), values=((0, 0, 0), (0,)))


@valid("profile-unfilled", "ULP-SUB-07", "a RESIDUAL substream without PROFILES whose span names a slot that is never filled")
def _():
    return coded_stream(RESIDUAL, n=60, header={"profile_slots": 4}, layout=[(0, 60, 3)])


@valid("profile-unused", "ULP-PRF-01", "a profile that nothing uses")
def _():
    s = bytes_stream(profile_slots=1)
    s.records.insert(0, Stream().profile(0, [3, -8, 40, -2, 17], 6).records[0])
    return s


def profile_record(s):
    return one_of(s, PROFILE)


@reject("profile/slot", "baseline/profile-unused", "ULP-PRF-01", "slot 1 of 1 is filled", chunks=1)
def _(s):
    profile_record(s).count = 1


@reject("profile/columns-0", "baseline/profile-unused", "ULP-PRF-01", "a profile of no columns", chunks=1)
def _(s):
    profile_record(s).payload = struct.pack("<IB", 0, 2)


for _columns in ((1 << 20) + 1, (1 << 32) - 1):
    @reject(f"profile/columns-{_columns}", "baseline/profile-one-column", "ULP-PRF-01", f"{_columns} columns")
    def _(s, columns=_columns):
        record = profile_record(s)
        record.payload = struct.pack("<I", columns) + record.payload[4:]


@reject("profile/rice-8", "baseline/profile-unused", "ULP-PRF-01", "Rice parameter 8", chunks=1)
def _(s):
    s.records[0] = Stream().profile(0, [3, -8, 40, -2, 17], 8).records[0]


for _rice, _value in ((0, 128), (7, 128), (3, -129)):
    @reject(f"profile/value-{_value}-rice-{_rice}", f"baseline/profile-rice-{_rice}", "ULP-PRF-01", f"a value of {_value}")
    def _(s, rice=_rice, value=_value):
        record = Stream().profile(0, [0, value, 127, 1, -1, 5, -64, 63], rice).records[0]
        s.records[place(s, PROFILE)] = record


@reject("profile/padding", "baseline/profile-residual", "ULP-PRF-01", "a padding bit after the values is set")
def _(s):
    record = profile_record(s)
    record.payload = record.payload[:-1] + bytes([record.payload[-1] | 0x80])


@reject("profile/left-over", "baseline/profile-residual", "ULP-PRF-01", "a zero byte after the values")
def _(s):
    profile_record(s).payload += b"\0"


@reject("profile/cut", "baseline/profile-residual", "ULP-PRF-01", "the last byte of the values is missing")
def _(s):
    profile_record(s).payload = profile_record(s).payload[:-1]


@reject("profile/flag", "baseline/profile-residual", "ULP-REC-04", "reserved flag 1 of a Profile", error_class="unsupported")
def _(s):
    profile_record(s).flags = 1


@reject("profile/body-crc", "baseline/profile-residual", "ULP-REC-03", "the body CRC of a Profile does not match")
def _(s):
    profile_record(s).body_crc = 2


# --- Metadata

@valid("metadata", "ULP-MET-01", "metadata before, between and after the chunks: values empty and binary, a record of no "
       "pairs, keys of two bytes a character")
def _():
    s = bytes_stream(chunks=(4, 7))
    between = Stream().metadata((b"step", b"1600"), ("Schlüssel".encode(), bytes(range(256))))
    between.metadata((b"run", b"")).metadata().metadata((b"s", b"x" * 3000))
    for at, record in zip((0, 2, 3, 6), between.records):
        s.records.insert(at, record)
    return s


@reject("metadata/key-empty", "baseline/metadata", "ULP-MET-01", "a key is empty")
def _(s):
    s.records[0] = Stream().metadata((b"step", b"1600"), (b"", b"1")).records[0]


@reject("metadata/key-not-utf-8", "baseline/metadata", "ULP-MET-01", "a key is not UTF-8")
def _(s):
    s.records[0] = Stream().metadata((b"step\xff", b"1600")).records[0]


@reject("metadata/key-surrogate", "baseline/metadata", "ULP-MET-01", "a key has a surrogate, which UTF-8 does not encode")
def _(s):
    s.records[0] = Stream().metadata((b"\xed\xa0\x80", b"1600")).records[0]


@reject("metadata/key-twice", "baseline/metadata", "ULP-MET-01", "a key twice in one record")
def _(s):
    s.records[0] = Stream().metadata((b"step", b"1600"), (b"step", b"1600")).records[0]


@reject("metadata/key-twice-in-stream", "baseline/metadata", "ULP-MET-01", "a key in the first record and in the last",
        chunks=2)
def _(s):
    s.records[place(s, METADATA, 3)] = Stream().metadata((b"step", b"1601")).records[0]


@reject("metadata/count-low", "baseline/metadata", "ULP-MET-01", "count is 1, there are two pairs")
def _(s):
    s.records[0].count = 1


@reject("metadata/count-high", "baseline/metadata", "ULP-MET-01", "count is 3, there are two pairs")
def _(s):
    s.records[0].count = 3


@reject("metadata/value-length", "baseline/metadata", "ULP-MET-01", "the length of a value points beyond the body")
def _(s):
    s.records[0].count = 1
    s.records[0].payload = struct.pack("<H1sI", 1, b"k", (1 << 32) - 1) + b"v"


@reject("metadata/flag", "baseline/metadata", "ULP-REC-04", "reserved flag 1 of a Metadata record",
        error_class="unsupported")
def _(s):
    s.records[0].flags = 1


@reject("metadata/body-crc", "baseline/metadata", "ULP-REC-03", "the body CRC of a Metadata record does not match")
def _(s):
    s.records[0].body_crc = 1


# --- Digest

@valid("digest", "ULP-DIG-01", "the SHA-256 of the content after the last chunk")
def _():
    s = bytes_stream(chunks=(4, 7))
    s.records.pop()
    return s.digest().end()


@valid("digest-empty", "ULP-DIG-01", "the SHA-256 of an empty content")
def _():
    return Stream().digest().end()


@reject("digest/value", "baseline/digest", "ULP-DIG-01", "the digest is that of another content", chunks=2, may_accept=True)
def _(s):
    s.records[-2].xor = 1


@reject("digest/twice", "baseline/digest", "ULP-DIG-01", "two Digest records", chunks=2)
def _(s):
    s.records.insert(-1, s.records[-2])


@reject("digest/before-chunk", "baseline/digest", "ULP-DIG-01", "the Digest comes before the last chunk; its value is that "
        "of the content before it", chunks=1)
def _(s):
    s.records.insert(2, s.records.pop(3))


for _size in (31, 33):
    @reject(f"digest/length-{_size}", "baseline/digest", "ULP-REC-05", f"a digest of {_size} bytes", chunks=2)
    def _(s, size=_size):
        record = Record(0x83, bytes(size))
        s.records[-2] = record


@reject("digest/count", "baseline/digest", "ULP-REC-04", "count of a Digest is 1", chunks=2)
def _(s):
    s.records[-2].count = 1


@reject("digest/flag", "baseline/digest", "ULP-REC-04", "reserved flag 1 of a Digest", error_class="unsupported", chunks=2)
def _(s):
    s.records[-2].flags = 1


@reject("digest/body-crc", "baseline/digest", "ULP-REC-03", "the body CRC of a Digest does not match", chunks=2)
def _(s):
    s.records[-2].body_crc = 1
