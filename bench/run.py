#!/usr/bin/env python3
"""Speed and size of ulp beside the codecs that people use for checkpoints: see README.md in this folder.

    run.py peers      all codecs on the main pairs, interleaved
    run.py process    the command at -T1 and -T2 against the library in memory
    run.py size       the command by content size
    run.py fraction   by the fraction of weights that an RL step changes
    run.py ship       seconds to encode, ship and decode 16 GB, from the results of `peers`
"""

import argparse
import json
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE / ".venv/bin/python"
if PYTHON.exists() and "ULP_BENCH" not in os.environ:
    # Once is enough, whatever Python makes of its own place.
    os.environ["ULP_BENCH"] = "1"
    os.execv(PYTHON, [str(PYTHON), *sys.argv])

import inputs
import measure
import peers
import report
import ulp
from inputs import MIB, Source, Work
from measure import Series

LINKS = [100, 300, 1250]
SHIPPED = 16e9
BASELINE = "XOR + zstd -1"


def interleave(pair, makers, rounds):
    """Runs every codec once a round, in turn, after a round that does not count; rounds start at different codecs."""
    codecs = []
    for make in makers:
        try:
            codecs.append(make(pair))
        except peers.Unavailable as reason:
            name = "ulp" if make.__name__ == "<lambda>" else make.__name__
            print(f"  {name} left out: {reason}", flush=True)
    series = [
        Series(codec.name, pair.name, codec.content_bytes, untiled=codec.content_bytes != pair.size, is_process=codec.is_process)
        for codec in codecs
    ]
    for number in range(rounds + 1):
        print(f"  {pair.name}: round {number} of {rounds}", flush=True)
        for turn in range(len(codecs)):
            index = (turn + number) % len(codecs)
            if codecs[index].slow and number not in (1, 2, 3):
                continue
            encode, decode = codecs[index].encode(), codecs[index].decode()
            if number:
                series[index].encode.append(encode)
                series[index].decode.append(decode)
                series[index].coded = codecs[index].coded
    for codec in codecs:
        codec.close()
    return series


def ulp_makers(options):
    makers = [lambda pair: ulp.Memory(pair), lambda pair: ulp.Memory(pair, level=1)]
    for kernel in options.kernels:
        makers.append(lambda pair, kernel=kernel: ulp.Memory(pair, kernel=kernel))
    return makers + [lambda pair: ulp.Process(pair)]


def run_peers(options):
    series = []
    for source in inputs.SOURCES:
        if source.name not in options.pairs:
            continue
        work = Work()
        try:
            pair = inputs.load(source, options.size, work)
            mode = "plain" if pair.is_plain else "reference"
            makers = [codec for codec in peers.ALL if codec.mode == mode and not (options.quick and codec.untiled)]
            series += interleave(pair, ([] if options.without_ulp else ulp_makers(options)) + makers, options.rounds)
        finally:
            work.close()
    print("\n" + report.speeds(series))
    report.save(options.json, series)


def run_process(options):
    """File to file and file to nowhere, by threads, against the same pair in memory."""
    series = []
    for source in inputs.SOURCES:
        if source.name not in options.pairs:
            continue
        work = Work()
        try:
            pair = inputs.load(source, options.size, work)
            makers = [lambda pair: ulp.Memory(pair)]
            for threads in (1, 2):
                makers += [
                    lambda pair, threads=threads: ulp.Process(pair, threads=threads),
                    lambda pair, threads=threads: ulp.ToNowhere(pair, threads=threads),
                ]
            series += interleave(pair, makers, options.rounds)
        finally:
            work.close()
    print("\n" + report.speeds(series))
    report.save(options.json, series)


