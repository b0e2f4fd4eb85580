import type { WorkBudget } from "../../../../kit/parser/index.js";
import { rankOf } from "../../rules/levels.js";
import { isLoaderVariable, LOADER_VARIABLE } from "../../rules/text-rules.js";
import { RUNNING_MODULES } from "../../shell/interpreters.js";
import type { ProgramFacts } from "../facts.js";
import { type FlatTree, namedChildren, operatorOf } from "../flat-tree.js";
import { createFunctionTable, isStarting } from "../known-functions.js";
import { Loops } from "../loops.js";
import { type Arguments, unknownStart } from "../process-start.js";
import { HIDDEN_NAME, HIDING, HUGE_ALLOCATION, ProgramReader, type Use } from "../reader.js";
import { allTexts, MARKS, UNKNOWN, type Value } from "../value.js";
import { collectNames, identifierOf } from "./bindings.js";
import { PythonEvaluator } from "./evaluate.js";
import { pythonLoops } from "./loops.js";
import { HARMLESS_MODULES, PYTHON_MODULES } from "./modules.js";
import { GUARDED_MODULES, NAMESPACES, PYTHON_CHAINS, PYTHON_FUNCTIONS } from "./rules.js";

const TABLE = createFunctionTable(PYTHON_FUNCTIONS);
const RISKY_MODULES = new Set(PYTHON_MODULES.flatMap(({ modules }) => modules));
const NONE: ReadonlyMap<string, Value> = new Map();

