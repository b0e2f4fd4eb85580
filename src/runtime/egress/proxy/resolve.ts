import { systemCode } from "../../../kit/errors.js";
import { HOST_SERVICES } from "../../../kit/hosts.js";
import { canonicalAddress } from "../rules/addresses.js";
import { decideAddress } from "../rules/decide.js";
import type { Host } from "../rules/host.js";
import type { EgressDecision, RuleSets } from "../rules/rules.js";
import { type Resolve, systemLookups } from "./lookup-queue.js";

/** A lookup that takes longer fails. */
const RESOLVE_MS = 10_000;
/** A name may have thousands; as many as this are looked at. */
const MAX_ADDRESSES = 32;

/** The system's own resolver, for callers outside of a sandbox. */
export const systemResolve: Resolve = systemLookups.lane();

/** What a name came to: addresses to dial, the verdict that refuses them, or why there are none. */
export type Resolved =
  | { readonly addresses: readonly string[] }
  | { readonly refused: EgressDecision }
  | { readonly failed: string };

/**
 * Resolves a host once and keeps the addresses that the rules allow. Dial those and nothing else: a name that is resolved
 * twice may change its mind in between.
 */
export async function resolveChecked(
  rules: RuleSets,
  host: Host,
  port: number,
  resolve: Resolve = systemResolve,
  { resolveMs = RESOLVE_MS, signal }: { readonly resolveMs?: number; readonly signal?: AbortSignal } = {},
): Promise<Resolved> {
  const found = await addressesOf(host, resolve, resolveMs, signal);
  if (typeof found === "string") return { failed: found };
  const addresses = new Set(found.slice(0, MAX_ADDRESSES).map((each) => canonicalAddress(each) ?? each));
  const verdicts = [...addresses].map((address) => ({
    address,
    verdict: decideAddress(rules, host, address, port),
  }));
  const passed = verdicts.filter(({ verdict }) => verdict.allowed).map(({ address }) => address);
  if (passed.length > 0) return { addresses: passed };
  return { refused: verdicts[0]!.verdict };
}

function addressesOf(
  host: Host,
  resolve: Resolve,
  resolveMs: number,
  signal: AbortSignal | undefined,
): readonly string[] | Promise<string[] | string> {
  if (host.kind === "address") return [host.address];
  // No name server has a say in where this host is.
  return host.name === HOST_SERVICES ? LOOPBACK : answers(host.name, resolve, resolveMs, signal);
}

const LOOPBACK = ["127.0.0.1", "::1"];

/** The addresses of a name, or a line that says why there are none. */
async function answers(
  name: string,
  resolve: Resolve,
  resolveMs: number,
  signal: AbortSignal | undefined,
): Promise<string[] | string> {
  const late = AbortSignal.timeout(resolveMs);
  const either = signal === undefined ? late : AbortSignal.any([late, signal]);
  try {
    const found = await abortable(resolve(name, either), either);
    return found.length > 0 ? found : `${name} has no address`;
  } catch (error) {
    if (late.aborted) return `${name} was not resolved within ${resolveMs / 1000} s`;
    const code = systemCode(error);
    if (code === "ENOTFOUND" || code === "ENODATA") return `${name} does not exist`;
    return `${name} could not be resolved${code === undefined ? "" : ` (${code})`}`;
  }
}

/** Ends the wait when the signal does; what was waited for goes on alone. */
function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
