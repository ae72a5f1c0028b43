#!/bin/sh
# `make up`: Gitea, broker and caisson in containers. The first time: builds the images, makes Gitea's admin and the bot's accounts.
#
#   CAISSON_MODEL_KIND, _NAME, _BASE_URL    the model, otherwise [model] of caisson.toml (compose/caisson.sh edit); its key stands
#                                           in compose/secrets/model.key, which the only model or the worker has where no
#                                           model of caisson.toml names a key_file; written there it is /run/secrets/model_key
#   CAISSON_PORT, CAISSON_PUBLIC_URL        where people open Gitea (3000, http://localhost:<port>)
#   CAISSON_GITEA_IMAGE                     default gitea/gitea:1.25
#   CAISSON_MAX_MEMORY_MIB                  the most memory of a sandbox (16384), where memory_mib, workspace_mib or tmp_mib of a sandbox is above that
#
# Lines NAME=value in compose/.env set them for good: `make up` and compose/caisson.sh read it each time. What is set for one command
# counts more than a line there.
# Repeat it as you like: what is there stays. `make down` stops it and keeps all data.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
die() { echo "up: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || die "run it as root: the secrets are given to the containers' user"
timeout 10 docker version >/dev/null 2>&1 || die "the container engine does not answer; start it (systemctl start docker)"
# shellcheck source=tool.sh
. "$HERE/tool.sh"
case $CAISSON_PUBLIC_URL in
http://?* | https://?*) ;;
*) die "CAISSON_PUBLIC_URL is an address that begins with http:// or https://, not $CAISSON_PUBLIC_URL" ;;
esac

key=$HERE/secrets/model.key
install -d -m 711 "$HERE/secrets"
if [ ! -s "$key" ]; then
    # A file must be there; a recording and most local servers want no key.
    echo none >"$key"
    [ "${CAISSON_MODEL_KIND:-anthropic}" != anthropic ] || echo "up: put the model's key into $key, then \`make up\` again" >&2
fi
chown 10100:10100 "$key"
chmod 600 "$key"

"$HERE/images/build.sh" sandbox router caisson

# From a registry the image comes once by its name; from then on it is the one that came, by its digest.
gitea=${CAISSON_GITEA_IMAGE:-gitea/gitea:1.25}
docker image inspect "$gitea" >/dev/null 2>&1 || docker pull -q "$gitea" >/dev/null || die "there is no image $gitea"
digest=$(docker image inspect -f '{{range .RepoDigests}}{{println .}}{{end}}' "$gitea" | head -n 1)
if [ -n "$digest" ] && [ "$digest" != "$gitea" ]; then
    # The last line that a person wrote may have no end.
    [ -z "$(tail -c 1 "$HERE/.env" 2>/dev/null)" ] || echo >>"$HERE/.env"
    printf '# %s, as it came on %s\nCAISSON_GITEA_IMAGE=%s\n' "$gitea" "$(date +%F)" "$digest" >>"$HERE/.env"
    gitea=$digest
fi
export CAISSON_GITEA_IMAGE="$gitea"
compose up -d gitea broker

echo "waiting for Gitea"
count=0
until compose exec -T gitea wget -q -O /dev/null http://127.0.0.1:3000/api/healthz 2>/dev/null; do
    count=$((count + 1))
    [ "$count" -lt 60 ] || die "Gitea does not answer; \`docker logs\` of its container says why"
    sleep 2
done

# Here until setup is through: a repeated `make up` goes on with the same admin.
kept=$HERE/secrets/gitea-admin
# Gitea takes a token back for a password alone. That there is none (404) is as good.
taken_back() {
    code=$(printf 'user = "admin:%s"\n' "$(cat "$kept")" | compose exec -T -u git gitea curl -sS -o /dev/null -w '%{http_code}' -K - \
        -X DELETE http://127.0.0.1:3000/api/v1/users/admin/tokens/caisson-setup) || true
    case $code in 204 | 404) ;; *) return 1 ;; esac
}
revoke() {
    taken_back ||
        die "the token caisson-setup could not be taken back (Gitea answered ${code:-nothing}); log in as admin, password $(cat "$kept"), and delete it
under Settings, Applications. If the password is another one by now, write that one into $kept, and \`make up\` again"
}
if ! compose run --rm -T --no-deps --entrypoint test caisson -e /var/lib/caisson/caisson.toml </dev/null >/dev/null 2>&1; then
    if [ ! -s "$kept" ]; then
        said=$(compose exec -T -u git gitea gitea admin user create --username admin --email admin@localhost.localdomain --admin \
            --random-password --must-change-password=false </dev/null) || die "Gitea's admin could not be made: $said"
        (umask 077; printf '%s\n' "$said" | sed -n "s/^generated random password is '\(.*\)'$/\1/p" >"$kept")
        [ -s "$kept" ] || die "Gitea made its admin and did not name the password: $said"
    fi
    # One that is left from a run that was cut off; where it stays, no other one is made.
    taken_back || true
    said=$(compose exec -T -u git gitea gitea admin user generate-access-token --username admin \
        --token-name caisson-setup --scopes all --raw </dev/null) ||
        die "Gitea's admin got no token: $said
If this Gitea is a new one, remove $kept, which names an older one's password. If the token caisson-setup is there already and admin's
password is another one by now, write that one into $kept"
    token=$(printf '%s\n' "$said" | grep -oE '\b[0-9a-f]{40}\b' | head -n 1)
    # By standard input: the token is in no argument, and in no file of the host.
    printf '%s\n' "$token" | compose run --rm -T --no-deps --entrypoint sh caisson -c '
        umask 077; cd /var/lib/caisson; cat >admin.token
        caisson --config /var/lib/caisson/caisson.toml setup --adopt --admin-token-file admin.token \
            --forge-url http://gitea:3000 --public-url "$0" --bot-url http://caisson:8440
        code=$?; rm -f admin.token; exit $code' "$CAISSON_PUBLIC_URL" && set_up=yes || set_up=
    # Whatever came of it: a token that may do everything must not stay.
    revoke
    [ -n "$set_up" ] || die "caisson setup failed: mend what stands above, then \`make up\` again"
    echo "compose.yaml has set these in Gitea already."
elif [ -s "$kept" ]; then
    # Of a run that was cut off behind setup.
    revoke
fi
if [ -s "$kept" ]; then
    echo "Gitea's admin: name admin, password $(cat "$kept") (shown this once)"
    rm -f "$kept"
fi
public=$CAISSON_PUBLIC_URL
# A store of an older version has repositories, or is as good as one without: the bot brings it to this version when it starts.
listed=$(compose run --rm -T --no-deps caisson --config=/var/lib/caisson/caisson.toml repo list </dev/null 2>&1) || case $listed in
    *"the shape of an older version of caisson"*) ;;
    *) die "the repositories could not be listed: $listed" ;;
esac
case $listed in
*"no repository yet"*)
    echo "Open $public. Next: compose/caisson.sh repo add <git-url> --writer <login>, then \`make up\` again: it starts the bot."
    exit 0
    ;;
esac
compose up -d
# The bot reads its configuration when it starts.
compose restart caisson
echo "waiting for caisson"
count=0
until compose exec -T caisson bash -c '</dev/tcp/127.0.0.1/8441' </dev/null >/dev/null 2>&1; do
    count=$((count + 1))
    if [ "$count" -ge 30 ]; then
        compose logs --tail 5 caisson >&2
        die "the bot does not come up; above is why. Mend it, then \`make up\` again"
    fi
    sleep 1
done
echo "Open $public and write an issue with /fix. \`compose/caisson.sh doctor\` checks every part."
