import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../../../core/config/index.js";
import { SandboxError } from "../../../kit/errors.js";
import type { OpenPort } from "../../../runtime/sandbox/index.js";
import { exitStatusOf } from "../../../runtime/sandbox/index.js";
import type { ExecuteOptions } from "../../definition/index.js";
import { show, showEnd, standardInput } from "../../execution/index.js";
import { Interrupt } from "../../input/index.js";
import { createManager, identityOf, openGuardedManager, openMounts, readConfig } from "../../open/index.js";
import { jsonText, stderr, stdout } from "../../output/index.js";

export interface PortOptions extends ExecuteOptions {
  readonly hostPort?: number;
}

type SessionPort = PortOptions & { readonly session: string };

/** `skerry port`: a port inside, on this host's loopback. */
export async function port(
  inside: number,
  command: readonly string[],
  options: PortOptions,
): Promise<number> {
  const { session } = options;
  if (session === undefined) {
    throw new SandboxError("INVALID_ARGUMENT", "port needs a session", {
      hint: `Add --session NAME: skerry port --session work ${inside}`,
    });
  }
  using interrupt = new Interrupt();
  const config = withPorts(await readConfig(options));
  const named = { ...options, session };
  // Until then Ctrl-C is ours.
  return await (command.length > 0
    ? serve(inside, command, config, named, interrupt)
    : join(inside, config, named, interrupt));
}

/** Of a session that runs in another process. */
async function join(inside: number, config: Config, options: SessionPort, interrupt: Interrupt) {
  await using manager = await createManager(config, options);
  const { session } = options;
  if (!manager.isRunning(session)) {
    throw new SandboxError("SANDBOX_NOT_RUNNING", `session ${JSON.stringify(session)} does not run`, {
      hint: `Start a server in it: skerry port --session ${session} ${inside} -- COMMAND`,
    });
  }
  const opened = await manager.openPort(session, inside, hostPortOf(options));
  await tell(opened, options);
  while (manager.isRunning(session)) {
    await delay(WATCH_MS, undefined, { signal: interrupt.signal }).catch(() => undefined);
    if (interrupt.status !== undefined) return interrupt.status;
  }
  throw new SandboxError("SANDBOX_NOT_RUNNING", `session ${JSON.stringify(session)} has ended`, {
    hint: "The port was closed with it.",
  });
}

/** Of a command that runs as long as the port is open. */
async function serve(
  inside: number,
  argv: readonly string[],
  config: Config,
  options: SessionPort,
  interrupt: Interrupt,
): Promise<number> {
  await using guarded = await openGuardedManager(config, options);
  const { manager } = guarded;
  await openMounts(manager, options, identityOf(config, options).role);
  await tell(await manager.openPort(options.session, inside, hostPortOf(options)), options);
  const execution = manager.execute({
    argv,
    ...identityOf(config, options),
    sessionId: options.session,
    signal: interrupt.signal,
    stdin: standardInput(),
    env: options.env,
    cwd: options.cwd,
    timeoutMs: options.timeout ?? MAX_TIMEOUT_MS,
  });
  interrupt.passTo(() => execution.interrupt());
  const result = await show(execution, interrupt.signal);
  await showEnd(result);
  return interrupt.status ?? exitStatusOf(result);
}

/** How often it is looked whether the session still runs. */
const WATCH_MS = 500;

/** A server has no end of its own. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

function withPorts(config: Config): Config {
  const { sandbox } = config;
  return { ...config, sandbox: { ...sandbox, network: { ...sandbox.network, allowLocalBinding: true } } };
}

function hostPortOf({ hostPort }: PortOptions) {
  return hostPort === undefined ? {} : { hostPort };
}

async function tell({ host, hostPort, port: inside }: OpenPort, { json, session }: SessionPort) {
  if (json) await stdout.write(`${jsonText({ host, hostPort, port: inside, sessionId: session })}\n`);
  else await stderr.write(`skerry: port ${inside} of session ${session} is on http://${host}:${hostPort}\n`);
}
