# SPDX-License-Identifier: MIT-0
"""Streams of one kind and one bank, from which most vectors of §8–§11 are made."""
from assemble.elements import BF16, convert
from assemble.records import Kind, Stream
from assemble.substreams import MASK, PLAIN, RESIDUAL, fit_bank
from assemble.tables import Bank, fit

from . import data


def bank_class(element, method):
    """ULP-SUB-04."""
    if element.w == 8:
        return 0
    if method == PLAIN and element.is_float:
        return 3
    return 2 if element.w == 64 else 1


def blank_bank(element, method, tables=1, mask_tables=None, scale=True, **fields):
    """A bank with the right class and numbers of tables, its tables to be fitted."""
    kind = bank_class(element, method)
    if kind == 3:
        fields = {"form": 2, "centre": 24, "window": 100} | fields
    masks = (2 if mask_tables is None else mask_tables) if method == MASK else mask_tables or 0
    nothing = fit({0: 1})
    return Bank(kind, [nothing] * tables, masks=[nothing] * masks, scales=[nothing] * scale, **fields)


def fixed(bank):
    """Marks a bank whose tables are part of the case and must not be fitted."""
    bank.fixed = True
    return bank


def pair(element, n, other=None, seed=1, **moves):
    """(content, reference) of n elements: weights and what a step made of them."""
    source = other or element
    reference = data.weights(source, n, seed)
    near = reference if source is element else [convert(u, source, element) for u in reference]
    return element.pack(data.step(element, near, seed + 1, **moves)), source.pack(reference)


def coded_stream(method, element=BF16, content=None, reference=None, other=None, bank=None, lengths=None,
                 options=None, layout=None, header=None, kind=None, sampled=False, profiles=None, n=500):
    """One kind, one bank in slot 0, chunks of `lengths` bytes, each coded with `options(index, stream, elements)`."""
    uses = method in (RESIDUAL, MASK)
    if content is None:
        content, made = pair(element, n, other)
        reference = made if reference is None and (uses or other) else reference
    references = [] if reference is None else [reference]
    bank = bank or blank_bank(element, method)
    features = {"feature_set": 2} if bank.kind == 4 else {}
    s = Stream(content, references, **({"bank_slots": 1} | features | (header or {})))
    if sampled:
        s.sampled(0)
    kind = kind or Kind(element, (other or element) if reference is not None else None)
    elements = len(content) * 8 // element.w
    for slot, values in (profiles or {}).items():
        s.profile(slot, values)
    s.layout([kind], layout or [(0, elements)])
    plans, at = [], 0
    for index, length in enumerate(lengths or [len(content)]):
        given = options(index, s, length * 8 // element.w) if callable(options) else options or {}
        s.coded = at
        plans.append((length, s.code(0, length, method, **given)))
        at += length
    if not bank.fixed:
        fit_bank(bank, [c for _, c in plans], fit)
    s.bind(0, bank)
    s.coded = 0
    for length, coded in plans:
        s.chunk(length, [coded])
    return s.end()
