#!/bin/sh
# Makes the root of the sandbox image with no registry of images: from Debian's packages, npm's and PyPI's.
#   make-root.sh [--with data] [--with tools] OUTPUT.tar        - writes the archive to standard output
#   docker import OUTPUT.tar skerry-sandbox:latest              `skerry image build` does both
# Needs root, debootstrap, npm. Mirror and proxy are those of this host's apt. SKERRY_IMAGE_CACHE names a directory where
# downloads are kept; in a checkout it is build/image-cache.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
say() { printf 'make-root: %s\n' "$*" >&2; }
die() {
  say "$1"
  if [ $# -gt 2 ]; then printf 'hint: %s\n' "$3" >&2; fi
  exit "$2"
}
usage="usage: make-root.sh [--with data] [--with tools] OUTPUT.tar"

# --- What is asked for ------------------------------------------------------------------------------------------------

sets=""
output=""
while [ $# -gt 0 ]; do
  case $1 in
    --with)
      [ $# -gt 1 ] || die "--with needs the name of a package set: data, tools" 64 "$usage"
      case $2 in
        data | tools) case " $sets " in *" $2 "*) ;; *) sets="$sets $2" ;; esac ;;
        *) die "there is no package set $2; there are: data, tools" 64 "$usage" ;;
      esac
      shift 2
      ;;
    -h | --help) echo "$usage" && exit 0 ;;
    -?*) die "unknown option $1" 64 "$usage" ;;
    *)
      [ -z "$output" ] || die "one output, not two" 64 "$usage"
      output=$1
      shift
      ;;
  esac
done
[ -n "$output" ] || die "where to?" 64 "$usage"

# --- What this host has -----------------------------------------------------------------------------------------------

case $(uname -m) in
  x86_64) debian_arch=amd64 node_arch=x64 ;;
  aarch64) debian_arch=arm64 node_arch=arm64 ;;
  *) die "there is no sandbox image for $(uname -m)" 69 ;;
esac
[ "$(id -u)" = 0 ] || die "making a root needs root" 77 "Run it with sudo, or build from a registry: docker build"
for program in debootstrap npm unshare setpriv tar; do
  command -v "$program" >/dev/null 2>&1 ||
    die "$program is missing" 69 "Install it; with apt: apt-get install debootstrap npm util-linux tar"
done
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keyring" ] || die "Debian's keys are missing" 69 "Install them: apt-get install debian-archive-keyring"

# The address of a Debian archive in this host's sources, by its label.
archive() {
  command -v apt-get >/dev/null 2>&1 || return 0
  # shellcheck disable=SC2016
  apt-get indextargets 'Created-By: Packages' 'Origin: Debian' "Label: $1" --format '$(REPO_URI)' 2>/dev/null |
    grep -m 1 '^https\?://' || :
}
proxy() {
  command -v apt-config >/dev/null 2>&1 || return 0
  eval "$(apt-config shell value "Acquire::$1::Proxy")"
  [ "${value-}" = DIRECT ] || printf %s "${value-}"
}
mirror=$(archive Debian)
mirror=${mirror:-http://deb.debian.org/debian/}
security=$(archive Debian-Security)
security=${security:-http://deb.debian.org/debian-security/}
http_proxy=${http_proxy-$(proxy http)}
https_proxy=${https_proxy-$(proxy https)}
export http_proxy https_proxy

# --- The frame: whatever happens, nothing stays -----------------------------------------------------------------------

temporary=${TMPDIR:-/var/tmp}
# Only kill -9 leaves a directory, and then whoever made it is gone.
find "$temporary" -maxdepth 1 -type d -user 0 -name 'skerry-root.*' | while read -r old; do
  maker=${old#"$temporary"/skerry-root.}
  [ -e "/proc/${maker%%.*}" ] || rm -rf "$old"
done
work=$(mktemp -d "$temporary/skerry-root.$$.XXXXXX")
making=""
leave() {
  status=$1
  trap '' INT TERM HUP
  # Takes every process of the making with it, and their mounts.
  if [ -n "$making" ]; then
    kill -KILL "$making" 2>/dev/null || :
    wait "$making" 2>/dev/null || :
  fi
  rm -rf "$work"
  [ "$output" = - ] || rm -f "$output.part"
  exit "$status"
}
trap 'leave $?' EXIT
trap 'leave 130' INT
trap 'leave 143' TERM HUP

checkout=$here/../../..
if [ -z "${SKERRY_IMAGE_CACHE-}" ] && [ -e "$checkout/.git" ]; then SKERRY_IMAGE_CACHE=$checkout/build/image-cache; fi
cache=${SKERRY_IMAGE_CACHE:-$work/cache}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
# One at a time: the next makes do without.
exec 8>"$cache/lock"
flock -n 8 || { cache=$work/cache && mkdir -p "$cache"; }
mkdir -p "$cache/debootstrap" "$cache/apt/partial" "$work/root"

if [ "$output" = - ]; then exec 7>&1; else exec 7>"$output.part"; fi

# Own namespaces: its mounts are nobody else's, and with its first process everything ends.
export work cache mirror security keyring debian_arch node_arch
# shellcheck disable=SC2086
setpriv --pdeathsig KILL unshare --mount --propagation private --pid --kill-child sh "$here/fill-root.sh" $sets &
making=$!
status=0
wait "$making" || status=$?
making=""
[ "$status" = 0 ] || exit "$status"
exec 7>&-
[ "$output" = - ] || mv "$output.part" "$output"
