const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** "1 file", "2 files". */
export function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** "12.5 MiB". */
export function bytes(number: number): string {
  let value = number;
  let unit = 0;
  for (; value >= 1024 && unit < UNITS.length - 1; unit++) value /= 1024;
  return `${amount(value)} ${UNITS[unit]}`;
}

/** Three digits or so. */
export function amount(value: number): string {
  return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}

export function percent(value: number): string {
  return `${amount(value)} %`;
}

/** "3 h 5 min". */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** "12 s ago". */
export function ago(now: Date, then: Date): string {
  return `${span(now.getTime() - then.getTime())} ago`;
}
