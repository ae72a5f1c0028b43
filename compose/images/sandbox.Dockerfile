# What a sandbox is made from: one file for every toolchain profile; the packages of each stand in `profiles` beside it.
#   caisson image build rust, or build.sh rust; by hand:
#   docker build --build-arg BASE=caisson-base:local --build-arg PACKAGES='git python3' -t mine:local - < sandbox.Dockerfile
# Works with the legacy builder and without a network where the base holds the packages already (base.sh).
# An operator's own image may start from one of these. The broker asks of an image: git and sh, no VOLUME, and the directories
# /workspace and /home/agent.
ARG BASE=debian:bookworm-slim
FROM ${BASE}

# `a|b` = the first that this Debian has. Without a default: an image that lacks its packages is found out too late.
ARG PACKAGES
RUN set -eu; \
    : "${PACKAGES:?give --build-arg PACKAGES; the lists stand in compose/images/profiles}"; \
    present() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }; \
    missing=; \
    for it in ${PACKAGES}; do \
        for one in $(echo "$it" | tr '|' ' '); do present "$one" && continue 2; done; \
        missing="$missing $it"; \
    done; \
    if [ -n "$missing" ]; then \
        apt-get update; \
        chosen=; \
        for it in $missing; do \
            found=; \
            for one in $(echo "$it" | tr '|' ' '); do \
                if [ -z "$found" ] && apt-cache show "$one" >/dev/null 2>&1; then found=$one; fi; \
            done; \
            [ -n "$found" ] || { echo "this Debian has no package $it" >&2; exit 1; }; \
            chosen="$chosen $found"; \
        done; \
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $chosen; \
        rm -rf /var/lib/apt/lists/*; \
    fi

# The sandboxes' users, one for each repository and two for the barrier's self-test (protocol/src/broker.rs): their numbers get names,
# for programs that ask who they are. In a sandbox both directories are empty and its user's, wherever they lie; a home in memory has
# the mode that it has here. Nothing is setuid, although a sandbox could not use it. git trusts every directory: the workspace's
# owner is not who made the repository.
RUN set -eu; \
    user=10003; \
    while [ $user -le 10066 ]; do \
        grep -q "^[^:]*:[^:]*:$user:" /etc/group || echo "agent-$user:x:$user:" >>/etc/group; \
        grep -q "^[^:]*:[^:]*:$user:" /etc/passwd || \
            echo "agent-$user:x:$user:$user::/home/agent:/bin/bash" >>/etc/passwd; \
        user=$((user + 1)); \
    done; \
    install -d -m 1777 /workspace; \
    install -d -m 700 /home/agent; \
    git config --system safe.directory '*'; \
    printf 'Acquire::Retries "0";\n' >/etc/apt/apt.conf.d/90caisson; \
    find / -xdev -type f -perm /6000 -exec chmod ug-s {} +

# A refused name is final here; retrying only costs the agent time. (pip hides the cause with 0.)
ENV LANG=C.UTF-8 \
    PIP_RETRIES=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    CARGO_NET_RETRY=0 \
    npm_config_fetch_retries=0 \
    npm_config_update_notifier=false \
    GIT_TERMINAL_PROMPT=0

WORKDIR /workspace

# What it was made of. An image made from this one inherits the labels, but not that they come last: `caisson image prune`
# goes by both.
ARG CONTENT
ARG IMAGE
LABEL caisson.content=${CONTENT} caisson.image=${IMAGE}
