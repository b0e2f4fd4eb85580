#!/bin/sh
# Installs the sandbox image's packages. Runs inside the root that is being made, as its root.
#   install-packages.sh [data] [tools]
set -eu
lists=$(dirname "$0")/packages
export DEBIAN_FRONTEND=noninteractive PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1

named() { sed 's/#.*//' "$lists/$1.txt"; }
install() { apt-get install -qy --no-install-recommends "$@"; }

debian=$(named base)
pypi=""
for set in "$@"; do
  case $set in
    tools) debian="$debian $(named tools)" ;;
    data) pypi=$(named data) ;;
    *) echo "there is no package set $set; there are: data, tools" >&2 && exit 64 ;;
  esac
done

# Documentation is not unpacked at all.
printf 'path-exclude=/usr/share/%s/*\n' man info locale lintian >/etc/dpkg/dpkg.cfg.d/skerry
printf 'path-exclude=/usr/share/doc/*\npath-include=/usr/share/doc/*/copyright\n' >>/etc/dpkg/dpkg.cfg.d/skerry
# Without this, lists that could not be fetched are a warning, and what is old stays.
apt-get update -q -o APT::Update::Error-Mode=any
apt-get upgrade -qy
# shellcheck disable=SC2086
install $debian

if [ -n "$pypi" ]; then
  had_pip=true
  command -v pip3 >/dev/null || had_pip=false
  $had_pip || install python3-pip
  # shellcheck disable=SC2086
  pip3 install -q --break-system-packages --no-cache-dir --no-compile --only-binary=:all: $pypi
  $had_pip || apt-get purge -qy --autoremove python3-pip
fi
rm /etc/dpkg/dpkg.cfg.d/skerry
