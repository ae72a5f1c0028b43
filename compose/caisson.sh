#!/bin/sh
# caisson in the installation that `make up` made: compose/caisson.sh repo add https://… --writer alice, compose/caisson.sh doctor, …
#
#   compose/caisson.sh fetch path/to/your/clone agent/1-… [flags]    always as a branch: no container sees your clone
#   compose/caisson.sh edit                                          its caisson.toml, in $EDITOR; checked before it is taken
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

die() { echo "caisson.sh: $*" >&2; exit 1; }

# What needs something that the bot's container does not have: the engine, files of this machine, a port that is published.
refuse() {
    case "${1:-} ${2:-}" in
    "image "*) die "the bot's container reaches no container engine: \`make build\`, then target/release/caisson $*" ;;
    "barrier "* | "eval "* | "repo try")
        die "the bot's container reaches no container engine: that works with a caisson outside of compose alone, with its own caisson.toml" ;;
    "command "*) die "the bot's container does not see your checkout: \`make build\`, then target/release/caisson $*" ;;
    "broker "* | "serve "* | "setup "*) die "\`make up\` does that" ;;
    "dashboard "*) die "the page is on the loopback of the bot's container, where no browser is; \`task\` shows tasks" ;;
    esac
    before=
    for word in "$@"; do
        # The value of an option is no place, such as .github of `--name .github`.
        case $before in
        --here | --moved | --no-try | --*=* | [!-]* | "") value=no ;;
        *) value=yes ;;
        esac
        before=$word
        case "$1 ${2:-} $word" in
        "fetch "*" --open-pr") die "no --open-pr here: fetch the branch, then push it with your own git" ;;
        "task "*" --into" | "task "*" --into="*) die "no --into here: without it the lines are printed, for \`>FILE\`" ;;
        "task "*" --file" | "task "*" --file="*) die "the bot's container does not see your file: \`make build\`, then target/release/caisson $*" ;;
        "repo add "[./~]* | "repo add file:"*)
            [ "$value" = yes ] || die "the bot's container does not see $word: name an address" ;;
        esac
    done
}

# caisson.toml lies in the volume `state`. What does not hold is not taken.
edit() {
    file=$(mktemp)
    compose run --rm -T --no-deps --entrypoint cat caisson /var/lib/caisson/caisson.toml </dev/null >"$file" ||
        { rm -f "$file"; die "no caisson.toml can be read; \`make up\` makes it"; }
    # shellcheck disable=SC2086
    ${EDITOR:-vi} "$file" || die "it stays as it was; what you wrote is in $file"
    compose run --rm -T --no-deps --entrypoint sh caisson -euc '
        umask 077; cd /var/lib/caisson; trap "rm -f new.toml" EXIT; cat >new.toml
        caisson --config new.toml config >&2; mv new.toml caisson.toml' <"$file" ||
        die "it stays as it was; what you wrote is in $file"
    rm -f "$file"
    echo "\`make up\`: the bot reads it when it starts"
}

refuse "$@"
if [ "${1:-}" = edit ]; then
    edit
    exit
fi
if [ "${1:-}" = fetch ] && [ -d "${2:-}" ] && [ $# -ge 3 ]; then
    shift
    fetch "$@"
    exit
fi
# Whether its checks run in a sandbox cannot be tried from there.
case "${1:-} ${2:-} $*" in
"repo add "*" --no-try"*) ;;
"repo add "*) set -- "$@" --no-try ;;
esac
terminal=
[ -t 0 ] && [ -t 1 ] || terminal=-T
# Beside the running bot, where doctor finds it; before it runs, in a container of its own.
if compose exec -T caisson true </dev/null >/dev/null 2>&1; then
    compose exec $terminal caisson caisson --config=/var/lib/caisson/caisson.toml "$@"
else
    compose run --rm $terminal --no-deps caisson --config=/var/lib/caisson/caisson.toml "$@"
fi
