#!/usr/bin/env python3
# SPDX-License-Identifier: MIT-0
"""Builds the vectors and the manifest from cases/.

    build.py --check   compares what is committed with what cases/ describe; writes nothing (the default)
    build.py --bless   writes vectors and manifest, and says what changed

Vectors are golden: --bless only after a change of cases/ or of the format that is meant.
"""
import argparse
import hashlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
from cases import load  # noqa: E402
from cases.registry import REFERENCES, VECTORS, boundaries  # noqa: E402


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def build():
    """{path under conformance/: bytes}"""
    load()
    files, entries = {}, []
    for name, vector in sorted(VECTORS.items()):
        data, content, references = vector.build()
        path = f"vectors/{name}.ulp"
        files[path] = data
        entry = {"name": name, "file": path, "sha256": sha256(data), "ids": sorted(vector.ids), "about": vector.about,
                 "references": [f"vectors/references/{r}" for r in references], "expect": vector.expect}
        if vector.expect != "reject":
            entry["output"] = {"length": len(content), "sha256": sha256(content)}
        if vector.expect == "accept":
            entry["boundaries"] = [{"length": n, "sha256": sha256(content[:n])} for n in boundaries(vector.stream())]
        if vector.expect == "accept-or-unsupported":
            entry["class"] = "unsupported"
            entry["released"] = [{"length": 0, "sha256": sha256(b"")}]
        if vector.error_class:
            entry["class"] = vector.error_class
            # the prefixes are those of the sibling: what is before the fault is the truth
            truth = b"".join(s.content for s in VECTORS[vector.sibling].stream())
            entry["released"] = [{"length": n, "sha256": sha256(truth[:n])} for n in vector.released]
            entry["sibling"] = vector.sibling
        if vector.message:
            entry["message"] = vector.message
        entries.append(entry)
    for name, data in REFERENCES.items():
        files[f"vectors/references/{name}"] = data
    manifest = {"format": "draft 1", "vectors": entries}
    files["manifest.json"] = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
    return files


def committed():
    paths = [p for p in (HERE / "vectors").rglob("*") if p.is_file()] + [HERE / "manifest.json"]
    return {p.relative_to(HERE).as_posix(): p.read_bytes() for p in paths if p.exists()}


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
    largest, total = max(map(len, new.values())), sum(map(len, new.values()))
    largest = max(len(data) for path, data in new.items() if path != "manifest.json")
    print(f"{len(VECTORS)} vectors, {total} bytes, the largest {largest}, {len(changes)} files differ")
    if largest > 1 << 16 or total > 1 << 22:
        sys.exit("too large: 64 KiB each, 4 MiB in all")
    return 1 if changes and not options.bless else 0


if __name__ == "__main__":
    sys.exit(main())
