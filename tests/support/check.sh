#!/bin/bash
# `make check`: form, lints, licences and sources of what we depend on, dependencies that nothing uses. Runs all, then says what failed.
# A tool that is not installed is a failure; CAISSON_SKIP=deny,machete (set by .ci/run when it could not be had) passes over it aloud.
set -uo pipefail
cd "$(dirname "$0")/../.."
failed=()

run() { printf '\n== %s\n' "$*"; "$@" || failed+=("$*"); }
skipped() { case ",${CAISSON_SKIP:-}," in *",$1,"*) echo "skipped: cargo $1 (not installed)"; return 0 ;; esac; return 1; }

run cargo fmt --all --check
run cargo clippy --locked --workspace --all-targets -- -D warnings
# Everything is fetched by now but what other platforms would need; the audit itself asks no network.
skipped deny || { cargo fetch --locked --quiet; run cargo deny --offline --locked --all-features check licenses bans sources; }
skipped machete || run cargo machete

[ ${#failed[@]} -eq 0 ] && exit 0
printf '\nfailed:\n'; printf '  %s\n' "${failed[@]}"
exit 1
