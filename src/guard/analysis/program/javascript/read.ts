import type { WorkBudget } from "../../../../kit/parser/index.js";
import { assessPath } from "../../rules/path-rules.js";
import { isLoaderVariable, LOADER_VARIABLE } from "../../rules/text-rules.js";
import type { ProgramFacts } from "../facts.js";
import { type FlatTree, namedChildren } from "../flat-tree.js";
import { createFunctionTable, type KnownFunction } from "../known-functions.js";
import { Loops } from "../loops.js";
import { type Arguments, codeOfAddress, type ProcessStart, unknownStart } from "../process-start.js";
import { HIDDEN_NAME, HIDING, HUGE_ALLOCATION, ProgramReader, type Use } from "../reader.js";
import { allTexts, HOLE, MARKS, UNKNOWN, type Value } from "../value.js";
import { collectNames, textOf } from "./bindings.js";
import { JavaScriptEvaluator } from "./evaluate.js";
import { javaScriptLoops } from "./loops.js";
import { JAVASCRIPT_MODULES } from "./modules.js";
import { identifierOf, moduleNameOf } from "./names.js";
import { GUARDED, JAVASCRIPT_FUNCTIONS, LOADERS } from "./rules.js";

const TABLE = createFunctionTable(JAVASCRIPT_FUNCTIONS);
const RISKY_MODULES = new Set(JAVASCRIPT_MODULES.flatMap(({ modules }) => modules));

/** The facts of a JavaScript or TypeScript program. */
export function readJavaScript(tree: FlatTree, work: WorkBudget): ProgramFacts {
  const evaluator = new JavaScriptEvaluator(tree, collectNames(tree), TABLE, work);
  const loops = new Loops(tree, javaScriptLoops(tree, evaluator));
  return new JavaScriptReader("javascript", tree, evaluator, TABLE, loops).read();
}

/** Nodes in which an identifier is a name being given, not a value. */
const NAMING = new Set([
  ...["variable_declarator", "function_declaration", "function_expression", "formal_parameters"],
  ...["import_specifier", "import_clause", "namespace_import", "required_parameter", "optional_parameter"],
  ...["class_declaration", "rest_pattern", "object_pattern", "array_pattern", "pair_pattern"],
  ...[
    "labeled_statement",
    "export_specifier",
    "arrow_function",
    "assignment_pattern",
    "import_require_clause",
  ],
  ...["catch_clause", "type_query", "nested_type_identifier"],
]);

