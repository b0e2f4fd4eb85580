import type { Field } from "./fields.js";
import { has, type OptionTable, optionValue, readOptions, readOptionsFrom } from "./options.js";
import { isDescriptor, isStdin } from "./shells.js";
import type { Call, InlineLanguage, Walker } from "./walker.js";

interface Interpreter {
  readonly language: InlineLanguage;
  readonly options: OptionTable;
  /** The options whose value is a program. */
  readonly code: readonly string[];
  /** Options after which there is no program on standard input. */
  readonly otherwise?: readonly string[];
  /** The first operand is the program, unless an option was. */
  readonly operand?: true;
  /** The word in front of a program: `deno eval`. */
  readonly subcommand?: string;
}

const PYTHON: Interpreter = {
  language: "python",
  options: { short: "cmWXQ", long: ["--check-hash-based-pycs"] },
  code: ["c"],
  otherwise: ["m"],
};
const NODE: Interpreter = {
  language: "javascript",
  options: {
    short: "erCp",
    long: [
      "--eval",
      "--require",
      "--import",
      "--loader",
      "--experimental-loader",
      "--conditions",
      "--env-file",
      "--print",
    ],
  },
  code: ["e", "p", "--eval", "--print"],
};
const PERL: Interpreter = {
  language: "perl",
  options: { short: "eE", attached: "0CDFiIlMmVx" },
  code: ["e", "E"],
};
const RUBY: Interpreter = { language: "ruby", options: { short: "erICEW", attached: "0FiKTx" }, code: ["e"] };
const PHP: Interpreter = {
  language: "php",
  options: { short: "rBRFEcdfgtz", long: ["--run", "--process-begin", "--process-code", "--process-end"] },
  code: ["r", "B", "R", "E", "--run", "--process-begin", "--process-code", "--process-end"],
};
const LUA: Interpreter = { language: "lua", options: { short: "el" }, code: ["e"] };
const R: Interpreter = { language: "r", options: { short: "efg", long: ["--file"] }, code: ["e"] };
const AWK: Interpreter = {
  language: "awk",
  options: {
    short: "FvefilE",
    long: ["--assign", "--field-separator", "--source", "--file", "--include", "--load", "--exec"],
  },
  code: ["e", "--source"],
  otherwise: ["f", "--file", "E", "--exec"],
  operand: true,
};
const SED: Interpreter = {
  language: "sed",
  options: { short: "efl", attached: "i", long: ["--expression", "--file", "--line-length"] },
  code: ["e", "--expression"],
  otherwise: ["f", "--file"],
  operand: true,
};

const INTERPRETERS: readonly (readonly [RegExp, Interpreter])[] = [
  [/^(?:python|pypy)[\d.]*w?$|^i?python3?$/, PYTHON],
  [/^(?:node|nodejs|bun)$/, NODE],
  [/^(?:ts-node|tsx)$/, { ...NODE, language: "typescript" }],
  [/^deno$/, { language: "typescript", options: {}, code: [], subcommand: "eval" }],
  [/^perl[\d.]*$/, PERL],
  [/^[jm]?ruby[\d.]*$/, RUBY],
  [/^php[\d.]*$/, PHP],
  [/^lua(?:jit)?[\d.]*$/, LUA],
  [/^R(?:script)?$/, R],
  [/^(?:[gmn]|original-)?awk$/, AWK],
  [/^g?sed$/, SED],
];

export function isInterpreter(name: string): boolean {
  return INTERPRETERS.some(([pattern]) => pattern.test(name));
}

