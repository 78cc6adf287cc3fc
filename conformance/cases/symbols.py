# SPDX-License-Identifier: MIT-0
"""§10 from elements to symbols."""
from assemble.substreams import MASK, PLAIN, RESIDUAL

from .coded import coded_stream
from .registry import reject, valid


@valid("small-reference", "ULP-REF-01 ULP-CHK-07 ULP-ENT-02", "two small RESIDUAL chunks of bf16 after a sampled reference")
def _():
    return coded_stream(RESIDUAL, n=24, lengths=[20, 28], options={"lanes": 1}, sampled=True)


@valid("residual-bf16", "ULP-SUB-04", "500 bf16 elements in 32 lanes")
def _():
    return coded_stream(RESIDUAL)


@valid("mask-bf16", "ULP-SUB-04", "500 bf16 elements in 32 lanes")
def _():
    return coded_stream(MASK)


@valid("plain-bf16", "ULP-SUB-04", "500 bf16 elements in 32 lanes")
def _():
    return coded_stream(PLAIN)
