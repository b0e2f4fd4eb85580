import { foldName } from "./git-directory.js";

/** Why something does not go from one side to the other. */
export type LeftOutReason =
  | "git"
  | "ignored"
  | "secret"
  | "cache"
  | "link"
  | "special"
  | "unreadable"
  | "deep";

/** Something that stays on its side. The path may be a program's own words. */
export interface LeftOut {
  readonly path: string;
  readonly why: LeftOutReason;
}

/** What each reason is called in a sentence about several. */
export const LEFT_OUT_WORDS: Readonly<Record<LeftOutReason, string>> = {
  git: "git's own files",
  ignored: "ignored by .gitignore",
  secret: "secrets",
  cache: "caches",
  link: "links that lead out",
  special: "neither files nor links",
  unreadable: "unreadable",
  deep: "nested too deeply",
};

/** Directories that hold nothing else. */
const SECRET_DIRECTORIES = [".aws", ".azure", ".docker", ".gnupg", ".kube", ".ssh"];
const SECRET_NAMES = new Set([
  ...SECRET_DIRECTORIES.filter((name) => name !== ".docker"),
  ".git-credentials",
  ".htpasswd",
  ".boto",
  ".dockercfg",
  ".my.cnf",
  ".s3cfg",
  ".vault-token",
  "application_default_credentials.json",
  "kubeconfig",
  ".pgpass",
  ".pypirc",
  ".terraformrc",
  "_netrc",
]);
const SECRET_PATTERNS = [
  // .env, .env.local, .env~, .env-prod, .env_prod, .envrc.local, but not .environment
  /^\.env(?:rc)?(?:[^a-z0-9]|\d|$)/,
  /^\.flaskenv(?:[^a-z]|$)/,
  /[^.]\.env$/,
  /\.pem(?:[^a-z]|$)/,
  /\.(?:key|p12|pfx|ppk|jks|keystore|kdbx|tfvars)$/,
  /\.tfvars\.json$/,
  /\.tfstate(?:\.|$)/,
  /^\.netrc(?:[^a-z]|$)/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)(?![a-z0-9])(?!.*\.pub$)/,
  /^(?:credentials|service[-_]account[\w-]*)\.json$/,
];
/** What shows how a secret would look, and holds none. */
const EXAMPLE = /^(?:[\w-]*\.)?env\.(?:example|sample|template|dist|defaults)$/;
/** Secrets only where they are. */
const SECRET_PATHS = [
  /(?:^|\/)\.docker\/config\.json$/,
  /(?:^|\/)\.(?:cargo|aws|gem)\/credentials(?:\.toml)?$/,
  /(?:^|\/)\.config\/gh\/hosts\.yml$/,
];
const CACHES = new Set(["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".ds_store"]);
/** The workspace is the home of what runs inside: programs leave these at its top. */
const HOME_NAMES = new Set([
  ".bash_history",
  ".cache",
  ".config",
  ".lesshst",
  ".local",
  ".node_repl_history",
  ".npm",
  ".python_history",
  ".wget-hsts",
]);
/** Package managers' files that hold a token only sometimes. */
const TOKEN_FILES = new Set([".npmrc", ".yarnrc", ".yarnrc.yml"]);
const TOKEN = /_auth|_password|authtoken|authident|:\/\/[^\s/:@]+:[^\s/@]+@/i;

/** True for a name that git would take for its own directory, on this system or on one that ignores case. */
function isGitName(name: string): boolean {
  const plain = foldName(name);
  return plain === ".git" || plain === "git~1";
}

/** True for a path with such a name anywhere in it. */
export function isInGit(path: string): boolean {
  return path.split("/").some(isGitName);
}

/** Why an entry of a project is not copied in, as far as its name tells. */
export function reasonOfName(path: string): LeftOutReason | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (isGitName(name)) return "git";
  if (isSecretName(name) || SECRET_PATHS.some((pattern) => pattern.test(path.toLowerCase()))) return "secret";
  return CACHES.has(name.toLowerCase()) ? "cache" : undefined;
}

/** True for a directory that holds secrets, by its own name. */
export function isSecretDirectory(name: string): boolean {
  return SECRET_DIRECTORIES.includes(name.toLowerCase());
}

function isSecretName(given: string): boolean {
  const name = given.toLowerCase();
  if (SECRET_NAMES.has(name)) return true;
  return !EXAMPLE.test(name) && SECRET_PATTERNS.some((pattern) => pattern.test(name));
}

/** True when the file has to be read to know whether it holds a secret. */
export function mayHoldToken(path: string): boolean {
  return TOKEN_FILES.has(path.slice(path.lastIndexOf("/") + 1).toLowerCase());
}

export function holdsToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Why something that a program made is no change of the project. A secret's name is one: the person is shown it. */
export function reasonOfNew(path: string): LeftOutReason | undefined {
  if (isInGit(path)) return "git";
  const parts = path.toLowerCase().split("/");
  return parts.some((part) => CACHES.has(part)) || HOME_NAMES.has(parts[0] ?? "") ? "cache" : undefined;
}