/** Runs a program of another language that stands in the command; false when the name is none of an interpreter. */
export function runInterpreter(walker: Walker, call: Call, name: string): boolean {
  const interpreter = INTERPRETERS.find(([pattern]) => pattern.test(name))?.[1];
  if (interpreter === undefined) return false;
  walker.emit(call);
  const { language, subcommand } = interpreter;
  let args = call.fields.slice(1);
  if (subcommand !== undefined) {
    const options = readOptions(args, interpreter.options);
    if (options.operands[0]?.text !== subcommand) return true;
    const code = options.operands.slice(1).find((field) => !field.text.startsWith("-"));
    if (code !== undefined) walker.runCode(call, language, code.text, `${name} ${subcommand}`);
    return true;
  }
  const programs: Field[] = [];
  // "-pe" is "-p -e": its program comes next. In perl's and ruby's clusters an "e" stands behind other letters.
  if (language === "javascript" || language === "typescript")
    args = args.map((field) => (/^-[pi]+e$|^-ep$/.test(field.text) ? { ...field, text: "-e" } : field));
  if (language === "perl" || language === "ruby") runClusters(walker, call, language, args, name);
  let uncertain = false;
  const operands: Field[] = [];
  let elsewhere = false;
  // Programs stand behind operands too: awk 'program' file is rare the other way round, sed file -e program is not.
  for (let from = 0; ; ) {
    const options = readOptionsFrom(args, from, interpreter.options);
    // Behind sed's script there are files, and patterns of them are what everybody writes.
    uncertain ||= options.uncertain && operands.length === 0;
    uncertain ||= options.given.some(({ name: option, value }) => loadsUnseen(language, option, value));
    for (const option of options.given) {
      if (!interpreter.code.includes(option.name)) continue;
      if (option.value !== undefined) programs.push(option.value);
      // Python takes everything after -c as the program's arguments.
      if (language === "python") {
        runPrograms(walker, call, language, programs.slice(0, 1), `${name} -${option.name}`);
        return true;
      }
    }
    elsewhere ||= has(options, ...(interpreter.otherwise ?? []));
    const module = language === "python" ? optionValue(options, "m") : undefined;
    if (module !== undefined) walker.runFile(call, `${module.text.replaceAll(".", "/")}.py`, language);
    if (options.end < args.length) operands.push(args[options.end]!);
    if (language !== "sed" || options.end >= args.length) break;
    from = options.end + 1;
  }
  if (uncertain) walker.emitUnknown(call, name);
  if (programs.length > 0) runPrograms(walker, call, language, programs, `${name} -e`);
  else if (elsewhere) {
    if (interpreter.operand === true) walker.emitUnknown(call, `${name} -f`);
    return true;
  } else if (interpreter.operand === true) {
    if (operands[0] !== undefined) runPrograms(walker, call, language, [operands[0]], name);
  } else if (operands[0] === undefined || isStdin(operands[0].text) || operands[0].content !== undefined) {
    runProgramInput(walker, call, language, operands[0], name);
  } else walker.runFile(call, operands[0].text, language);
  if (operands[0] !== undefined && isDescriptor(operands[0].text)) walker.emitUnknown(call, name);
  return true;
}

/** Modules of Python that run their arguments as code. */
export const RUNNING_MODULES = /^(?:timeit|trace|pdb|cProfile|profile|code|runpy|bdb|doctest)$/;

/** An option that loads code which is not looked into. */
function loadsUnseen(language: InlineLanguage, option: string, value: Field | undefined): boolean {
  if (language === "python") return option === "m" && RUNNING_MODULES.test(value?.text ?? "");
  if (language !== "javascript" && language !== "typescript") return false;
  return (
    /^(?:r|--require|--import|--(?:experimental-)?loader)$/.test(option) && /^data:/.test(value?.text ?? "")
  );
}

/** `-le code`, `-lanecode`: what stands behind any "e" of a cluster may be the program. */
function runClusters(
  walker: Walker,
  call: Call,
  language: InlineLanguage,
  args: readonly Field[],
  name: string,
): void {
  args.slice(0, 16).forEach((field, index) => {
    const letters = /^-[A-Za-z0-9]{1,16}?[eE]([\s\S]*)$/.exec(field.text);
    const code = letters?.[1] === "" ? args[index + 1] : letters?.[1] === undefined ? undefined : field;
    if (code !== undefined) runPrograms(walker, call, language, [code], `${name} -e`);
  });
}

function runPrograms(
  walker: Walker,
  call: Call,
  language: InlineLanguage,
  programs: readonly Field[],
  via: string,
): void {
  walker.runCode(call, language, programs.map((field) => field.text).join("\n"), via);
}

/** A program on standard input or in `<(…)`. */
function runProgramInput(
  walker: Walker,
  call: Call,
  language: InlineLanguage,
  file: Field | undefined,
  name: string,
): void {
  const content = file?.content ?? (call.stdin.kind === "content" ? call.stdin.content : undefined);
  if (
    call.byProgram === true &&
    call.stdin.kind === "inherited" &&
    (call.fields.length === 1 || file !== undefined)
  )
    walker.emitUnknown(call, name);
  if (call.stdin.kind === "file" && call.stdin.path !== undefined)
    walker.runFile(call, call.stdin.path, language);
  if (content === undefined) return;
  const via = file?.content !== undefined || call.stdin.kind !== "content" ? "<(…)" : call.stdin.via;
  if (content.text === undefined) walker.emitUnknown(call, name, via);
  else walker.runCode(call, language, content.text, name, via);
}
