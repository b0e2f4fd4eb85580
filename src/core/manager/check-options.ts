import { suggestWord } from "../../kit/closest-word.js";
import { SandboxError } from "../../kit/errors.js";
import type { EgressRules } from "../../runtime/egress/index.js";
import { Secret, type SecretOptions } from "../../runtime/egress/index.js";
import type { PoolManager } from "../../runtime/pool/index.js";
import { findLanguage } from "../../runtime/sandbox/index.js";
import type { SandboxManagerOptions } from "./manager-options.js";
import { checkLimits } from "./sandboxes/limits.js";

const OBJECTS = ["config", "limits", "confirmation", "audit", "metrics", "contextGraph", "monitor"] as const;

/** What is no object at all would fail later, with an error of JavaScript's own. */
export function checkObjects(options: SandboxManagerOptions): void {
  for (const name of OBJECTS) {
    const value: unknown = options[name];
    const isOne = typeof value === "object" && value !== null && (name !== "config" || "sandbox" in value);
    if (value === undefined || isOne) continue;
    throw new SandboxError(
      "INVALID_ARGUMENT",
      `${name} must be an object, not ${value === null ? "null" : typeof value}`,
      {
        hint: "Leave it out, or pass what makes one: config takes what loadConfig resolves to.",
      },
    );
  }
}

/** A path or a plain object would fail later, and less clearly. */
export function checkPolicyOption(policy: unknown): void {
  if (policy === undefined || (typeof policy === "object" && policy !== null && "roles" in policy)) return;
  throw new SandboxError("INVALID_ARGUMENT", `policy must be a policy, not ${typeof policy}`, {
    hint: "Pass what loadPolicy resolves to, or parsePolicy returns.",
  });
}

/** What would never be used, or never hold, is refused before anything starts. */
export function checkPoolOption(
  pool: PoolManager | undefined,
  { backend, warm }: { readonly backend?: string; readonly warm?: boolean },
): void {
  if (pool === undefined) return;
  const refuse = (message: string, hint: string) => {
    throw new SandboxError("INVALID_ARGUMENT", message, { hint });
  };
  // By its method, so that managers without a pool need not load the pool.
  if (typeof pool?.bind !== "function") {
    refuse("pool takes a PoolManager", "For example new PoolManager({ minInstances: 2, maxInstances: 10 }).");
  }
  const { backend: its, preload = [], limits } = pool.options;
  if (its !== undefined && backend !== undefined && its !== backend) {
    refuse(
      `The pool is for the backend ${its}, the manager for ${backend}`,
      "Name the backend once: nothing that the pool prepares could be used.",
    );
  }
  if (limits !== undefined) checkLimits(limits);
  for (const language of preload) findLanguage(language);
  if (preload.length > 0 && warm === false)
    refuse("A pool that starts interpreters ahead cannot be without warm ones", "Leave out preload or warm.");
}

export function secretsOf(secrets: readonly (SecretOptions | Secret)[] = []): Secret[] {
  if (Array.isArray(secrets))
    return secrets.map((each) => (each instanceof Secret ? each : new Secret(each)));
  throw new SandboxError("INVALID_ARGUMENT", "secrets takes a list", {
    hint: 'For example [{ name: "TOKEN", value, hosts: ["api.example.com"] }].',
  });
}

export function checkEgressOption(egress: EgressRules | undefined): EgressRules | undefined {
  if (egress === undefined || (typeof egress === "object" && "allowedDomains" in egress)) return egress;
  throw new SandboxError("INVALID_ARGUMENT", "egress takes rules", {
    hint: "Pass what allowDomains returns.",
  });
}

export function checkOneOf(what: string, value: string | undefined, known: readonly string[]): void {
  if (value === undefined || known.includes(value)) return;
  throw new SandboxError("INVALID_ARGUMENT", `There is no ${what} named ${JSON.stringify(value)}`, {
    hint: suggestWord(value, known),
  });
}
