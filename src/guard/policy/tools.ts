/** How dangerous a tool is by itself, whatever it is called with. */
export const TIERS = ["low", "medium", "high", "critical"] as const;
export type Tier = (typeof TIERS)[number];

export interface Tool {
  readonly tier: Tier;
  /** It runs what an agent wrote: always in a sandbox. */
  readonly runsCode: boolean;
  /** What a policy says of that tool holds for this one, too: it does the same in another form. */
  readonly like?: string;
}

const reads: Tool = { tier: "low", runsCode: false };
const writes: Tool = { tier: "medium", runsCode: false };
const runs: Tool = { tier: "high", runsCode: true };
const reachesFurther: Tool = { tier: "critical", runsCode: true };

/** Tools that a policy may name without declaring them in `custom_tools`, by the names that agents know. */
export const BUILT_IN_TOOLS: ReadonlyMap<string, Tool> = new Map([
  ["run_code", runs],
  ["shell_exec", runs],
  ["file_read", reads],
  ["file_write", writes],
  ["file_edit", writes],
  ["file_list", reads],
  ["file_search", reads],
  ["file_delete", writes],
  ["run_tests", runs],
  ["process_start", { ...runs, like: "shell_exec" }],
  ["process_logs", { ...reads, like: "shell_exec" }],
  ["process_stop", { ...writes, like: "shell_exec" }],
  ["checkpoint", { ...reads, like: "file_read" }],
  ["rollback", { ...writes, like: "file_write" }],
  ["port_open", { tier: "high", runsCode: false }],
  ["request_network", { tier: "critical", runsCode: false }],
  ["browser_automation", runs],
  ["system_admin", reachesFurther],
  ["network_scan", reachesFurther],
]);

const OTHER_TOOL_NAMES: ReadonlyMap<string, string> = new Map([
  ["code_run", "run_code"],
  ["search", "file_search"],
]);

/** The one name of a tool: `code_run` and `search` are other names of two. */
export function toolName(name: string): string {
  return OTHER_TOOL_NAMES.get(name) ?? name;
}

/** The assumed effects of a declared tool. */
export const CUSTOM_TOOL: Tool = runs;

/** Languages that code may be in, and their other names. */
const LANGUAGES = {
  python: ["py", "python3"],
  javascript: ["js", "node"],
  typescript: ["ts"],
  bash: ["sh", "shell"],
} as const;

export type PolicyLanguage = keyof typeof LANGUAGES;

export const LANGUAGE_NAMES = Object.keys(LANGUAGES) as readonly PolicyLanguage[];

/** The one name of a language, however it is spelt; undefined for any other. */
export function languageName(name: string): PolicyLanguage | undefined {
  const lower = name.toLowerCase();
  return LANGUAGE_NAMES.find((each) => each === lower || LANGUAGES[each].some((other) => other === lower));
}
