import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { statusOfReport } from "../../src/cli/commands/test/report-text.js";
import {
  DEFAULT_CONFIG,
  DEFAULT_LANGUAGE_CONFIG,
  DEFAULT_LIMITS,
  parseConfig,
} from "../../src/core/config/index.js";
import { loadConfigSchema } from "../../src/core/config/schema.js";
import { shapeOf } from "../../src/core/config/shape.js";
import {
  getRequiredSandbox,
  SECURITY_MODES,
  type SecurityMode,
} from "../../src/core/manager/call/required-sandbox.js";
import { TEST_OUTCOMES, type TestReport } from "../../src/core/tools/test-driven/index.js";
import { RISK_LEVELS } from "../../src/guard/analysis/rules/levels.js";
import { createBody } from "../../src/guard/audit/compose-record.js";
import { AUDIT_RESULTS } from "../../src/guard/audit/index.js";
import { checkPolicy } from "../../src/guard/policy/index.js";
import { SETTING_KINDS } from "../../src/guard/policy/setting-kinds.js";
import { ERROR_CODES } from "../../src/kit/errors.js";
import { FromGuest, ToGuest } from "../../src/runtime/wire/frames.js";
import { blocksOf, code, quote, read, tableRows } from "./documents.js";

describe("the tables in docs/", () => {
  it("have every error code as it is", () => {
    const rows = tableRows(read("docs/errors.md"), "code");
    const documented = rows.map(([name, http, exit, retry]) => [
      code(name),
      Number(http),
      Number(exit),
      retry === "yes",
    ]);
    const real = Object.entries(ERROR_CODES).map(([name, { http, exit, retryable }]) => [
      name,
      http,
      exit,
      retryable,
    ]);
    expect(documented).toEqual(real);
    expect(rows.filter(([, , , retry, meaning]) => !/^(yes|no)$/.test(retry!) || !meaning)).toEqual([]);
  });

  it("have every setting of the schema, and no other", async () => {
    const settings = tableRows(read("docs/configuration.md"), "setting").map(([name]) => code(name));
    expect(settings).toEqual(leavesOf(await loadConfigSchema()));
  });

  it("have the defaults that the program has", async () => {
    const rows = tableRows(read("docs/configuration.md"), "setting");
    const input: Record<string, unknown> = {};
    for (const [name, initial] of rows) {
      if (initial === "–") continue;
      put(input, code(name)!.replace("<name>", "python").split("."), parse(code(initial)!));
    }
    expect(await parseConfig(input)).toEqual({
      sandbox: {
        ...DEFAULT_CONFIG.sandbox,
        limits: DEFAULT_LIMITS,
        languages: { python: DEFAULT_LANGUAGE_CONFIG },
      },
      server: DEFAULT_CONFIG.server,
    });
  });

  it("have examples of a server's configuration that load", async () => {
    const blocks = blocksOf("docs/server.md", "yaml");
    expect(blocks.length).toBeGreaterThan(1);
    for (const { text } of blocks) await parseConfig(parse(text));
  });

  it("have every key of a policy, and examples of policies that load", () => {
    const keys = tableRows(read("docs/policy.md"), "key").flatMap(([cell]) => cell!.split(", ").map(code));
    expect(keys).toEqual(Object.keys(SETTING_KINDS));
    for (const { text, where } of blocksOf("docs/policy.md", "yaml")) {
      expect(checkPolicy(text, where)).toEqual([]);
    }
  });

  it("have every key of an audit record, and every result", () => {
    const rows = tableRows(read("docs/audit.md"), "key");
    const keys = rows.flatMap(([cell]) => cell!.split(", ").map(code));
    expect(keys.sort()).toEqual([...Object.keys(createBody("id", new Date())), "hash"].sort());
    const results = rows.find(([cell]) => cell!.startsWith("`result`"))![1]!.match(/`[a-z-]+`/g);
    expect(results).toEqual(AUDIT_RESULTS.map(quote));
  });

  it("have every level and security mode of the risk assessment", () => {
    const text = read("docs/risk.md");
    expect(tableRows(text, "level").map(([level]) => code(level))).toEqual([...RISK_LEVELS]);
    expect(tableRows(text, "mode").map(([mode]) => code(mode))).toEqual([...SECURITY_MODES]);
    for (const [mode, ...cells] of tableRows(text, "mode")) {
      // "high" and "critical" share a cell.
      const walls = RISK_LEVELS.slice(0, 4).map((level) =>
        getRequiredSandbox(level, code(mode) as SecurityMode),
      );
      expect(cells.map((cell) => (cell.startsWith("behind walls") ? "process" : "none"))).toEqual(walls);
    }
  });

  it("have every outcome of tests, with its exit status", () => {
    const rows = tableRows(read("docs/tests.md"), "`outcome`").flatMap(([cell, , status]) =>
      cell!.split(", ").map((name) => [code(name), Number.parseInt(status!, 10)]),
    );
    const real = TEST_OUTCOMES.map((outcome) => [
      outcome,
      statusOfReport({ outcome, allPassed: outcome === "passed" } as TestReport),
    ]);
    expect(rows.sort()).toEqual(real.sort());
  });

  it("and the block of common settings have the same defaults", async () => {
    const [block] = blocksOf("docs/configuration.md", "yaml");
    const { sandbox } = await parseConfig(parse(block!.text));
    expect(sandbox).toEqual({ ...DEFAULT_CONFIG.sandbox, limits: DEFAULT_LIMITS });
  });
});

it("src/runtime/wire/README.md has every frame under its number", () => {
  const text = read("src/runtime/wire/README.md");
  for (const [header, frames] of [
    ["host → guest", ToGuest],
    ["guest → host", FromGuest],
  ] as const) {
    const documented = tableRows(text, header).flatMap(([names, numbers]) => {
      const each = numbers!.split(", ");
      return names!.split(", ").map((name, index) => [name, Number.parseInt(each[index]!, 16)]);
    });
    const upper = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
    expect(documented).toEqual(Object.entries(frames).map(([name, number]) => [upper(name), number]));
  }
});

/** Paths of every setting, in the order of the schema. */
function leavesOf(schema: Parameters<typeof shapeOf>[0], path: readonly string[] = []): string[] {
  const shape = shapeOf(schema);
  if (shape.kind === "object")
    return [...shape.fields].flatMap(([key, field]) => leavesOf(field, [...path, key]));
  if (shape.kind === "record") return leavesOf(shape.value, [...path, "<name>"]);
  return [path.join(".")];
}

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path;
  if (rest.length === 0) {
    target[key!] = value;
    return;
  }
  const block = (target[key!] ?? {}) as Record<string, unknown>;
  target[key!] = block;
  put(block, rest, value);
}
