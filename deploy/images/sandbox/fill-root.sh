#!/bin/sh
# The making itself, in namespaces of its own: `make-root.sh` starts it, and says in the environment where and from what.
# The archive goes to descriptor 7.
#   fill-root.sh [data] [tools]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sets=$*
: "${work:?}" "${cache:?}" "${mirror:?}" "${security:?}" "${keyring:?}" "${debian_arch:?}" "${node_arch:?}"
say() { printf 'make-root: %s\n' "$*" >&2; }
root=$work/root
log=$work/log
quietly() {
  "$@" >"$log" 2>&1 </dev/null && return
  grep -hE '^(E:|W:.*fail|ERROR|npm (error|ERR))|No space left' "$log" | tail -n 12 >&2 || :
  [ ! -e "$root/debootstrap/debootstrap.log" ] || tail -n 5 "$root/debootstrap/debootstrap.log" >&2
  say "failed: $1"
  if grep -qs 'No space left' "$log" "$root/debootstrap/debootstrap.log"; then exit 74; fi
  exit 70
}
inside() {
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    http_proxy="${http_proxy-}" https_proxy="${https_proxy-}" no_proxy="${no_proxy-}" \
    PIP_CERT=/run/skerry/certificates PIP_INDEX_URL="${PIP_INDEX_URL:-https://pypi.org/simple}" \
    chroot "$root" "$@"
}

# Unpacking thousands of small files with a sync after each is slow; in memory it is not.
if [ "$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)" -gt 4000000 ]; then
  mount -t tmpfs -o mode=755,size=3g skerry-root "$root"
fi

say "getting Node.js 20"
mkdir "$work/npm"
case " $sets " in *" tools "*) npm_package=npm@10 ;; *) npm_package="" ;; esac
# shellcheck disable=SC2086
quietly npm pack --silent --pack-destination "$work/npm" "node-linux-$node_arch@20" $npm_package

say "getting Debian's base"
quietly debootstrap --variant=minbase --arch="$debian_arch" --keyring="$keyring" --force-check-gpg \
  --cache-dir="$cache/debootstrap" bookworm "$root" "$mirror"

say "installing packages: base${sets:+ $sets}"
cat >"$root/etc/apt/sources.list" <<TEXT
deb $mirror bookworm main
deb $mirror bookworm-updates main
deb $security bookworm-security main
TEXT
cat >"$root/etc/apt/apt.conf.d/99skerry" <<'TEXT'
Acquire::https::CAInfo "/run/skerry/certificates";
Acquire::Languages "none";
TEXT
# A service must not be started in here.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
mkdir -p "$root/run/lock" "$root/run/skerry" "$root/tmp/skerry"
mount --bind "$cache/apt" "$root/var/cache/apt/archives"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/run/skerry/certificates" 2>/dev/null || :
cp -R "$here/packages" "$here/install-packages.sh" "$here/finish-root.sh" "$here/entrypoint.sh" "$root/tmp/skerry/"
# shellcheck disable=SC2086
quietly inside sh /tmp/skerry/install-packages.sh $sets
dates=$(sed -n 's/^Date: //p' "$root"/var/lib/apt/lists/*InRelease)
newest=$(printf '%s\n' "$dates" | while read -r each; do date -d "$each" +%s; done | sort -n | tail -n 1)
umount "$root/var/cache/apt/archives" "$root/run"

say "cleaning up"
tar -xzf "$work/npm/node-linux-$node_arch"-*.tgz -C "$root/usr/local" --strip-components=1 --no-same-owner \
  package/bin package/include
if [ -n "$npm_package" ]; then
  mkdir -p "$root/usr/local/lib/node_modules/npm"
  tar -xzf "$work/npm"/npm-*.tgz -C "$root/usr/local/lib/node_modules/npm" --strip-components=1 --no-same-owner
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  chmod 755 "$root"/usr/local/lib/node_modules/npm/bin/*-cli.js
fi
rm "$root/usr/sbin/policy-rc.d"
# shellcheck disable=SC2086
quietly inside sh /tmp/skerry/finish-root.sh $sets
umount "$root/proc"
rm -rf "${root:?}"/dev/* "$root"/var/log/*

say "writing the archive"
# Times of this run say nothing: only files that are newer than the packages' index get its time.
tar -c --sort=name --numeric-owner --format=gnu --clamp-mtime --mtime="@$newest" -C "$root" . >&7 ||
  { say "the archive could not be written" && exit 74; }
