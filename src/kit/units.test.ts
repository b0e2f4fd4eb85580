import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_DURATION_MS, parseDurationMs, parseSizeBytes } from "./units.js";

const invalidArgument = expect.objectContaining({ code: "INVALID_ARGUMENT", hint: expect.any(String) });

describe("parseDurationMs", () => {
  it.each([
    ["250ms", 250],
    ["30s", 30_000],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
    ["1.5s", 1500],
    ["300", 300_000],
    [" 5 M ", 300_000],
    ["0.2ms", 1],
    [300, 300_000],
    [0.25, 250],
  ])("reads %j as %d ms", (value, expected) => {
    expect(parseDurationMs(value)).toBe(expected);
  });

  it.each([
    ["zero", "0s"],
    ["zero as a number", 0],
    ["negative zero", -0],
    ["a negative number", -1],
    ["a negative text", "-5s"],
    ["NaN", Number.NaN],
    ["infinity", Number.POSITIVE_INFINITY],
    ["an unknown unit", "5 parsecs"],
    ["a property of every object as unit", "5constructor"],
    ["no number", "s"],
    ["nothing", ""],
    ["an exponent", "1e3s"],
    ["hexadecimal", "0x10"],
    ["two units", "1h30m"],
    ["more than a timer can wait for", "25d"],
    ["more digits than a number holds", "9".repeat(400)],
  ])("refuses %s", (_, value) => {
    expect(() => parseDurationMs(value)).toThrow(invalidArgument);
  });

  it("gives every accepted text a whole number of milliseconds that a timer can wait for", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9]{1,12}(\.[0-9]{1,3})?(ms|s|m|h|d|x)?$/), (text) => {
        let parsed: number;
        try {
          parsed = parseDurationMs(text);
        } catch (error) {
          expect(error).toEqual(invalidArgument);
          return;
        }
        expect(Number.isInteger(parsed) && parsed >= 1 && parsed <= MAX_DURATION_MS).toBe(true);
      }),
    );
  });

  it("never throws anything but INVALID_ARGUMENT", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.double()), (value) => {
        try {
          parseDurationMs(value);
          parseSizeBytes(value);
        } catch (error) {
          expect(error).toEqual(invalidArgument);
        }
      }),
    );
  });
});

describe("parseSizeBytes", () => {
  it.each([
    ["512mb", 512 * 1024 ** 2],
    ["512MB", 512 * 1024 ** 2],
    ["512m", 512 * 1024 ** 2],
    ["512Mi", 512 * 1024 ** 2],
    ["1gib", 1024 ** 3],
    ["1 gb", 1024 ** 3],
    ["1.5kb", 1536],
    ["2tb", 2 * 1024 ** 4],
    ["10b", 10],
    ["10", 10],
    [4096, 4096],
  ])("reads %j as %d bytes", (value, expected) => {
    expect(parseSizeBytes(value)).toBe(expected);
  });

  it.each([
    ["zero", 0],
    ["less than a byte", "0.5b"],
    ["a negative number", -512],
    ["a negative text", "-1gb"],
    ["NaN", Number.NaN],
    ["infinity", Number.NEGATIVE_INFINITY],
    ["an unknown unit", "5pints"],
    ["a unit with letters too many", "5mibb"],
    ["no number", "mb"],
    ["more than can be counted", "9000000000tb"],
  ])("refuses %s", (_, value) => {
    expect(() => parseSizeBytes(value)).toThrow(invalidArgument);
  });

  it("reads what it would print, in every unit", () => {
    const units = [
      ["b", 1],
      ["kb", 1024],
      ["mib", 1024 ** 2],
      ["g", 1024 ** 3],
    ] as const;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.constantFrom(...units),
        (amount, [unit, factor]) => {
          expect(parseSizeBytes(`${amount}${unit}`)).toBe(amount * factor);
        },
      ),
    );
  });
});
