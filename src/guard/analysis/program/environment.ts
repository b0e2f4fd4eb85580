import { MARKS, text, UNKNOWN, type Value } from "./value.js";

/** An API key belongs into a request; these belong nowhere but into the program that was given them. */
const CREDENTIAL =
  /SECRET|PASSW|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL|^(?:GITHUB|GH|NPM|GITLAB|PYPI|DOCKER|VAULT)_\w*TOKEN$/i;

/** What one environment variable gives: the home directory, a credential, or nothing of interest. */
export function variable(name: string | undefined): Value {
  if (name === "HOME" || name === "USERPROFILE") return text("~");
  if (name !== undefined && CREDENTIAL.test(name)) return { ...UNKNOWN, marks: MARKS.credential };
  return UNKNOWN;
}

/** A variable that only a credential is called by. */
export function isSecretVariable(name: string): boolean {
  return CREDENTIAL.test(name);
}

/** Commands that print a credential or the whole environment. */
const SECRET_COMMANDS =
  /^(?:gh auth token|gcloud auth (?:application-default )?print-(?:access|identity)-token|az account get-access-token|aws (?:sts (?:get-session-token|assume-role)|configure (?:get|export-credentials)|secretsmanager get-secret-value|ecr get-login-password)|kubectl (?:get (?:-\S+ (?:\S+ )?)*secrets?\b|config view --raw|create token)|vault (?:kv get|read|print token)|pass (?:show )?\w|op (?:read|item get)|security find-(?:generic|internet)-password|secret-tool lookup|git credential|doctl auth|heroku auth:token|npm (?:token|config get \S*_auth)|gh api \S*secrets|env\b|printenv\b|export -p|declare -[px]|set$|history\b|gpg \S*export-secret|keyctl |bw get|lpass show|cat \S*\/environ\b|cat \S*_history\b|xclip -o|xsel|pbpaste|wl-paste)/;

export function isSecretCommand(command: string): boolean {
  return SECRET_COMMANDS.test(command.slice(0, 256).trim());
}

/** What the output of a command is. */
export function marksOfOutput(command: string): number {
  const text = command.slice(0, 256).trim();
  if (isSecretCommand(text)) return MARKS.secret;
  if (/^(?:pgrep|pidof|ps|lsof)\b/.test(text)) return MARKS.others;
  return /^(?:curl|wget)\s/.test(text) ? MARKS.network : 0;
}