def run_size(options):
    """From 1 MiB on, four times as much each time: files of the generator, in a folder on disk where they are large."""
    series = []
    size = MIB
    while size <= options.largest:
        work = Work(large=size > 256 * MIB)
        try:
            pair = inputs.FilePair(f"{options.kind} {size // MIB} MiB", options.kind, size, work)
            makers = [lambda pair, threads=threads: ulp.ToNowhere(pair, threads=threads) for threads in (1, 2)]
            # Small contents are soon done, and vary more.
            series += interleave(pair, makers, options.rounds if size >= 64 * MIB else 3 * options.rounds)
        finally:
            work.close()
        size *= 4
    rows = []
    for name in dict.fromkeys(one.pair for one in series):
        row = [one for one in series if one.pair == name]
        speeds = [f"{one.speed(way):.0f}" for way in ("encode", "decode") for one in row]
        peaks = [f"{row[-1].peak(way):.0f}" for way in ("encode", "decode")]
        rows.append([name, f"{row[0].ratio:.4f}", *speeds, *peaks])
    header = ["content", "size / content", "encode -T1", "encode -T2", "decode -T1", "decode -T2", "MiB to encode -T2", "MiB to decode -T2"]
    if rows:
        print("\n" + report.table(header, rows) + f"\n\nMB/s, file to nowhere. {report.conditions(series)}")
    report.save(options.json, series)


def run_fraction(options):
    series = []
    for fraction in (0.001, 0.003, 0.01, 0.025, 0.1, 0.3, 1.0):
        work = Work()
        try:
            pair = inputs.synthetic(Source(f"{100 * fraction:g} % changed", "bf16", "", "prev", "rl", fraction), options.size, work)
            makers = [lambda pair: ulp.Memory(pair), lambda pair: ulp.Memory(pair, level=1), peers.XorZstd, peers.Pcodec]
            series += interleave(pair, makers, options.rounds)
        finally:
            work.close()
    print("\n" + report.speeds(series))
    report.save(options.json, series)


def run_ship(options):
    """Encode, then ship, then decode, one after the other, at the speeds measured: no overlap."""
    with open(options.results) as file:
        series = json.load(file)["series"]
    for pair in dict.fromkeys(one["pair"] for one in series):
        rows = [["(as it is)", *(f"{SHIPPED / link / 1e6:.1f}" for link in LINKS)]]
        codecs = [one for one in series if one["pair"] == pair]
        baseline = next((one for one in codecs if one["codec"] == BASELINE), None)
        for one in codecs:
            cells = []
            for link in LINKS:
                text = f"{seconds(one, link):.1f}"
                if baseline and one is not baseline:
                    text += f" ({seconds(one, link) / seconds(baseline, link):.0%})"
                cells.append(text)
            rows.append([one["codec"], *cells])
        print(f"\n**{pair}: seconds for 16 GB** (in brackets: of {BASELINE})\n")
        print(report.table(["codec", *(f"{link} MB/s link" for link in LINKS)], rows))


def seconds(one, link):
    coding = SHIPPED / 1e6 / one["encode_mb_per_s"] + SHIPPED / 1e6 / one["decode_mb_per_s"]
    return coding + SHIPPED * one["ratio"] / (link * 1e6)


def size_argument(text):
    match = re.fullmatch(r"(\d+)\s*([KMG]?)(iB|B)?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"not a size: {text}")
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function in (("peers", run_peers), ("process", run_process), ("size", run_size), ("fraction", run_fraction)):
        command = commands.add_parser(name, help=function.__doc__)
        command.set_defaults(function=function)
        command.add_argument("--rounds", type=int, default=5)
        command.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu: speeds by processor time, for a machine that has other work")
        command.add_argument("--json", default=HERE / f"{name}.json", help="where all timings go")
        if name != "size":
            command.add_argument("--size", type=size_argument, default=128 * MIB, help="least size of a content (default 128MiB)")
        if name in ("peers", "process"):
            command.add_argument("--pairs", nargs="+", default=inputs.MAIN, choices=[source.name for source in inputs.SOURCES], metavar="NAME")
        if name == "peers":
            command.add_argument("--kernels", nargs="+", default=[], help="also measure ulp with each of these kernels")
            command.add_argument("--quick", action="store_true", help="leave the slow peers out")
            command.add_argument("--without-ulp", action="store_true", help="the peers alone")
        if name == "size":
            command.add_argument("--kind", default="bf16", choices=["bf16", "f32", "optim", "rl"])
            command.add_argument("--largest", type=size_argument, default=4096 * MIB)
    command = commands.add_parser("ship", help=run_ship.__doc__)
    command.set_defaults(function=run_ship)
    command.add_argument("results", nargs="?", default=HERE / "peers.json", help="JSON of `peers`")
    options = parser.parse_args()
    measure.CLOCK = getattr(options, "clock", "wall")
    options.function(options)


if __name__ == "__main__":
    main()
