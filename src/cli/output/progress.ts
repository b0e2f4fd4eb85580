import { stderr } from "./output.js";

/** What is over sooner needs no word. */
const PATIENCE_MS = 1000;
const REDRAW_MS = 100;

/** How far something is. */
export interface Done {
  readonly files?: number;
  readonly bytes: number;
}

/**
 * Does something that may take long, with one line on the terminal that is redrawn as it goes on, and is gone when it is
 * over. Silent without a terminal.
 */
export async function withProgress<T>(
  what: string,
  work: (show: (done: Done) => void) => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  let drawnAt = 0;
  const show = ({ files, bytes }: Done) => {
    const now = performance.now();
    if (!stderr.isTerminal || now - startedAt < PATIENCE_MS || now - drawnAt < REDRAW_MS) return;
    drawnAt = now;
    const count = files === undefined ? "" : `${files} files, `;
    void stderr.write(`\r\x1b[Kskerry: ${what}: ${count}${sizeText(bytes)}`);
  };
  try {
    return await work(show);
  } finally {
    if (drawnAt > 0) void stderr.write("\r\x1b[K");
  }
}

/** A number of bytes for a person: `512 B`, `3.4 MB`. */
export function sizeText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [value, unit] = [bytes, 0];
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
