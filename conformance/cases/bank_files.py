# SPDX-License-Identifier: MIT-0
"""§12 banks outside the stream."""
from assemble.bank_files import BankFile, Entry, ExternalBind
from assemble.elements import BF16, F32, U8
from assemble.records import BIND, Stream
from assemble.substreams import MASK, PLAIN, RESIDUAL
from assemble.tables import Bank, flat

from .coded import blank_bank, coded_stream, pair
from .registry import reject, valid


def outside(s, number, others):
    """Moves the bank in slot 0 of a stream into a file, between `others`."""
    at = next(i for i, r in enumerate(s.records) if r.kind == BIND)
    bank, kind = s.records[at].bank, s.kinds[0]
    method = next(c.substreams[0].method for c in s.records if hasattr(c, "substreams"))
    block = next(c.substreams[0].block for c in s.records if hasattr(c, "substreams"))
    entries = others[:number] + [Entry(kind.element.number, method, bank, block)] + others[number:]
    s.bank_files = [BankFile(entries)]
    s.records[at] = ExternalBind(0, s.bank_files[0], number)
    return s


def other_entries():
    plain = Bank(3, [flat(102)], form=2, centre=24, window=50)
    return [Entry(F32.number, PLAIN, plain), Entry(U8.number, PLAIN, Bank(0, [flat(256)]))]


@valid("external-plain", "ULP-BND-02 ULP-BND-03 ULP-BKF-01 ULP-BKF-02", "PLAIN with the only bank of a bank file")
def _():
    return outside(coded_stream(PLAIN, BF16, pair(BF16, 300)[0]), 0, [])


@valid("external-residual", "ULP-BND-02 ULP-BND-03 ULP-BKF-03", "RESIDUAL with the last of three banks of a file, which are of other "
       "element types and methods")
def _():
    return outside(coded_stream(RESIDUAL), 2, other_entries())


@valid("external-mask", "ULP-BND-02 ULP-BKF-03", "MASK with blocks of 256 and the bank between two others")
def _():
    content, reference = pair(BF16, 1500, changed=1)
    return outside(coded_stream(MASK, BF16, content, reference, options=lambda k, s, n: {
        "block": 8, "scales": [0] * ((n - 1 >> 8) + 1)}), 1, other_entries())


@valid("external-bound-again", "ULP-BND-02 ULP-BND-03", "a slot is bound to an external bank, used, and bound to another of the same file")
def _():
    s = coded_stream(PLAIN, BF16, pair(BF16, 300)[0], lengths=[200, 400], bank=blank_bank(BF16, PLAIN, tables=2))
    outside(s, 1, other_entries())
    at = next(i for i, r in enumerate(s.records) if r.kind == BIND)
    s.records.insert(at, ExternalBind(0, s.bank_files[0], 2))
    s.records.insert(-1, ExternalBind(0, s.bank_files[0], 0))
    return s


def fault(name, ids, about, sibling="baseline/external-residual", **options):
    """`change(file, stream)` puts the fault into the bank file of a valid vector."""
    def register(change):
        ids_of = ids if "BND" in ids else f"{ids} ULP-BKF-05"

        @reject(f"bankfile/{name}", sibling, ids_of, about, **options)
        def _(s):
            change(s.bank_files[0], s)
        return change
    return register


def setting(name, ids, about, error_class="invalid", **fields):
    @fault(name, ids, about, error_class=error_class)
    def _(file, _s):
        for field, value in fields.items():
            setattr(file, field, value)


def entry(name, about, error_class="invalid", number=0, **fields):
    @fault(name, "ULP-BKF-03", about, error_class=error_class)
    def _(file, _s):
        for field, value in fields.items():
            setattr(file.entries[number], field, value)


@fault("missing", "ULP-BND-02", "the bank file given is another", error_class="unsupported", message="digest")
def _(file, s):
    s.records[next(i for i, r in enumerate(s.records) if r.kind == BIND)].xor = 1


