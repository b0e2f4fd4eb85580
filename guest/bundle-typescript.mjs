// Writes the part of TypeScript that turns its files into JavaScript: `node bundle-typescript.mjs <directory>`, the one with
// typescript-compile.cjs in it.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { build } from "esbuild";

/** What programs/typescript-compile.cjs uses. */
const EXPORTS = [
  "SyntaxKind",
  "createProgram",
  "createSourceFile",
  "flattenDiagnosticMessageText",
  "forEachChild",
  "nodeCanBeDecorated",
  "parseConfigFileTextToJson",
  "parseJsonConfigFileContent",
  "visitEachChild",
  "visitNode",
];

/** Never called for what we compile to: Node.js 20 knows all of ES2022, and nobody asks for declarations. */
const UNUSED = [
  "transformES2015",
  "transformES2016",
  "transformES2017",
  "transformES2018",
  "transformES2019",
  "transformES2020",
  "transformES2021",
  "transformGenerators",
  "transformSystemModule",
  "transformDeclarations",
];

const directory = resolve(process.argv[2] ?? "");
if (process.argv.length < 3) throw new Error("usage: node bundle-typescript.mjs <directory>");

const entry = createRequire(import.meta.url).resolve("typescript");
const { version } = JSON.parse(readFileSync(join(dirname(entry), "../package.json"), "utf8"));
mkdirSync(directory, { recursive: true });
await build({
  stdin: { contents: compilerOf(readFileSync(entry, "utf8")), loader: "js" },
  outfile: join(directory, "typescript.cjs"),
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  // Functions keep no names: nothing of it is shown to anyone.
  minify: true,
  treeShaking: true,
  legalComments: "none",
  logLevel: "error",
  banner: { js: `/*\ntypescript ${version}\n\n${licences()}\n*/` },
});

// The cache is of this Node's V8; another one goes without.
const { createCache } = createRequire(join(directory, "x"))("./typescript-compile.cjs");
writeFileSync(join(directory, `typescript-${process.versions.v8.split("-")[0]}.cache`), createCache());

/** The compiler as a module of its own, without the language service, so that what it does not need falls away. */
function compilerOf(source) {
  const begin = source.indexOf('"use strict";', required(source, "var ts = {}; ((module) => {"));
  const parts = source
    .slice(begin, required(source, "// Annotate the CommonJS export names"))
    .split(/^(?=\/\/ src\/)/m);
  const compiler = parts.filter((part, index) => index === 0 || part.startsWith("// src/compiler/")).join("");
  let text = compiler.replace(/^module\.exports = .*$/m, "");
  // As values that nobody may need, not as changes of what is there.
  const namespaces = /^var (\w+_exports\d*) = \{\};\n__export\(\1, (\{[\s\S]*?^\})\);/gm;
  text = text.replace(namespaces, (_, name, all) => `var ${name} = /* @__PURE__ */ __namespace(${all});`);
  for (const name of UNUSED) {
    const body = new RegExp(`^function ${name}\\(context\\) \\{[\\s\\S]*?^\\}`, "m");
    if (!body.test(text)) throw new Error(`typescript ${version} has no function ${name}`);
    text = text.replace(body, `function ${name}() { throw new Error("${name} is left out"); }`);
  }
  return `const __namespace = (all) => { const each = {}; __export(each, all); return each; };\n${text}\nexport { ${EXPORTS.join(", ")} };\n`;
}

function required(source, text) {
  const at = source.indexOf(text);
  if (at < 0)
    throw new Error(`typescript ${version} is built in another way: there is no ${JSON.stringify(text)}`);
  return at;
}

/** Their terms ask for them to travel along. */
function licences() {
  const texts = ["LICENSE.txt", "ThirdPartyNoticeText.txt"].map((name) =>
    readFileSync(join(dirname(entry), "..", name), "utf8").trim(),
  );
  return texts.join("\n\n----\n\n").replaceAll("*/", "* /");
}
