#!/usr/bin/env bash
# What the conformance corpus and the fuzz bodies reach of the decoder: fuzz/coverage.sh [llvm-cov arguments].
# Needs `rustup component add llvm-tools`. Prints a table of lines and branches of code, the total of the decoder in its last line.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/coverage
export RUSTFLAGS="-C instrument-coverage" LLVM_PROFILE_FILE="$CARGO_TARGET_DIR/profiles/%m-%p.profraw"
rm -rf "$CARGO_TARGET_DIR/profiles"
tests=(--test fuzz_bodies --test conformance)
# The command's own process is not asked for: the library is what counts.
cargo test --release --quiet "${tests[@]}" -- --skip the_runner --skip the_command
mapfile -t binaries < <(cargo test --release "${tests[@]}" --no-run --message-format=json 2>/dev/null |
    python3 -c 'import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and "test" in message["target"]["kind"]:
        print(message["executable"])')
"$tools/llvm-profdata" merge -sparse "$CARGO_TARGET_DIR"/profiles/*.profraw -o "$CARGO_TARGET_DIR/all.profdata"
objects=("${binaries[0]}")
for binary in "${binaries[@]:1}"; do
    objects+=(-object "$binary")
done
"$tools/llvm-cov" report "${objects[@]}" -instr-profile "$CARGO_TARGET_DIR/all.profdata" --show-region-summary=false \
    --show-branch-summary=false "$@" src/decode src/wire src/core src/kernel/decode src/stream/decoder.rs src/stream/state.rs src/stream/reference.rs
