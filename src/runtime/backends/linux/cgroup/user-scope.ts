import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createConnection } from "node:net";
import { createDbusReader, encodeStartTransientUnit } from "./dbus-message.js";

/** systemd answers within milliseconds, on a slow host within seconds. One that hangs must not keep a sandbox from starting. */
const ANSWER_MS = 60_000;

/** How a scope of ours is named: its owner has no need to ask whether it is delegated. */
export const SCOPE_NAME = /^skerry-\d+-[0-9a-f]{8}\.scope$/;

/**
 * Asks the systemd of this user to put this process into a scope of its own, delegated to it. The scope goes with its last
 * process, however that ends. Throws where that systemd does not run, or refuses.
 */
export async function enterUserScope(runtimeDir: string): Promise<void> {
  const unit = `skerry-${process.pid}-${randomBytes(4).toString("hex")}.scope`;
  const request = encodeStartTransientUnit(unit, [
    ["Description", "s", "Skerry's sandboxes"],
    ["PIDs", "au", [process.pid]],
    ["Delegate", "b", true],
    ["CollectMode", "s", "inactive-or-failed"],
  ]);
  // The manager's own socket, which systemctl uses too: it is there also where no message bus runs for the user.
  const socket = createConnection(`${runtimeDir}/systemd/private`);
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      let job: string | undefined;
      const read = createDbusReader(({ kind, member, strings }) => {
        if (kind === "error") reject(new Error(strings[0] ?? "systemd refused"));
        else if (kind === "answer") job = strings[0];
        else if (member === "JobRemoved" && job !== undefined && strings[0] === job) {
          if (strings[2] === "done") resolve();
          else reject(new Error(`systemd could not start ${unit}: ${strings[2] ?? "no reason given"}`));
        }
      });
      timer = setTimeout(() => reject(new Error("systemd does not answer")), ANSWER_MS);
      socket.once("error", reject).once("close", () => reject(new Error("systemd closed the connection")));
      let greeting = "";
      const onGreeting = (chunk: Buffer) => {
        greeting += chunk.toString("latin1");
        if (!greeting.includes("\r\n")) return;
        if (!greeting.startsWith("OK ")) return reject(new Error("systemd does not accept this user"));
        socket.off("data", onGreeting).on("data", (more: Buffer) => {
          try {
            read(more);
          } catch (error) {
            reject(error as Error);
          }
        });
        socket.write("BEGIN\r\n");
        socket.write(request);
      };
      socket.on("data", onGreeting);
      const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString("hex");
      socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
    });
  } finally {
    clearTimeout(timer);
    socket.on("error", () => undefined).destroy();
  }
}

/** Asks systemd whether it leaves what is below a unit's group to that unit; false where it cannot tell. */
export function askDelegation(unit: string, manager: "system" | "user"): boolean {
  try {
    const query = ["show", "--property=Delegate", "--value", "--", unit];
    return (
      execFileSync("systemctl", manager === "user" ? ["--user", ...query] : query, {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
        timeout: ANSWER_MS,
      }).trim() === "yes"
    );
  } catch {
    return false;
  }
}
