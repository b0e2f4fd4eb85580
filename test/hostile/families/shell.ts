import type { Family } from "./make.js";
import { SHELL_COMMANDS } from "./shell-commands.js";
import { SHELL_WORDS } from "./shell-words.js";

export const SHELL: Readonly<Record<string, Family>> = { ...SHELL_COMMANDS, ...SHELL_WORDS };
