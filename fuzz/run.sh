#!/usr/bin/env bash
# Runs libFuzzer on targets one after another: fuzz/run.sh SECONDS [TARGET…]. Needs cargo-fuzz and a nightly toolchain.
# The corpus grows in fuzz/corpus, findings come to fuzz/artifacts; the last lines say how many inputs were run and what was covered.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
streams=(decode_any decode_no_crc scalar_vs_fast split_reads headers)
banks=(bank_file)
choices=(threads_equal prefix_release round_trip round_trip_tensor containers)
[ $# -gt 0 ] || set -- "${streams[@]}" "${banks[@]}" "${choices[@]}"

cargo +nightly fuzz build
failed=0
for target in "$@"; do
    corpora=("fuzz/corpus/$target")
    if [[ " ${streams[*]} " == *" $target "* ]]; then
        # Not those of valid/extended, nor the seeds, which `cargo test` runs: chunks of 64 MiB take the time of many others.
        corpora+=(conformance/vectors/valid/baseline conformance/vectors/invalid conformance/vectors/unsupported)
    fi
    if [[ " ${banks[*]} " == *" $target "* ]]; then
        corpora+=(conformance/vectors/banks)
    fi
    mkdir -p "fuzz/corpus/$target"
    # The longest chunks are 64 MiB, and a few are in work at a time. Threads of a pool end after the pool: to LeakSanitizer a leak.
    cargo +nightly fuzz run "$target" "${corpora[@]}" -- -max_total_time="$seconds" -max_len=4096 -timeout=60 \
        -rss_limit_mb=2048 -detect_leaks=0 -print_final_stats=1 2>&1 | tee "fuzz/corpus/$target.log" |
        grep -E "SUMMARY|panicked|Test unit|cov:.*DONE" || true
    executed=$(grep -oP 'stat::number_of_executed_units: \K\d+' "fuzz/corpus/$target.log" || echo 0)
    covered=$(grep -oP 'cov: \K\d+' "fuzz/corpus/$target.log" | tail -n 1)
    grep 'Test unit written' "fuzz/corpus/$target.log" | grep -qv slow-unit && failed=1
    printf '%-18s %5d s %10d inputs, %6d edges\n' "$target" "$seconds" "$executed" "${covered:-0}"
done
exit "$failed"
