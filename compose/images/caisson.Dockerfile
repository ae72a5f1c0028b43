# The bot itself, for `caisson serve` and `caisson broker` in containers of their own. The context holds two programs
# that were built before: caisson and the static caisson-runner.
#   build.sh makes the context; by hand: docker build -f caisson.Dockerfile --build-arg BASE=caisson-base:local <directory>
# Neither part needs root here: the broker's user must only be able to open the engine's socket (compose gives the group).
ARG BASE=debian:bookworm-slim
FROM ${BASE}

ARG PACKAGES="git util-linux ca-certificates"
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

RUN set -eu; \
    echo 'caisson:x:10100:' >>/etc/group; \
    echo 'caisson:x:10100:10100::/var/lib/caisson:/usr/sbin/nologin' >>/etc/passwd; \
    install -d -o 10100 -g 10100 -m 700 /var/lib/caisson /run/caisson; \
    find / -xdev -type f -perm /6000 -exec chmod ug-s {} +

COPY caisson caisson-runner /usr/local/bin/

USER 10100:10100
WORKDIR /var/lib/caisson
ENV LANG=C.UTF-8
ENTRYPOINT ["/usr/local/bin/caisson"]
CMD ["--help"]

# What it was made of. An image made from this one inherits the labels, but not that they come last: `caisson image prune`
# goes by both.
ARG CONTENT
ARG IMAGE
LABEL caisson.content=${CONTENT} caisson.image=${IMAGE}
