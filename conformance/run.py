#!/usr/bin/env python3
# SPDX-License-Identifier: MIT-0
"""Runs a decoder over the conformance vectors.

    run.py --decoder 'ulp -d'              # any command: stream on stdin, content on stdout
    run.py --decoder 'python3 ulp_decode.py'
    run.py --check-ids                     # every requirement of the spec has a vector, every vector known ones

Protocol: the stream on standard input; `--ref FILE` for each reference, in order, after the command's own arguments, then
`--bank FILE` for each bank file;
the content on standard output; exit status 0 accepted, 2 invalid, 3 unsupported or over limit; messages on standard error.
The last line is `N passed, N failed`; the exit status is 0 if none failed.
"""
import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATUS = {"invalid": {2}, "unsupported": {3}, "limit": {2, 3}}
MESSAGES = {"not a ulp stream": "not a ulp", "truncated": "truncat", "reference": "reference", "digest": "[0-9a-f]{64}"}
# the small stream whose every truncation and bit flip the runner makes
GENERATED_FROM = "valid/baseline/small-reference"
VERSION_BYTES = range(6, 8)


def load(wanted=lambda name: True):
    """The vectors of the manifest and those made here, as manifest entries with their `bytes`."""
    vectors = json.loads((HERE / "manifest.json").read_text())["vectors"]
    for vector in vectors:
        vector["bytes"] = (HERE / vector["file"]).read_bytes()
        if hashlib.sha256(vector["bytes"]).hexdigest() != vector["sha256"]:
            sys.exit(f"{vector['file']} is not the file that the manifest describes")
    small = next(v for v in vectors if v["name"] == GENERATED_FROM)
    return [v for v in vectors + list(generated(small)) if wanted(v["name"])] + large(wanted)


def large(wanted):
    """The vectors that cases/ describe and no file holds."""
    sys.path.insert(0, str(HERE))
    from cases import load as load_cases
    from cases.registry import VECTORS
    load_cases()
    entries = []
    for vector in VECTORS.values():
        name = "generated/large/" + vector.name.rpartition("/")[2]
        if vector.large and wanted(name):
            data, content, references = vector.build()
            entries.append(vector.entry(data, content, references) | {"name": name, "bytes": data})
    return entries


def random_streams(count, seed):
    """Legal streams made from `count` seeds, with their references in files that are removed at the end."""
    sys.path.insert(0, str(HERE))
    from cases.random_streams import stream
    folder = tempfile.TemporaryDirectory()
    entries = []
    for k in range(seed, seed + count):
        made = stream(k)
        names = []
        for n, reference in enumerate(made.references):
            names.append(f"{folder.name}/{k}.{n}")
            Path(names[-1]).write_bytes(reference)
        entries.append({"name": f"generated/random/{k}", "bytes": made.bytes(), "references": names, "expect": "accept",
                        "output": {"length": len(made.content), "sha256": hashlib.sha256(made.content).hexdigest()},
                        "folder": folder})
    return entries


def generated(source):
    """Every truncation of a stream, every flip of one of its bits: rejected, with whole chunks released at most."""
    data = source["bytes"]
    base = {"references": source["references"], "expect": "reject", "released": source["boundaries"], "ids": []}
    for n in range(len(data)):
        yield base | {"name": f"generated/truncated/{n:04}", "class": "invalid", "bytes": data[:n], "message": "truncated"}
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit >> 3] ^= 1 << (bit & 7)
        yield base | {"name": f"generated/flipped/{bit >> 3:04}.{bit & 7}", "bytes": bytes(flipped),
                      "class": "unsupported" if bit >> 3 in VERSION_BYTES else "invalid"}


def verdict(vector, status, output, errors):
    """What is wrong with a decoder's answer, or None."""
    got = {"length": len(output), "sha256": hashlib.sha256(output).hexdigest()}
    if status == 0:
        if vector["expect"] == "reject":
            return f"accepted, {vector['class']} expected"
        if got != vector["output"]:
            return f"wrong content: {got['length']} bytes, {vector['output']['length']} expected"
        return None
    if vector["expect"] == "accept":
        return f"exit status {status}, acceptance expected: {errors.strip()}"
    if status not in STATUS[vector["class"]]:
        return f"exit status {status}, {vector['class']} expected: {errors.strip()}"
    if got not in vector["released"]:
        allowed = ", ".join(str(r["length"]) for r in vector["released"])
        return f"released {got['length']} bytes; allowed, with the right bytes: {allowed}"
    if not errors.strip():
        return "no message"
    wanted = vector.get("message")
    if wanted and not re.search(MESSAGES[wanted], errors, re.IGNORECASE):
        return f"the message does not say {wanted!r}: {errors.strip()}"
    return None


