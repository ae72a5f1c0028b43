#!/bin/bash
# Takes the picture of docs/reviews.md: an ordinary checkpoint on a real Gitea, in a browser's window of one screen.
#
#   CAISSON_GITEA_BIN=path    a real Gitea (also: `gitea` on the PATH)
#   CAISSON_CHROMIUM=path     the browser (`chromium` on the PATH)
#   CAISSON_PICTURE=path      where to put it (docs/review.png)
set -euo pipefail
cd "$(dirname "$0")/../.."

die() { echo "picture: $*" >&2; exit 1; }
command -v "${CAISSON_CHROMIUM:-chromium}" >/dev/null || die "there is no chromium on the PATH; CAISSON_CHROMIUM names one"
command -v "${CAISSON_GITEA_BIN:-gitea}" >/dev/null || die "there is no gitea on the PATH; CAISSON_GITEA_BIN names one"

programs=$(tests/support/programs.sh)
export CAISSON_RUNNER=$programs/caisson-runner CAISSON_PICTURE=${CAISSON_PICTURE:-$PWD/docs/review.png}
cargo test --locked --workspace --test stories -- --nocapture picture::
ls -l "$CAISSON_PICTURE"
