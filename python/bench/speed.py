"""Speed through Python beside that of the library: 64 MiB of bf16 weights, alone and against a reference, on one thread.

    python bench/speed.py [ROUNDS]

The library's side is the example `python_speed` of the crate, which does the same to the same bytes in a process of its own. Both take turns, round by round;
what is compared are medians of processor time, which other work on the machine disturbs least.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import ulpack

ROOT = pathlib.Path(__file__).resolve().parents[2]


def built():
    """The example, built."""
    cargo = lambda *arguments: subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    cargo("build", "--release", "--quiet", "--example", "python_speed")
    metadata = json.loads(cargo("metadata", "--format-version", "1", "--no-deps"))
    return pathlib.Path(metadata["target_directory"], "release/examples/python_speed")


def through_python(content, ref):
    """Seconds to compress, and to decompress."""
    start = time.thread_time()
    coded = ulpack.compress(content, ref=ref, dtype="bf16", threads=1)
    middle = time.thread_time()
    back = ulpack.decompress(coded, ref=ref, threads=1)
    end = time.thread_time()
    assert back == content.tobytes()
    return middle - start, end - middle


def measure(library, files, content, ref, rounds):
    """Medians of both: seconds to compress, and to decompress."""
    python, rust = [], []
    with subprocess.Popen([library, *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as other:
        # The first round of each is not counted: memory and caches are cold.
        for _ in range(rounds + 1):
            python.append(through_python(content, ref))
            other.stdin.write("\n")
            rust.append([float(seconds) for seconds in other.stdout.readline().split()])
        other.stdin.close()
    return [[statistics.median(column) for column in zip(*times[1:])] for times in (python, rust)]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    rng = np.random.default_rng(0)
    count = 32 << 20
    weights = rng.standard_normal(count, np.float32) * np.float32(0.02)
    bf16 = lambda values: ((values.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)
    prev, next = bf16(weights), bf16(weights + np.float32(3e-4) * rng.standard_normal(count, np.float32))
    library = built()
    print("| | library MB/s | Python MB/s | ratio |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as directory:
        files = [pathlib.Path(directory, name) for name in ("next", "prev")]
        next.tofile(files[0])
        prev.tofile(files[1])
        for what, ref in (("alone", None), ("against a reference", prev)):
            given = files if ref is not None else files[:1]
            python, rust = measure(library, given, next, ref, rounds)
            for name, ours, theirs in zip(("compress", "decompress"), python, rust):
                speed = next.nbytes / 1e6
                print(f"| {name}, {what} | {speed / theirs:.0f} | {speed / ours:.0f} | {theirs / ours:.2f} |")


if __name__ == "__main__":
    main()
