import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPaint } from "./paint.js";
import type { ConfirmationRequest } from "./request.js";
import { requestText, summaryText } from "./request-text.js";
import { visibleRows } from "./visible-rows.js";

const plain = createPaint(false, {});

function request(overrides: Partial<ConfirmationRequest> = {}): ConfirmationRequest {
  return {
    id: "1",
    sessionId: "s",
    agentId: "a",
    orgId: "o",
    role: "r",
    tool: "run_code",
    code: "1",
    riskLevel: "low",
    findings: [],
    limits: {},
    createdAt: new Date(0),
    expiresAt: new Date(30_000),
    ...overrides,
  };
}

function show(overrides: Partial<ConfirmationRequest>, columns = 80): string[] {
  return [...requestText(request(overrides), { columns, paint: plain })];
}

describe("visibleRows", () => {
  const rows = (text: string, columns = 80) => [...visibleRows(text, columns, plain)];

  it.each([
    ["an empty line", "", [""]],
    ["a tab", "\tx", ["→   x"]],
    ["a variation selector", "a\ufe0f", ["a\\u{fe0f}"]],
    ["a Hangul filler, which is a letter that shows nothing", "a\u3164b", ["a\\u{3164}b"]],
    ["a braille blank", "\u2800", ["\\u{2800}"]],
    ["half of a surrogate pair", "\ud83d", ["\\u{d83d}"]],
    ["text of the world", "naïve 漢字 🙂", ["naïve 漢字 🙂"]],
    ["many marks on one letter", "e\u0301\u0302\u0303\u0304", ["e\u0301\u0302\\u{303}\\u{304}"]],
  ])("shows %s", (_, text, expected) => {
    expect(rows(text)).toEqual(expected);
  });

  it("breaks wide text before the terminal would", () => {
    expect(rows("漢".repeat(20), 16)).toEqual(["漢".repeat(8), "漢".repeat(8), "漢".repeat(4)]);
    expect(rows("x".repeat(32), 16)).toEqual(["x".repeat(16), "x".repeat(16)]);
  });

  it("shows everything, and nothing that acts, in rows that fit", () => {
    const character = fc.oneof(
      fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
      fc.constantFrom("\x1b", "\r", "\u202e", "\u200b", "\t", "a", " "),
    );
    fc.assert(
      fc.property(
        fc.array(character, { maxLength: 80 }),
        fc.integer({ min: 16, max: 100 }),
        (characters, columns) => {
          const text = characters.join("").replaceAll("\n", "");
          const shown = rows(text, columns);
          for (const row of shown) {
            expect(row).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
            expect([...row].reduce((sum, each) => sum + (each <= "\x7e" ? 1 : 2), 0)).toBeLessThanOrEqual(
              columns,
            );
          }
          const unescaped = shown
            .join("")
            .replaceAll("→   ", "\t")
            .replaceAll(/\\(?:x([0-9a-f]{2})|u\{([0-9a-f]+)\})/g, (_, short, long) =>
              String.fromCodePoint(Number.parseInt(short ?? long, 16)),
            );
          if (!/[\\→]/.test(text)) expect(unescaped).toBe(text);
        },
      ),
    );
  });
});

describe("requestText", () => {
  it("puts every row of any code behind a number or a mark of its own", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 300 }),
        fc.integer({ min: 30, max: 90 }),
        (code, columns) => {
          const shown = show({ code }, columns);
          const rows = shown.slice(2, shown.indexOf("That was all of it."));
          expect(rows.every((row) => /^[ !] (?: *\d+ │| +┆) /.test(row))).toBe(true);
          expect(rows.filter((row) => row.includes("│ ")).length).toBeGreaterThanOrEqual(
            code.split("\n").length,
          );
        },
      ),
    );
  });

  it("lets no field begin a row or act on the terminal", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 100 }), (evil) => {
        const finding = { rule: evil, level: "high", line: 1, column: 1, excerpt: evil, why: evil } as const;
        const rule = { path: evil, source: evil, line: 1, why: evil };
        const ids = { sessionId: evil, agentId: evil, orgId: evil, role: evil, tool: evil, language: evil };
        const shown = [
          ...show({ ...ids, backend: evil, findings: [finding], rule, limits: { [evil]: evil } }),
          ...summaryText(request(ids), { columns: 80, paint: plain }, new Date(0)),
        ];
        for (const row of shown) expect(row).toMatch(/^(?:|[ !] .*|An agent wants.*|That was all.*)$/su);
        expect(shown.join("")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
      }),
    );
  });

  it("shows the worst findings first, and says how many it leaves out", () => {
    const finding = { rule: "r", line: 1, column: 1, excerpt: "x", why: "because" } as const;
    const findings = [
      ...Array.from({ length: 120 }, () => ({ ...finding, level: "low" as const })),
      { ...finding, level: "critical" as const, line: 9 },
    ];
    const shown = show({ findings });
    const rows = shown.filter((row) => /line \d+:1/.test(row));
    expect(rows.length).toBe(100);
    expect(rows[0]).toBe("  CRITICAL  line 9:1, r: because");
    expect(shown).toContain("            and 21 more of the same level or lower");
  });

  it("shows limits of any kind, and says where there are none", () => {
    const limits = {
      memoryMb: 512,
      domains: ["a.example", "b.example"],
      paths: [],
      nested: { x: 1 },
      off: undefined,
    };
    expect(show({ limits }, 200)).toContain(
      '  Limits    512 MiB of memory, domains a.example b.example, paths none, nested {"x":1}',
    );
    expect(show({ limits: {} })).toContain("  Limits    the sandbox's own");
    expect(show({})).toContain("  Runs in   the sandbox of this host");
    expect(show({})).toContain("  Findings  none");
  });

  it("paints on a terminal, and not for NO_COLOR or a dumb one", () => {
    const painted = (env: Record<string, string>) => createPaint(true, env)("red", "x") !== "x";
    expect([
      painted({}),
      painted({ NO_COLOR: "" }),
      painted({ NO_COLOR: "1" }),
      painted({ TERM: "dumb" }),
    ]).toEqual([true, true, false, false]);
  });
});
