# shellcheck shell=bash
# Functions around the container engine, to be sourced (bash). Nothing here waits for ever.
#
#   docker_answers          true when an engine answers within 10 s
#   docker_start [log]      starts dockerd when none answers; sets DOCKERD_PID when it was us; false when it cannot be had
#   docker_stop             stops the engine that docker_start started, and only that one

DOCKERD_PID=

docker_answers() { command -v docker >/dev/null 2>&1 && timeout 10 docker version >/dev/null 2>&1; }

# A pid file whose process is gone, or is something else by now, keeps dockerd from starting.
docker_forget_stale() {
    local file=$1 pid
    [ -f "$file" ] || return 0
    pid=$(cat "$file" 2>/dev/null || true)
    case $(tr '\0' ' ' 2>/dev/null <"/proc/${pid:-none}/cmdline" || true) in
        *dockerd* | *containerd*) ;;
        *) rm -f "$file" ;;
    esac
}

docker_start() {
    local log=${1:-/var/log/caisson-dockerd.log}
    docker_answers && return 0
    command -v dockerd >/dev/null 2>&1 || { echo "there is no dockerd (package docker.io)"; return 1; }
    [ "$(id -u)" = 0 ] || { echo "starting dockerd needs root"; return 1; }
    if [ -d /run/systemd/system ] && command -v systemctl >/dev/null 2>&1; then
        timeout 60 systemctl start docker >/dev/null 2>&1 || true
        docker_answers && return 0
    fi
    docker_forget_stale /var/run/docker.pid
    docker_forget_stale /run/docker/containerd/containerd.pid
    nohup setsid dockerd >"$log" 2>&1 </dev/null &
    # setsid takes the place of this job's process: as the child of a shell without job control it needs no fork.
    DOCKERD_PID=$!
    for _ in $(seq 30); do
        docker_answers && return 0
        kill -0 "$DOCKERD_PID" 2>/dev/null || break
        sleep 1
    done
    echo "dockerd does not come up; the end of $log:"
    tail -n 5 "$log" || true
    docker_stop
    return 1
}

docker_stop() {
    [ -n "$DOCKERD_PID" ] || return 0
    kill -TERM "$DOCKERD_PID" 2>/dev/null || true
    for _ in $(seq 40); do
        kill -0 "$DOCKERD_PID" 2>/dev/null || break
        sleep 0.5
    done
    kill -KILL "$DOCKERD_PID" 2>/dev/null || true
    DOCKERD_PID=
}
