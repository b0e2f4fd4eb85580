import fc from "fast-check";
import { expect, it } from "vitest";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { RISK_LEVELS, rankOf } from "../rules/levels.js";
import { assess, type RiskAssessment } from "./assess.js";

const LANGUAGES = ["python", "javascript", "typescript", "tsx", "bash"];

/** Pieces that mean something, so that texts get further than the parser. */
const PIECES = [
  ...[
    "import os",
    "os",
    ".system",
    "getattr",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "`",
    "${",
    "\\",
    "\n",
    "\r",
    " ",
  ],
  ...[
    "exec",
    "eval",
    "require",
    "child_process",
    "rm -rf /",
    "/etc/shadow",
    "=",
    "+",
    "*",
    "**",
    "10",
    "9",
    "lambda:",
  ],
  ...[
    "=>",
    "async",
    "await",
    "for x in",
    "while True:",
    "while(1)",
    "def f(a):",
    "function f(a){",
    "return ",
    "f(",
    ",",
  ],
  ...[
    "|",
    "&",
    ";",
    ">",
    "<",
    "<<E",
    "$(",
    "curl",
    "sh",
    "base64 -d",
    "chr",
    "join",
    "[::-1]",
    "\u202e",
    "\u2028",
    "\ud800",
  ],
  ...[
    "self.",
    "x",
    "y",
    "x=",
    "y=",
    "x+=",
    ".a",
    ".then(",
    "...",
    "__class__",
    "constructor",
    "#",
    "//",
    "/*",
    "%s",
  ],
];

const hostile = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((pieces) => pieces.join("")),
);

function checkShape(assessment: RiskAssessment): void {
  const { findings, level, detectedPatterns } = assessment;
  expect(RISK_LEVELS).toContain(level);
  const worst = findings.reduce((rank, finding) => Math.max(rank, rankOf(finding.level)), 0);
  expect(worst).toBe(rankOf(level));
  expect(detectedPatterns).toEqual([...new Set(detectedPatterns)].sort());
  expect(new Set(detectedPatterns)).toEqual(new Set(findings.map(({ rule }) => rule)));
  const places = findings.map(({ line, column }) => line * 1e7 + column);
  expect(places).toEqual([...places].sort((a, b) => a - b));
  for (const { line, column, excerpt } of findings) {
    expect(line).toBeGreaterThanOrEqual(1);
    expect(column).toBeGreaterThanOrEqual(1);
    expect(excerpt.length).toBeLessThanOrEqual(120);
    expect(escapeUnsafe(excerpt)).toBe(excerpt);
  }
}

it("any text in any language has an assessment, and always the same one", async () => {
  await fc.assert(
    fc.asyncProperty(hostile, fc.constantFrom(...LANGUAGES), async (code, language) => {
      const assessment = await assess(code, language);
      checkShape(assessment);
      expect(await assess(code, language)).toEqual(assessment);
    }),
    { numRuns: 400 },
  );
});

it("any word may be given for a language", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), async (language) => {
      checkShape(await assess("x = 1", language));
    }),
    { numRuns: 50 },
  );
});
