#!/usr/bin/env bash
# Makes bench/.venv with the codecs that the benchmark compares with, and builds the release binaries.
#
# ZipNN comes without its dependencies: it imports torch (5 GB) for tensors, which the benchmark does not give it; stand_ins.py stands in for the names.
# `--with-torch` installs the real one instead.
set -euo pipefail
cd "$(dirname "$0")"
if [ ! -x .venv/bin/pip ]; then
    python3 -m venv .venv
fi
.venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
if [ "${1:-}" = --with-torch ]; then
    .venv/bin/pip install --quiet --disable-pip-version-check zipnn
else
    .venv/bin/pip install --quiet --disable-pip-version-check --no-deps zipnn
fi
.venv/bin/pip list --disable-pip-version-check --format=freeze |
    grep -E '^(numpy|zstandard|pcodec|z4ai|lmzip|glyd|zipnn)=='
if ! command -v zstd >/dev/null; then
    echo "setup.sh: no zstd: 'zstd --patch-from' will be left out (Debian: apt-get install zstd)" >&2
fi
cd ..
cargo build --release --bins --examples
