#!/usr/bin/env python3
"""The README's figures: size and one-thread speed on each pair of the trajectory beside zstd, in one run; prints the Markdown table.

Sizes are of whole files, headers included, each as it is (4 to 8 MB); ulp gets `--dtype`. Speeds are in memory but for `--patch-from`, which is a
process. Without the trajectory files the generator's pairs take their place."""

import sys

import run  # first: it changes to the environment with the peers
import inputs
import peers
import report
import ulp
from inputs import Work


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    series = []
    for source in inputs.REFERENCE + inputs.PLAIN:
        work = Work()
        try:
            pair = inputs.load(source, 0, work)
            makers = [lambda pair: ulp.Memory(pair)]
            makers += [peers.ZstdPlain, peers.ZstdPlain19] if pair.is_plain else [peers.XorZstd, peers.XorZstd19, peers.ZstdPatch19]
            series += run.interleave(pair, makers, rounds)
        finally:
            work.close()
    print()
    print(reference_table(series))
    print()
    print(plain_table(series))
    print()
    print(report.conditions(series))
    report.save(run.HERE / "figures.json", series)


def cells(one):
    return [f"{one.ratio:.4f}", f"{one.speed('encode'):.0f} / {one.speed('decode'):.0f}"]


def rows(series, plain):
    pairs = {}
    for one in series:
        pairs.setdefault(one.pair, []).append(one)
    for name, codecs in pairs.items():
        if name.startswith("plain") == plain:
            yield [name, *(cell for one in codecs for cell in cells(one))]


def reference_table(series):
    header = ["pair", "ulp", "MB/s", "XOR + zstd -1", "MB/s", "XOR + zstd -19", "MB/s", "zstd -19 --patch-from", "MB/s"]
    return report.table(header, rows(series, False))


def plain_table(series):
    return report.table(["file", "ulp", "MB/s", "zstd -1", "MB/s", "zstd -19", "MB/s"], rows(series, True))


if __name__ == "__main__":
    main()
