import type { WorkBudget } from "../../../../kit/parser/index.js";
import type { Match, Report } from "../../risk/findings.js";
import { rankOf } from "../../risk/levels.js";
import { assessPath } from "../../risk/path-rules.js";
import { feed, HUGE_ALLOCATION, reach } from "../../risk/reach.js";
import type { FlatTree } from "../flat-tree.js";
import { createRuleTable, type ReachRule } from "../known-functions.js";
import { createLoops, type Loops } from "../loops.js";
import { allTexts, HOLE, MARKS, marksOf, UNKNOWN, type Value } from "../value.js";
import { collectNames, identifierOf, moduleNameOf } from "./bindings.js";
import { createJavaScriptEvaluator, type JavaScriptEvaluator } from "./evaluate.js";
import { javaScriptLoops } from "./loops.js";
import { HARMLESS_MODULES, JAVASCRIPT_MODULES } from "./modules.js";
import { GUARDED, JAVASCRIPT_RULES, LOADERS } from "./rules.js";

const TABLE = createRuleTable(JAVASCRIPT_RULES);
const MODULES = new Map(
  JAVASCRIPT_MODULES.flatMap((rule) => rule.modules.map((module) => [module, rule] as const)),
);
const HIDING = MARKS.built | MARKS.decoded;

