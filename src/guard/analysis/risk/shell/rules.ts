import { words } from "../../program/known-functions.js";
import type { Match } from "../findings.js";
import { SECRET } from "./flow.js";

/** What a command of a shell says about the text, judged by its words. The conditions that are there must all hold. */
export interface CommandRule extends Match {
  readonly commands: readonly string[];
  /** Some word matches. */
  readonly word?: RegExp;
  /** Some other word matches too. */
  readonly and?: RegExp;
  /** No word matches. */
  readonly not?: RegExp;
  /** It has no words at all. */
  readonly bare?: true;
  /** It reads what one of these gives it, by a pipe or a substitution. */
  readonly after?: readonly string[];
}

export const DOWNLOADERS: readonly string[] = words(`
  curl wget fetch aria2c lwp-download http https axel ftp tftp scp nc ncat netcat socat openssl
`);
export const DECODERS: readonly string[] = words(
  "base64 base32 xxd openssl gunzip zcat uudecode rev tr od gpg bzcat xzcat printf perl",
);
export const SHELLS: readonly string[] = words("sh bash zsh dash ksh ash fish csh tcsh");
export const INTERPRETERS: readonly string[] = [
  ...SHELLS,
  "python",
  "python2",
  "python3",
  "perl",
  "ruby",
  "php",
  "node",
  "nodejs",
  "lua",
  "eval",
  "source",
  ".",
  "exec",
  "at",
  "batch",
];
const NETCAT = words("nc ncat netcat nc.traditional nc.openbsd");
const EXECUTES = /^-[a-zA-Z]*[ec](?:$|=)|^--(?:sh-)?exec(?:=|$)|^--lua-exec/;

