import { SandboxError } from "../../kit/errors.js";
import { parseDurationMs } from "../../kit/units.js";

const MOMENT = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;

/** A moment as a person writes it: how long ago, or a date in ISO 8601, in local time unless it says otherwise. */
export function parseMoment(option: string, value: string, now: number = Date.now()): Date {
  const text = value.trim();
  if (MOMENT.test(text)) {
    // A date alone would be UTC for the engine, and with a time local; for a person both are local.
    const date = new Date(text.length === 10 ? `${text}T00:00` : text.replace(" ", "T"));
    if (!Number.isNaN(date.getTime())) return date;
  } else if (/^\d+(?:\.\d+)?\s*[a-z]+$/i.test(text)) {
    return new Date(now - durationMs(option, text));
  }
  throw new SandboxError(
    "INVALID_ARGUMENT",
    `${option}: ${JSON.stringify(text.slice(0, 40))} is not a time`,
    {
      hint: "Write how long ago (30m, 1h, 7d), or a date: 2026-02-07, 2026-02-07T12:00, 2026-02-07T12:00:00Z.",
    },
  );
}

function durationMs(option: string, text: string): number {
  try {
    return parseDurationMs(text);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    throw new SandboxError("INVALID_ARGUMENT", `${option}: ${error.message}`, {
      hint: "Write how long ago (30m, 1h, 7d); for longer, a date: 2026-02-07.",
    });
  }
}

/** `2026-02-07 12:00:00` on this machine's clock; the text itself, when it is no time. */
export function localTime(timestamp: string): string {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return timestamp;
  const two = (value: number) => String(value).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":")}`;
}
