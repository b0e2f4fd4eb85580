import { isIP } from "node:net";
import { SandboxError } from "../errors.js";

/** Checks an address or a range in CIDR notation: `192.0.2.0/24`, `2001:db8::/32`. */
export function compileIpRange(text: string): string {
  const [address = "", bits, ...rest] = text.trim().split("/");
  const family = isIP(address);
  const most = family === 4 ? 32 : 128;
  const length = bits === undefined ? most : Number(bits);
  const valid =
    family !== 0 && rest.length === 0 && (bits === undefined || /^\d{1,3}$/.test(bits)) && length <= most;
  if (!valid) {
    throw new SandboxError("INVALID_ARGUMENT", "it is neither an address nor a range", {
      hint: 'Ranges look like "192.0.2.0/24" or "2001:db8::/32".',
    });
  }
  return text.trim().toLowerCase();
}