export const COMMAND_RULES: readonly CommandRule[] = [
  {
    rule: "reverse-shell",
    level: "critical",
    commands: NETCAT,
    word: EXECUTES,
    why: "Gives the other end a shell.",
  },
  {
    rule: "reverse-shell",
    level: "critical",
    commands: ["socat"],
    word: /\b(?:exec|system|pty|shell):/i,
    why: "Gives the other end a shell.",
  },
  {
    rule: "reverse-shell",
    level: "critical",
    commands: [...NETCAT, "socat", "telnet", "openssl"],
    after: SHELLS,
    why: "Sends what a shell prints to the other end.",
  },
  {
    rule: "listener",
    level: "high",
    commands: NETCAT,
    word: /^-[a-zA-Z]*l|^--listen$/,
    why: "Waits for connections from outside.",
  },
  {
    rule: "listener",
    level: "high",
    commands: ["socat"],
    word: /(?:tcp|udp|openssl|ssl)\d?-l/i,
    why: "Waits for connections from outside.",
  },
  {
    rule: "socket",
    level: "medium",
    commands: [...NETCAT, "socat", "telnet", "ftp", "tftp"],
    why: "Opens a connection.",
  },
  {
    rule: "socket",
    level: "high",
    commands: ["openssl"],
    word: /^s_client$/,
    why: "Opens an encrypted connection by hand.",
  },
  {
    rule: "remote-code",
    level: "high",
    commands: [...INTERPRETERS, "make", "vim", "awk"],
    after: [...DOWNLOADERS, "ssh"],
    why: "Runs what comes over the network.",
  },
  {
    rule: "hidden-command",
    level: "high",
    commands: INTERPRETERS,
    after: DECODERS,
    why: "Runs what was encoded.",
  },
  {
    rule: "interactive-shell",
    level: "medium",
    commands: SHELLS,
    bare: true,
    why: "A shell that takes commands from its input.",
  },
  {
    rule: "interactive-shell",
    level: "medium",
    commands: SHELLS,
    word: /^-[a-z]*i[a-z]*$|^--interactive$/,
    why: "An interactive shell.",
  },
  {
    rule: "network",
    level: "medium",
    commands: words(`
      curl wget aria2c http https axel lynx w3m ssh scp sftp rsync ftp dig nslookup host ping whois mail
      sendmail aws gcloud az gsutil rclone kubectl helm ngrok cloudflared
    `),
    why: "Talks to the network.",
  },
  {
    rule: "tunnel",
    level: "high",
    commands: ["ssh"],
    word: /^-[a-zA-Z]*[RD]/,
    why: "Opens a way in from outside.",
  },
  {
    rule: "tunnel",
    level: "high",
    commands: words("ngrok cloudflared chisel frpc bore localtunnel lt"),
    why: "Opens a way in from outside.",
  },
  {
    rule: "network",
    level: "medium",
    commands: ["git"],
    word: /^(?:clone|pull|push|fetch|ls-remote|submodule|remote)$/,
    why: "Talks to a repository elsewhere.",
  },
  {
    rule: "install",
    level: "medium",
    commands: words(`
      npm pnpm yarn pip pip3 uv poetry conda mamba gem cargo go apt apt-get dnf yum apk brew pacman snap
      composer bundle pipx
    `),
    word: /^(?:install|i|ci|add|get|update|upgrade|sync|-S|create|dlx|exec)$/,
    why: "Fetches and runs other people's code.",
  },
  {
    rule: "install",
    level: "medium",
    commands: words("npx bunx uvx pnpx"),
    why: "Fetches and runs other people's code.",
  },
  {
    rule: "install",
    level: "high",
    commands: words("pip pip3 npm uv"),
    word: /^(?:--(?:extra-)?index-url|-i|--registry|--trusted-host)(?:=|$)/,
    and: /^(?:install|i|add)$/,
    not: /pypi\.org|registry\.npmjs\.org|download\.pytorch\.org/,
    why: "Takes packages from an unusual place.",
  },
  {
    rule: "install",
    level: "high",
    commands: words("pip pip3 pipx uv npm npx pnpm pnpx yarn bun bunx uvx gem cargo go easy_install"),
    word: /^(?:--package=)?(?:git\+)?(?:https?|git|ftp|ssh):\/\/|^git\+/,
    not: /pypi\.org|registry\.(?:npmjs|yarnpkg)\.org|download\.pytorch\.org|\/\/(?:\w+@)?(?:github|gitlab|bitbucket)\.(?:com|org)\/|^(?:config|view|search|ping)$/,
    why: "Installs code from an address of somebody's own.",
  },
  {
    rule: "package-source",
    level: "high",
    commands: words("pip pip3 npm yarn pnpm conda gem go"),
    word: /index-url|registry|^channels$|^--add$|^-w$|trusted-host/,
    and: /^(?:config|sources|env|set)$/,
    not: /pypi\.org|registry\.npmjs\.org|^(?:get|list|delete|unset)$/,
    why: "Takes all later packages from another place.",
  },
  {
    rule: "package-source",
    level: "high",
    commands: ["npm"],
    word: /^scripts\.(?:pre|post)?(?:install|prepare)=/,
    why: "Runs a command whenever the package is installed.",
  },
  {
    rule: "package-source",
    level: "high",
    commands: words("jq sed yq perl awk"),
    word: /\b(?:pre|post)install\b/,
    and: /package\.json$/,
    why: "Runs a command whenever the package is installed.",
  },
  {
    rule: "repository-hook",
    level: "high",
    commands: ["git"],
    word: /^(?:core\.(?:hooksPath|fsmonitor|sshCommand|pager|editor|gitProxy|askPass)|init\.templateDir|credential\..*helper|alias\..+|diff\.external|filter\..+|protocol\.ext\.allow|url\..*insteadOf|include\.path)(?:=|$)/i,
    not: /^(?:--get|--unset|--list|-l|--get-all|cache|store|osxkeychain|manager|vim|nano|code --wait|less|cat|true|false|[a-z]+(?: [\w.%|-]+)*)$/,
    why: "Runs a command whenever git is used.",
  },
  {
    rule: "repository-hook",
    level: "high",
    commands: ["git"],
    word: /^(?:core\.hooksPath|init\.templateDir)$/i,
    and: /^(?:--global|--system|[~/].*)$/,
    why: "Runs a command whenever git is used.",
  },
  {
    rule: "privilege",
    level: "high",
    commands: words("sudo su doas pkexec runuser"),
    why: "Asks to be root.",
  },
  {
    rule: "privilege",
    level: "high",
    commands: ["chmod"],
    word: /^[ugoa]*[+=][rwxXt]*s|^[0-7]?[2-7][0-7]{3}$/,
    why: "Makes a program run with its owner's rights.",
  },
  {
    rule: "privilege",
    level: "high",
    commands: words("setcap chattr capsh newuidmap newgidmap"),
    why: "Changes what a program or a file may do.",
  },
  {
    rule: "file-mode",
    level: "medium",
    commands: ["chmod"],
    word: /^(?:-R|--recursive)$|^0?777$|^a\+rwx$/,
    why: "Opens files to everybody.",
  },
  {
    rule: "file-mode",
    level: "low",
    commands: words("chmod chown chgrp setfacl"),
    why: "Changes who may use a file.",
  },
  {
    rule: "privilege",
    level: "high",
    commands: ["find"],
    word: /^[-/]?(?:4000|2000|6000|u[+=]s|g[+=]s)$|^-[246]000$/,
    and: /^-perm$/,
    why: "Looks for programs that run as root.",
  },
  {
    rule: "accounts",
    level: "high",
    commands: words(`
      useradd adduser usermod userdel deluser groupadd groupmod passwd chpasswd visudo vipw gpasswd chsh
      newusers
    `),
    why: "Changes the accounts of this machine.",
  },
  {
    rule: "persistence",
    level: "high",
    commands: ["crontab"],
    not: /^-l$/,
    why: "Starts a program again later, without being asked.",
  },
  {
    rule: "persistence",
    level: "high",
    commands: words("at batch atd update-rc.d chkconfig launchctl loginctl"),
    why: "Starts a program later or at every start.",
  },
  {
    rule: "persistence",
    level: "high",
    commands: ["systemctl", "service", "rc-update"],
    word: /^(?:enable|start|restart|stop|disable|mask|daemon-reload|edit|link|reenable|isolate)$/,
    why: "Changes which services run.",
  },
  {
    rule: "persistence",
    level: "high",
    commands: ["systemd-run", "ssh-copy-id"],
    why: "Leaves something behind that runs or opens later.",
  },
  {
    rule: "kernel",
    level: "high",
    commands: words("insmod modprobe rmmod kexec bpftool bpftrace dkms"),
    why: "Changes the kernel.",
  },
  {
    rule: "kernel",
    level: "high",
    commands: ["sysctl"],
    word: /=|^-[a-z]*[wp]/,
    why: "Changes how the kernel works.",
  },
  {
    rule: "mount",
    level: "high",
    commands: words(`
      mount umount losetup swapon swapoff pivot_root chroot fusermount cryptsetup overlay
    `),
    why: "Changes what the file system is made of.",
  },
  {
    rule: "container-escape",
    level: "critical",
    commands: ["nsenter"],
    why: "Enters another process's namespaces.",
  },
  {
    rule: "container-escape",
    level: "high",
    commands: words("unshare runc ctr crictl lxc machinectl debugfs capsh"),
    why: "Creates or enters namespaces.",
  },
  {
    rule: "container-escape",
    level: "critical",
    commands: ["docker", "podman", "nerdctl"],
    word: /^--privileged|^(?:--volume=|-v|--mount=)?(?:type=bind,.*)?(?:source=|src=)?\/(?:etc|root|home|var|proc|sys|boot)?:|^--(?:pid|net|network|ipc|uts|userns)(?:=host)?$|^host$|docker\.sock|^--cap-add|^--device/,
    why: "A container with the host's rights.",
  },
  {
    rule: "container-escape",
    level: "critical",
    commands: ["kubectl"],
    word: /"?(?:privileged|hostPID|hostNetwork|hostPath|hostIPC)"?\s*[:=]|^--privileged/,
    why: "A container that is the host.",
  },
  {
    rule: "container-control",
    level: "medium",
    commands: words("docker podman nerdctl docker-compose buildah kubectl helm"),
    why: "Drives containers.",
  },
  {
    rule: "disk",
    level: "critical",
    commands: words(`
      mkfs mkfs.ext4 mkfs.ext3 mkfs.ext2 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.ntfs mke2fs mkswap wipefs
      blkdiscard fdisk sfdisk cfdisk parted gdisk sgdisk
    `),
    word: /^\/dev\//,
    why: "Destroys what is on a disk.",
  },
  {
    rule: "disk",
    level: "high",
    commands: words(`
      mkfs mke2fs wipefs blkdiscard fdisk sfdisk parted hdparm lvremove vgremove pvremove zpool mdadm
      badblocks
    `),
    why: "Changes disks.",
  },
  {
    rule: "disk",
    level: "high",
    commands: ["shred", "srm", "wipe"],
    word: /^\//,
    why: "Destroys files for good.",
  },
  {
    rule: "log-tampering",
    level: "high",
    commands: ["history"],
    word: /^-[a-z]*[cdw]/,
    why: "Removes the record of what was typed.",
  },
  {
    rule: "log-tampering",
    level: "high",
    commands: words("unset export declare readonly set typeset"),
    word: /^HIST(?:FILE|SIZE|FILESIZE|CONTROL)(?:$|=)|^history$/,
    why: "Keeps what is typed from being recorded.",
  },
  {
    rule: "log-tampering",
    level: "high",
    commands: ["journalctl"],
    word: /^--(?:vacuum|rotate)/,
    why: "Removes the record of what happened.",
  },
  {
    rule: "log-tampering",
    level: "high",
    commands: words("auditctl wevtutil utmpdump logsave"),
    why: "Changes the record of what happens.",
  },
  {
    rule: "firewall",
    level: "high",
    commands: words(`
      iptables ip6tables nft ufw firewall-cmd setenforce aa-teardown apparmor_parser semanage tc
    `),
    why: "Takes protection away.",
  },
  {
    rule: "kill",
    level: "high",
    commands: ["kill"],
    word: /^(?:-1|0|1|--)$/,
    and: /^-(?:9|KILL|SIGKILL|s|15|TERM|1)$/,
    why: "Signals processes that are not its own.",
  },
  {
    rule: "kill",
    level: "high",
    commands: ["kill"],
    after: words("pgrep pidof ps seq top systemctl"),
    why: "Signals processes that are not its own.",
  },
  {
    rule: "kill",
    level: "high",
    commands: words("killall pkill"),
    word: /^-(?:u|U|-user|-uid|-euid|v)|audit|syslog|falco|crowdstrike|sensor|monitor|agent|defend|clam|osquery|wazuh|sshd|systemd|dockerd|containerd|watchdog|^\.\*?$|^$/,
    why: "Signals processes that are not its own.",
  },
  { rule: "kill", level: "low", commands: ["kill"], why: "Signals a process." },
  {
    rule: "kill",
    level: "medium",
    commands: words("killall pkill fuser skill"),
    why: "Signals processes by name.",
  },
  { rule: "kill", level: "high", commands: ["killall5"], why: "Signals every process." },
  {
    rule: "power",
    level: "high",
    commands: words("reboot shutdown halt poweroff telinit"),
    why: "Stops the machine.",
  },
  { rule: "power", level: "high", commands: ["init"], word: /^[06]$/, why: "Stops the machine." },
  {
    rule: "debugger",
    level: "high",
    commands: words("gdb strace ltrace gcore reptyr"),
    word: /^(?:-p|--pid|--attach)(?:=|$|\d)|^\d+$/,
    why: "Looks into another process.",
  },
  {
    rule: "input-capture",
    level: "high",
    commands: words("xclip xsel wl-paste pbpaste scrot screencapture xwd xinput arecord import maim grim"),
    not: /^-i$|^--input$/,
    why: "Watches a person's clipboard, screen or microphone.",
  },
  {
    rule: "attack-tool",
    level: "high",
    commands: words(`
      nmap masscan zmap hydra medusa sqlmap nikto john hashcat msfconsole msfvenom aircrack-ng tcpdump
      tshark ettercap responder bettercap mimikatz linpeas.sh linpeas pspy pspy64 gobuster ffuf dirb
      wpscan crackmapexec hping3 arpspoof proxychains tor slowloris xmrig minerd cpuminer ethminer t-rex
      xmr-stak
    `),
    why: "A tool of attackers.",
  },
  {
    rule: "resources",
    level: "high",
    commands: words("tail grep sort cat base64 xxd od hexdump cp"),
    word: /^\/dev\/(?:zero|urandom|random)$/,
    not: /^-(?:c|n)|^--bytes|^--lines|^-m/,
    why: "Reads a source without an end into memory or a file.",
  },
  {
    rule: "resources",
    level: "high",
    commands: ["fallocate", "truncate", "head"],
    word: /^(?:-l|-s|-c|--length=|--size=|--bytes=)?\+?(?:\d+(?:T|P|E)|[5-9]\dG|\d{3,}G|\d{12,})/,
    why: "Takes more space than a sandbox should have.",
  },
  {
    rule: "resources",
    level: "high",
    commands: ["dd"],
    word: /^if=\/dev\/(?:zero|urandom|random)$/,
    and: /^of=/,
    not: /^count=/,
    why: "Writes until nothing is left.",
  },
  {
    rule: "resources",
    level: "high",
    commands: ["stress", "stress-ng", "forkbomb"],
    why: "Uses up the machine's resources.",
  },
  {
    rule: "hidden-command",
    level: "high",
    commands: words("vim vi ex ed less man tar zip rsync"),
    word: /^[:+]?\s*!|checkpoint-action=exec|^--to-command|^-TT|^--unzip-command|^--rsh=sh/,
    why: "Starts a shell out of a program that is for something else.",
  },
  {
    rule: "environment",
    level: "low",
    commands: ["env", "printenv"],
    bare: true,
    why: "Prints the whole environment.",
  },
  {
    rule: "exfiltration",
    level: "high",
    commands: [
      ...DOWNLOADERS,
      ...words("dig nslookup host ping mail sendmail mutt telnet ssh rclone logger curlie xh"),
    ],
    after: [SECRET, ...words("env printenv set export history last w")],
    why: "Hands secrets, the environment or a record to the network.",
  },
  {
    rule: "exfiltration",
    level: "high",
    commands: words("rclone rsync scp"),
    word: /^(?:~|\/|\/home|\/root|\/etc)\/?$/,
    and: /^[\w.@-]+:/,
    why: "Copies everything that a user has to another machine.",
  },
  {
    rule: "repository",
    level: "medium",
    commands: ["git"],
    word: /^(?:clean|reset|filter-branch|filter-repo|reflog|gc|config|rebase)$/,
    why: "Changes the repository in a way that is hard to take back.",
  },
  {
    rule: "loader-variable",
    level: "high",
    commands: words("export declare typeset set"),
    word: /^(?:LD_(?:PRELOAD|AUDIT|LIBRARY_PATH)|BASH_ENV|PROMPT_COMMAND|PYTHONSTARTUP|GIT_SSH_COMMAND|NODE_OPTIONS)=/,
    why: "Makes other programs load code.",
  },
  {
    rule: "alias",
    level: "high",
    commands: ["alias"],
    word: /^(?:sudo|su|ssh|ls|cd|cat|passwd|git)=/,
    and: /curl|wget|nc |\/dev\/tcp|tee|bash|base64/,
    why: "Puts something else in the place of a common command.",
  },
  {
    rule: "service-destruction",
    level: "high",
    commands: words("terraform tofu pulumi cdk serverless eksctl doctl heroku flyctl fly vercel"),
    word: /^(?:destroy|apps:destroy|delete)$/,
    why: "Destroys machines or services.",
  },
  {
    rule: "service-destruction",
    level: "high",
    commands: ["aws"],
    word: /^(?:terminate-|delete-(?:bucket|db|cluster|stack|vpc|user|role|table|volume|snapshot|key)|rb$|schedule-key-deletion)/,
    why: "Destroys machines or services.",
  },
  {
    rule: "service-destruction",
    level: "high",
    commands: ["gcloud", "az", "gsutil", "gh"],
    word: /^(?:delete|rb)$/,
    and: /^(?:--quiet|-q|--yes|-y|-r|-n|projects|group|rb|repo)$/,
    why: "Destroys machines or services.",
  },
  {
    rule: "service-destruction",
    level: "high",
    commands: ["kubectl", "oc", "helm"],
    word: /^(?:delete|uninstall)$/,
    and: /^(?:--all|--all-namespaces|-A|ns|namespaces?|crds?|pv|nodes?)$/,
    why: "Destroys everything of a cluster.",
  },
  {
    rule: "service-destruction",
    level: "high",
    commands: ["kubectl", "helm", "docker", "podman", "aws", "gcloud", "az", "gh"],
    word: /^(?:delete|uninstall|rm|rb|terminate-instances)$/,
    after: words("kubectl helm docker podman aws gcloud az gh"),
    why: "Destroys everything that a list names.",
  },
  {
    rule: "service-destruction",
    level: "high",
    commands: ["docker", "podman"],
    word: /^--volumes$/,
    and: /^prune$/,
    why: "Destroys the data of all containers.",
  },
  {
    rule: "service-destruction",
    level: "high",
    commands: ["dropdb", "mysqladmin"],
    word: /^(?!-)/,
    not: /test|tmp|temp|^(?:ping|status|version)$/,
    why: "Destroys a database.",
  },
  {
    rule: "service-destruction",
    level: "high",
    commands: ["git"],
    word: /^(?:--delete|-d|--mirror|--all|:(?:main|master))$/,
    and: /^(?:--force|-f|main|master|--mirror)$/,
    not: /^(?!push$)(?:branch|fetch|tag|remote|add|log|commit|clean|checkout|stash|reset|pull|merge|gc|repack|diff|clone|reflog|bisect|submodule|worktree|notes)$/,
    why: "Destroys the history of a repository elsewhere.",
  },
  {
    rule: "exfiltration",
    level: "high",
    commands: ["curl", "nc", "ncat", "wget", "socat"],
    after: words("tar zip 7z mysqldump pg_dump mongodump"),
    why: "Hands an archive to the network.",
  },
  {
    rule: "install",
    level: "high",
    commands: words("apt apt-get dnf yum apk pacman"),
    word: /audit|openssh|falco|clam|apparmor|selinux|ufw|fail2ban|rsyslog|crowdstrike/,
    and: /^(?:remove|purge|erase|del|-R\w*|autoremove)$/,
    why: "Takes protection away.",
  },
  {
    rule: "kill",
    level: "high",
    commands: ["fuser"],
    word: /^\//,
    and: /^-\w*k/,
    why: "Signals processes that are not its own.",
  },
  {
    rule: "credential-store",
    level: "high",
    commands: words("security secret-tool pass lpass bw op"),
    word: /^(?:find-(?:generic|internet)-password|dump-keychain|lookup|show|get|read)$/,
    why: "Reads what a person keeps secret.",
  },
  {
    rule: "keys",
    level: "medium",
    commands: words("ssh-keygen gpg openssl certutil"),
    why: "Makes or uses keys.",
  },
  {
    rule: "dynamic-code",
    level: "medium",
    commands: ["eval"],
    why: "Runs text that is made while the script runs.",
  },
  {
    rule: "script",
    level: "low",
    commands: words(`
      source . make cmake npm pnpm yarn pytest tox cargo go gcc g++ cc clang mvn gradle python python3
      node perl ruby php tsc npx bash sh zsh
    `),
    why: "Runs a program or a script.",
  },
];
