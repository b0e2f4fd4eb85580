import { readText } from "./cgroup/host-groups.js";

/** A run of user ids. */
export interface UserRange {
  readonly start: number;
  readonly count: number;
}

/** Where no configuration names one: no host has users there. */
export const DEFAULT_USER_RANGE: UserRange = { start: 1_900_000_000, count: 65_536 };

/** More would only take longer to look through. */
const MOST_IDS = 65_536;
/** `nobody`, and the number that means no user where ids have 16 bits. */
const RESERVED_IDS = 65_534;
/** Below are the users of the system and its people. */
const FIRST_FREE_ID = 10_000;

/**
 * Ids of which root may give each sandbox one: the range, where all of it exists in this user namespace. For the default one, where
 * it does not, the upper part of what exists. Undefined: there are none.
 */
export function findUserRange(
  range: UserRange,
  maps: readonly string[] = ["uid_map", "gid_map"].map((name) => readText(`/proc/self/${name}`)),
): UserRange | undefined {
  const [users = [], groups = []] = maps.map(mappedIds);
  // A user has a group of the same number.
  const both = users.flatMap((user) =>
    groups.map((group) => ({
      from: Math.max(user.from, group.from),
      to: Math.min(user.to, group.to),
    })),
  );
  const isWhole = both.some(({ from, to }) => from <= range.start && range.start + range.count <= to);
  if (isWhole) return range;
  const isDefault = range.start === DEFAULT_USER_RANGE.start && range.count === DEFAULT_USER_RANGE.count;
  if (!isDefault) return undefined;
  const [largest] = both
    .map(({ from, to }) => ({
      from: Math.max(from, FIRST_FREE_ID),
      to: to > RESERVED_IDS && from <= RESERVED_IDS + 1 ? RESERVED_IDS : to,
    }))
    .filter(({ from, to }) => from < to)
    .sort((one, other) => other.to - other.from - (one.to - one.from));
  if (largest === undefined) return undefined;
  const count = Math.min(MOST_IDS, Math.ceil((largest.to - largest.from) / 2));
  return { start: largest.to - count, count };
}

/** From the first id to the one after the last. */
function mappedIds(map: string): { readonly from: number; readonly to: number }[] {
  return map
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([inside, , count]) =>
      inside === undefined || count === undefined ? [] : [{ from: inside, to: inside + count }],
    );
}
