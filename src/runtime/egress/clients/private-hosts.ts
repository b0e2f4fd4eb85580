import { lookup } from "node:dns/promises";
import { HOST_SERVICES } from "../../../kit/hosts.js";
import { isOwnAddress, isPrivateAddress, isSpecialAddress } from "../rules/addresses.js";
import type { EgressRules } from "../rules/rules.js";

const MOST_MS = 1000;

/** A line for each host of the rules that is on a private address: only that one is open there. */
export async function describePrivateHosts({ requests, ownHosts = [] }: EgressRules): Promise<string[]> {
  const services = requests
    .filter(({ value }) => value.host === HOST_SERVICES)
    .map(
      ({ value, rule }) => `${rule} opens port ${value.ports?.join(", ")} of this host, as ${HOST_SERVICES}`,
    );
  const found = await Promise.all(
    ownHosts.map(async ({ value: { host, port }, rule }) => {
      const address = (await addressesOf(host)).find(isPrivate);
      if (address === undefined) return [];
      return [`${rule} opens ${host}:${port} at the private address ${address}, and nothing else there`];
    }),
  );
  return [...new Set([...services, ...found.flat()])];
}

/** This machine's own addresses may be public ones, and lead to it all the same. */
function isPrivate(address: string): boolean {
  return isPrivateAddress(address) || (isSpecialAddress(address) === undefined && isOwnAddress(address));
}

/** None where the name server does not answer in time: the connection will tell. */
async function addressesOf(host: string): Promise<readonly string[]> {
  const late = new Promise<string[]>((resolve) => setTimeout(resolve, MOST_MS, []).unref());
  const found = lookup(host, { all: true }).then((all) => all.map(({ address }) => address));
  return Promise.race([found.catch(() => []), late]);
}
