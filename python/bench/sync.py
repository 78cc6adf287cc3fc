"""Weight updates of reinforcement learning: encode, bytes, apply, against XOR + zstd-1 and a full copy.

    python bench/sync.py [--mib 64] [--rounds 5]

bf16 weights of a normal distribution, of which 0.5 to 10 % move by one unit in the last place or a few, small ones more often than large ones, as at low learning
rates. All methods are measured in turn in each round; medians are shown: of processor time with one thread, which other work on the machine disturbs least, and
of the clock with two. Needs the package zstandard for the comparison.
"""

import argparse
import statistics
import time

import numpy as np
import ulpack

try:
    import zstandard
except ImportError:
    zstandard = None


def pair(count, changed, rng):
    """Weights as bf16 patterns, and the same after an update of one size that changes about this share of them."""
    prev = (rng.standard_normal(count).astype(np.float32) * 0.02).view(np.uint32) + 0x8000
    prev = (prev >> 16).astype(np.uint16)
    values = (prev.astype(np.uint32) << 16).view(np.float32)
    # The update that moves the wanted share: found by bisection.
    low, high = 1e-9, 1e-2
    noise = rng.standard_normal(count).astype(np.float32)
    for _ in range(30):
        middle = (low * high) ** 0.5
        next = (((values + noise * np.float32(middle)).view(np.uint32) + 0x8000) >> 16).astype(np.uint16)
        if np.mean(next != prev) < changed:
            low = middle
        else:
            high = middle
    return prev, next


def ulp(threads):
    def encode(prev, next):
        return ulpack.compress(next, ref=prev, dtype="bf16", level=1, threads=threads)

    def apply(target, coded):
        ulpack.apply_in_place(target, coded, threads=threads)

    return encode, apply


def xor_zstd(threads):
    compressor = zstandard.ZstdCompressor(level=1, threads=threads if threads > 1 else 0)
    decompressor = zstandard.ZstdDecompressor()

    def encode(prev, next):
        return compressor.compress(np.bitwise_xor(prev, next))

    def apply(target, coded):
        np.bitwise_xor(target, np.frombuffer(decompressor.decompress(coded), np.uint16), out=target)

    return encode, apply


def copy(_):
    return lambda prev, next: next.tobytes(), lambda target, coded: np.copyto(target, np.frombuffer(coded, np.uint16))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    methods = {"ulp": ulp, "full copy": copy}
    if zstandard is not None:
        methods["XOR+zstd-1"] = xor_zstd
    print("| changed | threads | method | bytes / full | encode ms | apply ms |\n| --- | --- | --- | --- | --- | --- |")
    for changed in (0.005, 0.01, 0.025, 0.05, 0.1):
        prev, next = pair(arguments.mib << 19, changed, rng)
        for threads in (1, 2):
            times = {name: ([], [], 0) for name in methods}
            for _ in range(arguments.rounds):
                for name, method in methods.items():
                    encode, apply = method(threads)
                    target = prev.copy()
                    clock = time.thread_time if threads == 1 else time.perf_counter
                    start = clock()
                    coded = encode(prev, next)
                    middle = clock()
                    apply(target, coded)
                    end = clock()
                    assert np.array_equal(target, next), name
                    times[name][0].append(middle - start)
                    times[name][1].append(end - middle)
                    times[name] = (*times[name][:2], len(coded))
            for name, (encoding, applying, size) in times.items():
                share = f"{100 * np.mean(next != prev):.1f} %"
                encoding, applying = (1000 * statistics.median(t) for t in (encoding, applying))
                print(f"| {share} | {threads} | {name} | {size / next.nbytes:.4f} | {encoding:.1f} | {applying:.1f} |", flush=True)


if __name__ == "__main__":
    main()
