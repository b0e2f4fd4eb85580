import type { Config } from "../../../core/config/index.js";
import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { stateDirectoryOf } from "../../../kit/state-directory.js";
import type { ApiKeyRecord, KeyScopes, Store } from "../../../server/index.js";
import type { GlobalOptions } from "../../definition/index.js";
import { readConfig } from "../../open/index.js";
import { formatTable, jsonText, localTime, stderr, stdout } from "../../output/index.js";

export interface KeysOptions extends GlobalOptions {
  readonly org: string;
  readonly json?: boolean;
}

export interface CreateKeyOptions extends KeysOptions {
  readonly name: string;
  readonly role?: readonly string[];
  readonly readOnly?: boolean;
  readonly approve?: boolean;
  readonly admin?: boolean;
  /** Milliseconds. */
  readonly expires?: number;
}

/** `skerry keys create`: the key on standard output, and nothing else there. */
export async function create(options: CreateKeyOptions): Promise<number> {
  const { org, name, role, expires } = options;
  checkName("--name", name, /^[^\p{C}]{1,100}$/u);
  const scopes: KeyScopes = {
    roles: role ?? "all",
    readOnly: options.readOnly === true,
    approve: options.approve === true,
    admin: options.admin === true,
  };
  return withStore(options, async ({ apiKeys }, config) => {
    await warnOfUnknownRoles(role, config);
    const { key, secret } = await apiKeys.create(org, {
      name,
      scopes,
      ...(expires !== undefined && { expiresAt: Date.now() + expires }),
    });
    if (options.json) return stdout.write(`${jsonText({ ...toJson(key), secret })}\n`);
    await stdout.write(`${secret}\n`);
    if (stderr.isTerminal) await stderr.write("It is not shown again.\n");
  });
}

/** `skerry keys ls`. */
export async function list(options: KeysOptions): Promise<number> {
  return withStore(options, async ({ apiKeys }) => {
    const keys = await apiKeys.list(options.org);
    if (options.json) return stdout.write(`${jsonText(keys.map(toJson))}\n`);
    if (keys.length === 0) return stderr.write("no keys\n");
    const rows = keys.map((key) => [key.id, escapeUnsafe(key.name), scopesText(key.scopes), stateOf(key)]);
    await stdout.write(formatTable([["id", "name", "scopes", "state"], ...rows]));
  });
}

/** `skerry keys revoke`. */
export async function revoke([id]: readonly string[], options: KeysOptions): Promise<number> {
  return withStore(options, async ({ apiKeys }) => {
    if (!(await apiKeys.revoke(options.org, id!))) {
      throw new SandboxError("NOT_FOUND", "This org has no valid key with this id", {
        hint: `List them with: skerry keys ls --org ${options.org}`,
      });
    }
    if (options.json) await stdout.write(`${jsonText({ revoked: id })}\n`);
  });
}

async function withStore(
  options: KeysOptions,
  action: (store: Store, config: Config) => Promise<void>,
): Promise<number> {
  checkName("--org", options.org, /^[\w.-]{1,100}$/);
  const config = await readConfig(options);
  const { openConfiguredStore } = await import("../../../server/index.js");
  const store = await openConfiguredStore(config, stateDirectoryOf(config.sandbox));
  try {
    await action(store, config);
    return 0;
  } finally {
    await store.close();
  }
}

/** A server may have another policy than this configuration names, so such a key is made all the same. */
async function warnOfUnknownRoles(roles: readonly string[] | undefined, { sandbox }: Config): Promise<void> {
  const { file } = sandbox.policy;
  if (roles === undefined || file === undefined) return;
  const { loadPolicy } = await import("../../../guard/policy/index.js");
  const policy = await loadPolicy(file).catch(() => undefined);
  const unknown = roles
    .filter((role) => policy?.roles.has(role) === false)
    .map((role) => JSON.stringify(role));
  if (policy === undefined || unknown.length === 0) return;
  const known = [...policy.roles.keys()].map(escapeUnsafe).join(", ") || "none";
  await stderr.write(
    `skerry: the policy ${escapeUnsafe(file)} has no role ${unknown.join(", ")}; it has ${known}\n`,
  );
}

function checkName(option: string, name: string, pattern: RegExp): void {
  if (pattern.test(name)) return;
  throw new SandboxError("INVALID_ARGUMENT", `${option} is not valid`, {
    hint:
      option === "--org"
        ? "Use up to 100 letters, digits, dots, dashes and underscores."
        : "Use up to 100 visible characters.",
  });
}

function toJson(key: ApiKeyRecord) {
  const moment = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  return {
    ...key,
    createdAt: moment(key.createdAt),
    expiresAt: moment(key.expiresAt),
    revokedAt: moment(key.revokedAt),
    lastUsedAt: moment(key.lastUsedAt),
  };
}

function scopesText({ roles, readOnly, approve, admin }: KeyScopes): string {
  const named = { "read-only": readOnly, approve, admin };
  const scopes = Object.entries(named).flatMap(([name, has]) => (has ? [name] : []));
  return escapeUnsafe([...scopes, roles === "all" ? "all roles" : `roles ${roles.join(", ")}`].join(", "));
}

function stateOf({ revokedAt, expiresAt, lastUsedAt }: ApiKeyRecord): string {
  const time = (ms: number) => localTime(new Date(ms).toISOString());
  if (revokedAt !== undefined) return `revoked ${time(revokedAt)}`;
  if (expiresAt !== undefined && expiresAt <= Date.now()) return `expired ${time(expiresAt)}`;
  return lastUsedAt === undefined ? "never used" : `used ${time(lastUsedAt)}`;
}