/** Reports everything that a JavaScript or TypeScript program reaches for. */
export function readJavaScript(tree: FlatTree, report: Report, work: WorkBudget): void {
  const names = collectNames(tree);
  const evaluator = createJavaScriptEvaluator(tree, names, TABLE, work);
  const reader: Reader = {
    tree,
    evaluator,
    report,
    loops: createLoops(tree, javaScriptLoops(tree, evaluator)),
  };
  if (tree.text.length > 200 && /^[[\](){}!+\s;,$_~"'\\.=:]+$/.test(tree.text)) report.add(WITHOUT_WORDS, 0);
  for (let node = 0; node < tree.size; node++) visit(reader, node);
  if (evaluator.gaveUp) report.add(TOO_COMPLEX, 0);
}

const TOO_COMPLEX: Match = {
  rule: "too-complex",
  level: "high",
  why: "Too deep or too long to be followed to the end.",
};
const WITHOUT_WORDS: Match = {
  rule: "hidden-code",
  level: "high",
  why: "A program written without a single word.",
};

interface Reader {
  readonly tree: FlatTree;
  readonly evaluator: JavaScriptEvaluator;
  readonly report: Report;
  readonly loops: Loops;
}

function visit(reader: Reader, node: number): void {
  const { tree, report } = reader;
  switch (tree.kind(node)) {
    case "import_statement":
    case "export_statement": {
      const source = tree.child(node, "source");
      if (source !== -1) importModule(tree.source(source).slice(1, -1), tree.start(node), report);
      break;
    }
    case "import_require_clause":
      importModule(tree.source(tree.child(node, "source")).slice(1, -1), tree.start(node), report);
      break;
    case "call_expression":
    case "new_expression":
      readCall(reader, node);
      break;
    case "member_expression":
    case "identifier":
    case "shorthand_property_identifier":
      readMention(reader, node);
      break;
    case "subscript_expression":
      readSubscript(reader, node);
      readMention(reader, node);
      break;
    case "assignment_expression":
      readAssignment(reader, node);
      break;
    case "while_statement":
    case "for_statement":
    case "do_statement": {
      const growth = reader.loops.growth(node);
      if (growth !== undefined) report.add(growth, tree.start(node));
      break;
    }
  }
}

/** What is put on Object.prototype is put on everything. */
function readAssignment({ tree, evaluator, report }: Reader, node: number): void {
  const target = tree.child(node, "left");
  if (target === -1 || !/^(?:member|subscript)_expression$/.test(tree.kind(target))) return;
  const owner = evaluator.evaluate(tree.child(target, "object"));
  if (owner.names.some((name) => name === "Object.prototype" || name.endsWith(".__proto__"))) {
    report.add(
      { rule: "prototype", level: "high", why: "Changes what every object is made of." },
      tree.start(node),
    );
  }
}

/** Judges a module; a path of the program's own is nothing. */
function importModule(specifier: string, offset: number, report: Report): void {
  if (/^\.{0,2}\//.test(specifier)) {
    const match = specifier.startsWith("/") ? assessPath(specifier, "read") : undefined;
    if (match !== undefined) report.add(match, offset);
    return;
  }
  if (/^(?:https?|data|blob):/.test(specifier)) {
    report.add({ rule: "remote-code", level: "high", why: "Loads code from an address." }, offset);
    return;
  }
  const module = moduleNameOf(specifier);
  const root = module.startsWith("@") ? module : module.split(/[./]/)[0]!;
  const rule = MODULES.get(module) ?? MODULES.get(root);
  if (rule !== undefined) report.add(rule, offset);
  else if (!HARMLESS_MODULES.has(module) && !HARMLESS_MODULES.has(root)) {
    report.add(
      { rule: "unknown-module", level: "low", why: "Imports a module that is not known here." },
      offset,
    );
  }
}

function readCall(reader: Reader, node: number): void {
  const { tree, evaluator, report } = reader;
  const callee = evaluator.calleeOf(node);
  if (callee === -1) return;
  const found = evaluator.evaluate(callee);
  const args = evaluator.argumentsOf(node);
  const done = new Set<ReachRule>();
  for (const name of found.names) {
    readName(reader, name, node, args);
    const through = indirect(name, args);
    const { rule, given } = through.rule === undefined ? { rule: TABLE.find(name), given: args } : through;
    if (rule === undefined || done.has(rule)) continue;
    done.add(rule);
    applyRule(reader, rule, node, given);
  }
  const object = tree.child(callee, "object");
  if (object !== -1) {
    const method = methodOf(reader, callee);
    if (method === "constructor") readConstructor(args, tree.start(node), report);
    if (method === "repeat" && (args[0]?.numbers[0] ?? 0) >= 2 ** 29)
      report.add(HUGE_ALLOCATION, tree.start(node));
    const receiver = evaluator.evaluate(object);
    const input = args[0]?.names.some((name) => /^child_process\.\w+\(\)\.stdin$/.test(name)) === true;
    if (method === "pipe" && input) feed(receiver, tree.start(node), report);
    handOn(reader, node, [receiver, ...args]);
  } else handOn(reader, node, args);
  if (done.size === 0) readForeignPath(reader, node, args);
}

/** The constant name of the member that is called. */
function methodOf({ tree, evaluator }: Reader, callee: number): string {
  const property = tree.child(callee, "property");
  if (property !== -1) return identifierOf(tree.source(property));
  const index = tree.child(callee, "index");
  return index === -1 ? "" : (evaluator.evaluate(index).texts[0] ?? "");
}

/** f.call(this, a), f.apply(this, [a]) and Reflect.apply(f, this, [a]) are f(a). */
function indirect(
  name: string,
  args: readonly Value[],
): { rule: ReachRule | undefined; given: readonly Value[] } {
  const [, base, way] = /^(.*)\.(call|apply)$/.exec(name) ?? [];
  if (base !== undefined) {
    return { rule: TABLE.find(base), given: way === "call" ? args.slice(1) : (args[1]?.items ?? []) };
  }
  if (name === "Reflect.apply" || name === "Reflect.construct") {
    const rule = args[0]?.names.map((one) => TABLE.find(one)).find((one) => one !== undefined);
    return { rule, given: args[name === "Reflect.apply" ? 2 : 1]?.items ?? [] };
  }
  return { rule: undefined, given: args };
}

function applyRule(reader: Reader, rule: ReachRule, node: number, args: readonly Value[]): void {
  const { tree, evaluator, report, loops } = reader;
  const object = tree.child(evaluator.calleeOf(node), "object");
  const receiver = object === -1 ? UNKNOWN : evaluator.evaluate(object);
  const endless = loops.isEndless(node);
  // new Function("a", "b", "return a + b"): the last argument is the body.
  const given = rule.names.includes("Function") ? args.slice(-1) : args;
  const settings = args.find((arg) => arg.keys !== undefined);
  const keywords = new Map((settings?.keys ?? []).map((key, index) => [key ?? "", settings!.items![index]!]));
  reach({ rule, args: given, keywords, receiver, offset: tree.start(node), endless }, report);
  // Sizes that would be harmless once are not in a loop without an end.
  if (endless && rule.amount !== undefined && (args[0]?.numbers[0] ?? 0) >= 1e6) {
    report.add(HUGE_ALLOCATION, tree.start(node));
  }
}

/** Functions whose meaning lies in a name that they are given, or in one number. */
function readName({ tree, report }: Reader, name: string, node: number, args: readonly Value[]): void {
  const offset = tree.start(node);
  if (LOADERS.has(name)) {
    const key = args[0] ?? UNKNOWN;
    for (const one of key.texts) if (!one.includes(HOLE)) importModule(one, offset, report);
    const hidden =
      (key.marks & MARKS.decoded) !== 0 || ((key.marks & MARKS.built) !== 0 && key.texts.some(isRiskyModule));
    if (hidden) report.add(HIDDEN_NAME, offset);
    else if (key.texts.every((one) => one.includes(HOLE) && !/^\.{1,2}\//.test(one)))
      report.add(DYNAMIC_IMPORT, offset);
  }
  if (/^child_process\.\w+\(\)\.stdin\.(?:write|end)$/.test(name)) feed(args[0] ?? UNKNOWN, offset, report);
  if (name === "Reflect.get") readHiddenName(args[0] ?? UNKNOWN, args[1] ?? UNKNOWN, offset, report);
  if (name === "process.kill") {
    const foreign =
      args[0]?.numbers.some((pid) => pid <= 1) === true || args[0]?.names.includes("process.ppid") === true;
    if (foreign)
      report.add({ rule: "kill", level: "high", why: "Signals processes that are not its own." }, offset);
  }
  if (/^fs\.(?:promises\.)?f?l?chmod(?:Sync)?$/.test(name)) {
    const special = (mode: number) => mode <= 0o7777 && (mode & 0o6000) !== 0;
    if (args[1]?.numbers.some(special) || args[1]?.texts.some((mode) => /^0?[2-7]\d{3}$/.test(mode))) {
      report.add(
        { rule: "privilege", level: "high", why: "Makes a program run with its owner's rights." },
        offset,
      );
    }
  }
  if (/^https?\.request$/.test(name) || name === "axios" || name === "fetch") {
    const socket = args.flatMap((arg) => allTexts(arg)).find((one) => /\.sock$/.test(one));
    if (socket !== undefined) {
      const match = assessPath(socket, "write");
      if (match !== undefined) report.add(match, offset);
    }
  }
}

function isRiskyModule(specifier: string): boolean {
  const name = moduleNameOf(specifier);
  return MODULES.has(name) || TABLE.knows(name);
}

const DYNAMIC_IMPORT: Match = {
  rule: "dynamic-import",
  level: "medium",
  why: "Loads a module by a name that is made while the program runs.",
};

const HIDDEN_NAME: Match = {
  rule: "hidden-name",
  level: "high",
  why: "Reaches something by a name that cannot be read in the code.",
};

/** anything.constructor("…") is Function("…") when anything is a function. */
function readConstructor(args: readonly Value[], offset: number, report: Report): void {
  const body = args.at(-1);
  if (body === undefined || body.texts.length === 0) return;
  report.add(
    { rule: "hidden-constructor", level: "high", why: "Makes a function out of text by a back door." },
    offset,
  );
  for (const one of body.texts)
    report.nest({ language: "javascript", text: one.replaceAll(HOLE, "unknown"), offset });
}

const MAX_HANDED = 16;

/** A function that is handed to another one will be called with what goes along with it. */
function handOn(reader: Reader, node: number, all: readonly Value[]): void {
  const values = all.slice(0, MAX_HANDED);
  for (const value of values) {
    for (const name of value.names) {
      const rule = TABLE.find(name);
      if (rule === undefined || (rule.command ?? rule.code) === undefined || rule.codeIfText === true)
        continue;
      const others = values
        .filter((one) => one !== value)
        .flatMap((one) => [one, ...(one.items ?? []).slice(0, MAX_HANDED)]);
      for (const other of others) applyRule(reader, { ...rule, level: "safe" }, node, [other]);
    }
  }
}

/** The path of a secret, given to something that is not known. */
function readForeignPath({ tree, evaluator, report }: Reader, node: number, args: readonly Value[]): void {
  const callee = evaluator.calleeOf(node);
  if (/^console\./.test(tree.source(callee).slice(0, 20))) return;
  for (const text of args.flatMap((arg) => arg.texts)) {
    if (text.length > 256 || !/^[~/.]/.test(text)) continue;
    const match = assessPath(text, "read");
    if (match !== undefined && rankOf(match.level) >= rankOf("high")) {
      report.add({ ...match, level: "medium" }, tree.start(node));
    }
  }
  if ((marksOf(args) & MARKS.environment) !== 0) {
    report.add(
      { rule: "environment", level: "low", why: "Hands on the whole environment." },
      tree.start(node),
    );
  }
}

function readMention(reader: Reader, node: number): void {
  const { tree, evaluator, report } = reader;
  const parent = tree.parent(node);
  const above = parent === -1 ? "" : tree.kind(parent);
  const kind = tree.kind(node);
  if (kind === "identifier") {
    const source = tree.source(node);
    if (source.includes("\\")) report.add(DISGUISED, tree.start(node));
    if (NAMING.has(above) && !tree.plays(node, "value") && !tree.plays(node, "right")) return;
  }
  if (above === "member_expression" || above === "subscript_expression") {
    if (tree.plays(node, "object")) return;
  }
  const called =
    (above === "call_expression" && tree.plays(node, "function")) || tree.plays(node, "constructor");
  const value = evaluator.evaluate(node);
  if (value.names.length === 0) return;
  if (kind !== "identifier") readChains(value, tree.start(node), report);
  if (called) return;
  if (kind === "identifier" && !value.names.some((name) => name.endsWith(tree.source(node)))) return;
  for (const name of value.names) {
    const rule = TABLE.find(name);
    if (rule !== undefined && rule.called !== true && rule.level !== "safe")
      report.add(rule, tree.start(node));
  }
}

/** Nodes in which an identifier is a name being given, not a value. */
const NAMING = new Set([
  ...[
    "variable_declarator",
    "function_declaration",
    "function_expression",
    "formal_parameters",
    "import_specifier",
  ],
  ...[
    "import_clause",
    "namespace_import",
    "required_parameter",
    "optional_parameter",
    "class_declaration",
    "rest_pattern",
  ],
  ...[
    "object_pattern",
    "array_pattern",
    "pair_pattern",
    "labeled_statement",
    "export_specifier",
    "arrow_function",
  ],
  ...["assignment_pattern", "import_require_clause", "catch_clause", "type_query", "nested_type_identifier"],
]);

const DISGUISED: Match = {
  rule: "disguised-name",
  level: "high",
  why: "A name spelt in escapes, which JavaScript reads as plain letters.",
};

function readChains(value: Value, offset: number, report: Report): void {
  for (const name of value.names) {
    if (/\bconstructor\.constructor\b/.test(name)) {
      report.add(
        { rule: "hidden-constructor", level: "high", why: "Reaches Function by a back door." },
        offset,
      );
    }
    if (/(?:^|\.)__proto__\.\w/.test(name)) {
      report.add({ rule: "prototype", level: "medium", why: "Changes what objects are made of." }, offset);
    }
  }
}

function readSubscript({ tree, evaluator, report }: Reader, node: number): void {
  const object = evaluator.evaluate(tree.child(node, "object"));
  const index = tree.child(node, "index");
  if (index !== -1) readHiddenName(object, evaluator.evaluate(index), tree.start(node), report);
}

/** A member whose name was put together to hide it. */
function readHiddenName(owner: Value, key: Value, offset: number, report: Report): void {
  const guarded = owner.names.find((name) => GUARDED.has(name));
  const hiding = key.texts.length > 0 && (key.marks & HIDING) !== 0;
  if (guarded === undefined) {
    // ("x")["constr" + "uctor"] leads to Function from anywhere.
    const leads = hiding && key.texts.some((name) => name === "constructor" || name === "__proto__");
    if (leads) report.add(HIDDEN_NAME, offset);
    return;
  }
  if (hiding || (key.marks & MARKS.decoded) !== 0) report.add(HIDDEN_NAME, offset);
  else if (key.texts.length === 0 && key.numbers.length === 0) {
    report.add({ ...HIDDEN_NAME, level: guarded === "globalThis" ? "medium" : "high" }, offset);
  }
}
