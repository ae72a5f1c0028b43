#!/bin/bash
# `make check`: formatting, lints, documentation without a warning, scripts, licences and sources of dependencies, known vulnerabilities, unused dependencies.
# Runs all, then says what failed. A tool that is not installed is a failure; CAISSON_SKIP=deny,machete,shellcheck (set by .ci/run
# when it could not be had) skips it with a message.
#
# CAISSON_ADVISORIES names a copy of the advisory database (the folder that `cargo deny fetch db` fills, its `db-path`); its
# date is printed. Without one advisories are not checked: no network is asked here.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
failed=()

run() { printf '\n== %s\n' "$*"; "$@" || failed+=("$*"); }
skipped() { case ",${CAISSON_SKIP:-}," in *",$1,"*) echo "skipped: $1 (not installed)"; return 0 ;; esac; return 1; }

advisories() {
    local copy date found=
    if [ -z "${CAISSON_ADVISORIES:-}" ]; then
        printf '\nadvisories: not checked (CAISSON_ADVISORIES names no copy of the advisory database)\n'
        return
    fi
    for copy in "$CAISSON_ADVISORIES"/*/; do
        date=$(git -C "$copy" log -1 --format=%cs 2>/dev/null) || continue
        printf '\nadvisories: as of %s\n' "$date"
        found=1
    done
    if [ -z "$found" ]; then
        failed+=("advisories: $CAISSON_ADVISORIES holds no clone of the advisory database, so nothing says of which day it is")
        return
    fi
    # Only the named copy is read.
    mkdir -p target
    { cat deny.toml; printf '\n[advisories]\ndb-path = "%s"\n' "$(realpath "$CAISSON_ADVISORIES")"; } >target/advisories.toml
    run cargo deny --offline --locked --all-features check --config "$PWD/target/advisories.toml" advisories
}

run cargo fmt --all --check
run cargo clippy --locked --workspace --all-targets -- -D warnings
# A workspace of its own that takes files of the bot by path; in the same folder, so that no dependency is checked twice.
run cargo check --locked --quiet --manifest-path fuzz/Cargo.toml --target-dir target
run make --no-print-directory docs
mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
# Single quotes are meant (2016), arguments may be left out (2119), traps call functions (2317).
skipped shellcheck || run shellcheck -x -P SCRIPTDIR -e SC2016,SC2119,SC2317 "${scripts[@]}"
# Only dependencies of other platforms may be missing by now; the audit itself uses no network.
if skipped deny; then
    echo "advisories: not checked (cargo deny is not installed)"
else
    cargo fetch --locked --quiet
    run cargo deny --offline --locked --all-features check licenses bans sources
    advisories
fi
skipped machete || run cargo machete

[ ${#failed[@]} -eq 0 ] && exit 0
printf '\nfailed:\n'; printf '  %s\n' "${failed[@]}"
exit 1
