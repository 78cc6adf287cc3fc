#!/usr/bin/env python3
"""Plants a bug for each fuzz target, and sees whether the target finds it: the fuzzer's own test.

    fuzz/planted.py [TARGET]...     plants them one at a time in a copy of the tree, and runs the target's body there
    fuzz/planted.py --check         only whether the lines are still there

What runs is `cargo test --release --test fuzz_bodies TARGET`: seeds, vectors and seeded inputs, which libFuzzer starts from as well.
The copy is target/planted, and building it ten times takes some minutes.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# target: (what goes wrong, file, line, what it becomes)
PLANTED = {
    "decode_any": (
        "a key of metadata that is no UTF-8 makes the decoder panic", "src/wire/metadata.rs",
        '.map_err(|_| Error::Field { field: "metadata key (UTF-8)", value: length.into() })?;',
        ".unwrap();"),
    "decode_no_crc": (
        "the CRC of the content goes on from one stream into the next", "src/stream/decoder.rs",
        "        self.content_crc = crc32fast::Hasher::new();\n", ""),
    "scalar_vs_fast": (
        "AVX2 spreads words wrongly over one set of eight lanes of 256", "src/kernel/decode/avx2.rs",
        "spread[set][lane] = place;", "spread[set][lane] = if set == 0b1011_0111 { 0 } else { place };"),
    "split_reads": (
        "a header that comes in two reads is too short", "src/stream/records.rs",
        "                Ok(count) => got += count,\n",
        "                Ok(count) => {\n                    got += count;\n                    break;\n                }\n"),
    "headers": (
        "LEB128 numbers are taken in longer forms", "src/wire/leb128.rs",
        " || (i > 0 && byte == 0)", ""),
    "threads_equal": (
        "chunks are a byte shorter with three threads", "src/stream/encoder.rs",
        "options.chunk_length.map_or(MAX_CHUNK, |length| length as usize)",
        "options.chunk_length.map_or(MAX_CHUNK, |length| length as usize - usize::from(threads > 2 && length > 64))"),
    "prefix_release": (
        "the content's CRC is not looked at", "src/decode/chunk.rs",
        "            if expected == actual {\n                continue;", "            if expected == actual || true {\n                continue;"),
    "round_trip": (
        "one byte behind whole elements is lost", "src/stream/window.rs",
        "        if !tail.is_empty() {\n", "        if tail.len() > 1 {\n"),
    "round_trip_tensor": (
        "elements that all end in zeros lose the lowest bit that one of them has", "src/encode/kind.rs",
        "u64::from_le_bytes(or).trailing_zeros().min(", "(u64::from_le_bytes(or).trailing_zeros() + 1).min("),
    "bank_file": (
        "the reserved byte of an entry is not looked at", "src/wire/bank_file.rs",
        '    if reserved != 0 {\n        return Err(Error::Reserved("bank file"));\n    }\n    let element', "    let element"),
    "containers": (
        "a tensor that is announced beyond the end of the file is not cut off", "src/container/reader.rs",
        "            last.split_off(self.pushed - last.offset);\n", ""),
}


def planted(target, root=ROOT):
    """The text of the file with the bug in it."""
    _, file, line, replacement = PLANTED[target]
    text = (root / file).read_text()
    if text.count(line) != 1:
        sys.exit(f"{target}: {file} has the line {text.count(line)} times, once is wanted:\n{line}")
    return text.replace(line, replacement)


def copy():
    """A copy of the tracked files, without those of an earlier run."""
    folder = ROOT / "target/planted"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    shutil.rmtree(folder, ignore_errors=True)
    for name in filter(None, files):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder


def main():
    targets = [a for a in sys.argv[1:] if a != "--check"] or list(PLANTED)
    for target in targets:
        planted(target)
    if "--check" in sys.argv:
        return 0
    folder = copy()
    environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target/planted-build")}
    missed = 0
    for target in targets:
        what, file, _, _ = PLANTED[target]
        path = folder / file
        kept = path.read_text()
        path.write_text(planted(target, folder))
        run = subprocess.run(["cargo", "test", "--release", "--test", "fuzz_bodies", "--", "--exact", target], cwd=folder,
                             env=environment, capture_output=True, text=True)
        path.write_text(kept)
        output = run.stdout + run.stderr
        found = run.returncode != 0 and f"test {target} ... " in output
        missed += not found
        lines = output.splitlines()
        said = next((lines[k + 1] for k, line in enumerate(lines[:-1]) if "panicked at" in line), lines[-1] if lines else "")
        print(f"{'found ' if found else 'MISSED'} {target}: {what}: {said.strip()[:100]}", flush=True)
    print(f"{len(targets) - missed} found, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
