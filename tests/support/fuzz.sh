#!/bin/bash
# `make fuzz`: every target of fuzz/ under libFuzzer, MINUTES each (2). Ends with an error at the first finding, which lies in fuzz/artifacts.
# The sanitizer wants compiler flags that are not stable; RUSTC_BOOTSTRAP lets the installed compiler take them.
set -euo pipefail
cd "$(dirname "$0")/../../fuzz"
command -v cargo-fuzz >/dev/null || { echo "install cargo-fuzz first: cargo install --locked cargo-fuzz" >&2; exit 1; }
export RUSTC_BOOTSTRAP=1
for target in $(cargo fuzz list); do
    echo "== $target"
    most=4096
    if [ "$target" = commands ]; then
        # What it asserts of words concerns 16,000 characters: inputs have to be longer, and no run of minutes grows one that long by itself.
        most=20000
        mkdir -p corpus/commands
        { printf '/fix '; head -c 15990 /dev/zero | tr '\0' x; } >corpus/commands/longest-words
    fi
    cargo fuzz run "$target" -- -max_total_time=$((${1:-2} * 60)) -max_len="$most" -print_final_stats=1 -verbosity=0
done
echo "no finding"
