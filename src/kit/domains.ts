import { isIP } from "node:net";
import { domainToASCII } from "node:url";

/** Ends in a `*`: `10.*`. */
const OPEN_END = /\*[^.]*$/;

/**
 * The first rule of a list that a name falls under. `*` stands for any characters, as in `*.example.com` and `10.*`.
 * For denying, `*.example.com` also stands for `example.com`. For allowing, `10.*` stands for addresses only: anyone can
 * have the name `10.evil.example`.
 */
export function matchingDomain<Rule extends { readonly value: string }>(
  items: readonly Rule[],
  name: string,
  use: "allow" | "deny",
): Rule | undefined {
  // Fullwidth letters and the like spell the same name.
  const ascii = /^[^:]*[^\0-\x7f][^:]*$/.test(name) ? domainToASCII(name) : name;
  const canonical = ascii.toLowerCase().replace(/\.$/, "");
  return items.find(({ value }) => {
    const pattern = value.toLowerCase();
    if (use === "allow" && OPEN_END.test(pattern) && isIP(canonical) === 0) return false;
    return (
      matches(pattern.split("*"), canonical) ||
      (use === "deny" && pattern.startsWith("*.") && matches(pattern.slice(2).split("*"), canonical))
    );
  });
}

/** True for what may be the name or address of a host. */
export function isHost(name: string): boolean {
  return name.length <= 255 && /^[\p{L}\p{N}._:[\]-]+$/u.test(name);
}

/** What both lists allow: of two patterns that overlap, the narrower. */
export function intersectDomains<Rule extends { readonly value: string }>(
  one: readonly Rule[],
  other: readonly Rule[],
): readonly Rule[] {
  const within = (from: readonly Rule[], list: readonly Rule[]) =>
    from.filter(({ value }) =>
      list.some((each) => matches(each.value.toLowerCase().split("*"), value.toLowerCase())),
    );
  const both = [...within(one, other), ...within(other, one)];
  return both.filter(({ value }, index) => both.findIndex((each) => each.value === value) === index);
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
