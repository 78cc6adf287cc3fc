#!/usr/bin/env python3
# SPDX-License-Identifier: MIT-0
"""Builds the vectors and the manifest from cases/ and hex/, and the examples of the spec from some of them.

    build.py --check   compares what is committed with what cases/ describe; writes nothing (the default)
    build.py --bless   writes vectors, manifest and examples, and says what changed

Vectors are golden: --bless only after a change of cases/ or of the format that is meant.
"""
import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
from annotate import example  # noqa: E402
from assemble.hex import parse  # noqa: E402
from cases import load  # noqa: E402
from cases.examples import EXAMPLES  # noqa: E402
from cases.registry import BANK_FILES, REFERENCES, VECTORS  # noqa: E402


def build():
    """{path under conformance/: bytes}"""
    load()
    files, entries = {}, []
    for name, vector in sorted(VECTORS.items()):
        if not vector.large:
            data, content, references = vector.build()
            entry = vector.entry(data, content, references)
            files[entry["file"]] = data
            entries.append(entry)
    for name, data in REFERENCES.items():
        files[f"vectors/references/{name}"] = data
    for short, name in EXAMPLES.items():
        vector = VECTORS[name]
        data, content, _ = vector.build()
        text = example(name, data, vector.about, vector.streams[0].references, content)
        assert parse(text)[1] == data, f"the example {short} does not assemble to its vector"
        files[f"../spec/examples/{short}.hex"] = text.encode()
    for name, data in BANK_FILES.items():
        files[f"vectors/banks/{name}"] = data
    manifest = {"format": "draft 1", "vectors": entries}
    files["manifest.json"] = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
    return files


def committed():
    paths = [p for p in (HERE / "vectors").rglob("*") if p.is_file()] + [HERE / "manifest.json"]
    committed = {p.relative_to(HERE).as_posix(): p.read_bytes() for p in paths if p.exists()}
    examples = (HERE.parent / "spec/examples").glob("*.hex")
    return committed | {f"../spec/examples/{p.name}": p.read_bytes() for p in examples}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only (the default)")
    parser.add_argument("--bless", action="store_true", help="write what differs")
    options = parser.parse_args()
    new, old = build(), committed()
    changes = [(path, "added" if path not in old else "removed" if path not in new else "changed")
               for path in sorted(old.keys() | new.keys()) if old.get(path) != new.get(path)]
    for path, change in changes:
        print(f"{change} {path}")
        if options.bless and change == "removed":
            (HERE / path).unlink()
        elif options.bless:
            (HERE / path).parent.mkdir(parents=True, exist_ok=True)
            (HERE / path).write_bytes(new[path])
    largest, total = max(len(data) for path, data in new.items() if path.endswith(".ulp")), sum(len(data) for path, data in new.items() if path.startswith("vectors/"))
    print(f"{sum(not v.large for v in VECTORS.values())} vectors, {total} bytes, the largest {largest}, {len(changes)} files differ")
    if largest > 1 << 16 or total > 1 << 22:
        sys.exit("too large: 64 KiB each, 4 MiB in all")
    return 1 if changes and not options.bless else 0


if __name__ == "__main__":
    sys.exit(main())
