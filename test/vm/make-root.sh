#!/bin/sh
# Makes the root of a virtual machine: Debian 12 with systemd, two kernels, Node.js and what sandboxes need.
#   make-root.sh DIRECTORY      where downloads are kept: DIRECTORY/../cache
# Leaves in DIRECTORY: root.img (ext4), and vmlinuz-VERSION and initrd-VERSION of each kernel, VERSION being 6.1 or 6.12.
# Needs root, debootstrap, npm, mke2fs; no loop device. Mirror and proxy are those of this host's apt.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
output=$1
die() {
  printf 'make-root: %s\n' "$*" >&2
  exit 69
}
[ "$(id -u)" = 0 ] || die "making a root needs root"
for program in debootstrap npm unshare setpriv mke2fs; do
  command -v "$program" >/dev/null 2>&1 || die "$program is missing; install it with scripts/setup.sh --vm"
done
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keyring" ] || die "Debian's keys are missing: apt-get install debian-archive-keyring"

# The address of a Debian archive in this host's sources, by its label.
archive() {
  # shellcheck disable=SC2016
  apt-get indextargets 'Created-By: Packages' 'Origin: Debian' "Label: $1" --format '$(REPO_URI)' 2>/dev/null |
    grep -m 1 '^https\?://' || :
}
proxy() {
  eval "$(apt-config shell value "Acquire::$1::Proxy")"
  [ "${value-}" = DIRECT ] || printf %s "${value-}"
}
mirror=$(archive Debian)
mirror=${mirror:-http://deb.debian.org/debian/}
security=$(archive Debian-Security)
security=${security:-http://deb.debian.org/debian-security/}
http_proxy=${http_proxy-$(proxy http)}
https_proxy=${https_proxy-$(proxy https)}
mkdir -p "$output" "$output/../cache/debootstrap" "$output/../cache/apt/partial"
output=$(cd "$output" && pwd)
cache=$(cd "$output/../cache" && pwd)
export output cache mirror security keyring http_proxy https_proxy
# Own namespaces: its mounts are nobody else's, and with its first process everything ends.
exec setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child sh "$here/fill-root.sh"
