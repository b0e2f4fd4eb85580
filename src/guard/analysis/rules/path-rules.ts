import type { Match } from "./findings.js";
import { type RiskLevel, rankOf } from "./levels.js";

/** What code does to a path. */
export type Access = "read" | "write" | "remove";

/** A class of paths, and how bad each access to it is. An access that is not there does not match. */
interface PathRule extends Partial<Readonly<Record<Access, RiskLevel>>> {
  readonly rule: string;
  readonly test: RegExp;
  readonly why: string;
}

const LOW = { read: "low", write: "low", remove: "low" } as const;

/** Where ordinary programs write: no other rule about places applies. */
const ORDINARY =
  /^\/(?:tmp|var\/tmp|dev\/shm|workspace)\/.|^\/dev\/(?:null|zero|full|u?random|std(?:in|out|err)|tty|fd\/\d+)$/;

/** The worst rule that matches decides. Expressions are linear and look at a normalised path. */
const PATH_RULES: readonly PathRule[] = [
  {
    rule: "secret-file",
    test: /^\/etc\/(?:g?shadow-?|sudoers(?:\.d(?:\/.*)?)?|security\/opasswd|krb5\.keytab|ssl\/private(?:\/.*)?|ssh\/ssh_host_\w+_key)$/,
    ...{ read: "high", write: "critical", remove: "critical" },
    why: "Holds password hashes or keys of this machine.",
  },
  {
    rule: "secret-file",
    test: /(?:^|\/)(?:\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.config\/gcloud|\.password-store|\.local\/share\/keyrings|\.oci)(?:\/|$)/,
    ...{ read: "high", write: "high", remove: "high" },
    why: "Holds keys or credentials of the user.",
  },
  {
    rule: "secret-file",
    test: /(?:^|\/)(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?|\.netrc|\.git-credentials|\.pgpass|\.vault-token|\.docker\/config\.json|\.my\.cnf|wallet\.dat|[^/]*\.kdbx|\.env\.(?:prod|production|local|live))$/,
    ...{ read: "high", write: "medium", remove: "high" },
    why: "Holds keys or credentials.",
  },
  {
    rule: "secret-file",
    test: /(?:^|\/)(?:\.npmrc|\.pypirc|\.env|credentials\.json|secrets?\.ya?ml|[^/]*\.pem|[^/]*\.p12)$/,
    ...{ read: "medium", write: "low", remove: "medium" },
    why: "Often holds credentials.",
  },
  {
    rule: "secret-file",
    test: /^(?:~|\.\.|\/).*\/(?:\.npmrc|\.pypirc|\.env)$/,
    ...{ read: "high", write: "medium", remove: "medium" },
    why: "Holds credentials of something outside of the workspace.",
  },
  {
    rule: "secret-file",
    test: /(?:^|\/)(?:\.mozilla|\.thunderbird|\.config\/(?:google-chrome|chromium|BraveSoftware)|(?:Library\/Application Support\/|\.config\/|\.)(?:electrum|bitcoin|ethereum|solana|exodus|atomic|monero|litecoin|sui|near-credentials))(?:\/|$)|\/Local Storage\/leveldb(?:\/|$)|\/(?:Login Data|Cookies|key4\.db|logins\.json|cookies\.sqlite)$/,
    ...{ read: "high", write: "high", remove: "high" },
    why: "Holds what a browser or a wallet keeps secret.",
  },
  {
    rule: "secret-file",
    test: /^(?:\/var)?\/run\/secrets(?:\/|$)/,
    ...{ read: "high", write: "high", remove: "high" },
    why: "Holds the secrets of a container or of a service account.",
  },
  {
    rule: "process-memory",
    test: /^\/proc\/[^/]+\/(?:environ|mem|auxv|maps|pagemap|cmdline)$/,
    ...{ read: "high", write: "critical", remove: "high" },
    why: "Shows the environment or the memory of a process.",
  },
  {
    rule: "container-escape",
    test: /^\/proc\/[^/]+\/(?:root|cwd|ns)(?:\/|$)|(?:^|\/)release_agent$|\/notify_on_release$|^\/proc\/sys\/kernel\/core_pattern$/,
    ...{ read: "high", write: "critical", remove: "critical" },
    why: "A known way out of a container.",
  },
  {
    rule: "container-escape",
    test: /(?:^|\/)(?:docker|containerd|crio|podman|buildkitd)\.sock$/,
    ...{ read: "critical", write: "critical", remove: "critical" },
    why: "Access to the container daemon is root on the host.",
  },
  {
    rule: "block-device",
    test: /^\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|mapper|md|loop)[\w/.*-]*$/,
    ...{ read: "high", write: "critical", remove: "critical" },
    why: "A disk, below every file system.",
  },
  {
    rule: "kernel-interface",
    test: /^\/dev\/(?:k?mem|port|input|kvm|fuse|net\/tun)(?:\/|$)/,
    ...{ read: "high", write: "critical", remove: "high" },
    why: "A device that bypasses the kernel's isolation.",
  },
  {
    rule: "kernel-interface",
    test: /^\/proc\/(?:sys|sysrq-trigger|kcore|kallsyms|kmsg)(?:\/|$)|^\/sys(?:\/|$)|^\/boot(?:\/|$)/,
    ...{ read: "low", write: "critical", remove: "critical" },
    why: "Changes the kernel or how the machine starts.",
  },
  {
    rule: "persistence",
    test: /(?:^|\/)\.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zshenv|zprofile|zlogin|kshrc|xinitrc|xprofile|xsession|pam_environment|inputrc|config\/fish\/.*|vimrc|tmux\.conf|gitconfig|pythonrc(?:\.py)?|ipython\/.*startup\/.*|config\/(?:nvim|git)\/.*|ssh\/(?:rc|environment))$/,
    ...{ read: "low", write: "high", remove: "high" },
    why: "Runs whenever the user opens a shell.",
  },
  {
    rule: "persistence",
    test: /^\/(?:etc\/(?:cron[\w.]*|systemd|init\.d|rc\.local|rc\d?\.d|profile|profile\.d|bash\.bashrc|ld\.so\.(?:preload|conf|conf\.d)|pam\.d|xdg\/autostart|update-motd\.d|modules|modules-load\.d|udev)|var\/spool\/cron|(?:usr\/)?lib\/systemd)(?:\/|$)|(?:^|\/)(?:\.config\/(?:autostart|systemd)|\.local\/share\/systemd|Library\/LaunchAgents)(?:\/|$)|\/(?:authorized_keys2?|crontab)$/,
    ...{ read: "low", write: "high", remove: "high" },
    why: "Starts a program again later, without being asked.",
  },
  {
    rule: "persistence",
    test: /(?:^|\/)(?:sitecustomize|usercustomize)\.py$|\/(?:site|dist)-packages\/[^/]*\.pth$/,
    ...{ read: "low", write: "high", remove: "medium" },
    why: "Runs with every Python program.",
  },
  {
    rule: "persistence",
    test: /^(?:~|\.\.|\/).*\/\.git\/hooks\//,
    ...{ read: "low", write: "high", remove: "medium" },
    why: "Runs when the user works in another repository.",
  },
  {
    rule: "whole-tree",
    test: /^~\/(?:Documents|Pictures|Desktop|Downloads|Music|Videos|Library)(?:\/\*?)?$/,
    ...{ read: "low", write: "high", remove: "high" },
    why: "Everything of one kind that a person has.",
  },
  {
    rule: "repository-hook",
    test: /(?:^|\/)\.(?:git\/hooks|husky)\/(?:pre|post|commit|prepare|update|push|fsmonitor|apply|sendemail|reference|\*)[\w*-]*$/,
    ...{ read: "low", write: "high", remove: "medium" },
    why: "Runs with the next git command here.",
  },
  {
    rule: "tool-config",
    test: /(?:^|\/)(?:\.vscode\/tasks\.json|\.(?:claude|cursor|codex|gemini|windsurf)\/(?:settings|mcp|hooks|config)[\w.-]*|\.mcp\.json|claude_desktop_config\.json)$/,
    ...{ read: "low", write: "high", remove: "low" },
    why: "Says which commands an editor or an assistant runs.",
  },
  {
    rule: "tool-config",
    test: /(?:^|\/)\.?devcontainer(?:\/[\w.-]+)*\.json$/,
    ...{ write: "low" },
    why: "Says which commands an editor runs.",
  },
  {
    rule: "package-source",
    test: /(?:^|\/)(?:\.?pip\/pip\.conf|pip\.conf|\.condarc|\.gemrc|\.cargo\/config(?:\.toml)?|\.m2\/settings\.xml|\.yarnrc(?:\.yml)?|sources\.list(?:\.d\/.*)?)$|^(?:~|\/).*\/\.npmrc$/,
    ...{ read: "low", write: "high", remove: "medium" },
    why: "Says where all packages come from.",
  },
  {
    rule: "package-code",
    test: /(?:^|\/)(?:node_modules\/(?:@[^/]+\/)?[^./][^/]*|(?:site|dist)-packages)\/./,
    ...{ read: "low", write: "high", remove: "low" },
    why: "Changes code that other programs load.",
  },
  {
    rule: "package-file",
    test: /(?:^|\/)package\.json$/,
    ...{ write: "low" },
    why: "Says what runs when the package is installed.",
  },
  {
    rule: "repository-hook",
    test: /(?:^|\/)\.git\/(?:hooks|config)(?:\/|$)/,
    ...{ read: "low", write: "medium", remove: "medium" },
    why: "Runs when git is used here.",
  },
  {
    rule: "account-file",
    test: /^\/etc\/(?:passwd|group)-?$/,
    ...{ read: "medium", write: "critical", remove: "critical" },
    why: "Lists the accounts of this machine.",
  },
  {
    rule: "log-tampering",
    test: /^\/var\/log(?:\/|$)|(?:^|\/)\.(?:bash|zsh|python|mysql|psql|node_repl)_history$|(?:^|\/)\.(?:lesshst|viminfo)$|^\/(?:var\/run|run)\/utmp$/,
    ...{ read: "medium", write: "high", remove: "high" },
    why: "A record of what happened.",
  },
  {
    rule: "whole-tree",
    test: /^\/(?:\*|\.\*|home|Users|root|mnt|media|data)?(?:\/\*?)?$|^~(?:\w*)(?:\/\*?)?$|^\/(?:home|Users)\/[^/]+(?:\/\*?)?$/,
    ...{ read: "low", write: "high", remove: "critical" },
    why: "The whole system, or everything a user has.",
  },
  {
    rule: "system-file",
    test: /^\/(?:bin|sbin|lib\d*|usr|etc|opt|var|srv|proc|run|snap|System|Library|Applications)(?:\/|$)/,
    ...{ read: "low", write: "high", remove: "critical" },
    why: "Belongs to the system, not to the workspace.",
  },
  {
    rule: "system-file",
    test: /^\/dev\//,
    ...{ read: "medium", write: "high", remove: "high" },
    why: "A device.",
  },
  {
    rule: "outside-workspace",
    test: /^\/(?:root|home\/[^/]+|Users\/[^/]+)\/./,
    ...{ read: "medium", write: "high", remove: "high" },
    why: "Belongs to a user of this machine.",
  },
  {
    rule: "outside-workspace",
    test: /^~\/./,
    ...{ read: "low", write: "medium", remove: "medium" },
    why: "In the home directory.",
  },
  {
    rule: "outside-workspace",
    test: /^\//,
    ...{ read: "low", write: "medium", remove: "medium" },
    why: "An absolute path outside of the workspace.",
  },
  {
    rule: "outside-workspace",
    test: /^\.\.(?:\/|$)/,
    ...{ read: "low", write: "medium", remove: "medium" },
    why: "Above the workspace.",
  },
  {
    rule: "whole-tree",
    test: /^\.\.(?:\/\.\.)*(?:\/\*{1,2})*$|^(?:\.\.\/)+\.\.$/,
    ...{ remove: "high" },
    why: "Everything around the workspace.",
  },
  {
    rule: "whole-tree",
    test: /^\.\.?(?:\/\.\.)*(?:\/\*?)?$|^\*$/,
    ...{ remove: "medium" },
    why: "Everything in the workspace.",
  },
  { rule: "file", test: /^/, ...LOW, why: "Reads or changes a file." },
];

