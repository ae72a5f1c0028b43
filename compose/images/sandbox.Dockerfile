# What a chamber is made from, profile `base`: git, a shell, Python, a C compiler.
#   docker build --build-arg BASE=caisson-base:local -t caisson-sandbox:local - < sandbox.Dockerfile
# Works with the legacy builder and without a network where the base holds the packages already (base.sh).
# An operator's own image may start from this one. The broker asks of an image: git and sh, no VOLUME, and
# /workspace and /home/agent belonging to 10001.
ARG BASE=debian:bookworm-slim
FROM ${BASE}

ARG PACKAGES="git ca-certificates python3 build-essential"
RUN set -eu; \
    missing=; \
    for it in ${PACKAGES}; do \
        dpkg-query -W -f '${Status}' "$it" 2>/dev/null | grep -q 'ok installed' || missing="$missing $it"; \
    done; \
    if [ -n "$missing" ]; then \
        apt-get update; \
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; \
        rm -rf /var/lib/apt/lists/*; \
    fi

# The agent's user by number: an empty workspace takes owner and mode from this directory. Nothing is setuid, although a
# chamber could not use it. git trusts every directory: the workspace's owner is not who made the repository.
RUN set -eu; \
    grep -q '^agent:' /etc/group || echo 'agent:x:10001:' >>/etc/group; \
    grep -q '^agent:' /etc/passwd || echo 'agent:x:10001:10001::/home/agent:/bin/bash' >>/etc/passwd; \
    install -d -o 10001 -g 10001 -m 755 /workspace; \
    install -d -o 10001 -g 10001 -m 700 /home/agent; \
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
