#!/bin/sh
# caisson in the installation that `make up` made: compose/caisson.sh repo add https://… --writer alice, compose/caisson.sh doctor, …
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tool.sh
. "$HERE/tool.sh"
compose run --rm --no-deps caisson --config=/var/lib/caisson/caisson.toml "$@"