/** The facts of a Python program. */
export function readPython(tree: FlatTree, work: WorkBudget): ProgramFacts {
  const evaluator = new PythonEvaluator(tree, collectNames(tree), TABLE, work);
  const loops = new Loops(tree, pythonLoops(tree, evaluator));
  return new PythonReader("python", tree, evaluator, TABLE, loops).read();
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
/** Functions that only look at what they are given, or whose result is followed. */
const LOOKING =
  /^(?:builtins\.(?:getattr|hasattr|vars|dir|help|print|repr|str|type|id|isinstance|issubclass|callable)|importlib\.reload|functools\.partial|inspect\.(?:getattr_static|getsource|signature)|operator\.\w+\(\)|typing\.cast)$/;

/** Encodings in which a program is what it looks like. */
const PLAIN_CODING =
  /^(?:utf-?8(?:-?sig)?|(?:us-?)?ascii|latin-?1|l1|iso-?8859-?\d+|cp125\d|windows-125\d)$/i;

/** Those of them whose other arguments go into the result. */
const TAKING = /getattr|partial|reload|cast|operator/;

class PythonReader extends ProgramReader {
  override read(): ProgramFacts {
    for (const line of this.tree.text.split("\n", 2)) {
      const coding = /^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)/.exec(line)?.[1];
      if (coding !== undefined && !PLAIN_CODING.test(coding.replaceAll("_", "-")))
        this.starts.push(unknownStart(0, `coding ${coding.slice(0, 40)}`));
    }
    return super.read();
  }

  protected visit(node: number, kind: string): void {
    const { tree } = this;
    switch (kind) {
      case "import_statement":
      case "import_from_statement":
        this.readImport(node);
        break;
      case "call":
        this.readCall(node);
        this.readValue(node, kind);
        break;
      case "assignment":
      case "augmented_assignment":
        this.readAssignment(tree.child(node, "left"), tree.child(node, "right"));
        break;
      case "dictionary":
        this.readKeys(node, this.valueOf(node).keys);
        break;
      case "decorated_definition":
        this.readDecorators(node);
        break;
      case "exec_statement":
        // Python 2; what it runs is an expression like any other.
        this.apply(TABLE.find("builtins.exec")!, "exec", node, {
          args: [this.valueOf(tree.child(node, "code"))],
          keywords: NONE,
        });
        break;
      case "attribute":
      case "identifier":
        this.readValue(node, kind);
        break;
      case "subscript":
        this.readSubscript(node);
        this.readValue(node, kind);
        break;
      case "tuple":
      case "expression_list":
        this.readPair(node);
        break;
      case "binary_operator":
        this.readAmount(node);
        break;
      case "while_statement":
      case "for_statement":
        this.readLoop(node);
        break;
    }
  }

  private readAssignment(target: number, value: number): void {
    const { tree } = this;
    if (tree.kind(target) === "attribute") {
      this.readPatch(target, value);
      const { names } = this.valueOf(tree.child(target, "object"));
      const member = this.memberOf(target);
      if (REPLACED.test(member ?? "")) this.loosen(target, member!);
      if (names.some((name) => PROGRAM.test(name)) || (names.includes("sys") && member === "executable"))
        this.loosen(target, member ?? "");
    }
    if (tree.kind(target) !== "subscript") return;
    const { names } = this.valueOf(tree.child(target, "value"));
    if (/\.\s*(?:__globals__|f_globals|f_locals)$/.test(tree.source(tree.child(target, "value"))))
      this.loosen(target, "__globals__");
    if (names.some((name) => NAMESPACES.test(name) || PROGRAM.test(name))) this.loosen(target, "globals()");
    this.readKeys(target, this.valueOf(tree.child(target, "subscript")).texts);
  }

  /** Each decorator is called with what stands below it. */
  private readDecorators(node: number): void {
    const { tree } = this;
    const [definition, ...decorators] = namedChildren(tree, node).reverse();
    let value: Value =
      tree.kind(definition!) === "function_definition"
        ? { ...UNKNOWN, names: [`<def ${definition}>`] }
        : UNKNOWN;
    for (const decorator of decorators.slice(0, 8)) {
      const expression = namedChildren(tree, decorator)[0] ?? -1;
      const found = this.valueOf(expression);
      const given = { args: [value], keywords: NONE };
      if (this.isServing(found)) this.readHandler(value);
      for (const target of this.evaluator.reached(found, given)) {
        const known = TABLE.find(target.name);
        if (known !== undefined && isStarting(known)) this.apply(known, target.name, decorator, target);
      }
      value = this.evaluator.applied(found, given, expression);
    }
  }

  private readImport(node: number): void {
    const { tree } = this;
    const offset = tree.start(node);
    const nameOf = (one: number) => {
      const title = tree.kind(one) === "aliased_import" ? tree.child(one, "name") : one;
      return identifierOf(tree.source(title)).replace(/\s/g, "");
    };
    if (tree.kind(node) === "import_statement") {
      for (const one of namedChildren(tree, node)) this.imports.push({ module: nameOf(one), offset });
      return;
    }
    const from = tree.child(node, "module_name");
    if (from === -1 || tree.kind(from) === "relative_import") return;
    const module = nameOf(from);
    let named = false;
    for (const one of namedChildren(tree, node)) {
      if (one === from || tree.kind(one) === "wildcard_import") continue;
      named = true;
      const full = `${module}.${nameOf(one)}`;
      const known = TABLE.find(full);
      if (RISKY_MODULES.has(full)) this.imports.push({ module: full, offset });
      else if (known === undefined || known.called === true || known.level === "safe")
        this.imports.push({ module, offset });
      else if (known.starts !== undefined)
        this.mentions.push({ known: { ...known, rule: "process-module" }, offset });
      else this.mentions.push({ known, offset });
    }
    if (!named) this.imports.push({ module, offset });
    // Its names may hide the program's own.
    const root = module.split(".")[0]!;
    if (!named && !TABLE.knows(root) && !RISKY_MODULES.has(root) && !HARMLESS_MODULES.has(root))
      this.loosen(node, `from ${module} import *`);
  }

  protected memberOf(node: number): string | undefined {
    const attribute = this.tree.child(node, "attribute");
    return attribute === -1 ? undefined : identifierOf(this.tree.source(attribute));
  }

  protected readName(name: string, node: number, { args }: Arguments): void {
    const { tree } = this;
    if (/^(?:globals|locals|vars)\(\)\.(?!get$|keys$|items$|values$|copy$)/.test(name))
      this.loosen(node, name);
    if (/^builtins\.(?:setattr|delattr)$/.test(name) && args[0]?.names.some((one) => PROGRAM.test(one)))
      this.loosen(node, name);
    if (
      name === "multiprocessing.set_executable" ||
      (name === "logging.config.dictConfig" && callsByName(args))
    )
      this.starts.push(unknownStart(tree.start(node), name));
    if (name === "runpy.run_module" && args[0]?.texts.every((one) => RUNNING_MODULES.test(one)) !== false)
      this.starts.push(unknownStart(tree.start(node), name));
    const [, owner] = /^(.*)\.__getattribute__$/.exec(name) ?? [];
    if (owner !== undefined) this.readHiddenName([owner], args[0] ?? UNKNOWN, node);
    if (/^subprocess\.Popen\(\)\.(?:communicate|stdin\.write)$/.test(name))
      this.inputs.push({ value: args[0] ?? UNKNOWN, offset: tree.start(node) });
    if (/^gc\.get_(?:objects|referrers|referents)$/.test(name)) this.loosen(node, name);
    switch (name) {
      case "builtins.getattr":
      case "builtins.object.__getattribute__":
        this.readHiddenName(args[0]?.names ?? [], args[1] ?? UNKNOWN, node);
        break;
      case "builtins.__import__":
      case "importlib.import_module":
        for (const module of args[0]?.texts ?? []) this.imports.push({ module, offset: tree.start(node) });
        this.readHiddenName([""], args[0] ?? UNKNOWN, node);
        break;
      case "os.chmod":
      case "os.fchmod":
      case "os.lchmod":
      case "pathlib.Path().chmod":
        if (args.some((arg) => arg.numbers.some((mode) => mode <= 0o7777 && (mode & 0o6000) !== 0)))
          this.sign(
            { rule: "privilege", level: "high", why: "Makes a program run with its owner's rights." },
            node,
          );
        break;
      case "yaml.load":
      case "yaml.unsafe_load":
      case "yaml.full_load":
        if (args[0]?.texts.some((data) => data.includes("!!python/")))
          this.unpackCode(name, node, "calls a function");
        break;
      case "pickle.loads":
      case "_pickle.loads":
      case "cPickle.loads":
      case "marshal.loads":
      case "dill.loads":
      case "jsonpickle.decode":
        if (args[0]?.texts.some((data) => CALLING_DATA.test(data)))
          this.unpackCode(name, node, "runs a command");
        // What a constant text is unpacked to may be any call.
        else if ((args[0]?.texts.length ?? 0) > 0) this.starts.push(unknownStart(tree.start(node), name));
        break;
    }
  }

  private unpackCode(name: string, node: number, what: string): void {
    this.sign({ rule: "hidden-code", level: "high", why: `Reads data that ${what}.` }, node);
    this.starts.push(unknownStart(this.tree.start(node), name));
  }

  /** A member or module whose name was put together to hide it. */
  private readHiddenName(owners: readonly string[], key: Value, node: number): void {
    const risky = owners.some((owner) =>
      key.texts.some((name) => {
        const full = owner === "" ? name : `${owner}.${name}`;
        const known = TABLE.find(full);
        return (
          (known !== undefined && rankOf(known.level) > 0) ||
          RISKY_MODULES.has(full) ||
          (owner === "" && TABLE.knows(full))
        );
      }),
    );
    if ((risky && (key.marks & HIDING) !== 0) || (key.marks & MARKS.decoded) !== 0)
      this.sign(HIDDEN_NAME, node);
    else if (this.isHidden(key)) {
      const guarded = owners.some((owner) => GUARDED_MODULES.has(owner));
      if (guarded && !owners.includes("sys.modules")) this.sign(HIDDEN_NAME, node);
      else if (guarded || owners.includes("")) this.sign({ ...HIDDEN_NAME, level: "medium" }, node);
    }
  }

  /** (os.system, ("…",)): what pickle and thread pools take for a call. */
  private readPair(node: number): void {
    const { tree, evaluator } = this;
    const [callee, args] = namedChildren(tree, node, 2);
    if (callee === undefined || args === undefined || tree.kind(args) !== "tuple") return;
    for (const name of evaluator.evaluate(callee).names) {
      const known = TABLE.find(name);
      if (known === undefined) continue;
      this.apply(known, name, node, { args: evaluator.evaluate(args).items ?? [], keywords: NONE });
      if (isStarting(known) && this.isReduced(node)) this.sign(CALLING_OBJECT, node);
    }
  }

  /** It stands in a `__reduce__`, which says what unpacking calls. */
  private isReduced(node: number): boolean {
    const { tree } = this;
    let at = node;
    for (let up = 0; up < 8 && at !== -1 && tree.kind(at) !== "function_definition"; up++)
      at = tree.parent(at);
    return at !== -1 && /^def\s+__reduce(?:_ex)?__/.test(tree.source(at).slice(0, 40));
  }

  private readValue(node: number, kind: string): void {
    const { tree } = this;
    const parent = tree.parent(node);
    const above = parent === -1 ? "" : tree.kind(parent);
    if (kind === "identifier") {
      const source = tree.source(node);
      if (identifierOf(source) !== source && /^\w+$/.test(identifierOf(source))) this.sign(DISGUISED, node);
      if (NAMING.has(above) && !tree.plays(node, "value") && !tree.plays(node, "right")) return;
    }
    if (above === "attribute") return;
    const value = this.valueOf(node);
    if (kind === "attribute") this.readChains(value, node);
    if (above === "call" && tree.plays(node, "function")) return;
    // An assigned alias is judged where the original stands; where it goes from here is told by its own place.
    const alias =
      kind === "identifier" && !value.names.some((name) => name.endsWith(identifierOf(tree.source(node))));
    this.readMention(node, alias);
  }

  protected useOf(node: number, parent: number): Use {
    const { tree } = this;
    const plays = (role: string) => tree.plays(node, role);
    switch (tree.kind(parent)) {
      case "parenthesized_expression":
      case "conditional_expression":
      case "boolean_operator":
      case "await":
      case "named_expression":
        return "passed up";
      case "attribute":
      case "comparison_operator":
      case "not_operator":
      case "for_statement":
      case "for_in_clause":
      case "as_pattern_target":
      case "if_statement":
      case "type":
      case "generic_type":
      case "type_parameter":
        return "followed";
      case "call":
        return plays("function") ? "followed" : "handed on";
      case "subscript":
        return plays("value") || isInType(tree, parent) ? "followed" : "handed on";
      case "argument_list": {
        const names = this.valueOf(tree.child(tree.parent(parent), "function")).names;
        const first = namedChildren(tree, parent, 1)[0] === node;
        return names.some((name) => LOOKING.test(name) && (first || !TAKING.test(name)))
          ? "followed"
          : "handed on";
      }
      case "assignment": {
        if (plays("left") || plays("type")) return "followed";
        const inClass = tree.kind(tree.parent(tree.parent(tree.parent(parent)))) === "class_definition";
        if (tree.kind(tree.parent(parent)) === "assignment") return "passed up";
        return tree.kind(tree.child(parent, "left")) === "identifier" && !inClass ? "followed" : "handed on";
      }
      case "expression_statement":
        return tree.parent(parent) === 0 && namedChildren(tree, 0, 2).length > 1 ? "followed" : "handed on";
      default:
        return NAMING.has(tree.kind(parent)) && !plays("value") && !plays("right") ? "followed" : "handed on";
    }
  }

  private readChains(value: Value, node: number): void {
    for (const name of value.names) {
      if (!name.includes("_")) continue;
      const parts = new Set(name.split(/[.()]+/));
      for (const chain of PYTHON_CHAINS)
        if (chain.all.every((part) => parts.has(part))) this.sign(chain, node);
    }
  }

  private readSubscript(node: number): void {
    const { tree } = this;
    const object = this.valueOf(tree.child(node, "value"));
    if (object.names.length === 0) return;
    const key = this.valueOf(tree.child(node, "subscript"));
    const owners = object.names.map((name) =>
      /^(?:globals|locals|vars)\(\)$/.test(name) ? "builtins" : name,
    );
    if (owners.some((owner) => GUARDED_MODULES.has(owner)) && object.texts.length === 0) {
      const plain = object.names.every((name) => /^(?:globals|locals|vars)\(\)$/.test(name));
      if (plain && (key.marks & HIDING) === 0) {
        if (key.texts.length === 0) this.sign({ ...HIDDEN_NAME, level: "medium" }, node);
      } else this.readHiddenName(owners, key, node);
    }
    this.readChains(this.valueOf(node), node);
    if (object.names.includes("os.environ") && key.texts.some(isLoaderVariable))
      this.sign(LOADER_VARIABLE, node);
  }

  /** Multiplied texts and lists, and towers of powers. */
  private readAmount(node: number): void {
    const { tree } = this;
    const sign = operatorOf(tree, node);
    if (sign !== "*" && sign !== "**") return;
    const left = this.valueOf(tree.child(node, "left"));
    const right = this.valueOf(tree.child(node, "right"));
    if (sign === "**") {
      const exponent =
        right.numbers[0] ?? (isPower(tree, tree.child(node, "right")) ? Number.POSITIVE_INFINITY : 0);
      if (exponent > 1e7 && (left.numbers[0] ?? 0) > 1) this.sign(HUGE_ALLOCATION, node);
      return;
    }
    const count = right.numbers[0] ?? left.numbers[0] ?? 0;
    if ((left.items ?? right.items) === undefined && left.texts.length + right.texts.length === 0) return;
    const size = count * Math.max(1, left.texts[0]?.length ?? right.texts[0]?.length ?? 8);
    if (size >= 2 ** 30 || (size >= 1e6 && this.loops.isEndless(node))) this.sign(HUGE_ALLOCATION, node);
  }
}

