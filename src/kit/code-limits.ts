/**
 * How long code may be, in one table. Code that is too long to run is an error; code that is too long to be read is a
 * finding of its own, and counts as unknown.
 */

/** Of a program or a command, however it comes: as a call, an edit, an HTTP request or a file. */
export const MAX_CODE_BYTES = 16 * 1024 * 1024;
