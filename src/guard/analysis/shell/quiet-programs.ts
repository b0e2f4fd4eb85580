import { isFollowed } from "./wrappers.js";

/** Commands that say nothing about a text. */
export const HARMLESS_COMMANDS: ReadonlySet<string> = new Set(
  `: [ [[ true false test echo printf cd pwd pushd popd dirs ls dir tree cat tac head tail less more nl wc sort uniq cut
  paste join comm tr rev fold fmt column expand sed awk gawk grep egrep fgrep rg diff cmp file stat basename dirname
  realpath readlink find which whereis type command builtin hash read mapfile readarray local export declare typeset
  readonly unset set shopt shift return exit break continue let wait jobs fg bg disown trap getopts alias unalias umask
  ulimit time sleep timeout date cal uname hostname whoami id groups who uptime nproc free df du lscpu lsb_release arch
  env printenv seq yes expr bc dc factor jq yq xargs tee touch mkdir cp mv ln mktemp rm rmdir tar gzip gunzip zip unzip
  zcat bzip2 xz md5sum sha1sum sha256sum sha512sum cksum base64 base32 xxd od hexdump strings split csplit shuf tput
  clear reset man help git gitk svn hg tmux screen nohup nice ionice setsid script stdbuf python3 python node history ps
  top pgrep lsof caller logger enable exec fc times bind complete compgen`.split(/\s+/),
);

/** Programs whose words name packages, processes, services, hosts or containers, and no program to run here. */
const NAMING: ReadonlySet<string> = new Set(
  `apt apt-get apt-cache apt-mark aptitude dpkg dpkg-query dnf yum zypper pacman apk brew port snap flatpak pip pip3 pipx npm
  pnpm yarn gem composer conda mamba poetry uv kill pkill killall pidof systemctl service journalctl docker docker-compose
  podman kubectl helm aws gcloud az gsutil ldd nm objdump size file chmod chown chgrp pytest jest vitest mocha eslint tsc
  prettier ruff black mypy curl wget ping dig host nslookup update-alternatives apropos whatis tldr gh glab code
  usermod useradd groupadd adduser gpasswd ufw`.split(/\s+/),
);

/** A program that no table knows may run any of its words. */
export function mayRunWords(name: string): boolean {
  return !HARMLESS_COMMANDS.has(name) && !NAMING.has(name) && !isFollowed(name);
}
