import { networkInterfaces } from "node:os";
import { canonicalAddress } from "./addresses.js";

/** Addresses come and go with interfaces; to ask the kernel for every connection would cost more than the rest. */
const KEPT_MS = 5000;

let known: ReadonlySet<string> = new Set();
let knownUntil = 0;

/** Does the address lead back to this machine? Its public ones do as much as loopback does. */
export function isOwnAddress(address: string): boolean {
  if (performance.now() >= knownUntil) {
    const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    known = new Set(all.map((each) => canonicalAddress(each.address) ?? each.address));
    knownUntil = performance.now() + KEPT_MS;
  }
  return known.has(canonicalAddress(address) ?? address);
}
