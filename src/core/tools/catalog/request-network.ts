import { z } from "zod";
import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import { rangeComplaint } from "../../../kit/hosts.js";
import { oneLine } from "../../../kit/one-line.js";
import { checkChange } from "../../../runtime/egress/index.js";
import { createReply, refusalReply, type ToolReply } from "../replies/tool-reply.js";
import { defineTool } from "../tool.js";

/** `request_network`: asks the person to open a host for the session. Without a person who answers it is rejected. */
export const requestNetwork = defineTool({
  name: "request_network",
  title: "Ask for a host",
  description:
    "Asks the person to let this session reach a host that was refused. Say why. If they agree it is open until the session ends.",
  input: z.strictObject({
    host: z.string().min(1).max(300).describe("For example `api.example.com`."),
    reason: z.string().min(1).max(500).describe("What it is needed for, for the person."),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  run: async ({ host, reason }, { manager, caller, signal }) => {
    const asked = askedFor(host, manager.isDecidedByPolicy);
    const { name } = asked;
    const result = await manager.useSandbox<ToolReply>({
      ...caller,
      tool: "request_network",
      summary: oneLine(`let this session reach ${name}; the agent says: ${reason}`, 1000),
      paths: [],
      asksPerson: true,
      refusal: asked.refusal,
      signal,
      work: async () => {
        await manager.changeEgress(caller.sessionId, { allow: [name] });
        return createReply({
          status: "success",
          summary: `${name} can be reached in this session`,
          data: { host: name },
        });
      },
    });
    return refusalReply(result) ?? result.value!;
  },
});

interface AskedHost {
  readonly name: string;
  /** Nobody is asked; the attempt leaves a record as any other. */
  readonly refusal?: SandboxError;
}

/** One host, in one spelling. Addresses and names of whole families are for more than a glance. */
function askedFor(host: string, isDecidedByPolicy: boolean): AskedHost {
  try {
    const [name = host] = checkChange({ allow: [host] }).allow;
    if (isDecidedByPolicy) return { name, refusal: decidedByPolicy(name) };
    if (!name.includes("*") && rangeComplaint(name) !== undefined) return { name };
    const refusal = new SandboxError("INVALID_ARGUMENT", "Only one host by its name can be asked for", {
      hint: "The person can open more than that without being asked.",
    });
    return { name, refusal };
  } catch (error) {
    return { name: host, refusal: toSandboxError(error) };
  }
}

function decidedByPolicy(name: string): SandboxError {
  return new SandboxError("POLICY_DENIED", "A policy decides what this session may reach", {
    hint: `Tell the person that ${name} is needed: it would have to stand in the policy's network block.`,
  });
}
