#!/usr/bin/env bash
# Peak memory of compressing and decompressing a synthetic pair of any size through pipes, nothing stored:
#
#     tests/memory.sh                 # 1 GiB and 8 GiB of bf16
#     tests/memory.sh 1GiB 64GiB      # other sizes
#     KIND=rl tests/memory.sh         # another kind, see examples/synthetic.rs
#
# Both directions must stay within 256 MiB with two threads, whatever the size, and the ratio must not depend on it.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=$((256 * 1024))
kind=${KIND:-bf16}
case $kind in bf16 | rl) dtype=bf16 ;; *) dtype=f32 ;; esac
[ $# -gt 0 ] || set -- 1GiB 8GiB

cargo build --locked --release --quiet --bin ulp --example synthetic
bin=${CARGO_TARGET_DIR:-target}/release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
half() { "$bin/examples/synthetic" --kind "$kind" --size "$1" --which "$2"; }
peak() { sed -n 's/.*Maximum resident set size (kbytes): //p' "$1"; }

failed=0
smallest=
printf '%8s %14s %14s %8s %8s\n' size 'compress KiB' 'decompress KiB' ratio seconds
for size in "$@"; do
    start=$SECONDS
    half "$size" next |
        /usr/bin/time -v -o "$work/compress" "$bin/ulp" -T2 -c --dtype "$dtype" --ref <(half "$size" prev) |
        tee >(wc -c >"$work/coded") |
        /usr/bin/time -v -o "$work/decompress" "$bin/ulp" -T2 -d --ref <(half "$size" prev) |
        tee >(wc -c >"$work/content") |
        cmp - <(half "$size" next)
    sleep 1
    compress=$(peak "$work/compress") decompress=$(peak "$work/decompress")
    ratio=$(awk -v a="$(cat "$work/coded")" -v b="$(cat "$work/content")" 'BEGIN { printf "%.4f", a / b }')
    printf '%8s %14d %14d %8s %8d\n' "$size" "$compress" "$decompress" "$ratio" $((SECONDS - start))
    smallest=${smallest:-"$compress $decompress $ratio"}
    read -r c d r <<<"$smallest"
    if [ "$compress" -gt $limit ] || [ "$decompress" -gt $limit ]; then
        echo "more than $limit KiB" && failed=1
    fi
    if [ "$compress" -gt $((c + 16384)) ] || [ "$decompress" -gt $((d + 16384)) ]; then
        echo "grows with the size" && failed=1
    fi
    if awk -v a="$ratio" -v b="$r" 'BEGIN { exit !(a > b * 1.01 + 0.0001 || b > a * 1.01 + 0.0001) }'; then
        echo "another ratio" && failed=1
    fi
done
exit $failed
