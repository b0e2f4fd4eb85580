#!/bin/sh
# In the new root, once: the users, and the services that only cost time here.
set -eu
echo skerry-vm >/etc/hostname
printf '127.0.0.1 localhost skerry-vm\n::1 localhost\n' >/etc/hosts
: >/etc/resolv.conf
printf "/dev/vda / ext4 defaults,noatime 0 0\nLABEL=skerry-work /work ext4 defaults,noatime 0 0\n" >/etc/fstab
mkdir -p /work
rm -f /etc/machine-id && touch /etc/machine-id
for user in agent plain service; do useradd --create-home --shell /bin/bash "$user"; done
passwd -d root
systemctl mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
  fstrim.timer systemd-networkd-wait-online.service systemd-timesyncd.service systemd-pstore.service man-db.timer \
  systemd-binfmt.service proc-sys-fs-binfmt_misc.automount sys-kernel-debug.mount sys-kernel-tracing.mount \
  modprobe@drm.service modprobe@dm_mod.service modprobe@fuse.service modprobe@configfs.service modprobe@efi_pstore.service
systemctl set-default multi-user.target
systemctl enable skerry-vm.service
