#!/bin/sh
# Turns a Debian root with Python and Node into the sandbox image's root. Runs inside it, as its root.
#   finish-root.sh [data] [tools]
set -eu
case " $* " in *" tools "*) tools=true ;; *) tools=false ;; esac

# Node's own image has its user at 1000; an image of ours has been through here before.
for user in node agent; do
  ! id "$user" >/dev/null 2>&1 || userdel "$user"
done
groupadd -g 1000 agent
useradd -u 1000 -g 1000 -d /workspace -M -s /bin/bash agent
mkdir -p /workspace/code /workspace/data /workspace/output /opt/skerry
chown -R 1000:1000 /workspace
install -m 755 "$(dirname "$0")/entrypoint.sh" /usr/local/bin/skerry-entrypoint

# An agent's packages go to its HOME: the root is read-only, there is no system to protect.
rm -f /usr/lib/python3*/EXTERNALLY-MANAGED

rm -rf /opt/yarn-* /usr/local/bin/yarn /usr/local/bin/yarnpkg /usr/local/bin/corepack \
  /usr/local/lib/node_modules/corepack /usr/local/bin/docker-entrypoint.sh \
  /usr/local/CHANGELOG.md /usr/local/LICENSE /usr/local/README.md
if $tools; then
  find /usr/local/include/node/openssl/archs -mindepth 1 -maxdepth 1 ! -name linux-x86_64 ! -name linux-aarch64 -exec rm -rf {} +
else
  rm -rf /usr/local/include/node /usr/local/bin/npm /usr/local/bin/npx /usr/local/lib/node_modules
fi

# The libraries' own tests are a third of what the data packages take.
for package in numpy pandas matplotlib; do
  find / -xdev -type d -path "*/dist-packages/$package/*" -name tests -prune -exec rm -rf {} +
done
# Compiled here, as nobody can write there later. Not bound to the files' times, which an archive may change.
packages=/usr/local/lib/python3.11/dist-packages
[ ! -d "$packages" ] || python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash "$packages"

# Documentation, but not the licences.
find /usr/share/doc -mindepth 1 ! -type d ! -name copyright -delete
find /usr/share/doc -mindepth 1 -type d -empty -delete
rm -rf /usr/share/man/* /usr/share/info/* /usr/share/lintian /usr/share/locale/* /usr/local/share/man /usr/local/share/doc

# What was left by the making, and what would name the machine that made it.
find /var/log /var/cache /tmp /var/tmp /run /var/backups -xdev -mindepth 1 ! -type d -delete
# shellcheck disable=SC2115 # This is the root of the image.
rm -rf /home/* /tmp/* /var/tmp/* /var/lib/apt/lists/* /var/lib/dpkg/*-old /etc/*- /var/lib/systemd /root/.[a-z]*
rm -f /etc/machine-id /var/lib/dbus/machine-id /etc/apt/sources.list.d/* /etc/apt/apt.conf.d/99skerry
cat >/etc/apt/sources.list <<'TEXT'
deb http://deb.debian.org/debian bookworm main
deb http://deb.debian.org/debian bookworm-updates main
deb http://deb.debian.org/debian-security bookworm-security main
TEXT
# docker build has these three mounted.
rm -f /etc/hostname /etc/resolv.conf /etc/hosts 2>/dev/null || :

# A program that runs as its owner is of no use where nobody may change users.
find / -xdev \( -perm -4000 -o -perm -2000 \) -exec chmod ug-s {} +
