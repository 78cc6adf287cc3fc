"""Speed through Python beside that of the library: a 64 MiB buffer of bf16 weights, one thread, against a reference.

    python bench/speed.py [ROUNDS]

The library's side is the example `python_speed` of the crate, which does the same on the same bytes; both are run in turn, and medians are compared.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import ulpack

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    rng = np.random.default_rng(0)
    count = 32 << 20
    weights = rng.standard_normal(count).astype(np.float32) * 0.02
    bf16 = lambda values: ((values.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)
    prev, next = bf16(weights), bf16(weights + 3e-4 * rng.standard_normal(count).astype(np.float32))
    subprocess.run(["cargo", "build", "--release", "--quiet", "--example", "python_speed"], cwd=ROOT, check=True)
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    import json

    library = pathlib.Path(json.loads(metadata)["target_directory"], "release/examples/python_speed")
    with tempfile.TemporaryDirectory() as directory:
        a, b = pathlib.Path(directory, "prev"), pathlib.Path(directory, "next")
        a.write_bytes(prev.tobytes())
        b.write_bytes(next.tobytes())
        times = {"Python": ([], []), "library": ([], [])}
        for _ in range(rounds):
            start = time.perf_counter()
            coded = ulpack.compress(next, ref=prev, dtype="bf16", threads=1)
            middle = time.perf_counter()
            back = ulpack.decompress(coded, ref=prev, threads=1)
            end = time.perf_counter()
            assert back == next.tobytes()
            times["Python"][0].append(middle - start)
            times["Python"][1].append(end - middle)
            done = subprocess.run([library, a, b], check=True, capture_output=True, text=True)
            encoding, decoding = map(float, done.stdout.split())
            times["library"][0].append(encoding)
            times["library"][1].append(decoding)
    for number, what in enumerate(("compress", "decompress")):
        python, rust = (statistics.median(times[side][number]) for side in ("Python", "library"))
        speed = next.nbytes / 1e6
        print(f"{what}: Python {speed / python:.0f} MB/s, library {speed / rust:.0f} MB/s, {rust / python:.3f} of it")


if __name__ == "__main__":
    main()
