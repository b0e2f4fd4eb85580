import { randomBytes } from "node:crypto";
import type { SandboxManager } from "../../../core/manager/index.js";
import {
  BUILT_IN_TOOL_NAMES,
  createTools,
  describeSandbox,
  TOOL_NAMES_ON_REQUEST,
} from "../../../core/tools/index.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { packageVersion } from "../../../kit/package-root.js";
import { isOrphaned, processLabel } from "../../../kit/process-label.js";
import {
  createMcpServer,
  createSessionFiles,
  ElicitationConfirmationService,
  StdioTransport,
} from "../../../mcp/index.js";
import type { McpOptions } from "../../definition/index.js";
import { Interrupt } from "../../input/index.js";
import { identityOf, openGuardedManager, openMounts, readConfig } from "../../open/index.js";
import { reportError, stderr } from "../../output/index.js";
import { projectSessionName, withCheckpoints } from "./project-session.js";

/** A client's whole message may be in a complaint about it. */
const MAX_LOG_CHARACTERS = 500;

/** `skerry mcp`: the tools for one client, until it goes. Standard output is the protocol's alone. */
export async function mcp(options: McpOptions): Promise<number> {
  using interrupt = new Interrupt();
  const config = await readConfig(options);
  const confirmation = new ElicitationConfirmationService();
  await using guarded = await openGuardedManager(config, options, confirmation, serverRemedy);
  const { manager } = guarded;
  // Where all sessions are one, it is not ours to remove.
  const isShared = config.sandbox.mode === "shared";
  const { project } = options;
  const kept = options.session ?? (project === undefined ? undefined : projectSessionName(project));
  const caller = { ...identityOf(config, options), sessionId: kept ?? throwawaySessionName() };
  const tools = createTools(manager, { ...caller, ...chosenTools(options.tools) });
  if (project !== undefined)
    await copyProject(manager, { ...options, session: caller.sessionId }, project, caller.role);
  // While a client says hello: it need not wait for long.
  const facts = await factsOf(manager, project !== undefined);
  const connection = createMcpServer({
    facts,
    tools:
      project === undefined
        ? tools
        : withCheckpoints(tools, manager, caller.sessionId, (line) => void stderr.write(`skerry: ${line}\n`)),
    files: createSessionFiles(manager, caller),
    version: packageVersion(),
    onError: (error) =>
      void stderr.write(`skerry: ${escapeUnsafe(error.message.slice(0, MAX_LOG_CHARACTERS))}\n`),
  });
  confirmation.attach(connection.server);
  interrupt.signal.addEventListener("abort", () => void connection.close(), { once: true });

  const { stdin: input, stdout: output } = process;
  if (input.isTTY)
    await stderr.write("skerry: waiting for an MCP client on standard input; Ctrl-C ends it\n");
  await connection.connect(new StdioTransport({ input, output }));
  const tidied = isShared ? undefined : removeAbandonedSessions(manager).catch(reportAside);
  if (interrupt.signal.aborted) await connection.close();
  await connection.closed;
  await tidied;
  if (kept === undefined && !isShared) await manager.deleteSession(caller.sessionId);
  return interrupt.status ?? 0;
}

/** The model works on a copy; the person is told how to look at what it did, and how to take it over. */
async function copyProject(
  manager: SandboxManager,
  options: McpOptions & { readonly session: string },
  project: string,
  role: string | undefined,
): Promise<void> {
  const { session } = options;
  const isNew = !manager.hasSession(session);
  try {
    await openMounts(manager, { ...options, mount: [{ source: project }] }, role);
  } catch (error) {
    if (isNew) await manager.deleteSession(session);
    throw error;
  }
  await stderr.write(
    `skerry: the model works on a copy: skerry diff --session ${session}, then skerry apply --session ${session}\n`,
  );
}

const MOST_FACTS_MS = 1500;

/** What a model is told of the sandbox; what is installed only where that is known soon. */
async function factsOf(manager: SandboxManager, hasProject: boolean): Promise<string[]> {
  const looking = manager.findPrograms().catch(() => undefined);
  const late = new Promise<undefined>((resolve) => {
    setTimeout(resolve, MOST_FACTS_MS, undefined).unref();
  });
  return describeSandbox(manager.facts, await Promise.race([looking, late]), hasProject);
}

/** What `--tools` names; without it, what every agent has. */
function chosenTools(text: string | undefined): { readonly only?: readonly string[] } {
  if (text === undefined) return {};
  const groups: Readonly<Record<string, readonly string[]>> = {
    default: BUILT_IN_TOOL_NAMES,
    all: [...BUILT_IN_TOOL_NAMES, ...TOOL_NAMES_ON_REQUEST],
  };
  return { only: text.split(",").flatMap((name) => (Object.hasOwn(groups, name) ? groups[name]! : [name])) };
}

/** Sessions left behind by other processes must not stop this one. */
async function reportAside(error: unknown): Promise<void> {
  await reportError(error, false);
}

/** The model hears it, and cannot do it itself. */
function serverRemedy(options: string): string {
  return `the person can allow it by starting this server with ${options}`;
}

const NAME = /^mcp-(\d+-\d+-(?:[0-9a-f]{16}-)?[0-9a-f]{12})$/;

/** The name of a session whose files go with this process: a later process can tell whose it was. */
function throwawaySessionName(): string {
  return `mcp-${processLabel(randomBytes(6).toString("hex"))}`;
}

/** Removes such sessions of processes that were killed; resolves to how many. */
async function removeAbandonedSessions(manager: SandboxManager): Promise<number> {
  let removed = 0;
  for (const { sessionId } of await manager.listSessions()) {
    const label = NAME.exec(sessionId)?.[1];
    if (label !== undefined && isOrphaned(label) && (await manager.deleteSession(sessionId))) removed++;
  }
  return removed;
}
