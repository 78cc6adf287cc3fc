#!/usr/bin/env bash
# Instructions per element, by kernel: the signal for regressions that a busy machine cannot blur.
#
#   bench/instructions.sh [KERNEL...]      default: scalar and avx2 (valgrind knows no AVX-512)
#
# Each figure is the difference between a content of 2N and one of N elements, divided by N: what is paid once (start, reading files, the bank, whose
# tables do not grow with the content) drops out. Instructions are not time: a gather counts as one.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "instructions.sh: no valgrind" >&2; exit 69; }
cargo build --release --quiet --example synthetic --example kernel_once
bin=${CARGO_TARGET_DIR:-target}/release/examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
elements=${ELEMENTS:-262144}

# count ARGUMENTS...: instructions of one run of kernel_once.
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bin/kernel_once" "$@" 2>&1 | awk '/Collected/ { print $4; found = 1 } END { exit !found }'
}

per_element() {
    awk -v small="$1" -v large="$2" -v n="$elements" 'BEGIN { printf "%.1f", (large - small) / n }'
}

echo "| content | kernel | level | encode | decode |"
echo "| --- | --- | --: | --: | --: |"
for kind in bf16 f32 rl "bf16 plain"; do
    read -r kind plain <<<"$kind"
    case $kind in f32) type=f32 width=4 ;; *) type=bf16 width=2 ;; esac
    for size in 1 2; do
        for which in prev next; do
            "$bin/synthetic" --kind "$kind" --size $((size * elements * width)) --which $which >"$work/$which$size"
        done
    done
    for kernel in "${@:-scalar avx2}"; do
        for kernel in $kernel; do
            export ULP_KERNEL=$kernel
            for level in 5 1; do
                for size in 1 2; do
                    reference=$work/prev$size
                    if [ -n "$plain" ]; then reference=-; fi
                    encode[size]=$(count encode "$type" $level "$work/next$size" "$reference" "$work/stream")
                    decode[size]=$(count decode "$work/stream" "$reference")
                done
                echo "| $kind${plain:+ plain} | $kernel | $level | $(per_element "${encode[1]}" "${encode[2]}") | $(per_element "${decode[1]}" "${decode[2]}") |"
            done
        done
    done
done
