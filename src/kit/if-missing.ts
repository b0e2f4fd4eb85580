import { systemCode } from "./errors.js";

/** For `catch`: the fallback where there is no such file or directory; any other failure is thrown on. */
export function ifMissing<T>(fallback: T): (error: unknown) => T {
  return (error) => {
    if (systemCode(error) === "ENOENT") return fallback;
    throw error;
  };
}

/** What `read` returns, or the fallback where there is no such file or directory. */
export function unlessMissing<T, F>(fallback: F, read: () => T): T | F {
  try {
    return read();
  } catch (error) {
    return ifMissing(fallback)(error);
  }
}
