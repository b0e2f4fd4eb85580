import type { Command } from "commander";
import { SECURITY_MODES } from "../../../core/manager/index.js";
import type { PolicyPreset } from "../../../guard/policy/index.js";
import {
  addBackendOption,
  addCommand,
  addLanguageOption,
  createChoice,
  parseAll,
  setAction,
} from "../../definition/index.js";

const EXAMPLES = {
  policy: `
  skerry policy init > policy.yaml
  skerry policy check policy.yaml
  skerry policy explain --policy policy.yaml --command 'git status'`,
  init: `
  skerry policy init > policy.yaml
  skerry policy init --preset strict -o policy.yaml --force

dev        every tool, no network; a person is asked about what is dangerous. The default.
strict     named commands and small limits; what is dangerous is denied. Every call names a role.
readonly   files can be listed, searched and read; nothing runs.`,
  check: `
  skerry policy check policy.yaml
  skerry policy check team/*.yaml --json`,
  explain: `
  skerry policy explain --policy policy.yaml --role code_assistant --command 'ls; curl http://x'
  skerry policy explain --policy policy.yaml --role data_analyst --security-mode strict prog.py
  skerry policy explain --policy policy.yaml --tool file_read --path /workspace/.env --json

It decides as run and exec do. The exit status is 77 when the call is denied. It is 0 when it is allowed, and also when
a person would be asked: the verdict then says confirm. A tool that runs nothing is decided about by the policy alone.`,
} as const;

const PRESETS: readonly PolicyPreset[] = ["dev", "strict", "readonly"];

/** `policy …`. */
export function definePolicy(program: Command): void {
  const load = () => import("./policy.js");
  const group = addCommand(program, "policy", "policy files: what agents may do", EXAMPLES.policy);

  const init = addCommand(group, "init", "print a commented policy to start from", EXAMPLES.init)
    .addOption(createChoice("--preset <name>", "which one; default: dev", PRESETS))
    .option("-o, --output <file>", "write it there instead")
    .option("--force", "also over a file that exists");
  setAction(init, async (command) => (await load()).init(command.opts()));

  const check = addCommand(
    group,
    "check",
    "say everything that is wrong with policy files, with line and column",
    EXAMPLES.check,
  )
    .argument("<files...>")
    .option("--json", "print a JSON array");
  setAction(check, async (command) => (await load()).check(command.args, command.opts()));

  const explain = addCommand(
    group,
    "explain",
    "say what would happen to a call: policy, risk, isolation, and which rule decides; nothing runs",
    EXAMPLES.explain,
  )
    .argument("[file]", "the program; - reads it from standard input")
    .option("--policy <file>", "default: the configuration's")
    .option("--role <name>", "a role of the policy; default: the configuration's")
    .option("--tool <name>", "default: run_code for a program, shell_exec for a command")
    .option("--command <text>", "a shell's command line");
  addLanguageOption(explain)
    .option("-c, --code <text>", "the program itself instead of a file")
    .option<string[]>("--path <path>", "a file that the call would touch; repeatable", parseAll)
    .addOption(
      createChoice(
        "--security-mode <mode>",
        "how much isolation code needs; default: strict",
        SECURITY_MODES,
      ),
    )
    .option("--json", "print one JSON object");
  addBackendOption(explain, "where it would run; default: the configuration's");
  setAction(explain, async (command) =>
    (await import("./explain.js")).explainCall(command.args, command.opts()),
  );
}
