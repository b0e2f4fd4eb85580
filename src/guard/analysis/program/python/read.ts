import type { WorkBudget } from "../../../../kit/parser/index.js";
import type { Match, Report } from "../../risk/findings.js";
import { rankOf } from "../../risk/levels.js";
import { assessPath } from "../../risk/path-rules.js";
import { feed, HUGE_ALLOCATION, reach } from "../../risk/reach.js";
import { type FlatTree, namedChildren, operatorOf } from "../flat-tree.js";
import { createRuleTable, type ReachRule } from "../known-functions.js";
import { createLoops, type Loops } from "../loops.js";
import { HOLE, MARKS, marksOf, UNKNOWN, type Value } from "../value.js";
import { collectNames, identifierOf } from "./bindings.js";
import { type Arguments, createPythonEvaluator, type PythonEvaluator } from "./evaluate.js";
import { pythonLoops } from "./loops.js";
import { HARMLESS_MODULES, PYTHON_MODULES } from "./modules.js";
import { GUARDED_MODULES, PYTHON_CHAINS, PYTHON_RULES } from "./rules.js";

const TABLE = createRuleTable(PYTHON_RULES);
const MODULES = new Map(
  PYTHON_MODULES.flatMap((rule) => rule.modules.map((module) => [module, rule] as const)),
);
const HIDING = MARKS.built | MARKS.decoded;

/** Reports everything that a Python program reaches for. */
export function readPython(tree: FlatTree, report: Report, work: WorkBudget): void {
  const names = collectNames(tree);
  const evaluator = createPythonEvaluator(tree, names, TABLE, work);
  const reader: Reader = { tree, evaluator, report, loops: createLoops(tree, pythonLoops(tree, evaluator)) };
  for (let node = 0; node < tree.size; node++) visit(reader, node);
  if (evaluator.gaveUp) report.add(TOO_COMPLEX, 0);
}

const TOO_COMPLEX: Match = {
  rule: "too-complex",
  level: "high",
  why: "Too deep or too long to be followed to the end.",
};

interface Reader {
  readonly tree: FlatTree;
  readonly evaluator: PythonEvaluator;
  readonly report: Report;
  readonly loops: Loops;
}

function visit(reader: Reader, node: number): void {
  const { tree, report } = reader;
  switch (tree.kind(node)) {
    case "import_statement":
    case "import_from_statement":
      readImport(reader, node);
      break;
    case "call":
      readCall(reader, node);
      break;
    case "exec_statement":
      // Python 2; what it runs is an expression like any other.
      applyRule(reader, TABLE.find("builtins.exec")!, node, {
        args: [reader.evaluator.evaluate(tree.child(node, "code"))],
        keywords: NONE,
      });
      break;
    case "attribute":
    case "identifier":
      readMention(reader, node);
      break;
    case "subscript":
      readSubscript(reader, node);
      break;
    case "tuple":
      readPair(reader, node);
      break;
    case "binary_operator":
      readAmount(reader, node);
      break;
    case "while_statement":
    case "for_statement": {
      const growth = reader.loops.growth(node);
      if (growth !== undefined) report.add(growth, tree.start(node));
      break;
    }
  }
}

const NONE: ReadonlyMap<string, Value> = new Map();

function readImport({ tree, report }: Reader, node: number): void {
  const offset = tree.start(node);
  const plain = tree.kind(node) === "import_statement";
  const from = tree.child(node, "module_name");
  if (plain) {
    for (const one of namedChildren(tree, node)) {
      const title = tree.kind(one) === "aliased_import" ? tree.child(one, "name") : one;
      importModule(moduleName(tree, title), offset, report);
    }
    return;
  }
  if (from === -1 || tree.kind(from) === "relative_import") return;
  const module = moduleName(tree, from);
  let named = false;
  for (const one of namedChildren(tree, node)) {
    if (one === from || tree.kind(one) === "wildcard_import") continue;
    named = true;
    const title = tree.kind(one) === "aliased_import" ? tree.child(one, "name") : one;
    const full = `${module}.${identifierOf(tree.source(title))}`;
    const rule = TABLE.find(full);
    if (MODULES.has(full)) importModule(full, offset, report);
    else if (rule === undefined || rule.called === true) importModule(module, offset, report);
    else if (rule.level !== "safe") report.add(rule, offset);
  }
  if (!named) importModule(module, offset, report);
}