class JavaScriptReader extends ProgramReader {
  override read(): ProgramFacts {
    const { text } = this.tree;
    if (text.length > 200 && /^[[\](){}!+\s;,$_~"'\\.=:]+$/.test(text))
      this.signs.push({ match: WITHOUT_WORDS, offset: 0 });
    return super.read();
  }

  protected visit(node: number, kind: string): void {
    switch (kind) {
      case "import_statement":
      case "export_statement":
      case "import_require_clause": {
        const source = this.tree.child(node, "source");
        if (source !== -1) this.importModule(textOf(this.tree, source), node);
        break;
      }
      case "call_expression":
      case "new_expression":
        this.readCall(node);
        this.readValue(node);
        break;
      case "member_expression":
      case "identifier":
      case "shorthand_property_identifier":
        this.readValue(node);
        break;
      case "subscript_expression":
        this.readHiddenName(
          this.valueOf(this.tree.child(node, "object")),
          this.tree.child(node, "index"),
          node,
        );
        this.readValue(node);
        break;
      case "object":
        this.readKeys(node, this.valueOf(node).keys);
        break;
      case "assignment_expression":
        this.readAssignment(node);
        break;
      case "while_statement":
      case "for_statement":
      case "do_statement":
        this.readLoop(node);
        break;
      case "with_statement":
        this.loosen(node, "with");
        break;
    }
  }

  private importModule(specifier: string, node: number): void {
    this.imports.push({ module: specifier, offset: this.tree.start(node) });
    // What starts processes leaves the program under a name of its own, or comes in without one.
    const leaves = this.tree.kind(node) === "export_statement" && TABLE.canStart(moduleNameOf(specifier));
    if (leaves || specifier === "shelljs/global")
      this.starts.push(unknownStart(this.tree.start(node), specifier));
    if (specifier.startsWith("data:"))
      this.starts.push({
        at: this.tree.start(node),
        via: "import",
        kind: "code",
        code: codeOfAddress(specifier),
      });
  }

  /** What is put on Object.prototype is put on everything. */
  private readAssignment(node: number): void {
    const { tree } = this;
    const target = tree.child(node, "left");
    if (target === -1 || !/^(?:member|subscript)_expression$/.test(tree.kind(target))) return;
    const owner = this.valueOf(tree.child(target, "object"));
    this.readPatch(target, tree.child(node, "right"));
    if (owner.names.some((name) => name === "Object.prototype" || name.endsWith(".__proto__")))
      this.sign(PROTOTYPE, node);
    if (owner.names.some((name) => name.startsWith("require.cache"))) this.sign(REPLACED_MODULE, node);
    if (owner.names.includes("process.env")) this.readKeys(node, [this.memberOf(target)]);
    if (owner.names.some((name) => PURE.test(name))) this.loosen(node, owner.names[0]!);
    const below = this.memberOf(tree.child(target, "object"));
    if (
      below === "__proto__" ||
      /constructor\.prototype\s*[.[]|getPrototypeOf\([^)]*\)\s*[.[]/.test(tree.source(target))
    )
      this.loosen(node, "prototype");
    if (owner.names.includes("process") && !/^exitCode$|^title$/.test(this.memberOf(target) ?? ""))
      this.loosen(node, "process");
    if (owner.names.includes("process.env") && isLoaderVariable(this.memberOf(target) ?? ""))
      this.sign(LOADER_VARIABLE, node);
  }

  protected override readCall(node: number): void {
    super.readCall(node);
    const { tree, evaluator } = this;
    const callee = evaluator.calleeOf(node);
    if (callee !== -1 && tree.kind(callee) === "identifier" && tree.source(callee) === "Proxy")
      this.watch(node, PROXY, ({ known }) => known.starts !== undefined || known.code !== undefined);
    const object = callee === -1 ? -1 : tree.child(callee, "object");
    if (object === -1) return;
    const { args, keywords } = evaluator.argumentsOf(node);
    const method = this.memberOf(callee);
    if (method === "constructor") this.readConstructor(node, object, args);
    if (method === "repeat" && (args[0]?.numbers[0] ?? 0) >= 2 ** 29) this.sign(HUGE_ALLOCATION, node);
    const receiver = this.valueOf(object);
    const input = args[0]?.names.some((name) => /^child_process\.\w+\(\)\.stdin$/.test(name)) === true;
    if (method === "pipe" && input) this.inputs.push({ value: receiver, offset: tree.start(node) });
    this.handOn(node, { args, keywords }, [receiver]);
  }

  /** anything.constructor("…") is Function("…") when anything is a function. */
  private readConstructor(node: number, object: number, args: readonly Value[]): void {
    const owner = this.valueOf(object);
    const body = args.at(-1);
    if (this.tree.kind(object) === "this" || body === undefined) return;
    const isFunction = owner.names.some((name) => name.startsWith("<def ") || name.includes("constructor"));
    if (body.texts.length === 0 && !isFunction) return;
    if (owner.texts.length > 0 && !isFunction) return;
    this.sign(HIDDEN_CONSTRUCTOR, node);
    const place = { at: this.tree.start(node), via: "constructor", kind: "code" as const };
    const found: ProcessStart[] = body.texts.map((code) => ({ ...place, code }));
    this.starts.push(...(found.length === 0 ? [{ ...place, code: undefined }] : found));
  }

  protected override applies(known: KnownFunction, name: string, node: number): boolean {
    // jQuery has the same name; only a template is a shell's.
    return (
      name !== "$" ||
      known.starts === undefined ||
      this.tree.kind(this.tree.child(node, "arguments")) === "template_string"
    );
  }

  protected override apply(known: KnownFunction, name: string, node: number, given: Arguments): void {
    // new Function("a", "b", "return a + b"): the last argument is the body.
    const args = known.names.includes("Function") ? given.args.slice(-1) : given.args;
    super.apply(known, name, node, { args, keywords: given.keywords });
    const own = args.some((arg) => allTexts(arg).some((one) => one === "./program.js"));
    if (known.starts !== undefined && own && this.isRepeated(node)) this.sign(SELF_START, node);
    // Sizes that would be harmless once are not in a loop without an end.
    const large = known.amount !== undefined && (given.args[0]?.numbers[0] ?? 0) >= 1e6;
    if (large && this.loops.isEndless(node)) this.sign(HUGE_ALLOCATION, node);
  }

  /** It stands in a function that a timer calls again and again. */
  private isRepeated(node: number): boolean {
    const { tree } = this;
    for (let at = tree.parent(node), up = 0; at !== -1 && up < 32; at = tree.parent(at), up++)
      if (tree.kind(at) === "call_expression" && /^setInterval\b/.test(tree.source(at).slice(0, 12)))
        return true;
    return false;
  }

  protected memberOf(node: number): string | undefined {
    const { tree } = this;
    const property = tree.child(node, "property");
    if (property !== -1) return identifierOf(tree.source(property));
    const index = tree.child(node, "index");
    return index === -1 ? undefined : this.valueOf(index).texts[0];
  }

  protected readName(name: string, node: number, { args }: Arguments): void {
    if (/^process\.execArgv\.(?:push|unshift|splice)$/.test(name)) this.loosen(node, name);
    if (LOADERS.has(name)) this.readLoader(args[0] ?? UNKNOWN, node);
    if (
      /^(?:Object|Reflect)\.(?:assign|set|define\w+)$/.test(name) &&
      args[0]?.names.some((one) => one === "process" || PURE.test(one))
    )
      this.loosen(node, name);
    if (name === "Function.constructor") this.sign(HIDDEN_CONSTRUCTOR, node);
    else if (
      /^(?:Function|eval)$/.test(name) &&
      this.tree.source(this.evaluator.calleeOf(node)).includes(".")
    )
      this.sign(HIDDEN_CONSTRUCTOR, node);
    else if (name === "?.constructor" && args.at(-1)?.texts.some((code) => /[(;=\s]/.test(code)))
      this.readConstructor(node, this.evaluator.calleeOf(node), args);
    if (/^child_process\.\w+\(\)\.stdin\.(?:write|end)$/.test(name))
      this.inputs.push({ value: args[0] ?? UNKNOWN, offset: this.tree.start(node) });
    if (name === "Reflect.get") this.readHiddenKey(args[0] ?? UNKNOWN, args[1] ?? UNKNOWN, node);
    if (/^fs\.(?:promises\.)?f?l?chmod(?:Sync)?$/.test(name)) {
      const special = (mode: number) => mode <= 0o7777 && (mode & 0o6000) !== 0;
      if (args[1]?.numbers.some(special) || args[1]?.texts.some((mode) => /^0?[2-7]\d{3}$/.test(mode)))
        this.sign(
          { rule: "privilege", level: "high", why: "Makes a program run with its owner's rights." },
          node,
        );
    }
    if (/^https?\.request$/.test(name) || name === "axios" || name === "fetch") {
      const socket = args.flatMap((arg) => allTexts(arg)).find((one) => /\.sock$/.test(one));
      const match = socket === undefined ? undefined : assessPath(socket, "write");
      if (match !== undefined) this.sign(match, node);
    }
  }

  private readLoader(key: Value, node: number): void {
    for (const one of key.texts) if (!one.includes(HOLE)) this.importModule(one, node);
    const elsewhere = key.texts.some((one) => /^(?:https?:|data:.*\ue000)/.test(one));
    if (elsewhere || (key.marks & MARKS.network) !== 0)
      this.starts.push(unknownStart(this.tree.start(node), "import"));
    if ((key.marks & MARKS.network) !== 0) this.sign(REMOTE_MODULE, node);
    const risky = key.texts.some(
      (one) => RISKY_MODULES.has(moduleNameOf(one)) || TABLE.knows(moduleNameOf(one)),
    );
    if ((key.marks & MARKS.decoded) !== 0 || ((key.marks & MARKS.built) !== 0 && risky))
      this.sign(HIDDEN_NAME, node);
    else if (key.texts.every((one) => one.includes(HOLE) && !/^\.{1,2}\//.test(one)))
      this.sign(DYNAMIC_IMPORT, node);
  }

  private readValue(node: number): void {
    const { tree } = this;
    const parent = tree.parent(node);
    const above = parent === -1 ? "" : tree.kind(parent);
    const kind = tree.kind(node);
    if (kind === "identifier" || kind === "member_expression") {
      const spelt = kind === "identifier" ? node : tree.child(node, "property");
      if (tree.source(spelt).includes("\\")) this.sign(DISGUISED, node);
    }
    if (
      kind === "identifier" &&
      NAMING.has(above) &&
      !tree.plays(node, "value") &&
      !tree.plays(node, "right")
    )
      return;
    if ((above === "member_expression" || above === "subscript_expression") && tree.plays(node, "object"))
      return;
    const called =
      (above === "call_expression" && tree.plays(node, "function")) || tree.plays(node, "constructor");
    const value = this.valueOf(node);
    if (kind !== "identifier") this.readChains(value, node);
    if (called) return;
    const alias =
      kind === "identifier" && !value.names.some((name) => name.endsWith(identifierOf(tree.source(node))));
    this.readMention(node, alias);
  }

  protected useOf(node: number, parent: number): Use {
    const { tree } = this;
    const plays = (role: string) => tree.plays(node, role);
    switch (tree.kind(parent)) {
      case "parenthesized_expression":
      case "await_expression":
      case "as_expression":
      case "non_null_expression":
      case "satisfies_expression":
        return "passed up";
      case "ternary_expression":
        return plays("condition") ? "followed" : "passed up";
      case "sequence_expression":
        return tree.next(node) === -1 ? "passed up" : "followed";
      case "binary_expression":
        return /(?:\|\||&&|\?\?)/.test(tree.source(parent)) ? "passed up" : "followed";
      case "member_expression":
      case "subscript_expression":
        return plays("object") ? "followed" : "handed on";
      case "call_expression":
      case "new_expression":
        return plays("function") || plays("constructor") ? "followed" : "handed on";
      case "variable_declarator":
        return /^(?:identifier|object_pattern)$/.test(tree.kind(tree.child(parent, "name")))
          ? "followed"
          : "handed on";
      case "assignment_expression": {
        const target = tree.kind(tree.child(parent, "left"));
        if (plays("left")) return "followed";
        if (target === "member_expression" || target === "subscript_expression" || target === "array_pattern")
          return "handed on";
        return "passed up";
      }
      case "arguments": {
        const { names } = this.valueOf(this.evaluator.calleeOf(tree.parent(parent)));
        const first = namedChildren(tree, parent, 1)[0] === node;
        return first && names.some((name) => LOOKING.test(name)) ? "followed" : "handed on";
      }
      case "unary_expression":
      case "if_statement":
      case "for_in_statement":
      case "while_statement":
        return "followed";
      case "expression_statement":
        return isAlone(tree, parent) ? "handed on" : "followed";
      default:
        return NAMING.has(tree.kind(parent)) && !plays("value") && !plays("right") && !plays("body")
          ? "followed"
          : "handed on";
    }
  }

  private readChains(value: Value, node: number): void {
    for (const name of value.names) {
      if (/\bconstructor\.constructor\b/.test(name)) this.sign(HIDDEN_CONSTRUCTOR, node);
      if (/(?:^|\.)__proto__\.\w/.test(name))
        this.sign({ rule: "prototype", level: "medium", why: "Changes what objects are made of." }, node);
    }
  }

  private readHiddenName(owner: Value, index: number, node: number): void {
    if (index !== -1) this.readHiddenKey(owner, this.valueOf(index), node);
  }

  private readHiddenKey(owner: Value, key: Value, node: number): void {
    const guarded = owner.names.find((name) => GUARDED.has(name));
    const hiding = key.texts.length > 0 && (key.marks & HIDING) !== 0;
    if (guarded === undefined) {
      // ("x")["constr" + "uctor"] leads to Function from anywhere.
      const leads = hiding && key.texts.some((name) => name === "constructor" || name === "__proto__");
      if (leads) this.sign(HIDDEN_NAME, node);
      return;
    }
    if (hiding || (key.marks & MARKS.decoded) !== 0) this.sign(HIDDEN_NAME, node);
    else if (key.texts.length === 0 && key.numbers.length === 0)
      this.sign({ ...HIDDEN_NAME, level: guarded === "globalThis" ? "medium" : "high" }, node);
  }
}

/** What folded functions belong to; another function in the place of one makes something else. */
const PURE = /^(?:String|Buffer|Array|Number|Object|Reflect|JSON|Promise)(?:\.prototype)?$/;
/** Functions that only look at what they are given, or whose result is followed. */
const LOOKING =
  /^(?:util\.promisify|console\.\w+|Object\.(?:keys|entries|freeze|getOwnPropertyDescriptor)|Reflect\.(?:get|apply|has))$/;

/** The only statement of a program: its value may be used by the caller. */
function isAlone(tree: FlatTree, statement: number): boolean {
  return tree.parent(statement) === 0 && tree.after(statement) === tree.size && tree.first(0) === statement;
}

const SELF_START = {
  rule: "endless-spawning",
  level: "high",
  why: "Starts copies of itself without an end.",
} as const;
const PROXY = {
  rule: "hidden-command",
  level: "high",
  why: "Runs commands behind an object that looks like any other.",
} as const;
const REPLACED_MODULE = {
  rule: "loader-internals",
  level: "high",
  why: "Puts something else in the place of a module.",
} as const;
const REMOTE_MODULE = {
  rule: "remote-code",
  level: "high",
  why: "Loads code that came over the network.",
} as const;
const WITHOUT_WORDS = {
  rule: "hidden-code",
  level: "high",
  why: "A program written without a single word.",
} as const;
const PROTOTYPE = { rule: "prototype", level: "high", why: "Changes what every object is made of." } as const;
const HIDDEN_CONSTRUCTOR = {
  rule: "hidden-constructor",
  level: "high",
  why: "Makes a function out of text by a back door.",
} as const;
const DYNAMIC_IMPORT = {
  rule: "dynamic-import",
  level: "medium",
  why: "Loads a module by a name that is made while the program runs.",
} as const;
const DISGUISED = {
  rule: "disguised-name",
  level: "high",
  why: "A name spelt in escapes, which JavaScript reads as plain letters.",
} as const;
