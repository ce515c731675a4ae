# What `cargo xtask dist --try` does in a clean Debian: install, pair, upgrade, revoke, remove, and look what is left.
set -eu

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'failed: %s\n' "$*"; exit 1; }

# A user's own environment, and nothing of root's.
as() { who=$1; shift; runuser -u "$who" -- env -i HOME="/home/$who" PATH="$PATH" LANG=C.UTF-8 "$@"; }

# Every file, but for those of the kernel, of this trial, and what dpkg notes about itself.
files() {
    find / \( -path /proc -o -path /dev -o -path /sys -o -path /trial -o -path /var/lib/dpkg -o -path /var/log/dpkg.log \) -prune \
        -o -print | sort
}

# Nothing is gone, and what is new is what users' daemons keep.
left() {
    files >/trial/after
    gone=$(comm -23 /trial/before /trial/after)
    [ -z "$gone" ] || fail "gone: $gone"
    comm -13 /trial/before /trial/after >/trial/new
    cat /trial/new
    if grep -vE '^/home/[a-z]+/\.local(/state(/transom(/.*)?)?)?$' /trial/new; then fail "these are no state"; fi
}

# One daemon's life: $1 runs it, $2 pairs with it, $3 is done while its session runs.
life() {
    owner=$1 other=$2 meanwhile=$3
    say "up"
    mkfifo "/trial/ready-$owner" "/trial/offer-$owner"
    as "$owner" transom up --json >"/trial/ready-$owner" &
    daemon=$!
    exec 3<"/trial/ready-$owner"
    read -r ready <&3
    echo "$ready"
    as "$owner" transom new --name steady -- sh -c 'echo "begun as $$"; while read -r word; do echo "heard $word"; done'

    say "pair, with the command line of another user"
    as "$owner" transom pair --role operator --json --yes >"/trial/offer-$owner" &
    pairing=$!
    exec 4<"/trial/offer-$owner"
    read -r offer <&4
    link=$(printf '%s' "$offer" | sed 's/.*"url":"\([^"]*\)".*/\1/')
    port=$(printf '%s' "$link" | sed 's/.*:\([0-9]*\)\/pair#.*/\1/')
    printf 'https://127.0.0.1:%s/pair#%s\n' "$port" "${link#*#}" | as "$other" transom remote add --name desk --label laptop -
    wait "$pairing"
    exec 4<&-
    as "$other" transom send --on desk steady --enter one
    as "$owner" transom wait steady --text 'heard one' --timeout 60s

    $meanwhile "$owner" "$other"

    say "revoke"
    as "$owner" transom revoke --yes laptop
    if as "$other" transom ls --on desk; then fail "a revoked device lists the sessions"; fi

    say "shutdown"
    as "$owner" transom shutdown --sessions
    wait "$daemon"
    exec 3<&-
}

upgrade() {
    say "upgrade, with a session that runs and a device that is paired"
    former=$(as "$1" transom screen steady | grep begun)
    dpkg -i /trial/new.deb
    as "$1" transom restart
    as "$2" transom send --on desk steady --enter two
    as "$1" transom wait steady --text 'heard two' --timeout 60s
    as "$1" transom screen steady
    [ "$(as "$1" transom screen steady | grep begun)" = "$former" ] || fail "the session is another one"
    as "$2" transom whoami --on desk
}

nothing() { :; }

say "a clean Debian $(cat /etc/debian_version), $(ldd --version | head -n 1)"
for user in ann ben cleo dan; do useradd --create-home --shell /bin/sh "$user"; done
files >/trial/before

say "the Debian package"
dpkg -i /trial/previous.deb
transom --version
dpkg --verify transom
life ann ben upgrade
say "remove"
dpkg -r transom
left
rm -r /home/ann/.local /home/ben/.local

say "the tarball"
tar -C /usr/local --strip-components=1 -xzf /trial/new.tar.gz
# It is at another path now.
hash -r
transom --version
life cleo dan nothing
say "remove"
tar -tzf /trial/new.tar.gz | sed -n 's,^[^/]*/\(.*[^/]\)/*$,/usr/local/\1,p' | sort -r | while read -r path; do
    if grep -qxF "$path" /trial/before; then continue; fi
    if [ -d "$path" ]; then rmdir "$path"; else rm "$path"; fi
done
left

say "all of it held"
