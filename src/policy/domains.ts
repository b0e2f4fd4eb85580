import type { Items, Setting } from "./policy.js";

/** The first rule of a list that a name falls under. `*` stands for any characters, as in `*.example.com` and `10.*`. */
export function matchingDomain(items: Items, name: string): Setting<string> | undefined {
  const canonical = name.toLowerCase().replace(/\.$/, "");
  return items.find(({ value }) => matches(value.toLowerCase().split("*"), canonical));
}

/** Takes the parts between the stars one after the other, each as early as it comes: nothing to backtrack. */
function matches(parts: readonly string[], name: string): boolean {
  if (parts.length === 1) return parts[0] === name;
  const [first = "", last = ""] = [parts[0], parts.at(-1)];
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
    return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}
