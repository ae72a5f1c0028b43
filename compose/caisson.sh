#!/bin/sh
# caisson in the installation that `make up` made: compose/caisson.sh repo add https://… --writer alice, compose/caisson.sh doctor, …
#
#   compose/caisson.sh fetch path/to/your/clone agent/1-… [flags]    always as a branch: no container sees your clone
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tool.sh
. "$HERE/tool.sh"

# The clone's history goes in, the judged branch comes out, both as bundles.
fetch() {
    clone=$1 branch=$2
    shift 2
    bundle=$(mktemp)
    trap 'rm -f "$bundle"' EXIT
    # shellcheck disable=SC2016
    git -C "$clone" bundle create -q - HEAD | compose exec -T caisson sh -euc '
        work=$(mktemp -d); trap "rm -rf $work" EXIT
        cat >"$work/in"; git -c advice.detachedHead=false clone -q "$work/in" "$work/clone"
        caisson --config=/var/lib/caisson/caisson.toml fetch "$work/clone" "$@" --as-branch >&2
        git -C "$work/clone" bundle create -q - "$1"' sh "$branch" "$@" >"$bundle"
    git -C "$clone" fetch -q "$bundle" "$branch:$branch"
    echo "$clone has the branch $branch"
}

if [ "${1:-}" = fetch ] && [ -d "${2:-}" ] && [ $# -ge 3 ]; then
    shift
    fetch "$@"
    exit
fi
terminal=
[ -t 0 ] && [ -t 1 ] || terminal=-T
# Beside the running bot, where doctor finds it; before it runs, in a container of its own.
if compose exec -T caisson true </dev/null >/dev/null 2>&1; then
    compose exec $terminal caisson caisson --config=/var/lib/caisson/caisson.toml "$@"
else
    compose run --rm $terminal --no-deps caisson --config=/var/lib/caisson/caisson.toml "$@"
fi