/** Parts of a function that hold its values. */
const REPLACED = /^(?:cell_contents|__(?:kw)?defaults__|__code__)$/;
/** The program as a module of its own; a module by a name that is known only when it runs may be it. */
const PROGRAM = /^(?:__main__|\?module|builtins|sys\.modules)(?:\.|$)/;
const CALLING_DATA = /(?:os|posix|subprocess|builtins|nt)\n?[\s\S]{0,6}(?:system|popen|exec|eval|Popen)/;
const CALLING_OBJECT = {
  rule: "hidden-code",
  level: "high",
  why: "Makes data that runs a command when it is unpacked.",
} as const;
const DISGUISED = {
  rule: "disguised-name",
  level: "high",
  why: "A name in look-alike letters, which Python reads as plain ones.",
} as const;

/** A name in the arguments is a function that starts processes. */
function callsByName(args: readonly Value[]): boolean {
  return args
    .flatMap((arg) => allTexts(arg))
    .some((name) => name.length < 80 && TABLE.find(name)?.starts !== undefined);
}

function isPower(tree: FlatTree, node: number): boolean {
  return node !== -1 && tree.kind(node) === "binary_operator" && operatorOf(tree, node) === "**";
}

/** Inside of an annotation, which names classes without calling them. */
function isInType(tree: FlatTree, node: number): boolean {
  for (let at = node, up = 0; at !== -1 && up < 6; at = tree.parent(at), up++)
    if (tree.kind(at) === "type") return true;
  return false;
}
