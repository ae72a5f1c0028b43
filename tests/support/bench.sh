#!/bin/bash
# `make bench`: measures what docs/spec.md promises and writes the table into it. Words choose parts: ARGS='intake fold items engine container touched
# router subnets asleep large upstream commands repositories parked waits crowd kill stories', or 'visits': of the router only those that one tries again and again, or 'year': a year of 200 tasks a day, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=$(tests/support/programs.sh)
export CAISSON_RUNNER=$programs/caisson-runner CAISSON_ROUTER=$programs/caisson-router
export CAISSON_DEMO_PROGRAM=${CARGO_TARGET_DIR:-$PWD/target}/release/caisson CAISSON_DEMO_INSTALLATION=bench-$$
case " ${*:-stories} " in *" stories "*)
    # As `make test` runs them.
    CAISSON_STORIES=$(cargo test --locked --workspace --test stories --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*stories-[^"]*\)".*/\1/p' | tail -n 1)
    export CAISSON_STORIES
    ;;
esac
out=$(mktemp)
trap 'rm -f "$out"' EXIT
status=0
# Fat LTO takes minutes and changes no ratio.
CARGO_PROFILE_BENCH_LTO=off cargo bench --locked --bench promises -- "$@" | tee "$out" || status=$?
if [ $# -eq 0 ]; then
    {
        sed -n '1,/^<!-- results -->$/p' docs/spec.md
        printf '\nMeasured on %s, %s cores, Linux %s, %s.\n\n' "$(date -u +%F)" "$(nproc)" "$(uname -r)" "$(rustc --version | cut -d ' ' -f 1,2)"
        grep '^|' "$out"
    } >"$out.new"
    mv "$out.new" docs/spec.md
fi
exit "$status"