function moduleName(tree: FlatTree, node: number): string {
  return identifierOf(tree.source(node)).replace(/\s/g, "");
}

/** Judges a module by the longest part of its name that is known. */
function importModule(module: string, offset: number, report: Report): void {
  const root = module.split(".")[0]!;
  for (let part = module; part !== ""; part = part.slice(0, Math.max(0, part.lastIndexOf(".")))) {
    const rule = MODULES.get(part);
    if (rule !== undefined) {
      if (module === "urllib.parse" || module === "urllib.error" || module === "os.path") return;
      report.add(rule, offset);
      return;
    }
  }
  if (!HARMLESS_MODULES.has(root)) report.add(UNKNOWN_MODULE, offset);
}

const UNKNOWN_MODULE: Match = {
  rule: "unknown-module",
  level: "low",
  why: "Imports a module that is not known here.",
};

function readCall(reader: Reader, node: number): void {
  const { tree, evaluator } = reader;
  const callee = tree.child(node, "function");
  if (callee === -1) return;
  const found = evaluator.evaluate(callee);
  const values = evaluator.argumentsOf(node);
  const done = new Set<ReachRule>();
  for (const name of found.names) {
    readName(reader, name, node, values);
    const rule = TABLE.find(name);
    if (rule === undefined || done.has(rule)) continue;
    done.add(rule);
    applyRule(reader, rule, node, values);
  }
  if (done.size === 0 && tree.kind(callee) === "attribute") {
    const rule = TABLE.method(identifierOf(tree.source(tree.child(callee, "attribute"))));
    if (rule !== undefined) applyRule(reader, rule, node, values);
  }
  handOn(reader, node, values);
  if (done.size === 0) readForeignPath(reader, node, found, values);
}

function applyRule(reader: Reader, rule: ReachRule, node: number, { args, keywords }: Arguments): void {
  const { tree, evaluator, report, loops } = reader;
  const callee = tree.child(node, "function");
  const object = callee !== -1 && tree.kind(callee) === "attribute" ? tree.child(callee, "object") : -1;
  const receiver = object === -1 ? UNKNOWN : evaluator.evaluate(object);
  reach({ rule, args, keywords, receiver, offset: tree.start(node), endless: loops.isEndless(node) }, report);
}

/** Functions whose meaning lies in a name that they are given, or in one number. */
function readName({ tree, report }: Reader, name: string, node: number, { args }: Arguments): void {
  const offset = tree.start(node);
  const [, owner] = /^(.*)\.__getattribute__$/.exec(name) ?? [];
  if (owner !== undefined) readHiddenName([owner], args[0] ?? UNKNOWN, offset, report);
  if (/^subprocess\.Popen\(\)\.(?:communicate|stdin\.write)$/.test(name))
    feed(args[0] ?? UNKNOWN, offset, report);
  switch (name) {
    case "builtins.getattr":
    case "builtins.object.__getattribute__":
      readHiddenName(args[0]?.names ?? [], args[1] ?? UNKNOWN, offset, report);
      break;
    case "builtins.__import__":
    case "importlib.import_module":
      for (const module of args[0]?.texts ?? []) importModule(module, offset, report);
      readHiddenName([""], args[0] ?? UNKNOWN, offset, report);
      break;
    case "os.kill":
    case "os.killpg":
      if (
        args[0]?.numbers.some((pid) => pid === -1 || pid === 1 || pid === 0) ||
        args[0]?.names.includes("os.getppid()")
      ) {
        report.add({ rule: "kill", level: "high", why: "Signals processes that are not its own." }, offset);
      }
      break;
    case "os.chmod":
    case "os.fchmod":
    case "os.lchmod":
    case "pathlib.Path().chmod":
      if (args.some((arg) => arg.numbers.some((mode) => mode <= 0o7777 && (mode & 0o6000) !== 0))) {
        report.add(
          { rule: "privilege", level: "high", why: "Makes a program run with its owner's rights." },
          offset,
        );
      }
      break;
    case "yaml.load":
    case "yaml.unsafe_load":
    case "yaml.full_load":
      if (args[0]?.texts.some((data) => data.includes("!!python/"))) {
        report.add({ rule: "hidden-code", level: "high", why: "Reads data that calls a function." }, offset);
      }
      break;
    case "pickle.loads":
    case "pickle.load":
      if (
        args[0]?.texts.some((data) =>
          /(?:os|posix|subprocess|builtins|nt)\n?[\s\S]{0,6}(?:system|popen|exec|eval|Popen)/.test(data),
        )
      ) {
        report.add({ rule: "hidden-code", level: "high", why: "Reads data that runs a command." }, offset);
      }
      break;
  }
}

