#!/bin/sh
# Builds ulp, compresses a checkpoint against the one before it, restores it and compares.
set -eu
cd "$(dirname "$0")/.."
cargo build --release --bin ulp
ulp=${CARGO_TARGET_DIR:-target}/release/ulp
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prev=examples/data/prev.safetensors
next=examples/data/next.safetensors
"$ulp" -c --ref "$prev" < "$next" > "$work/d.ulp"
"$ulp" -d --ref "$prev" < "$work/d.ulp" > "$work/next"
cmp "$work/next" "$next"
"$ulp" -c < "$next" > "$work/plain.ulp"
"$ulp" -d < "$work/plain.ulp" | cmp - "$next"
size() { wc -c < "$1" | tr -d ' '; }
echo "next.safetensors                  $(size "$next") bytes"
echo "compressed alone                  $(size "$work/plain.ulp") bytes"
echo "compressed against prev           $(size "$work/d.ulp") bytes"
echo "restored, and equal to the original byte for byte"
