# SPDX-License-Identifier: MIT-0
"""Assembles ulp streams by hand, from spec/format.md alone and without any code of a decoder.

Nothing here decides anything: every field can be given, legal or not; what is left out is computed.
Lower modules first: elements (§2), bits (§1.2), tables (§9), entropy (§11), substreams (§8, §10), records (§3–7).
"""
