import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { matchingDomain } from "../../../kit/domains.js";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import { expandHome } from "../../../kit/expand-home.js";
import type { EgressRules } from "../rules/rules.js";
import type { SecretConfig } from "../rules/settings.js";
import { Secret, type SecretOrigin } from "./secret.js";

type Env = Readonly<Record<string, string | undefined>>;

const MAX_FILE_BYTES = 64 * 1024;

/** The secrets of `sandbox.secrets`, with their values. */
export function loadSecrets(sources: Readonly<Record<string, SecretConfig>>, env: Env): Secret[] {
  return Object.entries(sources).map(([name, source]) =>
    load(name, source, env, {
      words: `sandbox.secrets.${name}`,
      code: "CONFIG_INVALID",
      allow: (host) => `Add "${host}" to sandbox.network.allowedDomains`,
    }),
  );
}

/**
 * Reads `NAME@host[,host]`, whose value is in the variable NAME, or `NAME=env:OTHER@…`, `NAME=file:/path@…`. `allow` says what allows
 * a host there.
 */
export function parseSecretOption(text: string, env: Env, allow: SecretOrigin["allow"]): Secret {
  const form = "NAME@host[,host], with the value in the variable NAME, or NAME=file:/path@host";
  const at = text.lastIndexOf("@");
  const [name = "", source] = split(text.slice(0, Math.max(at, 0)), "=");
  // Nothing of the text is repeated: it may hold the value.
  if (at < 0 || name === "") {
    throw new SandboxError("INVALID_ARGUMENT", "A secret names no host, or no variable", {
      hint: `Use ${form}.`,
    });
  }
  const [kind, from] = source === undefined ? ["env", undefined] : split(source, ":");
  if ((kind !== "env" && kind !== "file") || from === "" || (source !== undefined && from === undefined)) {
    throw new SandboxError("INVALID_ARGUMENT", "A secret takes no value: other users see command lines", {
      hint: `Use ${form}.`,
    });
  }
  const hosts = text.slice(at + 1).split(",");
  const origin: SecretOrigin = {
    words: `The secret ${/^\w{1,64}$/.test(name) ? name : "…"}`,
    code: "INVALID_ARGUMENT",
    allow,
  };
  return load(name, { hosts, ...(from !== undefined && { [kind]: from }) }, env, origin);
}

/** Refuses secrets for hosts that cannot be reached: most likely something was forgotten. */
export function checkSecretHosts(secrets: readonly Secret[], rules: EgressRules): void {
  const names = [...rules.allowedDomains, ...rules.requests.map(({ value }) => ({ value: value.host }))];
  for (const { name, hosts, origin } of secrets) {
    for (const host of hosts) {
      const isAllowed =
        rules.internet !== undefined || names.some(({ value }) => covers(value, host) || covers(host, value));
      const denying = matchingDomain(rules.deniedDomains, host, "deny");
      if (isAllowed && denying === undefined) continue;
      const why = denying === undefined ? "which no rule allows" : `which rule ${denying.rule} denies`;
      throw new SandboxError(origin.code, `The secret ${name} is for ${host}, ${why}`, {
        hint:
          denying === undefined
            ? `${origin.allow(host)}.`
            : "Take the host out of the rule, or out of the secret.",
      });
    }
  }
}

function covers(pattern: string, host: string): boolean {
  return matchingDomain([{ value: pattern, rule: "" }], host, "allow") !== undefined;
}

function load(
  name: string,
  source: Partial<SecretConfig> & Pick<SecretConfig, "hosts">,
  env: Env,
  origin: SecretOrigin,
): Secret {
  if (source.env !== undefined && source.file !== undefined) {
    throw new SandboxError(origin.code, `${origin.words} has both env and file`, {
      hint: "Keep one of them.",
    });
  }
  const value =
    source.file === undefined
      ? readVariable(source.env ?? name, env, origin)
      : readSecretFile(expandHome(source.file), origin);
  return new Secret({ name, value, hosts: source.hosts, origin, ...(source.in && { in: source.in }) });
}

function readVariable(name: string, env: Env, { words, code }: SecretOrigin): string {
  const value = env[name];
  if (value !== undefined && value !== "") return value;
  throw new SandboxError(code, `${words}: the variable ${/^\w{1,64}$/.test(name) ? name : "…"} is not set`, {
    hint: "Export it in the shell that starts skerry, or give a file.",
  });
}

/** A file's text without the line break at its end, which editors add. */
function readSecretFile(path: string, { words, code }: SecretOrigin): string {
  if (!isAbsolute(path)) {
    throw new SandboxError(code, `${words}: the file must be an absolute path`, {
      hint: "Or begin it with ~/.",
    });
  }
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > MAX_FILE_BYTES) {
      throw new SandboxError(code, `${words}: what the file's path leads to is no small file`);
    }
    return readFileSync(fd, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    if (error instanceof SandboxError) throw error;
    throw new SandboxError(
      code,
      `${words}: the file cannot be read (${systemCode(error) ?? "unknown error"})`,
      {
        hint: "Check its path, and that this user may read it.",
      },
    );
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function split(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}