/** Programs name the same few paths over and over; what was found out is kept for a while. */
const known = new Map<string, Match | undefined>();
const MAX_KNOWN = 2048;

/** How bad this access to this path is. */
export function assessPath(text: string, access: Access): Match | undefined {
  if (text.length > 256) return judgePath(text, access);
  const key = `${access} ${text}`;
  if (known.has(key)) return known.get(key);
  const match = judgePath(text, access);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(key, match);
  return match;
}

function judgePath(text: string, access: Access): Match | undefined {
  const path = normalizePath(text);
  if (ORDINARY.test(path) && !/\.sock$|\/\.ssh\/|\/release_agent$|\/notify_on_release$/.test(path)) {
    return path.startsWith("/dev/") && !path.startsWith("/dev/shm")
      ? undefined
      : { rule: "file", level: "low", why: "Reads or changes a temporary file." };
  }
  let worst: Match | undefined;
  // A path that climbs may end up in the root directory.
  const absolute = path.startsWith("../") ? `/${path.replace(/^(?:\.\.\/)+/, "")}` : undefined;
  for (const { rule, test, why, [access]: level } of PATH_RULES) {
    if (level === undefined) continue;
    if (worst !== undefined && rankOf(level) <= rankOf(worst.level)) continue;
    if (test.test(path) || (absolute !== undefined && rule !== "whole-tree" && test.test(absolute))) {
      worst = { rule, level, why };
    }
  }
  return worst;
}

/** Would reading this path give away a secret? */
export function isSecretPath(text: string): boolean {
  const match = assessPath(text, "read");
  return match !== undefined && (match.rule === "secret-file" || match.rule === "process-memory");
}

/** Everything below the root or a home directory. */
export function isWholeTree(text: string): boolean {
  return /^(?:\/|~|\/home|\/root|\/Users|\/home\/[^/]+|\.\.(?:\/\.\.)+)\/?\*{0,2}\/?\*?$/.test(
    normalizePath(text),
  );
}

const MAX_PATH = 4096;

function normalizePath(text: string): string {
  let path = text.slice(0, MAX_PATH).trim();
  path = path.replace(/^file:\/\/(?:localhost)?/, "").replace(/^\$(?:HOME|\{HOME\})/, "~");
  const absolute = path.startsWith("/");
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === ".." && parts.length > 0 && parts.at(-1) !== ".." && parts.at(-1) !== "~") parts.pop();
    else if (part !== ".." || !absolute || parts.length > 0) parts.push(part);
  }
  const result = (absolute ? "/" : "") + parts.join("/");
  return result === "" ? "." : result;
}
