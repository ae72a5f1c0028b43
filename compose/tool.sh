# shellcheck shell=sh
# Finds compose, to be sourced (sh): the plugin, or the program of that name. Sets nothing; defines `compose`.
if docker compose version >/dev/null 2>&1; then
    compose() { docker compose -p caisson -f "$HERE/compose.yaml" "$@"; }
elif command -v docker-compose >/dev/null 2>&1; then
    compose() { docker-compose -p caisson -f "$HERE/compose.yaml" "$@"; }
else
    echo "there is no docker compose: apt-get install docker-compose (Debian, Ubuntu), or docker-compose-plugin from Docker" >&2
    exit 1
fi
# What an operator chose once holds for every command: a repeated `make up` must not fall back to defaults.
if [ -f "$HERE/.env" ]; then
    set -a
    # shellcheck source=/dev/null
    . "$HERE/.env"
    set +a
fi
# The group that may use the engine's socket, as the broker's container must name it.
CAISSON_DOCKER_GID=${CAISSON_DOCKER_GID:-$(stat -c %g /var/run/docker.sock)}
export CAISSON_DOCKER_GID
