import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  type CallToolResult,
  ElicitRequestSchema,
  type ElicitResult,
} from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import { LAUNCHER, type User } from "./run-skerry.js";

type Question = { readonly message: string };
/** What the person at the client says. */
export type Person = (question: Question, signal: AbortSignal) => ElicitResult | Promise<ElicitResult>;

/** The official client, connected to the command. */
export interface Connected {
  readonly client: Client;
  readonly pid: number;
  /** What the server said on standard error. */
  stderr(): string;
  call(name: string, args?: Record<string, unknown>): Promise<CallToolResult>;
}

/** Starts `skerry mcp` as a client does. It is gone when the test has ended. */
export async function startMcp(
  user: User,
  args: readonly string[] = [],
  person?: Person,
): Promise<Connected> {
  const transport = new StdioClientTransport({
    command: LAUNCHER,
    args: ["mcp", ...args],
    env: { ...user.environment },
    cwd: user.home,
    stderr: "pipe",
  });
  let said = "";
  transport.stderr!.on("data", (data) => {
    said += data;
  });
  const client = new Client(
    { name: "test-client", version: "1" },
    { capabilities: person === undefined ? {} : { elicitation: {} } },
  );
  if (person !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => person(params, signal));
  }
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    client,
    pid: transport.pid!,
    stderr: () => said,
    call: async (name, args = {}) =>
      (await client.callTool({ name, arguments: args }, undefined, { timeout: 60_000 })) as CallToolResult,
  };
}

/** The text of an answer. */
export function textOf({ content }: CallToolResult): string {
  return content.map((each) => (each.type === "text" ? each.text : `<${each.type}>`)).join("\n");
}

/** What a program printed, out of an answer in which it is marked. */
export function printedIn(result: CallToolResult): string {
  return /\n(----- [0-9a-f]{12} -----)\n([\s\S]*)\n\1/.exec(textOf(result))?.[2] ?? "";
}

/** Processes of this host that have the text among their arguments, in a sandbox or not. */
export function processesWith(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(join("/proc", pid, "cmdline"), "utf8")
          .split("\0")
          .includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** True while there is a process of that number that has not ended. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Names of what is kept on disk for sessions. */
export function sessionsOf(user: User): string[] {
  try {
    return readdirSync(join(user.home, "state", "sessions"));
  } catch {
    return [];
  }
}
