import { describe, expect, it } from "vitest";
import { localTime, parseMoment } from "./local-time.js";

const NOW = Date.parse("2026-02-07T12:00:00Z");
const moment = (value: string) => parseMoment("--since", value, NOW);

describe("parseMoment", () => {
  it.each([
    ["1h", NOW - 3_600_000],
    ["90s", NOW - 90_000],
    ["7d", NOW - 7 * 86_400_000],
    [" 1.5h ", NOW - 5_400_000],
    ["2026-02-07T12:00:00Z", NOW],
    ["2026-02-07T13:00+01:00", NOW],
    ["2026-02-07", new Date(2026, 1, 7).getTime()],
    ["2026-02-07T08:30", new Date(2026, 1, 7, 8, 30).getTime()],
    ["2026-02-07 08:30:15", new Date(2026, 1, 7, 8, 30, 15).getTime()],
  ])("reads %j", (value, expected) => {
    expect(moment(value).getTime()).toBe(expected);
  });

  it.each(["", "yesterday", "12", "1w", "-1h", "2026-13-01", "2026-02-07T25:00", "25d", "07.02.2026", "0h"])(
    "refuses %j with the option's name",
    (value) => {
      expect(() => moment(value)).toThrow(
        expect.objectContaining({
          code: "INVALID_ARGUMENT",
          message: expect.stringMatching(/^--since: /),
          hint: expect.stringContaining("7d"),
        }),
      );
    },
  );
});

describe("localTime", () => {
  it("is what parseMoment reads back", () => {
    const shown = localTime("2026-02-07T12:00:05.678Z");
    expect(shown).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    expect(moment(shown)).toEqual(new Date("2026-02-07T12:00:05Z"));
  });

  it("leaves alone what is no time", () => {
    expect(localTime("soon")).toBe("soon");
  });
});