def run(vector, options):
    """(status, output, errors) of the decoder; status None when it ran out of time."""
    command = options.decoder + [a for r in vector["references"] for a in ("--ref", str(HERE / r))]
    command += [a for b in vector.get("banks", ()) for a in ("--bank", str(HERE / b))]
    read_end, write_end = os.pipe()
    process = subprocess.Popen(command, stdin=read_end, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=limit(options.memory))
    os.close(read_end)
    feeder = threading.Thread(target=feed, args=(write_end, vector["bytes"], options.drip), daemon=True)
    feeder.start()
    try:
        output, errors = process.communicate(timeout=options.timeout)
        return process.returncode, output, errors.decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, b"", ""
    finally:
        feeder.join()


def feed(pipe, data, step):
    """Writes data into a pipe, `step` bytes at a time if step is not 0."""
    try:
        with open(pipe, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view[:step] if step else view):]
    except BrokenPipeError:                          # the decoder has seen enough
        pass


def check(vector, options):
    status, output, errors = run(vector, options)
    return "no answer in time" if status is None else verdict(vector, status, output, errors)


def check_ids():
    """Compares the requirement ids of the spec with those that vectors name."""
    spec = set(re.findall(r"ULP-[A-Z]{3}-\d\d", (HERE.parent / "spec/format.md").read_text()))
    vectors = json.loads((HERE / "manifest.json").read_text())["vectors"]
    inputs = json.loads((HERE / "encode/manifest.json").read_text())["inputs"]
    named = {i for v in vectors + inputs for i in v["ids"]}
    problems = [f"{i}: no vector" for i in sorted(spec - named)]
    problems += [f"{v['name']}: {i} is not in the spec" for v in vectors + inputs for i in v["ids"] if i not in spec]
    problems += [f"{v['name']}: names no requirement" for v in vectors if not v["ids"]]
    for problem in problems:
        print(problem)
    print(f"{len(spec)} requirements, {len(spec & named)} with a vector, {len(vectors)} vectors, "
          f"{len(inputs)} inputs for encoders, {len(problems)} problems")
    return 1 if problems else 0


def limit(mebibytes):
    """Caps the address space of a decoder."""
    import resource
    return (lambda: resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))) if mebibytes else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decoder", type=shlex.split, metavar="CMD")
    parser.add_argument("--check-ids", action="store_true", help="compare the vectors with the spec instead")
    parser.add_argument("--run", action="append", metavar="GLOB", help="only vectors whose name matches (repeatable)")
    parser.add_argument("--skip", action="append", default=[], metavar="GLOB")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N legal streams made from seeds, instead")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the first seed of --random")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--memory", type=int, default=0, metavar="MIB", help="cap the decoder's address space")
    parser.add_argument("--drip", type=int, default=0, metavar="N", help="feed the stream N bytes at a time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--json", action="store_true", help="one JSON object per vector on standard output")
    options = parser.parse_args()
    if options.check_ids:
        return check_ids()
    if not options.decoder:
        parser.error("--decoder or --check-ids")
    def wanted(name):
        return (not any(fnmatch.fnmatch(name, g) for g in options.skip)
                and (not options.run or any(fnmatch.fnmatch(name, g) for g in options.run)))
    vectors = random_streams(options.random, options.seed) if options.random else load(wanted)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for vector, problem in zip(vectors, pool.map(lambda v: check(v, options), vectors)):
            failed += problem is not None
            if options.json:
                print(json.dumps({"name": vector["name"], "passed": problem is None, "problem": problem}))
            elif problem:
                print(f"FAILED {vector['name']}: {problem}")
    print(f"{len(vectors) - failed} passed, {failed} failed")
    return 1 if failed or not vectors else 0


if __name__ == "__main__":
    sys.exit(main())
