#!/usr/bin/env bash
# The NEON kernels against the scalar code, on a machine that is no Arm: built for 64-bit Arm, run by an emulator.
# Needs what `apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static` and `rustup target add aarch64-unknown-linux-gnu` bring.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in aarch64-linux-gnu-gcc qemu-aarch64-static; do
    if ! command -v "$tool" >/dev/null; then
        echo "$tool is missing: see the head of this script" >&2
        exit 1
    fi
done
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -L /usr/aarch64-linux-gnu"
cargo test --locked --no-default-features --target aarch64-unknown-linux-gnu --test kernels "$@"
