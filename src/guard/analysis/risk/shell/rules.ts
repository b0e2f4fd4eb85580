import { words } from "../../program/known-functions.js";
import type { Match } from "../../rules/findings.js";
import type { RiskLevel } from "../../rules/levels.js";
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

function rule(
  level: RiskLevel,
  name: string,
  why: string,
  commands: readonly string[],
  conditions: Omit<CommandRule, keyof Match | "commands"> = {},
): CommandRule {
  return { rule: name, level, why, commands, ...conditions };
}

export const DOWNLOADERS: readonly string[] = words(`
  curl wget fetch aria2c lwp-download http https axel ftp tftp scp nc ncat netcat socat openssl
`);
const DECODERS: readonly string[] = words(
  "base64 base32 xxd openssl gunzip zcat uudecode rev tr od gpg bzcat xzcat printf perl",
);
const SHELLS: readonly string[] = words("sh bash zsh dash ksh ash fish csh tcsh");
const INTERPRETERS: readonly string[] = [
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
  rule("critical", "reverse-shell", "Gives the other end a shell.", NETCAT, { word: EXECUTES }),
  rule("critical", "reverse-shell", "Gives the other end a shell.", ["socat"], {
    word: /\b(?:exec|system|pty|shell):/i,
  }),
  rule(
    "critical",
    "reverse-shell",
    "Sends what a shell prints to the other end.",
    [...NETCAT, "socat", "telnet", "openssl"],
    { after: SHELLS },
  ),
  rule("high", "listener", "Waits for connections from outside.", NETCAT, {
    word: /^-[a-zA-Z]*l|^--listen$/,
  }),
  rule("high", "listener", "Waits for connections from outside.", ["socat"], {
    word: /(?:tcp|udp|openssl|ssl)\d?-l/i,
  }),
  rule("medium", "socket", "Opens a connection.", [...NETCAT, "socat", "telnet", "ftp", "tftp"]),
  rule("high", "socket", "Opens an encrypted connection by hand.", ["openssl"], { word: /^s_client$/ }),
  rule("high", "hidden-command", "Runs what was encoded.", words("powershell pwsh powershell.exe"), {
    word: /^-e(?:nc?\w*|c)?$|\bFromBase64String\b/i,
  }),
  rule("high", "firewall", "Takes protection away.", words("powershell pwsh powershell.exe"), {
    word: /MpPreference|DisableRealtimeMonitoring|DownloadString|\bIEX\b|Invoke-Expression|Set-ExecutionPolicy/i,
  }),
  rule("high", "firewall", "Takes protection away.", ["csrutil", "spctl"], { word: /disable/ }),
  rule("high", "process", "Runs a shell out of a script of the desktop.", ["osascript"], {
    word: /do shell script|hidden answer/,
  }),
  rule("high", "tool-config", "Makes an assistant run a command.", words("claude codex gemini cursor"), {
    word: /^mcp$/,
    and: /^(?:bash|sh|-c)$|curl|wget/,
  }),
  rule("high", "service-destruction", "Deletes everything that a service lists.", ["curl", "http", "xh"], {
    word: /^(?:-X)?DELETE$/,
    after: ["curl", "http", "xh", "gh"],
  }),
  rule("high", "remote-code", "Runs what comes over the network.", [...INTERPRETERS, "make", "vim", "awk"], {
    after: [...DOWNLOADERS, "ssh"],
  }),
  rule("high", "hidden-command", "Runs what was encoded.", INTERPRETERS, { after: DECODERS }),
  rule("medium", "interactive-shell", "A shell that takes commands from its input.", SHELLS, { bare: true }),
  rule("medium", "interactive-shell", "An interactive shell.", SHELLS, {
    word: /^-[a-z]*i[a-z]*$|^--interactive$/,
  }),
  {
    rule: "network",
    level: "medium",
    commands: words(`
      curl wget aria2c http https axel lynx w3m ssh scp sftp rsync ftp dig nslookup host ping whois mail
      sendmail aws gcloud az gsutil rclone kubectl helm ngrok cloudflared
    `),
    why: "Talks to the network.",
  },
  rule("high", "tunnel", "Opens a way in from outside.", ["ssh"], { word: /^-[a-zA-Z]*[RD]/ }),
  rule(
    "high",
    "tunnel",
    "Opens a way in from outside.",
    words("ngrok cloudflared chisel frpc bore localtunnel lt"),
  ),
  rule("medium", "network", "Talks to a repository elsewhere.", ["git"], {
    word: /^(?:clone|pull|push|fetch|ls-remote|submodule|remote)$/,
  }),
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
  rule("medium", "install", "Fetches and runs other people's code.", words("npx bunx uvx pnpx")),
  rule("high", "install", "Takes packages from an unusual place.", words("pip pip3 npm uv"), {
    word: /^(?:--(?:extra-)?index-url|-i|--registry|--trusted-host)(?:=|$)/,
    and: /^(?:install|i|add)$/,
    not: /pypi\.org|registry\.npmjs\.org|download\.pytorch\.org/,
  }),
  rule(
    "high",
    "install",
    "Installs code from an address outside of the package index.",
    words("pip pip3 pipx uv npm npx pnpm pnpx yarn bun bunx uvx gem cargo go easy_install"),
    {
      word: /^(?:--package=)?(?:git\+)?(?:https?|git|ftp|ssh):\/\/|^git\+/,
      not: /pypi\.org|registry\.(?:npmjs|yarnpkg)\.org|download\.pytorch\.org|\/\/(?:\w+@)?(?:github|gitlab|bitbucket)\.(?:com|org)\/|^(?:config|view|search|ping)$/,
    },
  ),
  rule(
    "high",
    "package-source",
    "Takes all later packages from another place.",
    words("pip pip3 npm yarn pnpm conda gem go"),
    {
      word: /index-url|registry|^channels$|^--add$|^-w$|trusted-host/,
      and: /^(?:config|sources|env|set)$/,
      not: /pypi\.org|registry\.npmjs\.org|^(?:get|list|delete|unset)$/,
    },
  ),
  rule("high", "package-source", "Runs a command whenever the package is installed.", ["npm"], {
    word: /^scripts\.(?:pre|post)?(?:install|prepare)=/,
  }),
  rule(
    "high",
    "package-source",
    "Runs a command whenever the package is installed.",
    words("jq sed yq perl awk"),
    { word: /\b(?:pre|post)install\b/, and: /package\.json$/ },
  ),
  rule("high", "repository-hook", "Runs a command whenever git is used.", ["git"], {
    word: /^(?:core\.(?:hooksPath|fsmonitor|sshCommand|pager|editor|gitProxy|askPass)|init\.templateDir|credential\..*helper|alias\..+|diff\.external|filter\..+|protocol\.ext\.allow|url\..*insteadOf|include\.path)(?:=|$)/i,
    and: /^!|[|;&$`]|\bsh\b|https?:\/\/|^[~/]/,
    not: /^(?:--get|--unset|--list|-l|--get-all)$|^url\.(?:https|ssh):\/\/(?:\S*@)?(?:github|gitlab|bitbucket)/i,
  }),
  rule("high", "repository-hook", "Runs a command whenever git is used.", ["git"], {
    word: /^(?:core\.hooksPath|init\.templateDir)$/i,
    and: /^(?:--global|--system|[~/].*)$/,
  }),
  rule("high", "privilege", "Asks to be root.", words("sudo su doas pkexec runuser")),
  rule("high", "privilege", "Makes a program run with its owner's rights.", ["chmod"], {
    word: /^[ugoa]*[+=][rwxXt]*s|^[0-7]?[2-7][0-7]{3}$/,
  }),
  rule(
    "high",
    "privilege",
    "Changes what a program or a file may do.",
    words("setcap chattr capsh newuidmap newgidmap"),
  ),
  rule("medium", "file-mode", "Opens files to everybody.", ["chmod"], {
    word: /^(?:-R|--recursive)$|^0?777$|^a\+rwx$/,
  }),
  rule("low", "file-mode", "Changes who may use a file.", words("chmod chown chgrp setfacl")),
  rule("high", "privilege", "Looks for programs that run as root.", ["find"], {
    word: /^[-/]?(?:4000|2000|6000|u[+=]s|g[+=]s)$|^-[246]000$/,
    and: /^-perm$/,
  }),
  {
    rule: "accounts",
    level: "high",
    commands: words(`
      useradd adduser usermod userdel deluser groupadd groupmod passwd chpasswd visudo vipw gpasswd chsh
      newusers
    `),
    why: "Changes the accounts of this machine.",
  },
  rule("high", "persistence", "Starts a program again later, without being asked.", ["crontab"], {
    not: /^-l$/,
  }),
  rule(
    "high",
    "persistence",
    "Starts a program later or at every start.",
    words("at batch atd update-rc.d chkconfig launchctl loginctl"),
  ),
  rule("high", "persistence", "Changes which services run.", ["systemctl", "service", "rc-update"], {
    word: /^(?:enable|start|restart|stop|disable|mask|daemon-reload|edit|link|reenable|isolate)$/,
  }),
  rule("high", "persistence", "Leaves something behind that runs or opens later.", [
    "systemd-run",
    "ssh-copy-id",
  ]),
  rule("high", "kernel", "Changes the kernel.", words("insmod modprobe rmmod kexec bpftool bpftrace dkms")),
  rule("high", "kernel", "Changes how the kernel works.", ["sysctl"], { word: /=|^-[a-z]*[wp]/ }),
  {
    rule: "mount",
    level: "high",
    commands: words(`
      mount umount losetup swapon swapoff pivot_root chroot fusermount cryptsetup overlay
    `),
    why: "Changes what the file system is made of.",
  },
  rule("critical", "container-escape", "Enters another process's namespaces.", ["nsenter"]),
  rule(
    "high",
    "container-escape",
    "Creates or enters namespaces.",
    words("unshare runc ctr crictl lxc machinectl debugfs capsh"),
  ),
  rule(
    "critical",
    "container-escape",
    "A container with the host's rights.",
    ["docker", "podman", "nerdctl"],
    {
      word: /^--privileged|^(?:--volume=|-v|--mount=)?(?:type=bind,.*)?(?:source=|src=)?\/(?:etc|root|home|var|proc|sys|boot)?:|^--(?:pid|net|network|ipc|uts|userns)(?:=host)?$|^host$|docker\.sock|^--cap-add|^--device/,
    },
  ),
  rule("critical", "container-escape", "A container that is the host.", ["kubectl"], {
    word: /"?(?:privileged|hostPID|hostNetwork|hostPath|hostIPC)"?\s*[:=]|^--privileged/,
  }),
  rule(
    "medium",
    "container-control",
    "Drives containers.",
    words("docker podman nerdctl docker-compose buildah kubectl helm"),
  ),
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
  rule("high", "disk", "Destroys files for good.", ["shred", "srm", "wipe"], { word: /^\// }),
  rule("high", "log-tampering", "Removes the record of what was typed.", ["history"], {
    word: /^-[a-z]*[cdw]/,
  }),
  rule(
    "high",
    "log-tampering",
    "Keeps what is typed from being recorded.",
    words("unset export declare readonly set typeset"),
    { word: /^HIST(?:FILE|SIZE|FILESIZE|CONTROL)(?:$|=)|^history$/ },
  ),
  rule("high", "log-tampering", "Removes the record of what happened.", ["journalctl"], {
    word: /^--(?:vacuum|rotate)/,
  }),
  rule(
    "high",
    "log-tampering",
    "Changes the record of what happens.",
    words("auditctl wevtutil utmpdump logsave"),
  ),
  {
    rule: "firewall",
    level: "high",
    commands: words(`
      iptables ip6tables nft ufw firewall-cmd setenforce aa-teardown apparmor_parser semanage tc
    `),
    why: "Takes protection away.",
  },
  rule("high", "kill", "Signals processes that are not its own.", ["kill"], {
    word: /^(?:-1|0|1|--)$/,
    and: /^-(?:9|KILL|SIGKILL|s|15|TERM|1)$/,
  }),
  rule("high", "kill", "Signals processes that are not its own.", ["kill"], {
    after: words("pgrep pidof ps seq top systemctl"),
  }),
  rule("high", "kill", "Signals processes that are not its own.", words("killall pkill"), {
    word: /^-(?:u|U|-user|-uid|-euid|v)|audit|syslog|falco|crowdstrike|sensor|monitor|agent|defend|clam|osquery|wazuh|sshd|systemd|dockerd|containerd|watchdog|^\.\*?$|^$/,
  }),
  { rule: "kill", level: "low", commands: ["kill"], why: "Signals a process." },
  rule("medium", "kill", "Signals processes by name.", words("killall pkill fuser skill")),
  { rule: "kill", level: "high", commands: ["killall5"], why: "Signals every process." },
  rule("high", "power", "Stops the machine.", words("reboot shutdown halt poweroff telinit")),
  { rule: "power", level: "high", commands: ["init"], word: /^[06]$/, why: "Stops the machine." },
  rule("high", "debugger", "Looks into another process.", words("gdb strace ltrace gcore reptyr"), {
    word: /^(?:-p|--pid|--attach)(?:=|$|\d)|^\d+$/,
  }),
  rule(
    "high",
    "input-capture",
    "Watches a person's clipboard, screen or microphone.",
    words("xclip xsel wl-paste pbpaste scrot screencapture xwd xinput arecord import maim grim"),
    { not: /^-i$|^--input$/ },
  ),
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
  rule(
    "high",
    "resources",
    "Reads a source without an end into memory or a file.",
    words("tail grep sort cat base64 xxd od hexdump cp"),
    { word: /^\/dev\/(?:zero|urandom|random)$/, not: /^-(?:c|n)|^--bytes|^--lines|^-m/ },
  ),
  rule(
    "high",
    "resources",
    "Takes more space than a sandbox should have.",
    ["fallocate", "truncate", "head"],
    { word: /^(?:-l|-s|-c|--length=|--size=|--bytes=)?\+?(?:\d+(?:T|P|E)|[5-9]\dG|\d{3,}G|\d{12,})/ },
  ),
  rule("high", "resources", "Writes until nothing is left.", ["dd"], {
    word: /^if=\/dev\/(?:zero|urandom|random)$/,
    and: /^of=/,
    not: /^count=/,
  }),
  rule("high", "resources", "Uses up the machine's resources.", ["stress", "stress-ng", "forkbomb"]),
  rule(
    "high",
    "hidden-command",
    "Starts a shell out of a program that is for something else.",
    words("vim vi ex ed less man tar zip rsync"),
    { word: /^[:+]?\s*!|checkpoint-action=exec|^--to-command|^-TT|^--unzip-command|^--rsh=sh/ },
  ),
  rule("low", "environment", "Prints the whole environment.", ["env", "printenv"], { bare: true }),
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
  rule(
    "high",
    "exfiltration",
    "Copies everything that a user has to another machine.",
    words("rclone rsync scp"),
    { word: /^(?:~|\/|\/home|\/root|\/etc)\/?$/, and: /^[\w.@-]+:/ },
  ),
  rule("medium", "repository", "Changes the repository in a way that is hard to take back.", ["git"], {
    word: /^(?:clean|reset|filter-branch|filter-repo|reflog|gc|config|rebase)$/,
  }),
  rule("high", "loader-variable", "Makes other programs load code.", words("export declare typeset set"), {
    word: /^(?:LD_(?:PRELOAD|AUDIT|LIBRARY_PATH)|BASH_ENV|PROMPT_COMMAND|PYTHONSTARTUP|GIT_SSH_COMMAND|NODE_OPTIONS)=/,
  }),
  rule("high", "alias", "Puts something else in the place of a common command.", ["alias"], {
    word: /^(?:sudo|su|ssh|ls|cd|cat|passwd|git)=/,
    and: /curl|wget|nc |\/dev\/tcp|tee|bash|base64|strace|script |read -|\/tmp\//,
  }),
  rule(
    "high",
    "service-destruction",
    "Destroys machines or services.",
    words("terraform tofu pulumi cdk serverless eksctl doctl heroku flyctl fly vercel"),
    { word: /^(?:destroy|apps:destroy|delete)$/ },
  ),
  rule("high", "service-destruction", "Destroys machines or services.", ["aws"], {
    word: /^(?:terminate-|delete-(?:bucket|db|cluster|stack|vpc|user|role|table|volume|snapshot|key)|rb$|schedule-key-deletion)/,
  }),
  rule("high", "service-destruction", "Destroys machines or services.", ["gcloud", "az", "gsutil", "gh"], {
    word: /^(?:delete|rb)$/,
    and: /^(?:--quiet|-q|--yes|-y|-r|-n|projects|group|rb|repo)$/,
  }),
  rule("high", "service-destruction", "Destroys everything of a cluster.", ["kubectl", "oc", "helm"], {
    word: /^(?:delete|uninstall)$/,
    and: /^(?:--all|--all-namespaces|-A|ns|namespaces?|crds?|pv|nodes?)$/,
  }),
  rule(
    "high",
    "service-destruction",
    "Destroys everything that a list names.",
    ["kubectl", "helm", "docker", "podman", "aws", "gcloud", "az", "gh"],
    {
      word: /^(?:delete|uninstall|rm|rb|terminate-instances)$/,
      after: words("kubectl helm docker podman aws gcloud az gh"),
    },
  ),
  rule("high", "service-destruction", "Destroys the data of all containers.", ["docker", "podman"], {
    word: /^--volumes$/,
    and: /^prune$/,
  }),
  rule("high", "service-destruction", "Destroys a database.", ["dropdb", "mysqladmin"], {
    word: /^(?!-)/,
    not: /test|tmp|temp|^(?:ping|status|version)$/,
  }),
  rule("high", "service-destruction", "Destroys the history of a repository elsewhere.", ["git"], {
    word: /^(?:--delete|-d|--mirror|--all|:(?:main|master))$/,
    and: /^(?:--force|-f|main|master|--mirror)$/,
    not: /^(?!push$)(?:branch|fetch|tag|remote|add|log|commit|clean|checkout|stash|reset|pull|merge|gc|repack|diff|clone|reflog|bisect|submodule|worktree|notes)$/,
  }),
  rule("high", "exfiltration", "Hands an archive to the network.", ["curl", "nc", "ncat", "wget", "socat"], {
    after: words("tar zip 7z mysqldump pg_dump mongodump"),
  }),
  rule("high", "install", "Takes protection away.", words("apt apt-get dnf yum apk pacman"), {
    word: /audit|openssh|falco|clam|apparmor|selinux|ufw|fail2ban|rsyslog|crowdstrike/,
    and: /^(?:remove|purge|erase|del|-R\w*|autoremove)$/,
  }),
  rule("high", "kill", "Signals processes that are not its own.", ["fuser"], { word: /^\//, and: /^-\w*k/ }),
  rule(
    "high",
    "credential-store",
    "Reads what a person keeps secret.",
    words("security secret-tool pass lpass bw op"),
    { word: /^(?:find-(?:generic|internet)-password|dump-keychain|lookup|show|get|read)$/ },
  ),
  rule("medium", "keys", "Makes or uses keys.", words("ssh-keygen gpg openssl certutil")),
  rule("medium", "dynamic-code", "Runs text that is made while the script runs.", ["eval"]),
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