@fault("none", "ULP-BND-02", "no bank file is given", error_class="unsupported", message="digest")
def _(file, s):
    s.bank_files = []


@fault("number", "ULP-BND-03", "bank 3 of a file of three")
def _(file, s):
    s.records[next(i for i, r in enumerate(s.records) if r.kind == BIND)].number = 3


setting("magic", "ULP-BKF-01", "another magic", magic=b"\x89ulc\r\n")
setting("magic-of-streams", "ULP-BKF-01", "the magic of streams", magic=b"\x89ulp\r\n")
setting("version", "ULP-BKF-01", "version 1", "unsupported", version=1)
setting("draft", "ULP-BKF-01", "draft 2", "unsupported", draft=2)
setting("header-crc", "ULP-BKF-02", "the header's CRC does not match", header_crc=1)
setting("reserved", "ULP-BKF-02", "a reserved field that is not zero", "unsupported", reserved=256)
setting("count-0", "ULP-BKF-02", "no banks", count=0, entries=[])
setting("count-less", "ULP-BKF-04", "a count of two with three entries", count=2)
setting("count-more", "ULP-BKF-04", "a count of four with three entries", count=4)
setting("length-less", "ULP-BKF-02", "a length that is less than that of the file", length=100)
setting("tail", "ULP-BKF-02", "a byte after the closing CRC, which length counts", tail=b"\0")
setting("crc", "ULP-BKF-04", "the closing CRC does not match", crc=1 << 31)
setting("left-over", "ULP-BKF-04", "a zero byte after the entries", before_crc=b"\0")


@fault("count-1025", "ULP-BKF-02", "1025 banks")
def _(file, _s):
    file.entries += [Entry(U8.number, PLAIN, Bank(0, [flat(2)]))] * 1022


@fault("length-4194305", "ULP-BKF-02", "a length of 4,194,305")
def _(file, _s):
    file.length = 4_194_305


entry("element-0", "an entry of element type 0", "unsupported", element=0)
entry("element-16", "an entry of element type 16", "unsupported", element=16)
entry("method-6", "an entry of method 6", "unsupported", method=6)
entry("method-2", "an entry of method 2, SAME, whose bank would do for RESIDUAL", number=2, method=2)
entry("reserved-entry", "a reserved byte of an entry that is not zero", "unsupported", reserved=1)
entry("class-of-lengths", "a bank of relative exponents for an integer type", element=U8.number)
entry("class-of-exponents", "a bank of byte tokens for f32", number=1, element=F32.number)
entry("class-of-residuals", "a bank of relative exponents for RESIDUAL", method=RESIDUAL)
entry("mask-without-masks", "a bank without mask tables for MASK", number=2, method=MASK)
entry("block-4", "blocks of 16", number=2, block=4)
entry("block-21", "blocks of 2^21", number=2, block=21)
entry("block-7-of-masks", "blocks of 128 for MASK", number=2, method=MASK, block=7, body=Bank(
    1, [flat(112)], masks=[flat(256)], scales=[flat(200)]).body())
entry("block-without-scales", "blocks, and a bank without a scale table", block=8)
entry("no-elements", "a bank without element tables", number=1, body=Bank(0, [], masks=[flat(2)]).body())
entry("bank-padding", "a bank with a padding bit set", number=1, body=Bank(0, [flat(256)]).body() + b"\0")
entry("bank-cut", "a bank without its last byte", number=1, body=Bank(0, [flat(256)]).body()[:-1])
entry("bank-class-5", "a bank of class 5", "unsupported", number=1, body=b"\5" + Bank(0, [flat(256)]).body()[1:])


@fault("entry-length", "ULP-BKF-04", "an entry's length goes beyond the file")
def _(file, _s):
    file.entries[-1].length = 60_000


@fault("bank-too-long", "ULP-BKF-04", "a bank that no Bind record could hold")
def _(file, _s):
    file.entries[0].length = (1 << 16) - 3
