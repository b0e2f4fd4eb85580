import { isWholeTree } from "../../rules/path-rules.js";
import { directoryOf, list, MARKS, mark, number, text, type Value } from "../value.js";

/** Names of other modules that stand for one value. */
const CONSTANTS: ReadonlyMap<string, Value> = new Map([
  ["sys.executable", text("python3", MARKS.partial)],
  ["stat.S_ISUID", number(0o4000)],
  ["stat.S_ISGID", number(0o2000)],
  ["os.O_RDONLY", text("r")],
  ["site.USER_SITE", text("/usr/lib/python3/site-packages")],
  ["site.PREFIXES", text("/usr")],
]);

export function constant(value: Value): Value {
  return (value.names.length === 1 && CONSTANTS.get(value.names[0]!)) || value;
}

/** The directories above a path, or the nearest of them. */
export function ancestors(path: Value, name: string): Value {
  const above: Value[] = [];
  for (let one = path; above.length < 4; above.push(one)) one = { ...one, texts: one.texts.map(directoryOf) };
  return name === "parent" ? above[0]! : list(above);
}

const LISTINGS = /^(?:os\.(?:walk|listdir|scandir)|glob\.i?glob|pathlib\.Path\(\)\.(?:r?glob|iterdir|walk))$/;

export function markTree(name: string, value: Value, args: readonly Value[]): Value {
  if (!LISTINGS.test(name)) return value;
  const whole = args.some(({ texts }) => texts.some(isWholeTree));
  return whole ? mark(value, MARKS.wholeTree) : value;
}

/** Names that say where a value comes from. */
export function marked(value: Value): Value {
  const environment = value.names.includes("os.environ") ? MARKS.environment : 0;
  const asked = value.names.some((name) => REQUESTS.test(name)) ? MARKS.network : 0;
  return environment + asked === 0 ? value : mark(value, environment | asked);
}

const REQUESTS = /^(?:flask\.request|bottle\.request|fastapi\.Request)(?:\.|$)/;

/** A module whose name could not be read is any that has such a member. */
export function modulesFor(member: string): (name: string) => readonly string[] {
  return (name) =>
    name === "?module"
      ? ["?module", ...SUSPECTS.filter((one) => DANGEROUS.has(member) || one === "os")]
      : [name];
}

const SUSPECTS = ["os", "subprocess"];
const DANGEROUS = new Set(["Popen", "run", "call", "check_output", "check_call", "getoutput"]);