/** A member or module whose name was put together to hide it. */
function readHiddenName(owners: readonly string[], key: Value, offset: number, report: Report): void {
  const risky = owners.some((owner) =>
    key.texts.some((name) => {
      const full = owner === "" ? name : `${owner}.${name}`;
      const rule = TABLE.find(full) ?? MODULES.get(full);
      return (rule !== undefined && rankOf(rule.level) > 0) || (owner === "" && TABLE.knows(full));
    }),
  );
  if (risky && (key.marks & HIDING) !== 0) report.add(HIDDEN_NAME, offset);
  else if ((key.marks & MARKS.decoded) !== 0) report.add(HIDDEN_NAME, offset);
  else if (key.texts.every((name) => name.includes(HOLE))) {
    const guarded = owners.some((owner) => GUARDED_MODULES.has(owner));
    if (guarded && !owners.includes("sys.modules")) report.add(HIDDEN_NAME, offset);
    else if (guarded || owners.includes("")) report.add({ ...HIDDEN_NAME, level: "medium" }, offset);
  }
}

const HIDDEN_NAME: Match = {
  rule: "hidden-name",
  level: "high",
  why: "Reaches something by a name that cannot be read in the code.",
};

const MAX_HANDED = 16;

/** A function that is handed to another one will be called with what goes along with it. */
function handOn(reader: Reader, node: number, { args, keywords }: Arguments): void {
  const all = [...args, ...keywords.values()].slice(0, MAX_HANDED);
  for (const value of all) {
    for (const name of value.names) {
      const rule = TABLE.find(name);
      if (rule === undefined || (rule.command ?? rule.code ?? rule.words ?? rule.paths) === undefined)
        continue;
      const others = all
        .filter((one) => one !== value)
        .flatMap((one) => one.items?.slice(0, MAX_HANDED) ?? [one]);
      for (const other of others)
        applyRule(reader, { ...rule, level: "safe" }, node, { args: [other], keywords: NONE });
    }
  }
}

/** (os.system, ("…",)): what pickle and thread pools take for a call. */
function readPair(reader: Reader, node: number): void {
  const { tree, evaluator } = reader;
  const [callee, args] = namedChildren(tree, node);
  if (callee === undefined || args === undefined || tree.kind(args) !== "tuple") return;
  for (const name of evaluator.evaluate(callee).names) {
    const rule = TABLE.find(name);
    if (rule !== undefined)
      applyRule(reader, rule, node, { args: evaluator.evaluate(args).items ?? [], keywords: NONE });
  }
}

/** The path of a secret, given to something that is not known. */
function readForeignPath({ tree, report }: Reader, node: number, found: Value, { args }: Arguments): void {
  if (found.names.some((name) => name.startsWith("builtins.") || name.startsWith("logging."))) return;
  for (const text of args.flatMap((arg) => arg.texts)) {
    if (text.length > 256 || !/^[~/.]/.test(text)) continue;
    const match = assessPath(text, "read");
    if (match !== undefined && rankOf(match.level) >= rankOf("high")) {
      report.add({ ...match, level: "medium" }, tree.start(node));
    }
  }
  if (
    (marksOf(args) & MARKS.environment) !== 0 &&
    !found.names.some((name) => TABLE.find(name) !== undefined)
  ) {
    report.add(
      { rule: "environment", level: "low", why: "Hands on the whole environment." },
      tree.start(node),
    );
  }
}

