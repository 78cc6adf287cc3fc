# SPDX-License-Identifier: MIT-0
"""§12.2 built-in banks. Their tables are taken from the published file; a vector uses each."""
import sys
from pathlib import Path

from assemble.records import BY_NUMBER, Kind, Stream
from assemble.substreams import MASK, PLAIN
from assemble.tables import Bank

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import ulp_decode  # noqa: E402

from .coded import fixed, pair
from .registry import reject, valid

FILE = (Path(__file__).resolve().parent.parent.parent / "spec/banks/builtin.ulpbank").read_bytes()


def built_in():
    """(element type, method, block, Bank) of each."""
    at, found = 20, []
    for parsed in ulp_decode.bank_file(FILE):
        element, method, block = FILE[at:at + 3]
        body = FILE[at + 8:at + 8 + int.from_bytes(FILE[at + 4:at + 8], "little")]
        at += 8 + len(body)
        steps = {g: [b - a for a, b in zip(t, t[1:])] for g, t in parsed.thresholds.items()}
        bases = {g: t[0] if t else 0 for g, t in parsed.thresholds.items()}
        bank = fixed(Bank(body[0], [list(t) for t in parsed.elements], masks=[list(t) for t in parsed.masks],
                          scales=[list(t) for t in parsed.scales], form=body[1], centre=body[2], window=body[3], precision=body[7],
                          mask_base=bases["masks"], element_base=bases["elements"], mask_steps=steps["masks"],
                          element_steps=steps["elements"]))
        assert bank.body() == body
        found.append((BY_NUMBER[element], method, block, bank))
    return found


for _number, (_element, _method, _block, _bank) in enumerate(built_in()):
    @valid(f"built-in-{_number}", "ULP-SUB-04 ULP-BKF-01", f"built-in bank {_number}, made for {_element.name} in method {_method}")
    def _(number=_number, element=_element, method=_method, block=_block, bank=_bank):
        content, reference = pair(element, 600, changed=2 if method == MASK else 8)
        references = [] if method == PLAIN else [reference]
        s = Stream(content, references)
        s.banks[128 + number] = bank
        s.layout([Kind(element, None if method == PLAIN else element)], [(0, 600)])
        options = {"block": block, "scales": [-20 + k * 3 for k in range((599 >> block) + 1)]} if block else {"scale_base": -20}
        coded = s.code(0, len(content), method, slot=128 + number, **options)
        return s.chunk(len(content), [coded]).end()


@reject("substream/built-in-unknown", "baseline/built-in-0", "ULP-SUB-04", "the first number that no built-in bank has",
        error_class="unsupported")
def _(s):
    next(r for r in s.records if hasattr(r, "substreams")).substreams[0].bank = 128 + len(built_in())


@reject("substream/built-in-class", "baseline/built-in-0", "ULP-SUB-04", "a built-in bank whose class does not fit")
def _(s):
    substream = next(r for r in s.records if hasattr(r, "substreams")).substreams[0]
    own = built_in()[substream.bank - 128][3].kind
    substream.bank = 128 + next(n for n, b in enumerate(built_in()) if b[3].kind != own)
