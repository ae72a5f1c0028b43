# shellcheck shell=sh
# Finds compose, to be sourced (sh): the plugin, or the program of that name. Defines `compose`, and exports what compose.yaml needs.
if docker compose version >/dev/null 2>&1; then
    compose() { docker compose -p caisson -f "$HERE/compose.yaml" "$@"; }
elif command -v docker-compose >/dev/null 2>&1; then
    compose() { docker-compose -p caisson -f "$HERE/compose.yaml" "$@"; }
else
    echo "there is no docker compose: apt-get install docker-compose (Debian, Ubuntu), or docker-compose-plugin from Docker" >&2
    exit 1
fi
# What an operator chose once holds for every command: a repeated `make up` must not fall back to defaults. What is set
# for this one command counts more.
if [ -f "$HERE/.env" ]; then
    given=$(export -p)
    set -a
    # shellcheck source=/dev/null
    . "$HERE/.env"
    set +a
    eval "$given"
fi
# The group that may use the engine's socket, as the broker's container must name it.
CAISSON_DOCKER_GID=${CAISSON_DOCKER_GID:-$(stat -c %g /var/run/docker.sock)}
export CAISSON_DOCKER_GID
CAISSON_PUBLIC_URL=${CAISSON_PUBLIC_URL:-http://localhost:${CAISSON_PORT:-3000}}
CAISSON_PUBLIC_URL=${CAISSON_PUBLIC_URL%/}
export CAISSON_PUBLIC_URL
