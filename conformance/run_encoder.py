#!/usr/bin/env python3
# SPDX-License-Identifier: MIT-0
"""Tests an encoder: what it makes of the inputs of encode/ comes back, hardly grows, and is always the same.

    run_encoder.py --encoder 'ulp -c' --decoder 'ulp -d' [--also CMD]... [--run GLOB] [--jobs N]
    run_encoder.py --bless      writes encode/manifest.json anew

See encode/README.md.
"""
import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import shlex
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import mutants  # noqa: E402
from encode.inputs import make  # noqa: E402

HERE = Path(__file__).resolve().parent
MANIFEST = HERE / "encode/manifest.json"
IDS = ["ULP-ENC-01", "ULP-ENC-02", "ULP-ENC-03", "ULP-ENC-04"]
# the Python decoder needs some seconds for a megabyte
SHORT = 40_000


def described(data):
    return {"length": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def manifest():
    inputs = [{"name": name, "ids": IDS, "about": about, "content": described(content),
               "references": [described(r) for r in references]} for name, about, content, references in make()]
    return json.dumps({"inputs": inputs}, indent=1) + "\n"


def run(command, data, files, step=None):
    """(status, output, messages) of a command that is given data, in pieces of `step` bytes."""
    arguments = command + [a for f in files for a in ("--ref", f)]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if step is None:
        output, errors = process.communicate(data, timeout=120)
    else:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            rest = pool.submit(process.stdout.read), pool.submit(process.stderr.read)
            for at in range(0, len(data), step):
                process.stdin.write(data[at:at + step])
                process.stdin.flush()
            process.stdin.close()
            output, errors = rest[0].result(), rest[1].result()
        process.wait(timeout=120)
    return process.returncode, output, errors.decode(errors="replace")


def reserved(stream):
    """What is wrong with the fields that must be zero, or feature_set."""
    flags, references, banks, profiles, features, zero, chunk = struct.unpack("<HBBHBBI", stream[8:20])
    if flags & ~1 or zero:
        return "a reserved field of the Stream_Header is not 0"
    baseline = references <= 16 and banks <= 64 and profiles <= 4096 and chunk <= 1 << 22
    at, pairs, external = 24, False, False
    while at < len(stream):
        kind, flag, count, length = struct.unpack_from("<BBHI", stream, at)
        if flag & ~{2: 1, 3: 1}.get(kind, 0) and kind < 0x84:
            return f"a reserved flag of a record of type {kind}"
        if kind in (6, 0x83) and count:
            return f"count of a record of type {kind}"
        pairs |= (kind, flag, stream[at + 12]) == (3, 0, 4)
        external |= (kind, flag) == (3, 1)
        at += 12 + length
    needed = 2 if pairs else 0 if baseline else 1
    if features != needed and not (external and features == 2):
        return "feature_set is not the smallest"
    return None if at == len(stream) else "records do not end where the stream does"


def check(case, options, folder):
    name, _, content, references = case
    files = []
    for k, reference in enumerate(references):
        files.append(f"{folder}/{name}.{k}")
        Path(files[-1]).write_bytes(reference)
    status, stream, errors = run(options.encoder, content, files)
    if status:
        return f"exit status {status}: {errors.strip()}"
    status, back, errors = run(options.decoder, stream, files)
    if status or back != content:
        return f"ULP-ENC-01: does not come back: {errors.strip()}"
    if len(content) <= SHORT:
        vector = {"bytes": stream, "references": files}
        answer = mutants.answer(options.independent, vector)
        if answer[0] or answer[1] != content:
            return f"ULP-ENC-01: the independent decoder says {answer[2]!r}"
    most = len(content) + len(content) // 1000 + 1024
    if len(stream) > most:
        return f"ULP-ENC-02: {len(content)} bytes became {len(stream)}, {most} are allowed"
    for command, step in [(options.encoder, None), (options.encoder, 1009), *((also, None) for also in options.also)]:
        status, other, errors = run(command, content, files, step)
        if status or other != stream:
            return f"ULP-ENC-03: {shlex.join(command)}{f' in pieces of {step}' if step else ''} makes another stream: {errors.strip()}"
    problem = reserved(stream)
    return problem and f"ULP-ENC-04: {problem}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", type=shlex.split, metavar="CMD")
    parser.add_argument("--decoder", type=shlex.split, metavar="CMD")
    parser.add_argument("--also", type=shlex.split, action="append", default=[], metavar="CMD", help="an encoder that must make the same bytes")
    parser.add_argument("--run", default="*", metavar="GLOB")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--bless", action="store_true", help="write the manifest")
    options = parser.parse_args()
    if options.bless:
        MANIFEST.write_text(manifest())
        return 0
    if MANIFEST.read_text() != manifest():
        sys.exit("the inputs are not those of encode/manifest.json")
    if not options.encoder or not options.decoder:
        parser.error("--encoder and --decoder")
    options.independent = mutants.decoder(mutants.SOURCE)
    cases = [case for case in make() if fnmatch.fnmatch(case[0], options.run)]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, problem in zip(cases, pool.map(lambda c: check(c, options, folder), cases)):
            failed += problem is not None
            if problem:
                print(f"FAILED {case[0]}: {problem}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