function readMention(reader: Reader, node: number): void {
  const { tree, evaluator, report } = reader;
  const kind = tree.kind(node);
  const parent = tree.parent(node);
  const above = parent === -1 ? "" : tree.kind(parent);
  if (kind === "identifier") {
    const source = tree.source(node);
    if (identifierOf(source) !== source && /^\w+$/.test(identifierOf(source)))
      report.add(DISGUISED, tree.start(node));
    if (NAMING.has(above) && !tree.plays(node, "value") && !tree.plays(node, "right")) return;
    if (above === "attribute") return;
  } else if (above === "attribute") return;
  if (above === "call" && tree.plays(node, "function")) {
    if (kind === "attribute") readChains(evaluator.evaluate(node), tree.start(node), report);
    return;
  }
  const value = evaluator.evaluate(node);
  if (value.names.length === 0) return;
  if (kind === "attribute") readChains(value, tree.start(node), report);
  // An assigned alias is judged where the original stands.
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
    "keyword_argument",
    "dotted_name",
    "aliased_import",
    "function_definition",
    "class_definition",
    "parameters",
  ],
  ...[
    "default_parameter",
    "typed_parameter",
    "typed_default_parameter",
    "lambda_parameters",
    "global_statement",
  ],
  ...["nonlocal_statement", "named_expression", "assignment", "augmented_assignment", "list_splat_pattern"],
  ...["pattern_list", "tuple_pattern", "type", "dictionary_splat_pattern", "as_pattern_target"],
]);

const DISGUISED: Match = {
  rule: "disguised-name",
  level: "high",
  why: "A name in look-alike letters, which Python reads as plain ones.",
};

function readChains(value: Value, offset: number, report: Report): void {
  for (const name of value.names) {
    if (!name.includes("_")) continue;
    const parts = new Set(name.split(/[.()]+/));
    for (const rule of PYTHON_CHAINS) if (rule.all.every((part) => parts.has(part))) report.add(rule, offset);
  }
}

function readSubscript({ tree, evaluator, report }: Reader, node: number): void {
  const object = evaluator.evaluate(tree.child(node, "value"));
  if (object.names.length === 0) return;
  const index = tree.child(node, "subscript");
  const key = index === -1 ? UNKNOWN : evaluator.evaluate(index);
  const offset = tree.start(node);
  const owners = object.names.map((name) => (/^(?:globals|locals|vars)\(\)$/.test(name) ? "builtins" : name));
  if (owners.some((owner) => GUARDED_MODULES.has(owner)) && object.texts.length === 0) {
    const plain = object.names.every((name) => /^(?:globals|locals|vars)\(\)$/.test(name));
    if (plain && (key.marks & HIDING) === 0) {
      if (key.texts.length === 0) report.add({ ...HIDDEN_NAME, level: "medium" }, offset);
    } else readHiddenName(owners, key, offset, report);
  }
  readChains(evaluator.evaluate(node), offset, report);
  if (object.names.includes("os.environ") && key.texts.some((name) => LOADER.test(name))) {
    report.add({ rule: "loader-variable", level: "high", why: "Makes other programs load code." }, offset);
  }
}

const LOADER =
  /^(?:LD_(?:PRELOAD|LIBRARY_PATH|AUDIT)|PYTHONSTARTUP|BASH_ENV|PROMPT_COMMAND|NODE_OPTIONS|GIT_SSH_COMMAND)$/;

/** Multiplied texts and lists, and towers of powers. */
function readAmount({ tree, evaluator, report, loops }: Reader, node: number): void {
  const sign = operatorOf(tree, node);
  if (sign !== "*" && sign !== "**") return;
  const left = evaluator.evaluate(tree.child(node, "left"));
  const right = evaluator.evaluate(tree.child(node, "right"));
  if (sign === "**") {
    const exponent =
      right.numbers[0] ?? (isPower(tree, tree.child(node, "right")) ? Number.POSITIVE_INFINITY : 0);
    if (exponent > 1e7 && (left.numbers[0] ?? 0) > 1) report.add(HUGE_ALLOCATION, tree.start(node));
    return;
  }
  const count = right.numbers[0] ?? left.numbers[0] ?? 0;
  const repeated = left.items ?? right.items ?? (left.texts.length + right.texts.length > 0 ? [] : undefined);
  if (repeated === undefined) return;
  const size = count * Math.max(1, left.texts[0]?.length ?? right.texts[0]?.length ?? 8);
  if (size >= 2 ** 30 || (size >= 1e6 && loops.isEndless(node)))
    report.add(HUGE_ALLOCATION, tree.start(node));
}

function isPower(tree: FlatTree, node: number): boolean {
  return node !== -1 && tree.kind(node) === "binary_operator" && operatorOf(tree, node) === "**";
}
