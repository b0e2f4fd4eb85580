import type { RoleRules } from "./policy.js";
import type { Setting } from "./rule.js";

type Roles = ReadonlyMap<string, RoleRules>;

/** The way from a role back to itself, or undefined. */
export function findCycle(roles: Roles, start: string): readonly string[] | undefined {
  const seen = new Set<string>();
  const visit = (name: string, path: readonly string[]): readonly string[] | undefined => {
    for (const { value: parent } of roles.get(name)?.inherits ?? []) {
      if (parent === start) return [...path, parent];
      if (seen.has(parent)) continue;
      seen.add(parent);
      const found = visit(parent, [...path, parent]);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return visit(start, [start]);
}

/** A role's own tools and those of the roles it inherits from. Safe for roles that go in circles. */
export function toolsOfRole(roles: Roles, name: string): readonly Setting<string>[] {
  const tools = new Map<string, Setting<string>>();
  const seen = new Set<string>();
  const pending = [name];
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    const role = roles.get(next);
    if (role === undefined || seen.has(next)) continue;
    seen.add(next);
    for (const tool of role.tools?.items ?? []) if (!tools.has(tool.value)) tools.set(tool.value, tool);
    pending.push(...role.inherits.map(({ value }) => value));
  }
  return [...tools.values()];
}
